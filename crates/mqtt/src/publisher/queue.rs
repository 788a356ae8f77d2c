//! Messages that wait, in memory of the caller's.

use crate::error::Error;
use crate::level::Class;
use crate::message::{KeyId, Kind, Message, Number, UnixMillis};
use crate::packet::Qos;
use crate::topic::Topic;

/// A message that waits to be sealed. It gets its key, its number and its seal when it is sent, so that these are of that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting<'a> {
    /// Its class: who goes first, and who may be dropped.
    pub class: Class,
    /// Where.
    pub topic: Topic<'a>,
    /// What it says.
    pub payload: &'a [u8],
    /// What kind of message it is.
    pub kind: Kind,
    /// When it was written.
    pub time: UnixMillis,
    /// How often it may arrive.
    pub qos: Qos,
    /// Whether the broker keeps it.
    pub retain: bool,
    /// Seconds after which the broker drops it (MQTT 5.0); 0 for never.
    pub expiry_s: u32,
    /// The content type, at most 255 bytes; empty for none.
    pub content_type: &'a str,
    /// Where an answer is expected.
    pub response_topic: Option<Topic<'a>>,
    /// What ties an answer to its question; empty for none.
    pub correlation_data: &'a [u8],
}

impl<'a> Waiting<'a> {
    /// A plain message of QoS 1 and nothing else said.
    pub const fn new(class: Class, topic: Topic<'a>, payload: &'a [u8]) -> Self {
        Waiting {
            class,
            topic,
            payload,
            kind: Kind::Plain,
            time: UnixMillis(0),
            qos: Qos::AtLeastOnce,
            retain: false,
            expiry_s: 0,
            content_type: "",
            response_topic: None,
            correlation_data: &[],
        }
    }

    /// The message to be sealed.
    pub const fn message(&self, key_id: KeyId, number: Option<Number>) -> Message<'a> {
        Message {
            topic: self.topic,
            payload: self.payload,
            kind: self.kind,
            key_id,
            number,
            time: self.time,
            content_type: self.content_type,
            response_topic: self.response_topic,
            correlation_data: self.correlation_data,
        }
    }
}

/// Which message: what [`super::Publisher::push`] gave, and events name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u32);

/// The queue: entries one behind the other, in the order in which they came.
#[derive(Debug)]
pub(super) struct Queue<'a> {
    memory: &'a mut [u8],
    used: usize,
}

/// Bytes that an entry has beside its texts.
pub(super) const ENTRY_LEN: usize = 38;

impl<'a> Queue<'a> {
    pub(super) fn new(memory: &'a mut [u8]) -> Self {
        Queue { memory, used: 0 }
    }

    /// Adds a message behind the others. Where there is no room, messages of a lower class go first, the lowest and oldest first; a
    /// low one also takes the place of older low ones. Each one that goes is shown to `dropped`.
    ///
    /// Errors: `QueueFull`: what would have to go is not lower, so nothing went. `TooLong`: it can never fit.
    pub(super) fn push(
        &mut self,
        ticket: Ticket,
        message: &Waiting<'_>,
        // Not by its type: there is one body for all who push.
        dropped: &mut dyn FnMut(Ticket, Waiting<'_>),
    ) -> Result<(), Error> {
        let response = message.response_topic.map_or("", Topic::as_str);
        let texts: [&[u8]; 5] = [
            message.content_type.as_bytes(),
            message.topic.as_str().as_bytes(),
            response.as_bytes(),
            message.correlation_data,
            message.payload,
        ];
        let len = texts.iter().fold(ENTRY_LEN, |sum, text| sum.saturating_add(text.len()));
        let total = u16::try_from(len).map_err(|_| Error::TooLong)?;
        let content_len = u8::try_from(message.content_type.len()).map_err(|_| Error::TooLong)?;
        if len > self.memory.len() {
            return Err(Error::TooLong);
        }
        let may_go = |class: Class| class < message.class || class == Class::Low;
        let lower = self.entries().filter(|entry| may_go(entry.waiting.class)).map(|entry| entry.len);
        if self.memory.len() - self.used + lower.sum::<usize>() < len {
            return Err(Error::QueueFull);
        }
        while self.memory.len() - self.used < len {
            let goes = self.entries().filter(|entry| may_go(entry.waiting.class));
            let Some(goes) = goes.min_by_key(|entry| (entry.waiting.class, entry.at)) else {
                return Err(Error::QueueFull); // unreachable: what may go was enough
            };
            dropped(goes.ticket, goes.waiting);
            let (at, len) = (goes.at, goes.len);
            self.remove(at, len);
        }
        let lens = texts.map(|text| (text.len() as u16).to_be_bytes()); // their sum fits into 16 bits
        let flags = message.qos.byte() | u8::from(message.retain) << 2;
        let parts: [&[u8]; 10] = [
            &total.to_be_bytes(),
            &[message.class as u8, flags, message.kind.byte(), content_len],
            &lens[1],
            &lens[2],
            &lens[3],
            &lens[4],
            &ticket.0.to_be_bytes(),
            &message.time.0.to_be_bytes(),
            &0u64.to_be_bytes(),
            &message.expiry_s.to_be_bytes(),
        ];
        for part in parts.into_iter().chain(texts) {
            if let Some(to) = self.memory.get_mut(self.used..self.used + part.len()) {
                to.copy_from_slice(part);
            }
            self.used += part.len();
        }
        Ok(())
    }

    /// The message whose turn it is: of the highest class, the oldest; not before its time.
    pub(super) fn next(&self, now: u64) -> Option<Entry<'_>> {
        let ready = self.entries().filter(|entry| entry.not_before <= now);
        ready.min_by_key(|entry| (core::cmp::Reverse(entry.waiting.class), entry.at))
    }

    /// Takes an entry out.
    pub(super) fn remove(&mut self, at: usize, len: usize) {
        self.memory.copy_within(at + len..self.used, at);
        self.used -= len;
    }

    /// Lets an entry wait.
    pub(super) fn defer(&mut self, at: usize, until: u64) {
        if let Some(place) = self.memory.get_mut(at + NOT_BEFORE..at + NOT_BEFORE + 8) {
            place.copy_from_slice(&until.to_be_bytes());
        }
    }

    /// Messages that wait.
    pub(super) fn entries(&self) -> Entries<'_> {
        Entries { memory: self.memory.get(..self.used).unwrap_or(&[]), at: 0 }
    }
}

/// Where the time before which it is left alone stands in an entry.
const NOT_BEFORE: usize = 26;

/// An entry as it stands in the queue.
#[derive(Clone, Copy)]
pub(super) struct Entry<'q> {
    pub(super) at: usize,
    pub(super) len: usize,
    pub(super) ticket: Ticket,
    pub(super) not_before: u64,
    pub(super) waiting: Waiting<'q>,
}

/// All entries, the oldest first.
pub(super) struct Entries<'q> {
    memory: &'q [u8],
    at: usize,
}

impl<'q> Iterator for Entries<'q> {
    type Item = Entry<'q>;

    fn next(&mut self) -> Option<Entry<'q>> {
        let entry = self.memory.get(self.at..)?;
        let (head, _) = entry.split_first_chunk::<ENTRY_LEN>()?;
        let u16_at = |at: usize| usize::from(head[at]) << 8 | usize::from(head[at + 1]);
        let mut rest = entry.get(ENTRY_LEN..u16_at(0))?;
        let mut text = |len: usize| {
            let (text, after) = rest.split_at_checked(len)?;
            rest = after;
            Some(text)
        };
        let content_type = core::str::from_utf8(text(usize::from(head[5]))?).ok()?;
        let topic = Topic::from_bytes(text(u16_at(6))?).ok()?;
        let response = text(u16_at(8))?;
        let correlation_data = text(u16_at(10))?;
        let payload = text(u16_at(12))?;
        let u64_at = |at: usize| head[at..at + 8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let waiting = Waiting {
            class: *Class::ALL.get(usize::from(head[2]))?,
            topic,
            payload,
            kind: Kind::of(head[4]).ok()?,
            time: UnixMillis(u64_at(18)),
            qos: Qos::of(head[3] & 3).ok()?,
            retain: head[3] & 4 != 0,
            expiry_s: u64_at(30) as u32, // the lower half: bytes 34 to 37
            content_type,
            response_topic: if response.is_empty() { None } else { Topic::from_bytes(response).ok() },
            correlation_data,
        };
        let found = Entry {
            at: self.at,
            len: u16_at(0),
            ticket: Ticket((u64_at(10) & 0xffff_ffff) as u32), // the lower half: bytes 14 to 17
            not_before: u64_at(NOT_BEFORE),
            waiting,
        };
        self.at += found.len;
        Some(found)
    }
}
