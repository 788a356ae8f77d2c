//! The clock of all measurements.

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Time that this thread has spent computing. On an idle machine it runs as the wall clock does; on a busy one it
/// stands still while others have the core. The rivals read the same clock.
pub(crate) fn now() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// How many cycles the core made in a nanosecond, found by a chain that cannot run faster than its latency: a
/// multiplication takes 3 cycles and an addition 1 on every x86-64 core of the last ten years and on most others.
/// Counters of a virtual machine are often out of reach, and the time stamp counter does not follow the core's clock.
pub(crate) fn core_cycles_per_nanosecond() -> f64 {
    const STEPS: u64 = 2_000_000;
    let (factor, term) = (black_box(0x5851_f42d_4c95_7f2d_u64), black_box(0x1405_7b7e_f767_814f_u64));
    let mut x = black_box(1_u64);
    let start = now();
    for _ in 0..STEPS {
        x = x.wrapping_mul(factor).wrapping_add(term);
    }
    black_box(x);
    let taken = now() - start;
    (STEPS * 4) as f64 / taken.as_nanos() as f64
}
