//! The server over real sockets and TLS: addresses, headers, statuses, limits.

use std::num::NonZeroU64;
use std::time::Duration;

use http_body_util::Full;
use hyper::StatusCode;
use hyper::body::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use sealstone_auth::config::TlsMode;
use sealstone_auth::{Config, NewAuthentication, NewClient, Server, World};
use sealstone_jose::jws::Unverified;
use sealstone_jose::jwt::Rules;
use sealstone_jose::{Algorithm, JwkSet};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Credentials, Guarded, Mood, Running, config};

const GRANT: &str = "grant_type=client_credentials";

async fn running() -> (Running, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    (Running::start(config(directory.path())).await, directory)
}

#[tokio::test]
async fn rfc6749_s5_1_token_over_both_versions_of_http() {
    let (server, _directory) = running().await;
    let one = server.post("/token", GRANT).await;
    let two = server.send_h2(server.form("/token", GRANT)).await;
    assert_eq!((one.version, two.version), (hyper::Version::HTTP_11, hyper::Version::HTTP_2));
    for answer in [one, two] {
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("pragma"), "no-cache");
        assert_eq!(answer.header("content-type"), "application/json");
        let body = answer.json();
        assert_eq!((&body["token_type"], &body["expires_in"]), (&json!("Bearer"), &json!(900)));
    }
    server.stop().await;
}

/// A stranger's way: discovery, token, check offline, introspection, revocation. ML-DSA-65.
#[tokio::test]
async fn the_whole_way_from_the_issuer_alone() {
    let (server, _directory) = running().await;
    let new = NewClient { authentication: NewAuthentication::ClientSecretPost, ..NewClient::default() };
    let (client, secret) = server.admin.add_client(new).await.unwrap();
    let secret = secret.unwrap();
    let metadata = server.get("/.well-known/oauth-authorization-server").await;
    assert_eq!(metadata.header("content-type"), "application/json");
    let metadata = metadata.json();
    assert_eq!(metadata["issuer"], server.issuer, "RFC 8414 §3.3");
    assert_eq!(metadata, server.get("/.well-known/openid-configuration").await.json());
    let path = |name: &str| metadata[name].as_str().unwrap().strip_prefix(&server.issuer).unwrap().to_owned();

    // The client was added behind the server's back: it notices within a poll.
    let form = format!("{GRANT}&client_id={}&client_secret={}", client.id, secret.reveal());
    let token = loop {
        let request = server.request("POST", &path("token_endpoint"));
        let request = request.header("content-type", "application/x-www-form-urlencoded; charset=UTF-8");
        let answer = server.send(request.body(Full::from(form.clone())).unwrap()).await;
        if answer.status == StatusCode::OK {
            break answer.json()["access_token"].as_str().unwrap().to_owned();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };

    let jwks = server.get(&path("jwks_uri")).await;
    assert_eq!(jwks.header("content-type"), "application/jwk-set+json");
    assert_eq!(jwks.header("cache-control"), "public, max-age=300");
    let jwks = JwkSet::parse(&jwks.body).unwrap();
    let unverified = Unverified::parse(&token).unwrap();
    assert_eq!(unverified.header().algorithm(), Algorithm::MlDsa65);
    let verified = unverified.verify_with_set(&jwks).unwrap();
    let rules = Rules::new().issuer(&server.issuer).audience(&server.issuer).typ("at+jwt");
    let now = sealstone_auth::clock::SystemClock;
    rules.check(verified, sealstone_auth::Clock::now(&now)).unwrap();

    let who = format!("client_id={}&client_secret={}", client.id, secret.reveal());
    let as_client = async |path: String, form: String| {
        let (request, form) = (server.request("POST", &path), format!("{form}&{who}"));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        server.send(request.body(Full::from(form)).unwrap()).await
    };
    let shown = as_client(path("introspection_endpoint"), format!("token={token}")).await;
    assert_eq!((shown.header("cache-control"), &shown.json()["active"]), ("no-store", &json!(true)));
    let revoked = as_client(path("revocation_endpoint"), format!("token={token}")).await;
    assert_eq!((revoked.status, revoked.body.len()), (StatusCode::OK, 0));
    let shown = as_client(path("introspection_endpoint"), format!("token={token}")).await;
    assert_eq!(shown.json(), json!({"active": false}));
    server.stop().await;
}

#[tokio::test]
async fn rfc7517_s9_3_the_jwk_set_shows_nothing_private() {
    let (server, _directory) = running().await;
    let jwks = server.get("/jwks").await.json();
    let keys = jwks["keys"].as_array().unwrap();
    let algorithms: Vec<_> = keys.iter().map(|key| key["alg"].as_str().unwrap()).collect();
    assert_eq!(algorithms, ["ES256", "ML-DSA-65"], "only what is enabled");
    for key in keys {
        for private in ["d", "priv", "k", "p", "q"] {
            assert!(key.get(private).is_none(), "{key}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn rfc6749_s5_2_statuses_and_challenge() {
    let (server, _directory) = running().await;
    let wrong = Credentials { secret: "wrong".into(), ..server.who.clone() };
    let request = server.request("POST", "/token").header("authorization", wrong.basic());
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let answer = server.send(request.body(Full::from(GRANT)).unwrap()).await;
    assert_eq!(answer.refusal(), (401, "invalid_client".into()));
    assert_eq!(answer.header("www-authenticate"), "Basic realm=\"sealstone\", charset=\"UTF-8\"");
    assert_eq!(answer.header("cache-control"), "no-store");

    for (path, form, status, code) in [
        ("/token", "grant_type=password", 400, "unsupported_grant_type"),
        ("/token", "grant_type=client_credentials&scope=x", 400, "invalid_scope"),
        ("/token", "grant_type=client_credentials&resource=x", 400, "invalid_target"),
        ("/token", "grant_type=client_credentials&grant_type=x", 400, "invalid_request"),
        ("/token", "", 400, "invalid_request"),
        ("/token?client_id=x", GRANT, 400, "invalid_request"),
        ("/token?", GRANT, 200, ""),
        ("/introspect", "", 400, "invalid_request"),
        ("/introspect?token=x", "token=x", 400, "invalid_request"),
        ("/revoke", "", 400, "invalid_request"),
        ("/revoke", "token=x", 200, ""),
        ("/nothing", "", 404, "invalid_request"),
        ("/token/", GRANT, 404, "invalid_request"),
        ("//token", GRANT, 404, "invalid_request"),
    ] {
        let answer = server.post(path, form).await;
        assert_eq!(answer.status.as_u16(), status, "{path} {form}");
        if status != 200 {
            assert_eq!(answer.json()["error"], code, "{path} {form}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn rfc7662_s2_1_nobody_introspects_or_revokes_unauthenticated() {
    let (server, _directory) = running().await;
    let token = server.token().await;
    for path in ["/introspect", "/revoke", "/token"] {
        let request =
            server.request("POST", path).header("content-type", "application/x-www-form-urlencoded");
        let answer = server.send(request.body(Full::from(format!("token={token}&{GRANT}"))).unwrap()).await;
        assert_eq!(answer.refusal(), (401, "invalid_client".into()), "{path}");
        let request =
            server.request("POST", path).header("content-type", "application/x-www-form-urlencoded");
        let request = request.header("authorization", format!("Bearer {token}"));
        let answer = server.send(request.body(Full::from(format!("token={token}"))).unwrap()).await;
        assert_eq!(answer.refusal(), (401, "invalid_client".into()), "{path}");
    }
    assert!(server.is_active(&token).await);
    server.stop().await;
}

#[tokio::test]
async fn rfc6749_s3_2_other_methods_refused() {
    let (server, _directory) = running().await;
    for (method, path, allow) in [
        ("GET", "/token", "POST"),
        ("HEAD", "/token", "POST"),
        ("PUT", "/token", "POST"),
        ("OPTIONS", "/token", "POST"),
        ("GET", "/introspect", "POST"),
        ("DELETE", "/revoke", "POST"),
        ("POST", "/jwks", "GET,HEAD"),
        ("POST", "/.well-known/openid-configuration", "GET,HEAD"),
        ("POST", "/health/live", "GET,HEAD"),
    ] {
        let answer = server.send(server.request(method, path).body(Full::default()).unwrap()).await;
        assert_eq!((answer.status.as_u16(), answer.header("allow")), (405, allow), "{method} {path}");
    }
    let head = server.send(server.request("HEAD", "/jwks").body(Full::default()).unwrap()).await;
    assert_eq!((head.status.as_u16(), head.body.len()), (200, 0));
    server.stop().await;
}

#[tokio::test]
async fn rfc6749_s3_2_only_a_form_is_read() {
    let (server, _directory) = running().await;
    let send = async |headers: &[(&str, &str)]| {
        let mut request = server.request("POST", "/token").header("authorization", server.who.basic());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        server.send(request.body(Full::from(GRANT)).unwrap()).await
    };
    for headers in [
        &[][..],
        &[("content-type", "application/json")],
        &[("content-type", "multipart/form-data; boundary=x")],
        &[("content-type", "text/plain")],
        &[("content-type", "application/x-www-form-urlencodedx")],
        &[("content-type", "application/x-www-form-urlencoded"), ("content-type", "application/json")],
        &[("content-type", "application/x-www-form-urlencoded"), ("content-encoding", "gzip")],
    ] {
        assert_eq!(send(headers).await.refusal(), (400, "invalid_request".into()), "{headers:?}");
    }
    let spelled = send(&[("content-type", "Application/X-WWW-Form-UrlEncoded ;charset=utf-8")]).await;
    assert_eq!(spelled.status, StatusCode::OK);
    server.stop().await;
}

#[tokio::test]
async fn health_says_live_and_ready() {
    let (server, _directory) = running().await;
    assert_eq!(server.get("/health/live").await.json(), json!({"status": "live"}));
    assert_eq!(server.get("/health/ready").await.json(), json!({"status": "ready"}));
    server.stop().await;
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.http.max_body_bytes = NonZeroU64::new(1000).unwrap();
    let server = Running::start(config).await;
    let padded = |length: usize| format!("{GRANT}&pad={}", "x".repeat(length - GRANT.len() - 5));
    assert_eq!(server.post("/token", &padded(1000)).await.status, StatusCode::OK);
    assert_eq!(server.post("/token", &padded(1001)).await.refusal(), (413, "invalid_request".into()));
    server.stop().await;
}

/// Raw bytes over TLS, and everything that comes back until the server closes.
async fn raw(server: &Running, bytes: &[u8]) -> String {
    let mut stream = server.connect("http/1.1").await;
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut answer)).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn slow_or_malformed_requests_do_not_hold_a_connection() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.http.header_timeout_seconds = NonZeroU64::MIN;
    config.http.request_timeout_seconds = NonZeroU64::MIN;
    let server = Running::start(config).await;

    let silent = raw(&server, b"").await;
    assert!(silent.is_empty() || silent.starts_with("HTTP/1.1 408"), "{silent}");
    let half_head = raw(&server, b"POST /token HTTP/1.1\r\nhost: x\r\n").await;
    assert!(half_head.is_empty() || half_head.starts_with("HTTP/1.1 408"), "{half_head}");
    let half_body = raw(
        &server,
        b"POST /token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 99\r\n\r\nx",
    )
    .await;
    assert!(half_body.starts_with("HTTP/1.1 408"), "{half_body}");

    for malformed in [
        &b"\0\0\0\0\r\n\r\n"[..],
        b"POST /token\r\n\r\n",
        b"POST /token HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"POST /token HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        b"POST /to ken HTTP/1.1\r\n\r\n",
        b"GET /token HTTP/1.1\r\nname with space: x\r\n\r\n",
    ] {
        let answer = raw(&server, malformed).await;
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 400"),
            "{}: {answer}",
            malformed.escape_ascii()
        );
    }
    let long = format!("GET /jwks HTTP/1.1\r\nhost: x\r\nlong: {}\r\n\r\n", "x".repeat(32 * 1024));
    let answer = raw(&server, long.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    let many: String = (0..200).map(|n| format!("h{n}: x\r\n")).collect();
    let answer = raw(&server, format!("GET /jwks HTTP/1.1\r\n{many}\r\n").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    assert_eq!(server.post("/token", GRANT).await.status, StatusCode::OK, "and the next one is served");
    server.stop().await;
}

#[tokio::test]
async fn connections_over_the_cap_wait_for_a_slot() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.http.max_connections = NonZeroU64::new(2).unwrap();
    let server = Running::start(config).await;
    let (first, second) = (server.connect("http/1.1").await, server.connect("http/1.1").await);
    let mut third = Box::pin(server.get("/health/live"));
    assert!(tokio::time::timeout(Duration::from_millis(300), &mut third).await.is_err(), "no slot yet");
    drop(first);
    assert_eq!(tokio::time::timeout(Duration::from_secs(10), third).await.unwrap().status, StatusCode::OK);
    drop(second);
    server.stop().await;
}

/// Slots are few, so nobody keeps one for nothing: an HTTP/2 connection that asks nothing is told to go.
#[tokio::test]
async fn an_idle_http2_connection_is_closed() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.http.idle_timeout_seconds = NonZeroU64::MIN;
    let server = Running::start(config).await;
    let io = TokioIo::new(server.connect("h2").await);
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    let mut connection = tokio::spawn(connection);
    for _ in 0..3 {
        let answer = sender.send_request(server.form("/token", GRANT)).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        assert!(
            tokio::time::timeout(Duration::from_millis(600), &mut connection).await.is_err(),
            "it is in use"
        );
    }
    tokio::time::timeout(Duration::from_secs(4), connection).await.unwrap().unwrap().unwrap();
    server.stop().await;
}

/// A peer that asks and does not read what it gets held its slot until the server ended: with one slot, nobody else was
/// served. HTTP/2: the window is full, pings are answered. HTTP/1.1: the socket is full.
#[tokio::test]
async fn a_peer_that_reads_no_answer_gives_its_slot_back() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.http.idle_timeout_seconds = NonZeroU64::MIN;
    config.http.header_timeout_seconds = NonZeroU64::new(2).unwrap();
    config.http.max_connections = NonZeroU64::MIN;
    let server = Running::start(config).await;
    let next_is_served = async |how: &str| {
        let next = tokio::time::timeout(Duration::from_secs(20), server.get("/health/live")).await;
        assert_eq!(next.unwrap_or_else(|_| panic!("{how} keeps its slot")).status, StatusCode::OK);
    };

    let io = TokioIo::new(server.connect("h2").await);
    let (mut sender, connection) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(16)
        .handshake(io)
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    let unread = sender.send_request(server.request("GET", "/jwks").body(Full::<Bytes>::default()).unwrap());
    let unread = unread.await.unwrap();
    next_is_served("HTTP/2").await;
    drop((unread, connection));

    let mut stream = server.connect("http/1.1").await;
    let request = b"GET /jwks HTTP/1.1\r\nhost: x\r\n\r\n";
    // It takes what it can be given, until nothing moves any more, or the server has had enough.
    while let Ok(Ok(())) = tokio::time::timeout(Duration::from_millis(500), stream.write_all(request)).await {
    }
    next_is_served("HTTP/1.1").await;
    drop(stream);
    server.stop().await;
}

/// Times are added and doubled: with the longest ones each request ended in a panic.
#[tokio::test]
async fn the_longest_times_do_not_overflow() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.http.header_timeout_seconds = NonZeroU64::MAX;
    config.http.idle_timeout_seconds = NonZeroU64::MAX;
    config.http.request_timeout_seconds = NonZeroU64::MAX;
    config.shutdown.grace_seconds = u64::MAX;
    let server = Running::start(config).await;
    assert_eq!(server.post("/token", GRANT).await.status, StatusCode::OK);
    assert_eq!(server.send_h2(server.form("/token", GRANT)).await.status, StatusCode::OK);
    server.stop().await;
}

#[tokio::test]
async fn an_issuer_with_a_path_moves_every_address() {
    let directory = tempfile::tempdir().unwrap();
    let config =
        Config { issuer: Some("https://auth.example.org/tenant".into()), ..config(directory.path()) };
    let server = Running::start(config).await;
    let metadata = server.get("/.well-known/oauth-authorization-server/tenant").await.json();
    assert_eq!(metadata["issuer"], "https://auth.example.org/tenant");
    assert_eq!(metadata, server.get("/tenant/.well-known/openid-configuration").await.json());
    assert_eq!(server.post("/tenant/token", GRANT).await.status, StatusCode::OK);
    assert_eq!(server.post("/token", GRANT).await.status, StatusCode::NOT_FOUND);
    server.stop().await;
}

#[tokio::test]
async fn plain_http_only_where_it_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.tls.mode = TlsMode::PlainLoopback;
    let server = Running::start(config).await;
    assert!(server.issuer.starts_with("http://127.0.0.1:"), "{}", server.issuer);
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET /health/live HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    server.stop().await;

    let mut wrong = Config { data_dir: directory.path().join("other"), ..Config::default() };
    wrong.tls.mode = TlsMode::PlainLoopback;
    wrong.listen = "0.0.0.0:0".parse().unwrap();
    assert!(Server::bind(wrong, World::default()).await.is_err());
    assert!(!directory.path().join("other").exists(), "a refused configuration touches no disk");
}

/// With the store stuck, and with it the refresh that waits for it under its lock: tokens and introspection go on, and
/// only readiness says so.
#[tokio::test]
async fn a_store_that_hangs_is_not_on_the_token_path() {
    let directory = tempfile::tempdir().unwrap();
    let store = Guarded::new();
    let world = World { store: Some(store.clone()), ..World::default() };
    let mut config = config(directory.path());
    config.http.request_timeout_seconds = NonZeroU64::MIN;
    let server = Running::start_in(config, world).await;
    store.set(Mood::Hang);
    let calls = store.calls();
    while store.calls() == calls {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let token = tokio::time::timeout(Duration::from_secs(60), server.token()).await.unwrap();
    assert!(server.is_active(&token).await);
    assert_eq!(server.get("/health/live").await.status, StatusCode::OK);
    let ready = server.get("/health/ready").await;
    assert_eq!((ready.status.as_u16(), ready.json()), (503, json!({"status": "the store does not answer"})));
    let revoked = server.post("/revoke", &format!("token={token}")).await;
    assert_eq!(revoked.refusal(), (503, "temporarily_unavailable".into()), "no success that is not durable");
    server.stop().await;
}
