//! A small HTTP client over TLS 1.3: one connection to one server, whose certificate is known beforehand.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::HeaderValue;
use hyper::{Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use zeroize::Zeroizing;

use crate::error::Error;

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// More than any answer of the server.
const LARGEST: usize = 1 << 20;

/// A connection, and what was agreed for it.
pub(super) struct Connection {
    host: String,
    key_exchange: String,
    sender: SendRequest<Full<Bytes>>,
    tls: String,
}

/// Who asks, by client_secret_basic (RFC 6749 §2.3.1).
pub(super) struct Credentials<'a> {
    pub(super) id: &'a str,
    pub(super) secret: &'a str,
}

impl Connection {
    /// Connects; trusts this certificate and no other.
    pub(super) async fn open(address: SocketAddr, certificate_pem: &str) -> Result<Self, Error> {
        let doing = "the TLS handshake";
        let tls = within(doing, async {
            let stream = TcpStream::connect(address).await.map_err(|cause| fault(doing, cause))?;
            let name = ServerName::from(address.ip());
            let connector = TlsConnector::from(Arc::new(config(certificate_pem)?));
            connector.connect(name, stream).await.map_err(|cause| fault(doing, cause))
        });
        let tls = tls.await?;
        let (_, session) = tls.get_ref();
        let key_exchange = session
            .negotiated_key_exchange_group()
            .map_or("unknown".into(), |group| format!("{:?}", group.name()));
        let version = match session.protocol_version() {
            Some(rustls::ProtocolVersion::TLSv1_3) => "TLS 1.3".into(),
            other => format!("{other:?}"),
        };
        let (sender, connection) = handshake(TokioIo::new(tls)).await.map_err(|cause| fault(doing, cause))?;
        tokio::spawn(connection);
        Ok(Self { host: address.to_string(), key_exchange, sender, tls: version })
    }

    /// The name of the key exchange, such as `X25519MLKEM768`.
    pub(super) fn key_exchange(&self) -> &str {
        &self.key_exchange
    }

    /// The version of TLS.
    pub(super) fn tls(&self) -> &str {
        &self.tls
    }

    pub(super) async fn get(&mut self, doing: &'static str, path: &str) -> Result<Bytes, Error> {
        let request = Request::get(path).body(Full::default());
        self.send(doing, request.map_err(|cause| fault(doing, cause))?).await
    }

    /// Sends a form, and reads the JSON that comes back.
    pub(super) async fn post(
        &mut self,
        doing: &'static str,
        path: &str,
        who: &Credentials<'_>,
        form: String,
    ) -> Result<Value, Error> {
        // Both are base64url here, so the form encoding of RFC 6749 §2.3.1 leaves them as they are.
        let pair = Zeroizing::new(format!("{}:{}", who.id, who.secret));
        let basic = Zeroizing::new(format!("Basic {}", STANDARD.encode(pair.as_bytes())));
        let mut basic = HeaderValue::from_str(&basic).map_err(|cause| fault(doing, cause))?;
        basic.set_sensitive(true);
        let request = Request::post(path)
            .header(header::AUTHORIZATION, basic)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Full::from(form));
        let body = self.send(doing, request.map_err(|cause| fault(doing, cause))?).await?;
        serde_json::from_slice(&body).map_err(|cause| fault(doing, cause))
    }

    async fn send(&mut self, doing: &'static str, mut request: Request<Full<Bytes>>) -> Result<Bytes, Error> {
        let host = self.host.parse().map_err(|cause| fault(doing, cause))?;
        request.headers_mut().insert(header::HOST, host);
        within(doing, async {
            self.sender.ready().await.map_err(|cause| fault(doing, cause))?;
            let response = self.sender.send_request(request).await.map_err(|cause| fault(doing, cause))?;
            let status = response.status();
            let body = Limited::new(response.into_body(), LARGEST).collect().await;
            let body = body.map_err(|cause| fault(doing, cause))?.to_bytes();
            if status == StatusCode::OK {
                Ok(body)
            } else {
                Err(fault(doing, format_args!("the server said {status}")))
            }
        })
        .await
    }
}

fn config(certificate_pem: &str) -> Result<ClientConfig, Error> {
    let doing = "the TLS handshake";
    let certificate =
        CertificateDer::from_pem_slice(certificate_pem.as_bytes()).map_err(|cause| fault(doing, cause))?;
    let mut roots = RootCertStore::empty();
    roots.add(certificate).map_err(|cause| fault(doing, cause))?;
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|cause| fault(doing, cause))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}

async fn within<T>(doing: &'static str, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    match timeout(PATIENCE, work).await {
        Ok(done) => done,
        Err(_) => Err(fault(doing, format_args!("no answer within {} seconds", PATIENCE.as_secs()))),
    }
}

fn fault(doing: &'static str, what: impl ToString) -> Error {
    Error::Network { doing, what: what.to_string() }
}
