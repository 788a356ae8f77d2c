//! What this engine takes on a Cortex-M4: instructions counted in QEMU, and what they come to on a chip.
//!
//! `./dev bench m4` makes the counts again; docs/performance-m4.md has them all, and how instructions become cycles.

use super::Costs;
use crate::level::Need;

/// Instructions of a signature in the profile `fast`, mean of sixteen messages, per level.
pub const SIGN_FAST: [u32; 3] = [3_000_000, 5_000_000, 6_500_000];

/// Cycles an instruction, the highest ratio that pqm4's own code shows between its published cycles on a chip and its
/// instructions in QEMU (1.11 to 1.34).
pub const CYCLES_PER_INSTRUCTION: f64 = 1.35;

/// The paper's clock.
pub const CLOCK_HZ: f64 = 168e6;

/// 40 mA at 3.3 V: an STM32F407 at 168 MHz with its peripherals off (assumed from its data sheet's typical figure; the paper
/// has 15 mA).
pub const CPU_MW: f64 = 132.0;

/// Bytes that signing takes in the profile `small`: workspace, stack, key and envelope of 50 bytes.
pub const NEED_SMALL: Need = Need([12_000, 16_000, 20_000]);

/// The costs of the profile `fast`.
pub fn costs() -> Costs {
    let ms = |instructions: u32| f64::from(instructions) * CYCLES_PER_INSTRUCTION / CLOCK_HZ * 1e3;
    Costs { sign_ms: SIGN_FAST.map(ms), tag_ms: ms(30_000), cpu_mw: CPU_MW }
}
