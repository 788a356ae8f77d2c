//! The forms of an envelope, and what a seal is made of.

use crate::topic::Topic;
use sealstone_mldsa::{Context, Level};

/// How a message is laid out on the wire. docs/formats/mqtt.md has each byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// The layout of the paper, with everything before the signature signed, and the topic. It has no place for a sequence
    /// number, so what stops replays is the second it was written in and the digest of what came. For the record, and for
    /// those who have it.
    Paper,
    /// Everything that matters, in fixed places.
    V1,
    /// COSE_Sign1 (RFC 9052, 4.2) with ML-DSA (RFC 9964); the topic is the external data.
    Cose,
    /// The payload travels as it is; the envelope goes without it, to the topic `<topic>/$sig` or in a user property.
    Detached,
}

impl Form {
    /// All forms.
    pub const ALL: [Form; 4] = [Form::Paper, Form::V1, Form::Cose, Form::Detached];

    /// The name in commands and configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Form::Paper => "paper",
            Form::V1 => "v1",
            Form::Cose => "cose",
            Form::Detached => "detached",
        }
    }

    /// The form that bytes begin like; none for a message that is no envelope.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes.first()? {
            0x01 => Some(Form::Paper),
            &V1_MARK => Some(Form::V1),
            &DETACHED_MARK => Some(Form::Detached),
            0xd2 | 0x84 => Some(Form::Cose),
            _ => None,
        }
    }

    /// The context of signatures in this form (FIPS 204, 5.2): no signature of one form is one of another, or of anything
    /// else. RFC 9964 wants it empty in COSE, where the structure that is signed names itself.
    pub(crate) const fn context(self) -> &'static [u8] {
        match self {
            Form::Paper => b"sealstone-mqtt-paper",
            Form::V1 => b"sealstone-mqtt-v1",
            Form::Cose => b"",
            Form::Detached => b"sealstone-mqtt-detached",
        }
    }
}

/// First byte of the form `v1`.
pub(crate) const V1_MARK: u8 = 0xe1;
/// First byte of the form `detached`.
pub(crate) const DETACHED_MARK: u8 = 0xe2;

/// First byte of a command let go.
pub(crate) const RELEASE_MARK: u8 = 0xe3;

/// What seals an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum By {
    /// An ML-DSA signature: anybody with the public key can check it.
    Signature(Level),
    /// A tag of KMAC256 under a key that device and gateway share: 32 bytes, for classes that allow it.
    Mac,
}

impl By {
    /// Bytes of the seal: 2420, 3309, 4627 or 32.
    pub const fn len(self) -> usize {
        match self {
            By::Signature(level) => level.signature_len(),
            By::Mac => 32,
        }
    }

    /// Never: a seal has bytes.
    pub const fn is_empty(self) -> bool {
        false
    }

    /// The level's name, or `KMAC256`.
    pub const fn name(self) -> &'static str {
        match self {
            By::Signature(level) => level.name(),
            By::Mac => "KMAC256",
        }
    }

    /// The level of a signature.
    pub const fn level(self) -> Option<Level> {
        match self {
            By::Signature(level) => Some(level),
            By::Mac => None,
        }
    }

    /// The byte that stands for it in `paper`, `v1` and `detached`.
    pub(crate) const fn byte(self) -> u8 {
        match self {
            By::Signature(Level::MlDsa44) => 0x44,
            By::Signature(Level::MlDsa65) => 0x65,
            By::Signature(Level::MlDsa87) => 0x87,
            By::Mac => 0x4d,
        }
    }

    /// The seal of a byte.
    pub(crate) fn of(byte: u8) -> Option<Self> {
        [By::Signature(Level::MlDsa44), By::Signature(Level::MlDsa65), By::Signature(Level::MlDsa87), By::Mac]
            .into_iter()
            .find(|by| by.byte() == byte)
    }
}

/// The bytes that a seal covers, part by part, as they are hashed. Only this module puts them together, for those who seal and
/// those who open.
#[derive(Clone, Copy)]
pub struct Covered<'a> {
    pub(crate) form: Form,
    pub(crate) topic: Topic<'a>,
    /// Everything that the envelope has before the seal; in COSE, the protected header.
    pub(crate) head: &'a [u8],
    /// The payload, where the head does not have it.
    pub(crate) payload: &'a [u8],
}

impl Covered<'_> {
    /// The context under which these bytes are signed.
    pub fn context(&self) -> Context<'static> {
        Context::new(self.form.context()).unwrap_or(Context::EMPTY) // the contexts are short
    }

    /// Hands the bytes over in order. Together they can be read back in one way only: each part that could grow
    /// has its length before it.
    pub fn feed(&self, mut to: impl FnMut(&[u8])) {
        let topic = self.topic.as_str().as_bytes();
        match self.form {
            Form::Paper | Form::V1 | Form::Detached => {
                to(&(topic.len() as u16).to_be_bytes()); // at most 65535
                to(topic);
                to(self.head);
                to(self.payload);
            }
            Form::Cose => {
                // RFC 9052, 4.4: Sig_structure = [context, body_protected, external_aad, payload].
                to(b"\x84\x6aSignature1");
                for part in [self.head, topic, self.payload] {
                    let (head, len) = crate::cbor::head(crate::cbor::BYTES, part.len() as u64);
                    to(&head[..len]);
                    to(part);
                }
            }
        }
    }
}
