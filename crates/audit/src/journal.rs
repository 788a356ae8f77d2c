//! The system's journal, by its native protocol: one datagram an event
//! (<https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>). Lines are bounded far below what a datagram holds and have no line
//! end in them, so neither a memory file nor a length is ever needed.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use crate::event::Kind;

/// The journal's socket.
///
/// ```
/// use std::path::Path;
///
/// use sealstone_audit::Journal;
///
/// # fn main() -> Result<(), std::io::Error> {
/// // For `Settings::journal`. Whether anybody listens shows when lines are sent.
/// let journal = Journal::open(Path::new("/run/systemd/journal/socket"))?;
/// # drop(journal);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Journal {
    /// Whether the last datagram could not be sent: said once, not for each line.
    failing: bool,
    path: PathBuf,
    socket: UnixDatagram,
}

impl Journal {
    /// Errors: those of a socket. That nobody listens yet is none.
    pub fn open(path: &Path) -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        // A journal that does not read must not hold the audit log up.
        socket.set_nonblocking(true)?;
        Ok(Self { failing: false, path: path.to_owned(), socket })
    }

    /// Sends a line. What cannot be sent is lost to the journal, and not to the chain; the log says so.
    pub(crate) fn send(&mut self, chain: &str, n: u64, kind: Kind, line: &[u8]) {
        // RFC 5424 §6.2.1: 4 is a warning, 6 is for information.
        let priority = if kind.warning { 4 } else { 6 };
        let mut datagram = format!(
            "SYSLOG_IDENTIFIER=sealstone\nPRIORITY={priority}\nSEALSTONE_CHAIN={chain}\nSEALSTONE_N={n}\nSEALSTONE_EVENT={}\nMESSAGE=",
            kind.name
        )
        .into_bytes();
        datagram.extend_from_slice(line);
        datagram.push(b'\n');
        match self.socket.send_to(&datagram, &self.path) {
            Ok(_) if self.failing => {
                tracing::info!(n, "the journal takes events again");
                self.failing = false;
            }
            Ok(_) => {}
            Err(cause) if !self.failing => {
                tracing::error!(%cause, socket = %self.path.display(), n, "the journal takes no events");
                self.failing = true;
            }
            Err(_) => {}
        }
    }
}
