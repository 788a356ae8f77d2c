//! The server modules of `fapi2-security-profile-final-test-plan` of the OpenID conformance suite, version 5.2.4, one test
//! each, S01 to S28: metadata, whole flows, what is in a request. Names are the suite's, after its prefix. The table is
//! docs/conformance.md.

use serde_json::{Value, json};

use crate::dpop::{but, key};
use crate::front::{Front, Pairs, encoded, value, with, without};
use crate::whole_flow::{Browser, payload, text};

/// Metadata, section by section of the suite's checks.
#[tokio::test]
async fn s01_discovery_end_point_verification() {
    let front = Front::fapi().await;
    for path in ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"] {
        let answer = front.server.get(path).await;
        assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, "application/json"));
        let metadata = answer.json();
        assert_eq!(metadata["issuer"], front.server.issuer);
        for (name, value) in metadata.as_object().unwrap() {
            let is_address = name.ends_with("_endpoint") || name == "jwks_uri";
            assert!(!is_address || value.as_str().unwrap().starts_with("https://"), "{name}");
            let is_flag = name.ends_with("_supported") && value.is_boolean();
            assert!(!name.ends_with("_supported") || is_flag || value.is_array(), "{name}");
        }
        let has = |name: &str, values: &[&str]| {
            let listed = metadata[name].as_array().unwrap_or_else(|| panic!("{name}"));
            values.iter().all(|value| listed.contains(&json!(value)))
        };
        assert!(has("response_types_supported", &["code"]));
        assert!(has("code_challenge_methods_supported", &["S256"]));
        assert!(has("grant_types_supported", &["authorization_code", "client_credentials", "refresh_token"]));
        assert!(has("scopes_supported", &["openid"]) && has("subject_types_supported", &["public"]));
        assert!(has("token_endpoint_auth_methods_supported", &["private_key_jwt", "tls_client_auth"]));
        for name in [
            "dpop_signing_alg_values_supported",
            "id_token_signing_alg_values_supported",
            "token_endpoint_auth_signing_alg_values_supported",
        ] {
            assert!(has(name, &["ES256"]), "{name}");
        }
        let first = metadata["dpop_signing_alg_values_supported"][0].as_str().unwrap();
        assert!(
            ["PS256", "ES256", "EdDSA", "Ed25519"].contains(&first),
            "the suite takes the first: {first}"
        );
        assert_eq!(metadata["authorization_response_iss_parameter_supported"], true);
        assert_eq!(metadata["require_pushed_authorization_requests"], false);
        assert_eq!(metadata["tls_client_certificate_bound_access_tokens"], true);
        assert!(metadata["pushed_authorization_request_endpoint"].is_string());
    }
    let keys = front.server.get("/jwks").await.json();
    let keys = keys["keys"].as_array().unwrap().clone();
    let kids: std::collections::BTreeSet<&str> =
        keys.iter().map(|key| key["kid"].as_str().unwrap()).collect();
    assert_eq!(kids.len(), keys.len(), "each key has a kid of its own");
    for key in &keys {
        assert!(key["kty"].is_string() && key["kty"] != "oct");
        for private in ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"] {
            assert!(key.get(private).is_none(), "{private}");
        }
    }
    front.server.stop().await;
}

#[tokio::test]
async fn s02_happy_flow() {
    for front in [Front::fapi().await, Front::fapi_mtls().await] {
        let (one, two) = (&front.one, &front.two);
        let (_, first) = front.succeeds(one, &front.request(one)).await;
        let token = first["access_token"].as_str().unwrap();
        let in_query = front.server.get(&format!("/userinfo?access_token={token}")).await;
        assert_eq!(in_query.status, 401, "FAPI 2.0 §5.3.4");
        front.clock.advance(1);

        let mut request = front.request(two);
        let state = "-._~abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01234567".repeat(2);
        request = with(&with(&request, "state", &state[..128]), "nonce", &"n".repeat(43));
        if two.identity.is_none() {
            request = with(&request, "dpop_jkt", two.dpop.public().thumbprint());
        }
        request.reverse();
        let (answer, second) = front.succeeds(two, &request).await;
        assert_eq!(value(&answer, "dummy1").as_deref(), Some("lorem"));
        assert_eq!(value(&answer, "dummy2").as_deref(), Some("ipsum"));

        let token = second["access_token"].as_str().unwrap();
        let foreign =
            front.userinfo_with(one.identity.as_ref(), token, Some(&one.dpop), |claims| claims).await;
        assert_eq!(foreign.status, 401, "{}", text(&foreign));
        front.server.stop().await;
    }
}

#[tokio::test]
async fn s03_user_rejects_authentication() {
    let front = Front::fapi().await;
    for party in [&front.one, &front.two] {
        let state = "s".repeat(128);
        let name = front.pushed(party, &with(&front.request(party), "state", &state)).await;
        let mut browser = Browser::new(&front.server);
        let answer =
            front.came_back(party, &front.visit(&mut browser, &front.address(party, &name), "deny").await);
        assert_eq!(value(&answer, "error").as_deref(), Some("access_denied"));
        assert_eq!(value(&answer, "state"), Some(state));
        assert_eq!(value(&answer, "code"), None);
    }
    front.server.stop().await;
}

#[tokio::test]
async fn s04_ensure_authorization_request_without_state_success() {
    let front = Front::fapi().await;
    let (answer, _) = front.succeeds(&front.one, &without(&front.request(&front.one), "state")).await;
    assert_eq!(value(&answer, "state"), None);
    front.server.stop().await;
}

#[tokio::test]
async fn s05_ensure_authorization_request_without_nonce_success() {
    let front = Front::fapi().await;
    let (_, tokens) = front.succeeds(&front.one, &without(&front.request(&front.one), "nonce")).await;
    assert!(payload(tokens["id_token"].as_str().unwrap()).get("nonce").is_none());
    front.server.stop().await;
}

#[tokio::test]
async fn s06_ensure_authorization_request_with_64_char_nonce_success() {
    let front = Front::fapi().await;
    let nonce = "n0-S6_WzA2Mj".repeat(6)[..64].to_owned();
    let (_, tokens) = front.succeeds(&front.one, &with(&front.request(&front.one), "nonce", &nonce)).await;
    assert_eq!(payload(tokens["id_token"].as_str().unwrap())["nonce"], nonce);
    front.server.stop().await;
}

#[tokio::test]
async fn s07_ensure_other_scope_order_succeeds() {
    let front = Front::fapi().await;
    let (_, tokens) =
        front.succeeds(&front.one, &with(&front.request(&front.one), "scope", "email openid")).await;
    assert!(tokens["id_token"].is_string());
    front.server.stop().await;
}

/// The suite skips it: `claims_parameter_supported` is not there. The parameter does no harm.
#[tokio::test]
async fn s08_test_claims_parameter_identity_claims() {
    let front = Front::fapi().await;
    let metadata = front.server.get("/.well-known/openid-configuration").await.json();
    assert!(metadata.get("claims_parameter_supported").is_none_or(|value| *value == false));
    let claims = r#"{"id_token":{"name":null},"userinfo":{"email":{"essential":true}},"unknown":{}}"#;
    front.succeeds(&front.one, &with(&front.request(&front.one), "claims", claims)).await;
    front.server.stop().await;
}

#[tokio::test]
async fn s09_access_token_type_header_case_sensitivity() {
    for (front, scheme) in [(Front::fapi().await, "dPOp"), (Front::fapi_mtls().await, "bEARER")] {
        let one = &front.one;
        let (_, tokens) = front.succeeds(one, &front.request(one)).await;
        let token = tokens["access_token"].as_str().unwrap();
        let build = || {
            let request = front.server.request("GET", "/userinfo");
            let request = match &one.identity {
                None => {
                    let claims = front.proof_claims("GET", "/userinfo", Some(token));
                    request.header("dpop", front.proof(&one.dpop, &claims))
                }
                Some(_) => request,
            };
            let request = request.header("authorization", format!("{scheme} {token}"));
            request.body(http_body_util::Full::default()).unwrap()
        };
        assert_eq!(front.exchange(one.identity.as_ref(), build).await.status, 200, "RFC 9110 §11.1");
        front.server.stop().await;
    }
}

/// A flow in which every proof has its claims changed: at the pushed request, if it is to have one, the token endpoint
/// and the resource.
async fn with_proofs(front: &Front, at_par: bool, change: impl Fn(Value) -> Value) {
    let (one, request) = (&front.one, front.request(&front.one));
    let post = async |path: &'static str, pairs: &Pairs| {
        let form: Pairs = pairs.iter().cloned().chain(front.identified(one)).collect();
        let build = || {
            let claims = change(front.proof_claims("POST", path, None));
            let sent = front.server.request("POST", path).header("dpop", front.proof(&one.dpop, &claims));
            let sent = sent.header("content-type", "application/x-www-form-urlencoded");
            sent.body(http_body_util::Full::from(encoded(&form))).unwrap()
        };
        front.exchange(None, build).await
    };
    let pushed = if at_par { post("/par", &request).await } else { front.push(one, &request).await };
    let address = front.address(one, &crate::front::name_in(&pushed));
    let answer =
        front.came_back(one, &front.visit(&mut Browser::new(&front.server), &address, "allow").await);
    let granted = post("/token", &front.redemption(one, &value(&answer, "code").unwrap())).await;
    front.check_granted(one, &request, &granted);
    let tokens = granted.json();
    let token = tokens["access_token"].as_str().unwrap();
    let claims = front.userinfo_with(None, token, Some(&one.dpop), &change).await;
    assert_eq!(claims.status, 200, "{}", text(&claims));
}

#[tokio::test]
async fn s10_check_dpop_proof_nbf_exp() {
    let front = Front::fapi().await;
    let now = front.now();
    with_proofs(&front, false, |claims| but(&but(&claims, "nbf", now), "exp", now + 300)).await;
    front.server.stop().await;
}

#[tokio::test]
async fn s11_ensure_dpopproof_with_iat_10seconds_before_succeeds() {
    let front = Front::fapi().await;
    let iat = front.now() - 10;
    with_proofs(&front, true, |claims| but(&claims, "iat", iat)).await;
    front.server.stop().await;
}

#[tokio::test]
async fn s12_ensure_dpopproof_with_iat_10seconds_after_succeeds() {
    let front = Front::fapi().await;
    let iat = front.now() + 8;
    with_proofs(&front, true, |claims| but(&claims, "iat", iat)).await;
    front.server.stop().await;
}

#[tokio::test]
async fn s13_ensure_mismatched_dpop_jkt_fails() {
    let front = Front::fapi().await;
    let request = with(&front.request(&front.one), "dpop_jkt", key().public().thumbprint());
    let answer = front.push_with(&front.one, &request, Some(&front.one.dpop)).await;
    assert_eq!(answer.refusal(), (400, "invalid_dpop_proof".into()));
    front.server.stop().await;
}

/// The code that comes of a request that was pushed with this proof.
async fn code_of(front: &Front, request: &Pairs, proof: bool) -> String {
    let proof = proof.then_some(&front.one.dpop);
    let name = crate::front::name_in(&front.push_with(&front.one, request, proof).await);
    let address = front.address(&front.one, &name);
    let answer = front.visit(&mut Browser::new(&front.server), &address, "allow").await;
    value(&front.came_back(&front.one, &answer), "code").unwrap()
}

#[tokio::test]
async fn s14_ensure_token_endpoint_fails_with_mismatched_dpop_proof_jkt() {
    let front = Front::fapi().await;
    let code = code_of(&front, &front.request(&front.one), true).await;
    let answer = front.token_with(&front.one, &front.redemption(&front.one, &code), Some(&key())).await;
    front.token_error(&answer, 400, "invalid_grant");
    front.server.stop().await;
}

#[tokio::test]
async fn s15_ensure_token_endpoint_fails_with_mismatched_dpop_jkt() {
    let front = Front::fapi().await;
    let request = with(&front.request(&front.one), "dpop_jkt", key().public().thumbprint());
    let code = code_of(&front, &request, false).await;
    front.token_error(&front.redeem(&front.one, &code).await, 400, "invalid_grant");
    front.server.stop().await;
}

#[tokio::test]
async fn s16_ensure_dpopproof_at_par_endpoint_binding_success() {
    let front = Front::fapi().await;
    let request = front.request(&front.one);
    let code = code_of(&front, &request, true).await;
    front.check_granted(&front.one, &request, &front.redeem(&front.one, &code).await);
    front.server.stop().await;
}

#[tokio::test]
async fn s17_ensure_dpop_auth_code_binding_success() {
    let front = Front::fapi().await;
    let request = with(&front.request(&front.one), "dpop_jkt", front.one.dpop.public().thumbprint());
    let code = code_of(&front, &request, true).await;
    front.check_granted(&front.one, &request, &front.redeem(&front.one, &code).await);
    front.server.stop().await;
}

/// What comes of a pushed request with these parameters beside its name. Nothing is asked in between: the pages would
/// leave them out.
async fn beside(front: &Front, request: &Pairs, more: &[(&str, &str)]) {
    let name = front.pushed(&front.one, request).await;
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(more).finish();
    let address = format!("{}&{query}", front.bare_address(&front.one, &name));
    let answer = front.settled(&front.one).await.get(&address).await;
    front.grants(&front.one, request, &front.came_back(&front.one, &answer)).await;
}

#[tokio::test]
async fn s18_ensure_different_nonce_inside_and_outside_request_object() {
    let front = Front::fapi().await;
    beside(&front, &front.request(&front.one), &[("nonce", "another")]).await;
    front.server.stop().await;
}

#[tokio::test]
async fn s19_ensure_different_state_inside_and_outside_request_object() {
    let front = Front::fapi().await;
    beside(&front, &front.request(&front.one), &[("state", "another")]).await;
    front.server.stop().await;
}

#[tokio::test]
async fn s20_ensure_authorization_request_with_long_nonce() {
    let front = Front::fapi().await;
    front.succeeds(&front.one, &with(&front.request(&front.one), "nonce", &"n".repeat(384))).await;
    front.server.stop().await;
}

#[tokio::test]
async fn s21_ensure_authorization_request_with_long_state() {
    let front = Front::fapi().await;
    front.succeeds(&front.one, &with(&front.request(&front.one), "state", &"s".repeat(1000))).await;
    front.server.stop().await;
}

#[tokio::test]
async fn s22_state_only_outside_request_object_not_used() {
    let front = Front::fapi().await;
    beside(&front, &without(&front.request(&front.one), "state"), &[("state", "outside")]).await;
    front.server.stop().await;
}

#[tokio::test]
async fn s23_ensure_request_object_without_redirect_uri_fails() {
    let front = Front::fapi().await;
    let answer = front.push(&front.one, &without(&front.request(&front.one), "redirect_uri")).await;
    assert_eq!(answer.refusal(), (400, "invalid_request".into()));
    front.server.stop().await;
}

#[tokio::test]
async fn s24_plain_fapi_tolerate_unregistered_redirect_uri() {
    let front = Front::fapi().await;
    let elsewhere = with(&front.request(&front.one), "redirect_uri", "https://one.example/callback/7f3a");
    assert_eq!(front.push(&front.one, &elsewhere).await.refusal(), (400, "invalid_request".into()));
    front.server.stop().await;
}

#[tokio::test]
async fn s25_ensure_unsigned_authorization_request_without_using_par_fails() {
    let front = Front::fapi().await;
    let address = format!("/authorize?{}", encoded(&front.request(&front.one)));
    front.is_page(&Browser::new(&front.server).get(&address).await);
    front.server.stop().await;
}

/// With OpenID Connect, which demands it anyway, and without, where the profile does.
#[tokio::test]
async fn s26_ensure_redirect_uri_in_authorization_request() {
    let front = Front::fapi().await;
    let request = without(&front.request(&front.one), "redirect_uri");
    for request in [with(&request, "scope", "email"), request] {
        assert_eq!(front.push(&front.one, &request).await.refusal(), (400, "invalid_request".into()));
    }
    front.server.stop().await;
}

#[tokio::test]
async fn s27_ensure_response_type_code_idtoken_fails() {
    let front = Front::fapi().await;
    let request = with(&front.request(&front.one), "response_type", "code id_token");
    assert_eq!(front.push(&front.one, &request).await.refusal(), (400, "unsupported_response_type".into()));
    front.server.stop().await;
}

#[tokio::test]
async fn s28_ensure_response_type_token_fails() {
    let front = Front::fapi().await;
    let request = with(&front.request(&front.one), "response_type", "token");
    assert_eq!(front.push(&front.one, &request).await.refusal(), (400, "unsupported_response_type".into()));
    front.server.stop().await;
}
