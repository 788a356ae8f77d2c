//! An emulated Cortex-M4: what a program needs of the board, and what only a board's own code may do.
//!
//! `count` and `stack` measure a call, `line!` sends a line to the host, `exit` ends the emulation.
//! Counting is for QEMU with `-icount shift=0`, where one instruction is one nanosecond of the board's time; without it counts
//! follow the host's clock and mean nothing.
#![no_std]

mod clock;
mod counter;
mod given;
mod host;
#[cfg(feature = "mps2-an386")]
mod lan9118;
mod memory;
#[cfg(not(feature = "mps2-an386"))]
mod uart;
mod vectors;
mod watermark;

pub use clock::Clock;
pub use cortex_m::Peripherals;
pub use cortex_m_rt::entry;
#[doc(hidden)]
pub use cortex_m_semihosting::hprintln;
pub use counter::Counter;
pub use given::{free_memory, given};
pub use host::{File, unix_seconds};
#[cfg(feature = "mps2-an386")]
pub use lan9118::{FRAME_MAX, Lan9118};
#[cfg(not(feature = "mps2-an386"))]
pub use uart::Uart;
pub use watermark::stack_of;

use cortex_m_semihosting::debug;

/// Whether there is a host that reads lines.
#[doc(hidden)]
pub const HOST: bool = cfg!(not(feature = "quiet"));

/// Sends a line to the host. With the feature `quiet` nothing of it is in the program.
#[macro_export]
macro_rules! line {
    ($($part:tt)*) => {
        if $crate::HOST {
            $crate::hprintln!($($part)*);
        }
    };
}

/// Ends the emulation; the host's exit status says whether all went well.
pub fn exit(good: bool) -> ! {
    loop {
        debug::exit(if good { debug::EXIT_SUCCESS } else { debug::EXIT_FAILURE });
    }
}

#[panic_handler]
fn panicked(info: &core::panic::PanicInfo<'_>) -> ! {
    line!("panicked,{}", info);
    exit(false)
}

#[cortex_m_rt::exception]
// SAFETY: the frame is looked at and nothing else: whatever faulted does not go on.
unsafe fn HardFault(frame: &cortex_m_rt::ExceptionFrame) -> ! {
    line!("fault,{:#x}", frame.pc());
    exit(false)
}
