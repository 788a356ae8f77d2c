//! A message under way: the whole PUBLISH, until the broker has it; or two of them, one behind the other, for a message that goes to two topics.

use super::queue::{Ticket, Waiting};
use crate::base64url;
use crate::error::{Error, Field};
use crate::packet::{Properties, Publish, Qos, Version};
use crate::topic::Topic;

/// What a topic of envelopes has after that of their payloads (docs/formats/mqtt.md, "v1 and detached").
const SIG: &[u8] = b"/$sig";

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

/// Where the envelope goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It is the payload.
    Payload,
    /// In the user property, beside the payload.
    Property,
    /// To the topic's `/$sig`, under this packet id.
    Topic(u16),
}

#[derive(Debug)]
pub(super) struct Flight<'a> {
    bytes: &'a mut [u8],
    pub(super) len: usize,
    pub(super) written: usize,
    pub(super) stage: Stage,
    pub(super) qos: Qos,
    /// 0 while the buffer is free, with QoS 0, and once it is acknowledged while the other one of two is not.
    pub(super) packet_id: u16,
    /// The packet id of the first of two, which has the envelope, and where the second one begins; 0 as above.
    pub(super) sig_id: u16,
    second: usize,
    /// From where on it is written on a new connection.
    pub(super) from: usize,
    /// Why the broker refused one of two.
    refused: u8,
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
            sig_id: 0,
            second: 0,
            from: 0,
            refused: 0,
            ticket: Ticket(0),
            order: 0,
        }
    }

    /// Writes head and envelope: behind the head; or with the payload as it is, in the user property or in a PUBLISH of its own before.
    /// Errors: `TooLong`, `Unsupported(Header)` for a user property in MQTT 3.1.1, or two packets with QoS 2; those of `seal`; the buffer stays free.
    pub(super) fn fill(
        &mut self,
        version: Version,
        waiting: &Waiting<'_>,
        packet_id: u16,
        (len, way): (usize, Way),
        most: usize,
        seal: impl FnOnce(&Waiting<'_>, &mut [u8]) -> Result<usize, Error>,
    ) -> Result<(), Error> {
        let apart = way == Way::Property;
        if apart && version == Version::V311
            || matches!(way, Way::Topic(_)) && waiting.qos == Qos::ExactlyOnce
        {
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
        let (mut seal, mut second) = (Some(seal), 0);
        let mut seal = |envelope: &mut [u8]| match seal.take().map(|seal| seal(waiting, envelope)) {
            Some(Ok(sealed)) if sealed == len => Ok(()),
            Some(Err(error)) => Err(error),
            _ => Err(Error::TooLong),
        };
        if let Way::Topic(sig_id) = way {
            let packet_id = if publish.qos == Qos::AtMostOnce { 0 } else { sig_id };
            let properties =
                Properties { message_expiry_s: publish.properties.message_expiry_s, ..Properties::NONE };
            second =
                self.fill_sig(version, &Publish { packet_id, properties, ..publish }, len, most, &mut seal)?;
            self.sig_id = packet_id;
        }
        let bytes = self.bytes.get_mut(second..).unwrap_or_default();
        let behind = if way == Way::Payload { len } else { waiting.payload.len() };
        let filled = publish.emit_head(version, behind, bytes).and_then(|head| {
            let end = head.saturating_add(behind);
            let (before, after) = bytes.get_mut(..end).ok_or(Error::TooLong)?.split_at_mut(head);
            if end > most {
                return Err(Error::TooLong);
            }
            // Base64 grows from the front of its room, and never overtakes the envelope at the end of it.
            let property = before.get_mut(head - room..).unwrap_or_default();
            match way {
                Way::Payload => seal(after)?,
                Way::Property => seal(property.get_mut(room - len..).unwrap_or_default())?,
                Way::Topic(_) => {}
            }
            if way != Way::Payload {
                after.copy_from_slice(waiting.payload);
                base64url::encode_in_place(property, if apart { len } else { 0 });
            }
            Ok(end)
        });
        let end = filled.inspect_err(|_| self.sig_id = 0)?;
        (self.len, self.written, self.qos, self.packet_id) = (second + end, 0, waiting.qos, packet_id);
        (self.second, self.from, self.refused) = (second, 0, 0);
        self.stage = Stage::Ready;
        Ok(())
    }

    /// Writes a PUBLISH of an envelope to the topic's `/$sig`; says where it ends. Errors: as [`Self::fill`].
    fn fill_sig(
        &mut self,
        version: Version,
        publish: &Publish<'_>,
        len: usize,
        most: usize,
        seal: &mut impl FnMut(&mut [u8]) -> Result<(), Error>,
    ) -> Result<usize, Error> {
        // The name stands at the end of the buffer until the head has it.
        let topic = publish.topic.as_str().as_bytes();
        let place = self.bytes.len().checked_sub(topic.len() + SIG.len()).ok_or(Error::TooLong)?;
        let (front, name) = self.bytes.split_at_mut(place);
        let (first, last) = name.split_at_mut(topic.len());
        first.copy_from_slice(topic);
        last.copy_from_slice(SIG);
        let publish = Publish { topic: Topic::from_bytes(name)?, ..*publish };
        let head = publish.emit_head(version, len, front)?;
        let end = head.saturating_add(len);
        if end > most {
            return Err(Error::TooLong);
        }
        seal(self.bytes.get_mut(head..end).ok_or(Error::TooLong)?)?;
        Ok(end)
    }

    /// The broker answered one of two with QoS 1, or the only one. Says whether that was all, and the reason if either was refused.
    pub(super) fn answered(&mut self, packet_id: u16, reason: u8) -> Option<u8> {
        if packet_id == self.sig_id {
            (self.sig_id, self.from) = (0, self.second);
        } else {
            self.packet_id = 0;
            self.len = if self.second > 0 { self.second } else { self.len };
        }
        self.refused = if reason >= 0x80 { reason } else { self.refused };
        (self.sig_id == 0 && self.packet_id == 0).then_some(self.refused)
    }

    /// Whether the first of two is written, and not acknowledged.
    pub(super) fn first_is_out(&self) -> bool {
        (1..=self.written).contains(&self.second) && self.from == 0
    }

    /// The connection is over: what was written of it is written again.
    pub(super) fn part(&mut self) {
        if self.first_is_out()
            && let Some(first) = self.bytes.first_mut()
            && self.qos != Qos::AtMostOnce
        {
            *first |= 8; // DUP: the first of two was sent, and the second one not yet
        }
        self.written = self.from;
    }

    /// Packets that wait for an acknowledgement.
    pub(super) fn numbered(&self) -> usize {
        usize::from(self.packet_id != 0) + usize::from(self.sig_id != 0)
    }

    /// What is still to be written.
    pub(super) fn rest(&self) -> &[u8] {
        self.bytes.get(self.written..self.len).unwrap_or(&[])
    }

    /// Whether it may have been sent before (MQTT 5.0, 3.3.1.1).
    pub(super) fn mark_dup(&mut self, dup: bool) {
        for at in [0, self.second] {
            if let Some(first) = self.bytes.get_mut(at)
                && self.qos != Qos::AtMostOnce
            {
                *first = *first & !8 | u8::from(dup) << 3;
            }
        }
    }

    /// The buffer is free again.
    pub(super) fn free(&mut self) -> Ticket {
        (self.stage, self.packet_id, self.sig_id, self.written, self.len) = (Stage::Free, 0, 0, 0, 0);
        self.ticket
    }
}
