//! What this engine takes on a Cortex-M4: instructions counted in QEMU, and what they come to on a chip.
//!
//! `./dev bench m4` makes the counts again; docs/performance-m4.md has them all, and how instructions become cycles. A test
//! holds these to the newest record of it.

use super::Costs;
use crate::level::Need;

/// Instructions of a signature in the profile `fast`, mean of sixteen messages, per level: `m4/sign-fast`.
pub const SIGN_FAST: [u32; 3] = [2_632_603, 4_571_747, 5_997_170];

/// Instructions of a KMAC256 tag over 80 bytes: `m4/tag`.
pub const TAG: u32 = 30_219;

/// Cycles an instruction, the highest ratio that pqm4's own code shows between its published cycles on a chip and its
/// instructions in QEMU (1.11 to 1.34).
pub const CYCLES_PER_INSTRUCTION: f64 = 1.35;

/// The paper's clock.
pub const CLOCK_HZ: f64 = 168e6;

/// 40 mA at 3.3 V: an STM32F407 at 168 MHz with its peripherals off (assumed from its data sheet's typical figure; the paper
/// has 15 mA).
pub const CPU_MW: f64 = 132.0;

/// Bytes that signing takes in the profile `small`, workspace, stack, key and envelope of 50 bytes: `m4-ram/small`.
pub const NEED_SMALL: Need = Need([11_028, 14_925, 18_635]);

/// The costs of the profile `fast`.
pub fn costs() -> Costs {
    let ms = |instructions: u32| f64::from(instructions) * CYCLES_PER_INSTRUCTION / CLOCK_HZ * 1e3;
    Costs { sign_ms: SIGN_FAST.map(ms), tag_ms: ms(TAG), cpu_mw: CPU_MW }
}

#[cfg(test)]
mod tests {
    use super::{NEED_SMALL, SIGN_FAST, TAG};
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::{format, fs};

    #[test]
    fn constants_are_those_of_the_newest_record() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/record/m4");
        let files =
            fs::read_dir(&folder).expect("there are records").map(|file| file.expect("a file").path());
        let newest = files.max().expect("there is a record"); // their names begin with the time
        let rows: serde_json::Value =
            serde_json::from_slice(&fs::read(newest).expect("it can be read")).expect("it is JSON");
        let rows: BTreeMap<_, _> = rows
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| (row["name"].as_str().expect("a name"), row["ours"].as_f64().expect("a count")))
            .collect();
        for (i, level) in ["44", "65", "87"].into_iter().enumerate() {
            assert_eq!(f64::from(SIGN_FAST[i]), rows[&*format!("m4/sign-fast/{level}")].round());
            assert_eq!(f64::from(NEED_SMALL.0[i]), rows[&*format!("m4-ram/small/{level}")]);
        }
        assert_eq!(f64::from(TAG), rows["m4/tag"]);
    }
}
