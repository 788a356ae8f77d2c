//! What the server fetches and sends because a client's registration says so: over HTTPS, in the public Internet unless the
//! configuration allows more, within bounds of time and size, and without being sent on.

mod key_sets;
mod logouts;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HOST, IF_NONE_MATCH, USER_AGENT};
use hyper::http::request;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::client::HttpsUri;

pub(crate) use logouts::Logouts;

pub use sealstone_jose::remote::address;

pub use key_sets::{COOLDOWN_SECONDS, FRESH_SECONDS, KeySets, STALE_SECONDS, Unavailable};

/// The most bytes of a document: a hundred P-256 keys with a certificate each, or thirty keys of ML-DSA-87.
pub const MAX_BYTES: usize = 128 * 1024;
/// The most bytes of an answer's head.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// Documents at a time; the next ones wait.
const AT_A_TIME: usize = 16;

/// Finds the addresses of a host.
pub trait Resolver: Send + Sync + 'static {
    /// The addresses, best first. Asked once for each connection.
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> Addresses<'a>;
}

/// A resolver's answer.
pub type Addresses<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>>;

/// The system's resolver.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> Addresses<'a> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
    }
}

/// Fetches documents, and sends forms.
pub struct Outbound {
    allow_private_addresses: bool,
    ca: Option<PathBuf>,
    resolver: Arc<dyn Resolver>,
    slots: Semaphore,
    time_limit: Duration,
    /// Read when it is first needed: most servers fetch nothing.
    tls: OnceLock<Arc<ClientConfig>>,
}

/// What a fetch brought.
#[derive(Debug)]
pub(crate) enum Fetched {
    /// The document, and what to ask with next time.
    Document { body: Bytes, etag: Option<String> },
    /// The one that was there: RFC 9110 §15.4.5.
    Unchanged,
}

impl Outbound {
    /// As the configuration says.
    pub fn new(config: &crate::config::Outbound, resolver: Arc<dyn Resolver>) -> Self {
        Self {
            allow_private_addresses: config.allow_private_addresses,
            ca: config.ca.clone(),
            resolver,
            slots: Semaphore::new(AT_A_TIME),
            time_limit: Duration::from_secs(config.timeout_seconds.get()),
            tls: OnceLock::new(),
        }
    }

    /// Gets a document, or learns that it is still the one of `etag`.
    /// Errors: for the operator, what went wrong.
    pub(crate) async fn get(&self, uri: &HttpsUri, etag: Option<&str>) -> Result<Fetched, String> {
        let mut request =
            Request::get(uri.path()).header(ACCEPT, "application/jwk-set+json, application/json");
        if let Some(etag) = etag {
            request = request.header(IF_NONE_MATCH, etag);
        }
        let had_etag = etag.is_some();
        self.ask(uri, request, Bytes::new(), async |response| document(response, had_etag).await).await
    }

    /// Posts a form. What the answer says besides its status is not read.
    /// Errors: for the operator, what went wrong; also any status but 200 and 204.
    pub(crate) async fn post(&self, uri: &HttpsUri, form: Bytes) -> Result<(), String> {
        let request = Request::post(uri.path()).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let taken = async |response: Response<Incoming>| match response.status() {
            StatusCode::OK | StatusCode::NO_CONTENT => Ok(()),
            status => Err(refused(status)),
        };
        self.ask(uri, request, form, taken).await
    }

    /// One request, when it is its turn and within its time.
    async fn ask<T>(
        &self,
        uri: &HttpsUri,
        request: request::Builder,
        body: Bytes,
        read: impl AsyncFnOnce(Response<Incoming>) -> Result<T, String>,
    ) -> Result<T, String> {
        let asked = async {
            let _slot = self.slots.acquire().await.map_err(|cause| cause.to_string())?;
            let request = request.header(HOST, uri.authority()).header(USER_AGENT, "sealstone");
            let request = request.body(Full::new(body)).map_err(|cause| cause.to_string())?;
            exchange(self.connect(uri).await?, request, read).await
        };
        let done = tokio::time::timeout(self.time_limit, asked).await;
        done.unwrap_or_else(|_| Err(format!("no answer within {} seconds", self.time_limit.as_secs())))
    }

    async fn connect(&self, uri: &HttpsUri) -> Result<TlsStream<TcpStream>, String> {
        let (host, port) = (uri.host(), uri.port());
        let tls = self.tls()?;
        let name = ServerName::try_from(host.to_owned()).map_err(|_| "its host is not a name".to_owned())?;
        let found = match host.parse::<IpAddr>() {
            Ok(literal) => vec![SocketAddr::new(literal, port)],
            Err(_) => {
                let found = self.resolver.resolve(host, port).await;
                found.map_err(|cause| format!("its host is not found: {cause}"))?
            }
        };
        let mut failed = match found.first() {
            None => "its host has no address".to_owned(),
            Some(first) => format!("its address {} is not public", first.ip()),
        };
        for address in found {
            if !address::is_allowed(address.ip(), self.allow_private_addresses) {
                continue;
            }
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    let secured = TlsConnector::from(tls).connect(name, stream).await;
                    return secured.map_err(|cause| format!("TLS: {cause}"));
                }
                Err(cause) => failed = format!("{}: {cause}", address.ip()),
            }
        }
        Err(failed)
    }

    fn tls(&self) -> Result<Arc<ClientConfig>, String> {
        if let Some(tls) = self.tls.get() {
            return Ok(Arc::clone(tls));
        }
        let mut roots = RootCertStore::empty();
        match &self.ca {
            Some(path) => {
                let fault =
                    |cause: &dyn std::fmt::Display| format!("`outbound.ca` {}: {cause}", path.display());
                for certificate in CertificateDer::pem_file_iter(path).map_err(|cause| fault(&cause))? {
                    let certificate = certificate.map_err(|cause| fault(&cause))?;
                    roots.add(certificate).map_err(|cause| fault(&cause))?;
                }
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        if roots.is_empty() {
            return Err("no authority to trust: the system has none, and `outbound.ca` names none".into());
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut tls = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|cause| cause.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::clone(self.tls.get_or_init(|| Arc::new(tls))))
    }
}

impl std::fmt::Debug for Outbound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outbound").finish_non_exhaustive()
    }
}

/// One request and what `read` makes of its answer. The connection ends with it.
async fn exchange<T>(
    stream: TlsStream<TcpStream>,
    request: Request<Full<Bytes>>,
    read: impl AsyncFnOnce(Response<Incoming>) -> Result<T, String>,
) -> Result<T, String> {
    let said = |cause: hyper::Error| cause.to_string();
    let mut builder = hyper::client::conn::http1::Builder::new();
    builder.max_buf_size(MAX_HEAD_BYTES);
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(said)?;
    let mut connection = pin!(connection);
    let mut answer = pin!(async { read(sender.send_request(request).await.map_err(said)?).await });
    tokio::select! {
        biased;
        answer = &mut answer => answer,
        // The peer may close before its last bytes are read here.
        _ = &mut connection => answer.await,
    }
}

/// RFC 9110 §15: what is not a good answer.
fn refused(status: StatusCode) -> String {
    match status.is_redirection() {
        true => format!("status {status}, and nothing is followed"),
        false => format!("status {status}"),
    }
}

/// The document in an answer.
async fn document(response: Response<Incoming>, had_etag: bool) -> Result<Fetched, String> {
    let (head, body) = response.into_parts();
    match head.status {
        StatusCode::OK => {}
        StatusCode::NOT_MODIFIED if had_etag => return Ok(Fetched::Unchanged),
        status => return Err(refused(status)),
    }
    // None was asked for, and what is small on the wire may be large here.
    if head.headers.contains_key(CONTENT_ENCODING) {
        return Err("it is compressed".into());
    }
    let etag = head.headers.get(ETAG).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let body = Limited::new(body, MAX_BYTES).collect().await.map_err(|cause| cause.to_string())?;
    Ok(Fetched::Document { body: body.to_bytes(), etag })
}
