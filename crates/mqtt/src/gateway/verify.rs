//! From a received PUBLISH to a verdict, in three steps that hold no clock and no socket.
//!
//! 1. [`Judge::look`]: everything that costs little: the form, the device, its key, the level, the floor, the time, the number.
//! 2. [`Candidate::check`], or many at a time in the workers: the signature, or the tag.
//! 3. [`Judge::accept`]: the number is taken, once, and the message becomes a [`Passed`].
//!
//! A forged message is refused at 2 at the latest, and has changed nothing that is remembered.

mod held;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_mldsa::{Mu, any};

use self::held::Held;
use super::announce::{self, Confirmed};
use super::commands;
use super::config::{Choice, Rules, Stance};
use super::directory::{Device, Directory, Key};
use super::known::{Change, Known};
use super::reason::{Marks, Reason};
use super::tags::{Named, Tagged, Tally};
use super::wire::{Properties, Publish};
use crate::form::{By, Form, RELEASE_MARK};
use crate::level::Class;
use crate::mac::Checkpointed;
use crate::message::{KeyId, Kind, Number, UnixMillis};
use crate::open::{self, Envelope};
use crate::replay::Replay;
use crate::topic::Topic;

pub use crate::packet::USER_PROPERTY as SIGNATURE_PROPERTY;

/// The longest payload whose tag the loop itself checks: some ten microseconds, about what it takes to hand a message to another
/// thread and to be told of it. A longer one would keep the others waiting.
const QUICK_BYTES: usize = 4096;

/// What was accepted before.
pub trait Seen {
    /// Whether a number of a key would be accepted.
    fn check(&self, device: &str, key: KeyId, number: Number) -> Result<(), Replay>;
    /// Accepts a number, once.
    fn accept(&mut self, device: &str, key: KeyId, number: Number) -> Result<(), Replay>;
    /// Accepts a message that has no number, by its μ, once until a time.
    fn accept_digest(&mut self, mu: &[u8; 64], until: UnixMillis, now: UnixMillis) -> Result<(), Replay>;
    /// What is known beside the directory.
    fn known(&self) -> &Known;
    /// Changes it, with the number of the message that brought the change.
    fn change(&mut self, change: Change);
    /// Whether a message may have this tag: no checkpoint of the device has named another one for its number.
    fn admit(&self, device: &str, tagged: Tagged, named: &Named) -> bool;
    /// Accepts the number of a message with a tag, once, and remembers the tag until a checkpoint names it.
    fn accept_tag(
        &mut self,
        device: &str,
        tagged: Tagged,
        named: &Named,
        now: UnixMillis,
    ) -> Result<Tally, Replay>;
    /// A signature of the device has this number: no tag has it.
    fn signed(&mut self, device: &str, number: Number) -> Tally;
    /// Holds the tags that were accepted beside those that a signed checkpoint of the device names.
    fn checkpoint(&mut self, device: &str, checkpoint: &Checkpointed<'_>) -> Tally;
}

/// What a message is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a> {
    /// The configuration.
    pub rules: &'a Rules<'a>,
    /// The devices.
    pub directory: &'a Directory,
}

/// After the first look.
#[derive(Debug)]
pub enum Looked {
    /// Unsigned, and it may be.
    Unsigned(Box<Passed>),
    /// Everything is good but the seal, which nobody has checked yet.
    Signed(Candidate),
    /// A release on a topic of commands: [`Judge::release`] says, in the order of arrival, whether it lets a command go.
    Release,
}

/// A message whose signature or tag is to be checked.
#[derive(Debug)]
pub struct Candidate {
    publish: Arc<Publish>,
    /// The envelope of a detached signature.
    apart: Option<Vec<u8>>,
    form: Form,
    /// The device that the topic names.
    named: Box<str>,
    /// Whose key it is: the same, or the commander.
    device: Box<str>,
    key: Held,
    class: Class,
    marks: Marks,
    /// Until when a message without a number can be replayed.
    until: UnixMillis,
}

/// A candidate whose seal is good.
#[derive(Debug)]
pub struct Verified(Candidate, Good);

/// What a good seal leaves behind.
#[derive(Debug)]
enum Good {
    /// What was signed.
    Signature(Mu),
    /// The first bytes of a tag.
    Tag(Named),
}

/// A message that passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Its topic.
    pub topic: String,
    /// Its payload, without the envelope.
    pub payload: Vec<u8>,
    /// Content type, response topic and correlation data as they were signed; nothing of what was not.
    pub properties: Properties,
    /// What is said of it.
    pub marks: Marks,
    /// Who signed it.
    pub signer: Option<Signer>,
    /// Its class; none for an unsigned message on a topic without one.
    pub class: Option<Class>,
    /// What became of tags by it: those that a checkpoint names, or one that it pushed out.
    pub tags: Tally,
    /// What it does beside passing.
    pub effect: Effect,
}

/// What a message does beside passing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    #[default]
    Nothing,
    /// A device's key is confirmed.
    Confirmed(Confirmed),
    /// It is a command that was let go: of which template, and which.
    Released {
        /// The template's id.
        template: u32,
        /// The command's index.
        index: u16,
    },
    /// Its commands can be let go from now on: the template's id.
    Template(u32),
}

/// Who signed a message, and what was signed beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signer {
    /// The device.
    pub device: Box<str>,
    /// Which of its keys.
    pub key: KeyId,
    /// With what: a signature, which anybody can check, or a tag, which the gateway alone could, and could have made.
    pub by: By,
    /// The form.
    pub form: Form,
    /// Epoch and sequence.
    pub number: Option<Number>,
    /// When it was written.
    pub time: UnixMillis,
    /// What its payload is.
    pub kind: Kind,
}

impl Judge<'_> {
    /// All three steps for one message.
    pub fn judge(
        &self,
        publish: &Arc<Publish>,
        seen: &mut impl Seen,
        now: UnixMillis,
    ) -> Result<Passed, Reason> {
        match self.look(publish, seen, now)? {
            Looked::Unsigned(passed) => Ok(*passed),
            Looked::Signed(candidate) => self.accept(candidate.check()?, seen, now),
            Looked::Release => self.release(publish, seen, now),
        }
    }

    /// Everything that can be said before the seal is checked.
    pub fn look(&self, publish: &Arc<Publish>, seen: &impl Seen, now: UnixMillis) -> Result<Looked, Reason> {
        let topic = Topic::new(&publish.topic).map_err(|_| Reason::BadTopic)?;
        if publish.too_large.is_some() {
            return Err(Reason::TooLarge);
        }
        if publish.topic.ends_with("/$sig") {
            return Err(Reason::SignatureTopic);
        }
        let named = self.rules.device(topic).ok_or(Reason::NoDevice)?;
        let device = self.signer(topic, named)?;
        let apart = signature_property(&publish.properties)?;
        let form = match apart {
            Some(_) => Some(Form::Detached),
            None => match publish.payload.first() {
                Some(&RELEASE_MARK) if self.rules.is_command(topic) => return Ok(Looked::Release),
                Some(&RELEASE_MARK) => return Err(Reason::Command),
                _ => Form::of(&publish.payload),
            },
        };
        let Some(form) = form else { return self.unsigned(publish, topic, (named, device), now) };
        self.signed(publish, topic, device, form, apart, seen, now).map(Looked::Signed)
    }

    /// Whose key must have signed what comes on a topic that names a device: on a topic of commands the commander's, which signs
    /// nothing else.
    fn signer<'s>(&'s self, topic: Topic<'_>, named: &'s str) -> Result<&'s str, Reason> {
        let commander = self.rules.keys().commander_name.as_str();
        match self.rules.is_command(topic) {
            true if self.directory.device(commander).is_none() => Err(Reason::NoCommander),
            // Names of nobody could be without end, and each would have forgeries looked at.
            true if self.directory.device(named).is_none() => Err(Reason::UnknownDevice),
            true => Ok(commander),
            false if named == commander => Err(Reason::NotItsTopic),
            false => Ok(named),
        }
    }

    /// What a verified message does beside passing, before its number is taken.
    fn effect(
        &self,
        candidate: &Candidate,
        said: &crate::Message<'_>,
        known: &Known,
        now: UnixMillis,
    ) -> Result<(Effect, Option<Change>), Reason> {
        if self.rules.is_announcement(said.topic) {
            announce::weigh(self, (&candidate.device, candidate.key.by()), said, known, now)
        } else if said.kind == Kind::Template && self.rules.is_command(said.topic) {
            commands::weigh(candidate.key.id(), said, known)
        } else {
            Ok((Effect::Nothing, None))
        }
    }

    /// Takes the number of a verified message, once.
    pub fn accept(
        &self,
        Verified(candidate, good): Verified,
        seen: &mut impl Seen,
        now: UnixMillis,
    ) -> Result<Passed, Reason> {
        let repeated = |replay| repeated(replay, &candidate.publish);
        let topic = Topic::new(&candidate.publish.topic).map_err(|_| Reason::BadTopic)?;
        let said = *candidate.envelope(topic)?.claimed();
        let checkpoint = checkpoint(&said)?;
        let (effect, change) = self.effect(&candidate, &said, seen.known(), now)?;
        let (device, key) = (&*candidate.device, candidate.key.id());
        let mut tags = Tally::default();
        match (said.number, good) {
            (Some(number), Good::Signature(_)) => {
                seen.accept(device, key, number).map_err(repeated)?;
                tags = seen.signed(device, number);
            }
            (None, Good::Signature(mu)) => {
                seen.accept_digest(mu.as_bytes(), candidate.until, now).map_err(repeated)?
            }
            (Some(number), Good::Tag(named)) => {
                self.free_of_signatures(seen, device, number).map_err(repeated)?;
                let tagged = Tagged { key, number };
                if !seen.admit(device, tagged, &named) {
                    return Err(Reason::Contradicted);
                }
                tags = seen.accept_tag(device, tagged, &named, now).map_err(repeated)?;
            }
            // Each form that holds tags holds numbers.
            (None, Good::Tag(_)) => return Err(Reason::NoNumber),
        }
        if let Some(change) = change {
            seen.change(change);
        }
        if let Some(checkpoint) = checkpoint {
            tags = tags.and(seen.checkpoint(device, &checkpoint));
        }
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let correlation = said.correlation_data;
        Ok(Passed {
            topic: candidate.publish.topic.clone(),
            payload: said.payload.to_vec(),
            properties: Properties {
                content_type: text(said.content_type),
                response_topic: said.response_topic.map(|topic| topic.as_str().to_owned()),
                correlation_data: (!correlation.is_empty()).then(|| correlation.to_vec()),
                ..Properties::default()
            },
            marks: candidate.marks,
            signer: Some(Signer {
                device: candidate.device.clone(),
                key,
                by: candidate.key.by(),
                form: candidate.form,
                number: said.number,
                time: said.time,
                kind: said.kind,
            }),
            class: Some(candidate.class),
            tags,
            effect,
        })
    }

    /// A message without a signature: by the stance towards the device that its topic names.
    fn unsigned(
        &self,
        publish: &Publish,
        topic: Topic<'_>,
        (device, signer): (&str, &str),
        now: UnixMillis,
    ) -> Result<Looked, Reason> {
        let can_sign = |device| self.directory.device(device).is_some_and(|device| device.can_sign(now));
        match self.rules.stance(device) {
            Stance::Compatible => {}
            Stance::Balanced if can_sign(device) || can_sign(signer) => return Err(Reason::UnsignedDevice),
            Stance::Balanced => {}
            Stance::Strict => return Err(Reason::Unsigned),
        }
        if self.rules.is_announcement(topic) {
            return Err(Reason::Unsigned);
        }
        let class = self.rules.class(topic).ok_or(Reason::UnknownTopic)?;
        self.rules.retained(publish.retain)?;
        let payload = match publish.payload.first() {
            Some(0x00) => open::unsigned(&publish.payload).map_err(Reason::Malformed)?,
            _ => &publish.payload,
        };
        Ok(Looked::Unsigned(Box::new(Passed {
            topic: publish.topic.clone(),
            payload: payload.to_vec(),
            properties: Properties {
                content_type: publish.properties.content_type.clone(),
                response_topic: publish.properties.response_topic.clone(),
                correlation_data: publish.properties.correlation_data.clone(),
                ..Properties::default()
            },
            marks: Marks { unsigned: true, retained: publish.retain, ..Marks::default() },
            signer: None,
            class: Some(class),
            tags: Tally::default(),
            effect: Effect::Nothing,
        })))
    }

    #[allow(clippy::too_many_arguments, reason = "what the first look has found so far")]
    fn signed(
        &self,
        publish: &Arc<Publish>,
        topic: Topic<'_>,
        device: &str,
        form: Form,
        apart: Option<Vec<u8>>,
        seen: &impl Seen,
        now: UnixMillis,
    ) -> Result<Candidate, Reason> {
        if !self.rules.takes(form) {
            return Err(Reason::Form);
        }
        let envelope = parse(publish, topic, form, apart.as_deref())?;
        let said = *envelope.claimed();
        let class = self.rules.class(topic).ok_or(Reason::UnknownTopic)?;
        let known: &Device = self.directory.device(device).ok_or(Reason::UnknownDevice)?;
        let key = match envelope.by() {
            By::Signature(level) => {
                self.signature_key((device, known), &said, level, class, seen.known(), now)?
            }
            By::Mac => self.shared_key(known, &said, class, now)?,
        };
        if !known.may_publish(topic) {
            return Err(Reason::NotItsTopic);
        }
        if checkpoint(&said)?.is_some_and(|named| known.mac(named.key_id).is_none()) {
            return Err(Reason::UnknownKey);
        }
        uncontradicted(&publish.properties, &said, form)?;
        let fresh_ms = self.rules.fresh_ms(class);
        let marks = self.timely(&said, publish.retain, fresh_ms, now)?;
        if let Some(number) = said.number {
            let repeated = |replay| repeated(replay, publish);
            seen.check(device, said.key_id, number).map_err(repeated)?;
            if let Held::Mac(_) = key {
                self.free_of_signatures(seen, device, number).map_err(repeated)?;
            }
        }
        let until = UnixMillis(said.time.0.saturating_add(fresh_ms));
        Ok(Candidate {
            publish: Arc::clone(publish),
            apart,
            form,
            named: self.rules.device(topic).unwrap_or(device).into(),
            device: device.into(),
            key,
            class,
            marks,
            until,
        })
    }

    /// The time of a message beside now. Without a number there is no mark: the time is all that stops a replay.
    fn timely(
        &self,
        said: &crate::Message<'_>,
        retained: bool,
        fresh_ms: u64,
        now: UnixMillis,
    ) -> Result<Marks, Reason> {
        let policy = self.rules.policy();
        let mut marks = Marks { retained, ..Marks::default() };
        self.rules.retained(retained)?;
        if !said.time.is_known() {
            if said.number.is_none() {
                return Err(Reason::NoNumber);
            }
            if policy.no_clock == Choice::Refuse {
                return Err(Reason::NoClock);
            }
            marks.no_clock = true;
            return Ok(marks);
        }
        if said.time.0 > now.0.saturating_add(fresh_ms) {
            return Err(Reason::Future);
        }
        if said.time.0.saturating_add(fresh_ms) < now.0 {
            // What the broker kept is old by its nature, and passes by the choice for it.
            if said.number.is_none() || policy.stale == Choice::Refuse && !retained {
                return Err(Reason::Stale);
            }
            marks.stale = true;
        }
        Ok(marks)
    }
}

impl Candidate {
    /// The device that the topic names, which may be another one than the signer.
    pub fn named(&self) -> &str {
        &self.named
    }

    /// The public key that must have signed it; none for a tag.
    pub(super) fn public_key(&self) -> Option<&Arc<Key>> {
        match &self.key {
            Held::Key(key) => Some(key),
            Held::Mac(_) => None,
        }
    }

    /// Whether it takes less to check it than to hand it over: a tag over a short message.
    pub(super) fn is_quick(&self) -> bool {
        self.public_key().is_none() && self.publish.payload.len() <= QUICK_BYTES
    }

    /// The PUBLISH that it came in.
    pub fn publish(&self) -> &Arc<Publish> {
        &self.publish
    }

    /// Checks the seal. Errors: `BadSignature`.
    pub fn check(self) -> Result<Verified, Reason> {
        match &self.key {
            Held::Key(key) => {
                let key = Arc::clone(key).verifying_key().map_err(|_| Reason::BadSignature)?;
                let (mu, signature) = self.claim(&key.expand())?;
                let verdict = key.verify_mu(&mu, &signature);
                self.believed_after(mu, verdict)
            }
            Held::Mac(mac) => {
                let mac = Arc::clone(mac);
                let topic = Topic::new(&self.publish.topic).map_err(|_| Reason::BadTopic)?;
                let envelope = self.envelope(topic)?;
                envelope.verify_mac(mac.key()).map_err(|_| Reason::BadSignature)?;
                let named = *envelope.seal().first_chunk().ok_or(Reason::BadSignature)?;
                Ok(Verified(self, Good::Tag(named)))
            }
        }
    }

    /// μ and signature, for those who verify many at a time.
    pub(super) fn claim(&self, key: &any::ExpandedVerifyingKey) -> Result<(Mu, any::Signature), Reason> {
        let topic = Topic::new(&self.publish.topic).map_err(|_| Reason::BadTopic)?;
        let envelope = self.envelope(topic)?;
        let level = envelope.by().level().ok_or(Reason::BadSignature)?;
        let signature = any::Signature::decode(level, envelope.seal()).map_err(|_| Reason::BadSignature)?;
        Ok((envelope.mu(key.message(envelope.covered().context())), signature))
    }

    /// Once somebody has verified what [`Self::claim`] gave.
    pub(super) fn believed_after(
        self,
        mu: Mu,
        verdict: Result<(), sealstone_mldsa::Error>,
    ) -> Result<Verified, Reason> {
        verdict.map_err(|_| Reason::BadSignature)?;
        Ok(Verified(self, Good::Signature(mu)))
    }

    fn envelope<'s>(&'s self, topic: Topic<'s>) -> Result<Envelope<'s>, Reason> {
        parse(&self.publish, topic, self.form, self.apart.as_deref())
    }
}

impl Verified {
    /// The PUBLISH that it came in.
    pub fn publish(&self) -> &Arc<Publish> {
        &self.0.publish
    }
}

/// What a checkpoint names; none for other kinds. Errors: `Malformed`.
fn checkpoint<'m>(said: &crate::Message<'m>) -> Result<Option<Checkpointed<'m>>, Reason> {
    match said.kind {
        Kind::Checkpoint => Checkpointed::parse(said.payload).map(Some).map_err(Reason::Malformed),
        _ => Ok(None),
    }
}

fn parse<'m>(
    publish: &'m Publish,
    topic: Topic<'m>,
    form: Form,
    apart: Option<&'m [u8]>,
) -> Result<Envelope<'m>, Reason> {
    let parsed = match apart {
        Some(bytes) => Envelope::parse_detached(topic, &publish.payload, bytes),
        None => Envelope::parse(form, topic, &publish.payload),
    };
    parsed.map_err(|cause| match cause {
        // A detached envelope as a payload: what it signs is elsewhere.
        crate::Error::Unsupported(_) => Reason::SignatureTopic,
        cause => Reason::Malformed(cause),
    })
}

/// The envelope in the user property. Errors: `SignatureProperty` for two of them, or for one that is not base64url.
fn signature_property(properties: &Properties) -> Result<Option<Vec<u8>>, Reason> {
    let mut values = properties.user(SIGNATURE_PROPERTY);
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(text), None) => URL_SAFE_NO_PAD.decode(text).map(Some).map_err(|_| Reason::SignatureProperty),
        _ => Err(Reason::SignatureProperty),
    }
}

/// Properties that stand beside the envelope must say what was signed; those that a broker dropped come from the envelope.
/// The form `paper` signs none, so none is taken from there, whatever stands beside it.
fn uncontradicted(beside: &Properties, said: &crate::Message<'_>, form: Form) -> Result<(), Reason> {
    if form == Form::Paper {
        return Ok(());
    }
    // The type of the envelope itself may stand where the type of the payload would.
    let of_envelope = |text: &str| form == Form::Cose && text.starts_with("application/cose");
    if beside.content_type.as_deref().is_some_and(|text| text != said.content_type && !of_envelope(text)) {
        return Err(Reason::ContentType);
    }
    let response = said.response_topic.map_or("", Topic::as_str);
    if beside.response_topic.as_deref().is_some_and(|text| text != response) {
        return Err(Reason::ResponseTopic);
    }
    if beside.correlation_data.as_deref().is_some_and(|bytes| bytes != said.correlation_data) {
        return Err(Reason::CorrelationData);
    }
    Ok(())
}

/// What a number means that was there before: from a broker that says so, or that had kept the message, no attack.
pub(super) fn repeated(replay: Replay, publish: &Publish) -> Reason {
    match replay {
        Replay::Seen if publish.dup || publish.retain => Reason::Redelivered,
        Replay::Seen => Reason::Replay,
        Replay::TooOld => Reason::TooOld,
    }
}
