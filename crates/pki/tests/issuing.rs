//! Certificates, requests and lists that are made here, as they are read again.

use std::collections::BTreeMap;

use sealstone_mldsa::{Level, OsRandom};
use sealstone_pki::sign::{Signer, SigningKey, VerifyingKey};
use sealstone_pki::x509::path::{self, Policy};
use sealstone_pki::x509::{
    BasicConstraints, CertificateBuilder, Crl, CrlBuilder, Csr, GeneralName, KeyUsage, Profile, Reason,
    Revoked, Serial, oids, subject_key_id,
};
use sealstone_pki::{Certificate, Error, KeyAlgorithm, Name, PrivateKeyInfo, composite};

/// 2026-11-22 00:00:00 UTC.
pub(crate) const NOW: i64 = 1_795_305_600;

/// A key of this algorithm, always the same.
pub(crate) fn key(algorithm: KeyAlgorithm, number: u8) -> SigningKey {
    let mut secret = vec![number; algorithm.secret_len()];
    secret[0] = 0;
    SigningKey::from_info(&PrivateKeyInfo::new(algorithm, &secret, None).unwrap()).unwrap()
}

pub(crate) fn ml_dsa(number: u8) -> SigningKey {
    key(KeyAlgorithm::MlDsa(Level::MlDsa44), number)
}

pub(crate) fn name(text: &str) -> Name {
    text.parse().unwrap()
}

pub(crate) fn builder(subject: &str, profile: Profile) -> CertificateBuilder {
    CertificateBuilder {
        not_after: NOW + 86_400,
        not_before: NOW - 86_400,
        profile,
        serial: Serial::random(&mut OsRandom).unwrap(),
        subject: name(subject),
    }
}

fn keys() -> Vec<Box<dyn Signer>> {
    let mut all: Vec<Box<dyn Signer>> = Vec::new();
    for algorithm in KeyAlgorithm::ALL {
        all.push(Box::new(key(algorithm, 3)));
    }
    for algorithm in composite::Algorithm::ALL {
        let private = composite::PrivateKey::generate(algorithm).unwrap();
        all.push(Box::new(composite::CompositeKey::new(private)));
    }
    all
}

/// Every kind of key above every kind of key, from a request to a verified chain.
#[test]
fn every_key_below_every_key() {
    let keys = keys();
    let mut chains = 0;
    for (above, authority_key) in keys.iter().enumerate() {
        let root =
            builder("CN=Root,O=Example,C=DE", Profile::authority(None)).self_sign(&**authority_key).unwrap();
        root.verify_signature(&VerifyingKey::from_spki(root.public_key()).unwrap()).unwrap();
        for (below, leaf_key) in keys.iter().enumerate() {
            // All in one direction, and each on the diagonal and beside it, is enough of the others.
            if above > 2 && below > 2 && above.abs_diff(below) > 1 {
                continue;
            }
            let wanted = Profile {
                alt_names: vec![GeneralName::Dns("billing.example.org".into())],
                ..Profile::default()
            };
            let request = Csr::new(&name("CN=billing,O=Example"), &wanted, &**leaf_key).unwrap();
            let request = Csr::from_pem(&request.to_pem()).unwrap();
            request.verify().unwrap();
            let profile = Profile {
                alt_names: Profile::requested(request.extensions()).alt_names,
                ..Profile::end_entity()
            };
            let leaf = builder("CN=billing,O=Example", profile)
                .issue(request.public_key(), &root, &**authority_key)
                .unwrap();
            let leaf = Certificate::from_pem(&leaf.to_pem()).unwrap();
            let anchors = [root.clone()];
            let policy = Policy { draft: true, ..Policy::new(&anchors, NOW) };
            assert_eq!(path::verify(&leaf, &policy).unwrap().certificates.len(), 2);
            chains += 1;
        }
    }
    println!("{chains} chains of two");
}

#[test]
fn a_certificate_says_what_it_was_given() {
    let root_key = ml_dsa(1);
    let constraints = sealstone_pki::x509::NameConstraints {
        excluded: vec!["dns:secret.example.org".parse().unwrap(), "ip:10.0.0.0/8".parse().unwrap()],
        permitted: [
            "dns:example.org",
            "email:example.org",
            "uri:.example.org",
            "dn:O=Example",
            "ip:2001:db8::/32",
        ]
        .map(|text| text.parse().unwrap())
        .to_vec(),
    };
    let profile = Profile {
        alt_names: [
            "dns:*.example.org",
            "email:a@example.org",
            "ip:192.0.2.1",
            "ip:2001:db8::1",
            "uri:https://example.org/a",
            "dn:CN=x",
        ]
        .map(|text| text.parse().unwrap())
        .to_vec(),
        certificate_policies: vec![sealstone_pki::x509::Oid::parse("2.23.140.1.2.1").unwrap()],
        crl_distribution_points: vec!["http://crl.example.org/root.crl".into()],
        ext_key_usage: vec![oids::ext_key_usage("serverauth").unwrap()],
        name_constraints: constraints.clone(),
        ..Profile::authority(Some(3))
    };
    let made = builder("CN=Root+OU=One,emailAddress=a@example.org,DC=example,C=DE", profile.clone())
        .self_sign(&root_key)
        .unwrap();
    assert_eq!(Profile::requested(made.extensions()), profile);
    let found = made.extensions();
    assert_eq!(found.name_constraints.as_ref(), Some(&constraints));
    assert_eq!(found.subject_key_id.as_deref(), Some(&subject_key_id(root_key.spki()).unwrap()[..]));
    assert_eq!(made.authority_key_id(), made.subject_key_id());
    for critical in [oids::KEY_USAGE, oids::BASIC_CONSTRAINTS, oids::NAME_CONSTRAINTS] {
        assert!(found.is_critical(critical));
    }
    assert!(!found.is_critical(oids::SUBJECT_ALT_NAME));
    assert_eq!((made.version(), made.serial().len()), (3, 20));
    assert_eq!((made.not_before(), made.not_after()), (NOW - 86_400, NOW + 86_400));
    assert_eq!(made.subject().common_name(), Some("Root"));
    // The subject's bytes: country as PrintableString, mail and domain component as IA5String, the rest as UTF8String.
    let subject = made.subject_der();
    for (oid, tag) in [
        (&[0x06, 3, 0x55, 4, 6][..], 0x13),
        (&[0x06, 3, 0x55, 4, 3], 0x0c),
        (&[0x06, 3, 0x55, 4, 11], 0x0c),
        (&[0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1], 0x16),
        (&[0x06, 10, 0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25], 0x16),
    ] {
        let at = subject.windows(oid.len()).position(|window| window == oid).unwrap();
        assert_eq!(subject[at + oid.len()], tag, "{oid:x?}");
    }
}

/// RFC 5280 §4.1.2.5: two digits of the year until 2049, four from 2050 on.
#[test]
fn rfc5280_s4_1_2_5_times() {
    let (utc, generalized) = (0x17, 0x18);
    for (seconds, tag, text) in [
        (0, utc, "700101000000Z"),
        (-1, utc, "691231235959Z"),
        (-631_152_000, utc, "500101000000Z"),
        (-631_152_001, generalized, "19491231235959Z"),
        (951_782_400, utc, "000229000000Z"),
        (2_524_607_999, utc, "491231235959Z"),
        (2_524_608_000, generalized, "20500101000000Z"),
        (253_402_300_799, generalized, "99991231235959Z"),
    ] {
        let mut builder = builder("CN=a", Profile::end_entity());
        (builder.not_before, builder.not_after) = (seconds, seconds);
        let made = builder.self_sign(&ml_dsa(1)).unwrap();
        assert_eq!((made.not_before(), made.not_after()), (seconds, seconds));
        let expected = [&[tag, text.len() as u8], text.as_bytes()].concat();
        assert!(made.der().windows(expected.len()).any(|window| window == expected), "{text}");
    }
    let mut late = builder("CN=a", Profile::end_entity());
    late.not_after = 253_402_300_800;
    assert!(matches!(late.self_sign(&ml_dsa(1)), Err(Error::Value { what: "a time", .. })));
}

/// RFC 7093 §2, method 1, with OpenSSL's SHA-256 as oracle for the key of RFC 9881's example.
#[test]
fn rfc7093_s2_key_identifier() {
    let text = crate::data("rfc9881/ML-DSA-44.pub");
    let spki = crate::unpem(&text);
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &spki[22..]);
    assert_eq!(subject_key_id(&spki).unwrap(), digest.as_ref()[..20]);
    assert!(subject_key_id(&[0x30, 0]).is_err());
}

#[test]
fn serial_numbers() {
    let all: std::collections::BTreeSet<_> =
        (0..64).map(|_| format!("{:?}", Serial::random(&mut OsRandom).unwrap())).collect();
    assert_eq!(all.len(), 64);
    for (number, expected) in [(&[1][..], &[1][..]), (&[0, 0, 0x80], &[0, 0x80]), (&[0x7f; 20], &[0x7f; 20])]
    {
        let mut builder = builder("CN=a", Profile::end_entity());
        builder.serial = Serial::new(number).unwrap();
        assert_eq!(builder.self_sign(&ml_dsa(1)).unwrap().serial(), expected);
    }
    for wrong in [&[][..], &[0, 0], &[0x80; 20], &[1; 21]] {
        assert!(Serial::new(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn a_list_says_what_it_was_given() {
    let root_key = ml_dsa(1);
    let root = builder("CN=Root", Profile::authority(None)).self_sign(&root_key).unwrap();
    let mut revoked = BTreeMap::new();
    for (index, reason) in
        Reason::ALL.into_iter().filter(|reason| *reason != Reason::RemoveFromCrl).enumerate()
    {
        let entry = Revoked { date: NOW - index as i64, reason, unknown_critical: false };
        revoked.insert(vec![1, index as u8], entry);
    }
    let list = CrlBuilder { next_update: NOW + 60, number: 300, revoked: revoked.clone(), this_update: NOW };
    let made = Crl::from_pem(&list.sign(&root, &root_key).unwrap().to_pem()).unwrap();
    assert_eq!(made.issuer(), root.subject());
    assert_eq!(made.number(), Some(&[1, 0x2c][..]));
    assert_eq!((made.this_update(), made.next_update()), (NOW, Some(NOW + 60)));
    assert_eq!(made.authority_key_id(), root.subject_key_id());
    let found: BTreeMap<_, _> = made.revoked().map(|(serial, entry)| (serial.to_vec(), *entry)).collect();
    assert_eq!(found, revoked);
    made.verify_signature(&VerifyingKey::from_spki(root.public_key()).unwrap()).unwrap();

    let empty = CrlBuilder { revoked: BTreeMap::new(), ..list.clone() }.sign(&root, &root_key).unwrap();
    assert_eq!(empty.revoked().len(), 0);
    let many: BTreeMap<_, _> = (0..20_000_u32)
        .map(|n| (vec![0x40, (n >> 16) as u8, (n >> 8) as u8, n as u8], revoked[&vec![1, 1]]))
        .collect();
    let large = CrlBuilder { revoked: many, ..list.clone() }.sign(&root, &root_key).unwrap();
    assert!(large.der().len() > 500_000);
    let large = Crl::from_pem(&large.to_pem()).unwrap();
    assert!(large.find(&[0x40, 0, 0x4e, 0x1f]).is_some() && large.find(&[0x40, 0, 0x4e, 0x20]).is_none());
}

/// What RFC 5280 or RFC 9881 does not allow is not made.
#[test]
fn what_is_not_made() {
    let root_key = ml_dsa(1);
    let root = builder("CN=Root", Profile::authority(Some(0))).self_sign(&root_key).unwrap();
    let leaf = builder("CN=leaf", Profile::end_entity()).self_sign(&ml_dsa(2)).unwrap();
    let usage = |usage| Profile { key_usage: Some(usage), ..Profile::end_entity() };
    let own = |subject: &str, profile: Profile| builder(subject, profile).self_sign(&root_key);
    let alt = |text: &str| Profile { alt_names: vec![text.parse().unwrap()], ..Profile::end_entity() };
    let spki = ml_dsa(3);
    let spki = spki.spki();
    let list = CrlBuilder { next_update: NOW + 1, number: 1, revoked: BTreeMap::new(), this_update: NOW };
    let removed = Revoked { date: NOW, reason: Reason::RemoveFromCrl, unknown_critical: false };
    let mut backwards = builder("CN=a", Profile::end_entity());
    backwards.not_after = backwards.not_before - 1;
    let no_ca = BasicConstraints { ca: false, path_len: Some(1) };
    let refused: Vec<(&str, Result<(), Error>)> = vec![
        ("no subject", own("", Profile::end_entity()).map(drop)),
        ("an end before the beginning", backwards.self_sign(&root_key).map(drop)),
        (
            "an authority that does not sign certificates",
            own("CN=a", Profile { key_usage: Some(KeyUsage::CRL_SIGN), ..Profile::authority(None) })
                .map(drop),
        ),
        ("keyCertSign without an authority", own("CN=a", usage(KeyUsage::KEY_CERT_SIGN)).map(drop)),
        ("no key use", own("CN=a", usage(KeyUsage::default())).map(drop)),
        ("keyEncipherment of ML-DSA", own("CN=a", usage(KeyUsage::KEY_ENCIPHERMENT)).map(drop)),
        (
            "keyAgreement beside digitalSignature of ML-DSA",
            own("CN=a", usage(KeyUsage::DIGITAL_SIGNATURE.with(KeyUsage::KEY_AGREEMENT))).map(drop),
        ),
        (
            "a path length without an authority",
            own("CN=a", Profile { basic_constraints: Some(no_ca), ..Profile::end_entity() }).map(drop),
        ),
        (
            "name constraints without an authority",
            own(
                "CN=a",
                Profile {
                    name_constraints: Profile::requested(&Default::default()).name_constraints.clone().tap(),
                    ..Profile::end_entity()
                },
            )
            .map(drop),
        ),
        ("a country of three letters", own("C=DEU", Profile::end_entity()).map(drop)),
        ("a country in lower case", own("C=de", Profile::end_entity()).map(drop)),
        (
            "a common name of 65 characters",
            own(&format!("CN={}", "a".repeat(65)), Profile::end_entity()).map(drop),
        ),
        ("an empty common name", own("CN=", Profile::end_entity()).map(drop)),
        ("a mail address beyond ASCII", own("emailAddress=é@example.org", Profile::end_entity()).map(drop)),
        ("a host beyond ASCII", own("CN=a", alt("dns:é.example.org")).map(drop)),
        ("an empty host", own("CN=a", alt("dns:")).map(drop)),
        ("a host with a line end", own("CN=a", alt("dns:a\nb")).map(drop)),
        (
            "an extension twice",
            own("CN=a", Profile { other: vec![leaf.extensions().all[0].clone()], ..Profile::end_entity() })
                .map(drop),
        ),
        ("nobody", builder("", Profile::end_entity()).issue(spki, &root, &root_key).map(drop)),
        (
            "an issuer that is no authority",
            builder("CN=a", Profile::end_entity()).issue(spki, &leaf, &ml_dsa(2)).map(drop),
        ),
        (
            "an issuer of another key",
            builder("CN=a", Profile::end_entity()).issue(spki, &root, &ml_dsa(2)).map(drop),
        ),
        (
            "an authority below path length 0",
            builder("CN=a", Profile::authority(None)).issue(spki, &root, &root_key).map(drop),
        ),
        (
            "no public key",
            builder("CN=a", Profile::end_entity()).issue(&[0x30, 0], &root, &root_key).map(drop),
        ),
        ("a list by who signs none", list.sign(&leaf, &ml_dsa(2)).map(drop)),
        ("a list of another key", list.sign(&root, &ml_dsa(2)).map(drop)),
        (
            "a list that is over at once",
            CrlBuilder { next_update: NOW, ..list.clone() }.sign(&root, &root_key).map(drop),
        ),
        (
            "a removal",
            CrlBuilder { revoked: [(vec![1], removed)].into(), ..list.clone() }
                .sign(&root, &root_key)
                .map(drop),
        ),
        ("a request with an empty country", Csr::new(&name("C="), &Profile::default(), &root_key).map(drop)),
    ];
    for (case, result) in &refused {
        let error = result.as_ref().expect_err(case);
        assert!(!error.to_string().is_empty());
    }
    println!("{} not made", refused.len());
}

trait Tap {
    fn tap(self) -> Self;
}

impl Tap for sealstone_pki::x509::NameConstraints {
    /// With one subtree.
    fn tap(mut self) -> Self {
        self.permitted.push("dns:example.org".parse().unwrap());
        self
    }
}

/// A signer whose public key is another's makes nothing.
#[test]
fn a_faulty_signer_is_noticed() {
    struct Faulty(SigningKey);
    impl Signer for Faulty {
        fn algorithm(&self) -> sealstone_pki::SignatureAlgorithm {
            self.0.algorithm()
        }
        fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
            let mut signature = self.0.sign(message)?;
            signature[40] ^= 1;
            Ok(signature)
        }
        fn spki(&self) -> &[u8] {
            Signer::spki(&self.0)
        }
    }
    let faulty = Faulty(ml_dsa(1));
    assert_eq!(builder("CN=a", Profile::end_entity()).self_sign(&faulty), Err(Error::BadSignature));
    assert_eq!(Csr::new(&name("CN=a"), &Profile::default(), &faulty), Err(Error::BadSignature));
}
