//! Tokens that must be refused (RFC 8725, and what has gone wrong elsewhere), each by name and with its error.
//!
//! Unless the case is about the signature, the signature is good: nothing else may be the reason.

use std::net::TcpListener;
use std::time::Duration;

use sealstone_jose::jws::{self, Header, Unsigned, Unverified};
use sealstone_jose::jwt::{Rules, Token};
use sealstone_jose::{Algorithm, Error, JwkSet, PrivateKey, UnixSeconds};

use crate::cases::{self, PAYLOAD, header};
use crate::{Row, assert_refused, b64, kind, row, signed};

pub(crate) const NOW: UnixSeconds = UnixSeconds(1_800_000_000);

pub(crate) fn accept(key: &PrivateKey, token: &str) -> Result<Token, Error> {
    let rules = Rules::new().issuer("https://id.example").audience("orders").typ("at+jwt");
    rules.check(Unverified::parse(token)?.verify(key.public())?, NOW)
}

#[test]
fn refusals() {
    let mut total = 0;
    for algorithm in [Algorithm::Es256, Algorithm::Ed25519, Algorithm::MlDsa44, Algorithm::Rs256] {
        let key = PrivateKey::generate(algorithm).unwrap();
        let good = signed(&key, header(&key, ""), PAYLOAD);
        let cases: cases::Cases = [
            cases::algorithms(&key),
            cases::headers(&key),
            cases::encodings(&key),
            cases::payloads(&key),
            cases::signatures(&key),
        ]
        .concat();
        for (name, token, expected) in &cases {
            let outcome = accept(&key, token);
            match (algorithm.signature_len(), *expected) {
                // Each RSA key has its own length, so that another one is seen later.
                (None, "signature length") => assert!(outcome.is_err(), "{algorithm}, {name}"),
                _ => assert_refused(&format!("{algorithm}, {name}"), outcome, expected),
            }
            // A refusal leaves nothing behind.
            assert!(accept(&key, &good).is_ok(), "after {name}");
        }
        total += cases.len();
    }
    println!("tokens: {total} refused");
    assert!(total >= 4 * 300, "{total}");
}

/// Nothing a header says opens a connection: a listener that every link in it points to sees none.
#[test]
fn links_in_a_header_are_never_followed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/keys", listener.local_addr().unwrap());
    let (key, stranger) =
        (PrivateKey::generate(Algorithm::Es256).unwrap(), PrivateKey::generate(Algorithm::Es256).unwrap());
    let set = JwkSet::new([key.public().clone()]).unwrap();
    for signer in [&key, &stranger] {
        let links = format!(r#","jku":"{url}","x5u":"{url}","kid":"{}""#, key.kid());
        let token = signed(signer, header(&key, &links), PAYLOAD);
        let outcome = Unverified::parse(&token).unwrap().verify_with_set(&set);
        assert_eq!(outcome.is_ok(), core::ptr::eq(signer, &raw const key));
        let _ = accept(&key, &token);
    }
    std::thread::sleep(Duration::from_millis(50));
    let refused = listener.accept().unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::WouldBlock, "a connection was made");
}

/// A key id chooses among the keys of the set, and does nothing else.
pub(crate) fn kid_rows() -> Vec<Row> {
    let key = PrivateKey::generate(Algorithm::Es256).unwrap();
    let set = JwkSet::new([key.public().clone()]).unwrap();
    let mut rows = Vec::new();
    for kid in [
        "../../../../etc/passwd",
        "/dev/null",
        "file:///etc/passwd",
        "' OR 1=1 --",
        "x' UNION SELECT 'a",
        "$(id)",
        "|id",
        "http://169.254.169.254/",
        "%00",
        "${jndi:ldap://a}",
        "0",
        "null",
        "__proto__",
        "é",
        "\u{202e}",
    ] {
        let token = signed(&key, header(&key, &format!(",\"kid\":\"{kid}\"")), PAYLOAD);
        let outcome = Unverified::parse(&token).unwrap().verify_with_set(&set).map(drop);
        rows.push(row("compact token, set of keys", &format!("kid {kid:?}"), "unknown kid", outcome));
    }
    rows
}

#[test]
fn key_ids_that_are_not_in_the_set() {
    kid_rows().iter().for_each(Row::check);
}

/// What we write we can read; what we would refuse we do not write.
#[test]
fn encode_keeps_the_limits_of_parse() {
    let key = PrivateKey::generate(Algorithm::MlDsa44).unwrap();
    let fits = |len: usize| jws::encode(&key, &Header::new(), &vec![b'a'; len]);
    let overhead = fits(3).unwrap().len() - 4;
    let most = (jws::MAX_TOKEN - overhead) / 4 * 3;
    assert!(Unverified::parse(&fits(most).unwrap()).unwrap().verify(key.public()).is_ok());
    assert_refused("payload", fits(most + 3), "too large");
    assert_refused("nothing", jws::encode(&key, &Header::new(), b""), "not compact");
    assert_refused("typ", jws::encode(&key, &Header::new().typ(&"a".repeat(9_000)), b"x"), "too large");
    for kid in ["", "a\nb", &"a".repeat(513)] {
        assert_refused(
            kid,
            jws::encode(&key.clone().with_kid(kid), &Header::new(), b"x"),
            "header malformed",
        );
    }
    let odd = key.clone().with_kid("\"\\é");
    let token = jws::encode(&odd, &Header::new().typ("\"").cty("\\"), b"x").unwrap();
    let parsed = Unverified::parse(&token).unwrap();
    assert_eq!(
        (parsed.header().kid(), parsed.header().typ(), parsed.header().cty()),
        (Some("\"\\é"), Some("\""), Some("\\"))
    );
}

/// The signature's length is looked at before anything else of the token is decoded, and it is never computed with.
#[test]
fn a_wrong_length_is_seen_before_the_payload() {
    for algorithm in Algorithm::ALL {
        let token = format!("{}.***.AAAA", b64(format!(r#"{{"alg":"{algorithm}"}}"#)));
        assert_refused(algorithm.name(), Unverified::parse(&token), "signature length");
    }
}

/// Debug output of a token does not show what is not verified, nor that of a key its secret.
#[test]
fn debug_is_discreet() {
    let key = PrivateKey::from_secret(Algorithm::MlDsa44, &[0xc3; 32]).unwrap();
    let token = jws::encode(&key, &Header::new(), b"a private matter").unwrap();
    assert!(!format!("{:?}", Unverified::parse(&token).unwrap()).contains("private matter"));
    for shown in [format!("{key:?}"), format!("{:?}", key.to_jwk())] {
        assert!(!shown.contains(&b64([0xc3; 32])) && !shown.contains("195"), "{shown}");
    }
}

/// Refusing the worst token we can think of takes no longer than reading it once.
#[test]
fn hostile_tokens_are_refused_quickly() {
    let header = b64(r#"{"alg":"ML-DSA-44"}"#);
    let signature = b64(vec![0; 2420]);
    let fill = (65_536 - header.len() - signature.len() - 2) / 4 * 4;
    let deep = b64(format!("{{\"alg\":\"ES256\",\"x\":{}", "[".repeat(6_000)));
    let tokens = [
        ".".repeat(65_536),
        "A".repeat(65_536),
        format!("{header}.{}.{signature}", "*".repeat(fill)),
        format!("{header}.{}*.{signature}", "A".repeat(fill - 1)),
        format!("{header}.{}.", "A".repeat(65_000)),
        format!("{deep}.AAAA.{}", b64([0; 64])),
        "A".repeat(1 << 24),
    ];
    for token in tokens {
        let start = std::time::Instant::now();
        let rounds = 100;
        for _ in 0..rounds {
            assert!(Unverified::parse(&token).is_err());
        }
        let each = start.elapsed() / rounds;
        println!(
            "refused {} bytes in {each:?}: {}",
            token.len(),
            kind(&Unverified::parse(&token).unwrap_err())
        );
        // The goal is 50 µs in a release build; a debug build on a busy machine gets far more,
        // but not so much that time quadratic in the size would pass.
        assert!(each < Duration::from_millis(20), "{each:?}");
    }
}

/// Tokens of all kinds that are signed at once: each is what it would be alone, and stands where it stood.
#[test]
fn tokens_signed_together() {
    let keys: Vec<PrivateKey> = Algorithm::ALL
        .into_iter()
        .chain(Algorithm::ALL)
        .map(|one| PrivateKey::generate(one).unwrap())
        .collect();
    for count in [0, 1, 2, 3, 9, 70] {
        let order = |n: usize| &keys[n * 7 % keys.len()];
        let unsigned = |n: usize| {
            let header = Header::new().typ("JWT");
            Unsigned::new(order(n), &header, format!("{{\"n\":{n}}}").as_bytes()).unwrap()
        };
        let signed = Unsigned::sign_all((0..count).map(unsigned).collect());
        assert_eq!(signed.len(), count);
        for (n, token) in signed.into_iter().enumerate() {
            let token = token.unwrap();
            let verified = Unverified::parse(&token).unwrap().verify(order(n).public()).unwrap();
            assert_eq!(verified.payload(), format!("{{\"n\":{n}}}").as_bytes());
            let alone = unsigned(n).sign().unwrap();
            assert_eq!(alone.rsplit_once('.').unwrap().0, token.rsplit_once('.').unwrap().0);
            assert_eq!(alone.len(), token.len());
        }
    }
}
