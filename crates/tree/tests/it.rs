//! The format of the attribute, byte by byte, the rules by which it is believed, and whole trees of it on real file systems.

#![allow(clippy::unwrap_used, missing_docs)]

mod appraisal;
mod bytes;
mod certificates;
mod faults;
mod file_systems;
mod forecast;
mod kernels;
mod last_look;
mod leases;
mod openssl;
mod oracle;
mod races;
mod room;
mod trees;
mod verities;
mod world;

use sealstone_mldsa::{Context, Level, any};
use sealstone_tree::{FileId, HashAlgorithm, KeyId, Kind, Record};

/// SHA-256 and SHA-512 of nothing (FIPS 180-4).
const EMPTY_256: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const EMPTY_512: &str = concat!(
    "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce",
    "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e",
);

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn empty_file(kind: Kind) -> FileId {
    FileId::new(kind, HashAlgorithm::Sha256, &hex(EMPTY_256)).unwrap()
}

fn key(level: Level, number: u8) -> any::SigningKey {
    any::SigningKey::from_seed(level, &[number; 32])
}

/// The attribute of a file, by that key under that id.
fn signed(key: &any::SigningKey, key_id: KeyId, file: &FileId) -> Vec<u8> {
    let signature = key.sign_deterministic(Context::EMPTY, file.as_bytes()).unwrap();
    Record::of(file, key_id, signature.encode()).unwrap().to_bytes()
}
