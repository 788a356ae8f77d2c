//! What the modules of the suite's basic plan ask, for two plans: conformance_oidc.rs and conformance_formpost.rs.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http_body_util::Full;
use serde_json::{Value, json};

use crate::front::{Pairs, encoded, value, with, without};
use crate::oidc::{Op, Party, Plan, Way, address, is_sign_in, pairs, with_pkce};
use crate::whole_flow::{Browser, field, payload, text};

pub async fn server(plan: Plan) {
    let op = Op::start(plan).await;
    op.succeeds(&op.one, &op.request(&op.one)).await;
    op.server.stop().await;
}

pub async fn response_type_missing(plan: Plan) {
    let op = Op::start(plan).await;
    let request = without(&op.request(&op.one), "response_type");
    let answer = Browser::new(&op.server).get(&address(&request)).await;
    assert_eq!(op.error(&op.one, &request, &answer), "invalid_request");
    op.server.stop().await;
}

/// A client that registers itself and says nothing of `id_token_signed_response_alg`.
async fn registered(op: &Op) -> Party {
    let callback = "https://self.example/callback";
    let answer = op.register(&json!({"redirect_uris": [callback]})).await;
    assert_eq!(answer.status, 201, "{}", text(&answer));
    let said = answer.json();
    assert!(said["client_secret_expires_at"].is_u64(), "RFC 7591 §3.2.1");
    let member = |name: &str| said[name].as_str().unwrap().to_owned();
    Party { id: member("client_id"), callback: callback.into(), way: Way::Basic(member("client_secret")) }
}

pub async fn idtoken_signature(plan: Plan) {
    let op = Op::start(plan).await;
    let party = registered(&op).await;
    // RS256 and the kid are checked of every ID token.
    op.succeeds(&party, &op.request(&party)).await;
    op.server.stop().await;
}

/// The suite skips it: `none` is not offered. Nobody is registered for it.
pub async fn idtoken_unsigned(plan: Plan) {
    let op = Op::start(plan).await;
    let metadata = op.server.get("/.well-known/openid-configuration").await.json();
    assert!(!metadata["id_token_signing_alg_values_supported"].as_array().unwrap().contains(&json!("none")));
    let wanted = json!({"redirect_uris": [op.one.callback], "id_token_signed_response_alg": "none"});
    assert_eq!(op.register(&wanted).await.refusal(), (400, "invalid_client_metadata".into()));
    op.server.stop().await;
}

/// The userinfo endpoint with what `build` makes of the token.
async fn userinfo_by(plan: Plan, method: &str, header: bool) {
    let op = Op::start(plan).await;
    let tokens = op.succeeds(&op.one, &with(&op.request(&op.one), "scope", "openid profile email")).await;
    let token = tokens["access_token"].as_str().unwrap();
    let mut request = op.server.request(method, "/userinfo");
    let mut body = String::new();
    match header {
        true => request = request.header("authorization", format!("Bearer {token}")),
        false => {
            request = request.header("content-type", "application/x-www-form-urlencoded");
            body = encoded(&pairs(&[("access_token", token)]));
        }
    }
    let known = op.server.send(request.body(Full::from(body)).unwrap()).await;
    op.check_userinfo(&known, &payload(tokens["id_token"].as_str().unwrap()));
    assert_eq!(known.json()["email"], "ada@example.org");
    op.server.stop().await;
}

pub async fn userinfo_get(plan: Plan) {
    userinfo_by(plan, "GET", true).await;
}

pub async fn userinfo_post_header(plan: Plan) {
    userinfo_by(plan, "POST", true).await;
}

pub async fn userinfo_post_body(plan: Plan) {
    userinfo_by(plan, "POST", false).await;
}

/// Neither PKCE nor a nonce: only for a client that is registered so.
pub async fn ensure_request_without_nonce_succeeds_for_code_flow(plan: Plan) {
    let op = Op::start(plan).await;
    let tokens = op.succeeds(&op.one, &without(&op.request(&op.one), "nonce")).await;
    assert!(payload(tokens["id_token"].as_str().unwrap()).get("nonce").is_none());
    let party = registered(&op).await;
    let request = without(&op.request(&party), "nonce");
    // It has registered itself: nobody is sent there who has not signed in.
    op.is_page(&Browser::new(&op.server).get(&address(&request)).await);
    let mut browser = Browser::new(&op.server);
    op.succeeds_in(&mut browser, &party, &op.request(&party)).await;
    assert_eq!(op.error(&party, &request, &browser.get(&address(&request)).await), "invalid_request");
    op.server.stop().await;
}

/// What the userinfo endpoint says for these scopes, without `sub`.
async fn claims_for(op: &Op, scope: &str) -> Value {
    let tokens = op.succeeds(&op.one, &with(&op.request(&op.one), "scope", scope)).await;
    let mut known = op.userinfo(tokens["access_token"].as_str().unwrap()).await.json();
    known.as_object_mut().unwrap().remove("sub");
    known
}

/// Of the 14 claims there are two here, so the suite warns.
pub async fn scope_profile(plan: Plan) {
    let op = Op::start(plan).await;
    let known = claims_for(&op, "openid profile").await;
    assert_eq!(known, json!({"name": "Ada Lovelace", "preferred_username": "ada"}));
    op.server.stop().await;
}

pub async fn scope_email(plan: Plan) {
    let op = Op::start(plan).await;
    let known = claims_for(&op, "openid email").await;
    assert_eq!(known, json!({"email": "ada@example.org", "email_verified": true}));
    op.server.stop().await;
}

/// A scope that is not offered: the suite skips the module, and here the client is told.
async fn not_offered(plan: Plan, scope: &str) {
    let op = Op::start(plan).await;
    let metadata = op.server.get("/.well-known/openid-configuration").await.json();
    let offered = metadata["scopes_supported"].as_array().unwrap();
    assert!(!scope.split(' ').all(|one| offered.contains(&json!(one))));
    let request = with(&op.request(&op.one), "scope", scope);
    let answer = Browser::new(&op.server).get(&address(&request)).await;
    assert_eq!(op.error(&op.one, &request, &answer), "invalid_scope");
    op.server.stop().await;
}

pub async fn scope_address(plan: Plan) {
    not_offered(plan, "openid address").await;
}

pub async fn scope_phone(plan: Plan) {
    not_offered(plan, "openid phone").await;
}

pub async fn scope_all(plan: Plan) {
    not_offered(plan, "openid profile email address phone").await;
}

pub async fn alternate_happy_flow(plan: Plan) {
    let op = Op::start(plan).await;
    let mut request = with(&op.request(&op.one), "scope", "email openid");
    request.reverse();
    op.succeeds(&op.one, &request).await;
    op.server.stop().await;
}

/// A parameter that the server has no use for does no harm.
async fn with_parameter(plan: Plan, name: &str, value: &str) {
    let op = Op::start(plan).await;
    op.succeeds(&op.one, &with(&op.request(&op.one), name, value)).await;
    op.server.stop().await;
}

pub async fn display_page(plan: Plan) {
    with_parameter(plan, "display", "page").await;
}

/// A window that was opened keeps its opener: no Cross-Origin-Opener-Policy.
pub async fn display_popup(plan: Plan) {
    let op = Op::start(plan).await;
    let request = with(&op.request(&op.one), "display", "popup");
    let page = Browser::new(&op.server).get(&address(&request)).await;
    assert!(is_sign_in(&page) && page.headers.get("cross-origin-opener-policy").is_none());
    op.succeeds(&op.one, &request).await;
    op.server.stop().await;
}

fn auth_time(tokens: &Value) -> u64 {
    payload(tokens["id_token"].as_str().unwrap())["auth_time"].as_u64().unwrap()
}

fn sub(tokens: &Value) -> Value {
    payload(tokens["id_token"].as_str().unwrap())["sub"].clone()
}

pub async fn prompt_login(plan: Plan) {
    let op = Op::start(plan).await;
    let mut browser = Browser::new(&op.server);
    let first = op.succeeds_in(&mut browser, &op.one, &op.request(&op.one)).await;
    op.clock.advance(1);
    let request = with(&op.request(&op.one), "prompt", "login");
    assert!(is_sign_in(&browser.get(&address(&request)).await), "although somebody has signed in");
    let second = op.succeeds_in(&mut browser, &op.one, &request).await;
    assert!(auth_time(&second) > auth_time(&first));
    assert_eq!(sub(&second), sub(&first));
    op.server.stop().await;
}

pub async fn prompt_none_not_logged_in(plan: Plan) {
    let op = Op::start(plan).await;
    let state =
        "-._~abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01234567".repeat(2)[..128].to_owned();
    let request = with(&with(&op.request(&op.one), "prompt", "none"), "state", &state);
    let answer = Browser::new(&op.server).get(&address(&request)).await;
    assert_eq!(op.error(&op.one, &request, &answer), "login_required");
    op.server.stop().await;
}

/// A second time at once, with no page: the answer is that of the first step.
async fn silently(op: &Op, browser: &mut Browser<'_>, request: &Pairs) -> Value {
    let answer = browser.get(&address(request)).await;
    op.grants(&op.one, request, &op.came_back(&op.one, &answer)).await
}

pub async fn prompt_none_logged_in(plan: Plan) {
    let op = Op::start(plan).await;
    let mut browser = Browser::new(&op.server);
    let first = op.succeeds_in(&mut browser, &op.one, &op.request(&op.one)).await;
    op.clock.advance(1);
    let second = silently(&op, &mut browser, &with(&op.request(&op.one), "prompt", "none")).await;
    assert_eq!((sub(&second), auth_time(&second)), (sub(&first), auth_time(&first)));
    op.server.stop().await;
}

pub async fn max_age_1(plan: Plan) {
    let op = Op::start(plan).await;
    let mut browser = Browser::new(&op.server);
    let first = op.succeeds_in(&mut browser, &op.one, &op.request(&op.one)).await;
    op.clock.advance(2);
    let request = with(&op.request(&op.one), "max_age", "1");
    assert!(is_sign_in(&browser.get(&address(&request)).await));
    let second = op.succeeds_in(&mut browser, &op.one, &request).await;
    assert!(auth_time(&second) > auth_time(&first) && op.now() - auth_time(&second) <= 300);
    op.server.stop().await;
}

pub async fn max_age_10000(plan: Plan) {
    let op = Op::start(plan).await;
    let mut browser = Browser::new(&op.server);
    let request = with(&op.request(&op.one), "max_age", "15000");
    let first = op.succeeds_in(&mut browser, &op.one, &request).await;
    op.clock.advance(1);
    let second = silently(&op, &mut browser, &with(&request, "max_age", "10000")).await;
    assert_eq!((sub(&second), auth_time(&second)), (sub(&first), auth_time(&first)));
    op.server.stop().await;
}

pub async fn ensure_request_with_unknown_parameter_succeeds(plan: Plan) {
    with_parameter(plan, "extra", "foobar").await;
}

/// And what the module does not ask: the hint of another person, and what is no hint.
pub async fn id_token_hint(plan: Plan) {
    let op = Op::start(plan).await;
    let mut browser = Browser::new(&op.server);
    let first = op.succeeds_in(&mut browser, &op.one, &op.request(&op.one)).await;
    op.clock.advance(1_000);
    let hint = first["id_token"].as_str().unwrap();
    let request = with(&with(&op.request(&op.one), "prompt", "none"), "id_token_hint", hint);
    let second = silently(&op, &mut browser, &request).await;
    assert_eq!(sub(&second), sub(&first), "it was over, and is a hint");
    op.server.stop().await;
}

/// With a username of this server, which stands in the page, and with an address that nobody has.
pub async fn login_hint(plan: Plan) {
    let op = Op::start(plan).await;
    for hint in ["ada", "buffy@example.com"] {
        let request = with(&op.request(&op.one), "login_hint", hint);
        let page = Browser::new(&op.server).get(&address(&request)).await;
        assert!(text(&page).contains(&format!("value=\"{hint}\"")), "{}", text(&page));
        op.succeeds(&op.one, &request).await;
    }
    op.server.stop().await;
}

pub async fn ui_locales(plan: Plan) {
    with_parameter(plan, "ui_locales", "se").await;
}

pub async fn claims_locales(plan: Plan) {
    with_parameter(plan, "claims_locales", "se").await;
}

/// The values are offered, and wished for; a password is none of them, so the suite warns.
pub async fn ensure_request_with_acr_values_succeeds(plan: Plan) {
    let op = Op::start(plan).await;
    let metadata = op.server.get("/.well-known/openid-configuration").await.json();
    assert_eq!(metadata["acr_values_supported"], json!(["phr"]));
    let tokens = op.succeeds(&op.one, &with(&op.request(&op.one), "acr_values", "phr")).await;
    assert!(payload(tokens["id_token"].as_str().unwrap()).get("acr").is_none());
    op.server.stop().await;
}

/// A code a second time after this many seconds; then the access token of the first.
async fn reused_after(plan: Plan, seconds: u64) {
    let op = Op::start(plan).await;
    let request = op.request(&op.one);
    let answer = op.visit(&mut Browser::new(&op.server), &request).await;
    let redemption = op.redemption(&op.one, &value(&op.came_back(&op.one, &answer), "code").unwrap());
    let first = op.token(&op.one, &redemption).await;
    let tokens = op.check_granted(&op.one, &first).await;
    op.clock.advance(seconds);
    op.token_error(&op.token(&op.one, &redemption).await, 400, "invalid_grant");
    op.ends(tokens["access_token"].as_str().unwrap()).await;
    op.server.stop().await;
}

pub async fn codereuse(plan: Plan) {
    reused_after(plan, 0).await;
}

pub async fn codereuse_30seconds(plan: Plan) {
    reused_after(plan, 30).await;
}

pub async fn ensure_registered_redirect_uri(plan: Plan) {
    let op = Op::start(plan).await;
    let request = with(&op.request(&op.one), "redirect_uri", "https://one.example/callback/7f3a");
    op.is_page(&Browser::new(&op.server).get(&address(&request)).await);
    op.server.stop().await;
}

pub async fn ensure_post_request_succeeds(plan: Plan) {
    let op = Op::start(plan).await;
    let request = op.request(&op.one);
    let mut browser = Browser::new(&op.server);
    let fields: Vec<(&str, &str)> = request.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let posted = browser.post("/authorize", &fields).await;
    assert_eq!(posted.status, 303, "{}", text(&posted));
    let path = posted.header("location").strip_prefix(&op.server.issuer).unwrap().to_owned();
    let page = browser.get(&path).await;
    let answer = op.go_on(&mut browser, page).await;
    op.grants(&op.one, &request, &op.came_back(&op.one, &answer)).await;
    op.server.stop().await;
}

/// And by no other way than its own: B01's client may not send its secret so.
pub async fn server_client_secret_post(plan: Plan) {
    let op = Op::start(plan).await;
    let party = op.with_secret_in_the_form().await;
    op.succeeds(&party, &op.request(&party)).await;
    let Way::Basic(secret) = &op.one.way else { panic!() };
    let other = Party { id: op.one.id.clone(), callback: String::new(), way: Way::Post(secret.clone()) };
    op.token_error(&op.token(&other, &op.redemption(&op.one, "any")).await, 401, "invalid_client");
    op.server.stop().await;
}

/// A request object that nobody has signed.
pub fn unsigned(op: &Op, party: &Party, request: &Pairs) -> String {
    let mut claims =
        json!({"iss": party.id, "aud": op.server.issuer, "nbf": op.now(), "exp": op.now() + 300});
    request.iter().for_each(|(name, value)| claims[name] = value.as_str().into());
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.", part(&json!({"alg": "none"})), part(&claims))
}

pub async fn request_uri_unsigned_supported_correctly_or_rejected_as_unsupported(plan: Plan) {
    let op = Op::start(plan).await;
    let request = with(&op.request(&op.one), "request_uri", "https://one.example/request.jwt");
    let answer = Browser::new(&op.server).get(&address(&request)).await;
    assert_eq!(op.error(&op.one, &request, &answer), "request_uri_not_supported");
    op.server.stop().await;
}

/// The suite skips it: `none` is not among the algorithms of request objects. Nobody is sent anywhere on its word.
pub async fn unsigned_request_object_supported_correctly_or_rejected_as_unsupported(plan: Plan) {
    let op = Op::start(plan).await;
    let inside = op.request(&op.one);
    let request = with(&without(&inside, "state"), "request", &unsigned(&op, &op.one, &inside));
    op.is_page(&Browser::new(&op.server).get(&address(&request)).await);
    op.server.stop().await;
}

/// The parameter is read, and claims go by scopes: the suite warns, because `name` is not there.
pub async fn claims_essential(plan: Plan) {
    let op = Op::start(plan).await;
    let metadata = op.server.get("/.well-known/openid-configuration").await.json();
    assert!(metadata.get("claims_parameter_supported").is_none());
    let claims = r#"{"userinfo":{"name":{"essential":true}}}"#;
    let tokens = op.succeeds(&op.one, &with(&op.request(&op.one), "claims", claims)).await;
    let known = op.userinfo(tokens["access_token"].as_str().unwrap()).await.json();
    assert_eq!(known, json!({"sub": sub(&tokens)}), "the person was asked for nothing else");
    op.server.stop().await;
}

pub async fn ensure_request_object_with_redirect_uri(plan: Plan) {
    let op = Op::start(plan).await;
    let inside = op.request(&op.one);
    let outside = with(&inside, "redirect_uri", "https://one.example/elsewhere");
    let request = with(&outside, "request", &unsigned(&op, &op.one, &inside));
    op.is_page(&Browser::new(&op.server).get(&address(&request)).await);
    op.server.stop().await;
}

/// Two clients: with the scope and without; the token of the one at the other; nobody at all.
pub async fn refresh_token(plan: Plan) {
    let op = Op::start(plan).await;
    let mut last = Vec::new();
    for (party, nonce, scope) in
        [(&op.one, "nonce-0815", Some("openid offline_access")), (&op.two, &"n".repeat(43), None)]
    {
        let request = with(&op.request(party), "scope", "openid offline_access");
        let request = with(&with(&request, "prompt", "consent"), "nonce", nonce);
        let tokens = op.succeeds(party, &request).await;
        op.clock.advance(1);
        let refresh = tokens["refresh_token"].as_str().unwrap();
        let mut form = pairs(&[("grant_type", "refresh_token"), ("refresh_token", refresh)]);
        form.extend(scope.map(|scope| ("scope".to_owned(), scope.to_owned())));
        let refreshed = op.check_granted(party, &op.token(party, &form).await).await;
        assert_ne!(refreshed["access_token"], tokens["access_token"]);
        if let Some(id_token) = refreshed["id_token"].as_str() {
            let (new, old) = (payload(id_token), payload(tokens["id_token"].as_str().unwrap()));
            for name in ["iss", "sub", "aud", "auth_time"] {
                assert_eq!(new[name], old[name], "Core §12.2: {name}");
            }
            assert_ne!(new["iat"], old["iat"]);
        }
        assert_eq!(op.userinfo(refreshed["access_token"].as_str().unwrap()).await.status, 200);
        last.push(refreshed["refresh_token"].as_str().unwrap().to_owned());
    }
    let form = pairs(&[("grant_type", "refresh_token"), ("refresh_token", &last[1])]);
    op.token_error(&op.token(&op.one, &form).await, 400, "invalid_grant");
    let nobody =
        op.server.request("POST", "/token").header("content-type", "application/x-www-form-urlencoded");
    let nobody = op.server.send(nobody.body(Full::from(encoded(&form))).unwrap()).await;
    op.token_error(&nobody, 401, "invalid_client");
    assert_eq!(op.token(&op.two, &form).await.status, 200, "nobody has spoiled it");
    op.server.stop().await;
}

pub async fn ensure_request_with_valid_pkce_succeeds(plan: Plan) {
    let op = Op::start(plan).await;
    op.succeeds(&op.one, &with_pkce(&op.request(&op.one))).await;
    op.server.stop().await;
}

/// OpenID Connect Core §3.1.2.1, beside the module: somebody else has signed in than the client means.
#[tokio::test]
async fn oidc_core_s3_1_2_1_the_hint_of_another_person() {
    let op = Op::start(Plan::Basic).await;
    let mut browser = Browser::new(&op.server);
    let tokens = op.succeeds_in(&mut browser, &op.one, &op.request(&op.one)).await;
    let grace = sealstone_auth::NewUser {
        email: None,
        email_verified: false,
        name: None,
        password: Some(sealstone_auth::Password::new("another battery staple").unwrap()),
        username: "grace".into(),
    };
    op.server.admin.add_user(grace).await.unwrap();
    let mut other = Browser::new(&op.server);
    let enter = async |browser: &mut Browser<'_>, page: &crate::support::Answer| {
        let fields = [
            ("username", "grace"),
            ("password", "another battery staple"),
            ("form_token", &field(page, "form_token")),
            ("continue_query", &field(page, "continue_query")),
        ];
        let sent = browser.post("/login", &fields).await;
        let path = sent.header("location").strip_prefix(&op.server.issuer).unwrap().to_owned();
        browser.get(&path).await
    };
    let page = other.get(&address(&op.request(&op.one))).await;
    let page = enter(&mut other, &page).await;
    op.came_back(&op.one, &op.go_on(&mut other, page).await);

    let hinted = with(&op.request(&op.one), "id_token_hint", tokens["id_token"].as_str().unwrap());
    let silent = with(&hinted, "prompt", "none");
    let answer = other.get(&address(&silent)).await;
    assert_eq!(op.error(&op.one, &silent, &answer), "login_required");
    let page = other.get(&address(&hinted)).await;
    assert!(is_sign_in(&page), "who is meant may sign in");
    let answer = enter(&mut other, &page).await;
    assert_eq!(op.error(&op.one, &hinted, &answer), "login_required", "it is again somebody else");
    let page = other.get(&address(&hinted)).await;
    let answer = op.go_on(&mut other, page).await;
    op.grants(&op.one, &hinted, &op.came_back(&op.one, &answer)).await;

    // No hint of this client: its code is not given for nothing that can be checked.
    let foreign = op.succeeds(&op.two, &op.request(&op.two)).await;
    let good = tokens["id_token"].as_str().unwrap();
    for hint in [
        foreign["id_token"].as_str().unwrap(),
        tokens["access_token"].as_str().unwrap(),
        &good[..good.len() - 8],
        "x",
    ] {
        let request = with(&op.request(&op.one), "id_token_hint", hint);
        let answer = browser.get(&address(&request)).await;
        assert_eq!(op.error(&op.one, &request, &answer), "invalid_request");
    }
    op.server.stop().await;
}
