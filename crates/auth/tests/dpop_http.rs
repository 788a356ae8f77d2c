//! DPoP at the token endpoint over real connections: headers, nonces, bound tokens, and the DPoP modules of the FAPI 2.0
//! conformance suite by name.

use http_body_util::Full;
use hyper_util::rt::{TokioExecutor, TokioIo};
use sealstone_auth::protocol::client_assertion::JWT_BEARER;
use sealstone_auth::protocol::dpop;
use sealstone_auth::protocol::dpop::{BoundToken, Request, ath};
use sealstone_auth::{AssertionAudience, AssertionKeys, Exchange, Grant, NewAuthentication, NewClient};
use sealstone_jose::jwt::{self, Claims};
use sealstone_jose::{Algorithm, JwkSet, PrivateKey};
use serde_json::{Value, json};

use crate::dpop::{Node, but, header, key, proof, signed};
use crate::support::{Answer, Credentials, Running, config};

const GRANT: &str = "grant_type=client_credentials";

/// A running server, and a client that must send proofs.
struct Bound {
    server: Running,
    who: Credentials,
    _directory: tempfile::TempDir,
}

impl Bound {
    async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let server = Running::start(config(directory.path())).await;
        let new =
            NewClient { algorithm: Algorithm::Es256, dpop_bound_access_tokens: true, ..NewClient::default() };
        let (client, secret) = server.admin.add_client(new).await.unwrap();
        let who = Credentials { id: client.id, secret: secret.unwrap().reveal().to_owned() };
        let bound = Self { server, who, _directory: directory };
        bound.until_known().await;
        bound
    }

    /// The client was added behind the server's back: it notices within a poll.
    async fn until_known(&self) {
        let known = async {
            while self.ask(&[]).await.status == 401 {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(30), known).await.unwrap();
    }

    async fn ask(&self, proofs: &[&str]) -> Answer {
        self.send("/token", GRANT, proofs).await
    }

    async fn send(&self, path: &str, form: &str, proofs: &[&str]) -> Answer {
        let mut request = self.server.request("POST", path).header("authorization", self.who.basic());
        for proof in proofs {
            request = request.header("DPoP", *proof);
        }
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        self.server.send(request.body(Full::from(form.to_owned())).unwrap()).await
    }

    fn claims(&self, jti: &str, nonce: &str) -> Value {
        let now = sealstone_auth::Clock::now(&sealstone_auth::clock::SystemClock).0;
        let htu = format!("{}/token", self.server.issuer);
        json!({"htm": "POST", "htu": htu, "iat": now, "jti": jti, "nonce": nonce})
    }

    /// As a client does it: the answer to a proof without a nonce brings one.
    async fn nonce(&self, key: &PrivateKey) -> String {
        let answer = self.ask(&[&proof(key, &but(&self.claims("none", ""), "nonce", Value::Null))]).await;
        assert_eq!(answer.refusal(), (400, "use_dpop_nonce".into()));
        assert_eq!(answer.headers.get_all("dpop-nonce").iter().count(), 1);
        answer.header("dpop-nonce").to_owned()
    }
}

#[tokio::test]
async fn rfc9449_s5_a_bound_token_with_every_algorithm() {
    let bound = Bound::start().await;
    for algorithm in dpop::ALGORITHMS {
        let key = PrivateKey::generate(algorithm).unwrap();
        let nonce = bound.nonce(&key).await;
        let answer = bound.ask(&[&proof(&key, &bound.claims("1", &nonce))]).await;
        assert_eq!(answer.status, 200, "{algorithm}");
        assert!(!answer.header("dpop-nonce").is_empty(), "the newest comes with each answer");
        let granted = answer.json();
        assert_eq!(granted["token_type"], "DPoP");
        let token = granted["access_token"].as_str().unwrap();
        let shown = bound.send("/introspect", &format!("token={token}"), &[]).await.json();
        assert_eq!((&shown["active"], &shown["token_type"]), (&json!(true), &json!("DPoP")), "{algorithm}");
        assert_eq!(shown["cnf"], json!({"jkt": key.public().thumbprint()}), "RFC 9449 §6.2");
    }
    let metadata = bound.server.get("/.well-known/oauth-authorization-server").await.json();
    let named = metadata["dpop_signing_alg_values_supported"].as_array().unwrap();
    assert_eq!((named.len(), &named[0]), (9, &json!("ES256")), "RFC 9449 §5.1");
    bound.server.stop().await;
}

/// §5.2: such a client gets no bearer token. Any other gets what it asks for.
#[tokio::test]
async fn rfc9449_s5_2_dpop_bound_access_tokens() {
    let mut bound = Bound::start().await;
    let answer = bound.ask(&[]).await;
    assert_eq!(answer.refusal(), (400, "invalid_dpop_proof".into()));
    assert_eq!(answer.header("dpop-nonce"), "");
    let listed = bound.server.admin.list_clients().await.unwrap();
    let switched: Vec<_> = listed.iter().filter(|(client, _)| client.dpop_bound_access_tokens).collect();
    assert_eq!(switched.len(), 1, "the switch is stored with the client");

    bound.who = bound.server.who.clone();
    let bearer = bound.ask(&[]).await.json();
    assert_eq!(bearer["token_type"], "Bearer");
    let key = key();
    let nonce = bound.nonce(&key).await;
    let answer = bound.ask(&[&proof(&key, &bound.claims("1", &nonce))]).await;
    assert_eq!(answer.json()["token_type"], "DPoP");
    bound.server.stop().await;
}

#[tokio::test]
async fn rfc9449_s4_3_exactly_one_header() {
    let bound = Bound::start().await;
    let key = key();
    let nonce = bound.nonce(&key).await;
    let one = proof(&key, &bound.claims("1", &nonce));
    let two = proof(&key, &bound.claims("2", &nonce));
    let joined = format!("{one}, {two}");
    for proofs in [&[&*one, &*two][..], &[&one, &one], &[&one, ""], &[""], &[&joined]] {
        assert_eq!(bound.ask(proofs).await.refusal(), (400, "invalid_dpop_proof".into()));
    }
    assert_eq!(bound.ask(&[&one]).await.status, 200);
    assert_eq!(bound.ask(&[&one]).await.refusal(), (400, "invalid_dpop_proof".into()), "once");
    assert_eq!(bound.ask(&[&two]).await.status, 200);
    bound.server.stop().await;
}

/// Host and X-Forwarded headers are whoever's who sends them: `htu` is held against the issuer. RFC 9700 §4.13.
#[tokio::test]
async fn rfc9700_s4_13_the_address_is_the_issuers_and_not_the_requests() {
    let bound = Bound::start().await;
    let key = key();
    let nonce = bound.nonce(&key).await;
    for (name, value) in [
        ("host", "evil.example"),
        ("x-forwarded-host", "evil.example"),
        ("forwarded", "host=evil.example;proto=https"),
    ] {
        let claims = but(&bound.claims("1", &nonce), "htu", "https://evil.example/token");
        let mut request = bound.server.request("POST", "/token");
        request.headers_mut().unwrap().insert(name, value.parse().unwrap());
        let request = request
            .header("authorization", bound.who.basic())
            .header("dpop", proof(&key, &claims))
            .header("content-type", "application/x-www-form-urlencoded");
        let answer = bound.server.send(request.body(Full::from(GRANT)).unwrap()).await;
        assert_eq!(answer.refusal(), (400, "invalid_dpop_proof".into()), "{name}");
    }
    bound.server.stop().await;
}

/// A client that does not prove who it is learns nothing about its proof, and costs no signature of it.
#[tokio::test]
async fn the_client_is_checked_before_its_proof() {
    let mut bound = Bound::start().await;
    bound.who.secret = "wrong".into();
    for proofs in [&["nonsense"][..], &["a", "b"], &[&proof(&key(), &bound.claims("1", ""))]] {
        assert_eq!(bound.ask(proofs).await.refusal(), (401, "invalid_client".into()));
    }
    bound.server.stop().await;
}

/// The suite sends the same client assertion again with the nonce: it must not be used up by the first try.
#[tokio::test]
async fn an_assertion_survives_the_search_for_a_nonce() {
    let bound = Bound::start().await;
    let (key, assertion_key) = (key(), key());
    let keys = JwkSet::new([assertion_key.public().clone()]).unwrap();
    let keys = AssertionKeys { audience: AssertionAudience::Issuer, keys: keys.into() };
    let new = NewClient {
        algorithm: Algorithm::Es256,
        authentication: NewAuthentication::PrivateKeyJwt(keys),
        dpop_bound_access_tokens: true,
        id: Some("worker".into()),
        ..NewClient::default()
    };
    bound.server.admin.add_client(new).await.unwrap();
    let now = sealstone_auth::Clock::now(&sealstone_auth::clock::SystemClock).0;
    let claims = Claims::new().with("iss", "worker").with("sub", "worker").with("jti", "1");
    let claims = claims.with("aud", bound.server.issuer.as_str()).with("exp", now + 60);
    let assertion = jwt::sign(&assertion_key, "JWT", &claims).unwrap();
    let kind = JWT_BEARER.replace(':', "%3A");
    let form = format!("{GRANT}&client_assertion_type={kind}&client_assertion={assertion}");
    let ask = async |proof: &str| {
        let request = bound.server.request("POST", "/token").header("dpop", proof);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        bound.server.send(request.body(Full::from(form.clone())).unwrap()).await
    };
    let without = but(&bound.claims("1", ""), "nonce", Value::Null);
    let known = async {
        loop {
            let answer = ask(&proof(&key, &without)).await;
            if answer.status != 401 {
                return answer;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    let answer = tokio::time::timeout(std::time::Duration::from_secs(30), known).await.unwrap();
    assert_eq!(answer.refusal(), (400, "use_dpop_nonce".into()));
    let nonce = answer.header("dpop-nonce").to_owned();
    let again = ask(&proof(&key, &bound.claims("2", &nonce))).await;
    assert_eq!(again.status, 200, "the same assertion, now with a nonce");
    let third = ask(&proof(&key, &bound.claims("3", &nonce))).await;
    assert_eq!(third.refusal(), (401, "invalid_client".into()), "but once");
    bound.server.stop().await;
}

/// One proof a thousand times at once over one connection: one token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rfc9449_s11_1_a_thousand_requests_at_once_get_one_token() {
    let bound = Bound::start().await;
    let key = key();
    let proof = proof(&key, &bound.claims("raced", &bound.nonce(&key).await));
    let io = TokioIo::new(bound.server.connect("h2").await);
    let (sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let mut race = tokio::task::JoinSet::new();
    for _ in 0..1000 {
        let request = bound.server.request("POST", "/token").header("authorization", bound.who.basic());
        let request = request.header("dpop", &proof);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let (mut sender, request) =
            (sender.clone(), request.body(Full::<hyper::body::Bytes>::from(GRANT)).unwrap());
        race.spawn(async move { sender.send_request(request).await.unwrap().status().as_u16() });
    }
    let statuses = race.join_all().await;
    let count = |status| statuses.iter().filter(|found| **found == status).count();
    assert_eq!((count(200), count(400)), (1, 999));
    bound.server.stop().await;
}

/// After a restart the memory is empty, and no nonce from before is good.
#[tokio::test]
async fn a_restart_forgets_no_proof() {
    let bound = Bound::start().await;
    let key = key();
    let used = proof(&key, &bound.claims("1", &bound.nonce(&key).await));
    assert_eq!(bound.ask(&[&used]).await.status, 200);
    let Bound { server, who, _directory } = bound;
    let (issuer, address) = (server.issuer.clone(), server.address);
    server.stop().await;
    let mut config = config(_directory.path());
    config.listen = address;
    let server = Running::start(config).await;
    assert_eq!(server.issuer, issuer);
    let bound = Bound { server, who, _directory };
    let answer = bound.ask(&[&used]).await;
    assert_eq!(answer.refusal(), (400, "use_dpop_nonce".into()));
    let fresh = proof(&key, &bound.claims("1", answer.header("dpop-nonce")));
    assert_eq!(bound.ask(&[&fresh]).await.status, 200);
    bound.server.stop().await;
}

/// A token and a proof of the largest algorithm fit into a request's head.
#[tokio::test]
async fn the_largest_token_with_the_largest_proof() {
    let directory = tempfile::tempdir().unwrap();
    let server = Running::start(config(directory.path())).await;
    let key = PrivateKey::generate(Algorithm::MlDsa87).unwrap();
    let claims = json!({"htm": "GET", "htu": "https://auth.example.org/userinfo", "iat": 0, "jti": "1"});
    let proof = proof(&key, &but(&claims, "ath", ath("a token")));
    let claims = Claims::new().with("aud", "https://auth.example.org").with("scope", "a ".repeat(100));
    let token = format!("DPoP {}", jwt::sign(&key, "at+jwt", &claims).unwrap());
    let request = || {
        let request = server.request("GET", "/health/live").header("authorization", &token);
        request.header("dpop", &proof).body(Full::default()).unwrap()
    };
    let answers = [server.send(request()).await, server.send_h2(request()).await];
    assert_eq!(answers.map(|answer| answer.status.as_u16()), [200, 200]);
    server.stop().await;
}

// The DPoP modules of `fapi2-security-profile-final-test-plan`, as far as they speak with the token endpoint or a
// protected resource. The names are the suite's.

#[tokio::test]
async fn fapi2_check_dpop_proof_nbf_exp() {
    let bound = Bound::start().await;
    let key = key();
    let claims = bound.claims("1", &bound.nonce(&key).await);
    let now = claims["iat"].as_u64().unwrap();
    let claims = but(&but(&claims, "nbf", now), "exp", now + 300);
    assert_eq!(bound.ask(&[&proof(&key, &claims)]).await.status, 200);
    bound.server.stop().await;
}

#[tokio::test]
async fn fapi2_ensure_dpopproof_with_iat_10seconds_before_and_after_succeeds() {
    let bound = Bound::start().await;
    let key = key();
    let nonce = bound.nonce(&key).await;
    for (jti, shift) in [("before", -10), ("after", 8)] {
        let claims = bound.claims(jti, &nonce);
        let iat = claims["iat"].as_i64().unwrap() + shift;
        assert_eq!(bound.ask(&[&proof(&key, &but(&claims, "iat", iat))]).await.status, 200, "{jti}");
    }
    bound.server.stop().await;
}

/// The rest of `ensure-holder-of-key-required` is about TLS: see `tls.rs`.
#[tokio::test]
async fn fapi2_ensure_holder_of_key_required() {
    let bound = Bound::start().await;
    let answer = bound.ask(&[]).await;
    assert_eq!(answer.refusal(), (400, "invalid_dpop_proof".into()), "use_dpop_nonce would fail");
    assert_eq!(answer.header("content-type"), "application/json");
    bound.server.stop().await;
}

/// `dpop-negative-tests`: the variations at a protected resource, in the suite's order: what must be refused, what must
/// pass.
#[tokio::test]
async fn fapi2_dpop_negative_tests() {
    let (node, key) = (Node::build().await, key());
    let (token, url) = ("an.access.token", "https://auth.example.org/userinfo?x=1");
    let jkt = key.public().thumbprint();
    let request = Request {
        client: "client",
        method: "GET",
        proofs: &[],
        token: Some(BoundToken { jkt, text: token }),
        url,
    };
    let passes = async |proofs: &[&str]| node.check(request, proofs).await.is_ok();
    let mut number = 0;
    let mut claims = || {
        number += 1;
        let claims = but(&node.claims(&format!("twenty characters {number}")), "ath", ath(token));
        but(&but(&claims, "htm", "GET"), "htu", "https://auth.example.org/userinfo")
    };
    let head = header(&key);

    assert!(!passes(&[&proof(&key, &claims()), &proof(&key, &claims())]).await, "two headers");
    assert!(!passes(&[proof(&key, &claims()).rsplit_once('.').unwrap().0]).await, "two parts");
    for name in ["typ", "alg", "jwk"] {
        assert!(!passes(&[&signed(&key, &but(&head, name, Value::Null), &claims())]).await, "{name} missing");
    }
    assert!(!passes(&[&signed(&key, &but(&head, "typ", "JWT"), &claims())]).await, "typ wrong");
    for name in ["jti", "htm", "htu", "iat", "ath", "nonce"] {
        assert!(!passes(&[&proof(&key, &but(&claims(), name, Value::Null))]).await, "{name} missing");
    }
    for alg in ["RS256", "none"] {
        assert!(!passes(&[&signed(&key, &but(&head, "alg", alg), &claims())]).await, "{alg}");
    }
    let good = proof(&key, &claims());
    assert!(!passes(&[&format!("{}AAAA", &good[..good.len() - 4])]).await, "bad signature");
    let private: Value = serde_json::from_str(&key.to_jwk().to_json()).unwrap();
    assert!(!passes(&[&signed(&key, &but(&head, "jwk", private), &claims())]).await, "private key");
    assert!(!passes(&[&proof(&key, &but(&claims(), "htm", "PUT"))]).await, "htm PUT");
    assert!(!passes(&[&proof(&key, &but(&claims(), "htu", "https://auth.example.org/other"))]).await, "htu");
    assert!(!passes(&[&proof(&key, &but(&claims(), "ath", ath("another")))]).await, "ath wrong");
    assert!(!passes(&[&proof(&crate::dpop::key(), &claims())]).await, "another key");
    for shift in [-3600, 3600] {
        let claims = claims();
        let iat = claims["iat"].as_i64().unwrap() + shift;
        assert!(!passes(&[&proof(&key, &but(&claims, "iat", iat))]).await, "iat {shift}");
    }
    let once = proof(&key, &claims());
    assert!(passes(&[&once]).await, "the first use of a jti");
    assert!(!passes(&[&once]).await, "the same jti twice");
    assert!(!passes(&[]).await, "no proof");

    for htu in [
        "https://auth.example.org/userinfo?a=b#c",
        "https://auth.example.org/userinfo",
        "HTTPS://AUTH.EXAMPLE.ORG/userinfo",
        "https://auth.example.org:443/userinfo",
    ] {
        assert!(passes(&[&proof(&key, &but(&claims(), "htu", htu))]).await, "{htu}");
    }
    assert!(passes(&[&proof(&key, &but(&claims(), "unknown", "x"))]).await, "unknown claim");
    assert!(passes(&[&signed(&key, &but(&head, "unknown", "x"), &claims())]).await, "unknown header member");
    assert!(passes(&[&proof(&key, &claims())]).await, "a good proof at the end");
}

/// Token exchange over the wire: RFC 8693 with the proofs of RFC 9449.
#[tokio::test]
async fn a_bound_token_is_exchanged_by_its_holder_alone() {
    let mut bound = Bound::start().await;
    let issuer = bound.server.issuer.clone();
    let new = NewClient {
        algorithm: Algorithm::Es256,
        exchange: Exchange {
            from: [issuer].into(),
            impersonation: false,
            to: ["https://stock.example".into()].into(),
        },
        grants: [Grant::ClientCredentials, Grant::TokenExchange].into(),
        ..NewClient::default()
    };
    let (client, secret) = bound.server.admin.add_client(new).await.unwrap();
    bound.who = Credentials { id: client.id, secret: secret.unwrap().reveal().to_owned() };
    bound.until_known().await;
    let (key, thief) = (key(), key());
    let nonce = bound.nonce(&key).await;
    let token = bound.ask(&[&proof(&key, &bound.claims("1", &nonce))]).await.json();
    let form = format!(
        "grant_type=urn:ietf:params:oauth:grant-type:token-exchange&subject_token={}&subject_token_type={}",
        token["access_token"].as_str().unwrap(),
        "urn:ietf:params:oauth:token-type:access_token"
    );
    let refused = (400, "invalid_request".to_owned());
    assert_eq!(bound.send("/token", &form, &[]).await.refusal(), refused, "without a proof");
    let other = proof(&thief, &bound.claims("2", &nonce));
    assert_eq!(bound.send("/token", &form, &[&other]).await.refusal(), refused, "with another key");
    let answer = bound.send("/token", &form, &[&proof(&key, &bound.claims("3", &nonce))]).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("cache-control"), "no-store");
    let answer = answer.json();
    assert_eq!(answer["token_type"], "DPoP");
    assert_eq!(answer["issued_token_type"], "urn:ietf:params:oauth:token-type:access_token");
    let shown = format!("token={}", answer["access_token"].as_str().unwrap());
    let shown = bound.send("/introspect", &shown, &[]).await.json();
    assert_eq!(shown["cnf"]["jkt"], key.public().thumbprint());
    assert_eq!(shown["aud"], "https://stock.example");
    assert_eq!(shown["act"]["sub"], bound.who.id.as_str());
    let metadata = bound.server.get("/.well-known/openid-configuration").await.json();
    let grants = metadata["grant_types_supported"].as_array().unwrap();
    assert!(grants.contains(&json!("urn:ietf:params:oauth:grant-type:token-exchange")));
    bound.server.stop().await;
}
