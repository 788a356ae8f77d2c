//! The clock of all measurements.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Time that this thread has spent computing. On an idle machine it runs as the wall clock does; on a busy one it
/// stands still while others have the core. The rivals read the same clock.
pub(crate) fn now() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}
