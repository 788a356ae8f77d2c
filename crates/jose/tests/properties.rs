//! Round trips, one encoding per value, and no panic on anything.

use proptest::prelude::*;
use sealstone_jose::jws::{self, Header, Unverified};
use sealstone_jose::jwt::{Claims, Rules};
use sealstone_jose::{Algorithm, JwkSet, PrivateKey, PublicKey, UnixSeconds, size};
use std::sync::LazyLock;

use crate::{b64, signed};

/// One key per algorithm: making them anew for each case would only be slow.
static KEYS: LazyLock<Vec<PrivateKey>> = LazyLock::new(|| {
    Algorithm::ALL.into_iter().map(|algorithm| PrivateKey::generate(algorithm).unwrap()).collect()
});

fn keys() -> impl Strategy<Value = PrivateKey> {
    (0..KEYS.len()).prop_map(|index| KEYS[index].clone())
}

/// Any JSON value of a few levels.
fn values() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "\\PC{0,20}".prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 30, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            prop::collection::btree_map("[a-z]{1,8}", inner, 0..5)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Text near a good token: some characters changed, cut or added.
fn near(token: String) -> impl Strategy<Value = String> {
    let len = token.len();
    (prop::collection::vec((0..len, "[A-Za-z0-9_.=+/ -]"), 0..4), 0..len + 4, 0..4u8).prop_map(
        move |(edits, cut, kind)| {
            let mut text = token.clone().into_bytes();
            for (at, character) in edits {
                text[at] = character.as_bytes()[0];
            }
            if kind == 0 {
                text.resize(cut, b'A');
            }
            String::from_utf8(text).unwrap()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tokens_round_trip(key in keys(), payload in prop::collection::vec(any::<u8>(), 1..500), typ in "\\PC{0,20}", kid in "[^\\p{Cc}]{1,40}") {
        let key = key.with_kid(&kid);
        let token = jws::encode(&key, &Header::new().typ(&typ), &payload).unwrap();
        let unverified = Unverified::parse(&token).unwrap();
        prop_assert_eq!(unverified.header().kid(), Some(kid.as_str()));
        prop_assert_eq!(unverified.header().typ(), Some(typ.as_str()));
        prop_assert_eq!(unverified.header().algorithm(), key.algorithm());
        let verified = unverified.verify(key.public()).unwrap();
        prop_assert_eq!(verified.payload(), payload);
        prop_assert_eq!(size::report(&token).unwrap().total, token.len());
    }

    /// A token that is changed anywhere no longer verifies: it has one spelling.
    #[test]
    fn tokens_have_one_spelling((token, key, changed) in keys().prop_flat_map(|key| {
        let token = jws::encode(&key, &Header::new(), b"{\"sub\":\"alice\"}").unwrap();
        (Just(token.clone()), Just(key), near(token))
    })) {
        let outcome = Unverified::parse(&changed).and_then(|unverified| unverified.verify(key.public()));
        prop_assert_eq!(outcome.is_ok(), changed == token, "{:?}", outcome);
    }

    #[test]
    fn claims_round_trip(key in keys(), map in prop::collection::btree_map("[a-z_]{4,12}", values(), 0..6)) {
        let mut claims = Claims::new().with("exp", 2_000);
        for (name, value) in map {
            claims = claims.with(&name, value);
        }
        let token = jws::encode(&key, &Header::new(), claims.to_json().as_bytes()).unwrap();
        let verified = Unverified::parse(&token).unwrap().verify(key.public()).unwrap();
        let token = Rules::new().check(verified, UnixSeconds(1_000)).unwrap();
        prop_assert_eq!(token.claims(), &claims);
        prop_assert_eq!(&Claims::parse(&claims.to_json()).unwrap(), &claims);
    }

    #[test]
    fn keys_round_trip(index in 0..Algorithm::ALL.len(), secret in prop::collection::vec(any::<u8>(), 66), kid in "[^\\p{Cc}]{1,40}") {
        let algorithm = Algorithm::ALL[index];
        let secret = match algorithm.secret_len() {
            Some(len) => {
                let mut secret = secret[..len].to_vec();
                // Below the order of any curve, and not zero.
                secret[..2].fill(0);
                secret[2] |= 1;
                secret
            }
            None => KEYS[index].secret().to_vec(),
        };
        let key = PrivateKey::from_secret(algorithm, &secret).unwrap().with_kid(&kid);
        let text = key.to_jwk().to_json();
        let read = PrivateKey::from_jwk(&text).unwrap();
        prop_assert_eq!(&*read.secret(), &secret);
        prop_assert_eq!((read.kid(), read.algorithm()), (kid.as_str(), algorithm));
        prop_assert_eq!(&*read.to_jwk().to_json(), &*text);

        let text = key.public().to_jwk().to_json();
        let read = PublicKey::from_jwk(&text).unwrap();
        prop_assert_eq!(&read, key.public());
        prop_assert_eq!(read.thumbprint(), key.public().thumbprint());
        prop_assert_eq!(read.to_jwk().to_json(), text);
        let raw = PublicKey::from_public(algorithm, read.as_bytes()).unwrap();
        prop_assert_eq!(&raw, &read);
    }

    #[test]
    fn no_panic_on_text(text in any::<String>(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Unverified::parse(&text);
        let _ = PrivateKey::from_jwk(&text);
        let _ = PublicKey::from_jwk(&text);
        let _ = Claims::parse(&text);
        let _ = JwkSet::parse(&bytes);
        let _ = size::compare(&text);
        let lossy = String::from_utf8_lossy(&bytes);
        let _ = Unverified::parse(&format!("{}.{}.{}", b64(&bytes), lossy, lossy));
        for algorithm in Algorithm::ALL {
            let _ = PrivateKey::from_secret(algorithm, &bytes);
            let _ = PublicKey::from_public(algorithm, &bytes);
        }
    }

    /// Headers and payloads of any bytes and any JSON, with a good signature over them.
    #[test]
    fn no_panic_on_signed_bytes(header in values(), payload in values(), bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let key = &KEYS[2];
        let alg = r#"{"alg":"ES256","x":"#;
        for (header, payload) in [
            (header.to_string().into_bytes(), bytes.clone()),
            (format!("{alg}{header}}}").into_bytes(), payload.to_string().into_bytes()),
            (bytes.clone(), bytes.clone()),
            (br#"{"alg":"ES256"}"#.to_vec(), bytes),
        ] {
            let token = signed(key, header, payload);
            if let Ok(verified) = Unverified::parse(&token).and_then(|unverified| unverified.verify(key.public())) {
                let _ = Rules::new().check(verified, UnixSeconds(1));
            }
        }
    }
}
