//! Flash that a killed emulator leaves as a power cut would: a file of the host, written in steps.
//!
//! `flash.bin` has four pages of 1 KiB: two for the numbers, two for the key ids. A board has two sectors for each.

use sealstone_board::File;
use sealstone_mqtt::Error;
use sealstone_mqtt::flash::Flash;

/// Bytes of a page.
const PAGE: usize = 1024;

/// Two pages of the file.
pub(crate) struct Pages {
    file: File,
    first: usize,
}

/// The pages of the numbers and those of the key ids. Errors: `FlashFailed` without the file.
pub(crate) fn open() -> Result<[Pages; 2], Error> {
    let pages = |first| -> Result<Pages, Error> {
        let file = File::open(c"flash.bin").ok_or(Error::FlashFailed)?;
        Ok(Pages { file, first })
    };
    Ok([pages(0)?, pages(2 * PAGE)?])
}

impl Pages {
    fn put(&mut self, page: usize, at: usize, bytes: &[u8]) -> Result<(), Error> {
        let place = self.first + page * PAGE + at;
        if self.file.write_at(place, bytes) { Ok(()) } else { Err(Error::FlashFailed) }
    }
}

impl Flash for Pages {
    fn page_len(&self) -> usize {
        PAGE
    }

    fn read(&mut self, page: usize, at: usize, out: &mut [u8]) -> Result<(), Error> {
        let place = self.first + page * PAGE + at;
        if self.file.read_at(place, out) { Ok(()) } else { Err(Error::FlashFailed) }
    }

    /// Byte by byte, so that the emulator can be killed between any two.
    fn write(&mut self, page: usize, at: usize, bytes: &[u8]) -> Result<(), Error> {
        bytes.iter().enumerate().try_for_each(|(i, byte)| self.put(page, at + i, &[*byte]))
    }

    /// 64 bytes at a time.
    fn erase(&mut self, page: usize) -> Result<(), Error> {
        (0..PAGE).step_by(64).try_for_each(|at| self.put(page, at, &[0xff; 64]))
    }
}
