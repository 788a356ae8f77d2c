//! The one place where truth is kept: versioned records, changed only by compare-and-set.
//!
//! The trait speaks no SQL and keeps no clock: `now` is passed in. Each write is one conditional statement, so that
//! the same contract holds on one machine (SQLite) and behind many nodes (a database server).
//!
//! - A record belongs to a [`Kind`] and has an id, a [`Version`], a body and perhaps an end.
//! - A record whose end has come counts as absent everywhere, whether or not it has been pruned.
//! - Kinds that nodes keep in memory are *watched*: their versions are drawn from one counter per kind, so that
//!   "everything after version v" is a complete answer. Drawing the number and writing the record are one
//!   transaction that holds the counter's row, so numbers become visible in their order.
//!
//! What must not be known here: what the bodies mean.

pub(crate) mod copy;
mod schema;
mod sqlite;

use std::future::Future;
use std::pin::Pin;

use sealstone_jose::UnixSeconds;

use crate::Error;

pub use sqlite::Sqlite;

/// Compare-and-set over versioned records. Object safe, so that a store is chosen at run time.
pub trait Store: Send + Sync + 'static {
    /// The latest version of each watched kind: one cheap question that bounds how stale a snapshot can be.
    fn versions(&self) -> Answer<'_, Versions>;

    /// The records of `kind` written after `after` that live at `now`, oldest version first.
    /// `Version::ZERO` lists them all. Removed records do not show: see [`Kind::keeps_growing`].
    fn list(&self, kind: Kind, after: Version, now: UnixSeconds) -> Answer<'_, Vec<Record>>;

    /// One record, if it lives at `now`.
    fn read(&self, kind: Kind, id: &str, now: UnixSeconds) -> Answer<'_, Option<Record>>;

    /// Inserts if absent. An id whose record has ended counts as absent.
    fn insert(&self, new: NewRecord, now: UnixSeconds) -> Answer<'_, Write>;

    /// Replaces body and end if the record lives and still has version `expected`.
    fn replace(&self, new: NewRecord, expected: Version, now: UnixSeconds) -> Answer<'_, Write>;

    /// Removes the record if it still has version `expected`.
    fn remove(&self, kind: Kind, id: &str, expected: Version) -> Answer<'_, Write>;

    /// Takes a record that may be used once. Of any number of callers, on any number of nodes, exactly one gets
    /// [`Use::First`]; until the record ends the others get [`Use::Again`].
    fn consume(&self, kind: Kind, id: &str, now: UnixSeconds) -> Answer<'_, Use>;

    /// Deletes what has ended by `now`; returns how many records went.
    fn prune(&self, now: UnixSeconds) -> Answer<'_, u64>;
}

/// A store's answer. Boxed: the token path asks no store, so the allocation is never on it.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// What a record is about.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A registered client.
    Client,
    /// An authorization code, named by its hash.
    Code,
    /// What a person has agreed to, for one client.
    Consent,
    /// What a device has asked for, named by the hash of its device code.
    Device,
    /// Everything that one sign-in at one client has led to.
    Family,
    /// A logout token that a client is to be sent, named by session and client.
    LogoutToken,
    /// Whom a pairwise subject means: the body is the person's own `sub`.
    PairwiseSubject,
    /// An authorization request that a client has pushed, named by the hash of its `request_uri`.
    PushedRequest,
    /// A mark that a token id is revoked; ends soon after the token.
    Revocation,
    /// A person's session in a browser, named by the hash of its secret.
    Session,
    /// Which clients got tokens in a session, and whether it has ended; named by the session's `sid`.
    SessionClients,
    /// Where to find a person by their `sub`: the body is the username.
    Subject,
    /// A signing key, its state and its sealed secret.
    SigningKey,
    /// A value that may be used once, named by its hash.
    SingleUse,
    /// An issuer whose assertions are taken for a grant.
    TrustedIssuer,
    /// A person, named by the username.
    User,
    /// Which device shows a user code, named by a MAC of the code.
    UserCode,
}

impl Kind {
    /// The kinds whose versions are drawn from a counter.
    pub const WATCHED: [Kind; 4] = [Kind::Client, Kind::Revocation, Kind::SigningKey, Kind::TrustedIssuer];

    /// The kinds whose records wait for their one use. Whether it came after a backup was made, nobody can know: so a
    /// restored store has none of them.
    pub(crate) const AWAIT_THEIR_USE: [Kind; 4] =
        [Kind::Code, Kind::Device, Kind::PushedRequest, Kind::UserCode];

    /// The name in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Client => "client",
            Kind::Code => "code",
            Kind::Consent => "consent",
            Kind::Device => "device",
            Kind::Family => "family",
            Kind::LogoutToken => "logout-token",
            Kind::PairwiseSubject => "pairwise-subject",
            Kind::PushedRequest => "pushed-request",
            Kind::Revocation => "revocation",
            Kind::Session => "session",
            Kind::SessionClients => "session-clients",
            Kind::SigningKey => "signing-key",
            Kind::SingleUse => "single-use",
            Kind::Subject => "subject",
            Kind::TrustedIssuer => "trusted-issuer",
            Kind::User => "user",
            Kind::UserCode => "user-code",
        }
    }

    /// Whether versions come from the kind's counter.
    pub const fn is_watched(self) -> bool {
        matches!(self, Kind::Client | Kind::Revocation | Kind::SigningKey | Kind::TrustedIssuer)
    }

    /// Whether records of this kind are only ever added (and end by themselves), so that "everything after v"
    /// brings a copy up to date. The other kinds are read anew as a whole.
    pub const fn keeps_growing(self) -> bool {
        matches!(self, Kind::Revocation)
    }
}

/// A record's version: larger is later within its kind, or, for a kind that is not watched, within one life of the
/// record. There a removed or ended record that is inserted again counts from 1: who may have slept that long must not
/// trust a version, but [`Store::consume`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u64);

impl Version {
    /// Before every record.
    pub const ZERO: Version = Version(0);
}

/// The latest version of each watched kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    /// Of the clients.
    pub clients: Version,
    /// Of the revocation marks.
    pub revocations: Version,
    /// Of the signing keys.
    pub signing_keys: Version,
    /// Of the trusted issuers.
    pub trusted_issuers: Version,
}

/// A record as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its id within the kind.
    pub id: String,
    /// Its version.
    pub version: Version,
    /// When it ends; `None` is never.
    pub expires_at: Option<UnixSeconds>,
    /// When it was used, if it may be used once and was.
    pub used_at: Option<UnixSeconds>,
    /// Its content.
    pub body: Vec<u8>,
}

/// A record to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRecord {
    /// What it is about.
    pub kind: Kind,
    /// Its id within the kind.
    pub id: String,
    /// When it ends; `None` is never.
    pub expires_at: Option<UnixSeconds>,
    /// Its content.
    pub body: Vec<u8>,
}

/// What became of a conditional write. Losing is an outcome, not an error.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// The condition held and the write is durable.
    Done(Version),
    /// The condition did not hold; nothing changed.
    Refused,
}

/// What became of a single use.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Use {
    /// This caller, and no other, may go on.
    First(Record),
    /// Used before: for what was issued from it, a reason to revoke.
    Again(Record),
    /// Never there, or ended.
    Absent,
}
