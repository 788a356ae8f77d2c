//! What the gateway knows beside the directory: keys that it confirmed and templates that it read, and how both change.
//! A change goes into the same frame of the journal as the number of the message that brought it.

use std::sync::Arc;

use super::commands::{Kept, Templates};
use super::directory::Key;
use super::learned::{Learned, LearnedKey};
use crate::error::Error;
use crate::form::By;
use crate::message::{KeyId, UnixMillis};
use crate::open::Bytes;

/// All of it.
#[derive(Debug, Default)]
pub struct Known {
    /// Keys.
    pub learned: Learned,
    /// Commands that were signed beforehand.
    pub templates: Templates,
}

/// A change of it.
#[derive(Clone, Debug)]
pub enum Change {
    /// A device's key was confirmed.
    Learned(Box<str>, LearnedKey),
    /// A template came on a topic.
    Template(Box<str>, Kept),
    /// A command of a topic's template was let go.
    Released(Box<str>, u16),
}

/// The first bytes of the records.
pub(super) const KINDS: std::ops::RangeInclusive<u8> = 32..=34;

impl Known {
    /// Makes a change.
    pub fn apply(&mut self, change: Change) {
        match change {
            Change::Learned(device, key) => self.learned.add(&device, key),
            Change::Template(topic, kept) => self.templates.keep(topic, kept),
            Change::Released(topic, index) => self.templates.mark(&topic, index),
        }
    }

    /// Changes that lead to all of it from nothing.
    pub(super) fn changes(&self) -> impl Iterator<Item = Change> {
        let learned = self.learned.iter();
        let learned = learned.map(|(device, key)| Change::Learned(device.into(), key.clone()));
        let templates = self.templates.iter().flat_map(|(topic, kept)| {
            let taken = kept.taken().map(|index| Change::Released(topic.into(), index));
            std::iter::once(Change::Template(topic.into(), kept.untaken())).chain(taken)
        });
        learned.chain(templates)
    }
}

impl Change {
    /// Writes a record. None for a name that is longer than MQTT allows, which was checked where it came in.
    pub(super) fn emit(&self, out: &mut Vec<u8>) -> Option<()> {
        let mut named = |kind: u8, name: &str| {
            out.push(kind);
            out.extend(u16::try_from(name.len()).ok()?.to_be_bytes());
            out.extend(name.as_bytes());
            Some(())
        };
        match self {
            Change::Learned(device, LearnedKey { key, confirmed, before_until, root, .. }) => {
                named(32, device)?;
                out.extend(key.id.0.to_be_bytes());
                out.push(By::Signature(key.level).byte());
                out.extend(confirmed.0.to_be_bytes());
                out.extend(before_until.0.to_be_bytes());
                out.extend(root);
                out.extend(key.public());
            }
            Change::Template(topic, kept) => {
                named(33, topic)?;
                out.extend(kept.key.0.to_be_bytes());
                out.extend(u32::try_from(kept.payload().len()).ok()?.to_be_bytes());
                out.extend(kept.payload());
            }
            Change::Released(topic, index) => {
                named(34, topic)?;
                out.extend(index.to_be_bytes());
            }
        }
        Some(())
    }

    /// Reads a record behind its first byte. None if it is none.
    pub(super) fn parse(kind: u8, rest: &mut &[u8]) -> Option<Self> {
        let mut bytes = Bytes(rest);
        let change = Self::read(kind, &mut bytes).ok()?;
        *rest = bytes.0;
        Some(change)
    }

    fn read(kind: u8, bytes: &mut Bytes<'_>) -> Result<Self, Error> {
        let len = usize::from(bytes.u16()?);
        let name: Box<str> = std::str::from_utf8(bytes.take(len)?).map_err(|_| Error::NotCanonical)?.into();
        Ok(match kind {
            32 => {
                let id = KeyId(bytes.u16()?);
                let Some(By::Signature(level)) = By::of(bytes.u8()?) else { return Err(Error::NotCanonical) };
                let (confirmed, before_until) = (UnixMillis(bytes.u64()?), UnixMillis(bytes.u64()?));
                let root = bytes.array()?;
                let key = Arc::new(Key::active(id, level, bytes.take(level.verifying_key_len())?));
                Change::Learned(name, LearnedKey::new(key, confirmed, before_until, root))
            }
            33 => {
                let key = KeyId(bytes.u16()?);
                let len = usize::try_from(bytes.u32()?).map_err(|_| Error::TooLong)?;
                Change::Template(name, Kept::new(key, bytes.take(len)?))
            }
            34 => Change::Released(name, bytes.u16()?),
            _ => return Err(Error::NotCanonical),
        })
    }
}
