//! What of a file is signed: `struct ima_file_id` of Linux (security/integrity/integrity.h), which binds the digest to its
//! hash function and to the kind of digest that it is.

use core::fmt;

use crate::error::Error;

/// What a digest is of, and so the first byte of the attribute (`enum evm_ima_xattr_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The bytes of a regular file: `EVM_IMA_XATTR_DIGSIG`.
    File,
    /// A file's attributes, in `security.evm`: `EVM_XATTR_PORTABLE_DIGSIG`.
    Attributes,
    /// A file's Merkle tree, as fs-verity computes it: `IMA_VERITY_DIGSIG`.
    Verity,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::File, Self::Attributes, Self::Verity];

    /// The byte.
    pub const fn byte(self) -> u8 {
        match self {
            Self::File => 3,
            Self::Attributes => 5,
            Self::Verity => 6,
        }
    }

    pub(crate) fn of(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.byte() == byte)
    }
}

/// A hash function, by the number that the kernel gives it (`enum hash_algo`, include/uapi/linux/hash_info.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HashAlgorithm {
    /// 20 bytes. Read from old trees, never written.
    Sha1,
    /// 32 bytes, and what kernels take by default.
    Sha256,
    /// 48 bytes.
    Sha384,
    /// 64 bytes.
    Sha512,
    /// 28 bytes. Read, never written.
    Sha224,
    /// 32 bytes.
    Sha3_256,
    /// 48 bytes.
    Sha3_384,
    /// 64 bytes.
    Sha3_512,
}

impl HashAlgorithm {
    /// Every one.
    pub const ALL: [Self; 8] = [
        Self::Sha1,
        Self::Sha256,
        Self::Sha384,
        Self::Sha512,
        Self::Sha224,
        Self::Sha3_256,
        Self::Sha3_384,
        Self::Sha3_512,
    ];

    /// The kernel's number.
    pub const fn number(self) -> u8 {
        match self {
            Self::Sha1 => 2,
            Self::Sha256 => 4,
            Self::Sha384 => 5,
            Self::Sha512 => 6,
            Self::Sha224 => 7,
            Self::Sha3_256 => 20,
            Self::Sha3_384 => 21,
            Self::Sha3_512 => 22,
        }
    }

    /// Bytes of a digest.
    pub const fn digest_len(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha224 => 28,
            Self::Sha256 | Self::Sha3_256 => 32,
            Self::Sha384 | Self::Sha3_384 => 48,
            Self::Sha512 | Self::Sha3_512 => 64,
        }
    }

    /// The kernel's name, as it stands in policies: `sha256`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha224 => "sha224",
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
            Self::Sha3_256 => "sha3-256",
            Self::Sha3_384 => "sha3-384",
            Self::Sha3_512 => "sha3-512",
        }
    }

    pub(crate) fn of(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|hash| hash.number() == number)
    }
}

impl fmt::Display for HashAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The most bytes that are signed: two, and the longest digest.
const MAX: usize = 2 + 64;

/// `ima_file_id`: the kind, the hash function's number, and as much of the digest as the function gives. ML-DSA signs these
/// bytes themselves, with an empty context; they are 34 for SHA-256.
///
/// ```
/// use sealstone_tree::{FileId, HashAlgorithm, Kind};
///
/// # fn main() -> Result<(), sealstone_tree::Error> {
/// let file = FileId::new(Kind::File, HashAlgorithm::Sha256, &[0xe3; 32])?;
/// assert_eq!((file.kind(), file.hash()), (Kind::File, HashAlgorithm::Sha256));
/// assert_eq!(file.digest(), [0xe3; 32]);
///
/// // What is signed: the kind and the hash function by their numbers, then the digest.
/// assert_eq!(file.as_bytes()[..2], [Kind::File.byte(), HashAlgorithm::Sha256.number()]);
/// assert_eq!(file.as_bytes()[2..], [0xe3; 32]);
///
/// // A digest of another length is of another function.
/// assert!(FileId::new(Kind::File, HashAlgorithm::Sha512, &[0xe3; 32]).is_err());
/// assert_eq!(HashAlgorithm::Sha512.digest_len(), 64);
/// let named = HashAlgorithm::ALL.into_iter().find(|known| known.name() == "sha512");
/// assert_eq!(named, Some(HashAlgorithm::Sha512));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FileId {
    bytes: [u8; MAX],
    kind: Kind,
    hash: HashAlgorithm,
}

impl FileId {
    /// Of a digest.
    ///
    /// # Errors
    /// [`Error::DigestLength`] if that hash function's digests have another length.
    pub fn new(kind: Kind, hash: HashAlgorithm, digest: &[u8]) -> Result<Self, Error> {
        let expected = hash.digest_len();
        if digest.len() != expected {
            return Err(Error::DigestLength { hash, expected, found: digest.len() });
        }
        let mut bytes = [0; MAX];
        bytes[0] = kind.byte();
        bytes[1] = hash.number();
        bytes[2..2 + expected].copy_from_slice(digest);
        Ok(Self { bytes, kind, hash })
    }

    /// What is signed.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..2 + self.hash.digest_len()]
    }

    /// The digest alone.
    pub fn digest(&self) -> &[u8] {
        &self.as_bytes()[2..]
    }

    /// The hash function.
    pub fn hash(&self) -> HashAlgorithm {
        self.hash
    }

    /// What the digest is of.
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

impl fmt::Debug for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileId({:?}, {}:", self.kind, self.hash)?;
        self.digest().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}
