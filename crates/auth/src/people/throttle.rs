//! How often somebody may guess.
//!
//! Every attempt counts as failed before it is judged, so that many at once gain nothing; a right password takes the
//! count back. After a few failures the next attempt must wait, each time twice as long, up to [`LONGEST_SECONDS`]; an
//! attempt during that time is not judged and does not prolong it. What has been quiet for [`FORGET_SECONDS`] is
//! forgotten.
//!
//! Whoever guesses at a username also holds up its owner, but never where the owner has signed in before: that browser
//! is counted by itself ([`Subject::Browser`]).
//!
//! The counts are one server's own, in memory of a fixed size. They decide nothing but when to answer.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use sealstone_jose::UnixSeconds;

/// The longest wait: four guesses an hour.
pub const LONGEST_SECONDS: u64 = 900;
/// How long a count is kept after its last failure. Longer than the longest wait, or waiting would be rewarded.
pub const FORGET_SECONDS: u64 = 4 * LONGEST_SECONDS;

/// Whose failures are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject<'a> {
    /// Where the attempt comes from. IPv6 addresses count by their first 64 bits: one subscriber's.
    Address(IpAddr),
    /// A browser in which the user has signed in before, by the number in its cookie.
    Browser(&'a str),
    /// Who it is said to be, whether or not there is such a user.
    Username(&'a str),
}

impl Subject<'_> {
    /// How many failures go without a wait. Behind one address there may be a whole office.
    const fn free(self) -> u32 {
        match self {
            Subject::Address(_) => 20,
            Subject::Browser(_) | Subject::Username(_) => 5,
        }
    }

    const fn network(self) -> Self {
        match self {
            Subject::Address(IpAddr::V6(address)) if address.to_ipv4_mapped().is_none() => {
                let network = u128::from_be_bytes(address.octets()) >> 64 << 64;
                Subject::Address(IpAddr::V6(std::net::Ipv6Addr::from_bits(network)))
            }
            Subject::Address(address) => Subject::Address(address.to_canonical()),
            other => other,
        }
    }
}

/// Counts failures.
#[derive(Debug)]
pub struct Throttle {
    /// Keyed, so that nobody can choose subjects that fall together.
    hasher: RandomState,
    most: usize,
    table: Mutex<HashMap<u64, Count>>,
}

#[derive(Clone, Copy, Debug)]
struct Count {
    failures: u32,
    last: u64,
}

/// The attempt is not judged: it must wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// For so long, at least 1.
    pub seconds: u64,
}

impl Throttle {
    /// Keeps at most `most` counts, about 40 bytes each.
    pub fn new(most: usize) -> Self {
        Self { hasher: RandomState::new(), most: most.max(1), table: Mutex::default() }
    }

    /// Begins an attempt: it counts as a failure of each subject, unless one of them must wait.
    /// Errors: `Held`, and nothing is counted.
    pub fn begin(&self, subjects: &[Subject<'_>], now: UnixSeconds) -> Result<(), Held> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        for &subject in subjects {
            let known = table.get(&self.key(subject)).map_or(0, |count| count.wait(subject, now));
            if known > 0 {
                return Err(Held { seconds: known });
            }
        }
        for &subject in subjects {
            let key = self.key(subject);
            if !table.contains_key(&key) && table.len() >= self.most {
                make_room(&mut table, now);
            }
            let count = table.entry(key).or_insert(Count { failures: 0, last: now.0 });
            if count.is_forgotten(now) {
                count.failures = 0;
            }
            *count = Count { failures: count.failures.saturating_add(1), last: now.0 };
        }
        Ok(())
    }

    /// The attempt was not judged after all: it does not count.
    pub fn withdraw(&self, subjects: &[Subject<'_>]) {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        for &subject in subjects {
            if let Some(count) = table.get_mut(&self.key(subject)) {
                count.failures = count.failures.saturating_sub(1);
            }
        }
    }

    /// The attempt was right: user and browser begin anew. The address only has this attempt taken back, or whoever has
    /// an account of their own could guess at others for ever.
    pub fn succeeded(&self, subjects: &[Subject<'_>]) {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        for &subject in subjects {
            let key = self.key(subject);
            match (subject, table.get_mut(&key)) {
                (Subject::Address(_), Some(count)) => count.failures = count.failures.saturating_sub(1),
                (Subject::Browser(_) | Subject::Username(_), Some(_)) => drop(table.remove(&key)),
                (_, None) => {}
            }
        }
    }

    /// How many counts are kept.
    pub fn len(&self) -> usize {
        self.table.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether no count is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn key(&self, subject: Subject<'_>) -> u64 {
        self.hasher.hash_one(subject.network())
    }
}

impl Count {
    /// How long the next attempt must wait: 1, 2, 4 … seconds from the last failure.
    fn wait(self, subject: Subject<'_>, now: UnixSeconds) -> u64 {
        let Some(beyond) = self.failures.checked_sub(subject.free()) else { return 0 };
        let delay = 1_u64.checked_shl(beyond).map_or(LONGEST_SECONDS, |delay| delay.min(LONGEST_SECONDS));
        // A clock that was set back must not lock anybody out until it has caught up.
        let last = self.last.min(now.0);
        match self.is_forgotten(now) {
            true => 0,
            false => last.saturating_add(delay).saturating_sub(now.0),
        }
    }

    fn is_forgotten(self, now: UnixSeconds) -> bool {
        now.0.saturating_sub(self.last) >= FORGET_SECONDS
    }
}

/// Drops what is forgotten, and if that is nothing, the count with the fewest failures, of these the oldest: whoever
/// fills the table with names pays for every one and cannot wash out a count that holds somebody.
fn make_room(table: &mut HashMap<u64, Count>, now: UnixSeconds) {
    let before = table.len();
    table.retain(|_, count| !count.is_forgotten(now));
    if table.len() == before
        && let Some((&least, _)) = table.iter().min_by_key(|(_, count)| (count.failures, count.last))
    {
        table.remove(&least);
    }
}
