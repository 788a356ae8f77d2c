//! Making AuthEnvelopedData (RFC 5083) and EnvelopedData (RFC 5652 §6).

use sealstone_mldsa::Randomness;
use zeroize::Zeroizing;

use super::attributes::set_of;
use super::cipher::{Chosen, Cipher};
use super::enveloped::ENCRYPTED;
use super::error::Error;
use super::signed::{Identifier, limit};
use super::{MAX_MESSAGE, MAX_RECIPIENTS, close, kemri, oid};
use crate::der;
use crate::ml_kem::EncapsulationKey;
use crate::x509::{Certificate, KeyUsage, subject_key_id};

/// Someone who will be able to read a message: a holder of an ML-KEM key.
///
/// ```
/// use sealstone_mldsa::OsRandom;
/// use sealstone_pki::cms::{Accept, Cipher, Encrypted, Recipient, encrypt};
/// use sealstone_pki::ml_kem::{DecapsulationKey, MlKem};
/// use sealstone_pki::x509::{CertificateBuilder, KeyUsage, Profile, Serial};
///
/// # fn main() -> Result<(), sealstone_pki::cms::Error> {
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
/// // Bob's key is certified for encryption and nothing else.
/// let bob = DecapsulationKey::generate(MlKem::MlKem768, &mut OsRandom)?;
/// let certificate = CertificateBuilder {
///     not_after: 1_900_000_000,
///     not_before: 1_800_000_000,
///     profile: Profile { key_usage: Some(KeyUsage::KEY_ENCIPHERMENT), ..Profile::end_entity() },
///     serial: Serial::random(&mut OsRandom)?,
///     subject: "CN=bob".parse()?,
/// }
/// .issue(&bob.encapsulation_key().to_der(), &root, &root_key)?;
///
/// // One message for Bob and for a key without a certificate.
/// let archive = DecapsulationKey::generate(MlKem::MlKem1024, &mut OsRandom)?;
/// let recipients = [Recipient::certificate(&certificate)?, Recipient::key(&archive.encapsulation_key())?];
/// let message = encrypt(b"the harbour at nine", &recipients, Cipher::Aes256Gcm, &mut OsRandom)?;
///
/// let message = Encrypted::from_der(&message)?;
/// let opened = message.decrypt(&bob, Some(&certificate), Accept::Authenticated)?;
/// assert_eq!(opened.content(), b"the harbour at nine");
/// assert_eq!(message.decrypt(&archive, None, Accept::Authenticated)?.content(), opened.content());
///
/// // A certificate that is for signatures is not encrypted to.
/// assert!(Recipient::certificate(&root).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Recipient {
    /// RecipientIdentifier in DER.
    id: Vec<u8>,
    key: EncapsulationKey,
}

impl Recipient {
    /// Named by its certificate's subjectKeyIdentifier, or by issuer and serial number if it has none. Whether the
    /// certificate is to be trusted is for the caller to know.
    ///
    /// # Errors
    /// [`Error::Encoding`] for a certificate of another key, [`Error::KeyUsage`] for one whose key may do anything but
    /// keyEncipherment (RFC 9935 §5).
    pub fn certificate(certificate: &Certificate) -> Result<Self, Error> {
        let key = EncapsulationKey::from_der(certificate.public_key())?;
        if certificate.key_usage().is_some_and(|usage| usage != KeyUsage::KEY_ENCIPHERMENT) {
            return Err(Error::KeyUsage { expected: "keyEncipherment alone" });
        }
        Ok(Self { id: Identifier::write(certificate, true), key })
    }

    /// Named by the identifier of its key, as certificates of the house have it (RFC 7093 §2, method 1).
    ///
    /// # Errors
    /// None for a key that is one: its encoding is our own.
    pub fn key(key: &EncapsulationKey) -> Result<Self, Error> {
        let id = subject_key_id(&key.to_der())?;
        Ok(Self { id: Identifier::write_key_id(&id), key: key.clone() })
    }
}

/// Encrypts content for its recipients: with [`Cipher::Aes256Gcm`] into AuthEnvelopedData, with [`Cipher::Aes256Cbc`]
/// into EnvelopedData.
///
/// # Errors
/// [`Error::None`] without a recipient, [`Error::TooLarge`], [`Error::Unsupported`] for a cipher that is only read.
pub fn encrypt(
    content: &[u8],
    recipients: &[Recipient],
    cipher: Cipher,
    rng: &mut impl Randomness,
) -> Result<Vec<u8>, Error> {
    if recipients.is_empty() {
        return Err(Error::None { what: "recipient" });
    }
    if !matches!(cipher, Cipher::Aes256Cbc | Cipher::Aes256Gcm) {
        let (part, expected) = ("the cipher of the content", "AES-256-GCM or AES-256-CBC");
        return Err(Error::Unsupported { part, expected, found: cipher.name().into() });
    }
    limit("recipients", MAX_RECIPIENTS, recipients.len())?;
    limit("bytes of content", MAX_MESSAGE, content.len())?;

    let mut key = Zeroizing::new([0; 32]);
    rng.fill(&mut *key).map_err(|_| crate::Error::Provider)?;
    let chosen = Chosen::new(cipher, rng)?;
    let mut infos = Vec::new();
    for recipient in recipients {
        infos.push(kemri::write(&recipient.id, &recipient.key, &*key, rng)?);
    }
    let mut encrypted = Vec::with_capacity(content.len() + 16);
    encrypted.extend_from_slice(content);
    let tag = chosen.encrypt(&*key, &[], &mut encrypted)?;

    let encrypted = der::write(ENCRYPTED, &[&encrypted]);
    let content_type = der::write(der::OBJECT_IDENTIFIER, &[oid::DATA]);
    let encrypted = der::write(der::SEQUENCE, &[&content_type, &chosen.write(), &encrypted]);
    // RFC 5083 §2.1: version 0. RFC 5652 §6.1: version 3, because of the kind of recipient.
    let (kind, version, tag) = match cipher.is_authenticated() {
        true => (oid::AUTH_ENVELOPED_DATA, 0, der::write(der::OCTET_STRING, &[&tag]).to_vec()),
        false => (oid::ENVELOPED_DATA, 3, Vec::new()),
    };
    let version = der::write(der::INTEGER, &[&[version]]);
    let message = close(kind, &der::write(der::SEQUENCE, &[&version, &set_of(infos), &encrypted, &tag]));
    limit("bytes of the message", MAX_MESSAGE, message.len())?;
    Ok(message)
}
