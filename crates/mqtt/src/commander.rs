//! Whoever may tell a device something. Each message is verified with the commander's key, and taken once.
//!
//! A message is an envelope of the form `v1` on `device/{id}/command` or below it, or the confirmation of a key on
//! `device/{id}/critical/key/confirmed`; or a [`Release`], which lets a command of a template go. docs/formats/mqtt-device.md, "What a device is
//! told", has the words.
//!
//! **Once.** Of the numbers that the commander's key signs, only one above the last that was taken counts, and it is in flash, in the same write as
//! what `rotate` and `interval` ask for, before anything is done. So a power cut can lose a command of the application's own, and never do
//! one twice; `rotate` and `interval` are not lost either, because the broker sends again what was not acknowledged, and what was is in flash. A
//! confirmation needs no number: it names a key by its hash, and is over when that key signs.
//!
//! **By whom.** Cheap questions come first: topic, form, level, key id, number. Only then a signature is verified, so whoever floods a
//! device with old messages costs it no more than reading them.

use crate::error::{Error, Field};
use crate::flash::{Block, Flash, Store};
use crate::form::{By, Covered, Form, RELEASE_MARK};
use crate::keyring::Confirmation;
use crate::message::{KeyId, Kind, Number, UnixMillis};
use crate::open::{Bytes, Envelope};
use crate::seal::{Writer, mu};
use crate::template::{Release, Taken, Template};
use crate::topic::Topic;
use sealstone_mldsa::{Level, any};

/// A public key that checks, in whatever memory.
pub trait Verifier {
    /// The level of its signatures.
    fn level(&self) -> Level;
    /// Checks the signature of what is covered. Errors: `BadSignature`; those of the engine.
    fn verify(&mut self, covered: &Covered<'_>, seal: &[u8]) -> Result<(), sealstone_mldsa::Error>;
}

impl Verifier for &any::VerifyingKey {
    fn level(&self) -> Level {
        any::VerifyingKey::level(self)
    }

    fn verify(&mut self, covered: &Covered<'_>, seal: &[u8]) -> Result<(), sealstone_mldsa::Error> {
        let signature = any::Signature::decode(self.level(), seal)?;
        self.verify_mu(&mu(covered, |context| self.message(context)), &signature)
    }
}

/// What a device was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order<'m> {
    /// The gateway takes the new key.
    Confirmed(Confirmation),
    /// Readings come so many milliseconds apart from now on: [`Commander::interval_ms`].
    Interval(u32),
    /// A new key of this level is owed: [`Commander::owed`].
    Rotate(Level),
    /// This template is kept; its commands can be let go.
    Template(u32),
    /// Anything else: for the application.
    Text(&'m str),
}

/// Bounds of the interval between two readings, in milliseconds: up to 30 days.
pub const INTERVAL_MS: core::ops::RangeInclusive<u32> = 10..=2_592_000_000;

/// What a device knows of its commander. Six pages of flash, and memory for a template.
#[derive(Debug)]
pub struct Commander<'a, V, F> {
    device: &'a str,
    key_id: KeyId,
    verifier: V,
    lasting: Lasting<F>,
    taken: Taken<F>,
    block: Block<F>,
    /// The latest template: the topic's length in 2 bytes, the topic, the template.
    kept: &'a mut [u8],
    kept_len: usize,
}

impl<'a, V: Verifier, F: Flash> Commander<'a, V, F> {
    /// Makes three pairs of pages ready: for the numbers, for the commands that were let go, for the template. Only at provisioning.
    /// Errors: `FlashFailed`.
    pub fn format(flash: [F; 3]) -> Result<(), Error> {
        let [lasting, taken, block] = flash;
        Store::format(lasting, &Told::NOTHING.encode())?;
        Taken::format(taken)?;
        Block::format(block)
    }

    /// Reads what there is. `memory` holds the template: as long as a page for the longest one.
    /// Errors: `FlashFailed`; `TooLong` for a template that `memory` cannot hold.
    pub fn open(
        device: &'a str,
        key_id: KeyId,
        verifier: V,
        flash: [F; 3],
        memory: &'a mut [u8],
    ) -> Result<Self, Error> {
        let [lasting, taken, block] = flash;
        let (lasting, taken, mut block) = (Lasting::open(lasting)?, Taken::open(taken)?, Block::open(block)?);
        let kept_len = block.read(memory)?;
        Ok(Commander { device, key_id, verifier, lasting, taken, block, kept: memory, kept_len })
    }

    /// Takes a message that came on a topic; `now` is the world's time, which commands that are let go need.
    ///
    /// Errors: `BadTopic` for one that says nothing to this device; those of [`Envelope::parse`] and [`Release::parse`]; `Unsupported(Seal)` for
    /// another level or a tag; `KeyState` for another key; `AlreadyTaken` for a number that is not above the last one, a template that is
    /// over, a command that was let go; `BadSignature`, also for a release of no template that is kept; `OutOfTime`; `Unsupported(Kind)`; `NotText`;
    /// `Unsupported(Payload)` for `rotate` and `interval` with what they do not know; `TooLong` for a template; `FlashFailed`, after which
    /// nothing may be acknowledged and the device starts again.
    pub fn take<'m>(
        &'m mut self,
        topic: Topic<'m>,
        bytes: &'m [u8],
        now: UnixMillis,
    ) -> Result<Order<'m>, Error> {
        let way = self.way(topic)?;
        if way == Way::Command && bytes.first() == Some(&RELEASE_MARK) {
            return self.release(topic, bytes, now);
        }
        let envelope = Envelope::parse(Form::V1, topic, bytes)?;
        let claimed = envelope.claimed();
        if envelope.by() != By::Signature(self.verifier.level()) {
            return Err(Error::Unsupported(Field::Seal));
        }
        if claimed.key_id != self.key_id {
            return Err(Error::KeyState);
        }
        let number = claimed.number.ok_or(Error::Missing(Field::Number))?;
        if way == Way::Command && number <= self.lasting.told.number {
            return Err(Error::AlreadyTaken);
        }
        let verdict = self.verifier.verify(&envelope.covered(), envelope.seal());
        let message = envelope.believed_after(verdict)?;
        match (way, message.kind) {
            (Way::Confirmed, Kind::Plain) => Confirmation::parse(message.payload).map(Order::Confirmed),
            (Way::Command, Kind::Plain) => self.lasting.obey(text(message.payload)?, Some(number)),
            (Way::Command, Kind::Template) => self.keep(topic, message.payload, number),
            _ => Err(Error::Unsupported(Field::Kind)),
        }
    }

    /// A level whose key is to be rotated, until [`Self::done`]: it was asked for, and the new key may not be prepared yet.
    pub fn owed(&self) -> Option<Level> {
        Level::ALL.into_iter().find(|level| self.lasting.told.owed & 1 << *level as u8 != 0)
    }

    /// The new key is prepared, in flash. Errors: `FlashFailed`.
    pub fn done(&mut self, level: Level) -> Result<(), Error> {
        let owed = self.lasting.told.owed & !(1 << level as u8);
        self.lasting.write(Told { owed, ..self.lasting.told })
    }

    /// Milliseconds between two readings, as told last; none before.
    pub fn interval_ms(&self) -> Option<u32> {
        Some(self.lasting.told.interval_ms).filter(|interval| *interval > 0)
    }

    /// What a topic is for. Errors: `BadTopic`.
    fn way(&self, topic: Topic<'_>) -> Result<Way, Error> {
        let rest = topic.as_str().strip_prefix("device/").and_then(|rest| rest.strip_prefix(self.device));
        match rest.and_then(|rest| rest.strip_prefix('/')).ok_or(Error::BadTopic)? {
            "critical/key/confirmed" => Ok(Way::Confirmed),
            "command" => Ok(Way::Command),
            below if below.starts_with("command/") => Ok(Way::Command),
            _ => Err(Error::BadTopic),
        }
    }

    /// Keeps a template: first itself, then that none of its commands was taken, then the number. Cut anywhere, it comes again and is kept then.
    fn keep<'m>(&mut self, topic: Topic<'_>, payload: &[u8], number: Number) -> Result<Order<'m>, Error> {
        let template = Template::parse(payload)?;
        template.commands().try_for_each(|command| text(command).map(|_| ()))?;
        let known = self.taken.template();
        if template.id < known || template.id == 0 {
            return Err(Error::AlreadyTaken);
        }
        let same = self.kept().is_ok_and(|(on, kept)| on == topic && kept == payload);
        if template.id == known && !same {
            return Err(Error::AlreadyTaken); // another one with its id
        }
        if template.id > known {
            let name = topic.as_str().as_bytes();
            let len = 2 + name.len() + payload.len();
            if len > self.kept.len() || len > self.block.room() {
                return Err(Error::TooLong);
            }
            self.kept_len = 0; // nothing is let go of it before it is in flash
            let mut to = Writer { out: self.kept, at: 0 };
            to.put(&(name.len() as u16).to_be_bytes())?; // at most 65535
            to.put(name)?;
            to.put(payload)?;
            self.block.write(self.kept.get(..len).unwrap_or_default())?;
            self.taken.begin(&template)?;
            self.kept_len = len;
        }
        self.lasting.write(Told { number, ..self.lasting.told })?;
        Ok(Order::Template(template.id))
    }

    /// Lets a command go: that it was taken is in flash before it is done.
    fn release<'m>(
        &'m mut self,
        topic: Topic<'m>,
        bytes: &'m [u8],
        now: UnixMillis,
    ) -> Result<Order<'m>, Error> {
        let release = Release::parse(bytes)?;
        let (on, template) = kept(self.kept.get(..self.kept_len).unwrap_or_default())?;
        if on != topic {
            return Err(Error::BadTopic);
        }
        let command = self.taken.take(&Template::parse(template)?, &release, now)?;
        self.lasting.obey(text(command)?, None)
    }

    fn kept(&self) -> Result<(Topic<'_>, &[u8]), Error> {
        kept(self.kept.get(..self.kept_len).unwrap_or_default())
    }
}

/// What a topic is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Command,
    Confirmed,
}

/// Topic and template of what is kept. Errors: `BadSignature` if nothing is: whatever a release is of, it is not of that.
fn kept(bytes: &[u8]) -> Result<(Topic<'_>, &[u8]), Error> {
    let mut rest = Bytes(bytes);
    let len = rest.u16().map_err(|_| Error::BadSignature)?;
    Ok((Topic::from_bytes(rest.take(usize::from(len))?)?, rest.0))
}

fn text(bytes: &[u8]) -> Result<&str, Error> {
    core::str::from_utf8(bytes).map_err(|_| Error::NotText(Field::Payload))
}

/// What lasts of what was told, in one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Told {
    /// The highest number that was taken.
    number: Number,
    /// Levels whose keys are to be rotated: bit 0 ML-DSA-44 to bit 2 ML-DSA-87.
    owed: u8,
    /// 0 for the interval that the device was given.
    interval_ms: u32,
}

impl Told {
    const NOTHING: Told = Told { number: Number { epoch: 0, sequence: 0 }, owed: 0, interval_ms: 0 };

    fn encode(&self) -> [u8; 13] {
        let mut out = [0; 13];
        out[..4].copy_from_slice(&self.number.epoch.to_be_bytes());
        out[4..8].copy_from_slice(&self.number.sequence.to_be_bytes());
        out[8] = self.owed;
        out[9..].copy_from_slice(&self.interval_ms.to_be_bytes());
        out
    }

    fn decode(value: &[u8; 13]) -> Result<Self, Error> {
        let mut rest = Bytes(value);
        let number = Number { epoch: rest.u32()?, sequence: rest.u32()? };
        Ok(Told { number, owed: rest.u8()? & 0b111, interval_ms: rest.u32()? })
    }
}

/// [`Told`] in flash.
#[derive(Debug)]
struct Lasting<F> {
    store: Store<F, 13>,
    told: Told,
}

impl<F: Flash> Lasting<F> {
    fn open(flash: F) -> Result<Self, Error> {
        let store = Store::open(flash)?;
        let told = Told::decode(store.value())?;
        Ok(Lasting { store, told })
    }

    fn write(&mut self, told: Told) -> Result<(), Error> {
        if told != self.told {
            self.store.write(&told.encode())?;
            self.told = told;
        }
        Ok(())
    }

    /// Understands a command, and writes down its number with what it asks for.
    fn obey<'m>(&mut self, text: &'m str, number: Option<Number>) -> Result<Order<'m>, Error> {
        let mut told = self.told;
        told.number = number.unwrap_or(told.number);
        let unknown = Error::Unsupported(Field::Payload);
        let order = match text.split_once(' ') {
            Some(("rotate", level)) => {
                let named = |known: &Level| level.len() == 2 && known.name().ends_with(level);
                let level = Level::ALL.into_iter().find(named).ok_or(unknown)?;
                told.owed |= 1 << level as u8;
                Order::Rotate(level)
            }
            Some(("interval", ms)) => {
                let ms = ms.parse().ok().filter(|ms| INTERVAL_MS.contains(ms)).ok_or(unknown)?;
                told.interval_ms = ms;
                Order::Interval(ms)
            }
            _ => Order::Text(text),
        };
        self.write(told)?;
        Ok(order)
    }
}
