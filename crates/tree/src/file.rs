//! One open file: what is read of it, under guard against changes, and its attribute. Everything goes through the descriptor,
//! so that what is read and what is written are of one inode, whatever happens to its names.

use std::os::fd::{AsFd, OwnedFd};

use aws_lc_rs::digest;
use rustix::fs::{FileType, XattrFlags};
use rustix::io::Errno;

use crate::digest::algorithm;
use crate::error::Error;
use crate::file_id::{FileId, HashAlgorithm, Kind};
use crate::file_system::refusal;

/// Bytes read at a time.
const PIECE: usize = 256 * 1024;
/// The most bytes that Linux lets an attribute have (XATTR_SIZE_MAX).
pub(crate) const ATTRIBUTE_MAX: usize = 65_536;

/// What tells one state of a file from the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    device: u64,
    inode: u64,
    pub(crate) size: u64,
    modified: (i64, u64),
    changed: (i64, u64),
}

/// A regular file, open to be read.
pub(crate) struct File {
    fd: OwnedFd,
    pub(crate) mode: u32,
    pub(crate) links: u64,
    pub(crate) state: State,
}

impl File {
    /// Takes an open file.
    ///
    /// # Errors
    /// [`Error::NotRegular`]; [`Error::System`].
    pub(crate) fn new(fd: OwnedFd) -> Result<Self, Error> {
        let stat = rustix::fs::fstat(&fd).map_err(|errno| Error::system("looked at", errno))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Error::NotRegular);
        }
        Ok(Self { state: state(&stat), mode: stat.st_mode & 0o7777, links: stat.st_nlink, fd })
    }

    /// Device and inode: what a hard link has in common with the file.
    pub(crate) fn identity(&self) -> (u64, u64) {
        (self.state.device, self.state.inode)
    }

    /// The digest of all bytes. The state is that of before and of after reading; if they differ it is tried once more.
    ///
    /// # Errors
    /// [`Error::Changed`]; [`Error::System`].
    pub(crate) fn digest(&mut self, hash: HashAlgorithm, buffer: &mut Vec<u8>) -> Result<FileId, Error> {
        for attempt in 0..2 {
            if attempt > 0 {
                self.state = self.now()?;
            }
            let (digest, read) = self.read_all(hash, buffer)?;
            if read == self.state.size && self.is_unchanged()? {
                return FileId::new(Kind::File, hash, digest.as_ref());
            }
        }
        Err(Error::Changed)
    }

    /// Reads to the end, but not past the size: a file that grows as fast as it is read has no end.
    fn read_all(&self, hash: HashAlgorithm, buffer: &mut Vec<u8>) -> Result<(digest::Digest, u64), Error> {
        buffer.resize(PIECE, 0);
        let mut context = digest::Context::new(algorithm(hash));
        let mut read = 0;
        loop {
            match rustix::io::pread(&self.fd, &mut buffer[..], read) {
                Ok(0) => return Ok((context.finish(), read)),
                Ok(count) => {
                    context.update(&buffer[..count]);
                    read += count as u64;
                    if read > self.state.size {
                        return Ok((context.finish(), read));
                    }
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Error::system("read", errno)),
            }
        }
    }

    fn now(&self) -> Result<State, Error> {
        rustix::fs::fstat(&self.fd)
            .map(|stat| state(&stat))
            .map_err(|errno| Error::system("looked at", errno))
    }

    /// Whether the file is still as it was.
    pub(crate) fn is_unchanged(&self) -> Result<bool, Error> {
        Ok(self.now()? == self.state)
    }

    /// All attributes, with the bytes of each.
    pub(crate) fn attributes(&self) -> Vec<(Vec<u8>, usize)> {
        crate::file_system::attributes(self.fd.as_fd())
    }

    /// The value of an attribute, if it is there.
    pub(crate) fn attribute(&self, name: impl rustix::path::Arg + Copy) -> Result<Option<Vec<u8>>, Error> {
        // Room for what is usual, and for the rest in a second call.
        for room in [8192, ATTRIBUTE_MAX] {
            let mut value = vec![0; room];
            match rustix::fs::fgetxattr(&self.fd, name, &mut value[..]) {
                Ok(len) => {
                    value.truncate(len);
                    value.shrink_to_fit();
                    return Ok(Some(value));
                }
                Err(Errno::RANGE) => {}
                Err(Errno::NODATA | Errno::OPNOTSUPP) => return Ok(None),
                Err(errno) => return Err(Error::system("read", errno)),
            }
        }
        Err(Error::system("read", Errno::RANGE))
    }

    /// Writes an attribute: the old value stays, or the new one is there whole.
    pub(crate) fn set_attribute(&self, name: &str, value: &[u8]) -> Result<(), Error> {
        loop {
            match rustix::fs::fsetxattr(&self.fd, name, value, XattrFlags::empty()) {
                Ok(()) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(refusal(self.fd.as_fd(), errno, name, value.len())),
            }
        }
    }
}

#[allow(clippy::unnecessary_cast, clippy::useless_conversion, reason = "the types differ between platforms")]
fn state(stat: &rustix::fs::Stat) -> State {
    State {
        device: stat.st_dev as u64,
        inode: stat.st_ino as u64,
        size: stat.st_size as u64,
        modified: (stat.st_mtime as i64, stat.st_mtime_nsec as u64),
        changed: (stat.st_ctime as i64, stat.st_ctime_nsec as u64),
    }
}
