//! Tags and the signed checkpoints over them: what is covered, lost, contradicted and uncovered.

use crate::broker::{Mosquitto, client, message};
use crate::negative::world::{NOW, Said, World};
use crate::place::{Running, config, now, sealed_as};
use crate::tagged::{KEY, devices, tagged};
use sealstone_mldsa::Level;
use sealstone_mqtt::gateway::state::{Recent, Store};
use sealstone_mqtt::gateway::tags::{MOST, Tagged};
use sealstone_mqtt::gateway::verify::{Judge, Passed, Seen};
use sealstone_mqtt::gateway::wire::{Publish, Qos, Version};
use sealstone_mqtt::gateway::{Reason, Tally};
use sealstone_mqtt::mac::{Checkpoint, Checkpointed};
use sealstone_mqtt::open::Envelope;
use sealstone_mqtt::{Form, KeyId, Kind, Message, Number, Topic, UnixMillis};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const TAGS: KeyId = KeyId(17);

fn number(epoch: u32, sequence: u32) -> Number {
    Number { epoch, sequence }
}

fn one(epoch: u32, sequence: u32) -> Tagged {
    Tagged { key: TAGS, number: number(epoch, sequence) }
}

/// A tag that says its number.
fn tag(sequence: u32) -> [u8; 16] {
    let mut tag = [0x77; 16];
    tag[..4].copy_from_slice(&sequence.to_be_bytes());
    tag
}

/// The payload of a checkpoint.
fn names(key: KeyId, epoch: u32, tags: &[(u32, [u8; 16])]) -> Vec<u8> {
    let mut payload =
        [&key.0.to_be_bytes()[..], &epoch.to_be_bytes(), &(tags.len() as u16).to_be_bytes()].concat();
    tags.iter().for_each(|(sequence, tag)| payload.extend([&sequence.to_be_bytes()[..], tag].concat()));
    payload
}

fn genuine(sequences: impl IntoIterator<Item = u32>) -> Vec<(u32, [u8; 16])> {
    sequences.into_iter().map(|sequence| (sequence, tag(sequence))).collect()
}

/// Accepts a tag of epoch 1.
fn take(seen: &mut impl Seen, sequence: u32, at: u64) -> Tally {
    seen.accept_tag("7", one(1, sequence), &tag(sequence), UnixMillis(at)).unwrap()
}

fn reconcile(seen: &mut impl Seen, tags: &[(u32, [u8; 16])]) -> Tally {
    let payload = names(TAGS, 1, tags);
    seen.checkpoint("7", &Checkpointed::parse(&payload).unwrap())
}

fn covered(count: u64) -> Tally {
    Tally { covered: count, ..Tally::default() }
}

#[test]
fn a_checkpoint_covers_what_it_names_and_leaves_the_next_ones_alone() {
    let mut seen = Recent::default();
    for sequence in [3, 4, 6, 9, 10] {
        assert!(take(&mut seen, sequence, 0).is_empty());
    }
    assert_eq!(reconcile(&mut seen, &genuine([3, 4, 6])), covered(3));
    assert_eq!(reconcile(&mut seen, &genuine([9, 10])), covered(2));
    // Once more: they were accepted, and nobody remembers their tags.
    assert_eq!(reconcile(&mut seen, &genuine([9, 10])), Tally { forgotten: 2, ..Tally::default() });
}

/// Of another key, another epoch, another device: none of its business.
#[test]
fn a_checkpoint_is_of_one_device_and_key_and_epoch() {
    let mut seen = Recent::default();
    take(&mut seen, 5, 0);
    let other = |seen: &mut Recent, device: &str, key, epoch| {
        let payload = names(key, epoch, &genuine([4, 5, 6]));
        seen.checkpoint(device, &Checkpointed::parse(&payload).unwrap())
    };
    for (device, key, epoch) in [("8", TAGS, 1), ("7", KeyId(18), 1), ("7", TAGS, 2)] {
        let tally = other(&mut seen, device, key, epoch);
        assert_eq!((tally.covered, tally.lost.len()), (0, 3), "{device} {key:?} {epoch}");
    }
    assert_eq!(reconcile(&mut seen, &genuine([5])), covered(1));
}

#[test]
fn what_was_named_and_never_came_is_lost_and_covered_if_it_comes() {
    let mut seen = Recent::default();
    take(&mut seen, 1, 0);
    let tally = reconcile(&mut seen, &genuine([1, 2, 3]));
    assert_eq!(tally, Tally { covered: 1, lost: vec![one(1, 2), one(1, 3)], ..Tally::default() });
    // It overtook nothing: the broker was slow.
    assert!(seen.admit("7", one(1, 2), &tag(2)));
    assert_eq!(take(&mut seen, 2, 0), covered(1));
    // Somebody with the shared key speaks under a number that the device gave to something else.
    assert!(!seen.admit("7", one(1, 3), &[9; 16]));
    assert!(seen.admit("8", one(1, 3), &[9; 16]) && seen.admit("7", one(2, 3), &[9; 16]));
    assert_eq!(take(&mut seen, 3, 0), covered(1));
}

#[test]
fn another_tag_under_a_number_is_contradicted() {
    let mut seen = Recent::default();
    take(&mut seen, 1, 0);
    let forged = seen.accept_tag("7", one(1, 2), &[9; 16], UnixMillis(0)).unwrap();
    assert!(forged.is_empty());
    let tally = reconcile(&mut seen, &genuine([1, 2]));
    assert_eq!(tally, Tally { covered: 1, contradicted: vec![one(1, 2)], ..Tally::default() });
    // Each bit of what is remembered counts.
    for bit in 0..128 {
        let mut changed = tag(10 + bit);
        changed[bit as usize / 8] ^= 1 << (bit % 8);
        seen.accept_tag("7", one(1, 10 + bit), &changed, UnixMillis(0)).unwrap();
        let tally = reconcile(&mut seen, &genuine([10 + bit]));
        assert_eq!(tally.contradicted, [one(1, 10 + bit)], "bit {bit}");
    }
}

/// A number that a signature takes is no tag's: then the tag was somebody else's.
#[test]
fn a_signature_under_the_number_of_a_tag_contradicts_it() {
    let mut seen = Recent::default();
    take(&mut seen, 1, 0);
    assert!(seen.signed("8", number(1, 1)).is_empty() && seen.signed("7", number(2, 1)).is_empty());
    assert_eq!(seen.signed("7", number(1, 1)).contradicted, [one(1, 1)]);
    assert!(seen.signed("7", number(1, 1)).is_empty(), "told once");
}

#[test]
fn what_a_checkpoint_leaves_out_is_uncovered() {
    let mut seen = Recent::default();
    for sequence in [1, 2, 3, 4, 5] {
        take(&mut seen, sequence, 0);
    }
    // 2 lies between two that are named. 1 may be of an earlier one, and 5 is of a later one.
    let tally = reconcile(&mut seen, &genuine([3]));
    assert_eq!(tally, covered(1));
    let tally = reconcile(&mut seen, &[(1, tag(1)), (4, tag(4))]);
    assert_eq!(tally, Tally { covered: 2, uncovered: vec![one(1, 2)], ..Tally::default() });
    assert_eq!(reconcile(&mut seen, &genuine([5])), covered(1));
}

/// A folder that is its owner's alone.
fn private() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    folder
}

/// What a crash leaves: the files as they are on the disk.
fn crashed(from: &Path) -> (tempfile::TempDir, Store) {
    let to = private();
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.path().join(file.file_name())).unwrap();
    }
    for _ in 0..500 {
        match Store::open(to.path()) {
            Ok(store) => return (to, store),
            // A test beside this one starts a broker, and between fork and exec that child has our lock open too.
            Err(cause) if cause.to_string().contains("another gateway") => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(cause) => panic!("{cause}"),
        }
    }
    panic!("somebody holds the folder")
}

fn committed(store: &mut Store) {
    assert!(store.must_commit());
    store.commit(NOW).unwrap();
}

#[test]
fn tags_and_checkpoints_survive_a_crash_between_them() {
    let folder = private();
    let mut store = Store::open(folder.path()).unwrap();
    take(&mut store, 1, 5);
    take(&mut store, 2, 6);
    committed(&mut store);
    take(&mut store, 3, 7); // and the power goes
    let (place, mut store) = crashed(folder.path());
    assert!(store.check("7", TAGS, number(1, 1)).is_err() && store.check("7", TAGS, number(1, 3)).is_ok());
    // The broker delivers 3 again, as nobody acknowledged it.
    take(&mut store, 3, 8);
    let tally = reconcile(&mut store, &[(1, tag(1)), (2, [9; 16]), (3, tag(3)), (4, tag(4))]);
    let expected =
        Tally { covered: 2, contradicted: vec![one(1, 2)], lost: vec![one(1, 4)], ..Tally::default() };
    assert_eq!(tally, expected);
    // Without its commit the checkpoint comes again, to the same end.
    let (_place, mut again) = crashed(place.path());
    take(&mut again, 3, 8);
    assert_eq!(reconcile(&mut again, &[(1, tag(1)), (2, [9; 16]), (3, tag(3)), (4, tag(4))]), expected);
    // With it, it is over, and what is lost is remembered.
    committed(&mut store);
    let (place, mut store) = crashed(place.path());
    assert!(!store.admit("7", one(1, 4), &[9; 16]));
    assert_eq!(store.overdue(UnixMillis(u64::MAX), 1), []);
    assert_eq!(take(&mut store, 4, 9), covered(1));
    // A snapshot has all of it.
    take(&mut store, 5, 10);
    reconcile(&mut store, &genuine([6]));
    committed(&mut store);
    store.compact(NOW).unwrap();
    let (_place, mut store) = crashed(place.path());
    let tally = reconcile(&mut store, &[(5, [9; 16]), (6, tag(6)), (7, tag(7))]);
    assert_eq!((tally.contradicted, tally.lost), (vec![one(1, 5)], vec![one(1, 7)]));
}

/// The same through a snapshot and its journal, read back.
#[test]
fn a_snapshot_has_the_tags() {
    let folder = private();
    let mut store = Store::open(folder.path()).unwrap();
    for sequence in 0..2000 {
        take(&mut store, sequence, u64::from(sequence));
        if sequence % 10 == 9 && sequence < 1900 {
            assert_eq!(reconcile(&mut store, &genuine(sequence - 9..=sequence)), covered(10));
        }
    }
    assert_eq!(store.overdue(UnixMillis(1919), 10)[0].1.uncovered.len(), 10);
    committed(&mut store);
    store.compact(NOW).unwrap();
    take(&mut store, 2000, 2000);
    reconcile(&mut store, &genuine([2001]));
    committed(&mut store);
    let (_place, mut again) = crashed(folder.path());
    for store in [&mut store, &mut again] {
        // Those that were told are not told again, and all are there.
        assert_eq!(store.overdue(UnixMillis(1929), 10)[0].1.uncovered.len(), 10);
        assert!(!store.admit("7", one(1, 2001), &[9; 16]));
        assert_eq!(reconcile(store, &genuine(1900..=2000)), covered(101));
        assert_eq!(store.overdue(UnixMillis(u64::MAX), 0), []);
    }
}

/// Beyond the bound the oldest one is told and forgotten; and what a device names without end takes no more room.
#[test]
fn no_more_is_remembered_than_the_bound() {
    let mut seen = Recent::default();
    for sequence in 0..MOST as u32 {
        assert!(take(&mut seen, sequence, 0).is_empty());
    }
    for sequence in 0..1000 {
        assert_eq!(take(&mut seen, MOST as u32 + sequence, 0).uncovered, [one(1, sequence)]);
    }
    let tally = reconcile(&mut seen, &genuine(0..1000 + MOST as u32));
    assert_eq!((tally.covered, tally.forgotten, tally.lost.len()), (MOST as u64, 1000, 0));

    let folder = private();
    let mut store = Store::open(folder.path()).unwrap();
    let tally = reconcile(&mut store, &genuine(0..50_000));
    assert_eq!(tally.lost.len(), 50_000);
    let last = 50_000 - MOST as u32;
    assert!(store.admit("7", one(1, last - 1), &[9; 16]) && !store.admit("7", one(1, last), &[9; 16]));
    committed(&mut store);
    let journal = fs::metadata(folder.path().join("journal-0")).unwrap().len();
    assert!(journal < 10_000, "{journal} bytes");
}

/// Told once, when the time is over; a checkpoint that comes late covers it all the same.
#[test]
fn what_no_checkpoint_names_in_time_is_told_once() {
    let folder = private();
    let mut store = Store::open(folder.path()).unwrap();
    let begun = 1_000_000;
    take(&mut store, 1, begun);
    take(&mut store, 2, begun + 10);
    committed(&mut store);
    let told = |store: &mut Store, at| -> Vec<Tagged> {
        store
            .overdue(UnixMillis(begun + at), 300)
            .into_iter()
            .flat_map(|(_, tally)| tally.uncovered)
            .collect()
    };
    assert_eq!(told(&mut store, 299), []);
    assert_eq!(told(&mut store, 300), [one(1, 1)]);
    assert_eq!(told(&mut store, 309), []);
    assert_eq!(told(&mut store, 310), [one(1, 2)]);
    assert_eq!(told(&mut store, 100_000), []);
    // That somebody was told waits for the next commit; nobody waits for it.
    assert!(!store.must_commit());
    store.commit(NOW).unwrap();
    let (_place, mut again) = crashed(folder.path());
    assert_eq!(told(&mut again, 100_000), []);
    assert_eq!(reconcile(&mut again, &genuine([1, 2])), covered(2));
    assert!(again.overdue(UnixMillis(u64::MAX), 0).is_empty());
}

/// What was told for want of a checkpoint is not told again where a checkpoint leaves it out, nor where others push it out.
#[test]
fn what_was_told_is_told_once_however_it_ends() {
    let folder = private();
    let mut store = Store::open(folder.path()).unwrap();
    for sequence in [1, 2, 3] {
        take(&mut store, sequence, 1000);
    }
    assert_eq!(store.overdue(UnixMillis(5000), 300)[0].1.uncovered.len(), 3);
    assert_eq!(reconcile(&mut store, &[(1, tag(1)), (3, tag(3))]), covered(2));
    take(&mut store, 10, 1000);
    assert_eq!(store.overdue(UnixMillis(5000), 300)[0].1.uncovered, [one(1, 10)]);
    for sequence in 0..MOST as u32 {
        assert!(take(&mut store, 100 + sequence, 9000).is_empty(), "{sequence}");
    }
    assert_eq!(take(&mut store, 1000, 9000).uncovered, [one(1, 100)]);
}

/// A data directory of before there were tags: a snapshot, and a journal with each kind of record that there was, as bytes.
#[test]
fn an_old_data_directory_opens() {
    let hex = |text: &str| -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits
            .chunks(2)
            .map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap())
            .collect()
    };
    let folder = private();
    fs::write(folder.path().join("snapshot"), hex(OLD_SNAPSHOT)).unwrap();
    fs::write(folder.path().join("journal-1"), hex(OLD_JOURNAL)).unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    for sequence in [5, 6] {
        assert!(store.check("7", KeyId(1), number(1, sequence)).is_err(), "{sequence}");
    }
    assert!(store.check("7", KeyId(1), number(1, 7)).is_ok());
    let owed: Vec<_> = store.outbox().map(|owed| (owed.publish.id, owed.received)).collect();
    assert_eq!(owed, [(1, true)]);
    // And takes tags from then on.
    take(&mut store, 1, 0);
    committed(&mut store);
    store.compact(NOW).unwrap();
    let (_place, mut again) = crashed(folder.path());
    assert_eq!(reconcile(&mut again, &genuine([1])), covered(1));
}

/// Messages of the device "a" of the negative table, through the judge: what the whole way makes of each.
fn judged(seen: &mut Recent, message: Publish) -> Result<Passed, Reason> {
    let world = World::new();
    let config = world.config("");
    let rules = config.rules().unwrap();
    Judge { rules: &rules, directory: &world.directory }.judge(&Arc::new(message), seen, NOW)
}

/// A checkpoint over messages as they were sent.
fn over(tagged: &[&Said]) -> Said {
    let mut checkpoint = Checkpoint::<64>::new(TAGS);
    for said in tagged {
        let sealed = said.sealed();
        checkpoint.add(said.number.unwrap(), &sealed[sealed.len() - 32..]).unwrap();
    }
    let mut payload = vec![0; 2000];
    let len = checkpoint.emit(&mut payload).unwrap();
    payload.truncate(len);
    Said {
        kind: Kind::Checkpoint,
        payload: payload.leak(),
        number: Some(number(3, 7000)),
        ..Said::new(Form::V1)
    }
}

#[test]
fn a_signed_checkpoint_reconciles_what_came() {
    let said =
        |sequence, payload| Said { number: Some(number(3, sequence)), payload, ..Said::tagged(Form::V1) };
    let (first, second, third) = (said(1, b"t=1"), said(2, b"t=2"), said(3, b"t=3"));
    let mut seen = Recent::default();
    judged(&mut seen, first.publish()).unwrap();
    // Somebody with the shared key is faster than the device, and says something else.
    judged(&mut seen, said(2, b"t=9").publish()).unwrap();
    assert_eq!(judged(&mut seen, second.publish()), Err(Reason::Replay));
    let over = over(&[&first, &second, &third]);
    let passed = judged(&mut seen, over.publish()).unwrap();
    let expected =
        Tally { covered: 1, contradicted: vec![one(3, 2)], lost: vec![one(3, 3)], ..Tally::default() };
    assert_eq!(passed.tags, expected);
    assert_eq!(passed.signer.unwrap().kind, Kind::Checkpoint);
    // The same again is a replay, and changes nothing.
    assert_eq!(judged(&mut seen, over.publish()), Err(Reason::Replay));
    assert_eq!(judged(&mut seen, said(3, b"t=9").publish()), Err(Reason::Contradicted));
    assert_eq!(judged(&mut seen, third.publish()).unwrap().tags, covered(1));
}

/// What is forged or of somebody else reconciles nothing.
#[test]
fn a_forged_checkpoint_reconciles_nothing() {
    let first = Said::tagged(Form::V1);
    let mut seen = Recent::default();
    judged(&mut seen, first.publish()).unwrap();
    let over = over(&[&first]);
    let forged = [
        over.changed(|bytes| *bytes.last_mut().unwrap() ^= 1),
        Said { seed: 7, ..over.clone() }.publish(),
        // Of device b, whose key it is, about the key of a.
        Said { topic: "device/b/telemetry/temp", level: Level::MlDsa65, seed: 5, ..over.clone() }.publish(),
        Said { topic: "device/b/telemetry/temp", ..over.clone() }.publish(),
        // By the shared key alone.
        Said { tagged: true, key_id: 17, seed: 17, ..over.clone() }.publish(),
        // Signed, and something else than a checkpoint.
        Said { kind: Kind::Plain, ..over.clone() }.publish(),
    ];
    let verdicts: Vec<_> = forged.into_iter().map(|forged| judged(&mut seen, forged)).collect();
    let reasons: Vec<_> =
        verdicts.iter().map(|verdict| verdict.as_ref().err().map(|cause| cause.name())).collect();
    let bad = Some("bad-signature");
    assert_eq!(reasons, [bad, bad, Some("unknown-key"), Some("level"), Some("tag"), None]);
    assert!(verdicts[5].as_ref().unwrap().tags.is_empty());
    let over = Said { number: Some(number(3, 7001)), ..over };
    assert_eq!(judged(&mut seen, over.publish()).unwrap().tags, covered(1));
}

/// Through Mosquitto and the gateway, which is stopped and started between tags and checkpoint.
#[test]
fn checkpoints_through_a_broker() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path());
    devices(folder.path());
    let more = "policy.checkpoint_within_s = 2\n";
    let gateway = Running::start(config(folder.path(), broker.port, "5", more));
    let mut reader = client(broker.port, Version::V5, "reader");
    reader.subscribe(&["clean/#", "alerts/#"], Qos::ExactlyOnce).unwrap();
    let mut next = || reader.next(Duration::from_secs(30)).unwrap().expect("it comes");
    let mut writer = client(broker.port, Version::V5, "writer");
    let topic = "device/7/telemetry/temp";
    let mut checkpoint = Checkpoint::<64>::new(TAGS);
    for sequence in 0..10 {
        let bytes = tagged(&KEY, b"21.5", sequence);
        let sealed = Envelope::parse(Form::V1, Topic::new(topic).unwrap(), &bytes).unwrap();
        checkpoint.add(number(1, sequence), sealed.seal()).unwrap();
        // Of one somebody else says something else first.
        let sent = if sequence == 4 { tagged(&KEY, b"99.9", 4) } else { bytes };
        writer.publish(message(topic, &sent)).unwrap();
        assert_eq!(next().topic, "clean/device/7/telemetry/temp");
    }
    gateway.stop().unwrap();
    let gateway = Running::start(config(folder.path(), broker.port, "5", more));
    let mut payload = [0; 2000];
    let len = checkpoint.emit(&mut payload).unwrap();
    let said = Message {
        key_id: KeyId(1),
        kind: Kind::Checkpoint,
        number: Some(number(1, 10)),
        time: now(),
        ..Message::new(Topic::new(topic).unwrap(), &payload[..len])
    };
    writer.publish(message(topic, &sealed_as(Form::V1, Level::MlDsa44, &said))).unwrap();
    let line = gateway.until("Tags");
    assert!(line.contains("covered: 9") && line.contains("sequence: 4"), "{line}");
    let mut came = [next(), next()].map(|copy| (copy.topic, copy.payload));
    came.sort();
    assert_eq!(came[0].0, "alerts/contradicted");
    assert!(String::from_utf8_lossy(&came[0].1).contains("\"device\":\"7\""));
    assert_eq!(came[1], ("clean/device/7/telemetry/temp".into(), payload[..len].to_vec()));
    // One that no checkpoint names in time.
    writer.publish(message(topic, &tagged(&KEY, b"21.5", 11))).unwrap();
    let line = gateway.until("Tags");
    assert!(line.contains("uncovered: [Tagged") && line.contains("sequence: 11"), "{line}");
    assert_eq!([next().topic, next().topic], ["clean/device/7/telemetry/temp", "alerts/uncovered"]);
    gateway.stop().unwrap();
}

/// A window of key 1 of device 7 with the number 1.5.
const OLD_SNAPSHOT: &str = "53534d510000000100000000000000010000009f7c1f84590600013700010000000000000001000000010000000500000000 \
    0000000100000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 \
    0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 \
    0000000000000000000000000000000000000000000000000000000000000000ff";
/// The number 1.6, a copy with the identifier 1 that the broker has, one with 2 that is delivered, and a digest.
const OLD_JOURNAL: &str = "000000221f42351c0100013700010000000100000006030000000f340d0007636c65616e2f610001007800000017e2f8c286 \
    040001030000000f340d0007636c65616e2f61000200790000002c8ed601a805000202050505050505050505050505050505 \
    0505050505050505050505050505050505000001a3185c5000";
