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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// `fsverity digest --compact` of fsverity-utils 1.5 for files of byte n mod 251 at place n: nothing, one block, more, one level
    /// that is full (128 digests of SHA-256, 64 of SHA-512), and one digest beyond it. The test `verities` asks the tool itself for
    /// many more, where it is installed.
    const KNOWN: [(usize, &str, &str); 6] = [
        (
            0,
            "3d248ca542a24fc62d1c43b916eae5016878e2533c88238480b26128a1f1af95",
            "ccf9e5aea1c2a64efa2f2354a6024b90dffde6bbc017825045dce374474e13d10adb9dadcc6ca8e17a3c075fbd31336e8f266ae6fa93a6c3bed66f9e784e5abf",
        ),
        (
            1,
            "b803429503d95915829b29fdbc8bbad142f3abfd11b1cadf5526582e685c0551",
            "9fcf5172b085b1c8f9365eecb37a1869e193a4705654a5829f11939cd01d5c0fd97276be8cd9d49f76cfc8dcfeb80f8128e3548a1de50b56912b9e3fc7bde27b",
        ),
        (
            4096,
            "13e9b8848ae484a36acb3f3cac0ceb2f7601e96633d15c92f9bd3dd44e492157",
            "7bf994782b368ecc4e20ce9144701b1a30524d5bbc90987625de22eebc8cf370ec846c1b5e77f9099c6f6cfc0b590359b9ac8083a43e5f7fa5ec05a25dab6e03",
        ),
        (
            4097,
            "b0d074abef4d544404facfab6ba242f6a8ccbde90f1325cd286f3c8aa8d0f8aa",
            "97a1e45daaa69bd7b31908cf835318ba36476984ffa7f4a5913c0187db04ce5f19dc80306f493741d4ad1cdd212b7a9d2691aa3d42563d35471363fbb0fc7f1c",
        ),
        (
            524_288,
            "d82861203d50ae9b60948504a704f35f5118bd229aeb1a22d6dae47b1767c4c4",
            "7b3d245f9dc3169e2f721fa32f735149ace066408e783d5d79e21f9761e2efc39fb016b0a94e0a00af41a32fa5283b189899b0f27f91d013be745709678c0278",
        ),
        (
            524_289,
            "4dc6905041c9c4ee73e13b53f63f5d289c46da359b664a965ead7f8cc4d799d4",
            "60b58fe0f1e5198627ffb6be091eef60edce9b4ff6ee43884ba78a831ecdecc1572729afc5ebeb09101e3f102c9d7142ab4f66216198d85f8c7194eca7885bb2",
        ),
    ];

    #[test]
    fn trees_are_those_of_fsverity_however_the_bytes_come() {
        for (len, sha256, sha512) in KNOWN {
            let bytes: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
            for (hash, expected) in [(HashAlgorithm::Sha256, sha256), (HashAlgorithm::Sha512, sha512)] {
                // In blocks, in pieces that end within one, and all at once.
                for piece in [4096, 1000, 65_536, len.max(1)] {
                    let mut tree = Merkle::new(hash).unwrap();
                    bytes.chunks(piece).for_each(|piece| tree.update(piece));
                    let digest = tree.finish();
                    let digits: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
                    assert_eq!(digits, expected, "{len} bytes by {piece}, {hash}");
                }
            }
        }
        assert!(Merkle::new(HashAlgorithm::Sha384).is_err());
    }
}
