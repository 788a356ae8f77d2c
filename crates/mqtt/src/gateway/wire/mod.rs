//! Packets of MQTT 3.1.1 and 5.0 that own their bytes, read and written by [`crate::packet`].
//!
//! Own code and no library, because of what a gateway needs and the client libraries of Rust do not give: the packet
//! identifier of a publication before it is sent and after a restart (exactly once, MQTT 5.0, 4.3.3), acknowledgements at a time
//! of our choosing, and every property as it came. What a device would refuse to read and a gateway must not, because it would get
//! the same again for ever, is a matter of its verdict: a topic or a response topic with wildcards, two envelopes in user
//! properties, a topic alias.

mod properties;
mod server;

pub use crate::packet::{Qos, Version};
pub use properties::Properties;

use std::fmt;

use zeroize::Zeroizing;

use crate::error::Error;
use crate::open::Bytes;
use crate::packet::emit::{ack, disconnect, subscribe};
use crate::packet::parse::{OF_MESSAGE, begun_publish, open, read_connack, read_publish};
use crate::packet::properties::{Put, as_text, id, set};
use crate::packet::{self, Ack, Head, PINGREQ};

/// A control packet (MQTT 5.0, 3).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names and fields are those of the standard")]
pub enum Packet {
    Connect(Box<Connect>),
    ConnAck { session_present: bool, code: u8, properties: Box<Properties> },
    Publish(Box<Publish>),
    PubAck { id: u16, reason: u8 },
    PubRec { id: u16, reason: u8 },
    PubRel { id: u16, reason: u8 },
    PubComp { id: u16, reason: u8 },
    Subscribe { id: u16, filters: Vec<(String, u8)> },
    SubAck { id: u16, codes: Vec<u8> },
    PingReq,
    PingResp,
    Disconnect { reason: u8 },
}

/// A client's first packet (MQTT 5.0, 3.1). There is no will: a gateway has none.
#[derive(Clone, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names and fields are those of the standard")]
pub struct Connect {
    pub client_id: String,
    pub clean_start: bool,
    pub keep_alive_s: u16,
    pub user: Option<String>,
    pub password: Option<Zeroizing<Vec<u8>>>,
    pub properties: Properties,
}

/// Without the password.
impl fmt::Debug for Connect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connect").field("client_id", &self.client_id).finish_non_exhaustive()
    }
}

/// An application message on its way (MQTT 5.0, 3.3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names and fields are those of the standard")]
pub struct Publish {
    pub dup: bool,
    pub qos: Qos,
    pub retain: bool,
    pub topic: String,
    /// 0 at QoS 0.
    pub id: u16,
    pub properties: Properties,
    pub payload: Vec<u8>,
    /// Bytes of a packet that is longer than its reader takes ([`Options::max_packet_bytes`]): properties and payload are not here.
    ///
    /// [`Options::max_packet_bytes`]: super::link::Options::max_packet_bytes
    pub too_large: Option<usize>,
}

impl Packet {
    /// Writes the packet behind what `out` holds; nothing on an error.
    /// Errors: `TooLong` for a text or a packet that is longer than its length field can say, `BadPacket` for one that may not
    /// be sent: a packet identifier of 0, or another one at QoS 0, U+0000 in a text.
    pub fn emit(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Error> {
        let acknowledge = |out: &mut Vec<u8>, kind, id, reason| {
            let (bytes, len) = ack(version, kind, id, reason);
            out.extend(&bytes[..len]);
            Ok(())
        };
        let mut put = |bytes: &[u8]| {
            out.extend(bytes);
            Ok(())
        };
        match self {
            Packet::Connect(connect) => connect.emit(version, &mut put),
            Packet::ConnAck { session_present, code, properties } => {
                server::emit_connack(version, *session_present, *code, properties, &mut put)
            }
            Packet::Publish(publish) => publish.emit(version, out),
            Packet::PubAck { id, reason } => acknowledge(out, Ack::Puback, *id, *reason),
            Packet::PubRec { id, reason } => acknowledge(out, Ack::Pubrec, *id, *reason),
            Packet::PubRel { id, reason } => acknowledge(out, Ack::Pubrel, *id, *reason),
            Packet::PubComp { id, reason } => acknowledge(out, Ack::Pubcomp, *id, *reason),
            Packet::Subscribe { id, filters } => {
                let filters = filters.iter().map(|(filter, options)| (filter.as_str(), *options));
                subscribe(&mut put, version, *id, filters)
            }
            Packet::SubAck { id, codes } => server::emit_suback(version, *id, codes, &mut put),
            Packet::PingReq => put(&PINGREQ),
            Packet::PingResp => server::emit_pingresp(&mut put),
            Packet::Disconnect { reason } => {
                let (bytes, len) = disconnect(version, *reason);
                put(&bytes[..len])
            }
        }
    }

    /// Reads a whole packet.
    ///
    /// Shapes: as many bytes as [`packet::packet_len`] says. Errors: `Truncated`, `TrailingBytes`, `BadPacket` for what is
    /// malformed or unknown.
    pub fn parse(version: Version, bytes: &[u8]) -> Result<Self, Error> {
        let (first, rest) = open(bytes)?;
        match (first >> 4, first & 15) {
            (1, 0) => server::parse_connect(version, rest).map(Box::new).map(Packet::Connect),
            (2, 0) => {
                let mut properties = Box::<Properties>::default();
                let (session_present, code) =
                    read_connack(version, rest, |id, value| properties.add(id, value))?;
                Ok(Packet::ConnAck { session_present, code, properties })
            }
            (3, flags) => Publish::parse(version, flags, rest).map(Box::new).map(Packet::Publish),
            (8, 2) => server::parse_subscribe(version, rest),
            (12, 0) => rest.end().map(|()| Packet::PingReq),
            _ => match packet::Packet::parse(version, bytes)? {
                packet::Packet::Ack(Ack::Puback, id, reason) => Ok(Packet::PubAck { id, reason }),
                packet::Packet::Ack(Ack::Pubrec, id, reason) => Ok(Packet::PubRec { id, reason }),
                packet::Packet::Ack(Ack::Pubrel, id, reason) => Ok(Packet::PubRel { id, reason }),
                packet::Packet::Ack(Ack::Pubcomp, id, reason) => Ok(Packet::PubComp { id, reason }),
                packet::Packet::Suback(suback) => {
                    Ok(Packet::SubAck { id: suback.packet_id, codes: suback.reasons.to_vec() })
                }
                packet::Packet::Pingresp => Ok(Packet::PingResp),
                packet::Packet::Disconnect(reason) => Ok(Packet::Disconnect { reason }),
                // The arms above have them.
                packet::Packet::Connack(_) | packet::Packet::Publish(..) => Err(Error::BadPacket),
            },
        }
    }
}

impl Connect {
    fn emit(&self, version: Version, put: Put<'_>) -> Result<(), Error> {
        let view = packet::Connect {
            client_id: &self.client_id,
            clean: self.clean_start,
            keepalive_s: self.keep_alive_s,
            user_name: self.user.as_deref(),
            password: self.password.as_ref().map(|password| password.as_slice()),
            ..packet::Connect::new(version)
        };
        view.emit_with(put, &|put| self.properties.emit(put))
    }
}

impl Publish {
    fn emit(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Error> {
        let head = Head {
            topic: self.topic.as_str(),
            qos: self.qos,
            retain: self.retain,
            dup: self.dup,
            packet_id: self.id,
        };
        let mut put = |bytes: &[u8]| {
            out.extend(bytes);
            Ok(())
        };
        head.emit(version, self.payload.len(), &mut put, &|put| self.properties.emit(put))?;
        out.extend(&self.payload);
        Ok(())
    }

    fn parse(version: Version, flags: u8, rest: Bytes<'_>) -> Result<Self, Error> {
        const ALLOWED: u64 = OF_MESSAGE | set(&[id::TOPIC_ALIAS]);
        let mut properties = Properties::default();
        let (head, payload) =
            read_publish(version, flags, rest, ALLOWED, |id, value| properties.add(id, value))?;
        Ok(Publish { properties, payload: payload.to_vec(), ..Self::of(head)? })
    }

    /// One of `len` bytes, which is too large, by the first of them. Errors: as [`begun_publish`].
    pub(super) fn begun(bytes: &[u8], len: usize) -> Result<Self, Error> {
        Ok(Publish { too_large: Some(len), ..Self::of(begun_publish(bytes)?)? })
    }

    fn of(head: Head<&[u8]>) -> Result<Self, Error> {
        let Head { topic, qos, retain, dup, packet_id } = head;
        Ok(Publish { dup, qos, retain, topic: as_text(topic)?.to_owned(), id: packet_id, ..Self::default() })
    }
}
