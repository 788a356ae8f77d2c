//! The digest of a file as fs-verity has it (Documentation/filesystems/fsverity.rst, "Merkle tree" and "fs-verity descriptor"): that
//! of a descriptor with the root of a Merkle tree over the file's blocks. Computed here for trees that no kernel has built: blocks
//! of 4 KiB, no salt, which is what `fsverity enable` takes unless told otherwise.
//!
//! Where it is enabled the kernel says which digest it holds the file to, which may be of other blocks or salted.

use std::os::fd::BorrowedFd;

use aws_lc_rs::digest::{self, Context, Digest};
use composefs_ioctls::fsverity::{MeasureVerityError, fs_ioc_measure_verity};

use crate::digest::algorithm;
use crate::error::Error;
use crate::file_id::HashAlgorithm;

/// Bytes of a block, of data and of the tree.
const BLOCK: usize = 4096;
/// `struct fsverity_descriptor`.
const DESCRIPTOR: usize = 256;

/// fs-verity's number of a hash function (FS_VERITY_HASH_ALG_*); it has no others.
pub(crate) const fn number(hash: HashAlgorithm) -> Option<u8> {
    match hash {
        HashAlgorithm::Sha256 => Some(1),
        HashAlgorithm::Sha512 => Some(2),
        _ => None,
    }
}

/// A Merkle tree that is built as the bytes come, of each level no more than the block that fills up.
pub(crate) struct Merkle {
    algorithm: &'static digest::Algorithm,
    number: u8,
    /// The block of data that is not full yet.
    data: Vec<u8>,
    size: u64,
    /// Digests that wait for their block to be full, from the level above the data up.
    levels: Vec<Vec<u8>>,
}

impl Merkle {
    /// # Errors
    /// [`Error::VerityHash`] for a hash function that fs-verity does not have.
    pub(crate) fn new(hash: HashAlgorithm) -> Result<Self, Error> {
        let number = number(hash).ok_or(Error::VerityHash { hash })?;
        Ok(Self {
            algorithm: algorithm(hash),
            number,
            data: Vec::with_capacity(BLOCK),
            size: 0,
            levels: Vec::new(),
        })
    }

    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        self.size += bytes.len() as u64;
        if !self.data.is_empty() {
            let (head, rest) = bytes.split_at(bytes.len().min(BLOCK - self.data.len()));
            self.data.extend_from_slice(head);
            bytes = rest;
            if self.data.len() < BLOCK {
                return;
            }
            let digest = digest::digest(self.algorithm, &self.data);
            self.data.clear();
            self.push(0, digest.as_ref());
        }
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        for block in blocks {
            self.push(0, digest::digest(self.algorithm, block).as_ref());
        }
        self.data.extend_from_slice(rest);
    }

    /// Adds a digest to a level. A block that is full goes up only when another digest comes: if none does, it is the root's.
    fn push(&mut self, level: usize, digest: &[u8]) {
        if level == self.levels.len() {
            self.levels.push(Vec::with_capacity(BLOCK));
        }
        if self.levels[level].len() == BLOCK {
            let full = digest::digest(self.algorithm, &self.levels[level]);
            self.levels[level].clear();
            self.push(level + 1, full.as_ref());
        }
        self.levels[level].extend_from_slice(digest);
    }

    /// The digest of the descriptor.
    pub(crate) fn finish(mut self) -> Digest {
        if !self.data.is_empty() {
            let last = padded(self.algorithm, &self.data);
            self.push(0, last.as_ref());
        }
        let len = self.algorithm.output_len();
        // An empty file has no tree, and a root of zeros.
        let mut root = vec![0; len];
        let mut level = 0;
        while level < self.levels.len() {
            let block = &self.levels[level];
            let is_top = level + 1 == self.levels.len();
            if is_top && block.len() == len {
                // One digest alone is the root: of the one block below it.
                root.copy_from_slice(block);
                break;
            }
            let digest = padded(self.algorithm, block);
            self.push(level + 1, digest.as_ref());
            level += 1;
        }
        let mut descriptor = [0; DESCRIPTOR];
        descriptor[0] = 1;
        descriptor[1] = self.number;
        descriptor[2] = BLOCK.trailing_zeros() as u8;
        descriptor[8..16].copy_from_slice(&self.size.to_le_bytes());
        descriptor[16..16 + len].copy_from_slice(&root);
        digest::digest(self.algorithm, &descriptor)
    }
}

/// The digest of a block that zeros fill up.
fn padded(algorithm: &'static digest::Algorithm, bytes: &[u8]) -> Digest {
    let mut context = Context::new(algorithm);
    context.update(bytes);
    context.update(&[0; BLOCK][..BLOCK - bytes.len()]);
    context.finish()
}

/// The digest that the kernel holds an open file to; nothing where fs-verity is not enabled for it.
///
/// # Errors
/// [`Error::VerityHash`] where it is enabled with another hash function; [`Error::System`].
pub(crate) fn measured(fd: BorrowedFd<'_>, hash: HashAlgorithm) -> Result<Option<Vec<u8>>, Error> {
    let number = number(hash).ok_or(Error::VerityHash { hash })?;
    let measured = match hash.digest_len() {
        32 => fs_ioc_measure_verity::<32>(fd, number).map(Vec::from),
        _ => fs_ioc_measure_verity::<64>(fd, number).map(Vec::from),
    };
    match measured {
        Ok(digest) => Ok(Some(digest)),
        Err(MeasureVerityError::VerityMissing | MeasureVerityError::FilesystemNotSupported) => Ok(None),
        Err(
            MeasureVerityError::InvalidDigestAlgorithm { .. } | MeasureVerityError::InvalidDigestSize { .. },
        ) => Err(Error::VerityHash { hash }),
        Err(MeasureVerityError::Io(cause)) => {
            Err(Error::System { action: "measured by fs-verity", errno: cause.raw_os_error().unwrap_or(5) })
        }
    }
}
