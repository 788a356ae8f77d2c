//! What is done to the value of an attribute.

use sealstone_mldsa::{Context, Level, any};
use sealstone_tree::{FileId, HashAlgorithm, Kind, Record, Version};

use super::CONTENT;
use crate::world::{digest, signer};

/// What was done, in words; what must be said; how it is done to a value.
pub(super) type Forgery = (&'static str, &'static str, Box<dyn Fn(&[u8]) -> Vec<u8>>);

fn byte(what: &'static str, expected: &'static str, at: usize, value: u8) -> Forgery {
    let change = move |given: &[u8]| {
        let mut changed = given.to_vec();
        changed[at] = value;
        changed
    };
    (what, expected, Box::new(change))
}

fn flip(what: &'static str, at: fn(usize) -> usize) -> Forgery {
    let change = move |given: &[u8]| {
        let mut changed = given.to_vec();
        let at = at(changed.len());
        changed[at] ^= 1;
        changed
    };
    (what, "does-not-verify", Box::new(change))
}

fn made(what: &'static str, expected: &'static str, value: impl Fn(&[u8]) -> Vec<u8> + 'static) -> Forgery {
    (what, expected, Box::new(value))
}

/// A record that is well formed, over something else or in another way.
fn record(level: Level, number: u8, version: Version, kind: Kind, message: &[u8], ctx: &[u8]) -> Vec<u8> {
    let digest = digest("sha256sum", CONTENT);
    let file = FileId::new(kind, HashAlgorithm::Sha256, &digest).unwrap();
    let key = any::SigningKey::from_seed(level, &[number; 32]);
    let signature = key.sign_deterministic(Context::new(ctx).unwrap(), message).unwrap();
    let id = signer(Level::MlDsa65, 1).public().key_id;
    let bytes = match &signature {
        any::Signature::MlDsa44(signature) => signature.encode().to_vec(),
        any::Signature::MlDsa65(signature) => signature.encode().to_vec(),
        any::Signature::MlDsa87(signature) => signature.encode().to_vec(),
    };
    Record::by(version, &file, id, &bytes).unwrap().to_bytes()
}

fn id(kind: u8, hash: u8) -> Vec<u8> {
    [&[kind, hash][..], &digest("sha256sum", CONTENT)].concat()
}

pub(super) fn forgeries() -> Vec<Forgery> {
    let mut all = vec![
        byte("type 0", "malformed", 0, 0),
        byte("type 1: a bare SHA-1", "malformed", 0, 1),
        byte("type 2: an HMAC of EVM", "malformed", 0, 2),
        byte("type 4: a bare digest", "malformed", 0, 4),
        byte("type 5: a signature of attributes", "malformed", 0, 5),
        byte("type 6: a signature of a Merkle tree", "does-not-verify", 0, 6),
        byte("type 7", "malformed", 0, 7),
        byte("type 255", "malformed", 0, 255),
        byte("version 0", "unsupported-version", 1, 0),
        byte("version 1", "unsupported-version", 1, 1),
        byte("version 2 with an ML-DSA key", "classical-not-checked", 1, 2),
        byte("version 4", "unsupported-version", 1, 4),
        byte("version 255", "unsupported-version", 1, 255),
        byte("hash function 0, MD4", "malformed", 2, 0),
        byte("hash function 1, MD5", "malformed", 2, 1),
        byte("hash function 2, SHA-1, in place of SHA-256", "does-not-verify", 2, 2),
        byte("hash function 3, RIPEMD-160", "malformed", 2, 3),
        byte("hash function 5, SHA-384, in place of SHA-256", "does-not-verify", 2, 5),
        byte("hash function 6, SHA-512, in place of SHA-256", "does-not-verify", 2, 6),
        byte("hash function 7, SHA-224, in place of SHA-256", "does-not-verify", 2, 7),
        byte("hash function 17, SM3", "malformed", 2, 17),
        byte("hash function 20, SHA3-256, in place of SHA-256", "does-not-verify", 2, 20),
        byte("hash function 21, SHA3-384, in place of SHA-256", "does-not-verify", 2, 21),
        byte("hash function 22, SHA3-512, in place of SHA-256", "does-not-verify", 2, 22),
        byte("hash function 255", "malformed", 2, 255),
        byte("first byte of the key id", "unknown-key", 3, 0),
        byte("last byte of the key id", "unknown-key", 6, 0),
        byte("length of the signature: high byte", "malformed", 7, 0),
        byte("length of the signature: low byte", "malformed", 8, 0),
        flip("first bit of the signature", |_| 9),
        flip("a bit of c_tilde", |_| 9 + 40),
        flip("a bit of z", |_| 9 + 1000),
        flip("last bit of the hints", |len| len - 1),
        flip("a bit of the hints", |len| len - 30),
        made("a byte too few", "malformed", |given| given[..given.len() - 1].to_vec()),
        made("a byte too many", "malformed", |given| [given, &[0]].concat()),
        made("a zero byte before", "malformed", |given| [&[0], given].concat()),
        made("another header behind it", "malformed", |given| [given, &given[..9]].concat()),
        made("header without a signature", "malformed", |given| given[..9].to_vec()),
        made("length 0 and no signature", "malformed", |given| [&given[..7], &[0, 0]].concat()),
        made("signature of zeros", "does-not-verify", |given| {
            [&given[..9], &vec![0; given.len() - 9]].concat()
        }),
        made("signature of ones", "does-not-verify", |given| {
            [&given[..9], &vec![255; given.len() - 9]].concat()
        }),
        made("1023 bytes, as an older evmctl cut it", "malformed", |given| given[..1023].to_vec()),
        made("an empty value", "malformed", |_| Vec::new()),
        made("text", "malformed", |_| b"signed, believe me".to_vec()),
        made("3000 bytes of filler", "unsupported-version", |_| {
            let mut value = vec![3; 3000];
            value[1] = 9;
            value
        }),
        made("a signature by another key under this id", "does-not-verify", |_| {
            record(Level::MlDsa65, 2, Version::V3, Kind::File, &id(3, 4), b"")
        }),
        made("a signature of ML-DSA-44 under this id", "does-not-verify", |_| {
            record(Level::MlDsa44, 1, Version::V3, Kind::File, &id(3, 4), b"")
        }),
        made("a signature of ML-DSA-87 under this id", "does-not-verify", |_| {
            // What ext4 cannot hold is cut out of the question: the value is as long as it is on others.
            let long = record(Level::MlDsa87, 1, Version::V3, Kind::File, &id(3, 4), b"");
            [&long[..7], &3309_u16.to_be_bytes(), &long[9..9 + 3309]].concat()
        }),
        made("over the digest alone", "does-not-verify", |_| {
            record(Level::MlDsa65, 1, Version::V3, Kind::File, &digest("sha256sum", CONTENT), b"")
        }),
        made("over the digest, said to be version 2", "classical-not-checked", |_| {
            record(Level::MlDsa65, 1, Version::V2, Kind::File, &digest("sha256sum", CONTENT), b"")
        }),
        made("over the file itself", "does-not-verify", |_| {
            record(Level::MlDsa65, 1, Version::V3, Kind::File, CONTENT, b"")
        }),
        made("over an id of type 6, said to be of type 3", "does-not-verify", |_| {
            record(Level::MlDsa65, 1, Version::V3, Kind::File, &id(6, 4), b"")
        }),
        made("over an id of type 5, said to be of type 3", "does-not-verify", |_| {
            record(Level::MlDsa65, 1, Version::V3, Kind::File, &id(5, 4), b"")
        }),
        made("over an id of SHA-512, said to be of SHA-256", "does-not-verify", |_| {
            record(Level::MlDsa65, 1, Version::V3, Kind::File, &id(3, 6), b"")
        }),
        made("a good signature of a Merkle tree with this digest", "does-not-verify", |_| {
            record(Level::MlDsa65, 1, Version::V3, Kind::Verity, &id(6, 4), b"")
        }),
        made("a good signature of its Merkle tree, without fs-verity: good", "good-without-verity", |_| {
            let id = [&[6, 4][..], &fsverity(CONTENT)].concat();
            record(Level::MlDsa65, 1, Version::V3, Kind::Verity, &id, b"")
        }),
        made("a good signature of its Merkle tree, said to be of its bytes", "does-not-verify", |_| {
            let id = [&[6, 4][..], &fsverity(CONTENT)].concat();
            record(Level::MlDsa65, 1, Version::V3, Kind::File, &id, b"")
        }),
        made(
            "over the Merkle tree's digest in an id of type 3, said to be of type 6",
            "does-not-verify",
            |_| {
                let id = [&[3, 4][..], &fsverity(CONTENT)].concat();
                record(Level::MlDsa65, 1, Version::V3, Kind::Verity, &id, b"")
            },
        ),
        made("type 6 with SHA-384, which fs-verity does not have", "verity-hash", |given| {
            [&[6, 3, 5][..], &given[3..]].concat()
        }),
        made("a good signature of attributes with this digest", "malformed", |_| {
            record(Level::MlDsa65, 1, Version::V3, Kind::Attributes, &id(5, 4), b"")
        }),
        made("with a manifest's context", "does-not-verify", |_| {
            record(Level::MlDsa65, 1, Version::V3, Kind::File, &id(3, 4), sealstone_tree::manifest::CONTEXT)
        }),
        made("with another context", "does-not-verify", |_| {
            record(Level::MlDsa65, 1, Version::V3, Kind::File, &id(3, 4), b"x")
        }),
        made("without randomness, by the right key: good", "good", |_| {
            record(Level::MlDsa65, 1, Version::V3, Kind::File, &id(3, 4), b"")
        }),
    ];
    for cut in 1..9 {
        let what: &'static str =
            ["", "1 byte", "2 bytes", "3 bytes", "4 bytes", "5 bytes", "6 bytes", "7 bytes", "8 bytes"][cut];
        all.push(made(what, "malformed", move |given| given[..cut].to_vec()));
    }
    all
}

/// fs-verity of a file of one block, by the system's sha256sum: the root is the digest of the block, which zeros fill up.
fn fsverity(content: &[u8]) -> Vec<u8> {
    let mut block = content.to_vec();
    block.resize(4096, 0);
    let mut descriptor = vec![0; 256];
    descriptor[..3].copy_from_slice(&[1, 1, 12]);
    descriptor[8] = content.len() as u8;
    descriptor[16..48].copy_from_slice(&digest("sha256sum", &block));
    digest("sha256sum", &descriptor)
}
