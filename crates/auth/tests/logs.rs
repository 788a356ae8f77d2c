//! The logs: structured, and without a secret in them.

use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use http_body_util::Full;
use sealstone_auth::log::Background;
use serde_json::Value;

use crate::support::{Captured, Credentials, Running, config, log_capture};

#[tokio::test]
async fn no_secret_and_no_token_reaches_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let logs = log_capture();
    let server = Running::start(config(directory.path())).await;
    let who = server.who.clone();
    let token = server.token().await;
    server.post("/introspect", &format!("token={token}")).await;
    server.post("/introspect", &format!("token={token}&token={token}")).await;
    server.post("/revoke", &format!("token={token}")).await;
    server.post("/token", &format!("grant_type=client_credentials&client_secret={}", who.secret)).await;
    // A secret in each wrong place: the address, the query, the id, the scope, another scheme, a header of its own.
    server.post(&format!("/{}", who.secret), "").await;
    server.post(&format!("/token?client_secret={}", who.secret), "").await;
    server.post("/token", &format!("grant_type={}", who.secret)).await;
    server.post("/token", &format!("grant_type=client_credentials&scope={}", who.secret)).await;
    for header in [
        Credentials { id: who.secret.clone(), secret: "x".into() }.basic(),
        Credentials { id: who.id.clone(), secret: format!("{}x", who.secret) }.basic(),
        format!("Bearer {}", who.secret),
    ] {
        let request =
            server.request("POST", "/token").header("authorization", header).header("x-note", &who.secret);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        server.send(request.body(Full::from("grant_type=client_credentials")).unwrap()).await;
    }
    let seal_key = std::fs::read(directory.path().join("data/seal.key")).unwrap();
    server.stop().await;

    let text = logs.text();
    assert!(text.contains(&who.id), "the client that proved itself is named");
    let basic = who.basic();
    let mut needles = vec![who.secret.as_str(), &token, basic.trim_start_matches("Basic ")];
    needles.extend(token.split('.'));
    for needle in needles {
        assert!(!text.contains(needle), "{needle}");
    }
    use base64::Engine as _;
    assert!(!text.contains(&base64::engine::general_purpose::STANDARD_NO_PAD.encode(seal_key)));
}

#[tokio::test]
async fn each_line_is_an_object_and_says_what_failed() {
    let directory = tempfile::tempdir().unwrap();
    let logs = log_capture();
    let server = Running::start(config(directory.path())).await;
    let wrong = Credentials { secret: "wrong".into(), ..server.who.clone() };
    let request = server.request("POST", "/token").header("authorization", wrong.basic());
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    server.send(request.body(Full::from("grant_type=client_credentials")).unwrap()).await;
    let id = server.who.id.clone();
    server.stop().await;

    let lines: Vec<Value> = logs.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let hint = format!("client `{id}` gave a wrong secret");
    let line = lines.iter().find(|line| line["hint"] == hint.as_str()).expect("a line with the hint");
    assert_eq!(
        (&line["status"], &line["code"], &line["path"]),
        (&401.into(), &"invalid_client".into(), &"/token".into())
    );
    assert!(line["micros"].is_u64() && line["peer"].as_str().unwrap().starts_with("127.0.0.1:"), "{line}");
}

/// A sink that writes nothing until its gate is dropped.
struct Gated {
    gate: Receiver<()>,
    written: Captured,
}

impl Gated {
    fn new() -> (Self, SyncSender<()>, Captured) {
        let (open, gate) = sync_channel(0);
        let written = Captured::default();
        (Self { gate, written: written.clone() }, open, written)
    }
}

impl Write for Gated {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let _ = self.gate.recv();
        self.written.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_slow_reader_of_the_logs_holds_nobody_up() {
    let (sink, open, written) = Gated::new();
    let mut lines = Background::start(sink).unwrap();
    for _ in 0..10_000 {
        lines.write_all(b"line\n").unwrap();
    }
    assert_eq!(written.text(), "", "nothing was written, and nobody waited");
    drop(open);
    lines.flushed();
    let text = written.text();
    let kept = text.lines().filter(|line| *line == "line").count();
    assert!((8_192..10_000).contains(&kept), "{kept}");
    let said: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let lost: u64 = said.iter().map(|line| line["lines"].as_u64().unwrap()).sum();
    assert_eq!(kept as u64 + lost, 10_000, "what was dropped is said");
}

#[test]
fn a_text_line_is_for_people() {
    let written = Captured::default();
    let sink = written.clone();
    let config = sealstone_auth::config::Log::default();
    let dispatch = sealstone_auth::log::subscriber(&config, move || sink.clone());
    tracing::dispatcher::with_default(&dispatch, || {
        tracing::info!(status = 200, "request");
        tracing::debug!("not at this level");
    });
    let text = written.text();
    assert!(text.ends_with(" INFO request status=200\n") && text.lines().count() == 1, "{text}");
}
