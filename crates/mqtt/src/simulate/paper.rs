//! What the paper prints (seed 002), and its Algorithm 8 to the letter.

use super::{Costs, State};
use crate::level::{BANDS, Class};
use sealstone_mldsa::Level;

/// Table 5, payloads of 50 bytes: milliseconds at 168 MHz. 7.5.2: 50 mW. 7.5.3: a tag takes 0.5 ms.
pub const COSTS: Costs = Costs { sign_ms: [663.0, 853.0, 1136.0], tag_ms: 0.5, cpu_mw: 50.0 };

/// 7.5.2: 2,000 mAh at 3.3 V, in joules: printed as 23.8 kJ.
pub const BATTERY_J: f64 = 23_800.0;

/// Table 9: signed bytes for payloads of 10, 50 and 100 bytes, per level.
pub const SIGNED_BYTES: [[u16; 3]; 3] = [[2438, 2478, 2528], [3327, 3367, 3417], [4645, 4685, 4735]];

/// The payloads of Table 9.
pub const PAYLOADS: [usize; 3] = [10, 50, 100];

/// A row of Tables 12 to 14.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    /// The workload.
    pub workload: &'static str,
    /// Table 12: mean milliseconds in the states high, medium and low; fixed 87 takes 1,136.
    pub sign_ms: [f64; 3],
    /// Table 13: per cent of the levels at R ≈ 0.5.
    pub levels: [f64; 3],
    /// Table 13: the mean of the categories.
    pub category: f64,
    /// Table 14: joules a day.
    pub joules: f64,
    /// Table 14: how much longer a battery lasts than with fixed 87, in per cent.
    pub longer: f64,
}

/// Tables 12, 13 and 14.
pub const PRINTED: [Printed; 3] = [
    Printed {
        workload: "environmental",
        sign_ms: [732.0, 668.0, 678.0],
        levels: [80.0, 15.0, 5.0],
        category: 2.25,
        joules: 3.66,
        longer: 55.2,
    },
    Printed {
        workload: "industrial",
        sign_ms: [849.0, 781.0, 743.0],
        levels: [60.0, 20.0, 20.0],
        category: 2.60,
        joules: 4.25,
        longer: 33.6,
    },
    Printed {
        workload: "security",
        sign_ms: [956.0, 891.0, 847.0],
        levels: [40.0, 30.0, 30.0],
        category: 2.90,
        joules: 4.78,
        longer: 18.8,
    },
];

impl Printed {
    /// Table 12's figure for a state.
    pub const fn sign_ms(&self, state: State) -> f64 {
        self.sign_ms[state as usize]
    }
}

/// Algorithm 8 as it is printed, for a score R and a free memory M over 43.1 KB. It breaks the minimum of the class where
/// memory is short, which is why nothing but the comparison calls it.
pub fn algorithm_8(class: Class, r: f64, m: f64) -> Level {
    let (min_level, default_level) = (BANDS[class as usize].floor, BANDS[class as usize].default);
    // 4 to 6
    if class == Class::Critical {
        return Level::MlDsa87;
    }
    // 7 to 13
    let selected = if r >= 0.7 {
        default_level
    } else if r >= 0.4 {
        min_level.max(match default_level {
            Level::MlDsa44 | Level::MlDsa65 => Level::MlDsa44,
            Level::MlDsa87 => Level::MlDsa65,
        })
    } else {
        min_level
    };
    // 14 to 18
    if m < 0.27 && selected > Level::MlDsa44 {
        Level::MlDsa44
    } else if m < 0.53 && selected > Level::MlDsa65 {
        Level::MlDsa65
    } else {
        selected
    }
}
