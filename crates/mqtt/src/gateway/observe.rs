//! What the gateway says of itself, to whoever counts, logs or warns.

use super::Error;
use super::alerts::Alert;
use super::reason::Reason;
use super::tags::Tally;
use super::verify::Passed;
use crate::message::UnixMillis;

/// Something happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The gateway begins, with so many devices, and owes so many copies from before.
    Started {
        /// Devices in the directory.
        devices: usize,
        /// Copies in the outbox.
        owed: usize,
    },
    /// The broker let it in.
    Connected {
        /// The broker still had the session.
        session_present: bool,
    },
    /// The subscription holds.
    Subscribed,
    /// The connection is gone; another one is tried.
    Disconnected {
        /// Why.
        what: &'a str,
    },
    /// A message came.
    Received {
        /// Bytes of its payload.
        bytes: usize,
    },
    /// A message of QoS 0 came while the gateway was full, and was let go.
    Dropped,
    /// A message passed.
    Passed {
        /// It, and what is said of it.
        message: &'a Passed,
        /// When.
        now: UnixMillis,
    },
    /// A message was refused.
    Refused {
        /// Why.
        reason: Reason,
        /// Its topic: text from outside.
        topic: &'a str,
        /// The device that the topic names.
        device: Option<&'a str>,
        /// When.
        now: UnixMillis,
    },
    /// Something became of tags of a device: a checkpoint named them, or none did.
    Tags {
        /// The device.
        device: &'a str,
        /// What.
        tally: &'a Tally,
        /// When.
        now: UnixMillis,
    },
    /// The broker has a clean copy.
    Delivered,
    /// The broker does not want a clean copy, and it is given up.
    CopyRefused {
        /// The broker's reason code (MQTT 5.0, 2.4).
        reason: u8,
    },
    /// The directory was read again.
    Directory {
        /// Devices in it.
        devices: usize,
    },
    /// The directory has a fault; the one from before holds.
    DirectoryFault {
        /// What and where.
        cause: &'a Error,
    },
    /// Somebody should look at a device.
    Alert {
        /// Why.
        alert: &'a Alert,
    },
    /// The gateway ends, and owes so many copies.
    Stopped {
        /// Copies in the outbox.
        owed: usize,
    },
}

/// Somebody who wants to know. Called from the gateway's loop: it must not wait.
pub trait Observer: Sync {
    /// Takes note.
    fn note(&self, event: &Event<'_>);
}

/// Nobody.
impl Observer for () {
    fn note(&self, _: &Event<'_>) {}
}

/// Both.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn note(&self, event: &Event<'_>) {
        self.0.note(event);
        self.1.note(event);
    }
}

impl<T: Observer + Send + ?Sized> Observer for std::sync::Arc<T> {
    fn note(&self, event: &Event<'_>) {
        (**self).note(event);
    }
}
