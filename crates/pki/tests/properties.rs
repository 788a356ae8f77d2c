//! Round trips, one encoding per key, and no panic on anything.

use proptest::prelude::*;
use sealstone_mldsa::Level;
use sealstone_pki::{KeyAlgorithm, PrivateKeyInfo, PublicKeyInfo, pkcs8, spki};

fn algorithms() -> impl Strategy<Value = KeyAlgorithm> {
    prop::sample::select(KeyAlgorithm::ALL.to_vec())
}

/// A public key of the right shape.
fn public_keys() -> impl Strategy<Value = PublicKeyInfo> {
    algorithms().prop_flat_map(|algorithm| {
        prop::collection::vec(any::<u8>(), algorithm.public_len()).prop_map(move |mut key| {
            if !matches!(algorithm, KeyAlgorithm::Ed25519 | KeyAlgorithm::MlDsa(_)) {
                key[0] = 4;
            }
            PublicKeyInfo::new(algorithm, &key).unwrap()
        })
    })
}

/// A private key of the right shape; scalars are below 2^(bits - 8) so that they are below the order.
fn private_keys() -> impl Strategy<Value = PrivateKeyInfo> {
    algorithms().prop_flat_map(|algorithm| {
        prop::collection::vec(any::<u8>(), algorithm.secret_len()).prop_map(move |mut secret| {
            if !matches!(algorithm, KeyAlgorithm::Ed25519 | KeyAlgorithm::MlDsa(_)) {
                secret[..2].fill(0);
                secret[2] |= 1;
            }
            PrivateKeyInfo::new(algorithm, &secret, None).unwrap()
        })
    })
}

/// Bytes near a good structure: some changed, some cut, some added.
fn near(good: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let len = good.len();
    let edits = prop::collection::vec((0..len.min(64), any::<u8>()), 0..4);
    (edits, 0..len + 8, any::<u8>()).prop_map(move |(edits, cut, fill)| {
        let mut bytes = good.clone();
        for (at, value) in edits {
            bytes[at] = value;
        }
        if cut % 4 == 0 {
            bytes.resize(cut, fill);
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn public_round_trip(key in public_keys()) {
        prop_assert_eq!(&spki::from_der(&spki::to_der(&key)).unwrap(), &key);
        prop_assert_eq!(&spki::from_pem(&spki::to_pem(&key)).unwrap(), &key);
    }

    #[test]
    fn private_round_trip(key in private_keys()) {
        let der = pkcs8::to_der(&key).unwrap();
        let read = pkcs8::from_der(&der).unwrap();
        prop_assert_eq!(read.algorithm(), key.algorithm());
        prop_assert_eq!(read.raw().unwrap(), key.raw().unwrap());
        prop_assert_eq!(read.public(), key.public());
        let read = pkcs8::from_pem(&pkcs8::to_pem(&read).unwrap()).unwrap();
        prop_assert_eq!(&pkcs8::to_der(&read).unwrap(), &der);
    }

    /// Whatever is read as a public key is written back byte for byte: no key has two encodings.
    #[test]
    fn public_is_canonical(bytes in public_keys().prop_flat_map(|key| near(spki::to_der(&key)))) {
        if let Ok(key) = spki::from_der(&bytes) {
            prop_assert_eq!(spki::to_der(&key), bytes);
        }
    }

    #[test]
    fn private_is_canonical(bytes in private_keys().prop_flat_map(|key| near(pkcs8::to_der(&key).unwrap().to_vec()))) {
        if let Ok(key) = pkcs8::from_der(&bytes) {
            prop_assert_eq!(&*pkcs8::to_der(&key).unwrap(), &bytes);
        }
    }

    #[test]
    fn no_panic_on_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = spki::from_der(&bytes);
        let _ = pkcs8::from_der(&bytes);
        let _ = pkcs8::from_sec1_der(&bytes);
    }

    #[test]
    fn no_panic_on_text(text in "\\PC{0,200}", label in "(PUBLIC|PRIVATE|EC PRIVATE)", end in "\r?\n") {
        for text in [text.clone(), format!("-----BEGIN {label} KEY-----{end}{text}{end}-----END {label} KEY-----{end}")] {
            let _ = spki::from_pem(&text);
            let _ = pkcs8::from_pem(&text);
        }
    }
}

/// Every byte of a short key set to every value: read or refused, and if read, written back the same.
#[test]
fn every_byte_of_a_seed_key() {
    let key = PrivateKeyInfo::new(KeyAlgorithm::MlDsa(Level::MlDsa44), &[9; 32], None).unwrap();
    let good = pkcs8::to_der(&key).unwrap();
    let (mut read, mut refused) = (0, 0);
    for at in 0..22 {
        for value in 0..=255 {
            let mut bytes = good.to_vec();
            bytes[at] = value;
            match pkcs8::from_der(&bytes) {
                Ok(key) => {
                    assert_eq!(*pkcs8::to_der(&key).unwrap(), bytes, "byte {at} = {value:#04x}");
                    read += 1;
                }
                Err(_) => refused += 1,
            }
        }
    }
    // 22 times the byte as it was, and two more levels in the object identifier.
    assert_eq!((read, refused), (24, 22 * 256 - 24));
}
