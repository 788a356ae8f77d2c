//! The files of a tree, in the order of their names, one directory at a time: what is held are the names of the directories
//! on the way, and no descriptor.
//!
//! The order is that of the bytes of each part of a path, so that two trees, or a tree and a list, are walked side by side.

use core::fmt;
use std::mem::MaybeUninit;

use rustix::fs::{AtFlags, FileType, RawDir};
use rustix::io::Errno;

use crate::beneath::Root;
use crate::rules::Rules;

/// Why something in a tree is not a file that is meant.
///
/// ```
/// use sealstone_tree::Left;
///
/// assert_eq!(Left::Symlink.name(), "symbolic link");
/// assert_eq!(Left::Ignored.to_string(), "left out by a rule");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Left {
    /// A device of blocks.
    BlockDevice,
    /// A device of characters.
    CharDevice,
    /// A named pipe.
    Fifo,
    /// One more name of a file that was met before: the signature belongs to the file.
    HardLink,
    /// A rule leaves it out, with all that is in it.
    Ignored,
    /// Another file system begins here.
    MountPoint,
    /// Nobody may execute it, and only what can be executed was asked for.
    NotExecutable,
    /// A socket.
    Socket,
    /// A symbolic link: the file that it leads to is signed where it lies.
    Symlink,
    /// Smaller than what was asked for.
    TooSmall,
}

impl Left {
    /// In a word or two.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BlockDevice => "block device",
            Self::CharDevice => "character device",
            Self::Fifo => "named pipe",
            Self::HardLink => "hard link",
            Self::Ignored => "left out by a rule",
            Self::MountPoint => "mount point",
            Self::NotExecutable => "not executable",
            Self::Socket => "socket",
            Self::Symlink => "symbolic link",
            Self::TooSmall => "too small",
        }
    }
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a walk meets.
#[derive(Debug)]
pub(crate) enum Found {
    File,
    Left(Left),
    /// A directory that could not be listed, or an entry that could not be looked at.
    Unreadable(Errno),
}

/// A walk that goes on with each call.
pub(crate) struct Walk<'a> {
    root: &'a Root,
    rules: &'a Rules,
    path: Vec<u8>,
    open: Vec<Listing>,
    started: bool,
    buffer: Vec<MaybeUninit<u8>>,
}

/// What is left of a directory: its names in one piece of memory.
struct Listing {
    names: Vec<u8>,
    entries: Vec<(u32, u16, FileType)>,
    next: usize,
    /// Bytes of the walk's path that are this directory's.
    path_len: usize,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(root: &'a Root, rules: &'a Rules) -> Self {
        Self {
            root,
            rules,
            path: Vec::new(),
            open: Vec::new(),
            started: false,
            buffer: vec![MaybeUninit::uninit(); 64 * 1024],
        }
    }

    /// Lists the directory at the walk's path.
    fn list(&mut self) -> Result<Listing, Errno> {
        let directory = self.root.directory(&self.path)?;
        let mut names = Vec::new();
        let mut entries = Vec::new();
        let mut iterator = RawDir::new(&directory, &mut self.buffer);
        while let Some(entry) = iterator.next() {
            let entry = match entry {
                Err(Errno::INTR) => continue,
                entry => entry?,
            };
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let offset = u32::try_from(names.len()).map_err(|_| Errno::OVERFLOW)?;
            let length = u16::try_from(name.len()).map_err(|_| Errno::NAMETOOLONG)?;
            names.extend_from_slice(name);
            entries.push((offset, length, entry.file_type()));
        }
        // File systems that do not say what an entry is.
        for (offset, length, kind) in &mut entries {
            if *kind == FileType::Unknown {
                let name = &names[*offset as usize..*offset as usize + usize::from(*length)];
                match rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => *kind = FileType::from_raw_mode(stat.st_mode),
                    // Gone since; opening it will say so.
                    Err(_) => *kind = FileType::RegularFile,
                }
            }
        }
        let name = |entry: &(u32, u16, FileType)| entry.0 as usize..entry.0 as usize + usize::from(entry.1);
        entries.sort_unstable_by(|a, b| names[name(a)].cmp(&names[name(b)]));
        Ok(Listing { names, entries, next: 0, path_len: self.path.len() })
    }

    fn enter(&mut self) -> Option<Found> {
        match self.list() {
            Ok(listing) => {
                self.open.push(listing);
                None
            }
            Err(Errno::XDEV) => Some(Found::Left(Left::MountPoint)),
            Err(errno) => Some(Found::Unreadable(errno)),
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = (Vec<u8>, Found);

    fn next(&mut self) -> Option<Self::Item> {
        if !self.started {
            self.started = true;
            if let Some(found) = self.enter() {
                return Some((Vec::new(), found));
            }
        }
        loop {
            let listing = self.open.last_mut()?;
            self.path.truncate(listing.path_len);
            let Some(&(offset, length, kind)) = listing.entries.get(listing.next) else {
                self.open.pop();
                continue;
            };
            listing.next += 1;
            if listing.path_len > 0 {
                self.path.push(b'/');
            }
            self.path
                .extend_from_slice(&listing.names[offset as usize..offset as usize + usize::from(length)]);
            let found = match kind {
                FileType::Directory if !self.rules.enters(&self.path) => Found::Left(Left::Ignored),
                FileType::Directory => match self.enter() {
                    None => continue,
                    Some(found) => found,
                },
                FileType::RegularFile | FileType::Unknown if self.rules.takes(&self.path) => Found::File,
                FileType::RegularFile | FileType::Unknown => Found::Left(Left::Ignored),
                FileType::BlockDevice => Found::Left(Left::BlockDevice),
                FileType::CharacterDevice => Found::Left(Left::CharDevice),
                FileType::Fifo => Found::Left(Left::Fifo),
                FileType::Socket => Found::Left(Left::Socket),
                FileType::Symlink => Found::Left(Left::Symlink),
            };
            return Some((self.path.clone(), found));
        }
    }
}

/// The order of the walk: that of the bytes of each part.
pub(crate) fn order(a: &[u8], b: &[u8]) -> core::cmp::Ordering {
    let rank = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
    a.iter().map(rank).cmp(b.iter().map(rank))
}
