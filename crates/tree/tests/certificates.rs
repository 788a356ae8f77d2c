//! What a certificate must say before its key signs or checks files.

use sealstone_mldsa::Level;
use sealstone_pki::der::{self, Tag, write, write_bits};
use sealstone_pki::x509::KeyUsage;
use sealstone_pki::{Certificate, KeyAlgorithm, PrivateKeyInfo, spki};
use sealstone_tree::{Appraiser, Error, KeyId, Signer, TrustedKey};

use crate::world::{signer, trusting};

/// 2026-01-01 and 2027-01-01.
const FROM: i64 = 1_767_225_600;
const TO: i64 = 1_798_761_600;

/// A certificate of a key, with the parts that matter here. Its own signature is not looked at, and is none.
fn certificate(spki: &[u8], identifier: Option<&[u8]>, usage: Option<KeyUsage>) -> Certificate {
    let seq = |parts: &[&[u8]]| write(der::SEQUENCE, parts).to_vec();
    let oid = |bytes: &[u8]| write(der::OBJECT_IDENTIFIER, &[bytes]).to_vec();
    let utc = |text: &str| write(Tag { byte: 0x17, name: "a UTCTime" }, &[text.as_bytes()]).to_vec();
    // id-ml-dsa-65, which stands in for whatever an authority signs with.
    let algorithm = seq(&[&oid(&[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03, 0x12])]);
    let common_name = seq(&[&oid(&[0x55, 4, 3]), &write(der::UTF8_STRING, &[b"files"])]);
    let name = seq(&[&write(der::SET, &[&common_name])]);
    let mut extensions = Vec::new();
    if let Some(identifier) = identifier {
        let value = write(der::OCTET_STRING, &[identifier]);
        extensions.extend(seq(&[&oid(&[0x55, 0x1d, 14]), &write(der::OCTET_STRING, &[&value])]));
    }
    if let Some(usage) = usage {
        extensions.extend(seq(&[&oid(&[0x55, 0x1d, 15]), &write(der::OCTET_STRING, &[&usage.to_der()])]));
    }
    let explicit = |byte, parts: &[&[u8]]| write(Tag { byte, name: "an explicit tag" }, parts).to_vec();
    let mut body = vec![
        explicit(0xa0, &[&write(der::INTEGER, &[&[2]])]),
        write(der::INTEGER, &[&[1]]).to_vec(),
        algorithm.clone(),
        name.clone(),
        seq(&[&utc("260101000000Z"), &utc("270101000000Z")]),
        name,
        spki.to_vec(),
    ];
    if !extensions.is_empty() {
        body.push(explicit(0xa3, &[&seq(&[&extensions])]));
    }
    let body: Vec<&[u8]> = body.iter().map(Vec::as_slice).collect();
    let whole = seq(&[&seq(&body), &algorithm, &write_bits(der::BIT_STRING, &[7; 3309])]);
    Certificate::from_der(&whole).unwrap()
}

const SIGNING: Option<KeyUsage> = Some(KeyUsage::DIGITAL_SIGNATURE);

#[test]
fn the_last_four_bytes_of_the_identifier_name_the_key() {
    let info = PrivateKeyInfo::new(KeyAlgorithm::MlDsa(Level::MlDsa65), &[1; 32], None).unwrap();
    let key = signer(Level::MlDsa65, 1);
    // An identifier that is not the SHA-1 of the key, as RFC 7093 makes them.
    let identifier = [0x12, 0xb4, 0x37, 0x62, 0xd4, 0x30];
    let certificate = certificate(&key.public().spki, Some(&identifier), SIGNING);
    let named = Signer::new(&info, Some(&certificate), FROM).unwrap();
    assert_eq!(named.public().key_id, KeyId(0x3762_d430));
    assert!(!named.id_is_derived() && key.id_is_derived());
    assert_ne!(key.public().key_id, named.public().key_id);
    assert_eq!(TrustedKey::of_certificate(&certificate, TO).unwrap().key_id, KeyId(0x3762_d430));
}

#[test]
fn a_certificate_must_be_fit_for_files() {
    let spki = signer(Level::MlDsa65, 1).public().spki.clone();
    let what = |certificate: &Certificate, now| match TrustedKey::of_certificate(certificate, now) {
        Err(Error::Certificate { what }) => what,
        other => panic!("{other:?}"),
    };
    let good = certificate(&spki, Some(&[1; 20]), SIGNING);
    assert!(TrustedKey::of_certificate(&good, FROM).is_ok());
    assert_eq!(what(&good, FROM - 1), "it is not valid yet");
    assert_eq!(what(&good, TO + 1), "it is not valid any more");
    let nameless = certificate(&spki, None, SIGNING);
    assert_eq!(what(&nameless, FROM), "it has no subject key identifier, by which the kernel finds a key");
    let authority = certificate(&spki, Some(&[1; 20]), Some(KeyUsage::KEY_CERT_SIGN));
    assert_eq!(what(&authority, FROM), "its keyUsage is without digitalSignature");
    assert!(TrustedKey::of_certificate(&certificate(&spki, Some(&[1; 20]), None), FROM).is_ok());
    let short = certificate(&spki, Some(&[1; 3]), SIGNING);
    assert_eq!(TrustedKey::of_certificate(&short, FROM).unwrap_err(), Error::KeyIdentifier { found: 3 });

    let other = PrivateKeyInfo::new(KeyAlgorithm::MlDsa(Level::MlDsa65), &[2; 32], None).unwrap();
    let refusal = Signer::new(&other, Some(&good), FROM).unwrap_err();
    assert_eq!(refusal.to_string(), "the certificate cannot be used: it is of another key");
    let curve = PrivateKeyInfo::new(KeyAlgorithm::Ed25519, &[2; 32], None).unwrap();
    assert!(matches!(Signer::new(&curve, None, FROM), Err(Error::Key { .. })));
}

#[test]
fn two_keys_with_one_id_are_noticed() {
    let (one, two) = (signer(Level::MlDsa44, 1), signer(Level::MlDsa44, 2));
    let mut appraiser = Appraiser::new();
    for key in [&one, &two] {
        let named = certificate(&key.public().spki, Some(&[9; 20]), SIGNING);
        TrustedKey::of_certificate(&named, FROM).unwrap().trusted_by(&mut appraiser).unwrap();
    }
    assert_eq!(appraiser.shared_ids().collect::<Vec<_>>(), [KeyId(0x0909_0909)]);
    assert_eq!(trusting(&[&one, &two]).shared_ids().count(), 0);
    assert!(spki::from_der(&one.public().spki).is_ok());
}

/// IMA checks RSA by PKCS #1 v1.5, for which such a key must not be used (RFC 4055 §1.2).
#[test]
fn an_rsa_key_for_pss_alone_is_not_trusted() {
    let root = |name: &str| {
        let chain = format!("{}/../pki/tests/data/openssl/chains/{name}.pem", env!("CARGO_MANIFEST_DIR"));
        Certificate::all_from_pem(&std::fs::read_to_string(chain).unwrap()).unwrap().pop().unwrap()
    };
    assert_eq!(TrustedKey::of_spki(root("rsa").public_key()).unwrap().algorithm, "RSA");
    for name in ["pss-key", "pss-key-limits"] {
        let refused = TrustedKey::of_spki(root(name).public_key());
        assert!(matches!(refused, Err(Error::Key { what }) if what.contains("PSS alone")), "{name}");
    }
}
