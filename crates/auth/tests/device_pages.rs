//! The device authorization grant over TLS: a television that asks, and a person with a browser. RFC 8628 §3 and §5.

use std::path::Path;
use std::sync::Arc;

use http_body_util::Full;
use sealstone_auth::{Grant, NewUser, Password, World};
use serde_json::Value;

use crate::device::{payload, television};
use crate::support::{Answer, ManualClock, Running, config};
use crate::whole_flow::{Browser, PASSWORD, field, text};

const UNKNOWN: &str = "No device waits with this code.";

async fn server(directory: &Path) -> (Running, Arc<ManualClock>) {
    let clock = ManualClock::new();
    let world = World { clock: clock.clone(), ..World::default() };
    let server = Running::start_in(config(directory), world).await;
    let password = Some(Password::new(PASSWORD).unwrap());
    let ada = NewUser { password, username: "ada".into(), ..NewUser::default() };
    server.admin.add_user(ada).await.unwrap();
    server.enrol(television()).await;
    (server, clock)
}

async fn ask(server: &Running, path: &str, form: &str) -> Answer {
    let request = server.request("POST", path).header("content-type", "application/x-www-form-urlencoded");
    server.send(request.body(Full::from(format!("{form}&client_id=tv"))).unwrap()).await
}

async fn device(server: &Running) -> Value {
    let answer = ask(server, "/device_authorization", "scope=openid+films").await;
    assert_eq!(
        (answer.status.as_u16(), answer.header("cache-control")),
        (200, "no-store"),
        "{}",
        text(&answer)
    );
    answer.json()
}

async fn poll(server: &Running, device: &Value) -> Answer {
    let grant = Grant::DeviceCode.name().replace(':', "%3A");
    let code = device["device_code"].as_str().unwrap();
    ask(server, "/token", &format!("grant_type={grant}&device_code={code}")).await
}

/// Signs in for the device page.
async fn signed_in<'a>(server: &'a Running, path: &str) -> (Browser<'a>, Answer) {
    let mut browser = Browser::new(server);
    let login = browser.get(path).await;
    assert!(text(&login).contains("<h1>Sign in</h1>"), "{}", text(&login));
    let page = browser.sign_in(&login).await;
    (browser, page)
}

async fn type_code(browser: &mut Browser<'_>, page: &Answer, code: &str) -> Answer {
    browser.post("/device", &[("user_code", code), ("form_token", &field(page, "form_token"))]).await
}

async fn decide(browser: &mut Browser<'_>, page: &Answer, decision: &str) -> Answer {
    let (code, token) = (field(page, "user_code"), field(page, "form_token"));
    browser.post("/device", &[("user_code", &code), ("form_token", &token), ("decision", decision)]).await
}

#[tokio::test]
async fn rfc8628_s3_a_person_lets_a_device_in() {
    let directory = tempfile::tempdir().unwrap();
    let (server, clock) = server(directory.path()).await;
    let metadata = server.get("/.well-known/oauth-authorization-server").await.json();
    assert_eq!(metadata["device_authorization_endpoint"], format!("{}/device_authorization", server.issuer));
    let device = device(&server).await;
    assert_eq!(poll(&server, &device).await.refusal(), (400, "authorization_pending".into()));
    assert_eq!(poll(&server, &device).await.refusal(), (400, "slow_down".into()));

    let link = device["verification_uri_complete"].as_str().unwrap();
    let (mut browser, page) = signed_in(&server, link.strip_prefix(&server.issuer).unwrap()).await;
    let code = device["user_code"].as_str().unwrap();
    assert_eq!(field(&page, "form_token").len(), 43);
    assert!(text(&page).contains(&format!("value=\"{code}\"")), "§3.3.1: it is filled in, and no more");
    let page = type_code(&mut browser, &page, &code.to_lowercase().replace('-', " ")).await;
    let html = text(&page);
    // §5.4: who, what, the code once more, and a warning.
    for part in
        ["Tom &#38; Jerry&#39;s television", "<bdi>know who you are</bdi>", "<code>films</code>", code]
    {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert!(html.contains("Did somebody send you the code") && !html.contains("<script"));
    let done = decide(&mut browser, &page, "allow").await;
    assert!(text(&done).contains("<h1>Device connected</h1>"), "{}", text(&done));

    clock.advance(60);
    let tokens = poll(&server, &device).await;
    assert_eq!(tokens.status, 200, "{}", text(&tokens));
    let id_token = payload(tokens.json()["id_token"].as_str().unwrap());
    assert_eq!((&id_token["aud"], &id_token["amr"]), (&"tv".into(), &serde_json::json!(["pwd"])));
    let again = decide(&mut browser, &page, "deny").await;
    assert_eq!(again.status, 403, "an answer is given once");
    server.stop().await;
}

#[tokio::test]
async fn rfc8628_s3_3_a_person_says_no() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = server(directory.path()).await;
    let device = device(&server).await;
    let (mut browser, page) = signed_in(&server, "/device").await;
    let page = type_code(&mut browser, &page, device["user_code"].as_str().unwrap()).await;
    assert!(text(&decide(&mut browser, &page, "deny").await).contains("<h1>Device not connected</h1>"));
    assert_eq!(poll(&server, &device).await.refusal(), (400, "access_denied".into()));
    server.stop().await;
}

/// §5.1: five free, then longer and longer waits, also for the right code; codes of one's own give no guesses back.
#[tokio::test]
async fn rfc8628_s5_1_codes_cannot_be_guessed() {
    let directory = tempfile::tempdir().unwrap();
    let (server, clock) = server(directory.path()).await;
    let (theirs, own) = (device(&server).await, device(&server).await);
    let (mut browser, mut page) = signed_in(&server, "/device").await;
    for _ in 0..5 {
        page = type_code(&mut browser, &page, "BBBB-BBBB").await;
        assert_eq!(page.status, 403);
        assert!(text(&page).contains(UNKNOWN));
        if let Some(code) = own["user_code"].as_str() {
            let shown = type_code(&mut browser, &page, code).await;
            assert_eq!(shown.status, if text(&shown).contains("Too many") { 429 } else { 200 });
        }
    }
    let held = type_code(&mut browser, &page, theirs["user_code"].as_str().unwrap()).await;
    assert_eq!((held.status.as_u16(), held.header("retry-after")), (429, "1"), "{}", text(&held));
    clock.advance(2);
    assert_eq!(type_code(&mut browser, &held, "CCCC-CCCC").await.status, 403);
    clock.advance(1);
    assert_eq!(type_code(&mut browser, &held, "DDDD-DDDD").await.status, 429, "twice as long");
    // Another browser of the same person is held up too.
    let (mut second, page) = signed_in(&server, "/device").await;
    assert_eq!(type_code(&mut second, &page, "FFFF-FFFF").await.status, 429);
    clock.advance(1);
    assert_eq!(type_code(&mut browser, &held, theirs["user_code"].as_str().unwrap()).await.status, 200);
    server.stop().await;
}

/// §5.4, and cross-site request forgery: no page of others lets a device in.
#[tokio::test]
async fn rfc8628_s5_4_a_device_is_let_in_from_its_own_page_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = server(directory.path()).await;
    let (ours, theirs) = (device(&server).await, device(&server).await);
    let (mut browser, page) = signed_in(&server, "/device").await;
    let confirm = type_code(&mut browser, &page, ours["user_code"].as_str().unwrap()).await;
    let (first, second) = (field(&page, "form_token"), field(&confirm, "form_token"));
    let code = theirs["user_code"].as_str().unwrap();
    // The token of the first form, of another code, and none; the page for a code is shown again each time.
    for token in [first.as_str(), second.as_str(), ""] {
        let fields = [("user_code", code), ("form_token", token), ("decision", "allow")];
        let answer = browser.post("/device", &fields).await;
        assert_eq!(answer.status, 403);
        assert!(text(&answer).contains("open for too long"), "{}", text(&answer));
    }
    // A link alone, with whatever in it, does nothing.
    let link = format!("/device?user_code={code}&decision=allow&form_token={second}");
    assert_eq!(browser.get(&link).await.status, 200);
    assert_eq!(poll(&server, &theirs).await.refusal().1, "authorization_pending");
    // A form that is sent after signing out is not forgotten, and decides nothing.
    let mut stranger = Browser::new(&server);
    let answer = decide(&mut stranger, &confirm, "allow").await;
    assert!(text(&answer).contains("<h1>Sign in</h1>"));
    assert_eq!(poll(&server, &ours).await.refusal().1, "authorization_pending");
    server.stop().await;
}

/// A page of ours has the headers of one, and what is typed comes back as text.
#[tokio::test]
async fn what_is_typed_is_only_text() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = server(directory.path()).await;
    let (mut browser, page) = signed_in(&server, "/device?user_code=%22%3E%3Cb%3E").await;
    assert!(text(&page).contains("value=\"&#34;&#62;&#60;b&#62;\""), "{}", text(&page));
    assert_eq!(page.header("x-frame-options"), "DENY");
    let long = "B".repeat(65);
    let answer = type_code(&mut browser, &page, &long).await;
    assert!(answer.status == 403 && !text(&answer).contains(&long));
    assert_eq!(browser.get("/device?user_code=%ff&&&").await.status, 200);
    server.stop().await;
}
