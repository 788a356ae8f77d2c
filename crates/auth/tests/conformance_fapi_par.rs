//! The same plan, S41 to S56: pushed requests, PKCE, and the audience of assertions.

use serde_json::{Value, json};

use crate::dpop::but;
use crate::front::{Front, name_in, with, without};
use crate::support::Answer;
use crate::whole_flow::Browser;

#[tokio::test]
async fn s41_par_ensure_reused_request_uri_prior_to_auth_completion_succeeds() {
    let front = Front::fapi().await;
    let request = front.request(&front.one);
    let address = front.address(&front.one, &front.pushed(&front.one, &request).await);
    let mut browser = Browser::new(&front.server);
    assert_eq!(browser.get(&address).await.status, 200);
    let answer = front.came_back(&front.one, &front.visit(&mut browser, &address, "allow").await);
    front.grants(&front.one, &request, &answer).await;
    front.server.stop().await;
}

#[tokio::test]
async fn s42_par_attempt_reuse_request_uri() {
    let front = Front::fapi().await;
    let request = front.request(&front.one);
    let address = front.address(&front.one, &front.pushed(&front.one, &request).await);
    let mut browser = Browser::new(&front.server);
    let answer = front.came_back(&front.one, &front.visit(&mut browser, &address, "allow").await);
    front.grants(&front.one, &request, &answer).await;
    front.is_page(&browser.get(&address).await);
    front.server.stop().await;
}

#[tokio::test]
async fn s43_par_attempt_to_use_expired_request_uri() {
    let front = Front::fapi().await;
    let pushed = front.push(&front.one, &front.request(&front.one)).await;
    front.clock.advance(pushed.json()["expires_in"].as_u64().unwrap());
    let address = front.address(&front.one, &name_in(&pushed));
    front.is_page(&Browser::new(&front.server).get(&address).await);
    front.server.stop().await;
}

/// A push whose assertion has these claims changed.
async fn pushed_with(front: &Front, change: impl Fn(&Value) -> Value) -> Answer {
    let claims = change(&front.assertion_claims(&front.one));
    let mut form = front.request(&front.one);
    form.extend(front.asserted(&front.one.key, &claims));
    front.post("/par", &form, None, None).await
}

#[tokio::test]
async fn s44_par_ensure_jwt_client_assertions_nbf_8_seconds_in_the_future_is_accepted() {
    let front = Front::fapi().await;
    let soon = front.now() + 8;
    let pushed = pushed_with(&front, |claims| but(&but(claims, "iat", soon), "nbf", soon)).await;
    let address = front.address(&front.one, &name_in(&pushed));
    let answer = front.visit(&mut Browser::new(&front.server), &address, "allow").await;
    front.grants(&front.one, &front.request(&front.one), &front.came_back(&front.one, &answer)).await;
    front.server.stop().await;
}

#[tokio::test]
async fn s45_par_ensure_jwt_client_assertions_nbf_over_60_seconds_in_the_future_fails() {
    let front = Front::fapi().await;
    let later = front.now() + 62;
    let moved = |claims: &Value| but(&but(&but(claims, "iat", later), "nbf", later), "exp", later + 60);
    assert_eq!(pushed_with(&front, moved).await.refusal(), (401, "invalid_client".into()));
    front.server.stop().await;
}

#[tokio::test]
async fn s46_par_attempt_to_use_request_uri_for_different_client() {
    let front = Front::fapi().await;
    let name = front.pushed(&front.one, &front.request(&front.one)).await;
    front.is_page(&Browser::new(&front.server).get(&front.address(&front.two, &name)).await);
    front.server.stop().await;
}

#[tokio::test]
async fn s47_par_authorization_request_containing_request_uri_form_param() {
    let front = Front::fapi().await;
    let name = front.pushed(&front.one, &front.request(&front.one)).await;
    let request = with(&front.request(&front.one), "request_uri", &name);
    assert_eq!(front.push(&front.one, &request).await.refusal(), (400, "invalid_request".into()));
    front.server.stop().await;
}

#[tokio::test]
async fn s48_par_attempt_invalid_http_method() {
    let front = Front::fapi().await;
    let mut form = front.request(&front.one);
    form.extend(front.identified(&front.one));
    let mut request = front.server.form("/par", &crate::front::encoded(&form));
    *request.method_mut() = "PUT".parse().unwrap();
    request.headers_mut().remove("authorization");
    assert_eq!(front.server.send(request).await.status, 405);
    front.server.stop().await;
}

#[tokio::test]
async fn s49_par_ensure_pkce_required() {
    let front = Front::fapi().await;
    let request = without(&front.request(&front.one), "code_challenge");
    for request in [without(&request, "code_challenge_method"), request] {
        assert_eq!(front.push(&front.one, &request).await.refusal(), (400, "invalid_request".into()));
    }
    front.server.stop().await;
}

#[tokio::test]
async fn s50_ensure_pkce_code_verifier_required() {
    let front = Front::fapi().await;
    let code = front.code(&front.one, &front.request(&front.one)).await;
    let form = without(&front.redemption(&front.one, &code), "code_verifier");
    front.token_error(&front.token(&front.one, &form).await, 400, "invalid_grant");
    front.server.stop().await;
}

#[tokio::test]
async fn s51_incorrect_pkce_code_verifier_rejected() {
    let front = Front::fapi().await;
    let code = front.code(&front.one, &front.request(&front.one)).await;
    let form = with(&front.redemption(&front.one, &code), "code_verifier", &"v".repeat(43));
    front.token_error(&front.token(&front.one, &form).await, 400, "invalid_grant");
    front.server.stop().await;
}

#[tokio::test]
async fn s52_par_plain_pkce_rejected() {
    let front = Front::fapi().await;
    let request = with(&front.request(&front.one), "code_challenge_method", "plain");
    assert_eq!(front.push(&front.one, &request).await.refusal(), (400, "invalid_request".into()));
    front.server.stop().await;
}

#[tokio::test]
async fn s53_par_without_duplicate_parameters() {
    let front = Front::fapi().await;
    let request = front.request(&front.one);
    let address = front.bare_address(&front.one, &front.pushed(&front.one, &request).await);
    let answer = front.visit(&mut Browser::new(&front.server), &address, "allow").await;
    front.grants(&front.one, &request, &front.came_back(&front.one, &answer)).await;
    front.server.stop().await;
}

/// Besides what the suite sends: an array with the issuer alone, which is not a string either.
#[tokio::test]
async fn s54_par_test_array_as_audience_fails() {
    let front = Front::fapi().await;
    let issuer = &front.server.issuer;
    for aud in [json!([issuer, front.url("/token")]), json!([issuer])] {
        let answer = pushed_with(&front, |claims| but(claims, "aud", aud.clone())).await;
        assert_eq!(answer.refusal(), (401, "invalid_client".into()));
    }
    front.server.stop().await;
}

#[tokio::test]
async fn s55_par_test_par_endpoint_url_as_audience_fails() {
    let front = Front::fapi().await;
    let answer = pushed_with(&front, |claims| but(claims, "aud", front.url("/par"))).await;
    assert_eq!(answer.refusal(), (401, "invalid_client".into()));
    front.server.stop().await;
}

#[tokio::test]
async fn s56_par_test_token_endpoint_url_as_audience_fails() {
    let front = Front::fapi().await;
    let answer = pushed_with(&front, |claims| but(claims, "aud", front.url("/token"))).await;
    assert_eq!(answer.refusal(), (401, "invalid_client".into()));
    front.server.stop().await;
}
