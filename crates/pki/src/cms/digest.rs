//! The digests of messages: their object identifiers, and which of them are strong enough for which key.

use core::fmt;

use sealstone_mldsa::{Level, PreHash, PreHasher};

use super::error::Error;
use crate::der::{self, Reader, Tag};

/// NIST's arc of hash functions, 2.16.840.1.101.3.4.2; the last arc follows.
const HASHES: [u8; 8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02];
const NULL: Tag = Tag { byte: 0x05, name: "NULL" };

/// A digest of 256 bits or more.
///
/// ```
/// use sealstone_mldsa::Level;
/// use sealstone_pki::cms::DigestAlgorithm;
///
/// let digest = DigestAlgorithm::by_name("SHA-384").expect("it is one of the eight");
/// assert_eq!(digest.name(), "SHA-384");
/// assert!(digest.is_enough_for(Level::MlDsa65) && !digest.is_enough_for(Level::MlDsa87));
/// assert!(Level::ALL.into_iter().all(|level| DigestAlgorithm::Sha512.is_enough_for(level)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DigestAlgorithm {
    /// SHA-256 (RFC 5754 §2.2).
    Sha256,
    /// SHA-384 (RFC 5754 §2.3).
    Sha384,
    /// SHA-512 (RFC 5754 §2.4), which every reader of ML-DSA knows.
    Sha512,
    /// SHA3-256 (RFC 9688 §2).
    Sha3_256,
    /// SHA3-384 (RFC 9688 §2).
    Sha3_384,
    /// SHA3-512 (RFC 9688 §2).
    Sha3_512,
    /// SHAKE128 with 32 bytes (RFC 8702 §3.1).
    Shake128,
    /// SHAKE256 with 64 bytes (RFC 8702 §3.1).
    Shake256,
}

impl DigestAlgorithm {
    /// Every digest.
    pub const ALL: [Self; 8] = [
        Self::Sha256,
        Self::Sha384,
        Self::Sha512,
        Self::Sha3_256,
        Self::Sha3_384,
        Self::Sha3_512,
        Self::Shake128,
        Self::Shake256,
    ];

    /// The name, such as `SHA-512`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "SHA-256",
            Self::Sha384 => "SHA-384",
            Self::Sha512 => "SHA-512",
            Self::Sha3_256 => "SHA3-256",
            Self::Sha3_384 => "SHA3-384",
            Self::Sha3_512 => "SHA3-512",
            Self::Shake128 => "SHAKE128",
            Self::Shake256 => "SHAKE256",
        }
    }

    /// The digest of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|digest| digest.name().eq_ignore_ascii_case(name))
    }

    /// Whether RFC 9882 §4 (Table 1) lets it digest for a key of this level: it must not be what breaks first.
    pub const fn is_enough_for(self, level: Level) -> bool {
        match (level, self) {
            (Level::MlDsa44, _) | (_, Self::Sha512 | Self::Sha3_512 | Self::Shake256) => true,
            (Level::MlDsa65, Self::Sha384 | Self::Sha3_384) => true,
            (Level::MlDsa65 | Level::MlDsa87, _) => false,
        }
    }

    const fn last_arc(self) -> u8 {
        match self {
            Self::Sha256 => 1,
            Self::Sha384 => 2,
            Self::Sha512 => 3,
            Self::Sha3_256 => 8,
            Self::Sha3_384 => 9,
            Self::Sha3_512 => 10,
            Self::Shake128 => 11,
            Self::Shake256 => 12,
        }
    }

    const fn function(self) -> PreHash {
        match self {
            Self::Sha256 => PreHash::Sha2_256,
            Self::Sha384 => PreHash::Sha2_384,
            Self::Sha512 => PreHash::Sha2_512,
            Self::Sha3_256 => PreHash::Sha3_256,
            Self::Sha3_384 => PreHash::Sha3_384,
            Self::Sha3_512 => PreHash::Sha3_512,
            Self::Shake128 => PreHash::Shake128,
            Self::Shake256 => PreHash::Shake256,
        }
    }

    pub(super) fn begin(self) -> PreHasher {
        PreHasher::new(self.function())
    }

    /// Reads an AlgorithmIdentifier. Parameters are absent; beside SHA-2, readers must take NULL too (RFC 5754 §2).
    pub(super) fn read(outer: &mut Reader<'_>) -> Result<Self, Error> {
        let mut fields = outer.take(der::SEQUENCE)?;
        let oid = fields.take(der::OBJECT_IDENTIFIER)?.rest();
        let known = Self::ALL.into_iter().find(|digest| digest.oid() == oid);
        let digest = known.ok_or_else(|| Error::DigestUnknown { oid: der::dotted(oid) })?;
        if matches!(digest, Self::Sha256 | Self::Sha384 | Self::Sha512)
            && let Some(null) = fields.take_optional(NULL)?
        {
            null.end()?;
        }
        fields.end()?;
        Ok(digest)
    }

    /// An AlgorithmIdentifier with its parameters absent.
    pub(super) fn write(self) -> Vec<u8> {
        der::write(der::SEQUENCE, &[&der::write(der::OBJECT_IDENTIFIER, &[&self.oid()])]).to_vec()
    }

    fn oid(self) -> [u8; 9] {
        let mut oid = [0; 9];
        oid[..8].copy_from_slice(&HASHES);
        oid[8] = self.last_arc();
        oid
    }
}

impl fmt::Display for DigestAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
