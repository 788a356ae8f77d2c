//! Properties of MQTT 5.0 (2.2.2).

use super::{Malformed, Rest, Version, put_bytes, put_length, put_text};

/// The properties that a gateway reads or writes; others are checked for their form and left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the standard")]
pub struct Properties {
    pub payload_format: Option<u8>,
    pub message_expiry_s: Option<u32>,
    pub content_type: Option<String>,
    pub response_topic: Option<String>,
    pub correlation_data: Option<Vec<u8>>,
    pub session_expiry_s: Option<u32>,
    pub server_keep_alive_s: Option<u16>,
    pub receive_maximum: Option<u16>,
    pub topic_alias_maximum: Option<u16>,
    pub topic_alias: Option<u16>,
    pub maximum_packet_size: Option<u32>,
    pub maximum_qos: Option<u8>,
    pub user: Vec<(String, String)>,
}

impl Properties {
    /// The values of a user property.
    pub fn user<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.user.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Nothing in MQTT 3.1.1, which has no properties.
    pub(super) fn emit_for(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Malformed> {
        if version == Version::V5 { self.emit(out) } else { Ok(()) }
    }

    /// Nothing in MQTT 3.1.1.
    pub(super) fn parse_for(version: Version, rest: &mut Rest<'_>) -> Result<Self, Malformed> {
        if version == Version::V5 { Self::parse(rest) } else { Ok(Self::default()) }
    }

    /// Writes the length and the properties.
    pub(super) fn emit(&self, out: &mut Vec<u8>) -> Result<(), Malformed> {
        let mut body = Vec::new();
        if let Some(value) = self.payload_format {
            body.extend([0x01, value]);
        }
        for (id, value) in
            [(0x02, self.message_expiry_s), (0x11, self.session_expiry_s), (0x27, self.maximum_packet_size)]
        {
            if let Some(value) = value {
                body.push(id);
                body.extend(value.to_be_bytes());
            }
        }
        for (id, value) in [(0x03, &self.content_type), (0x08, &self.response_topic)] {
            if let Some(value) = value {
                body.push(id);
                put_text(value, &mut body)?;
            }
        }
        if let Some(value) = &self.correlation_data {
            body.push(0x09);
            put_bytes(value, &mut body)?;
        }
        for (id, value) in [
            (0x13, self.server_keep_alive_s),
            (0x21, self.receive_maximum),
            (0x22, self.topic_alias_maximum),
            (0x23, self.topic_alias),
        ] {
            if let Some(value) = value {
                body.push(id);
                body.extend(value.to_be_bytes());
            }
        }
        if let Some(value) = self.maximum_qos {
            body.extend([0x24, value]);
        }
        for (name, value) in &self.user {
            body.push(0x26);
            put_text(name, &mut body)?;
            put_text(value, &mut body)?;
        }
        put_length(body.len(), out)?;
        out.extend(body);
        Ok(())
    }

    /// Reads the length and the properties. Errors: `Malformed`; also for a property that comes twice and may not.
    pub(super) fn parse(rest: &mut Rest<'_>) -> Result<Self, Malformed> {
        let length = rest.length()?;
        let mut rest = Rest(rest.take(length)?);
        let mut found = Self::default();
        while !rest.0.is_empty() {
            match rest.u8()? {
                0x01 => once(&mut found.payload_format, rest.u8()?)?,
                0x02 => once(&mut found.message_expiry_s, rest.u32()?)?,
                0x03 => once(&mut found.content_type, rest.text()?)?,
                0x08 => once(&mut found.response_topic, rest.text()?)?,
                0x09 => once(&mut found.correlation_data, rest.bytes()?.to_vec())?,
                0x0b => drop(rest.length()?), // subscription identifier
                0x11 => once(&mut found.session_expiry_s, rest.u32()?)?,
                0x12 | 0x15 | 0x1a | 0x1c | 0x1f => drop(rest.text()?),
                0x13 => once(&mut found.server_keep_alive_s, rest.u16()?)?,
                0x16 => drop(rest.bytes()?),
                0x17 | 0x19 | 0x25 | 0x28 | 0x29 | 0x2a => drop(rest.u8()?),
                0x18 => drop(rest.u32()?),
                0x21 => once(&mut found.receive_maximum, rest.u16()?)?,
                0x22 => once(&mut found.topic_alias_maximum, rest.u16()?)?,
                0x23 => once(&mut found.topic_alias, rest.u16()?)?,
                0x24 => once(&mut found.maximum_qos, rest.u8()?)?,
                0x26 => found.user.push((rest.text()?, rest.text()?)),
                0x27 => once(&mut found.maximum_packet_size, rest.u32()?)?,
                _ => return Err(Malformed("an unknown property")),
            }
        }
        Ok(found)
    }
}

fn once<T>(place: &mut Option<T>, value: T) -> Result<(), Malformed> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Malformed("a property that comes twice")),
    }
}
