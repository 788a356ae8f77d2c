//! What can go wrong around the messages: configuration, directory, disk, broker. Why a message is refused is another matter:
//! [`Reason`](super::Reason).

use std::fmt;
use std::path::{Path, PathBuf};

/// Why the gateway could not start or go on. `Display` says what and where, [`Error::hint`] what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The broker cannot be reached, refuses, or breaks the protocol. Cure: address, user, password, the broker's log.
    Broker {
        /// The address of the configuration.
        address: String,
        /// What happened.
        what: String,
    },
    /// The configuration is not one. Cure: the hint.
    Config {
        /// The file, if there is one.
        file: Option<PathBuf>,
        /// Line and column, from 1, where they are known.
        place: Option<(usize, usize)>,
        /// What is wrong.
        what: String,
        /// What to do.
        hint: String,
    },
    /// A file of the data directory cannot be used, or does not hold. Cure: the hint.
    Data {
        /// The file or directory.
        path: PathBuf,
        /// What is wrong.
        what: String,
        /// What to do.
        hint: &'static str,
    },
    /// An entry of the device directory is not one. Cure: the hint.
    Directory {
        /// The file.
        file: PathBuf,
        /// What is wrong, and with which device.
        what: String,
        /// What to do.
        hint: &'static str,
    },
}

impl Error {
    /// What the operator can do.
    pub fn hint(&self) -> String {
        match self {
            Error::Broker { .. } => {
                "look at the broker's log, and at `address`, `user_file` and `password_file`".into()
            }
            Error::Config { hint, .. } => hint.clone(),
            Error::Data { hint, .. } | Error::Directory { hint, .. } => (*hint).into(),
        }
    }

    pub(crate) fn data(path: &Path, cause: impl fmt::Display) -> Self {
        let hint = "look at its owner, its mode and the free space";
        Error::Data { path: path.to_owned(), what: cause.to_string(), hint }
    }
}

/// An error of the system in lower case and without its number: `no such file or directory`.
pub(crate) fn plain(cause: &std::io::Error) -> String {
    let text = cause.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters
        .next()
        .map_or_else(String::new, |first| format!("{}{}", first.to_ascii_lowercase(), letters.as_str()))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Broker { address, what } => write!(f, "broker {address}: {what}"),
            Error::Config { file, place, what, .. } => {
                match file {
                    Some(file) => write!(f, "{}", file.display())?,
                    None => f.write_str("configuration")?,
                }
                if let Some((line, column)) = place {
                    write!(f, ":{line}:{column}")?;
                }
                write!(f, ": {what}")
            }
            Error::Data { path, what, .. } => write!(f, "{}: {what}", path.display()),
            Error::Directory { file, what, .. } => write!(f, "{}: {what}", file.display()),
        }
    }
}

impl std::error::Error for Error {}
