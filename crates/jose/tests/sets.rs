//! Key sets (RFC 7517 §5).

use sealstone_jose::jws::{self, Header, Unverified};
use sealstone_jose::{Algorithm, JwkSet, PrivateKey, PublicKey};

use crate::{Row, assert_refused, kind, row};

fn keys() -> Vec<PrivateKey> {
    Algorithm::ALL.into_iter().map(|algorithm| PrivateKey::generate(algorithm).unwrap()).collect()
}

fn set_of(items: &[String]) -> Vec<u8> {
    format!("{{\"keys\":[{}]}}", items.join(",")).into_bytes()
}

#[test]
fn a_mixed_set_round_trips() {
    let keys = keys();
    let set = JwkSet::new(keys.iter().map(|key| key.public().clone())).unwrap();
    let read = JwkSet::parse(set.to_json().as_bytes()).unwrap();
    assert_eq!(read.keys(), set.keys());
    assert_eq!(read.to_json(), set.to_json());
    assert!(read.ignored().is_empty());
    for key in &keys {
        assert_eq!(read.by_kid(key.kid()), Some(key.public()));
        let token = jws::encode(key, &Header::new(), b"x").unwrap();
        assert!(Unverified::parse(&token).unwrap().verify_with_set(&read).is_ok(), "{key:?}");
    }
    assert_eq!(read.by_kid("other"), None);
    assert_eq!(JwkSet::default().to_json(), r#"{"keys":[]}"#);
    assert!(JwkSet::parse(br#"{"keys":[]}"#).unwrap().keys().is_empty());
}

/// No secret of any key is in the text that is published.
#[test]
fn what_is_published_holds_no_secret() {
    let keys = keys();
    let text = JwkSet::new(keys.iter().map(|key| key.public().clone())).unwrap().to_json();
    for key in &keys {
        assert!(!text.contains(&crate::b64(key.secret())));
    }
    for member in ["\"d\"", "\"priv\"", "\"seed\"", "\"k\""] {
        assert!(!text.contains(member));
    }
}

#[test]
fn keys_not_known_are_ignored_and_named() {
    let good = PrivateKey::generate(Algorithm::MlDsa44).unwrap().public().to_jwk().to_json();
    let items = [
        (r#"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#.to_owned(), "key malformed"),
        (r#"{"kty":"RSA","alg":"RSA-OAEP","n":"AQAB","e":"AQAB"}"#.to_owned(), "algorithm unknown"),
        (r#"{"kty":"DSA","n":"AQAB","e":"AQAB"}"#.to_owned(), "key type"),
        (r#"{"kty":"OKP","crv":"X25519","x":"AA"}"#.to_owned(), "key type"),
        (r#"{"kty":"EC","crv":"secp256k1","x":"AA","y":"AA"}"#.to_owned(), "key type"),
        (r#"{"kty":"AKP","alg":"SLH-DSA-SHA2-128s","pub":"AA"}"#.to_owned(), "algorithm unknown"),
        (r#"{"kty":"AKP","alg":"ML-DSA-65-Ed25519","pub":"AA"}"#.to_owned(), "algorithm unknown"),
        (r#"{"kty":"AKP","alg":"ML-DSA-65","pub":"AA"}"#.to_owned(), "key malformed"),
        (r#"{"kty":"AKP","pub":"AA"}"#.to_owned(), "key malformed"),
        (good.replace("\"sig\"", "\"enc\""), "key use"),
        ("{}".to_owned(), "key malformed"),
    ];
    let mut texts: Vec<String> = items.iter().map(|(text, _)| text.clone()).collect();
    texts.push(good);
    let set = JwkSet::parse(&set_of(&texts)).unwrap();
    assert_eq!((set.keys().len(), set.ignored().len()), (1, items.len()));
    for (text, expected) in &items {
        assert_refused(
            text,
            JwkSet::parse_whole(&set_of(&[texts[items.len()].clone(), text.clone()])),
            expected,
        );
    }
    assert_eq!(JwkSet::parse_whole(&set_of(&texts[items.len()..])).unwrap().keys().len(), 1);
    for (index, (ignored, (text, expected))) in set.ignored().iter().zip(&items).enumerate() {
        assert_eq!((ignored.index, kind(&ignored.reason)), (index, *expected), "{text}");
    }
}

pub(crate) fn rows() -> Vec<Row> {
    let key = PrivateKey::generate(Algorithm::Es256).unwrap();
    let (public, private) = (key.public().to_jwk().to_json(), key.to_jwk().to_json().to_string());
    let small = PrivateKey::generate(Algorithm::Ed25519).unwrap();
    let small = |kid: usize| small.public().clone().with_kid(&kid.to_string()).to_jwk().to_json();
    let many = |count: usize| (0..count).map(small).collect::<Vec<_>>();
    let large = PrivateKey::generate(Algorithm::MlDsa87).unwrap();
    let large: Vec<String> =
        (0..400).map(|kid| large.public().clone().with_kid(&kid.to_string()).to_jwk().to_json()).collect();
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("nothing", vec![], "json"),
        ("an array", b"[]".to_vec(), "json"),
        ("a key", public.clone().into_bytes(), "key malformed"),
        ("keys absent", b"{}".to_vec(), "key malformed"),
        ("keys null", br#"{"keys":null}"#.to_vec(), "key malformed"),
        ("keys an object", br#"{"keys":{}}"#.to_vec(), "key malformed"),
        ("keys twice", br#"{"keys":[],"keys":[]}"#.to_vec(), "json"),
        ("a key that is a string", br#"{"keys":["a"]}"#.to_vec(), "key malformed"),
        ("a key that is null", br#"{"keys":[null]}"#.to_vec(), "key malformed"),
        ("a private key", set_of(&[public.clone(), private]), "private member"),
        (
            "a private key of a type not known",
            set_of(&[r#"{"kty":"RSA","n":"AA","e":"AA","d":"AA"}"#.into()]),
            "private member",
        ),
        ("a symmetric key", set_of(&[r#"{"kty":"oct","k":"AA"}"#.into()]), "private member"),
        (
            "an AKP key with its seed",
            set_of(&[r#"{"kty":"AKP","alg":"ML-DSA-44","priv":"AA"}"#.into()]),
            "private member",
        ),
        ("one key twice", set_of(&[public.clone(), public.clone()]), "duplicate kid"),
        (
            "one kid for two keys",
            set_of(&[public.clone(), small(0).replace("\"0\"", &format!("\"{}\"", key.kid()))]),
            "duplicate kid",
        ),
        ("a member twice in a key", set_of(&[public.replacen('{', r#"{"kty":"EC","#, 1)]), "json"),
        ("513 keys", set_of(&many(513)), "too large"),
        ("10 000 keys", set_of(&vec!["{}".to_owned(); 10_000]), "too large"),
        ("more than a mebibyte", set_of(&large), "too large"),
        ("100 000 values", format!("{{\"keys\":[],\"x\":[{}0]}}", "0,".repeat(100_000)).into_bytes(), "json"),
        ("not UTF-8", b"{\"keys\":[],\"x\":\"\xff\"}".to_vec(), "json"),
        ("10 000 levels", format!("{{\"keys\":{}", "[".repeat(10_000)).into_bytes(), "json"),
        ("a page of HTML", b"<!DOCTYPE html><html></html>".to_vec(), "json"),
        ("gzip", vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0], "json"),
    ];
    assert_eq!(JwkSet::parse(&set_of(&many(512))).unwrap().keys().len(), 512);
    let twice = [key.public().clone(), key.public().clone()];
    let mut rows =
        vec![row("JWK Set", "one key collected twice", "duplicate kid", JwkSet::new(twice).map(drop))];
    for (name, text, expected) in cases {
        rows.push(row("JWK Set", name, expected, JwkSet::parse(&text).map(drop)));
    }
    rows
}

#[test]
fn sets_that_are_refused() {
    rows().iter().for_each(Row::check);
}

/// A token without `kid` is checked only where there is one key that could have made it.
#[test]
fn tokens_without_kid() {
    let header = Header::new().without_kid();
    let one = PrivateKey::generate(Algorithm::Es256).unwrap();
    let two = PrivateKey::generate(Algorithm::Es256).unwrap();
    let other = PrivateKey::generate(Algorithm::MlDsa44).unwrap();
    let token = jws::encode(&one, &header, b"x").unwrap();
    let verify = |keys: Vec<&PrivateKey>| {
        let keys: Vec<PublicKey> = keys.into_iter().map(|key| key.public().clone()).collect();
        Unverified::parse(&token).unwrap().verify_with_set(&JwkSet::new(keys).unwrap())
    };
    assert!(verify(vec![&one]).is_ok());
    assert!(verify(vec![&other, &one]).is_ok());
    assert_refused("two", verify(vec![&one, &two]), "ambiguous key");
    assert_refused("none that fits", verify(vec![&other]), "ambiguous key");
    assert_refused("none", verify(vec![]), "ambiguous key");
    assert_refused("the other", verify(vec![&two]), "signature");
}

/// The key that `kid` names decides the algorithm, whatever the header says.
#[test]
fn kid_of_a_key_of_another_algorithm() {
    let (ec, ml) =
        (PrivateKey::generate(Algorithm::Es256).unwrap(), PrivateKey::generate(Algorithm::MlDsa44).unwrap());
    let set = JwkSet::new([ec.public().clone(), ml.public().clone()]).unwrap();
    let token = jws::encode(&ec.clone().with_kid(ml.kid()), &Header::new(), b"x").unwrap();
    assert_refused("kid", Unverified::parse(&token).unwrap().verify_with_set(&set), "algorithm mismatch");
}
