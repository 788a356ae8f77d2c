//! How the disk under a tree is laid out, as far as it decides over attributes: found by what happens to a file without a name, so
//! that nobody needs to be root to ask. What cannot be found is taken to be as mkfs makes it, and said to be.

use std::fs;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, XattrFlags};

use crate::error::Error;
use crate::file_system::FileSystem;
use crate::forecast::Geometry;
use crate::tree::Tree;

/// The file system under a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ground {
    /// As far as it was found.
    pub geometry: Geometry,
    /// What was not found, and is taken to be as mkfs makes it.
    pub assumed: Vec<&'static str>,
}

impl Tree {
    /// How the file system under the tree is laid out; `None` where there is no forecast for its kind.
    ///
    /// ```
    /// use sealstone_tree::{Rules, SECURITY_IMA, Tree};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// let tree = Tree::open(folder, Rules::default(), false, 2)?;
    /// match tree.ground(folder)? {
    ///     Some(ground) => {
    ///         assert_eq!(ground.geometry.kind(), tree.file_system()?);
    ///         // `ext4 4K`, and nothing that had to be assumed.
    ///         println!("{}, assumed: {:?}", ground.geometry, ground.assumed);
    ///         // What ML-DSA-65 would take of it.
    ///         println!("{} bytes", ground.geometry.forecast(&tree.census(), SECURITY_IMA, 3318).added);
    ///     }
    ///     None => println!("nothing is forecast for {}", tree.file_system()?),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn ground(&self, path: &Path) -> Result<Option<Ground>, Error> {
        let room = self.room()?;
        let probe = Probe(self.nameless().ok());
        Ok(ground(room.file_system, room.block, &probe, path))
    }
}

fn ground(kind: FileSystem, block: u64, probe: &Probe, path: &Path) -> Option<Ground> {
    let mut assumed = Vec::new();
    let geometry = match kind {
        FileSystem::Btrfs => {
            let node = probe.btrfs_node().unwrap_or_else(|| {
                assumed.push("nodes of 16 KiB");
                16_384
            });
            let copies = mount(path).and_then(|mount| btrfs_copies(&mount.source)).unwrap_or_else(|| {
                assumed.push("metadata written twice (DUP)");
                2
            });
            Geometry::Btrfs { node, copies }
        }
        FileSystem::Ext4 => {
            let (inode, ea_inode) = match (probe.ext4_inode(), probe.takes(block as usize - 55)) {
                (Some(inode), Some(large)) => (inode, large),
                _ => {
                    assumed.push("inodes of 256 bytes without ea_inode");
                    (256, false)
                }
            };
            Geometry::Ext4 { block, inode, ea_inode }
        }
        FileSystem::F2fs => Geometry::F2fs,
        FileSystem::Overlay => {
            let upper = mount(path).and_then(|mount| mount.upper);
            let found = upper.and_then(|upper| {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let upper_fd = rustix::fs::open(&upper, flags, Mode::empty()).ok()?;
                let block = rustix::fs::fstatvfs(&upper_fd).ok()?.f_frsize;
                // What is written through the overlay lands there.
                ground(FileSystem::of(upper_fd.as_fd()), block, probe, &upper)
            });
            let upper = match found {
                Some(found) => {
                    assumed.extend(found.assumed);
                    found.geometry
                }
                None => {
                    assumed.push("ext4 as mkfs makes it in the layer above");
                    Geometry::Ext4 { block: 4096, inode: 256, ea_inode: false }
                }
            };
            Geometry::Overlay { upper: Box::new(upper) }
        }
        FileSystem::Tmpfs => Geometry::Tmpfs,
        FileSystem::Xfs => {
            let inode = probe.xfs_inode().unwrap_or_else(|| {
                assumed.push("inodes of 512 bytes");
                512
            });
            Geometry::Xfs { block, inode }
        }
        FileSystem::Fat | FileSystem::Other => return None,
    };
    Some(Ground { geometry, assumed })
}

/// A file without a name, which is gone after the questions.
struct Probe(Option<OwnedFd>);

/// The attribute that is tried: one that any user may write.
const NAME: &str = "user.s";

impl Probe {
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(|fd| fd.as_fd())
    }

    /// Whether a value of so many bytes is taken; `None` where none is.
    fn takes(&self, len: usize) -> Option<bool> {
        let fd = self.fd()?;
        rustix::fs::fsetxattr(fd, NAME, &[1], XattrFlags::empty()).ok()?;
        let taken = rustix::fs::fsetxattr(fd, NAME, &vec![7; len], XattrFlags::empty()).is_ok();
        let _ = rustix::fs::fremovexattr(fd, NAME);
        Some(taken)
    }

    /// Whether values of these many bytes together stay in the inode: the file has no block then.
    fn stays(&self, lens: &[usize]) -> Option<bool> {
        let fd = self.fd()?;
        let name = |number: usize| format!("user.{number}");
        let set = lens.iter().enumerate().map(|(number, len)| {
            rustix::fs::fsetxattr(fd, name(number), &vec![7; *len], XattrFlags::empty())
        });
        let set: Result<Vec<()>, _> = set.collect();
        let blocks = rustix::fs::fstat(fd).map(|stat| stat.st_blocks);
        for number in 0..lens.len() {
            let _ = rustix::fs::fremovexattr(fd, name(number));
        }
        set.ok()?;
        blocks.ok().map(|blocks| blocks == 0)
    }

    /// Sizes are powers of two: half of the inode's room beyond the next smaller size decides.
    fn ext4_inode(&self) -> Option<u64> {
        if !self.stays(&[1])? {
            return Some(128);
        }
        let mut inode: usize = 256;
        while inode < 4096 && self.stays(&[inode])? {
            inode *= 2;
        }
        Some(inode as u64)
    }

    /// One value is at most 255 bytes long in the inode, so there are several.
    fn xfs_inode(&self) -> Option<u64> {
        let mut inode: usize = 256;
        // Twice the room of one size, less what the extents keep, is more than the next smaller size has.
        while inode < 2048 && self.stays(&vec![100; (inode * 2 - 256) / 108])? {
            inode *= 2;
        }
        Some(inode as u64)
    }

    fn btrfs_node(&self) -> Option<u64> {
        self.takes(1)?;
        let sizes = [65_536, 32_768, 16_384, 8192, 4096];
        sizes.into_iter().find(|node| self.takes(node - 256) == Some(true)).map(|node| node as u64)
    }
}

/// A mount, by its line in /proc/self/mountinfo (proc_pid_mountinfo(5)).
struct Mount {
    source: Vec<u8>,
    /// Of an overlay.
    upper: Option<PathBuf>,
}

/// The mount that a path lies in: the last of those whose place is the longest beginning of it.
fn mount(path: &Path) -> Option<Mount> {
    let path = path.canonicalize().ok()?;
    let list = fs::read("/proc/self/mountinfo").ok()?;
    let mut best: Option<(usize, Mount)> = None;
    for line in list.split(|byte| *byte == b'\n') {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let (Some(at), Some(dash)) = (fields.get(4), fields.iter().position(|field| *field == b"-")) else {
            continue;
        };
        let at = PathBuf::from(std::ffi::OsStr::from_bytes(&plain(at)));
        let length = at.as_os_str().len();
        if !path.starts_with(&at) || best.as_ref().is_some_and(|(longest, _)| *longest > length) {
            continue;
        }
        let upper = fields.get(dash + 3).and_then(|options| {
            let options = options.split(|byte| *byte == b',');
            let upper = options.filter_map(|option| option.strip_prefix(b"upperdir=")).next()?;
            Some(PathBuf::from(std::ffi::OsStr::from_bytes(&plain(upper))))
        });
        let source = fields.get(dash + 2).map(|source| plain(source)).unwrap_or_default();
        best = Some((length, Mount { source, upper }));
    }
    best.map(|(_, mount)| mount)
}

/// Blanks and backslashes are written as three octal digits.
fn plain(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let digits = after
            .get(..3)
            .filter(|digits| *first == b'\\' && digits.iter().all(|digit| (b'0'..=b'7').contains(digit)));
        match digits {
            Some(digits) => {
                out.push(
                    digits.iter().fold(0_u8, |value, digit| value.wrapping_mul(8).wrapping_add(digit - b'0')),
                );
                rest = &after[3..];
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    out
}

/// How often metadata is written, by what the kernel says of the file system on this device: bytes of disk for each byte.
fn btrfs_copies(device: &[u8]) -> Option<u64> {
    let device = Path::new(std::ffi::OsStr::from_bytes(device)).canonicalize().ok()?;
    let device = device.file_name()?;
    for entry in fs::read_dir("/sys/fs/btrfs").ok()?.flatten() {
        if !entry.path().join("devices").join(device).exists() {
            continue;
        }
        let number = |name: &str| -> Option<u64> {
            let path = entry.path().join("allocation/metadata").join(name);
            fs::read_to_string(path).ok()?.trim().parse().ok()
        };
        return number("disk_total")?.checked_div(number("total_bytes")?).filter(|copies| *copies > 0);
    }
    None
}
