//! `response_mode`: an answer in the query, or in a form that posts itself, over TLS.

use sealstone_auth::NewClient;

use crate::front::{Front, Pairs, encoded, value, with, without};
use crate::support::Answer;
use crate::whole_flow::{Browser, text};

fn free(new: NewClient) -> NewClient {
    let mut new = new;
    new.code_flow.require_pushed_authorization_requests = false;
    new
}

/// What the form holds, and where it goes.
pub fn form(page: &Answer) -> (String, Pairs) {
    assert_eq!(page.status, 200, "{}", text(page));
    assert_eq!(page.header("location"), "");
    let html = text(page);
    let plain = |text: &str| {
        let named = [("&#34;", "\""), ("&#60;", "<"), ("&#62;", ">"), ("&#39;", "'"), ("&#38;", "&")];
        named.iter().fold(text.to_owned(), |text, (name, letter)| text.replace(name, letter))
    };
    let after = |text: &str, mark: &str| text.split_once(mark).map(|(_, rest)| rest.to_owned());
    let action = after(&html, "action=\"").unwrap().split('"').next().map(plain).unwrap();
    let fields = html.split("<input type=\"hidden\" name=\"").skip(1);
    let fields = fields.map(|rest| {
        let name = rest.split('"').next().unwrap().to_owned();
        let value = after(rest, "value=\"").unwrap();
        (name, plain(value.split('"').next().unwrap()))
    });
    (action, fields.collect())
}

/// §2: a code, a no, an error: each in the form and nowhere else, with `iss` and `state`.
#[tokio::test]
async fn form_post_s2_every_answer_is_posted() {
    let front = Front::with(false, free).await;
    let metadata = front.server.get("/.well-known/openid-configuration").await.json();
    assert_eq!(metadata["response_modes_supported"], serde_json::json!(["query", "form_post"]));
    let two = &front.two;
    let state = "a \"><script>alert('1')</script>&amp;=";
    let request = with(&with(&front.request(two), "response_mode", "form_post"), "state", state);
    let plain = format!("/authorize?{}", encoded(&request));
    let wrong = format!("/authorize?{}", encoded(&with(&request, "scope", "admin")));
    let silent = format!("/authorize?{}", encoded(&with(&request, "prompt", "none")));
    let pushed = front.bare_address(two, &front.pushed(two, &request).await);
    for (address, decision, expected) in [
        (&silent, "", "login_required"),
        (&wrong, "", "invalid_scope"),
        (&plain, "deny", "access_denied"),
        (&plain, "allow", "code"),
        (&pushed, "allow", "code"),
    ] {
        let page = front.visit(&mut Browser::new(&front.server), address, decision).await;
        let (action, fields) = form(&page);
        assert_eq!(action, two.callback, "its own query stays: RFC 6749 §3.1.2");
        assert_eq!(value(&fields, "state").as_deref(), Some(state));
        assert_eq!(value(&fields, "iss").as_deref(), Some(front.server.issuer.as_str()), "RFC 9207 §2");
        match expected {
            "code" => {
                let code = value(&fields, "code").unwrap();
                assert_eq!(fields.len(), 3, "{fields:?}");
                let tokens = front.redeem(two, &code).await;
                assert_eq!(tokens.status, 200, "{}", text(&tokens));
            }
            error => {
                assert_eq!(value(&fields, "error").as_deref(), Some(error));
                assert_eq!(value(&fields, "code"), None);
            }
        }
        assert!(!text(&page).contains("<script>alert"));
        assert!(text(&page).contains("<button"), "it works without a script");
        let policy = page.header("content-security-policy");
        for part in
            ["default-src 'none'", "script-src 'self'", "form-action https:", "frame-ancestors 'none'"]
        {
            assert!(policy.split("; ").any(|known| known == part), "{policy}");
        }
        assert!(!policy.contains("unsafe"));
        assert_eq!(
            (page.header("cache-control"), page.header("referrer-policy")),
            ("no-store", "no-referrer")
        );
    }
    let html = text(&front.visit(&mut Browser::new(&front.server), &silent, "").await);
    let script = html.split("src=\"assets/answer-").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let script = front.server.get(&format!("/assets/answer-{script}")).await;
    assert_eq!(script.header("content-type"), "text/javascript; charset=utf-8");
    front.server.stop().await;
}

/// Multiple Response Types §2.1 and §5: `query` is what a code has anyway; a fragment is for tokens, which no answer here
/// holds.
#[tokio::test]
async fn other_modes() {
    let front = Front::with(false, free).await;
    let request = front.request(&front.one);
    let query = format!("/authorize?{}", encoded(&with(&request, "response_mode", "query")));
    let answer = front.visit(&mut Browser::new(&front.server), &query, "allow").await;
    assert!(value(&front.came_back(&front.one, &answer), "code").is_some());
    let broken = with(&with(&request, "response_mode", "form_post"), "state", "two\r\nlines");
    for request in
        [with(&request, "response_mode", "fragment"), with(&request, "response_mode", "jwt"), broken]
    {
        let address = format!("/authorize?{}", encoded(&request));
        let answer = Browser::new(&front.server).get(&address).await;
        let told = front.came_back(&front.one, &answer);
        assert_eq!(value(&told, "error").as_deref(), Some("invalid_request"));
        assert_eq!(value(&told, "state"), value(&request, "state"));
    }
    // RFC 8252 §7.1: no web server, so nothing to post to.
    let app = "com.example.app:/callback";
    let native = |new: NewClient| NewClient {
        code_flow: sealstone_auth::CodeFlow {
            redirect_uris: vec![sealstone_auth::RedirectUri::parse(app).unwrap()],
            ..sealstone_auth::CodeFlow::default()
        },
        ..new
    };
    front.server.stop().await;
    let front = Front::with(false, native).await;
    let request = with(&without(&front.request(&front.one), "redirect_uri"), "redirect_uri", app);
    let address = format!("/authorize?{}", encoded(&with(&request, "response_mode", "form_post")));
    let answer = Browser::new(&front.server).get(&address).await;
    assert!(answer.header("location").starts_with("com.example.app:/callback?error=invalid_request"));
    front.server.stop().await;
}
