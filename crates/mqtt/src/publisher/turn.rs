//! The message whose turn it is.

use super::Publisher;
use super::flight::Way;
use super::queue::{Ticket, Waiting};
use crate::error::Error;
use crate::packet::Qos;

/// A message whose turn it is. Dropped without a word, it waits on.
#[derive(Debug)]
pub struct Turn<'p, 'a, const WINDOW: usize> {
    pub(super) publisher: &'p mut Publisher<'a, WINDOW>,
    pub(super) flight: usize,
    pub(super) at: usize,
    pub(super) len: usize,
    pub(super) ticket: Ticket,
}

impl<const WINDOW: usize> Turn<'_, '_, WINDOW> {
    /// Which message.
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// The message. None never: it is there as long as its turn.
    pub fn message(&self) -> Option<Waiting<'_>> {
        self.publisher.queue.entries().find(|entry| entry.at == self.at).map(|entry| entry.waiting)
    }

    /// Sends it: `seal` writes the envelope, of exactly `len` bytes, behind the head of the PUBLISH; it is copied nowhere.
    ///
    /// `len` is what [`crate::seal::overhead`] says. Errors: `TooLong` if the packet is longer than its buffer, or than what the
    /// broker takes, or the envelope has another length; those of `seal`. The message waits on then.
    pub fn send(
        self,
        len: usize,
        seal: impl FnOnce(&Waiting<'_>, &mut [u8]) -> Result<usize, Error>,
    ) -> Result<Ticket, Error> {
        self.send_as(len, Apart::Not, seal)
    }

    /// Sends it with its payload as it is: `seal` writes a detached envelope, of exactly `len` bytes, for the user property (docs/formats/mqtt.md,
    /// "v1 and detached"). It is encoded where it lies, so the buffer takes 4/3 of it. Errors: as [`Self::send`]; `Unsupported(Header)` in
    /// MQTT 3.1.1, which has no user properties.
    pub fn send_detached(
        self,
        len: usize,
        seal: impl FnOnce(&Waiting<'_>, &mut [u8]) -> Result<usize, Error>,
    ) -> Result<Ticket, Error> {
        self.send_as(len, Apart::Property, seal)
    }

    /// Sends the payload as it is, and a detached envelope of exactly `len` bytes to the topic's `/$sig` right before it. Both are acknowledged
    /// before the message counts as delivered. Errors: as [`Self::send`]; `Unsupported(Header)` with QoS 2; `QueueFull` where the broker does not
    /// take two at a time now.
    pub fn send_beside(
        self,
        len: usize,
        seal: impl FnOnce(&Waiting<'_>, &mut [u8]) -> Result<usize, Error>,
    ) -> Result<Ticket, Error> {
        self.send_as(len, Apart::Topic, seal)
    }

    fn send_as(
        self,
        len: usize,
        apart: Apart,
        seal: impl FnOnce(&Waiting<'_>, &mut [u8]) -> Result<usize, Error>,
    ) -> Result<Ticket, Error> {
        let publisher = self.publisher;
        let packet_id = publisher.new_packet_id();
        let way = match apart {
            Apart::Not => Way::Payload,
            Apart::Property => Way::Property,
            Apart::Topic if publisher.numbered() + 2 > usize::from(publisher.receive_maximum) => {
                return Err(Error::QueueFull);
            }
            Apart::Topic => Way::Topic(publisher.new_packet_id()),
        };
        let entry = publisher.queue.entries().find(|entry| entry.at == self.at).ok_or(Error::Truncated)?;
        let qos = entry.waiting.qos.min(publisher.maximum_qos);
        let retain = entry.waiting.retain && publisher.retain_available;
        let waiting = Waiting { qos, retain, ..entry.waiting };
        let packet_id = if qos == Qos::AtMostOnce { 0 } else { packet_id };
        let flight = publisher.flights.get_mut(self.flight).ok_or(Error::Truncated)?;
        let most = usize::try_from(publisher.maximum_packet).unwrap_or(usize::MAX);
        flight.fill(publisher.settings.version, &waiting, packet_id, (len, way), most, seal)?;
        (flight.ticket, flight.order) = (self.ticket, publisher.next_order);
        publisher.next_order = publisher.next_order.wrapping_add(1);
        publisher.queue.remove(self.at, self.len);
        Ok(self.ticket)
    }

    /// Lets it wait until then, and others go before it: for a message that may not be sealed now.
    pub fn defer(self, until: u64) {
        self.publisher.queue.defer(self.at, until);
    }

    /// Takes it out unsent.
    pub fn give_up(self) -> Ticket {
        self.publisher.queue.remove(self.at, self.len);
        self.ticket
    }
}

/// Where a detached envelope goes.
#[derive(Clone, Copy)]
enum Apart {
    Not,
    Property,
    Topic,
}
