//! Flash that a killed emulator leaves as a power cut would: a file of the host, written in steps.
//!
//! `flash.bin` has pairs of pages of 1 KiB (docs/formats/mqtt-device.md). A board has two sectors for each.

use sealstone_board::File;
use sealstone_mqtt::Error;
use sealstone_mqtt::flash::Flash;

/// Bytes of a page.
const PAGE: usize = 1024;

/// Which pair of pages.
#[derive(Clone, Copy)]
pub(crate) enum Pair {
    Numbers,
    KeyIds,
    #[cfg(feature = "commands")]
    Told,
    #[cfg(feature = "commands")]
    Taken,
    #[cfg(feature = "commands")]
    Template,
    #[cfg(feature = "commands")]
    Seeds,
}

/// Two pages of the file.
pub(crate) struct Pages {
    file: File,
    first: usize,
}

/// A pair of pages. Errors: `FlashFailed` without the file.
pub(crate) fn open(pair: Pair) -> Result<Pages, Error> {
    let file = File::open(c"flash.bin").ok_or(Error::FlashFailed)?;
    Ok(Pages { file, first: 2 * PAGE * pair as usize })
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
