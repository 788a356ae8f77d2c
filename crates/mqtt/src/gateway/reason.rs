//! Why a message is refused, and what is said of one that passes.

use std::fmt;

use crate::error::Error;

/// Why a message is refused. The names stand in dead letters, logs and metrics, and do not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// A key that is announced is of a higher level than the one that signed the announcement.
    AnnouncedBelow,
    /// An announced id is not the next one of its level, or its key does not count.
    AnnouncedId,
    /// An announced key is none, or somebody has it already.
    AnnouncedKey,
    /// The device has another key under the announced id.
    AnnouncedOtherwise,
    /// A device announces a key, and the configuration takes none from there.
    Announcement,
    /// The signature does not verify: something that is signed was changed, or another key made it.
    BadSignature,
    /// The topic name breaks the rules of MQTT.
    BadTopic,
    /// The level is below the floor of the topic's class.
    BelowFloor,
    /// A command let go, on a topic where none is expected.
    Command,
    /// A command let go before its template holds.
    CommandEarly,
    /// A command let go when its template is over.
    CommandLate,
    /// A command that was let go before.
    CommandTaken,
    /// A tag that is good, under a number that the device's checkpoint has given to something else: somebody else has the shared key.
    Contradicted,
    /// The content type beside the envelope is not the signed one.
    ContentType,
    /// The correlation data beside the envelope are not the signed ones.
    CorrelationData,
    /// A form that the configuration does not name.
    Form,
    /// The time lies further ahead than the clocks of gateway and device may differ.
    Future,
    /// The key was announced and nobody has confirmed it.
    KeyAnnounced,
    /// The key is retired.
    KeyRetired,
    /// The level is not the one of the key.
    Level,
    /// Not well formed, and how.
    Malformed(Error),
    /// No time, from a device without a clock.
    NoClock,
    /// A command, and the directory has no commander.
    NoCommander,
    /// The topic names no device.
    NoDevice,
    /// Neither a number nor a time: it could be replayed for ever.
    NoNumber,
    /// The device may not publish on this topic; nor the commander, where it is none of commands.
    NotItsTopic,
    /// The device's topics had too many forgeries a short time ago, and this one was not looked at; or it announced keys too often.
    OverBudget,
    /// The broker delivers again what was accepted and is published: no attack.
    Redelivered,
    /// The number was accepted before.
    Replay,
    /// The response topic beside the envelope is not the signed one.
    ResponseTopic,
    /// The broker had kept it for new subscribers.
    Retained,
    /// More than one signature beside a payload, or one that is not base64url.
    SignatureProperty,
    /// A signature on `$sig` whose payload is not beside it.
    SignatureTopic,
    /// The time is over.
    Stale,
    /// A tag instead of a signature, where none is allowed.
    Tag,
    /// The topic had a template with a higher id, or with this one and other commands.
    TemplateOld,
    /// A command of a template that the topic does not have.
    TemplateUnknown,
    /// The packet is larger than `max_packet_bytes`, and was not kept.
    TooLarge,
    /// The number lies before what is remembered, so nobody can tell.
    TooOld,
    /// No device of this name is in the directory.
    UnknownDevice,
    /// The device has no such key.
    UnknownKey,
    /// No class has the topic.
    UnknownTopic,
    /// Unsigned, where everything must be signed.
    Unsigned,
    /// Unsigned, from a device that must sign.
    UnsignedDevice,
    /// The token lets no command go: it was guessed, or is another one's.
    WrongToken,
}

impl Reason {
    /// The name: lower case and hyphens, fit for a level of a topic.
    pub const fn name(self) -> &'static str {
        match self {
            Reason::AnnouncedBelow => "announced-below",
            Reason::AnnouncedId => "announced-id",
            Reason::AnnouncedKey => "announced-key",
            Reason::AnnouncedOtherwise => "announced-otherwise",
            Reason::Announcement => "announcement",
            Reason::BadSignature => "bad-signature",
            Reason::BadTopic => "bad-topic",
            Reason::BelowFloor => "below-floor",
            Reason::Command => "command",
            Reason::CommandEarly => "command-early",
            Reason::CommandLate => "command-late",
            Reason::CommandTaken => "command-taken",
            Reason::Contradicted => "contradicted",
            Reason::ContentType => "content-type",
            Reason::CorrelationData => "correlation-data",
            Reason::Form => "form",
            Reason::Future => "future",
            Reason::KeyAnnounced => "key-announced",
            Reason::KeyRetired => "key-retired",
            Reason::Level => "level",
            Reason::Malformed(error) => match error {
                Error::BadTopic => "malformed-response-topic",
                Error::Missing(_) => "malformed-missing",
                Error::NotCanonical => "malformed-not-canonical",
                Error::NotText(_) => "malformed-not-text",
                Error::TrailingBytes => "malformed-trailing-bytes",
                Error::Truncated => "malformed-truncated",
                Error::Unknown(_) => "malformed-unknown",
                _ => "malformed",
            },
            Reason::NoClock => "no-clock",
            Reason::NoCommander => "no-commander",
            Reason::NoDevice => "no-device",
            Reason::NoNumber => "no-number",
            Reason::NotItsTopic => "not-its-topic",
            Reason::OverBudget => "over-budget",
            Reason::Redelivered => "redelivered",
            Reason::Replay => "replay",
            Reason::ResponseTopic => "response-topic",
            Reason::Retained => "retained",
            Reason::SignatureProperty => "signature-property",
            Reason::SignatureTopic => "signature-topic",
            Reason::Stale => "stale",
            Reason::Tag => "tag",
            Reason::TemplateOld => "template-old",
            Reason::TemplateUnknown => "template-unknown",
            Reason::TooLarge => "too-large",
            Reason::TooOld => "too-old",
            Reason::UnknownDevice => "unknown-device",
            Reason::UnknownKey => "unknown-key",
            Reason::UnknownTopic => "unknown-topic",
            Reason::Unsigned => "unsigned",
            Reason::UnsignedDevice => "unsigned-device",
            Reason::WrongToken => "wrong-token",
        }
    }

    /// Whether it belongs into a dead letter. What is delivered again is there already.
    pub const fn is_dead_letter(self) -> bool {
        !matches!(self, Reason::Redelivered)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Malformed(error) => write!(f, "malformed: {error}"),
            other => f.write_str(other.name()),
        }
    }
}

/// What is said of a message that passes, though it is not as one would wish. None of them: it is clean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// It has no time: the device has no clock. Its number was not accepted before.
    pub no_clock: bool,
    /// The broker had kept it for new subscribers: it may be old.
    pub retained: bool,
    /// Its time is over.
    pub stale: bool,
    /// Nobody signed it: anybody may have written it.
    pub unsigned: bool,
}

impl Marks {
    /// Whether there is any.
    pub fn any(self) -> bool {
        self != Self::default()
    }

    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let Marks { no_clock, retained, stale, unsigned } = self;
        [(no_clock, "no-clock"), (retained, "retained"), (stale, "stale"), (unsigned, "unsigned")]
            .into_iter()
            .filter_map(|(set, name)| set.then_some(name))
    }
}
