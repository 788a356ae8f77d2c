//! Asks clients for a certificate and demands none, RFC 8705 §2 and §5.
//!
//! The handshake proves that the peer holds the certificate's key, and nothing else: whether the certificate is
//! anybody's is decided for each request, see [`crate::protocol::client_certificate`].

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use sealstone_pki::Certificate;

/// The most certificates of a chain.
const MOST: usize = 8;
/// The most bytes of a chain: three of ML-DSA-87 take 22 kB. A connection holds them as long as it lasts.
const MAX_BYTES: usize = 32 * 1024;

/// See the module.
#[derive(Debug)]
pub(super) struct Asking(pub(super) Arc<CryptoProvider>);

impl ClientCertVerifier for Asking {
    /// To go on without is no fault.
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    /// None: with a list of authorities many clients would keep a self-signed certificate to themselves.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    /// Well formed, for us and for the library that verifies chains; and not too much.
    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let bytes =
            end_entity.len() + intermediates.iter().map(|certificate| certificate.len()).sum::<usize>();
        if intermediates.len() + 1 > MOST || bytes > MAX_BYTES {
            return Err(CertificateError::ApplicationVerificationFailure.into());
        }
        ParsedCertificate::try_from(end_entity)?;
        match Certificate::from_der(end_entity) {
            Ok(_) => Ok(ClientCertVerified::assertion()),
            Err(_) => Err(CertificateError::BadEncoding.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
