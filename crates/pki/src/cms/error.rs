//! Why a message was refused, or could not be made. A room of its own beside the errors of keys and certificates: most
//! of these are verdicts on a message, not on an encoding.

use core::fmt;

/// Variants are facts about the message; none carries a secret. Offsets count bytes of the DER.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The algorithms that were signed are not those that stand in the signer's structure (RFC 6211 §2).
    AlgorithmProtection {
        /// `digest` or `signature`.
        part: &'static str,
    },
    /// The content, signed as it is, is an encoding of signed attributes: it may have been signed as such, over other
    /// content.
    AttributesAsContent,
    /// A signed attribute that must be there is not (RFC 5652 §5.3).
    AttributeMissing {
        /// Which.
        attribute: String,
    },
    /// A signed attribute stands twice (RFC 5652 §5.3).
    AttributeTwice {
        /// Which.
        attribute: String,
    },
    /// A signed attribute has not exactly one value (RFC 5652 §11).
    AttributeValues {
        /// Which.
        attribute: String,
    },
    /// Content of another type than id-data needs signed attributes (RFC 5652 §5.3).
    AttributesRequired {
        /// The type, dotted.
        content_type: String,
    },
    /// The signed attributes are not in the order of DER (RFC 5652 §5.3).
    AttributesUnsorted {
        /// Where the order is broken.
        offset: usize,
    },
    /// The signature is not one of the signer's key over this.
    BadSignature,
    /// The BER is not of the forms that are rewritten.
    Ber {
        /// Where.
        offset: usize,
        /// What should be there.
        expected: &'static str,
    },
    /// Two certificates fit the signer: which of them is meant, only a signature could tell.
    CertificateAmbiguous {
        /// How the signer is named.
        signer: String,
    },
    /// The certificate is not that of the key.
    CertificateMismatch,
    /// No certificate fits the signer.
    CertificateMissing {
        /// How the signer is named.
        signer: String,
    },
    /// The content is not what was signed.
    ContentMismatch,
    /// The content is not in the message, and none was given.
    ContentMissing,
    /// The content is in the message, and another was given.
    ContentPresent,
    /// The type of the content that was signed is another (RFC 5652 §11.1).
    ContentTypeMismatch {
        /// What was signed, dotted.
        signed: String,
        /// What stands in the message, dotted.
        found: String,
    },
    /// The message was not encrypted for this key, or it was changed. Why is not said: it would help who changed it.
    Decryption,
    /// Without signed attributes the digest is SHA-512 and nothing else (RFC 9882 §3).
    DigestFixed {
        /// What was asked for.
        found: &'static str,
    },
    /// The digest is not the one that the signature's algorithm goes with (RFC 5754 §3, RFC 8419 §3.1).
    DigestMismatch {
        /// The digest.
        digest: &'static str,
        /// The signature's algorithm.
        signature: &'static str,
    },
    /// The digest is not known here, or too weak for any signature.
    DigestUnknown {
        /// Dotted.
        oid: String,
    },
    /// The digest is weaker than the signature (RFC 9882 §4).
    DigestWeak {
        /// The digest.
        digest: &'static str,
        /// The signature's algorithm.
        signature: &'static str,
    },
    /// A key, a certificate or the DER.
    Encoding(crate::Error),
    /// The certificate's key is not for this (RFC 5280 §4.2.1.3).
    KeyUsage {
        /// What it should be for.
        expected: &'static str,
    },
    /// Something that there must be one of at least.
    None {
        /// Of what.
        what: &'static str,
    },
    /// None of the recipients is this key or certificate.
    NoRecipient,
    /// Another kind of message.
    OtherKind {
        /// What was expected.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// The time cannot be written.
    Time {
        /// Seconds from 1970.
        seconds: i64,
    },
    /// Larger, or more of it, than is read or written.
    TooLarge {
        /// Of what.
        what: &'static str,
        /// Most of it.
        limit: usize,
        /// How much there is.
        found: usize,
    },
    /// The cipher does not show whether the message was changed, and that was not allowed for.
    Unauthenticated,
    /// An algorithm that is not used here.
    Unsupported {
        /// What it is chosen for.
        part: &'static str,
        /// What would do.
        expected: &'static str,
        /// What there is.
        found: String,
    },
    /// The signer is no one who is trusted.
    Untrusted {
        /// How the signer is named.
        signer: String,
        /// Why not, if a chain was tried.
        cause: Option<Box<crate::Error>>,
    },
}

impl Error {
    /// What the reader of the message could do, where that is known.
    ///
    /// ```
    /// use sealstone_mldsa::OsRandom;
    /// use sealstone_pki::cms::{self, Accept, Cipher, Encrypted, Error};
    ///
    /// # fn main() -> Result<(), sealstone_pki::cms::Error> {
    /// // `bob`: Bob's key of ML-KEM-768.
    /// # let bob = sealstone_pki::ml_kem::DecapsulationKey::generate(
    /// #     sealstone_pki::ml_kem::MlKem::MlKem768, &mut sealstone_mldsa::OsRandom)?;
    /// let to_bob = cms::Recipient::key(&bob.encapsulation_key())?;
    /// let message = cms::encrypt(b"the harbour at nine", &[to_bob], Cipher::Aes256Cbc, &mut OsRandom)?;
    /// let refused = Encrypted::from_der(&message)?.decrypt(&bob, None, Accept::Authenticated);
    /// let error = refused.expect_err("CBC shows no change");
    /// assert_eq!(error, Error::Unauthenticated);
    /// assert!(error.hint().is_some_and(|hint| hint.contains("ask for AuthEnvelopedData")));
    /// # Ok(())
    /// # }
    /// ```
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::CertificateAmbiguous { .. } | Self::CertificateMissing { .. } => {
                "give the signer's certificate"
            }
            Self::ContentMissing => "this signature is detached: give the content beside it",
            Self::ContentPresent => "the content is in the message: leave the other away",
            Self::DigestFixed { .. } => "choose SHA-512, or keep the signed attributes",
            Self::DigestWeak { .. } => "SHA-512 is strong enough for every level",
            Self::Encoding(cause) => return cause.hint(),
            Self::KeyUsage { .. } => "use a certificate that was issued for this",
            Self::Unauthenticated => {
                "whoever can see whether it decrypts could find the content out: ask for AuthEnvelopedData with AES-GCM, \
                 or allow it where no one else learns the result"
            }
            _ => return None,
        })
    }
}

impl From<crate::Error> for Error {
    fn from(cause: crate::Error) -> Self {
        Self::Encoding(cause)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlgorithmProtection { part } => {
                write!(f, "the {part} algorithm is not the one that was signed (CMSAlgorithmProtection)")
            }
            Self::AttributesAsContent => {
                f.write_str("the content is an encoding of signed attributes, and none are there: they may have been signed as such")
            }
            Self::AttributeMissing { attribute } => write!(f, "the signed attribute {attribute} is missing"),
            Self::AttributeTwice { attribute } => write!(f, "the signed attribute {attribute} stands twice"),
            Self::AttributeValues { attribute } => {
                write!(f, "the signed attribute {attribute}: expected one value, found more")
            }
            Self::AttributesRequired { content_type } => {
                write!(f, "content of type {content_type} without signed attributes")
            }
            Self::AttributesUnsorted { offset } => {
                write!(f, "the signed attributes are not in the order of DER, from byte {offset}")
            }
            Self::BadSignature => f.write_str("the signature does not verify"),
            Self::Ber { offset, expected } => write!(f, "bad BER at byte {offset}: expected {expected}"),
            Self::CertificateAmbiguous { signer } => {
                write!(f, "more than one certificate fits the signer, {signer}")
            }
            Self::CertificateMismatch => f.write_str("the certificate is not that of the key"),
            Self::CertificateMissing { signer } => write!(f, "no certificate of the signer, {signer}"),
            Self::ContentMismatch => f.write_str("the content is not what was signed"),
            Self::ContentMissing => f.write_str("the content is not in the message"),
            Self::ContentPresent => f.write_str("the content is in the message, and another was given"),
            Self::ContentTypeMismatch { signed, found } => {
                write!(f, "the content type is {found}, and {signed} was signed")
            }
            Self::Decryption => f.write_str("the message was not encrypted for this key, or it was changed"),
            Self::DigestFixed { found } => {
                write!(f, "without signed attributes the digest is SHA-512, and {found} was asked for")
            }
            Self::DigestMismatch { digest, signature } => write!(f, "{digest} does not go with {signature}"),
            Self::DigestUnknown { oid } => write!(f, "unknown or weak digest {oid}"),
            Self::DigestWeak { digest, signature } => {
                write!(f, "{digest} is too weak beside {signature} (RFC 9882 §4)")
            }
            Self::Encoding(cause) => cause.fmt(f),
            Self::KeyUsage { expected } => write!(f, "the certificate's key usage: expected {expected}"),
            Self::None { what } => write!(f, "expected one {what} at least, found none"),
            Self::NoRecipient => {
                f.write_str("the message is for others: none of its recipients fits the key")
            }
            Self::OtherKind { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::Time { seconds } => {
                write!(f, "{seconds} seconds from 1970 is no time between 1950 and 9999")
            }
            Self::TooLarge { what, limit, found } => {
                write!(f, "{what}: expected at most {limit}, found {found}")
            }
            Self::Unauthenticated => f.write_str("the content is encrypted and not authenticated"),
            Self::Unsupported { part, expected, found } => {
                write!(f, "{part}: expected {expected}, found {found}")
            }
            Self::Untrusted { signer, cause: None } => write!(f, "the signer is not trusted: {signer}"),
            Self::Untrusted { signer, cause: Some(cause) } => {
                write!(f, "the signer is not trusted: {signer}: {cause}")
            }
        }
    }
}

impl core::error::Error for Error {}
