//! Commands that were signed beforehand (docs/formats/mqtt.md, "template"): what the gateway remembers of each topic's template,
//! and which release lets a command pass.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::known::{Change, Known};
use super::reason::{Marks, Reason};
use super::tags::Tally;
use super::verify::{Effect, Judge, Passed, Seen, Signer};
use super::wire::{Properties, Publish};
use crate::error::Error;
use crate::form::{By, Form};
use crate::message::{KeyId, Kind, Message, UnixMillis};
use crate::template::{COMMANDS_MAX, Release, Template};
use crate::topic::Topic;

/// The longest template that is remembered, in bytes.
pub const LONGEST: usize = 64 * 1024;
/// Topics with a template; of more, the one whose template ends first is forgotten.
pub const TOPICS: usize = 1024;

/// The latest template of each topic.
#[derive(Debug, Default)]
pub struct Templates {
    topics: BTreeMap<Box<str>, Kept>,
}

/// A template, and which of its commands were let go.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The commander's key that signed it.
    pub key: KeyId,
    payload: Arc<[u8]>,
    taken: [u8; COMMANDS_MAX / 8],
}

impl Kept {
    /// A template of which no command was let go.
    pub fn new(key: KeyId, payload: &[u8]) -> Self {
        Kept { key, payload: payload.into(), taken: [0; COMMANDS_MAX / 8] }
    }

    /// The template's bytes.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The indices that were let go.
    pub fn taken(&self) -> impl Iterator<Item = u16> {
        (0..COMMANDS_MAX as u16).filter(|index| self.is_taken(*index))
    }

    /// The same, before any was.
    pub fn untaken(&self) -> Self {
        Kept { taken: [0; COMMANDS_MAX / 8], ..self.clone() }
    }

    fn is_taken(&self, index: u16) -> bool {
        self.taken.get(usize::from(index >> 3)).is_none_or(|byte| byte & 1 << (index & 7) != 0)
    }

    /// None for bytes that were remembered and are no template: those of no version of ours.
    fn template(&self) -> Option<Template<'_>> {
        Template::parse(&self.payload).ok()
    }
}

impl Templates {
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Kept)> {
        self.topics.iter().map(|(topic, kept)| (&**topic, kept))
    }

    /// Remembers the template of a topic instead of the one before.
    pub(super) fn keep(&mut self, topic: Box<str>, kept: Kept) {
        if self.topics.len() >= TOPICS && !self.topics.contains_key(&topic) {
            let ends = |kept: &Kept| kept.template().map(|template| template.not_after);
            let first = self.topics.iter().min_by_key(|(_, kept)| ends(kept)).map(|(topic, _)| topic.clone());
            first.and_then(|first| self.topics.remove(&first));
        }
        self.topics.insert(topic, kept);
    }

    /// A command was let go.
    pub(super) fn mark(&mut self, topic: &str, index: u16) {
        let byte = self.topics.get_mut(topic).and_then(|kept| kept.taken.get_mut(usize::from(index >> 3)));
        if let Some(byte) = byte {
            *byte |= 1 << (index & 7);
        }
    }
}

/// Whether a verified message of the commander is a template that is to be remembered. The same one again changes nothing.
/// Errors: `Malformed`; `TemplateOld` if the topic had one with a higher id, or with this id and other commands.
pub(super) fn weigh(
    key: KeyId,
    message: &Message<'_>,
    known: &Known,
) -> Result<(Effect, Option<Change>), Reason> {
    if message.payload.len() > LONGEST {
        return Err(Reason::Malformed(Error::TooLong));
    }
    let template = Template::parse(message.payload).map_err(Reason::Malformed)?;
    let topic = message.topic.as_str();
    let before = known.templates.topics.get(topic);
    match before.and_then(Kept::template) {
        Some(before) if before == template => return Ok((Effect::Template(template.id), None)),
        Some(before) if before.id >= template.id => return Err(Reason::TemplateOld),
        _ => {}
    }
    let change = Change::Template(topic.into(), Kept::new(key, message.payload));
    Ok((Effect::Template(template.id), Some(change)))
}

impl Judge<'_> {
    /// Lets a command go, once: what a release on a topic of commands comes to.
    ///
    /// Errors: `TemplateUnknown`, `WrongToken`, `CommandEarly`, `CommandLate`, `CommandTaken`, `Redelivered`; `Malformed`;
    /// `KeyRetired` if the key that signed the template does not count any more; `UnknownTopic`, `Retained`.
    pub fn release(
        &self,
        publish: &Publish,
        seen: &mut impl Seen,
        now: UnixMillis,
    ) -> Result<Passed, Reason> {
        let topic = Topic::new(&publish.topic).map_err(|_| Reason::BadTopic)?;
        let class = self.rules.class(topic).ok_or(Reason::UnknownTopic)?;
        let release = Release::parse(&publish.payload).map_err(Reason::Malformed)?;
        let kept = seen.known().templates.topics.get(topic.as_str()).ok_or(Reason::TemplateUnknown)?;
        let template = kept.template().filter(|template| template.id == release.template);
        let template = template.ok_or(Reason::TemplateUnknown)?;
        let command = template.released(&release, now).map_err(|cause| match cause {
            Error::OutOfTime if now < template.not_before => Reason::CommandEarly,
            Error::OutOfTime => Reason::CommandLate,
            _ => Reason::WrongToken,
        })?;
        let commander = self.rules.keys().commander_name.as_str();
        let entry = self.directory.device(commander).ok_or(Reason::NoCommander)?;
        let key = entry.key(kept.key).filter(|key| key.counts(now)).ok_or(Reason::KeyRetired)?;
        if kept.is_taken(release.index) {
            let again = publish.dup || publish.retain;
            return Err(if again { Reason::Redelivered } else { Reason::CommandTaken });
        }
        self.rules.retained(publish.retain)?;
        let passed = Passed {
            topic: publish.topic.clone(),
            payload: command.to_vec(),
            properties: Properties::default(),
            marks: Marks { retained: publish.retain, ..Marks::default() },
            signer: Some(Signer {
                device: commander.into(),
                key: key.id,
                by: By::Signature(key.level),
                form: Form::V1,
                number: None,
                time: UnixMillis(0),
                kind: Kind::Plain,
            }),
            class: Some(class),
            tags: Tally::default(),
            effect: Effect::Released { template: release.template, index: release.index },
        };
        seen.change(Change::Released(publish.topic.as_str().into(), release.index));
        Ok(passed)
    }
}
