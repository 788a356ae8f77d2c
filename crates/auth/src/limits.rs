//! How often somebody may ask: meters of a fixed size, without a lock.
//!
//! A meter is a generic cell rate algorithm (GCRA, ITU-T I.371): for each key it knows the moment until which the key has
//! used up its share, and a request is refused if that lies a minute or more ahead. Keys share cells: four, chosen by a
//! keyed hash, of which the least used one counts. So memory does not grow with the number of keys, nobody is let through
//! for having many of them, and somebody is refused for what others did only if all four of their cells are used up.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};

use sealstone_jose::UnixSeconds;

const ROWS: usize = 4;
/// Cells in a row; a meter is 512 KiB.
const CELLS: usize = 1 << 14;
const MINUTE: u64 = 60_000_000;

/// Counts so many requests a minute for each key.
pub struct Meter {
    cells: Box<[AtomicU64]>,
    hasher: RandomState,
    /// What one request uses up, in microseconds.
    one: u64,
}

impl Meter {
    /// Lets through so many a minute, and so many at once after a quiet minute. `None` for 0: no limit.
    pub fn per_minute(most: u64) -> Option<Self> {
        let one = MINUTE.checked_div(most)?.max(1);
        let cells = std::iter::repeat_with(|| AtomicU64::new(0)).take(ROWS * CELLS).collect();
        Some(Self { cells, hasher: RandomState::new(), one })
    }

    /// Whether one more would go through.
    /// Errors: the seconds after which it would, at least 1.
    pub fn check(&self, key: impl Hash, now: UnixSeconds) -> Result<(), u64> {
        let used = self.used(self.cells_of(key), now);
        match (used + self.one).saturating_sub(MINUTE) {
            0 => Ok(()),
            over => Err(over.div_ceil(1_000_000).max(1)),
        }
    }

    /// Counts one.
    pub fn charge(&self, key: impl Hash, now: UnixSeconds) {
        let cells = self.cells_of(key);
        // As a count-min sketch with conservative update: what the key itself has used, and no more.
        let until = micros(now) + (self.used(cells, now) + self.one).min(MINUTE);
        for cell in cells {
            self.cells[cell].fetch_max(until, Ordering::Relaxed);
        }
    }

    /// Counts one if it goes through.
    /// Errors: as [`check`](Self::check).
    pub fn take(&self, key: impl Hash + Copy, now: UnixSeconds) -> Result<(), u64> {
        self.check(key, now)?;
        self.charge(key, now);
        Ok(())
    }

    /// How far ahead of now the key is, at most a minute: also if the clock was set back.
    fn used(&self, cells: [usize; ROWS], now: UnixSeconds) -> u64 {
        let until = cells.iter().map(|cell| self.cells[*cell].load(Ordering::Relaxed)).min();
        until.unwrap_or(0).saturating_sub(micros(now)).min(MINUTE)
    }

    fn cells_of(&self, key: impl Hash) -> [usize; ROWS] {
        // Keyed, so that nobody can choose keys that fall together.
        let hash = self.hasher.hash_one(key);
        std::array::from_fn(|row| row * CELLS + (hash >> (16 * row)) as usize % CELLS)
    }
}

impl std::fmt::Debug for Meter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Meter").field("one", &self.one).finish_non_exhaustive()
    }
}

fn micros(time: UnixSeconds) -> u64 {
    time.0.saturating_mul(1_000_000)
}

/// What counts as one address: an IPv4 address, or the first 64 bits of an IPv6 one, which are one subscriber's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network(IpAddr);

impl Network {
    /// The network of an address.
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(address) => Self(IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64))),
            v4 => Self(v4),
        }
    }
}
