//! What can be wrong with a record, and why a file is not taken.

use core::fmt;

use crate::file_id::{HashAlgorithm, Kind};
use crate::file_system::FileSystem;
use crate::record::KeyId;

/// Why an attribute or a file was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The signature is not the key's over this file. The file may have changed, or the signature may be another's.
    BadSignature,
    /// A certificate that cannot stand for a key of files.
    Certificate {
        /// What is wrong with it.
        what: &'static str,
    },
    /// The file changed while it was read, twice.
    Changed,
    /// A version 2 signature under an ML-DSA key: the kernel takes ML-DSA with version 3 alone.
    ClassicalRules,
    /// A classical signature over a digest that classical keys are not checked with here.
    ClassicalUnsupported {
        /// The hash function.
        hash: HashAlgorithm,
    },
    /// The file is another than the manifest lists.
    DigestDiffers,
    /// A digest is not as long as its hash function makes it.
    DigestLength {
        /// The hash function.
        hash: HashAlgorithm,
        /// Bytes of its digests.
        expected: usize,
        /// Bytes that came.
        found: usize,
    },
    /// No block is free.
    DiskFull,
    /// The engine failed on sound input: no randomness, or a faulty machine.
    Engine(sealstone_mldsa::Error),
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
    /// The file cannot be changed at all: `chattr +i` or `+a`.
    Immutable,
    /// A key that cannot sign or check files, or not so.
    Key {
        /// Why.
        what: &'static str,
    },
    /// A subject key identifier of less than four bytes gives no key id.
    KeyIdentifier {
        /// Its bytes.
        found: usize,
    },
    /// This kernel is under an appraisal policy and cannot check ML-DSA: it would refuse every file that is signed so.
    KernelCannotCheck {
        /// As `uname -r` says.
        release: String,
        /// The first line of what makes it refuse files.
        policy: String,
    },
    /// The record is of something else of the file.
    Kind {
        /// What the digest at hand is of.
        expected: Kind,
        /// What the record says.
        found: Kind,
    },
    /// A line of a manifest that cannot be read.
    Manifest {
        /// Its number, from 1.
        line: u64,
        /// What was expected there.
        expected: &'static str,
    },
    /// The manifest is not what its signature was made over, or changed while it was read.
    ManifestSignature,
    /// The manifest has no signature.
    ManifestUnsigned,
    /// The file is in the manifest and not in the tree.
    Missing,
    /// The mode is another than the manifest lists.
    ModeDiffers {
        /// That of the manifest.
        expected: u32,
        /// That of the file.
        found: u32,
    },
    /// The file system keeps no such attributes.
    NoAttributes {
        /// Which.
        file_system: FileSystem,
    },
    /// The disk has less room than signing a tree may take.
    NoRoom {
        /// Which.
        file_system: FileSystem,
        /// Files to sign.
        files: u64,
        /// What is free.
        free: u64,
        /// What signing takes, at most.
        taken: u64,
        /// Of what: `bytes` or `inodes`.
        unit: &'static str,
    },
    /// fs-verity is not enabled for the file, and its digest there was to be signed.
    NoVerity,
    /// This user may not write that attribute.
    NotPermitted {
        /// The attribute.
        name: String,
    },
    /// Not a regular file, or not any more.
    NotRegular,
    /// The attribute holds something that is no signature, such as a bare digest.
    NotSigned {
        /// The attribute's first byte.
        kind: u8,
    },
    /// The attribute holds something that nobody can read, and replacing it was not asked for.
    Occupied,
    /// Another key signed this file, and replacing its signature was not asked for.
    OtherKey {
        /// Its id.
        key_id: KeyId,
    },
    /// The user's quota is used up.
    Quota,
    /// The file system is read-only.
    ReadOnly,
    /// The kernel's IMA refuses this value.
    RefusedByKernel,
    /// A rule that cannot be read.
    Rule {
        /// As it was given.
        line: String,
    },
    /// The signature is not as long as is said, or empty, or too long to say.
    SignatureLength {
        /// The length field, where a record was read.
        said: Option<usize>,
        /// Bytes that are there.
        found: usize,
    },
    /// The system refused.
    System {
        /// What the file could not be.
        action: &'static str,
        /// The number of the error.
        errno: i32,
    },
    /// The value does not fit what the file system gives a file's attributes. The disk is not full.
    TooLarge {
        /// Which.
        file_system: FileSystem,
        /// Bytes of the value.
        bytes: usize,
        /// The file's other attributes, with the bytes of each.
        others: Vec<(String, usize)>,
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
    /// In the tree and not in the manifest.
    Unlisted,
    /// No signature at all.
    Unsigned,
    /// fs-verity is enabled with another hash function, or has none such.
    VerityHash {
        /// That of the signature.
        hash: HashAlgorithm,
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
            Self::Certificate { what } => write!(f, "the certificate cannot be used: {what}"),
            Self::Changed => f.write_str("changed while it was read"),
            Self::ClassicalUnsupported { hash } => {
                write!(f, "a classical signature over {hash}, not checked")
            }
            Self::DigestDiffers => f.write_str("the content is not what the manifest lists"),
            Self::DiskFull => f.write_str("no space is left on the disk"),
            Self::Engine(cause) => cause.fmt(f),
            Self::Immutable => f.write_str("the file is immutable or append-only"),
            Self::KernelCannotCheck { release, policy } => write!(
                f,
                "this kernel, {release}, is under an appraisal policy ({policy}) and cannot check ML-DSA: it would refuse every file that is signed here"
            ),
            Self::Key { what } => write!(f, "the key cannot be used: {what}"),
            Self::Manifest { line, expected } => {
                write!(f, "line {line} of the manifest: expected {expected}")
            }
            Self::ManifestSignature => f.write_str("the signature of the manifest does not verify"),
            Self::ManifestUnsigned => f.write_str("the manifest is not signed"),
            Self::Missing => f.write_str("missing: it is in the manifest alone"),
            Self::ModeDiffers { expected, found } => {
                write!(f, "its mode is {found:04o}, the manifest lists {expected:04o}")
            }
            Self::NoAttributes { file_system } => write!(f, "{file_system} keeps no such attributes"),
            Self::NoRoom { file_system, files, free, taken, unit } => write!(
                f,
                "signing {files} files takes up to {taken} {unit} of {file_system}, and {free} are free"
            ),
            Self::NoVerity => f.write_str("fs-verity is not enabled for it"),
            Self::NotPermitted { name } => write!(f, "this user may not write {name}"),
            Self::NotRegular => f.write_str("not a regular file, or not any more"),
            Self::Occupied => f.write_str("the attribute holds something that is no signature"),
            Self::OtherKey { key_id } => write!(f, "another key signed it: {key_id}"),
            Self::Quota => f.write_str("the quota is used up"),
            Self::ReadOnly => f.write_str("the file system is read-only"),
            Self::RefusedByKernel => f.write_str("the kernel's IMA refuses this signature"),
            Self::Rule { line } => write!(f, "{line:?} is no rule as .gitignore has them"),
            Self::System { action, errno } => {
                write!(f, "cannot be {action}: {}", crate::remedy::words(*errno))
            }
            Self::TooLarge { file_system, bytes, others } => {
                write!(
                    f,
                    "an attribute of {bytes} bytes is too large for {file_system}; the disk is not full"
                )?;
                for (index, (name, size)) in others.iter().enumerate() {
                    let lead = if index == 0 { "; beside it are " } else { ", " };
                    write!(f, "{lead}{name} ({size} bytes)")?;
                }
                Ok(())
            }
            Self::Unlisted => f.write_str("in the tree and not in the manifest"),
            Self::Unsigned => f.write_str("not signed"),
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
            Self::VerityHash { hash } => write!(f, "fs-verity holds it to no digest by {hash}"),
            Self::Version { found } => write!(f, "version {found} of the format is not known"),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    pub(crate) fn system(action: &'static str, errno: rustix::io::Errno) -> Self {
        match errno {
            rustix::io::Errno::ROFS => Self::ReadOnly,
            errno => Self::System { action, errno: errno.raw_os_error() },
        }
    }
}
