//! A tree at work: opened once, walked in order, and each file taken by one of several threads. What a file became is handed to
//! the caller one by one, in the order of the walk, so that nothing is held for a million files.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::beneath::Root;
use crate::error::Error;
use crate::file::File;
use crate::file_id::{FileId, HashAlgorithm, Kind};
use crate::file_system::{FileSystem, Room, refusal};
use crate::manifest::Line;
use crate::record::{KeyId, Record};
use crate::rules::Rules;
use crate::walk::{Found, Left, Walk};

/// The kernel's attribute for signatures of files, which root alone writes.
pub const SECURITY_IMA: &str = "security.ima";
/// The same bytes where users write them; also evmctl's name for it.
pub const USER_IMA: &str = "user.ima";

/// Batches on their way where an answer is small, and where it carries a signature.
pub(crate) const WINDOW: usize = 512;
pub(crate) const WINDOW_WITH_LINES: usize = 64;

/// A tree that is open.
///
/// ```
/// use sealstone_tree::{Rules, Signer, Tree, USER_IMA};
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
///
/// // Before anything is written into `folder`: how much is there, and can it be written?
/// let (bytes, key_id) = (signer.attribute_len(), signer.public().key_id);
/// let count = tree.count(Some((USER_IMA, bytes)));
/// assert_eq!((count.files, count.signed), (2, 0));
/// let room = tree.room()?;
/// assert_eq!(room.file_system, tree.file_system()?);
/// if tree.probe(USER_IMA, bytes, key_id).is_ok() && room.free > 0 {
///     // sign it
/// }
/// # Ok(())
/// # }
/// ```
pub struct Tree {
    pub(crate) root: Root,
    pub(crate) rules: Rules,
    pub(crate) jobs: usize,
}

/// What became of one thing in a tree.
#[derive(Debug)]
pub struct Entry<T> {
    /// Relative to the tree; empty for the tree itself.
    pub path: Vec<u8>,
    /// Bytes that were read.
    pub bytes: u64,
    /// What became of it.
    pub outcome: T,
    /// What a manifest says of it.
    pub line: Option<Line>,
}

impl<T> Entry<T> {
    pub(crate) fn new(path: Vec<u8>, outcome: T) -> Self {
        Self { path, bytes: 0, outcome, line: None }
    }
}

/// How much there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Files that the rules take, before anything is asked of them themselves.
    pub files: u64,
    /// Of these, files that have an attribute of this length already.
    pub signed: u64,
    /// Bytes of all.
    pub bytes: u64,
}

impl Tree {
    /// Opens a directory. Links on the way to it are followed, none in it is.
    ///
    /// `jobs`: threads that read and compute; each has up to 32 files open.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn open(path: &Path, rules: Rules, cross_mounts: bool, jobs: usize) -> Result<Self, Error> {
        let root = Root::open(path, cross_mounts).map_err(|errno| Error::system("opened", errno))?;
        Ok(Self { root, rules, jobs: jobs.clamp(1, 64) })
    }

    /// The room of the file system that the tree lies on.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn room(&self) -> Result<Room, Error> {
        Room::of(self.root.fd())
    }

    /// The same after everything that was written is on the disk: only then does the room say what files have taken.
    ///
    /// ```no_run
    /// use sealstone_tree::{Rules, Tree};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let tree = Tree::open("/mnt/image".as_ref(), Rules::default(), false, 2)?;
    /// let before = tree.settled_room()?.unused;
    /// std::fs::write("/mnt/image/more", [7; 10_000])?;
    /// // 12288 on a file system with blocks of 4 KiB, if nobody else writes there.
    /// println!("{} bytes", before.saturating_sub(tree.settled_room()?.unused));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn settled_room(&self) -> Result<Room, Error> {
        rustix::fs::syncfs(self.root.fd()).map_err(|errno| Error::system("written out", errno))?;
        self.room()
    }

    /// Counts what the rules take; with the name of an attribute and the length of its value also what has one already, and
    /// the bytes of all, for which each file is opened.
    pub fn count(&self, attribute: Option<(&str, usize)>) -> Count {
        let mut count = Count::default();
        for (path, found) in Walk::new(&self.root, &self.rules) {
            if !matches!(found, Found::File) {
                continue;
            }
            count.files += 1;
            let Some((name, len)) = attribute else { continue };
            let Ok(file) = self.root.file(&path).map_err(|_| Error::NotRegular).and_then(File::new) else {
                continue;
            };
            count.bytes += file.state.size;
            if file.attribute(name).is_ok_and(|value| value.is_some_and(|value| value.len() == len)) {
                count.signed += 1;
            }
        }
        count
    }

    /// Whether an attribute with a value of so many bytes can be written in the tree: tried, on a file without a name that
    /// is gone afterwards. The value is well formed, for kernels with IMA look at it. `false` if it could not be tried,
    /// because this user may make no file in the tree's first directory.
    ///
    /// # Errors
    /// What the file system says: [`Error::TooLarge`], [`Error::NotPermitted`], [`Error::NoAttributes`] and others.
    pub fn probe(&self, attribute: &str, bytes: usize, key_id: KeyId) -> Result<bool, Error> {
        let file = FileId::new(Kind::File, HashAlgorithm::Sha256, &[0; 32])?;
        let signature = vec![0xa5; bytes.saturating_sub(Record::len_for(0)).max(1)];
        let value = Record::of(&file, key_id, &signature)?.to_bytes();
        let probe = match self.nameless() {
            Ok(probe) => probe,
            Err(Errno::ACCESS | Errno::PERM) => return Ok(false),
            Err(Errno::ROFS) => return Err(Error::ReadOnly),
            Err(Errno::NOSPC) => return Err(Error::DiskFull),
            Err(Errno::DQUOT) => return Err(Error::Quota),
            Err(errno) => return Err(Error::system("probed", errno)),
        };
        match rustix::fs::fsetxattr(&probe, attribute, &value, rustix::fs::XattrFlags::empty()) {
            Ok(()) => Ok(true),
            Err(errno) => Err(refusal(std::os::fd::AsFd::as_fd(&probe), errno, attribute, value.len())),
        }
    }

    /// A file that has no name, or had one for a moment where the file system knows no other.
    pub(crate) fn nameless(&self) -> Result<std::os::fd::OwnedFd, Errno> {
        let mode = Mode::RUSR | Mode::WUSR;
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::openat(self.root.fd(), ".", flags | OFlags::TMPFILE, mode) {
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {}
            done => return done,
        }
        let name = format!(".sealstone-probe-{}", std::process::id());
        let made = rustix::fs::openat(self.root.fd(), &name, flags | OFlags::CREATE | OFlags::EXCL, mode)?;
        rustix::fs::unlinkat(self.root.fd(), &name, rustix::fs::AtFlags::empty())?;
        Ok(made)
    }

    /// Where the tree lies.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn file_system(&self) -> Result<FileSystem, Error> {
        Ok(self.room()?.file_system)
    }

    /// Opens a file that the walk met, and asks what the rules ask of it.
    pub(crate) fn take(&self, path: &[u8], seen: Option<&Seen>) -> Result<Result<File, Left>, Error> {
        let fd = match self.root.file(path) {
            Err(Errno::XDEV) => return Ok(Err(Left::MountPoint)),
            // A link took the file's place since it was listed.
            Err(Errno::LOOP) => return Err(Error::NotRegular),
            fd => fd.map_err(|errno| Error::system("opened", errno))?,
        };
        let file = File::new(fd)?;
        if self.rules.only_executable && file.mode & 0o111 == 0 {
            return Ok(Err(Left::NotExecutable));
        }
        if file.state.size < self.rules.min_size {
            return Ok(Err(Left::TooSmall));
        }
        if seen.is_some_and(|seen| seen.before(&file)) {
            return Ok(Err(Left::HardLink));
        }
        Ok(Ok(file))
    }
}

/// Files of more than one name that were met: for each, how many of its names are still to come. A file whose names all lie in the
/// tree is forgotten with the last, so that what is held is not all that were met. In many tables: one that grows is held twice
/// meanwhile.
#[derive(Default)]
pub(crate) struct Seen([Mutex<Names>; 32]);

/// By device and inode.
type Names = HashMap<u64, HashMap<u64, u32>>;

impl Seen {
    fn before(&self, file: &File) -> bool {
        if file.links < 2 {
            return false;
        }
        let (device, inode) = file.identity();
        let table = &self.0[inode as usize & (self.0.len() - 1)];
        // A thread that panicked left the table whole.
        let mut seen = table.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let seen = seen.entry(device).or_default();
        match seen.get_mut(&inode) {
            None => {
                seen.insert(inode, u32::try_from(file.links - 1).unwrap_or(u32::MAX));
                false
            }
            Some(1) => {
                seen.remove(&inode);
                true
            }
            Some(names) => {
                *names -= 1;
                true
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_many_names_is_met_once_and_forgotten_with_the_last_of_them() {
        let folder = std::env::temp_dir().join(format!("sealstone-seen-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for file in ["a", "b"] {
            std::fs::write(folder.join(file), file).unwrap();
            (1..3).for_each(|name| {
                std::fs::hard_link(folder.join(file), folder.join(format!("{file}{name}"))).unwrap();
            });
        }
        let root = Root::open(&folder, false).unwrap();
        let seen = Seen::default();
        let met = |name: &str| seen.before(&File::new(root.file(name.as_bytes()).unwrap()).unwrap());
        assert_eq!(["a", "b", "a1", "b1", "a2"].map(met), [false, false, true, true, true]);
        let held = || {
            let tables =
                seen.0.iter().map(|table| table.lock().unwrap().values().map(HashMap::len).sum::<usize>());
            tables.sum::<usize>()
        };
        assert_eq!(held(), 1);
        assert!(met("b2"));
        assert_eq!(held(), 0);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
