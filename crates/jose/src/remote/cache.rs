//! What is known of one address, and what to do next. Knows no socket, no clock and no thread: time is passed in.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::Lifetime;
use crate::jwt::UnixSeconds;

/// Most names that are remembered as not being in the document.
const MAX_MISSING: usize = 256;

/// How long a document is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The least time between two attempts, whatever became of the first: 30 s. Whoever can name an unknown key must not be
    /// able to make this side send requests.
    pub cooldown: Duration,
    /// How long a document is believed whose server says nothing: 5 min.
    pub fresh: Duration,
    /// The least and the most of what a server may say: 1 min, so that `no-store` costs no request for each token, and 1 h, so
    /// that a key that was withdrawn is not believed for longer.
    pub bounds: (Duration, Duration),
    /// For how long a key that the newest document does not hold is no reason to ask again: 2 min.
    pub missing: Duration,
    /// How long beyond its time a document is believed that could not be fetched again: 1 h.
    pub stale: Duration,
    /// After what time an attempt is given up that nobody reported the end of: 1 min.
    pub lost: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            cooldown: Duration::from_secs(30),
            fresh: Duration::from_secs(300),
            bounds: (Duration::from_secs(60), Duration::from_secs(3_600)),
            missing: Duration::from_secs(120),
            stale: Duration::from_secs(3_600),
            lost: Duration::from_secs(60),
        }
    }
}

/// What to do.
#[derive(Debug)]
pub enum Step<K> {
    /// Fetch the document, then say what became of it: [`Cache::done`].
    Fetch(Ticket),
    /// There is nothing to be had, and it is too early to ask again.
    Unavailable,
    /// Use these keys. If the key that is looked for is not among them, there is none.
    Use(Arc<K>),
    /// Somebody else fetches the document: ask again when that is done.
    Wait,
}

/// Leave to fetch a document once.
#[derive(Debug)]
pub struct Ticket {
    number: u64,
    etag: Option<String>,
}

impl Ticket {
    /// What to send as `If-None-Match` (RFC 9110 §13.1.2).
    pub fn etag(&self) -> Option<&str> {
        self.etag.as_deref()
    }
}

/// What became of a fetch.
#[derive(Debug)]
pub enum Outcome<K> {
    /// A document came.
    Document {
        /// What it holds.
        keys: K,
        /// Its `ETag`.
        etag: Option<String>,
        /// How long it says it is good.
        lifetime: Lifetime,
    },
    /// None came, or none that can be read.
    Failed,
    /// It is the one of the ticket's ETag: 304, RFC 9110 §15.4.5.
    Unchanged {
        /// How long the answer says it is good.
        lifetime: Lifetime,
    },
}

/// The document of one address.
///
/// ```
/// use sealstone_jose::UnixSeconds;
/// use sealstone_jose::remote::{Cache, Lifetime, Outcome, Policy, Step};
///
/// // It does not look into what it keeps: here a number stands for the keys.
/// let mut cache = Cache::new(Policy::default());
/// let (now, lifetime) = (UnixSeconds(1_800_000_000), Lifetime::of("max-age=600", None));
/// let Step::Fetch(ticket) = cache.next(now, None, |_| true) else { panic!("nothing is known yet") };
/// assert_eq!(ticket.etag(), None);
/// cache.done(&ticket, now, Outcome::Document { keys: 7, etag: Some(r#""a""#.into()), lifetime });
///
/// // Its time is over. It is asked for again, by its ETag, and has not changed.
/// let later = UnixSeconds(now.0 + 600);
/// let Step::Fetch(ticket) = cache.next(later, None, |_| true) else { panic!("its time is over") };
/// assert_eq!(ticket.etag(), Some(r#""a""#));
/// cache.done(&ticket, later, Outcome::Unchanged { lifetime });
/// assert!(matches!(cache.next(later, None, |_| true), Step::Use(keys) if *keys == 7));
/// assert_eq!(cache.known().map(|keys| **keys), Some(7));
/// ```
#[derive(Debug)]
pub struct Cache<K> {
    policy: Policy,
    known: Option<Known<K>>,
    attempted: Option<UnixSeconds>,
    flight: Option<UnixSeconds>,
    tickets: u64,
    /// The name that the last attempt was made for.
    wanted: Option<Box<str>>,
    /// Names that a document did not hold that was asked for because of them, and when that was; the oldest in front.
    missing: VecDeque<(Box<str>, UnixSeconds)>,
}

/// A document as it was last seen.
#[derive(Debug)]
struct Known<K> {
    keys: Arc<K>,
    etag: Option<String>,
    seen: UnixSeconds,
    fresh: Duration,
}

impl<K> Cache<K> {
    /// Nothing is known.
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            known: None,
            attempted: None,
            flight: None,
            tickets: 0,
            wanted: None,
            missing: VecDeque::new(),
        }
    }

    /// What to do at `now` to have the keys; `has` says whether they hold the one that is looked for, and `wanted` is its
    /// name, if it has one.
    pub fn next(&mut self, now: UnixSeconds, wanted: Option<&str>, has: impl Fn(&K) -> bool) -> Step<K> {
        if let Some(known) =
            self.known.as_ref().filter(|known| known.is_younger(known.fresh, now, &self.policy))
            && (has(&known.keys) || wanted.is_some_and(|name| self.is_missing(name, now)))
        {
            return Step::Use(Arc::clone(&known.keys));
        }
        if self.flight.is_some_and(|since| is_within(since, now, self.policy.lost)) {
            return Step::Wait;
        }
        // In either direction: those who waited bring an earlier time.
        if let Some(last) = self.attempted.filter(|last| is_within(*last, now, self.policy.cooldown)) {
            let Some(known) = &self.known else { return Step::Unavailable };
            let most = known.fresh.saturating_add(self.policy.stale);
            if !known.is_younger(most, now, &self.policy) {
                return Step::Unavailable;
            }
            let keys = Arc::clone(&known.keys);
            if let Some(name) = self.wanted.take_if(|name| wanted == Some(name) && !has(&keys)) {
                self.miss(name, last);
            }
            return Step::Use(keys);
        }
        self.wanted = wanted.map(Box::from);
        self.attempted = Some(now);
        self.flight = Some(now);
        self.tickets += 1;
        let etag = self.known.as_ref().and_then(|known| known.etag.clone());
        Step::Fetch(Ticket { number: self.tickets, etag })
    }

    /// What became of the fetch of a ticket. One that was given up for lost is not listened to.
    pub fn done(&mut self, ticket: &Ticket, now: UnixSeconds, outcome: Outcome<K>) {
        if ticket.number != self.tickets {
            return;
        }
        self.flight = None;
        match outcome {
            Outcome::Document { keys, etag, lifetime } => {
                let fresh = self.fresh(lifetime);
                self.known = Some(Known { keys: Arc::new(keys), etag, seen: now, fresh });
            }
            Outcome::Failed => {}
            Outcome::Unchanged { lifetime } => {
                let fresh = self.fresh(lifetime);
                // A 304 to a question without an ETag says nothing.
                if let Some(known) =
                    self.known.as_mut().filter(|known| known.etag == ticket.etag && known.etag.is_some())
                {
                    known.seen = now;
                    known.fresh = fresh;
                }
            }
        }
    }

    /// The keys as they are, however old: to be shown, not to be used.
    pub fn known(&self) -> Option<&Arc<K>> {
        self.known.as_ref().map(|known| &known.keys)
    }

    fn fresh(&self, lifetime: Lifetime) -> Duration {
        let (least, most) = self.policy.bounds;
        lifetime.get().map_or(self.policy.fresh, |said| said.min(most).max(least))
    }

    fn is_missing(&self, name: &str, now: UnixSeconds) -> bool {
        let found = self.missing.iter().rev().find(|(other, _)| &**other == name);
        found.is_some_and(|(_, since)| is_within(*since, now, self.policy.missing))
    }

    fn miss(&mut self, name: Box<str>, since: UnixSeconds) {
        if self.missing.len() == MAX_MISSING {
            self.missing.pop_front();
        }
        self.missing.push_back((name, since));
    }
}

impl<K> Known<K> {
    /// Also not if it is from a time that has not come: the clock was ahead for a while.
    fn is_younger(&self, age: Duration, now: UnixSeconds, policy: &Policy) -> bool {
        self.seen.0 < now.0.saturating_add(policy.cooldown.as_secs().max(1))
            && now.0.saturating_sub(self.seen.0) < age.as_secs()
    }
}

fn is_within(one: UnixSeconds, other: UnixSeconds, span: Duration) -> bool {
    one.0.abs_diff(other.0) < span.as_secs()
}
