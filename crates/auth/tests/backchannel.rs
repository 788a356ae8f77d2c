//! OpenID Connect Back-Channel Logout 1.0, with a real server over TLS and a real receiver of logout tokens. The names `kNN`
//! are the modules of the OpenID Foundation's plan `oidcc-backchannel-rp-initiated-logout-certification-test-plan`.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::ServerConfig;
use sealstone_auth::protocol::backchannel_logout::{EVENT, RETRY_AFTER_SECONDS};
use sealstone_auth::store::{Kind, Sqlite, Version};
use sealstone_auth::{Clock, HttpsUri, Logout, NewClient, NewSubject, Password, Store, World};
use sealstone_jose::JwkSet;
use sealstone_jose::jws::Unverified;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::authority::Authority;
use crate::code::verifier;
use crate::device::payload;
use crate::logout::{authorize, client, end_session, enter, is_signed_in, parameter};
use crate::publisher::{Told, server_identity};
use crate::support::{ManualClock, Running, config};
use crate::whole_flow::{Browser, PASSWORD, field, text};

/// A client's server: takes what is posted, and answers as it is told.
struct Receiver {
    address: SocketAddr,
    ca_pem: String,
    answer: Arc<Mutex<&'static str>>,
    posts: Arc<Mutex<Vec<Post>>>,
}

#[derive(Clone, Debug)]
struct Post {
    head: String,
    body: String,
}

impl Post {
    /// The one field that there may be.
    fn token(&self) -> String {
        self.body.strip_prefix("logout_token=").unwrap().to_owned()
    }

    /// To whom it came, by the path.
    fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }
}

const TAKEN: &str = "200 OK\r\ncache-control: no-store";
const BROKEN: &str = "500 Internal Server Error";

impl Receiver {
    async fn start() -> Self {
        let authority = Authority::new("receiver's root");
        let identity = server_identity(&authority, &["shop.example", "cafe.example", "pub.example"]);
        let key = identity.private_key();
        let tls =
            ServerConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
                .with_protocol_versions(&[&rustls::version::TLS13])
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(identity.chain, key)
                .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let receiver = Self {
            address: listener.local_addr().unwrap(),
            ca_pem: authority.certificate.pem(),
            answer: Arc::new(Mutex::new(TAKEN)),
            posts: Arc::default(),
        };
        let (answer, posts) = (receiver.answer.clone(), receiver.posts.clone());
        tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { return };
                let (acceptor, answer, posts) = (acceptor.clone(), answer.clone(), posts.clone());
                tokio::spawn(async move {
                    let Ok(mut stream) = acceptor.accept(stream).await else { return };
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        head.push(stream.read_u8().await.unwrap());
                    }
                    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
                    let length = head.split("content-length: ").nth(1).unwrap();
                    let mut body = vec![0; length.split("\r\n").next().unwrap().parse().unwrap()];
                    stream.read_exact(&mut body).await.unwrap();
                    posts.lock().unwrap().push(Post { head, body: String::from_utf8(body).unwrap() });
                    let said = *answer.lock().unwrap();
                    let said = format!("HTTP/1.1 {said}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                    let _ = stream.write_all(said.as_bytes()).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        receiver
    }

    fn says(&self, answer: &'static str) {
        *self.answer.lock().unwrap() = answer;
    }

    fn posts(&self) -> Vec<Post> {
        self.posts.lock().unwrap().clone()
    }

    /// Waits until so many have come.
    async fn after(&self, count: usize) -> Vec<Post> {
        until(async || self.posts().len() >= count).await;
        self.posts()
    }

    /// A client that is told here.
    fn client(&self, id: &str) -> NewClient {
        let uri = format!("https://{id}.example:{}/{id}", self.address.port());
        let logout = Logout {
            backchannel_logout_session_required: true,
            backchannel_logout_uri: Some(HttpsUri::parse(&uri).unwrap()),
            ..client(id).logout
        };
        NewClient { logout, ..client(id) }
    }
}

async fn until(mut done: impl AsyncFnMut() -> bool) {
    let looking = async {
        while !done().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), looking).await.unwrap();
}

/// A clock, a store and a receiver that outlive a server.
struct Place {
    clock: Arc<ManualClock>,
    directory: tempfile::TempDir,
    private: bool,
    receiver: Receiver,
    store: Arc<dyn Store>,
}

impl Place {
    async fn build() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Arc::new(Sqlite::open(&directory.path().join("store.sqlite")).unwrap());
        let receiver = Receiver::start().await;
        std::fs::write(directory.path().join("ca.pem"), &receiver.ca_pem).unwrap();
        Self { clock: ManualClock::new(), directory, private: true, receiver, store }
    }

    async fn start(&self) -> Running {
        let mut config = config(self.directory.path());
        config.outbound.ca = Some(self.directory.path().join("ca.pem"));
        config.outbound.allow_private_addresses = self.private;
        let told = Told { addresses: vec![self.receiver.address], asked: Arc::default() };
        let (clock, store) = (self.clock.clone(), Some(self.store.clone()));
        Running::start_in(config, World { clock, resolver: Arc::new(told), store, ..World::default() }).await
    }

    /// With Ada, and the shop and the café, who want to be told.
    async fn open(&self) -> Running {
        let server = self.start().await;
        server.know("ada").await;
        for id in ["shop", "cafe"] {
            server.enrol(self.receiver.client(id)).await;
        }
        server
    }

    /// How many tokens wait.
    async fn waiting(&self) -> usize {
        let now = Clock::now(&*self.clock);
        self.store.list(Kind::LogoutToken, Version::ZERO, now).await.unwrap().len()
    }
}

/// Signs out on the server's own page.
async fn sign_out(browser: &mut Browser<'_>) {
    let page = browser.get("/logout").await;
    let done = browser.post("/logout", &[("form_token", &field(&page, "form_token"))]).await;
    assert!(text(&done).contains("<h1>Signed out</h1>"), "{}", text(&done));
}

fn id_token(tokens: &Value) -> String {
    tokens["id_token"].as_str().unwrap().to_owned()
}

/// Introspection by a client that may see the token.
async fn is_active(server: &Running, token: &Value) -> bool {
    let claims = payload(token.as_str().unwrap());
    assert_eq!(claims["client_id"], "shop");
    let answer = server.userinfo(token.as_str().unwrap()).await;
    answer == 200
}

impl Running {
    async fn userinfo(&self, token: &str) -> u16 {
        let request = self.request("GET", "/userinfo").header("authorization", format!("Bearer {token}"));
        self.send(request.body(http_body_util::Full::default()).unwrap()).await.status.as_u16()
    }
}

#[tokio::test]
async fn k01_oidcc_backchannel_logout_discovery_endpoint_verification() {
    let place = Place::build().await;
    let server = place.start().await;
    let metadata = server.get("/.well-known/openid-configuration").await.json();
    assert_eq!(metadata["backchannel_logout_supported"], true);
    assert_eq!(metadata["backchannel_logout_session_supported"], true);
    assert!(metadata["end_session_endpoint"].as_str().unwrap().starts_with("https://"));
    server.stop().await;
}

#[tokio::test]
async fn k02_oidcc_backchannel_rp_initiated_logout() {
    let place = Place::build().await;
    let server = place.open().await;
    let mut browser = Browser::new(&server);
    let hint = id_token(&enter(&mut browser, &server, "shop", "openid").await);
    let fields =
        [("id_token_hint", hint.as_str()), ("post_logout_redirect_uri", "https://shop.example/signed-out")];
    let back = browser.get(&end_session(&fields)).await;
    assert_eq!(back.header("location"), "https://shop.example/signed-out");
    let posts = place.receiver.after(1).await;
    let [post] = posts.as_slice() else { panic!("{posts:?}") };
    assert!(post.head.starts_with("post /shop http/1.1\r\n"), "{}", post.head);
    assert!(post.head.contains("\r\ncontent-type: application/x-www-form-urlencoded\r\n"));
    assert!(post.head.contains(&format!("\r\nhost: shop.example:{}\r\n", place.receiver.address.port())));

    let token = post.token();
    let keys = JwkSet::parse(&server.get("/jwks").await.body).unwrap();
    let verified = Unverified::parse(&token).unwrap().verify_with_set(&keys).unwrap();
    assert_eq!(
        (verified.header().typ(), verified.header().algorithm().name()),
        (Some("logout+jwt"), "ES256")
    );
    let (said, known) = (payload(&token), payload(&hint));
    let members: Vec<&str> = said.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, ["aud", "events", "exp", "iat", "iss", "jti", "sid", "sub"], "§2.4: and no nonce");
    for name in ["aud", "iss", "sid", "sub"] {
        assert_eq!(said[name], known[name], "{name}");
    }
    assert_eq!(said["events"], json!({"http://schemas.openid.net/event/backchannel-logout": {}}));
    assert_eq!(EVENT, "http://schemas.openid.net/event/backchannel-logout");
    let (iat, exp) = (said["iat"].as_u64().unwrap(), said["exp"].as_u64().unwrap());
    assert!(iat == Clock::now(&*place.clock).0 && exp > iat && exp - iat <= 120);
    assert!(said["jti"].as_str().unwrap().len() >= 22);

    until(async || place.waiting().await == 0).await;
    assert!(!is_signed_in(&mut browser).await);
    // §4: it cannot be taken for another token.
    assert_eq!(server.userinfo(&token).await, 401);
    let mut again = Browser::new(&server);
    enter(&mut again, &server, "shop", "openid").await;
    let answer = again.get(&end_session(&[("id_token_hint", &token)])).await;
    assert!(text(&answer).contains("<h1>Sign out?</h1>"), "a logout token is no ID token");
    server.stop().await;
}

/// §2.5: every client that got tokens, each under the name that it knows; no other one.
#[tokio::test]
async fn backchannel_s2_5_all_clients_of_the_session_and_no_other() {
    let place = Place::build().await;
    let server = place.open().await;
    server.enrol(place.receiver.client("pub")).await;
    server.enrol(client("mute")).await;
    let (mut browser, mut other) = (Browser::new(&server), Browser::new(&server));
    let mut known = Vec::new();
    for id in ["shop", "cafe", "mute", "shop"] {
        known.push(payload(&id_token(&enter(&mut browser, &server, id, "openid").await)));
    }
    enter(&mut other, &server, "pub", "openid").await;
    sign_out(&mut browser).await;
    let posts = place.receiver.after(2).await;
    until(async || place.waiting().await == 0).await;
    let mut told: Vec<(String, Value)> =
        posts.iter().map(|post| (post.path().to_owned(), payload(&post.token())["sid"].clone())).collect();
    told.sort_by(|a, b| a.0.cmp(&b.0));
    let expected = vec![("/cafe".into(), known[1]["sid"].clone()), ("/shop".into(), known[0]["sid"].clone())];
    assert_eq!(told, expected);
    assert_ne!(known[0]["sid"], known[1]["sid"]);
    assert!(is_signed_in(&mut other).await, "another session of the same person");
    sign_out(&mut other).await;
    let posts = place.receiver.after(3).await;
    assert_eq!((posts[2].path(), posts.len()), ("/pub", 3));
    server.stop().await;
}

/// §2.4: the subject is the one that the client knows, OpenID Connect Core §8.1.
#[tokio::test]
async fn backchannel_s2_4_a_pairwise_subject() {
    let place = Place::build().await;
    let server = place.open().await;
    let subject = NewSubject::Pairwise { sector_identifier_uri: None };
    server.enrol(NewClient { subject, ..place.receiver.client("pub") }).await;
    let mut browser = Browser::new(&server);
    let known = payload(&id_token(&enter(&mut browser, &server, "pub", "openid").await));
    sign_out(&mut browser).await;
    let said = payload(&place.receiver.after(1).await[0].token());
    assert_eq!((&said["sub"], &said["sid"]), (&known["sub"], &known["sid"]));
    assert_eq!(said["sub"].as_str().unwrap().len(), 43);
    server.stop().await;
}

/// What waits in the store is sent by whichever server comes next.
#[tokio::test]
async fn backchannel_s2_8_a_restart_loses_nothing() {
    let place = Place::build().await;
    let server = place.open().await;
    place.receiver.says(BROKEN);
    let mut browser = Browser::new(&server);
    enter(&mut browser, &server, "shop", "openid").await;
    sign_out(&mut browser).await;
    let first = place.receiver.after(1).await[0].clone();
    server.stop().await;
    assert_eq!(place.waiting().await, 1);

    place.receiver.says("204 No Content");
    let server = place.start().await;
    place.clock.advance(RETRY_AFTER_SECONDS[0] - 1);
    server.get("/health/ready").await;
    assert_eq!(place.receiver.posts().len(), 1, "its turn comes 10 seconds later");
    place.clock.advance(1);
    let posts = place.receiver.after(2).await;
    until(async || place.waiting().await == 0).await;
    assert_ne!(payload(&posts[1].token())["jti"], payload(&first.token())["jti"]);
    assert_eq!(payload(&posts[1].token())["iat"], Clock::now(&*place.clock).0);
    server.stop().await;
}

/// §2.8: a few times, with longer and longer waits, and then never again. A redirect is no answer.
#[tokio::test]
async fn backchannel_s2_8_attempts_are_bounded() {
    let place = Place::build().await;
    let server = place.open().await;
    place.receiver.says("302 Found\r\nlocation: https://shop.example/elsewhere");
    let mut browser = Browser::new(&server);
    enter(&mut browser, &server, "shop", "openid").await;
    sign_out(&mut browser).await;
    for (attempt, seconds) in RETRY_AFTER_SECONDS.into_iter().enumerate() {
        assert_eq!(place.receiver.after(attempt + 1).await.len(), attempt + 1);
        assert_eq!(place.waiting().await, 1);
        place.clock.advance(seconds);
    }
    let posts = place.receiver.after(5).await;
    until(async || place.waiting().await == 0).await;
    assert!(posts.iter().all(|post| post.path() == "/shop") && posts.len() == 5);
    server.stop().await;
}

/// A name that leads into the private network is not followed there: nobody learns of it, and the attempts end.
#[tokio::test]
async fn backchannel_s2_5_no_private_address() {
    let mut place = Place::build().await;
    place.private = false;
    let server = place.open().await;
    let mut browser = Browser::new(&server);
    enter(&mut browser, &server, "shop", "openid").await;
    sign_out(&mut browser).await;
    let is_due = async || {
        let now = Clock::now(&*place.clock);
        let records = place.store.list(Kind::LogoutToken, Version::ZERO, now).await.unwrap();
        records.iter().any(|record| serde_json::from_slice::<Value>(&record.body).unwrap()["due_at"] == now.0)
    };
    for seconds in RETRY_AFTER_SECONDS {
        until(async || !is_due().await).await;
        place.clock.advance(seconds);
    }
    until(async || place.waiting().await == 0).await;
    assert_eq!(place.receiver.posts().len(), 0);
    server.stop().await;
}

/// Two servers on one store: one of them sends.
#[tokio::test]
async fn backchannel_s2_5_of_two_servers_one_sends() {
    let place = Place::build().await;
    let (server, beside) = (place.open().await, place.start().await);
    for round in 1..=10 {
        let mut browser = Browser::new(&server);
        enter(&mut browser, &server, "shop", "openid").await;
        sign_out(&mut browser).await;
        until(async || place.waiting().await == 0).await;
        assert_eq!(place.receiver.posts().len(), round);
    }
    server.stop().await;
    beside.stop().await;
}

/// §2.7: what was granted without `offline_access` ends with the session, what was granted with it goes on.
#[tokio::test]
async fn backchannel_s2_7_tokens_without_offline_access_end() {
    let place = Place::build().await;
    let server = place.open().await;
    let mut browser = Browser::new(&server);
    let ending = enter(&mut browser, &server, "shop", "openid").await;
    let staying = enter(&mut browser, &server, "shop", "openid+offline_access").await;
    let (ending, staying_access) = (&ending["access_token"], &staying["access_token"]);
    assert!(is_active(&server, ending).await && is_active(&server, staying_access).await);
    sign_out(&mut browser).await;
    assert!(!is_active(&server, ending).await);
    assert!(is_active(&server, staying_access).await);
    let refresh = staying["refresh_token"].as_str().unwrap();
    let form = format!("grant_type=refresh_token&refresh_token={refresh}");
    let refreshed = server.token_as("shop", &form).await;
    assert_eq!(refreshed.status, 200, "{}", text(&refreshed));
    // The session before was not this one.
    let fresh = enter(&mut browser, &server, "shop", "openid").await;
    assert!(is_active(&server, &fresh["access_token"]).await);
    server.stop().await;
}

/// A code that is redeemed after its session has ended would bring tokens that nobody ends any more.
#[tokio::test]
async fn backchannel_s2_7_no_code_outlives_its_session() {
    let place = Place::build().await;
    let server = place.open().await;
    let mut browser = Browser::new(&server);
    for entered_before in [false, true] {
        let mut answer = browser.get(&authorize("shop", "&scope=openid")).await;
        if answer.status == 200 {
            answer = browser.sign_in(&answer).await;
        }
        let code = parameter(&answer, "code").unwrap();
        if entered_before {
            enter(&mut browser, &server, "shop", "openid").await;
        }
        sign_out(&mut browser).await;
        let form = format!("grant_type=authorization_code&code={code}{}", verifier());
        assert_eq!(server.token_as("shop", &form).await.refusal(), (400, "invalid_grant".into()));
    }
    server.stop().await;
}

/// Each thing that an administrator does to a person's sessions is told to the clients.
#[tokio::test]
async fn backchannel_s2_an_administrator_ends_sessions() {
    let place = Place::build().await;
    let server = place.open().await;
    let admin = &server.admin;
    let password = Password::new(PASSWORD).unwrap();
    for round in 1..=5 {
        let mut browser = Browser::new(&server);
        let tokens = enter(&mut browser, &server, "shop", "openid").await;
        let pending = browser.get(&authorize("shop", "&scope=openid")).await;
        let code = parameter(&pending, "code").unwrap();
        match round {
            1 => drop(admin.sign_out("ada").await.unwrap()),
            2 => drop(admin.set_password("ada", &password).await.unwrap()),
            3 => drop(admin.remove_passkeys("ada").await.unwrap()),
            4 => {
                admin.set_disabled("ada", true).await.unwrap();
                admin.set_disabled("ada", false).await.unwrap();
            }
            _ => admin.remove_user("ada").await.unwrap(),
        }
        let posts = place.receiver.after(round).await;
        assert_eq!(posts.len(), round);
        assert_eq!(payload(&posts[round - 1].token())["sid"], payload(&id_token(&tokens))["sid"], "{round}");
        assert!(!is_signed_in(&mut browser).await);
        until(async || !is_active(&server, &tokens["access_token"]).await).await;
        let form = format!("grant_type=authorization_code&code={code}{}", verifier());
        assert_eq!(server.token_as("shop", &form).await.refusal(), (400, "invalid_grant".into()), "{round}");
    }
    server.stop().await;
}

/// Who signs in once more in the same browser has still the same session at the clients; somebody else has another.
#[tokio::test]
async fn signing_in_again_keeps_the_session_for_its_person_alone() {
    let place = Place::build().await;
    let server = place.open().await;
    server.know("bea").await;
    let mut browser = Browser::new(&server);
    let first = enter(&mut browser, &server, "shop", "openid").await;
    let page = browser.get(&authorize("cafe", "&scope=openid&prompt=login")).await;
    let answer = browser.sign_in(&page).await;
    assert!(parameter(&answer, "code").is_some());
    assert_eq!(place.receiver.posts().len() + place.waiting().await, 0, "nobody was signed out");
    let again = enter(&mut browser, &server, "shop", "openid").await;
    assert_eq!(payload(&id_token(&first))["sid"], payload(&id_token(&again))["sid"]);

    let page = browser.get(&authorize("cafe", "&scope=openid&prompt=login")).await;
    let (token, query) = (field(&page, "form_token"), field(&page, "continue_query"));
    let fields =
        [("username", "bea"), ("password", PASSWORD), ("form_token", &token), ("continue_query", &query)];
    assert_eq!(browser.post("/login", &fields).await.status, 303);
    let posts = place.receiver.after(1).await;
    assert_eq!(payload(&posts[0].token())["sid"], payload(&id_token(&first))["sid"], "Ada is signed out");
    server.stop().await;
}

/// A client whose server is not public is not registered.
#[tokio::test]
async fn backchannel_s2_2_no_private_address_is_registered() {
    let directory = tempfile::tempdir().unwrap();
    let server = Running::start(config(Path::new(directory.path()))).await;
    for uri in ["https://127.0.0.1/logout", "https://[::1]/logout", "https://169.254.169.254/"] {
        let logout =
            Logout { backchannel_logout_uri: Some(HttpsUri::parse(uri).unwrap()), ..Logout::default() };
        let refused = server.admin.add_client(NewClient { logout, ..client("near") }).await;
        assert!(refused.unwrap_err().to_string().contains("backchannel_logout_uri"), "{uri}");
    }
    for uri in ["http://shop.example/", "https://shop.example/#a", "https://a@shop.example/", "shop.example"]
    {
        assert!(HttpsUri::parse(uri).is_err(), "{uri}");
    }
    server.stop().await;
}
