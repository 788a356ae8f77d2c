//! What a device is given before it goes out: name, keys, broker, in one block for a page of its flash.
//!
//! ```
//! use sealstone_mqtt::{KeyId, provision::Provision};
//!
//! # fn main() -> Result<(), sealstone_mqtt::Error> {
//! let given = Provision {
//!     device: "7",
//!     key_ids: [KeyId(1); 3],
//!     seeds: [&[1; 32], &[2; 32], &[3; 32]],
//!     mac_key_id: KeyId(1),
//!     mac_key: &[4; 32],
//!     address: [127, 0, 0, 1],
//!     port: 1883,
//!     keepalive_s: 300,
//!     answer_ms: 30_000,
//!     interval_ms: 60_000,
//! };
//! let mut flash = [0xff; 256];
//! given.emit(&mut flash)?;
//! assert_eq!(Provision::parse(&flash)?.device, "7");
//! # Ok(())
//! # }
//! ```

use crate::error::{Error, Field};
use crate::flash::crc32;
use crate::message::KeyId;
use crate::open::Bytes;
use crate::seal::Writer;
use core::fmt;

/// A device's name, keys and settings. docs/formats/mqtt.md, "Provisioning". `Debug` shows no key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Provision<'a> {
    /// The device, as it stands in its topics. Bounds: 1 to 64 bytes, no `/`, `+`, `#` or U+0000.
    pub device: &'a str,
    /// Ids of the first keys, in the order of [`sealstone_mldsa::Level::ALL`].
    pub key_ids: [KeyId; 3],
    /// Their seeds ξ.
    pub seeds: [&'a [u8; 32]; 3],
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
    /// Writes the block; returns its length, at most 232 bytes. Errors: `TooLong`, `BadTopic` for a name that cannot stand in a topic.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Error> {
        named(self.device)?;
        let len = u8::try_from(self.device.len()).map_err(|_| Error::TooLong)?;
        let mut to = Writer { out, at: 0 };
        to.put(&MARK)?;
        to.put(&[len])?;
        to.put(self.device.as_bytes())?;
        for (id, seed) in self.key_ids.iter().zip(self.seeds) {
            to.put(&id.0.to_be_bytes())?;
            to.put(seed)?;
        }
        to.put(&self.mac_key_id.0.to_be_bytes())?;
        to.put(self.mac_key)?;
        to.put(&self.address)?;
        to.put(&self.port.to_be_bytes())?;
        to.put(&self.keepalive_s.to_be_bytes())?;
        to.put(&self.answer_ms.to_be_bytes())?;
        to.put(&self.interval_ms.to_be_bytes())?;
        let end = to.at;
        let sum = crc32(to.out.get(..end).unwrap_or_default());
        to.put(&sum.to_be_bytes())?;
        Ok(to.at)
    }

    /// Reads a block at the front of a page; what follows is not looked at.
    /// Errors: `Unknown(Form)`, `Truncated`, `NotText`, `BadTopic`; `NotCanonical` if the checksum is another.
    pub fn parse(page: &'a [u8]) -> Result<Self, Error> {
        let mut rest = Bytes(page);
        if rest.array::<4>()? != MARK {
            return Err(Error::Unknown(Field::Form));
        }
        let len = usize::from(rest.u8()?);
        let device = core::str::from_utf8(rest.take(len)?).map_err(|_| Error::NotText(Field::Header))?;
        named(device)?;
        let (mut key_ids, mut seeds) = ([KeyId(0); 3], [&[0; 32]; 3]);
        for (id, seed) in key_ids.iter_mut().zip(&mut seeds) {
            (*id, *seed) = (KeyId(rest.u16()?), key(&mut rest)?);
        }
        let (mac_key_id, mac_key) = (KeyId(rest.u16()?), key(&mut rest)?);
        let (address, port, keepalive_s) = (rest.array()?, rest.u16()?, rest.u16()?);
        let (answer_ms, interval_ms) = (rest.u32()?, rest.u32()?);
        let sum = crc32(page.get(..page.len() - rest.0.len()).unwrap_or_default());
        if rest.u32()? != sum {
            return Err(Error::NotCanonical);
        }
        Ok(Provision {
            device,
            key_ids,
            seeds,
            mac_key_id,
            mac_key,
            address,
            port,
            keepalive_s,
            answer_ms,
            interval_ms,
        })
    }
}

impl fmt::Debug for Provision<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provision")
            .field("device", &self.device)
            .field("key_ids", &self.key_ids)
            .finish_non_exhaustive()
    }
}

/// Whether a name can stand in a topic. Errors: `BadTopic`.
fn named(device: &str) -> Result<(), Error> {
    let fits = (1..=64).contains(&device.len()) && !device.contains(['/', '+', '#', '\0']);
    if fits { Ok(()) } else { Err(Error::BadTopic) }
}

fn key<'a>(rest: &mut Bytes<'a>) -> Result<&'a [u8; 32], Error> {
    rest.take(32)?.first_chunk().ok_or(Error::Truncated)
}
