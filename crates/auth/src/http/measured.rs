//! The listener for monitoring: `GET /metrics` over plain HTTP, on an address of its own, and nothing else. It shows numbers
//! and no names, and asks nobody who they are: its address is what protects it.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use sealstone_jose::UnixSeconds;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::App;
use crate::metrics::Text;

/// The most connections at a time.
const MOST: usize = 8;
const PATIENCE: Duration = Duration::from_secs(10);

/// Answers until it is dropped.
pub(crate) async fn serve(listener: TcpListener, app: Arc<App>) {
    let slots = Arc::new(Semaphore::new(MOST));
    loop {
        let slot = Arc::clone(&slots).acquire_owned().await;
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let app = Arc::clone(&app);
        tokio::spawn(async move {
            let answer = hyper::service::service_fn(move |request: Request<hyper::body::Incoming>| {
                let answer = answer(&app, &request);
                async move { Ok::<_, Infallible>(answer) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .max_buf_size(16 * 1024)
                .serve_connection(TokioIo::new(stream), answer);
            // A reader that does not read is cut, whatever it has asked for.
            let _ = tokio::time::timeout(6 * PATIENCE, connection).await;
            drop(slot);
        });
    }
}

fn answer<B>(app: &App, request: &Request<B>) -> Response<Body> {
    let mut response = match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => Response::new(Body::from(text(app, app.clock.now()))),
        (_, "/metrics") => status(StatusCode::METHOD_NOT_ALLOWED),
        _ => status(StatusCode::NOT_FOUND),
    };
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(Text::TYPE));
    response
}

fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// What was counted, and what stands now.
fn text(app: &App, now: UnixSeconds) -> String {
    let mut text = Text::default();
    app.metrics.write(&mut text);
    let help = "Requests that are under way.";
    text.single("sealstone_requests_in_flight", "gauge", help, app.gate.in_flight() as f64);
    let help = "Signatures and chains of others that wait to be checked.";
    text.single("sealstone_verifications_waiting", "gauge", help, app.verifiers.waiting() as f64);
    let help = "Passwords that are hashed or wait for it.";
    text.single("sealstone_passwords_waiting", "gauge", help, app.people.passwords.in_line() as f64);
    let help = "How often ML-DSA tokens were signed side by side.";
    text.single("sealstone_signed_together_total", "counter", help, app.signers.together() as f64);
    if let Some(audit) = &app.audit {
        let help = "Requests whose events wait to be written.";
        text.single("sealstone_audit_waiting", "gauge", help, audit.backlog() as f64);
        let help = "Events that have no line in the audit log.";
        text.single("sealstone_audit_lost_total", "counter", help, audit.lost() as f64);
        let help = "Whether the audit log could not be written the last time.";
        text.single("sealstone_audit_failing", "gauge", help, f64::from(u8::from(audit.is_failing())));
    }
    let age = now.0.saturating_sub(app.refreshed_at.load(Ordering::Relaxed));
    let help = "Since the store was last looked at for what others changed.";
    text.single("sealstone_snapshot_age_seconds", "gauge", help, age as f64);
    let snapshot = app.live.snapshot();
    let help = "Revocation marks that are held.";
    text.single("sealstone_revocations", "gauge", help, snapshot.revocations.len() as f64);
    text.family("sealstone_signing_key_age_seconds", "gauge", "Since the key came to its state.");
    for stage in snapshot.keys.stages().iter().filter(|stage| stage.state.is_published()) {
        let sequence = stage.sequence.to_string();
        let labels =
            [("algorithm", stage.algorithm.name()), ("number", &sequence), ("state", stage.state.name())];
        text.sample(&labels, now.0.saturating_sub(stage.since.0));
    }
    text.family("sealstone_build_info", "gauge", "The version, with the value 1.");
    text.sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    if let Some(bytes) = resident_bytes() {
        let help = "Memory of the process.";
        text.single("process_resident_memory_bytes", "gauge", help, bytes as f64);
    }
    text.into_string()
}

/// From `/proc`, where there is one: kilobytes behind `VmRSS:`.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}
