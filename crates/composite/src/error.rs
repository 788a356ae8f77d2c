//! The one error type. None carries a byte of a secret.

use core::fmt;

use crate::Algorithm;

/// Why a key or a signature was refused.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// A half of the signature, or both, is not of this key over this message.
    BadSignature,
    /// More than 255 bytes of context.
    ContextTooLong,
    /// A key of another length.
    KeyLength {
        /// Of which algorithm.
        algorithm: Algorithm,
        /// Bytes that it has.
        expected: usize,
        /// Bytes found.
        found: usize,
    },
    /// The classical half of a key is none: a point off its curve, a scalar out of range, another encoding.
    KeyMalformed {
        /// Of which algorithm.
        algorithm: Algorithm,
    },
    /// The operating system gave no randomness, or the cryptographic library failed; nothing was signed.
    Provider,
    /// ECDSA halves as fixed-length numbers, as draft-ietf-jose-pq-composite-sigs-03 wrote them. From -04 on they are DER.
    RawEcdsa {
        /// Of which algorithm.
        algorithm: Algorithm,
    },
    /// A signature of a length that none of the algorithm has.
    SignatureLength {
        /// Of which algorithm.
        algorithm: Algorithm,
        /// Bytes found.
        found: usize,
    },
}

impl Error {
    /// What the reader of the message could do, where that is known.
    ///
    /// ```
    /// use sealstone_composite::{Algorithm, PublicKey};
    ///
    /// // One byte short of a key: how draft -03 wrote points, without their first byte.
    /// let algorithm = Algorithm::MlDsa44EcdsaP256;
    /// let old = vec![0; algorithm.public_len() - 1];
    /// let error = PublicKey::decode(algorithm, &old).expect_err("the old encoding is refused");
    /// assert!(error.to_string().contains("draft -03"));
    /// assert!(error.hint().is_some_and(|hint| hint.contains("-04")));
    ///
    /// // Of a key that is cut anywhere else there is no more to say than its length.
    /// let error = PublicKey::decode(algorithm, &old[..99]).expect_err("cut");
    /// assert_eq!(error.to_string(), "key of MLDSA44-ECDSA-P256-SHA256: expected 1377 bytes, found 99");
    /// assert_eq!(error.hint(), None);
    /// ```
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::RawEcdsa { .. } => {
                Some("make key and signature anew with software of revision -04 of the JOSE draft")
            }
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadSignature => f.write_str("the signature does not verify"),
            Self::ContextTooLong => f.write_str("the context has more than 255 bytes"),
            Self::KeyLength { algorithm, expected, found } => {
                write!(f, "key of {algorithm}: expected {expected} bytes, found {found}")
            }
            Self::KeyMalformed { algorithm } => write!(f, "key of {algorithm}: the classical half is none"),
            Self::Provider => f.write_str("no randomness, or the cryptographic library failed"),
            Self::RawEcdsa { algorithm } => {
                write!(
                    f,
                    "{algorithm}: the ECDSA half is in the raw encoding of the JOSE draft -03, expected DER"
                )
            }
            Self::SignatureLength { algorithm, found } => {
                let (least, most) = (algorithm.signature_min(), algorithm.signature_max());
                write!(f, "signature of {algorithm}: expected {least} to {most} bytes, found {found}")
            }
        }
    }
}

impl core::error::Error for Error {}
