//! Keys of two halves as SubjectPublicKeyInfo and PKCS#8, as draft-ietf-lamps-pq-composite-sigs-19 has them (section
//! 5): the raw concatenation of the halves, parameters absent. Types of their own, so that no reader of standard keys
//! takes one. The arithmetic is in `sealstone-composite`.
//!
//! ```
//! use sealstone_pki::Error;
//! use sealstone_pki::composite::{self, Algorithm, CompositeKey, PrivateKey};
//! use sealstone_pki::x509::{CertificateBuilder, Profile, Serial};
//!
//! # fn main() -> Result<(), sealstone_pki::Error> {
//! // Kept in a file, and read again.
//! let key = PrivateKey::generate(Algorithm::MlDsa65Ed25519).map_err(Error::Composite)?;
//! let file = composite::to_pkcs8_pem(&key);
//! assert!(file.starts_with("-----BEGIN PRIVATE KEY-----\n"));
//! let key = composite::from_pkcs8_pem(&file)?;
//! assert_eq!(composite::from_pkcs8(&composite::to_pkcs8(&key))?.public(), key.public());
//!
//! // The public half, for others.
//! let public = composite::to_spki_pem(key.public());
//! assert_eq!(&composite::from_spki_pem(&public)?, key.public());
//! assert!(sealstone_pki::spki::from_pem(&public).is_err(), "no reader of standard keys takes it");
//!
//! // A certificate with it.
//! let spki = composite::to_spki(key.public());
//! let signer = CompositeKey::new(key);
//! let certificate = CertificateBuilder {
//!     not_after: 1_900_000_000,
//!     not_before: 1_800_000_000,
//!     profile: Profile::end_entity(),
//!     serial: Serial::random(&mut sealstone_mldsa::OsRandom)?,
//!     subject: "CN=two halves".parse()?,
//! }
//! .self_sign(&signer)?;
//! assert_eq!(certificate.public_key(), spki);
//! assert_eq!(composite::from_spki(certificate.public_key())?.algorithm(), Algorithm::MlDsa65Ed25519);
//! # Ok(())
//! # }
//! ```

pub use sealstone_composite::{Algorithm, PrivateKey, PublicKey};
use zeroize::Zeroizing;

use crate::asymmetric;
use crate::der::{self, Reader};
use crate::error::Error;
use crate::pem;
use crate::sign::Signer;
use crate::signature::{SignatureAlgorithm, absent, composite_by_oid, composite_oid, unknown};

/// What is implemented, for messages.
pub const DRAFT: &str = "draft-ietf-lamps-pq-composite-sigs-19";

/// Reads a PEM block `PUBLIC KEY`.
///
/// # Errors
/// As [`from_spki`].
pub fn from_spki_pem(text: &str) -> Result<PublicKey, Error> {
    from_spki(&pem::decode(text, "PUBLIC KEY")?.1)
}

/// Writes a PEM block `PUBLIC KEY`.
pub fn to_spki_pem(key: &PublicKey) -> String {
    pem::encode("PUBLIC KEY", &to_spki(key)).to_string()
}

/// Reads a SubjectPublicKeyInfo of a composite.
///
/// # Errors
/// [`Error::AlgorithmRefused`] for a composite that is known by name only, [`Error::AlgorithmUnknown`],
/// [`Error::Composite`], or what is wrong with the DER.
pub fn from_spki(bytes: &[u8]) -> Result<PublicKey, Error> {
    let mut whole = Reader::new(bytes)?;
    let mut fields = whole.take(der::SEQUENCE)?;
    whole.end()?;
    let algorithm = read_algorithm(&mut fields)?;
    let key = fields.take_bits(der::BIT_STRING)?;
    fields.end()?;
    PublicKey::decode(algorithm, key).map_err(Error::Composite)
}

/// The same for bytes that may be of another algorithm, which gives `None`.
pub(crate) fn from_spki_if(bytes: &[u8]) -> Option<Result<PublicKey, Error>> {
    match from_spki(bytes) {
        Err(
            Error::AlgorithmUnknown { .. }
            | Error::Der { .. }
            | Error::TooLarge { .. }
            | Error::TrailingData { .. },
        ) => None,
        other => Some(other),
    }
}

/// Writes a SubjectPublicKeyInfo.
pub fn to_spki(key: &PublicKey) -> Vec<u8> {
    let bits = der::write_bits(der::BIT_STRING, key.encode());
    der::write(der::SEQUENCE, &[&write_algorithm(key.algorithm()), &bits]).to_vec()
}

/// Reads a PKCS#8 (RFC 5958) of a composite. A public key in it must be that of the private key; attributes are passed over.
///
/// # Errors
/// As [`from_spki`], and [`Error::Inconsistent`].
pub fn from_pkcs8(bytes: &[u8]) -> Result<PrivateKey, Error> {
    let wrapped = asymmetric::read(bytes, read_algorithm)?;
    let key = PrivateKey::decode(wrapped.algorithm, wrapped.private.rest()).map_err(Error::Composite)?;
    if wrapped.public.is_some_and(|public| public != key.public().encode()) {
        return Err(Error::Inconsistent { parts: "the public key is not that of the private key" });
    }
    Ok(key)
}

/// Writes a PKCS#8, version 0 and without the public key.
pub fn to_pkcs8(key: &PrivateKey) -> Zeroizing<Vec<u8>> {
    asymmetric::write(&write_algorithm(key.public().algorithm()), key.encode())
}

/// Reads a PEM block `PRIVATE KEY`.
///
/// # Errors
/// As [`from_pkcs8`].
pub fn from_pkcs8_pem(text: &str) -> Result<PrivateKey, Error> {
    from_pkcs8(&pem::decode(text, "PRIVATE KEY")?.1)
}

/// Writes a PEM block `PRIVATE KEY`.
pub fn to_pkcs8_pem(key: &PrivateKey) -> Zeroizing<String> {
    pem::encode("PRIVATE KEY", &to_pkcs8(key))
}

/// A private key of two halves, ready to sign certificates: with an empty context, both halves, ML-DSA hedged.
#[derive(Debug)]
pub struct CompositeKey {
    key: PrivateKey,
    spki: Vec<u8>,
}

impl CompositeKey {
    /// Takes a private key.
    pub fn new(key: PrivateKey) -> Self {
        let spki = to_spki(key.public());
        Self { key, spki }
    }
}

impl Signer for CompositeKey {
    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::Composite(self.key.public().algorithm())
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        self.key.sign(&[], message).map_err(Error::Composite)
    }

    fn spki(&self) -> &[u8] {
        &self.spki
    }
}

fn read_algorithm(outer: &mut Reader<'_>) -> Result<Algorithm, Error> {
    let mut fields = outer.take(der::SEQUENCE)?;
    let oid = fields.take(der::OBJECT_IDENTIFIER)?.rest();
    let algorithm = composite_by_oid(oid).ok_or_else(|| unknown(oid))?;
    absent(&fields)?;
    Ok(algorithm)
}

fn write_algorithm(algorithm: Algorithm) -> Zeroizing<Vec<u8>> {
    let oid = der::write(der::OBJECT_IDENTIFIER, &[&composite_oid(algorithm)]);
    der::write(der::SEQUENCE, &[&oid])
}
