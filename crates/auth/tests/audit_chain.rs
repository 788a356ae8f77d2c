//! Chains: what is done to them, and what `verify` says of it.

use std::fs;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_auth::audit::{Audit, ChainFiles, Event, Fault, Report, What, directory, public};
use sealstone_auth::clock::OsRandomness;
use sealstone_auth::config;
use sealstone_auth::keys::Sealer;
use sealstone_jose::UnixSeconds;
use serde_json::Value;

use crate::support::{ManualClock, START};

/// A data directory with a chain in it.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn open_with(&self, config: &config::Audit, seal_key: u8) -> Audit {
        let sealer = Sealer::from_key(&[seal_key; 32]).unwrap();
        let clock = ManualClock::new();
        Audit::open(config, self.0.path(), &sealer, clock, Arc::new(OsRandomness)).unwrap().unwrap()
    }

    fn open(&self) -> Audit {
        self.open_with(&quick(), 7)
    }

    /// One writer's life: so many events, each a block of its own unless `block` is more.
    fn write(&self, events: u64) {
        let audit = self.open();
        for number in 0..events {
            audit.note(vec![event(number)]);
        }
        audit.close();
    }

    fn chain(&self) -> PathBuf {
        directory(self.0.path()).join("server")
    }

    fn file(&self) -> PathBuf {
        self.chain().join("000001.jsonl")
    }

    fn verify(&self) -> Report {
        verify(&self.chain(), &directory(self.0.path()))
    }

    /// What is found after `change` of the lines of the first file, as fault and line.
    fn after(&self, change: impl FnOnce(&mut Vec<String>)) -> Vec<(Fault, u64)> {
        let before = fs::read_to_string(self.file()).unwrap();
        let mut lines: Vec<String> = before.lines().map(str::to_owned).collect();
        change(&mut lines);
        fs::write(self.file(), lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        let report = self.verify();
        fs::write(self.file(), before).unwrap();
        report.findings.iter().map(|finding| (finding.fault, finding.line)).collect()
    }
}

fn verify(chain: &Path, key: &Path) -> Report {
    ChainFiles::of(chain).unwrap().unwrap().verify(&public(key).unwrap()).unwrap()
}

fn quick() -> config::Audit {
    config::Audit { seal_seconds: NonZeroU64::new(3600).unwrap(), ..config::Audit::default() }
}

fn event(number: u64) -> Event {
    Event::new(What::TokenIssued, UnixSeconds(START)).with("client", "billing").with_number("number", number)
}

/// The hash that the next line carries.
fn hash(line: &str) -> String {
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, line.as_bytes());
    URL_SAFE_NO_PAD.encode(hash)
}

#[test]
fn a_chain_holds_over_restarts_and_files() {
    let place = Place::new();
    place.write(3);
    place.write(0);
    place.write(2);
    let report = place.verify();
    assert!(report.is_good() && report.notes.is_empty(), "{report:?}");
    // Three openings, five events, three seals.
    assert_eq!((report.lines, report.seals, report.first, report.last), (11, 3, Some(1), Some(11)));

    let small = config::Audit {
        max_file_bytes: NonZeroU64::new(65_536).unwrap(),
        seal_lines: NonZeroU64::new(50).unwrap(),
        ..quick()
    };
    let audit = place.open_with(&small, 7);
    for number in 0..2000 {
        audit.note(vec![event(number)]);
    }
    audit.close();
    let report = place.verify();
    assert!(report.is_good() && report.notes.is_empty(), "{report:?}");
    let files = ChainFiles::of(&place.chain()).unwrap().unwrap().files;
    assert!(files.len() > 3, "{files:?}");
    let issued = files.iter().flat_map(|file| {
        let text = fs::read_to_string(file).unwrap();
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>()
    });
    let numbers: Vec<u64> = issued.filter_map(|line| line["number"].as_u64()).skip(5).collect();
    assert_eq!(numbers, (0..2000).collect::<Vec<u64>>(), "in order, none twice");

    // Each file but the last ends in a seal, so an old one can be taken away.
    fs::rename(&files[0], place.0.path().join("archived")).unwrap();
    let report = place.verify();
    assert!(report.is_good(), "{report:?}");
    assert!(report.notes[0].starts_with("what was looked at begins with line "), "{report:?}");
    // A file from the middle is missed.
    fs::rename(&files[2], place.0.path().join("stolen")).unwrap();
    let report = place.verify();
    let faults: Vec<(Fault, u64)> = report.findings.iter().map(|found| (found.fault, found.line)).collect();
    assert_eq!((faults, &report.findings[0].file), (vec![(Fault::Removed, 1)], &files[3]));
}

/// Opening, three events, seal: lines 1 to 5. Then a second writer: 6 to 10.
fn two_blocks() -> Place {
    let place = Place::new();
    place.write(3);
    place.write(3);
    assert!(place.verify().is_good());
    place
}

#[test]
fn what_was_done_to_a_line_is_named() {
    let place = two_blocks();
    let edit = |line: &str| line.replace("billing", "nobody!");
    assert_eq!(place.after(|lines| lines[2] = edit(&lines[2])), [(Fault::Changed, 3)], "changed");
    assert_eq!(place.after(|lines| drop(lines.remove(2))), [(Fault::Removed, 3)], "removed");
    assert_eq!(place.after(|lines| drop(lines.drain(1..3))), [(Fault::Removed, 2)], "two removed");
    assert_eq!(place.after(|lines| lines[3] = "garbage".into()), [(Fault::Changed, 4)], "not a line at all");
    let renumbered = place.after(|lines| lines[2] = lines[2].replace("\"n\":3", "\"n\":4"));
    assert_eq!(renumbered, [(Fault::Changed, 3)]);
    // Put in so well that it follows the line before.
    let inserted = place.after(|lines| {
        let forged = lines[2].replace(&hash(&lines[1]), &hash(&lines[2])).replace("\"n\":3", "\"n\":4");
        lines.insert(3, forged);
    });
    assert_eq!(inserted, [(Fault::Inserted, 4)]);
    let copied = place.after(|lines| lines.insert(3, lines[2].clone()));
    assert!(!copied.is_empty() && copied.iter().all(|(fault, _)| *fault == Fault::Reordered), "{copied:?}");
    let swapped = place.after(|lines| lines.swap(2, 3));
    assert!(swapped.iter().all(|(fault, _)| *fault == Fault::Reordered), "{swapped:?}");
    assert_eq!(swapped.first(), Some(&(Fault::Reordered, 3)));
    // The first line of all.
    assert_eq!(
        place.after(|lines| lines[0] = edit(&lines[0]).replace("start", "other")),
        [(Fault::Changed, 1)]
    );
}

#[test]
fn what_was_cut_off_is_named() {
    let place = two_blocks();
    let faults = |cut: usize| {
        let found = place.after(|lines| lines.truncate(cut));
        found.into_iter().map(|(fault, _)| fault).collect::<Vec<_>>()
    };
    assert_eq!(faults(9), [Fault::Truncated, Fault::Unsealed], "the last seal");
    assert_eq!(faults(7), [Fault::Truncated, Fault::Unsealed], "within a block");
    assert_eq!(faults(5), [Fault::Truncated], "a whole block: only the head knows");
    // Whoever cuts the head off too is found out with a copy of it, and not without.
    let head = ChainFiles::of(&place.chain()).unwrap().unwrap().head;
    fs::remove_file(place.chain().join("head.json")).unwrap();
    assert_eq!(faults(5), []);
    let text = fs::read_to_string(place.file()).unwrap();
    fs::write(place.file(), text.lines().take(5).map(|line| format!("{line}\n")).collect::<String>())
        .unwrap();
    let mut chain = ChainFiles::of(&place.chain()).unwrap().unwrap();
    chain.head = head;
    let report = chain.verify(&public(&directory(place.0.path())).unwrap()).unwrap();
    assert_eq!(report.findings[0].fault, Fault::Truncated);
    assert_eq!(report.findings[0].what, "lines 6 to 10 were cut off");
}

/// Whoever has no key can make the hashes fit, and then the signature does not.
#[test]
fn a_block_that_was_rewritten_is_named_by_its_seal() {
    let place = two_blocks();
    let rewritten = place.after(|lines| {
        lines[2] = lines[2].replace("billing", "nobody!");
        for at in 3..lines.len() {
            let old: Value = serde_json::from_str(&lines[at]).unwrap();
            let new = hash(&lines[at - 1]);
            lines[at] = lines[at].replace(old["prev"].as_str().unwrap(), &new);
        }
    });
    assert_eq!(rewritten[..2], [(Fault::Signature, 5), (Fault::Signature, 10)], "{rewritten:?}");
    // Another key altogether: every seal says so.
    let other = Place::new();
    other.write(1);
    let report = verify(&place.chain(), &directory(other.0.path()));
    let faults: Vec<Fault> = report.findings.iter().map(|found| found.fault).collect();
    assert_eq!(faults, [Fault::Signature, Fault::Signature, Fault::Unsealed]);
    assert_eq!(report.sealed_to, None);
}

#[test]
fn every_byte_of_a_block_counts() {
    let place = Place::new();
    place.write(2);
    fs::remove_file(place.chain().join("head.json")).unwrap();
    let bytes = fs::read(place.file()).unwrap();
    let (chain, key) = (place.chain(), directory(place.0.path()));
    assert!(verify(&chain, &key).is_good());
    // In place: a file that is written anew goes to the disk each time.
    let file = fs::OpenOptions::new().write(true).open(place.file()).unwrap();
    for at in 0..bytes.len() {
        file.write_at(&[bytes[at] ^ 1 << (at % 8)], at as u64).unwrap();
        assert!(!verify(&chain, &key).is_good(), "byte {at} of {}", bytes.len());
        file.write_at(&bytes[at..=at], at as u64).unwrap();
    }
    assert!(verify(&chain, &key).is_good());
    // And so does each one that is missing, from any place on.
    for at in (1..bytes.len()).rev() {
        file.set_len(at as u64).unwrap();
        assert!(!verify(&chain, &key).is_good(), "cut at byte {at}");
    }
}

/// What a writer that was killed leaves, and how the next one goes on.
#[test]
fn a_torn_line_is_named_and_never_written_over() {
    let place = two_blocks();
    let whole = fs::read(place.file()).unwrap();
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    // Killed within line 9: lines 6 to 8 have no seal.
    let torn = [lines[..8].concat(), lines[8][..60].to_vec()].concat();
    fs::write(place.file(), &torn).unwrap();
    let head = fs::read(place.chain().join("head.json")).unwrap();
    fs::write(
        place.chain().join("head.json"),
        String::from_utf8(head).unwrap().replace("\"n\":10", "\"n\":5"),
    )
    .unwrap();
    let old = fs::read_to_string(place.chain().join("head.json")).unwrap();
    let seal = hash(std::str::from_utf8(lines[4]).unwrap().trim_end());
    let named: Value = serde_json::from_str(&old).unwrap();
    let old = old.replace(named["hash"].as_str().unwrap(), &seal);
    fs::write(place.chain().join("head.json"), old).unwrap();
    let faults: Vec<Fault> = place.verify().findings.iter().map(|found| found.fault).collect();
    assert_eq!(faults, [Fault::Torn, Fault::Unsealed]);

    place.write(1);
    let report = place.verify();
    assert!(report.is_good(), "{report:?}");
    assert_eq!(report.notes.len(), 2, "{report:?}");
    assert!(report.notes[0].contains("lines 6 to 8 had no seal when line 9 was written"), "{report:?}");
    assert!(report.notes[1].contains("ends within line 9, as line 9 says"), "{report:?}");
    assert_eq!(fs::read(place.file()).unwrap(), torn, "what is torn stays as it is");
    let second = fs::read_to_string(place.chain().join("000002.jsonl")).unwrap();
    let opened: Value = serde_json::from_str(second.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&opened["torn_bytes"], &opened["unsealed"], &opened["file"]),
        (&60.into(), &3.into(), &2.into())
    );
    // Who changes what is torn afterwards is found out.
    let mut changed = torn.clone();
    *changed.last_mut().unwrap() ^= 1;
    fs::write(place.file(), changed).unwrap();
    assert!(!place.verify().is_good());
    fs::write(place.file(), lines[..8].concat()).unwrap();
    assert!(!place.verify().is_good(), "nor can it be taken away");
}

/// A writer that finds fewer lines than were sealed says so, and verification repeats it for ever.
#[test]
fn a_writer_says_what_is_gone() {
    let place = two_blocks();
    let text = fs::read_to_string(place.file()).unwrap();
    fs::write(place.file(), text.lines().take(5).map(|line| format!("{line}\n")).collect::<String>())
        .unwrap();
    place.write(1);
    let report = place.verify();
    assert_eq!(report.findings.len(), 1, "{report:?}");
    assert_eq!(report.findings[0].fault, Fault::Truncated);
    assert!(report.findings[0].what.contains("lines 6 to 10 were cut off"), "{report:?}");
}

#[test]
fn another_seal_key_opens_no_audit_key() {
    let place = Place::new();
    place.write(1);
    let other = Sealer::from_key(&[8; 32]).unwrap();
    let opened = Audit::open(&quick(), place.0.path(), &other, ManualClock::new(), Arc::new(OsRandomness));
    assert!(matches!(opened, Err(sealstone_auth::Error::Sealed { .. })));
}

/// Whatever a text is, it stays within its line and its bounds.
#[test]
fn texts_are_escaped_and_cut() {
    let place = Place::new();
    let audit = place.open();
    let evil = "\n{\"n\":1}\",\"event\":\"token.issued\"\\\0\u{202e}";
    let long = format!("{}ü", "x".repeat(252));
    for text in [evil, &long, &"ü".repeat(5000), &"\0".repeat(10_000), ""] {
        audit.note(vec![Event::new(What::TokenRefused, UnixSeconds(START)).with("why", text)]);
    }
    audit.close();
    assert!(place.verify().is_good());
    let text = fs::read_to_string(place.file()).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 7, "opening, five events, a seal");
    let said: Vec<&str> = lines[1..6].iter().map(|line| line["why"].as_str().unwrap()).collect();
    assert_eq!((said[0], said[1], said[4]), (evil, long.as_str(), ""), "what fits is whole");
    assert_eq!(said[2], format!("{}…", "ü".repeat(126)), "no letter is cut in two");
    assert_eq!(said[3].len(), 256);
    assert!(text.lines().all(|line| line.len() < 5000));
}

/// What docs/formats/audit.md says of a seal, done by hand: what anybody with FIPS 204 and SHA-256 can check.
#[test]
fn a_seal_is_checked_by_hand() {
    use sealstone_mldsa::{Context, Level, any};
    let place = Place::new();
    place.write(1);
    let text = fs::read_to_string(place.file()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let (signed, rest) = lines[2].split_once(",\"sig\":\"").unwrap();
    let signature = URL_SAFE_NO_PAD.decode(rest.strip_suffix("\"}").unwrap()).unwrap();
    let key: Value =
        serde_json::from_slice(&fs::read(directory(place.0.path()).join("key.json")).unwrap()).unwrap();
    let key = URL_SAFE_NO_PAD.decode(key["public"].as_str().unwrap()).unwrap();
    let key = any::VerifyingKey::decode(Level::MlDsa65, &key).unwrap();
    let signature = any::Signature::decode(Level::MlDsa65, &signature).unwrap();
    let context = Context::new(b"sealstone audit v1").unwrap();
    assert!(key.verify(context, signed.as_bytes(), &signature).is_ok());
    assert!(key.verify(Context::EMPTY, signed.as_bytes(), &signature).is_err(), "good for nothing else");
    assert!(lines[2].starts_with(&format!("{{\"n\":3,\"prev\":\"{}\",\"time\":{START},", hash(lines[1]))));
    assert!(lines[0].starts_with(&format!("{{\"n\":1,\"prev\":\"{}\",", "A".repeat(43))));
}

/// While a server writes, its end is on its way and not wrong.
#[test]
fn a_chain_that_is_being_written_holds() {
    let place = Place::new();
    let audit = place.open();
    audit.note(vec![event(1)]);
    while audit.backlog() > 0 {
        std::thread::yield_now();
    }
    let report = loop {
        let report = place.verify();
        if report.lines == 2 {
            break report;
        }
        std::thread::yield_now();
    };
    assert!(report.is_good(), "{report:?}");
    assert_eq!(report.notes, ["lines 1 to 2 wait for their seal"]);
    audit.close();
    assert!(place.verify().notes.is_empty());
}

/// A part of a chain is the same wherever its files end; what is no whole line is in none.
#[test]
fn parts_of_a_chain_of_several_files() {
    let place = Place::new();
    let small = config::Audit { seal_lines: NonZeroU64::new(50).unwrap(), ..quick() };
    let small = config::Audit { max_file_bytes: NonZeroU64::new(65_536).unwrap(), ..small };
    let audit = place.open_with(&small, 7);
    for number in 0..1000 {
        audit.note(vec![event(number)]);
    }
    audit.close();
    let chain = || ChainFiles::of(&place.chain()).unwrap().unwrap();
    assert!(chain().files.len() > 2, "{:?}", chain().files);
    let numbers = |lines: &[Value]| lines.iter().map(|line| line["n"].as_u64().unwrap()).collect::<Vec<_>>();
    let last = numbers(&chain().part(None, 1).unwrap().lines)[0];
    for most in [1, 7, 100, 100_000] {
        let part = chain().part(None, most).unwrap();
        assert_eq!(part.next, None);
        let first = (last + 1).saturating_sub(most as u64).max(1);
        assert_eq!(numbers(&part.lines), (first..=last).collect::<Vec<_>>());
        let (mut all, mut after) = (Vec::new(), 0);
        loop {
            let part = chain().part(Some(after), most).unwrap();
            all.extend(numbers(&part.lines));
            let Some(next) = part.next else { break };
            assert_eq!(all.last(), Some(&next));
            after = next;
        }
        assert_eq!(all, (1..=last).collect::<Vec<_>>(), "by {most}");
    }
    // The first file was taken away to an archive, and the last line is not whole yet.
    fs::remove_file(place.file()).unwrap();
    let newest = chain().files.last().unwrap().clone();
    let text = fs::read_to_string(&newest).unwrap();
    fs::write(&newest, &text[..text.len() - 1]).unwrap();
    let rest = chain().part(Some(0), 100_000).unwrap();
    let rest = numbers(&rest.lines);
    assert!(rest[0] > 1 && rest.last() == Some(&(last - 1)));
}
