//! The same plan, S29 to S40: the token endpoint, proofs at the resource, refresh tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http_body_util::Full;
use sealstone_auth::NewClient;
use sealstone_jose::{Algorithm, PrivateKey};
use serde_json::{Value, json};

use crate::dpop::{but, header, key, signed};
use crate::front::{Front, Pairs, fapi2, value, with, without};
use crate::support::Answer;
use crate::whole_flow::{payload, text};

#[tokio::test]
async fn s29_ensure_client_id_in_token_endpoint() {
    let front = Front::fapi().await;
    let (one, two) = (&front.one, &front.two);
    let code = front.code(one, &front.request(one)).await;
    let mut form = with(&front.redemption(one, &code), "client_id", &two.id);
    form.extend(front.asserted(&one.key, &front.assertion_claims(two)));
    front.token_error(&front.post("/token", &form, None, Some(&one.dpop)).await, 401, "invalid_client");
    front.server.stop().await;

    let front = Front::fapi_mtls().await;
    let code = front.code(&front.one, &front.request(&front.one)).await;
    let form = with(&front.redemption(&front.one, &code), "client_id", &front.two.id);
    let answer = front.post("/token", &form, front.one.identity.as_ref(), None).await;
    front.token_error(&answer, 401, "invalid_client");
    front.server.stop().await;
}

/// For each way of binding. Where the certificate also says who it is, there is no client without it.
#[tokio::test]
async fn s30_ensure_holder_of_key_required() {
    let front = Front::fapi().await;
    let code = front.code(&front.one, &front.request(&front.one)).await;
    let answer = front.token_with(&front.one, &front.redemption(&front.one, &code), None).await;
    front.token_error(&answer, 400, "invalid_dpop_proof");
    front.server.stop().await;

    let by_certificate = |new: NewClient| NewClient {
        dpop_bound_access_tokens: false,
        tls_client_certificate_bound_access_tokens: true,
        ..fapi2(new)
    };
    let front = Front::with(false, by_certificate).await;
    let code = front.code(&front.one, &front.request(&front.one)).await;
    let answer = front.token_with(&front.one, &front.redemption(&front.one, &code), None).await;
    front.token_error(&answer, 400, "invalid_request");
    front.server.stop().await;

    let front = Front::fapi_mtls().await;
    let code = front.code(&front.one, &front.request(&front.one)).await;
    let form = with(&front.redemption(&front.one, &code), "client_id", &front.one.id);
    front.token_error(&front.post("/token", &form, None, None).await, 401, "invalid_client");
    front.server.stop().await;
}

#[tokio::test]
async fn s31_ensure_authorization_code_is_bound_to_client() {
    for front in [Front::fapi().await, Front::fapi_mtls().await] {
        let code = front.code(&front.one, &front.request(&front.one)).await;
        let form = front.redemption(&front.one, &code);
        front.token_error(&front.token(&front.two, &form).await, 400, "invalid_grant");
        // And nobody has spoiled it for its client.
        assert_eq!(front.redeem(&front.one, &code).await.status, 200);
        front.server.stop().await;
    }
}

#[tokio::test]
async fn s32_attempt_reuse_authorization_code_after_one_second() {
    let front = Front::fapi().await;
    let code = front.code(&front.one, &front.request(&front.one)).await;
    let granted = front.redeem(&front.one, &code).await.json();
    let token = granted["access_token"].as_str().unwrap();
    assert_eq!(front.userinfo(&front.one, token).await.status, 200);
    front.clock.advance(1);
    front.token_error(&front.redeem(&front.one, &code).await, 400, "invalid_grant");
    let ended = async {
        while front.userinfo(&front.one, token).await.status != 401 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    // Taken in at the next poll.
    tokio::time::timeout(std::time::Duration::from_secs(30), ended).await.unwrap();
    front.server.stop().await;
}

#[tokio::test]
async fn s33_ensure_token_endpoint_fails_with_expired_auth_code() {
    let front = Front::fapi().await;
    let code = front.code(&front.one, &front.request(&front.one)).await;
    front.clock.advance(62);
    front.token_error(&front.redeem(&front.one, &code).await, 400, "invalid_grant");
    front.server.stop().await;
}

/// With the client's own RSA key, which is one of PS256.
#[tokio::test]
async fn s34_ensure_signed_client_assertion_with_rs256_fails() {
    let (front, rs256) = Front::fapi_ps256(fapi2).await;
    let claims = front.assertion_claims(&front.one);
    let answer = identified_by(&front, front.asserted(&rs256, &claims)).await;
    front.token_error(&answer, 401, "invalid_client");
    assert_eq!(identified_by(&front, front.asserted(&front.one.key, &claims)).await.status, 200);
    front.server.stop().await;
}

/// A client credentials request with what this shows of the client.
async fn identified_by(front: &Front, shown: Pairs) -> Answer {
    let mut form = vec![("grant_type".to_owned(), "client_credentials".to_owned())];
    form.extend(shown);
    front.post("/token", &form, None, Some(&front.one.dpop)).await
}

#[tokio::test]
async fn s35_ensure_client_assertion_in_token_endpoint() {
    let front = Front::fapi().await;
    let answer = identified_by(&front, vec![("client_id".into(), front.one.id.clone())]).await;
    front.token_error(&answer, 401, "invalid_client");
    front.server.stop().await;
}

/// The assertion with its claims changed is refused; as it was, it is not.
async fn refused(front: &Front, change: impl Fn(&Value) -> Value) {
    let claims = front.assertion_claims(&front.one);
    let answer = identified_by(front, front.asserted(&front.one.key, &change(&claims))).await;
    front.token_error(&answer, 401, "invalid_client");
    assert_eq!(identified_by(front, front.asserted(&front.one.key, &claims)).await.status, 200);
}

#[tokio::test]
async fn s36_ensure_client_assertion_with_exp_is_5_minutes_in_past_fails() {
    let front = Front::fapi().await;
    let now = front.now();
    refused(&front, |claims| but(&but(claims, "exp", now - 300), "nbf", now)).await;
    front.server.stop().await;
}

#[tokio::test]
async fn s37_ensure_client_assertion_with_wrong_aud_fails() {
    let front = Front::fapi().await;
    refused(&front, |claims| but(claims, "aud", "https://elsewhere.example")).await;
    front.server.stop().await;
}

#[tokio::test]
async fn s38_ensure_client_assertion_with_no_sub_fails() {
    let front = Front::fapi().await;
    refused(&front, |claims| but(claims, "sub", Value::Null)).await;
    front.server.stop().await;
}

/// One request to the resource with these headers.
async fn asked(front: &Front, scheme: &str, token: &str, proofs: &[String]) -> Answer {
    let mut request =
        front.server.request("GET", "/userinfo").header("authorization", format!("{scheme} {token}"));
    for proof in proofs {
        request = request.header("dpop", proof);
    }
    front.server.send(request.body(Full::default()).unwrap()).await
}

/// A proof with an `iat` an hour away is refused here although it has a nonce, for which the suite only warns.
#[tokio::test]
async fn s39_dpop_negative_tests() {
    let front = Front::fapi().await;
    let (one, own) = (&front.one, &front.one.dpop);
    let (_, tokens) = front.succeeds(one, &front.request(one)).await;
    let token = tokens["access_token"].as_str().unwrap();
    let claims = || front.proof_claims("GET", "/userinfo", Some(token));
    let good = || front.proof(own, &claims());
    let head = header(own);
    let changed = |name: &str, value: Value| front.proof(own, &but(&claims(), name, value));
    let headed = |name: &str, value: Value| signed(own, &but(&head, name, value), &claims());

    let mut wrong = vec![
        ("two headers", vec![good(), good()]),
        ("two parts", vec![good().rsplit_once('.').unwrap().0.to_owned()]),
        ("typ missing", vec![headed("typ", Value::Null)]),
        ("typ wrong", vec![headed("typ", json!("JWT"))]),
        ("alg missing", vec![headed("alg", Value::Null)]),
        ("alg none", vec![headed("alg", json!("none"))]),
        ("jwk missing", vec![headed("jwk", Value::Null)]),
        ("htm PUT", vec![changed("htm", json!("PUT"))]),
        ("htu of another path", vec![changed("htu", json!(front.url("/token")))]),
        ("ath wrong", vec![changed("ath", json!("AAAA"))]),
        ("iat an hour ahead", vec![changed("iat", json!(front.now() + 3600))]),
        ("iat an hour behind", vec![changed("iat", json!(front.now() - 3600))]),
        ("another key", vec![front.proof(&key(), &claims())]),
        ("no proof", Vec::new()),
    ];
    for name in ["jti", "htm", "htu", "iat", "ath"] {
        wrong.push((name, vec![changed(name, Value::Null)]));
    }
    let bad = good();
    let (input, signature) = bad.rsplit_once('.').unwrap();
    let mut bytes = URL_SAFE_NO_PAD.decode(signature).unwrap();
    bytes[10] ^= 1;
    wrong.push(("a bad signature", vec![format!("{input}.{}", URL_SAFE_NO_PAD.encode(bytes))]));
    let mut private = head.clone();
    let secret: Value = serde_json::from_str(&own.to_jwk().to_json()).unwrap();
    private["jwk"] = secret;
    wrong.push(("a private key inside", vec![signed(own, &private, &claims())]));
    let rsa = PrivateKey::generate(Algorithm::Rs256).unwrap();
    wrong.push(("RS256", vec![front.proof(&rsa, &claims())]));
    for (why, proofs) in &wrong {
        let answer = asked(&front, "DPoP", token, proofs).await;
        assert_eq!(answer.status, 401, "{why}: {}", text(&answer));
        assert_eq!(answer.json()["error"], "invalid_dpop_proof", "{why}");
        assert!(answer.header("www-authenticate").starts_with("DPoP "), "{why}");
    }
    assert_eq!(asked(&front, "Bearer", token, &[]).await.status, 401, "no proof, scheme Bearer");

    let issuer = &front.server.issuer;
    for (why, proof) in [
        ("a query and a fragment", changed("htu", json!(front.url("/userinfo?a=b#c")))),
        ("host and scheme in capitals", changed("htu", json!(format!("HTTPS{}/userinfo", &issuer[5..])))),
        (
            "unknown members",
            signed(own, &but(&head, "x-unknown", "1"), &but(&claims(), "unknown", json!([1]))),
        ),
    ] {
        assert_eq!(asked(&front, "DPoP", token, &[proof]).await.status, 200, "{why}");
    }
    let once = good();
    assert_eq!(asked(&front, "DPoP", token, std::slice::from_ref(&once)).await.status, 200);
    assert_eq!(asked(&front, "DPoP", token, &[once]).await.status, 401, "the same jti twice");
    assert_eq!(asked(&front, "DPoP", token, &[good()]).await.status, 200);
    front.server.stop().await;
}

#[tokio::test]
async fn s40_refresh_token() {
    let front = Front::fapi().await;
    let (one, two) = (&front.one, &front.two);
    let offline = |party| with(&front.request(party), "scope", "openid email offline_access");
    let (_, first) = front.succeeds(one, &offline(one)).await;
    let (_, second) = front.succeeds(two, &offline(two)).await;
    let form = |tokens: &Value, scope: Option<&str>| {
        let token = tokens["refresh_token"].as_str().unwrap().to_owned();
        let mut form: Pairs =
            vec![("grant_type".into(), "refresh_token".into()), ("refresh_token".into(), token)];
        form.extend(scope.map(|scope| ("scope".to_owned(), scope.to_owned())));
        form
    };
    front.clock.advance(1);
    // With the scope and without; each time with a key that was not seen before.
    for (party, tokens, scope) in
        [(one, &first, Some("openid email offline_access")), (two, &second, None), (one, &first, None)]
    {
        let other = key();
        let answer = front.token_with(party, &form(tokens, scope), Some(&other)).await;
        front.check_granted(party, &without(&offline(party), "nonce"), &answer);
        let renewed = answer.json();
        let (old, new) =
            (payload(tokens["id_token"].as_str().unwrap()), payload(renewed["id_token"].as_str().unwrap()));
        for claim in ["iss", "sub", "aud", "auth_time"] {
            assert_eq!(old[claim], new[claim]);
        }
        assert_ne!(old["iat"], new["iat"]);
        assert_eq!(renewed["refresh_token"], tokens["refresh_token"], "§5.3.2.1(9): no rotation");
        let token = renewed["access_token"].as_str().unwrap();
        assert_eq!(front.userinfo_with(None, token, Some(&other), |claims| claims).await.status, 200);
        assert_eq!(front.userinfo_with(None, token, Some(&party.dpop), |claims| claims).await.status, 401);
    }
    front.clock.advance(31);
    assert_eq!(front.token(one, &form(&first, None)).await.status, 200, "after 30 seconds, too");

    let bare = with(&form(&first, None), "client_id", &one.id);
    front.token_error(&front.post("/token", &bare, None, Some(&one.dpop)).await, 401, "invalid_client");
    front.token_error(&front.token_with(one, &form(&first, None), None).await, 400, "invalid_dpop_proof");
    front.token_error(&front.token(one, &form(&second, None)).await, 400, "invalid_grant");
    let foreign = second["access_token"].as_str().unwrap();
    assert_eq!(front.userinfo_with(None, foreign, Some(&one.dpop), |claims| claims).await.status, 401);
    assert!(value(&form(&first, None), "refresh_token").is_some());
    front.server.stop().await;
}

/// S40 where certificates do both.
#[tokio::test]
async fn s40_refresh_token_with_certificates() {
    let front = Front::fapi_mtls().await;
    let one = &front.one;
    let request = with(&front.request(one), "scope", "openid offline_access");
    let (_, tokens) = front.succeeds(one, &request).await;
    let token = tokens["refresh_token"].as_str().unwrap();
    let form: Pairs =
        vec![("grant_type".into(), "refresh_token".into()), ("refresh_token".into(), token.into())];
    front.clock.advance(31);
    for _ in 0..2 {
        let renewed = front.token(one, &form).await;
        front.check_granted(one, &without(&request, "nonce"), &renewed);
        assert_eq!(renewed.json()["refresh_token"], tokens["refresh_token"]);
    }
    front.token_error(&front.token(&front.two, &form).await, 400, "invalid_grant");
    let bare = with(&form, "client_id", &one.id);
    front.token_error(&front.post("/token", &bare, None, None).await, 401, "invalid_client");
    front.server.stop().await;
}
