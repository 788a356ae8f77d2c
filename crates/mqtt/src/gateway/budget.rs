//! So many in a time, regained evenly.

use crate::message::UnixMillis;

/// A bucket that is full at first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    most: u32,
    window_ms: u64,
    /// Thousandths that are spent.
    spent: u64,
    last: UnixMillis,
}

impl Budget {
    pub(super) const fn new(most: u32, window_ms: u64) -> Self {
        Budget { most, window_ms, spent: 0, last: UnixMillis(0) }
    }

    /// Takes one; false if none is left, and none is taken then.
    pub(super) fn spend(&mut self, now: UnixMillis) -> bool {
        if self.is_spent(now) {
            return false;
        }
        self.spent += 1000;
        true
    }

    /// Whether none is left. A clock that goes back gives nothing back.
    pub(super) fn is_spent(&mut self, now: UnixMillis) -> bool {
        let full = u64::from(self.most) * 1000;
        let passed = now.0.saturating_sub(self.last.0);
        let regained = passed.saturating_mul(full) / self.window_ms.max(1);
        if regained > 0 {
            self.spent = self.spent.saturating_sub(regained);
            self.last = self.last.max(now);
        }
        self.spent + 1000 > full
    }
}
