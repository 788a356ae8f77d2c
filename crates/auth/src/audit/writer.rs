//! The one thread that writes a server's chain.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::chain::Chain;
use super::event::{Event, What};
use super::journal::Journal;
use crate::Error;
use crate::clock::Clock;

/// So many bytes are written at once at most.
const BATCH_BYTES: usize = 256 * 1024;
/// How long after the first event others are waited for. A wake-up and a write for each would cost more than its line.
const LINGER: Duration = Duration::from_millis(5);
/// So many that wait already are written without waiting for others.
const ENOUGH: usize = 512;
/// How long after a write that failed the next is tried.
const RETRY: Duration = Duration::from_millis(200);
/// How often it is tried when the server ends.
const LAST_TRIES: u32 = 25;

/// What is handed to the writer.
#[derive(Debug)]
pub(super) enum Item {
    Close,
    Events(Vec<Event>),
}

/// What the writer and those who hand over know of each other.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Items that are handed over and not taken.
    pub(super) backlog: AtomicUsize,
    pub(super) closing: AtomicBool,
    /// Whether the last write failed.
    pub(super) failing: AtomicBool,
    /// Events without a line, not yet said.
    pub(super) lost: AtomicU64,
    /// All events without a line since the start.
    pub(super) lost_ever: AtomicU64,
}

pub(super) struct Writer {
    pub(super) chain: Chain,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) journal: Option<Journal>,
    pub(super) name: String,
    pub(super) queue: Receiver<Item>,
    pub(super) seal_after: Duration,
    pub(super) seal_lines: u64,
    pub(super) shared: Arc<Shared>,
}

impl Writer {
    /// Writes until it is told to end or nobody is left to tell it.
    pub(super) fn run(mut self) {
        // When the open block is sealed at the latest.
        let mut due: Option<Instant> = None;
        loop {
            let received = match due {
                None => self.queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => self.queue.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            let mut open = true;
            match received {
                Ok(Item::Events(events)) => {
                    self.take(events);
                    if self.shared.backlog.load(Ordering::Acquire) < ENOUGH {
                        std::thread::sleep(LINGER);
                    }
                    open = self.take_waiting();
                }
                Ok(Item::Close) | Err(RecvTimeoutError::Disconnected) => open = false,
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.say_lost();
            let reason = match due {
                _ if !open => Some("shutdown"),
                _ if self.chain.is_full() => Some("rotation"),
                _ if self.chain.unsealed() >= self.seal_lines => Some("lines"),
                Some(due) if due <= Instant::now() => Some("time"),
                _ => None,
            };
            if let Some(reason) = reason {
                self.seal(reason);
            }
            let settled = self.settle();
            if settled && reason == Some("rotation") {
                self.rotate();
            }
            if !open || !settled {
                return;
            }
            due = match self.chain.unsealed() {
                0 => None,
                _ => due.filter(|_| reason.is_none()).or_else(|| Some(Instant::now() + self.seal_after)),
            };
        }
    }

    /// Takes what waits already, up to a batch. Returns whether more can come.
    fn take_waiting(&mut self) -> bool {
        while self.chain.waiting() < BATCH_BYTES && self.chain.unsealed() < self.seal_lines {
            match self.queue.try_recv() {
                Ok(Item::Events(events)) => self.take(events),
                Ok(Item::Close) => return false,
                Err(_) => break,
            }
        }
        true
    }

    fn take(&mut self, events: Vec<Event>) {
        self.shared.backlog.fetch_sub(1, Ordering::AcqRel);
        self.say_lost();
        for event in &events {
            self.append(event);
        }
    }

    fn append(&mut self, event: &Event) {
        let n = self.chain.last() + 1;
        let line = self.chain.append(event);
        if let Some(journal) = &mut self.journal {
            journal.send(&self.name, n, event.what(), line);
        }
    }

    /// Where lines are missing, the next line says how many.
    fn say_lost(&mut self) {
        let lost = self.shared.lost.swap(0, Ordering::AcqRel);
        if lost > 0 {
            tracing::error!(lines = lost, "lines of the audit log are lost");
            self.append(&Event::new(What::LinesLost, self.clock.now()).with_number("lines", lost));
        }
    }

    fn seal(&mut self, reason: &str) {
        match self.chain.seal(reason, self.clock.now()) {
            Ok(Some(line)) => {
                if let Some(journal) = &mut self.journal {
                    journal.send(&self.name, self.chain.last(), What::Seal, &line);
                }
            }
            Ok(None) => {}
            // The block stays open and is sealed with the next one.
            Err(cause) => tracing::error!(%cause, "a block of the audit log could not be signed"),
        }
    }

    /// Until everything is in the file: while it is not, nothing more is taken, and the queue fills. Returns false if the
    /// server ended before.
    fn settle(&mut self) -> bool {
        let mut tries = 0;
        loop {
            match self.chain.settle() {
                Ok(()) => {
                    if self.shared.failing.swap(false, Ordering::AcqRel) {
                        tracing::info!("the audit log is written again");
                    }
                    return true;
                }
                Err(cause) => {
                    self.say_failing(&cause);
                    tries += u32::from(self.shared.closing.load(Ordering::Acquire));
                    if tries > LAST_TRIES {
                        let lines = self.chain.unsealed();
                        tracing::error!(lines, "the audit log could not be written to its end");
                        return false;
                    }
                    std::thread::sleep(RETRY);
                }
            }
        }
    }

    fn rotate(&mut self) {
        while let Err(cause) = self.chain.rotate(&self.name, self.clock.now()) {
            self.say_failing(&cause);
            if self.shared.closing.load(Ordering::Acquire) {
                return;
            }
            std::thread::sleep(RETRY);
        }
        self.settle();
    }

    fn say_failing(&self, cause: &Error) {
        if !self.shared.failing.swap(true, Ordering::AcqRel) {
            tracing::error!(%cause, hint = cause.hint(), "the audit log cannot be written");
        }
    }
}
