//! The flows over a store in memory and a clock set by hand.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use sealstone_auth::protocol::discovery;
use sealstone_auth::protocol::{Code, OAuthError, Parameters};
use sealstone_auth::store::{Kind, NewRecord, Sqlite, Version, Write};
use sealstone_auth::{AuthMethod, Grant, Issuer, NewAuthentication, NewClient};
use sealstone_jose::jws::Unverified;
use sealstone_jose::jwt::{self, Claims, Rules};
use sealstone_jose::{Algorithm, JwkSet, PrivateKey, UnixSeconds};
use serde_json::{Value, json};

use crate::support::{Credentials, Guarded, House, Mood, START, names};

const GRANT: &str = "grant_type=client_credentials";

fn code<T: std::fmt::Debug>(answer: Result<T, OAuthError>) -> Code {
    answer.unwrap_err().code
}

/// The header and claims of a token, as anybody can read them.
fn parts(token: &str) -> (Value, Value) {
    let part = |n: usize| {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token.split('.').nth(n).unwrap()).unwrap()).unwrap()
    };
    (part(0), part(1))
}

#[tokio::test]
async fn rfc6749_s4_4_client_credentials() {
    let house = House::build().await;
    let who = house.client(NewClient { scopes: names(&["read", "write"]), ..NewClient::default() }).await;
    let answer = house.ask(&who, GRANT).unwrap();
    assert_eq!((answer.token_type, answer.expires_in), ("Bearer", 900));
    assert_eq!(answer.scope.as_deref(), Some("read write"));
}

#[tokio::test]
async fn rfc9068_s2_2_claims_and_header() {
    let house = House::build().await;
    let who = house.client(NewClient { scopes: names(&["read"]), ..NewClient::default() }).await;
    let (header, claims) = parts(&house.token(&who));
    let kid = house.live.snapshot().keys.active(Algorithm::MlDsa65).unwrap().kid().to_owned();
    assert_eq!(header, json!({"alg": "ML-DSA-65", "typ": "at+jwt", "kid": kid}));
    let jti = claims["jti"].as_str().unwrap();
    assert_eq!(
        claims,
        json!({
            "iss": "https://auth.example.org", "sub": who.id, "client_id": who.id, "aud": "https://auth.example.org",
            "iat": START, "exp": START + 900, "jti": jti, "scope": "read",
        })
    );
    assert_eq!(URL_SAFE_NO_PAD.decode(jti).unwrap().len(), 16, "128 bits");
    let (_, again) = parts(&house.token(&who));
    assert_ne!(claims["jti"], again["jti"]);
}

/// The whole way with each algorithm: issued, checked offline by the JWK set, introspected, revoked.
#[tokio::test]
async fn each_algorithm_walks_the_whole_way() {
    let house = House::with(Arc::new(Sqlite::in_memory().unwrap()), &Algorithm::ALL).await;
    let jwks = JwkSet::parse(house.live.snapshot().keys.jwks().as_bytes()).unwrap();
    assert_eq!(jwks.keys().len(), Algorithm::ALL.len());
    for algorithm in Algorithm::ALL {
        let who = house.client(NewClient { algorithm, ..NewClient::default() }).await;
        let token = house.token(&who);
        let unverified = Unverified::parse(&token).unwrap();
        assert_eq!(unverified.header().algorithm(), algorithm);
        let verified = unverified.verify_with_set(&jwks).unwrap();
        let rules = Rules::new()
            .issuer("https://auth.example.org")
            .audience("https://auth.example.org")
            .typ("at+jwt");
        rules.check(verified, UnixSeconds(START)).unwrap();
        assert_eq!(house.introspect(&who, &token)["active"], true, "{algorithm:?}");
        assert!(house.revoke(&who, &format!("token={token}")).await.unwrap().is_some());
        assert_eq!(house.introspect(&who, &token), json!({"active": false}), "{algorithm:?}");
    }
}

#[tokio::test]
async fn rfc6749_s3_3_scope() {
    let house = House::build().await;
    let who = house.client(NewClient {
        algorithm: Algorithm::Es256,
        scopes: names(&["a", "b"]),
        ..NewClient::default()
    });
    let who = who.await;
    let scope = |asked: &str| house.ask(&who, &format!("{GRANT}&scope={asked}"));
    assert_eq!(scope("b").unwrap().scope.as_deref(), Some("b"));
    assert_eq!(scope("b+a+b").unwrap().scope.as_deref(), Some("a b"));
    assert_eq!(scope("").unwrap().scope.as_deref(), Some("a b"), "an empty value counts as omitted");
    for asked in ["c", "a+c", "a++b", "+a", "a+", "%22", "a%5Cb", "%C3%A9"] {
        assert_eq!(code(scope(asked)), Code::InvalidScope, "{asked}");
    }
    let none = house.es256().await;
    assert_eq!(house.ask(&none, GRANT).unwrap().scope, None);
    assert_eq!(code(house.ask(&none, &format!("{GRANT}&scope=a"))), Code::InvalidScope);
}

#[tokio::test]
async fn rfc8707_s2_resource_narrows_the_audience() {
    let house = House::build().await;
    let audiences = vec!["https://a.example".to_owned(), "https://b.example".to_owned()];
    let who =
        house.client(NewClient { algorithm: Algorithm::Es256, audiences, ..NewClient::default() }).await;
    let aud = |form: &str| house.ask(&who, form).map(|answer| parts(&answer.access_token).1["aud"].clone());
    assert_eq!(aud(GRANT).unwrap(), json!(["https://a.example", "https://b.example"]));
    assert_eq!(aud(&format!("{GRANT}&resource=https://b.example")).unwrap(), json!("https://b.example"));
    let both = format!("{GRANT}&resource=https://b.example&resource=https://a.example");
    assert_eq!(aud(&both).unwrap(), json!(["https://b.example", "https://a.example"]));
    assert_eq!(code(aud(&format!("{GRANT}&resource=https://c.example"))), Code::InvalidTarget);
    assert_eq!(code(aud(&format!("{GRANT}&resource=https://a.example/"))), Code::InvalidTarget);
}

#[tokio::test]
async fn rfc6749_s5_2_grants_that_are_not_given() {
    let house = House::build().await;
    let who = house.es256().await;
    assert_eq!(code(house.ask(&who, "")), Code::InvalidRequest);
    assert_eq!(code(house.ask(&who, "grant_type=")), Code::InvalidRequest);
    for grant in ["password", "implicit", "urn:example:other", "Client_Credentials", "client_credentials%00"]
    {
        assert_eq!(
            code(house.ask(&who, &format!("grant_type={grant}"))),
            Code::UnsupportedGrantType,
            "{grant}"
        );
    }
    let watcher = house.client(NewClient { grants: Default::default(), ..NewClient::default() }).await;
    assert_eq!(code(house.ask(&watcher, GRANT)), Code::UnauthorizedClient);
}

#[tokio::test]
async fn rfc6749_s3_2_parameters_that_are_not_once_or_not_text() {
    let parse = |body: &[u8]| Parameters::parse(body).map(|_| ());
    assert!(parse(b"").is_ok());
    assert!(parse(b"&&a=1&&unknown=2&").is_ok(), "unknown names are ignored");
    assert!(parse(b"resource=1&resource=2").is_ok(), "RFC 8707 lets it repeat");
    for body in [
        &b"a=1&a=2"[..],
        b"a=1&a=1",
        b"a=1&%61=2",
        b"a=1&a",
        b"a=%",
        b"a=%1",
        b"a=%zz",
        b"a=%+1",
        b"a=%ff",
        b"%ff=a",
        b"a=\xff",
        b"\xef\xbb\xbf=\xff",
    ] {
        assert_eq!(code(parse(body)), Code::InvalidRequest, "{}", body.escape_ascii());
    }
    let many: String = (0..65).map(|n| format!("p{n}=1&")).collect();
    assert_eq!(code(parse(many.as_bytes())), Code::InvalidRequest);
}

#[tokio::test]
async fn rfc6749_appendix_b_decoding() {
    let parameters = Parameters::parse(b"a=%C3%A9+%2B%26&b=x=y").unwrap();
    assert_eq!(parameters.value("a"), Some("\u{e9} +&"));
    assert_eq!(parameters.value("b"), Some("x=y"));
}

async fn authenticate(house: &House, headers: &[&str], form: &str) -> Result<String, OAuthError> {
    let headers: Vec<&[u8]> = headers.iter().map(|header| header.as_bytes()).collect();
    house.authenticate(&headers, None, form).await
}

#[tokio::test]
async fn rfc6749_s2_3_1_basic_and_post() {
    let house = House::build().await;
    let who = house.es256().await;
    let id = &who.id;
    assert_eq!(authenticate(&house, &[&who.basic()], "").await.unwrap(), *id);
    assert_eq!(authenticate(&house, &[&who.basic()], &format!("client_id={id}")).await.unwrap(), *id);
    let post = NewClient { authentication: NewAuthentication::ClientSecretPost, ..NewClient::default() };
    let Credentials { id: posting, secret: posted } = house.client(post).await;
    let form = format!("client_id={posting}&client_secret={posted}");
    assert_eq!(authenticate(&house, &[], &form).await.unwrap(), posting);
    let scheme = who.basic().replace("Basic ", "bAsIc  ");
    assert_eq!(
        authenticate(&house, &[&scheme], "").await.unwrap(),
        *id,
        "RFC 9110 §11.1: case does not count"
    );
}

#[tokio::test]
async fn rfc6749_s2_3_1_basic_is_form_urlencoded_inside() {
    let house = House::build().await;
    let id = Some("a:b+c%/\u{7e}".to_owned());
    let who = house.client(NewClient { id, algorithm: Algorithm::Es256, ..NewClient::default() }).await;
    let encoded = format!("Basic {}", STANDARD.encode(format!("a%3Ab%2Bc%25%2F~:{}", who.secret)));
    assert_eq!(authenticate(&house, &[&encoded], "").await.unwrap(), who.id);
    let raw = who.basic();
    assert_eq!(code(authenticate(&house, &[&raw], "").await), Code::InvalidClient);
}

/// A client has the one method that it is registered for: the right secret by the other one is no proof.
#[tokio::test]
async fn rfc7591_s2_only_the_registered_method() {
    let house = House::build().await;
    for authentication in [NewAuthentication::ClientSecretBasic, NewAuthentication::ClientSecretPost] {
        let registered = format!("{authentication:?}");
        let who = house.client(NewClient { authentication, ..NewClient::default() }).await;
        let form = format!("client_id={}&client_secret={}", who.id, who.secret);
        let wrong = format!("client_id={}&client_secret={}", who.id, who.secret.to_uppercase());
        let by_header = authenticate(&house, &[&who.basic()], "").await;
        let by_form = authenticate(&house, &[], &form).await;
        let (good, bad) = match &*registered {
            "ClientSecretBasic" => (by_header, by_form),
            _ => (by_form, by_header),
        };
        assert_eq!(good.unwrap(), who.id);
        let (bad, wrong) = (bad.unwrap_err(), authenticate(&house, &[], &wrong).await.unwrap_err());
        assert_eq!((bad.code, &bad.description), (Code::InvalidClient, &wrong.description), "{registered}");
        assert!(bad.hint.unwrap().contains("is registered for"), "the operator learns why");
    }
}

/// What a server before the choice of methods has written.
#[tokio::test]
async fn a_record_without_a_method_is_of_client_secret_basic() {
    let house = House::build().await;
    let who = Credentials { id: "old".into(), secret: "a secret of before".into() };
    let body =
        br#"{"algorithm":"ES256","audiences":[],"created_at":1799999999,"grants":["client_credentials"],
        "name":"","resources":[],"scopes":[],"secret_sha256":"ts0LrLAgCoj7ZVjzuqBCx96KgjIuNf15byx2WjQ2JBc",
        "token_lifetime_seconds":900}"#;
    let record = NewRecord { kind: Kind::Client, id: who.id.clone(), expires_at: None, body: body.to_vec() };
    assert_ne!(house.store.insert(record, UnixSeconds(START)).await.unwrap(), Write::Refused);
    house.refresh().await;
    assert!(house.ask(&who, GRANT).is_ok());
    let form = format!("client_id={}&client_secret=a+secret+of+before", who.id);
    assert_eq!(code(authenticate(&house, &[], &form).await), Code::InvalidClient);
}

#[tokio::test]
async fn rfc6749_s2_3_two_methods_refused() {
    let house = House::build().await;
    let who = house.es256().await;
    let Credentials { id, secret } = &who;
    let basic = who.basic();
    for (headers, form) in [
        (vec![basic.as_str()], format!("client_id={id}&client_secret={secret}")),
        (vec![basic.as_str()], format!("client_secret={secret}")),
        (vec![basic.as_str(), basic.as_str()], String::new()),
        (vec![basic.as_str()], "client_id=other".into()),
        (vec![basic.as_str()], "client_assertion=x".into()),
        (vec![], format!("client_secret={secret}")),
    ] {
        assert_eq!(code(authenticate(&house, &headers, &form).await), Code::InvalidRequest, "{form}");
    }
}

#[tokio::test]
async fn rfc6749_s5_2_failed_authentication_looks_the_same() {
    let house = House::build().await;
    let who = house.es256().await;
    let wrong = Credentials { secret: who.secret.to_uppercase(), ..who.clone() };
    let unknown = Credentials { id: "nobody".into(), ..who.clone() };
    let first = authenticate(&house, &[&wrong.basic()], "").await.unwrap_err();
    let second = authenticate(&house, &[&unknown.basic()], "").await.unwrap_err();
    assert_eq!((first.code, &first.description), (second.code, &second.description));
    assert_eq!(first.code, Code::InvalidClient);
    for header in [
        "Basic",
        "Basic ",
        "Basic !!!!",
        "Basic YTpi\n",
        "Basic YQ",
        "Basic YQ==",
        "Basic /w==",
        "Bearer x",
        "Digest x",
        "YTpi",
        "",
        "Basic JTp4",
    ] {
        assert_eq!(code(authenticate(&house, &[header], "").await), Code::InvalidClient, "{header:?}");
    }
    assert_eq!(code(authenticate(&house, &[], "").await), Code::InvalidClient);
    assert_eq!(code(authenticate(&house, &[], &format!("client_id={}", who.id)).await), Code::InvalidClient);
}

#[tokio::test]
async fn rfc7662_s2_2_active_token() {
    let house = House::build().await;
    let new = NewClient { algorithm: Algorithm::Es256, scopes: names(&["read"]), ..NewClient::default() };
    let who = house.client(new).await;
    let token = house.token(&who);
    let (_, claims) = parts(&token);
    let mut expected = claims;
    expected["active"] = true.into();
    expected["token_type"] = "Bearer".into();
    assert_eq!(house.introspect(&who, &token), expected);
}

#[tokio::test]
async fn rfc7662_s2_2_inactive_says_nothing_more() {
    let house = House::build().await;
    let who = house.es256().await;
    let token = house.token(&who);
    let inactive = json!({"active": false});
    for foreign in
        ["x", "a.b.c", "...", &token[..token.len() - 4], &format!("{token}AA"), &token.to_uppercase()]
    {
        assert_eq!(house.introspect(&who, foreign), inactive, "{foreign}");
    }
    // Of another server: the same claims under a key that is not ours.
    let key = PrivateKey::generate(Algorithm::Es256).unwrap();
    let claims = Claims::parse(&parts(&token).1.to_string()).unwrap();
    assert_eq!(house.introspect(&who, &jwt::sign(&key, "at+jwt", &claims).unwrap()), inactive);
    let kid = house.live.snapshot().keys.active(Algorithm::Es256).unwrap().kid().to_owned();
    assert_eq!(house.introspect(&who, &jwt::sign(&key.with_kid(&kid), "at+jwt", &claims).unwrap()), inactive);
    // Past its time: `exp` is the first second in which it is over.
    house.clock.advance(899);
    assert_eq!(house.introspect(&who, &token)["active"], true);
    house.clock.advance(1);
    assert_eq!(house.introspect(&who, &token), inactive);
}

#[tokio::test]
async fn rfc7662_s4_only_the_client_and_its_resource_servers_may_see() {
    let house = House::build().await;
    let audiences = vec!["https://orders.example".to_owned()];
    let new = NewClient { algorithm: Algorithm::Es256, audiences, ..NewClient::default() };
    let (who, other) = (house.client(new).await, house.es256().await);
    let resource = NewClient {
        grants: Default::default(),
        resources: vec!["https://orders.example".into()],
        ..NewClient::default()
    };
    let orders = house.client(resource).await;
    let token = house.token(&who);
    assert_eq!(house.introspect(&who, &token)["active"], true);
    assert_eq!(house.introspect(&orders, &token)["active"], true);
    assert_eq!(house.introspect(&other, &token), json!({"active": false}));
}

#[tokio::test]
async fn rfc7662_s2_2_tokens_of_a_removed_client() {
    let house = House::build().await;
    let audiences = vec!["https://orders.example".to_owned()];
    let id = Some("worker".to_owned());
    let new =
        NewClient { algorithm: Algorithm::Es256, audiences: audiences.clone(), id, ..NewClient::default() };
    let who = house.client(new.clone()).await;
    let orders = house.client(NewClient { resources: audiences, ..NewClient::default() }).await;
    let token = house.token(&who);
    assert_eq!(house.introspect(&orders, &token)["active"], true);
    house.admin.remove_client("worker", None).await.unwrap();
    house.refresh().await;
    assert_eq!(house.introspect(&orders, &token), json!({"active": false}));
    assert_eq!(code(house.ask(&who, GRANT)), Code::InvalidClient);
    // The same id again is another client: it revives no token, and the old secret stays dead.
    house.clock.advance(1);
    let anew = house.client(new).await;
    assert_eq!(house.introspect(&orders, &token), json!({"active": false}));
    assert_eq!(code(house.ask(&who, GRANT)), Code::InvalidClient);
    assert!(house.ask(&anew, GRANT).is_ok());
}

#[tokio::test]
async fn rfc7009_s2_1_own_token() {
    let house = House::build().await;
    let who = house.es256().await;
    let (token, kept) = (house.token(&who), house.token(&who));
    let marked = house.revoke(&who, &format!("token={token}&token_type_hint=refresh_token")).await.unwrap();
    assert_eq!(marked.as_deref(), parts(&token).1["jti"].as_str());
    assert_eq!(house.introspect(&who, &token), json!({"active": false}));
    assert_eq!(house.introspect(&who, &kept)["active"], true);
    assert_eq!(
        house.revoke(&who, &format!("token={token}")).await.unwrap(),
        marked,
        "a second time is no error"
    );
    assert_eq!(house.live.snapshot().revocations.len(), 1);
}

#[tokio::test]
async fn rfc7009_s2_2_unknown_token_is_a_success() {
    let house = House::build().await;
    let who = house.es256().await;
    for token in ["x", "a.b.c", "eyJhbGciOiJub25lIn0.e30."] {
        assert_eq!(
            house.revoke(&who, &format!("token={token}&token_type_hint=nonsense")).await.unwrap(),
            None
        );
    }
    let expired = house.token(&who);
    house.clock.advance(900);
    assert_eq!(house.revoke(&who, &format!("token={expired}")).await.unwrap(), None);
    assert_eq!(code(house.revoke(&who, "").await), Code::InvalidRequest);
}

#[tokio::test]
async fn rfc7009_s2_1_another_clients_token_is_refused() {
    let house = House::build().await;
    let (who, thief) = (house.es256().await, house.es256().await);
    let token = house.token(&who);
    assert_eq!(code(house.revoke(&thief, &format!("token={token}")).await), Code::InvalidGrant);
    assert_eq!(house.introspect(&who, &token)["active"], true);
}

#[tokio::test]
async fn rfc7009_s2_2_1_unsupported_token_type() {
    let house = House::build().await;
    let who = house.es256().await;
    // A token that this server's key signed as something else. The sealer is the test's, so the key can be had.
    let records = house.store.list(Kind::SigningKey, Version::ZERO, UnixSeconds(START)).await.unwrap();
    let record = records.iter().find(|record| record.id == "ES256/1").unwrap();
    let body: Value = serde_json::from_slice(&record.body).unwrap();
    let sealed = URL_SAFE_NO_PAD.decode(body["sealed"].as_str().unwrap()).unwrap();
    let sealer = sealstone_auth::keys::Sealer::from_key(&[7; 32]).unwrap();
    let secret = sealer.open_sealed(sealstone_auth::keys::Secret::SigningKey, "ES256/1", &sealed).unwrap();
    let key = PrivateKey::from_secret(Algorithm::Es256, &secret).unwrap();
    let claims = Claims::parse(&parts(&house.token(&who)).1.to_string()).unwrap();
    let other = jwt::sign(&key, "JWT", &claims).unwrap();
    assert_eq!(code(house.revoke(&who, &format!("token={other}")).await), Code::UnsupportedTokenType);
    assert_eq!(
        house.introspect(&who, &other),
        json!({"active": false}),
        "RFC 8725 §3.11: one kind is not another"
    );
    assert!(house.check(&jwt::sign(&key, "at+jwt", &claims).unwrap()).is_some(), "only the type was wrong");
}

/// A clock that is set back, or a node whose clock is behind: the token says it was issued after now. It was taken for
/// none of ours, its revocation was answered with success and left no mark, and later the token held.
#[tokio::test]
async fn rfc7009_s2_2_a_revocation_is_not_lost_while_the_clock_is_behind() {
    let house = House::build().await;
    let who = house.es256().await;
    let token = house.token(&who);
    house.clock.set_back(5);
    assert!(
        house.revoke(&who, &format!("token={token}")).await.unwrap().is_some(),
        "it is ours: it has a mark"
    );
    house.clock.advance(6);
    assert_eq!(house.introspect(&who, &token), json!({"active": false}));
}

/// A clock that runs ahead for a while: the mark ended early and was deleted, and when the clock was right again the
/// revoked token held.
#[tokio::test]
async fn rfc7009_s2_2_a_revocation_is_not_lost_while_the_clock_is_ahead() {
    let house = House::build().await;
    let who = house.es256().await;
    let token = house.token(&who);
    house.revoke(&who, &format!("token={token}")).await.unwrap();
    house.clock.advance(600 + 300);
    house.store.prune(sealstone_auth::Clock::now(&*house.clock)).await.unwrap();
    house.clock.set_back(300);
    // Another server on the same store, or this one after a restart, knows what the store knows.
    let marks = house.store.list(Kind::Revocation, Version::ZERO, UnixSeconds(START + 600)).await.unwrap();
    assert_eq!(marks.len(), 1, "the token has 300 of its 900 seconds left");
}

#[tokio::test]
async fn rfc7009_s3_marks_end_with_their_tokens() {
    let house = House::build().await;
    let who = house.es256().await;
    let first = house.token(&who);
    house.revoke(&who, &format!("token={first}")).await.unwrap();
    assert_eq!(house.live.snapshot().revocations.len(), 1);
    house.clock.advance(900 + 300);
    assert_eq!(house.store.prune(sealstone_auth::Clock::now(&*house.clock)).await.unwrap(), 1);
    let second = house.token(&who);
    house.revoke(&who, &format!("token={second}")).await.unwrap();
    assert_eq!(house.live.snapshot().revocations.len(), 1, "the mark that ended is gone from memory too");
}

#[test]
fn rfc8414_s3_1_addresses() {
    let plain = Issuer::parse("https://auth.example.org", false).unwrap();
    assert_eq!(discovery::oauth_path(&plain), "/.well-known/oauth-authorization-server");
    assert_eq!(discovery::openid_path(&plain), "/.well-known/openid-configuration");
    let tenant = Issuer::parse("https://auth.example.org:8443/tenant/1", false).unwrap();
    assert_eq!(discovery::oauth_path(&tenant), "/.well-known/oauth-authorization-server/tenant/1");
    assert_eq!(discovery::openid_path(&tenant), "/tenant/1/.well-known/openid-configuration");
    let metadata = discovery::metadata(&tenant, &[Algorithm::MlDsa65], &AuthMethod::ALL);
    assert_eq!(metadata["token_endpoint"], "https://auth.example.org:8443/tenant/1/token");
    assert_eq!(metadata["issuer"], "https://auth.example.org:8443/tenant/1");
    assert_eq!(metadata["grant_types_supported"], json!(Grant::ALL.map(Grant::name)));
    for endpoint in ["token", "introspection", "revocation"] {
        let mut methods = AuthMethod::ALL.map(AuthMethod::name).to_vec();
        // RFC 7662 §2.1: who introspects must have proved who it is.
        methods.retain(|method| endpoint != "introspection" || *method != "none");
        assert_eq!(metadata[format!("{endpoint}_endpoint_auth_methods_supported")], json!(methods));
        // RFC 8414 §2: required where a method is by a signed token, and without `none`.
        let algorithms =
            json!([&Algorithm::ALL.map(Algorithm::name)[..], &["HS256", "HS384", "HS512"]].concat());
        assert_eq!(metadata[format!("{endpoint}_endpoint_auth_signing_alg_values_supported")], algorithms);
    }
}

#[test]
fn rfc8414_s3_2_no_member_is_empty() {
    let issuer = Issuer::parse("https://auth.example.org", false).unwrap();
    let metadata = discovery::metadata(&issuer, &[Algorithm::MlDsa65], &[AuthMethod::ClientSecretBasic]);
    for required in ["issuer", "token_endpoint", "response_types_supported"] {
        assert!(metadata.get(required).is_some(), "{required} is required by section 2");
    }
    for (name, value) in metadata.as_object().unwrap() {
        assert_ne!(value, &json!([]), "{name}");
    }
}

#[tokio::test]
async fn client_credentials_and_introspection_never_ask_the_store() {
    let store = Guarded::new();
    let house = House::with(store.clone(), &[Algorithm::Es256, Algorithm::MlDsa65]).await;
    let who = house.es256().await;
    let before = store.calls();
    store.set(Mood::Panic);
    for _ in 0..100 {
        let token = house.token(&who);
        assert_eq!(house.introspect(&who, &token)["active"], true);
    }
    assert!(house.ask(&who, "grant_type=nonsense").is_err());
    assert_eq!(store.calls(), before);
}

#[tokio::test]
async fn each_field_of_a_client_has_its_bounds() {
    let house = House::build().await;
    let long = "x".repeat(129);
    let wrong = [
        NewClient { id: Some(String::new()), ..NewClient::default() },
        NewClient { id: Some("a b".into()), ..NewClient::default() },
        NewClient { id: Some("\u{e9}".into()), ..NewClient::default() },
        NewClient { id: Some(long.clone()), ..NewClient::default() },
        NewClient { name: "a\nb".into(), ..NewClient::default() },
        NewClient { scopes: names(&["a b"]), ..NewClient::default() },
        NewClient { scopes: names(&["a\"b"]), ..NewClient::default() },
        NewClient { scopes: names(&[""]), ..NewClient::default() },
        NewClient { audiences: vec![String::new()], ..NewClient::default() },
        NewClient { resources: vec!["a b".into()], ..NewClient::default() },
        NewClient { algorithm: Algorithm::MlDsa87, ..NewClient::default() },
        NewClient { token_lifetime_seconds: 0, ..NewClient::default() },
        NewClient { token_lifetime_seconds: 86_401, ..NewClient::default() },
    ];
    for new in wrong {
        let refused = house.admin.add_client(new.clone()).await.unwrap_err();
        assert!(matches!(refused, sealstone_auth::Error::ClientInvalid { .. }), "{new:?}: {refused}");
        assert!(refused.hint().is_some());
    }
    assert!(house.admin.list_clients().await.unwrap().is_empty(), "nothing half-written");
}

#[tokio::test]
async fn clients_come_and_go_by_version() {
    let house = House::build().await;
    let id = Some("worker".to_owned());
    let new = NewClient {
        audiences: vec!["https://orders.example".into()],
        id: id.clone(),
        name: "the worker".into(),
        resources: vec!["https://worker.example".into()],
        scopes: names(&["read"]),
        token_lifetime_seconds: 60,
        ..NewClient::default()
    };
    let (added, secret) = house.admin.add_client(new).await.unwrap();
    let secret = secret.unwrap();
    assert_eq!(format!("{secret:?}"), "ClientSecret(..)");
    let twice = house.admin.add_client(NewClient { id, ..NewClient::default() }).await.unwrap_err();
    assert!(matches!(twice, sealstone_auth::Error::ClientExists { .. }), "{twice}");
    let [(client, version)] = &house.admin.list_clients().await.unwrap()[..] else { panic!() };
    assert_eq!(*client, added, "what is stored is what was added");
    assert!(
        client.authentication.secret_hash() == Some(&secret.hash())
            && client.grants.contains(&Grant::ClientCredentials)
    );
    let stale = Version(version.0 + 1);
    assert!(house.admin.remove_client("worker", Some(stale)).await.is_err());
    house.admin.remove_client("worker", Some(*version)).await.unwrap();
    let gone = house.admin.remove_client("worker", None).await.unwrap_err();
    assert!(matches!(gone, sealstone_auth::Error::ClientUnknown { .. }), "{gone}");
}

/// A record that cannot be read keeps its own kind back, and no revocation.
#[tokio::test]
async fn an_unreadable_record_keeps_no_revocation_out() {
    let house = House::build().await;
    let who = house.es256().await;
    let token = house.token(&who);
    let (now, broken) = (UnixSeconds(START), b"{}".to_vec());
    let bad = NewRecord { kind: Kind::Client, id: "broken".into(), expires_at: None, body: broken };
    assert_ne!(house.store.insert(bad, now).await.unwrap(), Write::Refused);
    let jti = parts(&token).1["jti"].as_str().unwrap().to_owned();
    let mark = NewRecord {
        kind: Kind::Revocation,
        id: jti,
        expires_at: Some(UnixSeconds(START + 900)),
        body: vec![],
    };
    assert_ne!(house.store.insert(mark, now).await.unwrap(), Write::Refused);
    let failed = house.live.refresh(now).await.unwrap_err();
    assert!(failed.to_string().contains("broken"), "{failed}");
    assert_eq!(house.introspect(&who, &token), json!({"active": false}));
    assert!(house.ask(&who, GRANT).is_ok(), "the clients of before are still there");
}
