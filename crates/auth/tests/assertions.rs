//! `private_key_jwt`: every rule of RFC 7523 section 3, and the attacks on it.

use std::sync::Arc;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use sealstone_auth::protocol::client_assertion::{JWT_BEARER, MAX_ASSERTION};
use sealstone_auth::protocol::{Code, OAuthError};
use sealstone_auth::{AssertionAudience, AssertionKeys, ClientKeys, Config, NewAuthentication, NewClient};
use sealstone_jose::jws::{self, Header};
use sealstone_jose::jwt::{self, Claims};
use sealstone_jose::{Algorithm, JwkSet, PrivateKey};
use serde_json::{Value, json};

use crate::support::{Guarded, House, Mood, Running, START, config};

const ISSUER: &str = "https://auth.example.org";

fn client_of(key: &PrivateKey, id: &str, audience: AssertionAudience) -> NewClient {
    let keys = JwkSet::new([key.public().clone()]).unwrap();
    NewClient {
        algorithm: Algorithm::Es256,
        authentication: NewAuthentication::PrivateKeyJwt(AssertionKeys { audience, keys: keys.into() }),
        id: Some(id.into()),
        ..NewClient::default()
    }
}

/// A house with the client `worker` and the key it signs with.
async fn with_worker(algorithm: Algorithm, audience: AssertionAudience) -> (House, PrivateKey) {
    let (house, key) = (House::build().await, PrivateKey::generate(algorithm).unwrap());
    let (_, secret) = house.admin.add_client(client_of(&key, "worker", audience)).await.unwrap();
    assert!(secret.is_none(), "there is nothing to hand over");
    house.refresh().await;
    (house, key)
}

fn claims(jti: &str) -> Claims {
    Claims::new()
        .with("iss", "worker")
        .with("sub", "worker")
        .with("aud", ISSUER)
        .with("iat", START)
        .with("exp", START + 60)
        .with("jti", jti)
}

fn without(name: &str) -> Claims {
    let mut members = claims("without").members().clone();
    members.remove(name);
    Claims::parse(&Value::Object(members).to_string()).unwrap()
}

fn form(assertion: &str) -> String {
    let kind = JWT_BEARER.replace(':', "%3A");
    format!("grant_type=client_credentials&client_assertion_type={kind}&client_assertion={assertion}")
}

async fn send(house: &House, headers: &[&[u8]], form: &str) -> Result<String, OAuthError> {
    house.authenticate(headers, None, form).await
}

async fn present(house: &House, assertion: &str) -> Result<String, OAuthError> {
    send(house, &[], &form(assertion)).await
}

async fn refused(house: &House, assertion: &str, why: &str) {
    let answer = present(house, assertion).await;
    assert_eq!(answer.map_err(|error| error.code), Err(Code::InvalidClient), "{why}");
}

#[tokio::test]
async fn rfc7523_s2_2_every_algorithm_of_the_house() {
    for algorithm in Algorithm::ALL {
        let (house, key) = with_worker(algorithm, AssertionAudience::Issuer).await;
        let assertion = jwt::sign(&key, "JWT", &claims("1")).unwrap();
        assert!(assertion.len() <= MAX_ASSERTION, "{algorithm}");
        assert_eq!(present(&house, &assertion).await.unwrap(), "worker", "{algorithm}");
        let named = format!("{}&client_id=worker", form(&jwt::sign(&key, "JWT", &claims("2")).unwrap()));
        assert_eq!(send(&house, &[], &named).await.unwrap(), "worker", "RFC 7521 §4.2: client_id is allowed");
    }
}

#[tokio::test]
async fn rfc7523_s3_7_replay() {
    let (house, key) = with_worker(Algorithm::Es256, AssertionAudience::Issuer).await;
    let assertion = jwt::sign(&key, "JWT", &claims("once")).unwrap();
    assert!(present(&house, &assertion).await.is_ok());
    let again = jwt::sign(&key, "JWT", &claims("once").with("exp", START + 200)).unwrap();
    for second in [&assertion, &again] {
        refused(&house, second, "the same jti").await;
    }
    // To its last second, and while the clock is set back.
    house.clock.advance(69);
    refused(&house, &assertion, "at the end of its leeway").await;
    house.clock.advance(1);
    assert!(house.store.prune(sealstone_auth::Clock::now(&*house.clock)).await.is_ok());
    house.clock.set_back(30);
    refused(&house, &assertion, "the clock was ahead for a while").await;
    // Another client may draw the same id.
    let other = PrivateKey::generate(Algorithm::Es256).unwrap();
    house.admin.add_client(client_of(&other, "other", AssertionAudience::Issuer)).await.unwrap();
    house.refresh().await;
    let theirs = claims("once").with("iss", "other").with("sub", "other");
    assert!(present(&house, &jwt::sign(&other, "JWT", &theirs).unwrap()).await.is_ok());
}

/// One assertion a thousand times at once over a real connection, and again after a restart: one token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rfc7523_s3_7_a_thousand_at_once_get_one_token() {
    let directory = tempfile::tempdir().unwrap();
    let config = || Config { issuer: Some(ISSUER.into()), ..config(directory.path()) };
    let server = Running::start(config()).await;
    let key = PrivateKey::generate(Algorithm::Es256).unwrap();
    let new = client_of(&key, "worker", AssertionAudience::Issuer);
    server.admin.add_client(new).await.unwrap();
    let now = sealstone_auth::Clock::now(&sealstone_auth::clock::SystemClock).0;
    let fresh =
        |jti: &str| jwt::sign(&key, "JWT", &claims(jti).with("iat", now).with("exp", now + 200)).unwrap();
    let request = |server: &Running, assertion: &str| {
        let request = server.request("POST", "/token");
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        request.body(Full::<Bytes>::from(form(assertion))).unwrap()
    };
    let known = async {
        let mut n = 0;
        while server.send(request(&server, &fresh(&format!("try {n}")))).await.status != 200 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            n += 1;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), known).await.unwrap();

    let assertion = fresh("raced");
    let io = TokioIo::new(server.connect("h2").await);
    let (sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let mut race = tokio::task::JoinSet::new();
    for _ in 0..1000 {
        let (mut sender, request) = (sender.clone(), request(&server, &assertion));
        race.spawn(async move { sender.send_request(request).await.unwrap().status().as_u16() });
    }
    let statuses = race.join_all().await;
    let count = |status| statuses.iter().filter(|found| **found == status).count();
    assert_eq!((count(200), count(401)), (1, 999));
    server.stop().await;

    let server = Running::start(config()).await;
    let again = server.send(request(&server, &assertion)).await;
    assert_eq!(again.refusal(), (401, "invalid_client".into()), "after a restart");
    assert_eq!(server.send(request(&server, &fresh("after"))).await.status, 200);
    server.stop().await;
}

/// draft-ietf-oauth-rfc7523bis §4: only the issuer, as a string, can be the audience.
#[tokio::test]
async fn rfc7523_s3_3_audience_injection() {
    let (house, key) = with_worker(Algorithm::Es256, AssertionAudience::Issuer).await;
    let token_endpoint = format!("{ISSUER}/token");
    let many: Vec<String> =
        (0..40).map(|n| format!("https://as{n}.example")).chain([ISSUER.into()]).collect();
    for aud in [
        json!(token_endpoint),
        json!([ISSUER]),
        json!([ISSUER, token_endpoint]),
        json!(["https://evil.example", ISSUER]),
        json!(many),
        json!([]),
        json!(format!("{ISSUER}/")),
        json!(format!("{ISSUER}/introspect")),
        json!(ISSUER.to_uppercase()),
        json!("https://evil.example"),
        json!(""),
        json!(1),
        json!(null),
    ] {
        let assertion = jwt::sign(&key, "JWT", &claims("aud").with("aud", aud.clone())).unwrap();
        refused(&house, &assertion, &aud.to_string()).await;
    }
    refused(&house, &jwt::sign(&key, "JWT", &without("aud")).unwrap(), "no aud").await;
    assert!(present(&house, &jwt::sign(&key, "JWT", &claims("aud")).unwrap()).await.is_ok());

    let (house, key) = with_worker(Algorithm::Es256, AssertionAudience::IssuerOrTokenEndpoint).await;
    for (jti, aud) in [("1", ISSUER), ("2", &token_endpoint)] {
        let assertion = jwt::sign(&key, "JWT", &claims(jti).with("aud", aud)).unwrap();
        assert!(present(&house, &assertion).await.is_ok(), "{aud}");
    }
    for aud in [json!([ISSUER, token_endpoint]), json!("https://evil.example/token"), json!("/token")] {
        let assertion = jwt::sign(&key, "JWT", &claims("3").with("aud", aud.clone())).unwrap();
        refused(&house, &assertion, &aud.to_string()).await;
    }
}

/// A token put together by hand: any header, and a MAC under `secret`.
fn maced(header: Value, secret: &[u8]) -> String {
    let part = |value: &str| URL_SAFE_NO_PAD.encode(value);
    let input = format!("{}.{}", part(&header.to_string()), part(&claims("mac").to_json()));
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), input.as_bytes());
    format!("{input}.{}", URL_SAFE_NO_PAD.encode(tag))
}

#[tokio::test]
async fn rfc8725_s2_1_algorithm_confusion() {
    for algorithm in [Algorithm::Es256, Algorithm::MlDsa65] {
        let (house, key) = with_worker(algorithm, AssertionAudience::Issuer).await;
        let jwk = key.public().to_jwk().to_json();
        let jwks = JwkSet::new([key.public().clone()]).unwrap().to_json();
        for secret in [key.public().as_bytes(), jwk.as_bytes(), jwks.as_bytes(), b""] {
            for alg in ["HS256", "hs256", "none", algorithm.name()] {
                let header = json!({"alg": alg, "kid": key.kid(), "typ": "JWT"});
                refused(&house, &maced(header, secret), alg).await;
            }
        }
        let good = jwt::sign(&key, "JWT", &claims("alg")).unwrap();
        let (_, rest) = good.split_once('.').unwrap();
        for alg in ["none", "None", "HS256", "HS512", "RS256", "ES384", "ML-DSA-44", ""] {
            let header = URL_SAFE_NO_PAD.encode(json!({"alg": alg, "kid": key.kid()}).to_string());
            refused(&house, &format!("{header}.{rest}"), alg).await;
            refused(&house, &format!("{header}.{}.", rest.split_once('.').unwrap().0), alg).await;
        }
        // The key that a header brings along is not the registered one.
        let mine = PrivateKey::generate(algorithm).unwrap().with_kid(key.kid());
        refused(&house, &jwt::sign(&mine, "JWT", &claims("alg")).unwrap(), "another key under this kid")
            .await;
        assert!(present(&house, &good).await.is_ok());
    }
}

#[tokio::test]
async fn rfc7523_s3_2_issuer_and_subject_are_the_client() {
    let (house, key) = with_worker(Algorithm::Es256, AssertionAudience::Issuer).await;
    let other = PrivateKey::generate(Algorithm::Es256).unwrap();
    house.admin.add_client(client_of(&other, "other", AssertionAudience::Issuer)).await.unwrap();
    let secret = house.es256().await;
    for (iss, sub) in [
        ("worker", "other"),
        ("other", "worker"),
        ("other", "other"),
        ("nobody", "nobody"),
        (&secret.id, &secret.id),
    ] {
        let forged = claims("iss").with("iss", iss).with("sub", sub);
        refused(&house, &jwt::sign(&key, "JWT", &forged).unwrap(), &format!("{iss}, {sub}")).await;
        // The kid of another client names no key of this one.
        let posed = key.clone().with_kid(other.kid());
        refused(&house, &jwt::sign(&posed, "JWT", &forged).unwrap(), "the kid of another client").await;
    }
    let posed = other.clone().with_kid(key.kid());
    refused(&house, &jwt::sign(&posed, "JWT", &claims("iss")).unwrap(), "signed by another client").await;
    refused(&house, &jwt::sign(&other, "JWT", &claims("iss")).unwrap(), "the kid of another client").await;
    for name in ["iss", "sub", "jti"] {
        refused(&house, &jwt::sign(&key, "JWT", &without(name)).unwrap(), name).await;
        for value in [json!(""), json!(1), json!(["worker"]), json!(null)] {
            let wrong = claims("iss").with(name, value);
            refused(&house, &jwt::sign(&key, "JWT", &wrong).unwrap(), name).await;
        }
    }
    let named = format!("{}&client_id=other", form(&jwt::sign(&key, "JWT", &claims("iss")).unwrap()));
    assert_eq!(send(&house, &[], &named).await.unwrap_err().code, Code::InvalidRequest);
    assert!(present(&house, &jwt::sign(&key, "JWT", &claims("iss")).unwrap()).await.is_ok());
}

#[tokio::test]
async fn rfc7523_s3_4_expired_or_far_away() {
    let (house, key) = with_worker(Algorithm::Es256, AssertionAudience::Issuer).await;
    let with = |claims: Claims| jwt::sign(&key, "JWT", &claims).unwrap();
    for exp in [json!(START - 10), json!(START - 3600), json!(START + 311), json!(START + 86_400), json!(0)] {
        refused(&house, &with(claims("exp").with("exp", exp.clone())), &exp.to_string()).await;
    }
    for exp in [json!("1800000060"), json!(-1), json!(1e300), json!(253_402_300_800_u64), json!(null)] {
        refused(&house, &with(claims("exp").with("exp", exp.clone())), &exp.to_string()).await;
    }
    refused(&house, &with(without("exp")), "no exp").await;
    refused(&house, &with(claims("nbf").with("nbf", START + 11)), "nbf").await;
    refused(&house, &with(claims("iat").with("iat", START + 11)), "iat").await;
    for (jti, exp) in [("1", START - 9), ("2", START + 310)] {
        assert!(present(&house, &with(claims(jti).with("exp", exp))).await.is_ok(), "{exp}");
    }
    assert!(
        present(&house, &with(claims("3").with("nbf", START + 10).with("iat", START + 10))).await.is_ok()
    );
}

#[tokio::test]
async fn rfc8725_s3_11_no_other_kind_of_token() {
    let (house, key) = with_worker(Algorithm::Es256, AssertionAudience::Issuer).await;
    for typ in ["at+jwt", "dpop+jwt", "logout+jwt", "oauth-authz-req+jwt", "secevent+jwt", "JWTx", ""] {
        refused(&house, &jwt::sign(&key, typ, &claims("typ")).unwrap(), typ).await;
    }
    let nested = jws::encode(&key, &Header::new().cty("JWT"), claims("typ").to_json().as_bytes()).unwrap();
    refused(&house, &nested, "a token within the token").await;
    for (jti, typ) in [("1", "JWT"), ("2", "jwt"), ("3", "client-authentication+jwt")] {
        assert!(present(&house, &jwt::sign(&key, typ, &claims(jti)).unwrap()).await.is_ok(), "{typ}");
    }
    let untyped = jws::encode(&key, &Header::new(), claims("4").to_json().as_bytes()).unwrap();
    assert!(present(&house, &untyped).await.is_ok(), "RFC 7523 demands no typ");
}

#[tokio::test]
async fn rfc6749_s2_3_an_assertion_beside_another_method() {
    let (house, key) = with_worker(Algorithm::Es256, AssertionAudience::Issuer).await;
    let assertion = jwt::sign(&key, "JWT", &claims("two")).unwrap();
    let (form, basic) = (form(&assertion), "Basic d29ya2VyOng=".as_bytes());
    let code = async |headers: &[&[u8]], form: &str| send(&house, headers, form).await.unwrap_err().code;
    assert_eq!(code(&[basic], &form).await, Code::InvalidRequest);
    assert_eq!(code(&[], &format!("{form}&client_secret=x")).await, Code::InvalidRequest);
    assert_eq!(code(&[], &format!("client_assertion={assertion}")).await, Code::InvalidRequest);
    assert_eq!(code(&[], &form.replace("&client_assertion=", "&x=")).await, Code::InvalidRequest);
    assert_eq!(code(&[], &form.replace("jwt-bearer", "saml2-bearer")).await, Code::InvalidClient);
    // A client with keys has no secret, not even an empty one.
    assert_eq!(code(&[basic], "").await, Code::InvalidClient);
    assert_eq!(code(&[b"Basic d29ya2VyOg=="], "").await, Code::InvalidClient);
    assert_eq!(code(&[], "client_id=worker&client_secret=x").await, Code::InvalidClient);
    assert!(send(&house, &[], &form).await.is_ok());
}

/// What is refused costs the store nothing, and what is huge costs no signature.
#[tokio::test]
async fn the_store_is_asked_last() {
    let store = Guarded::new();
    let house = House::with(store.clone(), &[Algorithm::Es256, Algorithm::MlDsa65]).await;
    let key = PrivateKey::generate(Algorithm::Es256).unwrap();
    house.admin.add_client(client_of(&key, "worker", AssertionAudience::Issuer)).await.unwrap();
    house.refresh().await;
    let before = store.calls();
    store.set(Mood::Panic);
    let good = jwt::sign(&key, "JWT", &claims("last")).unwrap();
    let forged = format!("{}AAAA", &good[..good.len() - 4]);
    let huge = jwt::sign(&key, "JWT", &claims("huge").with("x", "x".repeat(8_000))).unwrap();
    for (assertion, why) in [(&forged, "forged"), (&huge, "huge"), (&"x".repeat(60_000), "not a token")] {
        refused(&house, assertion, why).await;
    }
    refused(&house, &jwt::sign(&key, "JWT", &claims("sub").with("sub", "x")).unwrap(), "sub").await;
    assert_eq!(store.calls(), before);
    store.set(Mood::Serve);
    assert!(present(&house, &good).await.is_ok());
    assert_eq!(store.calls(), before + 1, "one question");
}

#[tokio::test]
async fn a_client_with_keys_needs_one_that_can_be_used() {
    let house = House::build().await;
    for keys in [&br#"{"keys":[]}"#[..], br#"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}"#] {
        let keys = ClientKeys::parse(keys).unwrap();
        let keys = AssertionKeys { audience: AssertionAudience::Issuer, keys };
        let authentication = NewAuthentication::PrivateKeyJwt(keys);
        let wrong = house.admin.add_client(NewClient { authentication, ..NewClient::default() }).await;
        assert!(matches!(wrong, Err(sealstone_auth::Error::ClientInvalid { field: "JWK set", .. })));
    }
    let key = PrivateKey::generate(Algorithm::MlDsa87).unwrap();
    let new = client_of(&key, "worker", AssertionAudience::IssuerOrTokenEndpoint);
    let (added, _) = house.admin.add_client(new).await.unwrap();
    let [(stored, _)] = &house.admin.list_clients().await.unwrap()[..] else { panic!() };
    assert_eq!(*stored, added, "what is stored is what was added");
    let _ = Arc::clone(&house.store);
}
