//! The audit log of a real server: what is in it, and what never is.

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::Duration;

use http_body_util::Full;
use sealstone_auth::audit::{ChainFiles, What, directory, public};
use sealstone_auth::{Config, World};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;

use crate::code::{query, verifier};
use crate::support::{Credentials, Guarded, Mood, Running, config};
use crate::whole_flow::{self, Browser, PASSWORD, came_back, field, text, value};

/// The lines of a chain, from its files.
pub fn lines(data: &Path, chain: &str) -> Vec<Value> {
    raw(data, chain).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn raw(data: &Path, chain: &str) -> String {
    let chain = ChainFiles::of(&directory(data).join(chain)).unwrap().unwrap();
    chain.files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect()
}

/// Every chain holds.
pub fn verified(data: &Path) {
    let key = public(&directory(data)).unwrap();
    for chain in ChainFiles::all(&directory(data)).unwrap() {
        let report = chain.verify(&key).unwrap();
        assert!(report.is_good() && report.notes.is_empty(), "{}: {report:?}", chain.name);
        assert_eq!(report.sealed_to, report.last, "everything is signed");
    }
}

fn audited(directory: &Path) -> Config {
    let mut config = config(directory);
    config.audit.introspection = true;
    config
}

#[tokio::test]
async fn a_whole_flow_is_written_down_and_no_secret_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let server = whole_flow::server_with(audited(directory.path())).await;
    let mut browser = Browser::new(&server);
    let mut secrets = vec![PASSWORD.to_owned(), server.who.secret.clone(), "not the password".to_owned()];

    // Signing in: wrong, then right; a consent; a code; tokens; a refresh; a revocation; the way out.
    let page = browser.get(&format!("/authorize?{}", query("&scope=openid+offline_access&nonce=n"))).await;
    let (form_token, continue_query) = (field(&page, "form_token"), field(&page, "continue_query"));
    let wrong = [
        ("username", "ada"),
        ("password", "not the password"),
        ("form_token", &form_token),
        ("continue_query", &continue_query),
    ];
    assert!(text(&browser.post("/login", &wrong).await).contains("not right"));
    let consent = browser.sign_in(&page).await;
    secrets.extend(browser.cookies.iter().map(|(_, value)| value.clone()));
    secrets.extend([form_token, field(&consent, "form_token")]);
    let code = value(&came_back(&browser.decide(&consent, "allow").await), "code").unwrap();
    let form = format!("grant_type=authorization_code&code={code}{}", verifier());
    let tokens = whole_flow::token(&server, &form).await.json();
    let named = |tokens: &Value, name: &str| tokens[name].as_str().unwrap().to_owned();
    let (access, refresh) = (named(&tokens, "access_token"), named(&tokens, "refresh_token"));
    whole_flow::userinfo(&server, &format!("Bearer {access}")).await;
    whole_flow::userinfo(&server, &format!("Bearer {access}x")).await;
    assert_eq!(whole_flow::token(&server, &form).await.status, 400, "a code is used once");
    let refreshed =
        whole_flow::token(&server, &format!("grant_type=refresh_token&refresh_token={refresh}")).await;
    assert_eq!(refreshed.status, 400, "the second use of the code has revoked the family");
    let own = server.token().await;
    server.post("/introspect", &format!("token={own}")).await;
    server.post("/revoke", &format!("token={own}")).await;
    server.post("/token", &format!("grant_type={}", server.who.secret)).await;
    let wrong = Credentials { secret: "by-no-means-the-secret".into(), ..server.who.clone() };
    let request = server.request("POST", "/token").header("authorization", wrong.basic());
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    server.send(request.body(Full::from("grant_type=client_credentials")).unwrap()).await;
    let page = browser.get("/logout").await;
    let out = field(&page, "form_token");
    assert_eq!(browser.post("/logout", &[("form_token", &out)]).await.status, 200);
    secrets.extend([
        "by-no-means-the-secret".to_owned(),
        code,
        verifier().split('=').nth(1).unwrap().to_owned(),
        out,
    ]);
    secrets.extend([&own, &access, &named(&tokens, "id_token")].iter().flat_map(|token| {
        // The claims are not secret; whoever has header, claims and signature has the token.
        [token.to_string(), token.rsplit('.').next().unwrap().to_owned()]
    }));
    // A refresh token's family is an id; its tag makes it one.
    secrets.extend([refresh.clone(), refresh.rsplit('~').next().unwrap().to_owned()]);
    let (who, issuer) = (server.who.clone(), server.issuer.clone());
    server.stop().await;

    let found = lines(&data, "server");
    let events: Vec<&str> = found.iter().map(|line| line["event"].as_str().unwrap()).collect();
    // The client is asked for until the server knows it.
    let aside = ["audit.seal", "authorization.refused"];
    let events: Vec<&str> = events.into_iter().filter(|event| !aside.contains(event)).collect();
    assert_eq!(
        events,
        [
            "audit.opened",
            "server.started",
            "sign-in.failed",
            "sign-in.succeeded",
            "consent.given",
            "authorization.issued",
            "token.issued",
            "userinfo.answered",
            "userinfo.refused",
            "token.refused",
            "token.refused",
            "token.issued",
            "token.introspected",
            "token.revoked",
            "token.refused",
            "token.refused",
            "sign-out",
            "server.stopped",
        ]
    );
    let line = |event: &str| found.iter().find(|line| line["event"] == event).unwrap();
    let issued = line("token.issued");
    assert_eq!((&issued["client"], &issued["grant"]), (&"shop".into(), &"authorization_code".into()));
    assert_eq!(issued["scope"], "offline_access openid");
    assert_eq!(issued["address"], "127.0.0.1");
    assert_eq!(issued["sub"], line("sign-in.succeeded")["sub"]);
    assert!(issued["jti"].as_str().unwrap().len() > 22, "{issued}");
    assert_eq!(line("sign-in.failed")["why"], "user `ada` gave a wrong password");
    assert_eq!(line("server.started")["issuer"], issuer.as_str());
    assert_eq!(line("server.started")["keys"], "ES256/1 active, ML-DSA-65/1 active");
    let refused: Vec<&Value> = found.iter().filter(|line| line["event"] == "token.refused").collect();
    assert_eq!(refused[0]["why"], "the code was used before: everything issued for it is revoked");
    assert_eq!(refused[1]["grant"], "refresh_token");
    assert_eq!(
        (&refused[2]["code"], &refused[2]["client"]),
        (&"unsupported_grant_type".into(), &who.id.as_str().into())
    );
    assert_eq!(refused[3]["why"], format!("client `{}` gave a wrong secret", who.id));
    let admin: Vec<Value> = lines(&data, "admin");
    let admin: Vec<&str> = admin.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(
        admin,
        [
            "audit.opened",
            "client.registered",
            "audit.seal",
            "user.added",
            "audit.seal",
            "client.registered",
            "audit.seal"
        ]
    );

    verified(&data);
    secrets.push(String::from_utf8_lossy(&std::fs::read(data.join("seal.key")).unwrap()).into_owned());
    for text in [raw(&data, "server"), raw(&data, "admin")] {
        for secret in &secrets {
            assert!(!text.contains(secret.as_str()), "{secret}");
        }
    }
}

/// The lines of a server that is stopped right after some work, without what every server says.
async fn decided(directory: &Path, work: impl AsyncFnOnce(&Running), config: Config) -> Vec<Value> {
    let server = Running::start(config).await;
    work(&server).await;
    server.stop().await;
    let own = ["audit.opened", "audit.seal", "server.started", "server.stopped"];
    let lines = lines(&directory.join("data"), "server");
    lines.into_iter().filter(|line| !own.contains(&line["event"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn what_a_peer_sends_is_escaped_and_bounded() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    // A name with line ends, quotes and a line of its own making, and one without end.
    let evil = "%0A%7B%22n%22%3A1%7D%22%5C%00%E2%80%AE";
    let work = async |server: &Running| {
        for scope in [evil.to_owned(), "x".repeat(20_000)] {
            server.post("/token", &format!("grant_type=client_credentials&scope={scope}")).await;
            server
                .get(&format!("/authorize?client_id={}&response_type=code", &scope[..scope.len().min(9000)]))
                .await;
        }
    };
    let found = decided(path, work, config(path)).await;
    assert_eq!(found.len(), 4, "one line each: {found:?}");
    let bytes = raw(&path.join("data"), "server");
    let longest = bytes.lines().filter(|line| !line.contains("audit.seal")).map(str::len).max().unwrap();
    assert!(longest < 1200, "{longest}");
    verified(&path.join("data"));
}

/// Introspection decides nothing: without the option it leaves no line, but its refusal does.
#[tokio::test]
async fn reading_is_an_option() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let work = async |server: &Running| {
        server.post("/introspect", "token=x").await;
        server.post("/introspect", "").await;
        server.get("/jwks").await;
        server.get("/login").await;
    };
    let found = decided(path, work, config(path)).await;
    let events: Vec<&str> = found.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["introspection.refused"]);
}

#[tokio::test]
async fn without_an_audit_log_there_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.audit.enabled = false;
    let server = Running::start(config).await;
    server.token().await;
    server.stop().await;
    assert!(!directory.path().join("data/audit").exists());
}

/// A client that goes away does not take the line with it.
#[tokio::test]
async fn a_request_that_is_given_up_leaves_a_line() {
    let directory = tempfile::tempdir().unwrap();
    let store = Guarded::new();
    let world = World { store: Some(store.clone()), ..World::default() };
    let mut config = config(directory.path());
    // Only what is asked for below asks the store.
    config.store.poll_milliseconds = std::num::NonZeroU64::new(3_600_000).unwrap();
    let server = Running::start_in(config, world).await;
    let form = format!("token={}", server.token().await);
    store.set(Mood::Hang);
    let before = store.calls();
    let mut stream = server.connect("http/1.1").await;
    let head = format!(
        "POST /revoke HTTP/1.1\r\nhost: {}\r\nauthorization: {}\r\ncontent-length: {}\r\n",
        server.address,
        server.who.basic(),
        form.len()
    );
    let head = format!("{head}content-type: application/x-www-form-urlencoded\r\n\r\n");
    stream.write_all(format!("{head}{form}").as_bytes()).await.unwrap();
    while store.calls() == before {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(stream);
    let data = directory.path().join("data");
    let written = async {
        while !raw(&data, "server").contains("request.abandoned") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), written).await.unwrap();
    store.set(Mood::Serve);
    server.stop().await;
    let abandoned =
        lines(&data, "server").into_iter().find(|line| line["event"] == "request.abandoned").unwrap();
    assert_eq!((&abandoned["path"], &abandoned["address"]), (&"/revoke".into(), &"127.0.0.1".into()));
}

/// <https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>: one datagram an event, one field a line.
#[tokio::test]
async fn the_journal_gets_every_line() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("journal");
    let journal = UnixDatagram::bind(&place).unwrap();
    journal.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut config = config(directory.path());
    (config.audit.journald, config.audit.journald_socket) = (true, place);
    let server = Running::start(config).await;
    server.token().await;
    server.post("/token", "grant_type=none").await;
    server.stop().await;

    let written = raw(&directory.path().join("data"), "server");
    // The first line was written before there was a writer.
    for line in written.lines().skip(1) {
        let mut datagram = vec![0; 1 << 16];
        let size = journal.recv(&mut datagram).unwrap();
        let text = std::str::from_utf8(&datagram[..size]).unwrap();
        let fields: Vec<(&str, &str)> = text.lines().map(|field| field.split_once('=').unwrap()).collect();
        let parsed: Value = serde_json::from_str(line).unwrap();
        let n = parsed["n"].to_string();
        let priority = if parsed["event"] == What::TokenRefused.name() { "4" } else { "6" };
        assert_eq!(
            fields,
            [
                ("SYSLOG_IDENTIFIER", "sealstone"),
                ("PRIORITY", priority),
                ("SEALSTONE_CHAIN", "server"),
                ("SEALSTONE_N", &n),
                ("SEALSTONE_EVENT", parsed["event"].as_str().unwrap()),
                ("MESSAGE", line),
            ]
        );
    }
}

/// Nobody listens: the chain is whole all the same.
#[tokio::test]
async fn a_journal_that_is_not_there_holds_nobody_up() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    (config.audit.journald, config.audit.journald_socket) = (true, directory.path().join("nobody"));
    let server = Running::start(config).await;
    server.token().await;
    server.stop().await;
    verified(&directory.path().join("data"));
}

/// Two servers on one data directory have a chain each, and one key.
#[tokio::test]
async fn a_neighbour_has_a_chain_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let shared = || Config { issuer: Some("https://auth.example.org".into()), ..config(directory.path()) };
    let first = Running::start(shared()).await;
    let second = Running::start(shared()).await;
    first.token().await;
    second.token().await;
    first.stop().await;
    second.stop().await;
    let data = directory.path().join("data");
    for chain in ["server", "server-2"] {
        assert!(lines(&data, chain).iter().any(|line| line["event"] == "token.issued"), "{chain}");
    }
    verified(&data);
    // The next one goes on with the first chain.
    let third = Running::start(shared()).await;
    third.token().await;
    third.stop().await;
    let issued = lines(&data, "server").iter().filter(|line| line["event"] == "token.issued").count();
    assert_eq!(issued, 2);
    verified(&data);
}

/// What cannot be written down is not changed.
#[tokio::test]
async fn an_administrator_without_a_book_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let server = Running::start(config(directory.path())).await;
    let key = directory.path().join("data/audit/key.json");
    std::fs::write(&key, "{}").unwrap();
    assert!(server.admin.add_client(Default::default()).await.is_err());
    assert_eq!(server.admin.list_clients().await.unwrap().len(), 1);
    server.stop().await;
}

/// A key that moves on is written down, whoever moved it.
#[tokio::test]
async fn keys_that_move_are_written_down() {
    let directory = tempfile::tempdir().unwrap();
    let clock = crate::support::ManualClock::new();
    let world = World { clock: clock.clone(), ..World::default() };
    let mut config = config(directory.path());
    config.tokens.algorithms = vec![sealstone_jose::Algorithm::Es256];
    let server = Running::start_in(config, world).await;
    clock.advance(89 * 86_400);
    let data = directory.path().join("data");
    let deadline = async {
        loop {
            let jwks = server.get("/jwks").await.json();
            if jwks["keys"].as_array().unwrap().len() == 2 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), deadline).await.unwrap();
    // The upkeep that made the key writes it down before its next turn, and ends before the log.
    tokio::time::sleep(Duration::from_millis(100)).await;
    server.stop().await;
    let moved: Vec<Value> =
        lines(&data, "server").into_iter().filter(|line| line["event"] == "key.moved").collect();
    assert_eq!(moved.len(), 1, "{moved:?}");
    assert_eq!(moved[0]["key"], "ES256/2 pre-published");
}
