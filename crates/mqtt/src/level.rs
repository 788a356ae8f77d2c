//! Which level a message is signed with: the paper's Algorithm 8 with its contradictions ruled (docs/mqtt-paper.md).
//!
//! The choice is a pure function over a table: class, means and history in, level and reason out. Three rules stand
//! above the rest. The minimum of a class is never broken: where it does not fit, the answer is a [`Refusal`]. Memory is
//! compared in bytes: what is free with what the level takes in this build. And a device that is starved on purpose cannot
//! be made to sign weakly without end: the number of downgrades within a time is bounded.

use crate::message::UnixMillis;
use crate::topic::{Filter, Topic};
use sealstone_mldsa::Level;

/// What a message is about (the paper's Table 3), least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Telemetry, heartbeats.
    Low,
    /// Aggregates, status reports.
    Medium,
    /// Alerts, configuration, commands.
    High,
    /// Firmware, credentials, keys.
    Critical,
}

impl Class {
    /// All classes, least first.
    pub const ALL: [Class; 4] = [Class::Low, Class::Medium, Class::High, Class::Critical];

    /// The name in configurations and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Low => "low",
            Class::Medium => "medium",
            Class::High => "high",
            Class::Critical => "critical",
        }
    }
}

/// The levels of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    /// Never below this.
    pub floor: Level,
    /// With all means at hand. Bounds: not below the floor; where it is, the floor counts.
    pub default: Level,
}

/// A device's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The band of each class, in the order of [`Class::ALL`].
    pub bands: [Band; 4],
    /// How energy, memory and temperature weigh.
    pub weights: Weights,
    /// From this score on, in thousandths, the default is taken.
    pub high: u16,
    /// From this score on, in thousandths, one level below the default.
    pub low: u16,
    /// Choices below the default that are allowed within [`Self::downgrade_window_ms`].
    pub downgrades: u16,
    /// The time over which they count, in milliseconds.
    pub downgrade_window_ms: u32,
}

/// Weights of the score, in thousandths. They sum up to 1000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Of the energy that is left.
    pub energy: u16,
    /// Of the memory that is free.
    pub memory: u16,
    /// Of the distance to the temperature limit.
    pub thermal: u16,
}

/// The paper's Table 3.
pub const BANDS: [Band; 4] = [
    Band { floor: Level::MlDsa44, default: Level::MlDsa44 },
    Band { floor: Level::MlDsa44, default: Level::MlDsa65 },
    Band { floor: Level::MlDsa65, default: Level::MlDsa87 },
    Band { floor: Level::MlDsa87, default: Level::MlDsa87 },
];

impl Policy {
    /// A sensor on a battery: the paper's default weights 0.5, 0.3, 0.2 and thresholds 0.7, 0.4.
    pub const BATTERY: Policy = Self::with(500, 300, 200);
    /// A gateway on mains power: 0.1, 0.6, 0.3.
    pub const MAINS: Policy = Self::with(100, 600, 300);
    /// An industrial controller, whose commands are signed at the highest level and whose heat counts: 0.2, 0.3, 0.5.
    /// (The paper gives 0.5 for the heat and leaves the others open.)
    pub const INDUSTRIAL: Policy = {
        let mut policy = Self::with(200, 300, 500);
        policy.bands[2].floor = Level::MlDsa87;
        policy
    };

    /// The paper's bands and thresholds with other weights; 20 downgrades an hour.
    pub const fn with(energy: u16, memory: u16, thermal: u16) -> Policy {
        Policy {
            bands: BANDS,
            weights: Weights { energy, memory, thermal },
            high: 700,
            low: 400,
            downgrades: 20,
            downgrade_window_ms: 3_600_000,
        }
    }

    /// The band of a class.
    pub const fn band(&self, class: Class) -> Band {
        self.bands[class as usize]
    }
}

/// What the device has at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Means {
    /// Energy that is left, in thousandths; 1000 on mains.
    pub energy: u16,
    /// Heat, in thousandths of the way from the normal temperature to the limit; 0 is cool.
    pub heat: u16,
    /// Bytes of memory that signing may take.
    pub free: u32,
}

/// Bytes that signing takes at each level in this build: workspace, stack and envelope. In the order of [`Level::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need(pub [u32; 3]);

impl Need {
    /// The bytes of a level.
    pub const fn of(&self, level: Level) -> u32 {
        self.0[level as usize]
    }
}

/// Why a level was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The default of the class.
    Default,
    /// The score lies between the thresholds.
    Score,
    /// The score lies below both thresholds.
    LowScore,
    /// A higher level does not fit into the free memory.
    Memory,
    /// The score asked for less, but there were too many downgrades.
    Bounded,
}

impl Reason {
    /// The name in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Reason::Default => "default",
            Reason::Score => "score",
            Reason::LowScore => "low score",
            Reason::Memory => "memory",
            Reason::Bounded => "downgrades bounded",
        }
    }
}

/// Why nothing may be signed now. The message waits, and somebody is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Not even the floor fits into the free memory.
    FloorDoesNotFit,
    /// Only a downgrade fits, and there were too many.
    TooManyDowngrades,
}

/// A choice, with everything that it came from: what is written to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The class of the message.
    pub class: Class,
    /// Its band.
    pub band: Band,
    /// The score, in thousandths.
    pub score: u16,
    /// The level and why, or why none.
    pub level: Result<(Level, Reason), Refusal>,
}

/// The score R = aE + bM + c(1 - T) in thousandths, M being the free memory over what the highest level takes.
/// Seed 002, 5.3.
pub fn score(weights: Weights, means: Means, need: &Need) -> u16 {
    let memory = quotient(u64::from(means.free) * 1000, need.of(Level::MlDsa87).max(1)).min(1000);
    let part = |weight: u16, value: u32| u32::from(weight.min(1000)) * value.min(1000);
    let sum = part(weights.energy, u32::from(means.energy))
        + part(weights.memory, memory)
        + part(weights.thermal, 1000 - u32::from(means.heat.min(1000)));
    (sum.div_euclid(1000)).min(1000) as u16
}

/// all / by, rounded down, at most `u32::MAX`. Bit by bit: a CPU of 32 bits has no such division, and the library's is long.
/// Bounds: `by` is not 0.
fn quotient(all: u64, by: u32) -> u32 {
    let add = |sum: u32, bit: u32| if u64::from(sum | bit) * u64::from(by) <= all { sum | bit } else { sum };
    (0..32).rev().map(|i| 1 << i).fold(0, add)
}

/// Chooses a level. Seed 002, Algorithm 8, as ruled in docs/mqtt-paper.md.
///
/// Bounds: the level is never below the floor of the class, and never takes more than the free memory.
/// `downgrades` is the device's memory of what it chose before; it is written only where the choice is a downgrade.
pub fn choose(
    policy: &Policy,
    class: Class,
    means: Means,
    need: &Need,
    downgrades: &mut Downgrades,
    now: UnixMillis,
) -> Decision {
    let band = policy.band(class);
    let score = score(policy.weights, means, need);
    let default = band.default.max(band.floor);
    let fits = |level: &Level| need.of(*level) <= means.free;
    let wanted = if score >= policy.high {
        (default, Reason::Default)
    } else if score >= policy.low {
        (below(default).max(band.floor), Reason::Score)
    } else {
        (band.floor, Reason::LowScore)
    };
    let best_that_fits = Level::ALL.into_iter().rev().filter(|level| *level >= band.floor).find(fits);
    let level = match best_that_fits {
        None => Err(Refusal::FloorDoesNotFit),
        Some(best) => {
            let (level, reason) = if best < wanted.0 { (best, Reason::Memory) } else { wanted };
            let reason = if level == default { Reason::Default } else { reason };
            if level >= default || downgrades.take(policy, now) {
                Ok((level, reason))
            } else if best >= default {
                Ok((default, Reason::Bounded))
            } else {
                Err(Refusal::TooManyDowngrades)
            }
        }
    };
    Decision { class, band, score, level }
}

/// One level less.
const fn below(level: Level) -> Level {
    match level {
        Level::MlDsa44 | Level::MlDsa65 => Level::MlDsa44,
        Level::MlDsa87 => Level::MlDsa65,
    }
}

/// Downgrades that a device has left: a bucket that fills up evenly over the policy's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Downgrades {
    /// Thousandths of a downgrade that are spent.
    spent: u32,
    last: UnixMillis,
}

impl Downgrades {
    /// None was made.
    pub const NONE: Self = Downgrades { spent: 0, last: UnixMillis(0) };

    /// Takes one, if one is left. A clock that goes back gives nothing back.
    fn take(&mut self, policy: &Policy, now: UnixMillis) -> bool {
        let most = u32::from(policy.downgrades) * 1000;
        let passed = now.0.saturating_sub(self.last.0);
        let window = policy.downgrade_window_ms.max(1);
        let regained = quotient(passed.saturating_mul(u64::from(most)), window);
        let spent = self.spent.saturating_sub(regained);
        if spent + 1000 > most {
            return false;
        }
        *self = Downgrades { spent: spent + 1000, last: self.last.max(now) };
        true
    }
}

/// Which class a topic has: filters in order, the first that takes it counts.
#[derive(Clone, Copy, Debug)]
pub struct TopicMap<'a> {
    entries: &'a [(Filter<'a>, Class)],
    unknown: Class,
}

impl<'a> TopicMap<'a> {
    /// A map; a topic that no filter takes is critical.
    pub const fn new(entries: &'a [(Filter<'a>, Class)]) -> Self {
        TopicMap { entries, unknown: Class::Critical }
    }

    /// The class of a topic. The work depends on the number of filters and on the topic, and not on which filter takes it.
    pub fn class(&self, topic: Topic<'_>) -> Class {
        let mut found = None;
        for (filter, class) in self.entries {
            if filter.matches(topic) && found.is_none() {
                found = Some(*class);
            }
        }
        found.unwrap_or(self.unknown)
    }

    /// The class of a topic, or none if no filter takes it.
    pub fn known(&self, topic: Topic<'_>) -> Option<Class> {
        self.entries.iter().find(|(filter, _)| filter.matches(topic)).map(|(_, class)| *class)
    }
}

#[cfg(test)]
mod tests {
    use super::quotient;

    #[test]
    fn the_quotient_is_that_of_a_division() {
        let edges = [1, 2, 3, 999, 1000, 1001, 65_537, 11_072, 3_600_000, 1 << 31, u32::MAX - 1, u32::MAX];
        for by in edges {
            for all in edges
                .map(u64::from)
                .into_iter()
                .flat_map(|x| [x - 1, x, 1000 * x, x << 31, x << 32])
                .chain([u64::MAX])
            {
                let divided = (all / u64::from(by)).min(u32::MAX.into());
                assert_eq!(u64::from(quotient(all, by)), divided, "{all} by {by}");
            }
        }
    }
}
