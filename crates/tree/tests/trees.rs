//! Whole trees, as anybody: signed, verified, kept, listed, moved.

use std::convert::Infallible;
use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use sealstone_mldsa::Level;
use sealstone_tree::manifest::{Header, Writer};
use sealstone_tree::{
    Appraiser, Error, HashAlgorithm, Manifest, Rules, SignOptions, Signer, Subject, Tree, USER_IMA, Version,
};

use crate::world::{Outcomes, applied, name, open, sign, signer, trusting, user, verdict, verify, word};

fn tree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::create_dir_all(at.join("usr/bin")).unwrap();
    fs::write(at.join("usr/bin/true"), "\x7fELF").unwrap();
    fs::set_permissions(at.join("usr/bin/true"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(at.join("usr/empty"), "").unwrap();
    fs::write(at.join("usr.conf"), "a = 1\n").unwrap();
    fs::write(at.join(name(b"line\nbreak")), "x").unwrap();
    fs::write(at.join(name(b"not\xffutf8")), "y").unwrap();
    folder
}

/// All words, one of each.
fn words(outcomes: &Outcomes) -> Vec<&str> {
    let mut words: Vec<&str> = outcomes.values().map(String::as_str).collect();
    words.sort_unstable();
    words.dedup();
    words
}

pub(crate) fn manifest(
    folder: &Path,
    rules: Rules,
    signer: Option<&Signer>,
    options: SignOptions<'_>,
    by: &Signer,
) -> Vec<u8> {
    let header = Header {
        created: 1_795_320_000,
        label: b"usr".to_vec(),
        hash: HashAlgorithm::Sha256,
        key: None,
        rules: rules.clone(),
        cross_mounts: false,
    };
    let mut writer = Writer::new(Vec::new(), header, signer).unwrap();
    let tree = Tree::open(folder, rules, false, 2).unwrap();
    let options = SignOptions { lines: true, ..options };
    let Ok(()) = tree.sign(by, options, |entry| {
        if let Some(line) = &entry.line {
            writer.line(line).unwrap();
        }
        Ok::<(), Infallible>(())
    });
    writer.finish().unwrap()
}

pub(crate) fn stored(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut file, bytes).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    file
}

pub(crate) fn by_manifest(folder: &Path, bytes: &[u8], signers: &[&Signer]) -> Result<Outcomes, Error> {
    let keys: Vec<_> = signers
        .iter()
        .map(|signer| sealstone_tree::TrustedKey::of_spki(&signer.public().spki).unwrap())
        .collect();
    let manifest = Manifest::verified(stored(bytes), &keys)?;
    let tree = Tree::open(folder, manifest.header.rules.clone(), false, 2).unwrap();
    let mut outcomes = Outcomes::new();
    let Ok(()) = tree.verify_manifest(manifest, |entry| {
        outcomes.insert(entry.path, verdict(&entry.outcome));
        Ok::<(), Infallible>(())
    });
    Ok(outcomes)
}

/// A list of a tree's signatures that nobody signed.
pub(crate) fn extracted(folder: &Path) -> Vec<u8> {
    let header = Header {
        created: 0,
        label: b"x".to_vec(),
        hash: HashAlgorithm::Sha256,
        key: None,
        rules: Rules::default(),
        cross_mounts: false,
    };
    let mut writer = Writer::new(Vec::new(), header, None).unwrap();
    let Ok(()) = open(folder).extract(USER_IMA, HashAlgorithm::Sha256, |entry| {
        writer.line(&entry.line.unwrap()).unwrap();
        Ok::<(), Infallible>(())
    });
    writer.finish().unwrap()
}

/// What becomes of each line of a manifest when its signatures are copied to a tree.
pub(crate) fn apply(folder: &Path, manifest: Manifest, trusted: &Appraiser) -> Outcomes {
    let mut outcomes = Outcomes::new();
    let Ok(()) = open(folder).apply(manifest, trusted, USER_IMA, false, |entry| {
        outcomes.insert(entry.path, applied(&entry.outcome));
        Ok::<(), Infallible>(())
    });
    outcomes
}

#[test]
fn every_file_is_signed_and_then_kept() {
    for level in [Level::MlDsa44, Level::MlDsa65] {
        let (folder, key) = (tree(), signer(level, 1));
        let tree = open(folder.path());
        assert_eq!(words(&sign(&tree, &key, user())), ["signed"]);
        let before: Vec<_> = values(folder.path());
        assert_eq!(before[0].len(), 9 + level.signature_len());
        assert_eq!(words(&sign(&tree, &key, user())), ["kept"]);
        assert_eq!(values(folder.path()), before);
        assert_eq!(words(&verify(&tree, &trusting(&[&key]))), ["good"]);

        // A file that changed is signed anew, and no other.
        fs::write(folder.path().join("usr.conf"), "a = 2\n").unwrap();
        let found = verify(&tree, &trusting(&[&key]));
        assert_eq!(found[&b"usr.conf"[..]], "does-not-verify");
        let again = sign(&tree, &key, user());
        assert_eq!(again.values().filter(|word| *word == "signed").count(), 1);
        assert_eq!(again[&b"usr.conf"[..]], "signed");
        assert_eq!(words(&verify(&tree, &trusting(&[&key]))), ["good"]);
    }
}

fn values(folder: &Path) -> Vec<Vec<u8>> {
    let paths = [&b"usr.conf"[..], b"usr/bin/true", b"usr/empty", b"line\nbreak", b"not\xffutf8"];
    paths.iter().map(|path| value(&folder.join(name(path)))).collect()
}

fn value(path: &Path) -> Vec<u8> {
    let mut value = vec![0; 65536];
    let len = rustix::fs::getxattr(path, USER_IMA, &mut value[..]).unwrap();
    value.truncate(len);
    value
}

#[test]
fn another_keys_signature_stays_unless_replaced() {
    let (folder, first, second) = (tree(), signer(Level::MlDsa44, 1), signer(Level::MlDsa44, 2));
    let tree = open(folder.path());
    sign(&tree, &first, user());
    let before = values(folder.path());
    assert_eq!(words(&sign(&tree, &second, user())), ["other-key"]);
    assert_eq!(values(folder.path()), before);
    assert_eq!(words(&verify(&tree, &trusting(&[&second]))), ["unknown-key"]);
    assert_eq!(words(&sign(&tree, &second, SignOptions { replace: true, ..user() })), ["signed"]);
    assert_eq!(words(&verify(&tree, &trusting(&[&second]))), ["good"]);

    // What nobody can read is nobody's to overwrite; a bare digest of IMA is no signature.
    let file = folder.path().join("usr.conf");
    let set =
        |value: &[u8]| rustix::fs::setxattr(&file, USER_IMA, value, rustix::fs::XattrFlags::empty()).unwrap();
    set(b"\x03\x09 something");
    assert_eq!(sign(&tree, &second, user())[&b"usr.conf"[..]], "occupied");
    assert_eq!(verify(&tree, &trusting(&[&second]))[&b"usr.conf"[..]], "unsupported-version");
    set(&[&[4, 4][..], &[0; 32]].concat());
    assert_eq!(verify(&tree, &trusting(&[&second]))[&b"usr.conf"[..]], "malformed");
    assert_eq!(sign(&tree, &second, user())[&b"usr.conf"[..]], "signed");
}

#[test]
fn a_dry_run_writes_nothing_and_knows_what_would_happen() {
    let (folder, key) = (tree(), signer(Level::MlDsa44, 1));
    let tree = open(folder.path());
    let dry = SignOptions { dry_run: true, ..user() };
    assert_eq!(words(&sign(&tree, &key, dry)), ["wouldsign"]);
    assert_eq!(words(&verify(&tree, &trusting(&[&key]))), ["unsigned"]);
    sign(&tree, &key, user());
    fs::write(folder.path().join("usr/empty"), "no more").unwrap();
    let found = sign(&tree, &key, dry);
    assert_eq!(found[&b"usr/empty"[..]], "wouldsign");
    assert_eq!(found.values().filter(|word| *word == "kept").count(), 4);
}

#[test]
fn links_and_special_files_are_not_signed() {
    let (folder, key) = (tree(), signer(Level::MlDsa44, 1));
    let at = folder.path();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("victim"), "v").unwrap();
    symlink(outside.path().join("victim"), at.join("file link")).unwrap();
    symlink(outside.path(), at.join("folder link")).unwrap();
    symlink(".", at.join("loop")).unwrap();
    fs::hard_link(at.join("usr.conf"), at.join("zz")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        at.join("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    assert!(fs::metadata(at.join("fifo")).unwrap().file_type().is_fifo());
    let _socket = std::os::unix::net::UnixListener::bind(at.join("socket")).unwrap();
    let found = sign(&open(at), &key, user());
    for (path, expected) in [
        (&b"file link"[..], "symbolic link"),
        (b"folder link", "symbolic link"),
        (b"loop", "symbolic link"),
        (b"fifo", "named pipe"),
        (b"socket", "socket"),
        (b"usr.conf", "signed"),
        (b"zz", "hard link"),
    ] {
        assert_eq!(found[path], expected);
    }
    let untouched = rustix::fs::getxattr(outside.path().join("victim"), USER_IMA, &mut [0; 10][..]);
    assert_eq!(untouched, Err(rustix::io::Errno::NODATA));
    assert_eq!(verify(&open(at), &trusting(&[&key]))[&b"zz"[..]], "hard link");
}

#[test]
fn rules_choose_and_are_part_of_a_manifest() {
    let (folder, key) = (tree(), signer(Level::MlDsa65, 1));
    let mut rules = Rules::new(vec!["*.conf".into(), "/usr/bin/".into()], Vec::new()).unwrap();
    let found = sign(&Tree::open(folder.path(), rules.clone(), false, 2).unwrap(), &key, user());
    assert_eq!(found[&b"usr.conf"[..]], "left out by a rule");
    assert_eq!(found[&b"usr/bin"[..]], "left out by a rule");
    assert_eq!(found[&b"usr/empty"[..]], "signed");
    rules.min_size = 1;
    let text = manifest(folder.path(), rules, Some(&key), SignOptions::default(), &key);
    let found = by_manifest(folder.path(), &text, &[&key]).unwrap();
    assert_eq!(found[&b"usr.conf"[..]], "left out by a rule");
    assert_eq!(found[&b"usr/empty"[..]], "too small");
    assert_eq!(found[&b"not\xffutf8"[..]], "good");

    let only = Rules::new(Vec::new(), vec!["bin/".into()]).unwrap();
    let found = sign(&Tree::open(folder.path(), only, false, 2).unwrap(), &key, user());
    assert_eq!(found[&b"usr/bin/true"[..]], "signed");
    assert_eq!(found[&b"usr/empty"[..]], "left out by a rule");
    assert!(matches!(Rules::new(vec!["a{".into(), "[".into()], Vec::new()), Err(Error::Rule { .. }) | Ok(_)));
}

#[test]
fn a_manifest_says_what_differs() {
    let (folder, key) = (tree(), signer(Level::MlDsa65, 1));
    let at = folder.path();
    let text = manifest(at, Rules::default(), Some(&key), SignOptions::default(), &key);
    assert_eq!(words(&by_manifest(at, &text, &[&key]).unwrap()), ["good"]);
    fs::write(at.join("usr.conf"), "a = 2\n").unwrap();
    fs::write(at.join("new"), "").unwrap();
    fs::remove_file(at.join("usr/empty")).unwrap();
    fs::set_permissions(at.join("usr/bin/true"), fs::Permissions::from_mode(0o4755)).unwrap();
    fs::remove_file(at.join(name(b"line\nbreak"))).unwrap();
    symlink("usr.conf", at.join(name(b"line\nbreak"))).unwrap();
    let found = by_manifest(at, &text, &[&key]).unwrap();
    for (path, expected) in [
        (&b"usr.conf"[..], "content-differs"),
        (b"new", "unlisted"),
        (b"usr/empty", "missing"),
        (b"usr/bin/true", "mode-differs"),
        (b"line\nbreak", "not-regular"),
        (b"not\xffutf8", "good"),
    ] {
        assert_eq!(found[path], expected, "{}", String::from_utf8_lossy(path));
    }
}

/// Every line of a manifest counts, and every one of its bytes.
#[test]
fn a_manifest_that_was_touched_is_refused() {
    let (folder, key, other) = (tree(), signer(Level::MlDsa44, 1), signer(Level::MlDsa44, 2));
    let at = folder.path();
    let text = manifest(at, Rules::default(), Some(&key), SignOptions::default(), &key);
    let end = text.len() - 3300;
    for place in (0..end).step_by(7).chain([text.len() - 2, text.len() - 400]) {
        let mut changed = text.clone();
        changed[place] ^= 1;
        assert!(by_manifest(at, &changed, &[&key]).is_err(), "byte {place}");
    }
    for cut in [text.len() - 1, text.len() / 2, 30, 0] {
        assert!(by_manifest(at, &text[..cut], &[&key]).is_err(), "cut at {cut}");
    }
    let mut longer = text.clone();
    longer.extend(b"x\n");
    assert!(by_manifest(at, &longer, &[&key]).is_err());
    assert!(matches!(by_manifest(at, &text, &[&other]), Err(Error::Key { .. })));
    let unsigned = manifest(at, Rules::default(), None, SignOptions::default(), &key);
    assert_eq!(by_manifest(at, &unsigned, &[&key]).unwrap_err(), Error::ManifestUnsigned);
}

#[test]
fn signatures_leave_and_come_back() {
    let (folder, copy, key) = (tree(), tree(), signer(Level::MlDsa44, 1));
    let keep = SignOptions { keep_signatures: true, ..SignOptions::default() };
    let text = manifest(folder.path(), Rules::default(), None, keep, &key);
    let apply =
        |by: &Signer| apply(copy.path(), Manifest::unverified(stored(&text)).unwrap(), &trusting(&[by]));
    assert_eq!(words(&apply(&signer(Level::MlDsa44, 2))), ["unknown-key"]);
    fs::write(copy.path().join("usr.conf"), "another").unwrap();
    let found = apply(&key);
    assert_eq!(found[&b"usr.conf"[..]], "does-not-verify");
    assert_eq!(found.values().filter(|word| *word == "good").count(), 4);
    assert_eq!(verify(&open(copy.path()), &trusting(&[&key]))[&b"usr.conf"[..]], "unsigned");

    let mut lines = 0;
    let Ok(()) = open(copy.path()).extract(USER_IMA, HashAlgorithm::Sha256, |entry| {
        lines += usize::from(entry.line.is_some_and(|line| line.attribute.is_some()));
        Ok::<(), Infallible>(())
    });
    assert_eq!(lines, 4);
}

/// Signed where it lies, a file has one signature; in the manifest of the same run both of its names have a line.
#[test]
fn a_manifest_beside_attributes_lists_every_name() {
    for keep_signatures in [false, true] {
        let (folder, key) = (tempfile::tempdir().unwrap(), signer(Level::MlDsa44, 1));
        let at = folder.path();
        fs::write(at.join("one"), "content").unwrap();
        fs::hard_link(at.join("one"), at.join("two")).unwrap();
        let options = SignOptions { keep_signatures, ..user() };
        for first in ["signed", "kept"] {
            let outcomes = sign(&open(at), &key, SignOptions { lines: true, ..options });
            assert_eq!(outcomes.values().collect::<Vec<_>>(), [first, "listed"]);
        }
        assert_eq!(words(&sign(&open(at), &key, user())), ["hard link", "kept"], "without lines");
        let text = manifest(at, Rules::default(), Some(&key), options, &key);
        assert_eq!(by_manifest(at, &text, &[&key]).unwrap().values().collect::<Vec<_>>(), ["good", "good"]);

        fs::remove_file(at.join("two")).unwrap();
        fs::write(at.join("two"), "content").unwrap();
        let manifest = Manifest::unverified(stored(&text)).unwrap();
        let mut outcomes = Vec::new();
        let Ok(()) = open(at).apply(manifest, &trusting(&[&key]), USER_IMA, false, |entry| {
            outcomes.push(applied(&entry.outcome));
            Ok::<(), Infallible>(())
        });
        // The file that is still the one that was signed has its signature.
        let expected = if keep_signatures { ["kept", "good"] } else { ["unsigned"; 2] };
        assert_eq!(outcomes, expected, "each line has a signature of its own");
    }
}

/// A manifest lists every name of a file, each with a signature of its own; and the next manifest has other signatures.
#[test]
fn a_file_of_two_names_takes_either_signature() {
    let (folder, key, other) =
        (tempfile::tempdir().unwrap(), signer(Level::MlDsa44, 1), signer(Level::MlDsa44, 2));
    let at = folder.path();
    fs::write(at.join("one"), "content").unwrap();
    fs::hard_link(at.join("one"), at.join("two")).unwrap();
    let keep = SignOptions { keep_signatures: true, ..SignOptions::default() };
    let apply = |by: &Signer, replace| {
        let manifest = Manifest::unverified(stored(&manifest(at, Rules::default(), None, keep, by))).unwrap();
        let mut outcomes = Outcomes::new();
        let Ok(()) = open(at).apply(manifest, &trusting(&[&key, &other]), USER_IMA, replace, |entry| {
            outcomes.insert(entry.path, applied(&entry.outcome));
            Ok::<(), Infallible>(())
        });
        outcomes.into_values().collect::<Vec<_>>()
    };
    assert_eq!(apply(&key, false), ["good", "kept"], "one of its names is first");
    assert_eq!(apply(&key, false), ["kept", "kept"], "signatures of the same key, made later");
    assert_eq!(apply(&other, false), ["other-key", "other-key"]);
    assert_eq!(verify(&open(at), &trusting(&[&key]))[&b"one"[..]], "good");
    assert_eq!(apply(&other, true), ["good", "kept"]);
}

/// What a file has already is kept and overwritten by `apply` as it is by `sign`.
#[test]
fn what_is_there_stands_or_falls_as_by_signing() {
    let (folder, key) = (tree(), signer(Level::MlDsa44, 1));
    let at = folder.path();
    let keep = SignOptions { keep_signatures: true, ..SignOptions::default() };
    let text = manifest(at, Rules::default(), None, keep, &key);
    let back = || apply(at, Manifest::unverified(stored(&text)).unwrap(), &trusting(&[&key]));
    let file = at.join("usr.conf");
    let set =
        |value: &[u8]| rustix::fs::setxattr(&file, USER_IMA, value, rustix::fs::XattrFlags::empty()).unwrap();

    // Signatures by the same key, made by chance of its own.
    sign(&open(at), &key, user());
    let before = values(at);
    assert_eq!(words(&back()), ["kept"]);
    assert_eq!(values(at), before);
    // One of what the file was, and a bare digest of IMA.
    set(&before[1]);
    assert_eq!(back()[&b"usr.conf"[..]], "good");
    set(&[&[4, 4][..], &[0; 32]].concat());
    assert_eq!(back()[&b"usr.conf"[..]], "good");
    let applied = value(&file);
    assert_ne!(applied, before[0]);
    assert_eq!(back()[&b"usr.conf"[..]], "kept");
    // One that is good, and made in another way: by another hash function, of another thing of the file.
    let mut others = [signer(Level::MlDsa44, 1), signer(Level::MlDsa44, 1)];
    others[0].set_hash(HashAlgorithm::Sha512).unwrap();
    others[1].set_subject(Subject::FutureVerity).unwrap();
    for other in others {
        assert_eq!(words(&sign(&open(at), &other, user())), ["signed"]);
        assert_eq!(words(&back()), ["good"]);
        assert_eq!(value(&file), applied);
    }
    // Another key's, and what nobody can read.
    sign(&open(at), &signer(Level::MlDsa44, 2), SignOptions { replace: true, ..user() });
    let theirs = value(&file);
    assert_eq!(words(&back()), ["other-key"]);
    assert_eq!(value(&file), theirs);
    set(b"mine");
    assert_eq!(back()[&b"usr.conf"[..]], "occupied");
}

#[test]
fn classical_keys_sign_both_versions() {
    use sealstone_pki::{KeyAlgorithm, PrivateKeyInfo};
    for (algorithm, len) in [(KeyAlgorithm::EcP256, 32), (KeyAlgorithm::EcP384, 48)] {
        for version in [Version::V2, Version::V3] {
            let folder = tree();
            let info = PrivateKeyInfo::new(algorithm, &vec![7; len], None).unwrap();
            let mut key = Signer::new(&info, None, 0).unwrap();
            key.set_version(version).unwrap();
            assert_eq!(words(&sign(&open(folder.path()), &key, user())), ["signed"]);
            assert_eq!(words(&sign(&open(folder.path()), &key, user())), ["kept"]);
            assert_eq!(words(&verify(&open(folder.path()), &trusting(&[&key]))), ["good"]);
            fs::write(folder.path().join("usr.conf"), "changed").unwrap();
            assert_eq!(verify(&open(folder.path()), &trusting(&[&key]))[&b"usr.conf"[..]], "does-not-verify");
        }
    }
    assert_eq!(signer(Level::MlDsa65, 1).set_version(Version::V2), Err(Error::ClassicalRules));
}

/// A kernel whose policy asks for version 3 takes no other, however good it is.
#[test]
fn a_good_signature_of_another_version_does_not_stay() {
    use sealstone_pki::{KeyAlgorithm, PrivateKeyInfo};
    let folder = tree();
    let at = folder.path();
    let info = PrivateKeyInfo::new(KeyAlgorithm::EcP256, &[7; 32], None).unwrap();
    let [mut old, new] = [(); 2].map(|()| Signer::new(&info, None, 0).unwrap());
    old.set_version(Version::V2).unwrap();
    let keep = SignOptions { keep_signatures: true, ..SignOptions::default() };
    let text = manifest(at, Rules::default(), None, keep, &new);
    sign(&open(at), &old, user());
    let before = values(at);
    assert!(before.iter().all(|value| value[1] == 2));
    let back = || apply(at, Manifest::unverified(stored(&text)).unwrap(), &trusting(&[&new]));
    assert_eq!(words(&back()), ["good"]);
    assert!(values(at).iter().all(|value| value[1] == 3));
    assert_eq!(words(&back()), ["kept"]);
}

/// More files than fit a batch or a window, by several threads, in the order of their names.
#[test]
fn many_files_come_in_order() {
    let (folder, key) = (tempfile::tempdir().unwrap(), signer(Level::MlDsa44, 1));
    for number in 0..700 {
        let place = folder.path().join(format!("{:02}", number % 37));
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join(format!("{number}")), format!("{number}")).unwrap();
    }
    let mut paths = Vec::new();
    let Ok(()) = Tree::open(folder.path(), Rules::default(), false, 5).unwrap().sign(&key, user(), |entry| {
        assert_eq!(word(&entry.outcome), "signed");
        paths.push(entry.path);
        Ok::<(), Infallible>(())
    });
    assert_eq!(paths.len(), 700);
    assert!(paths.is_sorted());
    assert_eq!(words(&verify(&open(folder.path()), &trusting(&[&key]))), ["good"]);
}
