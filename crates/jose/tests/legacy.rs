//! What jwt-pq writes: read, checked more strictly than it does itself, and never written by mistake.

use sealstone_jose::jws::{Header, Unverified};
use sealstone_jose::legacy::{ExpandedKey, HybridPrivateKey, HybridPublicKey, Level, encode};
use sealstone_jose::{Algorithm, Error, PrivateKey, jws};
use sealstone_mldsa::any;
use serde_json::{Value, json};

use crate::{assert_refused, b64, unb64};

/// A private JWK as jwt-pq exports it: members in its order, the expanded key as `priv`.
fn exported(algorithm: Algorithm) -> (PrivateKey, Value) {
    let key = PrivateKey::generate(algorithm).unwrap();
    let level = algorithm.level().unwrap();
    let expanded = any::SigningKey::try_from_seed(level, &key.secret()).unwrap().expand();
    let mut bytes = vec![0; level.signing_key_len()];
    expanded.encode(&mut bytes).unwrap();
    let jwk = json!({
        "kty": "AKP", "alg": algorithm.name(), "pub": b64(key.public().as_bytes()),
        "kid": key.public().thumbprint(), "priv": b64(bytes),
    });
    (key, jwk)
}

#[test]
fn an_expanded_key_signs_standard_tokens() {
    for algorithm in [Algorithm::MlDsa44, Algorithm::MlDsa65, Algorithm::MlDsa87] {
        let (key, jwk) = exported(algorithm);
        // The standard's reader says what it is.
        let refused = PrivateKey::from_jwk(&jwk.to_string()).unwrap_err().to_string();
        assert!(refused.contains("expanded key"), "{refused}");
        let expanded = ExpandedKey::from_jwk(&jwk.to_string()).unwrap();
        assert_eq!(expanded.public(), key.public());
        let token = expanded.encode(&Header::new(), b"{}").unwrap();
        let verified = Unverified::parse(&token).unwrap().verify(key.public()).unwrap();
        assert_eq!(verified.header().kid(), Some(key.kid()));
        assert_eq!(b64(expanded.as_bytes()), jwk["priv"].as_str().unwrap());
        let again = ExpandedKey::from_bytes(algorithm.level().unwrap(), expanded.as_bytes()).unwrap();
        assert_eq!(again.public(), key.public());
        let short = &expanded.as_bytes()[1..];
        assert_refused("cut", ExpandedKey::from_bytes(algorithm.level().unwrap(), short), "key malformed");
    }
}

#[test]
fn expanded_keys_that_are_refused() {
    let (key, jwk) = exported(Algorithm::MlDsa44);
    let (_, other) = exported(Algorithm::MlDsa44);
    let set = |member: &str, value: Value| {
        let mut jwk = jwk.clone();
        jwk[member] = value;
        jwk.to_string()
    };
    let flipped = |at: usize| {
        let mut bytes = unb64(jwk["priv"].as_str().unwrap());
        bytes[at] ^= 1;
        set("priv", b64(bytes).into())
    };
    let cases = [
        ("with its seed", key.to_jwk().to_json().to_string(), "key malformed"),
        ("pub of another", set("pub", other["pub"].clone()), "key mismatch"),
        ("priv of another", set("priv", other["priv"].clone()), "key mismatch"),
        ("rho flipped", flipped(0), "key malformed"),
        ("tr flipped", flipped(64), "key malformed"),
        ("t0 flipped", flipped(2559), "key malformed"),
        ("cut", set("priv", jwk["priv"].as_str().unwrap()[4..].into()), "key malformed"),
        ("of another level", set("alg", "ML-DSA-65".into()), "key malformed"),
        ("hybrid", set("alg", "EdDSA+ML-DSA-44".into()), "algorithm unknown"),
    ];
    for (name, jwk, expected) in cases {
        assert_refused(name, ExpandedKey::from_jwk(&jwk), expected);
    }
}

#[test]
fn hybrid_tokens() {
    for level in Level::ALL {
        let key = HybridPrivateKey::generate(level).unwrap();
        let token = encode(&key, &Header::new().typ("JWT"), b"{}").unwrap();
        let verified = Unverified::parse_hybrid(&token).unwrap().verify_hybrid(key.public()).unwrap();
        assert_eq!(verified.header().get("pq_alg"), Some(&level.name().into()));
        assert_eq!(verified.header().get("alg"), Some(&format!("EdDSA+{}", level.name()).into()));
        assert_eq!(verified.header().kid(), None);
        assert_refused("as a standard token", Unverified::parse(&token).map(drop), "algorithm unknown");
    }
}

/// What users of jwt-pq have: an Ed25519 key, and an ML-DSA key without its seed.
#[test]
fn hybrid_tokens_by_an_expanded_key() {
    for algorithm in [Algorithm::MlDsa44, Algorithm::MlDsa65, Algorithm::MlDsa87] {
        let (whole, jwk) = exported(algorithm);
        let ed25519 = PrivateKey::generate(Algorithm::EdDsa).unwrap();
        let expanded = ExpandedKey::from_jwk(&jwk.to_string()).unwrap();
        let key = HybridPrivateKey::with_expanded(ed25519.clone(), expanded).unwrap();
        let token = encode(&key, &Header::new().typ("JWT"), b"{}").unwrap();
        let public = HybridPublicKey::new(ed25519.public().clone(), whole.public().clone()).unwrap();
        let verified = Unverified::parse_hybrid(&token).unwrap().verify_hybrid(&public).unwrap();
        assert_eq!(verified.payload(), b"{}");
        let expanded = ExpandedKey::from_jwk(&jwk.to_string()).unwrap();
        assert_refused("no Ed25519 key", HybridPrivateKey::with_expanded(whole, expanded), "key type");
    }
}

#[test]
fn hybrid_tokens_that_are_refused() {
    let (ed25519, ml_dsa) =
        (PrivateKey::generate(Algorithm::EdDsa).unwrap(), PrivateKey::generate(Algorithm::MlDsa44).unwrap());
    let key = HybridPrivateKey::new(ed25519.clone(), ml_dsa.clone()).unwrap();
    let signed = |header: &str, first: &PrivateKey, second: &PrivateKey| {
        let input = format!("{}.{}", b64(header), b64("{}"));
        let halves = [first.sign(input.as_bytes()).unwrap(), second.sign(input.as_bytes()).unwrap()].concat();
        format!("{input}.{}", b64(halves))
    };
    let check = |token: &str| -> Result<(), Error> {
        Unverified::parse_hybrid(token)?.verify_hybrid(key.public()).map(drop)
    };
    const HEADER: &str = r#"{"alg":"EdDSA+ML-DSA-44","pq_alg":"ML-DSA-44"}"#;
    assert_eq!(check(&signed(HEADER, &ed25519, &ml_dsa)), Ok(()));
    assert_eq!(check(&signed(r#"{"alg":"EdDSA+ML-DSA-44"}"#, &ed25519, &ml_dsa)), Ok(()));
    let other = HybridPrivateKey::generate(Level::MlDsa44).unwrap();
    let stranger = PrivateKey::generate(Algorithm::EdDsa).unwrap();
    let stranger_ml_dsa = PrivateKey::generate(Algorithm::MlDsa44).unwrap();
    let cases = [
        ("first half of another", signed(HEADER, &stranger, &ml_dsa), "signature"),
        ("second half of another", signed(HEADER, &ed25519, &stranger_ml_dsa), "signature"),
        ("both of another", encode(&other, &Header::new(), b"{}").unwrap(), "signature"),
        ("halves in the other order", signed(HEADER, &ml_dsa, &ed25519), "signature"),
        ("Ed25519 half alone", jws::encode(&ed25519, &Header::new(), b"{}").unwrap(), "algorithm unknown"),
        (
            "pq_alg of another",
            signed(r#"{"alg":"EdDSA+ML-DSA-44","pq_alg":"ML-DSA-65"}"#, &ed25519, &ml_dsa),
            "header malformed",
        ),
        (
            "pq_alg a number",
            signed(r#"{"alg":"EdDSA+ML-DSA-44","pq_alg":44}"#, &ed25519, &ml_dsa),
            "header malformed",
        ),
        ("of another level", signed(r#"{"alg":"EdDSA+ML-DSA-65"}"#, &ed25519, &ml_dsa), "signature"),
        ("composite", signed(r#"{"alg":"ML-DSA-44-Ed25519"}"#, &ed25519, &ml_dsa), "algorithm unknown"),
    ];
    for (name, token, expected) in cases {
        assert_refused(name, check(&token), expected);
    }
    let (ed25519, ml_dsa) = (ed25519.public().clone(), ml_dsa.public().clone());
    assert_refused("two ML-DSA keys", HybridPublicKey::new(ml_dsa.clone(), ml_dsa), "key type");
    assert_refused("two Ed25519 keys", HybridPublicKey::new(ed25519.clone(), ed25519), "key type");
}
