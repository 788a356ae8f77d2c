//! TLS 1.3 to the broker, with X25519MLKEM768 preferred.
//!
//! Two threads share a connection: one reads, one writes, and neither may wait for the network while the other needs what it holds.
//! So the state of TLS is locked only between reading from the socket and taking apart what came, and between putting together
//! what goes and writing it; both are work in memory. A second lock, of writers alone, keeps records in the order in which they
//! were made. Whoever reads never writes: what TLS 1.3 has to answer after the handshake, a KeyUpdate, goes out before the next data
//! (RFC 8446, 4.6.3). So a broker that takes nothing holds up the writer, for as long as its socket's time-out says, and nobody else.

use std::fmt;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{AlertDescription, CertificateError, ClientConfig, ClientConnection, RootCertStore};
use zeroize::Zeroizing;

use super::Error;
use super::config::Tls;

/// Bytes that are read from the socket at a time: as many as a record holds.
const PIECE: usize = 16 * 1024;

/// Whom we trust, who we are, and what the broker is called.
#[derive(Clone)]
pub struct Terms {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Terms {
    /// Reads the files of a configuration; `host` is the broker's name where the configuration has none.
    /// Errors: `Data` for a file that cannot be used, also for a key that everyone may read; `Config` for a name that is none.
    pub fn load(tls: &Tls, host: &str) -> Result<Self, Error> {
        let mut roots = RootCertStore::empty();
        match &tls.ca {
            Some(path) => {
                for certificate in certificates(path)? {
                    roots.add(certificate).map_err(|cause| unfit(path, &cause))?;
                }
            }
            None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
        }
        if roots.is_empty() {
            return Err(Error::Config {
                file: None,
                place: None,
                what: "the system has no authority to trust, and `tls.ca` names none".into(),
                hint: "tls = { ca = \"ca.pem\" } names a PEM file".into(),
            });
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|cause| Error::Broker { address: host.into(), what: cause.to_string() })?
            .with_root_certificates(roots);
        let config = match (&tls.certificate, &tls.key) {
            (Some(certificate), Some(key)) => builder
                .with_client_auth_cert(certificates(certificate)?, private_key(key)?)
                .map_err(|cause| unfit(certificate, &cause))?,
            _ => builder.with_no_client_auth(),
        };
        let name = tls.server_name.as_deref().unwrap_or(host);
        let name = ServerName::try_from(name.to_owned()).map_err(|_| Error::Config {
            file: None,
            place: None,
            what: format!("{name:?} is no name of a server"),
            hint: "tls = { server_name = \"broker.example.org\" } is the name in the broker's certificate"
                .into(),
        })?;
        Ok(Terms { config: Arc::new(config), name })
    }
}

impl fmt::Debug for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terms").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A connection under TLS, for one who reads and for any who write.
#[derive(Debug)]
pub(super) struct Secured {
    socket: TcpStream,
    state: Mutex<ClientConnection>,
    /// Held while records are made and written.
    order: Mutex<()>,
}

impl Secured {
    /// Shakes hands, within a time. Errors: of the network; `InvalidData` with what is wrong with the broker's certificate, or what
    /// the broker says is wrong with ours.
    pub(super) fn new(socket: TcpStream, terms: &Terms, patience: Duration) -> io::Result<Self> {
        let end = Instant::now() + patience;
        let mut state =
            ClientConnection::new(Arc::clone(&terms.config), terms.name.clone()).map_err(refused)?;
        // What is made is taken out at once: a record never waits for room.
        state.set_buffer_limit(None);
        loop {
            while state.wants_write() {
                state.write_tls(&mut &socket)?;
            }
            if !state.is_handshaking() {
                break;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            socket.set_read_timeout(Some(left))?;
            match state.read_tls(&mut &socket) {
                Ok(0) => return Err(broken_off()),
                Ok(_) => {}
                Err(cause) if cause.kind() == io::ErrorKind::ConnectionReset => return Err(broken_off()),
                Err(cause) => return Err(cause),
            }
            if let Err(cause) = state.process_new_packets() {
                // It says why: the broker's log has it.
                let _ = state.write_tls(&mut &socket);
                return Err(refused(cause));
            }
        }
        socket.set_read_timeout(Some(patience))?;
        Ok(Secured { socket, state: Mutex::new(state), order: Mutex::new(()) })
    }

    /// Waits for bytes and adds what they say, maybe nothing, to `out`. False at the end.
    pub(super) fn read(&self, out: &mut Vec<u8>) -> io::Result<bool> {
        let mut piece = [0; PIECE];
        let count = (&self.socket).read(&mut piece)?;
        let mut came = &piece[..count];
        let mut state = lock(&self.state);
        while !came.is_empty() {
            if state.read_tls(&mut came)? == 0 {
                return Ok(false); // behind the end
            }
            let said = state.process_new_packets().map_err(refused)?;
            let at = out.len();
            out.resize(at + said.plaintext_bytes_to_read(), 0);
            state.reader().read_exact(&mut out[at..])?;
            if said.peer_has_closed() {
                return Ok(out.len() > at);
            }
        }
        Ok(count > 0)
    }

    /// Writes all of it.
    pub(super) fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        let _order = lock(&self.order);
        let mut records = Vec::with_capacity(bytes.len() + bytes.len() / 64 + 256);
        {
            let mut state = lock(&self.state);
            state.writer().write_all(bytes)?;
            while state.wants_write() {
                state.write_tls(&mut records)?;
            }
        }
        (&self.socket).write_all(&records)
    }

    /// How long [`Self::read`] waits.
    pub(super) fn set_read_timeout(&self, patience: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(patience)
    }

    /// Ends it for both.
    pub(super) fn close(&self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

/// What a PEM file has of certificates, at least one. Errors: `Data`.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let pem = fs::read(path).map_err(|cause| Error::data(path, cause))?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match chain {
        Ok(chain) if chain.is_empty() => Err(unfit(path, &"no certificate in it")),
        Ok(chain) => Ok(chain),
        Err(cause) => Err(unfit(path, &cause)),
    }
}

/// The private key of a PEM file that not everyone may read. Errors: `Data`.
fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, Error> {
    let mode = fs::metadata(path).map_err(|cause| Error::data(path, cause))?.mode();
    if mode & 0o007 != 0 {
        return Err(Error::Data {
            path: path.to_owned(),
            what: format!("mode {:04o} lets everyone in, 0600 or 0640 expected", mode & 0o7777),
            hint: "chmod 600, and a new key if somebody else may have read it",
        });
    }
    let pem = fs::read(path).map(Zeroizing::new).map_err(|cause| Error::data(path, cause))?;
    PrivateKeyDer::from_pem_slice(&pem).map_err(|cause| unfit(path, &cause))
}

fn unfit(path: &Path, cause: &dyn fmt::Display) -> Error {
    let hint = "`ca` and `certificate` are PEM files of certificates, `key` is the private key of the latter";
    Error::Data { path: path.to_owned(), what: cause.to_string(), hint }
}

/// What an operator can do something about, in words.
fn refused(cause: rustls::Error) -> io::Error {
    use rustls::Error as Tls;
    let words = match &cause {
        // The latter: of an authority that has only the name of ours.
        Tls::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            "its certificate is of no authority that is trusted"
        }
        Tls::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "its certificate has expired"
        }
        Tls::InvalidCertificate(
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
        ) => "its certificate is not valid yet",
        Tls::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "its certificate is of another name",
        Tls::AlertReceived(AlertDescription::CertificateRequired) => "it demands a certificate of ours",
        Tls::AlertReceived(AlertDescription::ProtocolVersion) => "it has no TLS 1.3",
        Tls::AlertReceived(
            AlertDescription::UnknownCA | AlertDescription::DecryptError | AlertDescription::BadCertificate,
        ) => "it does not trust our certificate",
        Tls::InvalidMessage(_) => "it speaks no TLS",
        _ => return io::Error::new(io::ErrorKind::InvalidData, format!("TLS: {cause}")),
    };
    io::Error::new(io::ErrorKind::InvalidData, words)
}

fn broken_off() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "it breaks off the handshake: is this its port for TLS?")
}

/// A thread that panicked while it held the lock ends the connection with it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
