//! Packets that a client sends.

use super::properties::{self, Body, Put, id};
use super::{Ack, Head, Properties, Publish, Qos, Version, to_variable};
use crate::error::Error;
use crate::seal::Writer;
use crate::topic::{Filter, Topic};
use core::fmt;

/// CONNECT (MQTT 5.0, 3.1). `Debug` shows neither the password nor the will's payload.
#[derive(Clone, Copy)]
pub struct Connect<'a> {
    /// The version that the client speaks from here on.
    pub version: Version,
    /// Who it is. Bounds: MQTT 3.1.1 wants one unless `clean`.
    pub client_id: &'a str,
    /// Whether an earlier session is dropped: Clean Start, and Clean Session in MQTT 3.1.1.
    pub clean: bool,
    /// Seconds that the broker keeps the session after the connection ends; MQTT 5.0 alone.
    pub session_expiry_s: u32,
    /// Seconds within which the client says something; 0 turns it off.
    pub keepalive_s: u16,
    /// Messages of QoS 1 and 2 that may be under way to the client; MQTT 5.0 alone. Bounds: not 0.
    pub receive_maximum: u16,
    /// Bytes of the longest packet that the client takes; MQTT 5.0 alone, 0 says nothing.
    pub maximum_packet: u32,
    /// What the broker publishes when the client is gone.
    pub will: Option<Will<'a>>,
    /// The user name.
    pub user_name: Option<&'a str>,
    /// The password. Bounds: MQTT 3.1.1 wants a user name with it.
    pub password: Option<&'a [u8]>,
}

/// What the broker publishes when the client is gone (MQTT 5.0, 3.1.3.2). The payload is an envelope like any other, sealed
/// when the client connects.
#[derive(Clone, Copy)]
pub struct Will<'a> {
    /// Where.
    pub topic: Topic<'a>,
    /// The envelope.
    pub payload: &'a [u8],
    /// How often it may arrive.
    pub qos: Qos,
    /// Whether the broker keeps it.
    pub retain: bool,
    /// Seconds that the broker waits for the client to come back; MQTT 5.0 alone.
    pub delay_s: u32,
    /// Properties of the message; MQTT 5.0 alone.
    pub properties: Properties<'a>,
}

impl Connect<'_> {
    /// A clean session that ends with the connection, 300 s of keep-alive, nobody named.
    pub const fn new(version: Version) -> Self {
        Connect {
            version,
            client_id: "",
            clean: true,
            session_expiry_s: 0,
            keepalive_s: 300,
            receive_maximum: u16::MAX,
            maximum_packet: 0,
            will: None,
            user_name: None,
            password: None,
        }
    }

    /// Writes the packet; returns its length.
    ///
    /// Errors: `TooLong`; `BadPacket` for U+0000 in a text, a receive maximum of 0, or in MQTT 3.1.1 no client id
    /// without `clean` (3.1.3-7), or a password without a user name (3.1.2-22).
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Error> {
        let mut to = Writer { out, at: 0 };
        self.emit_with(&mut |bytes| to.put(bytes), &|put| self.properties(put))?;
        Ok(to.at)
    }

    /// Hands the packet over, with the properties that are written by `properties`. Errors: as [`Self::emit`].
    pub(crate) fn emit_with(&self, out: Put<'_>, properties: Body<'_>) -> Result<(), Error> {
        let old = self.version == Version::V311;
        let nameless = old && self.client_id.is_empty() && !self.clean;
        let half = old && self.password.is_some() && self.user_name.is_none();
        if nameless || half || self.receive_maximum == 0 {
            return Err(Error::BadPacket);
        }
        let flags = u8::from(self.clean) << 1
            | self.will.map_or(0, |will| 1 << 2 | will.qos.byte() << 3 | u8::from(will.retain) << 5)
            | u8::from(self.password.is_some()) << 6
            | u8::from(self.user_name.is_some()) << 7;
        frame(out, 0x10, 0, &|put| {
            properties::text(put, "MQTT")?;
            put(&[if old { 4 } else { 5 }, flags])?;
            put(&self.keepalive_s.to_be_bytes())?;
            if !old {
                properties::emit(put, properties)?;
            }
            properties::text(put, self.client_id)?;
            if let Some(will) = &self.will {
                if !old {
                    properties::emit(put, &|put| {
                        if will.delay_s > 0 {
                            put(&[id::WILL_DELAY])?;
                            put(&will.delay_s.to_be_bytes())?;
                        }
                        properties::emit_of_message(put, &will.properties)
                    })?;
                }
                properties::text(put, will.topic.as_str())?;
                properties::binary(put, will.payload)?;
            }
            if let Some(name) = self.user_name {
                properties::text(put, name)?;
            }
            self.password.map_or(Ok(()), |password| properties::binary(put, password))
        })
    }

    fn properties(&self, put: Put<'_>) -> Result<(), Error> {
        if self.session_expiry_s > 0 {
            put(&[id::SESSION_EXPIRY])?;
            put(&self.session_expiry_s.to_be_bytes())?;
        }
        if self.receive_maximum < u16::MAX {
            put(&[id::RECEIVE_MAXIMUM])?;
            put(&self.receive_maximum.to_be_bytes())?;
        }
        if self.maximum_packet > 0 {
            put(&[id::MAXIMUM_PACKET])?;
            put(&self.maximum_packet.to_be_bytes())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Connect<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connect")
            .field("version", &self.version)
            .field("client_id", &self.client_id)
            .field("clean", &self.clean)
            .field("keepalive_s", &self.keepalive_s)
            .finish_non_exhaustive()
    }
}

impl Publish<'_> {
    /// Writes everything before a payload of `payload_len` bytes; returns how many bytes that is.
    ///
    /// Errors: `TooLong`; `BadPacket` for a packet id of 0 with QoS 1 or 2, another one with QoS 0, DUP with QoS 0
    /// (MQTT 5.0, 2.2.1 and 3.3.1.1), U+0000 in a text.
    pub fn emit_head(&self, version: Version, payload_len: usize, out: &mut [u8]) -> Result<usize, Error> {
        let Publish { topic, qos, retain, dup, packet_id, properties } = *self;
        let head = Head { topic: topic.as_str(), qos, retain, dup, packet_id };
        let mut to = Writer { out, at: 0 };
        head.emit(version, payload_len, &mut |bytes| to.put(bytes), &|put| {
            properties::emit_of_message(put, &properties)
        })?;
        Ok(to.at)
    }
}

impl Head<&str> {
    /// Hands over everything before a payload of `payload_len` bytes, with the properties that are written by `properties`.
    /// Errors: as [`Publish::emit_head`].
    pub(crate) fn emit(
        &self,
        version: Version,
        payload_len: usize,
        out: Put<'_>,
        properties: Body<'_>,
    ) -> Result<(), Error> {
        let numbered = self.qos != Qos::AtMostOnce;
        if numbered != (self.packet_id != 0) || self.dup && !numbered {
            return Err(Error::BadPacket);
        }
        let first = 0x30 | u8::from(self.dup) << 3 | self.qos.byte() << 1 | u8::from(self.retain);
        frame(out, first, payload_len, &|put| {
            properties::text(put, self.topic)?;
            if numbered {
                put(&self.packet_id.to_be_bytes())?;
            }
            if version == Version::V5 {
                properties::emit(put, properties)?;
            }
            Ok(())
        })
    }
}

/// SUBSCRIBE (MQTT 5.0, 3.8).
#[derive(Clone, Copy, Debug)]
pub struct Subscribe<'a> {
    /// What the SUBACK names. Bounds: not 0.
    pub packet_id: u16,
    /// What is wanted, and how often it may arrive at most. Bounds: not empty.
    pub filters: &'a [(Filter<'a>, Qos)],
}

impl Subscribe<'_> {
    /// Writes the packet; returns its length. Errors: `TooLong`, `BadPacket`.
    pub fn emit(&self, version: Version, out: &mut [u8]) -> Result<usize, Error> {
        let mut to = Writer { out, at: 0 };
        let filters = self.filters.iter().map(|(filter, qos)| (filter.as_str(), qos.byte()));
        subscribe(&mut |bytes| to.put(bytes), version, self.packet_id, filters)?;
        Ok(to.at)
    }
}

/// Hands over a SUBSCRIBE: filters with their options (MQTT 5.0, 3.8.3.1). Errors: as [`Subscribe::emit`].
pub(crate) fn subscribe<'f>(
    out: Put<'_>,
    version: Version,
    packet_id: u16,
    filters: impl Iterator<Item = (&'f str, u8)> + Clone,
) -> Result<(), Error> {
    if packet_id == 0 || filters.clone().next().is_none() {
        return Err(Error::BadPacket);
    }
    frame(out, 0x82, 0, &|put| {
        put(&packet_id.to_be_bytes())?;
        if version == Version::V5 {
            put(&[0])?;
        }
        filters.clone().try_for_each(|(filter, options)| {
            properties::text(put, filter)?;
            put(&[options])
        })
    })
}

/// An acknowledgement; its reason (MQTT 5.0, 3.4.2.1 to 3.7.2.1) is sent only in MQTT 5.0, and there only if it is not 0.
/// Returns the bytes and how many count.
pub fn ack(version: Version, ack: Ack, packet_id: u16, reason: u8) -> ([u8; 5], usize) {
    let first = (ack as u8) << 4 | u8::from(ack == Ack::Pubrel) << 1;
    let [high, low] = packet_id.to_be_bytes();
    match version {
        Version::V5 if reason != 0 => ([first, 3, high, low, reason], 5),
        _ => ([first, 2, high, low, 0], 4),
    }
}

/// DISCONNECT (MQTT 5.0, 3.14). Reason 0 ends the session in good order, 4 asks for the will; MQTT 3.1.1 knows 0 alone.
/// Returns the bytes and how many count.
pub fn disconnect(version: Version, reason: u8) -> ([u8; 3], usize) {
    match version {
        Version::V5 if reason != 0 => ([0xe0, 1, reason], 3),
        _ => ([0xe0, 0, 0], 2),
    }
}

/// Hands over a packet: first byte, length of what follows, `body`; `after` bytes come behind it from somewhere else. `body` is
/// counted first, so nothing is handed over of what is too long.
pub(crate) fn frame(out: Put<'_>, first: u8, after: usize, body: Body<'_>) -> Result<(), Error> {
    let mut len = after;
    body(&mut |bytes| {
        len = len.saturating_add(bytes.len());
        Ok(())
    })?;
    let (head, used) = to_variable(len)?;
    out(&[first])?;
    out(&head[..used])?;
    body(out)
}
