//! Client authentication by mutual TLS and certificate-bound tokens, RFC 8705.
//!
//! The handshake has shown that the peer holds the key of its certificate; whose certificate it is, is decided here,
//! for each request and at its time. A certificate comes from the handshake with this server and from nowhere else: a
//! header that a proxy may have written is a header that anybody may have written.
//!
//! One listener serves clients with a certificate and without (§5): the server asks for one and does not demand it, so
//! that there is no second address to announce in `mtls_endpoint_aliases`.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, TrustAnchor, UnixTime};
use sealstone_jose::UnixSeconds;
use sealstone_pki::Certificate;
use webpki::{EndEntityCert, KeyUsage};

use super::client_auth::{FAILED, refused};
use super::{Code, OAuthError};
use crate::client::sha256;
use crate::client::{CertificateName, Client, ClientKeys};

/// A certificate whose key the peer has shown to hold, in the TLS handshake of the connection.
#[derive(Debug)]
pub struct PeerCertificate {
    /// It and what the peer sent to lead to an authority.
    chain: Vec<CertificateDer<'static>>,
    said: Certificate,
    /// When the chain, once verified, is valid. A connection carries many requests.
    verified: OnceLock<Window>,
}

/// The first and the last second.
#[derive(Clone, Copy, Debug)]
struct Window(i64, i64);

impl Window {
    fn of(certificate: &Certificate) -> Self {
        Self(certificate.not_before(), certificate.not_after())
    }

    fn and(self, other: Self) -> Self {
        Self(self.0.max(other.0), self.1.min(other.1))
    }

    fn holds(self, now: UnixSeconds) -> bool {
        i64::try_from(now.0).is_ok_and(|now| (self.0..=self.1).contains(&now))
    }
}

impl PeerCertificate {
    /// The peer's chain, its own certificate first. `None` if there is none, or the first cannot be read.
    pub fn new(chain: Vec<CertificateDer<'static>>) -> Option<Self> {
        let said = Certificate::from_der(chain.first()?).ok()?;
        Some(Self { chain, said, verified: OnceLock::new() })
    }

    /// `x5t#S256`, RFC 8705 §3.1: the SHA-256 of the certificate in base64url.
    pub fn thumbprint(&self) -> String {
        URL_SAFE_NO_PAD.encode(sha256(&self.chain[0]))
    }

    /// RFC 8705 §2.1, first half: the certificate leads to one of `anchors`, is valid now, and may be a client's.
    fn verify(&self, anchors: &Anchors, now: UnixSeconds) -> Result<(), String> {
        if self.verified.get().is_some_and(|window| window.holds(now)) {
            return Ok(());
        }
        let own = EndEntityCert::try_from(&self.chain[0]).map_err(|cause| cause.to_string())?;
        let verified = own.verify_for_usage(
            aws_lc_rs::default_provider().signature_verification_algorithms.all,
            &anchors.0,
            &self.chain[1..],
            UnixTime::since_unix_epoch(Duration::from_secs(now.0)),
            KeyUsage::client_auth(),
            None,
            None,
        );
        let path = verified.map_err(|cause| cause.to_string())?;
        let mut window = Window::of(&self.said);
        for between in path.intermediate_certificates() {
            let between = Certificate::from_der(&between.der()).map_err(|cause| cause.to_string())?;
            window = window.and(Window::of(&between));
        }
        let _ = self.verified.set(window);
        Ok(())
    }
}

/// The authorities that certify clients: `tls.client_ca`. Empty: nobody.
#[derive(Clone, Debug, Default)]
pub struct Anchors(Vec<TrustAnchor<'static>>);

impl Anchors {
    /// Takes certificates of authorities.
    /// Errors: which one is none, counted from 1.
    pub fn new(certificates: &[CertificateDer<'_>]) -> Result<Self, String> {
        let anchor = |(index, certificate)| {
            let anchor = webpki::anchor_from_trusted_cert(certificate);
            anchor
                .map(|anchor| anchor.to_owned())
                .map_err(|cause| format!("certificate {}: {cause}", index + 1))
        };
        certificates.iter().enumerate().map(anchor).collect::<Result<_, _>>().map(Self)
    }
}

/// RFC 8705 §2.1, `tls_client_auth`: the certificate is of one of our authorities, and bears the client's name.
/// Errors: `invalid_client`.
pub(super) fn check_name(
    certificate: &PeerCertificate,
    client: &Client,
    name: &CertificateName,
    anchors: &Anchors,
    now: UnixSeconds,
) -> Result<(), OAuthError> {
    // The name first: it costs nothing, and a chain costs signatures.
    if !name.is_in(&certificate.said) {
        let (member, subject) = (name.member(), certificate.said.subject());
        return Err(wrong(client, format_args!("does not bear its `{member}`; its subject is `{subject}`")));
    }
    certificate.verify(anchors, now).map_err(|cause| wrong(client, format_args!("is not trusted: {cause}")))
}

/// RFC 8705 §2.2, `self_signed_tls_client_auth`: the certificate is one that the client registered. Who signed it does
/// not count, but its own time does: what ends is meant to end.
/// Errors: `invalid_client`.
pub(super) fn check_registered(
    certificate: &PeerCertificate,
    client: &Client,
    keys: &ClientKeys,
    now: UnixSeconds,
) -> Result<(), OAuthError> {
    if !keys.stand_for(&certificate.chain[0], &certificate.said) {
        let thumbprint = certificate.thumbprint();
        return Err(wrong(client, format_args!("is not registered: its x5t#S256 is `{thumbprint}`")));
    }
    match Window::of(&certificate.said).holds(now) {
        true => Ok(()),
        false => Err(wrong(client, "is over, or not valid yet")),
    }
}

/// What binds the client's tokens, RFC 8705 §3 and §4: the certificate of the connection, if the client is to have
/// bound tokens. Of a client that is not, a certificate is no reason to bind.
/// Errors: `invalid_request` if there is none.
pub fn binding(
    client: &Client,
    certificate: Option<&Arc<PeerCertificate>>,
) -> Result<Option<String>, OAuthError> {
    match (client.tls_client_certificate_bound_access_tokens, certificate) {
        (false, _) => Ok(None),
        (true, Some(certificate)) => Ok(Some(certificate.thumbprint())),
        (true, None) => Err(OAuthError::new(
            Code::InvalidRequest,
            "the client's tokens are bound to its certificate, and the connection has none",
        )),
    }
}

/// The peer learns that it failed; the operator learns why.
fn wrong(client: &Client, what: impl std::fmt::Display) -> OAuthError {
    refused(FAILED).hint(format!("client `{}`: its certificate {what}", client.id))
}
