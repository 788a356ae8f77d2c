//! ML-KEM keys: the three forms of RFC 9935 §6, and those that contradict themselves.

use sealstone_mldsa::OsRandom;
use sealstone_pki::Error;
use sealstone_pki::ml_kem::{DecapsulationKey, EncapsulationKey, MlKem};

use super::support::{oid, seq, tlv};
use crate::data;

const SEED: [u8; 64] = {
    let mut seed = [0; 64];
    let mut index = 0;
    while index < 64 {
        seed[index] = index as u8;
        index += 1;
    }
    seed
};

fn identifier(set: MlKem) -> Vec<u8> {
    let arc = 1 + MlKem::ALL.iter().position(|known| *known == set).unwrap();
    seq(&[&oid(&format!("2.16.840.1.101.3.4.4.{arc}"))])
}

fn pkcs8(set: MlKem, inner: &[u8]) -> Vec<u8> {
    seq(&[&tlv(0x02, &[0]), &identifier(set), &tlv(0x04, inner)])
}

/// dk of FIPS 203, Algorithm 16, by another implementation: dk_pke || ek || H(ek) || z, of which the second half is
/// made here from the public key and the first taken from a key that is generated there.
fn expanded_by_aws(set: MlKem) -> (Vec<u8>, Vec<u8>) {
    let algorithm = match set {
        MlKem::MlKem512 => &aws_lc_rs::kem::ML_KEM_512,
        MlKem::MlKem768 => &aws_lc_rs::kem::ML_KEM_768,
        MlKem::MlKem1024 => &aws_lc_rs::kem::ML_KEM_1024,
    };
    let key = aws_lc_rs::kem::DecapsulationKey::generate(algorithm).unwrap();
    let public = key.encapsulation_key().unwrap().key_bytes().unwrap().as_ref().to_vec();
    (key.key_bytes().unwrap().as_ref().to_vec(), public)
}

#[test]
fn seeds_are_written_and_read() {
    for set in MlKem::ALL {
        let key = DecapsulationKey::from_seed(set, &SEED);
        let der = key.to_der().unwrap();
        assert_eq!(**der, pkcs8(set, &tlv(0x80, &SEED)));
        assert_eq!(der.len(), 86);
        let again = DecapsulationKey::from_der(&der).unwrap();
        assert_eq!(again.encapsulation_key(), key.encapsulation_key());
        assert!(again.has_seed());
        let spki = key.encapsulation_key().to_der();
        let bits = [&[0][..], &key.encapsulation_key().to_bytes()].concat();
        assert_eq!(spki, seq(&[&identifier(set), &tlv(0x03, &bits)]));
        assert_eq!(EncapsulationKey::from_der(&spki).unwrap(), key.encapsulation_key());
        assert_eq!(
            EncapsulationKey::from_pem(&key.encapsulation_key().to_pem()).unwrap(),
            key.encapsulation_key()
        );
        assert_eq!(DecapsulationKey::from_pem(&key.to_pem().unwrap()).unwrap().to_der().unwrap(), der);
    }
    // RFC 9935, Appendix C.
    let printed = DecapsulationKey::from_pem(&data("rfc9936/ML-KEM-512.priv")).unwrap();
    assert_eq!(*printed.to_pem().unwrap(), data("rfc9936/ML-KEM-512.priv"));
    let random = DecapsulationKey::generate(MlKem::MlKem768, &mut OsRandom).unwrap();
    assert_ne!(
        random.encapsulation_key(),
        DecapsulationKey::from_seed(MlKem::MlKem768, &SEED).encapsulation_key()
    );
}

#[test]
fn expanded_keys_of_another_implementation_are_read() {
    for set in MlKem::ALL {
        let (expanded, public) = expanded_by_aws(set);
        let key = DecapsulationKey::from_der(&pkcs8(set, &tlv(0x04, &expanded))).unwrap();
        assert_eq!(key.encapsulation_key().to_bytes(), public);
        assert!(!key.has_seed());
        assert_eq!(key.to_der().unwrap_err(), Error::NoSeed);
        // The hash of the public key, and the public key itself, do not fit any more (FIPS 203 §7.3).
        let hash = expanded.len() - 64;
        for at in [hash, hash - 1, hash - 40] {
            let mut changed = expanded.clone();
            changed[at] ^= 1;
            let refused = DecapsulationKey::from_der(&pkcs8(set, &tlv(0x04, &changed))).unwrap_err();
            assert!(matches!(refused, Error::Inconsistent { .. }), "{refused}");
        }
    }
}

/// The form `both` of our own key, with the expansion computed by Algorithm 16's definition of dk: the part that is
/// public is compared, the rest is refused when it is changed.
#[test]
fn both_forms_must_agree() {
    let set = MlKem::MlKem768;
    let (expanded, _) = expanded_by_aws(set);
    let both = seq(&[&tlv(0x04, &SEED), &tlv(0x04, &expanded)]);
    let refused = DecapsulationKey::from_der(&pkcs8(set, &both)).unwrap_err();
    assert_eq!(refused, Error::Inconsistent { parts: "the seed does not give the expanded key" });
}

#[test]
fn what_is_no_key_is_refused() {
    let set = MlKem::MlKem768;
    let good = pkcs8(set, &tlv(0x80, &SEED));
    let public = DecapsulationKey::from_seed(set, &SEED).encapsulation_key().to_bytes();
    let other = DecapsulationKey::from_seed(set, &[9; 64]).encapsulation_key().to_bytes();
    let with_public = |version: u8, public: &[u8]| {
        let bits = tlv(0x81, &[&[0][..], public].concat());
        seq(&[&tlv(0x02, &[version]), &identifier(set), &tlv(0x04, &tlv(0x80, &SEED)), &bits])
    };
    assert!(DecapsulationKey::from_der(&with_public(1, &public)).is_ok());
    let null = seq(&[&oid("2.16.840.1.101.3.4.4.2"), &tlv(0x05, &[])]);
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("empty", vec![]),
        ("cut", good[..good.len() - 1].to_vec()),
        ("more", [&good[..], &[0]].concat()),
        ("another public key", with_public(1, &other)),
        ("a public key in version 0", with_public(0, &public)),
        (
            "version 1 without a public key",
            seq(&[&tlv(0x02, &[1]), &identifier(set), &tlv(0x04, &tlv(0x80, &SEED))]),
        ),
        ("version 2", seq(&[&tlv(0x02, &[2]), &identifier(set), &tlv(0x04, &tlv(0x80, &SEED))])),
        ("a short seed", pkcs8(set, &tlv(0x80, &SEED[..63]))),
        ("a seed of 32 bytes", pkcs8(set, &tlv(0x80, &SEED[..32]))),
        ("an expanded key of another size", pkcs8(set, &tlv(0x04, &[0; 1632]))),
        ("another tag", pkcs8(set, &tlv(0x81, &SEED))),
        ("nothing inside", pkcs8(set, &[])),
        ("two inside", pkcs8(set, &[tlv(0x80, &SEED), tlv(0x80, &SEED)].concat())),
        ("both without the second", pkcs8(set, &seq(&[&tlv(0x04, &SEED)]))),
        ("parameters", seq(&[&tlv(0x02, &[0]), &null, &tlv(0x04, &tlv(0x80, &SEED))])),
        (
            "ML-DSA",
            seq(&[&tlv(0x02, &[0]), &seq(&[&oid("2.16.840.1.101.3.4.3.18")]), &tlv(0x04, &tlv(0x80, &SEED))]),
        ),
    ];
    for (name, bytes) in &cases {
        assert!(DecapsulationKey::from_der(bytes).is_err(), "{name}");
    }
    // FIPS 203 §7.2: a coefficient of 4095, and keys of other sizes.
    let mut large = public.clone();
    large[..3].copy_from_slice(&[0xff; 3]);
    assert!(matches!(EncapsulationKey::new(set, &large), Err(Error::Inconsistent { .. })));
    for len in [0, 800, 1183, 1185, 1568] {
        assert!(matches!(EncapsulationKey::new(set, &vec![0; len]), Err(Error::KemLength { .. })));
    }
    for byte in 0..good.len() {
        for bit in 0..8 {
            let mut changed = good.clone();
            changed[byte] ^= 1 << bit;
            // Never a panic; a changed seed is another key.
            let _ = DecapsulationKey::from_der(&changed);
        }
    }
}
