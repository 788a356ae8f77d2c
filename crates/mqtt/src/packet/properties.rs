//! Properties (MQTT 5.0, 2.2.2): those that we send, and how any are read.

use super::{to_variable, variable};
use crate::error::{Error, Field};
use crate::open::Bytes;
use crate::topic::Topic;

/// The name of the user property that holds a detached envelope, as base64url (docs/formats/mqtt.md).
pub const USER_PROPERTY: &str = "sealstone";

/// Properties of a message that somebody acts upon. None of them is under the broker's seal: what matters stands in the envelope too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties<'a> {
    /// The content type (MQTT 5.0, 3.3.2.3.9); empty for none.
    pub content_type: &'a str,
    /// Where an answer is expected (3.3.2.3.5).
    pub response_topic: Option<Topic<'a>>,
    /// What ties an answer to its question (3.3.2.3.6); empty for none.
    pub correlation_data: &'a [u8],
    /// Seconds after which the broker drops it (3.3.2.3.3).
    pub message_expiry_s: Option<u32>,
    /// The user property `sealstone` (3.3.2.3.7), a detached envelope; empty for none.
    pub sealstone: &'a str,
    /// Where that is empty: bytes of its value, which are written later, at the end of the head of a PUBLISH. Until then they are `A`. 0 for none,
    /// and in what came.
    pub sealstone_room: u16,
}

impl Properties<'_> {
    /// Nothing said.
    pub const NONE: Self = Properties {
        content_type: "",
        response_topic: None,
        correlation_data: &[],
        message_expiry_s: None,
        sealstone: "",
        sealstone_room: 0,
    };
}

/// Takes bytes: to count them, or to write them.
pub(crate) type Put<'p> = &'p mut dyn FnMut(&[u8]) -> Result<(), Error>;

/// Hands over the same bytes each time: they are counted first. Not generic, so that a device has one copy of who calls it.
pub(crate) type Body<'b> = &'b dyn Fn(Put<'_>) -> Result<(), Error>;

/// Numbers of properties (MQTT 5.0, 2.2.2.2).
pub(crate) mod id {
    pub(crate) const PAYLOAD_FORMAT: u8 = 0x01;
    pub(crate) const MESSAGE_EXPIRY: u8 = 0x02;
    pub(crate) const CONTENT_TYPE: u8 = 0x03;
    pub(crate) const RESPONSE_TOPIC: u8 = 0x08;
    pub(crate) const CORRELATION_DATA: u8 = 0x09;
    pub(crate) const SUBSCRIPTION_ID: u8 = 0x0b;
    pub(crate) const SESSION_EXPIRY: u8 = 0x11;
    pub(crate) const ASSIGNED_CLIENT_ID: u8 = 0x12;
    pub(crate) const SERVER_KEEP_ALIVE: u8 = 0x13;
    pub(crate) const AUTH_METHOD: u8 = 0x15;
    pub(crate) const AUTH_DATA: u8 = 0x16;
    pub(crate) const WILL_DELAY: u8 = 0x18;
    pub(crate) const RESPONSE_INFORMATION: u8 = 0x1a;
    pub(crate) const SERVER_REFERENCE: u8 = 0x1c;
    pub(crate) const REASON_STRING: u8 = 0x1f;
    pub(crate) const RECEIVE_MAXIMUM: u8 = 0x21;
    pub(crate) const TOPIC_ALIAS_MAXIMUM: u8 = 0x22;
    pub(crate) const TOPIC_ALIAS: u8 = 0x23;
    pub(crate) const MAXIMUM_QOS: u8 = 0x24;
    pub(crate) const RETAIN_AVAILABLE: u8 = 0x25;
    pub(crate) const USER_PROPERTY: u8 = 0x26;
    pub(crate) const MAXIMUM_PACKET: u8 = 0x27;
    pub(crate) const WILDCARD_AVAILABLE: u8 = 0x28;
    pub(crate) const SUBSCRIPTION_ID_AVAILABLE: u8 = 0x29;
    pub(crate) const SHARED_AVAILABLE: u8 = 0x2a;
}

/// Writes properties with their length before them.
pub(crate) fn emit(put: Put<'_>, some: Body<'_>) -> Result<(), Error> {
    let mut len = 0;
    some(&mut |bytes| {
        len += bytes.len();
        Ok(())
    })?;
    let (head, used) = to_variable(len)?;
    put(&head[..used])?;
    some(put)
}

/// Writes the properties of a message.
pub(crate) fn emit_of_message(put: Put<'_>, said: &Properties<'_>) -> Result<(), Error> {
    if let Some(seconds) = said.message_expiry_s {
        put(&[id::MESSAGE_EXPIRY])?;
        put(&seconds.to_be_bytes())?;
    }
    if !said.content_type.is_empty() {
        put(&[id::CONTENT_TYPE])?;
        text(put, said.content_type)?;
    }
    if let Some(topic) = said.response_topic {
        put(&[id::RESPONSE_TOPIC])?;
        text(put, topic.as_str())?;
    }
    if !said.correlation_data.is_empty() {
        put(&[id::CORRELATION_DATA])?;
        binary(put, said.correlation_data)?;
    }
    if !said.sealstone.is_empty() {
        put(&[id::USER_PROPERTY])?;
        text(put, USER_PROPERTY)?;
        text(put, said.sealstone)?;
    } else if said.sealstone_room > 0 {
        put(&[id::USER_PROPERTY])?;
        text(put, USER_PROPERTY)?;
        put(&said.sealstone_room.to_be_bytes())?;
        let mut rest = usize::from(said.sealstone_room);
        while rest > 0 {
            let piece = rest.min(32);
            put(&[b'A'; 32][..piece])?;
            rest -= piece;
        }
    }
    Ok(())
}

/// A UTF-8 string (MQTT 5.0, 1.5.4). Errors: `TooLong` over 65535 bytes; `BadPacket` for U+0000.
pub(crate) fn text(put: Put<'_>, text: &str) -> Result<(), Error> {
    if text.bytes().any(|byte| byte == 0) {
        return Err(Error::BadPacket);
    }
    binary(put, text.as_bytes())
}

/// Binary data (MQTT 5.0, 1.5.6). Errors: `TooLong` over 65535 bytes.
pub(crate) fn binary(put: Put<'_>, bytes: &[u8]) -> Result<(), Error> {
    let len = u16::try_from(bytes.len()).map_err(|_| Error::TooLong)?;
    put(&len.to_be_bytes())?;
    put(bytes)
}

/// The value of a property that came.
#[derive(Clone, Copy)]
pub(crate) enum Value<'a> {
    Number(u32),
    Text(&'a str),
    Binary(&'a [u8]),
    Pair(&'a str, &'a str),
}

/// A UTF-8 string that came. Errors: `Truncated`, `BadPacket`.
pub(crate) fn read_text<'a>(rest: &mut Bytes<'a>) -> Result<&'a str, Error> {
    as_text(read_binary(rest)?)
}

/// The same, once its bytes are there. Errors: `BadPacket`.
pub(crate) fn as_text(bytes: &[u8]) -> Result<&str, Error> {
    match core::str::from_utf8(bytes) {
        Ok(text) if !text.bytes().any(|byte| byte == 0) => Ok(text),
        _ => Err(Error::BadPacket),
    }
}

/// Binary data that came. Errors: `Truncated`.
pub(crate) fn read_binary<'a>(rest: &mut Bytes<'a>) -> Result<&'a [u8], Error> {
    let len = rest.u16()?;
    rest.take(usize::from(len))
}

/// A variable byte integer that came. Errors: `Truncated`, `BadPacket`.
pub(crate) fn read_variable(rest: &mut Bytes<'_>) -> Result<u32, Error> {
    let (value, used) = variable(rest.0)?.ok_or(Error::Truncated)?;
    rest.take(used)?;
    Ok(value)
}

/// A set of properties, by their numbers.
pub(crate) const fn set(ids: &[u8]) -> u64 {
    let (mut bits, mut i) = (1 << id::USER_PROPERTY, 0);
    while i < ids.len() {
        bits |= 1 << ids[i];
        i += 1;
    }
    bits
}

/// Reads the properties of a packet, with the length before them, and hands each over.
///
/// Errors: `BadPacket` for one that is not in `allowed`, comes twice (all but user properties and subscription identifiers),
/// or has a value outside its range; `Truncated`.
pub(crate) fn read<'a>(
    rest: &mut Bytes<'a>,
    allowed: u64,
    mut take: impl FnMut(u8, Value<'a>) -> Result<(), Error>,
) -> Result<(), Error> {
    let len = read_variable(rest)?;
    let mut some = Bytes(rest.take(len as usize)?);
    let mut seen = 0;
    while !some.0.is_empty() {
        let id = some.u8()?;
        let bit = 1u64.checked_shl(u32::from(id)).unwrap_or(0);
        let again = seen & bit != 0 && !matches!(id, id::USER_PROPERTY | id::SUBSCRIPTION_ID);
        if allowed & bit == 0 || again {
            return Err(Error::BadPacket);
        }
        seen |= bit;
        take(id, value(id, &mut some)?)?;
    }
    Ok(())
}

/// The value of a property, by its number (MQTT 5.0, 2.2.2.2 and 3.2.2.3).
fn value<'a>(id: u8, rest: &mut Bytes<'a>) -> Result<Value<'a>, Error> {
    let value = match id {
        // Any: Mosquitto hands on what its sender chose, and would again on the next connection.
        id::PAYLOAD_FORMAT => Value::Number(u32::from(rest.u8()?)),
        id::MAXIMUM_QOS
        | id::RETAIN_AVAILABLE
        | id::WILDCARD_AVAILABLE
        | id::SUBSCRIPTION_ID_AVAILABLE
        | id::SHARED_AVAILABLE => match rest.u8()? {
            bit @ (0 | 1) => Value::Number(u32::from(bit)),
            _ => return Err(Error::BadPacket),
        },
        id::MESSAGE_EXPIRY | id::SESSION_EXPIRY | id::WILL_DELAY => Value::Number(rest.u32()?),
        id::MAXIMUM_PACKET => Value::Number(not_zero(rest.u32()?)?),
        id::RECEIVE_MAXIMUM => Value::Number(not_zero(u32::from(rest.u16()?))?),
        id::SERVER_KEEP_ALIVE | id::TOPIC_ALIAS_MAXIMUM | id::TOPIC_ALIAS => {
            Value::Number(u32::from(rest.u16()?))
        }
        id::SUBSCRIPTION_ID => Value::Number(not_zero(read_variable(rest)?)?),
        id::CORRELATION_DATA | id::AUTH_DATA => Value::Binary(read_binary(rest)?),
        id::USER_PROPERTY => Value::Pair(read_text(rest)?, read_text(rest)?),
        id::CONTENT_TYPE
        | id::RESPONSE_TOPIC
        | id::ASSIGNED_CLIENT_ID
        | id::AUTH_METHOD
        | id::RESPONSE_INFORMATION
        | id::SERVER_REFERENCE
        | id::REASON_STRING => Value::Text(read_text(rest)?),
        _ => return Err(Error::BadPacket),
    };
    Ok(value)
}

fn not_zero(value: u32) -> Result<u32, Error> {
    if value == 0 { Err(Error::BadPacket) } else { Ok(value) }
}

/// Adds a property of a message to what was said. Errors: `BadTopic`; `Unsupported(Seal)` for a second `sealstone`.
pub(crate) fn add<'a>(said: &mut Properties<'a>, id: u8, value: Value<'a>) -> Result<(), Error> {
    match (id, value) {
        (id::MESSAGE_EXPIRY, Value::Number(seconds)) => said.message_expiry_s = Some(seconds),
        (id::CONTENT_TYPE, Value::Text(text)) => said.content_type = text,
        (id::RESPONSE_TOPIC, Value::Text(text)) => said.response_topic = Some(Topic::new(text)?),
        (id::CORRELATION_DATA, Value::Binary(bytes)) => said.correlation_data = bytes,
        (id::USER_PROPERTY, Value::Pair(USER_PROPERTY, _)) if !said.sealstone.is_empty() => {
            return Err(Error::Unsupported(Field::Seal));
        }
        (id::USER_PROPERTY, Value::Pair(USER_PROPERTY, envelope)) => said.sealstone = envelope,
        _ => {}
    }
    Ok(())
}
