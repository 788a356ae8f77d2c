//! Signatures without their payload, and in JSON: what must be read, and what must be refused.

use proptest::prelude::*;
use sealstone_jose::jws::{self, Detached, General, Header, Signer, Unverified};
use sealstone_jose::{Algorithm, Error, JwkSet, PrivateKey};

use crate::{Row, assert_refused, b64, row};

/// A token without its payload, with a signature that is good.
fn detached(key: &PrivateKey, header: &str, payload: &[u8], encoded: bool) -> String {
    let header = b64(header);
    let mut input = format!("{header}.").into_bytes();
    match encoded {
        true => input.extend(b64(payload).bytes()),
        false => input.extend(payload),
    }
    format!("{header}..{}", b64(key.sign(&input).unwrap()))
}

fn check(key: &PrivateKey, token: &str, payload: &[u8]) -> Result<(), Error> {
    Detached::parse(token)?.verify(key.public(), payload).map(drop)
}

#[test]
fn every_algorithm_whole_and_in_pieces() {
    let payload: Vec<u8> = (0..100_000_u32).map(|n| n.wrapping_mul(n).to_be_bytes()[1]).collect();
    for algorithm in Algorithm::ALL {
        let key = PrivateKey::generate(algorithm).unwrap();
        for header in [Header::new(), Header::new().typ("report").unencoded()] {
            let whole = jws::encode_detached(&key, &header, &payload).unwrap();
            let proven = Detached::parse(&whole).unwrap().verify(key.public(), &payload).unwrap();
            assert_eq!((proven.algorithm(), proven.kid()), (algorithm, Some(key.kid())));
            let signer = Signer::new(&key, &header);
            if algorithm.name().starts_with("Ed") {
                let refused = Err::<(), _>(Error::NotStreamable { algorithm });
                assert_eq!(signer.map(drop), refused);
                assert_eq!(Detached::parse(&whole).unwrap().verifier(key.public()).map(drop), refused);
                continue;
            }
            let mut signer = signer.unwrap();
            payload.chunks(7001).for_each(|piece| signer.update(piece));
            let pieces = signer.finish().unwrap();
            check(&key, &pieces, &payload).unwrap();
            let mut verifier = Detached::parse(&whole).unwrap().verifier(key.public()).unwrap();
            payload.chunks(1).for_each(|piece| verifier.update(piece));
            verifier.finish().unwrap();
            let mut verifier = Detached::parse(&whole).unwrap().verifier(key.public()).unwrap();
            payload[1..].chunks(999).for_each(|piece| verifier.update(piece));
            assert_eq!(verifier.finish().map(drop), Err(Error::BadSignature));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However a payload is cut, it is the same payload.
    #[test]
    fn pieces_of_any_size(cuts in prop::collection::vec(0_usize..5, 0..40), unencoded: bool) {
        let key = PrivateKey::generate(Algorithm::MlDsa44).unwrap();
        let payload: Vec<u8> = (0..cuts.iter().sum::<usize>()).map(|n| n as u8).collect();
        let header = if unencoded { Header::new().unencoded() } else { Header::new() };
        let (mut signer, mut rest) = (Signer::new(&key, &header).unwrap(), &payload[..]);
        for cut in cuts {
            let (piece, behind) = rest.split_at(cut);
            signer.update(piece);
            rest = behind;
        }
        let token = signer.finish().unwrap();
        prop_assert_eq!(check(&key, &token, &payload), Ok(()));
    }

    /// Nothing that is no document is one, and nothing panics.
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        let _ = (Detached::parse(&text), General::parse(&text));
    }
}

#[test]
fn the_key_decides_the_algorithm() {
    let (key, other) = (
        PrivateKey::generate(Algorithm::MlDsa44).unwrap(),
        PrivateKey::generate(Algorithm::MlDsa65).unwrap(),
    );
    let token = || Detached::parse(&jws::encode_detached(&key, &Header::new(), b"x").unwrap()).unwrap();
    assert_refused("whole", token().verify(other.public(), b"x"), "algorithm mismatch");
    assert_refused("in pieces", token().verifier(other.public()), "algorithm mismatch");
    let text = General::flattened(&key, &Header::new(), b"x").unwrap();
    let set = JwkSet::new([other.public().clone().with_kid(key.kid())]).unwrap();
    assert_refused("in JSON", General::parse(&text).unwrap().verify_all(&set), "algorithm mismatch");
}

#[test]
fn an_empty_payload_may_be_detached() {
    let key = PrivateKey::generate(Algorithm::Es256).unwrap();
    for header in [Header::new(), Header::new().unencoded()] {
        let token = jws::encode_detached(&key, &header, b"").unwrap();
        check(&key, &token, b"").unwrap();
        assert_eq!(check(&key, &token, b"x"), Err(Error::BadSignature));
    }
}

pub(crate) fn detached_rows() -> Vec<Row> {
    let key = PrivateKey::generate(Algorithm::MlDsa44).unwrap();
    let other = PrivateKey::generate(Algorithm::MlDsa44).unwrap();
    let payload = b"payload";
    let good = detached(&key, r#"{"alg":"ML-DSA-44","b64":false,"crit":["b64"]}"#, payload, false);
    check(&key, &good, payload).unwrap();
    let with = |header: &str| detached(&key, &format!(r#"{{"alg":"ML-DSA-44"{header}}}"#), payload, false);
    let cases = [
        ("b64 without crit", with(r#","b64":false"#), "header refused"),
        ("b64 true without crit", with(r#","b64":true"#), "header refused"),
        ("crit without b64", with(r#","crit":["b64"]"#), "header refused"),
        ("crit empty", with(r#","b64":false,"crit":[]"#), "header refused"),
        ("crit twice the same", with(r#","b64":false,"crit":["b64","b64"]"#), "header refused"),
        ("crit of another", with(r#","exp":1,"crit":["exp"]"#), "header refused"),
        ("crit of b64 and another", with(r#","b64":false,"x":1,"crit":["b64","x"]"#), "header refused"),
        ("crit of a registered name", with(r#","crit":["alg"]"#), "header refused"),
        ("crit a string", with(r#","b64":false,"crit":"b64""#), "header malformed"),
        ("crit null", with(r#","b64":false,"crit":null"#), "header malformed"),
        ("crit an object", with(r#","b64":false,"crit":{"b64":true}"#), "header malformed"),
        ("crit of a number", with(r#","b64":false,"crit":[1]"#), "header refused"),
        ("b64 a string", with(r#","b64":"false","crit":["b64"]"#), "header malformed"),
        ("b64 a number", with(r#","b64":0,"crit":["b64"]"#), "header malformed"),
        ("b64 null", with(r#","b64":null,"crit":["b64"]"#), "header malformed"),
        ("b64 twice", with(r#","b64":false,"b64":true,"crit":["b64"]"#), "json"),
        ("b64 in capitals", with(r#","B64":false,"crit":["b64"]"#), "header refused"),
        ("zip", with(r#","zip":"DEF""#), "header refused"),
        ("enc", with(r#","enc":"A128GCM""#), "header refused"),
        (
            "signed as base64url, said not to be",
            detached(&key, r#"{"alg":"ML-DSA-44","b64":false,"crit":["b64"]}"#, payload, true),
            "signature",
        ),
        (
            "signed as it is, said to be base64url",
            detached(&key, r#"{"alg":"ML-DSA-44"}"#, payload, false),
            "signature",
        ),
        ("another key", detached(&other, r#"{"alg":"ML-DSA-44"}"#, payload, true), "signature"),
        (
            "another algorithm",
            good.replacen(
                &b64(r#"{"alg":"ML-DSA-44","b64":false,"crit":["b64"]}"#),
                &b64(r#"{"alg":"ML-DSA-65"}"#),
                1,
            ),
            "signature length",
        ),
        ("with its payload", jws::encode(&key, &Header::new(), payload).unwrap(), "not detached"),
        ("two parts", good.replace("..", "."), "not compact"),
        ("four parts", good.replace("..", "..."), "not compact"),
        ("five parts", good.replace("..", "...."), "jwe"),
        ("no header", good[good.find("..").unwrap()..].to_owned(), "not compact"),
        ("no signature", good[..good.find("..").unwrap() + 2].to_owned(), "not compact"),
        ("signature cut", good[..good.len() - 4].to_owned(), "signature length"),
        ("none", format!("{}..", b64(r#"{"alg":"none"}"#)), "algorithm unknown"),
        ("space before", format!(" {good}"), "base64"),
        ("line end behind", format!("{good}\n"), "signature length"),
    ];
    let mut rows: Vec<Row> = Vec::new();
    for (name, token, expected) in cases {
        rows.push(row("detached JWS", name, expected, check(&key, &token, payload)));
    }
    for at in 0..payload.len() {
        let mut payload = payload.to_vec();
        payload[at] ^= 1;
        assert_refused("a flipped bit", check(&key, &good, &payload), "signature");
    }
    // Nobody reads an unencoded payload out of a compact token, or a detached token as one.
    assert_refused(
        "attached and unencoded",
        jws::encode(&key, &Header::new().unencoded(), payload),
        "header refused",
    );
    assert_refused("as a compact token", Unverified::parse(&good).map(drop), "header refused");
    let plain = jws::encode_detached(&key, &Header::new(), payload).unwrap();
    assert_refused("as a compact token", Unverified::parse(&plain).map(drop), "not compact");
    rows
}

#[test]
fn detached_refusals() {
    detached_rows().iter().for_each(Row::check);
}

/// The dot between header and payload cannot move: RFC 7797 §8.
#[test]
fn rfc7797_s8_a_payload_with_dots() {
    let key = PrivateKey::generate(Algorithm::MlDsa44).unwrap();
    let token = jws::encode_detached(&key, &Header::new().unencoded(), b"a.b").unwrap();
    check(&key, &token, b"a.b").unwrap();
    let longer = token.replacen("..", ".a..", 1);
    assert!(check(&key, &longer, b"b").is_err());
}

#[test]
fn several_sign_one_payload() {
    let keys: Vec<_> = [Algorithm::Es256, Algorithm::MlDsa65, Algorithm::Ed25519]
        .into_iter()
        .map(|algorithm| PrivateKey::generate(algorithm).unwrap())
        .collect();
    for header in [Header::new(), Header::new().cty("text/plain").unencoded()] {
        let signers: Vec<_> = keys.iter().map(|key| (key, &header)).collect();
        let text = General::sign("$.02 €".as_bytes(), &signers).unwrap();
        let all = JwkSet::new(keys.iter().map(|key| key.public().clone())).unwrap();
        let document = General::parse(&text).unwrap();
        assert_eq!(document.verify_all(&all).unwrap(), "$.02 €".as_bytes());
        for key in &keys {
            let one = JwkSet::new([key.public().clone()]).unwrap();
            let (payload, proven) = document.verify_any(&one).unwrap();
            assert_eq!((payload, proven.algorithm()), ("$.02 €".as_bytes(), key.algorithm()));
            assert_eq!(document.verify(key.public()).unwrap().1, proven);
            assert_refused("not all", document.verify_all(&one), "unknown kid");
        }
        let stranger = PrivateKey::generate(Algorithm::Es256).unwrap();
        assert_refused("a stranger", document.verify(stranger.public()), "none verifies");
        assert_refused("no keys", document.verify_any(&JwkSet::default()), "none verifies");
        // The same without its payload.
        let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
        value.as_object_mut().unwrap().remove("payload");
        let apart = General::parse(&value.to_string()).unwrap();
        assert_refused("no payload", apart.verify_all(&all), "no payload");
        let given = apart.with_payload("$.02 €".as_bytes()).unwrap();
        assert!(given.verify_all(&all).is_ok());
        assert_refused("a second payload", given.with_payload(b"x").map(drop), "not detached");
        let other = General::parse(&value.to_string()).unwrap().with_payload(b"$.03").unwrap();
        assert_refused("another payload", other.verify_all(&all), "signature");
    }
}

#[test]
fn what_cannot_be_written_in_json() {
    let key = PrivateKey::generate(Algorithm::MlDsa44).unwrap();
    let (plain, bare) = (Header::new(), Header::new().unencoded());
    assert_refused("no text", General::flattened(&key, &bare, b"\xff"), "json");
    assert_refused("of two minds", General::sign(b"x", &[(&key, &plain), (&key, &bare)]), "header refused");
    let many = vec![(&key, &plain); 33];
    assert_refused("too many", General::sign(b"x", &many), "too large");
}

pub(crate) fn document_rows() -> Vec<Row> {
    let key = PrivateKey::generate(Algorithm::MlDsa44).unwrap();
    let text = General::flattened(&key, &Header::new(), b"payload").unwrap();
    let set = JwkSet::new([key.public().clone()]).unwrap();
    let flat: serde_json::Value = serde_json::from_str(&text).unwrap();
    let (protected, signature) = (flat["protected"].as_str().unwrap(), flat["signature"].as_str().unwrap());
    let entry = format!(r#""protected":"{protected}","signature":"{signature}""#);
    let payload = b64("payload");
    let one = |more: &str| format!(r#"{{"payload":"{payload}",{entry}{more}}}"#);
    let several = |entries: &str| format!(r#"{{"payload":"{payload}","signatures":[{entries}]}}"#);
    assert!(General::parse(&one("")).unwrap().verify_all(&set).is_ok());
    assert!(General::parse(&several(&format!("{{{entry}}}"))).unwrap().verify_all(&set).is_ok());
    // A member that is not known is ignored, RFC 7515 §7.2.1, and so is what nobody signed.
    assert!(General::parse(&one(r#","more":1,"header":{"x":1}"#)).unwrap().verify_all(&set).is_ok());
    let bare = General::flattened(&key, &Header::new().unencoded(), b"payload").unwrap();
    let bare: serde_json::Value = serde_json::from_str(&bare).unwrap();
    let bare = format!(r#"{{"protected":{},"signature":{}}}"#, bare["protected"], bare["signature"]);
    let cases = [
        ("an array", format!("[{}]", one("")), "json"),
        ("compact", jws::encode(&key, &Header::new(), b"payload").unwrap(), "json"),
        ("something behind", format!("{} {{}}", one("")), "json"),
        ("10 000 values", one(&format!(r#","x":[{}0]"#, "0,".repeat(10_000))), "json"),
        ("payload twice", one(&format!(r#","payload":"{payload}""#)), "json"),
        ("signature twice", one(&format!(r#","signature":"{signature}""#)), "json"),
        ("both forms", one(&format!(r#","signatures":[{{{entry}}}]"#)), "header refused"),
        (
            "both forms, header",
            several(&format!("{{{entry}}}")).replacen('{', r#"{"header":{},"#, 1),
            "header refused",
        ),
        ("no signatures", several(""), "header malformed"),
        ("signatures null", r#"{"payload":"","signatures":null}"#.to_owned(), "header malformed"),
        ("signatures an object", r#"{"payload":"","signatures":{}}"#.to_owned(), "header malformed"),
        ("a signature that is no object", several("1"), "header malformed"),
        ("a second one that is no object", several(&format!("{{{entry}}},[]")), "header malformed"),
        ("too many signatures", several(&[&format!("{{{entry}}}")[..]; 33].join(",")), "too large"),
        ("nothing", "{}".to_owned(), "header malformed"),
        (
            "no protected header",
            format!(r#"{{"payload":"{payload}","signature":"{signature}"}}"#),
            "header malformed",
        ),
        ("protected header empty", one("").replacen(protected, "", 1), "not compact"),
        (
            "protected header an object",
            one("").replacen(&format!("\"{protected}\""), r#"{"alg":"ML-DSA-44"}"#, 1),
            "header malformed",
        ),
        (
            "no signature",
            format!(r#"{{"payload":"{payload}","protected":"{protected}"}}"#),
            "header malformed",
        ),
        ("signature empty", one("").replacen(signature, "", 1), "not compact"),
        ("signature cut", one("").replacen(signature, &signature[4..], 1), "signature length"),
        ("payload null", one("").replacen(&format!("\"{payload}\""), "null", 1), "header malformed"),
        ("payload padded", one("").replacen(&payload, &format!("{payload}="), 1), "base64"),
        ("header a string", one(r#","header":"""#), "header malformed"),
        ("alg unprotected", one(r#","header":{"alg":"ML-DSA-44"}"#), "header refused"),
        ("crit unprotected", one(r#","header":{"crit":["b64"]}"#), "header refused"),
        ("b64 unprotected", one(r#","header":{"b64":false}"#), "header refused"),
        ("zip unprotected", one(r#","header":{"zip":"DEF"}"#), "header refused"),
        ("kid in both headers", one(r#","header":{"kid":"x"}"#), "header refused"),
        ("typ a number", one(r#","header":{"typ":1}"#), "header malformed"),
        (
            "a JWE",
            r#"{"protected":"","encrypted_key":"AA","iv":"AA","ciphertext":"AA","tag":"AA"}"#.to_owned(),
            "header refused",
        ),
        ("a JWE beside a signature", one(r#","ciphertext":"AA""#), "header refused"),
        (
            "a second signature that does not fit",
            several(&format!("{{{entry}}},{{{}}}", entry.replacen(&signature[..4], "AAAA", 1))),
            "signature",
        ),
        ("one encoded, one not", several(&format!("{{{entry}}},{bare}")), "header refused"),
    ];
    let mut rows = Vec::new();
    for (name, text, expected) in cases {
        let outcome = General::parse(&text).and_then(|document| document.verify_all(&set).map(drop));
        rows.push(row("JWS in JSON", name, expected, outcome));
    }
    rows
}

#[test]
fn document_refusals() {
    document_rows().iter().for_each(Row::check);
}

/// Who changes the unprotected `kid` makes another key be tried, and no more.
#[test]
fn an_unprotected_kid_is_only_a_hint() {
    let (key, other) = (
        PrivateKey::generate(Algorithm::MlDsa44).unwrap(),
        PrivateKey::generate(Algorithm::MlDsa44).unwrap(),
    );
    let text = General::flattened(&key, &Header::new().without_kid(), b"payload").unwrap();
    let set =
        JwkSet::new([key.public().clone().with_kid("a"), other.public().clone().with_kid("b")]).unwrap();
    let with = |kid: &str| text.replacen('{', &format!(r#"{{"header":{{"kid":"{kid}"}},"#), 1);
    assert!(General::parse(&with("a")).unwrap().verify_all(&set).is_ok());
    assert_refused("another", General::parse(&with("b")).unwrap().verify_all(&set), "signature");
    assert_refused("nobody", General::parse(&with("c")).unwrap().verify_all(&set), "unknown kid");
    assert_refused("no kid", General::parse(&text).unwrap().verify_all(&set), "ambiguous key");
}
