//! Connections: from the socket to the router, with every limit, and an end that loses no request.
//!
//! The end has three parts. *Announce*: the server says that it is not ready and goes on. *Finish*: it takes what the
//! system had already accepted for it, stops listening, and lets every connection answer what it has begun to read.
//! *Cut*: what is not done when the grace ends.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::{http1, http2};
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::App;
use super::gate::Seat;
use crate::metrics::Limit;
use crate::protocol::client_certificate::PeerCertificate;
use crate::tls::Terms;

/// The limits of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) connections: u32,
    pub(crate) grace: Duration,
    pub(crate) header_timeout: Duration,
    pub(crate) idle_timeout: Duration,
}

/// Who sent a request, as far as the socket knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// Who asks, see [`Origins::of`](super::origin::Origins::of). Not there where that is not known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin(pub(crate) IpAddr);

/// How many requests the peer's address has under way; not there where that is not counted.
#[derive(Clone, Debug)]
pub(crate) struct InFlight(pub(crate) Arc<AtomicUsize>);

/// The most bytes of a request's head: an ML-DSA-87 token takes 7 KiB, and a DPoP proof with such a key 11.
const MAX_HEAD_BYTES: usize = 24 * 1024;
/// The most requests at a time on one HTTP/2 connection.
const MAX_STREAMS: u32 = 128;

/// Serves until `shutdown` is ready and everything in flight is answered.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<Terms>,
    app: Arc<App>,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) {
    let slots = Arc::new(Semaphore::new(limits.connections as usize));
    let (phase, watched) = watch::channel(Phase::Serve);
    let router = TowerToHyperService::new(super::router(Arc::clone(&app)));
    let shared = Shared { app, limits, phase: watched, router, tls };
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            (slot, accepted) = accept(&slots, &listener) => shared.start(slot, accepted),
        }
    }
    take_the_rest(listener, &shared);
    // Every connection holds a receiver of the phase: when the last is gone, everything is answered.
    drop(shared);
    let _ = phase.send(Phase::Finish);
    if tokio::time::timeout(limits.grace, phase.closed()).await.is_err() {
        tracing::warn!("the grace is over: connections are cut");
        let _ = phase.send(Phase::Cut);
        phase.closed().await;
    }
}

/// Where the server stands between its start and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Serve,
    Finish,
    Cut,
}

/// What the system has accepted in our name would be reset when the socket closes, so it is taken first. Asked of the
/// socket itself: the runtime may not know yet of a connection that has just come.
fn take_the_rest(listener: TcpListener, shared: &Shared) {
    let Ok(listener) = listener.into_std() else { return };
    while let Ok((stream, peer)) = listener.accept() {
        let stream = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
        shared.start(None, stream.ok().map(|stream| (stream, peer)));
    }
}

/// The next connection, once there is a slot for it. Before that it waits in the system's queue.
async fn accept(
    slots: &Arc<Semaphore>,
    listener: &TcpListener,
) -> (Option<OwnedSemaphorePermit>, Option<(TcpStream, SocketAddr)>) {
    let slot = Arc::clone(slots).acquire_owned().await.ok();
    match listener.accept().await {
        Ok(accepted) => (slot, Some(accepted)),
        Err(cause) => {
            // No descriptors left, or the peer is gone already: neither is a reason to stop, or to spin.
            tracing::warn!(%cause, "a connection could not be accepted");
            tokio::time::sleep(Duration::from_millis(20)).await;
            (slot, None)
        }
    }
}

/// What every connection needs.
#[derive(Clone)]
struct Shared {
    app: Arc<App>,
    limits: Limits,
    phase: watch::Receiver<Phase>,
    router: TowerToHyperService<Router>,
    tls: Option<Terms>,
}

impl Shared {
    fn start(&self, slot: Option<OwnedSemaphorePermit>, accepted: Option<(TcpStream, SocketAddr)>) {
        let Some((stream, peer)) = accepted else { return };
        let shared = self.clone();
        // What connects as a proxy, or may be one, connects for many.
        let origins = &self.app.origins;
        let counted = origins.peers && !origins.is_proxy(peer.ip().to_canonical());
        let seat = counted.then(|| self.app.gate.connect(peer.ip()));
        if let Some(None) = seat {
            self.app.metrics.limited(Limit::Connections);
            tracing::debug!(%peer, "connection refused: `http.max_connections_per_address` is reached");
            return;
        }
        let mut phase = self.phase.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = shared.connection(stream, peer, seat.flatten()) => {}
                _ = phase.wait_for(|phase| *phase == Phase::Cut) => {}
            }
            drop(slot);
        });
    }

    async fn connection(self, stream: TcpStream, peer: SocketAddr, seat: Option<Seat>) {
        // Answers are small; without this the last packet of one waits for an acknowledgement.
        let _ = stream.set_nodelay(true);
        let Some(terms) = &self.tls else { return self.speak(stream, peer, seat, None, false).await };
        match tokio::time::timeout(self.limits.header_timeout, terms.accept(stream)).await {
            Ok(Ok(stream)) => {
                let session = stream.get_ref().1;
                let h2 = session.alpn_protocol() == Some(b"h2");
                let chain = session
                    .peer_certificates()
                    .map(|chain| chain.iter().map(|certificate| certificate.clone().into_owned()).collect());
                let certificate = chain.and_then(PeerCertificate::new).map(Arc::new);
                self.speak(stream, peer, seat, certificate, h2).await;
            }
            Ok(Err(cause)) => tracing::debug!(%peer, %cause, "TLS handshake failed"),
            Err(_) => tracing::debug!(%peer, "TLS handshake took too long"),
        }
    }

    async fn speak(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: SocketAddr,
        seat: Option<Seat>,
        certificate: Option<Arc<PeerCertificate>>,
        h2: bool,
    ) {
        let io = TokioIo::new(stream);
        let router = self.router;
        let requests = Arc::new(Requests::default());
        let counted = Arc::clone(&requests);
        let share = seat.as_ref().map(|seat| InFlight(seat.requests()));
        let service =
            hyper::service::service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
                let begun = Begun::one(&counted);
                request.extensions_mut().insert(Peer(peer));
                if let Some(share) = &share {
                    request.extensions_mut().insert(share.clone());
                }
                if let Some(certificate) = &certificate {
                    request.extensions_mut().insert(Arc::clone(certificate));
                }
                let answer = router.call(request);
                async move {
                    let answer = answer.await;
                    drop(begun);
                    answer
                }
            });
        let ended = if h2 {
            let connection = http2::Builder::new(TokioExecutor::new())
                .timer(TokioTimer::new())
                .keep_alive_interval(Some(self.limits.header_timeout))
                .keep_alive_timeout(self.limits.header_timeout)
                .max_concurrent_streams(MAX_STREAMS)
                .max_header_list_size(MAX_HEAD_BYTES as u32)
                .serve_connection(io, service);
            let idle = || requests.idle(self.limits.idle_timeout);
            finish(connection, self.phase, idle, |connection| connection.graceful_shutdown()).await
        } else {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(self.limits.header_timeout)
                .max_buf_size(MAX_HEAD_BYTES)
                .serve_connection(io, service);
            // Between requests the time-out of the head ends it first. This is for answers that are not read.
            let idle = || requests.idle(self.limits.idle_timeout.max(self.limits.header_timeout));
            finish(connection, self.phase, idle, |connection| {
                // A connection that has had no request yet would be closed in the face of its first. It gets that one;
                // the answer then closes it. If none comes, the header time-out does.
                if requests.begun.load(Ordering::Acquire) > 0 {
                    connection.graceful_shutdown();
                }
            })
            .await
        };
        match ended {
            Some(Ok(())) => {}
            Some(Err(cause)) => tracing::debug!(%peer, %cause, "connection ended"),
            None => tracing::debug!(%peer, "connection cut: its peer reads no answer"),
        }
    }
}

/// The requests of one connection.
#[derive(Debug, Default)]
struct Requests {
    begun: AtomicU64,
    done: AtomicU64,
}

impl Requests {
    /// Ready when for `limit` no request has begun and none was being answered.
    async fn idle(&self, limit: Duration) {
        loop {
            let before = self.begun.load(Ordering::Acquire);
            tokio::time::sleep(limit).await;
            let quiet = self.begun.load(Ordering::Acquire) == before;
            if quiet && self.done.load(Ordering::Acquire) == before {
                return;
            }
        }
    }
}

/// A request that is being answered, or was given up by its client.
struct Begun(Arc<Requests>);

impl Begun {
    fn one(requests: &Arc<Requests>) -> Self {
        requests.begun.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(requests))
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.0.done.fetch_add(1, Ordering::AcqRel);
    }
}

/// Drives a connection; when the server ends or the connection is idle, lets it answer what it has begun to read, and
/// no more. `None`: it had answered everything and was idle once more, so its peer does not read, and it is cut.
async fn finish<C: Future, I: Future<Output = ()>>(
    connection: C,
    mut phase: watch::Receiver<Phase>,
    idle: impl Fn() -> I,
    stop: impl FnOnce(std::pin::Pin<&mut C>),
) -> Option<C::Output> {
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // The connection first: bytes that have already arrived are read before it is told to stop.
        biased;
        output = connection.as_mut() => return Some(output),
        _ = phase.wait_for(|phase| *phase != Phase::Serve) => {}
        () = idle() => {}
    }
    stop(connection.as_mut());
    tokio::select! {
        biased;
        output = connection => Some(output),
        () = idle() => None,
    }
}
