//! Which key a message must have been sealed with: a public one, or a shared one where its class takes tags.

use std::sync::Arc;

use sealstone_mldsa::Level;

use super::{Judge, Seen};
use crate::form::By;
use crate::gateway::directory::{Device, Key, Mac, State};
use crate::gateway::known::Known;
use crate::gateway::reason::Reason;
use crate::level::Class;
use crate::message::{KeyId, Kind, Message, Number, UnixMillis};
use crate::replay::Replay;

/// What a seal is checked with.
#[derive(Clone, Debug)]
pub(in crate::gateway) enum Held {
    /// A public key.
    Key(Arc<Key>),
    /// A shared key.
    Mac(Arc<Mac>),
}

impl Held {
    pub(super) fn id(&self) -> KeyId {
        match self {
            Held::Key(key) => key.id,
            Held::Mac(mac) => mac.id,
        }
    }

    pub(super) fn by(&self) -> By {
        match self {
            Held::Key(key) => By::Signature(key.level),
            Held::Mac(_) => By::Mac,
        }
    }
}

impl Judge<'_> {
    /// The key of a signature.
    pub(super) fn signature_key(
        &self,
        (device, known): (&str, &Device),
        said: &Message<'_>,
        level: Level,
        class: Class,
        beside: &Known,
        now: UnixMillis,
    ) -> Result<Held, Reason> {
        let learned = &beside.learned;
        let Some(key) = known.key(said.key_id).or_else(|| learned.key(device, said.key_id)) else {
            return Err(if known.mac(said.key_id).is_some() { Reason::Level } else { Reason::UnknownKey });
        };
        if level != key.level {
            return Err(Reason::Level);
        }
        match key.state {
            _ if learned.over_at(device, key).is_some_and(|at| at <= now) => return Err(Reason::KeyRetired),
            _ if key.counts(now) => {}
            State::Announced => return Err(Reason::KeyAnnounced),
            _ => return Err(Reason::KeyRetired),
        }
        if level < self.rules.floor(class) {
            return Err(Reason::BelowFloor);
        }
        Ok(Held::Key(Arc::clone(key)))
    }

    /// The key of a tag, where the class takes tags. A checkpoint is what makes up for tags, so it has none itself.
    pub(super) fn shared_key(
        &self,
        known: &Device,
        said: &Message<'_>,
        class: Class,
        now: UnixMillis,
    ) -> Result<Held, Reason> {
        let is_checkpoint = said.kind == Kind::Checkpoint;
        if !self.rules.takes_tags(class) || is_checkpoint || self.rules.is_command(said.topic) {
            return Err(Reason::Tag);
        }
        match known.mac(said.key_id) {
            Some(mac) if mac.counts(now) => Ok(Held::Mac(Arc::clone(mac))),
            Some(_) => Err(Reason::KeyRetired),
            None if known.key(said.key_id).is_some() => Err(Reason::Level),
            None => Err(Reason::UnknownKey),
        }
    }

    /// A device gives each number to one message, whatever seals it: a tag has none that a signature has taken. The other way
    /// round a signature passes, so that whoever has the shared key keeps no signature out.
    pub(super) fn free_of_signatures(
        &self,
        seen: &impl Seen,
        device: &str,
        number: Number,
    ) -> Result<(), Replay> {
        let known = self.directory.device(device);
        let taken = |key: &Arc<Key>| seen.check(device, key.id, number) == Err(Replay::Seen);
        let learned = seen.known().learned.keys(device);
        let taken = known.into_iter().flat_map(Device::keys).chain(learned).any(taken);
        if taken { Err(Replay::Seen) } else { Ok(()) }
    }
}
