//! Messages of the Cryptographic Message Syntax, CMS (RFC 5652): signed with ML-DSA (RFC 9882), ECDSA or Ed25519, and
//! encrypted for ML-KEM keys (RFC 9629, RFC 9936).
//!
//! A signed message is [`Unverified`] until its signatures have been checked by [`Unverified::verify`] (content inside)
//! or [`Unverified::over`] (content beside it, in pieces); only the [`Verified`] one shows content and signers. What
//! is written is DER. What is read may also be BER as streaming programs write it: indefinite lengths and strings in
//! pieces are rewritten first, anything else must be DER.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use sealstone_pki::cms;
//! use sealstone_pki::ml_kem::{DecapsulationKey, MlKem};
//!
//! let mut rng = sealstone_mldsa::OsRandom;
//! let bob = DecapsulationKey::generate(MlKem::MlKem768, &mut rng)?;
//! let to_bob = cms::Recipient::key(&bob.encapsulation_key())?;
//! let message = cms::encrypt(b"the harbour at nine", &[to_bob], cms::Cipher::Aes256Gcm, &mut rng)?;
//! let opened = cms::Encrypted::from_der(&message)?.decrypt(&bob, None, cms::Accept::Authenticated)?;
//! assert_eq!(opened.content(), b"the harbour at nine");
//! # Ok(())
//! # }
//! ```

mod attributes;
mod ber;
mod cipher;
mod digest;
mod encrypt;
mod enveloped;
mod error;
mod kemri;
mod oid;
mod sign;
mod signed;
mod time;
mod verify;

use zeroize::Zeroizing;

use crate::der::{self, Reader, Tag};
use crate::pem;

pub use attributes::SignedAttributes;
pub use cipher::Cipher;
pub use digest::DigestAlgorithm;
pub use encrypt::{Recipient, encrypt};
pub use enveloped::{Accept, Decrypted, Encrypted};
pub use error::Error;
pub use kemri::{KemRecipient, RecipientInfo};
pub use sign::{Signer, Signing, Stream};
pub use signed::{Identifier, SignerInfo, Unverified};
pub use verify::{Chain, Check, Policy, Trust, Verified, VerifiedSigner};

/// Most bytes of a message that is read, and of content that is held in memory. Detached content has no limit.
pub const MAX_MESSAGE: usize = 64 << 20;
/// Most certificates and most revocation lists in a message.
pub const MAX_CERTIFICATES: usize = 100;
/// Most signers of a message.
pub const MAX_SIGNERS: usize = 32;
/// Most recipients of a message.
pub const MAX_RECIPIENTS: usize = 256;

const EXPLICIT: Tag = Tag { byte: 0xa0, name: "the content in [0]" };

/// A message of one of the kinds that are read here.
///
/// ```
/// use sealstone_pki::cms::{self, Message, Signer, Signing};
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
/// let read = Message::from_pem(&cms::to_pem(&message))?;
/// assert_eq!(read.kind(), "a signed message");
/// match Message::from_der(&message)? {
///     Message::Signed(signed) => assert_eq!(signed.content_len(), Some(19)),
///     other => panic!("{} came", other.kind()),
/// }
/// # Ok(())
/// # }
/// ```
#[non_exhaustive]
#[derive(Debug)]
pub enum Message {
    /// EnvelopedData or AuthEnvelopedData.
    Encrypted(Encrypted),
    /// SignedData.
    Signed(Unverified),
}

impl Message {
    /// The name of the kind, for sentences.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Encrypted(_) => "an encrypted message",
            Self::Signed(_) => "a signed message",
        }
    }

    /// Takes a message in DER or BER apart, whatever its kind.
    ///
    /// # Errors
    /// The first thing that is wrong with it; [`Error::OtherKind`] for a kind that is not read here.
    pub fn from_der(bytes: &[u8]) -> Result<Self, Error> {
        open(bytes)
    }

    /// The same of a PEM block `CMS` (RFC 7468 §8) or, as others write, `PKCS7`.
    ///
    /// # Errors
    /// As [`from_der`](Self::from_der), and what is wrong with the PEM.
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        open(&unpem(text)?)
    }
}

/// Writes a PEM block `CMS`.
pub fn to_pem(message: &[u8]) -> String {
    pem::encode("CMS", message).to_string()
}

fn unpem(text: &str) -> Result<Zeroizing<Vec<u8>>, Error> {
    Ok(pem::decode_large(text, "CMS or PKCS7", MAX_MESSAGE)?.1)
}

/// ContentInfo, RFC 5652 §3.
fn open(bytes: &[u8]) -> Result<Message, Error> {
    signed::limit("bytes of the message", MAX_MESSAGE, bytes.len())?;
    let der = ber::to_der(bytes)?;
    let mut whole = Reader::within(&der, 0);
    let mut fields = whole.take(der::SEQUENCE)?;
    whole.end()?;
    let kind = fields.take(der::OBJECT_IDENTIFIER)?.rest();
    let mut content = fields.take(EXPLICIT)?;
    fields.end()?;
    let message = match kind {
        oid::SIGNED_DATA => Message::Signed(Unverified::read(&mut content)?),
        oid::ENVELOPED_DATA => Message::Encrypted(Encrypted::read(&mut content, false)?),
        oid::AUTH_ENVELOPED_DATA => Message::Encrypted(Encrypted::read(&mut content, true)?),
        other => {
            let found = format!("content of type {}", der::dotted(other));
            return Err(Error::OtherKind { expected: "a signed or encrypted message", found });
        }
    };
    content.end()?;
    Ok(message)
}

/// ContentInfo around a content in DER.
fn close(kind: &[u8], content: &[u8]) -> Vec<u8> {
    let kind = der::write(der::OBJECT_IDENTIFIER, &[kind]);
    der::write(der::SEQUENCE, &[&kind, &der::write(EXPLICIT, &[content])]).to_vec()
}
