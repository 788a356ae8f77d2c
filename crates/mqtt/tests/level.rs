//! The choice of a level: the paper's rules where they stand, and the rulings where they do not.

use proptest::prelude::*;
use sealstone_mldsa::Level::{self, MlDsa44, MlDsa65, MlDsa87};
use sealstone_mqtt::level::{
    Band, Class, Decision, Downgrades, Means, Need, Policy, Reason, Refusal, TopicMap, choose, score,
};
use sealstone_mqtt::{Filter, Topic, UnixMillis};

const NEED: Need = Need([12_000, 16_000, 20_000]);
const PLENTY: Means = Means { energy: 1000, heat: 0, free: 100_000 };
const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

fn chosen(policy: &Policy, class: Class, means: Means) -> Result<(Level, Reason), Refusal> {
    let mut none = Downgrades::NONE;
    choose(policy, class, means, &NEED, &mut none, NOW).level
}

/// Seed 002, Table 3, with all means and with none but memory.
#[test]
fn the_papers_classes() {
    let poor = Means { energy: 0, heat: 1000, free: 100_000 };
    let of = |means| Class::ALL.map(|class| chosen(&Policy::BATTERY, class, means).unwrap().0);
    assert_eq!(of(PLENTY), [MlDsa44, MlDsa65, MlDsa87, MlDsa87]);
    assert_eq!(of(poor), [MlDsa44, MlDsa44, MlDsa65, MlDsa87]);
}

/// The middle tier of Algorithm 8 shows itself only in a class whose default lies two levels above its floor.
#[test]
fn one_level_below_the_default_between_the_thresholds() {
    let mut policy = Policy::BATTERY;
    policy.bands[0] = Band { floor: MlDsa44, default: MlDsa87 };
    let half = Means { energy: 500, heat: 500, free: 10_000_000 };
    assert_eq!(score(policy.weights, half, &NEED), 650);
    assert_eq!(chosen(&policy, Class::Low, half), Ok((MlDsa65, Reason::Score)));
    let poor = Means { energy: 0, heat: 1000, ..half };
    assert_eq!(chosen(&policy, Class::Low, poor), Ok((MlDsa44, Reason::LowScore)));
}

/// The paper would sign an alert at 44 where memory is short, and a firmware update too (2.1, ruling 2).
#[test]
fn the_floor_holds_where_memory_does_not_suffice() {
    let short = Means { free: 13_000, ..PLENTY };
    assert_eq!(chosen(&Policy::BATTERY, Class::High, short), Err(Refusal::FloorDoesNotFit));
    assert_eq!(chosen(&Policy::BATTERY, Class::Critical, short), Err(Refusal::FloorDoesNotFit));
    assert_eq!(chosen(&Policy::BATTERY, Class::Medium, short), Ok((MlDsa44, Reason::Memory)));
}

/// With 0.6 of the memory free the paper allows 87, which then does not fit (2.1, ruling 4).
#[test]
fn memory_is_compared_in_bytes() {
    for (free, level) in [(20_000, MlDsa87), (19_999, MlDsa65), (16_000, MlDsa65)] {
        let means = Means { free, ..PLENTY };
        assert_eq!(chosen(&Policy::BATTERY, Class::High, means).unwrap().0, level, "{free} bytes");
    }
}

/// A device that is heated or jammed cannot be made to sign weakly for ever (2.1, ruling 11).
#[test]
fn downgrades_are_bounded_and_come_back_with_time() {
    let poor = Means { energy: 0, heat: 1000, free: 100_000 };
    let policy = Policy { downgrades: 3, ..Policy::BATTERY };
    let mut spent = Downgrades::NONE;
    let mut at = |ms| choose(&policy, Class::High, poor, &NEED, &mut spent, UnixMillis(NOW.0 + ms)).level;
    for _ in 0..3 {
        assert_eq!(at(0), Ok((MlDsa65, Reason::LowScore)));
    }
    assert_eq!(at(0), Ok((MlDsa87, Reason::Bounded)));
    assert_eq!(at(1_199_000), Ok((MlDsa87, Reason::Bounded)));
    assert_eq!(at(1_200_000), Ok((MlDsa65, Reason::LowScore)), "a third of the hour gives one back");
    assert_eq!(at(0), Ok((MlDsa87, Reason::Bounded)), "a clock that goes back gives nothing");
}

#[test]
fn downgrades_for_memory_are_bounded_too() {
    let short = Means { free: 17_000, ..PLENTY };
    let policy = Policy { downgrades: 1, ..Policy::BATTERY };
    let mut spent = Downgrades::NONE;
    let mut next = || choose(&policy, Class::High, short, &NEED, &mut spent, NOW).level;
    assert_eq!(next(), Ok((MlDsa65, Reason::Memory)));
    assert_eq!(next(), Err(Refusal::TooManyDowngrades));
}

#[test]
fn a_topic_that_nobody_named_is_critical() {
    let entries = [
        (Filter::new("device/+/telemetry/#").unwrap(), Class::Low),
        (Filter::new("device/+/alert/#").unwrap(), Class::High),
    ];
    let map = TopicMap::new(&entries);
    let class = |name| map.class(Topic::new(name).unwrap());
    assert_eq!(class("device/7/telemetry/temp"), Class::Low);
    assert_eq!(class("device/7/alert"), Class::High);
    assert_eq!(class("device/7/elsewhere"), Class::Critical);
    assert_eq!(map.known(Topic::new("device/7/elsewhere").unwrap()), None);
}

proptest! {
    /// Whatever a device says of itself, and whatever the policy: never below the floor, never more than fits.
    #[test]
    fn never_below_the_floor(
        class in 0usize..4,
        energy: u16,
        heat: u16,
        free in 0u32..60_000,
        weights: (u16, u16, u16),
        thresholds: (u16, u16),
        bands in proptest::array::uniform4((0usize..3, 0usize..3)),
        downgrades: u16,
        window: u32,
        times in proptest::collection::vec(any::<u64>(), 1..8),
    ) {
        let policy = Policy {
            bands: bands.map(|(floor, default)| Band { floor: Level::ALL[floor], default: Level::ALL[default] }),
            high: thresholds.0,
            low: thresholds.1,
            downgrades,
            downgrade_window_ms: window,
            ..Policy::with(weights.0, weights.1, weights.2)
        };
        let mut spent = Downgrades::NONE;
        for now in times {
            let means = Means { energy, heat, free };
            let Decision { band, score, level, .. } =
                choose(&policy, Class::ALL[class], means, &NEED, &mut spent, UnixMillis(now));
            prop_assert!(score <= 1000);
            match level {
                Ok((level, _)) => {
                    prop_assert!(level >= band.floor);
                    prop_assert!(NEED.of(level) <= free);
                }
                Err(Refusal::FloorDoesNotFit) => prop_assert!(NEED.of(band.floor) > free),
                Err(Refusal::TooManyDowngrades) => prop_assert!(NEED.of(band.default.max(band.floor)) > free),
            }
        }
    }
}
