//! The audit log: what was decided, in lines that carry each other's hashes, in blocks that end with a signature.
//!
//! | file | what |
//! |---|---|
//! | `event` | what is written down |
//! | `chain` | one chain: how it grows, and how it goes on after whatever happened |
//! | `writer` | the thread that writes a server's chain |
//! | `book` | the chain of administrators |
//! | `key` | the key that signs |
//! | `journal` | the system's journal |
//! | `verify`, `links` | checking chains |
//!
//! A request hands its events over and waits for no disk. Room for them is asked for before anything is decided
//! ([`Audit::begin`]), so that with `audit.when_full = "refuse"` nothing happens of which there will be no line. The bytes
//! are in docs/formats/audit.md.

mod book;
mod chain;
mod event;
mod journal;
mod key;
mod links;
mod part;
mod verify;
mod writer;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use sealstone_jose::UnixSeconds;

use crate::Error;
use crate::clock::{Clock, Randomness};
use crate::config::{self, WhenFull};
use crate::keys::Sealer;
use chain::Chain;
use journal::Journal;
use writer::{Item, Shared, Writer};

pub use book::Book;
pub use chain::Head;
pub use event::{Event, MAX_TEXT, What};
pub use key::{AuditKey, CONTEXT, public};
pub use part::Part;
pub use verify::{ChainFiles, Fault, Finding, MAX_LINE, Report};

/// The most servers that can share a data directory, each with a chain of its own.
const MOST_CHAINS: usize = 16;

/// Where the audit log of a data directory is.
pub fn directory(data_dir: &Path) -> PathBuf {
    data_dir.join("audit")
}

/// A server's audit log.
pub struct Audit {
    /// Where its chain is.
    directory: PathBuf,
    /// Whether introspections and userinfo answers are written down too.
    introspection: bool,
    /// Items that may wait for the writer.
    most: usize,
    queue: Sender<Item>,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
    when_full: WhenFull,
}

/// There is no room, or the disk takes nothing: what would be decided now would have no line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl Audit {
    /// Opens the first chain of `server`, `server-2`, … that no other server holds, makes the key where there is none,
    /// and starts the writer. `None` where the configuration wants no audit log.
    /// Errors: `DataDirectory`, `Sealed`, `Key`.
    pub fn open(
        config: &config::Audit,
        data_dir: &Path,
        sealer: &Sealer,
        clock: Arc<dyn Clock>,
        randomness: Arc<dyn Randomness>,
    ) -> Result<Option<Self>, Error> {
        if !config.enabled {
            return Ok(None);
        }
        let (directory, now) = (directory(data_dir), clock.now());
        crate::data_dir::create(&directory)?;
        let key = Arc::new(AuditKey::open(&directory, sealer, randomness, now)?);
        let numbered = (2..=MOST_CHAINS).map(|number| format!("server-{number}"));
        let names: Vec<String> = ["server".to_owned()].into_iter().chain(numbered).collect();
        let opened = Chain::open(&directory, &names, key, config.max_file_bytes.get(), now)?;
        let held = || Error::data(&directory, "every chain of the audit log is held by another server");
        let (chain, name) = opened.ok_or_else(held)?;
        let journal = match config.journald {
            true => Some(Journal::open(&config.journald_socket)),
            false => None,
        };
        let journal = journal.transpose().map_err(|cause| Error::data(&config.journald_socket, cause))?;
        let (queue, waiting) = channel();
        let shared = Arc::new(Shared::default());
        let directory = directory.join(&name);
        let writer = Writer {
            chain,
            clock,
            journal,
            name,
            queue: waiting,
            seal_after: Duration::from_secs(config.seal_seconds.get().min(86_400)),
            seal_lines: config.seal_lines.get(),
            shared: Arc::clone(&shared),
        };
        let thread = std::thread::Builder::new().name("audit".into()).spawn(move || writer.run());
        let thread = thread.map_err(|cause| Error::store("start a thread", cause))?;
        Ok(Some(Self {
            directory,
            introspection: config.introspection,
            most: usize::try_from(config.queue.get()).unwrap_or(usize::MAX),
            queue,
            shared,
            thread: Mutex::new(Some(thread)),
            when_full: config.when_full,
        }))
    }

    /// Asks for room for what a request will decide. That it was `abandoned` is written if it ends without a word.
    /// Errors: `Full`, only with `audit.when_full = "refuse"`.
    pub fn begin<'a>(&'a self, abandoned: Abandoned<'a>) -> Result<Slot<'a>, Full> {
        let full = || {
            let failing = self.shared.failing.load(Ordering::Acquire);
            failing || self.shared.backlog.load(Ordering::Acquire) >= self.most
        };
        match self.when_full {
            WhenFull::Refuse if full() => Err(Full),
            _ => Ok(Slot { abandoned: Some(abandoned), audit: self }),
        }
    }

    /// Hands over events that no request waits for.
    pub fn note(&self, events: Vec<Event>) {
        if events.is_empty() {
            return;
        }
        // What has begun is written, also if there is no room for more to begin: as many requests again may be under way.
        let most = match self.when_full {
            WhenFull::Drop => self.most,
            WhenFull::Refuse => self.most.saturating_mul(2),
        };
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
    /// Errors: `DataDirectory`.
    pub fn part(&self, after: Option<u64>, most: usize) -> Result<Part, Error> {
        match ChainFiles::of(&self.directory)? {
            Some(chain) => chain.part(after, most),
            None => Ok(Part::default()),
        }
    }

    /// Whether reading is written down, and not only deciding.
    pub fn notes_reading(&self) -> bool {
        self.introspection
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

impl std::fmt::Debug for Audit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Audit").field("shared", &self.shared).finish_non_exhaustive()
    }
}

/// Where a request went and came from.
#[derive(Clone, Copy, Debug)]
pub struct Abandoned<'a> {
    /// Whose it is, where that is known.
    pub address: Option<IpAddr>,
    /// When it came.
    pub now: UnixSeconds,
    /// Its route.
    pub path: Option<&'a str>,
}

/// Room for the events of one request.
#[must_use]
#[derive(Debug)]
pub struct Slot<'a> {
    abandoned: Option<Abandoned<'a>>,
    audit: &'a Audit,
}

impl Slot<'_> {
    /// What the request decided.
    pub fn tell(mut self, events: Vec<Event>) {
        self.abandoned = None;
        self.audit.note(events);
    }
}

impl Drop for Slot<'_> {
    /// The request was given up: by its client, or by a fault of ours.
    fn drop(&mut self) {
        if let Some(Abandoned { address, now, path }) = self.abandoned.take() {
            let event = Event::new(What::RequestAbandoned, now).with_some("path", path);
            self.audit.note(vec![match address {
                Some(address) => event.with_address("address", address),
                None => event,
            }]);
        }
    }
}
