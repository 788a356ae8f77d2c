//! TLS 1.3 and nothing older, with X25519MLKEM768 preferred.

mod asking;

use std::fmt;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use asking::Asking;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{self, kx_group};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{Acceptor, ClientHello};
use rustls::{NamedGroup, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use crate::Error;
use crate::config::ClientCertificates;
use crate::protocol::client_certificate::Anchors;

/// A certificate chain and its private key. `Debug` shows neither.
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    pem: String,
}

impl Identity {
    /// Reads a PEM chain and a PEM key.
    /// Errors: `Certificate`, also for a key file that everyone may read.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, Error> {
        let fault = |path: &Path, what: &dyn fmt::Display| Error::Certificate {
            what: format!("{}: {what}", path.display()),
        };
        let mode = fs::metadata(key).map_err(|cause| fault(key, &cause))?.mode();
        if mode & 0o007 != 0 {
            return Err(fault(
                key,
                &format_args!("mode {:04o} lets everyone in, 0600 or 0640 expected", mode & 0o7777),
            ));
        }
        let pem = fs::read_to_string(certificate).map_err(|cause| fault(certificate, &cause))?;
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
        let chain = chain.map_err(|cause| fault(certificate, &cause))?;
        if chain.is_empty() {
            return Err(fault(certificate, &"no certificate in it"));
        }
        let key = PrivateKeyDer::from_pem_file(key).map_err(|cause| fault(key, &cause))?;
        Ok(Self { chain, key, pem })
    }

    /// The chain as PEM, for a client that is to trust it.
    pub fn certificate_pem(&self) -> &str {
        &self.pem
    }

    /// The first certificate as DER.
    pub fn certificate_der(&self) -> &[u8] {
        &self.chain[0]
    }

    /// How the server speaks TLS.
    /// Errors: `Certificate` if the key is not the certificate's.
    pub(crate) fn terms(self, clients: ClientCertificates) -> Result<Terms, Error> {
        // Tickets of stateless resumption are encrypted under keys of this process that change every six hours.
        let ticketer = aws_lc_rs::Ticketer::new().map_err(fault)?;
        let terms = |groups| -> Result<Arc<ServerConfig>, Error> {
            let provider = CryptoProvider { kx_groups: groups, ..aws_lc_rs::default_provider() };
            let provider = Arc::new(provider);
            let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
                .with_protocol_versions(&[&rustls::version::TLS13])
                .map_err(fault)?;
            let builder = match clients {
                ClientCertificates::Ask => builder.with_client_cert_verifier(Arc::new(Asking(provider))),
                ClientCertificates::Never => builder.with_no_client_auth(),
            };
            let mut config =
                builder.with_single_cert(self.chain.clone(), self.key.clone_key()).map_err(fault)?;
            config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
            config.ticketer = Arc::clone(&ticketer);
            Ok(Arc::new(config))
        };
        let classical = vec![kx_group::X25519, kx_group::SECP256R1, kx_group::SECP384R1];
        Ok(Terms { hybrid: terms(vec![kx_group::X25519MLKEM768])?, classical: terms(classical)? })
    }
}

/// The authorities of `tls.client_ca`: a PEM file with at least one certificate, and no other kind of block counts.
/// Errors: `Certificate`.
pub(crate) fn anchors(path: &Path) -> Result<Anchors, Error> {
    let fault = |what: &dyn fmt::Display| Error::Certificate { what: format!("{}: {what}", path.display()) };
    let pem = fs::read(path).map_err(|cause| fault(&cause))?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let certificates = certificates.map_err(|cause| fault(&cause))?;
    if certificates.is_empty() {
        return Err(fault(&"no certificate in it"));
    }
    Anchors::new(&certificates).map_err(|what| fault(&what))
}

/// TLS 1.3 with HTTP/2 before HTTP/1.1. A client that knows X25519MLKEM768 gets it, in whatever order it names its
/// groups: rustls alone would follow the client's order.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    hybrid: Arc<ServerConfig>,
    classical: Arc<ServerConfig>,
}

impl Terms {
    /// Makes a connection secure.
    pub(crate) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
    ) -> io::Result<TlsStream<S>> {
        let started = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
        let config = self.choose(&started.client_hello());
        started.into_stream(config).await
    }

    fn choose(&self, hello: &ClientHello<'_>) -> Arc<ServerConfig> {
        match hello.named_groups().is_some_and(|groups| groups.contains(&NamedGroup::X25519MLKEM768)) {
            true => Arc::clone(&self.hybrid),
            false => Arc::clone(&self.classical),
        }
    }
}

fn fault(cause: rustls::Error) -> Error {
    Error::Certificate { what: cause.to_string() }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity(..)")
    }
}

/// A fresh certificate for these host names and addresses, signed by its own key (ECDSA P-256).
pub fn self_signed(names: &[String]) -> Result<Identity, Error> {
    let fault = |cause: rcgen::Error| Error::Certificate { what: cause.to_string() };
    let key = rcgen::KeyPair::generate().map_err(fault)?;
    let mut parameters = rcgen::CertificateParams::new(names.to_vec()).map_err(fault)?;
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    parameters.distinguished_name.push(rcgen::DnType::CommonName, "Sealstone self-signed");
    parameters.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
    let certificate = parameters.self_signed(&key).map_err(fault)?;
    let der = PrivatePkcs8KeyDer::from(key.serialize_der());
    Ok(Identity { chain: vec![certificate.der().clone()], key: der.into(), pem: certificate.pem() })
}

/// The names a self-signed certificate should carry for an issuer and the address that is listened on.
pub(crate) fn names(host: &str, address: IpAddr) -> Vec<String> {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let mut names = vec![host.to_owned()];
    let more = match address.is_loopback() {
        true => vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()],
        false if address.is_unspecified() => vec!["localhost".to_owned()],
        false => vec![address.to_string()],
    };
    names.extend(more.into_iter().filter(|name| name != host));
    names
}
