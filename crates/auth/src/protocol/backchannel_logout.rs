//! Logout tokens, OpenID Connect Back-Channel Logout 1.0: what a client is sent when a session has ended.
//!
//! A token waits in the store until its client has taken it, so no restart loses one. A server that sends it first moves its
//! turn on by compare-and-set: of many servers one sends, and if that one stops half way, another does later. So a client may
//! get two, which differ in `jti`; to end a session twice does nothing more. [`crate::outbound`] carries them.

use aws_lc_rs::hmac;
use sealstone_jose::UnixSeconds;
use sealstone_jose::jwt::{self, Claims};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{granted, subject};
use crate::Error;
use crate::client::{Client, HttpsUri};
use crate::clock::{Randomness, later, random_id};
use crate::issuer::Issuer;
use crate::snapshot::Snapshot;
use crate::store::{Kind, Record, Store, Version, Write};

/// The media type of logout tokens, §2.4.
pub const TYP: &str = "logout+jwt";
/// The event that says so, §2.4.
pub const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";
/// How long one holds: §2.4 wants two minutes at most.
const LIFETIME_SECONDS: u64 = 120;
/// How long after each attempt the next one comes; after the last there is none.
pub const RETRY_AFTER_SECONDS: [u64; 4] = [10, 60, 300, 1_800];
/// Longer than all attempts together.
const KEPT_SECONDS: u64 = 7_200;

/// A logout token that waits for its client.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Waiting {
    /// How many times it was sent.
    attempts: usize,
    client_id: String,
    /// When it is to be sent next.
    due_at: u64,
    /// The server's own name for the session.
    sid: String,
    /// The person's own `sub`.
    sub: String,
}

/// Lets a logout token wait for a client, if the client wants one. A session ends once: so many calls as there may be, one
/// waits.
/// Errors: `Store`.
pub(super) async fn enqueue(
    client_id: &str,
    sid: &str,
    sub: &str,
    store: &dyn Store,
    now: UnixSeconds,
) -> Result<(), Error> {
    let Some(record) = store.read(Kind::Client, client_id, now).await? else { return Ok(()) };
    if Client::from_record(&record)?.logout.backchannel_logout_uri.is_none() {
        return Ok(());
    }
    let id = granted::name_of(&format!("logout token v1\0{sid}\0{client_id}"));
    let body = Waiting {
        attempts: 0,
        client_id: client_id.to_owned(),
        due_at: now.0,
        sid: sid.to_owned(),
        sub: sub.to_owned(),
    };
    let new = granted::record(Kind::LogoutToken, id, later(now, KEPT_SECONDS), &body)?;
    // Refused: it waits already.
    let (Write::Done(_) | Write::Refused) = store.insert(new, now).await?;
    Ok(())
}

/// A token whose turn it is, with its record.
#[derive(Clone, Debug)]
pub struct Due {
    record: Record,
    waiting: Waiting,
}

/// The tokens whose turn it is, those that were sent least often first.
/// Errors: `Store`.
pub(crate) async fn due(store: &dyn Store, now: UnixSeconds) -> Result<Vec<Due>, Error> {
    let mut due = Vec::new();
    for record in store.list(Kind::LogoutToken, Version::ZERO, now).await? {
        let waiting: Waiting = granted::parse(Kind::LogoutToken, &record.body)?;
        if waiting.due_at <= now.0 {
            due.push(Due { record, waiting });
        }
    }
    due.sort_by_key(|due| due.waiting.attempts);
    Ok(due)
}

/// A token that this server, and no other, is to send now.
#[derive(Debug)]
pub struct Claimed {
    due: Due,
    version: Version,
}

impl Due {
    /// Whose it is.
    pub(crate) fn client_id(&self) -> &str {
        &self.waiting.client_id
    }

    /// Takes the turn; `None` if another server has.
    /// Errors: `Store`.
    pub(crate) async fn claim(
        mut self,
        store: &dyn Store,
        now: UnixSeconds,
    ) -> Result<Option<Claimed>, Error> {
        let after = RETRY_AFTER_SECONDS.get(self.waiting.attempts).copied().unwrap_or(KEPT_SECONDS);
        self.waiting.attempts = self.waiting.attempts.saturating_add(1);
        self.waiting.due_at = later(now, after).0;
        let ends = self.record.expires_at.unwrap_or(later(now, KEPT_SECONDS));
        let new = granted::record(Kind::LogoutToken, self.record.id.clone(), ends, &self.waiting)?;
        Ok(match store.replace(new, self.record.version, now).await? {
            Write::Done(version) => Some(Claimed { due: self, version }),
            Write::Refused => None,
        })
    }
}

impl Claimed {
    /// Whose it is.
    pub(crate) fn client_id(&self) -> &str {
        self.due.client_id()
    }

    /// Where it goes, and the token: signed now, with a fresh `jti`. `None` if the client has gone, or wants none any more.
    /// §2.4 and §2.6. The subject and the session are named as in the client's ID tokens.
    /// Errors: `Key`, `Randomness`.
    pub(crate) fn token(
        &self,
        snapshot: &Snapshot,
        issuer: &Issuer,
        pairwise_key: &hmac::Key,
        randomness: &dyn Randomness,
        now: UnixSeconds,
    ) -> Result<Option<(HttpsUri, String)>, Error> {
        let waiting = &self.due.waiting;
        let Some(client) = snapshot.clients.by_id(&waiting.client_id) else { return Ok(None) };
        let Some(uri) = &client.logout.backchannel_logout_uri else { return Ok(None) };
        let key = snapshot.keys.active(client.algorithm);
        let key =
            key.ok_or_else(|| Error::Key { what: format!("{} is not enabled", client.algorithm.name()) })?;
        let claims = Claims::new()
            .with("iss", issuer.as_str())
            .with("aud", client.id.as_str())
            .with("sub", subject::at(client, &waiting.sub, pairwise_key).as_ref())
            .with("sid", granted::sid_at(&waiting.sid, &client.id))
            .with("iat", now.0)
            .with("exp", later(now, LIFETIME_SECONDS).0)
            .with("jti", random_id(randomness)?)
            .with("events", json!({EVENT: {}}));
        let token = jwt::sign(key.private(), TYP, &claims);
        Ok(Some((uri.clone(), token.map_err(|cause| Error::Key { what: cause.to_string() })?)))
    }

    /// Whether it is sent again after this attempt.
    pub(crate) fn is_last(&self) -> bool {
        self.due.waiting.attempts > RETRY_AFTER_SECONDS.len()
    }

    /// It has arrived, or will not be sent again.
    /// Errors: `Store`.
    pub(crate) async fn remove(self, store: &dyn Store) -> Result<(), Error> {
        // Refused: it has waited so long for this answer that another server has sent it too.
        let (Write::Done(_) | Write::Refused) =
            store.remove(Kind::LogoutToken, &self.due.record.id, self.version).await?;
        Ok(())
    }
}
