//! Values that do not change need not be said again: in full, as "unchanged", or not at all.
//!
//! Silence is bounded: a gateway that hears nothing for longer than [`Pace::silence_ms`] knows that something is wrong, and not that nothing
//! changed. And the value itself comes again every so often, for those who missed it.
//!
//! ```
//! use sealstone_mqtt::{Number, cache::{Cache, Pace, Say}};
//!
//! let pace = Pace { silence_ms: 60_000, full_ms: 3_600_000 };
//! let mut cache = Cache::<16>::new(pace);
//! assert_eq!(cache.what(b"21.5", 0), Say::Full);
//! let number = Number { epoch: 1, sequence: 7 };
//! cache.said_full(b"21.5", number, 0); // once it is sealed
//! assert_eq!(cache.what(b"21.5", 1_000), Say::Nothing);
//! assert_eq!(cache.what(b"21.5", 60_000), Say::Unchanged(number));
//! cache.said_unchanged(60_000);
//! assert_eq!(cache.what(b"21.6", 61_000), Say::Full);
//! ```

use crate::error::Error;
use crate::message::Number;
use crate::open::Bytes;

/// How long nothing is said, and how long nothing in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Milliseconds after which at least "unchanged" is said.
    pub silence_ms: u64,
    /// Milliseconds after which the value is said again.
    pub full_ms: u64,
}

/// What is to be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Say {
    /// The value.
    Full,
    /// That nothing changed since the message with this number (kind `unchanged`, payload [`emit`]).
    Unchanged(Number),
    /// Nothing.
    Nothing,
}

/// What was said last on one topic. N: bytes of the longest value that is remembered; a longer one is always said in full.
#[derive(Clone, Debug)]
pub struct Cache<const N: usize> {
    pace: Pace,
    value: [u8; N],
    /// Bytes of the value and the message that said it.
    said: Option<(usize, Number)>,
    full_at: u64,
    said_at: u64,
}

impl<const N: usize> Cache<N> {
    /// Nothing was said.
    pub const fn new(pace: Pace) -> Self {
        Cache { pace, value: [0; N], said: None, full_at: 0, said_at: 0 }
    }

    /// What is to be said of a value. A clock that went back says it in full.
    pub fn what(&self, value: &[u8], now: u64) -> Say {
        let Some((len, number)) = self.said else { return Say::Full };
        let (Some(since), Some(since_full)) = (now.checked_sub(self.said_at), now.checked_sub(self.full_at))
        else {
            return Say::Full;
        };
        if self.value.get(..len) != Some(value) || since_full >= self.pace.full_ms {
            Say::Full
        } else if since >= self.pace.silence_ms {
            Say::Unchanged(number)
        } else {
            Say::Nothing
        }
    }

    /// The value was sealed under this number.
    pub fn said_full(&mut self, value: &[u8], number: Number, now: u64) {
        self.said = self.value.get_mut(..value.len()).map(|place| {
            place.copy_from_slice(value);
            (value.len(), number)
        });
        (self.full_at, self.said_at) = (now, now);
    }

    /// "Unchanged" was sealed.
    pub fn said_unchanged(&mut self, now: u64) {
        self.said_at = now;
    }

    /// The message was lost, or its delivery refused: the next one is full.
    pub fn forget(&mut self) {
        self.said = None;
    }
}

/// The payload of kind `unchanged`: epoch and sequence of the message that still holds.
pub fn emit(number: Number) -> [u8; 8] {
    (u64::from(number.epoch) << 32 | u64::from(number.sequence)).to_be_bytes()
}

/// Reads it. Errors: `Truncated`, `TrailingBytes`.
pub fn parse(payload: &[u8]) -> Result<Number, Error> {
    let mut rest = Bytes(payload);
    let number = Number { epoch: rest.u32()?, sequence: rest.u32()? };
    rest.end()?;
    Ok(number)
}
