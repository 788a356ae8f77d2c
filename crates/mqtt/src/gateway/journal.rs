//! A file that only grows: frames with a checksum, one for each commit, and on the disk when [`Journal::commit`] returns.
//!
//! A frame is its length (4 bytes), the CRC-32 of its content (4) and the content. A crash can leave the last frame torn, and
//! it is cut off: nobody was told that it is there. A frame that does not hold with one that holds behind it is damage, and
//! nothing is opened.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::Error;
use crate::flash::crc32;

/// The head of a frame.
const HEAD: usize = 8;

/// An open journal.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    path: PathBuf,
    len: u64,
    /// After a failed write nobody knows what is on the disk.
    failed: bool,
}

impl Journal {
    /// Opens a journal, or makes an empty one, and hands over each frame's content in order.
    /// Errors: `Data`: unreadable, or damaged.
    pub(super) fn open(path: &Path, mut each: impl FnMut(&[u8]) -> Result<(), Error>) -> Result<Self, Error> {
        let failed = |cause| Error::data(path, cause);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(path).map_err(failed)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let mut at = 0;
        while let Some((content, next)) = frame(&bytes, at) {
            each(content)?;
            at = next;
        }
        if holds_later(&bytes, at) {
            return Err(Error::Data {
                path: path.to_owned(),
                what: format!("it is damaged at byte {at}"),
                hint: "keep it; an empty data directory starts anew, and takes what is fresh once more",
            });
        }
        if at < bytes.len() {
            file.set_len(at as u64).and_then(|()| file.sync_all()).map_err(failed)?;
        }
        file.seek(SeekFrom::Start(at as u64)).map_err(failed)?;
        Ok(Journal { file, path: path.to_owned(), len: at as u64, failed: false })
    }

    /// Writes a frame; it is on the disk then. Errors: `Data`, and from then on always.
    pub(super) fn commit(&mut self, content: &[u8]) -> Result<(), Error> {
        if self.failed {
            return Err(Error::data(&self.path, "an earlier write failed"));
        }
        let frame = framed(content);
        let written = self.file.write_all(&frame).and_then(|()| self.file.sync_data());
        self.failed = written.is_err();
        self.len += frame.len() as u64;
        written.map_err(|cause| Error::data(&self.path, cause))
    }

    /// Bytes in the file.
    pub(super) fn len(&self) -> u64 {
        self.len
    }
}

/// A frame of a content.
pub(super) fn framed(content: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEAD + content.len());
    frame.extend((content.len() as u32).to_be_bytes());
    frame.extend(crc32(content).to_be_bytes());
    frame.extend(content);
    frame
}

/// The content of the frame at a place and the place behind it; none if no whole frame holds there.
pub(super) fn frame(bytes: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let (head, rest) = bytes.get(at..)?.split_first_chunk::<HEAD>()?;
    let number = |i: usize| u32::from_be_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]);
    let content = rest.get(..number(0) as usize)?;
    (crc32(content) == number(4) && !content.is_empty()).then_some((content, at + HEAD + content.len()))
}

/// Whether the frame at a place is broken though another one holds behind it.
fn holds_later(bytes: &[u8], at: usize) -> bool {
    let Some(head) = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()) else { return false };
    let next = at + HEAD + u32::from_be_bytes(*head) as usize;
    next < bytes.len() && frame(bytes, next).is_some()
}

#[cfg(test)]
mod tests {
    use super::crc32;

    /// The check value of the standard's catalogue.
    #[test]
    fn crc_32_of_the_digits() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
