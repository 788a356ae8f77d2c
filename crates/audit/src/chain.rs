//! One chain of lines: where it stands, how it grows, and how it goes on after whatever happened. Blocking I/O; one
//! writer, which holds a lock.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_jose::UnixSeconds;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Key;
use crate::error::Error;
use crate::event::{Event, OPENED, SEAL};

/// The hash before the first line of a chain: 32 zero bytes.
pub(crate) const BEFORE_FIRST: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
/// What stands between a signed line and its signature.
pub(crate) const SIGNATURE: &str = ",\"sig\":\"";

/// SHA-256 in base64url, 43 characters.
pub(crate) fn hash(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, bytes))
}

/// Where a chain's files are.
pub(crate) fn file(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{number:06}.jsonl"))
}

/// The files of a chain, oldest first, with their numbers.
pub(crate) fn files(directory: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let number = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".jsonl")?.parse().ok());
        found.extend(number.map(|number| (number, path)));
    }
    found.sort();
    Ok(found)
}

/// Whether a writer holds the chain now.
pub(crate) fn is_held(directory: &Path) -> bool {
    let lock = OpenOptions::new().read(true).open(directory.join("lock"));
    lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(fs::TryLockError::WouldBlock)))
}

/// How far a chain has come, as it was last sealed: the file `head.json`.
///
/// ```
/// use sealstone_audit::{Chain, Event, Head, Kind, Manner};
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
/// # let place = &std::env::temp_dir().join(format!("sealstone-audit-1-{}", std::process::id()));
/// # let now = UnixSeconds(1_800_000_000);
/// # let (mut chain, _) = Chain::open(place, &["doors".to_owned()], key, 1 << 20, Manner::Lasting, now)?.ok_or("held")?;
/// chain.append(&Event::new(Kind { name: "door.opened", warning: false }, now));
/// chain.seal("command", now)?;
/// chain.settle()?;
///
/// // Kept at another place, it shows later whether the end was cut off.
/// let head = Head::read(&place.join("doors/head.json"))?.ok_or("it was sealed")?;
/// assert_eq!(head.n, 3); // the line that says that it was opened, the event, and the seal
/// assert!(Head::read(&place.join("windows/head.json"))?.is_none());
/// # std::fs::remove_dir_all(place)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Head {
    /// The number of the file.
    pub file: u64,
    /// The SHA-256 of the seal's line, in base64url.
    pub hash: String,
    /// The number of the seal's line.
    pub n: u64,
}

impl Head {
    /// Reads a head, or none where there is no file.
    /// Errors: `File` if it is not one.
    pub fn read(path: &Path) -> Result<Option<Self>, Error> {
        match fs::read(path) {
            Ok(text) => serde_json::from_slice(&text).map(Some).map_err(|cause| Error::file(path, cause)),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(Error::file(path, cause)),
        }
    }
}

/// For how long a chain is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// For a line or two: that it was opened is said only where there is more to say.
    Brief,
    /// As long as its writer lives: that it was opened is a line.
    Lasting,
}

/// The end of a chain, to which its writer adds.
pub struct Chain {
    /// Not yet in the file.
    buffer: Vec<u8>,
    directory: PathBuf,
    /// Whether the file's name is not durable yet.
    fresh: bool,
    file: File,
    file_number: u64,
    key: Arc<dyn Key>,
    /// Dropped last: nobody else writes until then.
    _lock: File,
    max_file_bytes: u64,
    n: u64,
    prev: String,
    /// Whether the file holds a seal that is not durable yet.
    to_sync: bool,
    /// Lines since the last seal.
    unsealed: u64,
    /// The bytes of the file that are whole.
    whole: u64,
}

impl Chain {
    /// Opens the chain of `names` that no other writer holds, the first such one, and says in it how it was found. `None`
    /// if all are held.
    /// Errors: `File`.
    pub fn open(
        audit: &Path,
        names: &[String],
        key: Arc<dyn Key>,
        max_file_bytes: u64,
        manner: Manner,
        now: UnixSeconds,
    ) -> Result<Option<(Self, String)>, Error> {
        for name in names {
            let directory = audit.join(name);
            let failed = |cause: io::Error| Error::file(&directory, cause);
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory).map_err(failed)?;
            let mut options = OpenOptions::new();
            options.create(true).truncate(false).write(true).mode(0o600);
            let lock = options.open(directory.join("lock")).map_err(failed)?;
            match lock.try_lock() {
                Ok(()) => {
                    let chain =
                        Self::resume(directory.clone(), name, lock, key, max_file_bytes, manner, now)?;
                    return Ok(Some((chain, name.clone())));
                }
                Err(fs::TryLockError::WouldBlock) => {}
                Err(fs::TryLockError::Error(cause)) => return Err(failed(cause)),
            }
        }
        Ok(None)
    }

    fn resume(
        directory: PathBuf,
        name: &str,
        lock: File,
        key: Arc<dyn Key>,
        max_file_bytes: u64,
        manner: Manner,
        now: UnixSeconds,
    ) -> Result<Self, Error> {
        let failed = |cause: io::Error| Error::file(&directory, cause);
        let found = Found::of(&directory).map_err(failed)?;
        let head = Head::read(&directory.join("head.json"))?;
        // What is torn stays as it is, and nothing is ever written behind it.
        let fresh = found.torn.is_some() || found.file_bytes >= max_file_bytes;
        let file_number = found.file_number.max(1) + u64::from(fresh);
        let file = open_file(&directory, file_number).map_err(failed)?;
        let whole = file.metadata().map_err(failed)?.len();
        let mut chain = Self {
            buffer: Vec::new(),
            directory,
            fresh: whole == 0,
            file,
            file_number,
            key,
            _lock: lock,
            max_file_bytes,
            n: found.n,
            prev: found.prev,
            to_sync: false,
            unsealed: found.unsealed,
            whole,
        };
        let mut opened = chain.opened(name, "start", now);
        let missing = head.filter(|head| head.n > found.n);
        let plain = found.torn.is_none() && found.unsealed == 0 && missing.is_none();
        if let Some(torn) = &found.torn {
            tracing::warn!(chain = name, bytes = torn.len(), "the audit log ends in a torn line");
            let bytes = torn.len() as u64;
            opened = opened.with_number("torn_bytes", bytes).with("torn_sha256", &hash(torn));
        }
        if found.unsealed > 0 {
            tracing::warn!(chain = name, lines = found.unsealed, "the audit log does not end in a seal");
            opened = opened.with_number("unsealed", found.unsealed);
        }
        if let Some(head) = missing {
            tracing::error!(
                chain = name,
                found = found.n,
                expected = head.n,
                "lines of the audit log are gone"
            );
            opened = opened.with_number("missing_to", head.n);
        }
        // Opened for each line: that alone is not worth another.
        if manner == Manner::Lasting || !plain || chain.whole == 0 {
            chain.append(&opened);
            chain.settle()?;
        }
        Ok(chain)
    }

    /// Adds a line, for now in memory, and returns it without its end.
    pub fn append(&mut self, event: &Event) -> &[u8] {
        let line = event.line(self.n + 1, &self.prev);
        self.unsealed += 1;
        self.push(&line)
    }

    /// Where its files are.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// How many bytes are in memory alone.
    pub(crate) fn waiting(&self) -> usize {
        self.buffer.len()
    }

    /// Lines since the last seal.
    pub(crate) fn unsealed(&self) -> u64 {
        self.unsealed
    }

    /// The number of the last line.
    pub(crate) fn last(&self) -> u64 {
        self.n
    }

    /// Whether the file is full: it ends at the next seal.
    pub(crate) fn is_full(&self) -> bool {
        self.whole + self.buffer.len() as u64 >= self.max_file_bytes
    }

    /// Ends the block, if one is open, with a signed line; durable when [`settle`](Self::settle) has returned. Returns
    /// the line.
    pub fn seal(&mut self, reason: &str, now: UnixSeconds) -> Result<Option<Vec<u8>>, Error> {
        if self.unsealed == 0 {
            return Ok(None);
        }
        let seal = Event::new(SEAL, now)
            .with_number("from", self.n + 1 - self.unsealed)
            .with("reason", reason)
            .with("key", self.key.kid());
        let mut line = seal.line(self.n + 1, &self.prev);
        line.pop();
        let signature = self.key.sign(&line)?;
        line.extend_from_slice(SIGNATURE.as_bytes());
        line.extend_from_slice(URL_SAFE_NO_PAD.encode(signature).as_bytes());
        line.extend_from_slice(b"\"}");
        self.push(&line);
        (self.unsealed, self.to_sync) = (0, true);
        Ok(Some(line))
    }

    /// Brings what is in memory into the file, and a seal to the disk. May be called again after it has failed: nothing
    /// is written twice.
    /// Errors: `File`.
    pub fn settle(&mut self) -> Result<(), Error> {
        let failed = |cause: io::Error| Error::file(file(&self.directory, self.file_number), cause);
        if let Err(cause) = self.file.write_all(&self.buffer) {
            // Half a line must not stay: the next try begins where the last whole one ended.
            let _ = self.file.set_len(self.whole);
            return Err(failed(cause));
        }
        self.whole += self.buffer.len() as u64;
        self.buffer.clear();
        if self.to_sync {
            self.file.sync_data().map_err(failed)?;
            if self.fresh {
                File::open(&self.directory).and_then(|directory| directory.sync_all()).map_err(failed)?;
                self.fresh = false;
            }
            self.write_head().map_err(failed)?;
            self.to_sync = false;
        }
        Ok(())
    }

    /// Goes on in the next file, with a line that is in memory for now. What was in memory before must have settled.
    /// Errors: `File`; the chain is then where it was.
    pub(crate) fn rotate(&mut self, name: &str, now: UnixSeconds) -> Result<(), Error> {
        let failed = |cause: io::Error| Error::file(file(&self.directory, self.file_number + 1), cause);
        let next = open_file(&self.directory, self.file_number + 1).map_err(failed)?;
        self.whole = next.metadata().map_err(failed)?.len();
        (self.file, self.file_number, self.fresh) = (next, self.file_number + 1, true);
        let opened = self.opened(name, "rotation", now);
        self.append(&opened);
        Ok(())
    }

    fn opened(&self, name: &str, reason: &str, now: UnixSeconds) -> Event {
        Event::new(OPENED, now)
            .with_number("format", 1)
            .with("chain", name)
            .with_number("file", self.file_number)
            .with("reason", reason)
            .with("key", self.key.kid())
    }

    fn push(&mut self, line: &[u8]) -> &[u8] {
        self.n += 1;
        self.prev = hash(line);
        let start = self.buffer.len();
        self.buffer.extend_from_slice(line);
        self.buffer.push(b'\n');
        &self.buffer[start..self.buffer.len() - 1]
    }

    fn write_head(&self) -> io::Result<()> {
        let head = Head { file: self.file_number, hash: self.prev.clone(), n: self.n };
        let (draft, place) = (self.directory.join("head.json.new"), self.directory.join("head.json"));
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&draft)?;
        file.write_all(serde_json::to_string(&head)?.as_bytes())?;
        fs::rename(draft, place)
    }
}

fn open_file(directory: &Path, number: u64) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(file(directory, number))
}

/// How a chain was found.
struct Found {
    file_bytes: u64,
    /// The last file, or 0.
    file_number: u64,
    /// The last line, or 0.
    n: u64,
    prev: String,
    /// What stands behind the last end of a line.
    torn: Option<Vec<u8>>,
    /// Lines behind the last seal.
    unsealed: u64,
}

impl Found {
    fn of(directory: &Path) -> io::Result<Self> {
        let files = files(directory)?;
        let mut found = Self {
            file_bytes: 0,
            file_number: 0,
            n: 0,
            prev: BEFORE_FIRST.to_owned(),
            torn: None,
            unsealed: 0,
        };
        let Some((last, path)) = files.last() else { return Ok(found) };
        (found.file_number, found.file_bytes) = (*last, fs::metadata(path)?.len());
        // As a rule the last file has a line. One that does not was made just before its writer ended.
        for (number, path) in files.iter().rev() {
            let tail = Tail::read(path)?;
            if let Some(line) = tail.lines.last() {
                found.prev = hash(line);
                (found.n, found.unsealed) = tail.count();
            }
            if number == last && !tail.torn.is_empty() {
                found.torn = Some(tail.torn);
            }
            if found.n > 0 {
                break;
            }
        }
        Ok(found)
    }
}

/// The end of a file, as far back as its last seal.
struct Tail {
    lines: Vec<Vec<u8>>,
    torn: Vec<u8>,
}

impl Tail {
    fn read(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let size = file.metadata()?.len();
        let mut wanted = 1 << 20;
        loop {
            let from = size.saturating_sub(wanted);
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            let mut lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            let torn = lines.pop().unwrap_or_default();
            // The first one may be the end of a line.
            if from > 0 && !lines.is_empty() {
                lines.remove(0);
            }
            let sealed = lines.iter().rposition(|line| is_seal(line));
            if from == 0 || sealed.is_some() {
                lines.drain(..sealed.unwrap_or(0));
                return Ok(Self { lines, torn });
            }
            wanted *= 4;
        }
    }

    /// The number of the last line, and how many lines are behind the last seal. A line that cannot be read counts as
    /// one: it was changed, which is for the one who verifies to say.
    fn count(&self) -> (u64, u64) {
        let numbers: Vec<Option<u64>> = self.lines.iter().map(|line| number_of(line)).collect();
        let known = numbers.iter().rposition(Option::is_some);
        let n = known.and_then(|at| Some(numbers[at]? + (numbers.len() - 1 - at) as u64));
        let sealed = self.lines.first().is_some_and(|line| is_seal(line));
        (n.unwrap_or(self.lines.len() as u64), self.lines.len() as u64 - u64::from(sealed))
    }
}

fn is_seal(line: &[u8]) -> bool {
    serde_json::from_slice::<Value>(line).is_ok_and(|value| value["event"] == SEAL.name)
}

fn number_of(line: &[u8]) -> Option<u64> {
    serde_json::from_slice::<Value>(line).ok()?["n"].as_u64()
}
