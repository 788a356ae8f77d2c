//! The one error type. Variants are facts about the input; none carries a byte of a secret.

use core::fmt;

use crate::algorithm::KeyAlgorithm;

/// Why a key, a certificate or a name was refused. Offsets count bytes of the DER, lines count from 1.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A signature's algorithm is not one of this key.
    AlgorithmMismatch {
        /// The key's.
        key: &'static str,
        /// The signature's.
        signature: &'static str,
    },
    /// An algorithm that is known by name and not used: too weak, not allowed here, or not implemented.
    AlgorithmRefused {
        /// Dotted.
        oid: String,
        /// As its standard calls it.
        name: &'static str,
        /// Why not.
        why: &'static str,
    },
    /// The object identifier is not of an algorithm or curve known here.
    AlgorithmUnknown {
        /// Dotted, such as `1.2.840.113549.1.1.1`.
        oid: String,
    },
    /// The signature is not one of this key over this message.
    BadSignature,
    /// A key of two halves.
    #[cfg(feature = "composite")]
    Composite(sealstone_composite::Error),
    /// The structure is not the one expected.
    Der {
        /// Where.
        offset: usize,
        /// What should be there.
        expected: &'static str,
        /// What is.
        found: String,
    },
    /// The private key is encrypted with a password, and none was given.
    Encrypted,
    /// Parts of one key that contradict each other (RFC 9881 §8.2).
    Inconsistent {
        /// Which.
        parts: &'static str,
    },
    /// A certificate's issuer cannot sign what was asked for.
    Issuer {
        /// Why not.
        why: &'static str,
    },
    /// The derivation of a key from a password would take less or more work than is allowed.
    Iterations {
        /// Fewest iterations.
        least: u32,
        /// Most iterations.
        most: u32,
        /// How many there are.
        found: u64,
    },
    /// An ML-KEM key or ciphertext is longer or shorter than its parameter set says (FIPS 203, Table 3).
    KemLength {
        /// The parameter set.
        algorithm: &'static str,
        /// Which part.
        part: &'static str,
        /// Its right length in bytes.
        expected: usize,
        /// Its length here.
        found: usize,
    },
    /// A key is longer or shorter than its algorithm says.
    KeyLength {
        /// The algorithm.
        algorithm: KeyAlgorithm,
        /// Which part of the key.
        part: &'static str,
        /// Its right length in bytes.
        expected: usize,
        /// Its length here.
        found: usize,
    },
    /// A public key that is none: a point off its curve, a modulus of another size.
    KeyMalformed {
        /// Of which algorithm.
        algorithm: &'static str,
    },
    /// The text is not a distinguished name (RFC 4514 §3).
    Name {
        /// Where, in bytes of the text.
        offset: usize,
        /// What should be there.
        expected: &'static str,
        /// What is.
        found: &'static str,
    },
    /// An ML-DSA key that is only there in expanded form: there is no way back to the seed.
    NoSeed,
    /// The algorithm's parameters are not what its RFC demands: absent, or a named curve.
    Parameters {
        /// Where.
        offset: usize,
        /// What should be there.
        expected: &'static str,
        /// What is.
        found: String,
    },
    /// The password is another one, or the encrypted key was changed: the format (RFC 8018) tells no more.
    Password,
    /// No path of certificates holds, or one of them does not.
    #[cfg(feature = "certificates")]
    Path {
        /// Whom the certificate is about that was refused.
        subject: String,
        /// Why.
        why: Box<crate::x509::path::Refusal>,
    },
    /// The text is not one PEM block (RFC 7468 §3).
    Pem {
        /// Where.
        line: usize,
        /// What is wrong there.
        problem: &'static str,
    },
    /// The PEM block holds something else.
    PemLabel {
        /// The label that would do.
        expected: &'static str,
        /// The label found.
        found: String,
    },
    /// The point is not in uncompressed form (RFC 5480 §2.2).
    PointForm {
        /// Its first byte, 04 in the right form.
        found: u8,
    },
    /// The operating system gave no randomness, or the cryptographic library failed; nothing was signed.
    Provider,
    /// The scalar is zero or not below the order of the curve.
    ScalarRange {
        /// The algorithm.
        algorithm: KeyAlgorithm,
    },
    /// Larger than any key.
    TooLarge {
        /// Most bytes that are read.
        limit: usize,
        /// How many there are.
        found: usize,
    },
    /// Something follows where the structure is over.
    TrailingData {
        /// Where.
        offset: usize,
        /// How many bytes.
        found: usize,
    },
    /// It is encrypted in a way that is not read here.
    Unsupported {
        /// What is chosen that way: the derivation of the key, its hash, the cipher.
        part: &'static str,
        /// What would do.
        expected: &'static str,
        /// The object identifier found, dotted.
        found: String,
    },
    /// What was asked for cannot be written.
    Value {
        /// Of what.
        what: &'static str,
        /// What would do.
        expected: &'static str,
    },
}

impl Error {
    /// What the reader of the message could do, where that is known.
    ///
    /// ```
    /// use sealstone_pki::{Error, pkcs8};
    ///
    /// let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE KEY-----\n";
    /// let error = pkcs8::from_pem(encrypted).expect_err("it is encrypted");
    /// assert_eq!(error, Error::Encrypted);
    /// assert_eq!(error.to_string(), "the private key is encrypted");
    /// assert!(error.hint().is_some_and(|hint| hint.starts_with("give its password")));
    ///
    /// // Where there is nothing to advise, there is no hint.
    /// assert_eq!(Error::BadSignature.hint(), None);
    /// ```
    pub const fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::AlgorithmUnknown { .. } => {
                "known: ML-DSA-44, ML-DSA-65, ML-DSA-87, ECDSA on P-256, P-384, P-521, and Ed25519"
            }
            Self::Encrypted => {
                "give its password, or decrypt it first with `openssl pkcs8 -in KEY -out PLAIN`"
            }
            Self::Inconsistent { .. } => "do not use this key: export it again from where it was made",
            Self::Name { .. } => {
                "write it as RFC 4514 says, as in CN=billing,O=Example: `openssl x509 -noout -subject -nameopt RFC2253` \
                 prints it so"
            }
            Self::NoSeed => {
                "such a key signs, but it can become neither a JWK (RFC 9964 §4) nor a seed PKCS#8 (RFC 9881 §6): \
                 export it again from where its seed is kept"
            }
            #[cfg(feature = "certificates")]
            Self::Path { why, .. } => return why.hint(),
            Self::Parameters { .. } => {
                "write the key with another tool: this encoding is not that of its RFC"
            }
            Self::Pem { .. } | Self::PemLabel { .. } => {
                "give a file with one PEM block: PUBLIC KEY, PRIVATE KEY or EC PRIVATE KEY"
            }
            Self::Password => "try the password again; if it is right, the file was damaged",
            Self::PointForm { .. } => {
                "convert it, for example with `openssl pkey -pubin -ec_conv_form uncompressed`"
            }
            Self::Unsupported { .. } => {
                "encrypt it again, for example with `openssl pkcs8 -topk8 -v2 aes-256-cbc -v2prf hmacWithSHA256`"
            }
            _ => return None,
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlgorithmMismatch { key, signature } => {
                write!(f, "a signature by {signature} cannot be one of a key of {key}")
            }
            Self::AlgorithmRefused { oid, name, why } => write!(f, "{name} ({oid}) is refused: {why}"),
            Self::AlgorithmUnknown { oid } => write!(f, "unknown key algorithm or curve {oid}"),
            Self::BadSignature => f.write_str("the signature does not verify"),
            #[cfg(feature = "composite")]
            Self::Composite(cause) => cause.fmt(f),
            Self::Der { offset, expected, found } => {
                write!(f, "bad DER at byte {offset}: expected {expected}, found {found}")
            }
            Self::Encrypted => f.write_str("the private key is encrypted"),
            Self::Inconsistent { parts } => write!(f, "the key contradicts itself: {parts}"),
            Self::Issuer { why } => write!(f, "the issuer cannot sign this: {why}"),
            Self::Iterations { least, most, found } => {
                write!(f, "expected {least} to {most} iterations of PBKDF2, found {found}")
            }
            Self::KemLength { algorithm, part, expected, found } => {
                write!(f, "{part} of {algorithm}: expected {expected} bytes, found {found}")
            }
            Self::KeyLength { algorithm, part, expected, found } => {
                write!(f, "{part} of {algorithm}: expected {expected} bytes, found {found}")
            }
            Self::KeyMalformed { algorithm } => write!(f, "these bytes are no public key of {algorithm}"),
            Self::Name { offset, expected, found } => {
                write!(f, "bad name at byte {offset}: expected {expected}, found {found}")
            }
            Self::NoSeed => f.write_str("the key is there only in expanded form, without its seed"),
            Self::Parameters { offset, expected, found } => {
                write!(f, "algorithm parameters at byte {offset}: expected {expected}, found {found}")
            }
            Self::Password => f.write_str("the password is wrong, or the encrypted key is damaged"),
            #[cfg(feature = "certificates")]
            Self::Path { subject, why } => write!(f, "{subject}: {why}"),
            Self::Pem { line, problem } => write!(f, "bad PEM at line {line}: {problem}"),
            Self::PemLabel { expected, found } => write!(f, "expected a PEM block {expected}, found {found}"),
            Self::PointForm { found } => {
                write!(f, "expected an uncompressed point, first byte 0x04, found {found:#04x}")
            }
            Self::Provider => f.write_str("no randomness, or the cryptographic library failed"),
            Self::ScalarRange { algorithm } => {
                write!(f, "the private scalar is out of range for {algorithm}")
            }
            Self::TooLarge { limit, found } => write!(f, "expected at most {limit} bytes, found {found}"),
            Self::TrailingData { offset, found } => {
                write!(f, "{found} bytes too many from byte {offset}: expected the end")
            }
            Self::Unsupported { part, expected, found } => {
                write!(f, "{part} of the encrypted key: expected {expected}, found {found}")
            }
            Self::Value { what, expected } => write!(f, "{what} cannot be written: expected {expected}"),
        }
    }
}

impl core::error::Error for Error {}
