//! How much stack a call needs: what is below the stack pointer is painted, and looked at afterwards.

use core::ptr::{read_volatile, write_volatile};

const PAINT: u32 = 0x5ea1_5ea1;

/// Runs `f`, and says how many bytes of stack it used. Bounds: exact to 4 bytes, unless `f` leaves the paint's own pattern at
/// its lowest word.
#[inline(never)]
pub fn stack_of<R>(f: impl FnOnce() -> R) -> (usize, R) {
    let bottom = cortex_m_rt::heap_start() as usize;
    let top = cortex_m::register::msp::read() as usize;
    for address in (bottom..top - MARGIN).step_by(4) {
        // SAFETY: between the end of all statics and the stack pointer, less what this loop may need itself, is nothing.
        unsafe { write_volatile(address as *mut u32, PAINT) }
    }
    let answer = apart(f);
    // SAFETY: memory of this program, aligned to words.
    let untouched = (bottom..top)
        .step_by(4)
        .take_while(|address| unsafe { read_volatile(*address as *const u32) } == PAINT)
        .count();
    (top - bottom - 4 * untouched, answer)
}

/// Bytes below the stack pointer that are not painted.
const MARGIN: usize = 64;

/// A call that is not inlined, so that its frame lies below.
#[inline(never)]
fn apart<R>(f: impl FnOnce() -> R) -> R {
    core::hint::black_box(f)()
}
