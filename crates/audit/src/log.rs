//! A chain with the one thread that writes it. Whoever hands events over waits for no disk.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sealstone_jose::UnixSeconds;

use crate::chain::Chain;
use crate::error::Error;
use crate::event::{Event, LOST, SEAL};
use crate::journal::Journal;
use crate::part::Part;
use crate::verify::ChainFiles;

/// So many bytes are written at once at most.
const BATCH_BYTES: usize = 256 * 1024;
/// How long after the first event others are waited for. A wake-up and a write for each would cost more than its line.
const LINGER: Duration = Duration::from_millis(5);
/// So many that wait already are written without waiting for others.
const ENOUGH: usize = 512;
/// How long after a write that failed the next is tried.
const RETRY: Duration = Duration::from_millis(200);
/// How often it is tried when the log is closed.
const LAST_TRIES: u32 = 25;

/// When blocks are sealed, and by whose clock.
pub struct Settings {
    /// Seconds since 1970.
    pub clock: Box<dyn Fn() -> UnixSeconds + Send>,
    /// The system's journal, if it gets the lines too.
    pub journal: Option<Journal>,
    /// A block is sealed so long after its first line, at the latest.
    pub seal_after: Duration,
    /// And after so many lines.
    pub seal_lines: u64,
}

/// A log that is being written.
///
/// ```
/// use std::time::Duration;
///
/// use sealstone_audit::{Chain, ChainFiles, Event, Kind, Log, Manner, Settings};
/// use sealstone_jose::UnixSeconds;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // `key`: a `Key` as the example of the crate has one, and `public`, its public half; `place`: a directory.
/// # struct InMemory(sealstone_mldsa::any::SigningKey, sealstone_jose::PublicKey);
/// # impl sealstone_audit::Key for InMemory {
/// #     fn kid(&self) -> &str {
/// #         self.1.kid()
/// #     }
/// #     fn sign(&self, line: &[u8]) -> Result<Vec<u8>, sealstone_audit::Error> {
/// #         let failed = |cause: sealstone_mldsa::Error| sealstone_audit::Error::Key { what: cause.to_string() };
/// #         let context = sealstone_mldsa::Context::new(sealstone_audit::CONTEXT).map_err(failed)?;
/// #         Ok(self.0.sign_deterministic(context, line).map_err(failed)?.encode().to_vec())
/// #     }
/// # }
/// # let key = sealstone_mldsa::any::SigningKey::from_seed(sealstone_mldsa::Level::MlDsa44, &[7; 32]);
/// # let public = sealstone_jose::PublicKey::from_public(sealstone_jose::Algorithm::MlDsa44, key.verifying_key().encode())?;
/// # let key = std::sync::Arc::new(InMemory(key, public.clone()));
/// # let place = &std::env::temp_dir().join(format!("sealstone-audit-2-{}", std::process::id()));
/// # let now = UnixSeconds(1_800_000_000);
/// # let names = ["doors".to_owned()];
/// let (chain, name) = Chain::open(place, &names, key, 1 << 20, Manner::Lasting, now)?.ok_or("somebody else writes")?;
/// let settings = Settings {
///     clock: Box::new(|| UnixSeconds(1_800_000_000)), // here it stands still
///     journal: None,
///     seal_after: Duration::from_secs(60),
///     seal_lines: 1000,
/// };
/// let log = Log::start(chain, name, settings)?;
///
/// // From any thread, without waiting; with 1000 items before it an event would be lost, and counted.
/// const OPENED: Kind = Kind { name: "door.opened", warning: false };
/// log.note(vec![Event::new(OPENED, now).with("door", "north")], 1000);
/// log.close();
/// assert_eq!((log.backlog(), log.lost()), (0, 0));
/// assert!(!log.is_failing());
///
/// let part = log.part(Some(1), 10)?;
/// assert_eq!(part.lines[0]["event"], "door.opened");
/// assert_eq!(part.lines[1]["event"], "audit.seal");
/// assert!(ChainFiles::of(&place.join("doors"))?.ok_or("no chain")?.verify(&public)?.is_good());
/// # std::fs::remove_dir_all(place)?;
/// # Ok(())
/// # }
/// ```
pub struct Log {
    directory: PathBuf,
    queue: Sender<Item>,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Log {
    /// Starts the writer of a chain that was opened.
    /// Errors: that no thread can be started.
    pub fn start(chain: Chain, name: String, settings: Settings) -> std::io::Result<Self> {
        let (queue, waiting) = channel();
        let shared = Arc::new(Shared::default());
        let directory = chain.directory().to_owned();
        let writer = Writer { chain, name, queue: waiting, settings, shared: Arc::clone(&shared) };
        let thread = std::thread::Builder::new().name("audit".into()).spawn(move || writer.run())?;
        Ok(Self { directory, queue, shared, thread: Mutex::new(Some(thread)) })
    }

    /// Hands events over, together one item, unless as many as `most` items wait already: then they are lost, and a line
    /// will say how many.
    pub fn note(&self, events: Vec<Event>, most: usize) {
        if events.is_empty() {
            return;
        }
        let (count, shared) = (events.len() as u64, &*self.shared);
        let handed = shared.backlog.fetch_add(1, Ordering::AcqRel) < most
            && self.queue.send(Item::Events(events)).is_ok();
        if !handed {
            shared.backlog.fetch_sub(1, Ordering::AcqRel);
            shared.lost.fetch_add(count, Ordering::AcqRel);
            shared.lost_ever.fetch_add(count, Ordering::AcqRel);
        }
    }

    /// Some of its lines, see [`ChainFiles::part`]. An event has its line some milliseconds after it. Reads files.
    /// Errors: `File`.
    pub fn part(&self, after: Option<u64>, most: usize) -> Result<Part, Error> {
        match ChainFiles::of(&self.directory)? {
            Some(chain) => chain.part(after, most),
            None => Ok(Part::default()),
        }
    }

    /// Items that wait for the writer.
    pub fn backlog(&self) -> usize {
        self.shared.backlog.load(Ordering::Acquire)
    }

    /// Events that have no line, since the start.
    pub fn lost(&self) -> u64 {
        self.shared.lost_ever.load(Ordering::Acquire)
    }

    /// Whether the last write failed.
    pub fn is_failing(&self) -> bool {
        self.shared.failing.load(Ordering::Acquire)
    }

    /// Writes and seals what was handed over, and gives the chain back. Blocks, a few seconds at most if the disk takes
    /// nothing.
    pub fn close(&self) {
        self.shared.closing.store(true, Ordering::Release);
        let _ = self.queue.send(Item::Close);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!("the writer of the audit log has failed");
        }
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").field("shared", &self.shared).finish_non_exhaustive()
    }
}

/// What is handed to the writer.
#[derive(Debug)]
enum Item {
    Close,
    Events(Vec<Event>),
}

/// What the writer and those who hand over know of each other.
#[derive(Debug, Default)]
struct Shared {
    /// Items that are handed over and not taken.
    backlog: AtomicUsize,
    closing: AtomicBool,
    /// Whether the last write failed.
    failing: AtomicBool,
    /// Events without a line, not yet said.
    lost: AtomicU64,
    /// All events without a line since the start.
    lost_ever: AtomicU64,
}

struct Writer {
    chain: Chain,
    name: String,
    queue: Receiver<Item>,
    settings: Settings,
    shared: Arc<Shared>,
}

impl Writer {
    /// Writes until it is told to end or nobody is left to tell it.
    fn run(mut self) {
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
                _ if self.chain.unsealed() >= self.settings.seal_lines => Some("lines"),
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
                _ => due
                    .filter(|_| reason.is_none())
                    .or_else(|| Some(Instant::now() + self.settings.seal_after)),
            };
        }
    }

    /// Takes what waits already, up to a batch. Returns whether more can come.
    fn take_waiting(&mut self) -> bool {
        while self.chain.waiting() < BATCH_BYTES && self.chain.unsealed() < self.settings.seal_lines {
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
        if let Some(journal) = &mut self.settings.journal {
            journal.send(&self.name, n, event.kind(), line);
        }
    }

    /// Where lines are missing, the next line says how many.
    fn say_lost(&mut self) {
        let lost = self.shared.lost.swap(0, Ordering::AcqRel);
        if lost > 0 {
            tracing::error!(lines = lost, "lines of the audit log are lost");
            self.append(&Event::new(LOST, (self.settings.clock)()).with_number("lines", lost));
        }
    }

    fn seal(&mut self, reason: &str) {
        match self.chain.seal(reason, (self.settings.clock)()) {
            Ok(Some(line)) => {
                if let Some(journal) = &mut self.settings.journal {
                    journal.send(&self.name, self.chain.last(), SEAL, &line);
                }
            }
            Ok(None) => {}
            // The block stays open and is sealed with the next one.
            Err(cause) => tracing::error!(%cause, "a block of the audit log could not be signed"),
        }
    }

    /// Until everything is in the file: while it is not, nothing more is taken, and the queue fills. Returns false if the
    /// log was closed before.
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
        while let Err(cause) = self.chain.rotate(&self.name, (self.settings.clock)()) {
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
            tracing::error!(%cause, "the audit log cannot be written");
        }
    }
}
