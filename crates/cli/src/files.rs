//! Files as arguments: where bytes come from and where they go. A file appears whole or not at all, a private one is
//! for its owner alone from its first byte, and nothing is replaced unasked.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use zeroize::Zeroizing;

use crate::error::Error;
use crate::terminal::{Safe, Terminal};

/// A path as it is called in messages: on one line, whatever it is.
pub(crate) fn shown(path: &Path) -> String {
    Safe(&path.display().to_string()).to_string()
}

/// Whether somebody has standard input.
static STDIN_TAKEN: AtomicBool = AtomicBool::new(false);

/// A file to read, or `-` for standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Path(PathBuf),
    Stdin,
}

impl From<OsString> for Source {
    fn from(text: OsString) -> Self {
        if text == "-" { Source::Stdin } else { Source::Path(text.into()) }
    }
}

impl Source {
    /// As it is called in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Source::Path(path) => shown(path),
            Source::Stdin => "standard input".into(),
        }
    }

    pub(crate) fn open(&self) -> Result<Box<dyn Read>, Error> {
        match self {
            Source::Path(path) => {
                let file = File::open(path).map_err(|cause| Error::path(path, "read", cause))?;
                Ok(Box::new(file))
            }
            // What is read again is empty: an empty file would be signed, where a file and a password were meant.
            Source::Stdin if STDIN_TAKEN.swap(true, Ordering::Relaxed) => {
                Err(Error::usage("two inputs cannot both be standard input", "give one of them by its name"))
            }
            Source::Stdin => Ok(Box::new(io::stdin())),
        }
    }

    /// Hands the content over in pieces.
    pub(crate) fn each_piece(&self, mut take: impl FnMut(&[u8])) -> Result<(), Error> {
        let mut reader = self.open()?;
        let mut buffer = vec![0; 256 * 1024];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => take(&buffer[..count]),
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(Error::file(&self.name(), "read", cause)),
            }
        }
    }

    /// All of the content, which may be a secret.
    pub(crate) fn read(&self, limit: usize) -> Result<Zeroizing<Vec<u8>>, Error> {
        let reader = self.open()?;
        // All room at once where it is small: a buffer that grew would leave copies of a secret behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity((limit + 64).min(1 << 21)));
        let read = reader.take(limit as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|cause| Error::file(&self.name(), "read", cause))?;
        if bytes.len() > limit {
            let what = format!("{} is larger than {limit} bytes, expected less", self.name());
            return Err(Error::Usage { what, hint: None });
        }
        Ok(bytes)
    }

    /// All of the content as text.
    pub(crate) fn read_text(&self, limit: usize) -> Result<Zeroizing<String>, Error> {
        let bytes = self.read(limit)?;
        match std::str::from_utf8(&bytes) {
            Ok(text) => Ok(Zeroizing::new(text.to_owned())),
            Err(at) => {
                let what = format!("{} is not text: bad UTF-8 at byte {}", self.name(), at.valid_up_to());
                Err(Error::Usage { what, hint: None })
            }
        }
    }

    /// The mode of a file that others than its owner may read or write.
    pub(crate) fn wide_mode(&self) -> Option<u32> {
        let Source::Path(path) = self else { return None };
        let mode = fs::metadata(path).ok().filter(fs::Metadata::is_file)?.permissions().mode();
        (mode & 0o077 != 0).then_some(mode & 0o7777)
    }
}

/// A file to write, or `-` for standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Path(PathBuf),
    Stdout,
}

impl From<OsString> for Target {
    fn from(text: OsString) -> Self {
        if text == "-" { Target::Stdout } else { Target::Path(text.into()) }
    }
}

/// Who may read a file that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Everyone whom the umask lets.
    All,
    /// The owner, whatever the umask says.
    Owner,
}

impl Target {
    /// Refuses what [`write`](Self::write) would refuse, before any work is done.
    pub(crate) fn check(&self, force: bool) -> Result<(), Error> {
        let Target::Path(path) = self else { return Ok(()) };
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                let what = format!("{} is a directory, expected the name of a file", shown(path));
                Err(Error::Usage { what, hint: None })
            }
            Ok(found) if found.is_file() && !force => Err(Error::Exists { path: path.clone() }),
            _ => Ok(()),
        }
    }

    /// Writes all of `bytes`, or leaves everything as it was.
    pub(crate) fn write(
        &self,
        bytes: &[u8],
        readers: Readers,
        force: bool,
        terminal: &mut Terminal,
    ) -> Result<(), Error> {
        self.check(force)?;
        match self {
            Target::Stdout => terminal.bytes(bytes),
            Target::Path(path) => match write_file(path, bytes, readers, force) {
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
                    Err(Error::Exists { path: path.clone() })
                }
                done => done.map_err(|cause| Error::path(path, "written", cause)),
            },
        }
    }
}

fn write_file(path: &Path, bytes: &[u8], readers: Readers, force: bool) -> io::Result<()> {
    // A pipe or a device is written to, not replaced.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    let mode = match readers {
        Readers::All => 0o666,
        Readers::Owner => 0o600,
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".sealstone-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)
        .map_err(without_path)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    let placed = if force { file.persist(path) } else { file.persist_noclobber(path) };
    placed.map(drop).map_err(|failed| failed.error)
}

/// The error of the system; `tempfile` adds the name that it tried, which means nothing to the reader.
fn without_path(cause: io::Error) -> io::Error {
    match cause.kind() {
        kind @ io::ErrorKind::NotFound => io::Error::new(kind, "no such folder"),
        kind => kind.into(),
    }
}
