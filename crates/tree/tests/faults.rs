//! Faults by name: what was done to a file or its signature, what must be said, and what was said. The table goes to
//! docs/tree-faults.md: `TREE_FAULTS=write cargo test -p sealstone-tree faults` writes it.

use std::fs;
use std::path::Path;

use sealstone_mldsa::{Context, Level, any};
use sealstone_tree::{FileId, HashAlgorithm, KeyId, Kind, Record, USER_IMA, Version};

use crate::world::{digest, open, sign, signer, trusting, user, verify};

const CONTENT: &[u8] = b"the content of the file";

/// What was done, in words; what must be said; how it is done to a value.
type Forgery = (&'static str, &'static str, Box<dyn Fn(&[u8]) -> Vec<u8>>);

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

fn forgeries() -> Vec<Forgery> {
    let mut all = vec![
        byte("type 0", "malformed", 0, 0),
        byte("type 1: a bare SHA-1", "malformed", 0, 1),
        byte("type 2: an HMAC of EVM", "malformed", 0, 2),
        byte("type 4: a bare digest", "malformed", 0, 4),
        byte("type 5: a signature of attributes", "malformed", 0, 5),
        byte("type 6: a signature of a Merkle tree", "malformed", 0, 6),
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
        made("a good signature of a Merkle tree with this digest", "malformed", |_| {
            record(Level::MlDsa65, 1, Version::V3, Kind::Verity, &id(6, 4), b"")
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

/// The same for the file itself.
type Change = (&'static str, &'static str, fn(&Path));

/// What happens to the file after it was signed.
fn changes() -> Vec<Change> {
    vec![
        ("nothing", "good", |_| ()),
        ("one bit of the content", "does-not-verify", |at| {
            let mut content = CONTENT.to_vec();
            content[5] ^= 1;
            fs::write(at, content).unwrap();
        }),
        ("a byte appended", "does-not-verify", |at| fs::write(at, [CONTENT, b"\0"].concat()).unwrap()),
        ("a byte cut off", "does-not-verify", |at| fs::write(at, &CONTENT[1..]).unwrap()),
        ("emptied", "does-not-verify", |at| fs::write(at, "").unwrap()),
        ("a hole of 1 MiB appended", "does-not-verify", |at| {
            fs::File::options().write(true).open(at).unwrap().set_len(1 << 20).unwrap();
        }),
        ("signature taken away", "unsigned", |at| rustix::fs::removexattr(at, USER_IMA).unwrap()),
        ("replaced by a new file", "unsigned", |at| {
            fs::remove_file(at).unwrap();
            fs::write(at, CONTENT).unwrap();
        }),
        ("replaced by a link to itself elsewhere", "symbolic link", |at| {
            let other = at.with_extension("moved");
            fs::rename(at, &other).unwrap();
            std::os::unix::fs::symlink(&other, at).unwrap();
        }),
        ("replaced by a named pipe", "named pipe", |at| {
            fs::remove_file(at).unwrap();
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mknodat(rustix::fs::CWD, at, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        }),
        ("written again as it was", "good", |at| fs::write(at, CONTENT).unwrap()),
        ("renamed and back, other times, other mode", "good", |at| {
            use std::os::unix::fs::PermissionsExt as _;
            fs::rename(at, at.with_extension("moved")).unwrap();
            fs::rename(at.with_extension("moved"), at).unwrap();
            fs::set_permissions(at, fs::Permissions::from_mode(0o751)).unwrap();
            fs::File::options().write(true).open(at).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        }),
        ("signature of another file of the tree", "does-not-verify", |at| {
            let other = at.with_extension("other");
            let mut value = vec![0; 8192];
            let len = rustix::fs::getxattr(&other, USER_IMA, &mut value[..]).unwrap();
            rustix::fs::setxattr(at, USER_IMA, &value[..len], rustix::fs::XattrFlags::empty()).unwrap();
        }),
    ]
}

#[test]
fn faults_are_called_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("file");
    let key = signer(Level::MlDsa65, 1);
    let appraiser = trusting(&[&key]);
    let fresh = || {
        let _ = fs::remove_file(&at);
        fs::write(&at, CONTENT).unwrap();
        fs::write(at.with_extension("other"), "another").unwrap();
        let found = sign(&open(folder.path()), &key, user());
        assert_eq!(found[&b"file"[..]], "signed");
    };
    let mut rows = Vec::new();
    fresh();
    let mut value = vec![0; 8192];
    let len = rustix::fs::getxattr(&at, USER_IMA, &mut value[..]).unwrap();
    value.truncate(len);
    assert_ne!(KeyId::of(&value[3..7]).unwrap(), KeyId(0));
    for (what, expected, forge) in forgeries() {
        rustix::fs::setxattr(&at, USER_IMA, &forge(&value), rustix::fs::XattrFlags::empty()).unwrap();
        let found = verify(&open(folder.path()), &appraiser)[&b"file"[..]].clone();
        rows.push(("the value", what, expected, found));
    }
    for (what, expected, change) in changes() {
        fresh();
        change(&at);
        let found = verify(&open(folder.path()), &appraiser)[&b"file"[..]].clone();
        rows.push(("the file", what, expected, found));
    }
    assert!(rows.len() >= 80, "{} cases", rows.len());
    for (of, what, expected, found) in &rows {
        assert_eq!(found, expected, "{of}: {what}");
    }

    let mut page = "# Faults of signed trees\n\nOne file, signed with ML-DSA-65, and what was done to the value of its \
        attribute or to the file itself.\n`TREE_FAULTS=write cargo test -p sealstone-tree faults` makes this table; what \
        swaps, kills, full disks and\nmounts do is in the tests `races` and `file_systems` of the same crate.\n\n| of | \
        what was done | expected | found |\n|---|---|---|---|\n"
        .to_owned();
    for (of, what, expected, found) in &rows {
        page += &format!("| {of} | {what} | {expected} | {found} |\n");
    }
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tree-faults.md");
    if std::env::var_os("TREE_FAULTS").is_some_and(|mode| mode == "write") {
        fs::write(&place, &page).unwrap();
    }
    assert_eq!(fs::read_to_string(&place).unwrap_or_default(), page, "docs/tree-faults.md is another");
}
