//! One connection: TLS 1.3, HTTP/1.1, kept alive.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue};
use hyper::{Method, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use memchr::memmem::Finder;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::Request;

/// The name in the certificate of every server.
const NAME: &str = "localhost";

/// Where connections go, and how a good answer is told from another.
pub(crate) struct Target {
    address: SocketAddr,
    contains: Finder<'static>,
    host: HeaderValue,
    tls: TlsConnector,
}

impl Target {
    pub(crate) fn new(address: SocketAddr, certificate: &Path, contains: &str) -> Result<Self, String> {
        let host = HeaderValue::from_str(&format!("{NAME}:{}", address.port()));
        Ok(Self {
            address,
            contains: Finder::new(contains).into_owned(),
            host: host.map_err(|why| why.to_string())?,
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
    uri: Uri,
}

pub(crate) fn prepare(path: &str, request: Request) -> Result<Prepared, String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    if let Some(value) = request.authorization {
        let value = HeaderValue::from_str(&value).map_err(|why| format!("a request: {why}"))?;
        headers.insert(AUTHORIZATION, value);
    }
    let uri = path.parse().map_err(|why| format!("the path: {why}"))?;
    Ok(Prepared { body: request.body.into(), headers, uri })
}

/// An open connection.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    tls: String,
}

impl Connection {
    pub(crate) async fn open(target: &Target) -> Result<Self, String> {
        let fault = |why: &dyn std::fmt::Display| format!("connecting: {why}");
        let stream = TcpStream::connect(target.address).await.map_err(|why| fault(&why))?;
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

    /// The body of a good answer.
    /// Errors: any other status, an answer without the word, and what broke.
    pub(crate) async fn send(&mut self, target: &Target, request: &Prepared) -> Result<Bytes, String> {
        let mut sent = hyper::Request::new(Full::new(request.body.clone()));
        *sent.method_mut() = Method::POST;
        *sent.uri_mut() = request.uri.clone();
        *sent.headers_mut() = request.headers.clone();
        sent.headers_mut().insert(HOST, target.host.clone());
        let fault = |why: hyper::Error| format!("sending: {why}");
        self.sender.ready().await.map_err(fault)?;
        let response = self.sender.send_request(sent).await.map_err(fault)?;
        let status = response.status();
        let body = response.into_body().collect().await.map_err(fault)?.to_bytes();
        if status != StatusCode::OK {
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
