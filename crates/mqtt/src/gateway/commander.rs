//! Whoever may tell devices something: the key that seals the gateway's confirmations.

use std::fmt;

use sealstone_mldsa::{Randomness, any};

use super::announce::Confirmed;
use super::config::Config;
use super::directory::Directory;
use super::error::Error;
use super::wire::{Publish, Qos};
use crate::form::Form;
use crate::keyring::{Announcement, Confirmation};
use crate::message::{KeyId, Message, Number, UnixMillis};
use crate::seal::{Keyed, seal};
use crate::topic::Topic;

/// Gives a number out once, whatever becomes of the process: it is on the disk before it is returned.
pub type Numbers = Box<dyn FnMut() -> Result<Number, Error> + Send>;

/// The commander's key, with what it needs to sign. `Debug` shows the id alone.
pub struct Commander {
    id: KeyId,
    key: any::ExpandedSigningKey,
    numbers: Numbers,
    chance: Box<dyn Randomness + Send>,
}

impl Commander {
    /// A key by its id in the directory. `numbers` are those of everybody who signs with it.
    pub fn new(
        id: KeyId,
        key: any::ExpandedSigningKey,
        numbers: Numbers,
        chance: Box<dyn Randomness + Send>,
    ) -> Self {
        Commander { id, key, numbers, chance }
    }

    /// Whether the directory's commander has this key, and it counts. Errors: `Config`.
    pub fn check(&self, config: &Config, directory: &Directory, now: UnixMillis) -> Result<(), Error> {
        let name = &config.keys.commander_name;
        let fault =
            |what, hint: &str| Err(Error::Config { file: None, place: None, what, hint: hint.into() });
        let Some(entry) = directory.device(name) else {
            let what = format!("the directory has no {name:?}, whose key confirms");
            return fault(
                what,
                "`sealstone mqtt provision` makes its entry; `commander_name` in [keys] names it",
            );
        };
        let public = self.key.verifying_key();
        let same = |key: &&std::sync::Arc<super::directory::Key>| {
            key.id == self.id && key.level == public.level() && key.public() == public.encode()
        };
        if !entry.keys().iter().filter(same).any(|key| key.counts(now)) {
            let what =
                format!("key {} of {name:?} in the directory is another one, or does not count", self.id.0);
            return fault(what, "`commander` in [keys] is the file that was made with the entry");
        }
        let floor = config.class.floor(crate::level::Class::Critical);
        if public.level() < floor {
            let what = format!(
                "the commander's key is of {}, and the class critical demands {floor}",
                public.level()
            );
            return fault(what, "a key of a higher level, or another floor of [class.critical]");
        }
        Ok(())
    }

    /// The answer to the announcement that came on a topic. Errors: the next number could not be written down; no randomness.
    pub(super) fn confirm(
        &mut self,
        topic: &str,
        Confirmed { key, .. }: &Confirmed,
        now: UnixMillis,
    ) -> Result<Publish, Error> {
        let announcement = Announcement { level: key.level, key_id: key.id, public_key: key.public() };
        let payload = Confirmation::of(&announcement).emit();
        let topic = format!("{topic}/confirmed");
        let failed = |cause: crate::Error| Error::Config {
            file: None,
            place: None,
            what: format!("{topic} cannot be sealed: {cause}"),
            hint: "look at the system's random source, and at the length of the topic".into(),
        };
        let message = Message {
            key_id: self.id,
            number: Some((self.numbers)()?),
            time: now,
            ..Message::new(Topic::new(&topic).map_err(failed)?, &payload)
        };
        let mut wire = vec![0; 100 + payload.len() + self.key.level().signature_len()];
        let mut chance = &mut *self.chance;
        let mut signer = Keyed::new(&self.key, &mut chance);
        let len = seal(Form::V1, &message, &mut signer, &mut wire).map_err(failed)?;
        wire.truncate(len);
        Ok(Publish { qos: Qos::ExactlyOnce, topic, payload: wire, ..Publish::default() })
    }
}

impl fmt::Debug for Commander {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commander").field("id", &self.id).finish_non_exhaustive()
    }
}
