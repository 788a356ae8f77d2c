//! Reading EnvelopedData (RFC 5652 §6) and AuthEnvelopedData (RFC 5083), and decrypting them.

use core::fmt;

use zeroize::Zeroizing;

use super::cipher::{Chosen, Cipher, TAG_LEN};
use super::error::Error;
use super::kemri::RecipientInfo;
use super::signed::limit;
use super::{MAX_RECIPIENTS, Message, oid, open};
use crate::der::{self, Reader, Tag};
use crate::ml_kem::DecapsulationKey;
use crate::x509::Certificate;

const ORIGINATOR: Tag = Tag { byte: 0xa0, name: "the originator in [0]" };
const UNPROTECTED: Tag = Tag { byte: 0xa1, name: "unprotected attributes in [1]" };
const AUTHENTICATED: Tag = Tag { byte: 0xa1, name: "authenticated attributes in [1]" };
const UNAUTHENTICATED: Tag = Tag { byte: 0xa2, name: "unauthenticated attributes in [2]" };
pub(super) const ENCRYPTED: Tag = Tag { byte: 0x80, name: "the encrypted content in [0]" };
/// The same in pieces, as it comes in BER.
const ENCRYPTED_PIECES: Tag = Tag { byte: 0xa0, name: "the encrypted content in [0]" };

/// Which messages are decrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accept {
    /// Those whose cipher shows that they were not changed: AES in GCM.
    #[default]
    Authenticated,
    /// AES in CBC too. Whoever sends such messages and learns which of them decrypt can find content out, even of
    /// messages in GCM that are sent again as if they were in CBC (RFC 9709 §1): only where no one learns it.
    Unauthenticated,
}

/// An encrypted message that has been taken apart.
///
/// ```
/// use sealstone_mldsa::OsRandom;
/// use sealstone_pki::cms::{self, Accept, Cipher, Encrypted, Error, RecipientInfo};
///
/// # fn main() -> Result<(), sealstone_pki::cms::Error> {
/// // `bob`: Bob's key of ML-KEM-768.
/// # let bob = sealstone_pki::ml_kem::DecapsulationKey::generate(
/// #     sealstone_pki::ml_kem::MlKem::MlKem768, &mut sealstone_mldsa::OsRandom)?;
/// let to_bob = cms::Recipient::key(&bob.encapsulation_key())?;
/// let text = cms::to_pem(&cms::encrypt(b"the harbour at nine", &[to_bob], Cipher::Aes256Gcm, &mut OsRandom)?);
///
/// // What anybody can see.
/// let message = Encrypted::from_pem(&text)?;
/// assert_eq!(message.cipher(), Cipher::Aes256Gcm);
/// assert_eq!(message.encrypted_len(), 19);
/// assert_eq!(message.content_type(), "1.2.840.113549.1.7.1");
/// assert!(matches!(message.recipients(), [RecipientInfo::Kem(_)]));
///
/// // What Bob can read.
/// let opened = message.decrypt(&bob, None, Accept::Authenticated)?;
/// assert_eq!(opened.content(), b"the harbour at nine");
/// assert_eq!(opened.content_type(), "1.2.840.113549.1.7.1");
/// assert!(opened.is_authenticated());
///
/// // Another key of the same kind opens nothing, and learns no reason.
/// # let eve = sealstone_pki::ml_kem::DecapsulationKey::generate(bob.algorithm(), &mut OsRandom)?;
/// assert_eq!(message.decrypt(&eve, None, Accept::Authenticated).err(), Some(Error::Decryption));
/// # Ok(())
/// # }
/// ```
pub struct Encrypted {
    attributes: Option<Vec<u8>>,
    chosen: Chosen,
    content_type: Vec<u8>,
    encrypted: Vec<u8>,
    recipients: Vec<RecipientInfo>,
    tag: Vec<u8>,
}

/// What was encrypted. It is wiped when dropped.
pub struct Decrypted {
    authenticated: bool,
    content: Zeroizing<Vec<u8>>,
    content_type: Vec<u8>,
}

impl Decrypted {
    /// The content. Who encrypted it, encryption does not say.
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// What the content is, dotted: `1.2.840.113549.1.7.1` for plain data.
    pub fn content_type(&self) -> String {
        der::dotted(&self.content_type)
    }

    /// Whether it is known to be as it was encrypted.
    pub fn is_authenticated(&self) -> bool {
        self.authenticated
    }
}

/// The length, never the content.
impl fmt::Debug for Decrypted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decrypted({} bytes)", self.content.len())
    }
}

impl Encrypted {
    /// Takes a message in DER or BER apart.
    ///
    /// # Errors
    /// The first thing that is wrong with it; [`Error::OtherKind`] for a message that is not encrypted.
    pub fn from_der(bytes: &[u8]) -> Result<Self, Error> {
        match open(bytes)? {
            Message::Encrypted(encrypted) => Ok(encrypted),
            other => Err(Error::OtherKind { expected: "an encrypted message", found: other.kind().into() }),
        }
    }

    /// Reads a PEM block `CMS` (RFC 7468 §8) or, as others write, `PKCS7`.
    ///
    /// # Errors
    /// As [`from_der`](Self::from_der), and what is wrong with the PEM.
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        Self::from_der(&super::unpem(text)?)
    }

    /// What encrypts the content.
    pub fn cipher(&self) -> Cipher {
        self.chosen.cipher
    }

    /// What the content is, dotted. It is not protected.
    pub fn content_type(&self) -> String {
        der::dotted(&self.content_type)
    }

    /// Bytes of the encrypted content.
    pub fn encrypted_len(&self) -> usize {
        self.encrypted.len()
    }

    /// For whom it was encrypted, by its own account.
    pub fn recipients(&self) -> &[RecipientInfo] {
        &self.recipients
    }

    /// Decrypts it. With a certificate only the recipients that name it are tried, else all of the key's kind.
    ///
    /// # Errors
    /// [`Error::Unauthenticated`], [`Error::NoRecipient`] if none is to be tried, and [`Error::Decryption`] for
    /// everything that could go wrong from there.
    pub fn decrypt(
        &self,
        key: &DecapsulationKey,
        certificate: Option<&Certificate>,
        accept: Accept,
    ) -> Result<Decrypted, Error> {
        let authenticated = self.chosen.cipher.is_authenticated();
        if !authenticated && accept == Accept::Authenticated {
            return Err(Error::Unauthenticated);
        }
        let mut tried = false;
        for recipient in &self.recipients {
            let RecipientInfo::Kem(recipient) = recipient else { continue };
            let named = certificate.is_none_or(|certificate| recipient.identifier().fits(certificate));
            if recipient.algorithm() != key.algorithm() || !named {
                continue;
            }
            tried = true;
            let opened = recipient.unwrap(key).and_then(|content_key| self.open(&content_key));
            if let Ok(content) = opened {
                let content_type = self.content_type.clone();
                return Ok(Decrypted { authenticated, content, content_type });
            }
        }
        Err(if tried { Error::Decryption } else { Error::NoRecipient })
    }

    fn open(&self, key: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        if key.len() != self.chosen.cipher.key_len() {
            return Err(Error::Decryption);
        }
        let aad = self.attributes.as_deref().unwrap_or_default();
        self.chosen.decrypt(key, aad, &self.encrypted, &self.tag)
    }

    /// Reads the SEQUENCE EnvelopedData, or AuthEnvelopedData (RFC 5083 §2.1) if `auth`.
    pub(super) fn read(outer: &mut Reader<'_>, auth: bool) -> Result<Self, Error> {
        let mut fields = outer.take(der::SEQUENCE)?;
        let (versions, expected): (&[u8], _) =
            if auth { (&[0], "version 0") } else { (&[0, 2, 3, 4], "version 0, 2, 3 or 4") };
        fields.take_version(versions, expected)?;
        fields.take_optional(ORIGINATOR)?;
        let mut recipients = Vec::new();
        let mut list = fields.take(der::SET)?;
        while list.peek().is_some() {
            recipients.push(RecipientInfo::read(&mut list)?);
            limit("recipients", MAX_RECIPIENTS, recipients.len())?;
        }
        if recipients.is_empty() {
            return Err(Error::None { what: "recipient" });
        }

        let mut info = fields.take(der::SEQUENCE)?;
        let content_type = info.take(der::OBJECT_IDENTIFIER)?.rest().to_vec();
        let at = info.clone();
        let chosen = Chosen::read(&mut info)?;
        if chosen.cipher.is_authenticated() != auth {
            let expected = "AES-GCM in AuthEnvelopedData, AES-CBC in EnvelopedData";
            return Err(at.refusal(expected, chosen.cipher.name().into()).into());
        }
        let encrypted = read_encrypted(&mut info)?;
        info.end()?;

        let (mut attributes, mut tag) = (None, Vec::new());
        if auth {
            if let Some(list) = fields.take_optional(AUTHENTICATED)? {
                check_attributes(list.clone(), &content_type)?;
                // RFC 5083 §2.2: with the universal tag.
                attributes = Some(der::write(der::SET, &[list.rest()]).to_vec());
            } else if content_type != oid::DATA {
                return Err(Error::AttributesRequired { content_type: der::dotted(&content_type) });
            }
            let at = fields.clone();
            tag = fields.take(der::OCTET_STRING)?.rest().to_vec();
            if tag.len() != TAG_LEN {
                return Err(at.refusal("a tag of 16 bytes", tag.len().to_string()).into());
            }
            fields.take_optional(UNAUTHENTICATED)?;
        } else {
            fields.take_optional(UNPROTECTED)?;
        }
        fields.end()?;
        Ok(Self { attributes, chosen, content_type, encrypted, recipients, tag })
    }
}

/// What there is to be seen without a key.
impl fmt::Debug for Encrypted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encrypted")
            .field("cipher", &self.chosen.cipher)
            .field("recipients", &self.recipients)
            .finish()
    }
}

/// `[0] IMPLICIT OCTET STRING`, whole or in pieces.
fn read_encrypted(info: &mut Reader<'_>) -> Result<Vec<u8>, Error> {
    if let Some(mut pieces) = info.take_optional(ENCRYPTED_PIECES)? {
        let mut whole = Vec::new();
        while pieces.peek().is_some() {
            whole.extend_from_slice(pieces.take(der::OCTET_STRING)?.rest());
        }
        return Ok(whole);
    }
    Ok(info.take(ENCRYPTED)?.rest().to_vec())
}

/// RFC 5083 §2.1: content-type is among them and is that of the content.
fn check_attributes(mut list: Reader<'_>, content_type: &[u8]) -> Result<(), Error> {
    let mut found = None;
    while list.peek().is_some() {
        let mut attribute = list.take(der::SEQUENCE)?;
        let name = attribute.take(der::OBJECT_IDENTIFIER)?.rest();
        let mut values = attribute.take(der::SET)?;
        attribute.end()?;
        if name == oid::CONTENT_TYPE {
            if found.is_some() {
                return Err(Error::AttributeTwice { attribute: oid::attribute(name) });
            }
            found = Some(values.take(der::OBJECT_IDENTIFIER)?.rest());
            values.end()?;
        }
    }
    match found {
        Some(signed) if signed == content_type => Ok(()),
        Some(signed) => {
            Err(Error::ContentTypeMismatch { signed: der::dotted(signed), found: der::dotted(content_type) })
        }
        None => Err(Error::AttributeMissing { attribute: oid::attribute(oid::CONTENT_TYPE) }),
    }
}
