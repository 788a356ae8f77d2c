//! Keys under a password: what OpenSSL wrote, what is written here, and what is refused.

use sealstone_mldsa::OsRandom;
use sealstone_pki::pbes2::{self, Cost};
use sealstone_pki::{Error, KeyAlgorithm, PrivateKeyInfo, pkcs8};

use super::support::{Node, oid, seq, tlv};
use crate::{data, unpem};

const PASSWORD: &[u8] = b"correct horse battery staple";

fn plain() -> Vec<u8> {
    let info = PrivateKeyInfo::new(KeyAlgorithm::Ed25519, &[7; 32], None).unwrap();
    pkcs8::to_der(&info).unwrap().to_vec()
}

/// Few iterations, for tests: put together by hand from what is written.
fn quick(prf: &str, cipher: &str, key_len: Option<u8>, iterations: &[u8]) -> Vec<u8> {
    let mut tree = Node::parse(&pbes2::to_der(&plain(), PASSWORD, Cost::default(), &mut OsRandom).unwrap());
    let salt = tree.at(&[0, 1, 0, 1, 0]).bytes();
    let len = key_len.map_or(Vec::new(), |len| tlv(0x02, &[len]));
    let prf = if prf.is_empty() { Vec::new() } else { seq(&[&oid(prf), &tlv(0x05, &[])]) };
    let kdf = seq(&[&salt, &tlv(0x02, iterations), &len, &prf]);
    *tree.at(&[0, 1, 0, 1]) = Node::parse(&kdf);
    *tree.at(&[0, 1, 1, 0]) = Node::parse(&oid(cipher));
    tree.bytes()
}

const SHA512: &str = "1.2.840.113549.2.11";
const AES256: &str = "2.16.840.1.101.3.4.1.42";

#[test]
fn what_openssl_wrote_is_read() {
    let der = pbes2::from_pem(&data("openssl/P256.encrypted.pem"), b"x").unwrap();
    assert_eq!(**der, unpem(&data("openssl/P256.pkcs8.pem")));
    assert_eq!(pbes2::from_pem(&data("openssl/P256.encrypted.pem"), b"y").unwrap_err(), Error::Password);
    for (file, what) in [
        ("sha1-128", "HMAC-SHA-1, AES-128"),
        ("sha256-192", "AES-192"),
        ("sha384-256", ""),
        ("sha512-256", ""),
    ] {
        let der = pbes2::from_pem(&data(&format!("openssl/pbes2-{file}.pem")), b"x").unwrap();
        assert_eq!(**der, unpem(&data("openssl/P256.pkcs8.pem")), "{file} {what}");
    }
    let scrypt = pbes2::from_pem(&data("openssl/pbes2-scrypt.pem"), b"x").unwrap_err();
    assert!(matches!(scrypt, Error::Unsupported { part: "the derivation", .. }), "{scrypt}");
    let old = pbes2::from_pem(&data("openssl/pbes1.pem"), b"x").unwrap_err();
    assert!(matches!(old, Error::Unsupported { part: "the scheme", .. }), "{old}");
    // Without a password it is said to be encrypted, and that is all.
    assert_eq!(pkcs8::from_pem(&data("openssl/P256.encrypted.pem")).unwrap_err(), Error::Encrypted);
}

#[test]
fn what_is_written_is_read() {
    let pem = pbes2::to_pem(&plain(), PASSWORD, Cost::default(), &mut OsRandom).unwrap();
    assert_eq!(**pbes2::from_pem(&pem, PASSWORD).unwrap(), plain());
    assert_eq!(pbes2::from_pem(&pem, b"").unwrap_err(), Error::Password);
    let mut tree = Node::parse(&unpem(&pem));
    // 600 000, HMAC with SHA-512, AES-256 in CBC.
    assert_eq!(tree.at(&[0, 1, 0, 1, 1]).content(), &[0x09, 0x27, 0xc0]);
    assert_eq!(tree.at(&[0, 1, 0, 1, 2, 0]).bytes(), oid(SHA512));
    assert_eq!(tree.at(&[0, 1, 1, 0]).bytes(), oid(AES256));
    let again = pbes2::to_pem(&plain(), PASSWORD, Cost::default(), &mut OsRandom).unwrap();
    assert_ne!(pem, again, "another salt and IV");
    for iterations in [0, 1, 599_999, 10_000_001, u32::MAX] {
        assert!(matches!(Cost::new(iterations), Err(Error::Iterations { .. })));
    }
    let most = pbes2::to_der(&plain(), PASSWORD, Cost::new(8_388_608).unwrap(), &mut OsRandom).unwrap();
    assert_eq!(Node::parse(&most).at(&[0, 1, 0, 1, 1]).content(), &[0x00, 0x80, 0x00, 0x00], "not negative");
}

#[test]
fn what_is_no_such_thing_is_refused() {
    let good = pbes2::to_der(&plain(), PASSWORD, Cost::default(), &mut OsRandom).unwrap();
    let unsupported = |der: &[u8], part: &str| match pbes2::from_der(der, PASSWORD) {
        Err(Error::Unsupported { part: found, .. }) => assert_eq!(found, part),
        other => panic!("{part}: {other:?}"),
    };
    unsupported(&quick("1.2.840.113549.2.8", AES256, None, &[1]), "the hash");
    unsupported(&quick(SHA512, "1.2.840.113549.3.7", None, &[1]), "the cipher");
    for (iterations, what) in
        [(&[0][..], "none"), (&[0x00, 0x98, 0x96, 0x81], "too many"), (&[0x7f; 8], "far too many")]
    {
        let refused = pbes2::from_der(&quick(SHA512, AES256, None, iterations), PASSWORD).unwrap_err();
        assert!(matches!(refused, Error::Iterations { .. }), "{what}: {refused}");
    }
    for iterations in [&[][..], &[0x80], &[0, 1], &[1; 9]] {
        assert!(matches!(
            pbes2::from_der(&quick(SHA512, AES256, None, iterations), PASSWORD),
            Err(Error::Der { .. })
        ));
    }
    let inconsistent = pbes2::from_der(&quick(SHA512, AES256, Some(16), &[1]), PASSWORD).unwrap_err();
    assert!(matches!(inconsistent, Error::Inconsistent { .. }));
    // One iteration is read, and gives another key.
    assert_eq!(
        pbes2::from_der(&quick(SHA512, AES256, Some(32), &[1]), PASSWORD).unwrap_err(),
        Error::Password
    );
    assert_eq!(pbes2::from_der(&quick("", AES256, None, &[1]), PASSWORD).unwrap_err(), Error::Password);

    let mut short_iv = Node::parse(&good);
    short_iv.at(&[0, 1, 1, 1]).content().pop();
    assert!(matches!(pbes2::from_der(&short_iv.bytes(), PASSWORD), Err(Error::Der { .. })));
    let mut long_salt = Node::parse(&good);
    long_salt.at(&[0, 1, 0, 1, 0]).content().resize(1025, 0);
    assert!(matches!(pbes2::from_der(&long_salt.bytes(), PASSWORD), Err(Error::Der { .. })));
    for len in [0, 1, 15, 17] {
        let mut cut = Node::parse(&quick(SHA512, AES256, None, &[1]));
        cut.at(&[1]).content().truncate(len);
        assert_eq!(pbes2::from_der(&cut.bytes(), PASSWORD).unwrap_err(), Error::Password);
    }
    for cut in 0..good.len() {
        assert!(pbes2::from_der(&good[..cut], PASSWORD).is_err());
    }
}

/// A wrong password leaves a good padding once in 256 times: that must not pass for a key.
#[test]
fn a_wrong_password_is_never_a_key() {
    for seed in 0..600_u32 {
        let refused = pbes2::from_der(&quick_once(), &seed.to_be_bytes()).unwrap_err();
        assert_eq!(refused, Error::Password);
    }
}

fn quick_once() -> Vec<u8> {
    static ONCE: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    ONCE.get_or_init(|| quick(SHA512, AES256, None, &[1])).clone()
}
