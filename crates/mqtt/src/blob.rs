//! What a device is given once: its name, its key and its policy, in one piece of bytes (docs/formats/mqtt-device.md).
//! It holds a secret: whoever reads it can sign for the device.

use crate::error::{Error, Field};
use crate::level::{Band, Class, Policy, Weights};
use crate::message::KeyId;
use crate::topic::Filter;
use core::fmt;
use sealstone_mldsa::{Level, SEED_LEN};

/// The first bytes of a blob, its version among them.
const MAGIC: &[u8; 4] = b"SMD\x01";

/// A device's belongings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Blob<'a> {
    /// The device: the level of its topics that names it. 1 to 255 bytes.
    pub device: &'a str,
    /// The id of its key.
    pub key_id: KeyId,
    /// The key's level.
    pub level: Level,
    /// The key: ξ of FIPS 204.
    pub seed: &'a [u8; SEED_LEN],
    /// How it chooses levels.
    pub policy: Policy,
    /// Which class a topic has.
    pub topics: Topics<'a>,
}

/// Filters with their classes, as they stand in a blob: two bytes for the length, one for the class, the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topics<'a>(&'a [u8]);

impl<'a> Topics<'a> {
    /// Reads filters. Errors: `Truncated`, `BadTopic`, `Unknown(Kind)` for a class, `NotText`.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut rest = bytes;
        while !rest.is_empty() {
            next(&mut rest)?;
        }
        Ok(Topics(bytes))
    }

    /// The filters in order; the first that takes a topic counts.
    pub fn iter(self) -> impl Iterator<Item = (Filter<'a>, Class)> {
        let mut rest = self.0;
        core::iter::from_fn(move || next(&mut rest).ok())
    }

    /// Writes one filter with its class for [`Self::new`]; returns how many bytes. Errors: `TooLong`.
    pub fn emit(filter: Filter<'_>, class: Class, out: &mut [u8]) -> Result<usize, Error> {
        let text = filter.as_str().as_bytes();
        let len = u16::try_from(text.len()).map_err(|_| Error::TooLong)?;
        let mut to = Out { out, at: 0 };
        to.put(&len.to_be_bytes())?;
        to.put(&[class as u8])?;
        to.put(text)?;
        Ok(to.at)
    }
}

impl<'a> Blob<'a> {
    /// Reads a blob. Errors: `Unknown(Form)` for other bytes or another version, `Truncated`, `TrailingBytes`,
    /// `Unknown(Algorithm)` for a level, those of [`Topics::new`]; `NotCanonical` if the check sum is wrong: it was changed or cut.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut rest = bytes;
        if take::<4>(&mut rest)? != MAGIC {
            return Err(Error::Unknown(Field::Form));
        }
        let [level, device_len] = *take::<2>(&mut rest)?;
        let key_id = KeyId(u16::from_be_bytes(*take(&mut rest)?));
        let seed = take::<SEED_LEN>(&mut rest)?;
        let mut bands = [Band { floor: Level::MlDsa44, default: Level::MlDsa44 }; 4];
        for band in &mut bands {
            let [floor, default] = *take::<2>(&mut rest)?;
            *band = Band { floor: level_of(floor)?, default: level_of(default)? };
        }
        let mut numbers = [0; 6];
        for number in &mut numbers {
            *number = u16::from_be_bytes(*take(&mut rest)?);
        }
        let [energy, memory, thermal, high, low, downgrades] = numbers;
        let downgrade_window_ms = u32::from_be_bytes(*take(&mut rest)?);
        let topics_len = u16::from_be_bytes(*take(&mut rest)?);
        let (device, after) = rest.split_at_checked(usize::from(device_len)).ok_or(Error::Truncated)?;
        let (topics, after) = after.split_at_checked(usize::from(topics_len)).ok_or(Error::Truncated)?;
        rest = after;
        let sum = u32::from_be_bytes(*take(&mut rest)?);
        if !rest.is_empty() {
            return Err(Error::TrailingBytes);
        }
        if sum != crc32(&bytes[..bytes.len() - 4]) {
            return Err(Error::NotCanonical);
        }
        Ok(Blob {
            device: core::str::from_utf8(device).map_err(|_| Error::BadTopic)?,
            key_id,
            level: level_of(level)?,
            seed,
            policy: Policy {
                bands,
                weights: Weights { energy, memory, thermal },
                high,
                low,
                downgrades,
                downgrade_window_ms,
            },
            topics: Topics::new(topics)?,
        })
    }

    /// Writes a blob; returns how many bytes. Errors: `TooLong`, also if `out` is too short.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Error> {
        let policy = &self.policy;
        let mut to = Out { out, at: 0 };
        to.put(MAGIC)?;
        to.put(&[byte_of(self.level), u8::try_from(self.device.len()).map_err(|_| Error::TooLong)?])?;
        to.put(&self.key_id.0.to_be_bytes())?;
        to.put(self.seed)?;
        for Band { floor, default } in policy.bands {
            to.put(&[byte_of(floor), byte_of(default)])?;
        }
        let Weights { energy, memory, thermal } = policy.weights;
        for number in [energy, memory, thermal, policy.high, policy.low, policy.downgrades] {
            to.put(&number.to_be_bytes())?;
        }
        to.put(&policy.downgrade_window_ms.to_be_bytes())?;
        to.put(&u16::try_from(self.topics.0.len()).map_err(|_| Error::TooLong)?.to_be_bytes())?;
        to.put(self.device.as_bytes())?;
        to.put(self.topics.0)?;
        let sum = crc32(&to.out[..to.at]);
        to.put(&sum.to_be_bytes())?;
        Ok(to.at)
    }
}

/// Without the key.
impl fmt::Debug for Blob<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Blob { device, key_id, level, .. } = self;
        f.debug_struct("Blob")
            .field("device", device)
            .field("key_id", key_id)
            .field("level", level)
            .finish_non_exhaustive()
    }
}

struct Out<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl Out<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let end = self.at.checked_add(bytes.len()).ok_or(Error::TooLong)?;
        self.out.get_mut(self.at..end).ok_or(Error::TooLong)?.copy_from_slice(bytes);
        self.at = end;
        Ok(())
    }
}

fn next<'a>(rest: &mut &'a [u8]) -> Result<(Filter<'a>, Class), Error> {
    let len = u16::from_be_bytes(*take(rest)?);
    let [class] = *take(rest)?;
    let (text, after) = rest.split_at_checked(usize::from(len)).ok_or(Error::Truncated)?;
    *rest = after;
    let class =
        Class::ALL.into_iter().find(|known| *known as u8 == class).ok_or(Error::Unknown(Field::Kind))?;
    let text = core::str::from_utf8(text).map_err(|_| Error::BadTopic)?;
    Ok((Filter::new(text)?, class))
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Result<&'a [u8; N], Error> {
    let (taken, after) = rest.split_first_chunk().ok_or(Error::Truncated)?;
    *rest = after;
    Ok(taken)
}

const fn byte_of(level: Level) -> u8 {
    match level {
        Level::MlDsa44 => 0x44,
        Level::MlDsa65 => 0x65,
        Level::MlDsa87 => 0x87,
    }
}

fn level_of(byte: u8) -> Result<Level, Error> {
    Level::ALL.into_iter().find(|level| byte_of(*level) == byte).ok_or(Error::Unknown(Field::Algorithm))
}

/// CRC-32 (IEEE 802.3), a bit at a time: against accidents, not against people.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}
