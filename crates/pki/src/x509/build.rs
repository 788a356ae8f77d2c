//! Making certificates.

use aws_lc_rs::digest;
use sealstone_mldsa::Randomness;

use super::Certificate;
use super::key_usage::KeyUsage;
use super::write::{Profile, sequence, time, unsigned};
use crate::der::{self, Reader, Tag};
use crate::error::Error;
use crate::name::Name;
use crate::sign::{Signer, VerifyingKey};

/// A serial number: positive, at most 20 bytes (RFC 5280 §4.1.2.2).
///
/// ```
/// use sealstone_pki::x509::Serial;
///
/// # fn main() -> Result<(), sealstone_pki::Error> {
/// let random = Serial::random(&mut sealstone_mldsa::OsRandom)?;
/// assert_ne!(random, Serial::random(&mut sealstone_mldsa::OsRandom)?);
///
/// // For whoever numbers certificates another way.
/// let counted = Serial::new(&1_000_u32.to_be_bytes())?;
/// assert_eq!(counted, Serial::new(&[0x03, 0xe8])?);
/// assert!(Serial::new(&[0]).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serial(Vec<u8>);

impl Serial {
    /// 158 random bits, so that no two certificates of any authority have the same.
    ///
    /// # Errors
    /// [`Error::Provider`] without randomness.
    pub fn random(rng: &mut impl Randomness) -> Result<Self, Error> {
        let mut bytes = [0; 20];
        rng.fill(&mut bytes).map_err(|_| Error::Provider)?;
        // Positive, and always of 20 bytes.
        bytes[0] = bytes[0] & 0x3f | 0x40;
        Ok(Self(bytes.to_vec()))
    }

    /// A number, big-endian.
    ///
    /// # Errors
    /// [`Error::Value`] for zero, and for more than 20 bytes as an INTEGER.
    pub fn new(number: &[u8]) -> Result<Self, Error> {
        let refused = || Error::Value { what: "a serial number", expected: "1 to 2^159 - 1" };
        let significant = &number[number.iter().take_while(|byte| **byte == 0).count()..];
        let sign = usize::from(*significant.first().ok_or_else(refused)? >= 0x80);
        if significant.len() + sign > 20 {
            return Err(refused());
        }
        Ok(Self([&[0][..sign], significant].concat()))
    }
}

/// A key's identifier by RFC 7093 §2, method 1: the leftmost 160 bits of SHA-256 of the key's bits, without the tag, the
/// length and the number of unused bits of their BIT STRING.
///
/// ```
/// use sealstone_pki::{KeyAlgorithm, PublicKeyInfo, spki, x509};
///
/// # fn main() -> Result<(), sealstone_pki::Error> {
/// let key = spki::to_der(&PublicKeyInfo::new(KeyAlgorithm::Ed25519, &[7; 32])?);
/// let id = x509::subject_key_id(&key)?;
/// // `head -c 32 /dev/zero | tr '\0' '\7' | sha256sum | head -c 8` prints 4bb06f8e.
/// assert_eq!(id[..4], [0x4b, 0xb0, 0x6f, 0x8e]);
/// assert!(x509::subject_key_id(b"no key").is_err());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// For what is no SubjectPublicKeyInfo.
pub fn subject_key_id(spki: &[u8]) -> Result<[u8; 20], Error> {
    let mut whole = Reader::new(spki)?;
    let mut fields = whole.take(der::SEQUENCE)?;
    whole.end()?;
    fields.take(der::SEQUENCE)?;
    let bits = fields.take_bits(der::BIT_STRING)?;
    fields.end()?;
    let mut id = [0; 20];
    id.copy_from_slice(&digest::digest(&digest::SHA256, bits).as_ref()[..20]);
    Ok(id)
}

/// A certificate to be.
///
/// ```
/// use sealstone_pki::Error;
/// use sealstone_pki::x509::{CertificateBuilder, Profile, Serial, subject_key_id};
///
/// # fn main() -> Result<(), sealstone_pki::Error> {
/// // `root_key`: the key of an authority.
/// # let root_key = sealstone_pki::PrivateKeyInfo::new(
/// #     sealstone_pki::KeyAlgorithm::MlDsa(sealstone_mldsa::Level::MlDsa44), &[1; 32], None)?;
/// # let root_key = sealstone_pki::sign::SigningKey::from_info(&root_key)?;
/// // `service_key`: the key of a service.
/// # let service_key = sealstone_pki::PrivateKeyInfo::new(
/// #     sealstone_pki::KeyAlgorithm::MlDsa(sealstone_mldsa::Level::MlDsa44), &[2; 32], None)?;
/// # let service_key = sealstone_pki::sign::SigningKey::from_info(&service_key)?;
/// let mut root = CertificateBuilder {
///     not_after: 1_900_000_000,
///     not_before: 1_800_000_000,
///     profile: Profile::authority(Some(0)),
///     serial: Serial::random(&mut sealstone_mldsa::OsRandom)?,
///     subject: "CN=Example Root,O=Example".parse()?,
/// };
/// let root_certificate = root.self_sign(&root_key)?;
///
/// let service = CertificateBuilder {
///     profile: Profile { alt_names: vec!["dns:billing.example.org".parse()?], ..Profile::end_entity() },
///     serial: Serial::random(&mut sealstone_mldsa::OsRandom)?,
///     subject: "CN=billing".parse()?,
///     ..root.clone()
/// };
/// let spki = sealstone_pki::spki::to_der(service_key.public());
/// let certificate = service.issue(&spki, &root_certificate, &root_key)?;
/// assert_eq!(certificate.issuer(), root_certificate.subject());
/// assert_eq!(certificate.subject_key_id(), Some(subject_key_id(&spki)?.as_slice()));
///
/// // With another key than that of the root's certificate nothing is signed in its name.
/// assert!(matches!(service.issue(&spki, &root_certificate, &service_key), Err(Error::Issuer { .. })));
/// // Neither is what no one would take.
/// root.not_after = root.not_before - 1;
/// assert!(matches!(root.self_sign(&root_key), Err(Error::Value { what: "a validity", .. })));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct CertificateBuilder {
    /// The last second in which it is valid, counted from 1970.
    pub not_after: i64,
    /// The first.
    pub not_before: i64,
    /// What else it says.
    pub profile: Profile,
    /// Its number.
    pub serial: Serial,
    /// Whom it is about.
    pub subject: Name,
}

impl CertificateBuilder {
    /// Signs it with the key that it is about.
    ///
    /// # Errors
    /// [`Error::Value`] for what RFC 5280 or RFC 9881 does not allow; [`Error::Provider`].
    pub fn self_sign(&self, key: &dyn Signer) -> Result<Certificate, Error> {
        if self.subject.is_empty() {
            return Err(Error::Value { what: "a certificate of one's own", expected: "a subject" });
        }
        let id = subject_key_id(key.spki())?;
        self.sign(key.spki(), &self.subject.to_der()?, &id, key)
    }

    /// Signs it, about the public key `spki` (SubjectPublicKeyInfo), as `issuer`.
    ///
    /// # Errors
    /// [`Error::Value`] for what RFC 5280 or RFC 9881 does not allow; [`Error::Issuer`] if the key is not the issuer's, or
    /// the issuer may not sign it; [`Error::Provider`].
    pub fn issue(&self, spki: &[u8], issuer: &Certificate, key: &dyn Signer) -> Result<Certificate, Error> {
        check_issuer(issuer, key, KeyUsage::KEY_CERT_SIGN)?;
        if !issuer.is_ca() {
            return Err(Error::Issuer { why: "it is no authority, its basicConstraints do not say cA" });
        }
        let is_ca = self.profile.basic_constraints.is_some_and(|constraints| constraints.ca);
        let limit = issuer.extensions().basic_constraints.and_then(|constraints| constraints.path_len);
        if is_ca && limit == Some(0) {
            return Err(Error::Issuer { why: "its path length is 0, so no authority may stand below it" });
        }
        let computed;
        let authority = match issuer.subject_key_id() {
            Some(id) => id,
            None => {
                computed = subject_key_id(issuer.public_key())?;
                &computed
            }
        };
        self.sign(spki, issuer.subject_der(), authority, key)
    }

    fn sign(
        &self,
        spki: &[u8],
        issuer: &[u8],
        authority: &[u8],
        key: &dyn Signer,
    ) -> Result<Certificate, Error> {
        self.check(spki)?;
        let algorithm = key.algorithm().to_der();
        let version = der::write(Tag { byte: 0xa0, name: "a version" }, &[&[2, 1, 2]]);
        let id = subject_key_id(spki)?;
        let extensions = self.profile.extensions(Some(authority), Some(&id), self.subject.is_empty())?;
        let extensions = der::write(der::SEQUENCE, &[&extensions]);
        let tbs = der::write(
            der::SEQUENCE,
            &[
                &version,
                &unsigned(&self.serial.0),
                &algorithm,
                issuer,
                &sequence(&[time(self.not_before)?, time(self.not_after)?]),
                &self.subject.to_der()?,
                spki,
                &der::write(Tag { byte: 0xa3, name: "extensions" }, &[&extensions]),
            ],
        );
        let signed = Certificate::from_der(&signed(&tbs, &algorithm, key)?)?;
        // A faulty machine, or a signer elsewhere with another key, is noticed here and not by others.
        signed.verify_signature(&VerifyingKey::from_spki(key.spki())?)?;
        Ok(signed)
    }

    fn check(&self, spki: &[u8]) -> Result<(), Error> {
        let refused = |what, expected| Err(Error::Value { what, expected });
        let profile = &self.profile;
        let is_ca = profile.basic_constraints.is_some_and(|constraints| constraints.ca);
        let usage = profile.key_usage.unwrap_or_default();
        if self.not_after < self.not_before {
            return refused("a validity", "an end after its beginning");
        }
        if self.subject.is_empty() && profile.alt_names.is_empty() {
            return refused("a certificate about nobody", "a subject, or a name beside it");
        }
        if is_ca && self.subject.is_empty() {
            return refused("an authority without a name", "a subject");
        }
        if is_ca && !usage.has(KeyUsage::KEY_CERT_SIGN) {
            return refused("an authority", "keyCertSign among its key uses");
        }
        if !is_ca && usage.has(KeyUsage::KEY_CERT_SIGN) {
            return refused("keyCertSign", "an authority");
        }
        if !is_ca && profile.name_constraints != super::NameConstraints::default() {
            return refused("name constraints", "an authority");
        }
        if profile
            .basic_constraints
            .is_some_and(|constraints| !constraints.ca && constraints.path_len.is_some())
        {
            return refused("a path length", "an authority");
        }
        check_signature_key(spki, profile.key_usage)
    }
}

/// RFC 9881 §5 for ML-DSA; the LAMPS draft says the same of composites.
fn check_signature_key(spki: &[u8], usage: Option<KeyUsage>) -> Result<(), Error> {
    let key = VerifyingKey::from_spki(spki);
    // Keys that are not for signatures may be certified too, as those of key encapsulation.
    let only_signs = match key {
        Ok(key) => key.is_post_quantum(),
        Err(Error::AlgorithmUnknown { .. }) => false,
        Err(other) => return Err(other),
    };
    match usage {
        Some(usage) if only_signs && !usage.is_for_signatures_only() => Err(Error::Value {
            what: "the key usage of a key that only signs",
            expected: "digitalSignature, nonRepudiation, keyCertSign or cRLSign, and no other (RFC 9881 §5)",
        }),
        Some(usage) if usage.is_empty() => {
            Err(Error::Value { what: "an empty key usage", expected: "one use at least" })
        }
        _ => Ok(()),
    }
}

/// The key is the issuer's, and may do this.
pub(super) fn check_issuer(issuer: &Certificate, key: &dyn Signer, usage: KeyUsage) -> Result<(), Error> {
    if issuer.public_key() != key.spki() {
        return Err(Error::Issuer { why: "the private key is not that of its certificate" });
    }
    match issuer.key_usage() {
        Some(allowed) if !allowed.has(usage) => Err(Error::Issuer {
            why: match usage {
                KeyUsage::CRL_SIGN => "its key usage is without cRLSign",
                _ => "its key usage is without keyCertSign",
            },
        }),
        _ => Ok(()),
    }
}

/// `SEQUENCE { tbs, algorithm, signature }`.
pub(super) fn signed(tbs: &[u8], algorithm: &[u8], key: &dyn Signer) -> Result<Vec<u8>, Error> {
    let signature = der::write_bits(der::BIT_STRING, &key.sign(tbs)?);
    Ok(der::write(der::SEQUENCE, &[tbs, algorithm, &signature]).to_vec())
}
