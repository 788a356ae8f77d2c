//! A small HTTP/1.1 client: one connection to one server, over TLS 1.3, or in the clear to this machine. It follows no
//! redirect and asks no proxy.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{HeaderMap, Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use zeroize::Zeroizing;

use crate::error::Error;
use crate::files::shown;

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// More than any answer of the server: a thousand clients with their keys.
const LARGEST: usize = 64 << 20;

/// Where a server is.
pub(crate) struct Place<'a> {
    /// Host and port that are dialled.
    pub(crate) address: String,
    /// Host and port as the server calls itself.
    pub(crate) authority: &'a str,
    /// Whom to trust; `None` is plain HTTP.
    pub(crate) roots: Option<RootCertStore>,
}

/// A connection, and what was agreed for it.
pub(crate) struct Connection {
    authority: String,
    key_exchange: String,
    sender: SendRequest<Full<Bytes>>,
    tls: String,
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Zeroizing<Vec<u8>>,
}

impl Connection {
    /// Connects.
    /// Errors: `Network`, with a hint where the server is not trusted.
    pub(crate) async fn open(place: Place<'_>) -> Result<Self, Error> {
        let doing = "connecting to the server";
        within(doing, async {
            let address = &place.address;
            let stream = TcpStream::connect(address).await;
            let stream = stream.map_err(|cause| Error::Network {
                doing,
                what: format!("{address}: {}", plain(&cause.to_string())),
                hint: Some("is the server running, and is this its address?".into()),
            })?;
            let Some(roots) = place.roots else {
                let (key_exchange, tls) = ("none".into(), "none".into());
                let sender = speak(stream).await?;
                return Ok(Self { authority: place.authority.into(), key_exchange, sender, tls });
            };
            let name = ServerName::try_from(host(place.authority).to_owned());
            let name = name.map_err(|_| fault(doing, "its name cannot stand in a certificate"))?;
            let connector = TlsConnector::from(Arc::new(config(roots)?));
            let stream = connector.connect(name, stream).await.map_err(untrusted)?;
            let (_, session) = stream.get_ref();
            let key_exchange = session
                .negotiated_key_exchange_group()
                .map_or("unknown".into(), |group| format!("{:?}", group.name()));
            let tls = match session.protocol_version() {
                Some(rustls::ProtocolVersion::TLSv1_3) => "TLS 1.3".into(),
                other => format!("{other:?}"),
            };
            let sender = speak(stream).await?;
            Ok(Self { authority: place.authority.into(), key_exchange, sender, tls })
        })
        .await
    }

    /// The name of the key exchange, such as `X25519MLKEM768`.
    pub(crate) fn key_exchange(&self) -> &str {
        &self.key_exchange
    }

    /// The version of TLS.
    pub(crate) fn tls(&self) -> &str {
        &self.tls
    }

    /// Sends a request, and reads the whole answer.
    pub(crate) async fn send(
        &mut self,
        doing: &'static str,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Answer, Error> {
        let host = self.authority.parse().map_err(|cause| fault(doing, cause))?;
        request.headers_mut().insert(header::HOST, host);
        within(doing, async {
            self.sender.ready().await.map_err(|cause| fault(doing, cause))?;
            let response = self.sender.send_request(request).await.map_err(|cause| fault(doing, cause))?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, LARGEST).collect().await.map_err(|cause| fault(doing, cause))?;
            let body = Zeroizing::new(body.to_bytes().to_vec());
            Ok(Answer { status: head.status, headers: head.headers, body })
        })
        .await
    }
}

/// The authorities of a file, or those that the system trusts.
/// Errors: `File`, and `Key` for a file without a certificate.
pub(crate) fn roots(file: Option<&Path>) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    let Some(file) = file else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    };
    let pem = std::fs::read(file).map_err(|cause| Error::path(file, "read", cause))?;
    add(&mut roots, &pem)
        .map_err(|what| Error::key(&shown(file), what, Some("PEM blocks CERTIFICATE of the authority")))?;
    Ok(roots)
}

/// This certificate and no other.
pub(crate) fn only(certificate_pem: &str) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    add(&mut roots, certificate_pem.as_bytes()).map_err(|what| fault("the TLS handshake", what))?;
    Ok(roots)
}

/// The host of a host and port, without the brackets of an IPv6 address.
pub(crate) fn host(authority: &str) -> &str {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => host,
        _ => authority,
    };
    host.trim_start_matches('[').trim_end_matches(']')
}

fn add(roots: &mut RootCertStore, pem: &[u8]) -> Result<(), String> {
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|cause| cause.to_string())?;
        roots.add(certificate).map_err(|cause| cause.to_string())?;
    }
    match roots.is_empty() {
        true => Err("there is no certificate in it".into()),
        false => Ok(()),
    }
}

async fn speak(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<SendRequest<Full<Bytes>>, Error> {
    let (sender, connection) =
        handshake(TokioIo::new(stream)).await.map_err(|cause| fault("connecting to the server", cause))?;
    tokio::spawn(connection);
    Ok(sender)
}

fn config(roots: RootCertStore) -> Result<ClientConfig, Error> {
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|cause| fault("the TLS handshake", cause))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}

/// Why a handshake failed; a certificate that is not trusted is what people meet.
fn untrusted(cause: std::io::Error) -> Error {
    let known = cause.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    let hint = match known {
        Some(rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => {
            "the certificate is for another name: give the server's URL as its issuer is, and --connect where it is dialled"
        }
        Some(rustls::Error::InvalidCertificate(_)) => {
            "--ca FILE names whom to trust; that of a self-signed server is tls-self-signed.pem in its data directory"
        }
        _ => "the server must speak TLS 1.3 there",
    };
    Error::Network { doing: "the TLS handshake", what: cause.to_string(), hint: Some(hint.into()) }
}

async fn within<T>(doing: &'static str, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    match timeout(PATIENCE, work).await {
        Ok(done) => done,
        Err(_) => Err(fault(doing, format_args!("no answer within {} seconds", PATIENCE.as_secs()))),
    }
}

/// What went wrong on the way.
pub(crate) fn fault(doing: &'static str, what: impl ToString) -> Error {
    Error::Network { doing, what: what.to_string(), hint: None }
}

/// An error of the system in lower case and without its number.
fn plain(text: &str) -> String {
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}
