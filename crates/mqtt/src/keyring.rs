//! Which key signs: one a level, each with an id that grows with every rotation, kept in flash.
//!
//! A rotation has four steps, and a power cut at any point leaves it before or after one of them:
//!
//! 1. **prepared**: the new key has an id, the old one's plus one, and its seed is in flash beside the old one's.
//! 2. **announced**: its public key was published on `device/{id}/critical/key` ([`Announcement`]), sealed with the old key;
//!    a key of a lower level with the one at the level that this topic demands.
//! 3. **confirmed**: the gateway answered ([`Confirmation`]), or the operator said so. From here on the new key signs.
//! 4. **retired**: in the same write, the old key never signs again. Its seed can be wiped.
//!
//! ```
//! use sealstone_mldsa::Level;
//! use sealstone_mqtt::{KeyId, keyring::KeyRing};
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
//! KeyRing::format(&mut chip, [KeyId(1); 3])?; // at provisioning
//! let mut ring = KeyRing::open(&mut chip)?;
//! let new = ring.prepare(Level::MlDsa65)?;
//! assert_eq!(new, KeyId(2));
//! // Here the seed of key 2 is made and stored, and its public key published.
//! ring.announced(Level::MlDsa65)?;
//! assert_eq!(ring.active(Level::MlDsa65), KeyId(1), "until it is confirmed");
//! ring.confirm(Level::MlDsa65, KeyId(2))?;
//! assert!(ring.may_sign(Level::MlDsa65, KeyId(1)).is_err());
//! # Ok(())
//! # }
//! ```

use crate::error::{Error, Field};
use crate::flash::{Flash, Store};
use crate::form::By;
use crate::message::KeyId;
use crate::open::Bytes;
use crate::seal::Writer;
use sealstone_mldsa::{Level, Shake256};

/// How far the next key of a level is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It has an id.
    Prepared,
    /// Its public key was published.
    Announced,
}

/// The ids of a device's keys, and the next ones.
///
/// Wear: three records of 24 bytes a rotation (see [`Store`]).
#[derive(Debug)]
pub struct KeyRing<F> {
    store: Store<F, 9>,
    levels: [Entry; 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    active: KeyId,
    next: Option<Stage>,
}

impl<F: Flash> KeyRing<F> {
    /// Makes two pages ready, with the ids of the first keys in the order of [`Level::ALL`]. Errors: `FlashFailed`.
    pub fn format(flash: F, ids: [KeyId; 3]) -> Result<(), Error> {
        Store::format(flash, &encode(&ids.map(|active| Entry { active, next: None }))).map(|_| ())
    }

    /// Reads what there is. Errors: `FlashFailed`.
    pub fn open(flash: F) -> Result<Self, Error> {
        let store = Store::open(flash)?;
        let levels = decode(store.value()).ok_or(Error::FlashFailed)?;
        Ok(KeyRing { store, levels })
    }

    /// The key that signs at a level.
    pub fn active(&self, level: Level) -> KeyId {
        self.levels[level as usize].active
    }

    /// The next key of a level, and how far it is.
    pub fn next(&self, level: Level) -> Option<(KeyId, Stage)> {
        let entry = self.levels[level as usize];
        entry.next.map(|stage| (KeyId(entry.active.0.wrapping_add(1)), stage))
    }

    /// Whether this key may sign. Errors: `KeyState`: it is retired, or not confirmed.
    pub fn may_sign(&self, level: Level, id: KeyId) -> Result<(), Error> {
        if self.active(level) == id { Ok(()) } else { Err(Error::KeyState) }
    }

    /// Gives the next key its id; again after a power cut, the same one, for a new seed.
    /// Errors: `KeyState` once it was announced; `NumbersExhausted` after id 65535; `FlashFailed`.
    pub fn prepare(&mut self, level: Level) -> Result<KeyId, Error> {
        let Entry { active, next } = self.levels[level as usize];
        let new = KeyId(active.0.checked_add(1).ok_or(Error::NumbersExhausted)?);
        if next == Some(Stage::Announced) {
            return Err(Error::KeyState);
        }
        self.write(level, Entry { active, next: Some(Stage::Prepared) })?;
        Ok(new)
    }

    /// The broker has the announcement. Errors: `KeyState` unless it was prepared; `FlashFailed`.
    pub fn announced(&mut self, level: Level) -> Result<(), Error> {
        let Entry { active, next } = self.levels[level as usize];
        let next = Some(next.map(|_| Stage::Announced).ok_or(Error::KeyState)?);
        self.write(level, Entry { active, next })
    }

    /// The new key signs from here on, and the old one never again. Only on the word of a [`Confirmation`] whose signature was verified and
    /// whose hash is the new key's, or of the operator.
    ///
    /// Errors: `KeyState` unless this key was announced; `FlashFailed`, and then the ring says what it is only after it was opened again.
    pub fn confirm(&mut self, level: Level, id: KeyId) -> Result<(), Error> {
        if self.next(level) != Some((id, Stage::Announced)) {
            return Err(Error::KeyState);
        }
        self.write(level, Entry { active: id, next: None })
    }

    /// The operator gave the device these keys, in the order of [`Level::ALL`]: newer ones sign from here on, and those before them never
    /// again; what was prepared for their level is forgotten. One write.
    ///
    /// Errors: `KeyState` if one is older than what signs: keys that were given before do not come back; `FlashFailed`.
    pub fn given(&mut self, ids: [KeyId; 3]) -> Result<(), Error> {
        let mut levels = self.levels;
        for (entry, id) in levels.iter_mut().zip(ids) {
            if id.0 < entry.active.0 {
                return Err(Error::KeyState);
            }
            if id != entry.active {
                *entry = Entry { active: id, next: None };
            }
        }
        if levels != self.levels {
            self.store.write(&encode(&levels))?;
            self.levels = levels;
        }
        Ok(())
    }

    fn write(&mut self, level: Level, entry: Entry) -> Result<(), Error> {
        let mut levels = self.levels;
        levels[level as usize] = entry;
        if levels != self.levels {
            self.store.write(&encode(&levels))?;
            self.levels = levels;
        }
        Ok(())
    }
}

/// Each level: key id, 2 bytes; 0, 1 prepared, 2 announced.
fn encode(levels: &[Entry; 3]) -> [u8; 9] {
    let mut out = [0; 9];
    for (entry, place) in levels.iter().zip(out.chunks_exact_mut(3)) {
        let [high, low] = entry.active.0.to_be_bytes();
        let stage = entry.next.map_or(0, |stage| 1 + stage as u8);
        place.copy_from_slice(&[high, low, stage]);
    }
    out
}

fn decode(value: &[u8; 9]) -> Option<[Entry; 3]> {
    let mut levels = [Entry { active: KeyId(0), next: None }; 3];
    for (entry, place) in levels.iter_mut().zip(value.chunks_exact(3)) {
        entry.active = KeyId(u16::from_be_bytes([place[0], place[1]]));
        entry.next = match place[2] {
            0 => None,
            1 => Some(Stage::Prepared),
            2 => Some(Stage::Announced),
            _ => return None,
        };
    }
    Some(levels)
}

/// A new public key, as a device publishes it. docs/formats/mqtt.md, "key".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announcement<'a> {
    /// The level.
    pub level: Level,
    /// The new id.
    pub key_id: KeyId,
    /// The encoded public key, of the level's length.
    pub public_key: &'a [u8],
}

impl<'a> Announcement<'a> {
    /// Writes the payload; returns its length. Errors: `TooLong`; `Unsupported(Payload)` for a key of another length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Error> {
        if self.public_key.len() != self.level.verifying_key_len() {
            return Err(Error::Unsupported(Field::Payload));
        }
        let mut to = Writer { out, at: 0 };
        to.put(&[By::Signature(self.level).byte()])?;
        to.put(&self.key_id.0.to_be_bytes())?;
        to.put(self.public_key)?;
        Ok(to.at)
    }

    /// Reads a payload. Errors: `Truncated`, `TrailingBytes`, `Unknown(Algorithm)`.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Error> {
        let mut rest = Bytes(payload);
        let level = level(rest.u8()?)?;
        let key_id = KeyId(rest.u16()?);
        let public_key = rest.take(level.verifying_key_len())?;
        rest.end()?;
        Ok(Announcement { level, key_id, public_key })
    }
}

/// The answer to an announcement. docs/formats/mqtt.md, "key confirmed".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confirmation {
    /// The level.
    pub level: Level,
    /// The id.
    pub key_id: KeyId,
    /// SHAKE256 of the encoded public key: that it is this key and not another one with its id.
    pub hash: [u8; 32],
}

impl Confirmation {
    /// Bytes of the payload.
    pub const LEN: usize = 35;

    /// The answer to an announcement.
    pub fn of(announcement: &Announcement<'_>) -> Self {
        let hash = Shake256::new().and(announcement.public_key).finish();
        Confirmation { level: announcement.level, key_id: announcement.key_id, hash }
    }

    /// The payload.
    pub fn emit(&self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        out[0] = By::Signature(self.level).byte();
        out[1..3].copy_from_slice(&self.key_id.0.to_be_bytes());
        out[3..].copy_from_slice(&self.hash);
        out
    }

    /// Reads a payload. Errors: `Truncated`, `TrailingBytes`, `Unknown(Algorithm)`.
    pub fn parse(payload: &[u8]) -> Result<Self, Error> {
        let mut rest = Bytes(payload);
        let confirmation =
            Confirmation { level: level(rest.u8()?)?, key_id: KeyId(rest.u16()?), hash: rest.array()? };
        rest.end()?;
        Ok(confirmation)
    }
}

/// The level of a byte that stands for a signature. Errors: `Unknown(Algorithm)`.
fn level(byte: u8) -> Result<Level, Error> {
    match By::of(byte) {
        Some(By::Signature(level)) => Ok(level),
        _ => Err(Error::Unknown(Field::Algorithm)),
    }
}
