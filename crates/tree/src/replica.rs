//! Files like those of a tree, for a disk on which something is tried: sizes, and attributes of the same lengths, without the
//! contents of either.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use rustix::fs::XattrFlags;

use crate::census::{Census, Remembered};
use crate::forecast::Attribute;

/// Files of one directory.
const FOLDER: usize = 100;

impl Census {
    /// Makes `count` files beneath a directory, taken evenly from all that are remembered. Larger ones than `largest` bytes are made
    /// of that size. Gives how many have all their attributes: some are only for root, or for another file system.
    ///
    /// ```
    /// use sealstone_tree::{Census, Rules, Tree};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let disk = tempfile::tempdir()?;
    /// # let disk = disk.path();
    /// // A sample of a tree of ten thousand files, in the empty directory `disk`.
    /// let census = Census::of_files(10_000, 4000, &[]);
    /// assert_eq!(census.replicate(disk, 150, 16_384)?, 150);
    ///
    /// let sample = Tree::open(disk, Rules::default(), false, 2)?.census();
    /// assert_eq!((sample.files(), sample.directories), (150, 2));
    /// assert!(sample.remembered().iter().all(|file| file.size <= 16_384));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// What the system says to a directory or a file.
    pub fn replicate(&self, at: &Path, count: usize, largest: u64) -> std::io::Result<usize> {
        let files = self.remembered();
        let mut whole = 0;
        for number in 0..count {
            let Some(file) = files.get(number * files.len() / count.max(1)) else { break };
            let folder = at.join(format!("folder-{:04}", number / FOLDER));
            if number % FOLDER == 0 {
                fs::create_dir_all(&folder)?;
            }
            let path = folder.join(name(number, file));
            let mut made = fs::File::create(&path)?;
            made.write_all(&vec![b'.'; file.size.min(largest) as usize])?;
            let mut all = true;
            for attribute in file.attributes.iter() {
                let written = std::str::from_utf8(&attribute.name).is_ok_and(|name| {
                    rustix::fs::fsetxattr(&made, name, &value(attribute, number), XattrFlags::empty()).is_ok()
                });
                all &= written;
            }
            whole += usize::from(all);
        }
        Ok(whole)
    }
}

/// As long as that of the file, which may be shorter than a number takes.
fn name(number: usize, file: &Remembered) -> String {
    format!("{number:0width$}", width = file.name.clamp(1, 200))
}

/// A value that is taken for what its name says, and is the same wherever the files had the same.
fn value(attribute: &Attribute, number: usize) -> Vec<u8> {
    let mut value =
        attribute.content.unwrap_or(number as u64).to_be_bytes().repeat(attribute.len.div_ceil(8));
    value.truncate(attribute.len);
    match &attribute.name[..] {
        b"system.posix_acl_access" | b"system.posix_acl_default" => acl(attribute),
        // VFS_CAP_REVISION_2, and 3 where an owner follows; both with one capability (linux/capability.h).
        b"security.capability" => {
            let revision = if attribute.len > 20 { 3 } else { 2 };
            value = vec![0; attribute.len];
            value.iter_mut().zip([1, 0, 0, revision, 1 << (number % 8)]).for_each(|(byte, is)| *byte = is);
            value
        }
        // A bare digest, over which nobody's key has a say: a signature of the same length takes its place.
        name if name.ends_with(b".ima") => {
            value.iter_mut().zip([4, 4]).for_each(|(byte, is)| *byte = is);
            value
        }
        _ => value,
    }
}

/// The owner, as many users as it takes, the group, the mask and the rest (linux/posix_acl_xattr.h).
fn acl(attribute: &Attribute) -> Vec<u8> {
    let users = (attribute.len.saturating_sub(4) / 8).saturating_sub(4) as u32;
    let first = attribute.content.unwrap_or(0) as u32 % 10_000;
    let entries = [(1_u16, u32::MAX)].into_iter().chain((0..users).map(|user| (2, first + user)));
    let entries = entries.chain([(4, u32::MAX), (16, u32::MAX), (32, u32::MAX)]);
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, id) in entries {
        list.extend(tag.to_le_bytes());
        list.extend(6_u16.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    list
}
