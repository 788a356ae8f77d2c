//! Every algorithm against every key.

use sealstone_jose::jws::{self, Header, Unverified};
use sealstone_jose::{Algorithm, Error, PrivateKey, PublicKey};

#[test]
fn every_token_under_every_key() {
    let keys: Vec<PrivateKey> =
        Algorithm::ALL.into_iter().map(|alg| PrivateKey::generate(alg).unwrap()).collect();
    let mut refused = 0;
    for signer in &keys {
        let token = jws::encode(signer, &Header::new(), b"payload").unwrap();
        for verifier in &keys {
            let outcome = Unverified::parse(&token).unwrap().verify(verifier.public());
            let (signed, checked) = (signer.algorithm(), verifier.algorithm());
            if signed == checked {
                assert_eq!(outcome.unwrap().payload(), b"payload", "{signed}");
                continue;
            }
            refused += 1;
            let error = outcome.unwrap_err();
            if checked.accepts(signed) {
                // Two names of Ed25519, but two keys.
                assert_eq!(error, Error::BadSignature, "{signed} token, {checked} key");
            } else {
                assert_eq!(error, Error::AlgorithmMismatch { key: checked, token: signed });
            }
        }
    }
    assert_eq!(refused, 90);
}

#[test]
fn the_two_names_of_ed25519_are_one_key() {
    let seed = [7; 32];
    let old = PrivateKey::from_secret(Algorithm::EdDsa, &seed).unwrap();
    let new = PrivateKey::from_secret(Algorithm::Ed25519, &seed).unwrap();
    assert_eq!(old.kid(), new.kid());
    for (signer, verifier) in [(&old, &new), (&new, &old)] {
        let token = jws::encode(signer, &Header::new(), b"payload").unwrap();
        let unverified = Unverified::parse(&token).unwrap();
        assert_eq!(unverified.header().algorithm(), signer.algorithm());
        assert!(unverified.verify(verifier.public()).is_ok());
    }
}

#[test]
fn another_key_of_the_same_algorithm_is_refused() {
    for alg in Algorithm::ALL {
        let (one, other) = (PrivateKey::generate(alg).unwrap(), PrivateKey::generate(alg).unwrap());
        let token = jws::encode(&one, &Header::new(), b"payload").unwrap();
        let error = Unverified::parse(&token).unwrap().verify(other.public()).unwrap_err();
        assert_eq!(error, Error::BadSignature, "{alg}");
    }
}

#[test]
fn lengths_and_names_hold() {
    for alg in Algorithm::ALL {
        let key = PrivateKey::generate(alg).unwrap();
        assert_eq!(key.sign(b"m").unwrap().len(), key.public().signature_len());
        for (len, own) in [
            (alg.signature_len(), key.public().signature_len()),
            (alg.secret_len(), key.secret().len()),
            (alg.public_len(), key.public().as_bytes().len()),
        ] {
            assert_eq!(len.unwrap_or(own), own, "{alg}");
            assert_eq!(len.is_none(), [Algorithm::Ps256, Algorithm::Rs256].contains(&alg), "{alg}");
        }
        assert_eq!(alg.name().parse::<Algorithm>(), Ok(alg));
        assert_eq!(key.kid().len(), 43);
    }
}

/// A signature of any length but the right one is refused, and a good one right after it is not.
#[test]
fn signatures_of_other_lengths_then_a_good_one() {
    for alg in Algorithm::ALL {
        let key = PrivateKey::generate(alg).unwrap();
        let good = key.sign(b"m").unwrap();
        let lengths = [0, 1, good.len() / 2, good.len() - 1, good.len() + 1, 2 * good.len()];
        for len in lengths {
            let mut bad = good.clone();
            bad.resize(len, 0);
            assert_eq!(key.public().verify(b"m", &bad), Err(Error::BadSignature), "{alg} {len}");
            assert_eq!(key.public().verify(b"m", &good), Ok(()), "{alg}");
        }
    }
}

/// RFC 7518 §3.4: `r || s`, not DER; and r = s = 0 is no signature (the "psychic signature" of other libraries).
#[test]
fn ecdsa_zeros_are_refused() {
    for alg in [Algorithm::Es256, Algorithm::Es384, Algorithm::Es512] {
        let key = PrivateKey::generate(alg).unwrap();
        assert_eq!(
            key.public().verify(b"m", &vec![0; alg.signature_len().unwrap()]),
            Err(Error::BadSignature)
        );
    }
}

/// Scalars 0 and n are out of range; 1 is in.
#[test]
fn scalars_out_of_range_are_refused() {
    for alg in [Algorithm::Es256, Algorithm::Es384, Algorithm::Es512] {
        let len = alg.secret_len().unwrap();
        let mut one = vec![0; len];
        one[len - 1] = 1;
        assert!(PrivateKey::from_secret(alg, &one).is_ok(), "{alg}");
        for bad in [vec![0; len], vec![0xff; len]] {
            let error = PrivateKey::from_secret(alg, &bad).unwrap_err();
            assert!(matches!(error, Error::KeyMalformed { member: "d", .. }), "{alg}: {error}");
        }
    }
}

#[test]
fn raw_keys_of_other_lengths_are_refused() {
    for alg in Algorithm::ALL {
        let Some((secret_len, public_len)) = alg.secret_len().zip(alg.public_len()) else { continue };
        for len in 0..secret_len + 3 {
            assert_eq!(PrivateKey::from_secret(alg, &vec![1; len]).is_ok(), len == secret_len, "{alg} {len}");
        }
        for len in [0, 1, public_len - 1, public_len + 1, 2 * public_len] {
            let error = PublicKey::from_public(alg, &vec![4; len]).unwrap_err();
            assert!(matches!(error, Error::KeyMalformed { .. }), "{alg} {len}: {error}");
        }
    }
}

/// Points off the curve, compressed points and the hybrid form.
#[test]
fn other_points_are_refused() {
    for alg in [Algorithm::Es256, Algorithm::Es384, Algorithm::Es512] {
        let good = PrivateKey::generate(alg).unwrap().public().as_bytes().to_vec();
        let last = good.len() - 1;
        let mut off_curve = good.clone();
        off_curve[last] ^= 1;
        let mut hybrid = good.clone();
        hybrid[0] = 6 + (good[last] & 1);
        let compressed = good[..alg.secret_len().unwrap() + 1].to_vec();
        for bad in [off_curve, hybrid, compressed, vec![0]] {
            assert!(PublicKey::from_public(alg, &bad).is_err(), "{alg}");
        }
    }
}
