//! Signing in and out at a real server over TLS, as a browser without a script does it.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, mpsc};

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::http::request::Builder;
use sealstone_auth::config::TlsMode;
use sealstone_auth::{Config, NewClient, NewUser, Password, World};

use crate::support::{Answer, Guarded, ManualClock, Mood, Running, config, log_capture};

const SENTENCE: &str = "correct horse battery staple";
const QUERY: &str = "response_type=code&client_id=shop&state=a%20b&scope=openid";
const WRONG: &str = "The username or the password is not right.";
const SESSION: &str = "__Host-sealstone-session";
const FORM: &str = "__Host-sealstone-form";
const KNOWN: &str = "__Host-sealstone-known";

/// What a browser remembers of a server.
#[derive(Clone, Default)]
struct Browser {
    cookies: BTreeMap<String, String>,
}

impl Browser {
    /// Follows the cookies, not the redirects.
    async fn send(&mut self, server: &Running, request: Builder, body: String) -> Answer {
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = match cookies.is_empty() {
            true => request,
            false => request.header("cookie", cookies.join("; ")),
        };
        let answer = server.send(request.body(Full::<Bytes>::from(body)).unwrap()).await;
        for line in answer.headers.get_all("set-cookie") {
            let (name, rest) = line.to_str().unwrap().split_once('=').unwrap();
            let (value, attributes) = rest.split_once(';').unwrap();
            match attributes.contains("Max-Age=0") {
                true => drop(self.cookies.remove(name)),
                false => drop(self.cookies.insert(name.to_owned(), value.to_owned())),
            }
        }
        answer
    }

    async fn get(&mut self, server: &Running, path: &str) -> Answer {
        self.send(server, server.request("GET", path), String::new()).await
    }

    async fn post(&mut self, server: &Running, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.send(server, form(server, path), encode(fields)).await
    }

    /// Opens the login page and sends it.
    async fn sign_in(&mut self, server: &Running, username: &str, password: &str) -> Answer {
        let page = self.get(server, &format!("/login?{QUERY}")).await;
        self.post(server, "/login", &filled(&page, username, password)).await
    }

    async fn is_signed_in(&mut self, server: &Running) -> bool {
        text(&self.get(server, "/login").await)
            .contains("You are signed in as <bdi class=\"who\">alice</bdi>.")
    }
}

/// A form as a browser of today sends it from a page of ours.
fn form(server: &Running, path: &str) -> Builder {
    server
        .request("POST", path)
        .header("content-type", "application/x-www-form-urlencoded")
        .header("origin", "null")
        .header("sec-fetch-site", "same-origin")
}

fn encode(fields: &[(&str, &str)]) -> String {
    let byte = |byte: u8| match byte {
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    let value = |value: &str| value.bytes().map(byte).collect::<String>();
    fields.iter().map(|(name, text)| format!("{name}={}", value(text))).collect::<Vec<_>>().join("&")
}

/// The value of a hidden field.
fn hidden(page: &Answer, name: &str) -> String {
    let page = text(page);
    let field = page.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap();
    field.split('"').next().unwrap().replace("&#38;", "&")
}

fn filled<'a>(page: &Answer, username: &'a str, password: &'a str) -> Vec<(&'static str, &'a str)> {
    // A page of a test lives as long as the test.
    let token: &'static str = hidden(page, "form_token").leak();
    let query: &'static str = hidden(page, "continue_query").leak();
    vec![("username", username), ("password", password), ("continue_query", query), ("form_token", token)]
}

fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.to_vec()).unwrap()
}

fn cookie_line<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    let lines = answer.headers.get_all("set-cookie").iter().map(|line| line.to_str().unwrap());
    lines.into_iter().find(|line| line.split('=').next() == Some(name))
}

/// A server with a user `alice` and a client `shop`.
async fn shop(config: Config, world: World) -> Running {
    let server = Running::start_in(config, world).await;
    let password = Some(Password::new(SENTENCE).unwrap());
    let alice = NewUser { password, username: "alice".into(), ..NewUser::default() };
    server.admin.add_user(alice).await.unwrap();
    let name = "Tom & <b>Jerry's</b> shop".to_owned();
    let shop = NewClient { id: Some("shop".into()), name, ..NewClient::default() };
    server.admin.add_client(shop).await.unwrap();
    server
}

async fn running() -> (Running, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    (shop(config(directory.path()), World::default()).await, directory)
}

#[tokio::test]
async fn a_person_signs_in_and_out() {
    let (server, _directory) = running().await;
    let mut browser = Browser::default();
    let page = browser.get(&server, &format!("/login?{QUERY}")).await;
    assert_eq!((page.status.as_u16(), page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert_eq!(hidden(&page, "continue_query"), QUERY);
    assert_eq!(browser.cookies.keys().collect::<Vec<_>>(), [FORM]);

    let answer = browser.post(&server, "/login", &filled(&page, "alice", SENTENCE)).await;
    assert_eq!(answer.status.as_u16(), 303);
    assert_eq!(answer.header("location"), format!("{}/authorize?{QUERY}", server.issuer));
    let line = cookie_line(&answer, SESSION).unwrap();
    let (secret, attributes) =
        line.strip_prefix("__Host-sealstone-session=").unwrap().split_once("; ").unwrap();
    assert_eq!((secret.len(), attributes), (43, "Path=/; Secure; HttpOnly; SameSite=Lax"));
    let line = cookie_line(&answer, KNOWN).unwrap();
    assert!(line.ends_with("; Path=/; Max-Age=31536000; Secure; HttpOnly; SameSite=Lax"), "{line}");
    assert!(browser.is_signed_in(&server).await);
    assert_eq!(browser.cookies.keys().collect::<Vec<_>>(), [KNOWN, SESSION], "the form's cookie is gone");

    // A link alone signs nobody out.
    let page = browser.get(&server, "/logout").await;
    assert!(text(&page).contains("Sign out?"));
    assert!(browser.is_signed_in(&server).await);
    let mut thief = browser.clone();
    let token = hidden(&page, "form_token");
    let out = browser.post(&server, "/logout", &[("form_token", &token)]).await;
    assert!(text(&out).contains("<h1>Signed out</h1>"));
    assert_eq!(browser.cookies.keys().collect::<Vec<_>>(), [KNOWN]);
    assert!(!thief.is_signed_in(&server).await, "the session itself has ended, not only the cookie");
    assert!(text(&browser.get(&server, "/logout").await).contains("<h1>Signed out</h1>"));
    server.stop().await;
}

#[tokio::test]
async fn every_page_has_the_headers_of_a_page() {
    let (server, _directory) = running().await;
    let mut browser = Browser::default();
    let mut answers = vec![browser.get(&server, &format!("/login?{QUERY}")).await];
    answers.push(browser.sign_in(&server, "alice", "wrong").await);
    answers.push(browser.get(&server, "/login?%ff#".trim_end_matches('#')).await);
    answers.push(browser.post(&server, "/login", &[("continue_query", "a b")]).await);
    answers.push(browser.sign_in(&server, "alice", SENTENCE).await);
    answers.push(browser.get(&server, "/login").await);
    answers.push(browser.get(&server, "/logout").await);
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status.as_u16()).collect();
    assert_eq!(statuses, [200, 403, 200, 400, 303, 200, 200]);
    for answer in &answers {
        let policy =
            "default-src 'none'; style-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'";
        for (name, value) in [
            ("cache-control", "no-store"),
            ("content-security-policy", policy),
            ("referrer-policy", "no-referrer"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
        ] {
            assert_eq!(answer.header(name), value, "{name} {}", answer.status);
        }
        assert!(!text(answer).contains("<script") && !text(answer).contains(" style="));
    }
    server.stop().await;
}

/// RFC 9111 §5.2.2: kept for ever, for another content has another name.
#[tokio::test]
async fn the_files_of_a_page() {
    let (server, _directory) = running().await;
    let page = text(&server.get("/login").await);
    let names: Vec<&str> =
        page.split("assets/").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    for name in names {
        let file = server.get(&format!("/assets/{name}")).await;
        assert_eq!(file.status.as_u16(), 200, "{name}");
        assert_eq!(file.header("cache-control"), "public, max-age=31536000, immutable");
        let kind = if name.ends_with("css") { "text/css; charset=utf-8" } else { "image/svg+xml" };
        assert_eq!((file.header("content-type"), file.header("x-content-type-options")), (kind, "nosniff"));
    }
    for none in ["/assets/", "/assets/sealstone.css", "/assets/..%2fmark.svg", "/assets/sealstone-x.css"] {
        assert_eq!(server.get(none).await.status.as_u16(), 404, "{none}");
    }
    server.stop().await;
}

/// What a person can see is the same; what the operator can see is not.
#[tokio::test]
async fn every_refusal_looks_alike() {
    let (server, _directory) = running().await;
    let bob = NewUser { username: "bob".into(), ..NewUser::default() };
    server.admin.add_user(bob).await.unwrap();
    let password = Some(Password::new(SENTENCE).unwrap());
    let carol = NewUser { password, username: "carol".into(), ..NewUser::default() };
    server.admin.add_user(carol).await.unwrap();
    server.admin.set_disabled("carol", true).await.unwrap();
    let mut seen = Vec::new();
    for (username, password) in [
        ("alice", "wrong"),
        ("nobody", SENTENCE),
        ("bob", SENTENCE),
        ("carol", SENTENCE),
        ("no one at all", "x"),
    ] {
        let mut browser = Browser::default();
        let answer = browser.sign_in(&server, username, password).await;
        assert_eq!(answer.status.as_u16(), 403, "{username}");
        assert_eq!(browser.cookies.keys().collect::<Vec<_>>(), [FORM], "{username}");
        let token = hidden(&answer, "form_token");
        let page = text(&answer).replace(&token, "TOKEN").replace(username, "NAME");
        assert!(page.contains(WRONG) && page.contains("role=\"alert\""), "{page}");
        assert!(!page.contains(password) || password == "x", "a password never comes back");
        seen.push(page);
    }
    assert!(seen.iter().all(|page| *page == seen[0]));
    for why in
        ["user `alice` gave a wrong password", "user `bob` has no password", "user `carol` is disabled"]
    {
        assert!(log_capture().text().contains(why), "{why}");
    }
    assert!(!log_capture().text().contains("no one at all"), "what was typed as a name may be a password");
    assert!(!log_capture().text().contains(SENTENCE));
    server.stop().await;
}

/// RFC 9700 §4.7.1, and the OWASP session fixation attack.
#[tokio::test]
async fn a_session_from_before_the_login_is_never_continued() {
    let (server, _directory) = running().await;
    let planted = "A".repeat(43);
    let mut browser = Browser::default();
    browser.cookies.insert(SESSION.into(), planted.clone());
    browser.sign_in(&server, "alice", SENTENCE).await;
    let first = browser.clone();
    assert_ne!(browser.cookies[SESSION], planted);
    let mut thief = Browser { cookies: BTreeMap::from([(SESSION.to_owned(), planted)]) };
    assert!(!thief.is_signed_in(&server).await);
    // And a second login replaces the first.
    browser.sign_in(&server, "alice", SENTENCE).await;
    assert!(browser.is_signed_in(&server).await);
    assert!(!first.clone().is_signed_in(&server).await);
    // A failed one leaves it alone.
    browser.sign_in(&server, "alice", "wrong").await;
    assert!(browser.is_signed_in(&server).await);
    // A cookie that is there twice is nobody's.
    let twice = format!("{SESSION}={}; {SESSION}=x", browser.cookies[SESSION]);
    let request = server.request("GET", "/login").header("cookie", twice);
    assert!(!text(&server.send(request.body(Full::default()).unwrap()).await).contains("signed in as"));
    server.stop().await;
}

/// RFC 9700 §4.7, for our own forms.
#[tokio::test]
async fn a_form_of_another_site_signs_nobody_in_or_out() {
    let (server, _directory) = running().await;
    let hashes_nothing = async |browser: &mut Browser, request: Builder, body: String| {
        let answer = browser.send(&server, request, body).await;
        assert_eq!(answer.status.as_u16(), 403);
        assert!(!browser.cookies.contains_key(SESSION));
        assert!(text(&answer).contains("Please try again."), "a person finds a fresh form");
        text(&answer)
    };
    let mut browser = Browser::default();
    let page = browser.get(&server, &format!("/login?{QUERY}")).await;
    let good = encode(&filled(&page, "alice", SENTENCE));
    let mut other = Browser::default();
    let foreign = hidden(&other.get(&server, "/login").await, "form_token");
    let mut fields = filled(&page, "alice", SENTENCE);
    fields[3].1 = &foreign;
    let foreign = encode(&fields);
    let without = good.rsplit_once('&').unwrap().0.to_owned();

    hashes_nothing(&mut browser.clone(), form(&server, "/login"), foreign).await;
    hashes_nothing(&mut browser.clone(), form(&server, "/login"), without).await;
    hashes_nothing(&mut Browser::default(), form(&server, "/login"), good.clone()).await;
    let typed = |request: Builder| request.header("content-type", "application/x-www-form-urlencoded");
    let post = || typed(server.request("POST", "/login"));
    for site in ["cross-site", "same-site", "none", ""] {
        hashes_nothing(&mut browser.clone(), post().header("sec-fetch-site", site), good.clone()).await;
    }
    for origin in ["https://evil.example", "http://127.0.0.1", ""] {
        hashes_nothing(&mut browser.clone(), post().header("origin", origin), good.clone()).await;
    }
    // A browser that says nothing, and one that names us.
    let answer = browser.clone().send(&server, post(), good.clone()).await;
    assert_eq!(answer.status.as_u16(), 303);
    let ours = server.issuer.clone();
    let answer = browser.send(&server, post().header("origin", ours), good).await;
    assert_eq!(answer.status.as_u16(), 303);

    let page = browser.get(&server, "/logout").await;
    let login_token = {
        let page = browser.get(&server, &format!("/login?{QUERY}")).await;
        hidden(&page, "form_token")
    };
    assert_ne!(login_token, hidden(&page, "form_token"), "a token is for one purpose");
    let answer = browser.post(&server, "/logout", &[("form_token", &login_token)]).await;
    assert_eq!(answer.status.as_u16(), 403);
    assert_eq!(browser.post(&server, "/logout", &[]).await.status.as_u16(), 403);
    assert!(browser.is_signed_in(&server).await);
    server.stop().await;
}

/// RFC 9700 §4.11: what comes from outside only ever stands behind our own address.
#[tokio::test]
async fn the_login_page_redirects_nowhere_else() {
    let (server, _directory) = running().await;
    for query in [
        "https://evil.example/",
        "//evil.example",
        "@evil.example",
        "redirect_uri=https://evil.example&%0d%0a",
    ] {
        let mut browser = Browser::default();
        let page = browser.get(&server, &format!("/login?{query}")).await;
        let answer = browser.post(&server, "/login", &filled(&page, "alice", SENTENCE)).await;
        assert_eq!(answer.header("location"), format!("{}/authorize?{query}", server.issuer));
    }
    for query in ["a\r\nSet-Cookie: x=y", "a b", "a#b", "ä", &"x".repeat(8193)] {
        let mut browser = Browser::default();
        let page = browser.get(&server, "/login").await;
        let mut fields = filled(&page, "alice", SENTENCE);
        fields[2].1 = query;
        let answer = browser.post(&server, "/login", &fields).await;
        assert_eq!((answer.status.as_u16(), answer.header("location")), (400, ""), "{query}");
        assert!(!browser.cookies.contains_key(SESSION));
    }
    // Without a request to go on with.
    let mut browser = Browser::default();
    let page = browser.get(&server, "/login").await;
    let answer = browser.post(&server, "/login", &filled(&page, "alice", SENTENCE)).await;
    assert_eq!(answer.header("location"), format!("{}/login", server.issuer));
    server.stop().await;
}

#[tokio::test]
async fn whatever_is_shown_is_escaped() {
    let (server, _directory) = running().await;
    let mut browser = Browser::default();
    // The client was added behind the server's back: it notices within a poll.
    let page = loop {
        let page = text(&browser.get(&server, &format!("/login?{QUERY}")).await);
        if page.contains("to continue to") {
            break page;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    assert!(page.contains("Tom &#38; &#60;b&#62;Jerry&#39;s&#60;/b&#62; shop"), "{page}");
    let name = "\"><img src=x onerror=alert(1)>";
    let page = text(&browser.sign_in(&server, name, "wrong").await);
    assert!(page.contains("value=\"&#34;&#62;&#60;img src=x"), "{page}");
    let fields = [("continue_query", "x=%22&y=\"><script>"), ("username", "alice"), ("password", "x")];
    let page = text(&browser.post(&server, "/login", &fields).await);
    assert!(page.contains("value=\"x=%22&#38;y=&#34;&#62;&#60;script&#62;\""), "{page}");
    server.stop().await;
}

#[tokio::test]
async fn guesses_must_wait_and_a_known_browser_need_not() {
    let directory = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let world = World { clock: clock.clone(), ..World::default() };
    let server = shop(config(directory.path()), world).await;
    let mut own = Browser::default();
    own.sign_in(&server, "alice", SENTENCE).await;
    let mut guesser = Browser::default();
    for _ in 0..5 {
        assert_eq!(guesser.sign_in(&server, "alice", "wrong").await.status.as_u16(), 403);
    }
    let answer = guesser.sign_in(&server, "alice", SENTENCE).await;
    assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (429, "1"));
    assert!(text(&answer).contains("Too many attempts have failed. Please try again in 1 second."));
    // A name that nobody has is treated in the same way.
    for _ in 0..5 {
        assert_eq!(guesser.sign_in(&server, "nobody", "wrong").await.status.as_u16(), 403);
    }
    assert_eq!(guesser.sign_in(&server, "nobody", "wrong").await.status.as_u16(), 429);
    assert_eq!(own.sign_in(&server, "alice", SENTENCE).await.status.as_u16(), 303);
    clock.advance(1);
    assert_eq!(guesser.sign_in(&server, "alice", "wrong").await.status.as_u16(), 403);
    let answer = guesser.sign_in(&server, "alice", SENTENCE).await;
    assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (429, "2"));
    // From this address 11 have failed so far. After 20 it waits, whatever the name.
    for number in 0..9 {
        let name = format!("name-{number}");
        assert_eq!(guesser.sign_in(&server, &name, "wrong").await.status.as_u16(), 403, "{name}");
    }
    assert_eq!(guesser.sign_in(&server, "another", "wrong").await.status.as_u16(), 429);
    clock.advance(3600);
    assert_eq!(guesser.sign_in(&server, "alice", SENTENCE).await.status.as_u16(), 303);
    server.stop().await;
}

#[tokio::test]
async fn behind_a_proxy_addresses_are_not_counted() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.tls.mode = TlsMode::PlainBehindProxy;
    config.issuer = Some("https://auth.example.org/tenant".into());
    let server = shop(config, World::default()).await;
    let mut sent = 0;
    let mut cookie = String::new();
    let mut token = String::new();
    for number in 0..25 {
        let (path, fields) =
            ("/tenant/login", format!("username=name-{number}&password=wrong&form_token={token}"));
        if number == 0 {
            let (head, page) = plain(&server, "GET", path, "", "").await;
            let line = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
            let (value, attributes) = line.split_once(';').unwrap();
            assert!(value.starts_with("__Host-sealstone-form-"), "the issuer's path is in the name: {value}");
            assert_eq!(attributes, " Path=/; Secure; HttpOnly; SameSite=Lax");
            cookie = value.to_owned();
            token = page
                .split("name=\"form_token\" value=\"")
                .nth(1)
                .unwrap()
                .split('"')
                .next()
                .unwrap()
                .to_owned();
            continue;
        }
        let (head, _) = plain(&server, "POST", path, &cookie, &fields).await;
        assert!(head.starts_with("HTTP/1.1 403"), "{head}");
        sent += 1;
    }
    assert_eq!(sent, 24);
    server.stop().await;
}

/// Somebody who signed in long ago, and a form of nobody's.
#[tokio::test]
async fn passkeys_are_changed_only_by_who_has_just_signed_in() {
    let directory = tempfile::tempdir().unwrap();
    let (clock, mut config) = (ManualClock::new(), config(directory.path()));
    config.tls.mode = TlsMode::PlainBehindProxy;
    config.issuer = Some("https://auth.example.org".into());
    let world = World { clock: clock.clone(), ..World::default() };
    let server = shop(config, world).await;
    let cookie = |head: &str, name: &str| {
        let start = format!("set-cookie: {name}=");
        let line = head.lines().find_map(|line| line.strip_prefix(&start)).unwrap().to_owned();
        format!("{name}={}", line.split(';').next().unwrap())
    };
    let token = |page: &str| {
        let field = page.split("name=\"form_token\" value=\"").nth(1).unwrap();
        field.split('"').next().unwrap().to_owned()
    };
    let (head, page) = plain(&server, "GET", "/login", "", "").await;
    assert!(head.contains("base-uri 'none'; script-src 'self'\r\n"), "{head}");
    assert!(page.contains("data-rp=\"auth.example.org\""));
    let form = format!("username=alice&password={}&form_token={}", SENTENCE.replace(' ', "+"), token(&page));
    let (head, _) = plain(&server, "POST", "/login", &cookie(&head, FORM), &form).await;
    let session = cookie(&head, SESSION);

    let (_, page) = plain(&server, "GET", "/passkeys", "", "").await;
    assert!(page.contains("<h1>Sign in</h1>"), "nobody's passkeys");
    let (head, page) = plain(&server, "GET", "/passkeys", &session, "").await;
    assert!(page.contains("<h1>Passkeys</h1>") && head.contains("script-src 'self'"), "{head}");
    let cookies = format!("{session}; {}", cookie(&head, FORM));
    for (form, status) in [
        ("action=remove&credential=x".to_owned(), 403),
        (format!("action=remove&credential=x&form_token={}x", token(&page)), 403),
        (format!("action=add&name=phone&form_token={}", token(&page)), 403),
        (format!("action=add&name=&form_token={}", token(&page)), 403),
        (format!("action=remove&credential=x&form_token={}", token(&page)), 303),
    ] {
        let (head, _) = plain(&server, "POST", "/passkeys", &cookies, &form).await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{form} {head}");
    }
    clock.advance(901);
    let form = format!("action=remove&credential=x&form_token={}", token(&page));
    let (_, page) = plain(&server, "POST", "/passkeys", &cookies, &form).await;
    assert!(page.contains("Please sign in once more to change your passkeys."), "{page}");
    let (head, page) = plain(&server, "POST", "/passkey", &cookies, "credential=x&client_data=e30").await;
    assert!(head.starts_with("HTTP/1.1 403") && page.contains("Please try again."), "{head}");
    server.stop().await;
}

/// A request without TLS.
async fn plain(server: &Running, method: &str, path: &str, cookie: &str, body: &str) -> (String, String) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(server.address).await.unwrap();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncookie: {cookie}\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {length}\r\n\r\n{body}",
        server.address
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// Without TLS on loopback, for trials: a browser would refuse the names and attributes of the real thing.
#[tokio::test]
async fn the_cookies_of_a_trial() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.tls.mode = TlsMode::PlainLoopback;
    let server = shop(config, World::default()).await;
    let (head, _) = plain(&server, "GET", "/login", "", "").await;
    let line = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    assert!(
        line.starts_with("sealstone-form=") && line.ends_with("; Path=/; HttpOnly; SameSite=Lax"),
        "{line}"
    );
    server.stop().await;
}

/// One hash at a time and one in line, and the only thread that may be busy is held: the third is told to come later,
/// and the first two get their answers.
#[test]
fn when_the_pool_is_full_the_next_is_told_so() {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).max_blocking_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let directory = tempfile::tempdir().unwrap();
        let mut config = config(directory.path());
        (config.passwords.at_once, config.passwords.waiting) = (NonZeroU64::new(1), 1);
        let server = Arc::new(shop(config, World::default()).await);
        let (release, gate) = mpsc::channel::<()>();
        let gate = Mutex::new(gate);
        tokio::task::spawn_blocking(move || gate.lock().unwrap().recv());
        let mut attempts = tokio::task::JoinSet::new();
        for _ in 0..3 {
            let server = Arc::clone(&server);
            attempts.spawn(async move { Browser::default().sign_in(&server, "alice", SENTENCE).await });
        }
        let first = attempts.join_next().await.unwrap().unwrap();
        assert_eq!((first.status.as_u16(), first.header("retry-after")), (503, "5"));
        assert!(text(&first).contains("<h1>Very busy</h1>"));
        release.send(()).unwrap();
        while let Some(answer) = attempts.join_next().await {
            assert_eq!(answer.unwrap().status.as_u16(), 303);
        }
        Arc::into_inner(server).unwrap().stop().await;
    });
}

#[tokio::test]
async fn when_the_store_fails_a_page_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let store = Guarded::new();
    let world = World { store: Some(store.clone()), ..World::default() };
    let server = shop(config(directory.path()), world).await;
    let mut browser = Browser::default();
    browser.sign_in(&server, "alice", SENTENCE).await;
    let page = browser.get(&server, "/logout").await;
    store.set(Mood::Fail);
    let token = hidden(&page, "form_token");
    for answer in [
        browser.get(&server, "/login").await,
        browser.sign_in(&server, "alice", SENTENCE).await,
        browser.get(&server, "/logout").await,
        browser.post(&server, "/logout", &[("form_token", &token)]).await,
    ] {
        assert_eq!(answer.status.as_u16(), 500);
        assert!(text(&answer).contains("Something went wrong here") && !text(&answer).contains("store"));
        assert_eq!(cookie_line(&answer, SESSION), None, "what is not ended is not forgotten");
    }
    store.set(Mood::Serve);
    assert!(browser.is_signed_in(&server).await);
    server.stop().await;
}
