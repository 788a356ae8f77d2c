//! The rules at their edges, and what they accept.

use std::time::Duration;

use sealstone_jose::jws::{self, Header, Unverified, Verified};
use sealstone_jose::jwt::{self, Claims, Rules, Token};
use sealstone_jose::{Algorithm, Error, PrivateKey, UnixSeconds};

use crate::{assert_refused, signed};

fn verified(key: &PrivateKey, token: &str) -> Verified {
    Unverified::parse(token).unwrap().verify(key.public()).unwrap()
}

fn key() -> PrivateKey {
    PrivateKey::from_secret(Algorithm::Ed25519, &[5; 32]).unwrap()
}

fn check(rules: &Rules, claims: &Claims, now: u64) -> Result<Token, Error> {
    let token = jwt::sign(&key(), "JWT", claims).unwrap();
    rules.check(verified(&key(), &token), UnixSeconds(now))
}

#[test]
fn rfc7519_s4_1_4_expiry_to_the_second() {
    let claims = Claims::new().with("exp", 1_000);
    for (leeway, last) in [(0, 999), (1, 1_000), (60, 1_059)] {
        let rules = Rules::new().leeway(Duration::from_secs(leeway));
        assert!(check(&rules, &claims, last).is_ok(), "leeway {leeway}");
        assert_refused("expired", check(&rules, &claims, last + 1), "expired");
    }
    // A leeway without bound does not overflow.
    assert!(check(&Rules::new().leeway(Duration::MAX), &claims, u64::MAX - 1).is_ok());
}

#[test]
fn rfc7519_s4_1_5_not_before_to_the_second() {
    let claims = Claims::new().with("exp", 2_000).with("nbf", 1_000);
    for (leeway, first) in [(0, 1_000), (1, 999), (60, 940)] {
        let rules = Rules::new().leeway(Duration::from_secs(leeway));
        assert!(check(&rules, &claims, first).is_ok(), "leeway {leeway}");
        assert_refused("early", check(&rules, &claims, first - 1), "not yet valid");
    }
}

#[test]
fn rfc7519_s4_1_6_issued_to_the_second() {
    let claims = Claims::new().with("exp", 9_000).with("iat", 1_000);
    let rules = Rules::new().leeway(Duration::from_secs(5));
    assert!(check(&rules, &claims, 995).is_ok());
    assert_refused("future", check(&rules, &claims, 994), "issued in future");
    let rules = Rules::new().max_age(Duration::from_secs(100));
    assert!(check(&rules, &claims, 1_100).is_ok());
    assert_refused("old", check(&rules, &claims, 1_101), "too old");
    assert_refused("no iat", check(&rules, &Claims::new().with("exp", 9_000), 1_000), "claim missing");
}

/// Half a second never makes a token live longer.
#[test]
fn rfc7519_s2_fractions_of_a_second() {
    let claims = Claims::parse(r#"{"exp":1000.9,"nbf":900.1,"iat":900.9}"#).unwrap();
    assert_eq!(claims.expires(), Some(UnixSeconds(1_000)));
    assert_eq!(claims.not_before(), Some(UnixSeconds(901)));
    assert_eq!(claims.issued(), Some(UnixSeconds(900)));
    assert_eq!(Claims::parse(r#"{"exp":1e3}"#).unwrap().expires(), Some(UnixSeconds(1_000)));
    assert_eq!(
        Claims::parse(r#"{"exp":253402300799}"#).unwrap().expires(),
        Some(UnixSeconds(253_402_300_799))
    );
    for bad in [r#"{"exp":"1"}"#, r#"{"exp":-1}"#, r#"{"exp":null}"#, "{}"] {
        assert_eq!(Claims::parse(bad).unwrap().expires(), None, "{bad}");
    }
}

#[test]
fn expiry_may_be_waived_but_not_ignored() {
    let rules = Rules::new().without_expiry();
    assert!(check(&rules, &Claims::new(), 1_000).is_ok());
    assert_refused("expired", check(&rules, &Claims::new().with("exp", 1_000), 1_000), "expired");
    assert_refused("malformed", check(&rules, &Claims::new().with("exp", "1000"), 1), "claim malformed");
}

#[test]
fn rfc7519_s4_1_3_audiences() {
    let base = Claims::new().with("exp", 2_000);
    let orders = Rules::new().audience("orders");
    for aud in
        [serde_json::json!("orders"), serde_json::json!(["orders"]), serde_json::json!(["billing", "orders"])]
    {
        let claims = base.clone().with("aud", aud);
        let token = check(&orders, &claims, 1_000).unwrap();
        assert!(token.claims().audiences().contains(&"orders"));
        // A token for somebody, to a reader who has not said who it is.
        assert_refused("nobody", check(&Rules::new(), &claims, 1_000), "audience");
        assert!(check(&Rules::new().any_audience(), &claims, 1_000).is_ok());
        assert_refused("other", check(&Rules::new().audience("stock"), &claims, 1_000), "audience");
    }
    assert_refused("none", check(&orders, &base, 1_000), "audience");
    assert!(check(&Rules::new().any_audience(), &base, 1_000).is_ok());
}

#[test]
fn rfc8725_s3_8_issuers() {
    let base = Claims::new().with("exp", 2_000);
    let claims = base.clone().with("iss", "a");
    assert!(check(&Rules::new().issuer("a"), &claims, 1_000).is_ok());
    assert_refused("other", check(&Rules::new().issuer("b"), &claims, 1_000), "issuer");
    assert_refused("unnamed", check(&Rules::new(), &claims, 1_000), "issuer");
    assert_refused("absent", check(&Rules::new().issuer("a"), &base, 1_000), "issuer");
    assert!(check(&Rules::new().any_issuer(), &claims, 1_000).is_ok());
    assert!(check(&Rules::new().any_issuer(), &base, 1_000).is_ok());
}

/// RFC 8725 §3.11: each kind of token against each kind of rule.
#[test]
fn rfc8725_s3_11_types() {
    let kinds = ["JWT", "at+jwt", "dpop+jwt", "logout+jwt"];
    let claims = Claims::new().with("exp", 2_000);
    for made in kinds {
        let token = jwt::sign(&key(), made, &claims).unwrap();
        for wanted in kinds {
            let outcome = Rules::new().typ(wanted).check(verified(&key(), &token), UnixSeconds(1_000));
            assert_eq!(outcome.is_ok(), made == wanted, "{made} as {wanted}");
        }
        let plain = Rules::new().check(verified(&key(), &token), UnixSeconds(1_000));
        assert_eq!(plain.is_ok(), made == "JWT", "{made} without a rule");
        assert!(Rules::new().any_typ().check(verified(&key(), &token), UnixSeconds(1_000)).is_ok());
    }
    // RFC 7515 §4.1.9: neither case nor the prefix counts.
    for typ in ["at+jwt", "AT+JWT", "application/at+jwt", "Application/At+Jwt"] {
        let token = jwt::sign(&key(), typ, &claims).unwrap();
        for wanted in ["at+jwt", "application/at+JWT"] {
            assert!(
                Rules::new().typ(wanted).check(verified(&key(), &token), UnixSeconds(1_000)).is_ok(),
                "{typ}"
            );
        }
    }
    // A type with a slash of its own keeps its prefix.
    let token = jwt::sign(&key(), "application/x/y", &claims).unwrap();
    assert_refused("x/y", Rules::new().typ("x/y").check(verified(&key(), &token), UnixSeconds(1_000)), "typ");
    let untyped = jws::encode(&key(), &Header::new(), claims.to_json().as_bytes()).unwrap();
    assert!(Rules::new().check(verified(&key(), &untyped), UnixSeconds(1_000)).is_ok());
    let other_content = jws::encode(&key(), &Header::new().cty("json"), claims.to_json().as_bytes()).unwrap();
    assert!(Rules::new().check(verified(&key(), &other_content), UnixSeconds(1_000)).is_ok());
}

#[test]
fn required_claims() {
    let rules = Rules::new().require("client_id");
    let base = Claims::new().with("exp", 2_000);
    assert!(check(&rules, &base.clone().with("client_id", "c"), 1_000).is_ok());
    assert_refused("absent", check(&rules, &base, 1_000), "claim missing");
    assert_refused(
        "null",
        check(&rules, &base.with("client_id", serde_json::Value::Null), 1_000),
        "claim missing",
    );
}

#[test]
fn claims_are_what_was_signed() {
    let claims = Claims::new()
        .with("iss", "i")
        .with("sub", "s")
        .with("jti", "j")
        .with("exp", 2_000)
        .with("nbf", 1)
        .with("iat", 2)
        .with("scope", "a b")
        .with("cnf", serde_json::json!({"jkt": "x"}));
    let token = check(&Rules::new().issuer("i"), &claims, 1_000).unwrap();
    let read = token.claims();
    assert_eq!(read, &claims);
    assert_eq!(
        (read.issuer(), read.subject(), read.id(), read.text("scope")),
        (Some("i"), Some("s"), Some("j"), Some("a b"))
    );
    assert_eq!(read.get("cnf").unwrap()["jkt"], "x");
    assert_eq!(read.members().len(), 8);
    assert_eq!(token.header().kid(), Some(key().kid()));
    assert_eq!(token.header().typ(), Some("JWT"));
    assert!(Claims::parse(r#"{"a":1,"a":1}"#).is_err());
}

/// 32 levels are read, so real claims (`authorization_details`, `verified_claims`) are.
#[test]
fn depth_up_to_the_limit() {
    let nested =
        |levels: usize| format!("{{\"exp\":2000,\"x\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
    let outcome = |levels| {
        let token = signed(&key(), r#"{"alg":"Ed25519"}"#, nested(levels));
        Rules::new().check(verified(&key(), &token), UnixSeconds(1_000))
    };
    assert!(outcome(31).is_ok());
    assert_refused("too deep", outcome(32), "json");
}
