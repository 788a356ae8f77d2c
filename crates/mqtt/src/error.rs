//! What can go wrong. Facts, without strings, so that it works without an allocator.

use core::fmt;

/// Why an envelope, a topic or a call was refused.
///
/// All forgeries look alike: [`Error::BadSignature`], whatever was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A command was let go before, or its template is over.
    AlreadyTaken,
    /// An MQTT packet breaks the rules of its version: it is malformed, or a client or server may not send it.
    BadPacket,
    /// The seal does not verify: something that is signed was changed, or another key made it.
    BadSignature,
    /// A topic name or filter breaks the rules of MQTT (MQTT 5.0, 4.7).
    BadTopic,
    /// The lasting memory failed, or holds nothing that it should: nothing is sealed on its word.
    FlashFailed,
    /// The key is not in the state that this needs: retired, not confirmed, not there.
    KeyState,
    /// A part that this form must have is not there.
    Missing(Field),
    /// The encoding is not the only one that this form allows.
    NotCanonical,
    /// The text of a field is not UTF-8.
    NotText(Field),
    /// There is no number or key id left.
    NumbersExhausted,
    /// What a device is given is of another version than this program reads: `sealstone mqtt provision` makes it again.
    OtherVersion,
    /// It holds at another time than now, or nobody knows the time.
    OutOfTime,
    /// There is no room for a message, and what waits there is not less important.
    QueueFull,
    /// The random source failed; nothing was signed.
    RngFailed,
    /// The signer failed: see [`sealstone_mldsa::Error`].
    Signer(sealstone_mldsa::Error),
    /// A part is longer than its length field can say, or than the buffer that it should go to.
    TooLong,
    /// Bytes follow the envelope.
    TrailingBytes,
    /// The envelope ends before it is whole.
    Truncated,
    /// The first byte, a kind, an algorithm or a header that this version does not know.
    Unknown(Field),
    /// The form has no place for what the message holds: see the table of forms in docs/formats/mqtt.md.
    Unsupported(Field),
}

/// A part of an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names are those of the fields")]
pub enum Field {
    Algorithm,
    ContentType,
    CorrelationData,
    Form,
    Header,
    KeyId,
    Kind,
    Number,
    Payload,
    ResponseTopic,
    Seal,
    Time,
}

impl Field {
    /// The field in words.
    pub const fn name(self) -> &'static str {
        match self {
            Field::Algorithm => "algorithm",
            Field::ContentType => "content type",
            Field::CorrelationData => "correlation data",
            Field::Form => "form",
            Field::Header => "header",
            Field::KeyId => "key id",
            Field::Kind => "kind",
            Field::Number => "epoch and sequence",
            Field::Payload => "payload",
            Field::ResponseTopic => "response topic",
            Field::Seal => "seal",
            Field::Time => "time",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::AlreadyTaken => f.write_str("the command was taken before, or its template is over"),
            Error::OtherVersion => f.write_str("it is of another version: provision the device again"),
            Error::OutOfTime => f.write_str("it holds at another time"),
            Error::BadPacket => f.write_str("the packet breaks the rules of MQTT"),
            Error::BadSignature => f.write_str("the seal does not verify"),
            Error::BadTopic => f.write_str("the topic breaks the rules of MQTT"),
            Error::FlashFailed => f.write_str("the lasting memory failed"),
            Error::NumbersExhausted => f.write_str("there is no number or key id left"),
            Error::QueueFull => f.write_str("there is no room for the message"),
            Error::KeyState => f.write_str("the key is not in the state that this needs"),
            Error::Missing(field) => write!(f, "missing: {}", field.name()),
            Error::RngFailed => f.write_str("the random source failed"),
            Error::TooLong => f.write_str("a part is too long"),
            Error::TrailingBytes => f.write_str("bytes follow the envelope"),
            Error::Truncated => f.write_str("the envelope is cut short"),
            Error::Unsupported(field) => write!(f, "this form has no place for: {}", field.name()),
            Error::Unknown(field) => write!(f, "unknown {}", field.name()),
            Error::NotCanonical => f.write_str("the encoding is not the canonical one"),
            Error::NotText(field) => write!(f, "not UTF-8: {}", field.name()),
            Error::Signer(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for Error {}

impl From<sealstone_mldsa::Error> for Error {
    fn from(error: sealstone_mldsa::Error) -> Self {
        match error {
            sealstone_mldsa::Error::BadSignature => Error::BadSignature,
            sealstone_mldsa::Error::RngFailed => Error::RngFailed,
            other => Error::Signer(other),
        }
    }
}
