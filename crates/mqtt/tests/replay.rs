//! The accept-once window beside a set of everything that was accepted.

use proptest::prelude::*;
use sealstone_mqtt::Number;
use sealstone_mqtt::replay::{Replay, Window};
use std::collections::HashSet;

fn number(epoch: u32, sequence: u32) -> Number {
    Number { epoch, sequence }
}

#[test]
fn a_number_is_accepted_once() {
    let mut window = Window::<2>::EMPTY;
    assert_eq!(window.accept(number(1, 0)), Ok(()));
    assert_eq!(window.accept(number(1, 0)), Err(Replay::Seen));
    assert_eq!(window.highest(), Some(number(1, 0)));
}

#[test]
fn late_messages_within_the_window_are_accepted_once() {
    let mut window = Window::<2>::EMPTY;
    window.accept(number(1, 1000)).unwrap();
    for sequence in [999, 873] {
        assert_eq!(window.accept(number(1, sequence)), Ok(()), "{sequence}");
        assert_eq!(window.accept(number(1, sequence)), Err(Replay::Seen), "{sequence}");
    }
    assert_eq!(window.accept(number(1, 872)), Err(Replay::TooOld), "1000 - 872 = 128 = 64·2");
}

#[test]
fn what_a_device_said_before_it_started_again_may_come_late_once() {
    let mut window = Window::<2>::EMPTY;
    window.accept(number(1, 10)).unwrap();
    window.accept(number(2, 0)).unwrap();
    assert_eq!(window.accept(number(1, 11)), Ok(()));
    assert_eq!(window.accept(number(1, 10)), Err(Replay::Seen));
    window.accept(number(3, 0)).unwrap();
    assert_eq!(window.accept(number(1, 12)), Err(Replay::TooOld));
    assert_eq!(window.accept(number(2, 0)), Err(Replay::Seen));
}

#[test]
fn numbers_at_the_end_of_their_range() {
    let mut window = Window::<1>::EMPTY;
    window.accept(number(u32::MAX, u32::MAX)).unwrap();
    assert_eq!(window.accept(number(u32::MAX, u32::MAX)), Err(Replay::Seen));
    assert_eq!(window.accept(number(u32::MAX, u32::MAX - 63)), Ok(()));
    assert_eq!(window.accept(number(u32::MAX, u32::MAX - 64)), Err(Replay::TooOld));
    assert_eq!(window.accept(number(0, 0)), Ok(()), "the epoch before, seen for the first time");
    assert_eq!(window.accept(number(0, u32::MAX)), Ok(()));
    assert_eq!(window.accept(number(0, 0)), Err(Replay::TooOld));
}

proptest! {
    /// Nothing twice; within an epoch that is open, everything inside the window once.
    #[test]
    fn as_a_set_that_forgets(numbers in proptest::collection::vec((0u32..5, 0u32..400), 1..400)) {
        let mut window = Window::<3>::EMPTY;
        let mut accepted = HashSet::new();
        for (epoch, sequence) in numbers {
            let number = number(epoch, sequence);
            let looked = window.check(number);
            let answer = window.accept(number);
            prop_assert_eq!(looked, answer);
            let (open, highest) = accepted.iter().fold((0, None), |(open, highest), other: &Number| {
                (open.max(other.epoch), if other.epoch == epoch { highest.max(Some(other.sequence)) } else { highest })
            });
            match answer {
                Ok(()) => prop_assert!(accepted.insert(number)),
                Err(Replay::Seen) => prop_assert!(accepted.contains(&number)),
                Err(Replay::TooOld) => prop_assert!(
                    epoch < open || highest.is_some_and(|highest| highest - sequence >= 192)
                ),
            }
            if epoch == open && highest.is_none_or(|highest| highest < sequence + 192) {
                prop_assert!(answer != Err(Replay::TooOld));
            }
        }
    }
}
