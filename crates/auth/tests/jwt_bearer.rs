//! The jwt-bearer grant: every rule of RFC 7523 section 3, and the attacks on it.

use std::collections::BTreeSet;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper_util::rt::{TokioExecutor, TokioIo};
use proptest::prelude::*;
use sealstone_auth::protocol::token::TokenResponse;
use sealstone_auth::protocol::{Code, Confirmation, OAuthError};
use sealstone_auth::store::Kind;
use sealstone_auth::{
    Clock, Config, Error, Grant, NewClient, NewSubject, NewUser, SubjectRule, TrustedIssuer,
};
use sealstone_jose::jws::{self, Header};
use sealstone_jose::jwt::{self, Claims};
use sealstone_jose::{Algorithm, JwkSet, PrivateKey};
use serde_json::{Value, json};

use crate::support::{Credentials, Guarded, House, Mood, Running, START, config, names};

const ISSUER: &str = "https://auth.example.org";
const CI: &str = "https://ci.example";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

fn trusted(key: &PrivateKey, clients: &[&str]) -> TrustedIssuer {
    TrustedIssuer {
        clients: names(clients),
        family: None,
        issuer: CI.into(),
        keys: JwkSet::new([key.public().clone()]).unwrap(),
        scopes: names(&["deploy", "read"]),
        subject: TrustedIssuer::default_rule(CI),
    }
}

fn client(id: &str) -> NewClient {
    NewClient {
        algorithm: Algorithm::Es256,
        audiences: vec!["https://deploy.example".into()],
        grants: BTreeSet::from([Grant::JwtBearer]),
        id: Some(id.into()),
        scopes: names(&["deploy", "admin"]),
        ..NewClient::default()
    }
}

/// A house that trusts a build server for the client `deployer`.
struct Trusting {
    house: House,
    key: PrivateKey,
    who: Credentials,
}

impl Trusting {
    async fn build() -> Self {
        Self::with(Algorithm::Es256).await
    }

    async fn with(algorithm: Algorithm) -> Self {
        let (house, key) = (House::build().await, PrivateKey::generate(algorithm).unwrap());
        house.admin.add_issuer(trusted(&key, &["deployer"])).await.unwrap();
        let who = house.client(client("deployer")).await;
        Self { house, key, who }
    }

    async fn ask(&self, assertion: &str) -> Result<TokenResponse, OAuthError> {
        self.ask_as(&self.who, assertion, "").await
    }

    async fn ask_as(
        &self,
        who: &Credentials,
        assertion: &str,
        more: &str,
    ) -> Result<TokenResponse, OAuthError> {
        let form = format!("grant_type={GRANT}&assertion={assertion}&{more}");
        self.house.wait_with(who, &form, Confirmation::default()).await
    }

    async fn refused(&self, assertion: &str, why: &str) {
        let answer = self.ask(assertion).await;
        assert_eq!(
            answer.map(|answer| answer.access_token).map_err(|error| error.code),
            Err(Code::InvalidGrant),
            "{why}"
        );
    }

    fn signed(&self, claims: &Claims) -> String {
        jwt::sign(&self.key, "JWT", claims).unwrap()
    }
}

fn claims(jti: &str) -> Claims {
    Claims::new()
        .with("iss", CI)
        .with("sub", "repo:shop/orders")
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

#[tokio::test]
async fn rfc7523_s2_1_every_algorithm_of_the_house() {
    for algorithm in Algorithm::ALL {
        let trusting = Trusting::with(algorithm).await;
        let granted = trusting.ask(&trusting.signed(&claims("1"))).await.unwrap();
        assert_eq!((granted.token_type, granted.scope.as_deref()), ("Bearer", Some("deploy")), "{algorithm}");
        let said = serde_json::from_slice::<Value>(&granted.json().unwrap()).unwrap();
        assert!(said.get("refresh_token").is_none(), "RFC 7521 §4.1");
        let token = trusting.house.check(&granted.access_token).unwrap();
        let claim = |name: &str| token.claim(name).cloned().unwrap_or_default();
        assert_eq!(claim("sub"), "https://ci.example|repo:shop/orders");
        assert_eq!((claim("client_id"), claim("aud")), (json!("deployer"), json!("https://deploy.example")));
        assert_eq!(granted.expires_in, 900);
    }
}

#[tokio::test]
async fn rfc7523_s3_7_replay() {
    let trusting = Trusting::build().await;
    let assertion = trusting.signed(&claims("once"));
    assert!(trusting.ask(&assertion).await.is_ok());
    trusting.refused(&assertion, "the same").await;
    trusting.refused(&trusting.signed(&claims("once").with("exp", START + 200)), "the same jti").await;
    trusting.house.clock.advance(69);
    trusting.refused(&assertion, "at the end of its leeway").await;
    trusting.house.clock.advance(250);
    trusting.house.store.prune(trusting.house.clock.now()).await.unwrap();
    trusting.house.clock.set_back(300);
    trusting.refused(&assertion, "the clock was ahead for a while").await;
    // Another issuer may draw the same id.
    let other = PrivateKey::generate(Algorithm::Es256).unwrap();
    let issuer = "https://other.example";
    let theirs = TrustedIssuer {
        issuer: issuer.into(),
        subject: TrustedIssuer::default_rule(issuer),
        ..trusted(&other, &["deployer"])
    };
    trusting.house.admin.add_issuer(theirs).await.unwrap();
    trusting.house.refresh().await;
    let theirs = jwt::sign(&other, "JWT", &claims("once").with("iss", issuer)).unwrap();
    assert!(trusting.ask(&theirs).await.is_ok());
}

/// What is refused for its scope or target has used nothing up.
#[tokio::test]
async fn the_store_is_asked_last() {
    let store = Guarded::new();
    let house = House::with(store.clone(), &[Algorithm::Es256]).await;
    let key = PrivateKey::generate(Algorithm::Es256).unwrap();
    house.admin.add_issuer(trusted(&key, &["deployer"])).await.unwrap();
    let who = house.client(client("deployer")).await;
    let trusting = Trusting { house, key, who };
    let before = store.calls();
    store.set(Mood::Panic);
    let good = trusting.signed(&claims("last"));
    for more in ["scope=admin", "resource=https://elsewhere.example"] {
        assert!(trusting.ask_as(&trusting.who, &good, more).await.is_err(), "{more}");
    }
    trusting.refused(&format!("{}AAAA", &good[..good.len() - 4]), "forged").await;
    trusting.refused(&trusting.signed(&claims("huge").with("x", "x".repeat(8_000))), "huge").await;
    trusting.refused(&"x".repeat(60_000), "not a token").await;
    assert_eq!(store.calls(), before);
    store.set(Mood::Serve);
    assert!(trusting.ask(&good).await.is_ok());
    assert_eq!(store.calls(), before + 1, "one question");
}

/// One assertion a thousand times at once over a real connection, and again after a restart: one token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rfc7523_s3_7_a_thousand_at_once_get_one_token() {
    let directory = tempfile::tempdir().unwrap();
    let key = PrivateKey::generate(Algorithm::MlDsa65).unwrap();
    // This issuer stands in the configuration.
    let jwks = directory.path().join("ci.jwks");
    std::fs::write(&jwks, JwkSet::new([key.public().clone()]).unwrap().to_json()).unwrap();
    let toml = format!(
        "[[trusted_issuers]]\nissuer = \"{CI}\"\njwks = {jwks:?}\nclients = [\"deployer\"]\nscopes = [\"deploy\"]\n"
    );
    let config = || {
        let Config { trusted_issuers, .. } = Config::parse(&toml, None).unwrap();
        Config { issuer: Some(ISSUER.into()), trusted_issuers, ..config(directory.path()) }
    };
    let mut server = Running::start(config()).await;
    let (new, secret) = server.admin.add_client(client("deployer")).await.unwrap();
    server.who = Credentials { id: new.id, secret: secret.unwrap().reveal().to_owned() };
    let who = server.who.clone();
    let now = sealstone_auth::clock::SystemClock.now().0;
    let form = |jti: &str| {
        let assertion = jwt::sign(&key, "JWT", &claims(jti).with("iat", now).with("exp", now + 200)).unwrap();
        format!("grant_type={GRANT}&assertion={assertion}")
    };
    let known = async {
        let mut n = 0;
        while server.post("/token", &form(&format!("try {n}"))).await.status != 200 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            n += 1;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), known).await.unwrap();

    let raced = form("raced");
    let io = TokioIo::new(server.connect("h2").await);
    let (sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let mut race = tokio::task::JoinSet::new();
    for _ in 0..1000 {
        let (mut sender, request) = (sender.clone(), server.form("/token", &raced));
        race.spawn(async move { sender.send_request(request).await.unwrap().status().as_u16() });
    }
    let statuses = race.join_all().await;
    let count = |status| statuses.iter().filter(|found| **found == status).count();
    assert_eq!((count(200), count(400)), (1, 999));
    server.stop().await;

    let mut server = Running::start(config()).await;
    server.who = who;
    assert_eq!(
        server.post("/token", &raced).await.refusal(),
        (400, "invalid_grant".into()),
        "after a restart"
    );
    assert_eq!(server.post("/token", &form("after")).await.status, 200);
    let metadata = server.get("/.well-known/openid-configuration").await.json();
    assert!(metadata["grant_types_supported"].as_array().unwrap().contains(&json!(GRANT)));
    server.stop().await;
}

/// draft-ietf-oauth-rfc7523bis §4: only the issuer, as a string, can be the audience.
#[tokio::test]
async fn rfc7523_s3_3_audience_injection() {
    let trusting = Trusting::build().await;
    let token_endpoint = format!("{ISSUER}/token");
    for aud in [
        json!(token_endpoint),
        json!([ISSUER]),
        json!([ISSUER, token_endpoint]),
        json!(["https://evil.example", ISSUER]),
        json!([]),
        json!(format!("{ISSUER}/")),
        json!(ISSUER.to_uppercase()),
        json!("https://evil.example"),
        json!(CI),
        json!(""),
        json!(1),
        json!(null),
    ] {
        trusting.refused(&trusting.signed(&claims("aud").with("aud", aud.clone())), &aud.to_string()).await;
    }
    trusting.refused(&trusting.signed(&without("aud")), "no aud").await;
    assert!(trusting.ask(&trusting.signed(&claims("aud"))).await.is_ok());
}

#[tokio::test]
async fn rfc8725_s2_1_algorithm_confusion() {
    for algorithm in [Algorithm::Es256, Algorithm::MlDsa65] {
        let trusting = Trusting::with(algorithm).await;
        let key = &trusting.key;
        let jwk = key.public().to_jwk().to_json();
        for secret in [key.public().as_bytes(), jwk.as_bytes(), b""] {
            for alg in ["HS256", "none", algorithm.name()] {
                let part = |value: &str| URL_SAFE_NO_PAD.encode(value);
                let header = json!({"alg": alg, "kid": key.kid(), "typ": "JWT"});
                let input = format!("{}.{}", part(&header.to_string()), part(&claims("mac").to_json()));
                let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), input.as_bytes());
                trusting.refused(&format!("{input}.{}", URL_SAFE_NO_PAD.encode(tag)), alg).await;
                trusting.refused(&format!("{input}."), alg).await;
            }
        }
        // The key that a header brings along is not the trusted one.
        let mine = PrivateKey::generate(algorithm).unwrap().with_kid(key.kid());
        trusting.refused(&jwt::sign(&mine, "JWT", &claims("alg")).unwrap(), "another key, this kid").await;
        let mine_jwk: Value = serde_json::from_str(&mine.public().to_jwk().to_json()).unwrap();
        let header = json!({"alg": algorithm.name(), "jwk": mine_jwk, "kid": key.kid()});
        let claimed: Value = serde_json::from_str(&claims("alg").to_json()).unwrap();
        trusting.refused(&crate::dpop::signed(&mine, &header, &claimed), "a key in the header").await;
        assert!(trusting.ask(&trusting.signed(&claims("alg"))).await.is_ok());
    }
}

#[tokio::test]
async fn rfc7523_s3_1_the_issuer_and_its_clients() {
    let trusting = Trusting::build().await;
    let other = PrivateKey::generate(Algorithm::Es256).unwrap();
    let theirs = TrustedIssuer {
        issuer: "https://other.example".into(),
        subject: SubjectRule::Prefix("other:".into()),
        ..trusted(&other, &["stranger"])
    };
    trusting.house.admin.add_issuer(theirs).await.unwrap();
    let stranger = trusting.house.client(client("stranger")).await;
    let idle = NewClient { grants: BTreeSet::from([Grant::ClientCredentials]), ..client("idle") };
    let idle = trusting.house.client(idle).await;
    for iss in [
        "https://evil.example",
        "https://ci.example/",
        "HTTPS://CI.EXAMPLE",
        "",
        ISSUER,
        "https://other.example",
    ] {
        trusting.refused(&trusting.signed(&claims("iss").with("iss", iss)), iss).await;
    }
    for iss in [json!([CI]), json!(1), json!(null)] {
        trusting.refused(&trusting.signed(&claims("iss").with("iss", iss)), "no text").await;
    }
    trusting.refused(&trusting.signed(&without("iss")), "no iss").await;
    // One issuer cannot speak for another, and a client brings only what it is trusted with.
    let posed = other.clone().with_kid(trusting.key.kid());
    trusting.refused(&jwt::sign(&posed, "JWT", &claims("iss")).unwrap(), "signed by another issuer").await;
    let theirs = jwt::sign(&other, "JWT", &claims("iss").with("iss", "https://other.example")).unwrap();
    trusting.refused(&theirs, "of an issuer that is trusted for another client").await;
    let code = async |who: &Credentials, assertion: &str| {
        trusting.ask_as(who, assertion, "").await.map(drop).map_err(|error| error.code)
    };
    assert_eq!(code(&stranger, &trusting.signed(&claims("iss"))).await, Err(Code::InvalidGrant));
    assert_eq!(code(&idle, &trusting.signed(&claims("iss"))).await, Err(Code::UnauthorizedClient));
    assert_eq!(code(&stranger, &theirs).await, Ok(()));
    assert_eq!(code(&trusting.who, &trusting.signed(&claims("iss"))).await, Ok(()));
}

#[tokio::test]
async fn rfc7523_s3_2_the_subject() {
    let trusting = Trusting::build().await;
    trusting.refused(&trusting.signed(&without("sub")), "no sub").await;
    for sub in
        [json!(""), json!(1), json!(["a"]), json!(null), json!("a\u{0}b"), json!("a\nb"), json!("\u{e9}")]
    {
        trusting.refused(&trusting.signed(&claims("sub").with("sub", sub.clone())), &sub.to_string()).await;
    }
    trusting.refused(&trusting.signed(&claims("sub").with("sub", "x".repeat(250))), "too long").await;
    assert!(trusting.ask(&trusting.signed(&claims("sub").with("sub", "x".repeat(200)))).await.is_ok());
}

/// RFC 9700 §4.15: nobody comes to be called as a client is.
#[tokio::test]
async fn rfc9700_s4_15_client_as_resource_owner() {
    for (subject, sub) in [
        (SubjectRule::Same, "deployer"),
        (SubjectRule::Fixed("deployer".into()), "x"),
        (SubjectRule::Prefix("dep".into()), "loyer"),
    ] {
        let (house, key) = (House::build().await, PrivateKey::generate(Algorithm::Es256).unwrap());
        let issuer = TrustedIssuer { subject: subject.clone(), ..trusted(&key, &["deployer"]) };
        house.admin.add_issuer(issuer).await.unwrap();
        let who = house.client(client("deployer")).await;
        let trusting = Trusting { house, key, who };
        trusting.refused(&trusting.signed(&claims("1").with("sub", sub)), &format!("{subject:?}")).await;
    }
}

#[tokio::test]
async fn the_rules_for_subjects() {
    for (subject, expected) in [
        (SubjectRule::Fixed("ci".into()), "ci"),
        (SubjectRule::Prefix("ci:".into()), "ci:repo:shop/orders"),
        (TrustedIssuer::default_rule(CI), "https://ci.example|repo:shop/orders"),
    ] {
        let (house, key) = (House::build().await, PrivateKey::generate(Algorithm::Es256).unwrap());
        let issuer = TrustedIssuer { subject, ..trusted(&key, &["deployer"]) };
        let added = house.admin.add_issuer(issuer).await.unwrap();
        let [(stored, _)] = &house.admin.list_issuers().await.unwrap()[..] else { panic!() };
        assert_eq!(*stored, added, "what is stored is what was added");
        let who = house.client(client("deployer")).await;
        let trusting = Trusting { house, key, who };
        let granted = trusting.ask(&trusting.signed(&claims("1"))).await.unwrap();
        let token = trusting.house.check(&granted.access_token).unwrap();
        assert_eq!(token.claim("sub").unwrap(), expected);
    }
}

/// An issuer that speaks about the users of this server speaks about those there are.
#[tokio::test]
async fn the_users_of_this_server() {
    let (house, key) = (House::build().await, PrivateKey::generate(Algorithm::Es256).unwrap());
    let issuer = TrustedIssuer { subject: SubjectRule::Same, ..trusted(&key, &["deployer"]) };
    house.admin.add_issuer(issuer).await.unwrap();
    let who = house.client(client("deployer")).await;
    let alice =
        house.admin.add_user(NewUser { username: "alice".into(), ..NewUser::default() }).await.unwrap();
    let trusting = Trusting { house, key, who };
    let about = |sub: &str, jti: &str| trusting.signed(&claims(jti).with("sub", sub));
    let granted = trusting.ask(&about(&alice.sub, "1")).await.unwrap();
    assert_eq!(trusting.house.check(&granted.access_token).unwrap().claim("sub").unwrap(), &*alice.sub);
    for sub in ["alice", "nobody", "repo:shop/orders"] {
        trusting.refused(&about(sub, sub), sub).await;
    }
    trusting.house.admin.set_disabled("alice", true).await.unwrap();
    trusting.refused(&about(&alice.sub, "2"), "disabled").await;
    trusting.house.admin.remove_user("alice").await.unwrap();
    trusting.refused(&about(&alice.sub, "3"), "removed").await;
}

/// OpenID Connect Core §8.1: to such a client a user is who they are in its ID tokens.
#[tokio::test]
async fn the_users_of_this_server_for_a_client_with_pairwise_subjects() {
    let (house, key) = (House::build().await, PrivateKey::generate(Algorithm::Es256).unwrap());
    let issuer = TrustedIssuer { subject: SubjectRule::Same, ..trusted(&key, &["deployer"]) };
    house.admin.add_issuer(issuer).await.unwrap();
    let mut new = client("deployer");
    new.grants.insert(Grant::AuthorizationCode);
    new.code_flow = crate::code::shop().code_flow;
    new.subject = NewSubject::Pairwise { sector_identifier_uri: None };
    let who = house.client(new).await;
    let alice =
        house.admin.add_user(NewUser { username: "alice".into(), ..NewUser::default() }).await.unwrap();
    let trusting = Trusting { house, key, who };
    let about = |jti: &str| trusting.signed(&claims(jti).with("sub", alice.sub.as_str()));
    let seen = async |jti: &str| {
        let granted = trusting.ask(&about(jti)).await.unwrap();
        trusting
            .house
            .check(&granted.access_token)
            .unwrap()
            .claim("sub")
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned()
    };
    let sub = seen("1").await;
    assert_eq!((sub.len(), seen("2").await), (43, sub.clone()));
    assert_ne!(sub, alice.sub);
}

#[tokio::test]
async fn rfc7523_s3_4_expired_or_far_away() {
    let trusting = Trusting::build().await;
    for exp in [json!(START - 10), json!(START - 3600), json!(START + 311), json!(START + 86_400), json!(0)] {
        trusting.refused(&trusting.signed(&claims("exp").with("exp", exp.clone())), &exp.to_string()).await;
    }
    for exp in [json!("1800000060"), json!(-1), json!(1e300), json!(null)] {
        trusting.refused(&trusting.signed(&claims("exp").with("exp", exp.clone())), &exp.to_string()).await;
    }
    trusting.refused(&trusting.signed(&without("exp")), "no exp").await;
    trusting.refused(&trusting.signed(&claims("nbf").with("nbf", START + 11)), "nbf").await;
    trusting.refused(&trusting.signed(&claims("iat").with("iat", START + 11)), "iat").await;
    trusting.refused(&trusting.signed(&without("jti")), "no jti").await;
    trusting.refused(&trusting.signed(&claims("")), "an empty jti").await;
    trusting.refused(&trusting.signed(&claims("1").with("jti", 1)), "a jti that is no text").await;
    for (jti, exp) in [("1", START - 9), ("2", START + 310)] {
        assert!(trusting.ask(&trusting.signed(&claims(jti).with("exp", exp))).await.is_ok(), "{exp}");
    }
}

#[tokio::test]
async fn rfc8725_s3_11_no_other_kind_of_token() {
    let trusting = Trusting::build().await;
    for typ in ["at+jwt", "dpop+jwt", "client-authentication+jwt", "logout+jwt", "secevent+jwt", "JWTx", ""] {
        trusting.refused(&jwt::sign(&trusting.key, typ, &claims("typ")).unwrap(), typ).await;
    }
    let nested = Header::new().cty("JWT");
    let nested = jws::encode(&trusting.key, &nested, claims("typ").to_json().as_bytes()).unwrap();
    trusting.refused(&nested, "a token within the token").await;
    for (jti, typ) in [("1", "JWT"), ("2", "jwt"), ("3", "authorization-grant+jwt")] {
        assert!(trusting.ask(&jwt::sign(&trusting.key, typ, &claims(jti)).unwrap()).await.is_ok(), "{typ}");
    }
    let untyped = jws::encode(&trusting.key, &Header::new(), claims("4").to_json().as_bytes()).unwrap();
    assert!(trusting.ask(&untyped).await.is_ok(), "RFC 7523 demands no typ");
    // A token of this server is none of a trusted issuer.
    let own = trusting.house.es256().await;
    trusting.refused(&trusting.house.token(&own), "an access token of ours").await;
}

#[tokio::test]
async fn rfc7521_s4_1_scopes_and_targets() {
    let trusting = Trusting::build().await;
    let mut number = 0;
    let mut ask = async |more: &str| {
        number += 1;
        let assertion = trusting.signed(&claims(&number.to_string()));
        let granted = trusting.ask_as(&trusting.who, &assertion, more).await;
        granted.map(|granted| granted.scope.unwrap_or_default()).map_err(|error| error.code)
    };
    assert_eq!(ask("").await, Ok("deploy".into()), "what the issuer and the client share");
    assert_eq!(ask("scope=deploy").await, Ok("deploy".into()));
    assert_eq!(ask("resource=https://deploy.example").await, Ok("deploy".into()));
    for wrong in ["read", "admin", "deploy%20read", "deploy%20admin", "other", "deploy%20%20deploy", "%20"] {
        assert_eq!(ask(&format!("scope={wrong}")).await, Err(Code::InvalidScope), "{wrong}");
    }
    assert_eq!(ask("resource=https://elsewhere.example").await, Err(Code::InvalidTarget));
    let form = format!("grant_type={GRANT}");
    let missing = trusting.house.wait_with(&trusting.who, &form, Confirmation::default()).await;
    assert_eq!(missing.unwrap_err().code, Code::InvalidRequest);
}

/// RFC 7800 §3.1: an assertion may say which key its bearer must hold.
#[tokio::test]
async fn a_bound_assertion_needs_its_key() {
    let trusting = Trusting::build().await;
    let jkt = |jkt: &str| Confirmation { jkt: Some(jkt.into()), ..Confirmation::default() };
    for (jti, cnf, shown, good) in [
        ("1", json!({"jkt": "key"}), Confirmation::default(), false),
        ("2", json!({"jkt": "key"}), jkt("other"), false),
        ("3", json!({"jwk": {}}), jkt("key"), false),
        ("4", json!({"jkt": "key"}), jkt("key"), true),
    ] {
        let assertion = trusting.signed(&claims(jti).with("cnf", cnf.clone()));
        let form = format!("grant_type={GRANT}&assertion={assertion}");
        let granted = trusting.house.wait_with(&trusting.who, &form, shown).await;
        assert_eq!(granted.is_ok(), good, "{cnf}");
    }
    let form = format!("grant_type={GRANT}&assertion={}", trusting.signed(&claims("5")));
    let granted = trusting.house.wait_with(&trusting.who, &form, jkt("mine")).await.unwrap();
    assert_eq!(granted.token_type, "DPoP");
    assert_eq!(
        trusting.house.check(&granted.access_token).unwrap().claim("cnf"),
        Some(&json!({"jkt": "mine"}))
    );
}

/// Trust ends with the issuer, for tokens too; and begins anew, without them.
#[tokio::test]
async fn an_issuer_that_is_removed_takes_its_tokens_along() {
    let trusting = Trusting::build().await;
    let granted = trusting.ask(&trusting.signed(&claims("1"))).await.unwrap().access_token;
    let active = |token: &str| {
        let token = trusting.house.check(token).unwrap();
        token.is_active(&trusting.house.live.snapshot())
    };
    assert!(active(&granted));
    trusting.house.admin.remove_issuer(CI).await.unwrap();
    let again = trusting.house.admin.remove_issuer(CI).await;
    assert!(matches!(again, Err(Error::IssuerUnknown { .. })));
    trusting.house.refresh().await;
    assert!(!active(&granted));
    trusting.refused(&trusting.signed(&claims("2")), "trusted no more").await;
    trusting.house.admin.add_issuer(trusted(&trusting.key, &["deployer"])).await.unwrap();
    trusting.house.refresh().await;
    let fresh = trusting.ask(&trusting.signed(&claims("3"))).await.unwrap().access_token;
    assert!(active(&fresh) && !active(&granted));
    trusting.refused(&trusting.signed(&claims("1")), "used before").await;
    // The mark outlives every token that it ends.
    let records = trusting.house.store.list(
        Kind::Revocation,
        sealstone_auth::store::Version::ZERO,
        trusting.house.clock.now(),
    );
    let [mark] = &records.await.unwrap()[..] else { panic!() };
    assert!(mark.expires_at.unwrap().0 >= START + 86_400 + 300);
}

#[tokio::test]
async fn what_cannot_be_trusted() {
    let house = House::build().await;
    let key = PrivateKey::generate(Algorithm::Es256).unwrap();
    let good = || trusted(&key, &["deployer"]);
    let rsa = JwkSet::parse(br#"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}"#).unwrap();
    for (field, wrong) in [
        ("issuer", TrustedIssuer { issuer: "".into(), ..good() }),
        ("issuer", TrustedIssuer { issuer: "ci".into(), ..good() }),
        ("issuer", TrustedIssuer { issuer: "https://ci example".into(), ..good() }),
        ("issuer", TrustedIssuer { issuer: "https://ci.example|x".into(), ..good() }),
        ("issuer", TrustedIssuer { issuer: format!("https://{}", "x".repeat(600)), ..good() }),
        ("jwks", TrustedIssuer { keys: JwkSet::default(), ..good() }),
        ("jwks", TrustedIssuer { keys: rsa, ..good() }),
        ("clients", TrustedIssuer { clients: BTreeSet::new(), ..good() }),
        ("scopes", TrustedIssuer { scopes: names(&["two words"]), ..good() }),
        ("subject", TrustedIssuer { subject: SubjectRule::Prefix("".into()), ..good() }),
        ("subject", TrustedIssuer { subject: SubjectRule::Fixed("x".repeat(256)), ..good() }),
        ("subject", TrustedIssuer { subject: SubjectRule::Fixed("\u{e9}".into()), ..good() }),
    ] {
        let refused = house.admin.add_issuer(wrong.clone()).await;
        assert!(
            matches!(&refused, Err(Error::IssuerInvalid { field: found, .. }) if *found == field),
            "{wrong:?}"
        );
    }
    let prefix = |prefix: &str| SubjectRule::Prefix(prefix.into());
    house.admin.add_issuer(TrustedIssuer { subject: prefix("ci:"), ..good() }).await.unwrap();
    let twice = house.admin.add_issuer(TrustedIssuer { subject: prefix("x:"), ..good() }).await;
    assert!(matches!(twice, Err(Error::IssuerExists { .. })));
    // No issuer can name a subject as another one names it.
    for subject in [prefix("ci:"), prefix("ci:a:"), prefix("c"), SubjectRule::Fixed("ci:admin".into())] {
        let other =
            TrustedIssuer { issuer: "https://other.example".into(), subject: subject.clone(), ..good() };
        let refused = house.admin.add_issuer(other).await;
        assert!(matches!(refused, Err(Error::IssuerInvalid { field: "subject", .. })), "{subject:?}");
    }
    for (n, subject) in
        [prefix("cd:"), SubjectRule::Fixed("ci".into()), SubjectRule::Same].into_iter().enumerate()
    {
        let issuer = format!("https://other{n}.example");
        assert!(house.admin.add_issuer(TrustedIssuer { issuer, subject, ..good() }).await.is_ok(), "{n}");
    }
}

/// The issuers of the configuration: each fault is told at the start, and where both have one, the configuration's counts.
#[tokio::test]
async fn issuers_of_the_configuration() {
    let directory = tempfile::tempdir().unwrap();
    let keys = [(); 2].map(|()| PrivateKey::generate(Algorithm::Es256).unwrap());
    let file = directory.path().join("ci.jwks");
    std::fs::write(&file, JwkSet::new([keys[0].public().clone()]).unwrap().to_json()).unwrap();
    let start = async |toml: &str| {
        let Config { trusted_issuers, .. } = Config::parse(toml, None).map_err(|error| error.to_string())?;
        let config = Config { issuer: Some(ISSUER.into()), trusted_issuers, ..config(directory.path()) };
        let bound = sealstone_auth::Server::bind(config, sealstone_auth::World::default()).await;
        bound.map(drop).map_err(|error| error.to_string())
    };
    let one = |issuer: &str, more: &str| {
        format!(
            "[[trusted_issuers]]\nissuer = \"{issuer}\"\njwks = {file:?}\nclients = [\"deployer\"]\n{more}\n"
        )
    };
    assert_eq!(start(&one(CI, "subject = { prefix = \"ci:\" }")).await, Ok(()));
    assert_eq!(start(&one(CI, "subject = \"same\"")).await, Ok(()));
    for (toml, said) in [
        (one(ISSUER, ""), "this server itself"),
        (one(CI, "scopes = [\"two words\"]"), "scopes"),
        (one(CI, "").replace("\"deployer\"", ""), "clients"),
        (one(CI, "").replace("ci.jwks", "none.jwks"), "none.jwks"),
        (format!("{}{}", one(CI, ""), one(CI, "")), "twice"),
        (
            format!(
                "{}{}",
                one(CI, "subject = { prefix = \"a\" }"),
                one("https://other.example", "subject = { prefix = \"ab\" }")
            ),
            "taken for those",
        ),
        (one(CI, "subject = \"nonsense\""), "unknown"),
        (one(CI, "audience = 1"), "unknown key `audience`"),
        ("[[trusted_issuers]]\nissuer = \"x\"".into(), "missing field"),
    ] {
        let error = start(&toml).await.unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    std::fs::write(&file, "{}").unwrap();
    assert!(start(&one(CI, "")).await.unwrap_err().contains("ci.jwks"));

    let trusting = Trusting::build().await;
    let [mine, _] = &keys;
    let live = trusting.house.live.trusting(vec![trusted(mine, &["deployer"])]);
    let house = House { live, ..trusting.house };
    let trusting = Trusting { house, ..trusting };
    trusting.refused(&trusting.signed(&claims("1")), "the store's keys").await;
    assert!(trusting.ask(&jwt::sign(mine, "JWT", &claims("1")).unwrap()).await.is_ok());
    let third = PrivateKey::generate(Algorithm::Es256).unwrap();
    let other = TrustedIssuer {
        issuer: "https://other.example".into(),
        subject: SubjectRule::Fixed("other".into()),
        ..trusted(&third, &["deployer"])
    };
    trusting.house.admin.add_issuer(other).await.unwrap();
    trusting.house.refresh().await;
    assert!(
        trusting.ask(&jwt::sign(mine, "JWT", &claims("2")).unwrap()).await.is_ok(),
        "after a refresh, too"
    );
    let theirs = jwt::sign(&third, "JWT", &claims("3").with("iss", "https://other.example")).unwrap();
    assert!(trusting.ask(&theirs).await.is_ok());
}

/// Whatever is brought: no panic, and one kind of refusal.
#[test]
fn any_assertion_is_refused() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let trusting = runtime.block_on(Trusting::build());
    proptest!(|(text in "[a-zA-Z0-9._-]{1,200}", claim in "(iss|sub|aud|exp|jti)", value in "[ -~]{0,20}")| {
        let code = |assertion: &str| runtime.block_on(trusting.ask(assertion)).map(drop).map_err(|error| error.code);
        prop_assert_eq!(code(&text), Err(Code::InvalidGrant));
        let twisted = trusting.signed(&claims("twisted").with(&claim, value));
        if !["sub", "jti"].contains(&&*claim) {
            prop_assert_eq!(code(&twisted), Err(Code::InvalidGrant));
        }
    });
}
