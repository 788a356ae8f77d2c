//! What can be wrong with a record, and why a file is not taken.

use core::fmt;

use crate::file_id::{HashAlgorithm, Kind};
use crate::record::KeyId;

/// Why an attribute or a file was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The signature is not the key's over this file. The file may have changed, or the signature may be another's.
    BadSignature,
    /// A version 2 signature under an ML-DSA key: the kernel takes ML-DSA with version 3 alone.
    ClassicalRules,
    /// A digest is not as long as its hash function makes it.
    DigestLength {
        /// The hash function.
        hash: HashAlgorithm,
        /// Bytes of its digests.
        expected: usize,
        /// Bytes that came.
        found: usize,
    },
    /// The number of a hash function that is not known here.
    Hash {
        /// The kernel's number.
        number: u8,
    },
    /// The record is of a digest by another hash function: hash the file anew with that one.
    HashDiffers {
        /// That of the digest at hand.
        expected: HashAlgorithm,
        /// That of the record.
        found: HashAlgorithm,
    },
    /// A subject key identifier of less than four bytes gives no key id.
    KeyIdentifier {
        /// Its bytes.
        found: usize,
    },
    /// The record is of something else of the file.
    Kind {
        /// What the digest at hand is of.
        expected: Kind,
        /// What the record says.
        found: Kind,
    },
    /// The attribute holds something that is no signature, such as a bare digest.
    NotSigned {
        /// The attribute's first byte.
        kind: u8,
    },
    /// The signature is not as long as is said, or empty, or too long to say.
    SignatureLength {
        /// The length field, where a record was read.
        said: Option<usize>,
        /// Bytes that are there.
        found: usize,
    },
    /// The value ends within its header.
    Truncated {
        /// Bytes of a header.
        expected: usize,
        /// Bytes that are there.
        found: usize,
    },
    /// No trusted key has this id.
    UnknownKey {
        /// The record's.
        key_id: KeyId,
    },
    /// A version of the format that is not known here.
    Version {
        /// The version.
        found: u8,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadSignature => f.write_str("the signature does not verify"),
            Self::ClassicalRules => f.write_str("a version 2 signature, which no ML-DSA key makes"),
            Self::DigestLength { hash, expected, found } => {
                write!(f, "a {hash} digest has {expected} bytes, found {found}")
            }
            Self::Hash { number } => write!(f, "hash function {number} is not known"),
            Self::HashDiffers { expected, found } => {
                write!(f, "the record is of a {found} digest, the digest at hand is {expected}")
            }
            Self::KeyIdentifier { found } => {
                write!(f, "a subject key identifier of {found} bytes, expected at least 4")
            }
            Self::Kind { expected, found } => {
                write!(f, "the record is of kind {}, expected {}", found.byte(), expected.byte())
            }
            Self::NotSigned { kind } => write!(f, "no signature: the attribute is of type {kind}"),
            Self::SignatureLength { said: Some(said), found } => {
                write!(f, "the header says {said} bytes of signature, found {found}")
            }
            Self::SignatureLength { said: None, found } => {
                write!(f, "a signature has 1 to 65535 bytes, found {found}")
            }
            Self::Truncated { expected, found } => {
                write!(f, "the value ends within its header of {expected} bytes: found {found}")
            }
            Self::UnknownKey { key_id } => write!(f, "no trusted key has {key_id}"),
            Self::Version { found } => write!(f, "version {found} of the format is not known"),
        }
    }
}

impl std::error::Error for Error {}
