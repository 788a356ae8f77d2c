//! A message under way: the whole PUBLISH, until the broker has it.

use super::queue::{Ticket, Waiting};
use crate::base64url;
use crate::error::{Error, Field};
use crate::packet::{Properties, Publish, Qos, Version};

/// Where a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The buffer is free.
    Free,
    /// To be written, or partly written.
    Ready,
    /// Written then, and not acknowledged.
    Sent(u64),
    /// QoS 2: PUBREC came, PUBREL was sent then.
    Released(u64),
    /// The broker has it, and nobody was told yet.
    Done,
}

#[derive(Debug)]
pub(super) struct Flight<'a> {
    bytes: &'a mut [u8],
    pub(super) len: usize,
    pub(super) written: usize,
    pub(super) stage: Stage,
    pub(super) qos: Qos,
    /// 0 while the buffer is free, and with QoS 0.
    pub(super) packet_id: u16,
    pub(super) ticket: Ticket,
    /// Rises with each message.
    pub(super) order: u32,
}

impl<'a> Flight<'a> {
    pub(super) fn new(bytes: &'a mut [u8]) -> Self {
        Flight {
            bytes,
            len: 0,
            written: 0,
            stage: Stage::Free,
            qos: Qos::AtMostOnce,
            packet_id: 0,
            ticket: Ticket(0),
            order: 0,
        }
    }

    /// Writes head and envelope: behind the head, or with `apart` in the user property, and behind the head the payload as it is.
    /// Errors: `TooLong`, `Unsupported(Header)` for a user property in MQTT 3.1.1, those of `seal`; the buffer stays free.
    pub(super) fn fill(
        &mut self,
        version: Version,
        waiting: &Waiting<'_>,
        packet_id: u16,
        (len, apart): (usize, bool),
        most: usize,
        seal: impl FnOnce(&Waiting<'_>, &mut [u8]) -> Result<usize, Error>,
    ) -> Result<(), Error> {
        if apart && version == Version::V311 {
            return Err(Error::Unsupported(Field::Header));
        }
        let room = if apart { base64url::len(len) } else { 0 };
        let publish = Publish {
            topic: waiting.topic,
            qos: waiting.qos,
            retain: waiting.retain,
            dup: false,
            packet_id,
            properties: Properties {
                content_type: waiting.content_type,
                response_topic: waiting.response_topic,
                correlation_data: waiting.correlation_data,
                message_expiry_s: (waiting.expiry_s > 0).then_some(waiting.expiry_s),
                sealstone: "",
                sealstone_room: u16::try_from(room).map_err(|_| Error::TooLong)?,
            },
        };
        let behind = if apart { waiting.payload.len() } else { len };
        let head = publish.emit_head(version, behind, self.bytes)?;
        let end = head.saturating_add(behind);
        let (before, after) = self.bytes.get_mut(..end).ok_or(Error::TooLong)?.split_at_mut(head);
        // Base64 grows from the front of its room, and never overtakes the envelope at the end of it.
        let property = before.get_mut(head - room..).unwrap_or_default();
        let envelope = if apart { property.get_mut(room - len..).unwrap_or_default() } else { &mut *after };
        if end > most || seal(waiting, envelope)? != len {
            return Err(Error::TooLong);
        }
        if apart {
            after.copy_from_slice(waiting.payload);
            base64url::encode_in_place(property, len);
        }
        (self.len, self.written, self.qos, self.packet_id) = (end, 0, waiting.qos, packet_id);
        self.stage = Stage::Ready;
        Ok(())
    }

    /// What is still to be written.
    pub(super) fn rest(&self) -> &[u8] {
        self.bytes.get(self.written..self.len).unwrap_or(&[])
    }

    /// Whether it may have been sent before (MQTT 5.0, 3.3.1.1).
    pub(super) fn mark_dup(&mut self, dup: bool) {
        if let Some(first) = self.bytes.first_mut()
            && self.qos != Qos::AtMostOnce
        {
            *first = *first & !8 | u8::from(dup) << 3;
        }
    }

    /// The buffer is free again.
    pub(super) fn free(&mut self) -> Ticket {
        (self.stage, self.packet_id, self.written, self.len) = (Stage::Free, 0, 0, 0);
        self.ticket
    }
}
