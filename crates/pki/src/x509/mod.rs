//! Certificates (RFC 5280 §4): read, made, and followed up to one that is trusted; requests for them (RFC 2986), and
//! lists of those that were revoked (RFC 5280 §5).
//!
//! Reading a certificate verifies nothing: neither a signature nor a chain.
//!
//! ```
//! # #[cfg(feature = "certificates")]
//! # fn main() -> Result<(), sealstone_pki::Error> {
//! use sealstone_mldsa::{Level, OsRandom};
//! use sealstone_pki::sign::SigningKey;
//! use sealstone_pki::x509::path::{self, Policy};
//! use sealstone_pki::x509::{CertificateBuilder, Csr, Profile, Serial};
//! use sealstone_pki::{Error, KeyAlgorithm, PrivateKeyInfo};
//!
//! let now = 1_800_000_000;
//! let key = |seed: [u8; 32]| -> Result<SigningKey, Error> {
//!     SigningKey::from_info(&PrivateKeyInfo::new(KeyAlgorithm::MlDsa(Level::MlDsa65), &seed, None)?)
//! };
//! let of = |subject: &str, profile: Profile| -> Result<CertificateBuilder, Error> {
//!     let (not_before, not_after) = (now, now + 90 * 86_400);
//!     let serial = Serial::random(&mut OsRandom)?;
//!     Ok(CertificateBuilder { not_after, not_before, profile, serial, subject: subject.parse()? })
//! };
//! let (root_key, service_key) = (key([1; 32])?, key([2; 32])?);
//! let root = of("CN=Root", Profile::authority(None))?.self_sign(&root_key)?;
//!
//! let request = Csr::new(&"CN=billing".parse()?, &Profile::default(), &service_key)?;
//! request.verify()?;
//! let leaf = of("CN=billing", Profile::end_entity())?.issue(request.public_key(), &root, &root_key)?;
//!
//! let anchors = [root];
//! let path = path::verify(&leaf, &Policy::new(&anchors, now))?;
//! assert_eq!(path.certificates.len(), 2);
//! assert!(path::verify(&leaf, &Policy::new(&anchors, now - 1)).is_err());
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "certificates"))]
//! # fn main() {}
//! ```

#[cfg(feature = "certificates")]
mod build;
mod crl;
mod csr;
mod extension;
mod general_name;
mod key_usage;
#[cfg(feature = "certificates")]
pub mod path;
#[cfg(feature = "certificates")]
mod write;

#[cfg(feature = "certificates")]
pub use build::{CertificateBuilder, Serial, subject_key_id};
#[cfg(feature = "certificates")]
pub use crl::CrlBuilder;
pub use crl::{Crl, Reason, Revoked};
pub use csr::Csr;
pub use extension::{AuthorityKeyId, BasicConstraints, Extension, Extensions, NameConstraints, Oid, oids};
pub use general_name::{AltName, GeneralName, Subtree};
pub use key_usage::KeyUsage;
#[cfg(feature = "certificates")]
pub use write::Profile;

use crate::der::{self, Reader, Tag};
use crate::error::Error;
use crate::name::Name;
use crate::pem;
use crate::signature::SignatureAlgorithm;

const VERSION: Tag = Tag { byte: 0xa0, name: "a version" };
const EXTENSIONS: Tag = Tag { byte: 0xa3, name: "extensions" };
const ISSUER_UNIQUE_ID: Tag = Tag { byte: 0x81, name: "an issuer's id" };
const SUBJECT_UNIQUE_ID: Tag = Tag { byte: 0x82, name: "a subject's id" };

/// A certificate, taken apart.
///
/// ```
/// use sealstone_pki::sign::VerifyingKey;
/// use sealstone_pki::x509::{AltName, CertificateBuilder, KeyUsage, Profile, Serial, oids};
/// use sealstone_pki::{Certificate, spki};
///
/// # fn main() -> Result<(), sealstone_pki::Error> {
/// // `root` and `root_key`: an authority's certificate and its key.
/// # let root_key = sealstone_pki::PrivateKeyInfo::new(
/// #     sealstone_pki::KeyAlgorithm::MlDsa(sealstone_mldsa::Level::MlDsa44), &[1; 32], None)?;
/// # let root_key = sealstone_pki::sign::SigningKey::from_info(&root_key)?;
/// # let root = sealstone_pki::x509::CertificateBuilder {
/// #     not_after: 1_900_000_000,
/// #     not_before: 1_700_000_000,
/// #     profile: sealstone_pki::x509::Profile::authority(None),
/// #     serial: sealstone_pki::x509::Serial::random(&mut sealstone_mldsa::OsRandom)?,
/// #     subject: "CN=Example Root".parse()?,
/// # }.self_sign(&root_key)?;
/// // `service_key`: the key of a service.
/// # let service_key = sealstone_pki::PrivateKeyInfo::new(
/// #     sealstone_pki::KeyAlgorithm::MlDsa(sealstone_mldsa::Level::MlDsa44), &[2; 32], None)?;
/// # let service_key = sealstone_pki::sign::SigningKey::from_info(&service_key)?;
/// # let leaf = CertificateBuilder {
/// #     not_after: 1_900_000_000,
/// #     not_before: 1_800_000_000,
/// #     profile: Profile { alt_names: vec!["dns:billing.example.org".parse()?], ..Profile::end_entity() },
/// #     serial: Serial::new(&[0x2a])?,
/// #     subject: "CN=billing,O=Example".parse()?,
/// # }.issue(&spki::to_der(service_key.public()), &root, &root_key)?;
/// # let file = format!("a chain, as servers keep it\n{}{}", leaf.to_pem(), root.to_pem());
/// // A file with two certificates: a service's, and that of who issued it.
/// let chain = Certificate::all_from_pem(&file)?;
/// let [billing, root] = chain.as_slice() else { panic!("two certificates") };
///
/// // What does it say?
/// assert_eq!(billing.subject().to_string(), "CN=billing,O=Example");
/// assert_eq!(billing.issuer().common_name(), Some("Example Root"));
/// assert_eq!(billing.alt_names(), [AltName::Dns("billing.example.org".into())]);
/// assert_eq!((billing.version(), billing.serial()), (3, [0x2a].as_slice()));
/// assert_eq!((billing.not_before(), billing.not_after()), (1_800_000_000, 1_900_000_000));
/// assert_eq!(billing.key_usage(), Some(KeyUsage::DIGITAL_SIGNATURE));
/// assert!(!billing.is_ca() && root.is_ca());
/// assert!(!billing.extensions().has(oids::EXT_KEY_USAGE));
/// assert_eq!(spki::from_der(billing.public_key())?.algorithm().name(), "ML-DSA-44");
///
/// // Which key signed it? Names and identifiers only claim it, the signature shows it.
/// assert!(root.is_self_issued() && !billing.is_self_issued());
/// assert_eq!(billing.issuer_der(), root.subject_der());
/// assert_eq!(billing.authority_key_id(), root.subject_key_id());
/// billing.verify_signature(&VerifyingKey::from_spki(root.public_key())?)?;
///
/// // The same by hand: what was signed, how, and the signature.
/// let key = VerifyingKey::from_spki(root.public_key())?;
/// key.verify(billing.signature_algorithm()?, billing.tbs(), billing.signature())?;
///
/// assert_eq!(Certificate::from_der(billing.der())?.der(), billing.der());
/// assert_eq!(Certificate::from_pem(&billing.to_pem())?.der(), billing.der());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    alt_names: Vec<AltName>,
    body: Signed,
    extensions: Extensions,
    issuer: Name,
    issuer_der: Vec<u8>,
    not_after: i64,
    not_before: i64,
    public_key: Vec<u8>,
    serial: Vec<u8>,
    subject: Name,
    subject_der: Vec<u8>,
    version: u8,
}

impl Certificate {
    /// Reads a certificate.
    ///
    /// # Errors
    /// The first thing that is wrong with it, and where.
    pub fn from_der(bytes: &[u8]) -> Result<Self, Error> {
        let (body, mut fields) = Signed::read(bytes, Reader::new(bytes)?)?;

        let mut version = 0;
        if let Some(mut explicit) = fields.take_optional(VERSION)? {
            version = explicit.take_version(&[1, 2], "version 2 or 3")?;
            explicit.end()?;
        }
        let serial = read_serial(&mut fields)?;
        body.same_algorithm(&mut fields)?;
        let issuer_der = fields.clone().take_whole(der::SEQUENCE)?.to_vec();
        let issuer = Name::read(fields.take(der::SEQUENCE)?)?;
        let mut validity = fields.take(der::SEQUENCE)?;
        let (not_before, not_after) = (validity.take_time()?, validity.take_time()?);
        validity.end()?;
        let subject_der = fields.clone().take_whole(der::SEQUENCE)?.to_vec();
        let subject = Name::read(fields.take(der::SEQUENCE)?)?;
        let public_key = fields.take_whole(der::SEQUENCE)?.to_vec();
        // RFC 5280 §4.1.2.8: from version 2 on; §4.1.2.9: extensions in version 3.
        if version >= 1 {
            fields.take_optional(ISSUER_UNIQUE_ID)?;
            fields.take_optional(SUBJECT_UNIQUE_ID)?;
        }
        let mut extensions = Extensions::default();
        if version == 2
            && let Some(mut explicit) = fields.take_optional(EXTENSIONS)?
        {
            extensions = Extensions::read(explicit.take(der::SEQUENCE)?)?;
            explicit.end()?;
        }
        fields.end()?;
        let names = extensions.subject_alt_names.as_deref().unwrap_or_default();
        let alt_names = names.iter().map(AltName::from).collect();
        Ok(Self {
            alt_names,
            body,
            extensions,
            issuer,
            issuer_der,
            not_after,
            not_before,
            public_key,
            serial,
            subject,
            subject_der,
            version: version + 1,
        })
    }

    /// Reads a PEM block `CERTIFICATE` (RFC 7468 §5) and nothing around it.
    ///
    /// # Errors
    /// The first thing that is wrong with it, and where.
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        Self::from_der(&pem::decode(text, "CERTIFICATE")?.1)
    }

    /// Reads every PEM block `CERTIFICATE` of a text, at most 1000; what stands around the blocks is passed over (RFC
    /// 7468 §5.2).
    ///
    /// # Errors
    /// The first thing that is wrong with one of them; [`Error::Pem`] if there is none.
    pub fn all_from_pem(text: &str) -> Result<Vec<Self>, Error> {
        let blocks = pem::blocks(text, "CERTIFICATE", 1000)?;
        blocks.into_iter().map(Self::from_pem).collect()
    }

    /// Writes a PEM block `CERTIFICATE`.
    pub fn to_pem(&self) -> String {
        pem::encode("CERTIFICATE", &self.body.der).to_string()
    }

    /// The names beside the subject.
    pub fn alt_names(&self) -> &[AltName] {
        &self.alt_names
    }

    /// The key that signed it, by its identifier (RFC 5280 §4.2.1.1), if it says so.
    pub fn authority_key_id(&self) -> Option<&[u8]> {
        self.extensions.authority_key_id.as_ref()?.key_id.as_deref()
    }

    /// All of it.
    pub fn der(&self) -> &[u8] {
        &self.body.der
    }

    /// Its extensions: those that are known here, and all as they stand.
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// Whether it may sign certificates: basicConstraints says so (RFC 5280 §4.2.1.9).
    pub fn is_ca(&self) -> bool {
        self.extensions.basic_constraints.is_some_and(|constraints| constraints.ca)
    }

    /// Whether it names itself as its issuer (RFC 5280 §3.2). Whether it was signed by its own key is another thing.
    pub fn is_self_issued(&self) -> bool {
        self.issuer == self.subject
    }

    /// The names beside the subject on one line, for who has no other.
    #[cfg(feature = "certificates")]
    pub(crate) fn alt_names_text(&self) -> String {
        let names = self.extensions.subject_alt_names.iter().flatten();
        names.map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    /// Who signed it.
    pub fn issuer(&self) -> &Name {
        &self.issuer
    }

    /// The issuer's Name in DER.
    pub fn issuer_der(&self) -> &[u8] {
        &self.issuer_der
    }

    /// What its key may be used for (RFC 5280 §4.2.1.3), if that is restricted.
    pub fn key_usage(&self) -> Option<KeyUsage> {
        self.extensions.key_usage
    }

    /// The last second in which it is valid, counted from 1970.
    pub fn not_after(&self) -> i64 {
        self.not_after
    }

    /// The first second in which it is valid, counted from 1970.
    pub fn not_before(&self) -> i64 {
        self.not_before
    }

    /// The whole SubjectPublicKeyInfo, for [`spki::from_der`](crate::spki::from_der) or to be compared.
    pub fn public_key(&self) -> &[u8] {
        &self.public_key
    }

    /// The content of its serial number, an INTEGER of 1 to 20 bytes that is not negative.
    pub fn serial(&self) -> &[u8] {
        &self.serial
    }

    /// The bits of its signature.
    pub fn signature(&self) -> &[u8] {
        &self.body.signature
    }

    /// How it was signed.
    ///
    /// # Errors
    /// As [`SignatureAlgorithm::from_der`]: a certificate may be read whatever it was signed with.
    pub fn signature_algorithm(&self) -> Result<SignatureAlgorithm, Error> {
        SignatureAlgorithm::from_der(&self.body.algorithm)
    }

    /// Whom it is about.
    pub fn subject(&self) -> &Name {
        &self.subject
    }

    /// The subject's Name in DER.
    pub fn subject_der(&self) -> &[u8] {
        &self.subject_der
    }

    /// Its key's identifier (RFC 5280 §4.2.1.2), if it has one.
    pub fn subject_key_id(&self) -> Option<&[u8]> {
        self.extensions.subject_key_id.as_deref()
    }

    /// What was signed: the TBSCertificate in DER.
    pub fn tbs(&self) -> &[u8] {
        self.body.tbs()
    }

    /// 1, 2 or 3.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// Checks its signature by the key of another certificate, or its own. Nothing else is looked at: neither names nor
    /// times nor what the key may do; [`path::verify`] does.
    ///
    /// # Errors
    /// As [`VerifyingKey::verify`](crate::sign::VerifyingKey::verify), and for an algorithm that is not used here.
    #[cfg(feature = "certificates")]
    pub fn verify_signature(&self, key: &crate::sign::VerifyingKey) -> Result<(), Error> {
        self.body.verify(key)
    }
}

/// `SEQUENCE { what was signed, AlgorithmIdentifier, BIT STRING }`: certificates, requests and lists alike.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Signed {
    algorithm: Vec<u8>,
    der: Vec<u8>,
    signature: Vec<u8>,
    tbs: core::ops::Range<usize>,
}

/// Its size: the bytes would fill screens.
impl core::fmt::Debug for Signed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Signed({} bytes)", self.der.len())
    }
}

impl Signed {
    /// Reads it, and opens what was signed.
    fn read<'a>(bytes: &'a [u8], mut whole: Reader<'a>) -> Result<(Self, Reader<'a>), Error> {
        let mut parts = whole.take(der::SEQUENCE)?;
        whole.end()?;
        let start = parts.offset();
        let mut inside = parts.clone();
        let tbs = parts.take_whole(der::SEQUENCE)?;
        let algorithm = parts.take_whole(der::SEQUENCE)?.to_vec();
        let signature = parts.take_bits(der::BIT_STRING)?.to_vec();
        parts.end()?;
        let tbs = start..start + tbs.len();
        Ok((Self { algorithm, der: bytes.to_vec(), signature, tbs }, inside.take(der::SEQUENCE)?))
    }

    fn tbs(&self) -> &[u8] {
        &self.der[self.tbs.clone()]
    }

    /// RFC 5280 §4.1.1.2, §5.1.1.2: the algorithm inside is the one outside, to the byte.
    fn same_algorithm(&self, fields: &mut Reader<'_>) -> Result<(), Error> {
        let at = fields.clone();
        if fields.take_whole(der::SEQUENCE)? == self.algorithm {
            return Ok(());
        }
        Err(at.refusal("the same signature algorithm inside and outside", "two".into()))
    }

    #[cfg(feature = "certificates")]
    fn verify(&self, key: &crate::sign::VerifyingKey) -> Result<(), Error> {
        key.verify(SignatureAlgorithm::from_der(&self.algorithm)?, self.tbs(), &self.signature)
    }
}

/// RFC 5280 §4.1.2.2: at most 20 bytes, and not negative. Zero is read, because old roots have it.
fn read_serial(fields: &mut Reader<'_>) -> Result<Vec<u8>, Error> {
    let at = fields.clone();
    let content = fields.take(der::INTEGER)?.rest();
    let refusal = |expected, found: &str| Err(at.refusal(expected, found.into()));
    match content {
        [] => refusal("a serial number", "an INTEGER without content"),
        [0, second, ..] if *second < 0x80 => refusal("an INTEGER in its shortest form", "a longer one"),
        [first, ..] if *first >= 0x80 => refusal("a serial number that is not negative", "a negative one"),
        content if content.len() > 20 => {
            refusal("a serial number of at most 20 bytes", &format!("{}", content.len()))
        }
        content => Ok(content.to_vec()),
    }
}
