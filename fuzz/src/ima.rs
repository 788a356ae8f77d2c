//! Signatures of files as Linux IMA keeps them, and manifests of trees.

use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::sync::OnceLock;

use rustix::fs::MemfdFlags;
use sealstone_mldsa::{Context, Level, any};
use sealstone_pki::{KeyAlgorithm, PrivateKeyInfo};
use sealstone_tree::manifest::{Line, Writer};
use sealstone_tree::{
    Appraiser, FileId, HashAlgorithm, KeyId, Kind, Manifest, Record, Signer, TrustedKey, Version,
};

/// SHA-256 of the file that everything in the corpus is a signature of: b"fuzz".
const DIGEST: [u8; 32] = [
    0x93, 0x85, 0x0b, 0x70, 0x75, 0x85, 0xe4, 0x04, 0xe4, 0x95, 0x1a, 0x3d, 0xdc, 0x1f, 0x05, 0xa3, 0x4b,
    0x3d, 0x4f, 0x5f, 0xc0, 0x81, 0xd6, 0x16, 0xf4, 0x6d, 0x8a, 0x2e, 0x8f, 0x1c, 0x8e, 0x68,
];

/// The first byte says which: an attribute's value, or a manifest.
pub fn ima(input: &[u8]) {
    match input.split_first() {
        Some((first, value)) if first % 2 == 0 => attribute(value),
        Some((_, text)) => manifest(text),
        None => {}
    }
}

/// Any bytes as an attribute: no panic, what is read is written again, one of many is judged as it is alone, and nothing is good
/// but what the keys signed.
fn attribute(value: &[u8]) {
    let Ok(record) = Record::parse(value) else { return };
    assert_eq!(record.to_bytes(), value);
    let trusted = trusted();
    let ids = [Kind::File, Kind::Verity, Kind::Attributes]
        .map(|kind| FileId::new(kind, HashAlgorithm::Sha256, &DIGEST).expect("its length"));
    let claims = ids.map(|id| (record, id));
    let verdicts = trusted.appraiser.appraise_all(&claims);
    for (id, verdict) in ids.iter().zip(verdicts) {
        assert_eq!(trusted.appraiser.appraise(&record, id), verdict);
        if verdict.is_err() {
            continue;
        }
        assert_eq!((record.kind(), record.hash()), (id.kind(), id.hash()));
        let by_ml_dsa = record.key_id() != trusted.ecdsa;
        assert!(!by_ml_dsa || record.version() == Version::V3);
        // One rnd, one signature; those of ECDSA have a second form.
        assert!(
            !by_ml_dsa || trusted.signed.iter().any(|signed| signed == value),
            "nothing else was ever signed"
        );
    }
}

/// Any bytes as a manifest: no panic, nothing but what the key signed is good, and what is read is written again.
fn manifest(text: &[u8]) {
    let trusted = trusted();
    if let Ok(manifest) = Manifest::verified(stored(text), &trusted.keys) {
        assert!(text == trusted.manifest, "nothing else was ever signed");
        assert!(manifest.into_iter().all(|line| line.is_ok()));
    }
    let Ok(manifest) = Manifest::unverified(stored(text)) else { return };
    // The writer names a key only where it signs.
    let writes = manifest.header.key.is_none();
    let mut writer = Writer::new(Vec::new(), manifest.header.clone(), None).expect("memory takes everything");
    let mut last: Option<Line> = None;
    for line in manifest {
        let Ok(line) = line else { return };
        assert!(!line.path.is_empty() && line.path[0] != b'/' && !line.path.contains(&0));
        assert!(!line.path.split(|byte| *byte == b'/').any(|part| part == b".." || part == b"."));
        assert!(line.mode <= 0o7777 && line.digest.len() >= 20);
        assert!(last.is_none_or(|last| last.path != line.path));
        writer.line(&line).expect("memory takes everything");
        last = Some(line);
    }
    let again = writer.finish().expect("memory takes everything");
    let signed = text.windows(11).rposition(|at| at == b"\nsignature ").map_or(text.len(), |at| at + 1);
    assert!(!writes || again == text[..signed], "each thing has one spelling");
}

/// A file that is nowhere.
fn stored(text: &[u8]) -> File {
    let memory = rustix::fs::memfd_create("manifest", MemfdFlags::CLOEXEC).expect("Linux has it");
    let mut file = File::from(memory);
    file.write_all(text).and_then(|()| file.rewind()).expect("memory takes everything");
    file
}

/// Keys, and what they signed.
struct Trusted {
    appraiser: Appraiser,
    ecdsa: KeyId,
    keys: Vec<TrustedKey>,
    signed: Vec<Vec<u8>>,
    manifest: Vec<u8>,
}

fn trusted() -> &'static Trusted {
    static TRUSTED: OnceLock<Trusted> = OnceLock::new();
    TRUSTED.get_or_init(|| {
        let mut appraiser = Appraiser::new();
        let mut signed = Vec::new();
        for (level, id) in Level::ALL.into_iter().zip([KeyId(1), KeyId(2), KeyId(3)]) {
            let key = any::SigningKey::from_seed(level, &[7; 32]);
            appraiser.trust(id, sealstone_tree::Key::MlDsa(key.verifying_key().expand()));
            for kind in [Kind::File, Kind::Verity] {
                let file = FileId::new(kind, HashAlgorithm::Sha256, &DIGEST).expect("its length");
                let signature = key.sign_deterministic(Context::EMPTY, file.as_bytes()).expect("a key signs");
                signed.push(Record::of(&file, id, signature.encode()).expect("its length").to_bytes());
            }
        }
        let info = PrivateKeyInfo::new(KeyAlgorithm::EcP256, &[7; 32], None).expect("a scalar in range");
        let ecdsa = Signer::new(&info, None, 0).expect("a good key");
        ecdsa.public().trusted_by(&mut appraiser).expect("its own public key");
        let manifest = include_bytes!("../corpus/ima/manifest-signed")[1..].to_vec();
        let keys = vec![TrustedKey::of_spki(&signer().public().spki).expect("its own public key")];
        Trusted { appraiser, ecdsa: ecdsa.public().key_id, keys, signed, manifest }
    })
}

/// Who signed the manifest of the corpus.
fn signer() -> Signer {
    let info = PrivateKeyInfo::new(KeyAlgorithm::MlDsa(Level::MlDsa44), &[7; 32], None).expect("a seed");
    Signer::new(&info, None, 0).expect("a good key")
}

#[cfg(test)]
mod corpus {
    use super::*;
    use sealstone_tree::Rules;
    use sealstone_tree::manifest::Header;

    /// Writes the corpus: `IMA_CORPUS=write cargo test corpus`. The manifest's signature is another each time.
    #[test]
    fn is_written() {
        if std::env::var_os("IMA_CORPUS").is_none_or(|mode| mode != "write") {
            return;
        }
        let put = |name: &str, first: u8, bytes: &[u8]| {
            let place = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/ima").join(name);
            std::fs::write(place, [&[first], bytes].concat()).unwrap();
        };
        for (name, value) in
            ["44", "44-verity", "65", "65-verity", "87", "87-verity"].iter().zip(&trusted().signed)
        {
            put(&format!("record-{name}"), 0, value);
        }
        let info = PrivateKeyInfo::new(KeyAlgorithm::EcP256, &[7; 32], None).unwrap();
        let mut ecdsa = Signer::new(&info, None, 0).unwrap();
        let file = FileId::new(Kind::File, HashAlgorithm::Sha256, &DIGEST).unwrap();
        put("record-p256-3", 0, ecdsa.sign(&[file])[0].as_ref().unwrap());
        ecdsa.set_version(Version::V2).unwrap();
        put("record-p256-2", 0, ecdsa.sign(&[file])[0].as_ref().unwrap());

        let mut rules = Rules::new(vec!["*.pyc".into(), "!a b".into()], vec!["/usr".into()]).unwrap();
        rules.only_executable = true;
        rules.min_size = 7;
        let header = Header {
            created: 1_795_320_000,
            label: b"usr".to_vec(),
            hash: HashAlgorithm::Sha256,
            key: None,
            rules,
            cross_mounts: true,
        };
        let line = |path: &[u8], attribute| Line {
            digest: DIGEST.to_vec(),
            size: 4,
            mode: 0o4755,
            attribute,
            path: path.to_vec(),
        };
        let write = |signer: Option<&Signer>, attribute: Option<Vec<u8>>| {
            let mut writer = Writer::new(Vec::new(), header.clone(), signer).unwrap();
            writer.line(&line(b"a/b\n", attribute.clone())).unwrap();
            writer.line(&line(b"c\xff", None)).unwrap();
            writer.finish().unwrap()
        };
        put("manifest-plain", 1, &write(None, None));
        put("manifest-kept", 1, &write(None, Some(trusted().signed[0].clone())));
        put("manifest-signed", 1, &write(Some(&signer()), None));
    }
}
