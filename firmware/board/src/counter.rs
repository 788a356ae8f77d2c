//! Counts instructions.

/// The board's counter, running. There is one, and it belongs to whoever started it.
#[derive(Debug)]
pub struct Counter {
    /// Counts between two readings with nothing in between.
    empty: u64,
    high: u64,
}

impl Counter {
    /// Starts the counter.
    pub fn start() -> Self {
        board::start();
        let mut counter = Counter { empty: 0, high: 0 };
        let (before, after) = (counter.now(), counter.now());
        counter.empty = after - before;
        counter
    }

    /// The instructions that `f` took, and its answer.
    /// Bounds: below 2^32 on an STM32F405, below 2^24 times 40 on an AN386, which counts in steps of 40.
    pub fn count<R>(&mut self, f: impl FnOnce() -> R) -> (u64, R) {
        let before = self.now();
        let answer = f();
        let after = self.now();
        ((after - before - self.empty) * board::INSTRUCTIONS, answer)
    }

    /// The counter, and how often it came round: once at most between two readings.
    #[inline(always)]
    fn now(&mut self) -> u64 {
        let count = u64::from(board::count());
        if board::came_round() {
            self.high += 1 << board::BITS;
            return self.high + u64::from(board::count());
        }
        self.high + count
    }
}

/// Timer 2 of an STM32F405 (reference manual RM0090, 18.4). In QEMU it has a clock of 1 GHz: one step an instruction.
#[cfg(not(feature = "mps2-an386"))]
mod board {
    use core::ptr::{read_volatile, write_volatile};

    const TIM2: usize = 0x4000_0000;
    const CR1: *mut u32 = TIM2 as *mut u32;
    const SR: *mut u32 = (TIM2 + 0x10) as *mut u32;
    const EGR: *mut u32 = (TIM2 + 0x14) as *mut u32;
    const CNT: *mut u32 = (TIM2 + 0x24) as *mut u32;
    const PSC: *mut u32 = (TIM2 + 0x28) as *mut u32;
    const ARR: *mut u32 = (TIM2 + 0x2c) as *mut u32;

    pub(super) const INSTRUCTIONS: u64 = 1;
    pub(super) const BITS: u32 = 32;

    pub(super) fn start() {
        // SAFETY: the registers of timer 2, which nobody else uses.
        unsafe {
            write_volatile(PSC, 0);
            write_volatile(ARR, u32::MAX);
            write_volatile(EGR, 1); // an update: takes both
            write_volatile(SR, 0);
            write_volatile(CR1, 1); // enable
        }
    }

    #[inline(always)]
    pub(super) fn count() -> u32 {
        // SAFETY: reading the counter changes nothing.
        unsafe { read_volatile(CNT) }
    }

    #[inline(always)]
    pub(super) fn came_round() -> bool {
        // SAFETY: the status of timer 2, which nobody else uses; a zero clears the update flag.
        unsafe {
            let round = read_volatile(SR) & 1 != 0;
            if round {
                write_volatile(SR, 0);
            }
            round
        }
    }
}

/// SysTick, which counts down at 25 MHz on an AN386: one step is 40 instructions.
#[cfg(feature = "mps2-an386")]
mod board {
    use core::ptr::{read_volatile, write_volatile};

    const CSR: *mut u32 = 0xe000_e010 as *mut u32;
    const RVR: *mut u32 = 0xe000_e014 as *mut u32;
    const CVR: *mut u32 = 0xe000_e018 as *mut u32;

    pub(super) const INSTRUCTIONS: u64 = 40;
    pub(super) const BITS: u32 = 24;

    pub(super) fn start() {
        // SAFETY: the registers of SysTick, which nobody else uses.
        unsafe {
            write_volatile(RVR, (1 << BITS) - 1);
            write_volatile(CVR, 0);
            write_volatile(CSR, 0b101); // enable, processor clock
        }
    }

    #[inline(always)]
    pub(super) fn count() -> u32 {
        // SAFETY: reading the counter changes nothing.
        (1 << BITS) - 1 - unsafe { read_volatile(CVR) }
    }

    #[inline(always)]
    pub(super) fn came_round() -> bool {
        // SAFETY: reading the status clears its flag, which nobody else looks at.
        unsafe { read_volatile(CSR) & (1 << 16) != 0 }
    }
}
