//! MQTT control packets of MQTT 3.1.1 and 5.0, without a copy: what is read are views, and the head of a PUBLISH is written apart
//! from its payload, so that an envelope is sealed right behind it. A device uses them as they are; the gateway's types, which own
//! their bytes, are read and written by the same code.
//!
//! ```
//! use sealstone_mqtt::{Topic, packet::{Connect, Packet, Properties, Publish, Qos, Version, packet_len}};
//!
//! # fn main() -> Result<(), sealstone_mqtt::Error> {
//! let mut out = [0; 64];
//! let len = Connect { client_id: "7", ..Connect::new(Version::V5) }.emit(&mut out)?;
//! assert_eq!(out[..2], [0x10, len as u8 - 2]);
//!
//! // What a server answers: CONNACK, no session, reason 0, no properties.
//! let came = [0x20, 3, 0, 0, 0];
//! assert_eq!(packet_len(&came)?, Some(5));
//! let Packet::Connack(connack) = Packet::parse(Version::V5, &came)? else { panic!("a CONNACK") };
//! assert_eq!((connack.session_present, connack.reason), (false, 0));
//!
//! // A PUBLISH: the head, then whatever its payload is.
//! let publish = Publish { qos: Qos::AtLeastOnce, packet_id: 1, ..Publish::new(Topic::new("device/7/x")?) };
//! let head = publish.emit_head(Version::V5, 4, &mut out)?;
//! out[head..head + 4].copy_from_slice(b"21.5");
//! # Ok(())
//! # }
//! ```

pub(crate) mod emit;
pub(crate) mod parse;
pub(crate) mod properties;

pub use emit::{Connect, Subscribe, Will, ack, disconnect};
pub use parse::{Connack, Packet, Suback};
pub use properties::{Properties, USER_PROPERTY};

use crate::error::Error;
use crate::topic::Topic;

/// PINGREQ (MQTT 5.0, 3.12; the same in MQTT 3.1.1).
pub const PINGREQ: [u8; 2] = [0xc0, 0];

/// The most that a variable byte integer holds (MQTT 5.0, 1.5.5).
pub(crate) const REMAINING_MAX: usize = 268_435_455;

/// The version of MQTT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "std", derive(serde::Deserialize))]
pub enum Version {
    /// MQTT 3.1.1: no properties, no reason codes.
    #[cfg_attr(feature = "std", serde(rename = "3.1.1"))]
    V311,
    /// MQTT 5.0.
    #[default]
    #[cfg_attr(feature = "std", serde(rename = "5"))]
    V5,
}

/// How often a message may arrive (MQTT 5.0, 4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Qos {
    /// 0: at most once; nobody acknowledges it.
    #[default]
    AtMostOnce,
    /// 1: at least once.
    AtLeastOnce,
    /// 2: exactly once, as far as the broker.
    ExactlyOnce,
}

impl Qos {
    /// All, in the order of their numbers.
    pub const ALL: [Qos; 3] = [Qos::AtMostOnce, Qos::AtLeastOnce, Qos::ExactlyOnce];

    /// The number, 0 to 2.
    pub const fn byte(self) -> u8 {
        self as u8
    }

    /// The quality of a number. Errors: `BadPacket`.
    pub fn of(byte: u8) -> Result<Self, Error> {
        Self::ALL.get(usize::from(byte)).copied().ok_or(Error::BadPacket)
    }
}

/// An acknowledgement (MQTT 5.0, 3.4 to 3.7), by the high half of its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ack {
    /// Of a message of QoS 1.
    Puback = 4,
    /// Of a message of QoS 2: it came.
    Pubrec = 5,
    /// To a PUBREC: the message is let go.
    Pubrel = 6,
    /// To a PUBREL: the end.
    Pubcomp = 7,
}

/// The head of a PUBLISH (MQTT 5.0, 3.3): everything but the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Publish<'a> {
    /// Where.
    pub topic: Topic<'a>,
    /// How often it may arrive.
    pub qos: Qos,
    /// Whether the broker keeps it for those who come later.
    pub retain: bool,
    /// Whether it was sent before.
    pub dup: bool,
    /// Which of the messages under way; 0 with QoS 0, and only there.
    pub packet_id: u16,
    /// MQTT 5.0 alone; with MQTT 3.1.1 they are not sent.
    pub properties: Properties<'a>,
}

impl<'a> Publish<'a> {
    /// QoS 0, not retained, no properties.
    pub const fn new(topic: Topic<'a>) -> Self {
        Publish {
            topic,
            qos: Qos::AtMostOnce,
            retain: false,
            dup: false,
            packet_id: 0,
            properties: Properties::NONE,
        }
    }
}

/// What stands in a PUBLISH before its properties, whatever the topic is: a text to be written, bytes that came.
#[derive(Clone, Copy)]
pub(crate) struct Head<T> {
    pub(crate) topic: T,
    pub(crate) qos: Qos,
    pub(crate) retain: bool,
    pub(crate) dup: bool,
    pub(crate) packet_id: u16,
}

/// Bytes of the whole packet whose first bytes these are; none while too few are there to tell.
/// Errors: `BadPacket` if the length is not in its only encoding (MQTT 5.0, 1.5.5).
pub fn packet_len(bytes: &[u8]) -> Result<Option<usize>, Error> {
    let Some((_, rest)) = bytes.split_first() else { return Ok(None) };
    Ok(variable(rest)?.map(|(len, used)| 1 + used + len as usize))
}

/// A variable byte integer at the front (MQTT 5.0, 1.5.5) and how many bytes it has; none if it is not whole.
/// Errors: `BadPacket` if it has more than four bytes or more than it needs.
pub(crate) fn variable(bytes: &[u8]) -> Result<Option<(u32, usize)>, Error> {
    let mut value = 0;
    for (i, byte) in bytes.iter().take(4).enumerate() {
        value |= u32::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return if i > 0 && *byte == 0 { Err(Error::BadPacket) } else { Ok(Some((value, i + 1))) };
        }
    }
    if bytes.len() < 4 { Ok(None) } else { Err(Error::BadPacket) }
}

/// Writes a variable byte integer; returns its bytes and how many count. Errors: `TooLong` over 268 435 455.
pub(crate) fn to_variable(value: usize) -> Result<([u8; 4], usize), Error> {
    if value > REMAINING_MAX {
        return Err(Error::TooLong);
    }
    let (mut out, mut rest, mut used) = ([0; 4], value, 0);
    for byte in &mut out {
        *byte = (rest & 0x7f) as u8;
        rest >>= 7;
        used += 1;
        if rest == 0 {
            break;
        }
        *byte |= 0x80;
    }
    Ok((out, used))
}
