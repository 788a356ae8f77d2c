//! JWKs that must be refused, each by name, and those that must not.

use sealstone_jose::{Algorithm, Error, PrivateKey, PublicKey};
use sealstone_mldsa::{Level, any};
use serde_json::{Map, Value, json};

use crate::{Row, assert_refused, b64, kind, row, unb64};

fn private(algorithm: Algorithm) -> Value {
    let key = PrivateKey::generate(algorithm).unwrap();
    serde_json::from_str(&key.to_jwk().to_json()).unwrap()
}

/// The same key with one member changed, or removed where the value is null.
fn with(jwk: &Value, member: &str, value: impl Into<Value>) -> String {
    let mut map: Map<String, Value> = jwk.as_object().unwrap().clone();
    match value.into() {
        Value::Null => map.remove(member),
        value => map.insert(member.to_owned(), value),
    };
    Value::Object(map).to_string()
}

/// A text in another spelling of the same bytes.
fn respelled(text: &Value) -> String {
    let text = text.as_str().unwrap();
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    assert_ne!(text.len() % 4, 0, "this one has no spare bits");
    let last = alphabet.iter().position(|symbol| *symbol == text.as_bytes()[text.len() - 1]).unwrap();
    format!("{}{}", &text[..text.len() - 1], char::from(alphabet[last | 1]))
}

/// Private JWKs, each with the kind of its error; and what must not be in any error.
fn private_cases() -> (Vec<(&'static str, String, &'static str)>, Vec<String>) {
    let (ml, ec, ed) = (private(Algorithm::MlDsa65), private(Algorithm::Es256), private(Algorithm::Ed25519));
    let other = private(Algorithm::MlDsa65);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let seed = unb64(ml["priv"].as_str().unwrap());
    let cases: Vec<(&str, String, &str)> = vec![
        ("nothing", String::new(), "json"),
        ("an array", "[]".into(), "json"),
        ("an empty object", "{}".into(), "key malformed"),
        ("kty twice", ml.to_string().replacen('{', r#"{"kty":"AKP","#, 1), "json"),
        ("priv twice", ml.to_string().replacen('{', r#"{"priv":"","#, 1), "json"),
        ("something after it", format!("{ml}{ml}"), "json"),
        ("100 kB", with(&ml, "x5c", "A".repeat(100_000)), "too large"),
        ("kty absent", with(&ml, "kty", Value::Null), "key malformed"),
        ("kty a number", with(&ml, "kty", 1), "key malformed"),
        ("kty in lower case", with(&ml, "kty", "akp"), "key type"),
        ("kty ML-DSA, of early drafts", with(&ml, "kty", "ML-DSA"), "key type"),
        ("kty MLWE, of early drafts", with(&ml, "kty", "MLWE"), "key type"),
        ("kty RSA", with(&ml, "kty", "RSA"), "key malformed"),
        ("kty oct", with(&ml, "kty", "oct"), "key type"),
        ("AKP as EC", with(&ml, "kty", "EC"), "key malformed"),
        ("AKP as OKP", with(&ml, "kty", "OKP"), "key malformed"),
        ("EC as AKP", with(&ec, "kty", "AKP"), "key malformed"),
        ("EC as OKP", with(&ec, "kty", "OKP"), "key malformed"),
        ("OKP as EC", with(&ed, "kty", "EC"), "key type"),
        ("AKP without alg", with(&ml, "alg", Value::Null), "key malformed"),
        ("AKP with alg a number", with(&ml, "alg", 65), "key malformed"),
        ("AKP with alg of another level", with(&ml, "alg", "ML-DSA-44"), "key malformed"),
        ("AKP with alg of a higher level", with(&ml, "alg", "ML-DSA-87"), "key malformed"),
        ("AKP with a classical alg", with(&ml, "alg", "ES256"), "key malformed"),
        ("AKP with EdDSA", with(&ml, "alg", "EdDSA"), "key malformed"),
        ("AKP with a composite alg", with(&ml, "alg", "ML-DSA-65-Ed25519"), "algorithm unknown"),
        ("AKP with alg in lower case", with(&ml, "alg", "ml-dsa-65"), "algorithm unknown"),
        ("AKP with none", with(&ml, "alg", "none"), "algorithm unknown"),
        ("AKP with x", with(&ml, "x", ed["x"].clone()), "key malformed"),
        ("AKP with n", with(&ml, "n", "AQAB"), "key malformed"),
        ("AKP with crv", with(&ml, "crv", "Ed25519"), "key malformed"),
        ("AKP with d", with(&ml, "d", ed["d"].clone()), "key malformed"),
        ("AKP with k", with(&ml, "k", "AAAA"), "key malformed"),
        ("AKP without pub", with(&ml, "pub", Value::Null), "key malformed"),
        ("AKP without priv", with(&ml, "priv", Value::Null), "key malformed"),
        (
            "AKP with seed instead of priv",
            with(&ml, "priv", Value::Null).replacen('{', r#"{"seed":"AA","#, 1),
            "key malformed",
        ),
        ("AKP with another pub", with(&ml, "pub", other["pub"].clone()), "key mismatch"),
        ("AKP with another priv", with(&ml, "priv", other["priv"].clone()), "key mismatch"),
        ("pub empty", with(&ml, "pub", ""), "key malformed"),
        ("pub a number", with(&ml, "pub", 1), "key malformed"),
        ("pub an array", with(&ml, "pub", json!([1])), "key malformed"),
        ("pub one byte short", with(&ml, "pub", b64(&unb64(&text(&ml["pub"]))[1..])), "key malformed"),
        (
            "pub one byte long",
            with(&ml, "pub", b64([unb64(&text(&ml["pub"])), vec![0]].concat())),
            "key malformed",
        ),
        ("pub of ML-DSA-44", with(&ml, "pub", b64([1; 1312])), "key malformed"),
        ("pub padded", with(&ml, "pub", text(&ml["pub"]) + "="), "base64"),
        ("pub with a space", with(&ml, "pub", text(&ml["pub"]) + " "), "base64"),
        (
            "pub with a line end",
            with(&ml, "pub", text(&ml["pub"]).replacen(char::is_alphanumeric, "\n", 1)),
            "base64",
        ),
        ("pub in plain base64", with(&ml, "pub", format!("+{}", &text(&ml["pub"])[1..])), "base64"),
        ("priv empty", with(&ml, "priv", ""), "key malformed"),
        ("priv a number", with(&ml, "priv", 0), "key malformed"),
        ("priv of 31 bytes", with(&ml, "priv", b64(&seed[1..])), "key malformed"),
        ("priv of 33 bytes", with(&ml, "priv", b64([&seed[..], &[0]].concat())), "key malformed"),
        ("priv of 64 bytes", with(&ml, "priv", b64([seed.clone(), seed.clone()].concat())), "key malformed"),
        ("priv padded", with(&ml, "priv", text(&ml["priv"]) + "="), "key malformed"),
        (
            "priv with a space for a character",
            with(&ml, "priv", format!(" {}", &text(&ml["priv"])[1..])),
            "base64",
        ),
        ("priv in plain base64", with(&ml, "priv", format!("/{}", &text(&ml["priv"])[1..])), "base64"),
        ("priv in another spelling", with(&ml, "priv", respelled(&ml["priv"])), "base64"),
        ("priv in hexadecimal", with(&ml, "priv", "00".repeat(32)), "key malformed"),
        (
            "priv expanded, 44",
            with(&private(Algorithm::MlDsa44), "priv", expanded(Level::MlDsa44)),
            "key malformed",
        ),
        ("priv expanded, 65", with(&ml, "priv", expanded(Level::MlDsa65)), "key malformed"),
        (
            "priv expanded, 87",
            with(&private(Algorithm::MlDsa87), "priv", expanded(Level::MlDsa87)),
            "key malformed",
        ),
        ("priv in PKCS#8", with(&ml, "priv", b64([1; 54])), "key malformed"),
        ("EC without crv", with(&ec, "crv", Value::Null), "key malformed"),
        ("EC on secp256k1", with(&ec, "crv", "secp256k1"), "key type"),
        ("EC on p-256", with(&ec, "crv", "p-256"), "key type"),
        ("EC on P-384", with(&with_value(&ec, "alg"), "crv", "P-384"), "key malformed"),
        ("EC with ES384 on P-256", with(&ec, "alg", "ES384"), "key malformed"),
        ("EC with ES256K", with(&ec, "alg", "ES256K"), "algorithm unknown"),
        ("EC with ECDH-ES", with(&ec, "alg", "ECDH-ES"), "algorithm unknown"),
        ("EC with ML-DSA-44", with(&ec, "alg", "ML-DSA-44"), "key malformed"),
        ("EC with pub", with(&ec, "pub", "AA"), "key malformed"),
        ("EC without x", with(&ec, "x", Value::Null), "key malformed"),
        ("EC without y", with(&ec, "y", Value::Null), "key malformed"),
        ("EC without d", with(&ec, "d", Value::Null), "key malformed"),
        ("EC with x one byte short", with(&ec, "x", b64(&unb64(&text(&ec["x"]))[1..])), "key malformed"),
        (
            "EC with x one byte long",
            with(&ec, "x", b64([vec![0], unb64(&text(&ec["x"]))].concat())),
            "key malformed",
        ),
        ("EC with x in another spelling", with(&ec, "x", respelled(&ec["x"])), "base64"),
        ("EC off the curve", with(&ec, "x", b64([1; 32])), "key malformed"),
        (
            "EC at the origin",
            with(&with_value_of(&ec, "x", b64([0; 32])), "y", b64([0; 32])),
            "key malformed",
        ),
        ("EC with x not below p", with(&ec, "x", b64([0xff; 32])), "key malformed"),
        ("EC with another key's d", with(&ec, "d", private(Algorithm::Es256)["d"].clone()), "key mismatch"),
        ("EC with d zero", with(&ec, "d", b64([0; 32])), "key malformed"),
        ("EC with d not below n", with(&ec, "d", b64([0xff; 32])), "key malformed"),
        ("EC with d of 31 bytes", with(&ec, "d", b64([1; 31])), "key malformed"),
        ("OKP without crv", with(&ed, "crv", Value::Null), "key malformed"),
        ("OKP on Ed448", with(&ed, "crv", "Ed448"), "key type"),
        ("OKP on X25519", with(&ed, "crv", "X25519"), "key type"),
        ("OKP with Ed448", with(&ed, "alg", "Ed448"), "algorithm unknown"),
        ("OKP with ES256", with(&ed, "alg", "ES256"), "key malformed"),
        ("OKP with y", with(&ed, "y", ec["y"].clone()), "key malformed"),
        ("OKP with priv", with(&ed, "priv", ml["priv"].clone()), "key malformed"),
        ("OKP with 31 bytes", with(&ed, "x", b64([1; 31])), "key malformed"),
        (
            "OKP with another key's x",
            with(&ed, "x", private(Algorithm::Ed25519)["x"].clone()),
            "key mismatch",
        ),
        ("OKP without d", with(&ed, "d", Value::Null), "key malformed"),
        ("use enc", with(&ml, "use", "enc"), "key use"),
        ("use a number", with(&ml, "use", 1), "key malformed"),
        ("key_ops verify only", with(&ml, "key_ops", json!(["verify"])), "key use"),
        ("key_ops empty", with(&ml, "key_ops", json!([])), "key use"),
        ("key_ops a string", with(&ml, "key_ops", "sign"), "key malformed"),
        ("key_ops of numbers", with(&ml, "key_ops", json!([1])), "key malformed"),
        ("key_ops with one twice", with(&ml, "key_ops", json!(["sign", "sign"])), "key malformed"),
        ("kid a number", with(&ml, "kid", 1), "key malformed"),
        ("kid empty", with(&ml, "kid", ""), "key malformed"),
        ("kid with a line end", with(&ml, "kid", "a\nb"), "key malformed"),
        ("kid of 513 bytes", with(&ml, "kid", "a".repeat(513)), "key malformed"),
    ];
    let secrets = [&ml["priv"], &ec["d"], &ed["d"], &other["priv"]];
    (cases, secrets.map(|secret| secret.as_str().unwrap()[..8].to_owned()).to_vec())
}

pub(crate) fn private_rows() -> Vec<Row> {
    let (cases, _) = private_cases();
    let read = |(name, text, expected): (&str, String, _)| {
        row("private JWK", name, expected, PrivateKey::from_jwk(&text).map(drop))
    };
    cases.into_iter().map(read).collect()
}

/// Public ones, of each algorithm: those with a member of a private one, and those for another use.
pub(crate) fn public_rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for algorithm in [Algorithm::MlDsa65, Algorithm::Es256, Algorithm::Ed25519] {
        let jwk = private(algorithm);
        let mut add = |name: String, text: String, expected| {
            let name = format!("{algorithm}, {name}");
            rows.push(row("public JWK", &name, expected, PublicKey::from_jwk(&text).map(drop)));
        };
        add("a private key".into(), jwk.to_string(), "private member");
        let public = PrivateKey::from_jwk(&jwk.to_string()).unwrap().public().to_jwk().to_json();
        let public: Value = serde_json::from_str(&public).unwrap();
        for member in ["d", "priv", "seed", "k", "p", "q", "dp", "dq", "qi", "oth"] {
            add(format!("with {member}"), with(&public, member, "AA"), "private member");
            add(format!("with {member} an array"), with(&public, member, json!([])), "private member");
        }
        add("use enc".into(), with(&public, "use", "enc"), "key use");
        add("key_ops sign".into(), with(&public, "key_ops", json!(["sign"])), "key use");
        add("key_ops empty".into(), with(&public, "key_ops", json!([])), "key use");
        add("key_ops wrapKey".into(), with(&public, "key_ops", json!(["wrapKey"])), "key use");
    }
    rows.extend(public_akp_rows());
    rows
}

/// What a verifier is given: keys of ML-DSA by their public half alone.
fn public_akp_rows() -> Vec<Row> {
    let private = private(Algorithm::MlDsa65);
    let public = PrivateKey::from_jwk(&private.to_string()).unwrap().public().to_jwk().to_json();
    let public: Value = serde_json::from_str(&public).unwrap();
    let raw = unb64(public["pub"].as_str().unwrap());
    let bytes = |bytes: &[u8]| with(&public, "pub", b64(bytes));
    let cases = [
        ("AKP without alg", with(&public, "alg", Value::Null), "key malformed"),
        ("AKP with alg a number", with(&public, "alg", 1), "key malformed"),
        ("AKP with alg of another level", with(&public, "alg", "ML-DSA-44"), "key malformed"),
        ("AKP with a classical alg", with(&public, "alg", "ES256"), "key malformed"),
        ("AKP with EdDSA", with(&public, "alg", "EdDSA"), "key malformed"),
        ("AKP with HS256", with(&public, "alg", "HS256"), "algorithm unknown"),
        ("AKP with a composite alg", with(&public, "alg", "ML-DSA-65-Ed25519"), "algorithm unknown"),
        ("AKP with none", with(&public, "alg", "none"), "algorithm unknown"),
        ("AKP with alg in lower case", with(&public, "alg", "ml-dsa-65"), "algorithm unknown"),
        ("AKP with x", with(&public, "x", "AA"), "key malformed"),
        ("AKP with y", with(&public, "y", "AA"), "key malformed"),
        ("AKP with n", with(&public, "n", "AA"), "key malformed"),
        ("AKP with crv", with(&public, "crv", "Ed25519"), "key malformed"),
        ("AKP without pub", with(&public, "pub", Value::Null), "key malformed"),
        (
            "AKP with pub in x",
            with(&public, "pub", Value::Null).replacen('{', &format!("{{\"x\":\"{}\",", b64(&raw)), 1),
            "key malformed",
        ),
        ("AKP as OKP", with(&public, "kty", "OKP"), "key malformed"),
        ("AKP as RSA", with(&public, "kty", "RSA"), "key malformed"),
        ("kty absent", with(&public, "kty", Value::Null), "key malformed"),
        ("pub empty", with(&public, "pub", ""), "key malformed"),
        ("pub one byte short", bytes(&raw[1..]), "key malformed"),
        ("pub one byte long", bytes(&[&raw[..], &[0]].concat()), "key malformed"),
        ("pub of ML-DSA-44", bytes(&raw[..1312]), "key malformed"),
        ("pub the expanded private key", bytes(&[0; 4032]), "key malformed"),
        ("pub padded", with(&public, "pub", format!("{}=", b64(&raw))), "base64"),
        ("pub twice", public.to_string().replace("\"pub\":", "\"pub\":\"AA\",\"pub\":"), "json"),
    ];
    let judged = |(name, text, expected): (&str, String, &'static str)| {
        row("public JWK", &format!("ML-DSA-65, {name}"), expected, PublicKey::from_jwk(&text).map(drop))
    };
    cases.into_iter().map(judged).collect()
}

fn expanded(level: Level) -> String {
    let mut bytes = vec![0; level.signing_key_len()];
    any::SigningKey::from_seed(level, &[1; 32]).expand().encode(&mut bytes).unwrap();
    b64(bytes)
}

#[test]
fn private_keys() {
    let (cases, secrets) = private_cases();
    for (name, text, expected) in &cases {
        assert_refused(name, PrivateKey::from_jwk(text), expected);
        let shown = PrivateKey::from_jwk(text).unwrap_err().to_string();
        for secret in &secrets {
            assert!(!shown.contains(secret), "{name} shows a secret: {shown}");
        }
    }
    println!("private JWKs: {} refused", cases.len());
    for (level, algorithm) in [(Level::MlDsa44, Algorithm::MlDsa44), (Level::MlDsa65, Algorithm::MlDsa65)] {
        let text = with(&private(algorithm), "priv", expanded(level));
        let shown = PrivateKey::from_jwk(&text).unwrap_err().to_string();
        assert!(shown.contains("seed") && shown.contains(&level.signing_key_len().to_string()), "{shown}");
    }
}

fn with_value(jwk: &Value, removed: &str) -> Value {
    serde_json::from_str(&with(jwk, removed, Value::Null)).unwrap()
}

fn with_value_of(jwk: &Value, member: &str, value: String) -> Value {
    serde_json::from_str(&with(jwk, member, value)).unwrap()
}

/// A private key is never taken for a public one, whatever its secret is called.
#[test]
fn private_members_in_public_keys() {
    for algorithm in Algorithm::ALL {
        let jwk = private(algorithm);
        assert_refused(algorithm.name(), PublicKey::from_jwk(&jwk.to_string()), "private member");
        let public = PrivateKey::from_jwk(&jwk.to_string()).unwrap().public().to_jwk().to_json();
        assert!(PublicKey::from_jwk(&public).is_ok());
        let public: Value = serde_json::from_str(&public).unwrap();
        for member in ["d", "priv", "seed", "k", "p", "q", "dp", "dq", "qi", "oth"] {
            assert_refused(member, PublicKey::from_jwk(&with(&public, member, "AA")), "private member");
            assert_refused(member, PublicKey::from_jwk(&with(&public, member, json!([]))), "private member");
        }
        assert_refused("private", PrivateKey::from_jwk(&public.to_string()), "key malformed");
    }
}

#[test]
fn public_keys_for_other_uses() {
    for algorithm in Algorithm::ALL {
        let key = PrivateKey::generate(algorithm).unwrap();
        let jwk = serde_json::to_value(key.public().to_jwk()).unwrap();
        assert_refused("enc", PublicKey::from_jwk(&with(&jwk, "use", "enc")), "key use");
        assert_refused("sign", PublicKey::from_jwk(&with(&jwk, "key_ops", json!(["sign"]))), "key use");
        assert!(PublicKey::from_jwk(&with(&jwk, "key_ops", json!(["verify"]))).is_ok());
        for extra in ["x5c", "x5t", "x5u", "iat", "https://example.com/a"] {
            assert!(PublicKey::from_jwk(&with(&jwk, extra, "anything")).is_ok(), "{extra}");
        }
    }
}

/// What may be left out, and what it then means (RFC 7517 §4.4, RFC 9964 §4).
#[test]
fn optional_members() {
    let ed = PrivateKey::generate(Algorithm::Ed25519).unwrap();
    let jwk = serde_json::to_value(ed.public().to_jwk()).unwrap();
    for (alg, expected) in [
        (json!("Ed25519"), Algorithm::Ed25519),
        (json!("EdDSA"), Algorithm::EdDsa),
        (Value::Null, Algorithm::EdDsa),
    ] {
        assert_eq!(PublicKey::from_jwk(&with(&jwk, "alg", alg)).unwrap().algorithm(), expected);
    }
    let named = PublicKey::from_jwk(&with(&jwk, "kid", "2026-a")).unwrap();
    assert_eq!((named.kid(), named.thumbprint()), ("2026-a", ed.kid()));
    assert_eq!(PublicKey::from_jwk(&with(&jwk, "kid", Value::Null)).unwrap().kid(), ed.kid());
    for algorithm in [Algorithm::Es256, Algorithm::Es384, Algorithm::Es512, Algorithm::Rs256] {
        let key = PrivateKey::generate(algorithm).unwrap();
        let jwk = serde_json::to_value(key.public().to_jwk()).unwrap();
        assert_eq!(PublicKey::from_jwk(&with(&jwk, "alg", Value::Null)).unwrap().algorithm(), algorithm);
    }
}

/// The order of members is fixed, so that two exports of one key are the same bytes.
#[test]
fn order_of_members() {
    for algorithm in Algorithm::ALL {
        let key = PrivateKey::generate(algorithm).unwrap();
        let (public, private) = (key.public().to_jwk().to_json(), key.to_jwk().to_json());
        let names =
            |text: &str| -> Vec<String> { text.split('"').skip(1).step_by(4).map(str::to_owned).collect() };
        let mut expected = vec!["kty", "alg", "kid", "use"];
        expected.extend(match algorithm {
            Algorithm::EdDsa | Algorithm::Ed25519 => &["crv", "x"][..],
            Algorithm::Es256 | Algorithm::Es384 | Algorithm::Es512 => &["crv", "x", "y"],
            Algorithm::MlDsa44 | Algorithm::MlDsa65 | Algorithm::MlDsa87 => &["pub"],
            Algorithm::Ps256 | Algorithm::Rs256 => &["n", "e"],
        });
        assert_eq!(names(&public), expected);
        expected.extend(match algorithm {
            Algorithm::MlDsa44 | Algorithm::MlDsa65 | Algorithm::MlDsa87 => &["priv"][..],
            Algorithm::Ps256 | Algorithm::Rs256 => &["d", "p", "q", "dp", "dq", "qi"],
            _ => &["d"],
        });
        assert_eq!(names(&private), expected);
        assert_eq!(serde_json::to_string(&key.public().to_jwk()).unwrap(), public);
    }
}

#[test]
fn secret_and_public_must_agree() {
    for algorithm in Algorithm::ALL {
        let (one, other) =
            (PrivateKey::generate(algorithm).unwrap(), PrivateKey::generate(algorithm).unwrap());
        let both = |public: &[u8]| PrivateKey::from_secret_and_public(algorithm, &one.secret(), public);
        assert!(both(one.public().as_bytes()).is_ok());
        let error = both(other.public().as_bytes()).unwrap_err();
        assert_eq!(kind(&error), "key mismatch");
        assert!(error.hint().is_some());
        assert!(matches!(both(&[]), Err(Error::KeyMismatch { .. })));
    }
}
