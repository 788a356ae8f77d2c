//! Lasting memory that survives a power cut at any point: [`Flash`] is what a chip gives, [`Store`] one value in two pages of it,
//! [`Block`] a long one.
//!
//! A store is a log. Each write is a record behind the last one: a count, the value, a checksum. When a page is full the
//! other one is erased and goes on. So the latest whole record is the value, and at every moment of a write either the old or the
//! new value is there.
//!
//! ```
//! use sealstone_mqtt::flash::{Flash, Store};
//! # use sealstone_mqtt::Error;
//! # #[derive(Default)]
//! # struct Chip(Vec<u8>);
//! # impl Flash for Chip {
//! #     fn page_len(&self) -> usize { 64 }
//! #     fn read(&mut self, page: usize, at: usize, out: &mut [u8]) -> Result<(), Error> {
//! #         out.copy_from_slice(&self.0[64 * page + at..][..out.len()]);
//! #         Ok(())
//! #     }
//! #     fn write(&mut self, page: usize, at: usize, bytes: &[u8]) -> Result<(), Error> {
//! #         self.0[64 * page + at..][..bytes.len()].copy_from_slice(bytes);
//! #         Ok(())
//! #     }
//! #     fn erase(&mut self, page: usize) -> Result<(), Error> {
//! #         self.0[64 * page..][..64].fill(0xff);
//! #         Ok(())
//! #     }
//! # }
//! # fn main() -> Result<(), Error> {
//! # let mut chip = Chip(vec![0xff; 128]);
//! // Once, at provisioning.
//! Store::<_, 4>::format(&mut chip, &[0; 4])?;
//! // At each start.
//! let mut store = Store::<_, 4>::open(&mut chip)?;
//! assert_eq!(store.value(), &[0; 4]);
//! store.write(&[0, 0, 0, 1])?;
//! # Ok(())
//! # }
//! ```

use crate::error::Error;

/// Two pages of a chip's flash: erased to ones, written once after each erasing.
///
/// A store writes records of 8 bytes and their multiples, at multiples of 8, and no byte twice between two erasures. That is what
/// STM32F4 (any unit), STM32L4 and G4 (8 bytes with an error-correcting code, written once) and NOR chips take.
pub trait Flash {
    /// Bytes of a page. Bounds: the same for both pages.
    fn page_len(&self) -> usize;
    /// Reads. A chip that finds an error that it cannot correct gives any bytes, and not an error: a torn record is one.
    /// Bounds: `page` is 0 or 1. Errors: the chip's, as `FlashFailed`.
    fn read(&mut self, page: usize, at: usize, out: &mut [u8]) -> Result<(), Error>;
    /// Writes erased bytes. When it returns, they last. Errors: as [`Self::read`].
    fn write(&mut self, page: usize, at: usize, bytes: &[u8]) -> Result<(), Error>;
    /// Sets every byte of a page to 0xff. Errors: as [`Self::read`].
    fn erase(&mut self, page: usize) -> Result<(), Error>;
}

impl<F: Flash + ?Sized> Flash for &mut F {
    fn page_len(&self) -> usize {
        (**self).page_len()
    }
    fn read(&mut self, page: usize, at: usize, out: &mut [u8]) -> Result<(), Error> {
        (**self).read(page, at, out)
    }
    fn write(&mut self, page: usize, at: usize, bytes: &[u8]) -> Result<(), Error> {
        (**self).write(page, at, bytes)
    }
    fn erase(&mut self, page: usize) -> Result<(), Error> {
        (**self).erase(page)
    }
}

/// One value of `LEN` bytes that lasts.
///
/// Shapes: a record has 8 + LEN bytes, rounded up to 8; a page holds at least one.
/// Wear: each write takes one record; a page of n records is erased once in 2n writes. With pages of 16 KiB, records of 16 bytes and
/// 10 000 erasures that is 20 million writes.
///
/// Fails closed: once a write failed, every further one does, until the store is opened again.
#[derive(Debug)]
pub struct Store<F, const LEN: usize> {
    flash: F,
    value: [u8; LEN],
    count: u32,
    /// Where the next record goes.
    page: usize,
    slot: usize,
    failed: bool,
}

/// Longest record: a value of 244 bytes.
const RECORD_MAX: usize = 256;
/// Slots that do not take what is written, after which the chip counts as broken.
const BAD_SLOTS: usize = 3;

impl<F: Flash, const LEN: usize> Store<F, LEN> {
    /// Bytes of a record: count, value, checksum.
    const RECORD: usize = (8 + LEN).next_multiple_of(8);
    const FITS: () = assert!(Self::RECORD <= RECORD_MAX);

    /// Erases both pages and writes the first value. Only at provisioning: what was there is gone, and with it every promise that was
    /// built on it. A power cut in between leaves pages that do not open, or the value.
    ///
    /// Errors: `FlashFailed`.
    pub fn format(mut flash: F, value: &[u8; LEN]) -> Result<Self, Error> {
        flash.erase(0)?;
        flash.erase(1)?;
        let mut store = Store { flash, value: *value, count: 0, page: 0, slot: 0, failed: false };
        store.write(value)?;
        Ok(store)
    }

    /// Finds the latest value. Errors: `FlashFailed` if there is none: pages that were never formatted, or lost, hold no number
    /// to go on from, so nobody goes on.
    pub fn open(flash: F) -> Result<Self, Error> {
        let mut store = Store { flash, value: [0; LEN], count: 0, page: 0, slot: 0, failed: false };
        let mut found: Option<(u32, usize, usize)> = None;
        for page in [0, 1] {
            for slot in 0..store.slots() {
                if let Slot::Whole(count, value) = store.read(page, slot)?
                    && found.is_none_or(|(latest, ..)| count >= latest)
                {
                    found = Some((count, page, slot));
                    store.value = value;
                }
            }
        }
        let (count, page, last) = found.ok_or(Error::FlashFailed)?;
        (store.count, store.page, store.slot) = (count, page, last + 1);
        // A record that was torn is passed over. It takes a count, so that no other has its count should it read whole one day.
        for slot in last + 1..store.slots() {
            if !matches!(store.read(page, slot)?, Slot::Blank) {
                store.slot = slot + 1;
                store.count = store.count.checked_add(1).ok_or(Error::FlashFailed)?;
            }
        }
        Ok(store)
    }

    /// The latest value.
    pub fn value(&self) -> &[u8; LEN] {
        &self.value
    }

    /// Writes a value and reads it back. When it returns, the value lasts; if power is cut before, the old one or the new one is there.
    ///
    /// Errors: `FlashFailed`; what the store holds is known again only after it was opened again.
    pub fn write(&mut self, value: &[u8; LEN]) -> Result<(), Error> {
        if self.failed {
            return Err(Error::FlashFailed);
        }
        self.failed = true;
        for _ in 0..BAD_SLOTS {
            self.count = self.count.checked_add(1).ok_or(Error::FlashFailed)?;
            if self.slot >= self.slots() {
                // What counts stands in the full page until the first record of the other one is whole.
                self.flash.erase(1 - self.page)?;
                (self.page, self.slot) = (1 - self.page, 0);
            }
            let slot = self.slot;
            self.slot += 1;
            let record = Self::record(self.count, value);
            self.flash.write(self.page, slot * Self::RECORD, &record[..Self::RECORD])?;
            if self.read(self.page, slot)? == Slot::Whole(self.count, *value) {
                self.value = *value;
                self.failed = false;
                return Ok(());
            }
        }
        Err(Error::FlashFailed)
    }

    /// Writes a value, and leaves nothing of those before: for secrets. They are gone when it returns; if power is cut before, some may
    /// be left until the next call. Wear: two erasures. Errors: as [`Self::write`].
    pub fn replace(&mut self, value: &[u8; LEN]) -> Result<(), Error> {
        self.slot = self.slots(); // so that it goes to the other page
        self.write(value)?;
        let erased = self.flash.erase(1 - self.page);
        self.failed = erased.is_err();
        erased
    }

    /// Records of a page.
    fn slots(&self) -> usize {
        self.flash.page_len().checked_div(Self::RECORD).unwrap_or(0)
    }

    /// The bytes of a record; those behind its end are not written.
    fn record(count: u32, value: &[u8; LEN]) -> [u8; RECORD_MAX] {
        let () = Self::FITS;
        let mut record = [0; RECORD_MAX];
        record[..4].copy_from_slice(&count.to_be_bytes());
        record[4..4 + LEN].copy_from_slice(value);
        let sum = crc32(&record[..Self::RECORD - 4]);
        record[Self::RECORD - 4..Self::RECORD].copy_from_slice(&sum.to_be_bytes());
        record
    }

    fn read(&mut self, page: usize, slot: usize) -> Result<Slot<LEN>, Error> {
        let mut record = [0; RECORD_MAX];
        self.flash.read(page, slot * Self::RECORD, &mut record[..Self::RECORD])?;
        if record[..Self::RECORD].iter().all(|byte| *byte == 0xff) {
            return Ok(Slot::Blank);
        }
        let (mut count, mut value) = ([0; 4], [0; LEN]);
        count.copy_from_slice(&record[..4]);
        value.copy_from_slice(&record[4..4 + LEN]);
        let count = u32::from_be_bytes(count);
        Ok(if Self::record(count, &value) == record { Slot::Whole(count, value) } else { Slot::Torn })
    }
}

/// What a place for a record holds.
#[derive(PartialEq, Eq)]
enum Slot<const LEN: usize> {
    Blank,
    Torn,
    Whole(u32, [u8; LEN]),
}

/// A value of any length that lasts, or none: as long as a page, less 16 bytes.
///
/// Each value goes to the page that does not hold the one before: it is erased, the bytes are written, and last a head of 16 bytes: a count, the
/// length, and the CRC-32 of these and the bytes. So if power is cut, the old value or the new one is there. Wear: an erasure a value.
#[derive(Debug)]
pub struct Block<F> {
    flash: F,
    count: u32,
    page: usize,
    len: usize,
}

/// Bytes before those of a block.
const HEAD: usize = 16;

impl<F: Flash> Block<F> {
    /// Two pages that hold no value. Errors: `FlashFailed`.
    pub fn format(mut flash: F) -> Result<(), Error> {
        flash.erase(0)?;
        flash.erase(1)
    }

    /// Finds the latest value, if there is one. Errors: `FlashFailed`.
    pub fn open(flash: F) -> Result<Self, Error> {
        let mut block = Block { flash, count: 0, page: 0, len: 0 };
        for page in [0, 1] {
            if let Some((count, len)) = block.whole(page)?
                && count > block.count
            {
                (block.count, block.page, block.len) = (count, page, len);
            }
        }
        Ok(block)
    }

    /// The most bytes of a value.
    pub fn room(&self) -> usize {
        self.flash.page_len().saturating_sub(HEAD) & !7
    }

    /// Reads the value; returns its length, 0 for none. Errors: `TooLong` if `out` is shorter; `FlashFailed`.
    pub fn read(&mut self, out: &mut [u8]) -> Result<usize, Error> {
        let out = out.get_mut(..self.len).ok_or(Error::TooLong)?;
        self.flash.read(self.page, HEAD, out)?;
        Ok(self.len)
    }

    /// Writes a value and reads it back. Errors: `TooLong`; `FlashFailed`, and then the value is the old one, or after the next start
    /// perhaps the new one.
    pub fn write(&mut self, value: &[u8]) -> Result<(), Error> {
        if value.len() > self.room() {
            return Err(Error::TooLong);
        }
        let page = 1 - self.page;
        let count = self.count.checked_add(1).ok_or(Error::FlashFailed)?;
        self.flash.erase(page)?;
        let (units, rest) = value.split_at(value.len() & !7);
        self.flash.write(page, HEAD, units)?;
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.flash.write(page, HEAD + units.len(), &last)?;
        }
        let mut head = [0; HEAD];
        head[..4].copy_from_slice(&count.to_be_bytes());
        head[4..8].copy_from_slice(&(value.len() as u32).to_be_bytes()); // a page is shorter than 4 GiB
        let sum = !crc32_from(crc32_from(!0, &head[..8]), value);
        head[8..12].copy_from_slice(&sum.to_be_bytes());
        self.flash.write(page, 0, &head)?;
        if self.whole(page)? != Some((count, value.len())) {
            return Err(Error::FlashFailed);
        }
        (self.count, self.page, self.len) = (count, page, value.len());
        Ok(())
    }

    /// Count and length of the value in a page, if it is whole.
    fn whole(&mut self, page: usize) -> Result<Option<(u32, usize)>, Error> {
        let (mut head, mut piece) = ([0; HEAD], [0; 64]);
        self.flash.read(page, 0, &mut head)?;
        let number = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (count, len, wanted) = (number(0), number(4) as usize, number(8));
        if len > self.room() {
            return Ok(None);
        }
        let mut sum = crc32_from(!0, &head[..8]);
        for at in (0..len).step_by(piece.len()) {
            let piece = &mut piece[..(len - at).min(64)];
            self.flash.read(page, HEAD + at, piece)?;
            sum = crc32_from(sum, piece);
        }
        Ok((!sum == wanted && head[12..] == [0; 4]).then_some((count, len)))
    }
}

/// CRC-32 (IEEE 802.3), a bit at a time: against accidents, not against people.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    !crc32_from(!0, bytes)
}

/// The same, from a sum of what came before, and without the last complement.
fn crc32_from(sum: u32, bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
    bytes.iter().fold(sum, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}
