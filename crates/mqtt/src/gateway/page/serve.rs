//! The page over HTTP/1.1: three addresses, read only.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::{STYLE, html};
use crate::gateway::metrics;
use crate::gateway::status::Status;
use crate::message::UnixMillis;

/// Connections at a time.
const CONNECTIONS: usize = 64;
/// How long a head may take, and a connection may live.
const HEAD: Duration = Duration::from_secs(10);
const LIFE: Duration = Duration::from_secs(60);

/// What is shown, and what time it is.
pub struct Page {
    /// How it is.
    pub status: Arc<Status>,
    /// The time.
    pub now: Box<dyn Fn() -> UnixMillis + Send + Sync>,
}

/// Answers for ever: `/` the page, `/metrics` for monitoring, `/style.css`.
pub async fn serve(listener: TcpListener, page: Page) {
    let (page, places) = (Arc::new(page), Arc::new(Semaphore::new(CONNECTIONS)));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let page = Arc::clone(&page);
        tokio::spawn(async move {
            let service = service_fn(|request: Request<Incoming>| {
                let response = answer(&request, &page);
                async move { Ok::<_, Infallible>(response) }
            });
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(HEAD);
            let connection = builder.serve_connection(TokioIo::new(stream), service);
            let _ = tokio::time::timeout(LIFE, connection).await;
            drop(place);
        });
    }
}

fn answer(request: &Request<Incoming>, page: &Page) -> Response<Full<Bytes>> {
    let text = |status, kind: &'static str, text: String| respond(status, kind, text);
    let plain = "text/plain; charset=utf-8";
    if !is_address(request) {
        let hint = "ask by address, or as localhost\n";
        return text(StatusCode::MISDIRECTED_REQUEST, plain, hint.into());
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let mut response = text(StatusCode::METHOD_NOT_ALLOWED, plain, "GET or HEAD\n".into());
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    let now = (page.now)();
    match request.uri().path() {
        "/" => text(StatusCode::OK, "text/html; charset=utf-8", html(&page.status.now(now), now)),
        "/metrics" => text(StatusCode::OK, metrics::TYPE, metrics::text(&page.status.now(now))),
        "/style.css" => text(StatusCode::OK, "text/css; charset=utf-8", STYLE.into()),
        _ => text(StatusCode::NOT_FOUND, plain, "/ or /metrics\n".into()),
    }
}

/// Whether the request names an address, or localhost. A page elsewhere whose name is made to lead here cannot read this one.
fn is_address(request: &Request<Incoming>) -> bool {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || name.parse::<IpAddr>().is_ok()
}

fn respond(status: StatusCode, kind: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let policy =
        "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    for (name, value) in [
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, policy),
        (CONTENT_TYPE, kind),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
