//! What happened.

use super::queue::Ticket;
use crate::packet::Publish;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The broker took the connection, and may have the session still.
    Connected {
        /// Whether it has.
        session_present: bool,
    },
    /// The connection ended or did not come about; the next try is due then.
    Disconnected {
        /// Why.
        cause: Cause,
        /// When, in the milliseconds of `now`.
        again_at: u64,
    },
    /// So many tries in a row failed. They go on.
    Unreachable {
        /// Tries since the last connection.
        tries: u16,
    },
    /// The broker has the message; with QoS 0, it was written.
    Delivered(Ticket),
    /// The broker does not take the message, for this reason of MQTT 5.0: it is gone.
    Refused(Ticket, u8),
    /// The broker answered the subscription: for how many filters it said no.
    Subscribed {
        /// Filters that were not granted.
        refused: u16,
    },
    /// A message came. It is acknowledged at the next call of `poll`.
    Received(Publish<'a>, &'a [u8]),
    /// A message of so many bytes came, for which there is no room, or with a response topic that is none, or two envelopes; it is
    /// gone.
    Skipped(usize),
}

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// The transport said so.
    Closed,
    /// No answer came in time: to CONNECT, a message, a PINGREQ.
    NoAnswer,
    /// The broker refused the connection, with this reason of its version.
    Refused(u8),
    /// The broker left, with this reason (MQTT 5.0).
    Left(u8),
    /// What came breaks the rules of MQTT, or answers nothing that was asked.
    BadPacket,
    /// CONNECT or SUBSCRIBE do not fit into the memory for control packets.
    NoRoom,
}
