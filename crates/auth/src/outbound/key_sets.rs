//! The keys of clients that publish them at an address, RFC 7591 §2 (`jwks_uri`).
//!
//! What may be believed for how long: a document for 5 minutes; then it is asked for again, with its ETag. A key that it
//! does not hold is a reason to ask before, but not more than twice a minute, however many requests want it: whoever can
//! name an unknown key must not be able to make this server send requests. While a document cannot be fetched, the last
//! one holds for an hour. Of any number of requests that wait for a document, one fetches it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;
use sealstone_jose::UnixSeconds;

use super::{Fetched, Outbound};
use crate::client::{ClientKeys, HttpsUri, KeySource};

/// How long a document is believed without asking.
pub const FRESH_SECONDS: u64 = 300;
/// The least time between two attempts for one address, whatever became of the first.
pub const COOLDOWN_SECONDS: u64 = 30;
/// How long a document is believed that could not be fetched again.
pub const STALE_SECONDS: u64 = 3_600;
/// How long an address is remembered that nobody asks for.
const FORGET_SECONDS: u64 = 2 * STALE_SECONDS;

/// The documents, by their addresses.
#[derive(Debug)]
pub struct KeySets {
    entries: Mutex<HashMap<HttpsUri, Arc<Entry>>>,
    outbound: Arc<Outbound>,
}

#[derive(Debug, Default)]
struct Entry {
    known: ArcSwapOption<Known>,
    /// Whoever holds it may fetch. The time of the last attempt.
    turn: Arc<tokio::sync::Mutex<Option<UnixSeconds>>>,
    used: AtomicU64,
}

/// A document as it was last seen.
#[derive(Debug)]
struct Known {
    etag: Option<String>,
    keys: Arc<ClientKeys>,
    seen_at: UnixSeconds,
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
        let known = entry.known.load_full();
        if let Some(known) =
            known.as_ref().filter(|known| known.is_younger(FRESH_SECONDS, now) && has(&known.keys))
        {
            return Ok(Arc::clone(&known.keys));
        }
        // A task of its own: who asks and goes away must not take the fetch along that others wait for.
        let renewal = renew(Arc::clone(&self.outbound), uri.clone(), Arc::clone(&entry), known, now);
        let _ = tokio::spawn(renewal).await;
        let known = entry.known.load_full().filter(|known| known.is_younger(STALE_SECONDS, now));
        known.map(|known| Arc::clone(&known.keys)).ok_or(Unavailable)
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

impl Known {
    /// Also not if it is from a time that has not come: the clock was ahead for a while.
    fn is_younger(&self, seconds: u64, now: UnixSeconds) -> bool {
        self.seen_at.0 < now.0.saturating_add(COOLDOWN_SECONDS)
            && now.0.saturating_sub(self.seen_at.0) < seconds
    }
}

/// Fetches the document, unless somebody else has since `before`, or an attempt was made just now.
async fn renew(
    outbound: Arc<Outbound>,
    uri: HttpsUri,
    entry: Arc<Entry>,
    before: Option<Arc<Known>>,
    now: UnixSeconds,
) {
    let mut attempted = entry.turn.lock().await;
    let known = entry.known.load_full();
    let renewed = match (&before, &known) {
        (Some(before), Some(known)) => !Arc::ptr_eq(before, known),
        (None, known) => known.is_some(),
        (Some(_), None) => false,
    };
    // In either direction: those who waited for their turn bring an earlier time.
    if renewed || attempted.is_some_and(|last| last.0.abs_diff(now.0) < COOLDOWN_SECONDS) {
        return;
    }
    *attempted = Some(now);
    let etag = known.as_ref().and_then(|known| known.etag.as_deref());
    let renewed = match outbound.get(&uri, etag).await {
        Ok(Fetched::Unchanged) => known.as_ref().map(|known| Known {
            etag: known.etag.clone(),
            keys: Arc::clone(&known.keys),
            seen_at: now,
        }),
        Ok(Fetched::Document { body, etag }) => {
            // Points are checked to lie on their curves: not on a thread that others' requests wait for.
            let parsed = tokio::task::spawn_blocking(move || ClientKeys::parse(&body)).await;
            match parsed.unwrap_or_else(|_| Err("it cannot be read".into())) {
                Ok(keys) => Some(Known { etag, keys: Arc::new(keys), seen_at: now }),
                Err(cause) => return failed(&uri, &cause),
            }
        }
        Err(cause) => return failed(&uri, &cause),
    };
    if let Some(renewed) = renewed {
        entry.known.store(Some(Arc::new(renewed)));
    }
}

fn failed(uri: &HttpsUri, cause: &str) {
    tracing::warn!(uri = uri.as_str(), cause, "the keys of a client could not be fetched");
}
