//! All that is refused, in one table: docs/refusals-jose.md is what this test writes, with `REFUSALS=write`, and else compares.
//!
//! When something is refused is not believed but tried: a token that is refused before its signature is computed with is
//! refused in the same way when that signature is none, and one that is refused for its claims is then refused for its
//! signature.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use sealstone_jose::composite;
use sealstone_jose::jws::{self, Header, Unverified};
use sealstone_jose::jwt::Rules;
use sealstone_jose::mac::{self, MacAlgorithm, MacKey};
use sealstone_jose::{Algorithm, Error, PrivateKey, PublicKey};
use serde_json::json;

use crate::cases::{self, PAYLOAD};
use crate::tokens::{NOW, accept};
use crate::{Row, cose, detached, keys, kind, remote, row, sets, signed, tokens};

/// When a token was refused.
fn stage(key: &PrivateKey, token: &str) -> &'static str {
    match Unverified::parse(token) {
        Err(_) => "reading",
        Ok(parsed) => match parsed.verify(key.public()) {
            Err(Error::AlgorithmMismatch { .. }) => "key",
            Err(_) => "signature",
            Ok(_) => "claims",
        },
    }
}

/// The same token, and its signature as long, and no signature.
fn forged(token: &str) -> Option<String> {
    let (input, signature) = token.rsplit_once('.')?;
    (input.matches('.').count() == 1).then(|| format!("{input}.{}", "A".repeat(signature.len())))
}

fn is_about_the_signature(error: &Error) -> bool {
    matches!(
        error,
        Error::SignatureLength { .. } | Error::BadBase64 { place: "signature", .. } | Error::BadSignature
    )
}

fn compact() -> Vec<(Row, &'static str)> {
    let mut rows = Vec::new();
    let key = PrivateKey::generate(Algorithm::MlDsa44).unwrap();
    for (place, cases) in [
        ("compact token: alg", cases::algorithms(&key)),
        ("compact token: header", cases::headers(&key)),
        ("compact token: encoding, size", cases::encodings(&key)),
        ("compact token: payload, claims", cases::payloads(&key)),
        ("compact token: signature", cases::signatures(&key)),
    ] {
        for (name, token, expected) in cases {
            let outcome = accept(&key, &token).map(drop);
            let stage = stage(&key, &token);
            let error = outcome.clone().unwrap_err();
            if let Some(forged) = forged(&token).filter(|_| !is_about_the_signature(&error)) {
                let forged = kind(&accept(&key, &forged).unwrap_err());
                let due = if stage == "claims" { "signature" } else { kind(&error) };
                assert_eq!(forged, due, "{place}, {name}: with a signature that is none");
            }
            rows.push((row(place, &name, expected, outcome), stage));
        }
    }
    rows
}

/// Every pair of ML-DSA levels, of a token and a key; and what is under a name of another kind of key.
fn pairs() -> Vec<(Row, &'static str)> {
    let levels = [Algorithm::MlDsa44, Algorithm::MlDsa65, Algorithm::MlDsa87];
    let mut rows = Vec::new();
    for signed in levels {
        for checked in levels {
            let (signer, key) =
                (PrivateKey::generate(signed).unwrap(), PrivateKey::generate(checked).unwrap());
            let token = jws::encode(&signer, &Header::new(), PAYLOAD.as_bytes()).unwrap();
            let outcome = Unverified::parse(&token).unwrap().verify(key.public()).map(drop);
            let (expected, stage) = match signed == checked {
                true => ("signature", "signature"),
                false => ("algorithm mismatch", "key"),
            };
            rows.push((
                row("token and key", &format!("{signed} token, another {checked} key"), expected, outcome),
                stage,
            ));
        }
    }
    let key = PrivateKey::generate(Algorithm::MlDsa44).unwrap();
    let standard = jws::encode(&key, &Header::new(), PAYLOAD.as_bytes()).unwrap();
    let secret = key.public().as_bytes();
    for algorithm in MacAlgorithm::ALL {
        let mac = MacKey::new(algorithm, secret).unwrap();
        let token = mac::encode(&mac, &Header::new(), PAYLOAD.as_bytes()).unwrap();
        let outcome = Unverified::parse(&token).map(drop);
        let name = format!("{algorithm}, its secret the public key");
        rows.push((row("token and key", &name, "algorithm unknown", outcome), "reading"));
        let name = format!("an ML-DSA-44 token to a reader of {algorithm}");
        let outcome = Unverified::parse_mac(&standard).map(drop);
        rows.push((row("token and key", &name, "algorithm unknown", outcome), "reading"));
    }
    for algorithm in composite::Algorithm::ALL {
        let pair = composite::PrivateKey::generate(algorithm).unwrap();
        let token = composite::encode(&pair, &Header::new(), PAYLOAD.as_bytes()).unwrap();
        let name = format!("{algorithm} token to a reader of standard ones");
        rows.push((
            row("token and key", &name, "algorithm unknown", Unverified::parse(&token).map(drop)),
            "reading",
        ));
        let outcome = PublicKey::from_jwk(&pair.public().to_jwk().to_json()).map(drop);
        rows.push((
            row("public JWK", &format!("{algorithm} key as a standard one"), "algorithm unknown", outcome),
            "reading",
        ));
    }
    rows
}

/// Every type of token at the reader of every other (RFC 8725 §3.11): all else in it is good.
fn types() -> Vec<(Row, &'static str)> {
    const TYPES: [(&str, &str); 7] = [
        ("ID token", "JWT"),
        ("access token", "at+jwt"),
        ("logout token", "logout+jwt"),
        ("DPoP proof", "dpop+jwt"),
        ("client assertion", "client-authentication+jwt"),
        ("request object", "oauth-authz-req+jwt"),
        ("introspection answer", "token-introspection+jwt"),
    ];
    let key = PrivateKey::generate(Algorithm::MlDsa44).unwrap();
    let mut rows = Vec::new();
    for (is, typ) in TYPES {
        let token = jws::encode(&key, &Header::new().typ(typ), PAYLOAD.as_bytes()).unwrap();
        for (wanted, reader) in TYPES {
            let rules = Rules::new().issuer("https://id.example").audience("orders").typ(reader);
            let verified = Unverified::parse(&token).unwrap().verify(key.public()).unwrap();
            let outcome = rules.check(verified, NOW).map(drop);
            match is == wanted {
                true => assert_eq!(outcome, Ok(()), "{is}"),
                false => {
                    let name = format!("{is} as {wanted}");
                    rows.push((row("one type of token as another", &name, "typ", outcome), "claims"));
                }
            }
        }
    }
    rows
}

fn all() -> Vec<(Row, &'static str)> {
    let at_reading = |row: Row| {
        let stage = if row.expected == "signature" { "signature" } else { "reading" };
        (row, stage)
    };
    let choosing = |row: Row| (row, "key");
    let mut all = compact();
    all.extend(pairs());
    all.extend(types());
    all.extend(tokens::kid_rows().into_iter().map(choosing));
    let tables = [
        detached::detached_rows(),
        detached::document_rows(),
        keys::private_rows(),
        keys::public_rows(),
        sets::rows(),
        remote::rows(),
        cose::rows(),
    ];
    all.extend(tables.into_iter().flatten().map(at_reading));
    all
}

/// A name as it can stand in a table, whatever is in it.
fn shown(name: &str) -> String {
    let escaped: String = name.chars().flat_map(char::escape_debug).collect();
    escaped.replace('|', "\\|").replace("\\'", "'").replace("\\\"", "\"").replace('<', "&lt;")
}

#[test]
fn the_table() {
    let mut rows = all();
    let (mut places, mut names) = (Vec::new(), BTreeSet::new());
    for (row, _) in &mut rows {
        row.check();
        // One fault in two forms.
        while !names.insert((row.place, row.name.clone())) {
            row.name.push_str(", another");
        }
        if !places.contains(&row.place) {
            places.push(row.place);
        }
    }
    assert!(rows.len() >= 300, "{}", rows.len());
    let early = rows.iter().filter(|(_, stage)| ["reading", "key"].contains(stage)).count();
    let mut text = format!(
        "# What is refused\n\n\
         {} inputs, each with the kind of its error, and when: at `reading`, before any key is looked at; at the choice of the `key`; \
         by the `signature`; or, with a good signature, for its `claims`. {early} of them are refused before anything is computed \
         with a signature, which is tried: the same token with a signature that is none is refused in the same way. The compact \
         tokens here are of ML-DSA-44; the tests run them with ES256, Ed25519 and RS256 as well.\n\n\
         `REFUSALS=write cargo test -p sealstone-jose --test it refusals` writes this page; without it, the test compares.\n",
        rows.len()
    );
    for place in places {
        let here: Vec<_> = rows.iter().filter(|(row, _)| row.place == place).collect();
        write!(text, "\n## {place}: {}\n\n| case | refused as | at |\n|---|---|---|\n", here.len()).unwrap();
        for (row, stage) in here {
            writeln!(text, "| {} | {} | {stage} |", shown(&row.name), row.expected).unwrap();
        }
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/refusals-jose.md");
    println!("refusals: {} cases, {early} of them before anything is computed with a signature", rows.len());
    if std::env::var_os("REFUSALS").is_some() {
        fs::write(&path, text).unwrap();
        return;
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, text, "docs/refusals-jose.md: run with REFUSALS=write");
}

/// Tokens that interop/differential.py gives to other libraries, with our verdicts, where `REFUSED_TOKENS` says: those of the
/// table, and good ones with a few bytes changed.
#[test]
fn tokens_for_others() {
    let Some(path) = std::env::var_os("REFUSED_TOKENS") else { return };
    let key = PrivateKey::from_secret(Algorithm::MlDsa44, &[7; 32]).unwrap();
    let mut cases = Vec::new();
    let mut add = |place: &str, name: String, token: String| {
        let outcome = accept(&key, &token);
        let refused = outcome.as_ref().err().map_or("", kind);
        cases.push(json!({
            "place": place, "name": name, "token": token, "accepted": outcome.is_ok(), "refused": refused,
        }));
    };
    for (place, table) in [
        ("alg", cases::algorithms(&key)),
        ("header", cases::headers(&key)),
        ("encoding, size", cases::encodings(&key)),
        ("payload, claims", cases::payloads(&key)),
        ("signature", cases::signatures(&key)),
    ] {
        table.into_iter().for_each(|(name, token, _)| add(place, name, token));
    }
    let good = signed(&key, cases::header(&key, r#","kid":"a""#), PAYLOAD);
    add("good", "unchanged".into(), good.clone());
    // The same numbers at each run.
    let mut state = 11_u64;
    let mut number = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ \n";
    let last = good.rfind('.').unwrap();
    for round in 0..600 {
        let mut token = good.clone().into_bytes();
        for _ in 0..=number(3) {
            let at = match number(3) {
                0 => number(token.len()),
                1 => number(last.min(token.len())),
                _ => token.len() - 1 - number(4),
            };
            match number(4) {
                0 => token[at] = letters[number(letters.len())],
                1 => token.insert(at, letters[number(letters.len())]),
                2 => drop(token.remove(at)),
                _ => token[at] ^= 1 << number(7),
            }
        }
        if let Ok(token) = String::from_utf8(token) {
            add("mutated bytes", format!("round {round}"), token);
        }
    }
    // Header and payload changed, and signed again: another text for the same, or another meaning.
    for round in 0..600 {
        let mut parts = [cases::header(&key, r#","kid":"a""#).into_bytes(), PAYLOAD.as_bytes().to_vec()];
        let part = &mut parts[number(2)];
        let at = number(part.len());
        let json = br#"{}[]",:\ 01eE+-.tfn/*"#;
        match number(4) {
            0 => part[at] = json[number(json.len())],
            1 => part.insert(at, json[number(json.len())]),
            2 => drop(part.remove(at)),
            _ => part[at] ^= 1 << number(7),
        }
        add(
            "mutated and signed",
            format!("round {round}: {}", String::from_utf8_lossy(part)),
            signed(&key, &parts[0], &parts[1]),
        );
    }
    let work = json!({
        "key": serde_json::to_value(key.public().to_jwk()).unwrap(), "alg": "ML-DSA-44", "iss": "https://id.example", "aud": "orders",
        "typ": "at+jwt", "now": tokens::NOW.0, "cases": cases,
    });
    fs::write(path, work.to_string()).unwrap();
}
