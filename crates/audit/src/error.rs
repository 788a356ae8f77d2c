//! What can go wrong.

use std::fmt;
use std::path::PathBuf;

/// Why a log cannot be written or read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A file of the log cannot be used: it cannot be read or written, or is not what it should be.
    File {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The key does not sign.
    Key {
        /// Why.
        what: String,
    },
}

impl Error {
    /// A file and what is wrong with it.
    ///
    /// ```
    /// use sealstone_audit::Error;
    ///
    /// let cause = std::fs::read("/nowhere/head.json").expect_err("there is no such file");
    /// let error = Error::file("/nowhere/head.json", &cause);
    /// assert!(error.to_string().contains("/nowhere/head.json"));
    /// ```
    pub fn file(path: impl Into<PathBuf>, what: impl fmt::Display) -> Self {
        Error::File { path: path.into(), what: what.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::File { path, what } => write!(f, "{}: {what}", path.display()),
            Error::Key { what } => write!(f, "the audit key: {what}"),
        }
    }
}

impl std::error::Error for Error {}
