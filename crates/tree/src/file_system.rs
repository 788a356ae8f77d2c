//! Which file system it is, what room it has, and why it refused an attribute. What attributes cost, and whether they fit, is in
//! `forecast`.

use core::fmt;
use std::os::fd::BorrowedFd;

use rustix::fs::IFlags;
use rustix::io::Errno;

use crate::error::Error;
use crate::forecast::{Attribute, Geometry};

/// A file system, by the number that statfs gives (include/uapi/linux/magic.h).
///
/// ```
/// use sealstone_tree::FileSystem;
///
/// assert_eq!(FileSystem::Ext4.name(), "ext4");
/// assert_eq!(FileSystem::Ext4.to_string(), "ext4");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FileSystem {
    /// Copy on write, attributes in nodes of metadata.
    Btrfs,
    /// Attributes in the inode, in one block beside it, or with `ea_inode` in inodes of their own.
    Ext4,
    /// Attributes in one node of 4 KiB.
    F2fs,
    /// FAT and exFAT: no attributes.
    Fat,
    /// Nothing is known here about its attributes.
    Other,
    /// Writes to another file system.
    Overlay,
    /// Attributes in memory.
    Tmpfs,
    /// Attributes in the inode, in a leaf, or in blocks of their own.
    Xfs,
}

impl FileSystem {
    /// That of an open file.
    pub(crate) fn of(fd: BorrowedFd<'_>) -> Self {
        let Ok(stat) = rustix::fs::fstatfs(fd) else { return Self::Other };
        // The type is signed or not, and long or not, by platform.
        match stat.f_type as u32 {
            0x9123_683e => Self::Btrfs,
            0xef53 => Self::Ext4,
            0xf2f5_2010 => Self::F2fs,
            0x4d44 | 0x2011_bab0 => Self::Fat,
            0x794c_7630 => Self::Overlay,
            0x0102_1994 => Self::Tmpfs,
            0x5846_5342 => Self::Xfs,
            _ => Self::Other,
        }
    }

    /// As mount calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Btrfs => "btrfs",
            Self::Ext4 => "ext4",
            Self::F2fs => "f2fs",
            Self::Fat => "FAT",
            Self::Other => "this file system",
            Self::Overlay => "overlayfs",
            Self::Tmpfs => "tmpfs",
            Self::Xfs => "XFS",
        }
    }
}

impl fmt::Display for FileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Room of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Its kind.
    pub file_system: FileSystem,
    /// Bytes of a block.
    pub block: u64,
    /// Bytes that are free to all; what the file system keeps back for root is not counted, also for root.
    pub free: u64,
    /// Inodes that are left; on file systems that make them as they go, as many as they say.
    pub inodes: u64,
    /// Bytes of the whole that nobody uses.
    pub unused: u64,
}

impl Room {
    pub(crate) fn of(fd: BorrowedFd<'_>) -> Result<Self, Error> {
        let stat = rustix::fs::fstatvfs(fd).map_err(|errno| Error::system("looked at", errno))?;
        Ok(Self {
            file_system: FileSystem::of(fd),
            block: stat.f_frsize,
            free: stat.f_bavail.saturating_mul(stat.f_frsize),
            inodes: stat.f_favail,
            unused: stat.f_bfree.saturating_mul(stat.f_frsize),
        })
    }
}

/// Why an attribute of so many bytes was refused.
pub(crate) fn refusal(fd: BorrowedFd<'_>, errno: Errno, name: &str, bytes: usize) -> Error {
    let file_system = FileSystem::of(fd);
    match errno {
        Errno::ACCESS if name.starts_with("security.") => Error::RefusedByKernel,
        Errno::DQUOT => Error::Quota,
        Errno::NOSPC if is_full(fd, file_system, name, bytes) => Error::DiskFull,
        Errno::NOSPC | Errno::TOOBIG => Error::TooLarge { file_system, bytes, others: others(fd, name) },
        Errno::OPNOTSUPP => Error::NoAttributes { file_system },
        Errno::PERM if is_immutable(fd) => Error::Immutable,
        Errno::PERM | Errno::ACCESS => Error::NotPermitted { name: name.to_owned() },
        Errno::ROFS => Error::ReadOnly,
        errno => Error::system("given its attribute", errno),
    }
}

/// A full disk and a value that is too large are one error on ext4 and btrfs. What would fit if the disk were empty is not too
/// large; of the rest a disk with a free block says that it is.
fn is_full(fd: BorrowedFd<'_>, file_system: FileSystem, name: &str, bytes: usize) -> bool {
    let stat = rustix::fs::fstatvfs(fd);
    let block = stat.as_ref().map_or(0, |stat| stat.f_frsize);
    let there: Vec<Attribute> =
        attributes(fd).into_iter().map(|(name, len)| Attribute { name, len, content: None }).collect();
    fits_always(file_system, block, &there, name, bytes) || stat.is_ok_and(|stat| stat.f_bavail == 0)
}

/// Whether a file with these attributes has room for one more however a file system of this kind was made: for what decides
/// besides the size of a block, an open file does not tell.
fn fits_always(kind: FileSystem, block: u64, there: &[Attribute], name: &str, bytes: usize) -> bool {
    let least = match kind {
        FileSystem::Btrfs => Geometry::Btrfs { node: 4096, copies: 1 },
        // No room in the inode. What an overlay writes to is taken to be ext4.
        FileSystem::Ext4 | FileSystem::Overlay => Geometry::Ext4 { block, inode: 128, ea_inode: false },
        FileSystem::F2fs => Geometry::F2fs,
        FileSystem::Tmpfs => Geometry::Tmpfs,
        FileSystem::Xfs => Geometry::Xfs { block, inode: 256 },
        FileSystem::Fat | FileSystem::Other => return false,
    };
    least.holds(there, name, bytes)
}

fn is_immutable(fd: BorrowedFd<'_>) -> bool {
    rustix::fs::ioctl_getflags(fd).is_ok_and(|flags| flags.intersects(IFlags::IMMUTABLE | IFlags::APPEND))
}

/// The file's other attributes, with the bytes of each.
fn others(fd: BorrowedFd<'_>, name: &str) -> Vec<(String, usize)> {
    let others = attributes(fd).into_iter().filter(|(other, _)| other != name.as_bytes());
    others.map(|(other, size)| (String::from_utf8_lossy(&other).into_owned(), size)).collect()
}

/// A file's attributes that this user may see, in the file system's order, with the bytes of each.
pub(crate) fn attributes(fd: BorrowedFd<'_>) -> Vec<(Vec<u8>, usize)> {
    // Room for what is usual, and for the most that Linux lists (XATTR_LIST_MAX).
    let mut names = vec![0; 1024];
    let mut listed = rustix::fs::flistxattr(fd, &mut names[..]);
    if listed == Err(Errno::RANGE) {
        names.resize(65_536, 0);
        listed = rustix::fs::flistxattr(fd, &mut names[..]);
    }
    let names = &names[..listed.unwrap_or(0)];
    let with_size =
        |name: &[u8]| rustix::fs::fgetxattr_query(fd, name).ok().map(|size| (name.to_vec(), size));
    names.split(|byte| *byte == 0).filter(|name| !name.is_empty()).filter_map(with_size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limits of docs/tree.md, which disks in files were measured to have.
    #[test]
    fn a_value_fits_up_to_the_limit_of_its_file_system() {
        use FileSystem::{Btrfs, Ext4, F2fs, Fat, Other, Overlay, Tmpfs, Xfs};
        let label = Attribute::shared("security.selinux", 30);
        let fits = |kind, block, there: &[Attribute], bytes| {
            fits_always(kind, block, there, crate::SECURITY_IMA, bytes)
        };
        for (kind, block, limit) in [
            (Btrfs, 4096, 3928),
            (Ext4, 4096, 4040),
            (Ext4, 1024, 968),
            (F2fs, 4096, 4241),
            (Overlay, 4096, 4040),
            (Xfs, 4096, 65_536),
        ] {
            assert!(fits(kind, block, &[], limit) && !fits(kind, block, &[], limit + 1), "{kind} of {block}");
        }
        // A label takes an entry of 16 bytes, 8 of name and 32 of value; a namesake gives its room away.
        let both = [label, Attribute::unique(crate::SECURITY_IMA, 3318)];
        assert!(fits(Ext4, 4096, &both[..1], 3984) && !fits(Ext4, 4096, &both[..1], 3985));
        assert!(fits(Ext4, 4096, &both, 3984) && !fits(Ext4, 4096, &both, 3985));
        assert!(fits(Tmpfs, 4096, &[], 65_536));
        assert!(!fits(Fat, 4096, &[], 1) && !fits(Other, 4096, &[], 1));
    }
}
