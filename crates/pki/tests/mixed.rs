//! Chains of OpenSSL with roots as they stand today above ML-DSA: RSA in every way that RFC 4055 allows, ECDSA. What made them is
//! `interop/openssl/chains`; each was found good there.

use sealstone_mldsa::Level;
use sealstone_pki::sign::VerifyingKey;
use sealstone_pki::x509::path::{self, Policy, Refusal};
use sealstone_pki::{Certificate, Error, Hash, SignatureAlgorithm, spki};

use crate::data;

/// 2027-01-01 00:00:00 UTC.
const NOW: i64 = 1_798_761_600;

fn chain(name: &str) -> Vec<Certificate> {
    Certificate::all_from_pem(&data(&format!("openssl/chains/{name}.pem"))).unwrap()
}

/// How the last but one is signed, by the root.
const CHAINS: [(&str, SignatureAlgorithm); 9] = [
    ("ecdsa", SignatureAlgorithm::Ecdsa(Hash::Sha384)),
    ("rsa", SignatureAlgorithm::RsaPkcs1(Hash::Sha256)),
    ("pss-salt-0", SignatureAlgorithm::RsaPss(Hash::Sha256, 0)),
    ("pss-salt-20", SignatureAlgorithm::RsaPss(Hash::Sha256, 20)),
    ("pss-salt-digest", SignatureAlgorithm::RsaPss(Hash::Sha256, 32)),
    ("pss-salt-max", SignatureAlgorithm::RsaPss(Hash::Sha256, 222)),
    ("pss-sha512", SignatureAlgorithm::RsaPss(Hash::Sha512, 446)),
    ("pss-key", SignatureAlgorithm::RsaPss(Hash::Sha256, 32)),
    ("pss-key-limits", SignatureAlgorithm::RsaPss(Hash::Sha384, 40)),
];

#[test]
fn roots_of_today_above_ml_dsa() {
    for (name, signed) in CHAINS {
        let chain = chain(name);
        let (leaf, above) = chain.split_first().unwrap();
        let (root, between) = above.split_last().unwrap();
        let below_root = between.last().unwrap_or(leaf);
        assert_eq!(below_root.signature_algorithm(), Ok(signed), "{name}");
        let key = VerifyingKey::from_spki(root.public_key()).unwrap();
        root.verify_signature(&key).unwrap_or_else(|error| panic!("{name}: {error}"));
        let alone = spki::rsa_is_for_pss_alone(root.public_key());
        assert_eq!(alone, name.starts_with("pss-key"), "{name}");
        assert_eq!(alone, key.algorithm_name() == "RSA for PSS alone", "{name}");

        let anchors = [root.clone()];
        let host = Some("dns:leaf.example".parse().unwrap());
        let policy = Policy { intermediates: between, name: host, ..Policy::new(&anchors, NOW) };
        let path = path::verify(leaf, &policy).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(path.certificates.len(), chain.len(), "{name}");

        // The root's signature is not post-quantum, and who asks for that is told so.
        let least = Policy { minimum_level: Some(Level::MlDsa44), ..policy.clone() };
        let Err(Error::Path { why, .. }) = path::verify(leaf, &least) else { panic!("{name}") };
        assert!(matches!(*why, Refusal::Weak { .. }), "{name}: {why}");
        // Without what is between there is no path.
        if !between.is_empty() {
            assert!(path::verify(leaf, &Policy { intermediates: &[], ..policy.clone() }).is_err());
        }
        // A bit of any signature but the trusted one's.
        for at in 0..chain.len() - 1 {
            let mut changed = chain.clone();
            let mut der = changed[at].der().to_vec();
            let place = der.len() - 40;
            der[place] ^= 1;
            changed[at] = Certificate::from_der(&der).unwrap();
            let policy = Policy { intermediates: &changed[1..chain.len() - 1], ..policy.clone() };
            let Err(Error::Path { why, .. }) = path::verify(&changed[0], &policy) else {
                panic!("{name} {at}")
            };
            assert!(matches!(*why, Refusal::Signature(_)), "{name} {at}: {why}");
        }
    }
}

/// The salt is as long as the parameters say, and no other length will do: nothing is tried.
#[test]
fn salts_are_as_long_as_they_say() {
    for (name, signed) in CHAINS {
        let SignatureAlgorithm::RsaPss(hash, salt) = signed else { continue };
        let chain = chain(name);
        let key = VerifyingKey::from_spki(chain[1].public_key()).unwrap();
        let with = |algorithm| key.verify(algorithm, chain[0].tbs(), chain[0].signature());
        let pss = |hash, salt| with(SignatureAlgorithm::RsaPss(hash, salt));
        assert_eq!(pss(hash, salt), Ok(()), "{name}");
        for other in [0, 1, 19, 20, 21, 32, 40, 48, 64, 222, 223, 446, 447, 990, 65_535] {
            let expected = match other {
                _ if other == salt => Ok(()),
                // The key's own least comes before any arithmetic.
                _ if name == "pss-key-limits" && other < 40 => Err("mismatch"),
                _ => Err("signature"),
            };
            assert_eq!(pss(hash, other).map_err(kind), expected, "{name}, {other} bytes");
        }
        let other = if hash == Hash::Sha256 { Hash::Sha512 } else { Hash::Sha256 };
        let limited = if name == "pss-key-limits" { "mismatch" } else { "signature" };
        assert_eq!(pss(other, salt).map_err(kind), Err(limited), "{name}");
        // RFC 4055 §1.2: a key for PSS alone signs in no other way.
        let expected = if name.contains("key") { "mismatch" } else { "signature" };
        let pkcs1 = with(SignatureAlgorithm::RsaPkcs1(hash)).map_err(kind);
        assert_eq!(pkcs1, Err(expected), "{name}");
    }
}

fn kind(error: Error) -> &'static str {
    match error {
        Error::AlgorithmMismatch { .. } => "mismatch",
        Error::BadSignature => "signature",
        other => panic!("{other}"),
    }
}

/// The default of the salt is not written (X.690 §11.5), and everything else is written as it was read.
#[test]
fn parameters_are_those_of_openssl() {
    for (name, signed) in CHAINS {
        let chain = chain(name);
        let below_root = &chain[chain.len() - 2];
        let written = signed.to_der();
        let found = below_root.der().windows(written.len()).filter(|window| *window == written).count();
        assert_eq!(found, 2, "{name}: inside and outside");
    }
}
