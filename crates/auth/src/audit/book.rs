//! The chain of administrators: one line for each change, signed and durable before the command ends.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sealstone_jose::UnixSeconds;

use super::chain::{ADMIN, Chain};
use super::directory;
use super::event::Event;
use super::key::AuditKey;
use crate::Error;
use crate::clock::Randomness;
use crate::config;
use crate::keys::Sealer;

/// How often a chain that another administrator holds is asked for.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(10);

/// The chain of administrators of a data directory. Many processes may have it; one writes at a time, for a moment.
#[derive(Clone)]
pub struct Book {
    directory: PathBuf,
    max_file_bytes: u64,
    randomness: Arc<dyn Randomness>,
}

impl Book {
    /// The book of a data directory; `None` where the configuration wants no audit log.
    pub fn of(config: &config::Audit, data_dir: &Path, randomness: Arc<dyn Randomness>) -> Option<Self> {
        let (directory, max_file_bytes) = (directory(data_dir), config.max_file_bytes.get());
        config.enabled.then_some(Self { directory, max_file_bytes, randomness })
    }

    /// Whether a line can be written: asked before something is changed. Makes what is missing.
    /// Errors: `DataDirectory`, `Sealed`.
    pub fn check(&self, sealer: &Sealer, now: UnixSeconds) -> Result<(), Error> {
        crate::data_dir::create(&self.directory)?;
        AuditKey::open(&self.directory, sealer, Arc::clone(&self.randomness), now).map(drop)
    }

    /// Writes a line and its seal. When it returns, both are on the disk.
    /// Errors: `DataDirectory`, `Sealed`, `Key`.
    pub fn write(&self, event: Event, sealer: &Sealer) -> Result<(), Error> {
        let now = event.time();
        let key = Arc::new(AuditKey::open(&self.directory, sealer, Arc::clone(&self.randomness), now)?);
        let mut chain = self.open(key, now)?;
        // Who did it, as far as the system knows.
        let uid = std::fs::metadata("/proc/self").map(|process| u64::from(process.uid())).ok();
        chain.append(&match uid {
            Some(uid) => event.with_number("uid", uid),
            None => event,
        });
        chain.seal("command", now)?;
        chain.settle()
    }

    fn open(&self, key: Arc<AuditKey>, now: UnixSeconds) -> Result<Chain, Error> {
        for _ in 0..TRIES {
            let (names, key) = (&[ADMIN.to_owned()], Arc::clone(&key));
            if let Some((chain, _)) = Chain::open(&self.directory, names, key, self.max_file_bytes, now)? {
                return Ok(chain);
            }
            std::thread::sleep(PAUSE);
        }
        Err(Error::data(self.directory.join(ADMIN), "another administrator holds the audit log"))
    }
}

impl std::fmt::Debug for Book {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Book").field("directory", &self.directory).finish_non_exhaustive()
    }
}
