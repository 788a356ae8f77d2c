//! `fapi2-message-signing-final-test-plan` of the OpenID conformance suite, version 5.2.4: the 14 modules about signed
//! requests, which are pushed. Names are the suite's, after its prefix. The table is docs/conformance.md.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_auth::NewClient;
use serde_json::{Value, json};

use crate::dpop::{but, signed};
use crate::front::{Front, Pairs, fapi2, name_in, value};
use crate::support::Answer;
use crate::whole_flow::Browser;

/// Two clients of the profile that must sign their requests.
async fn front() -> Front {
    Front::with(false, signing).await
}

fn signing(new: NewClient) -> NewClient {
    let mut new = fapi2(new);
    new.code_flow.require_signed_request_object = true;
    new
}

/// Pushes an object whose claims are changed.
async fn pushed(front: &Front, change: impl Fn(&Value) -> Value) -> Answer {
    let claims = front.object_claims(&front.one, &front.request(&front.one));
    front.push(&front.one, &front.object(&front.one.key, &change(&claims))).await
}

/// The rest of the flow, with the answers of the plain modules.
async fn goes_on(front: &Front, pushed: &Answer) {
    let address = front.address(&front.one, &name_in(pushed));
    let answer = front.visit(&mut Browser::new(&front.server), &address, "allow").await;
    front.grants(&front.one, &front.request(&front.one), &front.came_back(&front.one, &answer)).await;
}

/// The change is refused. Without it the object is taken.
async fn refused(change: impl Fn(&Value) -> Value) {
    let front = front().await;
    assert_eq!(pushed(&front, change).await.refusal(), (400, "invalid_request_object".into()));
    name_in(&pushed(&front, Value::clone).await);
    front.server.stop().await;
}

#[tokio::test]
async fn m01_ensure_request_object_with_multiple_aud_succeeds() {
    let front = front().await;
    let aud = json!([front.server.issuer, "https://elsewhere.example", "word"]);
    goes_on(&front, &pushed(&front, |claims| but(claims, "aud", aud.clone())).await).await;
    front.server.stop().await;
}

/// And what the suite's second client sends: `iat`, and `typ` in mixed case.
#[tokio::test]
async fn m02_ensure_request_object_with_nbf_8_seconds_in_the_future_is_accepted() {
    let front = front().await;
    let soon = front.now() + 8;
    goes_on(&front, &pushed(&front, |claims| but(claims, "nbf", soon)).await).await;
    let two = &front.two;
    let claims = but(&front.object_claims(two, &front.request(two)), "iat", front.now());
    let header = json!({"alg": "ES256", "kid": two.key.kid(), "typ": "OautH-auThZ-REQ+jWt"});
    let object = vec![("request".into(), signed(&two.key, &header, &claims))];
    let address = front.address(two, &name_in(&front.push(two, &object).await));
    let answer = front.visit(&mut Browser::new(&front.server), &address, "allow").await;
    assert!(value(&front.came_back(two, &answer), "code").is_some());
    front.server.stop().await;
}

#[tokio::test]
async fn m03_ensure_request_object_without_exp_fails() {
    refused(|claims| but(claims, "exp", Value::Null)).await;
}

#[tokio::test]
async fn m04_ensure_request_object_without_nbf_fails() {
    refused(|claims| but(claims, "nbf", Value::Null)).await;
}

#[tokio::test]
async fn m05_ensure_expired_request_object_fails() {
    refused(|claims| but(claims, "exp", claims["nbf"].as_u64().unwrap() - 3600)).await;
}

#[tokio::test]
async fn m06_ensure_request_object_with_bad_aud_fails() {
    refused(|claims| but(claims, "aud", "https://elsewhere.example")).await;
}

#[tokio::test]
async fn m07_ensure_request_object_with_exp_over_60_fails() {
    refused(|claims| but(claims, "exp", claims["nbf"].as_u64().unwrap() + 70 * 60)).await;
}

/// With an `exp` that is good in itself, so that `nbf` alone is wrong.
#[tokio::test]
async fn m08_ensure_request_object_with_nbf_over_60_fails() {
    refused(|claims| but(claims, "nbf", claims["nbf"].as_u64().unwrap() - 70 * 60)).await;
}

/// The object with another header, and a signature of this length.
fn forged(front: &Front, header: &Value, signature: &[u8]) -> Pairs {
    let claims = front.object_claims(&front.one, &front.request(&front.one));
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let object = format!("{}.{}.{}", part(header), part(&claims), URL_SAFE_NO_PAD.encode(signature));
    vec![("request".into(), object)]
}

/// With the client's own RSA key, which is one of PS256.
#[tokio::test]
async fn m09_ensure_signed_request_object_with_rs256_fails() {
    let (front, rs256) = Front::fapi_ps256(signing).await;
    let claims = front.object_claims(&front.one, &front.request(&front.one));
    let answer = front.push(&front.one, &front.object(&rs256, &claims)).await;
    assert_eq!(answer.refusal(), (400, "invalid_request_object".into()));
    name_in(&front.push(&front.one, &front.object(&front.one.key, &claims)).await);
    front.server.stop().await;
}

#[tokio::test]
async fn m10_ensure_request_object_signature_algorithm_is_not_none() {
    let front = front().await;
    let header = json!({"alg": "none", "kid": front.one.key.kid()});
    for signature in [&[][..], &[0; 64]] {
        let answer = front.push(&front.one, &forged(&front, &header, signature)).await;
        assert_eq!(answer.refusal(), (400, "invalid_request_object".into()));
    }
    front.server.stop().await;
}

#[tokio::test]
async fn m11_ensure_request_object_with_invalid_signature_fails() {
    let front = front().await;
    let claims = front.object_claims(&front.one, &front.request(&front.one));
    let good = front.object(&front.one.key, &claims).remove(0).1;
    let (input, signature) = good.rsplit_once('.').unwrap();
    let mut bytes = URL_SAFE_NO_PAD.decode(signature).unwrap();
    bytes[7] ^= 0x5a;
    let object = vec![("request".into(), format!("{input}.{}", URL_SAFE_NO_PAD.encode(bytes)))];
    let answer = front.push(&front.one, &object).await;
    assert_eq!(answer.refusal(), (400, "invalid_request_object".into()));
    front.server.stop().await;
}

/// Under the name of its own key, and under that of the first client's.
#[tokio::test]
async fn m12_ensure_matching_key_in_authorization_request() {
    let front = front().await;
    let claims = front.object_claims(&front.one, &front.request(&front.one));
    let named = json!({"alg": "ES256", "kid": front.one.key.kid()});
    let renamed = vec![("request".into(), signed(&front.two.key, &named, &claims))];
    for object in [front.object(&front.two.key, &claims), renamed] {
        let answer = front.push(&front.one, &object).await;
        assert_eq!(answer.refusal(), (400, "invalid_request_object".into()));
    }
    front.server.stop().await;
}

#[tokio::test]
async fn m13_ensure_unsigned_request_at_par_endpoint_fails() {
    let front = front().await;
    let answer = front.push(&front.one, &front.request(&front.one)).await;
    assert_eq!(answer.refusal(), (400, "invalid_request".into()));
    front.server.stop().await;
}

#[tokio::test]
async fn m14_par_authorization_request_containing_request_uri() {
    refused(|claims| but(claims, "request_uri", "urn:ietf:params:oauth:request_uri:x")).await;
}
