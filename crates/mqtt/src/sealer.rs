//! From a message that waits to an envelope on its way: which level, which key, which number, and what if none.
//!
//! [`Sealer::serve`] gives the next turn of a [`Publisher`] its seal. Where the policy refuses, the message waits and an alert is
//! pushed; nothing is ever sealed weaker than its class demands. What was decided is shown to an [`Observer`].

use crate::error::Error;
use crate::flash::Flash;
use crate::form::{By, Covered, Form};
use crate::keyring::KeyRing;
use crate::level::{Class, Decision, Downgrades, Means, Need, Policy, Refusal, choose};
use crate::mac::{Checkpoint, MacKey, Tagger};
use crate::message::{KeyId, Number, UnixMillis};
use crate::number::Numbers;
use crate::publisher::{Publisher, Ticket, Waiting};
use crate::seal::{self, Signer};
use crate::topic::Topic;
use sealstone_mldsa::Level;
#[cfg(feature = "alloc")]
use sealstone_mldsa::{Randomness, any};

/// The keys of a device, wherever they are.
pub trait Keys {
    /// Writes the signature of what is covered. Shapes: `seal` has the level's length. Errors: the signer's; `KeyState` for a key
    /// that is not there.
    fn sign(&mut self, level: Level, id: KeyId, covered: &Covered<'_>, seal: &mut [u8]) -> Result<(), Error>;
}

impl<K: Keys + ?Sized> Keys for &mut K {
    fn sign(&mut self, level: Level, id: KeyId, covered: &Covered<'_>, seal: &mut [u8]) -> Result<(), Error> {
        (**self).sign(level, id, covered, seal)
    }
}

/// Expanded keys with a source of randomness: the keys of a device with memory to spare.
#[cfg(feature = "alloc")]
#[derive(Debug)]
pub struct ExpandedKeys<'a, R> {
    /// Id and key; in any order.
    pub keys: &'a [(KeyId, &'a any::ExpandedSigningKey)],
    /// Where hedging comes from.
    pub rng: R,
}

#[cfg(feature = "alloc")]
impl<R: Randomness> Keys for ExpandedKeys<'_, R> {
    fn sign(&mut self, level: Level, id: KeyId, covered: &Covered<'_>, seal: &mut [u8]) -> Result<(), Error> {
        let found = self.keys.iter().find(|(of, key)| *of == id && key.level() == level);
        let (_, key) = found.ok_or(Error::KeyState)?;
        seal::Keyed::new(*key, &mut self.rng).seal(covered, seal)
    }
}

/// Tags for the classes that may have them: routine messages, by default [`Class::Low`] alone. The gateway has a say of its own.
#[derive(Debug)]
pub struct Tags<'a, const N: usize> {
    /// The shared key.
    pub key: &'a MacKey,
    /// The classes, in the order of [`Class::ALL`].
    pub classes: [bool; 4],
    /// The tags since the last checkpoint.
    pub checkpoint: Checkpoint<N>,
}

impl<'a, const N: usize> Tags<'a, N> {
    /// Tags for the class `low`.
    pub const fn new(key: &'a MacKey, id: KeyId) -> Self {
        Tags { key, classes: [true, false, false, false], checkpoint: Checkpoint::new(id) }
    }
}

/// What was decided, for the log.
#[derive(Clone, Copy, Debug)]
pub struct Chosen<'a> {
    /// Where the message goes.
    pub topic: Topic<'a>,
    /// What the device had.
    pub means: Means,
    /// Class, band, score, level and reason, or why none.
    pub decision: Decision,
    /// What seals it; none where nothing does.
    pub by: Option<By>,
    /// The key.
    pub key_id: KeyId,
}

/// Is shown every decision, before anything is sealed.
pub trait Observer {
    /// A decision.
    fn chosen(&mut self, chosen: &Chosen<'_>);
}

impl<F: FnMut(&Chosen<'_>)> Observer for F {
    fn chosen(&mut self, chosen: &Chosen<'_>) {
        self(chosen)
    }
}

/// What became of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// It is on its way, sealed by this, with this number (none in the form `paper`).
    Sent(Ticket, By, Option<Number>),
    /// It waits: no level that its class allows can be had now. With it goes an alert, the first time in a row for the class:
    /// its ticket, or why it found no room.
    Refused(Ticket, Refusal, Option<Result<Ticket, Error>>),
    /// It waits, because this went wrong.
    Failed(Ticket, Error),
}

/// Which forms a sealer may write: [`Form`] for any, or a type that leaves some out, and with them their code.
pub trait Forms {
    /// The form of the next envelope.
    fn form(&self) -> Form;
    /// Whether detached envelopes go to the topic's `/$sig`, and not in the user property.
    fn beside(&self) -> bool {
        false
    }
}

impl Forms for Form {
    fn form(&self) -> Form {
        *self
    }
}

/// [`Form::V1`] alone.
#[derive(Clone, Copy, Debug)]
pub struct V1;

impl Forms for V1 {
    fn form(&self) -> Form {
        Form::V1
    }
}

/// [`Form::V1`] or [`Form::Detached`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    /// The payload is in the envelope.
    Not,
    /// The envelope is in the user property.
    Property,
    /// The envelope goes to the topic's `/$sig`.
    Topic,
}

impl Forms for Apart {
    fn form(&self) -> Form {
        if *self == Apart::Not { Form::V1 } else { Form::Detached }
    }

    fn beside(&self) -> bool {
        *self == Apart::Topic
    }
}

/// Everything that sealing needs. N: tags between checkpoints.
#[derive(Debug)]
pub struct Sealer<'a, F, G, K, const N: usize, E = Form> {
    /// The form of its envelopes. `detached` goes into the user property, which needs MQTT 5.0, or to `/$sig` ([`Forms::beside`]).
    pub form: E,
    /// The rules.
    pub policy: &'a Policy,
    /// What signing takes in this build.
    pub need: Need,
    /// Numbers.
    pub numbers: Numbers<F>,
    /// Ids.
    pub ring: KeyRing<G>,
    /// Keys.
    pub keys: K,
    /// Tags, where there is a shared key.
    pub tags: Option<Tags<'a, N>>,
    /// Where alerts go, and by whose class. Bounds: a topic of class [`Class::High`].
    pub alerts: Topic<'a>,
    /// How long a message that cannot be sealed waits, in milliseconds.
    pub pause_ms: u64,
    downgrades: Downgrades,
    /// Whether the last message of each class was refused.
    refused: [bool; 4],
}

impl<'a, F: Flash, G: Flash, K: Keys, const N: usize> Sealer<'a, F, G, K, N> {
    /// With the form `v1`, without tags, and a pause of 10 s.
    pub fn new(
        policy: &'a Policy,
        need: Need,
        numbers: Numbers<F>,
        ring: KeyRing<G>,
        keys: K,
        alerts: Topic<'a>,
    ) -> Self {
        Self::of(Form::V1, policy, need, numbers, ring, keys, alerts)
    }
}

impl<'a, F: Flash, G: Flash, K: Keys, const N: usize, E: Forms> Sealer<'a, F, G, K, N, E> {
    /// With this form, without tags, and a pause of 10 s.
    pub fn of(
        form: E,
        policy: &'a Policy,
        need: Need,
        numbers: Numbers<F>,
        ring: KeyRing<G>,
        keys: K,
        alerts: Topic<'a>,
    ) -> Self {
        Sealer {
            form,
            policy,
            need,
            numbers,
            ring,
            keys,
            tags: None,
            alerts,
            pause_ms: 10_000,
            downgrades: Downgrades::NONE,
            refused: [false; 4],
        }
    }

    /// Seals the message whose turn it is; none if there is none. `now` is the publisher's clock, `time` the world's.
    pub fn serve<const W: usize>(
        &mut self,
        publisher: &mut Publisher<'_, W>,
        means: Means,
        time: UnixMillis,
        now: u64,
        observer: &mut impl Observer,
    ) -> Option<Served> {
        let turn = publisher.turn(now)?;
        let ticket = turn.ticket();
        let waiting = turn.message()?;
        let class = waiting.class;
        // A clock that nobody has set gives no time to count downgrades by; the publisher's does.
        let clock = if time.is_known() { time } else { UnixMillis(now) };
        let tag = self.tag_for(&waiting);
        let mut downgrades = self.downgrades;
        let decision = choose(self.policy, class, means, &self.need, &mut downgrades, clock);
        if tag.is_none() {
            self.downgrades = downgrades; // a tag is no downgrade
        }
        let (by, key_id) = match (tag, decision.level) {
            (Some(id), _) => (By::Mac, id),
            (None, Ok((level, _))) => (By::Signature(level), self.ring.active(level)),
            (None, Err(refusal)) => {
                let key_id = self.ring.active(decision.band.floor);
                observer.chosen(&Chosen { topic: waiting.topic, means, decision, by: None, key_id });
                turn.defer(now.saturating_add(self.pause_ms));
                let first = !core::mem::replace(&mut self.refused[class as usize], true);
                let alert = first.then(|| self.alert(publisher, class, refusal, time));
                return Some(Served::Refused(ticket, refusal, alert));
            }
        };
        observer.chosen(&Chosen { topic: waiting.topic, means, decision, by: Some(by), key_id });
        self.refused[class as usize] = false;
        let numbered = self.form.form() != Form::Paper;
        let number = if numbered { self.numbers.take().map(Some) } else { Ok(None) };
        let sized = number.and_then(|number| {
            let message = waiting.message(key_id, number);
            let len = seal::overhead(self.form.form(), &message, by)?;
            let apart = self.form.form() == Form::Detached;
            Ok((number, if apart { len } else { len.saturating_add(message.payload.len()) }))
        });
        let sent = sized.and_then(|(number, len)| {
            let apart = self.form.form() == Form::Detached;
            let beside = self.form.beside();
            let seal =
                |waiting: &Waiting<'_>, out: &mut [u8]| self.seal(waiting, by, key_id, number, now, out);
            let sent = match (apart, beside) {
                (false, _) => turn.send(len, seal),
                (true, false) => turn.send_detached(len, seal),
                (true, true) => turn.send_beside(len, seal),
            };
            sent.map(|ticket| Served::Sent(ticket, by, number))
        });
        Some(sent.unwrap_or_else(|error| {
            if let Some(turn) = publisher.turn(now) {
                turn.defer(now.saturating_add(self.pause_ms));
            }
            Served::Failed(ticket, error)
        }))
    }

    /// Lets the checkpoint over the tags so far wait to be sent, and begins the next one. `space` holds the payload meanwhile: 8 + 20 bytes
    /// a tag. Errors: those of [`Publisher::push`]; the tags are kept then. None where there is nothing to sign.
    pub fn checkpoint<const W: usize>(
        &mut self,
        publisher: &mut Publisher<'_, W>,
        topic: Topic<'_>,
        class: Class,
        time: UnixMillis,
        space: &mut [u8],
    ) -> Option<Result<Ticket, Error>> {
        let tags = self.tags.as_mut().filter(|tags| !tags.checkpoint.is_empty())?;
        let pushed = tags.checkpoint.emit(space).and_then(|len| {
            let payload = space.get(..len).unwrap_or_default();
            let kind = crate::message::Kind::Checkpoint;
            publisher.push(&Waiting { kind, time, ..Waiting::new(class, topic, payload) }, |_, _| ())
        });
        if pushed.is_ok() {
            tags.checkpoint.clear();
        }
        Some(pushed)
    }

    /// The shared key's id, if this message may have a tag and a checkpoint still has room for it.
    fn tag_for(&self, waiting: &Waiting<'_>) -> Option<KeyId> {
        let tags = self.tags.as_ref()?;
        let routine =
            tags.classes[waiting.class as usize] && waiting.kind != crate::message::Kind::Checkpoint;
        let room = tags.checkpoint.has_room(self.numbers.epoch());
        let holds = matches!(self.form.form(), Form::V1 | Form::Detached);
        (routine && room && holds).then(|| tags.checkpoint.key_id())
    }

    fn seal(
        &mut self,
        waiting: &Waiting<'_>,
        by: By,
        key_id: KeyId,
        number: Option<Number>,
        now: u64,
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let message = waiting.message(key_id, number);
        match (by, &mut self.tags) {
            (By::Signature(level), _) => {
                self.ring.may_sign(level, key_id)?;
                seal::seal(self.form.form(), &message, &mut Key { keys: &mut self.keys, level, key_id }, out)
            }
            (By::Mac, Some(tags)) => {
                let len = seal::seal(self.form.form(), &message, &mut Tagger(tags.key), out)?;
                let tag =
                    len.checked_sub(by.len()).and_then(|at| out.get(at..len)).ok_or(Error::Truncated)?;
                tags.checkpoint.add_at(number.ok_or(Error::QueueFull)?, tag, now)?;
                Ok(len)
            }
            (By::Mac, None) => Err(Error::KeyState),
        }
    }

    /// "critical: the floor does not fit": class and refusal, in words.
    fn alert<const W: usize>(
        &self,
        publisher: &mut Publisher<'_, W>,
        class: Class,
        refusal: Refusal,
        time: UnixMillis,
    ) -> Result<Ticket, Error> {
        let why = match refusal {
            Refusal::FloorDoesNotFit => ": the floor does not fit",
            Refusal::TooManyDowngrades => ": too many downgrades",
        };
        let mut text = [0; 64];
        let mut to = seal::Writer { out: &mut text, at: 0 };
        to.put(class.name().as_bytes())?;
        to.put(why.as_bytes())?;
        let len = to.at;
        let payload = text.get(..len).unwrap_or_default();
        let content_type = "text/plain";
        publisher.push(
            &Waiting { time, content_type, ..Waiting::new(Class::High, self.alerts, payload) },
            |_, _| (),
        )
    }
}

/// One of the keys.
struct Key<'k, K> {
    keys: &'k mut K,
    level: Level,
    key_id: KeyId,
}

impl<K: Keys> Signer for Key<'_, K> {
    fn by(&self) -> By {
        By::Signature(self.level)
    }

    fn seal(&mut self, covered: &Covered<'_>, seal: &mut [u8]) -> Result<(), Error> {
        self.keys.sign(self.level, self.key_id, covered, seal)
    }
}
