//! What is looked at before a tree is signed: whether the attribute may be written, whether this kernel would still take the files
//! then, and whether the disk has the room, by the model of `forecast`. Nothing is written.

use std::path::Path;

use crate::error::Error;
use crate::file_system::{FileSystem, Room};
use crate::forecast::Geometry;
use crate::kernel::Kernel;
use crate::keys::Signer;
use crate::sign::SignOptions;
use crate::tree::{SECURITY_IMA, Tree};

/// What signing a tree takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preflight {
    /// Files that the rules take.
    pub files: u64,
    /// Bytes of disk, at most.
    pub cost: u64,
    /// Of these, bytes of files that overlayfs copies to the layer above.
    pub copied: u64,
}

impl Tree {
    /// Looks before anything is written. `path` is the tree's; with a kernel, `security.ima` is refused to ML-DSA where that kernel
    /// is under a policy and cannot check it. A dry run is told the cost exactly, and nothing about the kernel.
    ///
    /// ```
    /// use sealstone_tree::{Error, Kernel, Rules, SignOptions, Signer, Tree, USER_IMA};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // `signer`: a `Signer` with a key of ML-DSA-44.
    /// # let key = sealstone_pki::PrivateKeyInfo::new(
    /// #     sealstone_pki::KeyAlgorithm::MlDsa(sealstone_mldsa::Level::MlDsa44), &[7; 32], None)?;
    /// # let signer = Signer::new(&key, None, 1_800_000_000)?;
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// # std::fs::write(folder.join("tool"), "what it does")?;
    /// # std::fs::write(folder.join("notes.txt"), "what it means")?;
    /// let tree = Tree::open(folder, Rules::default(), false, 2)?;
    /// let options = SignOptions { attribute: Some(USER_IMA), ..SignOptions::default() };
    /// let kernel = Kernel::read("/".as_ref());
    /// match tree.preflight(folder, &signer, &options, Some(&kernel)) {
    ///     Ok(found) => println!("{} files, at most {} bytes", found.files, found.cost),
    ///     // Another file system than this, or a full one.
    ///     Err(why @ (Error::TooLarge { .. } | Error::NoRoom { .. })) => {
    ///         println!("{why}: {}", why.remedy().unwrap_or_default());
    ///     }
    ///     Err(why) => return Err(why.into()),
    /// }
    ///
    /// // A manifest takes no room of the tree.
    /// let found = tree.preflight(folder, &signer, &SignOptions::default(), Some(&kernel))?;
    /// assert_eq!((found.files, found.cost), (2, 0));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`probe`](Self::probe); [`Error::KernelCannotCheck`]; [`Error::NoRoom`]; [`Error::System`].
    pub fn preflight(
        &self,
        path: &Path,
        signer: &Signer,
        options: &SignOptions<'_>,
        kernel: Option<&Kernel>,
    ) -> Result<Preflight, Error> {
        let mut found = Preflight { files: self.count(None).files, ..Preflight::default() };
        let Some(name) = options.attribute else { return Ok(found) };
        let bytes = signer.attribute_len();
        // Before anything is tried: what XFS gave a file without a name it takes back later.
        let room = self.room()?;
        match self.probe(name, bytes, signer.public().key_id) {
            // A tree of which this user may not write the first directory tells file by file. A full disk may have all signatures.
            Ok(_) | Err(Error::DiskFull) => {}
            Err(why) => return Err(why),
        }
        if name == SECURITY_IMA && signer.is_ml_dsa() && !options.dry_run {
            kernel.map_or(Ok(()), Kernel::takes_ml_dsa)?;
        }
        self.space(&room, path, (name, bytes), options.dry_run, &mut found)?;
        Ok(found)
    }

    /// Whether the disk has what it takes.
    fn space(
        &self,
        room: &Room,
        path: &Path,
        (name, bytes): (&str, usize),
        exact: bool,
        found: &mut Preflight,
    ) -> Result<(), Error> {
        let mut inodes = 0;
        match self.ground(path)? {
            // Nothing is known of this kind: a value in whole blocks.
            None => {
                let block = room.block.max(1);
                found.cost = (bytes as u64).div_ceil(block).saturating_mul(block).saturating_mul(found.files);
            }
            Some(ground) => {
                let geometry = &ground.geometry;
                found.cost = geometry.alone(name, bytes).unwrap_or(0).saturating_mul(found.files);
                let copies = matches!(geometry, Geometry::Overlay { .. });
                let apart = matches!(geometry, Geometry::Ext4 { ea_inode: true, .. });
                // Looking at what each file has is slow, so only where it matters.
                if exact || copies || apart || found.cost > room.free / 2 {
                    let forecast = geometry.forecast(&self.census(), name, bytes);
                    found.cost = u64::try_from(forecast.added).unwrap_or(0);
                    found.copied = forecast.copied;
                    inodes = forecast.inodes;
                }
            }
        }
        let (taken, free, unit) = match room.file_system {
            FileSystem::Tmpfs => return Ok(()),
            _ if inodes > room.inodes => (inodes, room.inodes, "inodes"),
            _ => (found.cost, room.free, "bytes"),
        };
        if taken > free {
            let (file_system, files) = (room.file_system, found.files);
            return Err(Error::NoRoom { file_system, files, free, taken, unit });
        }
        Ok(())
    }
}
