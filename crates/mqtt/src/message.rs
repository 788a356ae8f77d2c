//! What a publisher says, whatever form it is sent in.

use crate::error::{Error, Field};
use crate::topic::Topic;

/// A message and everything that its seal covers.
///
/// The topic is signed and not sent within the envelope: the envelope is checked for the topic that it came on, so it verifies
/// on no other. `time`, `number`, `kind` and the texts are as the publisher wrote them; they are to be believed only
/// when they come out of [`crate::open::Envelope::verify`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Where it is published.
    pub topic: Topic<'a>,
    /// What it says.
    pub payload: &'a [u8],
    /// What kind of message it is.
    pub kind: Kind,
    /// Which of the publisher's keys.
    pub key_id: KeyId,
    /// Epoch and sequence; none in the form `paper`, which has no place for it.
    pub number: Option<Number>,
    /// When it was written.
    pub time: UnixMillis,
    /// The content type (MQTT 5.0, 3.3.2.3.9); empty for none.
    pub content_type: &'a str,
    /// Where an answer is expected (MQTT 5.0, 3.3.2.3.5).
    pub response_topic: Option<Topic<'a>>,
    /// What ties an answer to its question (MQTT 5.0, 3.3.2.3.6); empty for none.
    pub correlation_data: &'a [u8],
}

impl<'a> Message<'a> {
    /// A message of kind [`Kind::Plain`] with nothing else said.
    pub const fn new(topic: Topic<'a>, payload: &'a [u8]) -> Self {
        Message {
            topic,
            payload,
            kind: Kind::Plain,
            key_id: KeyId(0),
            number: None,
            time: UnixMillis(0),
            content_type: "",
            response_topic: None,
            correlation_data: &[],
        }
    }

    /// The response topic's text, empty for none.
    pub(crate) fn response_text(&self) -> &'a str {
        self.response_topic.map_or("", Topic::as_str)
    }
}

/// What a payload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The application's own bytes.
    Plain,
    /// Several readings in one (docs/formats/mqtt.md, "batch").
    Batch,
    /// Nothing changed since the message that the payload names ("unchanged").
    Unchanged,
    /// A signature over the tags of messages before it ("checkpoint").
    Checkpoint,
    /// Commands signed beforehand ("template").
    Template,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 5] = [Kind::Plain, Kind::Batch, Kind::Unchanged, Kind::Checkpoint, Kind::Template];

    /// The byte that stands for it.
    pub const fn byte(self) -> u8 {
        match self {
            Kind::Plain => 0,
            Kind::Batch => 1,
            Kind::Unchanged => 2,
            Kind::Checkpoint => 3,
            Kind::Template => 4,
        }
    }

    /// The kind of a byte. Errors: `Unknown(Kind)`.
    pub fn of(byte: u8) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|kind| kind.byte() == byte).ok_or(Error::Unknown(Field::Kind))
    }

    /// The name in commands and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Plain => "plain",
            Kind::Batch => "batch",
            Kind::Unchanged => "unchanged",
            Kind::Checkpoint => "checkpoint",
            Kind::Template => "template",
        }
    }
}

/// Which of a device's keys; a new key has a new id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub u16);

/// A number that one key signs once.
///
/// The epoch is written to lasting memory, one higher, before the first message after each start; the sequence
/// counts within it. So a device that loses its power at any point never uses a number again, and writes once a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number {
    /// Which start of the device.
    pub epoch: u32,
    /// Which message since then.
    pub sequence: u32,
}

/// Milliseconds since 1970-01-01T00:00:00Z; 0 where the publisher has no clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixMillis(pub u64);

impl UnixMillis {
    /// Whether the publisher knew the time.
    pub const fn is_known(self) -> bool {
        self.0 != 0
    }

    /// Whole seconds. Sixteen bits at a time: a CPU of 32 bits divides no more, and the library's division is long.
    pub(crate) fn seconds(self) -> u64 {
        let (mut seconds, mut left) = (0, 0);
        for shift in [48, 32, 16, 0] {
            let part: u32 = left << 16 | (self.0 >> shift) as u32 & 0xffff;
            let whole = part.div_euclid(1000);
            seconds = seconds << 16 | u64::from(whole);
            left = part - 1000 * whole;
        }
        seconds
    }
}

#[cfg(test)]
mod tests {
    use super::UnixMillis;

    #[test]
    fn seconds_are_a_thousandth() {
        for millis in [
            0,
            1,
            999,
            1000,
            1001,
            65_535_999,
            65_536_000,
            1_763_769_600_123,
            1 << 48,
            u64::MAX - 1,
            u64::MAX,
        ] {
            assert_eq!(UnixMillis(millis).seconds(), millis / 1000, "{millis}");
        }
    }
}
