//! Properties of MQTT 5.0 (2.2.2), owned.

use crate::error::Error;
use crate::packet::properties::{Put, Value, binary, id, text};

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

    /// Writes them, without the length before them.
    pub(super) fn emit(&self, put: Put<'_>) -> Result<(), Error> {
        let mut number = |id: u8, bytes: Option<&[u8]>| match bytes {
            Some(bytes) => put(&[id]).and_then(|()| put(bytes)),
            None => Ok(()),
        };
        for (id, value) in [(id::PAYLOAD_FORMAT, self.payload_format), (id::MAXIMUM_QOS, self.maximum_qos)] {
            number(id, value.map(u8::to_be_bytes).as_ref().map(|bytes| &bytes[..]))?;
        }
        for (id, value) in [
            (id::SERVER_KEEP_ALIVE, self.server_keep_alive_s),
            (id::RECEIVE_MAXIMUM, self.receive_maximum),
            (id::TOPIC_ALIAS_MAXIMUM, self.topic_alias_maximum),
            (id::TOPIC_ALIAS, self.topic_alias),
        ] {
            number(id, value.map(u16::to_be_bytes).as_ref().map(|bytes| &bytes[..]))?;
        }
        for (id, value) in [
            (id::MESSAGE_EXPIRY, self.message_expiry_s),
            (id::SESSION_EXPIRY, self.session_expiry_s),
            (id::MAXIMUM_PACKET, self.maximum_packet_size),
        ] {
            number(id, value.map(u32::to_be_bytes).as_ref().map(|bytes| &bytes[..]))?;
        }
        for (id, value) in
            [(id::CONTENT_TYPE, &self.content_type), (id::RESPONSE_TOPIC, &self.response_topic)]
        {
            if let Some(value) = value {
                put(&[id])?;
                text(put, value)?;
            }
        }
        if let Some(value) = &self.correlation_data {
            put(&[id::CORRELATION_DATA])?;
            binary(put, value)?;
        }
        for (name, value) in &self.user {
            put(&[id::USER_PROPERTY])?;
            text(put, name)?;
            text(put, value)?;
        }
        Ok(())
    }

    /// Adds one that came. The reader has seen to it that none comes twice, and that numbers are as wide as theirs.
    pub(super) fn add(&mut self, id: u8, value: Value<'_>) -> Result<(), Error> {
        match (id, value) {
            (id::PAYLOAD_FORMAT, Value::Number(value @ (0 | 1))) => self.payload_format = Some(value as u8),
            (id::MAXIMUM_QOS, Value::Number(value)) => self.maximum_qos = Some(value as u8),
            (id::SERVER_KEEP_ALIVE, Value::Number(value)) => self.server_keep_alive_s = Some(value as u16),
            (id::RECEIVE_MAXIMUM, Value::Number(value)) => self.receive_maximum = Some(value as u16),
            (id::TOPIC_ALIAS_MAXIMUM, Value::Number(value)) => self.topic_alias_maximum = Some(value as u16),
            (id::TOPIC_ALIAS, Value::Number(value)) => self.topic_alias = Some(value as u16),
            (id::MESSAGE_EXPIRY, Value::Number(value)) => self.message_expiry_s = Some(value),
            (id::SESSION_EXPIRY, Value::Number(value)) => self.session_expiry_s = Some(value),
            (id::MAXIMUM_PACKET, Value::Number(value)) => self.maximum_packet_size = Some(value),
            (id::CONTENT_TYPE, Value::Text(value)) => self.content_type = Some(value.to_owned()),
            (id::RESPONSE_TOPIC, Value::Text(value)) => self.response_topic = Some(value.to_owned()),
            (id::CORRELATION_DATA, Value::Binary(value)) => self.correlation_data = Some(value.to_vec()),
            (id::USER_PROPERTY, Value::Pair(name, value)) => {
                self.user.push((name.to_owned(), value.to_owned()));
            }
            _ => {}
        }
        Ok(())
    }
}
