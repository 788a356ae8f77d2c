//! Where administrators' changes are written down. A command has a chain of its own: a line for each change, signed and
//! durable before it ends. What is changed over a server's admin API goes into that server's chain.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sealstone_audit::{Chain, Event, Manner};
use sealstone_jose::UnixSeconds;

use super::key::AuditKey;
use super::{Audit, directory};
use crate::Error;
use crate::clock::Randomness;
use crate::config;
use crate::keys::Sealer;

/// The chain of administrators.
const ADMIN: &str = "admin";
/// How often a chain that another administrator holds is asked for.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(10);

/// Where changes are written down.
#[derive(Clone)]
pub struct Book(Place);

#[derive(Clone)]
enum Place {
    /// The chain of administrators of a data directory. Many processes may have it; one writes at a time, for a moment.
    Admin { directory: PathBuf, max_file_bytes: u64, randomness: Arc<dyn Randomness> },
    /// The chain of a server that runs in this process.
    Server(Arc<Audit>),
}

impl Book {
    /// The chain of administrators of a data directory; `None` where the configuration wants no audit log.
    pub fn of(config: &config::Audit, data_dir: &Path, randomness: Arc<dyn Randomness>) -> Option<Self> {
        let (directory, max_file_bytes) = (directory(data_dir), config.max_file_bytes.get());
        config.enabled.then_some(Self(Place::Admin { directory, max_file_bytes, randomness }))
    }

    /// The chain of a server, whose requests have asked for room already.
    pub(crate) fn of_server(audit: &Arc<Audit>) -> Self {
        Self(Place::Server(Arc::clone(audit)))
    }

    /// Whether a line can be written: asked before something is changed. Makes what is missing.
    /// Errors: `DataDirectory`, `Sealed`.
    pub fn check(&self, sealer: &Sealer, now: UnixSeconds) -> Result<(), Error> {
        let Place::Admin { directory, randomness, .. } = &self.0 else { return Ok(()) };
        crate::data_dir::create(directory)?;
        AuditKey::open(directory, sealer, Arc::clone(randomness), now).map(drop)
    }

    /// Writes a line. When it returns, an administrator's line and its seal are on the disk; a server's writer has it.
    /// Errors: `DataDirectory`, `Sealed`, `Key`.
    pub fn write(&self, event: Event, sealer: &Sealer) -> Result<(), Error> {
        let (directory, max_file_bytes, randomness) = match &self.0 {
            Place::Admin { directory, max_file_bytes, randomness } => {
                (directory, *max_file_bytes, randomness)
            }
            Place::Server(audit) => {
                audit.note(vec![event]);
                return Ok(());
            }
        };
        let now = event.time();
        let key = Arc::new(AuditKey::open(directory, sealer, Arc::clone(randomness), now)?);
        let mut chain = open(directory, key, max_file_bytes, now)?;
        // Who did it, as far as the system knows.
        let uid = std::fs::metadata("/proc/self").map(|process| u64::from(process.uid())).ok();
        chain.append(&match uid {
            Some(uid) => event.with_number("uid", uid),
            None => event,
        });
        chain.seal("command", now)?;
        Ok(chain.settle()?)
    }
}

/// The chain, once no other administrator holds it.
fn open(directory: &Path, key: Arc<AuditKey>, max_file_bytes: u64, now: UnixSeconds) -> Result<Chain, Error> {
    for _ in 0..TRIES {
        let (names, key) = (&[ADMIN.to_owned()], Arc::clone(&key));
        if let Some((chain, _)) = Chain::open(directory, names, key, max_file_bytes, Manner::Brief, now)? {
            return Ok(chain);
        }
        std::thread::sleep(PAUSE);
    }
    Err(Error::data(directory.join(ADMIN), "another administrator holds the audit log"))
}

impl std::fmt::Debug for Book {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match &self.0 {
            Place::Admin { .. } => "Book(admin)",
            Place::Server(_) => "Book(server)",
        })
    }
}
