//! SignedData as it comes (RFC 5652 §5): taken apart, and nothing of it known to be true.

use core::fmt;

use sealstone_mldsa::Level;

use super::attributes::SignedAttributes;
use super::digest::DigestAlgorithm;
use super::error::Error;
use super::{MAX_CERTIFICATES, MAX_SIGNERS, Message, oid, open};
use crate::der::{self, Reader, Tag};
use crate::name::Name;
use crate::signature::{Hash, SignatureAlgorithm};
use crate::x509::Certificate;

const CONTENT: Tag = Tag { byte: 0xa0, name: "the content in [0]" };
const CERTIFICATES: Tag = Tag { byte: 0xa0, name: "certificates in [0]" };
const CRLS: Tag = Tag { byte: 0xa1, name: "revocation lists in [1]" };
const KEY_ID: Tag = Tag { byte: 0x80, name: "a key identifier in [0]" };
const SIGNED_ATTRIBUTES: Tag = Tag { byte: 0xa0, name: "signed attributes in [0]" };
const UNSIGNED_ATTRIBUTES: Tag = Tag { byte: 0xa1, name: "unsigned attributes in [1]" };
const NULL: Tag = Tag { byte: 0x05, name: "NULL" };

/// rsaEncryption, 1.2.840.113549.1.1.1: RFC 3370 §3.2 lets it name the signature, and the digest says the rest.
const RSA_ENCRYPTION: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];

/// Most bytes of a key identifier or a serial number: no certificate has longer ones.
const MAX_ID: usize = 64;
/// Most bytes of an issuer and a serial number: as many as of a certificate.
const MAX_ISSUER: usize = 65_536;

/// A SignedData that has been taken apart, and of which nothing is known: no signature has been checked.
///
/// The content is not shown before one is.
///
/// ```
/// use sealstone_pki::cms::{self, Policy, Signer, Signing, Trust, Unverified};
///
/// # fn main() -> Result<(), sealstone_pki::cms::Error> {
/// // `alice` and `alice_key`: a certificate for signatures and its key.
/// # let alice_key = sealstone_pki::PrivateKeyInfo::new(
/// #     sealstone_pki::KeyAlgorithm::MlDsa(sealstone_mldsa::Level::MlDsa44), &[7; 32], None)?;
/// # let alice_key = sealstone_pki::sign::SigningKey::from_info(&alice_key)?;
/// # let alice = sealstone_pki::x509::CertificateBuilder {
/// #     not_after: 1_900_000_000,
/// #     not_before: 1_700_000_000,
/// #     profile: sealstone_pki::x509::Profile::end_entity(),
/// #     serial: sealstone_pki::x509::Serial::random(&mut sealstone_mldsa::OsRandom)?,
/// #     subject: "CN=alice".parse()?,
/// # }.self_sign(&alice_key)?;
/// let signing = Signing::new(Signer::new(&alice, &alice_key)?);
/// let text = cms::to_pem(&signing.attached(b"the harbour at nine")?);
///
/// // What it says of itself, before anything is known: good for showing, and for finding certificates.
/// let message = Unverified::from_pem(&text)?;
/// assert!(!message.is_detached());
/// assert_eq!(message.content_type(), "1.2.840.113549.1.7.1");
/// assert_eq!(message.content_len(), Some(19));
/// assert_eq!(message.certificates()[0].subject().common_name(), Some("alice"));
/// assert_eq!((message.crls().len(), message.signers().len()), (0, 1));
///
/// // A message without certificates is checked with those at hand.
/// let bare = Unverified::from_der(&signing.without_certificates().attached(b"the harbour at nine")?)?;
/// let known = [alice];
/// let verified = bare.with_certificates(&known).verify(Trust::Certificates(&known), Policy::All)?;
/// assert_eq!(verified.content(), Some(b"the harbour at nine".as_slice()));
/// # Ok(())
/// # }
/// ```
pub struct Unverified {
    pub(super) content_type: Vec<u8>,
    pub(super) content: Option<Vec<u8>>,
    pub(super) certificates: Vec<Certificate>,
    pub(super) crls: Vec<Vec<u8>>,
    pub(super) signers: Vec<SignerInfo>,
}

/// Who signed, and how, by its own account.
///
/// ```
/// use sealstone_pki::cms::{DigestAlgorithm, Signer, Signing, Unverified};
///
/// # fn main() -> Result<(), sealstone_pki::cms::Error> {
/// // `alice` and `alice_key`: a certificate for signatures and its key.
/// # let alice_key = sealstone_pki::PrivateKeyInfo::new(
/// #     sealstone_pki::KeyAlgorithm::MlDsa(sealstone_mldsa::Level::MlDsa44), &[7; 32], None)?;
/// # let alice_key = sealstone_pki::sign::SigningKey::from_info(&alice_key)?;
/// # let alice = sealstone_pki::x509::CertificateBuilder {
/// #     not_after: 1_900_000_000,
/// #     not_before: 1_700_000_000,
/// #     profile: sealstone_pki::x509::Profile::end_entity(),
/// #     serial: sealstone_pki::x509::Serial::random(&mut sealstone_mldsa::OsRandom)?,
/// #     subject: "CN=alice".parse()?,
/// # }.self_sign(&alice_key)?;
/// let message = Signing::new(Signer::new(&alice, &alice_key)?).attached(b"the harbour at nine")?;
/// let message = Unverified::from_der(&message)?;
/// let signer = &message.signers()[0];
/// assert!(signer.identifier().fits(&alice));
/// assert_eq!(signer.algorithm()?.name(), "ML-DSA-44");
/// assert_eq!(signer.digest()?, DigestAlgorithm::Sha512);
/// assert!(signer.attributes().is_some());
/// assert!(signer.unsigned_attributes().is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SignerInfo {
    pub(super) id: Identifier,
    pub(super) digest_der: Vec<u8>,
    pub(super) attributes: Option<SignedAttributes>,
    pub(super) signature_der: Vec<u8>,
    pub(super) signature: Vec<u8>,
    unsigned: Vec<String>,
}

/// How a signer or a recipient is named (RFC 5652 §5.3, §6.2.1).
///
/// ```
/// use sealstone_pki::cms::Identifier;
///
/// # fn main() -> Result<(), sealstone_pki::Error> {
/// // `alice` and `alice_key`: a certificate for signatures and its key.
/// # let alice_key = sealstone_pki::PrivateKeyInfo::new(
/// #     sealstone_pki::KeyAlgorithm::MlDsa(sealstone_mldsa::Level::MlDsa44), &[7; 32], None)?;
/// # let alice_key = sealstone_pki::sign::SigningKey::from_info(&alice_key)?;
/// # let alice = sealstone_pki::x509::CertificateBuilder {
/// #     not_after: 1_900_000_000,
/// #     not_before: 1_700_000_000,
/// #     profile: sealstone_pki::x509::Profile::end_entity(),
/// #     serial: sealstone_pki::x509::Serial::random(&mut sealstone_mldsa::OsRandom)?,
/// #     subject: "CN=alice".parse()?,
/// # }.self_sign(&alice_key)?;
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
/// let issuer = alice.issuer().clone();
/// let id = Identifier::IssuerAndSerial { issuer, serial: alice.serial().to_vec() };
/// assert!(id.fits(&alice) && !id.fits(&root));
/// assert!(id.to_string().ends_with(" of CN=alice"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identifier {
    /// By who issued its certificate, and the content of the certificate's serial number.
    IssuerAndSerial {
        /// The issuer.
        issuer: Name,
        /// The serial number, big-endian.
        serial: Vec<u8>,
    },
    /// By its certificate's subjectKeyIdentifier.
    KeyId(Vec<u8>),
}

impl Identifier {
    /// Whether this certificate is meant.
    pub fn fits(&self, certificate: &Certificate) -> bool {
        match self {
            Self::IssuerAndSerial { issuer, serial } => {
                certificate.issuer() == issuer && certificate.serial() == serial
            }
            Self::KeyId(id) => certificate.subject_key_id() == Some(id),
        }
    }

    /// Reads the choice.
    pub(super) fn read(fields: &mut Reader<'_>) -> Result<Self, Error> {
        if let Some(id) = fields.take_optional(KEY_ID)? {
            let id = id.rest().to_vec();
            limit("bytes of a key identifier", MAX_ID, id.len())?;
            return Ok(Self::KeyId(id));
        }
        let mut parts = fields.take(der::SEQUENCE)?;
        limit("bytes of an issuer", MAX_ISSUER, parts.clone().rest().len())?;
        let issuer = Name::read(parts.take(der::SEQUENCE)?)?;
        let serial = parts.take(der::INTEGER)?.rest().to_vec();
        limit("bytes of a serial number", MAX_ID, serial.len())?;
        parts.end()?;
        Ok(Self::IssuerAndSerial { issuer, serial })
    }

    /// Writes the choice for a certificate: by its key's identifier, if that is wanted and there is one.
    pub(super) fn write(certificate: &Certificate, by_key_id: bool) -> Vec<u8> {
        match certificate.subject_key_id().filter(|_| by_key_id) {
            Some(id) => der::write(KEY_ID, &[id]).to_vec(),
            None => {
                let serial = der::write(der::INTEGER, &[certificate.serial()]);
                der::write(der::SEQUENCE, &[certificate.issuer_der(), &serial]).to_vec()
            }
        }
    }

    /// The same for a key without a certificate.
    pub(super) fn write_key_id(id: &[u8]) -> Vec<u8> {
        der::write(KEY_ID, &[id]).to_vec()
    }
}

/// On one line, for messages.
impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = |f: &mut fmt::Formatter<'_>, bytes: &[u8]| {
            bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
        };
        match self {
            Self::IssuerAndSerial { issuer, serial } => {
                f.write_str("serial number ")?;
                hex(f, serial)?;
                write!(f, " of {issuer}")
            }
            Self::KeyId(id) => {
                f.write_str("key identifier ")?;
                hex(f, id)
            }
        }
    }
}

impl SignerInfo {
    /// How it is named.
    pub fn identifier(&self) -> &Identifier {
        &self.id
    }

    /// What was signed in place of the content, if that was done. It is not checked.
    pub fn attributes(&self) -> Option<&SignedAttributes> {
        self.attributes.as_ref()
    }

    /// The digest of the content. Without signed attributes it counts for nothing (RFC 9882 §3).
    ///
    /// # Errors
    /// [`Error::DigestUnknown`], [`Error::Encoding`].
    pub fn digest(&self) -> Result<DigestAlgorithm, Error> {
        let mut whole = Reader::within(&self.digest_der, 0);
        let digest = DigestAlgorithm::read(&mut whole)?;
        whole.end()?;
        Ok(digest)
    }

    /// How it signed.
    ///
    /// # Errors
    /// [`Error::Encoding`] for an algorithm that is not used here, such as HashML-DSA.
    pub fn algorithm(&self) -> Result<SignatureAlgorithm, Error> {
        let mut whole = Reader::within(&self.signature_der, 0).take(der::SEQUENCE)?;
        if whole.take(der::OBJECT_IDENTIFIER)?.rest() == RSA_ENCRYPTION {
            if let Some(null) = whole.take_optional(NULL)? {
                null.end()?;
            }
            whole.end()?;
            let digest = self.digest()?;
            return match digest.hash() {
                Some(hash) => Ok(SignatureAlgorithm::RsaPkcs1(hash)),
                None => Err(Error::DigestMismatch { digest: digest.name(), signature: "rsaEncryption" }),
            };
        }
        Ok(SignatureAlgorithm::from_der(&self.signature_der)?)
    }

    /// The object identifiers, dotted, of what stands beside the signature and is not signed.
    pub fn unsigned_attributes(&self) -> &[String] {
        &self.unsigned
    }

    /// Reads one SignerInfo (RFC 5652 §5.3).
    fn read(signers: &mut Reader<'_>) -> Result<Self, Error> {
        let mut fields = signers.take(der::SEQUENCE)?;
        let at = fields.clone();
        let version = fields.take_version(&[1, 3], "version 1 or 3")?;
        let id = Identifier::read(&mut fields)?;
        if (version == 3) != matches!(id, Identifier::KeyId(_)) {
            let expected = "version 1 with an issuer and a serial number, 3 with a key identifier";
            return Err(at.refusal(expected, format!("version {version}")).into());
        }
        let digest_der = fields.take_whole(der::SEQUENCE)?.to_vec();
        let attributes = match fields.take_optional(SIGNED_ATTRIBUTES)? {
            Some(attributes) => Some(SignedAttributes::read(attributes)?),
            None => None,
        };
        let signature_der = fields.take_whole(der::SEQUENCE)?.to_vec();
        let signature = fields.take(der::OCTET_STRING)?.rest().to_vec();
        let mut unsigned = Vec::new();
        if let Some(mut list) = fields.take_optional(UNSIGNED_ATTRIBUTES)? {
            while list.peek().is_some() {
                let mut attribute = list.take(der::SEQUENCE)?;
                unsigned.push(der::dotted(attribute.take(der::OBJECT_IDENTIFIER)?.rest()));
            }
        }
        fields.end()?;
        Ok(Self { id, digest_der, attributes, signature_der, signature, unsigned })
    }
}

impl DigestAlgorithm {
    /// The same digest as ECDSA and RSA call it.
    pub(super) fn hash(self) -> Option<Hash> {
        match self {
            Self::Sha256 => Some(Hash::Sha256),
            Self::Sha384 => Some(Hash::Sha384),
            Self::Sha512 => Some(Hash::Sha512),
            _ => None,
        }
    }

    /// Whether it may digest for a signature of this algorithm.
    ///
    /// # Errors
    /// [`Error::DigestWeak`], [`Error::DigestMismatch`].
    pub(super) fn check(self, signature: SignatureAlgorithm) -> Result<(), Error> {
        let fits = match signature {
            SignatureAlgorithm::MlDsa(level) if !self.is_enough_for(level) => {
                return Err(Error::DigestWeak { digest: self.name(), signature: signature.name() });
            }
            SignatureAlgorithm::MlDsa(Level::MlDsa44 | Level::MlDsa65 | Level::MlDsa87) => true,
            // RFC 8419 §3.1.
            SignatureAlgorithm::Ed25519 => self == Self::Sha512,
            SignatureAlgorithm::Ecdsa(hash)
            | SignatureAlgorithm::RsaPkcs1(hash)
            | SignatureAlgorithm::RsaPss(hash, _) => self.hash() == Some(hash),
            #[allow(unreachable_patterns, reason = "composites are there with their feature alone")]
            _ => false,
        };
        match fits {
            true => Ok(()),
            false => Err(Error::DigestMismatch { digest: self.name(), signature: signature.name() }),
        }
    }
}

impl Unverified {
    /// Takes a message in DER or BER apart.
    ///
    /// # Errors
    /// The first thing that is wrong with it; [`Error::OtherKind`] for a message that is not signed.
    pub fn from_der(bytes: &[u8]) -> Result<Self, Error> {
        match open(bytes)? {
            Message::Signed(signed) => Ok(signed),
            other => Err(Error::OtherKind { expected: "a signed message", found: other.kind().into() }),
        }
    }

    /// Reads a PEM block `CMS` (RFC 7468 §8) or, as others write, `PKCS7`.
    ///
    /// # Errors
    /// As [`from_der`](Self::from_der), and what is wrong with the PEM.
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        Self::from_der(&super::unpem(text)?)
    }

    /// Whether the content is somewhere else.
    pub fn is_detached(&self) -> bool {
        self.content.is_none()
    }

    /// What the content is, dotted.
    pub fn content_type(&self) -> String {
        der::dotted(&self.content_type)
    }

    /// Bytes of the content, if it is in the message.
    pub fn content_len(&self) -> Option<usize> {
        self.content.as_ref().map(Vec::len)
    }

    /// The certificates that came with it. Nothing says that they are good.
    pub fn certificates(&self) -> &[Certificate] {
        &self.certificates
    }

    /// With certificates that did not come with it, for signers and what stands between.
    #[must_use]
    pub fn with_certificates(mut self, more: &[Certificate]) -> Self {
        for certificate in more {
            if !self.certificates.contains(certificate) {
                self.certificates.push(certificate.clone());
            }
        }
        self
    }

    /// The certificate revocation lists that came with it, in DER.
    pub fn crls(&self) -> &[Vec<u8>] {
        &self.crls
    }

    /// Who signed, by their own account.
    pub fn signers(&self) -> &[SignerInfo] {
        &self.signers
    }

    /// Reads the SEQUENCE SignedData (RFC 5652 §5.1).
    pub(super) fn read(outer: &mut Reader<'_>) -> Result<Self, Error> {
        let mut fields = outer.take(der::SEQUENCE)?;
        fields.take_version(&[1, 3, 4, 5], "version 1, 3, 4 or 5")?;
        let mut digests = fields.take(der::SET)?;
        while digests.peek().is_some() {
            digests.take(der::SEQUENCE)?;
        }
        let mut encapsulated = fields.take(der::SEQUENCE)?;
        let content_type = encapsulated.take(der::OBJECT_IDENTIFIER)?.rest().to_vec();
        let content = match encapsulated.take_optional(CONTENT)? {
            Some(mut explicit) => {
                let content = explicit.take(der::OCTET_STRING)?.rest().to_vec();
                explicit.end()?;
                Some(content)
            }
            None => None,
        };
        encapsulated.end()?;
        let certificates = match fields.take_optional(CERTIFICATES)? {
            Some(list) => read_certificates(list)?,
            None => Vec::new(),
        };
        let mut crls = Vec::new();
        if let Some(mut list) = fields.take_optional(CRLS)? {
            while list.peek().is_some() {
                match list.peek() {
                    Some(tag) if tag == der::SEQUENCE.byte => {
                        crls.push(list.take_whole(der::SEQUENCE)?.to_vec())
                    }
                    _ => {
                        list.take_next("a revocation list")?;
                    }
                }
                limit("revocation lists", MAX_CERTIFICATES, crls.len())?;
            }
        }
        let mut signers = Vec::new();
        let mut list = fields.take(der::SET)?;
        while list.peek().is_some() {
            signers.push(SignerInfo::read(&mut list)?);
            limit("signers", MAX_SIGNERS, signers.len())?;
        }
        fields.end()?;
        if signers.is_empty() {
            return Err(Error::None { what: "signer" });
        }
        // RFC 5652 §5.3: the attributes are what says that the content is of another type.
        if content_type != oid::DATA && signers.iter().any(|signer| signer.attributes.is_none()) {
            return Err(Error::AttributesRequired { content_type: der::dotted(&content_type) });
        }
        Ok(Self { content_type, content, certificates, crls, signers })
    }
}

/// What there is to be seen without a signature: never the content.
impl fmt::Debug for Unverified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unverified").field("signers", &self.signers).finish_non_exhaustive()
    }
}

/// RFC 5652 §10.2.3. Attribute certificates and other forms are passed over, and so is a certificate that cannot be
/// read: if a signer needed it, none will fit the signer.
fn read_certificates(mut list: Reader<'_>) -> Result<Vec<Certificate>, Error> {
    let (mut found, mut count) = (Vec::new(), 0);
    while let Some(tag) = list.peek() {
        count += 1;
        limit("certificates", MAX_CERTIFICATES, count)?;
        if tag != der::SEQUENCE.byte {
            list.take_next("a certificate")?;
            continue;
        }
        if let Ok(certificate) = Certificate::from_der(list.take_whole(der::SEQUENCE)?)
            && !found.contains(&certificate)
        {
            found.push(certificate);
        }
    }
    Ok(found)
}

pub(super) fn limit(what: &'static str, limit: usize, found: usize) -> Result<(), Error> {
    if found > limit { Err(Error::TooLarge { what, limit, found }) } else { Ok(()) }
}
