//! RFC 9700, section 4: each attack that it names, tried against the server. The table is docs/attacks.md.

use http_body_util::Full;
use sealstone_auth::{Grant, NewClient};
use sealstone_jose::Algorithm;
use serde_json::json;

use crate::front::{Front, VERIFIER, value, with, without};
use crate::oidc::{Op, Plan, Way, address, is_sign_in, pairs, with_pkce};
use crate::support::{Answer, names};
use crate::whole_flow::{Browser, field, payload, text};

async fn start() -> Op {
    Op::start(Plan::Basic).await
}

/// What goes to `path` without anything that a page of ours has given.
async fn forged(op: &Op, browser: &mut Browser<'_>, path: &str, form: &[(&str, &str)]) -> Answer {
    let cookies: Vec<String> =
        browser.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let request = op.server.request("POST", path).header("cookie", cookies.join("; "));
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let request = request.header("origin", "https://evil.example").header("sec-fetch-site", "cross-site");
    op.server.send(request.body(Full::from(body)).unwrap()).await
}

/// The registered address, byte by byte; for every other one a page, and nobody is sent anywhere.
#[tokio::test]
async fn rfc9700_4_1_redirect_uri_validation() {
    let op = start().await;
    for uri in [
        "https://one.example/callback/",
        "https://one.example/callback?",
        "https://one.example/callback?x=1",
        "https://one.example/callback#",
        "https://one.example/callback#x",
        "https://one.example/callback/../evil",
        "https://one.example/callback/%2e%2e/evil",
        "https://one.example/Callback",
        "https://one.example//callback",
        "https://one.example/callbac%6b",
        "https://ONE.example/callback",
        "https://one.example:443/callback",
        "https://one.example:8443/callback",
        "https://one.example./callback",
        "http://one.example/callback",
        "HTTPS://one.example/callback",
        "//one.example/callback",
        "/callback",
        "https://one.example",
        "https://one.example.evil.example/callback",
        "https://evil.example/https://one.example/callback",
        "https://evil.example#https://one.example/callback",
        "https://one.example@evil.example/callback",
        "https://evil.example\\@one.example/callback",
        "https://sub.one.example/callback",
        "https://two.example/callback",
        "https://one.example/callback\r\nlocation: https://evil.example",
        "javascript:alert(1)",
        "",
        " https://one.example/callback",
    ] {
        let request = with(&op.request(&op.one), "redirect_uri", uri);
        op.is_page(&Browser::new(&op.server).get(&address(&request)).await);
    }
    // Twice: neither of them.
    let mut twice = op.request(&op.one);
    twice.push(("redirect_uri".into(), "https://evil.example/".into()));
    op.is_page(&Browser::new(&op.server).get(&address(&twice)).await);
    op.succeeds(&op.one, &op.request(&op.one)).await;
    op.server.stop().await;
}

/// Every page that a browser can meet on its way, and the answers.
async fn pages(op: &Op) -> Vec<(&'static str, Answer)> {
    let mut browser = Browser::new(&op.server);
    let request = op.request(&op.one);
    let login = browser.get(&address(&request)).await;
    let consent = browser.sign_in(&login).await;
    let logout = browser.get("/logout").await;
    let end_session = browser.get("/end_session").await;
    let signed_in = browser.get("/login").await;
    let back = browser.decide(&consent, "allow").await;
    let posted = browser.get(&address(&with(&request, "response_mode", "form_post"))).await;
    let error = browser.get(&address(&with(&request, "redirect_uri", "https://evil.example/"))).await;
    vec![
        ("login", login),
        ("consent", consent),
        ("logout", logout),
        ("end_session", end_session),
        ("signed in", signed_in),
        ("redirect", back),
        ("form_post", posted),
        ("error", error),
        ("device", Browser::new(&op.server).get("/device").await),
    ]
}

/// No page says where it came from, and none loads anything from elsewhere.
#[tokio::test]
async fn rfc9700_4_2_credential_leakage_via_referer_headers() {
    let op = start().await;
    for (name, page) in pages(&op).await {
        assert_eq!(page.header("referrer-policy"), "no-referrer", "{name}");
        let policy = page.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; "), "{name}: {policy}");
        assert!(!policy.contains("unsafe-inline") && !policy.contains('*'), "{name}: {policy}");
        for mark in ["src=\"http", "src=\"//", "stylesheet\" href=\"http", "url("] {
            assert!(!text(&page).contains(mark), "{name}");
        }
    }
    op.server.stop().await;
}

/// What stands in a history: a used code opens nothing, an unused one nothing without its verifier or after a minute, and a
/// token in an address is not read.
#[tokio::test]
async fn rfc9700_4_3_credential_leakage_via_browser_history() {
    let op = start().await;
    let request = with_pkce(&op.request(&op.one));
    let code = async || {
        let answer = op.visit(&mut Browser::new(&op.server), &request).await;
        value(&op.came_back(&op.one, &answer), "code").unwrap()
    };
    let found = code().await;
    op.token_error(&op.token(&op.one, &op.redemption(&op.one, &found)).await, 400, "invalid_grant");
    let old = code().await;
    op.clock.advance(61);
    let whole = with(&op.redemption(&op.one, &old), "code_verifier", VERIFIER);
    op.token_error(&op.token(&op.one, &whole).await, 400, "invalid_grant");

    let tokens = op.succeeds(&op.one, &request).await;
    let token = tokens["access_token"].as_str().unwrap();
    let answer = op.server.get(&format!("/userinfo?access_token={token}")).await;
    assert_eq!(answer.refusal(), (401, "invalid_token".into()));
    let posted = op.server.request("POST", &format!("/userinfo?access_token={token}"));
    let posted = posted.header("content-type", "application/x-www-form-urlencoded").body(Full::default());
    assert_eq!(op.server.send(posted.unwrap()).await.status, 401);
    op.server.stop().await;
}

/// Each answer says once who gives it, and a request cannot change that.
#[tokio::test]
async fn rfc9700_4_4_mix_up() {
    for plan in [Plan::Basic, Plan::FormPost] {
        let op = Op::start(plan).await;
        let metadata = op.server.get("/.well-known/oauth-authorization-server").await.json();
        assert_eq!(metadata["authorization_response_iss_parameter_supported"], true);
        let request = with(&op.request(&op.one), "iss", "https://evil.example");
        let mut browser = Browser::new(&op.server);
        let granted = op.visit(&mut browser, &request).await;
        let wrong = browser.get(&address(&with(&request, "scope", "admin"))).await;
        let silent = Browser::new(&op.server).get(&address(&with(&request, "prompt", "none"))).await;
        let mut other = Browser::new(&op.server);
        let login = other.get(&address(&request)).await;
        let consent = other.sign_in(&login).await;
        let denied = match text(&consent).contains("action=\"consent\"") {
            true => other.decide(&consent, "deny").await,
            // They have agreed before: the same answer as above.
            false => consent,
        };
        for answer in [granted, wrong, silent, denied] {
            let told = op.came_back(&op.one, &answer);
            let said: Vec<_> = told.iter().filter(|(name, _)| name == "iss").collect();
            assert_eq!(said.len(), 1);
            assert_eq!(said[0].1, op.server.issuer, "RFC 9207 §2");
        }
        op.server.stop().await;
    }
}

/// A stolen code in the attacker's own session at the same client: the verifier is another, and so is the nonce.
#[tokio::test]
async fn rfc9700_4_5_authorization_code_injection() {
    let op = start().await;
    let victim = op.visit(&mut Browser::new(&op.server), &with_pkce(&op.request(&op.one))).await;
    let code = value(&op.came_back(&op.one, &victim), "code").unwrap();
    let mine = with(&op.redemption(&op.one, &code), "code_verifier", &"a".repeat(43));
    op.token_error(&op.token(&op.one, &mine).await, 400, "invalid_grant");
    // At the attacker's own client, and with the attacker's own address.
    let theirs = with(&op.redemption(&op.two, &code), "code_verifier", VERIFIER);
    op.token_error(&op.token(&op.two, &theirs).await, 400, "invalid_grant");
    let elsewhere = with(&op.redemption(&op.one, &code), "redirect_uri", "https://one.example/evil");
    let elsewhere = with(&elsewhere, "code_verifier", VERIFIER);
    op.token_error(&op.token(&op.one, &elsewhere).await, 400, "invalid_grant");

    // Without PKCE the nonce shows it: it is that of the request that the code came of.
    let request = with(&op.request(&op.one), "nonce", "victims-nonce");
    let victim = op.visit(&mut Browser::new(&op.server), &request).await;
    let code = value(&op.came_back(&op.one, &victim), "code").unwrap();
    let form = with(&op.redemption(&op.one, &code), "nonce", "attackers-nonce");
    let tokens = op.token(&op.one, &form).await.json();
    assert_eq!(payload(tokens["id_token"].as_str().unwrap())["nonce"], "victims-nonce");
    op.server.stop().await;
}

/// No token comes through a browser, so none can be put into a client's way; the ID token is bound to the one beside it.
#[tokio::test]
async fn rfc9700_4_6_access_token_injection() {
    let op = start().await;
    for kind in
        ["token", "id_token", "id_token token", "code token", "code id_token", "code id_token token", "none"]
    {
        for mode in ["query", "fragment", ""] {
            let mut request = with(&op.request(&op.one), "response_type", kind);
            if !mode.is_empty() {
                request = with(&request, "response_mode", mode);
            }
            let answer = Browser::new(&op.server).get(&address(&request)).await;
            let error = op.error(&op.one, &request, &answer);
            assert!(
                ["unsupported_response_type", "invalid_request"].contains(&error.as_str()),
                "{kind} {mode}"
            );
            assert!(!answer.header("location").contains("access_token"));
        }
    }
    // `at_hash` is checked there.
    op.succeeds(&op.one, &op.request(&op.one)).await;
    op.server.stop().await;
}

/// What another site lets a browser send does nothing: it signs nobody in or out, and agrees to nothing. `state` comes back
/// byte by byte, and PKCE is there for clients that need no other defence.
#[tokio::test]
async fn rfc9700_4_7_cross_site_request_forgery() {
    let op = start().await;
    let mut browser = Browser::new(&op.server);
    let request = with_pkce(&with(&op.request(&op.one), "state", "a b+c&d=e%20\"<é>"));
    let query = address(&request).split_once('?').unwrap().1.to_owned();
    let signing_in =
        [("username", "ada"), ("password", crate::whole_flow::PASSWORD), ("continue_query", query.as_str())];
    let answer = forged(&op, &mut Browser::new(&op.server), "/login", &signing_in).await;
    assert!(
        answer.status != 303
            && answer
                .headers
                .get_all("set-cookie")
                .iter()
                .all(|line| !line.to_str().unwrap().contains("session"))
    );

    let login = browser.get(&address(&request)).await;
    let consent = browser.sign_in(&login).await;
    let asked = field(&consent, "continue_query");
    let agreed = [("decision", "allow"), ("continue_query", asked.as_str())];
    let token = field(&consent, "form_token");
    let stolen = [agreed[0], agreed[1], ("form_token", token.as_str())];
    for form in [&agreed[..], &stolen] {
        let answer = forged(&op, &mut browser, "/consent", form).await;
        assert_eq!(answer.status, 200, "it is asked again: {}", answer.header("location"));
    }
    let answer = forged(&op, &mut browser, "/logout", &[]).await;
    assert_ne!(answer.status, 303);
    assert!(!is_sign_in(&browser.get(&address(&request)).await), "they are still signed in");
    let answer = browser.decide(&consent, "allow").await;
    op.grants(&op.one, &request, &op.came_back(&op.one, &answer)).await;
    op.server.stop().await;
}

/// Whoever takes the challenge out of a request, or weakens it, is found out.
#[tokio::test]
async fn rfc9700_4_8_pkce_downgrade() {
    let op = start().await;
    let metadata = op.server.get("/.well-known/oauth-authorization-server").await.json();
    assert_eq!(metadata["code_challenge_methods_supported"], json!(["S256"]));
    let good = with_pkce(&op.request(&op.one));
    for request in [
        with(&good, "code_challenge_method", "plain"),
        without(&good, "code_challenge_method"),
        without(&good, "code_challenge"),
        with(&good, "code_challenge", "short"),
        with(&good, "code_challenge", ""),
    ] {
        let answer = Browser::new(&op.server).get(&address(&request)).await;
        assert_eq!(op.error(&op.one, &request, &answer), "invalid_request");
    }
    // The client can do without; this one did not, and its verifier says so.
    let taken_out = without(&without(&good, "code_challenge"), "code_challenge_method");
    let answer = op.visit(&mut Browser::new(&op.server), &taken_out).await;
    let code = value(&op.came_back(&op.one, &answer), "code").unwrap();
    let form = with(&op.redemption(&op.one, &code), "code_verifier", VERIFIER);
    op.token_error(&op.token(&op.one, &form).await, 400, "invalid_grant");
    // And a verifier that is left out does not pass either.
    let answer = op.visit(&mut Browser::new(&op.server), &good).await;
    let code = value(&op.came_back(&op.one, &answer), "code").unwrap();
    op.token_error(&op.token(&op.one, &op.redemption(&op.one, &code)).await, 400, "invalid_grant");
    op.server.stop().await;
}

/// A token that one resource server has seen is of no use at another: it says for whom it is, and the other learns nothing.
#[tokio::test]
async fn rfc9700_4_9_access_token_leakage_at_the_resource_server() {
    let op = start().await;
    let orders = "https://orders.example";
    let new = NewClient { algorithm: Algorithm::Es256, ..NewClient::default() };
    let caller = NewClient { audiences: vec![orders.into()], id: Some("caller".into()), ..new.clone() };
    let (_, secret) = op.server.admin.add_client(caller).await.unwrap();
    let secret = secret.unwrap().reveal().to_owned();
    let mut servers = Vec::new();
    for (id, resource) in [("orders", orders), ("payments", "https://payments.example")] {
        let server = NewClient {
            grants: [].into(),
            id: Some(id.into()),
            resources: vec![resource.into()],
            ..new.clone()
        };
        let (_, secret) = op.server.admin.add_client(server).await.unwrap();
        servers.push((id, secret.unwrap().reveal().to_owned()));
    }
    op.server.enrol(NewClient::default()).await;
    let party = |id: &str, secret: &str| crate::oidc::Party {
        id: id.into(),
        callback: String::new(),
        way: Way::Basic(secret.into()),
    };
    let granted =
        op.token(&party("caller", &secret), &pairs(&[("grant_type", "client_credentials")])).await.json();
    let token = granted["access_token"].as_str().unwrap();
    assert_eq!(payload(token)["aud"], orders);
    for ((id, secret), active) in servers.iter().zip([true, false]) {
        let who = crate::support::Credentials { id: (*id).into(), secret: secret.clone() };
        let mut request = op.server.form("/introspect", &format!("token={token}"));
        request.headers_mut().insert("authorization", who.basic().parse().unwrap());
        let said = op.server.send(request).await.json();
        assert_eq!(said["active"], active, "{id}");
        assert!(active || said.as_object().unwrap().len() == 1, "nothing more is said");
    }
    // Nor is it one for this server.
    assert_eq!(op.userinfo(token).await.status, 401);
    op.server.stop().await;
}

/// A bound token without its key is refused: as a bearer token, with another key, and with another certificate or none.
#[tokio::test]
async fn rfc9700_4_10_misuse_of_stolen_access_tokens() {
    let front = Front::fapi().await;
    let one = &front.one;
    let (_, tokens) = front.succeeds(one, &front.request(one)).await;
    let token = tokens["access_token"].as_str().unwrap();
    let bearer = front.userinfo_with(None, token, None, |claims| claims).await;
    assert_eq!(bearer.refusal(), (401, "invalid_token".into()));
    let foreign = front.userinfo_with(None, token, Some(&front.two.dpop), |claims| claims).await;
    assert_eq!(foreign.status, 401, "{}", text(&foreign));
    assert_eq!(front.userinfo(one, token).await.status, 200);
    front.server.stop().await;

    let front = Front::fapi_mtls().await;
    let (one, two) = (&front.one, &front.two);
    let (_, tokens) = front.succeeds(one, &front.request(one)).await;
    let token = tokens["access_token"].as_str().unwrap();
    for identity in [None, two.identity.as_ref()] {
        let stolen = front.userinfo_with(identity, token, None, |claims| claims).await;
        assert_eq!(stolen.refusal(), (401, "invalid_token".into()));
    }
    assert_eq!(front.userinfo(one, token).await.status, 200);
    front.server.stop().await;
}

/// Nothing in a request chooses where people go: not the address of a stranger, and not that of a client that has registered
/// itself, as long as nobody has signed in.
#[tokio::test]
async fn rfc9700_4_11_open_redirection() {
    let op = start().await;
    let evil = "https://evil.example/";
    for request in [
        with(&op.request(&op.one), "client_id", "nobody"),
        with(&op.request(&op.one), "redirect_uri", evil),
        with(&with(&op.request(&op.one), "redirect_uri", evil), "prompt", "none"),
        with(&with(&op.request(&op.one), "redirect_uri", evil), "scope", "admin"),
        with(&with(&op.request(&op.one), "redirect_uri", evil), "response_type", "token"),
        without(&op.request(&op.one), "redirect_uri"),
    ] {
        op.is_page(&Browser::new(&op.server).get(&address(&request)).await);
    }
    let ended = op.server.get(&format!("/end_session?client_id=one&post_logout_redirect_uri={evil}")).await;
    assert_eq!((ended.status.as_u16(), ended.header("location")), (400, ""));
    for query in ["/login?//evil.example/", "/login?https://evil.example/"] {
        let page = Browser::new(&op.server).get(query).await;
        let mut browser = Browser::new(&op.server);
        let page = if is_sign_in(&page) { browser.get(query).await } else { continue };
        let fields = [
            ("username", "ada"),
            ("password", crate::whole_flow::PASSWORD),
            ("form_token", &field(&page, "form_token")),
            ("continue_query", &field(&page, "continue_query")),
        ];
        let sent = browser.post("/login", &fields).await;
        assert!(sent.header("location").starts_with(&format!("{}/", op.server.issuer)), "{query}");
    }

    // §4.11.2: a phisher registers, and lets an error send people on.
    let said = op.register(&json!({"redirect_uris": ["https://phish.example/"]})).await.json();
    let phisher = crate::oidc::Party {
        id: said["client_id"].as_str().unwrap().into(),
        callback: "https://phish.example/".into(),
        way: Way::Basic(said["client_secret"].as_str().unwrap().into()),
    };
    let wrong = with(&op.request(&phisher), "scope", "admin");
    op.is_page(&Browser::new(&op.server).get(&address(&wrong)).await);
    // Who has signed in is told of; and so is a client that asks for no page at all.
    let mut browser = Browser::new(&op.server);
    op.succeeds_in(&mut browser, &phisher, &op.request(&phisher)).await;
    let answer = browser.get(&address(&wrong)).await;
    assert_eq!(op.error(&phisher, &wrong, &answer), "invalid_scope");
    let silent = with(&op.request(&phisher), "prompt", "none");
    let answer = Browser::new(&op.server).get(&address(&silent)).await;
    assert_eq!(op.error(&phisher, &silent, &answer), "login_required");
    op.server.stop().await;
}

/// After a form with a password the browser goes on by GET, always: 303, and neither 307 nor 308.
#[tokio::test]
async fn rfc9700_4_12_307_redirect() {
    let op = start().await;
    let mut browser = Browser::new(&op.server);
    let request = op.request(&op.one);
    let fields: Vec<(&str, &str)> =
        request.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let posted = browser.post("/authorize", &fields).await;
    let page = browser.get(&address(&request)).await;
    let login = [
        ("username", "ada"),
        ("password", crate::whole_flow::PASSWORD),
        ("form_token", &field(&page, "form_token")),
        ("continue_query", &field(&page, "continue_query")),
    ];
    let signed_in = browser.post("/login", &login).await;
    let path = signed_in.header("location").strip_prefix(&op.server.issuer).unwrap().to_owned();
    let consent = browser.get(&path).await;
    let agreed = browser.decide(&consent, "allow").await;
    let logout = browser.get("/logout").await;
    let left = browser.post("/logout", &[("form_token", &field(&logout, "form_token"))]).await;
    for (name, answer) in [("authorize", &posted), ("login", &signed_in), ("consent", &agreed)] {
        assert_eq!(answer.status, 303, "{name}");
        assert!(!answer.header("location").contains("staple"), "{name}");
    }
    assert!(left.status == 303 || left.status == 200);
    op.server.stop().await;
}

/// What only a proxy may say counts for nothing where no proxy is configured: not the host, not the scheme, not a certificate.
#[tokio::test]
async fn rfc9700_4_13_tls_terminating_reverse_proxies() {
    let op = start().await;
    for (name, said) in [
        ("x-forwarded-host", "evil.example"),
        ("x-forwarded-proto", "http"),
        ("forwarded", "host=evil.example;proto=http;for=10.0.0.1"),
        ("x-forwarded-prefix", "/evil"),
        ("x-original-url", "/evil"),
        ("x-rewrite-url", "/evil"),
    ] {
        let request = op.server.request("GET", "/.well-known/openid-configuration").header(name, said);
        let metadata = op.server.send(request.body(Full::default()).unwrap()).await;
        assert_eq!(metadata.status, 200, "{name}");
        assert!(!text(&metadata).contains("evil") && metadata.json()["issuer"] == op.server.issuer, "{name}");
        let request = op.server.request("GET", &address(&op.request(&op.one))).header(name, said);
        let page = op.server.send(request.body(Full::default()).unwrap()).await;
        assert!(is_sign_in(&page) && !text(&page).contains("evil"), "{name}");
    }
    op.server.stop().await;
}

/// A second use after the grace ends the whole family: the thief's tokens and the client's.
#[tokio::test]
async fn rfc9700_4_14_refresh_token_protection() {
    let op = start().await;
    let request = with(&op.request(&op.one), "scope", "openid email offline_access");
    let first = op.succeeds(&op.one, &request).await;
    let form = |tokens: &serde_json::Value, more: &[(&str, &str)]| {
        let token = tokens["refresh_token"].as_str().unwrap();
        let mut form = pairs(&[("grant_type", "refresh_token"), ("refresh_token", token)]);
        form.extend(pairs(more));
        form
    };
    // Bound to its client, and to what was granted.
    op.token_error(&op.token(&op.two, &form(&first, &[])).await, 400, "invalid_grant");
    op.token_error(
        &op.token(&op.one, &form(&first, &[("scope", "openid profile")])).await,
        400,
        "invalid_scope",
    );
    let thief = op.check_granted(&op.one, &op.token(&op.one, &form(&first, &[])).await).await;
    assert_ne!(thief["refresh_token"], first["refresh_token"], "it rotates");
    op.clock.advance(11);
    op.token_error(&op.token(&op.one, &form(&first, &[])).await, 400, "invalid_grant");
    op.token_error(&op.token(&op.one, &form(&thief, &[])).await, 400, "invalid_grant");
    op.ends(thief["access_token"].as_str().unwrap()).await;
    op.ends(first["access_token"].as_str().unwrap()).await;
    // One that nobody uses ends by itself.
    let idle = op.succeeds(&op.one, &request).await;
    op.clock.advance(30 * 86_400 + 1);
    op.token_error(&op.token(&op.one, &form(&idle, &[])).await, 400, "invalid_grant");
    op.server.stop().await;
}

/// A client whose id is a person's `sub` is not that person.
#[tokio::test]
async fn rfc9700_4_15_client_impersonating_resource_owner() {
    let op = start().await;
    let tokens = op.succeeds(&op.one, &op.request(&op.one)).await;
    let sub = payload(tokens["id_token"].as_str().unwrap())["sub"].as_str().unwrap().to_owned();
    let new = NewClient {
        algorithm: Algorithm::Es256,
        grants: [Grant::ClientCredentials].into(),
        id: Some(sub.clone()),
        scopes: names(&["openid", "profile", "email"]),
        ..NewClient::default()
    };
    let refused = op.server.admin.add_client(new.clone()).await.unwrap_err();
    assert!(refused.to_string().contains("the client's id"), "{refused}");
    // Nor one that a client with pairwise subjects sees.
    let pairwise = json!({"redirect_uris": ["https://pair.example/"], "subject_type": "pairwise"});
    let said = op.register(&pairwise).await.json();
    let way = Way::Basic(said["client_secret"].as_str().unwrap().into());
    let id = said["client_id"].as_str().unwrap().to_owned();
    let party = crate::oidc::Party { id, callback: "https://pair.example/".into(), way };
    let tokens = op.succeeds(&party, &op.request(&party)).await;
    let seen = payload(tokens["id_token"].as_str().unwrap())["sub"].as_str().unwrap().to_owned();
    assert_ne!(seen, sub);
    assert!(op.server.admin.add_client(NewClient { id: Some(seen), ..new.clone() }).await.is_err());
    assert!(op.server.admin.add_client(NewClient { id: Some("anything-else".into()), ..new }).await.is_ok());
    // And one that registers itself does not choose its id.
    let said = op.register(&json!({"redirect_uris": ["https://x.example/"], "client_id": "one"})).await;
    assert!(said.status != 201 || said.json()["client_id"] != "one");
    op.server.stop().await;
}

/// No page can be put into a frame.
#[tokio::test]
async fn rfc9700_4_16_clickjacking() {
    let op = start().await;
    for (name, page) in pages(&op).await {
        assert_eq!(page.header("x-frame-options"), "DENY", "{name}");
        let policy = page.header("content-security-policy");
        assert!(policy.split("; ").any(|part| part == "frame-ancestors 'none'"), "{name}: {policy}");
    }
    op.server.stop().await;
}

/// No answer travels by a message between windows: there is no such mode, and no script of ours sends or hears any.
#[tokio::test]
async fn rfc9700_4_17_in_browser_communication() {
    let op = start().await;
    for mode in ["web_message", "web_message.relay", "postMessage", "okta_post_message"] {
        let request = with(&op.request(&op.one), "response_mode", mode);
        let answer = Browser::new(&op.server).get(&address(&request)).await;
        assert_eq!(op.error(&op.one, &request, &answer), "invalid_request");
    }
    let mut scripts = 0;
    for (name, page) in pages(&op).await {
        let html = text(&page);
        assert!(!html.contains("postMessage") && !html.contains("window.opener"), "{name}");
        for script in html.split("<script src=\"").skip(1) {
            let script = op.server.get(&format!("/{}", script.split('"').next().unwrap())).await;
            assert_eq!(script.status, 200);
            assert!(!text(&script).contains("postMessage") && !text(&script).contains("opener"));
            assert!(!text(&script).contains("addEventListener(\"message"));
            scripts += 1;
        }
    }
    assert!(scripts > 0);
    op.server.stop().await;
}
