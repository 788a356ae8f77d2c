//! Introspections as JWTs, RFC 9701.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, StatusCode};
use proptest::prelude::*;
use sealstone_auth::{Error, NewClient};
use sealstone_jose::jws::Unverified;
use sealstone_jose::{Algorithm, JwkSet};
use serde_json::{Value, json};

use crate::support::{Answer, Credentials, House, Running, config, names};

const JWT: &str = "application/token-introspection+jwt";

/// A server and a resource server that asks about its tokens, with `algorithm` for the answers.
async fn running(directory: &std::path::Path, algorithm: Option<Algorithm>) -> (Running, Credentials) {
    let server = Running::start(config(directory)).await;
    let gateway = NewClient {
        algorithm: Algorithm::Es256,
        grants: Default::default(),
        id: Some("gateway".into()),
        introspection_signed_response_alg: algorithm,
        resources: vec![server.issuer.clone()],
        ..NewClient::default()
    };
    let (client, secret) = server.admin.add_client(gateway).await.unwrap();
    let who = Credentials { id: client.id, secret: secret.unwrap().reveal().to_owned() };
    let known = async { while ask(&server, &who, "x", None).await.status != 200 {} };
    tokio::time::timeout(std::time::Duration::from_secs(30), known).await.unwrap();
    (server, who)
}

async fn ask(server: &Running, who: &Credentials, token: &str, accept: Option<&str>) -> Answer {
    let mut request: Request<Full<Bytes>> = server.form("/introspect", &format!("token={token}"));
    request.headers_mut().insert("authorization", who.basic().parse().unwrap());
    if let Some(accept) = accept {
        request.headers_mut().insert("accept", accept.parse().unwrap());
    }
    server.send(request).await
}

/// Header and claims of an answer whose signature is one of the server's.
async fn opened(server: &Running, answer: &Answer) -> (String, String, Value) {
    assert_eq!((answer.status, answer.header("content-type")), (StatusCode::OK, JWT));
    assert_eq!(answer.header("cache-control"), "no-store");
    let keys = JwkSet::parse(&server.get("/jwks").await.body).unwrap();
    let text = std::str::from_utf8(&answer.body).unwrap();
    let verified = Unverified::parse(text).unwrap().verify_with_set(&keys).unwrap();
    let claims = serde_json::from_slice(verified.payload()).unwrap();
    (verified.header().algorithm().name().to_owned(), verified.header().typ().unwrap().to_owned(), claims)
}

#[tokio::test]
async fn rfc9701_s5_an_active_token() {
    let directory = tempfile::tempdir().unwrap();
    let (server, who) = running(directory.path(), Some(Algorithm::MlDsa65)).await;
    let token = server.token().await;
    let plain = ask(&server, &who, &token, None).await.json();
    let (algorithm, typ, claims) = opened(&server, &ask(&server, &who, &token, Some(JWT)).await).await;
    assert_eq!((algorithm.as_str(), typ.as_str()), ("ML-DSA-65", "token-introspection+jwt"));
    assert_eq!(claims["iss"], server.issuer.as_str());
    assert_eq!(claims["aud"], "gateway");
    assert!(claims["iat"].is_u64());
    assert_eq!(claims["token_introspection"], plain, "the members of RFC 7662, as without a JWT");
    assert_eq!(plain["active"], true);
    let members: Vec<&String> = claims.as_object().unwrap().keys().collect();
    assert_eq!(
        members,
        ["aud", "iat", "iss", "token_introspection"],
        "neither sub nor exp: section 5 and 8.1"
    );
    server.stop().await;
}

#[tokio::test]
async fn rfc9701_s5_what_is_not_active_says_nothing_more() {
    let directory = tempfile::tempdir().unwrap();
    let (server, who) = running(directory.path(), None).await;
    let revoked = server.token().await;
    server.post("/revoke", &format!("token={revoked}")).await;
    for token in ["made-up", &revoked] {
        let (algorithm, _, claims) = opened(&server, &ask(&server, &who, token, Some(JWT)).await).await;
        assert_eq!(claims["token_introspection"], json!({"active": false}));
        assert_eq!(algorithm, "ES256", "section 6: without a choice, what signs its tokens");
    }
    server.stop().await;
}

/// §4: by `Accept`, and refusals stay JSON.
#[tokio::test]
async fn rfc9701_s4_who_asks_for_it_gets_it() {
    let directory = tempfile::tempdir().unwrap();
    let (server, who) = running(directory.path(), None).await;
    for (accept, expected) in [
        ("application/json", "application/json"),
        ("*/*", "application/json"),
        ("application/*", "application/json"),
        ("application/jwt", "application/json"),
        ("application/token-introspection+jwt;q=0", "application/json"),
        ("application/token-introspection+jwt;q=0.5, application/json", "application/json"),
        ("application/token-introspection+jwt;q=nan, */*;q=0.1", "application/json"),
        ("application/token-introspection+jwt, */*", JWT),
        ("Application/Token-Introspection+JWT ; q=0.9 , application/json;q=0.8", JWT),
        ("text/html, application/token-introspection+jwt", JWT),
    ] {
        let answer = ask(&server, &who, "x", Some(accept)).await;
        assert_eq!(answer.header("content-type"), expected, "{accept}");
    }
    let wrong = Credentials { secret: "wrong".into(), ..who.clone() };
    let refused = ask(&server, &wrong, "x", Some(JWT)).await;
    assert_eq!(refused.refusal(), (401, "invalid_client".into()));
    let metadata = server.get("/.well-known/oauth-authorization-server").await.json();
    assert_eq!(metadata["introspection_signing_alg_values_supported"], json!(["ML-DSA-65", "ES256"]));
    server.stop().await;
}

/// §8.1: the answer is no access token, wherever one is taken.
#[tokio::test]
async fn rfc9701_s8_1_the_answer_is_no_access_token() {
    let directory = tempfile::tempdir().unwrap();
    let (server, who) = running(directory.path(), None).await;
    let token = server.token().await;
    let answer = ask(&server, &who, &token, Some(JWT)).await;
    let text = std::str::from_utf8(&answer.body).unwrap();
    assert_eq!(ask(&server, &who, text, None).await.json(), json!({"active": false}));
    let userinfo = server.request("GET", "/userinfo").header("authorization", format!("Bearer {text}"));
    assert_eq!(server.send(userinfo.body(Full::default()).unwrap()).await.refusal().1, "invalid_token");
    let revoked = server.post("/revoke", &format!("token={text}")).await;
    assert_eq!(revoked.refusal().1, "unsupported_token_type", "ours, and neither of the two");
    server.stop().await;
}

/// §6: the algorithm is one that the server has.
#[tokio::test]
async fn rfc9701_s6_an_algorithm_without_a_key() {
    let house = House::build().await;
    let new = NewClient {
        introspection_signed_response_alg: Some(Algorithm::Es512),
        scopes: names(&["a"]),
        ..NewClient::default()
    };
    let refused = house.admin.add_client(new).await.unwrap_err();
    assert!(matches!(refused, Error::ClientInvalid { field: "algorithm", .. }), "{refused}");
}

proptest! {
    /// Whatever is asked for, it is answered: no header makes the server panic, and what is not named is not given.
    #[test]
    fn any_accept_is_answered(accept in "[ -~]{0,80}") {
        static RUNTIME: std::sync::OnceLock<(tokio::runtime::Runtime, Running, Credentials, tempfile::TempDir)> =
            std::sync::OnceLock::new();
        let (runtime, server, who, _) = RUNTIME.get_or_init(|| {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            let directory = tempfile::tempdir().unwrap();
            let (server, who) = runtime.block_on(running(directory.path(), None));
            (runtime, server, who, directory)
        });
        let answer = runtime.block_on(ask(server, who, "x", Some(&accept)));
        prop_assert_eq!(answer.status, StatusCode::OK);
        if !accept.to_ascii_lowercase().contains("token-introspection+jwt") {
            prop_assert_eq!(answer.header("content-type"), "application/json");
        }
    }
}
