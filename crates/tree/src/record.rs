//! The bytes of a signature in an extended attribute: `struct signature_v2_hdr` of Linux behind a byte for the kind.
//!
//! | offset | bytes | |
//! |---:|---:|---|
//! | 0 | 1 | kind: 3 a file's bytes, 5 its attributes, 6 its Merkle tree |
//! | 1 | 1 | version: 2 or 3 |
//! | 2 | 1 | number of the hash function |
//! | 3 | 4 | key id, big-endian |
//! | 7 | 2 | length of the signature, big-endian |
//! | 9 | | the signature |
//!
//! One record has one encoding: nothing follows the signature, and it is as long as is said.

use core::fmt;

use crate::error::Error;
use crate::file_id::{FileId, HashAlgorithm, Kind};

/// Bytes before the signature.
const HEADER: usize = 9;

/// The last four bytes of a certificate's subject key identifier, by which the kernel finds the key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub u32);

impl KeyId {
    /// Of a subject key identifier.
    ///
    /// # Errors
    /// [`Error::KeyIdentifier`] if it has less than four bytes.
    pub fn of(subject_key_identifier: &[u8]) -> Result<Self, Error> {
        match subject_key_identifier.last_chunk() {
            Some(last) => Ok(Self(u32::from_be_bytes(*last))),
            None => Err(Error::KeyIdentifier { found: subject_key_identifier.len() }),
        }
    }
}

/// As in the kernel's log: `id:3762d430`.
impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "id:{:08x}", self.0)
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What a signature is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// The digest. RSA and ECDSA alone; nothing binds the hash function or the kind.
    V2,
    /// [`FileId`]: ML-DSA always, RSA and ECDSA since Linux 7.1.
    V3,
}

/// A signature with its header, over bytes that somebody else holds.
///
/// ```
/// use sealstone_tree::{Error, FileId, HashAlgorithm, KeyId, Kind, Record, Version};
///
/// # fn main() -> Result<(), sealstone_tree::Error> {
/// let file = FileId::new(Kind::File, HashAlgorithm::Sha256, &[0xe3; 32])?;
/// let signature = [0xc5; 2420]; // of ML-DSA-44, if it were one
/// let record = Record::of(&file, KeyId(0x3762_d430), &signature)?;
/// let attribute = record.to_bytes();
/// assert_eq!(attribute.len(), Record::len_for(signature.len()));
///
/// let read = Record::parse(&attribute)?;
/// assert_eq!((read.kind(), read.version(), read.hash()), (Kind::File, Version::V3, HashAlgorithm::Sha256));
/// assert_eq!((read.key_id(), read.signature()), (KeyId(0x3762_d430), signature.as_slice()));
///
/// // As kernels before 7.1 have it, for classical keys.
/// let older = Record::by(Version::V2, &file, KeyId(0x3762_d430), &[0x30; 70])?;
/// assert_eq!(older.to_bytes()[..3], [3, 2, 4]);
///
/// // A bare digest, as IMA writes for files that nobody signed.
/// assert_eq!(Record::parse(&[0x04; 34]), Err(Error::NotSigned { kind: 4 }));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    kind: Kind,
    version: Version,
    hash: HashAlgorithm,
    key_id: KeyId,
    signature: &'a [u8],
}

impl<'a> Record<'a> {
    /// A version 3 record of a signature over `file`.
    ///
    /// # Errors
    /// [`Error::SignatureLength`] if the signature is empty or longer than its length field can say.
    pub fn of(file: &FileId, key_id: KeyId, signature: &'a [u8]) -> Result<Self, Error> {
        Self::by(Version::V3, file, key_id, signature)
    }

    /// A record of another version.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn by(version: Version, file: &FileId, key_id: KeyId, signature: &'a [u8]) -> Result<Self, Error> {
        if signature.is_empty() || signature.len() > usize::from(u16::MAX) {
            return Err(Error::SignatureLength { said: None, found: signature.len() });
        }
        Ok(Self { kind: file.kind(), version, hash: file.hash(), key_id, signature })
    }

    /// Reads an attribute's value.
    ///
    /// # Errors
    /// The first thing that is wrong with it. A value that is no signature, such as a bare digest, is [`Error::NotSigned`].
    pub fn parse(value: &'a [u8]) -> Result<Self, Error> {
        let Some(&first) = value.first() else { return Err(Error::Truncated { expected: HEADER, found: 0 }) };
        let Some(kind) = Kind::of(first) else { return Err(Error::NotSigned { kind: first }) };
        let Some((header, signature)) = value.split_first_chunk::<HEADER>() else {
            return Err(Error::Truncated { expected: HEADER, found: value.len() });
        };
        let [_, version, hash, k0, k1, k2, k3, high, low] = *header;
        let version = match version {
            2 => Version::V2,
            3 => Version::V3,
            found => return Err(Error::Version { found }),
        };
        let Some(hash) = HashAlgorithm::of(hash) else { return Err(Error::Hash { number: hash }) };
        let said = usize::from(u16::from_be_bytes([high, low]));
        if said == 0 || said != signature.len() {
            return Err(Error::SignatureLength { said: Some(said), found: signature.len() });
        }
        Ok(Self { kind, version, hash, key_id: KeyId(u32::from_be_bytes([k0, k1, k2, k3])), signature })
    }

    /// What is in the way of a signature by this key: nothing, or one that says it is by the same key. A bare digest, which IMA
    /// writes where it measures, is nobody's signature.
    ///
    /// # Errors
    /// [`Error::OtherKey`], and [`Error::Occupied`] for what nobody can read, unless it may be replaced.
    pub(crate) fn before(value: &'a [u8], key_id: KeyId, replace: bool) -> Result<Option<Self>, Error> {
        match Self::parse(value) {
            Ok(there) if there.key_id == key_id => Ok(Some(there)),
            Err(Error::NotSigned { kind: 1 | 4 }) => Ok(None),
            _ if replace => Ok(None),
            Ok(there) => Err(Error::OtherKey { key_id: there.key_id }),
            Err(_) => Err(Error::Occupied),
        }
    }

    /// The attribute's value.
    pub fn to_bytes(&self) -> Vec<u8> {
        let version = match self.version {
            Version::V2 => 2,
            Version::V3 => 3,
        };
        // Both ways to a record bound the length.
        let len = self.signature.len() as u16;
        let mut value = Vec::with_capacity(HEADER + self.signature.len());
        value.extend([self.kind.byte(), version, self.hash.number()]);
        value.extend(self.key_id.0.to_be_bytes());
        value.extend(len.to_be_bytes());
        value.extend(self.signature);
        value
    }

    /// Bytes of the attribute's value for a signature of so many.
    pub const fn len_for(signature_len: usize) -> usize {
        HEADER + signature_len
    }

    /// The hash function of the digest.
    pub fn hash(&self) -> HashAlgorithm {
        self.hash
    }

    /// Which key it says made it.
    pub fn key_id(&self) -> KeyId {
        self.key_id
    }

    /// What it says the digest is of.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The signature.
    pub fn signature(&self) -> &'a [u8] {
        self.signature
    }

    /// What the signature is of.
    pub fn version(&self) -> Version {
        self.version
    }
}
