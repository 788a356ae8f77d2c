//! The attackers of the FAPI 2.0 Attacker Model, each with what it is given there, against clients that are held to the
//! profile. The table is docs/attacks.md.

use http_body_util::Full;

use crate::dpop::but;
use crate::front::{Front, Pairs, VERIFIER, encoded, value, with, without};
use crate::oidc::pairs;
use crate::support::Answer;
use crate::whole_flow::Browser;

/// A1 has a client and an account of its own, and sends people anywhere. It gets nothing of others by that.
#[tokio::test]
async fn fapi_a1_web_attacker() {
    let front = Front::fapi().await;
    let (victim, attacker) = (&front.one, &front.two);
    let pushed = front.pushed(victim, &front.request(victim)).await;
    // The request of another client, opened as its own.
    front.is_page(&Browser::new(&front.server).get(&front.bare_address(attacker, &pushed)).await);
    // Its own code in the victim's session at the victim's client (login CSRF): the challenge is another.
    let code = front.code(victim, &front.request(victim)).await;
    let mine = with(&front.redemption(victim, &code), "code_verifier", &"v".repeat(43));
    front.token_error(&front.token(victim, &mine).await, 400, "invalid_grant");
    // A request that it writes itself, for the victim's client.
    let plain = format!("/authorize?{}", encoded(&front.request(victim)));
    front.is_page(&Browser::new(&front.server).get(&plain).await);
    let as_victim: Pairs = with(&front.request(victim), "client_id", &victim.id);
    let form: Pairs = as_victim.into_iter().chain(front.identified(attacker)).collect();
    let answer = front.post("/par", &form, None, None).await;
    assert!([400, 401].contains(&answer.status.as_u16()));
    front.server.stop().await;
}

/// A1a is a server that the client talks to as well. What the client says to it cannot be said here.
#[tokio::test]
async fn fapi_a1a_web_attacker_as_authorization_server() {
    let front = Front::fapi().await;
    let one = &front.one;
    let (evil, own) = ("https://evil.example", front.server.issuer.clone());
    for audience in [
        serde_json::json!(evil),
        serde_json::json!([evil]),
        serde_json::json!([own, evil]),
        serde_json::json!([own]),
        serde_json::json!(format!("{own}/token")),
        serde_json::json!(format!("{own}/par")),
        serde_json::json!(format!("{own}/")),
        serde_json::json!(format!("{evil}/{own}")),
    ] {
        let claims = but(&front.assertion_claims(one), "aud", audience.clone());
        let form: Pairs = front.request(one).into_iter().chain(front.asserted(&one.key, &claims)).collect();
        let answer = front.post("/par", &form, None, None).await;
        assert_eq!(answer.refusal(), (401, "invalid_client".into()), "{audience}");
    }
    // A proof that was made for it, with a nonce that it handed on.
    let (answer, tokens) = front.succeeds(one, &front.request(one)).await;
    assert_eq!(value(&answer, "iss"), Some(own), "the client sees who answers");
    let token = tokens["access_token"].as_str().unwrap();
    let elsewhere = format!("{evil}/userinfo");
    let relayed = front
        .userinfo_with(None, token, Some(&one.dpop), |claims| but(&claims, "htu", elsewhere.as_str()))
        .await;
    assert_eq!(relayed.refusal(), (401, "invalid_dpop_proof".into()));
    front.server.stop().await;
}

/// A3a has read the authorization request: a name, and no parameter of it.
#[tokio::test]
async fn fapi_a3a_read_authorization_request() {
    let front = Front::fapi().await;
    let one = &front.one;
    let request = front.request(one);
    let name = front.pushed(one, &request).await;
    let seen = front.bare_address(one, &name);
    for secret in ["the-state", "the-nonce", crate::front::CHALLENGE] {
        assert!(!seen.contains(secret));
    }
    // It cannot be changed on its way,
    let mut browser = front.settled(one).await;
    let tampered = format!(
        "{seen}&scope=openid+profile+offline_access&state=mine&nonce=mine&redirect_uri=https://evil.example/&code_challenge=mine"
    );
    let answer = front.came_back(one, &browser.get(&tampered).await);
    front.grants(one, &request, &answer).await;
    // nor used once more, nor by anybody's name,
    front.is_page(&browser.get(&seen).await);
    let again = front.pushed(one, &request).await;
    front.is_page(&Browser::new(&front.server).get(&front.bare_address(&front.two, &again)).await);
    // and there is nothing about it that could be guessed.
    let random = again.rsplit(':').next().unwrap();
    assert_eq!(random.len(), 43, "256 bits");
    front.server.stop().await;
}

/// A3b has read the authorization response: a code, which is of no use without the client's key and verifier.
#[tokio::test]
async fn fapi_a3b_read_authorization_response() {
    let front = Front::fapi().await;
    let (one, two) = (&front.one, &front.two);
    let seen = front.code(one, &front.request(one)).await;
    let form = front.redemption(one, &seen);
    // As a client of its own, as nobody, by the victim's name alone, and by way of the victim's client.
    front.token_error(&front.token(two, &form).await, 400, "invalid_grant");
    front.token_error(&front.post("/token", &form, None, Some(&two.dpop)).await, 401, "invalid_client");
    let named = with(&form, "client_id", &one.id);
    front.token_error(&front.post("/token", &named, None, Some(&two.dpop)).await, 401, "invalid_client");
    front.token_error(
        &front.token(one, &with(&form, "code_verifier", &"a".repeat(43))).await,
        400,
        "invalid_grant",
    );
    front.token_error(&front.token(one, &without(&form, "code_verifier")).await, 400, "invalid_grant");
    front.server.stop().await;

    // A code that was bound to a key when the request was pushed goes with no other.
    let front = Front::fapi().await;
    let one = &front.one;
    let bound = with(&front.request(one), "dpop_jkt", one.dpop.public().thumbprint());
    let form = front.redemption(one, &front.code(one, &bound).await);
    front.token_error(&front.token_with(one, &form, Some(&front.two.dpop)).await, 400, "invalid_grant");
    front.server.stop().await;
}

/// One token request, sent as it is as often as one likes.
struct Seen {
    form: Pairs,
    proof: String,
}

impl Seen {
    async fn send(&self, front: &Front) -> Answer {
        let request = front.server.request("POST", "/token").header("dpop", &self.proof);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        front.server.send(request.body(Full::from(encoded(&self.form))).unwrap()).await
    }
}

/// A5 has read the token request and its answer, and may send what it has seen. Assertion and proof are used up, tokens are
/// bound, and a refresh token wants the client's key.
#[tokio::test]
async fn fapi_a5_read_and_tamper_with_token_requests() {
    let front = Front::fapi().await;
    let (one, two) = (&front.one, &front.two);
    // So that the client knows a nonce.
    front.succeeds(one, &front.request(one)).await;
    let scope = with(&front.request(one), "scope", "openid offline_access");
    let code = front.code(one, &scope).await;
    let form: Pairs = front.redemption(one, &code).into_iter().chain(front.identified(one)).collect();
    let proof = |key| front.proof(key, &front.proof_claims("POST", "/token", None));
    let seen = Seen { form, proof: proof(&one.dpop) };
    let tokens = seen.send(&front).await;
    assert_eq!(tokens.status, 200);
    let tokens = tokens.json();
    assert_eq!(seen.send(&front).await.refusal(), (400, "invalid_dpop_proof".into()), "the same once more");
    // The assertion with a key, a code and a grant of its own.
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let assertion: Pairs =
        seen.form.iter().filter(|(name, _)| name.starts_with("client_assertion")).cloned().collect();
    for form in [
        front.redemption(one, &code),
        pairs(&[("grant_type", "refresh_token"), ("refresh_token", refresh)]),
        pairs(&[("grant_type", "client_credentials")]),
    ] {
        let form: Pairs = form.into_iter().chain(assertion.clone()).collect();
        let sent = Seen { form, proof: proof(&two.dpop) }.send(&front).await;
        assert_eq!(sent.refusal(), (401, "invalid_client".into()));
    }
    // What came back.
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!(front.userinfo_with(None, access, None, |claims| claims).await.status, 401);
    assert_eq!(front.userinfo_with(None, access, Some(&two.dpop), |claims| claims).await.status, 401);
    let form = pairs(&[("grant_type", "refresh_token"), ("refresh_token", refresh)]);
    front.token_error(&front.token(two, &form).await, 400, "invalid_grant");
    front.token_error(&front.post("/token", &form, None, Some(&two.dpop)).await, 401, "invalid_client");
    // A request that never arrived, with another verifier in it: the code is not for that.
    let code = front.code(one, &scope).await;
    let tampered = with(&front.redemption(one, &code), "code_verifier", &VERIFIER.to_lowercase());
    front.token_error(&front.token(one, &tampered).await, 400, "invalid_grant");
    front.server.stop().await;
}

/// A7 has read the request to a resource and its answer: the token goes with no other proof, and the proof with no other
/// request.
#[tokio::test]
async fn fapi_a7_read_resource_requests() {
    let front = Front::fapi().await;
    let (one, two) = (&front.one, &front.two);
    let (_, tokens) = front.succeeds(one, &front.request(one)).await;
    let token = tokens["access_token"].as_str().unwrap();
    let proof = front.proof(&one.dpop, &front.proof_claims("GET", "/userinfo", Some(token)));
    let send = async |method: &str, scheme: &str, proof: Option<&str>| {
        let mut request =
            front.server.request(method, "/userinfo").header("authorization", format!("{scheme} {token}"));
        if let Some(proof) = proof {
            request = request.header("dpop", proof);
        }
        front.server.send(request.body(Full::default()).unwrap()).await.status.as_u16()
    };
    assert_eq!(send("POST", "DPoP", Some(&proof)).await, 401, "another method");
    assert_eq!(send("GET", "DPoP", Some(&proof)).await, 200);
    assert_eq!(send("GET", "DPoP", Some(&proof)).await, 401, "once more");
    assert_eq!(send("GET", "DPoP", None).await, 401);
    assert_eq!(send("GET", "Bearer", None).await, 401);
    assert_eq!(send("GET", "Bearer", Some(&proof)).await, 401);
    let mine = front.proof(&two.dpop, &front.proof_claims("GET", "/userinfo", Some(token)));
    assert_eq!(send("GET", "DPoP", Some(&mine)).await, 401);
    // The proof with another token of the same client.
    let (_, others) = front.succeeds(one, &front.request(one)).await;
    let other = others["access_token"].as_str().unwrap();
    let swapped = front.userinfo_with(None, other, Some(&one.dpop), |claims| {
        but(&claims, "ath", sealstone_auth::protocol::dpop::ath(token))
    });
    assert_eq!(swapped.await.status, 401);
    front.server.stop().await;
}
