//! The server modules of `oidcc-dynamic-certification-test-plan` of the OpenID conformance suite, version 5.2.4, one test each,
//! D01 to D23: clients that register themselves, with RS256 keys, whose assertions name the token endpoint. Names are the
//! suite's, after `oidcc-`. The table is docs/conformance-oidc.md.

use sealstone_jose::jws::Unverified;
use sealstone_jose::{Algorithm, JwkSet, PrivateKey};
use serde_json::{Value, json};

use crate::basic;
use crate::front::{Pairs, value, with, without};
use crate::oidc::{Op, Party, Plan, Way, address, pairs};
use crate::publisher::{Manner, Publisher};
use crate::support::Answer;
use crate::whole_flow::{Browser, payload, text};

const CALLBACK: &str = "https://self.example/callback";

fn key() -> PrivateKey {
    PrivateKey::generate(Algorithm::Rs256).unwrap()
}

fn jwks(key: &PrivateKey) -> Value {
    serde_json::from_str(&JwkSet::new([key.public().clone()]).unwrap().to_json()).unwrap()
}

/// The metadata of the plan's client, and with these members besides.
fn metadata(key: &PrivateKey, more: &[(&str, Value)]) -> Value {
    let mut all = json!({
        "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "private_key_jwt", "jwks": jwks(key),
        "grant_types": ["authorization_code", "refresh_token"],
    });
    for (name, value) in more {
        all[*name] = value.clone();
    }
    all
}

/// What the server says to a registration: RFC 7591 §3.2.1, and the suite's checks of it.
fn registered(op: &Op, answer: &Answer) -> Value {
    assert_eq!(
        (answer.status.as_u16(), answer.header("content-type")),
        (201, "application/json"),
        "{}",
        text(answer)
    );
    let said = answer.json();
    assert!(said.get("client_secret").is_none(), "it has a key");
    assert!(said["registration_access_token"].is_string());
    let place = said["registration_client_uri"].as_str().unwrap();
    assert!(place.starts_with(&format!("{}/register/", op.server.issuer)));
    said
}

async fn party(op: &Op, more: &[(&str, Value)]) -> (Party, Value) {
    let key = key();
    let said = registered(op, &op.register(&metadata(&key, more)).await);
    let endpoint = format!("{}/token", op.server.issuer);
    let callback = said["redirect_uris"][0].as_str().unwrap().to_owned();
    let id = said["client_id"].as_str().unwrap().to_owned();
    (Party { id, callback, way: Way::Jwt(Box::new(key), endpoint) }, said)
}

/// A registration that is refused with this, and whose client is not there.
async fn refused(op: &Op, more: &[(&str, Value)], error: &str) {
    let before = op.server.admin.list_clients().await.unwrap().len();
    assert_eq!(op.register(&metadata(&key(), more)).await.refusal(), (400, error.to_owned()));
    assert_eq!(op.server.admin.list_clients().await.unwrap().len(), before);
}

async fn start() -> Op {
    Op::start(Plan::Basic).await
}

#[tokio::test]
async fn d01_idtoken_rs256() {
    let op = start().await;
    let (party, said) = party(&op, &[("id_token_signed_response_alg", json!("RS256"))]).await;
    assert_eq!(said["id_token_signed_response_alg"], "RS256");
    op.succeeds(&party, &op.request(&party)).await;
    op.server.stop().await;
}

#[tokio::test]
async fn d02_idtoken_unsigned() {
    let op = start().await;
    refused(&op, &[("id_token_signed_response_alg", json!("none"))], "invalid_client_metadata").await;
    op.server.stop().await;
}

#[tokio::test]
async fn d03_userinfo_rs256() {
    let op = start().await;
    let offered = op.server.get("/.well-known/openid-configuration").await.json();
    assert!(offered["userinfo_signing_alg_values_supported"].as_array().unwrap().contains(&json!("RS256")));
    refused(&op, &[("userinfo_signed_response_alg", json!("none"))], "invalid_client_metadata").await;
    refused(&op, &[("userinfo_signed_response_alg", json!("ES384"))], "invalid_client_metadata").await;
    let (party, said) = party(&op, &[("userinfo_signed_response_alg", json!("RS256"))]).await;
    assert_eq!(said["userinfo_signed_response_alg"], "RS256");
    let request = with(&op.request(&party), "scope", "openid email");
    let mut browser = Browser::new(&op.server);
    let answer = op.visit(&mut browser, &request).await;
    let code = value(&op.came_back(&party, &answer), "code").unwrap();
    let tokens = op.token(&party, &op.redemption(&party, &code)).await.json();
    let known = op.userinfo(tokens["access_token"].as_str().unwrap()).await;
    assert_eq!((known.status.as_u16(), known.header("content-type")), (200, "application/jwt"));
    assert_eq!(known.header("cache-control"), "no-store");
    let keys = JwkSet::parse(&op.server.get("/jwks").await.body).unwrap();
    let token = text(&known);
    let parsed = Unverified::parse(&token).unwrap();
    assert_eq!(parsed.header().algorithm(), Algorithm::Rs256);
    parsed.verify_with_set(&keys).unwrap();
    let id_token = tokens["id_token"].as_str().unwrap();
    let expected = json!({
        "iss": op.server.issuer, "aud": party.id, "sub": payload(id_token)["sub"],
        "email": "ada@example.org", "email_verified": true,
    });
    assert_eq!(payload(&token), expected, "no nonce");
    // It is no ID token: Core §3.1.2.1 takes those alone.
    let request = with(&op.request(&party), "id_token_hint", &token);
    let answer = browser.get(&address(&request)).await;
    assert_eq!(op.error(&party, &request, &answer), "invalid_request");
    op.server.stop().await;
}

#[tokio::test]
async fn d04_ensure_redirect_uri_in_authorization_request() {
    let op = start().await;
    let two = json!([CALLBACK, "https://self.example/other"]);
    let (party, _) = party(&op, &[("redirect_uris", two)]).await;
    let request = without(&op.request(&party), "redirect_uri");
    op.is_page(&Browser::new(&op.server).get(&address(&request)).await);
    op.server.stop().await;
}

const WITH_QUERY: &str = "https://self.example/callback?bar=foo";

#[tokio::test]
async fn d05_redirect_uri_query_ok() {
    let op = start().await;
    let (party, _) = party(&op, &[("redirect_uris", json!([WITH_QUERY]))]).await;
    // What comes back begins with the whole of it.
    op.succeeds(&party, &op.request(&party)).await;
    op.server.stop().await;
}

/// The redirect URI that a client asks for, which has registered another.
async fn asks_for(registered: &str, asked: &str) {
    let op = start().await;
    let (party, _) = party(&op, &[("redirect_uris", json!([registered]))]).await;
    let request = with(&op.request(&party), "redirect_uri", asked);
    op.is_page(&Browser::new(&op.server).get(&address(&request)).await);
    op.server.stop().await;
}

#[tokio::test]
async fn d06_redirect_uri_query_mismatch() {
    asks_for(WITH_QUERY, "https://self.example/callback?foo=bar").await;
}

#[tokio::test]
async fn d07_redirect_uri_query_added() {
    asks_for(CALLBACK, "https://self.example/callback?foo=bar").await;
}

#[tokio::test]
async fn d08_redirect_uri_regfrag() {
    let op = start().await;
    let fragment = json!(["https://self.example/callback#foo"]);
    refused(&op, &[("redirect_uris", fragment)], "invalid_redirect_uri").await;
    op.server.stop().await;
}

/// The suite fails it: there is no implicit flow here, and the metadata says so.
#[tokio::test]
async fn d09_discovery_endpoint_verification() {
    let op = start().await;
    let metadata = op.server.get("/.well-known/openid-configuration").await.json();
    assert_eq!(metadata["response_types_supported"], json!(["code"]));
    assert!(!metadata["grant_types_supported"].as_array().unwrap().contains(&json!("implicit")));
    assert_eq!(metadata["registration_endpoint"], format!("{}/register", op.server.issuer));
    for kind in ["id_token", "id_token token", "code id_token"] {
        refused(&op, &[("response_types", json!([kind]))], "invalid_client_metadata").await;
        let request = with(&op.request(&op.one), "response_type", kind);
        let answer = Browser::new(&op.server).get(&address(&request)).await;
        assert_eq!(op.error(&op.one, &request, &answer), "unsupported_response_type");
    }
    refused(&op, &[("grant_types", json!(["implicit"]))], "invalid_client_metadata").await;
    op.server.stop().await;
}

/// And at the end it leaves: RFC 7592 §2.3.
#[tokio::test]
async fn d10_server() {
    let op = start().await;
    let (party, said) = party(&op, &[]).await;
    let tokens = op.succeeds(&party, &op.request(&party)).await;
    let path = said["registration_client_uri"].as_str().unwrap().strip_prefix(&op.server.issuer).unwrap();
    let token = said["registration_access_token"].as_str().unwrap();
    let request = op.server.request("DELETE", path).header("authorization", format!("Bearer {token}"));
    let gone = op.server.send(request.body(http_body_util::Full::default()).unwrap()).await;
    assert_eq!(gone.status, 204);
    op.ends(tokens["access_token"].as_str().unwrap()).await;
    op.server.stop().await;
}

/// The sign-in page and the consent page of a client that has registered this member.
async fn pages_with(member: &str, uri: &str) -> (Value, [String; 2], String) {
    let op = start().await;
    let (party, said) = party(&op, &[(member, json!(uri)), ("client_name", json!("Shop"))]).await;
    let mut browser = Browser::new(&op.server);
    let login = browser.get(&address(&op.request(&party))).await;
    let consent = browser.sign_in(&login).await;
    assert!(text(&consent).contains("action=\"consent\""));
    let policy = login.header("content-security-policy").to_owned();
    op.came_back(&party, &browser.decide(&consent, "allow").await);
    op.server.stop().await;
    (said, [text(&login), text(&consent)], policy)
}

/// The suite wants to see it. Here it is neither registered nor shown: pages load nothing but files of this server.
#[tokio::test]
async fn d11_registration_logo_uri() {
    let (said, pages, policy) = pages_with("logo_uri", "https://self.example/logo.png").await;
    assert!(said.get("logo_uri").is_none());
    assert!(pages.iter().all(|page| !page.contains("logo.png")));
    assert!(policy.split("; ").any(|part| part == "img-src 'self'"), "{policy}");
}

/// The page links to it, says where that leads, and tells nobody where the person comes from.
async fn linked(member: &str, name: &str) {
    let uri = "https://self.example/what?a=1&b=%22%3E";
    let (said, pages, _) = pages_with(member, uri).await;
    assert_eq!(said[member], uri);
    for page in pages {
        let link = page.split("<a href=\"").nth(1).unwrap().split("</a>").next().unwrap();
        assert!(link.starts_with("https://self.example/what?a=1&#38;b=%22%3E\""), "{link}");
        assert!(link.contains("rel=\"noopener noreferrer nofollow\"") && link.contains(name));
        assert!(link.contains("(self.example)"));
    }
    let op = start().await;
    for wrong in ["http://self.example/", "javascript:alert(1)", "https://a@self.example/", "what"] {
        refused(&op, &[(member, json!(wrong))], "invalid_client_metadata").await;
    }
    op.server.stop().await;
}

#[tokio::test]
async fn d12_registration_policy_uri() {
    linked("policy_uri", "Privacy policy").await;
}

#[tokio::test]
async fn d13_registration_tos_uri() {
    linked("tos_uri", "Terms of service").await;
}

/// A server that fetches from this publisher.
async fn fetching(publisher: &Publisher) -> Op {
    Op::with(Plan::Basic, Some(publisher), |_| {}).await
}

fn publish(body: String, etag: &'static str) -> Manner {
    Manner::Publish { body, etag }
}

/// A client whose key is at its `jwks_uri`.
async fn at_jwks_uri(op: &Op, key: PrivateKey) -> Party {
    let mut wanted = metadata(&key, &[("jwks_uri", json!("https://keys.example/jwks"))]);
    wanted.as_object_mut().unwrap().remove("jwks");
    let said = registered(op, &op.register(&wanted).await);
    assert_eq!(said["jwks_uri"], "https://keys.example/jwks");
    let endpoint = format!("{}/token", op.server.issuer);
    let id = said["client_id"].as_str().unwrap().to_owned();
    Party { id, callback: CALLBACK.into(), way: Way::Jwt(Box::new(key), endpoint) }
}

#[tokio::test]
async fn d14_registration_jwks_uri() {
    let key = key();
    let publisher = Publisher::start(publish(jwks(&key).to_string(), "\"1\"")).await;
    let op = fetching(&publisher).await;
    let party = at_jwks_uri(&op, key).await;
    op.succeeds(&party, &op.request(&party)).await;
    assert_eq!(publisher.requests().len(), 1);
    op.server.stop().await;
}

const SECTOR: &str = "https://keys.example/sector.json";

#[tokio::test]
async fn d15_registration_sector_uri() {
    let publisher = Publisher::start(publish(json!([CALLBACK]).to_string(), "\"1\"")).await;
    let op = fetching(&publisher).await;
    let pairwise = [("subject_type", json!("pairwise")), ("sector_identifier_uri", json!(SECTOR))];
    let (party, said) = party(&op, &pairwise).await;
    assert_eq!((&said["subject_type"], &said["sector_identifier_uri"]), (&json!("pairwise"), &json!(SECTOR)));
    let own = op.succeeds(&party, &op.request(&party)).await;
    let public = op.succeeds(&op.one, &op.request(&op.one)).await;
    let sub = |tokens: &Value| payload(tokens["id_token"].as_str().unwrap())["sub"].clone();
    assert_ne!(sub(&own), sub(&public));
    op.server.stop().await;
}

#[tokio::test]
async fn d16_registration_sector_bad() {
    let publisher =
        Publisher::start(publish(json!(["https://self.example/other"]).to_string(), "\"1\"")).await;
    let op = fetching(&publisher).await;
    let pairwise = [("subject_type", json!("pairwise")), ("sector_identifier_uri", json!(SECTOR))];
    refused(&op, &pairwise, "invalid_client_metadata").await;
    op.server.stop().await;
}

/// Published at once, so that clients know it before it signs; the one of before stays until its tokens are over.
#[tokio::test]
async fn d17_server_rotate_keys() {
    let op = start().await;
    let rsa = async || {
        let keys = op.server.get("/jwks").await.json();
        let all = keys["keys"].as_array().unwrap().clone();
        all.into_iter().filter(|key| key["kty"] == "RSA").collect::<Vec<_>>()
    };
    let before = rsa().await;
    let old = op.succeeds(&op.one, &op.request(&op.one)).await;
    let heir = op.server.admin.rotate_signing_key(Algorithm::Rs256).await.unwrap();
    let published = async {
        loop {
            let now = rsa().await;
            if now.len() > before.len() {
                return now;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let after = tokio::time::timeout(std::time::Duration::from_secs(30), published).await.unwrap();
    let new: Vec<_> = after.iter().filter(|key| !before.contains(key)).collect();
    assert_eq!(new.len(), 1);
    assert_eq!(new[0]["kid"], heir.kid);
    assert!(before.iter().all(|known| known["kid"] != new[0]["kid"] && known["n"] != new[0]["n"]));
    assert_eq!(op.userinfo(old["access_token"].as_str().unwrap()).await.status, 200, "nothing is lost");
    op.succeeds(&op.one, &op.request(&op.one)).await;
    op.server.stop().await;
}

fn refresh(tokens: &Value) -> Pairs {
    let token = tokens["refresh_token"].as_str().unwrap();
    pairs(&[("grant_type", "refresh_token"), ("refresh_token", token)])
}

#[tokio::test]
async fn d18_refresh_token_rp_key_rotation() {
    let (first, second) = (key(), key());
    let publisher = Publisher::start(publish(jwks(&first).to_string(), "\"1\"")).await;
    let op = fetching(&publisher).await;
    let mut party = at_jwks_uri(&op, first).await;
    let tokens = op.succeeds(&party, &with(&op.request(&party), "scope", "openid offline_access")).await;
    publisher.set(publish(jwks(&second).to_string(), "\"2\""));
    op.clock.advance(60);
    let Way::Jwt(key, _) = &mut party.way else { panic!() };
    let gone = std::mem::replace(key, Box::new(second));
    let refreshed = op.check_granted(&party, &op.token(&party, &refresh(&tokens)).await).await;
    // The key that is not there any more signs for nobody.
    let Way::Jwt(key, _) = &mut party.way else { panic!() };
    *key = gone;
    op.token_error(&op.token(&party, &refresh(&refreshed)).await, 401, "invalid_client");
    op.server.stop().await;
}

/// The suite skips it: `none` is not offered, and requests at an address are not either.
#[tokio::test]
async fn d19_request_uri_unsigned() {
    let op = start().await;
    refused(&op, &[("request_object_signing_alg", json!("none"))], "invalid_client_metadata").await;
    let metadata = op.server.get("/.well-known/openid-configuration").await.json();
    assert_eq!(metadata["request_uri_parameter_supported"], false);
    op.server.stop().await;
}

/// Not offered: nothing is fetched from an address that a query names.
#[tokio::test]
async fn d20_request_uri_signed_rs256() {
    let publisher = Publisher::start(publish(String::new(), "\"1\"")).await;
    let op = fetching(&publisher).await;
    let uri = "https://keys.example/request.jwt#hash";
    let (party, said) = party(&op, &[("request_uris", json!([uri]))]).await;
    assert!(said.get("request_uris").is_none(), "what is not registered is not said");
    let request = with(&op.request(&party), "request_uri", uri);
    let mut browser = Browser::new(&op.server);
    op.succeeds_in(&mut browser, &party, &op.request(&party)).await;
    let answer = browser.get(&address(&request)).await;
    assert_eq!(op.error(&party, &request, &answer), "request_uri_not_supported");
    assert_eq!(publisher.connections(), 0);
    op.server.stop().await;
}

#[tokio::test]
async fn d21_ensure_request_object_with_redirect_uri() {
    let op = start().await;
    let (party, _) = party(&op, &[]).await;
    let inside = op.request(&party);
    let outside = with(&inside, "redirect_uri", "https://self.example/elsewhere");
    let request = with(&outside, "request", &basic::unsigned(&op, &party, &inside));
    op.is_page(&Browser::new(&op.server).get(&address(&request)).await);
    op.server.stop().await;
}

#[tokio::test]
async fn d22_refresh_token() {
    let op = start().await;
    let ((one, _), (two, _)) = (party(&op, &[]).await, party(&op, &[]).await);
    let mut tokens = Vec::new();
    for party in [&one, &two] {
        let first = op.succeeds(party, &with(&op.request(party), "scope", "openid offline_access")).await;
        op.clock.advance(1);
        tokens.push(op.check_granted(party, &op.token(party, &refresh(&first)).await).await);
    }
    op.token_error(&op.token(&one, &refresh(&tokens[1])).await, 400, "invalid_grant");
    assert_eq!(op.token(&two, &refresh(&tokens[1])).await.status, 200);
    op.server.stop().await;
}

/// And where the operator has not said otherwise, by that audience alone.
#[tokio::test]
async fn d23_ensure_client_assertion_with_iss_aud_succeeds() {
    let op = Op::with(Plan::Basic, None, |config| config.registration.token_endpoint_audience = false).await;
    let (mut party, _) = party(&op, &[]).await;
    let any = op.redemption(&party, "any");
    op.token_error(&op.token(&party, &any).await, 401, "invalid_client");
    let issuer = op.server.issuer.clone();
    let Way::Jwt(_, audience) = &mut party.way else { panic!() };
    *audience = issuer;
    op.succeeds(&party, &op.request(&party)).await;
    op.server.stop().await;
}
