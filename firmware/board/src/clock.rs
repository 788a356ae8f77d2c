//! Milliseconds since the start, by SysTick. A program that has a clock has no use for the counter of an AN386, which is the same timer.

use core::sync::atomic::{AtomicU32, Ordering};
use cortex_m::peripheral::{SYST, syst::SystClkSource};

static MILLIS: AtomicU32 = AtomicU32::new(0);

/// Core clocks in a millisecond: 168 MHz, as the STM32F405 runs at best, and 25 MHz on an AN386.
const PER_MILLI: u32 = if cfg!(feature = "mps2-an386") { 25_000 } else { 168_000 };

/// A clock that does not go back.
#[derive(Debug)]
pub struct Clock {
    /// Rounds of 2^32 ms.
    high: u64,
    last: u32,
}

impl Clock {
    /// Starts SysTick. Bounds: once.
    pub fn start(mut syst: SYST) -> Self {
        syst.set_clock_source(SystClkSource::Core);
        syst.set_reload(PER_MILLI - 1);
        syst.clear_current();
        syst.enable_interrupt();
        syst.enable_counter();
        Clock { high: 0, last: 0 }
    }

    /// Milliseconds since the start. Bounds: called at least once in 49 days.
    pub fn now(&mut self) -> u64 {
        let low = MILLIS.load(Ordering::Relaxed);
        if low < self.last {
            self.high += 1 << 32;
        }
        self.last = low;
        self.high + u64::from(low)
    }

    /// Core clocks within the millisecond: what nobody can foretell of the moment at which something came.
    pub fn fraction(&self) -> u32 {
        SYST::get_current()
    }
}

#[cortex_m_rt::exception]
fn SysTick() {
    // Nobody else writes it, so a load and a store do.
    MILLIS.store(MILLIS.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}
