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
use crate::verity::{self, Merkle};

/// Bytes read at a time: few enough to be in the nearest cache when they are hashed.
const PIECE: usize = 64 * 1024;
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
        self.id(Kind::File, hash, buffer)
    }

    /// What is signed of the file, of that kind: as [`digest`](Self::digest) for its bytes; of a Merkle tree what the kernel
    /// holds the file to, and where it does not, what it would.
    ///
    /// # Errors
    /// [`Error::Changed`]; [`Error::Kind`] for attributes; [`Error::VerityHash`]; [`Error::System`].
    pub(crate) fn id(
        &mut self,
        kind: Kind,
        hash: HashAlgorithm,
        buffer: &mut Vec<u8>,
    ) -> Result<FileId, Error> {
        match kind {
            Kind::Attributes => return Err(Error::Kind { expected: Kind::File, found: kind }),
            Kind::File => {}
            Kind::Verity => {
                if let Some(digest) = verity::measured(self.fd.as_fd(), hash)? {
                    return FileId::new(kind, hash, &digest);
                }
            }
        }
        for attempt in 0..2 {
            if attempt > 0 {
                self.state = self.now()?;
            }
            let (digest, read) = self.read_all(kind, hash, buffer)?;
            if read == self.state.size && self.is_unchanged()? {
                return FileId::new(kind, hash, digest.as_ref());
            }
        }
        Err(Error::Changed)
    }

    /// The same for a caller who asks [`is_unchanged`](Self::is_unchanged) before the digest is used: what it answers is for
    /// all the time since the file was opened, so that asking here too would say nothing more.
    ///
    /// # Errors
    /// As [`id`](Self::id).
    pub(crate) fn id_as_read(
        &mut self,
        kind: Kind,
        hash: HashAlgorithm,
        buffer: &mut Vec<u8>,
    ) -> Result<FileId, Error> {
        if kind == Kind::File {
            let (digest, read) = self.read_all(kind, hash, buffer)?;
            if read == self.state.size {
                return FileId::new(kind, hash, digest.as_ref());
            }
        }
        self.id(kind, hash, buffer)
    }

    /// Whether the kernel holds the file to a digest of fs-verity by this hash function.
    ///
    /// # Errors
    /// [`Error::VerityHash`]; [`Error::System`].
    pub(crate) fn has_verity(&self, hash: HashAlgorithm) -> Result<bool, Error> {
        Ok(verity::measured(self.fd.as_fd(), hash)?.is_some())
    }

    /// The digest of the bytes, or that of their Merkle tree, and how many bytes there were.
    fn read_all(
        &self,
        kind: Kind,
        hash: HashAlgorithm,
        buffer: &mut Vec<u8>,
    ) -> Result<(digest::Digest, u64), Error> {
        if kind == Kind::Verity {
            let mut tree = Merkle::new(hash)?;
            let read = self.read_through(buffer, |bytes| tree.update(bytes))?;
            return Ok((tree.finish(), read));
        }
        let mut context = digest::Context::new(algorithm(hash));
        let read = self.read_through(buffer, |bytes| context.update(bytes))?;
        Ok((context.finish(), read))
    }

    fn read_through(&self, buffer: &mut Vec<u8>, mut take: impl FnMut(&[u8])) -> Result<u64, Error> {
        buffer.resize(PIECE, 0);
        let mut read = 0;
        loop {
            let count = self.read_at(buffer, read)?;
            take(&buffer[..count]);
            read += count as u64;
            if self.is_end(read, count, buffer.len()) {
                return Ok(read);
            }
        }
    }

    fn read_at(&self, buffer: &mut [u8], at: u64) -> Result<usize, Error> {
        loop {
            match rustix::io::pread(&self.fd, &mut buffer[..], at) {
                Err(Errno::INTR) => {}
                done => return done.map_err(|errno| Error::system("read", errno)),
            }
        }
    }

    /// Whether reading is over: at the end, or where `read` is past the size, for a file that grows as fast as it is read has no
    /// end. A call that gave less than it could, up to the size, saves the one that would give nothing: what is written behind it
    /// shows in the file's state.
    fn is_end(&self, read: u64, count: usize, room: usize) -> bool {
        count == 0 || read > self.state.size || read == self.state.size && count < room
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
            let mut value = Vec::with_capacity(room);
            match rustix::fs::fgetxattr(&self.fd, name, rustix::buffer::spare_capacity(&mut value)) {
                Ok(_) => {
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::digest::of;

    const HASH: HashAlgorithm = HashAlgorithm::Sha256;

    fn open(path: &std::path::Path) -> File {
        File::new(std::fs::File::open(path).unwrap().into()).unwrap()
    }

    #[test]
    fn a_digest_is_of_all_bytes_however_they_are_read() {
        let path = std::env::temp_dir().join(format!("sealstone-file-{}", std::process::id()));
        for size in [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 4 * PIECE - 1] {
            let bytes: Vec<u8> = (0..size).map(|at| (at ^ at >> 8 ^ at >> 16) as u8).collect();
            std::fs::write(&path, &bytes).unwrap();
            let (mut buffer, expected) = (Vec::new(), of(HASH, &bytes));
            assert_eq!(open(&path).digest(HASH, &mut buffer).unwrap().digest(), expected.as_ref(), "{size}");
            let unasked = open(&path).id_as_read(Kind::File, HASH, &mut buffer).unwrap();
            assert_eq!(unasked.digest(), expected.as_ref(), "{size}");
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_file_that_grew_shrank_or_changed_since_it_was_opened_is_noticed() {
        let path = std::env::temp_dir().join(format!("sealstone-changed-{}", std::process::id()));
        let mut buffer = Vec::new();
        for size in [4096, 2 * PIECE] {
            for now in [size - 1, size, size + 1, 2 * size] {
                std::fs::write(&path, vec![1; size]).unwrap();
                let mut file = open(&path);
                // The clock of times of change may stand still for some milliseconds.
                std::thread::sleep(std::time::Duration::from_millis(20));
                std::fs::write(&path, vec![2; now]).unwrap();
                let expected = of(HASH, &vec![2; now]);
                let id = file.id_as_read(Kind::File, HASH, &mut buffer).unwrap();
                assert_eq!(id.digest(), expected.as_ref(), "{size} to {now}");
                // Of the same size only the times tell, and whoever asked to be asked has to ask.
                assert_eq!(file.is_unchanged().unwrap(), now != size, "{size} to {now}");
                assert_eq!(file.digest(HASH, &mut buffer).unwrap().digest(), expected.as_ref());
                assert!(file.is_unchanged().unwrap());
            }
        }
        std::fs::remove_file(&path).unwrap();
    }
}
