//! What can go wrong outside a protocol answer: configuration, disk, store, keys, sockets.
//! What a peer is told has its own type, [`crate::protocol::OAuthError`].

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why the server or an administrator's request could not go on.
#[non_exhaustive]
#[derive(Debug)]
pub enum Error {
    /// A backup cannot be made there, is not one, or cannot be restored there. Cure: the hint.
    Backup {
        /// The backup, or the data directory.
        path: PathBuf,
        /// What is wrong.
        what: String,
        /// What to do.
        hint: &'static str,
    },
    /// Too many passwords are being hashed. Cure: later again; `passwords.at_once` and `passwords.waiting` bound it.
    Busy,
    /// A certificate or its key cannot be used. Cure: give a PEM chain and its PKCS#8, SEC1 or PKCS#1 key.
    Certificate {
        /// What is wrong.
        what: String,
    },
    /// The configuration decides about this client. Cure: change it there; where it is disabled, also: remove it.
    ClientConfigured {
        /// The id asked for.
        id: String,
        /// Whether the configuration has it no more, so that it is disabled.
        withdrawn: bool,
    },
    /// A client with this id is there already. Cure: choose another id, or remove the client first.
    ClientExists {
        /// The id asked for.
        id: String,
    },
    /// A client's field is outside its bounds. Cure: the hint names the bounds.
    ClientInvalid {
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        what: String,
        /// What to do.
        hint: String,
    },
    /// No client has this id. Cure: list the clients.
    ClientUnknown {
        /// The id asked for.
        id: String,
    },
    /// The configuration is not one. Cure: the hint.
    Config(ConfigError),
    /// A file of the data directory cannot be used. Cure: the path's owner, mode and free space.
    DataDirectory {
        /// The file or directory.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// This issuer is trusted already. Cure: remove it first.
    IssuerExists {
        /// Its identifier.
        issuer: String,
    },
    /// A trusted issuer's field is outside its bounds. Cure: the hint names the bounds.
    IssuerInvalid {
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        what: String,
        /// What to do.
        hint: String,
    },
    /// The store has no such trusted issuer. Cure: list them.
    IssuerUnknown {
        /// The identifier asked for.
        issuer: String,
    },
    /// A signing key could not be made, read or used. Cure: none by the caller; the cause says which step.
    Key {
        /// What is wrong.
        what: String,
    },
    /// The address cannot be listened on. Cure: another port, or stop the process that holds it.
    Listen {
        /// The address of the configuration.
        address: SocketAddr,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The system gave no randomness. Cure: none; nothing was issued.
    Randomness,
    /// A sealed key cannot be opened. Cure: the key file that sealed it.
    Sealed {
        /// What is wrong.
        what: &'static str,
    },
    /// No signing key has this name. Cure: list the keys.
    SigningKeyUnknown {
        /// The `kid` or name asked for.
        name: String,
    },
    /// The store failed or holds what it must not. Cure: disk space, permissions, a backup.
    Store {
        /// The operation.
        what: &'static str,
        /// What the store said.
        cause: String,
    },
    /// A later version of this program wrote the store. Cure: that version, or a backup from before.
    StoreSchema {
        /// The version of its tables.
        found: u32,
        /// The latest that this program knows.
        known: u32,
    },
    /// The store can be reached no more, or not be written to: nothing was changed, or it is not known whether. Cure: disk
    /// space, the disk's state, permissions. What failed may be tried again.
    StoreUnavailable {
        /// The operation.
        what: &'static str,
        /// What the store said.
        cause: String,
    },
    /// A user with this name is there already. Cure: choose another name, or remove the user first.
    UserExists {
        /// The username.
        username: String,
    },
    /// A user's field is outside its bounds. Cure: the hint names the bounds.
    UserInvalid {
        /// The field.
        field: &'static str,
        /// What is wrong with it, to follow its name.
        what: &'static str,
        /// What to do.
        hint: &'static str,
    },
    /// No session has this `sid`. Cure: list the sessions.
    SessionUnknown {
        /// The `sid`.
        sid: String,
    },
    /// No user has this name. Cure: list the users.
    UserUnknown {
        /// The username.
        username: String,
    },
}

/// Where a configuration is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file, if it came from one.
    pub file: Option<PathBuf>,
    /// The line, counted from 1; `None` where the fault is in no single line.
    pub line: Option<usize>,
    /// The column, counted from 1 in characters.
    pub column: Option<usize>,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Error {
    /// What the operator can do about it, if more can be said than the message does.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::ClientConfigured { withdrawn: false, .. } => {
                Some("change `static_clients` there, and start the server anew".into())
            }
            Error::ClientConfigured { withdrawn: true, .. } => {
                Some("put it back into `static_clients`, or remove it".into())
            }
            Error::ClientExists { .. } => Some("choose another id, or remove the client first".into()),
            Error::ClientInvalid { hint, .. } | Error::IssuerInvalid { hint, .. } => Some(hint.clone()),
            Error::IssuerExists { .. } => Some("remove it first".into()),
            Error::IssuerUnknown { .. } => Some("list the issuers to see them; those of the configuration are removed there".into()),
            Error::ClientUnknown { .. } => Some("list the clients to see their ids".into()),
            Error::Config(config) => config.hint.clone(),
            Error::DataDirectory { .. } => Some(
                "the data directory and its files belong to the server alone (modes 0700 and 0600)".into(),
            ),
            Error::Listen { .. } => {
                Some("choose another address with `listen`; port 0 lets the system choose".into())
            }
            Error::Sealed { .. } => {
                Some("restore the seal.key that belongs to this store; without it its keys are lost".into())
            }
            Error::Certificate { .. } => {
                Some("a PEM chain in `tls.certificate` and its own PEM key in `tls.key`, readable by the server alone".into())
            }
            Error::Backup { hint, .. } => Some((*hint).into()),
            Error::StoreSchema { .. } => {
                Some("use the version of sealstone that wrote it, or restore a backup from before".into())
            }
            Error::StoreUnavailable { .. } => Some(
                "look at the free space, the health and the mount options of the data directory's disk; requests that \
                 need it are refused until it can be written to".into(),
            ),
            Error::Store { .. } => Some("look at the disk's free space and the data directory's owner and mode".into()),
            Error::SigningKeyUnknown { .. } => Some("list the signing keys to see their names".into()),
            Error::UserExists { .. } => Some("choose another name, or remove the user first".into()),
            Error::UserInvalid { hint, .. } => Some((*hint).into()),
            Error::SessionUnknown { .. } => Some("list the sessions to see which there are".into()),
            Error::UserUnknown { .. } => Some("list the users to see their names".into()),
            Error::Busy => Some("try again in a few seconds".into()),
            Error::Key { .. } | Error::Randomness => None,
        }
    }

    pub(crate) fn store(what: &'static str, cause: impl fmt::Display) -> Self {
        Error::Store { what, cause: cause.to_string() }
    }

    pub(crate) fn data(path: impl Into<PathBuf>, what: impl fmt::Display) -> Self {
        Error::DataDirectory { path: path.into(), what: what.to_string() }
    }
}

impl From<sealstone_audit::Error> for Error {
    fn from(error: sealstone_audit::Error) -> Self {
        match error {
            sealstone_audit::Error::File { path, what } => Error::DataDirectory { path, what },
            other => Error::Key { what: other.to_string() },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Busy => write!(f, "too many passwords are being hashed"),
            Error::Certificate { what } => write!(f, "the certificate cannot be used: {what}"),
            Error::ClientConfigured { id, withdrawn: false } => {
                write!(f, "the client `{id}` is of the configuration")
            }
            Error::ClientConfigured { id, withdrawn: true } => {
                write!(f, "the client `{id}` was of the configuration and is disabled")
            }
            Error::ClientExists { id } => write!(f, "a client `{id}` exists already"),
            Error::ClientInvalid { field, what, .. } => {
                write!(f, "the client's {field} is not valid: {what}")
            }
            Error::ClientUnknown { id } => write!(f, "there is no client `{id}`"),
            Error::Config(config) => config.fmt(f),
            Error::DataDirectory { path, what } => write!(f, "{}: {what}", path.display()),
            Error::IssuerExists { issuer } => write!(f, "the issuer {issuer} is trusted already"),
            Error::IssuerInvalid { field, what, .. } => {
                write!(f, "the issuer's {field} is not valid: {what}")
            }
            Error::IssuerUnknown { issuer } => write!(f, "there is no trusted issuer {issuer} in the store"),
            Error::Key { what } => write!(f, "signing key: {what}"),
            Error::Listen { address, cause } => write!(f, "cannot listen on {address}: {cause}"),
            Error::Randomness => write!(f, "the system gave no randomness"),
            Error::Sealed { what } => write!(f, "a sealed key cannot be opened: {what}"),
            Error::Backup { path, what, .. } => write!(f, "{}: {what}", path.display()),
            Error::SigningKeyUnknown { name } => write!(f, "there is no signing key `{name}`"),
            Error::StoreSchema { found, known } => {
                write!(f, "the store has schema {found}, this program knows up to {known}")
            }
            Error::StoreUnavailable { what, cause } => write!(f, "store unavailable, {what}: {cause}"),
            Error::Store { what, cause } => write!(f, "store, {what}: {cause}"),
            Error::UserExists { username } => write!(f, "a user `{username}` exists already"),
            Error::UserInvalid { field, what, .. } => write!(f, "the {field} {what}"),
            Error::SessionUnknown { sid } => write!(f, "there is no session `{sid}`"),
            Error::UserUnknown { username } => write!(f, "there is no user `{username}`"),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{}", file.display())?,
            None => write!(f, "configuration")?,
        }
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Listen { cause, .. } => Some(cause),
            _ => None,
        }
    }
}
