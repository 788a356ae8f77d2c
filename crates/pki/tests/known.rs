//! Keys that others wrote: examples of the RFCs and files of OpenSSL.

use sealstone_mldsa::Level;
use sealstone_pki::pkcs8::Form;
use sealstone_pki::{Error, KeyAlgorithm, PrivateKeyInfo, Secret, pkcs8, rsa, spki};

use crate::{data, unhex, unpem};

/// RFC 9881 Appendix C: the seed 00 01 .. 1f.
fn seed() -> Vec<u8> {
    (0..32).collect()
}

#[test]
fn rfc9881_c1_seed_form_of_all_levels() {
    for (level, oid) in [(Level::MlDsa44, "11"), (Level::MlDsa65, "12"), (Level::MlDsa87, "13")] {
        let mut expected = unhex(&format!("3034020100300b06096086480165030403{oid}04228020"));
        expected.extend(seed());
        let key = PrivateKeyInfo::new(KeyAlgorithm::MlDsa(level), &seed(), None).unwrap();
        assert_eq!(*pkcs8::to_der(&key).unwrap(), expected, "{level}");
        let read = pkcs8::from_der(&expected).unwrap();
        assert_eq!(read.algorithm(), KeyAlgorithm::MlDsa(level));
        assert_eq!(read.raw().unwrap(), seed());
        assert_eq!(read.secret().form(), "seed");
    }
}

/// RFC 9881 §4: the 22 bytes before the raw key.
#[test]
fn rfc9881_s4_spki_headers() {
    for (level, header) in [
        (Level::MlDsa44, "30820532300b06096086480165030403110382052100"),
        (Level::MlDsa65, "308207b2300b0609608648016503040312038207a100"),
        (Level::MlDsa87, "30820a32300b060960864801650304031303820a2100"),
    ] {
        let key = PrivateKeyInfo::new(KeyAlgorithm::MlDsa(level), &seed(), None).unwrap();
        let public = key.public().unwrap();
        let info = sealstone_pki::PublicKeyInfo::new(KeyAlgorithm::MlDsa(level), public).unwrap();
        let der = spki::to_der(&info);
        assert_eq!(der[..22], unhex(header), "{level}");
        assert_eq!(&der[22..], public);
        assert_eq!(spki::from_der(&der).unwrap(), info);
    }
}

#[test]
fn rfc3279_s2_3_1_rsa_of_openssl() {
    let der = unpem(&data("openssl/RSA.spki.pem"));
    let (modulus, exponent) = spki::rsa_from_der(&der).unwrap();
    assert_eq!((modulus.len(), &exponent[..]), (256, &[1, 0, 1][..]));
    assert_eq!(spki::rsa_to_der(&modulus, &exponent), der);
    assert_eq!(
        spki::rsa_to_der(&[&[0, 0], &modulus[..]].concat(), &exponent),
        der,
        "leading zeros do not count"
    );
    for length in 0..der.len() {
        assert!(spki::rsa_from_der(&der[..length]).is_err());
    }
    assert!(spki::rsa_from_der(&unpem(&data("openssl/P256.spki.pem"))).is_err());
}

#[test]
fn rfc9881_c_three_forms_of_one_key() {
    let public = spki::from_pem(&data("rfc9881/ML-DSA-44.pub")).unwrap();
    assert_eq!(spki::to_pem(&public), data("rfc9881/ML-DSA-44.pub"));
    for form in ["seed", "expanded", "both"] {
        let text = data(&format!("rfc9881/ML-DSA-44-{form}.priv"));
        let key = pkcs8::from_pem(&text).unwrap();
        assert_eq!(key.public(), Some(public.key()), "{form}");
        match (form, key.secret()) {
            ("seed", Secret::MlDsaSeed(found)) => assert_eq!(found.as_slice(), seed()),
            ("both", Secret::MlDsaBoth { seed: found, expanded }) => {
                assert_eq!(found.as_slice(), seed());
                assert_eq!(expanded.len(), 2560);
            }
            ("expanded", Secret::MlDsaExpanded(expanded)) => assert_eq!(expanded.len(), 2560),
            (_, other) => panic!("{form} was read as {other:?}"),
        }
        if form == "expanded" {
            assert_eq!(pkcs8::to_der(&key).unwrap_err(), Error::NoSeed);
            assert!(Error::NoSeed.hint().unwrap().contains("JWK"));
        } else {
            // Both is written as the seed alone.
            assert_eq!(*pkcs8::to_pem(&key).unwrap(), data("rfc9881/ML-DSA-44-seed.priv"), "{form}");
        }
    }
}

/// The forms that a reader may demand are the RFC's own files; none is made of less than it holds.
#[test]
fn rfc9881_c_forms_are_written() {
    let file = |form: &str| data(&format!("rfc9881/ML-DSA-44-{form}.priv"));
    let forms = [(Form::Seed, "seed"), (Form::Expanded, "expanded"), (Form::Both, "both")];
    for from in ["seed", "both"] {
        let key = pkcs8::from_pem(&file(from)).unwrap();
        for (form, name) in forms {
            assert_eq!(*pkcs8::to_pem_as(&key, form).unwrap(), file(name), "{from} as {name}");
        }
    }
    let expanded = pkcs8::from_pem(&file("expanded")).unwrap();
    let Secret::MlDsaExpanded(sk) = expanded.secret() else { panic!("{:?}", expanded.secret()) };
    for key in [&expanded, &PrivateKeyInfo::from_expanded(Level::MlDsa44, sk).unwrap()] {
        assert_eq!(*pkcs8::to_pem_as(key, Form::Expanded).unwrap(), file("expanded"));
        for form in [Form::Seed, Form::Both] {
            assert_eq!(pkcs8::to_pem_as(key, form).unwrap_err(), Error::NoSeed);
        }
    }
    let mut wrong = sk.to_vec();
    wrong[64] ^= 1;
    assert!(PrivateKeyInfo::from_expanded(Level::MlDsa44, &wrong).is_err(), "tr of another key");
    assert!(PrivateKeyInfo::from_expanded(Level::MlDsa65, sk).is_err());
}

/// RSA in PKCS#8 and SPKI is wrapped and unwrapped, byte for byte.
#[test]
fn rfc5208_s5_rsa_of_openssl() {
    let der = unpem(&data("openssl/RSA.spki.pem"));
    assert!(rsa::is_rsa(&der));
    let key = rsa::public_from_der(&der).unwrap();
    assert_eq!(rsa::public_to_der(&key), der);
    assert_eq!(rsa::public_from_pem(&rsa::public_to_pem(&key)).unwrap(), key);
    // The content is nobody's business here.
    let wrapped = rsa::private_to_der(&key);
    assert!(rsa::is_rsa(&wrapped));
    assert_eq!(*rsa::private_from_der(&wrapped).unwrap(), key);
    assert_eq!(*rsa::private_from_pem(&rsa::private_to_pem(&key)).unwrap(), key);
    for length in 0..wrapped.len() {
        assert!(rsa::private_from_der(&wrapped[..length]).is_err());
    }
    for length in 0..der.len() {
        assert!(rsa::public_from_der(&der[..length]).is_err());
    }
    let other = unpem(&data("openssl/P256.spki.pem"));
    assert!(!rsa::is_rsa(&other) && rsa::public_from_der(&other).is_err());
}

/// RFC 9881 Appendix C.4: keys that contradict themselves.
#[test]
fn rfc9881_c4_inconsistent_keys() {
    for number in 1..=3 {
        let error = pkcs8::from_pem(&data(&format!("rfc9881/bad-ML-DSA-44-{number}.priv"))).unwrap_err();
        let expected = if number == 1 { "the seed does not" } else { "the parts of the expanded key" };
        assert!(
            matches!(error, Error::Inconsistent { parts } if parts.starts_with(expected)),
            "{number}: {error}"
        );
    }
}

/// RFC 8410 §10.3: version 0, and version 1 with an attribute and the public key.
#[test]
fn rfc8410_s10_3() {
    let public = "-----BEGIN PUBLIC KEY-----\n\
        MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n";
    let v1 = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n";
    let v2 = "-----BEGIN PRIVATE KEY-----\n\
        MHICAQEwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
        oB8wHQYKKoZIhvcNAQkJFDEPDA1DdXJkbGUgQ2hhaXJzgSEAGb9ECWmEzf6FQbrB\n\
        Z9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PRIVATE KEY-----\n";
    let public = spki::from_pem(public).unwrap();
    let (one, two) = (pkcs8::from_pem(v1).unwrap(), pkcs8::from_pem(v2).unwrap());
    assert_eq!(one.raw().unwrap(), two.raw().unwrap());
    assert_eq!((one.public(), two.public()), (None, Some(public.key())));
    assert_eq!(*pkcs8::to_pem(&two).unwrap(), v1);
}

#[test]
fn openssl_ec_and_ed25519_keys() {
    for (name, algorithm) in [
        ("P256", KeyAlgorithm::EcP256),
        ("P384", KeyAlgorithm::EcP384),
        ("P521", KeyAlgorithm::EcP521),
        ("Ed25519", KeyAlgorithm::Ed25519),
    ] {
        let (public_text, private_text) =
            (data(&format!("openssl/{name}.spki.pem")), data(&format!("openssl/{name}.pkcs8.pem")));
        let public = spki::from_pem(&public_text).unwrap();
        assert_eq!(public.algorithm(), algorithm);
        assert_eq!(public.key().len(), algorithm.public_len());
        assert_eq!(spki::to_pem(&public), public_text);
        assert_eq!(spki::to_der(&public), unpem(&public_text));

        let private = pkcs8::from_pem(&private_text).unwrap();
        assert_eq!(private.algorithm(), algorithm);
        assert_eq!(private.raw().unwrap().len(), algorithm.secret_len());
        assert_eq!(*pkcs8::to_pem(&private).unwrap(), private_text, "{name}");
        if name != "Ed25519" {
            assert_eq!(private.public(), Some(public.key()));
            let sec1 = pkcs8::from_pem(&data(&format!("openssl/{name}.sec1.pem"))).unwrap();
            assert_eq!(sec1.raw().unwrap(), private.raw().unwrap());
            assert_eq!(*pkcs8::to_pem(&sec1).unwrap(), private_text, "{name}");
        }
    }
}

#[test]
fn openssl_keys_that_are_refused_say_why() {
    let spki = |name: &str| spki::from_pem(&data(&format!("openssl/{name}"))).unwrap_err();
    let pkcs8 = |name: &str| pkcs8::from_pem(&data(&format!("openssl/{name}"))).unwrap_err();
    let unknown = |oid: &str| Error::AlgorithmUnknown { oid: oid.into() };
    assert_eq!(spki("RSA.spki.pem"), unknown("1.2.840.113549.1.1.1"));
    assert_eq!(spki("secp256k1.spki.pem"), unknown("1.3.132.0.10"));
    assert!(matches!(spki("Ed448.spki.pem"), Error::AlgorithmRefused { name: "Ed448", .. }));
    assert_eq!(spki("X25519.spki.pem"), unknown("1.3.101.110"));
    assert!(matches!(spki("P256.compressed.pem"), Error::PointForm { found: 2 | 3 }));
    assert!(matches!(spki("P256.explicit.pem"), Error::Parameters { expected: "a named curve", .. }));
    assert_eq!(pkcs8("P256.encrypted.pem"), Error::Encrypted);
    assert!(matches!(pkcs8("P256.two-blocks.pem"), Error::Pem { line: 4, .. }));
    assert!(matches!(spki("P256.pkcs8.pem"), Error::PemLabel { expected: "PUBLIC KEY", .. }));
    assert!(matches!(pkcs8("P256.spki.pem"), Error::PemLabel { .. }));
}

#[test]
fn debug_shows_no_secret() {
    let key = PrivateKeyInfo::new(KeyAlgorithm::Ed25519, &[0xab; 32], None).unwrap();
    let shown = format!("{key:?}");
    assert!(shown.contains("Secret(seed)") && !shown.contains("171") && !shown.contains("ab, "), "{shown}");
}
