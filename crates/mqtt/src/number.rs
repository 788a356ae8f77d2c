//! Epoch and sequence: numbers that one device gives out once, whatever happens to its power.
//!
//! At each start the epoch, one higher, is in flash before the first number is given out; the sequence counts in memory. So
//! there is one write a start, and one in 2³² messages.
//!
//! ```
//! use sealstone_mqtt::{Number, number::Numbers};
//! # use sealstone_mqtt::{Error, flash::Flash};
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
//! Numbers::format(&mut chip, 0)?; // at provisioning
//! let mut numbers = Numbers::start(&mut chip)?;
//! assert_eq!(numbers.take()?, Number { epoch: 1, sequence: 0 });
//! assert_eq!(numbers.take()?, Number { epoch: 1, sequence: 1 });
//! drop(numbers); // the power is cut
//! assert_eq!(Numbers::start(&mut chip)?.take()?, Number { epoch: 2, sequence: 0 });
//! # Ok(())
//! # }
//! ```

use crate::error::Error;
use crate::flash::{Flash, Store};
use crate::message::Number;

/// The numbers of a device since its start.
///
/// Wear: one record of 16 bytes a start (see [`Store`]): with pages of 16 KiB and 10 000 erasures, 20 million starts.
#[derive(Debug)]
pub struct Numbers<F> {
    store: Store<F, 4>,
    epoch: u32,
    /// The next sequence number; past the last one, a new epoch is due.
    next: u64,
}

impl<F: Flash> Numbers<F> {
    /// Makes two pages ready: at provisioning, with 0, or with the last epoch that a verifier has seen if the pages were lost.
    /// Errors: `FlashFailed`.
    pub fn format(flash: F, epoch: u32) -> Result<(), Error> {
        Store::format(flash, &epoch.to_be_bytes()).map(|_| ())
    }

    /// Begins the next epoch, which is in flash when this returns.
    ///
    /// Errors: `FlashFailed`, also for pages that hold no epoch; `NumbersExhausted` after the last one.
    pub fn start(flash: F) -> Result<Self, Error> {
        let store = Store::open(flash)?;
        let epoch = u32::from_be_bytes(*store.value());
        let mut numbers = Numbers { store, epoch, next: 0 };
        numbers.begin()?;
        Ok(numbers)
    }

    /// The next number. Errors: as [`Self::start`], where the sequence ended and a new epoch could not be written.
    pub fn take(&mut self) -> Result<Number, Error> {
        let sequence = match u32::try_from(self.next) {
            Ok(sequence) => sequence,
            Err(_) => {
                self.begin()?;
                0
            }
        };
        self.next = u64::from(sequence) + 1;
        Ok(Number { epoch: self.epoch, sequence })
    }

    /// The epoch of this start, or the latest one since.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Leaves numbers out, up to this one: for those who count elsewhere, and for tests of the end. Never goes back.
    pub fn skip_to(&mut self, sequence: u32) {
        self.next = self.next.max(u64::from(sequence));
    }

    fn begin(&mut self) -> Result<(), Error> {
        let epoch = self.epoch.checked_add(1).ok_or(Error::NumbersExhausted)?;
        self.store.write(&epoch.to_be_bytes())?;
        (self.epoch, self.next) = (epoch, 0);
        Ok(())
    }
}
