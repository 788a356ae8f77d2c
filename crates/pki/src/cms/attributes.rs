//! Signed attributes, RFC 5652 §5.3 and §11: what is signed in place of the content, and says what the content is.

use super::digest::DigestAlgorithm;
use super::error::Error;
use super::oid;
use super::signed::limit;
use super::time;
use crate::der::{self, Reader, Tag};

/// The attributes of one signer, as they were signed.
///
/// ```
/// use sealstone_pki::cms::{Policy, Signer, Signing, Trust, Unverified};
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
/// let signer = Signer::new(&alice, &alice_key)?.signing_time(1_800_000_000);
/// let message = Signing::new(signer).attached(b"the harbour at nine")?;
///
/// let verified = Unverified::from_der(&message)?.verify(Trust::Certificates(&[alice]), Policy::All)?;
/// let attributes = verified.signers()[0].attributes().expect("they are there unless left out");
/// assert_eq!(attributes.signing_time(), Some(1_800_000_000));
/// assert_eq!(attributes.message_digest().len(), 64); // SHA-512
/// assert!(attributes.protects_algorithms());
/// assert!(attributes.others().is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedAttributes {
    /// DER of the SET OF, with its universal tag: what is signed (RFC 5652 §5.4).
    pub(super) signed: Vec<u8>,
    content_type: Vec<u8>,
    pub(super) message_digest: Vec<u8>,
    signing_time: Option<i64>,
    protection: Option<Protection>,
    others: Vec<String>,
}

/// CMSAlgorithmProtection, RFC 6211 §2: both AlgorithmIdentifiers, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Protection {
    digest: Vec<u8>,
    signature: Vec<u8>,
}

/// Most attributes of a signer: each is compared with all before it.
const MAX_ATTRIBUTES: usize = 128;

const SIGNATURE: Tag = Tag { byte: 0xa1, name: "the signature algorithm in [1]" };

impl SignedAttributes {
    /// When the signer says that it signed, in seconds from 1970. No one vouches for it.
    pub fn signing_time(&self) -> Option<i64> {
        self.signing_time
    }

    /// The digest of the content.
    pub fn message_digest(&self) -> &[u8] {
        &self.message_digest
    }

    /// Whether CMSAlgorithmProtection (RFC 6211) is among them.
    pub fn protects_algorithms(&self) -> bool {
        self.protection.is_some()
    }

    /// The object identifiers, dotted, of all that is signed beside the attributes known here.
    pub fn others(&self) -> &[String] {
        &self.others
    }

    /// Whether these bytes could have been signed as attributes: then a signature over them says nothing of them as
    /// content (both are signed alike, RFC 5652 §5.4).
    pub(super) fn could_be(content: &[u8]) -> bool {
        let mut whole = Reader::within(content, 0);
        whole.take(der::SET).is_ok_and(|set| whole.end().is_ok() && Self::read(set).is_ok())
    }

    /// Reads what is left of the SET OF. It must be DER (RFC 5652 §5.3): sorted, and so with no attribute twice.
    pub(super) fn read(mut attributes: Reader<'_>) -> Result<Self, Error> {
        let whole = attributes.clone().rest();
        let mut found = Self {
            signed: der::write(der::SET, &[whole]).to_vec(),
            content_type: Vec::new(),
            message_digest: Vec::new(),
            signing_time: None,
            protection: None,
            others: Vec::new(),
        };
        let mut seen: Vec<&[u8]> = Vec::new();
        let mut previous: &[u8] = &[];
        while attributes.peek().is_some() {
            let at = attributes.offset();
            let encoded = attributes.take_whole(der::SEQUENCE)?;
            // X.690 §11.6: shorter ones are as if zeros followed, which no two values of one kind need.
            if encoded <= previous {
                return Err(Error::AttributesUnsorted { offset: at });
            }
            previous = encoded;
            let mut whole = Reader::within(encoded, at);
            let mut attribute = whole.take(der::SEQUENCE)?;
            let name = attribute.take(der::OBJECT_IDENTIFIER)?.rest();
            if seen.contains(&name) {
                return Err(Error::AttributeTwice { attribute: oid::attribute(name) });
            }
            seen.push(name);
            limit("signed attributes", MAX_ATTRIBUTES, seen.len())?;
            let values = attribute.take(der::SET)?;
            attribute.end()?;
            found.take(name, values)?;
        }
        for (name, missing) in [
            (oid::CONTENT_TYPE, found.content_type.is_empty()),
            (oid::MESSAGE_DIGEST, found.message_digest.is_empty()),
        ] {
            if missing {
                return Err(Error::AttributeMissing { attribute: oid::attribute(name) });
            }
        }
        Ok(found)
    }

    /// One attribute. Those known here have exactly one value (RFC 5652 §11.1 to §11.3, RFC 6211 §2).
    fn take(&mut self, name: &[u8], mut values: Reader<'_>) -> Result<(), Error> {
        match name {
            oid::CONTENT_TYPE => self.content_type = values.take(der::OBJECT_IDENTIFIER)?.rest().to_vec(),
            oid::MESSAGE_DIGEST => self.message_digest = values.take(der::OCTET_STRING)?.rest().to_vec(),
            oid::SIGNING_TIME => self.signing_time = Some(values.take_time()?),
            oid::ALGORITHM_PROTECTION => {
                let mut fields = values.take(der::SEQUENCE)?;
                let digest = fields.take_whole(der::SEQUENCE)?.to_vec();
                let signature = fields.take(SIGNATURE)?.rest();
                let signature = der::write(der::SEQUENCE, &[signature]).to_vec();
                fields.end()?;
                self.protection = Some(Protection { digest, signature });
            }
            other => {
                self.others.push(der::dotted(other));
                while values.peek().is_some() {
                    values.take_next("a value")?;
                }
            }
        }
        if values.peek().is_some() {
            return Err(Error::AttributeValues { attribute: oid::attribute(name) });
        }
        Ok(())
    }

    /// What the attributes say against what stands outside of them.
    ///
    /// # Errors
    /// [`Error::ContentTypeMismatch`], [`Error::AlgorithmProtection`].
    pub(super) fn check(&self, content_type: &[u8], digest: &[u8], signature: &[u8]) -> Result<(), Error> {
        if self.content_type != content_type {
            return Err(Error::ContentTypeMismatch {
                signed: der::dotted(&self.content_type),
                found: der::dotted(content_type),
            });
        }
        match &self.protection {
            Some(protection) if protection.digest != digest => {
                Err(Error::AlgorithmProtection { part: "digest" })
            }
            Some(protection) if protection.signature != signature => {
                Err(Error::AlgorithmProtection { part: "signature" })
            }
            _ => Ok(()),
        }
    }

    /// DER of the SET OF that a signer signs.
    pub(super) fn write(
        content_type: &[u8],
        digest: &[u8],
        signing_time: Option<i64>,
        digest_algorithm: DigestAlgorithm,
        signature_algorithm: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let attribute = |name: &[u8], value: &[u8]| {
            let name = der::write(der::OBJECT_IDENTIFIER, &[name]);
            der::write(der::SEQUENCE, &[&name, &der::write(der::SET, &[value])]).to_vec()
        };
        let content_type = der::write(der::OBJECT_IDENTIFIER, &[content_type]);
        let mut attributes = vec![
            attribute(oid::CONTENT_TYPE, &content_type),
            attribute(oid::MESSAGE_DIGEST, &der::write(der::OCTET_STRING, &[digest])),
        ];
        if let Some(seconds) = signing_time {
            attributes.push(attribute(oid::SIGNING_TIME, &time::write(seconds)?));
        }
        // RFC 6211 §2: the same two identifiers as outside, the second with an implicit tag.
        let signature =
            der::write(SIGNATURE, &[Reader::within(signature_algorithm, 0).take(der::SEQUENCE)?.rest()]);
        let protection = der::write(der::SEQUENCE, &[&digest_algorithm.write(), &signature]);
        attributes.push(attribute(oid::ALGORITHM_PROTECTION, &protection));
        Ok(set_of(attributes))
    }
}

/// A SET OF in DER: sorted by its encodings (X.690 §11.6).
pub(super) fn set_of(mut elements: Vec<Vec<u8>>) -> Vec<u8> {
    elements.sort();
    let parts: Vec<&[u8]> = elements.iter().map(Vec::as_slice).collect();
    der::write(der::SET, &parts).to_vec()
}
