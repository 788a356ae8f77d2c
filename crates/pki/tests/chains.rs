//! Chains that must not hold, each by name and reason, beside those that must.

use std::collections::BTreeMap;

use sealstone_mldsa::Level;
use sealstone_pki::sign::SigningKey;
use sealstone_pki::x509::path::{self, MAX_DEPTH, Policy, Refusal, Revocation, matches_host};
use sealstone_pki::x509::{
    BasicConstraints, Crl, CrlBuilder, Extension, GeneralName, KeyUsage, NameConstraints, Oid, Profile,
    Reason, Revoked, Serial, oids,
};
use sealstone_pki::{Certificate, Error, KeyAlgorithm, composite};

use crate::issuing::{NOW, builder, key, ml_dsa};

/// An authority, with its key.
struct Authority {
    certificate: Certificate,
    key: SigningKey,
}

impl Authority {
    fn root(subject: &str, profile: Profile, number: u8) -> Self {
        let key = ml_dsa(number);
        Self { certificate: builder(subject, profile).self_sign(&key).unwrap(), key }
    }

    fn below(&self, subject: &str, profile: Profile, number: u8) -> Self {
        let key = ml_dsa(number);
        Self { certificate: self.issue(subject, profile, &key), key }
    }

    fn issue(&self, subject: &str, profile: Profile, key: &SigningKey) -> Certificate {
        use sealstone_pki::sign::Signer as _;
        builder(subject, profile).issue(key.spki(), &self.certificate, &self.key).unwrap()
    }

    fn leaf(&self, profile: Profile) -> Certificate {
        self.issue("CN=leaf", profile, &ml_dsa(99))
    }

    fn list(&self, of: i64, next: i64, serials: &[&[u8]]) -> Crl {
        let entry = Revoked { date: NOW - 60, reason: Reason::KeyCompromise, unknown_critical: false };
        let revoked = serials.iter().map(|serial| (serial.to_vec(), entry)).collect::<BTreeMap<_, _>>();
        let list = CrlBuilder { next_update: next, number: 1, revoked, this_update: of };
        list.sign(&self.certificate, &self.key).unwrap()
    }
}

fn alt(names: &[&str]) -> Profile {
    Profile { alt_names: names.iter().map(|name| name.parse().unwrap()).collect(), ..Profile::end_entity() }
}

fn constrained(permitted: &[&str], excluded: &[&str]) -> Profile {
    let parse = |list: &[&str]| list.iter().map(|text| text.parse().unwrap()).collect();
    let name_constraints = NameConstraints { excluded: parse(excluded), permitted: parse(permitted) };
    Profile { name_constraints, ..Profile::authority(None) }
}

fn why(result: Result<path::Path<'_>, Error>) -> Refusal {
    match result {
        Err(Error::Path { why, subject }) => {
            assert!(!subject.is_empty() && !why.to_string().is_empty());
            *why
        }
        Err(other) => panic!("{other}"),
        Ok(path) => panic!("a path of {} holds", path.certificates.len()),
    }
}

/// A change to a certificate's bytes, read again.
fn changed(certificate: &Certificate, from: &[u8], to: &[u8]) -> Certificate {
    assert_eq!(from.len(), to.len());
    let mut der = certificate.der().to_vec();
    let at = der.windows(from.len()).position(|window| window == from).unwrap();
    der[at..at + to.len()].copy_from_slice(to);
    Certificate::from_der(&der).unwrap()
}

#[test]
fn chains_that_hold() {
    let root = Authority::root("CN=Root", Profile::authority(None), 1);
    let middle = root.below("CN=Middle", Profile::authority(Some(1)), 2);
    let low = middle.below("CN=Low", Profile::authority(Some(0)), 3);
    let leaf = low.leaf(alt(&["dns:a.example.org"]));
    let anchors = [root.certificate.clone()];
    // In any order, with others between.
    let stranger = Authority::root("CN=Stranger", Profile::authority(None), 4);
    let between = [stranger.certificate, low.certificate.clone(), middle.certificate.clone()];
    let policy = Policy { intermediates: &between, ..Policy::new(&anchors, NOW) };
    let path = path::verify(&leaf, &policy).unwrap();
    let subjects: Vec<_> = path.certificates.iter().map(|one| one.subject().to_string()).collect();
    assert_eq!(subjects, ["CN=leaf", "CN=Low", "CN=Middle", "CN=Root"]);
    assert!(!path.revocation_checked);

    // Trusted itself, and trusted below the root.
    assert_eq!(path::verify(&anchors[0], &Policy::new(&anchors, NOW)).unwrap().certificates.len(), 1);
    let low_trusted = [low.certificate.clone()];
    assert_eq!(path::verify(&leaf, &Policy::new(&low_trusted, NOW)).unwrap().certificates.len(), 2);

    // To the second at both ends.
    for now in [NOW - 86_400, NOW + 86_400] {
        assert!(
            path::verify(&leaf, &Policy { intermediates: &between, ..Policy::new(&anchors, now) }).is_ok()
        );
    }

    // An authority with two certificates, one of which is over: the other path is found.
    let mut over = builder("CN=Low", Profile::authority(Some(0)));
    over.not_after = NOW - 1;
    let spki = low.certificate.public_key();
    let over = over.issue(spki, &middle.certificate, &middle.key).unwrap();
    let two = [over, middle.certificate.clone(), low.certificate.clone()];
    assert!(path::verify(&leaf, &Policy { intermediates: &two, ..Policy::new(&anchors, NOW) }).is_ok());

    // Two authorities that certify each other do not go round.
    let there = builder("CN=Middle", Profile::authority(None))
        .issue(middle.certificate.public_key(), &low.certificate_without_limit(&middle), &low.key)
        .unwrap();
    let round = [there, low.certificate_without_limit(&middle), middle.certificate.clone()];
    assert!(path::verify(&leaf, &Policy { intermediates: &round, ..Policy::new(&anchors, NOW) }).is_ok());
    let none = [stranger_root()];
    why(path::verify(&leaf, &Policy { intermediates: &round, ..Policy::new(&none, NOW) }));
}

fn stranger_root() -> Certificate {
    Authority::root("CN=Stranger", Profile::authority(None), 4).certificate
}

impl Authority {
    /// The same authority again, with no limit to what is below it.
    fn certificate_without_limit(&self, above: &Authority) -> Certificate {
        builder("CN=Low", Profile::authority(None))
            .issue(self.certificate.public_key(), &above.certificate, &above.key)
            .unwrap()
    }
}

#[test]
fn rfc9881_and_others_in_one_chain() {
    // RSA at the root comes in the file of OpenSSL; ECDSA and Ed25519 are of our own keys.
    for above in [KeyAlgorithm::EcP256, KeyAlgorithm::EcP384, KeyAlgorithm::EcP521, KeyAlgorithm::Ed25519] {
        let classical = key(above, 5);
        let root = builder("CN=Root", Profile::authority(None)).self_sign(&classical).unwrap();
        use sealstone_pki::sign::Signer as _;
        let new = ml_dsa(6);
        let leaf = builder("CN=leaf", Profile::end_entity()).issue(new.spki(), &root, &classical).unwrap();
        let anchors = [root];
        path::verify(&leaf, &Policy::new(&anchors, NOW)).unwrap();
        let least = Policy { minimum_level: Some(Level::MlDsa44), ..Policy::new(&anchors, NOW) };
        assert!(matches!(why(path::verify(&leaf, &least)), Refusal::Weak { .. }));
    }
}

#[test]
fn chains_that_do_not_hold() {
    let root = Authority::root("CN=Root", Profile::authority(None), 1);
    let anchors = [root.certificate.clone()];
    let plain = Policy::new(&anchors, NOW);
    let leaf = root.leaf(alt(&["dns:a.example.org", "email:a@example.org", "ip:192.0.2.1"]));
    path::verify(&leaf, &plain).unwrap();
    let mut count = 0;
    let mut case = |name: &str, found: Refusal, expected: &dyn Fn(&Refusal) -> bool| {
        assert!(expected(&found), "{name}: {found}");
        count += 1;
    };
    let at = |now| Policy { now, ..plain.clone() };

    case("a second too early", why(path::verify(&leaf, &at(NOW - 86_401))), &|r| {
        matches!(r, Refusal::NotYetValid { .. })
    });
    case("a second too late", why(path::verify(&leaf, &at(NOW + 86_401))), &|r| {
        matches!(r, Refusal::Expired { .. })
    });
    let other = Authority::root("CN=Root", Profile::authority(None), 2);
    let others = [other.certificate.clone()];
    case(
        "a root of the same name and another key",
        why(path::verify(&leaf, &Policy::new(&others, NOW))),
        &|r| matches!(r, Refusal::NoIssuer { .. }),
    );
    case("nothing trusted", why(path::verify(&leaf, &Policy::new(&[], NOW))), &|r| {
        matches!(r, Refusal::NoIssuer { .. })
    });
    case("its own issuer, not trusted", why(path::verify(&other.certificate, &plain)), &|r| {
        matches!(r, Refusal::NotTrusted)
    });
    let mut bytes = leaf.der().to_vec();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let forged = Certificate::from_der(&bytes).unwrap();
    case(
        "a signature with a bit changed",
        why(path::verify(&forged, &plain)),
        &|r| matches!(r, Refusal::Signature(cause) if **cause == Error::BadSignature),
    );
    let renamed = changed(&leaf, b"a.example.org", b"b.example.org");
    case("a name with a letter changed", why(path::verify(&renamed, &plain)), &|r| {
        matches!(r, Refusal::Signature(_))
    });

    // What authorities may do.
    let signer = ml_dsa(10);
    let no_ca = root.issue("CN=Middle", Profile::end_entity(), &signer);
    use sealstone_pki::sign::Signer as _;
    let issued_anyway = |issuer: &Certificate, key: &SigningKey, profile: Profile| {
        // As an authority of the same name and key that may.
        let may = builder(&issuer.subject().to_string(), Profile::authority(None)).self_sign(key).unwrap();
        builder("CN=leaf", profile).issue(ml_dsa(99).spki(), &may, key).unwrap()
    };
    let below = issued_anyway(&no_ca, &signer, Profile::end_entity());
    let between = [no_ca];
    let policy = Policy { intermediates: &between, ..plain.clone() };
    case("an issuer that is no authority", why(path::verify(&below, &policy)), &|r| {
        matches!(r, Refusal::NotAuthority)
    });
    let no_basic =
        root.issue("CN=Middle", Profile { basic_constraints: None, ..Profile::end_entity() }, &signer);
    let below = issued_anyway(&no_basic, &signer, Profile::end_entity());
    let between = [no_basic];
    case(
        "an issuer without basic constraints",
        why(path::verify(&below, &Policy { intermediates: &between, ..plain.clone() })),
        &|r| matches!(r, Refusal::NotAuthority),
    );
    // keyCertSign is bit 5 and cRLSign bit 6: 03 02 01 06; only cRLSign is 03 02 01 02.
    let middle = root.below("CN=Middle", Profile::authority(None), 11);
    let below = middle.leaf(Profile::end_entity());
    let root_of_lists = {
        let mut der = middle.certificate.tbs().to_vec();
        let usage = [3, 2, 1, 6];
        let place = der.windows(4).position(|window| window == usage).unwrap();
        der[place + 3] = 2;
        resign(&der, &root.key)
    };
    let between = [root_of_lists];
    case(
        "an issuer that signs lists only",
        why(path::verify(&below, &Policy { intermediates: &between, ..plain.clone() })),
        &|r| matches!(r, Refusal::Usage { needed: KeyUsage::KEY_CERT_SIGN }),
    );

    // Path lengths.
    let limited = Authority::root("CN=Root", Profile::authority(Some(0)), 1);
    let limits = [limited.certificate.clone()];
    let between = [middle.certificate.clone()];
    case(
        "an authority below path length 0",
        why(path::verify(&below, &Policy { intermediates: &between, ..Policy::new(&limits, NOW) })),
        &|r| matches!(r, Refusal::PathLength { limit: 0, found: 1 }),
    );
    let mut chain = vec![Authority::root("CN=Root", Profile::authority(None), 1)];
    for depth in 1..=MAX_DEPTH {
        let next = chain[depth - 1].below(&format!("CN={depth}"), Profile::authority(None), 20 + depth as u8);
        chain.push(next);
    }
    let between: Vec<_> = chain[1..].iter().map(|one| one.certificate.clone()).collect();
    let deep = chain[MAX_DEPTH].leaf(Profile::end_entity());
    case(
        "too many certificates",
        why(path::verify(&deep, &Policy { intermediates: &between, ..plain.clone() })),
        &|r| matches!(r, Refusal::TooLong { .. }),
    );
    let held = chain[MAX_DEPTH - 2].leaf(Profile::end_entity());
    assert_eq!(
        path::verify(&held, &Policy { intermediates: &between, ..plain.clone() }).unwrap().certificates.len(),
        MAX_DEPTH
    );

    // Extensions.
    let unknown = Extension { critical: true, oid: Oid::parse("1.2.3.4").unwrap(), value: vec![5, 0] };
    let strange = root.leaf(Profile { other: vec![unknown.clone()], ..Profile::end_entity() });
    case("an unknown critical extension", why(path::verify(&strange, &plain)), &|r| {
        matches!(r, Refusal::UnknownCritical { .. })
    });
    let strange_root =
        Authority::root("CN=Root", Profile { other: vec![unknown], ..Profile::authority(None) }, 1);
    let strange_roots = [strange_root.certificate];
    case(
        "an unknown critical extension of the root",
        why(path::verify(&leaf, &Policy::new(&strange_roots, NOW))),
        &|r| matches!(r, Refusal::UnknownCritical { .. }),
    );
    let harmless = Extension { critical: false, oid: Oid::parse("1.2.3.4").unwrap(), value: vec![5, 0] };
    path::verify(&root.leaf(Profile { other: vec![harmless], ..Profile::end_entity() }), &plain).unwrap();
    let policies =
        Extension { critical: true, oid: Oid::parse("2.5.29.36").unwrap(), value: vec![0x30, 3, 0x80, 1, 0] };
    let strict = root.leaf(Profile { other: vec![policies], ..Profile::end_entity() });
    case(
        "critical policyConstraints",
        why(path::verify(&strict, &plain)),
        &|r| matches!(r, Refusal::UnknownCritical { oid } if oid.name() == Some("policyConstraints")),
    );

    // Key usage of RFC 9881 §5: made with another builder's bytes.
    for (name, usage) in [
        ("keyEncipherment", [3, 2, 5, 0xa0]),
        ("dataEncipherment", [3, 2, 4, 0x90]),
        ("keyAgreement", [3, 2, 3, 0x88]),
        ("encipherOnly alone", [3, 2, 0, 1]),
    ] {
        let mut tbs = leaf.tbs().to_vec();
        let place = tbs.windows(4).position(|window| window == [3, 2, 7, 0x80]).unwrap();
        tbs[place..place + 4].copy_from_slice(&usage);
        case(name, why(path::verify(&resign(&tbs, &root.key), &plain)), &|r| {
            matches!(r, Refusal::UsageOfSigner { .. })
        });
    }
    let usage = Policy { usage: Some(KeyUsage::NON_REPUDIATION), ..plain.clone() };
    case("another use", why(path::verify(&leaf, &usage)), &|r| matches!(r, Refusal::Usage { .. }));

    // Purposes.
    let purpose = |name: &str| oids::ext_key_usage(name).unwrap();
    let server = root.leaf(Profile { ext_key_usage: vec![purpose("serverAuth")], ..Profile::end_entity() });
    let wants = |name: &str| Policy { purpose: Some(purpose(name)), ..plain.clone() };
    path::verify(&server, &wants("serverAuth")).unwrap();
    path::verify(&leaf, &wants("serverAuth")).unwrap();
    case("another purpose", why(path::verify(&server, &wants("clientAuth"))), &|r| {
        matches!(r, Refusal::Purpose { .. })
    });
    let any =
        root.leaf(Profile { ext_key_usage: vec![purpose("anyExtendedKeyUsage")], ..Profile::end_entity() });
    path::verify(&any, &wants("clientAuth")).unwrap();
    let mail = root.below(
        "CN=Mail",
        Profile { ext_key_usage: vec![purpose("emailProtection")], ..Profile::authority(None) },
        12,
    );
    let below = mail.leaf(Profile::end_entity());
    let between = [mail.certificate];
    case(
        "an authority of another purpose",
        why(path::verify(&below, &Policy { intermediates: &between, ..wants("serverAuth") })),
        &|r| matches!(r, Refusal::Purpose { .. }),
    );

    // Who it is about.
    for (name, wanted) in [
        ("another host", "dns:b.example.org"),
        ("a host below it", "dns:x.a.example.org"),
        ("the domain above it", "dns:example.org"),
        ("another mailbox", "email:b@example.org"),
        ("a mailbox in other letters", "email:A@example.org"),
        ("another address", "ip:192.0.2.2"),
        ("the common name as host", "dns:leaf"),
        ("no such form", "uri:https://a.example.org/"),
    ] {
        let policy = Policy { name: Some(wanted.parse().unwrap()), ..plain.clone() };
        case(name, why(path::verify(&leaf, &policy)), &|r| matches!(r, Refusal::OtherName { .. }));
    }
    for wanted in ["dns:A.Example.org", "email:a@EXAMPLE.org", "ip:192.0.2.1", "dn:CN=leaf"] {
        path::verify(&leaf, &Policy { name: Some(wanted.parse().unwrap()), ..plain.clone() }).unwrap();
    }

    // Levels and drafts.
    let least = |level| Policy { minimum_level: Some(level), ..plain.clone() };
    path::verify(&leaf, &least(Level::MlDsa44)).unwrap();
    case("below the least level", why(path::verify(&leaf, &least(Level::MlDsa65))), &|r| {
        matches!(r, Refusal::Weak { .. })
    });
    let strong = root.issue("CN=leaf", Profile::end_entity(), &key(KeyAlgorithm::MlDsa(Level::MlDsa87), 1));
    case("a strong key below a weak signature", why(path::verify(&strong, &least(Level::MlDsa87))), &|r| {
        matches!(r, Refusal::Weak { .. })
    });
    let two = composite::PrivateKey::generate(composite::Algorithm::MlDsa44Ed25519).unwrap();
    let two = composite::CompositeKey::new(two);
    let drafted =
        builder("CN=leaf", Profile::end_entity()).issue(two.spki(), &root.certificate, &root.key).unwrap();
    case("a composite without asking for drafts", why(path::verify(&drafted, &plain)), &|r| {
        matches!(r, Refusal::Draft)
    });
    path::verify(&drafted, &Policy { draft: true, ..plain.clone() }).unwrap();

    // Keys and algorithms that are refused by name.
    let with_null = {
        let mut tbs = leaf.tbs().to_vec();
        // The key's HashML-DSA-44 identifier instead of ML-DSA-44's, behind the subject.
        let oid = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03, 0x11];
        let places: Vec<_> =
            tbs.windows(9).enumerate().filter(|(_, window)| *window == oid).map(|(at, _)| at).collect();
        assert_eq!(places.len(), 2);
        tbs[places[1] + 8] = 0x20;
        resign(&tbs, &root.key)
    };
    case(
        "a HashML-DSA key",
        why(path::verify(&with_null, &plain)),
        &|r| matches!(r, Refusal::Key(cause) if matches!(**cause, Error::AlgorithmRefused { .. })),
    );
    println!("{count} chains refused");
}

/// What was changed, signed again.
fn resign(tbs: &[u8], key: &SigningKey) -> Certificate {
    let signature = key.sign(tbs).unwrap();
    let tlv = crate::refusals::tlv;
    let der = tlv(0x30, &[tbs, &key.algorithm().to_der(), &tlv(3, &[&[0], &signature])]);
    Certificate::from_der(&der).unwrap()
}

#[test]
fn rfc5280_s4_2_1_10_name_constraints() {
    // permitted | excluded | name | holds
    let cases: &[(&[&str], &[&str], &str, bool)] = &[
        (&["dns:example.org"], &[], "dns:example.org", true),
        (&["dns:example.org"], &[], "dns:a.b.Example.ORG", true),
        (&["dns:example.org"], &[], "dns:*.example.org", true),
        (&["dns:example.org"], &[], "dns:badexample.org", false),
        (&["dns:example.org"], &[], "dns:example.com", false),
        (&["dns:example.org"], &[], "dns:*.org", false),
        (&["dns:example.org"], &[], "dns:.example.org", false),
        (&["dns:example.org"], &[], "dns:a..example.org", false),
        (&["dns:example.org"], &[], "dns:example.org.", false),
        (&["dns:.example.org"], &[], "dns:a.example.org", true),
        (&["dns:.example.org"], &[], "dns:example.org", false),
        (&["dns:"], &[], "dns:anything.test", true),
        (&["dns:example.org", "dns:example.com"], &[], "dns:a.example.com", true),
        (&["dns:example.org"], &[], "email:a@other.org", true),
        (&["dns:example.org"], &[], "ip:192.0.2.1", true),
        (&[], &["dns:example.org"], "dns:example.com", true),
        (&[], &["dns:example.org"], "dns:example.org", false),
        (&[], &["dns:example.org"], "dns:a.example.org", false),
        (&[], &["dns:a.example.org"], "dns:*.example.org", false),
        (&[], &["dns:a.b.example.org"], "dns:*.example.org", true),
        (&[], &["dns:example.org"], "dns:bad name", false),
        (&[], &["dns:"], "dns:anything.test", false),
        (&["dns:example.org"], &["dns:a.example.org"], "dns:b.example.org", true),
        (&["dns:example.org"], &["dns:a.example.org"], "dns:x.a.example.org", false),
        (&["email:a@example.org"], &[], "email:a@Example.org", true),
        (&["email:a@example.org"], &[], "email:A@example.org", false),
        (&["email:a@example.org"], &[], "email:b@example.org", false),
        (&["email:example.org"], &[], "email:b@example.org", true),
        (&["email:example.org"], &[], "email:b@a.example.org", false),
        (&["email:.example.org"], &[], "email:b@a.example.org", true),
        (&["email:.example.org"], &[], "email:b@example.org", false),
        (&["email:example.org"], &[], "email:example.org", false),
        (&["email:example.org"], &[], "email:@example.org", false),
        (&[], &["email:example.org"], "email:b@example.org", false),
        (&[], &["email:example.org"], "email:nobody", false),
        (&["ip:192.0.2.0/24"], &[], "ip:192.0.2.255", true),
        (&["ip:192.0.2.0/24"], &[], "ip:192.0.3.0", false),
        (&["ip:192.0.2.0/24"], &[], "ip:2001:db8::1", false),
        (&["ip:0.0.0.0/0"], &[], "ip:203.0.113.1", true),
        (&["ip:192.0.2.1/32"], &[], "ip:192.0.2.1", true),
        (&["ip:192.0.2.1/32"], &[], "ip:192.0.2.0", false),
        (&["ip:2001:db8::/32"], &[], "ip:2001:db8:ffff::1", true),
        (&["ip:2001:db8::/32"], &[], "ip:2001:db9::1", false),
        (&["ip:::/0"], &[], "ip:2001:db9::1", true),
        (&[], &["ip:10.0.0.0/8"], "ip:10.255.255.255", false),
        (&[], &["ip:10.0.0.0/8"], "ip:11.0.0.0", true),
        (&["uri:example.org"], &[], "uri:https://example.org/a?b#c", true),
        (&["uri:example.org"], &[], "uri:https://user@example.org:8443/", true),
        (&["uri:example.org"], &[], "uri:https://a.example.org/", false),
        (&["uri:.example.org"], &[], "uri:https://a.example.org/", true),
        (&["uri:.example.org"], &[], "uri:https://example.org/", false),
        (&["uri:example.org"], &[], "uri:https://example.org@evil.test/", false),
        (&["uri:example.org"], &[], "uri:https://192.0.2.1/", false),
        (&["uri:example.org"], &[], "uri:https://[2001:db8::1]/", false),
        (&["uri:example.org"], &[], "uri:urn:isbn:0", false),
        (&[], &["uri:example.org"], "uri:https://example.org/", false),
        (&[], &["uri:example.org"], "uri:https://192.0.2.1/", false),
        (&[], &["uri:example.org"], "uri:mailto:a@example.org", false),
        (&["dn:O=Example"], &[], "dn:CN=a,O=Example", true),
        (&["dn:O=Example"], &[], "dn:O=Example,CN=a", false),
        (&["dn:O=Example"], &[], "dn:CN=a,O=Other", false),
        (&[], &["dn:O=Example"], "dn:CN=a,O=Example", false),
        (&[], &["dn:O=Example"], "dn:CN=a,O=Other", true),
    ];
    for (permitted, excluded, name, holds) in cases {
        let is_directory = permitted.iter().any(|text| text.starts_with("dn:"));
        // A constraint of directory names is one of the subject, too: it is left out then.
        let subject = if is_directory || name.starts_with("dn:") { "" } else { "CN=leaf" };
        let root = Authority::root("CN=Root", constrained(permitted, excluded), 1);
        let leaf = root.issue(subject, alt(&[name]), &ml_dsa(99));
        let anchors = [root.certificate];
        match path::verify(&leaf, &Policy::new(&anchors, NOW)) {
            Ok(_) => assert!(holds, "{name} holds with {permitted:?} without {excluded:?}"),
            Err(error) => {
                assert!(!holds, "{name} with {permitted:?} without {excluded:?}: {error}");
                assert!(
                    matches!(error, Error::Path { why, .. } if matches!(*why, Refusal::Constraint { .. }))
                );
            }
        }
    }
    println!("{} name constraints", cases.len());
}

#[test]
fn constraints_of_the_subject_and_of_every_authority() {
    let holds = |authority: Profile, subject: &str, profile: Profile| {
        let root = Authority::root("CN=Root", authority, 1);
        let leaf = root.issue(subject, profile, &ml_dsa(99));
        let anchors = [root.certificate];
        path::verify(&leaf, &Policy::new(&anchors, NOW)).is_ok()
    };
    assert!(holds(constrained(&["dn:O=Example"], &[]), "CN=a,O=Example", Profile::end_entity()));
    assert!(!holds(constrained(&["dn:O=Example"], &[]), "CN=a,O=Other", Profile::end_entity()));
    assert!(!holds(constrained(&["dn:O=Example"], &[]), "CN=a", Profile::end_entity()));
    assert!(!holds(
        constrained(&[], &["email:example.org"]),
        "emailAddress=a@example.org",
        Profile::end_entity()
    ));
    assert!(holds(
        constrained(&["email:example.org"], &[]),
        "emailAddress=a@example.org",
        Profile::end_entity()
    ));

    // Those of the root hold below an authority that says less, and for that authority's own name.
    let root = Authority::root("CN=Root", constrained(&["dns:example.org"], &[]), 1);
    let middle = root.below("CN=Middle", constrained(&["dns:com"], &[]), 2);
    let anchors = [root.certificate.clone()];
    let between = [middle.certificate.clone()];
    let policy = Policy { intermediates: &between, ..Policy::new(&anchors, NOW) };
    for name in ["dns:a.com", "dns:a.example.org", "dns:example.com"] {
        assert!(
            matches!(why(path::verify(&middle.leaf(alt(&[name])), &policy)), Refusal::Constraint { .. }),
            "{name}"
        );
    }
    path::verify(&middle.leaf(alt(&["ip:192.0.2.1"])), &policy).unwrap();
    let narrow = Authority::root("CN=Root", constrained(&["dn:O=Example"], &[]), 1);
    let outside = narrow.below("CN=Middle,O=Other", Profile::authority(None), 3);
    let leaf = outside.issue("CN=a,O=Example", Profile::end_entity(), &ml_dsa(99));
    let (anchors, between) = ([narrow.certificate], [outside.certificate]);
    let policy = Policy { intermediates: &between, ..Policy::new(&anchors, NOW) };
    assert!(matches!(why(path::verify(&leaf, &policy)), Refusal::Constraint { .. }));

    // Names and constraints without end are not compared without end.
    let many: Vec<String> = (0..900).map(|n| format!("dns:h{n}.example.org")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let root = Authority::root("CN=Root", constrained(&many, &[]), 1);
    let leaf = root.leaf(alt(&many));
    let anchors = [root.certificate];
    assert!(matches!(why(path::verify(&leaf, &Policy::new(&anchors, NOW))), Refusal::TooMuchWork));
}

#[test]
fn rfc5280_s6_3_revocation() {
    let root = Authority::root("CN=Root", Profile::authority(None), 1);
    let middle = root.below("CN=Middle", Profile::authority(None), 2);
    let leaf = middle.leaf(Profile::end_entity());
    let anchors = [root.certificate.clone()];
    let between = [middle.certificate.clone()];
    let verify = |lists: &[Crl], revocation| {
        let policy =
            Policy { crls: lists, intermediates: &between, revocation, ..Policy::new(&anchors, NOW) };
        path::verify(&leaf, &policy).map(|path| path.revocation_checked).map_err(|error| match error {
            Error::Path { why, .. } => *why,
            other => panic!("{other}"),
        })
    };
    let (of_root, of_middle) =
        (root.list(NOW - 60, NOW + 60, &[&[1]]), middle.list(NOW - 60, NOW + 60, &[&[1]]));
    let both = [of_root.clone(), of_middle.clone()];
    assert_eq!(verify(&both, Revocation::Required), Ok(true));
    assert_eq!(verify(&both, Revocation::WherePresent), Ok(true));
    assert_eq!(verify(&[], Revocation::WherePresent), Ok(false));
    assert_eq!(verify(std::slice::from_ref(&of_root), Revocation::WherePresent), Ok(false));
    assert_eq!(verify(&[], Revocation::Required), Err(Refusal::NoCrl));
    assert_eq!(verify(std::slice::from_ref(&of_middle), Revocation::Required), Err(Refusal::NoCrl));

    let revoked = Refusal::Revoked { date: NOW - 60, reason: Reason::KeyCompromise };
    let of_leaf = middle.list(NOW - 60, NOW + 60, &[leaf.serial()]);
    assert_eq!(verify(std::slice::from_ref(&of_leaf), Revocation::WherePresent), Err(revoked.clone()));
    assert_eq!(verify(std::slice::from_ref(&of_leaf), Revocation::Ignored), Ok(false));
    let of_authority = root.list(NOW - 60, NOW + 60, &[middle.certificate.serial()]);
    assert_eq!(verify(&[of_authority, of_middle.clone()], Revocation::WherePresent), Err(revoked.clone()));

    // A list that is over: it still says what was revoked, and is no proof of the contrary.
    let stale = middle.list(NOW - 120, NOW - 1, &[&[1]]);
    assert_eq!(
        verify(std::slice::from_ref(&stale), Revocation::WherePresent),
        Err(Refusal::StaleCrl { due: Some(NOW - 1) })
    );
    assert_eq!(verify(&[stale, of_middle.clone()], Revocation::WherePresent), Ok(false));
    let stale_of_leaf = middle.list(NOW - 120, NOW - 1, &[leaf.serial()]);
    assert_eq!(verify(&[stale_of_leaf], Revocation::WherePresent), Err(revoked));
    let future = middle.list(NOW + 1, NOW + 60, &[]);
    assert!(matches!(verify(&[future], Revocation::WherePresent), Err(Refusal::UnusableCrl { .. })));

    // A forged list of now behind a true one that is over proves nothing, and revokes nothing.
    let stale = middle.list(NOW - 120, NOW - 1, &[&[1]]);
    let spoilt = |list: &Crl| {
        let mut bytes = list.der().to_vec();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        Crl::from_der(&bytes).unwrap()
    };
    for forged in [spoilt(&of_middle), spoilt(&of_leaf)] {
        for lists in [[stale.clone(), forged.clone()], [forged, stale.clone()]] {
            let refused = verify(&lists, Revocation::WherePresent);
            assert!(
                matches!(refused, Err(Refusal::StaleCrl { .. } | Refusal::UnusableCrl { .. })),
                "{refused:?}"
            );
        }
    }

    // A list of the same name and another key is not of this issuer; one with a changed byte is of nobody.
    let other = Authority::root("CN=Middle", Profile::authority(None), 9);
    let of_other = other.list(NOW - 60, NOW + 60, &[leaf.serial()]);
    assert_eq!(verify(&[of_other], Revocation::WherePresent), Ok(false));
    let mut bytes = of_leaf.der().to_vec();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let forged = Crl::from_der(&bytes).unwrap();
    assert!(matches!(verify(&[forged], Revocation::WherePresent), Err(Refusal::UnusableCrl { .. })));

    // An issuer that signs certificates only.
    let only = Profile { key_usage: Some(KeyUsage::KEY_CERT_SIGN), ..Profile::authority(None) };
    let only = Authority { certificate: root.issue("CN=Middle", only, &ml_dsa(2)), key: ml_dsa(2) };
    let between = [only.certificate.clone()];
    let lists = [of_middle];
    let policy = Policy { crls: &lists, intermediates: &between, ..Policy::new(&anchors, NOW) };
    assert!(matches!(
        why(path::verify(&only.leaf(Profile::end_entity()), &policy)),
        Refusal::UnusableCrl { .. }
    ));
}

/// Hundreds of authorities of one name and key: the work is bounded.
#[test]
fn work_is_bounded() {
    let root = Authority::root("CN=Root", Profile::authority(None), 1);
    let stranger = Authority::root("CN=Root", Profile::authority(None), 2);
    // Certificates that name the root as issuer and were signed by another key, so that every signature fails.
    let mut between = Vec::new();
    for number in 0..200_u8 {
        let mut one = builder("CN=Middle", Profile::authority(None));
        one.serial = Serial::new(&[1, number]).unwrap();
        let signed = one.issue(ml_dsa(3).public_spki(), &stranger.certificate, &stranger.key).unwrap();
        // As if by the root: its key identifier in the place of the stranger's.
        let (from, to) =
            (stranger.certificate.subject_key_id().unwrap(), root.certificate.subject_key_id().unwrap());
        between.push(changed(&signed, from, to));
    }
    let middle = Authority { certificate: between[0].clone(), key: ml_dsa(3) };
    let leaf = middle.leaf(Profile::end_entity());
    let anchors = [root.certificate];
    let policy = Policy { intermediates: &between, ..Policy::new(&anchors, NOW) };
    assert!(matches!(why(path::verify(&leaf, &policy)), Refusal::TooMuchWork));
}

trait PublicSpki {
    fn public_spki(&self) -> &[u8];
}

impl PublicSpki for SigningKey {
    fn public_spki(&self) -> &[u8] {
        use sealstone_pki::sign::Signer as _;
        self.spki()
    }
}

#[test]
fn rfc9525_s6_3_hosts() {
    for (pattern, host, holds) in [
        ("a.example.org", "a.example.org", true),
        ("a.example.org", "A.EXAMPLE.ORG", true),
        ("*.example.org", "a.example.org", true),
        ("*.example.org", "a.b.example.org", false),
        ("*.example.org", "example.org", false),
        ("*.org", "example.org", false),
        ("*", "localhost", false),
        ("a*.example.org", "ab.example.org", false),
        ("a.*.org", "a.example.org", false),
        ("*.*.example.org", "a.b.example.org", false),
        ("*.example.org", "*.example.org", false),
        ("192.0.2.1", "192.0.2.1", false),
        ("", "", false),
        ("localhost", "localhost", true),
    ] {
        assert_eq!(matches_host(pattern, host), holds, "{pattern} {host}");
    }
}

/// The constraints' own defaults: an empty set is none.
#[test]
fn defaults_say_nothing() {
    assert_eq!(BasicConstraints::default().to_der(), [0x30, 0]);
    assert!(GeneralName::Dns("a".into()).to_der().is_ok());
}
