//! Which clients got tokens in a session, so that they can be told when it ends: OpenID Connect Back-Channel Logout 1.0 §2.
//!
//! One record for each session. A client joins when it redeems a code, once; at the end the record says so, and no code of
//! the session is good any more. Both are compare-and-set, so a client that joins at the moment of the end is either told or
//! refused.

use std::collections::BTreeSet;

use sealstone_jose::UnixSeconds;
use serde::{Deserialize, Serialize};

use super::OAuthError;
use super::backchannel_logout;
use super::granted::{self, Granted, not_held};
use crate::Error;
use crate::clock::{CLOCK_SLACK_SECONDS, later};
use crate::store::{Kind, NewRecord, Store, Version, Write};

/// The most clients of one session that are remembered.
pub const MOST_CLIENTS: usize = 100;
/// How long the end is remembered: longer than any code holds.
const ENDED_SECONDS: u64 = 600 + CLOCK_SLACK_SECONDS;

/// The record of a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SessionClients {
    clients: BTreeSet<String>,
    ended: bool,
    sub: String,
}

/// Notes that the client of a grant gets tokens in the grant's session: one read, and a write the first time.
/// Errors: `invalid_grant` if the session has ended.
pub(crate) async fn join(granted: &Granted, store: &dyn Store, now: UnixSeconds) -> Result<(), OAuthError> {
    // Each round that does not end has seen another client join, or the end.
    for _ in 0..16 {
        let Known { body: before, ends: known_until, version } = read(&granted.sid, store, now).await?;
        if before.ended {
            return Err(not_held("the session in which the code was issued has ended"));
        }
        let ends = UnixSeconds(granted.session_ends_at).max(later(now, ENDED_SECONDS));
        // A person who signs in once more goes on with the same session, which then ends later.
        if before.clients.contains(&granted.client_id) && known_until.0 >= granted.session_ends_at {
            return Ok(());
        }
        let mut after = SessionClients { sub: granted.sub.clone(), ..before };
        if after.clients.len() >= MOST_CLIENTS && !after.clients.contains(&granted.client_id) {
            tracing::warn!(
                client = granted.client_id,
                "a session has too many clients: this one will not be told of its end"
            );
            return Ok(());
        }
        after.clients.insert(granted.client_id.clone());
        let ends = ends.max(known_until);
        if write(&granted.sid, &after, version, ends, store, now).await? {
            return Ok(());
        }
    }
    Err(Error::store("join a session", "others write it all the time").into())
}

/// Ends a session for its clients. When it returns, each one that wants to be told has a logout token waiting for it, the
/// access tokens of the session are marked as revoked (§2.7), and no code of it is good any more.
/// Done twice, it does nothing more.
/// Errors: `Store`; then it is to be done again.
pub async fn end(
    sid: &str,
    sub: &str,
    max_lifetime_seconds: u64,
    store: &dyn Store,
    now: UnixSeconds,
) -> Result<(), Error> {
    for _ in 0..64 {
        let Known { body: before, version, .. } = read(sid, store, now).await?;
        if before.ended {
            return Ok(());
        }
        for client in &before.clients {
            backchannel_logout::enqueue(client, sid, sub, store, now).await?;
            let ends = later(now, max_lifetime_seconds.saturating_add(CLOCK_SLACK_SECONDS));
            let id = granted::sid_at(sid, client);
            let mark = NewRecord { kind: Kind::Revocation, id, expires_at: Some(ends), body: Vec::new() };
            // Refused: the mark stands there already.
            let (Write::Done(_) | Write::Refused) = store.insert(mark, now).await?;
        }
        let ended = SessionClients { clients: BTreeSet::new(), ended: true, sub: sub.to_owned() };
        if write(sid, &ended, version, later(now, ENDED_SECONDS), store, now).await? {
            return Ok(());
        }
    }
    Err(Error::store("end a session", "others write it all the time"))
}

/// The `sid` of every session of a person that has clients and has not ended: an administrator's question, which reads
/// every such record there is.
/// Errors: `Store`.
pub(crate) async fn of_person(sub: &str, store: &dyn Store, now: UnixSeconds) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    for record in store.list(Kind::SessionClients, Version::ZERO, now).await? {
        let known: SessionClients = granted::parse(Kind::SessionClients, &record.body)?;
        if known.sub == sub && !known.ended {
            found.push(record.id);
        }
    }
    Ok(found)
}

/// A record as it stands; one that is not there is empty.
#[derive(Default)]
struct Known {
    body: SessionClients,
    ends: UnixSeconds,
    version: Option<Version>,
}

async fn read(sid: &str, store: &dyn Store, now: UnixSeconds) -> Result<Known, Error> {
    let Some(record) = store.read(Kind::SessionClients, sid, now).await? else { return Ok(Known::default()) };
    let body = granted::parse(Kind::SessionClients, &record.body)?;
    Ok(Known { body, ends: record.expires_at.unwrap_or_default(), version: Some(record.version) })
}

async fn write(
    sid: &str,
    body: &SessionClients,
    version: Option<Version>,
    ends: UnixSeconds,
    store: &dyn Store,
    now: UnixSeconds,
) -> Result<bool, Error> {
    let new = granted::record(Kind::SessionClients, sid.to_owned(), ends, body)?;
    let written = match version {
        Some(version) => store.replace(new, version, now).await?,
        None => store.insert(new, now).await?,
    };
    Ok(matches!(written, Write::Done(_)))
}
