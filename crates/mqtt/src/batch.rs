//! Several readings in one message: one seal for all of them.
//!
//! ```
//! use sealstone_mqtt::{UnixMillis, batch::{Batch, Readings}};
//!
//! # fn main() -> Result<(), sealstone_mqtt::Error> {
//! let mut memory = [0; 64];
//! let mut batch = Batch::new(&mut memory);
//! batch.add(UnixMillis(1_800_000_000_000), b"21.5")?;
//! batch.add(UnixMillis(1_800_000_060_000), b"21.7")?;
//! let payload = batch.finish(UnixMillis(1_800_000_060_500))?;
//!
//! // At the gateway, once the seal was verified: kind `batch`.
//! let readings: Vec<_> = Readings::parse(payload)?.collect();
//! assert_eq!(readings[0].before_ms, 60_500);
//! assert_eq!(readings[1].bytes, b"21.7");
//! # Ok(())
//! # }
//! ```

use crate::error::{Error, Field};
use crate::message::UnixMillis;
use crate::open::Bytes;

/// Bytes before the readings.
const HEAD: usize = 2;
/// Bytes before each reading.
const EACH: usize = 6;

/// Readings that wait for each other, in memory of the caller's. docs/formats/mqtt.md, "batch".
#[derive(Debug)]
pub struct Batch<'a> {
    memory: &'a mut [u8],
    at: usize,
    count: u16,
    /// When the first reading was made: until the end is known, times count from here.
    first: u64,
}

impl<'a> Batch<'a> {
    /// No readings yet. Shapes: 2 bytes, and 6 for each reading beside its own.
    pub fn new(memory: &'a mut [u8]) -> Self {
        Batch { memory, at: HEAD, count: 0, first: 0 }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a reading. Errors: `TooLong` if it finds no room, and then nothing changed; `Unsupported(Time)` if it was made before
    /// the first one, or 49 days after.
    pub fn add(&mut self, time: UnixMillis, reading: &[u8]) -> Result<(), Error> {
        let first = if self.count == 0 { time.0 } else { self.first };
        let since = time.0.checked_sub(first).and_then(|since| u32::try_from(since).ok());
        let since = since.ok_or(Error::Unsupported(Field::Time))?;
        let len = u16::try_from(reading.len()).map_err(|_| Error::TooLong)?;
        let count = self.count.checked_add(1).ok_or(Error::TooLong)?;
        let place = self.memory.get_mut(self.at..).and_then(|rest| rest.get_mut(..EACH + reading.len()));
        let (head, body) = place.ok_or(Error::TooLong)?.split_at_mut(EACH);
        head[..4].copy_from_slice(&since.to_be_bytes());
        head[4..].copy_from_slice(&len.to_be_bytes());
        body.copy_from_slice(reading);
        self.at += EACH + reading.len();
        (self.count, self.first) = (count, first);
        Ok(())
    }

    /// The payload, of a message with this time. Errors: `Missing(Payload)` without a reading; `Unsupported(Time)` for a time
    /// before a reading's, or 49 days after it.
    pub fn finish(mut self, time: UnixMillis) -> Result<&'a [u8], Error> {
        let len = self.close(time)?;
        self.memory.get(..len).ok_or(Error::TooLong)
    }

    /// The same for a batch that goes on, empty, in the same memory. Whatever the answer, it has no readings any more.
    pub fn take(&mut self, time: UnixMillis) -> Result<&[u8], Error> {
        let len = self.close(time);
        (self.at, self.count) = (HEAD, 0);
        self.memory.get(..len?).ok_or(Error::TooLong)
    }

    /// Writes how many there are, and each one's time before the end; says how many bytes that is.
    fn close(&mut self, time: UnixMillis) -> Result<usize, Error> {
        if self.is_empty() {
            return Err(Error::Missing(Field::Payload));
        }
        let Batch { memory, at: end, count, first } = self;
        memory.get_mut(..HEAD).ok_or(Error::TooLong)?.copy_from_slice(&count.to_be_bytes());
        let mut at = HEAD;
        while at < *end {
            let head = memory.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<EACH>());
            let head = head.ok_or(Error::TooLong)?;
            let since = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
            let before = time.0.checked_sub(first.saturating_add(u64::from(since)));
            let before = before.and_then(|before| u32::try_from(before).ok());
            head[..4].copy_from_slice(&before.ok_or(Error::Unsupported(Field::Time))?.to_be_bytes());
            at += EACH + usize::from(u16::from_be_bytes([head[4], head[5]]));
        }
        Ok(*end)
    }
}

/// The readings of a batch, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Readings<'a>(&'a [u8]);

/// A reading of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading<'a> {
    /// Milliseconds before the envelope's time.
    pub before_ms: u32,
    /// What was read.
    pub bytes: &'a [u8],
}

impl<'a> Readings<'a> {
    /// Reads a payload, to its end. Errors: `Truncated`, `TrailingBytes`; `NotCanonical` for no reading.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Error> {
        let mut rest = Bytes(payload);
        let count = rest.u16()?;
        let all = Readings(rest.0);
        for _ in 0..count {
            reading(&mut rest)?;
        }
        rest.end()?;
        if count == 0 { Err(Error::NotCanonical) } else { Ok(all) }
    }
}

impl<'a> Iterator for Readings<'a> {
    type Item = Reading<'a>;

    fn next(&mut self) -> Option<Reading<'a>> {
        let mut rest = Bytes(self.0);
        let next = reading(&mut rest).ok()?;
        self.0 = rest.0;
        Some(next)
    }
}

fn reading<'a>(rest: &mut Bytes<'a>) -> Result<Reading<'a>, Error> {
    let (before_ms, len) = (rest.u32()?, rest.u16()?);
    Ok(Reading { before_ms, bytes: rest.take(usize::from(len))? })
}
