//! Packets of MQTT 3.1.1 and 5.0 as bytes: what a client sends and reads, and what a broker does.
//!
//! Own code and no library, because of what a gateway needs and the client libraries of Rust do not give: the packet
//! identifier of a publication before it is sent and after a restart (exactly once, MQTT 5.0, 4.3.3), acknowledgements at a time
//! of our choosing, and every property as it came.

mod properties;

pub use properties::Properties;

use std::fmt;

use zeroize::Zeroizing;

/// The two versions that are in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
pub enum Version {
    /// MQTT 3.1.1, protocol level 4.
    #[serde(rename = "3.1.1")]
    V311,
    /// MQTT 5.0.
    #[default]
    #[serde(rename = "5")]
    V5,
}

/// Quality of service (MQTT 5.0, 4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Qos {
    /// At most once.
    #[default]
    AtMostOnce,
    /// At least once.
    AtLeastOnce,
    /// Exactly once.
    ExactlyOnce,
}

impl Qos {
    /// All three, in the order of their numbers.
    pub const ALL: [Qos; 3] = [Qos::AtMostOnce, Qos::AtLeastOnce, Qos::ExactlyOnce];
}

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
}

/// Why bytes are no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a packet of MQTT: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

impl Packet {
    /// Writes the packet behind what `out` holds. Errors: a text or the whole is longer than its length field can say.
    pub fn emit(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Malformed> {
        let mut body = Vec::new();
        let first = match self {
            Packet::Connect(connect) => {
                emit_connect(connect, version, &mut body)?;
                0x10
            }
            Packet::ConnAck { session_present, code, properties } => {
                body.extend([u8::from(*session_present), *code]);
                properties.emit_for(version, &mut body)?;
                0x20
            }
            Packet::Publish(publish) => {
                put_text(&publish.topic, &mut body)?;
                if publish.qos != Qos::AtMostOnce {
                    body.extend(publish.id.to_be_bytes());
                }
                publish.properties.emit_for(version, &mut body)?;
                body.extend(&publish.payload);
                0x30 | u8::from(publish.dup) << 3 | (publish.qos as u8) << 1 | u8::from(publish.retain)
            }
            Packet::PubAck { id, reason } => acknowledge(0x40, *id, *reason, version, &mut body),
            Packet::PubRec { id, reason } => acknowledge(0x50, *id, *reason, version, &mut body),
            Packet::PubRel { id, reason } => acknowledge(0x62, *id, *reason, version, &mut body),
            Packet::PubComp { id, reason } => acknowledge(0x70, *id, *reason, version, &mut body),
            Packet::Subscribe { id, filters } => {
                body.extend(id.to_be_bytes());
                Properties::default().emit_for(version, &mut body)?;
                for (filter, options) in filters {
                    put_text(filter, &mut body)?;
                    body.push(*options);
                }
                0x82
            }
            Packet::SubAck { id, codes } => {
                body.extend(id.to_be_bytes());
                Properties::default().emit_for(version, &mut body)?;
                body.extend(codes);
                0x90
            }
            Packet::PingReq => 0xc0,
            Packet::PingResp => 0xd0,
            Packet::Disconnect { reason } => {
                if version == Version::V5 && *reason != 0 {
                    body.push(*reason);
                }
                0xe0
            }
        };
        out.push(first);
        put_length(body.len(), out)?;
        out.extend(body);
        Ok(())
    }

    /// Reads a packet from its first byte and what the length said that there is. Errors: `Malformed`.
    pub fn parse(version: Version, first: u8, body: &[u8]) -> Result<Self, Malformed> {
        let mut rest = Rest(body);
        let flags = first & 15;
        let kind = first >> 4;
        let expected = match kind {
            6 | 8 => 2,
            3 => flags,
            _ => 0,
        };
        if flags != expected {
            return Err(Malformed("reserved flags"));
        }
        let packet = match kind {
            1 => Packet::Connect(Box::new(parse_connect(version, &mut rest)?)),
            2 => Packet::ConnAck {
                session_present: rest.u8()? & 1 == 1,
                code: rest.u8()?,
                properties: Box::new(Properties::parse_for(version, &mut rest)?),
            },
            3 => Packet::Publish(Box::new(parse_publish(version, flags, &mut rest)?)),
            4..=7 => {
                let (id, reason) = (rest.u16()?, if rest.0.is_empty() { 0 } else { rest.u8()? });
                if version == Version::V5 && !rest.0.is_empty() {
                    Properties::parse(&mut rest)?;
                }
                match kind {
                    4 => Packet::PubAck { id, reason },
                    5 => Packet::PubRec { id, reason },
                    6 => Packet::PubRel { id, reason },
                    _ => Packet::PubComp { id, reason },
                }
            }
            8 => {
                let id = rest.u16()?;
                Properties::parse_for(version, &mut rest)?;
                let mut filters = Vec::new();
                while !rest.0.is_empty() {
                    filters.push((rest.text()?, rest.u8()?));
                }
                Packet::Subscribe { id, filters }
            }
            9 => {
                let id = rest.u16()?;
                Properties::parse_for(version, &mut rest)?;
                Packet::SubAck { id, codes: rest.all().to_vec() }
            }
            12 => Packet::PingReq,
            13 => Packet::PingResp,
            14 => {
                let reason = if rest.0.is_empty() { 0 } else { rest.u8()? };
                rest.all();
                Packet::Disconnect { reason }
            }
            _ => return Err(Malformed("a type that is not expected")),
        };
        if rest.0.is_empty() { Ok(packet) } else { Err(Malformed("bytes behind it")) }
    }
}

fn emit_connect(connect: &Connect, version: Version, body: &mut Vec<u8>) -> Result<(), Malformed> {
    put_text("MQTT", body)?;
    let level = if version == Version::V5 { 5 } else { 4 };
    let (user, password) = (connect.user.is_some(), connect.password.is_some());
    body.extend([level, u8::from(user) << 7 | u8::from(password) << 6 | u8::from(connect.clean_start) << 1]);
    body.extend(connect.keep_alive_s.to_be_bytes());
    connect.properties.emit_for(version, body)?;
    put_text(&connect.client_id, body)?;
    connect.user.as_ref().map_or(Ok(()), |user| put_text(user, body))?;
    connect.password.as_ref().map_or(Ok(()), |password| put_bytes(password, body))
}

/// The level in the packet must be that of `version`; a will is read over.
fn parse_connect(version: Version, rest: &mut Rest<'_>) -> Result<Connect, Malformed> {
    if rest.text()? != "MQTT" || rest.u8()? != if version == Version::V5 { 5 } else { 4 } {
        return Err(Malformed("another protocol or version"));
    }
    let flags = rest.u8()?;
    let keep_alive_s = rest.u16()?;
    let properties = Properties::parse_for(version, rest)?;
    let client_id = rest.text()?;
    if flags & 4 != 0 {
        Properties::parse_for(version, rest)?;
        rest.text()?;
        rest.bytes()?;
    }
    let user = if flags & 0x80 == 0 { None } else { Some(rest.text()?) };
    let password = if flags & 0x40 == 0 { None } else { Some(Zeroizing::new(rest.bytes()?.to_vec())) };
    Ok(Connect { client_id, clean_start: flags & 2 != 0, keep_alive_s, user, password, properties })
}

fn parse_publish(version: Version, flags: u8, rest: &mut Rest<'_>) -> Result<Publish, Malformed> {
    let qos = Qos::ALL.into_iter().find(|qos| *qos as u8 == flags >> 1 & 3).ok_or(Malformed("QoS 3"))?;
    let topic = rest.text()?;
    let id = if qos == Qos::AtMostOnce { 0 } else { rest.u16()? };
    if qos != Qos::AtMostOnce && id == 0 {
        return Err(Malformed("a packet identifier of 0"));
    }
    let properties = Properties::parse_for(version, rest)?;
    let payload = rest.all().to_vec();
    Ok(Publish { dup: flags & 8 != 0, qos, retain: flags & 1 != 0, topic, id, properties, payload })
}

/// The reason is left out where it says nothing (MQTT 5.0, 3.4.2.1), and in MQTT 3.1.1.
fn acknowledge(first: u8, id: u16, reason: u8, version: Version, body: &mut Vec<u8>) -> u8 {
    body.extend(id.to_be_bytes());
    if version == Version::V5 && reason != 0 {
        body.push(reason);
    }
    first
}

/// The bytes of a packet as far as they are there: its first byte and its body's length, and how many bytes these two took.
/// None if more bytes are needed. Errors: `Malformed` for a length of more than four bytes.
pub fn head(bytes: &[u8]) -> Result<Option<(u8, usize, usize)>, Malformed> {
    let Some((first, rest)) = bytes.split_first() else { return Ok(None) };
    let mut length = 0;
    for (at, byte) in rest.iter().take(4).enumerate() {
        length |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Ok(Some((*first, length, at + 2)));
        }
    }
    if rest.len() >= 4 { Err(Malformed("a length of more than four bytes")) } else { Ok(None) }
}

/// A variable byte integer (MQTT 5.0, 1.5.5).
fn put_length(mut length: usize, out: &mut Vec<u8>) -> Result<(), Malformed> {
    if length > 268_435_455 {
        return Err(Malformed("too long"));
    }
    loop {
        let low = (length & 0x7f) as u8;
        length >>= 7;
        if length == 0 {
            out.push(low);
            return Ok(());
        }
        out.push(low | 0x80);
    }
}

fn put_text(text: &str, out: &mut Vec<u8>) -> Result<(), Malformed> {
    put_bytes(text.as_bytes(), out)
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    let length = u16::try_from(bytes.len()).map_err(|_| Malformed("a text of more than 65535 bytes"))?;
    out.extend(length.to_be_bytes());
    out.extend(bytes);
    Ok(())
}

/// Reads fields off the front of bytes.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Malformed("cut short"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn all(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    fn u8(&mut self) -> Result<u8, Malformed> {
        self.take(1).map(|byte| byte[0])
    }

    fn u16(&mut self) -> Result<u16, Malformed> {
        self.take(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn u32(&mut self) -> Result<u32, Malformed> {
        self.take(4).map(|bytes| bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
    }

    fn length(&mut self) -> Result<usize, Malformed> {
        let mut length = 0;
        for at in 0..4 {
            let byte = self.u8()?;
            length |= usize::from(byte & 0x7f) << (7 * at);
            if byte & 0x80 == 0 {
                return Ok(length);
            }
        }
        Err(Malformed("a length of more than four bytes"))
    }

    fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.u16()?;
        self.take(usize::from(length))
    }

    fn text(&mut self) -> Result<String, Malformed> {
        let text = std::str::from_utf8(self.bytes()?).map_err(|_| Malformed("a text that is not UTF-8"))?;
        if text.contains('\0') {
            return Err(Malformed("a text with U+0000"));
        }
        Ok(text.to_owned())
    }
}
