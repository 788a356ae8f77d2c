//! One connection: TLS 1.3, HTTP/1.1, kept alive.

use std::cell::Cell;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use memchr::memmem::Finder;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpSocket;
use tokio_rustls::TlsConnector;

use crate::{Plan, Request};

/// The name in the certificate of every server.
const NAME: &str = "localhost";

/// Where connections go, and how a good answer is told from another.
pub(crate) struct Target {
    address: SocketAddr,
    contains: Finder<'static>,
    /// Where connections come from, if that matters.
    from: Vec<IpAddr>,
    host: HeaderValue,
    opened: Cell<usize>,
    /// Whether a good answer is one that refuses.
    refused: bool,
    tls: TlsConnector,
}

impl Target {
    pub(crate) fn new(plan: &Plan) -> Result<Self, String> {
        let Plan { address, certificate, contains, from, refused, .. } = plan;
        let host = HeaderValue::from_str(&format!("{NAME}:{}", address.port()));
        Ok(Self {
            address: *address,
            contains: Finder::new(contains).into_owned(),
            from: from.clone(),
            host: host.map_err(|why| why.to_string())?,
            opened: Cell::new(0),
            refused: *refused,
            tls: TlsConnector::from(Arc::new(config(certificate)?)),
        })
    }
}

/// One cipher suite, which TLS 1.3 demands of everybody (RFC 8446 §9.1): so no server has a cheaper one than another.
fn config(certificate: &Path) -> Result<ClientConfig, String> {
    let fault = |why: &dyn std::fmt::Display| format!("{}: {why}", certificate.display());
    let pem = fs::read(certificate).map_err(|why| fault(&why))?;
    let der = CertificateDer::from_pem_slice(&pem).map_err(|why| fault(&why))?;
    let mut roots = RootCertStore::empty();
    roots.add(der).map_err(|why| fault(&why))?;
    let provider = CryptoProvider {
        cipher_suites: vec![aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256],
        ..aws_lc_rs::default_provider()
    };
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|why| fault(&why))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// A request, all of it made beforehand. Copies share their bytes.
#[derive(Clone)]
pub(crate) struct Prepared {
    body: Bytes,
    headers: HeaderMap,
    method: Method,
    uri: Uri,
}

/// The header of a form.
pub(crate) const FORM: [(HeaderName, HeaderValue); 1] =
    [(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"))];

impl Prepared {
    pub(crate) fn new(
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: impl Into<Bytes>,
    ) -> Result<Self, String> {
        let uri = path.parse().map_err(|why| format!("the path: {why}"))?;
        Ok(Self { body: body.into(), headers, method, uri })
    }

    pub(crate) fn get(path: &str, headers: HeaderMap) -> Result<Self, String> {
        Self::new(Method::GET, path, headers, Bytes::new())
    }

    /// With more behind its body.
    pub(crate) fn with_more(&self, more: &str) -> Self {
        Self { body: [&self.body, more.as_bytes()].concat().into(), ..self.clone() }
    }
}

pub(crate) fn prepare(path: &str, request: Request) -> Result<Prepared, String> {
    let mut headers = HeaderMap::from_iter(FORM);
    if let Some(value) = request.authorization {
        let value = HeaderValue::from_str(&value).map_err(|why| format!("a request: {why}"))?;
        headers.insert(AUTHORIZATION, value);
    }
    Prepared::new(Method::POST, path, headers, request.body)
}

/// An open connection.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    tls: String,
}

impl Connection {
    pub(crate) async fn open(target: &Target) -> Result<Self, String> {
        let fault = |why: &dyn std::fmt::Display| format!("connecting: {why}");
        let socket = TcpSocket::new_v4().map_err(|why| fault(&why))?;
        let nth = target.opened.replace(target.opened.get() + 1);
        if let Some(from) = target.from.get(nth % target.from.len().max(1)) {
            socket.bind(SocketAddr::new(*from, 0)).map_err(|why| fault(&why))?;
        }
        let stream = socket.connect(target.address).await.map_err(|why| fault(&why))?;
        stream.set_nodelay(true).map_err(|why| fault(&why))?;
        let name = ServerName::try_from(NAME).map_err(|why| fault(&why))?;
        let stream = target.tls.connect(name, stream).await.map_err(|why| fault(&why))?;
        let tls = agreed(stream.get_ref().1);
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|why| fault(&why))?;
        tokio::task::spawn_local(connection);
        Ok(Self { sender, tls })
    }

    /// What the handshake agreed on.
    pub(crate) fn tls(&self) -> &str {
        &self.tls
    }

    /// Whether the server has said that it ends the connection.
    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Sends a request. Errors: what broke.
    pub(crate) async fn exchange(
        &mut self,
        target: &Target,
        request: &Prepared,
    ) -> Result<Response<Incoming>, String> {
        let mut sent = hyper::Request::new(Full::new(request.body.clone()));
        *sent.method_mut() = request.method.clone();
        *sent.uri_mut() = request.uri.clone();
        *sent.headers_mut() = request.headers.clone();
        sent.headers_mut().insert(HOST, target.host.clone());
        let fault = |why: hyper::Error| format!("sending: {why}");
        self.sender.ready().await.map_err(fault)?;
        self.sender.send_request(sent).await.map_err(fault)
    }

    /// The body of a good answer.
    /// Errors: any other status, an answer without the word, and what broke.
    pub(crate) async fn send(&mut self, target: &Target, request: &Prepared) -> Result<Bytes, String> {
        let response = self.exchange(target, request).await?;
        let status = response.status();
        let body = response.into_body().collect().await.map_err(|why| format!("sending: {why}"))?.to_bytes();
        let good = match target.refused {
            true => status.is_client_error() || status == StatusCode::SERVICE_UNAVAILABLE,
            false => status == StatusCode::OK,
        };
        if !good {
            return Err(format!("status {}: {}", status.as_u16(), start(&body)));
        }
        if target.contains.find(&body).is_none() {
            return Err(format!("another answer: {}", start(&body)));
        }
        Ok(body)
    }
}

/// `TLS13_AES_128_GCM_SHA256, X25519`.
fn agreed(session: &rustls::ClientConnection) -> String {
    let suite = session.negotiated_cipher_suite().map(|suite| format!("{:?}", suite.suite()));
    let group = session.negotiated_key_exchange_group().map(|group| format!("{:?}", group.name()));
    let said = [suite, group].map(|name| name.unwrap_or_else(|| "unknown".to_owned()));
    said.join(", ")
}

/// Enough of a body to see what it says.
fn start(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned()
}
