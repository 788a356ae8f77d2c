//! The audit log: what was decided, in lines that carry each other's hashes, in blocks that end with a signature
//! (`sealstone_audit`, whose types are here too).
//!
//! | file | what |
//! |---|---|
//! | `event` | what is written down |
//! | `book` | the chain of administrators |
//! | `key` | the key that signs |
//!
//! A request hands its events over and waits for no disk. Room for them is asked for before anything is decided
//! ([`Audit::begin`]), so that with `audit.when_full = "refuse"` nothing happens of which there will be no line. The bytes
//! are in docs/formats/audit.md.

mod book;
mod event;
mod key;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sealstone_audit::{Chain, Journal, Log, Manner, Settings};
use sealstone_jose::UnixSeconds;

use crate::Error;
use crate::clock::{Clock, Randomness};
use crate::config::{self, WhenFull};
use crate::keys::Sealer;

pub use book::Book;
pub use event::What;
pub use key::{AuditKey, public};
pub use sealstone_audit::{
    CONTEXT, ChainFiles, Event, Fault, Finding, Head, MAX_LINE, MAX_TEXT, Part, Report,
};

/// The most servers that can share a data directory, each with a chain of its own.
const MOST_CHAINS: usize = 16;

/// Where the audit log of a data directory is.
pub fn directory(data_dir: &Path) -> PathBuf {
    data_dir.join("audit")
}

/// A server's audit log.
pub struct Audit {
    /// Whether introspections and userinfo answers are written down too.
    introspection: bool,
    log: Log,
    /// Items that may wait for the writer.
    most: usize,
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
        let opened = Chain::open(&directory, &names, key, config.max_file_bytes.get(), Manner::Lasting, now)?;
        let held = || Error::data(&directory, "every chain of the audit log is held by another server");
        let (chain, name) = opened.ok_or_else(held)?;
        let journal = match config.journald {
            true => Some(Journal::open(&config.journald_socket)),
            false => None,
        };
        let settings = Settings {
            clock: Box::new(move || clock.now()),
            journal: journal.transpose().map_err(|cause| Error::data(&config.journald_socket, cause))?,
            seal_after: Duration::from_secs(config.seal_seconds.get().min(86_400)),
            seal_lines: config.seal_lines.get(),
        };
        let log = Log::start(chain, name, settings).map_err(|cause| Error::store("start a thread", cause))?;
        Ok(Some(Self {
            introspection: config.introspection,
            log,
            most: usize::try_from(config.queue.get()).unwrap_or(usize::MAX),
            when_full: config.when_full,
        }))
    }

    /// Asks for room for what a request will decide. That it was `abandoned` is written if it ends without a word.
    /// Errors: `Full`, only with `audit.when_full = "refuse"`.
    pub fn begin<'a>(&'a self, abandoned: Abandoned<'a>) -> Result<Slot<'a>, Full> {
        let full = || self.log.is_failing() || self.log.backlog() >= self.most;
        match self.when_full {
            WhenFull::Refuse if full() => Err(Full),
            _ => Ok(Slot { abandoned: Some(abandoned), audit: self }),
        }
    }

    /// Hands over events that no request waits for.
    pub fn note(&self, events: Vec<Event>) {
        // What has begun is written, also if there is no room for more to begin: as many requests again may be under way.
        let most = match self.when_full {
            WhenFull::Drop => self.most,
            WhenFull::Refuse => self.most.saturating_mul(2),
        };
        self.log.note(events, most);
    }

    /// Some of its lines, see [`ChainFiles::part`]. An event has its line some milliseconds after it. Reads files.
    /// Errors: `DataDirectory`.
    pub fn part(&self, after: Option<u64>, most: usize) -> Result<Part, Error> {
        Ok(self.log.part(after, most)?)
    }

    /// Whether reading is written down, and not only deciding.
    pub fn notes_reading(&self) -> bool {
        self.introspection
    }

    /// Items that wait for the writer.
    pub fn backlog(&self) -> usize {
        self.log.backlog()
    }

    /// Events that have no line, since the start.
    pub fn lost(&self) -> u64 {
        self.log.lost()
    }

    /// Whether the last write failed.
    pub fn is_failing(&self) -> bool {
        self.log.is_failing()
    }

    /// Writes and seals what was handed over, and gives the chain back. Blocks, a few seconds at most if the disk takes
    /// nothing.
    pub fn close(&self) {
        self.log.close()
    }
}

impl std::fmt::Debug for Audit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Audit").field("log", &self.log).finish_non_exhaustive()
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
