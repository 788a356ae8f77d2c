//! Signatures of type 6: of the digest that fs-verity has of a file. The tool `fsverity` is the second hand.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use sealstone_mldsa::Level;
use sealstone_pki::{KeyAlgorithm, PrivateKeyInfo};
use sealstone_tree::{
    Error, FileId, HashAlgorithm, Kind, Record, SignOptions, Signer, Subject, USER_IMA, Version,
};

use crate::trees::{apply, stored};
use crate::world::{open, sign, signer, trusting, user, verify};

/// What the tool says; nothing without it.
fn fsverity(path: &Path, hash: HashAlgorithm) -> Option<Vec<u8>> {
    let done =
        Command::new("fsverity").args(["digest", "--compact", "--hash-alg", hash.name()]).arg(path).output();
    let Some(done) = done.ok().filter(|done| done.status.success()) else {
        eprintln!("skipped: the tool fsverity is not installed");
        return None;
    };
    Some(crate::hex(String::from_utf8(done.stdout).unwrap().trim()))
}

fn future(level: Level, hash: HashAlgorithm) -> Signer {
    let mut key = signer(level, 1);
    key.set_hash(hash).unwrap();
    key.set_subject(Subject::FutureVerity).unwrap();
    key
}

fn value(path: &Path) -> Vec<u8> {
    let mut value = vec![0; 8192];
    let len = rustix::fs::getxattr(path, USER_IMA, &mut value[..]).unwrap();
    value.truncate(len);
    value
}

/// Around each length at which the tree gets another block or another level: a block of data, 64 and 128 digests, and their squares.
#[test]
fn trees_of_every_shape_are_those_of_fsverity() {
    let blocks =
        [0_u64, 1, 2, 63, 64, 65, 127, 128, 129, 255, 256, 257, 4095, 4096, 4097, 16_383, 16_384, 16_385];
    let lengths = blocks.iter().flat_map(|blocks| {
        let at = blocks * 4096;
        [at.saturating_sub(1), at, at + 1]
    });
    let tree = tempfile::tempdir().unwrap();
    let file = tree.path().join("file");
    let mut bytes = vec![0; 16_385 * 4096 + 1];
    let mut state = 1_u64;
    bytes.iter_mut().for_each(|byte| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *byte = (state >> 56) as u8;
    });
    let mut compared = 0;
    for len in lengths {
        fs::write(&file, &bytes[..usize::try_from(len).unwrap()]).unwrap();
        for hash in [HashAlgorithm::Sha256, HashAlgorithm::Sha512] {
            let Some(digest) = fsverity(&file, hash) else { return };
            let key = future(Level::MlDsa44, hash);
            assert_eq!(sign(&open(tree.path()), &key, user())[&b"file"[..]], "signed");
            let value = value(&file);
            let record = Record::parse(&value).unwrap();
            assert_eq!((record.kind(), record.hash(), record.version()), (Kind::Verity, hash, Version::V3));
            let id = FileId::new(Kind::Verity, hash, &digest).unwrap();
            assert_eq!(trusting(&[&key]).appraise(&record, &id), Ok(()), "{len} bytes, {hash}");
            compared += 1;
        }
    }
    println!("{compared} digests are those of fsverity");
}

#[test]
fn a_signature_of_a_tree_to_come_is_kept_verified_and_moved() {
    let (tree, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = tree.path().join("file");
    fs::write(&file, vec![7; 10_000]).unwrap();
    let key = future(Level::MlDsa65, HashAlgorithm::Sha256);
    assert_eq!(sign(&open(tree.path()), &key, user())[&b"file"[..]], "signed");
    assert_eq!(sign(&open(tree.path()), &key, user())[&b"file"[..]], "kept");
    let trusted = trusting(&[&key]);
    assert_eq!(verify(&open(tree.path()), &trusted)[&b"file"[..]], "good-without-verity");
    fs::write(&file, vec![8; 10_000]).unwrap();
    assert_eq!(verify(&open(tree.path()), &trusted)[&b"file"[..]], "does-not-verify");
    assert_eq!(sign(&open(tree.path()), &key, user())[&b"file"[..]], "signed");
    assert_eq!(verify(&open(tree.path()), &trusted)[&b"file"[..]], "good-without-verity");
    // The same key on the bytes is another signature, which needs no fs-verity.
    let bytes = signer(Level::MlDsa65, 1);
    assert_eq!(sign(&open(tree.path()), &bytes, user())[&b"file"[..]], "signed");
    assert_eq!(verify(&open(tree.path()), &trusted)[&b"file"[..]], "good");
    assert_eq!(value(&file)[0], 3);
    assert_eq!(sign(&open(tree.path()), &key, user())[&b"file"[..]], "signed");
    assert_eq!(value(&file)[0], 6);

    let text = crate::trees::extracted(tree.path());
    fs::write(copy.path().join("file"), vec![8; 10_000]).unwrap();
    let manifest = sealstone_tree::Manifest::unverified(stored(&text)).unwrap();
    assert_eq!(apply(copy.path(), manifest, &trusted)[&b"file"[..]], "good");
    assert_eq!(value(&copy.path().join("file")), value(&file));
    fs::File::options().append(true).open(copy.path().join("file")).unwrap().write_all(b"x").unwrap();
    assert_eq!(verify(&open(copy.path()), &trusted)[&b"file"[..]], "does-not-verify");
}

/// Where nothing holds a file to a digest, there is none to sign.
#[test]
fn a_file_without_verity_is_said_to_be_without() {
    let tree = tempfile::tempdir().unwrap();
    fs::write(tree.path().join("file"), "x").unwrap();
    let mut key = signer(Level::MlDsa65, 1);
    key.set_subject(Subject::Verity).unwrap();
    for options in [user(), SignOptions { dry_run: true, ..user() }] {
        assert_eq!(sign(&open(tree.path()), &key, options)[&b"file"[..]], "no-verity");
    }
    assert_eq!(verify(&open(tree.path()), &trusting(&[&key]))[&b"file"[..]], "unsigned");
    key.set_subject(Subject::FutureVerity).unwrap();
    let lines = SignOptions { lines: true, ..user() };
    assert_eq!(sign(&open(tree.path()), &key, lines)[&b"file"[..]], "key");
}

#[test]
fn what_fs_verity_does_not_have_is_refused() {
    let mut key = signer(Level::MlDsa65, 1);
    key.set_subject(Subject::Verity).unwrap();
    let refusal = Error::VerityHash { hash: HashAlgorithm::Sha384 };
    assert_eq!(key.set_hash(HashAlgorithm::Sha384), Err(refusal.clone()));
    let info = PrivateKeyInfo::new(KeyAlgorithm::EcP384, &[7; 48], None).unwrap();
    let mut key = Signer::new(&info, None, 0).unwrap();
    assert_eq!(key.set_subject(Subject::Verity), Err(refusal));
    let info = PrivateKeyInfo::new(KeyAlgorithm::EcP256, &[7; 32], None).unwrap();
    let mut key = Signer::new(&info, None, 0).unwrap();
    key.set_subject(Subject::FutureVerity).unwrap();
    assert!(matches!(key.set_version(Version::V2), Err(Error::Key { .. })));
    let tree = tempfile::tempdir().unwrap();
    fs::write(tree.path().join("file"), "x").unwrap();
    assert_eq!(sign(&open(tree.path()), &key, user())[&b"file"[..]], "signed");
    assert_eq!(verify(&open(tree.path()), &trusting(&[&key]))[&b"file"[..]], "good-without-verity");
}
