//! A device's connection to a broker, without sockets and without a clock: time and a [`Transport`] are passed to
//! [`Publisher::poll`], which says what happened; [`Publisher::turn`] hands out the next message to be sealed.
//!
//! - Messages wait unsealed, in memory of the caller's, by class. When the memory is full, lower classes go first, and whoever
//!   pushes is told each one; a critical message is never dropped, and where it finds no room `push` says so.
//! - Up to `WINDOW` sealed messages are under way at a time, each in a buffer of the caller's, until the broker has acknowledged
//!   it. After a new connection they are sent again, with DUP, as MQTT 5.0, 4.4 wants; never on the same connection.
//! - The session is persistent. A broker that has lost it is subscribed at again; and once after each start, because the program before may
//!   have wanted something else.
//! - PINGREQ goes out after half of the keep-alive. So `poll` may come as late as that, 150 s with the default 300 s, and signing,
//!   which takes a second or two, fits in between: poll before and after.
//! - Connecting again waits 1 s, then twice as long each time up to a minute, of which half is left to chance.
//!
//! ```
//! use sealstone_mqtt::level::Class;
//! use sealstone_mqtt::publisher::{Closed, Event, Publisher, Settings, Transport, Waiting};
//! use sealstone_mqtt::Topic;
//!
//! # /// A broker that says yes.
//! # struct Broker(Vec<u8>);
//! # impl Transport for Broker {
//! #     fn connect(&mut self) -> Result<bool, Closed> { self.0.extend([0x20, 3, 0, 0, 0]); Ok(true) }
//! #     fn write(&mut self, bytes: &[u8]) -> Result<usize, Closed> {
//! #         if bytes[0] == 0x32 { self.0.extend([0x40, 2, 0, 1]) }
//! #         Ok(bytes.len())
//! #     }
//! #     fn read(&mut self, out: &mut [u8]) -> Result<usize, Closed> {
//! #         let n = out.len().min(self.0.len());
//! #         out[..n].copy_from_slice(&self.0[..n]);
//! #         self.0.drain(..n);
//! #         Ok(n)
//! #     }
//! #     fn close(&mut self) {}
//! # }
//! # fn main() -> Result<(), sealstone_mqtt::Error> {
//! # let mut transport = Broker(Vec::new());
//! let (mut queue, mut control, mut came, mut flight) = ([0; 1024], [0; 128], [0; 256], [0; 5120]);
//! let mut publisher = Publisher::new(Settings::new("device-7"), &mut queue, &mut control, &mut came, [&mut flight]);
//! let message = Waiting::new(Class::Low, Topic::new("device/7/telemetry/temp")?, b"21.5");
//! let ticket = publisher.push(&message, |_, _| ())?;
//! let mut delivered = None;
//! for now in 0..100 {
//!     if let Some(Event::Delivered(ticket)) = publisher.poll(now, 0, &mut transport) {
//!         delivered = Some(ticket);
//!     }
//!     if let Some(turn) = publisher.turn(now) {
//!         // Here a device chooses a level, takes a number and seals.
//!         turn.send(8, |message, out| {
//!             out[..4].copy_from_slice(b"seal");
//!             out[4..].copy_from_slice(message.payload);
//!             Ok(8)
//!         })?;
//!     }
//! }
//! assert_eq!(delivered, Some(ticket));
//! # Ok(())
//! # }
//! ```

mod event;
mod flight;
mod queue;
mod settings;
mod turn;
mod wire;

pub use event::{Cause, Event};
pub use queue::{Ticket, Waiting};
pub use settings::{Password, Settings};
pub use turn::Turn;

use crate::error::Error;
use crate::packet::parse::begun_publish;
use crate::packet::{Ack, Connack, Head, Packet, Qos, Subscribe, Will, ack, disconnect};
use flight::{Flight, Stage};
use queue::Queue;
use wire::Wire;

/// A stream of bytes to a broker. No call waits.
pub trait Transport {
    /// Begins to connect, or goes on with it; called until it says yes. Errors: `Closed` if it failed.
    fn connect(&mut self) -> Result<bool, Closed>;
    /// Writes some bytes, at least one or none yet; says how many. Bounds: not empty.
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Closed>;
    /// Reads some bytes, or none yet; says how many. Bounds: `out` is not empty.
    fn read(&mut self, out: &mut [u8]) -> Result<usize, Closed>;
    /// Ends the connection, whatever its state.
    fn close(&mut self);
}

/// The connection is no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

/// Where the connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Until then nothing is tried.
    Away(u64),
    /// The transport connects; since when.
    Opening(u64),
    /// CONNECT was sent; since when.
    Greeting(u64),
    Connected,
}

/// See the module.
#[derive(Debug)]
pub struct Publisher<'a, const WINDOW: usize> {
    settings: Settings<'a>,
    will: Option<WillBytes<'a>>,
    queue: Queue<'a>,
    flights: [Flight<'a>; WINDOW],
    wire: Wire<'a>,
    state: State,
    tries: u16,
    tell_unreachable: bool,
    next_ticket: u32,
    next_packet_id: u16,
    next_order: u32,
    keepalive_ms: u64,
    /// When bytes were written last, and when PINGREQ was, if it is not answered.
    said_at: u64,
    pinged_at: Option<u64>,
    /// When bytes of a message that is too long came last.
    skipped_at: u64,
    subscribing: Option<(u16, u64)>,
    /// Whether the broker granted everything since the start.
    subscribed: bool,
    clean: bool,
    /// What the broker takes.
    receive_maximum: u16,
    maximum_packet: u32,
    maximum_qos: Qos,
    retain_available: bool,
    /// Ids of messages of QoS 2 that came and were not let go yet.
    held: [u16; 8],
    /// A message that was handed out and is to be acknowledged.
    unanswered: Option<(Qos, u16)>,
}

/// A will that does not show its payload.
#[derive(Clone, Copy)]
struct WillBytes<'a>(Will<'a>);

impl core::fmt::Debug for WillBytes<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Will(..)")
    }
}

impl<'a, const WINDOW: usize> Publisher<'a, WINDOW> {
    /// A publisher that is not connected.
    ///
    /// Shapes: `queue` for messages that wait, each with 38 bytes beside its texts; `control` for CONNECT (with a will, its
    /// envelope too), SUBSCRIBE and acknowledgements, 128 bytes do for short names; `came` for the longest packet that is
    /// expected, and whatever the broker says in CONNACK, 64 bytes at least: a longer message is skipped; each of `flights` for a whole PUBLISH, 5120 bytes for any level.
    pub fn new(
        settings: Settings<'a>,
        queue: &'a mut [u8],
        control: &'a mut [u8],
        came: &'a mut [u8],
        flights: [&'a mut [u8]; WINDOW],
    ) -> Self {
        Publisher {
            settings,
            will: None,
            queue: Queue::new(queue),
            flights: flights.map(Flight::new),
            wire: Wire::new(control, came),
            state: State::Away(0),
            tries: 0,
            tell_unreachable: false,
            next_ticket: 0,
            next_packet_id: settings.first_packet_id.max(1),
            next_order: 0,
            keepalive_ms: 0,
            said_at: 0,
            pinged_at: None,
            skipped_at: 0,
            subscribing: None,
            subscribed: false,
            clean: settings.clean,
            receive_maximum: u16::MAX,
            maximum_packet: u32::MAX,
            maximum_qos: Qos::ExactlyOnce,
            retain_available: true,
            held: [0; 8],
            unanswered: None,
        }
    }

    /// What the broker publishes when the device is gone: from the next connection on.
    pub fn set_will(&mut self, will: Option<Will<'a>>) {
        self.will = will.map(WillBytes);
    }

    /// Lets a message wait for its turn.
    ///
    /// Where there is no room, messages of a lower class go, the lowest and oldest first, and a low one may displace older low
    /// ones; `dropped` is shown each. Errors: `QueueFull` if that is not enough, and then nothing went; `TooLong` if it can never fit.
    pub fn push(
        &mut self,
        message: &Waiting<'_>,
        mut dropped: impl FnMut(Ticket, Waiting<'_>),
    ) -> Result<Ticket, Error> {
        let ticket = Ticket(self.next_ticket);
        self.queue.push(ticket, message, &mut dropped)?;
        self.next_ticket = self.next_ticket.wrapping_add(1);
        Ok(ticket)
    }

    /// Messages that wait.
    pub fn waiting(&self) -> impl Iterator<Item = (Ticket, Waiting<'_>)> {
        self.queue.entries().map(|entry| (entry.ticket, entry.waiting))
    }

    /// Messages that are sealed and not yet acknowledged.
    pub fn under_way(&self) -> usize {
        self.flights.iter().filter(|flight| flight.stage != Stage::Free).count()
    }

    /// Whether the broker has taken the connection.
    pub fn is_connected(&self) -> bool {
        self.state == State::Connected
    }

    /// Says goodbye, so that the broker does not publish the will, and closes. `poll` connects again.
    pub fn leave(&mut self, now: u64, transport: &mut impl Transport) {
        if self.is_connected() && self.wire.is_between_packets() {
            let (bytes, len) = disconnect(self.settings.version, 0);
            let _ = transport.write(&bytes[..len]);
        }
        self.part(transport);
        self.state = State::Away(now.saturating_add(self.settings.backoff_ms));
    }

    /// Does what is due, and says what happened: call it until there is nothing, then again when bytes come or within a second.
    ///
    /// `now`: milliseconds of a clock that does not go back. `jitter`: any number, another one each time.
    pub fn poll(&mut self, now: u64, jitter: u32, transport: &mut impl Transport) -> Option<Event<'_>> {
        if self.tell_unreachable {
            self.tell_unreachable = false;
            return Some(Event::Unreachable { tries: self.tries });
        }
        let step = match self.advance(now, transport) {
            Ok(step) => step?,
            Err(cause) => {
                let again_at = self.fall_back(now, jitter, transport);
                return Some(Event::Disconnected { cause, again_at });
            }
        };
        Some(match step {
            Step::Connected { session_present } => Event::Connected { session_present },
            Step::Delivered(ticket) => Event::Delivered(ticket),
            Step::Refused(ticket, reason) => Event::Refused(ticket, reason),
            Step::Subscribed { refused } => Event::Subscribed { refused },
            Step::Skipped(len) => Event::Skipped(len),
            Step::Received => match Packet::parse(self.settings.version, self.wire.packet()) {
                Ok(Packet::Publish(publish, payload)) => Event::Received(publish, payload),
                _ => return None, // unreachable: it was one a moment ago
            },
        })
    }

    /// The message whose turn it is, if the broker is there and a buffer is free: of the highest class, the oldest.
    pub fn turn(&mut self, now: u64) -> Option<Turn<'_, 'a, WINDOW>> {
        if !self.is_connected() || self.numbered() >= usize::from(self.receive_maximum) {
            return None;
        }
        let flight = self.flights.iter().position(|flight| flight.stage == Stage::Free)?;
        let (at, len, ticket) = self.queue.next(now).map(|entry| (entry.at, entry.len, entry.ticket))?;
        Some(Turn { publisher: self, flight, at, len, ticket })
    }

    /// Packets that wait for an acknowledgement.
    fn numbered(&self) -> usize {
        self.flights.iter().map(Flight::numbered).sum()
    }

    /// Goes on until something happened that somebody wants to know.
    fn advance(&mut self, now: u64, transport: &mut impl Transport) -> Result<Option<Step>, Cause> {
        match self.state {
            State::Away(until) if now < until => return Ok(None),
            State::Away(_) => self.state = State::Opening(now),
            _ => {}
        }
        if let State::Opening(since) = self.state {
            if !transport.connect().map_err(|Closed| Cause::Closed)? {
                return self.in_time(since, now).map(|()| None);
            }
            let clean = self.clean;
            self.wire.greet(&self.settings, clean, self.will.map(|will| will.0))?;
            self.state = State::Greeting(now);
        }
        if let Some((qos, packet_id)) = self.unanswered.take() {
            self.answer_publish(qos, packet_id, 0)?;
        }
        self.wire.forget_packet();
        if let Some(flight) = self.flights.iter_mut().find(|flight| flight.stage == Stage::Done) {
            return Ok(Some(Step::Delivered(flight.free())));
        }
        loop {
            if let Some(step) = self.write(now, transport)? {
                return Ok(Some(step));
            }
            // An answer needs room; so nothing is read before there is.
            if !self.wire.has_room() {
                break;
            }
            let to_skip = self.wire.to_skip();
            let came = self.wire.read(transport)?;
            if self.wire.to_skip() != to_skip {
                self.skipped_at = now; // what is waited for comes behind it
            }
            match came {
                wire::Came::Nothing => break,
                wire::Came::Packet => {
                    if let Some(step) = self.take(now)? {
                        return Ok(Some(step));
                    }
                }
                wire::Came::TooLong { len, publish } => {
                    // 0x97: quota exceeded. MQTT 3.1.1 says nothing, and does not send it again.
                    if let Some((qos, packet_id)) = publish {
                        self.answer_publish(qos, packet_id, 0x97)?;
                    }
                    return Ok(Some(Step::Skipped(len)));
                }
            }
        }
        self.keep_alive(now)?;
        self.in_time_all(now)?;
        self.write(now, transport)
    }

    /// Writes what is to be written, one whole packet after the other: control packets, then messages in their order.
    fn write(&mut self, now: u64, transport: &mut impl Transport) -> Result<Option<Step>, Cause> {
        loop {
            if self.wire.write_control(transport, now, &mut self.said_at)? {
                return Ok(None); // the transport is full
            }
            if self.state != State::Connected {
                return Ok(None);
            }
            let ready = self.flights.iter_mut().filter(|flight| flight.stage == Stage::Ready);
            let begun = ready.min_by_key(|flight| (core::cmp::Reverse(flight.written), flight.order));
            let Some(flight) = begun else { return Ok(None) };
            self.wire.inside_packet = true;
            let written = transport.write(flight.rest()).map_err(|Closed| Cause::Closed)?;
            if written == 0 {
                self.wire.inside_packet = flight.written > flight.from;
                return Ok(None);
            }
            self.said_at = now;
            flight.written += written;
            if flight.written >= flight.len {
                self.wire.inside_packet = false;
                if flight.qos == Qos::AtMostOnce {
                    return Ok(Some(Step::Delivered(flight.free())));
                }
                flight.stage = Stage::Sent(now);
                flight.mark_dup(true);
            }
        }
    }

    /// Takes the packet that came.
    fn take(&mut self, now: u64) -> Result<Option<Step>, Cause> {
        let packet = match Packet::parse(self.settings.version, self.wire.packet()) {
            Ok(packet) => packet,
            // What its sender chose and brokers let pass: a response topic that is none, a second envelope. Who ended the
            // connection for it would get the same again, for ever.
            Err(Error::BadTopic | Error::Unsupported(_)) if self.state == State::Connected => {
                let (len, head) = (self.wire.packet().len(), begun_publish(self.wire.packet()));
                let Head { qos, packet_id, .. } = head.map_err(|_| Cause::BadPacket)?;
                if qos != Qos::AtMostOnce {
                    self.answer_publish(qos, packet_id, 0x83)?; // implementation specific error
                }
                return Ok(Some(Step::Skipped(len)));
            }
            Err(_) => return Err(Cause::BadPacket),
        };
        let step = match (self.state, packet) {
            (State::Greeting(_), Packet::Connack(connack)) if connack.reason == 0 => {
                let said = Connack { client_id: "", ..connack };
                Some(self.connected(now, said)?)
            }
            (State::Greeting(_), Packet::Connack(connack)) => return Err(Cause::Refused(connack.reason)),
            (State::Connected, Packet::Publish(publish, _)) => {
                let (qos, packet_id) = (publish.qos, publish.packet_id);
                return self.received(qos, packet_id);
            }
            (State::Connected, Packet::Ack(kind, packet_id, reason)) => {
                self.acknowledged(now, kind, packet_id, reason)?
            }
            (State::Connected, Packet::Suback(suback)) => match self.subscribing {
                Some((packet_id, _)) if packet_id == suback.packet_id => {
                    let refused = suback.reasons.iter().filter(|reason| **reason >= 0x80).count() as u16;
                    (self.subscribing, self.subscribed) = (None, refused == 0);
                    Some(Step::Subscribed { refused })
                }
                _ => return Err(Cause::BadPacket),
            },
            (State::Connected, Packet::Pingresp) => {
                self.pinged_at = None;
                None
            }
            (_, Packet::Disconnect(reason)) => return Err(Cause::Left(reason)),
            _ => return Err(Cause::BadPacket),
        };
        self.wire.forget_packet();
        Ok(step)
    }

    /// The broker said yes: what was under way is sent again, and where it lost the session, as if for the first time.
    fn connected(&mut self, now: u64, connack: Connack<'_>) -> Result<Step, Cause> {
        self.state = State::Connected;
        (self.tries, self.clean) = (0, false);
        (self.receive_maximum, self.maximum_packet) = (connack.receive_maximum, connack.maximum_packet);
        (self.maximum_qos, self.retain_available) = (connack.maximum_qos, connack.retain_available);
        let keepalive_s = connack.keepalive_s.unwrap_or(self.settings.keepalive_s);
        self.keepalive_ms = u64::from(keepalive_s) * 1000;
        (self.pinged_at, self.said_at) = (None, now);
        let session_present = connack.session_present;
        if !session_present {
            self.held = [0; 8];
        }
        for i in 0..WINDOW {
            let flight = &mut self.flights[i];
            match flight.stage {
                Stage::Released(_) if session_present => {
                    let packet_id = flight.packet_id;
                    flight.stage = Stage::Released(now);
                    self.answer(Ack::Pubrel, packet_id, 0)?;
                }
                // The broker had it: it said PUBREC.
                Stage::Released(_) => flight.stage = Stage::Done,
                Stage::Ready if !session_present => flight.mark_dup(false),
                _ => {}
            }
        }
        let granted = session_present && self.subscribed;
        if !granted && !self.settings.filters.is_empty() {
            let packet_id = self.new_packet_id();
            let subscribe = Subscribe { packet_id, filters: self.settings.filters };
            self.wire.subscribe(self.settings.version, &subscribe)?;
            self.subscribing = Some((packet_id, now));
        }
        Ok(Step::Connected { session_present })
    }

    /// MQTT 5.0, 4.3.
    fn acknowledged(
        &mut self,
        now: u64,
        kind: Ack,
        packet_id: u16,
        reason: u8,
    ) -> Result<Option<Step>, Cause> {
        if kind == Ack::Pubrel {
            for held in self.held.iter_mut().filter(|held| **held == packet_id) {
                *held = 0;
            }
            self.answer(Ack::Pubcomp, packet_id, 0)?;
            return Ok(None);
        }
        let under_way =
            |flight: &&mut Flight<'_>| flight.packet_id == packet_id || flight.sig_id == packet_id;
        let Some(flight) = self.flights.iter_mut().find(under_way) else {
            // Of a life before this one: MQTT 5.0 has a reason for it in PUBREL, 0x92; the rest is over.
            if kind == Ack::Pubrec && reason < 0x80 {
                self.answer(Ack::Pubrel, packet_id, 0x92)?;
            }
            return Ok(None);
        };
        let first_of_two = flight.first_is_out() && packet_id == flight.sig_id;
        match (flight.stage, kind, flight.qos) {
            (stage, Ack::Puback, Qos::AtLeastOnce)
                if matches!(stage, Stage::Sent(_)) || stage == Stage::Ready && first_of_two =>
            {
                Ok(flight.answered(packet_id, reason).map(|refused| match refused {
                    0 => Step::Delivered(flight.free()),
                    reason => Step::Refused(flight.free(), reason),
                }))
            }
            (Stage::Sent(_), Ack::Pubrec, Qos::ExactlyOnce) if reason >= 0x80 => {
                Ok(Some(Step::Refused(flight.free(), reason)))
            }
            (Stage::Released(_), Ack::Pubcomp, Qos::ExactlyOnce) => Ok(Some(Step::Delivered(flight.free()))),
            (Stage::Sent(_) | Stage::Released(_), Ack::Pubrec, Qos::ExactlyOnce) => {
                flight.stage = Stage::Released(now);
                self.answer(Ack::Pubrel, packet_id, 0).map(|()| None)
            }
            _ => Err(Cause::BadPacket),
        }
    }

    /// A message came: it is handed out once, and acknowledged afterwards.
    fn received(&mut self, qos: Qos, packet_id: u16) -> Result<Option<Step>, Cause> {
        if qos == Qos::ExactlyOnce {
            if self.held.contains(&packet_id) {
                self.wire.forget_packet();
                self.answer(Ack::Pubrec, packet_id, 0)?;
                return Ok(None);
            }
            // More than the receive maximum that CONNECT states.
            let free = self.held.iter_mut().find(|held| **held == 0).ok_or(Cause::BadPacket)?;
            *free = packet_id;
        }
        if qos != Qos::AtMostOnce {
            self.unanswered = Some((qos, packet_id));
        }
        Ok(Some(Step::Received))
    }

    /// PINGREQ after half of the keep-alive without a word.
    fn keep_alive(&mut self, now: u64) -> Result<(), Cause> {
        let due = self.said_at.saturating_add(self.keepalive_ms >> 1);
        let wanted = self.state == State::Connected && self.keepalive_ms > 0;
        if wanted && now >= due && self.pinged_at.is_none() {
            self.wire.ping()?;
            self.pinged_at = Some(now);
        }
        Ok(())
    }

    /// Everything that waits for an answer. What came was read before.
    fn in_time_all(&mut self, now: u64) -> Result<(), Cause> {
        let asked = self.flights.iter().filter_map(|flight| match flight.stage {
            Stage::Sent(at) | Stage::Released(at) => Some(at),
            _ => None,
        });
        let others = [self.pinged_at, self.subscribing.map(|(_, at)| at)];
        let greeting = if let State::Greeting(since) = self.state { Some(since) } else { None };
        let oldest = asked.chain(others.into_iter().flatten()).chain(greeting).min();
        oldest.map_or(Ok(()), |since| self.in_time(since.max(self.skipped_at), now))
    }

    fn in_time(&self, since: u64, now: u64) -> Result<(), Cause> {
        if now.saturating_sub(since) >= self.settings.answer_ms { Err(Cause::NoAnswer) } else { Ok(()) }
    }

    /// The connection is over, and the next try in some time; says when. Half of the wait is left to chance.
    fn fall_back(&mut self, now: u64, jitter: u32, transport: &mut impl Transport) -> u64 {
        self.part(transport);
        self.tries = self.tries.saturating_add(1);
        let doublings = u32::from(self.tries - 1).min(16);
        let wait = self.settings.backoff_ms.saturating_mul(1 << doublings).min(self.settings.backoff_max_ms);
        let half = wait >> 1;
        // In 32 bits, as `jitter` has no more, and a small CPU divides no more.
        let choices = u32::try_from(half.saturating_add(1)).unwrap_or(u32::MAX);
        let by_chance = u64::from(jitter.checked_rem(choices).unwrap_or(0));
        self.tell_unreachable = self.tries.checked_rem(self.settings.tries) == Some(0);
        let until = now.saturating_add(wait - half + by_chance);
        self.state = State::Away(until);
        until
    }

    /// Closes, and lays out what was under way to be sent again.
    fn part(&mut self, transport: &mut impl Transport) {
        transport.close();
        self.wire.clear();
        self.pinged_at = None;
        self.subscribing = None;
        self.unanswered = None;
        for flight in &mut self.flights {
            if matches!(flight.stage, Stage::Sent(_)) {
                flight.stage = Stage::Ready;
            }
            flight.part();
        }
    }

    fn answer_publish(&mut self, qos: Qos, packet_id: u16, reason: u8) -> Result<(), Cause> {
        self.answer(if qos == Qos::AtLeastOnce { Ack::Puback } else { Ack::Pubrec }, packet_id, reason)
    }

    fn answer(&mut self, kind: Ack, packet_id: u16, reason: u8) -> Result<(), Cause> {
        let (bytes, len) = ack(self.settings.version, kind, packet_id, reason);
        self.wire.say(&bytes[..len])
    }

    /// An id that no message under way has.
    fn new_packet_id(&mut self) -> u16 {
        loop {
            let id = self.next_packet_id;
            self.next_packet_id = id.checked_add(1).unwrap_or(1);
            let taken = self.flights.iter().any(|flight| flight.packet_id == id || flight.sig_id == id)
                || self.subscribing.is_some_and(|(subscribing, _)| subscribing == id);
            if !taken {
                return id; // there are more ids than buffers
            }
        }
    }
}

/// What happened, without the bytes.
enum Step {
    Connected { session_present: bool },
    Delivered(Ticket),
    Refused(Ticket, u8),
    Subscribed { refused: u16 },
    Received,
    Skipped(usize),
}
