//! What a device is given before it goes out, in one block for a page of its flash: a [`Blob`] a level, the key for tags, the broker.
//!
//! ```
//! use sealstone_mldsa::Level;
//! use sealstone_mqtt::blob::{Blob, Topics};
//! use sealstone_mqtt::level::{Class, Policy};
//! use sealstone_mqtt::{Filter, KeyId, provision::Provision};
//!
//! # fn main() -> Result<(), sealstone_mqtt::Error> {
//! let mut topics = [0; 64];
//! let len = Topics::emit(Filter::new("device/+/alert/#")?, Class::High, &mut topics)?;
//! let topics = Topics::new(&topics[..len])?;
//! let seed = &[7; 32]; // one a level, by chance
//! let blob = |level| Blob { device: "7", key_id: KeyId(1), level, seed, policy: Policy::BATTERY, topics };
//! let given = Provision {
//!     keys: Level::ALL.map(blob),
//!     mac_key_id: KeyId(1),
//!     mac_key: &[4; 32],
//!     address: [127, 0, 0, 1],
//!     port: 1883,
//!     keepalive_s: 300,
//!     answer_ms: 30_000,
//!     interval_ms: 60_000,
//! };
//! let mut flash = [0xff; 1024];
//! given.emit(&mut flash)?;
//! assert_eq!(Provision::parse(&flash)?.keys[0].device, "7");
//! # Ok(())
//! # }
//! ```

use crate::blob::{Blob, crc32};
use crate::error::{Error, Field};
use crate::message::KeyId;
use crate::open::Bytes;
use crate::seal::Writer;
use core::fmt;
use sealstone_mldsa::Level;

/// A device's keys and settings. docs/formats/mqtt-device.md, "A page of flash". `Debug` shows no key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Provision<'a> {
    /// A blob for each level, in the order of [`Level::ALL`], all of one device. Policy and topics of the first one count.
    pub keys: [Blob<'a>; 3],
    /// Id of the key for tags.
    pub mac_key_id: KeyId,
    /// The key for tags.
    pub mac_key: &'a [u8; 32],
    /// The broker, where the device has a network of its own.
    pub address: [u8; 4],
    /// Its port.
    pub port: u16,
    /// The keep-alive.
    pub keepalive_s: u16,
    /// Milliseconds to wait for an answer.
    pub answer_ms: u32,
    /// Milliseconds between two readings.
    pub interval_ms: u32,
}

const MARK: [u8; 4] = *b"SSP1";

impl<'a> Provision<'a> {
    /// Writes the block; returns its length. Errors: `TooLong`; `BadTopic`, `Unknown(Algorithm)` as [`Self::parse`].
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Error> {
        of_one_device(&self.keys)?;
        let mut to = Writer { out, at: 0 };
        to.put(&MARK)?;
        to.put(&self.mac_key_id.0.to_be_bytes())?;
        to.put(self.mac_key)?;
        to.put(&self.address)?;
        to.put(&self.port.to_be_bytes())?;
        to.put(&self.keepalive_s.to_be_bytes())?;
        to.put(&self.answer_ms.to_be_bytes())?;
        to.put(&self.interval_ms.to_be_bytes())?;
        for key in &self.keys {
            let at = to.at;
            to.put(&[0; 2])?;
            let len = key.emit(to.out.get_mut(at + 2..).unwrap_or_default())?;
            let text = u16::try_from(len).map_err(|_| Error::TooLong)?.to_be_bytes();
            to.out.get_mut(at..at + 2).ok_or(Error::TooLong)?.copy_from_slice(&text);
            to.at += len;
        }
        let sum = crc32(to.out.get(..to.at).unwrap_or_default());
        to.put(&sum.to_be_bytes())?;
        Ok(to.at)
    }

    /// Reads a block at the front of a page; what follows is not looked at.
    ///
    /// Errors: `Unknown(Form)`, `Truncated`, those of [`Blob::parse`]; `NotCanonical` if the checksum is another; `BadTopic` if the
    /// blobs name several devices, or one that cannot stand in a topic; `Unknown(Algorithm)` if they are not of the three levels in order.
    pub fn parse(page: &'a [u8]) -> Result<Self, Error> {
        let mut rest = Bytes(page);
        if rest.array::<4>()? != MARK {
            return Err(Error::Unknown(Field::Form));
        }
        let mac_key_id = KeyId(rest.u16()?);
        let mac_key = rest.take(32)?.first_chunk().ok_or(Error::Truncated)?;
        let (address, port, keepalive_s) = (rest.array()?, rest.u16()?, rest.u16()?);
        let (answer_ms, interval_ms) = (rest.u32()?, rest.u32()?);
        let mut key = || {
            let len = rest.u16()?;
            Blob::parse(rest.take(usize::from(len))?)
        };
        let keys = [key()?, key()?, key()?];
        let sum = crc32(page.get(..page.len() - rest.0.len()).unwrap_or_default());
        if rest.u32()? != sum {
            return Err(Error::NotCanonical);
        }
        of_one_device(&keys)?;
        Ok(Provision { keys, mac_key_id, mac_key, address, port, keepalive_s, answer_ms, interval_ms })
    }

    /// The device, as it stands in its topics.
    pub fn device(&self) -> &'a str {
        self.keys[0].device
    }
}

impl fmt::Debug for Provision<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provision").field("keys", &self.keys).finish_non_exhaustive()
    }
}

fn of_one_device(keys: &[Blob<'_>; 3]) -> Result<(), Error> {
    let device = keys[0].device;
    if device.is_empty() || device.contains(['/', '+', '#', '\0']) {
        return Err(Error::BadTopic);
    }
    for (key, level) in keys.iter().zip(Level::ALL) {
        if key.device != device {
            return Err(Error::BadTopic);
        }
        if key.level != level {
            return Err(Error::Unknown(Field::Algorithm));
        }
    }
    Ok(())
}
