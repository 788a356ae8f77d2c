//! What can go wrong, as sentences for the person at the terminal, and the exit code of each.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::files::shown;

/// Why a command did not succeed. `Display` says what and where on one line, [`Error::hint`] what to do.
#[non_exhaustive]
#[derive(Debug)]
pub(crate) enum Error {
    /// The audit log does not hold, in so many places.
    Audit { faults: usize },
    /// The server, its configuration or its store.
    Auth(sealstone_auth::Error),
    /// The JSON Web Signature is not one of a given key over this file.
    Jws(sealstone_jose::Error),
    /// The engine failed on sound input: no randomness, or a faulty machine.
    Engine(sealstone_mldsa::Error),
    /// A file is there already and `--force` was not given.
    Exists { path: PathBuf },
    /// A file could not be read or written.
    File { name: String, action: &'static str, cause: io::Error },
    /// Not a key that can be used, and why.
    Key { name: String, what: String, hint: Option<String> },
    /// Messages of devices were refused.
    Message { what: String },
    /// The gateway of messages, its configuration, its directory or its data.
    Mqtt(sealstone_mqtt::gateway::Error),
    /// The server did not answer as it should.
    Network { doing: &'static str, what: String, hint: Option<String> },
    /// The server refused what was asked for, and says why.
    Refused { what: String, hint: Option<String> },
    /// The signature is not one of this key over this file.
    Signature { name: String, what: String, hint: Option<String> },
    /// The token is not valid.
    Token(sealstone_jose::Error),
    /// The token is of another kind than the key: it may be good, and this key cannot tell.
    TokenKind { what: String, hint: Option<String> },
    /// Of several tokens, so many are not valid.
    Tokens { bad: usize, all: usize },
    /// A key in JSON has faults; only `jwk check` says so.
    KeyFaults { name: String, faults: usize },
    /// The token cannot even be taken apart; only `jwt inspect` says so.
    TokenRefused(sealstone_jose::Error),
    /// A tree of files, and what the shell is told.
    Tree { code: u8, what: String, hint: Option<String> },
    /// Options or input that make no sense, together or alone.
    Usage { what: String, hint: Option<String> },
}

impl Error {
    /// 1 if a signature or a token is not valid, 2 for anything else.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            // The machine's fault, not the token's.
            Error::Token(sealstone_jose::Error::Provider) | Error::Jws(sealstone_jose::Error::Provider) => 2,
            Error::Audit { .. }
            | Error::Jws(_)
            | Error::Message { .. }
            | Error::Signature { .. }
            | Error::KeyFaults { .. }
            | Error::Token(_)
            | Error::TokenKind { .. }
            | Error::Tokens { .. }
            | Error::TokenRefused(_) => 1,
            Error::Tree { code, .. } => *code,
            _ => 2,
        }
    }

    /// What the reader of the message could do, where that is known.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Error::Audit { .. } => {
                Some("keep these files as they are, and look for who could write to them".into())
            }
            Error::Auth(cause) => cause.hint(),
            Error::Exists { .. } => Some("--force replaces it".into()),
            Error::Key { hint, .. }
            | Error::Network { hint, .. }
            | Error::Refused { hint, .. }
            | Error::Signature { hint, .. }
            | Error::TokenKind { hint, .. }
            | Error::Tree { hint, .. }
            | Error::Usage { hint, .. } => hint.clone(),
            Error::Token(cause) => token_hint(cause),
            Error::Jws(sealstone_jose::Error::NotDetached) => {
                Some("`sealstone jwt verify` checks a token with its payload in it".into())
            }
            Error::Jws(cause) | Error::TokenRefused(cause) => cause.hint().map(str::to_owned),
            Error::Mqtt(cause) => Some(cause.hint()),
            Error::Engine(_)
            | Error::File { .. }
            | Error::KeyFaults { .. }
            | Error::Message { .. }
            | Error::Tokens { .. } => None,
        }
    }

    pub(crate) fn file(name: &str, action: &'static str, cause: io::Error) -> Self {
        Error::File { name: name.to_owned(), action, cause }
    }

    pub(crate) fn path(path: &Path, action: &'static str, cause: io::Error) -> Self {
        Self::file(&shown(path), action, cause)
    }

    pub(crate) fn key(name: &str, what: impl fmt::Display, hint: Option<&str>) -> Self {
        Error::Key { name: name.to_owned(), what: what.to_string(), hint: hint.map(str::to_owned) }
    }

    pub(crate) fn message(what: impl Into<String>) -> Self {
        Error::Message { what: what.into() }
    }

    pub(crate) fn usage(what: impl Into<String>, hint: &str) -> Self {
        Error::Usage { what: what.into(), hint: Some(hint.to_owned()) }
    }
}

impl From<sealstone_auth::Error> for Error {
    fn from(cause: sealstone_auth::Error) -> Self {
        Error::Auth(cause)
    }
}

impl From<sealstone_audit::Error> for Error {
    fn from(cause: sealstone_audit::Error) -> Self {
        Error::Auth(cause.into())
    }
}

impl From<sealstone_mqtt::gateway::Error> for Error {
    fn from(cause: sealstone_mqtt::gateway::Error) -> Self {
        Error::Mqtt(cause)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Audit { faults: 1 } => write!(f, "the audit log does not hold: 1 fault"),
            Error::Audit { faults } => write!(f, "the audit log does not hold: {faults} faults"),
            Error::Auth(cause) => cause.fmt(f),
            Error::Engine(cause) => cause.fmt(f),
            Error::Exists { path } => write!(f, "{} exists already", shown(path)),
            Error::File { name, action, cause } => write!(f, "{name} cannot be {action}: {}", Plain(cause)),
            Error::Jws(cause) => write!(f, "the signature is not valid: {cause}"),
            Error::Key { name, what, .. } => write!(f, "{name}: {what}"),
            Error::Message { what } => f.write_str(what),
            Error::Mqtt(cause) => cause.fmt(f),
            Error::Network { doing, what, .. } => write!(f, "{doing}: {what}"),
            Error::Refused { what, .. } => write!(f, "the server refuses: {what}"),
            Error::Signature { name, what, .. } => write!(f, "{name}: {what}"),
            Error::Token(cause) => write!(f, "the token is not valid: {cause}"),
            Error::TokenKind { what, .. } => write!(f, "the token is not valid: {what}"),
            Error::Tokens { bad: 1, all } => write!(f, "1 of {all} tokens is not valid"),
            Error::Tokens { bad, all } => write!(f, "{bad} of {all} tokens are not valid"),
            Error::KeyFaults { name, faults: 1 } => write!(f, "{name} would be refused: 1 fault"),
            Error::KeyFaults { name, faults } => write!(f, "{name} would be refused: {faults} faults"),
            Error::TokenRefused(cause) => write!(f, "this token would be refused: {cause}"),
            Error::Tree { what, .. } | Error::Usage { what, .. } => f.write_str(what),
        }
    }
}

impl std::error::Error for Error {}

/// The options of this command that answer a refusal.
fn token_hint(cause: &sealstone_jose::Error) -> Option<String> {
    use sealstone_jose::Error as E;
    let own = match cause {
        E::ClaimMissing { claim } if claim == "exp" => {
            "a token without `exp` never ends; --allow-no-exp accepts it"
        }
        E::Expired { .. } => "ask for a new token, or allow for clocks that differ with --leeway 30s",
        E::IssuedInFuture { .. } | E::NotYetValid { .. } => "compare the clocks, or allow some --leeway",
        E::TypMismatch { .. } => {
            "another kind of token must not pass for the one you expect (RFC 8725 §3.11)"
        }
        other => return other.hint().map(str::to_owned),
    };
    Some(own.to_owned())
}

/// An error of the system in lower case and without its number: `no such file or directory`.
pub(crate) struct Plain<'a>(pub(crate) &'a io::Error);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        let mut letters = text.chars();
        match letters.next() {
            Some(first) => write!(f, "{}{}", first.to_ascii_lowercase(), letters.as_str()),
            None => f.write_str("unknown reason"),
        }
    }
}
