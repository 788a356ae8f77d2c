//! Batches and values that did not change.

use proptest::prelude::*;
use sealstone_mqtt::batch::{Batch, Reading, Readings};
use sealstone_mqtt::cache::{self, Cache, Pace, Say};
use sealstone_mqtt::{Error, Field, Number, UnixMillis};

#[test]
fn a_batch_byte_by_byte() {
    let mut memory = [0xee; 40];
    let mut batch = Batch::new(&mut memory);
    batch.add(UnixMillis(5_000), b"ab").unwrap();
    batch.add(UnixMillis(5_300), b"").unwrap();
    assert_eq!((batch.len(), batch.is_empty()), (2, false));
    let payload = batch.finish(UnixMillis(6_000)).unwrap();
    assert_eq!(payload, [0, 2, 0, 0, 3, 0xe8, 0, 2, b'a', b'b', 0, 0, 2, 0xbc, 0, 0]);
    for len in 0..payload.len() {
        assert!(Readings::parse(&payload[..len]).is_err(), "{len} bytes");
    }
    let longer = [payload, &[0]].concat();
    assert_eq!(Readings::parse(&longer).err(), Some(Error::TrailingBytes));
    assert_eq!(Readings::parse(&[0, 0]).err(), Some(Error::NotCanonical));
}

#[test]
fn what_does_not_fit_changes_nothing() {
    let mut memory = [0; 20];
    let mut batch = Batch::new(&mut memory);
    batch.add(UnixMillis(1_000), b"12345").unwrap();
    assert_eq!(batch.add(UnixMillis(1_000), b"123456"), Err(Error::TooLong));
    assert_eq!(batch.add(UnixMillis(999), b""), Err(Error::Unsupported(Field::Time)), "before the first");
    assert_eq!(batch.add(UnixMillis(1_000 + (1 << 32)), b""), Err(Error::Unsupported(Field::Time)));
    batch.add(UnixMillis(1_000), b"1").unwrap();
    let payload = batch.finish(UnixMillis(1_000)).unwrap();
    assert_eq!(Readings::parse(payload).unwrap().count(), 2);
    assert_eq!(Batch::new(&mut [0; 9]).finish(UnixMillis(1)), Err(Error::Missing(Field::Payload)));
    let mut memory = [0; 9];
    let mut late = Batch::new(&mut memory);
    late.add(UnixMillis(1_000), b"").unwrap();
    assert_eq!(late.finish(UnixMillis(999)), Err(Error::Unsupported(Field::Time)), "a reading of the future");
    assert_eq!(Batch::new(&mut []).add(UnixMillis(1), b""), Err(Error::TooLong));
}

#[test]
fn an_unchanged_value_names_the_message_that_holds() {
    let number = Number { epoch: 0x0102_0304, sequence: 0x0506_0708 };
    assert_eq!(cache::emit(number), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(cache::parse(&cache::emit(number)), Ok(number));
    assert_eq!(cache::parse(&[0; 7]), Err(Error::Truncated));
    assert_eq!(cache::parse(&[0; 9]), Err(Error::TrailingBytes));
}

#[test]
fn values_that_are_not_remembered_are_said_in_full() {
    let mut cache = Cache::<4>::new(Pace { silence_ms: 10, full_ms: 100 });
    let number = Number { epoch: 1, sequence: 1 };
    cache.said_full(b"12345", number, 0);
    assert_eq!(cache.what(b"12345", 1), Say::Full, "longer than the memory for it");
    cache.said_full(b"1234", number, 0);
    assert_eq!(cache.what(b"1234", 1), Say::Nothing);
    assert_eq!(cache.what(b"123", 1), Say::Full, "a beginning is another value");
    cache.forget();
    assert_eq!(cache.what(b"1234", 1), Say::Full);
    cache.said_full(b"1234", number, 50);
    assert_eq!(cache.what(b"1234", 49), Say::Full, "a clock that went back");
}

#[test]
fn a_batch_goes_on_in_its_memory() {
    let mut memory = [0; 40];
    let mut batch = Batch::new(&mut memory);
    assert_eq!(batch.take(UnixMillis(1)), Err(Error::Missing(Field::Payload)));
    for round in 0..3u64 {
        let time = UnixMillis(1_000 * round);
        batch.add(time, b"one").unwrap();
        batch.add(UnixMillis(time.0 + 5), b"two").unwrap();
        let payload = batch.take(UnixMillis(time.0 + 9)).unwrap();
        let readings: Vec<_> =
            Readings::parse(payload).unwrap().map(|one| (one.before_ms, one.bytes)).collect();
        assert_eq!(readings, [(9, &b"one"[..]), (4, b"two")]);
        assert!(batch.is_empty());
    }
    // A clock that went back costs the readings, and no more.
    batch.add(UnixMillis(500), b"lost").unwrap();
    assert_eq!(batch.take(UnixMillis(499)), Err(Error::Unsupported(Field::Time)));
    batch.add(UnixMillis(499), b"next").unwrap();
    assert_eq!(Readings::parse(batch.take(UnixMillis(499)).unwrap()).unwrap().count(), 1);
}

proptest! {
    #[test]
    fn readings_come_back(
        readings in proptest::collection::vec((0u32..100_000, proptest::collection::vec(any::<u8>(), 0..40)), 1..30),
        after in 100_000u64..200_000,
    ) {
        let mut memory = [0; 2_000];
        let mut batch = Batch::new(&mut memory);
        let first = readings.iter().map(|(at, _)| *at).min().unwrap();
        batch.add(UnixMillis(7_000_000 + u64::from(first)), b"first").unwrap();
        for (at, bytes) in &readings {
            batch.add(UnixMillis(7_000_000 + u64::from(*at)), bytes).unwrap();
        }
        let payload = batch.finish(UnixMillis(7_000_000 + after)).unwrap();
        let back: Vec<Reading<'_>> = Readings::parse(payload).unwrap().skip(1).collect();
        prop_assert_eq!(back.len(), readings.len());
        for (back, (at, bytes)) in back.iter().zip(&readings) {
            prop_assert_eq!((u64::from(back.before_ms), back.bytes), (after - u64::from(*at), &bytes[..]));
        }
    }

    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..80), count in 0u8..6) {
        let mut bytes = bytes;
        if bytes.len() > 1 {
            (bytes[0], bytes[1]) = (0, count);
        }
        if let Ok(readings) = Readings::parse(&bytes) {
            prop_assert_eq!(readings.count(), usize::from(count));
        }
    }

    /// Silence never lasts longer than the pace allows, a value that changed is always said, and "unchanged" always names the message
    /// that said this value last.
    #[test]
    fn silence_is_bounded(steps in proptest::collection::vec((1u64..40, 0u8..3), 1..200)) {
        let pace = Pace { silence_ms: 100, full_ms: 350 };
        let mut cache = Cache::<4>::new(pace);
        let (mut now, mut last_said, mut last_full) = (0, 0, None::<(u64, u8, u32)>);
        for (sequence, (passed, value)) in steps.into_iter().enumerate() {
            now += passed;
            let number = Number { epoch: 1, sequence: sequence as u32 };
            match cache.what(&[value], now) {
                Say::Full => {
                    cache.said_full(&[value], number, now);
                    (last_said, last_full) = (now, Some((now, value, number.sequence)));
                }
                Say::Unchanged(of) => {
                    let (_, said, sequence) = last_full.unwrap();
                    prop_assert_eq!((said, sequence), (value, of.sequence));
                    cache.said_unchanged(now);
                    last_said = now;
                }
                Say::Nothing => prop_assert_eq!(last_full.unwrap().1, value),
            }
            prop_assert!(now - last_said < pace.silence_ms);
            prop_assert!(now - last_full.unwrap().0 < pace.full_ms);
        }
    }
}
