//! Tokens of two halves: the draft's own, ours there and back, and what must be refused.

use std::fs;
use std::path::PathBuf;

use sealstone_composite as pair;
use sealstone_jose::composite::{Algorithm, PrivateKey, PublicKey, REVISION, encode};
use sealstone_jose::jws::{Header, Unverified};
use sealstone_jose::jwt::Rules;
use sealstone_jose::{Error, JwkSet, UnixSeconds, jws};
use serde_json::Value;

use crate::{assert_refused, b64, kind, unb64};

const PAYLOAD: &[u8] = br#"{"sub":"frodo","exp":1800000300}"#;

fn check(key: &PublicKey, token: &str) -> Result<Vec<u8>, Error> {
    Ok(Unverified::parse_composite(token)?.verify_composite(key)?.payload().to_vec())
}

#[test]
fn every_algorithm_there_and_back() {
    for algorithm in Algorithm::ALL {
        let key = PrivateKey::generate(algorithm).unwrap();
        let token = encode(&key, &Header::new().typ("JWT"), PAYLOAD).unwrap();
        let public = PublicKey::from_jwk(&key.public().to_jwk().to_json()).unwrap();
        assert_eq!(check(&public, &token).unwrap(), PAYLOAD);
        let again = PrivateKey::from_jwk(&key.to_jwk()).unwrap();
        assert_eq!(again.public().kid(), public.thumbprint());
        let token = encode(&again.with_kid("mine"), &Header::new().typ("JWT"), PAYLOAD).unwrap();
        let verified = Unverified::parse_composite(&token).unwrap().verify_composite(&public).unwrap();
        assert_eq!(verified.header().kid(), Some("mine"));
        let claims = Rules::new().check(verified, UnixSeconds(1_800_000_000)).unwrap();
        assert_eq!(claims.claims().subject(), Some("frodo"));
        assert_eq!(algorithm.name().parse::<Algorithm>().unwrap(), algorithm);
        assert!(!format!("{key:?}").contains("priv"));
    }
    assert!(REVISION.ends_with("-04"));
}

/// The examples of the draft: key, thumbprint and token. Those of revision -03 are named in the error.
#[test]
fn examples_of_the_draft() {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors");
    let folder = std::env::var_os("SEALSTONE_VECTORS").map_or(beside, PathBuf::from).join("jose");
    if !folder.is_dir() {
        println!("skipped: composite vectors (no folder of vectors)");
        return;
    }
    let read = |name: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(folder.join(format!("{name}.jose.json"))).unwrap()).unwrap()
    };
    for name in [
        "composite-04/ML-DSA-44-ES256",
        "composite/ML-DSA-44-Ed25519",
        "composite/ML-DSA-65-Ed25519",
        "composite/ML-DSA-87-Ed448",
    ] {
        let vector = read(name);
        let key = PrivateKey::from_jwk(&vector["jwk"].to_string()).unwrap();
        assert_eq!(key.public().thumbprint(), vector["jwk"]["kid"], "{name}");
        assert!(check(key.public(), vector["jws"].as_str().unwrap()).is_ok(), "{name}");
        let written: Value = serde_json::from_str(&key.to_jwk()).unwrap();
        for member in ["kty", "alg", "kid", "pub", "priv"] {
            assert_eq!(written[member], vector["jwk"][member], "{name}: {member}");
        }
    }
    for name in ["composite/ML-DSA-44-ES256", "composite/ML-DSA-65-ES256", "composite/ML-DSA-87-ES384"] {
        let vector = read(name);
        let refused = PrivateKey::from_jwk(&vector["jwk"].to_string()).unwrap_err();
        assert!(matches!(refused, Error::Composite(pair::Error::RawEcdsa { .. })), "{name}: {refused}");
        assert!(
            refused.to_string().contains("-03") && refused.hint().is_some_and(|hint| hint.contains("-04"))
        );
        let algorithm: Algorithm = vector["jwk"]["alg"].as_str().unwrap().parse().unwrap();
        let today = PrivateKey::generate(algorithm).unwrap();
        let refused = check(today.public(), vector["jws"].as_str().unwrap()).unwrap_err();
        assert!(matches!(refused, Error::Composite(pair::Error::RawEcdsa { .. })), "{name}: {refused}");
    }
}

#[test]
fn refusals() {
    let key = PrivateKey::generate(Algorithm::MlDsa44Ed25519).unwrap();
    let other = PrivateKey::generate(Algorithm::MlDsa44Ed25519).unwrap();
    let good = encode(&key, &Header::new(), PAYLOAD).unwrap();
    let parts: Vec<&str> = good.split('.').collect();
    let halves = unb64(parts[2]);
    let (first, second) = halves.split_at(2420);
    let foreign = encode(&other, &Header::new(), PAYLOAD).unwrap();
    let foreign = unb64(foreign.rsplit('.').next().unwrap());
    let with = |signature: &[u8]| format!("{}.{}.{}", parts[0], parts[1], b64(signature));
    let relabelled =
        |alg: &str| format!("{}.{}.{}", b64(format!(r#"{{"alg":"{alg}"}}"#)), parts[1], parts[2]);
    let cases = [
        ("ML-DSA half alone", with(first), "composite"),
        ("Ed25519 half alone", with(second), "composite"),
        ("halves in the other order", with(&[second, first].concat()), "signature"),
        ("ML-DSA half of another", with(&[&foreign[..2420], second].concat()), "signature"),
        ("Ed25519 half of another", with(&[first, &foreign[2420..]].concat()), "signature"),
        ("another payload", format!("{}.{}.{}", parts[0], b64("{}"), parts[2]), "signature"),
        ("said to be ML-DSA-44", relabelled("ML-DSA-44"), "algorithm unknown"),
        ("said to be Ed25519", relabelled("Ed25519"), "algorithm unknown"),
        ("said to be ML-DSA-44-ES256", relabelled("ML-DSA-44-ES256"), "signature"),
        ("said to be ML-DSA-65-Ed25519", relabelled("ML-DSA-65-Ed25519"), "composite"),
        ("jwt-pq's name", relabelled("EdDSA+ML-DSA-65"), "algorithm unknown"),
        ("none", relabelled("none"), "algorithm unknown"),
        ("lower case", relabelled("ml-dsa-44-ed25519"), "algorithm unknown"),
    ];
    for (name, token, expected) in cases {
        assert_refused(name, check(key.public(), &token), expected);
    }
    // Readers of standard tokens and sets know nothing of it.
    assert_refused("as a standard token", Unverified::parse(&good).map(drop), "algorithm unknown");
    let jwk = key.public().to_jwk().to_json();
    assert_refused("as a standard key", sealstone_jose::PublicKey::from_jwk(&jwk), "algorithm unknown");
    let set = JwkSet::parse(format!(r#"{{"keys":[{jwk}]}}"#).as_bytes()).unwrap();
    assert_eq!((set.keys().len(), kind(&set.ignored()[0].reason)), (0, "algorithm unknown"));
    // And it nothing of standard ones.
    let standard = sealstone_jose::PrivateKey::generate(sealstone_jose::Algorithm::MlDsa44).unwrap();
    let token = jws::encode(&standard, &Header::new(), PAYLOAD).unwrap();
    assert_refused("a standard token", check(key.public(), &token), "algorithm unknown");
    assert_refused(
        "a standard key",
        PublicKey::from_jwk(&standard.public().to_jwk().to_json()),
        "algorithm unknown",
    );
}

#[test]
fn keys_that_are_refused() {
    let key = PrivateKey::generate(Algorithm::MlDsa65Es256).unwrap();
    let other = PrivateKey::generate(Algorithm::MlDsa65Es256).unwrap();
    let good: Value = serde_json::from_str(&key.to_jwk()).unwrap();
    let foreign: Value = serde_json::from_str(&other.to_jwk()).unwrap();
    let set = |member: &str, value: Value| {
        let mut jwk = good.clone();
        jwk[member] = value;
        jwk.to_string()
    };
    let without = |member: &str| {
        let mut jwk = good.clone();
        jwk.as_object_mut().unwrap().remove(member);
        jwk.to_string()
    };
    let text = |member: &str| good[member].as_str().unwrap().to_owned();
    let cases = [
        ("no alg", without("alg"), "key malformed"),
        ("no kty", without("kty"), "key malformed"),
        ("no pub", without("pub"), "key malformed"),
        ("no priv", without("priv"), "key malformed"),
        ("pub of another", set("pub", foreign["pub"].clone()), "key mismatch"),
        ("priv of another", set("priv", foreign["priv"].clone()), "key mismatch"),
        ("pub cut", set("pub", text("pub")[4..].into()), "composite"),
        ("priv cut", set("priv", text("priv")[4..].into()), "composite"),
        ("priv padded", set("priv", format!("{}=", text("priv")).into()), "base64"),
        ("kty EC", set("kty", "EC".into()), "key type"),
        ("a member of EC", set("crv", "P-256".into()), "key malformed"),
        ("for encryption", set("use", "enc".into()), "key use"),
        ("to verify", set("key_ops", serde_json::json!(["verify"])), "key use"),
        ("kid a number", set("kid", 1.into()), "key malformed"),
    ];
    for (name, jwk, expected) in cases {
        assert_refused(name, PrivateKey::from_jwk(&jwk), expected);
    }
    assert_refused("a private key as a public one", PublicKey::from_jwk(&key.to_jwk()), "private member");
}
