//! What a device is given before it goes out, in one piece of bytes (docs/formats/mqtt-device.md): its name, a key for each level,
//! the key for tags, its policy, the broker, whose commands it takes. It holds secrets: whoever reads it can sign for the device.
//!
//! ```
//! use sealstone_mldsa::Level;
//! use sealstone_mqtt::level::{Class, Policy};
//! use sealstone_mqtt::provision::{Key, Provision, Saying, Topics, first_key_id};
//! use sealstone_mqtt::{Filter, KeyId};
//!
//! # fn main() -> Result<(), sealstone_mqtt::Error> {
//! let mut topics = [0; 64];
//! let len = Topics::emit(Filter::new("device/+/alert/#")?, Class::High, &mut topics)?;
//! let seed = &[7; 32]; // one a level, by chance
//! let given = Provision {
//!     device: "7",
//!     keys: Level::ALL.map(|level| Key { id: first_key_id(level), seed }),
//!     mac_key_id: KeyId(1),
//!     mac_key: &[4; 32],
//!     tagged: [false; 4],
//!     address: [10, 0, 2, 2],
//!     port: 1883,
//!     keepalive_s: 300,
//!     answer_ms: 30_000,
//!     interval_ms: 60_000,
//!     policy: Policy::BATTERY,
//!     saying: Saying::PLAIN,
//!     topics: Topics::new(&topics[..len])?,
//!     commander: None,
//! };
//! let mut flash = [0xff; 1024];
//! given.emit(&mut flash)?;
//! assert_eq!(Provision::parse(&flash)?.device, "7");
//! # Ok(())
//! # }
//! ```

use crate::error::{Error, Field};
use crate::flash::crc32;
use crate::form::By;
use crate::level::{Band, Class, Policy, Weights};
use crate::message::KeyId;
use crate::open::Bytes;
use crate::seal::Writer;
use crate::sealer::Apart;
use crate::topic::{Filter, Topic};
use core::fmt;
use sealstone_mldsa::{Level, SEED_LEN};

/// A device's belongings. `Debug` shows no key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Provision<'a> {
    /// The device: the level of its topics that names it. 1 to 255 bytes.
    pub device: &'a str,
    /// A key for each level, in the order of [`Level::ALL`]. Bounds: no id twice.
    pub keys: [Key<'a>; 3],
    /// Id of the key for tags.
    pub mac_key_id: KeyId,
    /// The key for tags.
    pub mac_key: &'a [u8; 32],
    /// The classes that get tags and signed checkpoints, in the order of [`Class::ALL`]; the others are signed.
    pub tagged: [bool; 4],
    /// The broker's IPv4 address, where the device has a network of its own.
    pub address: [u8; 4],
    /// Its port.
    pub port: u16,
    /// The keep-alive.
    pub keepalive_s: u16,
    /// Milliseconds to wait for an answer.
    pub answer_ms: u32,
    /// Milliseconds between two readings.
    pub interval_ms: u32,
    /// How it chooses levels.
    pub policy: Policy,
    /// How it says its readings.
    pub saying: Saying,
    /// Which class a topic has.
    pub topics: Topics<'a>,
    /// Whose commands it takes; none for nobody's.
    pub commander: Option<CommanderKey<'a>>,
}

/// How a device says its readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saying {
    /// The form of its envelopes: `v1`, or `detached`, which leaves payloads as they are, in the user property or on `/$sig`.
    pub form: Apart,
    /// Readings of the class low in one message (kind `batch`). Bounds: 1, which is no batch, to 64.
    pub batch: u8,
    /// Seconds after which "unchanged" is said of a value that did not change, and nothing before; 0: it is said each time.
    pub silence_s: u16,
    /// Seconds after which such a value is said in full again. Bounds: not less than `silence_s`.
    pub full_s: u16,
}

impl Saying {
    /// Each reading in an envelope of its own, whole.
    pub const PLAIN: Saying = Saying { form: Apart::Not, batch: 1, silence_s: 0, full_s: 0 };
    /// Most readings in one message.
    pub const BATCH_MAX: u8 = 64;

    /// Errors: `NotCanonical` for a number out of its range.
    fn check(&self) -> Result<(), Error> {
        let known = (1..=Self::BATCH_MAX).contains(&self.batch) && self.full_s >= self.silence_s;
        if known { Ok(()) } else { Err(Error::NotCanonical) }
    }
}

/// The public key of whoever may tell a device something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommanderKey<'a> {
    /// Its level.
    pub level: Level,
    /// Its id.
    pub id: KeyId,
    /// The encoded public key, of the level's length.
    pub public_key: &'a [u8],
}

/// A key of one level.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key<'a> {
    /// Its id.
    pub id: KeyId,
    /// ξ of FIPS 204.
    pub seed: &'a [u8; SEED_LEN],
}

/// The id of a device's first key of a level: 4401, 6501, 8701. Each rotation adds one (see [`crate::keyring`]), so the levels'
/// ids stay apart for two thousand rotations.
pub const fn first_key_id(level: Level) -> KeyId {
    KeyId(match level {
        Level::MlDsa44 => 4401,
        Level::MlDsa65 => 6501,
        Level::MlDsa87 => 8701,
    })
}

/// The first bytes, without the version.
const MAGIC: [u8; 3] = *b"SMD";
/// The version.
const VERSION: u8 = 3;

impl<'a> Provision<'a> {
    /// Most bytes that a device looks at.
    pub const MAX_LEN: usize = 4096;

    /// Writes it; returns its length. Errors: `TooLong` for more than [`Self::MAX_LEN`] bytes or [`Topics::MAX`] filters, and if `out` is too short;
    /// `BadTopic` for a name that cannot stand in a topic; `KeyState` if two keys have one id; `Unsupported(Payload)` for a commander's key of
    /// another length; `NotCanonical` for a number of [`Saying`] out of its bounds.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Error> {
        self.check()?;
        let longest = out.len().min(Self::MAX_LEN);
        let mut to = Writer { out: out.get_mut(..longest).unwrap_or_default(), at: 0 };
        to.put(&MAGIC)?;
        to.put(&[VERSION])?;
        for key in &self.keys {
            to.put(&key.id.0.to_be_bytes())?;
            to.put(key.seed)?;
        }
        to.put(&self.mac_key_id.0.to_be_bytes())?;
        to.put(self.mac_key)?;
        to.put(&[self.tagged.iter().enumerate().fold(0, |bits, (i, tagged)| bits | u8::from(*tagged) << i)])?;
        to.put(&self.address)?;
        to.put(&self.port.to_be_bytes())?;
        to.put(&self.keepalive_s.to_be_bytes())?;
        to.put(&self.answer_ms.to_be_bytes())?;
        to.put(&self.interval_ms.to_be_bytes())?;
        let Policy { bands, weights, high, low, downgrades, downgrade_window_ms } = self.policy;
        for Band { floor, default } in bands {
            to.put(&[By::Signature(floor).byte(), By::Signature(default).byte()])?;
        }
        let Weights { energy, memory, thermal } = weights;
        for number in [energy, memory, thermal, high, low, downgrades] {
            to.put(&number.to_be_bytes())?;
        }
        to.put(&downgrade_window_ms.to_be_bytes())?;
        let Saying { form, batch, silence_s, full_s } = self.saying;
        to.put(&[form as u8, batch])?;
        to.put(&silence_s.to_be_bytes())?;
        to.put(&full_s.to_be_bytes())?;
        to.put(&[u8::try_from(self.device.len()).map_err(|_| Error::TooLong)?])?;
        to.put(&u16::try_from(self.topics.0.len()).map_err(|_| Error::TooLong)?.to_be_bytes())?;
        to.put(self.device.as_bytes())?;
        to.put(self.topics.0)?;
        match self.commander {
            None => to.put(&[0; 3])?,
            Some(CommanderKey { level, id, public_key }) => {
                to.put(&[By::Signature(level).byte()])?;
                to.put(&id.0.to_be_bytes())?;
                to.put(public_key)?;
            }
        }
        let sum = crc32(to.out.get(..to.at).unwrap_or_default());
        to.put(&sum.to_be_bytes())?;
        Ok(to.at)
    }

    /// Reads it at the front of a page of flash or of a file; what follows is not looked at.
    ///
    /// Errors: `Unknown(Form)` for other bytes, `OtherVersion` for another version, `Truncated`, `Unknown(Algorithm)` for a level, `Unknown(Kind)` for a
    /// class, those of [`Topics::new`] and [`Self::emit`]; `NotCanonical` if the checksum is another: it was changed or cut.
    pub fn parse(page: &'a [u8]) -> Result<Self, Error> {
        let page = page.get(..Self::MAX_LEN).unwrap_or(page);
        let mut rest = Bytes(page);
        if rest.array()? != MAGIC {
            return Err(Error::Unknown(Field::Form));
        }
        if rest.u8()? != VERSION {
            return Err(Error::OtherVersion);
        }
        let keys = [key(&mut rest)?, key(&mut rest)?, key(&mut rest)?];
        let Key { id: mac_key_id, seed: mac_key } = key(&mut rest)?;
        let bits = rest.u8()?;
        if bits > 0b1111 {
            return Err(Error::Unknown(Field::Kind));
        }
        let tagged = [0, 1, 2, 3].map(|i| bits >> i & 1 == 1);
        let (address, port, keepalive_s) = (rest.array()?, rest.u16()?, rest.u16()?);
        let (answer_ms, interval_ms) = (rest.u32()?, rest.u32()?);
        let mut bands = [Band { floor: Level::MlDsa44, default: Level::MlDsa44 }; 4];
        for band in &mut bands {
            *band = Band { floor: level(rest.u8()?)?, default: level(rest.u8()?)? };
        }
        let mut numbers = [0; 6];
        for number in &mut numbers {
            *number = rest.u16()?;
        }
        let [energy, memory, thermal, high, low, downgrades] = numbers;
        let downgrade_window_ms = rest.u32()?;
        let form = match rest.u8()? {
            0 => Apart::Not,
            1 => Apart::Property,
            2 => Apart::Topic,
            _ => return Err(Error::Unknown(Field::Form)),
        };
        let saying = Saying { form, batch: rest.u8()?, silence_s: rest.u16()?, full_s: rest.u16()? };
        let (device_len, topics_len) = (rest.u8()?, rest.u16()?);
        let device = rest.take(usize::from(device_len))?;
        let topics = rest.take(usize::from(topics_len))?;
        let (commander, id) = (rest.u8()?, KeyId(rest.u16()?));
        let commander = match commander {
            0 if id.0 == 0 => None,
            0 => return Err(Error::NotCanonical),
            byte => {
                let level = level(byte)?;
                Some(CommanderKey { level, id, public_key: rest.take(level.verifying_key_len())? })
            }
        };
        let sum = crc32(page.get(..page.len() - rest.0.len()).unwrap_or_default());
        if rest.u32()? != sum {
            return Err(Error::NotCanonical);
        }
        let weights = Weights { energy, memory, thermal };
        let given = Provision {
            device: core::str::from_utf8(device).map_err(|_| Error::BadTopic)?,
            keys,
            mac_key_id,
            mac_key,
            tagged,
            address,
            port,
            keepalive_s,
            answer_ms,
            interval_ms,
            policy: Policy { bands, weights, high, low, downgrades, downgrade_window_ms },
            saying,
            topics: Topics::new(topics)?,
            commander,
        };
        given.check()?;
        Ok(given)
    }

    /// The key of a level.
    pub fn key(&self, level: Level) -> Key<'a> {
        self.keys[level as usize]
    }

    /// Whether a device can use it.
    fn check(&self) -> Result<(), Error> {
        if self.device.is_empty() || self.device.bytes().any(|byte| matches!(byte, b'/' | b'+' | b'#' | 0)) {
            return Err(Error::BadTopic);
        }
        let [a, b, c] = self.keys.map(|key| key.id);
        if a == b || b == c || a == c {
            return Err(Error::KeyState);
        }
        if self.topics.iter().count() > Topics::MAX {
            return Err(Error::TooLong);
        }
        if self.commander.is_some_and(|key| key.public_key.len() != key.level.verifying_key_len()) {
            return Err(Error::Unsupported(Field::Payload));
        }
        self.saying.check()
    }
}

impl fmt::Debug for Provision<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provision")
            .field("device", &self.device)
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Filters with their classes, as they are written: two bytes for the length, one for the class, the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topics<'a>(&'a [u8]);

impl<'a> Topics<'a> {
    /// Most filters that a device has room for.
    pub const MAX: usize = 16;

    /// Reads filters. Errors: `Truncated`, `BadTopic`, `Unknown(Kind)` for a class.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut rest = Bytes(bytes);
        while !rest.0.is_empty() {
            next(&mut rest)?;
        }
        Ok(Topics(bytes))
    }

    /// The filters in order; the first that takes a topic counts.
    pub fn iter(self) -> impl Iterator<Item = (Filter<'a>, Class)> {
        let mut rest = Bytes(self.0);
        core::iter::from_fn(move || next(&mut rest).ok())
    }

    /// The class of a topic; one that no filter takes is critical.
    pub fn class(self, topic: Topic<'_>) -> Class {
        self.iter().find(|(filter, _)| filter.matches(topic)).map_or(Class::Critical, |(_, class)| class)
    }

    /// Writes one filter with its class for [`Self::new`]; returns how many bytes. Errors: `TooLong`.
    pub fn emit(filter: Filter<'_>, class: Class, out: &mut [u8]) -> Result<usize, Error> {
        let text = filter.as_str().as_bytes();
        let len = u16::try_from(text.len()).map_err(|_| Error::TooLong)?;
        let mut to = Writer { out, at: 0 };
        to.put(&len.to_be_bytes())?;
        to.put(&[class as u8])?;
        to.put(text)?;
        Ok(to.at)
    }
}

/// An id and 32 bytes.
fn key<'a>(rest: &mut Bytes<'a>) -> Result<Key<'a>, Error> {
    let id = KeyId(rest.u16()?);
    Ok(Key { id, seed: rest.take(SEED_LEN)?.first_chunk().ok_or(Error::Truncated)? })
}

fn next<'a>(rest: &mut Bytes<'a>) -> Result<(Filter<'a>, Class), Error> {
    let (len, class) = (rest.u16()?, rest.u8()?);
    let text = rest.take(usize::from(len))?;
    let class = Class::ALL.into_iter().find(|known| *known as u8 == class);
    let class = class.ok_or(Error::Unknown(Field::Kind))?;
    let text = core::str::from_utf8(text).map_err(|_| Error::BadTopic)?;
    Ok((Filter::new(text)?, class))
}

/// Errors: `Unknown(Algorithm)`.
fn level(byte: u8) -> Result<Level, Error> {
    match By::of(byte) {
        Some(By::Signature(level)) => Ok(level),
        _ => Err(Error::Unknown(Field::Algorithm)),
    }
}
