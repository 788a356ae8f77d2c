//! The whole way of a person and a client, over TLS: sign in, consent, code, tokens, userinfo, refresh.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{HeaderMap, Request};
use sealstone_auth::{Config, NewAuthentication, NewClient, NewUser, Password};
use serde_json::{Value, json};

use crate::code::{query, shop, verifier};
use crate::support::{Answer, Running, config};

pub const PASSWORD: &str = "correct horse battery staple";

/// A browser: it keeps cookies, and follows nothing by itself.
#[derive(Clone)]
pub struct Browser<'a> {
    server: &'a Running,
    pub cookies: Vec<(String, String)>,
}

impl<'a> Browser<'a> {
    pub fn new(server: &'a Running) -> Self {
        Self { server, cookies: Vec::new() }
    }

    /// Another window of the one that has these cookies.
    pub fn with(server: &'a Running, cookies: Vec<(String, String)>) -> Self {
        Self { server, cookies }
    }

    pub fn cookies(&self) -> Vec<(String, String)> {
        self.cookies.clone()
    }

    pub async fn get(&mut self, path: &str) -> Answer {
        let request = self.server.request("GET", path).body(Full::default()).unwrap();
        self.send(request).await
    }

    /// Sends a form as the page at `path` would.
    pub async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = self
            .server
            .request("POST", path)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("sec-fetch-site", "same-origin")
            .header("origin", "null")
            .body(Full::from(body))
            .unwrap();
        self.send(request).await
    }

    async fn send(&mut self, mut request: Request<Full<Bytes>>) -> Answer {
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !cookies.is_empty() {
            request.headers_mut().insert("cookie", cookies.join("; ").parse().unwrap());
        }
        let answer = self.server.send(request).await;
        self.keep(&answer.headers);
        answer
    }

    fn keep(&mut self, headers: &HeaderMap) {
        for value in headers.get_all("set-cookie") {
            let pair = value.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            self.cookies.retain(|(known, _)| known != name);
            if !value.is_empty() {
                self.cookies.push((name.to_owned(), value.to_owned()));
            }
        }
    }

    /// Signs in on the page that an answer holds, and follows the way back to the authorization endpoint.
    pub async fn sign_in(&mut self, page: &Answer) -> Answer {
        let (token, query) = (field(page, "form_token"), field(page, "continue_query"));
        let fields = [
            ("username", "ada"),
            ("password", PASSWORD),
            ("form_token", token.as_str()),
            ("continue_query", query.as_str()),
        ];
        let sent = self.post("/login", &fields).await;
        assert_eq!(sent.status, 303, "{}", text(&sent));
        let path = sent.header("location").strip_prefix(&self.server.issuer).unwrap().to_owned();
        self.get(&path).await
    }

    /// Signs in on a page that leads nowhere else.
    pub async fn sign_in_plainly(&mut self, page: &Answer) -> Answer {
        let token = field(page, "form_token");
        let fields = [("username", "ada"), ("password", PASSWORD), ("form_token", token.as_str())];
        self.post("/login", &fields).await
    }

    pub async fn decide(&mut self, page: &Answer, decision: &str) -> Answer {
        let (token, query) = (field(page, "form_token"), field(page, "continue_query"));
        let fields =
            [("decision", decision), ("form_token", token.as_str()), ("continue_query", query.as_str())];
        self.post("/consent", &fields).await
    }
}

pub fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.to_vec()).unwrap()
}

/// The value of a hidden field.
pub fn field(page: &Answer, name: &str) -> String {
    let html = text(page);
    let (_, rest) = html.split_once(&format!("name=\"{name}\" value=\"")).expect(&html);
    let value = rest.split('"').next().unwrap();
    value.replace("&#38;", "&").replace("&amp;", "&")
}

/// The parameters that came back to the client.
pub fn came_back(answer: &Answer) -> Vec<(String, String)> {
    assert_eq!(answer.status, 303, "{}", text(answer));
    let location = answer.header("location");
    let query = location.strip_prefix("https://shop.example/callback?").expect(location);
    form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

pub fn value(answer: &[(String, String)], name: &str) -> Option<String> {
    answer.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

/// A server that knows Ada, and a public client.
pub async fn server(directory: &std::path::Path) -> Running {
    server_with(config(directory)).await
}

pub async fn server_with(config: Config) -> Running {
    let server = Running::start(config).await;
    let password = Password::new(PASSWORD).unwrap();
    let ada = NewUser {
        email: Some("ada@example.org".into()),
        email_verified: true,
        name: Some("Ada Lovelace".into()),
        password: Some(password),
        username: "ada".into(),
    };
    server.admin.add_user(ada).await.unwrap();
    let new = NewClient {
        authentication: NewAuthentication::None,
        name: "Shop & Sons".into(),
        scopes: crate::support::names(&["openid", "profile", "email", "offline_access"]),
        ..shop()
    };
    server.admin.add_client(new).await.unwrap();
    // Taken in at the next poll.
    while server.get(&format!("/authorize?{}", query(""))).await.status != 200 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    server
}

/// The token endpoint, as a public client asks it.
pub async fn token(server: &Running, form: &str) -> Answer {
    let request = server
        .request("POST", "/token")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Full::from(format!("{form}&client_id=shop")))
        .unwrap();
    server.send(request).await
}

pub async fn userinfo(server: &Running, authorization: &str) -> Answer {
    let request = server.request("GET", "/userinfo").header("authorization", authorization);
    server.send(request.body(Full::default()).unwrap()).await
}

#[tokio::test]
async fn a_person_signs_in_consents_and_the_client_gets_tokens() {
    let directory = tempfile::tempdir().unwrap();
    let server = server(directory.path()).await;
    let mut browser = Browser::new(&server);
    let path = format!("/authorize?{}", query("&scope=openid+profile+email+offline_access&nonce=n"));
    let page = browser.get(&path).await;
    assert_eq!(page.status, 200);
    assert!(text(&page).contains("Shop &#38; Sons") || text(&page).contains("Shop &amp; Sons"));
    let consent = browser.sign_in(&page).await;
    assert!(text(&consent).contains("see your email address"), "{}", text(&consent));
    let answer = came_back(&browser.decide(&consent, "allow").await);
    assert_eq!(value(&answer, "state").as_deref(), Some("a state"));
    assert_eq!(value(&answer, "iss").as_deref(), Some(server.issuer.as_str()));
    let code = value(&answer, "code").unwrap();
    let tokens = token(&server, &format!("grant_type=authorization_code&code={code}{}", verifier())).await;
    assert_eq!(tokens.status, 200, "{}", text(&tokens));
    assert_eq!(tokens.header("cache-control"), "no-store");
    let tokens = tokens.json();
    let access = tokens["access_token"].as_str().unwrap();

    let claims = userinfo(&server, &format!("bearer {access}")).await;
    assert_eq!(claims.status, 200);
    let claims = claims.json();
    assert_eq!(
        (&claims["email"], &claims["email_verified"], &claims["name"], &claims["preferred_username"]),
        (&json!("ada@example.org"), &json!(true), &json!("Ada Lovelace"), &json!("ada")),
    );
    assert_eq!(claims["sub"], payload(tokens["id_token"].as_str().unwrap())["sub"]);

    // Signed in and agreed: the second time nothing is shown.
    let again = came_back(&browser.get(&path).await);
    assert!(value(&again, "code").is_some());
    let silent = came_back(&browser.get(&format!("{path}&prompt=none")).await);
    assert!(value(&silent, "code").is_some());

    let refresh = tokens["refresh_token"].as_str().unwrap();
    let second = token(&server, &format!("grant_type=refresh_token&refresh_token={refresh}")).await;
    assert_eq!(second.status, 200, "{}", text(&second));
    server.stop().await;
}

#[tokio::test]
async fn a_person_says_no() {
    let directory = tempfile::tempdir().unwrap();
    let server = server(directory.path()).await;
    let mut browser = Browser::new(&server);
    let page = browser.get(&format!("/authorize?{}", query("&scope=openid"))).await;
    let consent = browser.sign_in(&page).await;
    let answer = came_back(&browser.decide(&consent, "deny").await);
    assert_eq!(value(&answer, "error").as_deref(), Some("access_denied"));
    assert_eq!(value(&answer, "state").as_deref(), Some("a state"));
    assert_eq!(value(&answer, "code"), None);
    server.stop().await;
}

/// OpenID Connect Core §3.1.2.1: `prompt=login` shows the page although somebody is signed in, once.
#[tokio::test]
async fn prompt_login_asks_once_more_and_then_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let server = server(directory.path()).await;
    let mut browser = Browser::new(&server);
    let page = browser.get(&format!("/authorize?{}", query("&scope=openid"))).await;
    let consent = browser.sign_in(&page).await;
    came_back(&browser.decide(&consent, "allow").await);
    let page = browser.get(&format!("/authorize?{}", query("&scope=openid&prompt=login"))).await;
    assert_eq!(page.status, 200);
    let answer = came_back(&browser.sign_in(&page).await);
    assert!(value(&answer, "code").is_some());
    server.stop().await;
}

/// RFC 9700 §4.7, §4.16: what another site can make a browser send does nothing.
#[tokio::test]
async fn consent_by_another_site_or_for_another_request_is_asked_again() {
    let directory = tempfile::tempdir().unwrap();
    let server = server(directory.path()).await;
    let mut browser = Browser::new(&server);
    let page = browser.get(&format!("/authorize?{}", query("&scope=openid"))).await;
    let consent = browser.sign_in(&page).await;
    let (token, asked) = (field(&consent, "form_token"), field(&consent, "continue_query"));
    let more = asked.replace("openid", "openid+email");
    for fields in [
        vec![("decision", "allow"), ("continue_query", asked.as_str())],
        vec![("decision", "allow"), ("continue_query", asked.as_str()), ("form_token", "made-up")],
        vec![("decision", "allow"), ("continue_query", more.as_str()), ("form_token", token.as_str())],
    ] {
        let answer = browser.post("/consent", &fields).await;
        assert_eq!(answer.status, 200, "the question is shown again: {}", answer.header("location"));
    }
    let request = server
        .request("POST", "/consent")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "cross-site")
        .header("origin", "https://evil.example")
        .body(Full::from(
            form_urlencoded::Serializer::new(String::new())
                .extend_pairs([
                    ("decision", "allow"),
                    ("continue_query", asked.as_str()),
                    ("form_token", token.as_str()),
                ])
                .finish(),
        ))
        .unwrap();
    assert_eq!(browser.send(request).await.status, 200);
    came_back(&browser.decide(&consent, "allow").await);
    server.stop().await;
}

/// RFC 9700 §4.2, §4.12, §4.16; RFC 6749 §4.1.2.1: what pages and redirects say to a browser.
#[tokio::test]
async fn pages_and_redirects_are_closed_to_others() {
    let directory = tempfile::tempdir().unwrap();
    let server = server(directory.path()).await;
    let mut browser = Browser::new(&server);
    let page = browser.get(&format!("/authorize?{}", query(""))).await;
    assert!(page.header("content-security-policy").contains("frame-ancestors 'none'"));
    assert_eq!(page.header("x-frame-options"), "DENY");
    assert_eq!(page.header("referrer-policy"), "no-referrer");
    assert_eq!(page.header("cache-control"), "no-store");
    let wrong = browser.get("/authorize?client_id=%3Cscript%3E&response_type=code").await;
    assert_eq!(wrong.status, 400);
    assert!(wrong.header("content-type").starts_with("text/html"));
    assert!(!text(&wrong).contains("script"), "nothing of the request stands in the page");
    let told = browser.get(&format!("/authorize?{}", query("&scope=admin"))).await;
    assert_eq!(value(&came_back(&told), "error").as_deref(), Some("invalid_scope"));
    assert_eq!(told.header("referrer-policy"), "no-referrer");
    // A form that another site posts comes without our cookies; it is asked again by GET.
    let fields: Vec<(String, String)> = form_urlencoded::parse(query("").as_bytes()).into_owned().collect();
    let fields: Vec<(&str, &str)> = fields.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let posted = browser.post("/authorize", &fields).await;
    assert_eq!(posted.status, 303);
    let path = posted.header("location").strip_prefix(&server.issuer).unwrap().to_owned();
    assert_eq!(browser.get(&path).await.status, 200);
    server.stop().await;
}

/// OpenID Connect Core §5.3, RFC 6750 §3.1: what does not open the userinfo endpoint, and how it says so.
#[tokio::test]
async fn userinfo_is_for_tokens_with_openid() {
    let directory = tempfile::tempdir().unwrap();
    let server = server(directory.path()).await;
    let own = server.token().await;
    for (authorization, status, error) in [
        (format!("Bearer {own}"), 403, "insufficient_scope"),
        ("Bearer made-up".to_owned(), 401, "invalid_token"),
        (format!("DPoP {own}"), 403, "insufficient_scope"),
        ("Basic abc".to_owned(), 400, "invalid_request"),
    ] {
        let answer = userinfo(&server, &authorization).await;
        assert_eq!(answer.refusal(), (status, error.to_owned()), "{authorization}");
        if status != 400 {
            let challenge = answer.header("www-authenticate");
            assert!(challenge.starts_with("Bearer ") && challenge.contains(error), "{challenge}");
        }
    }
    let none = server.get("/userinfo").await;
    assert_eq!(none.refusal(), (401, "invalid_token".into()));
    server.stop().await;
}

pub fn payload(token: &str) -> Value {
    use base64::Engine as _;
    let payload = token.split('.').nth(1).unwrap();
    let payload = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(payload).unwrap();
    serde_json::from_slice(&payload).unwrap()
}
