//! The keys of clients that publish them at an address, RFC 7591 §2 (`jwks_uri`).
//!
//! What may be believed for how long: a document for 5 minutes; then it is asked for again, with its ETag. A key that it
//! does not hold is a reason to ask before, but not more than twice a minute, however many requests want it: whoever can
//! name an unknown key must not be able to make this server send requests. While a document cannot be fetched, the last
//! one holds for an hour. Of any number of requests that wait for a document, one fetches it.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sealstone_jose::UnixSeconds;
use sealstone_jose::remote::{Cache, Lifetime, Outcome, Policy, Step, Ticket};
use tokio::sync::Notify;

use super::{Fetched, Outbound};
use crate::client::{ClientKeys, HttpsUri, KeySource};

/// How long a document is believed without asking, whatever its server says: clients do not decide how often this one asks.
pub const FRESH_SECONDS: u64 = 300;
/// The least time between two attempts for one address, whatever became of the first.
pub const COOLDOWN_SECONDS: u64 = 30;
/// How long a document is believed that could not be fetched again.
pub const STALE_SECONDS: u64 = 3_600;
/// How long an address is remembered that nobody asks for.
const FORGET_SECONDS: u64 = 2 * STALE_SECONDS;

/// Of these, what a request may ask for: a name that is missing is no reason to ask less often, as a client may publish it next.
const POLICY: Policy = Policy {
    cooldown: Duration::from_secs(COOLDOWN_SECONDS),
    fresh: Duration::from_secs(FRESH_SECONDS),
    bounds: (Duration::from_secs(FRESH_SECONDS), Duration::from_secs(FRESH_SECONDS)),
    missing: Duration::ZERO,
    stale: Duration::from_secs(STALE_SECONDS - FRESH_SECONDS),
    // None is lost: a flight reports its end when it is dropped.
    lost: Duration::MAX,
};

/// The documents, by their addresses.
#[derive(Debug)]
pub struct KeySets {
    entries: Mutex<HashMap<HttpsUri, Arc<Entry>>>,
    outbound: Arc<Outbound>,
}

#[derive(Debug)]
struct Entry {
    cache: Mutex<Cache<ClientKeys>>,
    /// Told when a flight ends.
    landed: Notify,
    used: AtomicU64,
}

/// There are no keys to be had: neither from the address nor from before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unavailable;

impl KeySets {
    /// No document yet.
    pub fn new(outbound: Arc<Outbound>) -> Self {
        Self { entries: Mutex::default(), outbound }
    }

    /// The keys of a client; `has` says whether they hold the one that is looked for. If they do not, and the document
    /// is the newest that may be asked for, they are returned as they are.
    /// Errors: [`Unavailable`].
    pub async fn keys(
        &self,
        source: &KeySource,
        now: UnixSeconds,
        has: impl Fn(&ClientKeys) -> bool,
    ) -> Result<Arc<ClientKeys>, Unavailable> {
        let uri = match source {
            KeySource::Value(keys) => return Ok(Arc::clone(keys)),
            KeySource::Url(uri) => uri,
        };
        let entry = self.entry(uri, now);
        loop {
            // Listens before it looks: what lands in between is heard.
            let mut landed = pin!(entry.landed.notified());
            landed.as_mut().enable();
            let step = entry.cache().next(now, None, &has);
            match step {
                Step::Use(keys) => return Ok(keys),
                Step::Unavailable => return Err(Unavailable),
                Step::Wait => {}
                Step::Fetch(ticket) => {
                    let flight = Flight { entry: Arc::clone(&entry), ticket, now, outcome: Outcome::Failed };
                    // A task of its own: who asks and goes away must not take the fetch along that others wait for.
                    tokio::spawn(renew(Arc::clone(&self.outbound), uri.clone(), flight));
                }
            }
            landed.await;
        }
    }

    fn entry(&self, uri: &HttpsUri, now: UnixSeconds) -> Arc<Entry> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if !entries.contains_key(uri) {
            entries
                .retain(|_, entry| now.0.saturating_sub(entry.used.load(Ordering::Relaxed)) < FORGET_SECONDS);
        }
        let entry = entries.entry(uri.clone()).or_default();
        entry.used.store(now.0, Ordering::Relaxed);
        Arc::clone(entry)
    }
}

impl Default for Entry {
    fn default() -> Self {
        Self { cache: Mutex::new(Cache::new(POLICY)), landed: Notify::new(), used: AtomicU64::default() }
    }
}

impl Entry {
    /// Held for a look, never over a wait.
    fn cache(&self) -> MutexGuard<'_, Cache<ClientKeys>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A fetch under way: its end is reported whatever happens, so that nobody waits for ever.
struct Flight {
    entry: Arc<Entry>,
    ticket: Ticket,
    now: UnixSeconds,
    outcome: Outcome<ClientKeys>,
}

impl Drop for Flight {
    fn drop(&mut self) {
        let outcome = std::mem::replace(&mut self.outcome, Outcome::Failed);
        self.entry.cache().done(&self.ticket, self.now, outcome);
        self.entry.landed.notify_waiters();
    }
}

/// Fetches the document.
async fn renew(outbound: Arc<Outbound>, uri: HttpsUri, mut flight: Flight) {
    let lifetime = Lifetime::UNSAID;
    match outbound.get(&uri, flight.ticket.etag()).await {
        Ok(Fetched::Unchanged) => flight.outcome = Outcome::Unchanged { lifetime },
        Ok(Fetched::Document { body, etag }) => {
            // Points are checked to lie on their curves: not on a thread that others' requests wait for.
            let parsed = tokio::task::spawn_blocking(move || ClientKeys::parse(&body)).await;
            match parsed.unwrap_or_else(|_| Err("it cannot be read".into())) {
                Ok(keys) => flight.outcome = Outcome::Document { keys, etag, lifetime },
                Err(cause) => failed(&uri, &cause),
            }
        }
        Err(cause) => failed(&uri, &cause),
    }
}

fn failed(uri: &HttpsUri, cause: &str) {
    tracing::warn!(uri = uri.as_str(), cause, "the keys of a client could not be fetched");
}
