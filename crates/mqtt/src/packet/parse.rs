//! Packets that a server sends, as views.

use super::properties::{self, Value, id, set};
use super::{Ack, Head, Properties, Publish, Qos, Version, packet_len};
use crate::error::Error;
use crate::open::Bytes;
use crate::topic::Topic;

/// A packet from a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet<'a> {
    /// The answer to CONNECT.
    Connack(Connack<'a>),
    /// A message and its payload.
    Publish(Publish<'a>, &'a [u8]),
    /// An acknowledgement: which, of which packet, and its reason (0 in MQTT 3.1.1).
    Ack(Ack, u16, u8),
    /// The answer to SUBSCRIBE.
    Suback(Suback<'a>),
    /// The answer to PINGREQ.
    Pingresp,
    /// The server leaves, and why (MQTT 5.0 alone).
    Disconnect(u8),
}

/// CONNACK (MQTT 5.0, 3.2). What MQTT 3.1.1 does not say has the value that MQTT 5.0 gives it by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connack<'a> {
    /// Whether the server still has the session.
    pub session_present: bool,
    /// 0, or why not.
    pub reason: u8,
    /// Messages of QoS 1 and 2 that may be under way to the server.
    pub receive_maximum: u16,
    /// The best quality that the server has.
    pub maximum_qos: Qos,
    /// Whether the server keeps messages for those who come later.
    pub retain_available: bool,
    /// Bytes of the longest packet that the server takes.
    pub maximum_packet: u32,
    /// The keep-alive that counts instead of the client's.
    pub keepalive_s: Option<u16>,
    /// The name that the server gave a client without one; empty for none.
    pub client_id: &'a str,
}

/// SUBACK (MQTT 5.0, 3.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suback<'a> {
    /// Of which SUBSCRIBE.
    pub packet_id: u16,
    /// One byte for each filter: the quality that was granted, or from 0x80 on why not.
    pub reasons: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads a whole packet.
    ///
    /// Shapes: as many bytes as [`packet_len`] says. Errors: `Truncated`, `TrailingBytes`; `BadPacket` for one that is
    /// malformed (MQTT 5.0, 4.13.1), or that no server may send to this client: topic aliases and extended authentication
    /// were never offered; `BadTopic`.
    pub fn parse(version: Version, bytes: &'a [u8]) -> Result<Self, Error> {
        let (first, rest) = open(bytes)?;
        match (first >> 4, first & 15) {
            (2, 0) => connack(version, rest).map(Packet::Connack),
            (3, flags) => publish(version, flags, rest),
            (4, 0) => acknowledged(version, Ack::Puback, rest),
            (5, 0) => acknowledged(version, Ack::Pubrec, rest),
            (6, 2) => acknowledged(version, Ack::Pubrel, rest),
            (7, 0) => acknowledged(version, Ack::Pubcomp, rest),
            (9, 0) => suback(version, rest),
            (13, 0) => rest.end().map(|()| Packet::Pingresp),
            (14, 0) if version == Version::V5 => disconnect(rest),
            _ => Err(Error::BadPacket),
        }
    }
}

/// The first byte of a whole packet, and what follows its length. Errors: `Truncated`, `TrailingBytes`, `BadPacket`.
pub(crate) fn open(bytes: &[u8]) -> Result<(u8, Bytes<'_>), Error> {
    match packet_len(bytes)? {
        Some(len) if len == bytes.len() => {}
        Some(len) if len < bytes.len() => return Err(Error::TrailingBytes),
        _ => return Err(Error::Truncated),
    }
    let mut rest = Bytes(bytes);
    let first = rest.u8()?;
    properties::read_variable(&mut rest)?;
    Ok((first, rest))
}

fn connack(version: Version, rest: Bytes<'_>) -> Result<Connack<'_>, Error> {
    let mut connack = Connack {
        session_present: false,
        reason: 0,
        receive_maximum: u16::MAX,
        maximum_qos: Qos::ExactlyOnce,
        retain_available: true,
        maximum_packet: u32::MAX,
        keepalive_s: None,
        client_id: "",
    };
    (connack.session_present, connack.reason) = read_connack(version, rest, |id, value| {
        match (id, value) {
            (id::RECEIVE_MAXIMUM, Value::Number(most)) => connack.receive_maximum = most as u16, // two bytes
            (id::MAXIMUM_QOS, Value::Number(most)) => connack.maximum_qos = Qos::of(most as u8)?, // 0 or 1
            (id::RETAIN_AVAILABLE, Value::Number(bit)) => connack.retain_available = bit == 1,
            (id::MAXIMUM_PACKET, Value::Number(most)) => connack.maximum_packet = most,
            (id::SERVER_KEEP_ALIVE, Value::Number(s)) => connack.keepalive_s = Some(s as u16), // two bytes
            (id::ASSIGNED_CLIENT_ID, Value::Text(name)) => connack.client_id = name,
            _ => {}
        }
        Ok(())
    })?;
    Ok(connack)
}

/// MQTT 5.0, 3.2; MQTT 3.1.1, 3.2: whether there is a session, and the reason. Each property goes to `take`.
pub(crate) fn read_connack<'a>(
    version: Version,
    mut rest: Bytes<'a>,
    take: impl FnMut(u8, Value<'a>) -> Result<(), Error>,
) -> Result<(bool, u8), Error> {
    let (flags, reason) = (rest.u8()?, rest.u8()?);
    let known = match version {
        Version::V311 => reason <= 5,
        Version::V5 => reason == 0 || reason >= 0x80,
    };
    // 3.2.2-6: a server that refuses has no session.
    if flags > 1 || !known || reason != 0 && flags != 0 {
        return Err(Error::BadPacket);
    }
    const ALLOWED: u64 = set(&[
        id::SESSION_EXPIRY,
        id::ASSIGNED_CLIENT_ID,
        id::SERVER_KEEP_ALIVE,
        id::RESPONSE_INFORMATION,
        id::SERVER_REFERENCE,
        id::REASON_STRING,
        id::RECEIVE_MAXIMUM,
        id::TOPIC_ALIAS_MAXIMUM,
        id::MAXIMUM_QOS,
        id::RETAIN_AVAILABLE,
        id::MAXIMUM_PACKET,
        id::WILDCARD_AVAILABLE,
        id::SUBSCRIPTION_ID_AVAILABLE,
        id::SHARED_AVAILABLE,
    ]);
    if version == Version::V5 {
        properties::read(&mut rest, ALLOWED, take)?;
    }
    rest.end()?;
    Ok((flags == 1, reason))
}

/// The properties of a message.
pub(crate) const OF_MESSAGE: u64 = set(&[
    id::PAYLOAD_FORMAT,
    id::MESSAGE_EXPIRY,
    id::CONTENT_TYPE,
    id::RESPONSE_TOPIC,
    id::CORRELATION_DATA,
    id::SUBSCRIPTION_ID,
]);

fn publish(version: Version, flags: u8, rest: Bytes<'_>) -> Result<Packet<'_>, Error> {
    let mut said = Properties::NONE;
    let (head, payload) =
        read_publish(version, flags, rest, OF_MESSAGE, |id, value| properties::add(&mut said, id, value))?;
    let Head { topic, qos, retain, dup, packet_id } = head;
    let publish = Publish { topic: Topic::from_bytes(topic)?, qos, retain, dup, packet_id, properties: said };
    Ok(Packet::Publish(publish, payload))
}

/// MQTT 5.0, 3.3: what stands before the properties, and the payload behind them. Each property goes to `take`. Whether the
/// topic is one is for the caller to say.
pub(crate) fn read_publish<'a>(
    version: Version,
    flags: u8,
    mut rest: Bytes<'a>,
    allowed: u64,
    take: impl FnMut(u8, Value<'a>) -> Result<(), Error>,
) -> Result<(Head<&'a [u8]>, &'a [u8]), Error> {
    let head = read_head(flags, &mut rest)?;
    if version == Version::V5 {
        properties::read(&mut rest, allowed, take)?;
    }
    Ok((head, rest.0))
}

/// The same of a PUBLISH of which these are the first bytes. Errors: `Truncated` if there are too few of them; `BadPacket`, also
/// for another packet.
pub(crate) fn begun_publish(bytes: &[u8]) -> Result<Head<&[u8]>, Error> {
    let mut rest = Bytes(bytes);
    let first = rest.u8()?;
    properties::read_variable(&mut rest)?;
    if first >> 4 == 3 { read_head(first & 15, &mut rest) } else { Err(Error::BadPacket) }
}

fn read_head<'a>(flags: u8, rest: &mut Bytes<'a>) -> Result<Head<&'a [u8]>, Error> {
    let qos = Qos::of(flags >> 1 & 3)?;
    let dup = flags & 8 != 0;
    if dup && qos == Qos::AtMostOnce {
        return Err(Error::BadPacket); // 3.3.1-2
    }
    let topic = properties::read_binary(rest)?;
    let packet_id = if qos == Qos::AtMostOnce { 0 } else { packet_id(rest)? };
    Ok(Head { topic, qos, retain: flags & 1 != 0, dup, packet_id })
}

/// MQTT 5.0, 3.4 to 3.7: the reason and the properties may be left out.
fn acknowledged(version: Version, ack: Ack, mut rest: Bytes<'_>) -> Result<Packet<'_>, Error> {
    let packet_id = packet_id(&mut rest)?;
    let mut reason = 0;
    if version == Version::V5 && !rest.0.is_empty() {
        reason = rest.u8()?;
        let known = match ack {
            Ack::Puback | Ack::Pubrec => {
                matches!(reason, 0 | 0x10 | 0x80 | 0x83 | 0x87 | 0x90 | 0x91 | 0x97 | 0x99)
            }
            Ack::Pubrel | Ack::Pubcomp => matches!(reason, 0 | 0x92),
        };
        if !known {
            return Err(Error::BadPacket);
        }
        if !rest.0.is_empty() {
            properties::read(&mut rest, set(&[id::REASON_STRING]), |_, _| Ok(()))?;
        }
    }
    rest.end()?;
    Ok(Packet::Ack(ack, packet_id, reason))
}

/// MQTT 5.0, 3.9.
fn suback(version: Version, mut rest: Bytes<'_>) -> Result<Packet<'_>, Error> {
    let packet_id = packet_id(&mut rest)?;
    if version == Version::V5 {
        properties::read(&mut rest, set(&[id::REASON_STRING]), |_, _| Ok(()))?;
    }
    let reasons = rest.0;
    let known = |reason: &u8| match version {
        Version::V311 => matches!(reason, 0..=2 | 0x80),
        Version::V5 => {
            matches!(reason, 0..=2 | 0x80 | 0x83 | 0x87 | 0x8f | 0x91 | 0x97 | 0x9e | 0xa1 | 0xa2)
        }
    };
    if reasons.is_empty() || !reasons.iter().all(known) {
        return Err(Error::BadPacket);
    }
    Ok(Packet::Suback(Suback { packet_id, reasons }))
}

/// MQTT 5.0, 3.14: the reason and the properties may be left out.
fn disconnect(mut rest: Bytes<'_>) -> Result<Packet<'_>, Error> {
    let mut reason = 0;
    if !rest.0.is_empty() {
        reason = rest.u8()?;
        if !rest.0.is_empty() {
            const ALLOWED: u64 = set(&[id::SERVER_REFERENCE, id::REASON_STRING]);
            properties::read(&mut rest, ALLOWED, |_, _| Ok(()))?;
        }
    }
    rest.end()?;
    Ok(Packet::Disconnect(reason))
}

/// A packet id that came. Errors: `Truncated`; `BadPacket` for 0 (MQTT 5.0, 2.2.1).
pub(crate) fn packet_id(rest: &mut Bytes<'_>) -> Result<u16, Error> {
    match rest.u16()? {
        0 => Err(Error::BadPacket),
        id => Ok(id),
    }
}
