//! Sessions: what a browser holds after somebody has signed in.
//!
//! The browser keeps a secret of 256 random bits in a cookie; the store keeps the session under its hash, so that who
//! reads the store can take over no browser. A session ends at its absolute end, after its idle time without a request,
//! when it is ended, and when its user is disabled, removed, or given another password.

use std::fmt;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_jose::UnixSeconds;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::user::{self, User};
use crate::Error;
use crate::clock::{Randomness, later, random_id, random_secret};
use crate::store::{Kind, NewRecord, Record, Store, Version, Write};

/// Somebody signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// `acr`, OpenID Connect Core 1.0 §2: the authentication context class, where one was reached.
    pub acr: Option<String>,
    /// `amr`, RFC 8176: how the person proved who they are.
    pub amr: Vec<String>,
    /// `auth_time`, OpenID Connect Core 1.0 §2.
    pub auth_time: UnixSeconds,
    /// The server's own name for the session: no way into it, and not the `sid` that a client sees.
    pub sid: String,
    /// The person's `sub`.
    pub sub: String,
    /// The person's username.
    pub username: String,
    ends_at: UnixSeconds,
    generation: u64,
    idle_seconds: u64,
}

/// How long sessions last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From signing in to the end, whatever happens between.
    pub absolute_seconds: u64,
    /// From one request to the end, if no other comes.
    pub idle_seconds: u64,
}

/// The proof that somebody has given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof<'a> {
    /// `acr`.
    pub acr: Option<&'a str>,
    /// `amr`, RFC 8176.
    pub amr: &'a [&'a str],
}

/// Starts a session, and returns with it the secret for the cookie. The secret is always a fresh one: what a browser
/// held before never becomes a session.
/// Errors: `Randomness`, `Store`.
pub async fn start(
    store: &dyn Store,
    user: &User,
    proof: Proof<'_>,
    limits: Limits,
    now: UnixSeconds,
    randomness: &dyn Randomness,
) -> Result<(Session, Zeroizing<String>), Error> {
    let secret = random_secret(randomness, 32)?;
    let session = Session {
        acr: proof.acr.map(str::to_owned),
        amr: proof.amr.iter().map(|&method| method.to_owned()).collect(),
        auth_time: now,
        sid: random_id(randomness)?,
        sub: user.sub.clone(),
        username: user.username.clone(),
        ends_at: later(now, limits.absolute_seconds),
        generation: user.generation,
        idle_seconds: limits.idle_seconds,
    };
    match store.insert(session.to_record(record_id(&secret), now)?, now).await? {
        Write::Done(_) => Ok((session, secret)),
        // 256 random bits that are there already are no random bits.
        Write::Refused => Err(Error::Randomness),
    }
}

/// The session of a cookie's secret, if it holds at `now`. A request moves the idle end on.
/// Errors: `Store`.
pub async fn find(store: &dyn Store, secret: &str, now: UnixSeconds) -> Result<Option<Session>, Error> {
    let id = record_id(secret);
    let Some(record) = store.read(Kind::Session, &id, now).await? else { return Ok(None) };
    let session = Session::from_record(&record)?;
    let user = user::find(store, &session.username, now).await?;
    if !user.is_some_and(|(user, _)| session.belongs_to(&user)) {
        return Ok(None);
    }
    let due = session.idle_end(now).0.saturating_sub(record.expires_at.map_or(0, |end| end.0));
    if due > session.idle_seconds / TOUCHES {
        // Whoever changed the record meanwhile has moved its end too, or has ended it.
        let _ = store.replace(session.to_record(id, now)?, record.version, now).await?;
    }
    Ok(Some(session))
}

/// Ends the session of a cookie's secret, if there is one.
/// Errors: `Store`; the session may then still hold.
pub async fn end(store: &dyn Store, secret: &str, now: UnixSeconds) -> Result<(), Error> {
    let id = record_id(secret);
    while let Some(record) = store.read(Kind::Session, &id, now).await? {
        // Refused: a request has just moved the idle end on, so the record is read again.
        if let Write::Done(_) = store.remove(Kind::Session, &id, record.version).await? {
            break;
        }
    }
    Ok(())
}

/// Lets a session that was started just now go on under the `sid` of the one before it in this browser: the same person has
/// signed in once more, and the clients of before are still to be told when they sign out.
/// Errors: `Store`.
pub async fn go_on(store: &dyn Store, secret: &str, before: &Session, now: UnixSeconds) -> Result<(), Error> {
    let id = record_id(secret);
    let Some(record) = store.read(Kind::Session, &id, now).await? else { return Ok(()) };
    let session = Session::from_record(&record)?;
    if session.sub != before.sub {
        return Ok(());
    }
    let session = Session { sid: before.sid.clone(), ..session };
    // Refused: it has ended meanwhile.
    let (Write::Done(_) | Write::Refused) =
        store.replace(session.to_record(id, now)?, record.version, now).await?;
    Ok(())
}

/// The sessions of a person, with their records: an administrator's question, which reads every session there is.
/// Errors: `Store`.
pub(crate) async fn of_person(
    store: &dyn Store,
    sub: &str,
    now: UnixSeconds,
) -> Result<Vec<(Session, Record)>, Error> {
    let mut found = Vec::new();
    for record in store.list(Kind::Session, Version::ZERO, now).await? {
        let session = Session::from_record(&record)?;
        if session.sub == sub {
            found.push((session, record));
        }
    }
    Ok(found)
}

/// In how many steps the idle end moves on: most requests of a session write nothing.
const TOUCHES: u64 = 8;

fn record_id(secret: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, secret.as_bytes()))
}

/// The body of a session's record. Unknown members are refused.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    acr: Option<String>,
    amr: Vec<String>,
    auth_time: u64,
    ends_at: u64,
    generation: u64,
    idle_seconds: u64,
    sid: String,
    sub: String,
    username: String,
}

impl Session {
    /// When it ends, whatever happens until then.
    pub fn ends_at(&self) -> UnixSeconds {
        self.ends_at
    }

    /// Neither disabled, nor another person under the same name, nor given another password since.
    pub(crate) fn belongs_to(&self, user: &User) -> bool {
        !user.disabled && user.sub == self.sub && user.generation == self.generation
    }

    fn idle_end(&self, now: UnixSeconds) -> UnixSeconds {
        later(now, self.idle_seconds).min(self.ends_at)
    }

    fn to_record(&self, id: String, now: UnixSeconds) -> Result<NewRecord, Error> {
        let body = Body {
            acr: self.acr.clone(),
            amr: self.amr.clone(),
            auth_time: self.auth_time.0,
            ends_at: self.ends_at.0,
            generation: self.generation,
            idle_seconds: self.idle_seconds,
            sid: self.sid.clone(),
            sub: self.sub.clone(),
            username: self.username.clone(),
        };
        let body = serde_json::to_vec(&body).map_err(|cause| Error::store("write a session", cause))?;
        Ok(NewRecord { kind: Kind::Session, id, expires_at: Some(self.idle_end(now)), body })
    }

    pub(crate) fn from_record(record: &Record) -> Result<Self, Error> {
        let unreadable = |cause: &dyn fmt::Display| Error::store("read a session", cause);
        let body: Body = serde_json::from_slice(&record.body).map_err(|cause| unreadable(&cause))?;
        Ok(Self {
            acr: body.acr,
            amr: body.amr,
            auth_time: UnixSeconds(body.auth_time),
            ends_at: UnixSeconds(body.ends_at),
            generation: body.generation,
            idle_seconds: body.idle_seconds,
            sid: body.sid,
            sub: body.sub,
            username: body.username,
        })
    }
}
