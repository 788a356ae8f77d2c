//! The end of a server loses no request that has begun.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use http_body_util::Full;
use hyper::StatusCode;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Answer, Running, config};

const GRANT: &str = "grant_type=client_credentials";

fn head(server: &Running) -> String {
    format!(
        "POST /token HTTP/1.1\r\nhost: x\r\nauthorization: {}\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n",
        server.who.basic(),
        GRANT.len()
    )
}

/// The end comes while a request's body is half sent, over a connection that was only just made, and over one whose
/// handshake has not begun.
#[tokio::test]
async fn requests_in_flight_are_answered() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Running::start(config(directory.path())).await;
    let mut half = server.connect("http/1.1").await;
    half.write_all(head(&server).as_bytes()).await.unwrap();
    half.write_all(&GRANT.as_bytes()[..10]).await.unwrap();
    let mut fresh = server.connect("http/1.1").await;
    let raw = TcpStream::connect(server.address).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;

    server.begin_stop();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(TcpStream::connect(server.address).await.is_err(), "nobody new is let in");

    half.write_all(&GRANT.as_bytes()[10..]).await.unwrap();
    let mut answer = String::new();
    half.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("access_token"), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");

    fresh.write_all(head(&server).as_bytes()).await.unwrap();
    fresh.write_all(GRANT.as_bytes()).await.unwrap();
    let mut answer = String::new();
    fresh.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");

    assert_eq!(ask_late(&server, raw).await, StatusCode::OK);
    tokio::time::timeout(Duration::from_secs(5), server.ended()).await.unwrap();
}

/// Does on a bare connection what a client does from the handshake on.
async fn ask_late(server: &Running, stream: TcpStream) -> StatusCode {
    let tls = server.tls("http/1.1", &[&rustls::version::TLS13]);
    let name = rustls::pki_types::ServerName::try_from("127.0.0.1").unwrap();
    let stream = tokio_rustls::TlsConnector::from(Arc::new(tls)).connect(name, stream).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    Answer::read(sender.send_request(server.form("/token", GRANT)).await.unwrap()).await.status
}

/// With no slot free, connections wait in the system's queue. Those too were accepted in the server's name.
#[tokio::test]
async fn connections_that_wait_for_a_slot_are_answered() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.http.max_connections = std::num::NonZeroU64::MIN;
    let mut server = Running::start(config).await;
    let holder = server.connect("http/1.1").await;
    let waiting = [
        TcpStream::connect(server.address).await.unwrap(),
        TcpStream::connect(server.address).await.unwrap(),
    ];
    tokio::time::sleep(Duration::from_millis(100)).await;
    server.begin_stop();
    for stream in waiting {
        assert_eq!(ask_late(&server, stream).await, StatusCode::OK);
    }
    drop(holder);
    tokio::time::timeout(Duration::from_secs(5), server.ended()).await.unwrap();
}

#[tokio::test]
async fn http2_streams_in_flight_are_answered() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Running::start(config(directory.path())).await;
    let io = TokioIo::new(server.connect("h2").await);
    let (sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let (gate, body) = tokio::sync::mpsc::channel::<()>(1);
    let slow = hyper::Request::builder()
        .method("POST")
        .uri(format!("https://{}/token", server.address))
        .header("authorization", server.who.basic())
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Gated { gate: body, sent: false })
        .unwrap();
    let answer = tokio::spawn({
        let mut sender = sender.clone();
        async move { Answer::read(sender.send_request(slow).await.unwrap()).await }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    server.begin_stop();
    tokio::time::sleep(Duration::from_millis(100)).await;
    gate.send(()).await.unwrap();
    assert_eq!(answer.await.unwrap().status, StatusCode::OK);
    drop(sender);
    tokio::time::timeout(Duration::from_secs(5), server.ended()).await.unwrap();
}

/// A form body that comes only when the gate opens.
struct Gated {
    gate: tokio::sync::mpsc::Receiver<()>,
    sent: bool,
}

impl hyper::body::Body for Gated {
    type Data = hyper::body::Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Self::Data>, Self::Error>>> {
        if self.sent {
            return std::task::Poll::Ready(None);
        }
        std::task::ready!(self.gate.poll_recv(context));
        self.sent = true;
        std::task::Poll::Ready(Some(Ok(hyper::body::Frame::data(GRANT.into()))))
    }
}

/// Clients on connections of their own hammer the server while it ends: each request is answered whole or was never
/// taken, and those taken are many.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn under_load_no_request_that_was_taken_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let server = Running::start(config(directory.path())).await;
    let tls = Arc::new(server.tls("http/1.1", &[&rustls::version::TLS13]));
    let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let (tls, stop, answered) = (tls.clone(), stop.clone(), answered.clone());
            let (address, basic) = (server.address, server.who.basic());
            tokio::spawn(async move {
                while !stop.load(Ordering::SeqCst) {
                    // A refused connection was not taken. Once TCP is accepted, everything must work.
                    let Ok(stream) = TcpStream::connect(address).await else { return };
                    let name = rustls::pki_types::ServerName::try_from("127.0.0.1").unwrap();
                    let stream = tokio_rustls::TlsConnector::from(tls.clone()).connect(name, stream).await;
                    let (mut sender, connection) =
                        hyper::client::conn::http1::handshake(TokioIo::new(stream.unwrap())).await.unwrap();
                    tokio::spawn(connection);
                    let request = hyper::Request::builder()
                        .method("POST")
                        .uri("/token")
                        .header("host", "x")
                        .header("authorization", &basic)
                        .header("content-type", "application/x-www-form-urlencoded")
                        .body(Full::<hyper::body::Bytes>::from(GRANT))
                        .unwrap();
                    let answer = Answer::read(sender.send_request(request).await.unwrap()).await;
                    assert_eq!(answer.status, StatusCode::OK);
                    answered.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(500)).await;
    server.stop().await;
    stop.store(true, Ordering::SeqCst);
    for client in clients {
        client.await.unwrap();
    }
    assert!(answered.load(Ordering::SeqCst) > 8);
}

#[tokio::test]
async fn it_announces_its_end_before_it_stops_listening() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.shutdown.announce_seconds = 1;
    let mut server = Running::start(config).await;
    server.begin_stop();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(server.get("/health/ready").await.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(server.get("/health/live").await.status, StatusCode::OK);
    let answer = server.post("/token", GRANT).await;
    assert_eq!((answer.status, answer.header("connection")), (StatusCode::OK, "close"));
    server.ended().await;
}

#[tokio::test]
async fn the_grace_has_an_end() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.shutdown.grace_seconds = 1;
    let mut server = Running::start(config).await;
    let mut stuck = server.connect("http/1.1").await;
    stuck.write_all(head(&server).as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    server.begin_stop();
    tokio::time::timeout(Duration::from_secs(3), server.ended()).await.unwrap();
    let cut = tokio::time::timeout(Duration::from_secs(3), stuck.read(&mut [0; 1])).await.expect("it is cut");
    assert!(matches!(cut, Ok(0) | Err(_)), "and unanswered");
}
