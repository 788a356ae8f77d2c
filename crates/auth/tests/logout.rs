//! Signing out at a client's word, over TLS: OpenID Connect RP-Initiated Logout 1.0. The names `lNN` are the modules of the
//! OpenID Foundation's plan `oidcc-rp-initiated-logout-certification-test-plan`, see `docs/conformance-logout.md`.

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http_body_util::Full;
use sealstone_auth::{
    Clock, CodeFlow, Consent, Grant, Logout, NewAuthentication, NewClient, NewUser, Password, RedirectUri,
    World,
};
use sealstone_jose::jwt::{self, Claims};
use sealstone_jose::{Algorithm, PrivateKey};
use serde_json::{Value, json};

use crate::code::verifier;
use crate::device::payload;
use crate::support::{Answer, ManualClock, Running, config, names};
use crate::whole_flow::{Browser, PASSWORD, field, text};

const AFTER: &str = "https://shop.example/signed-out";
/// RFC 7636, Appendix B.
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
/// As the suite sends it: ninety characters, thirty of them punctuation.
const STATE: &str =
    "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWX!\"#$%&'()*,-./:<=>?@[\\]^_`{|}~&=";

/// A client that nobody is asked about.
pub fn client(id: &str) -> NewClient {
    let uri = |path: &str| RedirectUri::parse(&format!("https://{id}.example/{path}")).unwrap();
    NewClient {
        algorithm: Algorithm::Es256,
        authentication: NewAuthentication::None,
        code_flow: CodeFlow {
            consent: Consent::Implied,
            redirect_uris: vec![uri("callback")],
            ..CodeFlow::default()
        },
        grants: [Grant::AuthorizationCode, Grant::RefreshToken].into(),
        id: Some(id.into()),
        logout: Logout { post_logout_redirect_uris: vec![uri("signed-out")], ..Logout::default() },
        name: format!("The {id}"),
        scopes: names(&["openid", "offline_access"]),
        ..NewClient::default()
    }
}

/// A server that knows Ada and two clients.
async fn server(directory: &Path) -> (Running, Arc<ManualClock>) {
    let clock = ManualClock::new();
    let world = World { clock: clock.clone(), ..World::default() };
    let server = Running::start_in(config(directory), world).await;
    server.know("ada").await;
    for id in ["shop", "cafe"] {
        server.enrol(client(id)).await;
    }
    (server, clock)
}

impl Running {
    pub async fn know(&self, username: &str) {
        let password = Some(Password::new(PASSWORD).unwrap());
        let person = NewUser { password, username: username.into(), ..NewUser::default() };
        self.admin.add_user(person).await.unwrap();
    }

    /// The token endpoint, as a public client asks it.
    pub async fn token_as(&self, client: &str, form: &str) -> Answer {
        let request = self
            .request("POST", "/token")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Full::from(format!("{form}&client_id={client}")))
            .unwrap();
        self.send(request).await
    }
}

/// A request of a client for a person in this browser.
pub fn authorize(client: &str, more: &str) -> String {
    format!(
        "/authorize?client_id={client}&response_type=code&redirect_uri=https%3A%2F%2F{client}.example%2Fcallback\
         &code_challenge={CHALLENGE}&code_challenge_method=S256&state=s{more}"
    )
}

pub fn parameter(answer: &Answer, name: &str) -> Option<String> {
    let (_, query) = answer.header("location").split_once('?')?;
    form_urlencoded::parse(query.as_bytes())
        .find(|(known, _)| known == name)
        .map(|(_, value)| value.into_owned())
}

/// Signs Ada in for a client, where she is not signed in yet, and brings the client's tokens.
pub async fn enter(browser: &mut Browser<'_>, server: &Running, client: &str, scope: &str) -> Value {
    let mut answer = browser.get(&authorize(client, &format!("&scope={scope}"))).await;
    if answer.status == 200 {
        answer = browser.sign_in(&answer).await;
    }
    let code = parameter(&answer, "code").expect("a code");
    let form = format!("grant_type=authorization_code&code={code}{}", verifier());
    let tokens = server.token_as(client, &form).await;
    assert_eq!(tokens.status, 200, "{}", text(&tokens));
    tokens.json()
}

/// Ada at the shop, and the shop's ID token.
async fn at_the_shop<'a>(server: &'a Running) -> (Browser<'a>, String) {
    let mut browser = Browser::new(server);
    let tokens = enter(&mut browser, server, "shop", "openid").await;
    (browser, tokens["id_token"].as_str().unwrap().to_owned())
}

pub fn end_session(fields: &[(&str, &str)]) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    format!("/end_session?{query}")
}

/// What the suite does after a redirect: the person must be signed out.
pub async fn is_signed_in(browser: &mut Browser<'_>) -> bool {
    let silent = browser.get(&authorize("shop", "&scope=openid&prompt=none")).await;
    match parameter(&silent, "error").as_deref() {
        None => true,
        Some(error) => {
            assert_eq!(error, "login_required");
            false
        }
    }
}

/// A page that asks, and that leads nowhere once the person has agreed.
async fn asks_and_stays(browser: &mut Browser<'_>, answer: Answer) {
    assert_eq!((answer.status.as_u16(), answer.header("location")), (200, ""), "{}", text(&answer));
    assert!(text(&answer).contains("<h1>Sign out?</h1>"), "{}", text(&answer));
    assert!(is_signed_in(browser).await, "asked, and not signed out");
    let done = agree(browser, &answer).await;
    assert_eq!((done.status.as_u16(), done.header("location")), (200, ""));
    assert!(text(&done).contains("<h1>Signed out</h1>"));
    assert!(!is_signed_in(browser).await);
}

async fn agree(browser: &mut Browser<'_>, page: &Answer) -> Answer {
    let (query, token) = (field(page, "continue_query"), field(page, "form_token"));
    browser.post("/end_session", &[("continue_query", &query), ("form_token", &token)]).await
}

/// An error page: nobody is sent anywhere, and nothing has changed.
async fn refuses(browser: &mut Browser<'_>, answer: Answer) {
    assert_eq!((answer.status.as_u16(), answer.header("location")), (400, ""), "{}", text(&answer));
    assert!(text(&answer).contains("<h1>You were not signed out</h1>"), "{}", text(&answer));
    assert!(is_signed_in(browser).await);
}

#[tokio::test]
async fn l01_oidcc_rp_initiated_logout_discovery_endpoint_verification() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = server(directory.path()).await;
    let metadata = server.get("/.well-known/openid-configuration").await.json();
    assert_eq!(metadata["end_session_endpoint"], format!("{}/end_session", server.issuer));
    for (name, value) in metadata.as_object().unwrap().iter().filter(|(name, _)| name.ends_with("_endpoint"))
    {
        assert!(value.as_str().unwrap().starts_with("https://"), "{name}");
    }
    server.stop().await;
}

#[tokio::test]
async fn l02_oidcc_rp_initiated_logout() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = server(directory.path()).await;
    let (mut browser, hint) = at_the_shop(&server).await;
    let mut thief = browser.clone();
    let fields = [("id_token_hint", hint.as_str()), ("post_logout_redirect_uri", AFTER), ("state", STATE)];
    let answer = browser.get(&end_session(&fields)).await;
    assert_eq!(answer.status, 303);
    let (uri, query) = answer.header("location").split_once('?').unwrap();
    let sent: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    assert_eq!((uri, sent), (AFTER, vec![("state".to_owned(), STATE.to_owned())]));
    assert_eq!(answer.header("referrer-policy"), "no-referrer");
    assert!(!is_signed_in(&mut browser).await);
    assert!(!is_signed_in(&mut thief).await, "the session itself has ended, not only the cookie");
    server.stop().await;
}

#[tokio::test]
async fn l03_oidcc_rp_initiated_logout_bad_post_logout_redirect_uri() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = server(directory.path()).await;
    let (mut browser, hint) = at_the_shop(&server).await;
    for uri in
        ["https://shop.example/other", "https://cafe.example/signed-out", "https://shop.example/callback"]
    {
        let fields = [("id_token_hint", hint.as_str()), ("post_logout_redirect_uri", uri), ("state", "s")];
        let answer = browser.get(&end_session(&fields)).await;
        refuses(&mut browser, answer).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn l04_oidcc_rp_initiated_logout_modified_id_token_hint() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = server(directory.path()).await;
    let (mut browser, hint) = at_the_shop(&server).await;
    let claims = hint.split('.').nth(1).unwrap();
    let unsigned = format!("{}.{claims}.", URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"JWT"}"#));
    let fields = [("id_token_hint", unsigned.as_str()), ("post_logout_redirect_uri", AFTER), ("state", "s")];
    let answer = browser.get(&end_session(&fields)).await;
    asks_and_stays(&mut browser, answer).await;
    server.stop().await;
}

#[tokio::test]
async fn l05_oidcc_rp_initiated_logout_no_id_token_hint() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = server(directory.path()).await;
    let (mut browser, _) = at_the_shop(&server).await;
    let answer = browser.get(&end_session(&[("post_logout_redirect_uri", AFTER), ("state", "s")])).await;
    asks_and_stays(&mut browser, answer).await;
    server.stop().await;
}

#[tokio::test]
async fn l06_oidcc_rp_initiated_logout_no_params() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = server(directory.path()).await;
    let (mut browser, _) = at_the_shop(&server).await;
    let answer = browser.get("/end_session").await;
    // No request, so there is none to go on with.
    assert!(text(&answer).contains("<h1>Sign out?</h1>"));
    let token = field(&answer, "form_token");
    let done = browser.post("/end_session", &[("form_token", &token)]).await;
    assert!(text(&done).contains("<h1>Signed out</h1>"), "{}", text(&done));
    assert!(!is_signed_in(&mut browser).await);
    server.stop().await;
}

#[tokio::test]
async fn l07_oidcc_rp_initiated_logout_no_post_logout_redirect_uri() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = server(directory.path()).await;
    let (mut browser, hint) = at_the_shop(&server).await;
    let answer = browser.get(&end_session(&[("id_token_hint", &hint), ("state", "s")])).await;
    assert_eq!((answer.status.as_u16(), answer.header("location")), (200, ""));
    assert!(text(&answer).contains("<h1>Signed out</h1>"));
    assert!(!is_signed_in(&mut browser).await);
    server.stop().await;
}

#[tokio::test]
async fn l08_oidcc_rp_initiated_logout_no_state() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = server(directory.path()).await;
    let (mut browser, hint) = at_the_shop(&server).await;
    let fields = [("id_token_hint", hint.as_str()), ("post_logout_redirect_uri", AFTER)];
    let answer = browser.get(&end_session(&fields)).await;
    assert_eq!((answer.status.as_u16(), answer.header("location")), (303, AFTER));
    assert!(!is_signed_in(&mut browser).await);
    server.stop().await;
}

#[tokio::test]
async fn l09_oidcc_rp_initiated_logout_only_state() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = server(directory.path()).await;
    let (mut browser, _) = at_the_shop(&server).await;
    let answer = browser.get(&end_session(&[("state", STATE)])).await;
    asks_and_stays(&mut browser, answer).await;
    server.stop().await;
}

#[tokio::test]
async fn l10_oidcc_rp_initiated_logout_query_added_to_post_logout_redirect_uri() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = server(directory.path()).await;
    let (mut browser, hint) = at_the_shop(&server).await;
    let added = format!("{AFTER}?foo=bar");
    let fields = [("id_token_hint", hint.as_str()), ("post_logout_redirect_uri", added.as_str())];
    let answer = browser.get(&end_session(&fields)).await;
    refuses(&mut browser, answer).await;
    server.stop().await;
}

#[tokio::test]
async fn l11_oidcc_rp_initiated_logout_bad_id_token_hint() {
    let directory = tempfile::tempdir().unwrap();
    let (server, clock) = server(directory.path()).await;
    let (mut browser, hint) = at_the_shop(&server).await;
    let (key, now) = (PrivateKey::generate(Algorithm::Es256).unwrap(), clock.now().0);
    let sid = payload(&hint)["sid"].clone();
    for (iss, aud) in [("shop", server.issuer.as_str()), (server.issuer.as_str(), "shop")] {
        let claims =
            Claims::new().with("iss", iss).with("aud", aud).with("sub", "ada").with("sid", sid.clone());
        let foreign = jwt::sign(&key, "JWT", &claims.with("iat", now).with("exp", now + 60)).unwrap();
        let (mut browser, _) = at_the_shop(&server).await;
        let fields = [("id_token_hint", foreign.as_str()), ("post_logout_redirect_uri", AFTER)];
        let answer = browser.get(&end_session(&fields)).await;
        asks_and_stays(&mut browser, answer).await;
    }
    // With a client named besides, it is still suspect: the person is not sent on.
    let forged = format!("{hint}AA");
    let fields =
        [("id_token_hint", forged.as_str()), ("client_id", "shop"), ("post_logout_redirect_uri", AFTER)];
    let answer = browser.get(&end_session(&fields)).await;
    asks_and_stays(&mut browser, answer).await;
    server.stop().await;
}

/// §2: an ID token may have expired.
#[tokio::test]
async fn rp_initiated_logout_s2_an_expired_id_token_is_a_hint() {
    let directory = tempfile::tempdir().unwrap();
    let (server, clock) = server(directory.path()).await;
    let (mut browser, hint) = at_the_shop(&server).await;
    clock.advance(3_000);
    let fields = [("id_token_hint", hint.as_str()), ("post_logout_redirect_uri", AFTER)];
    assert_eq!(browser.get(&end_session(&fields)).await.header("location"), AFTER);
    assert!(!is_signed_in(&mut browser).await);
    // And once more, where nobody is signed in any more: the hint shows who asks.
    assert_eq!(browser.get(&end_session(&fields)).await.header("location"), AFTER);
    server.stop().await;
}

/// §2: of another session, another person or another client, or no ID token at all: the person is asked.
#[tokio::test]
async fn rp_initiated_logout_s2_only_the_id_token_of_this_session() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = server(directory.path()).await;
    let (mut browser, _) = at_the_shop(&server).await;
    let (_, of_another_session) = at_the_shop(&server).await;
    let mut bea = Browser::new(&server);
    server.know("bea").await;
    let login = bea.get(&authorize("shop", "&scope=openid")).await;
    let (token, query) = (field(&login, "form_token"), field(&login, "continue_query"));
    let fields =
        [("username", "bea"), ("password", PASSWORD), ("form_token", &token), ("continue_query", &query)];
    assert_eq!(bea.post("/login", &fields).await.status, 303);
    let beas = enter(&mut bea, &server, "shop", "openid").await["id_token"].as_str().unwrap().to_owned();
    let access =
        enter(&mut browser, &server, "shop", "openid").await["access_token"].as_str().unwrap().to_owned();
    for hint in [of_another_session.as_str(), &beas, &access] {
        let answer = browser.get(&end_session(&[("id_token_hint", hint)])).await;
        assert!(text(&answer).contains("<h1>Sign out?</h1>"), "{}", text(&answer));
        assert!(is_signed_in(&mut browser).await);
    }
    let fields = [("id_token_hint", of_another_session.as_str()), ("client_id", "cafe")];
    let answer = browser.get(&end_session(&fields)).await;
    refuses(&mut browser, answer).await;
    let answer = browser.get(&end_session(&[("client_id", "nobody")])).await;
    refuses(&mut browser, answer).await;
    server.stop().await;
}

/// §2 and §3: a client that only says who it is; the person's word stands in for the ID token.
#[tokio::test]
async fn rp_initiated_logout_s3_client_id_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = server(directory.path()).await;
    let (mut browser, _) = at_the_shop(&server).await;
    let path = end_session(&[("client_id", "shop"), ("post_logout_redirect_uri", AFTER), ("state", "a b&c")]);
    let page = browser.get(&path).await;
    assert!(text(&page).contains("<bdi class=\"who\">The shop</bdi> asks"), "{}", text(&page));
    let done = agree(&mut browser, &page).await;
    assert_eq!(
        (done.status.as_u16(), done.header("location")),
        (303, "https://shop.example/signed-out?state=a+b%26c")
    );
    assert!(!is_signed_in(&mut browser).await);
    // Nobody is signed in, nobody is asked, and nobody is sent on.
    let answer = browser.get(&path).await;
    assert_eq!((answer.status.as_u16(), answer.header("location")), (200, ""));
    server.stop().await;
}

/// A browser sends no cookie with another site's form: the request comes once more by GET.
#[tokio::test]
async fn rp_initiated_logout_s2_by_post() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = server(directory.path()).await;
    let (mut browser, hint) = at_the_shop(&server).await;
    let mut without = Browser::new(&server);
    let fields = [("id_token_hint", hint.as_str()), ("post_logout_redirect_uri", AFTER), ("state", "s")];
    let answer = without.post("/end_session", &fields).await;
    assert_eq!(answer.status, 303);
    let path = answer.header("location").strip_prefix(&server.issuer).unwrap().to_owned();
    assert_eq!(path, end_session(&fields));
    assert_eq!(browser.get(&path).await.header("location"), format!("{AFTER}?state=s"));
    server.stop().await;
}

/// No other site signs anybody out with a form of its own, and a form's token is for its own request.
#[tokio::test]
async fn rp_initiated_logout_s6_a_form_of_others() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = server(directory.path()).await;
    let (mut browser, _) = at_the_shop(&server).await;
    let page = browser.get(&end_session(&[("state", "s")])).await;
    let token = field(&page, "form_token");
    for (query, token) in [("", "made-up"), ("client_id=shop", &token), ("", &token)] {
        let answer = browser.post("/end_session", &[("continue_query", query), ("form_token", token)]).await;
        assert!(text(&answer).contains("<h1>Sign out?</h1>"), "{}", text(&answer));
        assert!(is_signed_in(&mut browser).await);
    }
    server.stop().await;
}

/// Back-Channel Logout §2.1: a client learns a name for the session that no other client learns.
#[tokio::test]
async fn each_client_has_its_own_sid() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = server(directory.path()).await;
    let (mut browser, shop) = at_the_shop(&server).await;
    let cafe = enter(&mut browser, &server, "cafe", "openid").await;
    let again = enter(&mut browser, &server, "shop", "openid").await;
    let sid = |token: &str| payload(token)["sid"].as_str().unwrap().to_owned();
    assert_eq!(sid(&shop), sid(again["id_token"].as_str().unwrap()));
    assert_ne!(sid(&shop), sid(cafe["id_token"].as_str().unwrap()));
    assert_eq!(json!(sid(&shop).len()), 22);
    server.stop().await;
}
