//! Rotation: in order, over power cuts, and never a signature of a key that is retired.

use crate::flash::{Chance, Chip};
use crate::support::public;
use proptest::prelude::*;
use sealstone_mldsa::Level;
use sealstone_mqtt::keyring::{Announcement, Confirmation, KeyRing, Stage};
use sealstone_mqtt::{Error, KeyId};

const LEVEL: Level = Level::MlDsa65;

fn chip(ids: [u16; 3]) -> Chip {
    let mut chip = Chip::new(96); // four records of 24 bytes
    KeyRing::format(&mut chip, ids.map(KeyId)).unwrap();
    chip
}

#[test]
fn each_step_only_after_the_one_before() {
    let mut chip = chip([1, 5, 9]);
    let mut ring = KeyRing::open(&mut chip).unwrap();
    assert_eq!(Level::ALL.map(|level| ring.active(level)), [KeyId(1), KeyId(5), KeyId(9)]);
    assert_eq!(ring.announced(LEVEL), Err(Error::KeyState));
    assert_eq!(ring.confirm(LEVEL, KeyId(6)), Err(Error::KeyState));
    assert_eq!(ring.prepare(LEVEL), Ok(KeyId(6)));
    assert_eq!(ring.prepare(LEVEL), Ok(KeyId(6)), "again, with a new seed");
    assert_eq!(ring.confirm(LEVEL, KeyId(6)), Err(Error::KeyState), "not announced");
    ring.announced(LEVEL).unwrap();
    assert_eq!(ring.next(LEVEL), Some((KeyId(6), Stage::Announced)));
    assert_eq!(ring.prepare(LEVEL), Err(Error::KeyState), "another key under an id that is known");
    for wrong in [5, 7, 9, 10] {
        assert_eq!(ring.confirm(LEVEL, KeyId(wrong)), Err(Error::KeyState));
    }
    assert_eq!(ring.confirm(Level::MlDsa44, KeyId(6)), Err(Error::KeyState), "another level's");
    assert_eq!(ring.may_sign(LEVEL, KeyId(6)), Err(Error::KeyState), "not confirmed");
    ring.confirm(LEVEL, KeyId(6)).unwrap();
    assert_eq!((ring.active(LEVEL), ring.next(LEVEL)), (KeyId(6), None));
    assert_eq!(ring.may_sign(LEVEL, KeyId(5)), Err(Error::KeyState), "retired");
    assert_eq!(ring.confirm(LEVEL, KeyId(6)), Err(Error::KeyState), "twice");
    assert_eq!(KeyRing::open(&mut chip).unwrap().active(LEVEL), KeyId(6));
}

#[test]
fn the_last_id_has_no_next() {
    let mut chip = chip([u16::MAX; 3]);
    let mut ring = KeyRing::open(&mut chip).unwrap();
    assert_eq!(ring.prepare(LEVEL), Err(Error::NumbersExhausted));
    assert_eq!(ring.next(LEVEL), None);
}

#[test]
fn what_is_no_ring_opens_none() {
    let mut chip = Chip::new(96);
    sealstone_mqtt::flash::Store::<_, 9>::format(&mut chip, &[0, 1, 3, 0, 1, 0, 0, 1, 0]).unwrap();
    assert_eq!(KeyRing::open(&mut chip).err(), Some(Error::FlashFailed));
}

/// Ids rise by one at most, and a key that was retired stays so, whatever is cut.
#[test]
fn power_cuts_in_the_middle_of_rotations() {
    for seed in 1..=200 {
        let mut chance = Chance(seed);
        let mut chip = chip([1; 3]);
        let (mut active, mut announced) = ([1u16; 3], [0u16; 3]);
        for _ in 0..60 {
            if chance.below(2) == 0 {
                chip.cut_after(1 + chance.below(150), chance.below(256) as u8, chance.below(2) == 0);
            }
            if let Ok(mut ring) = KeyRing::open(&mut chip) {
                for _ in 0..chance.below(5) {
                    let at = chance.below(3) as usize;
                    let level = Level::ALL[at];
                    let now = ring.active(level).0;
                    assert!(now == active[at] || now == announced[at] && now == active[at] + 1);
                    active[at] = now;
                    let done = match chance.below(3) {
                        0 => ring.prepare(level).map(|_| ()),
                        1 => ring.announced(level).inspect(|()| announced[at] = now + 1),
                        _ => ring.confirm(level, KeyId(now + 1)).inspect(|()| active[at] = now + 1),
                    };
                    if done == Err(Error::FlashFailed) {
                        // Written or not, it may have been announced.
                        announced[at] = announced[at].max(active[at] + 1);
                        break;
                    }
                }
            }
            chip.restore();
        }
        let ring = KeyRing::open(&mut chip).unwrap();
        for (at, level) in Level::ALL.into_iter().enumerate() {
            assert!(ring.active(level).0 >= active[at], "seed {seed}: a retired key is back");
        }
    }
}

#[test]
fn the_operator_gives_newer_keys_and_older_ones_do_not_come_back() {
    let mut chip = Chip::new(256);
    let ids = |a, b, c| [KeyId(a), KeyId(b), KeyId(c)];
    KeyRing::format(&mut chip, ids(4401, 6501, 8701)).unwrap();
    let mut ring = KeyRing::open(&mut chip).unwrap();
    ring.prepare(Level::MlDsa44).unwrap();
    ring.prepare(Level::MlDsa65).unwrap();
    ring.given(ids(4401, 6502, 8701)).unwrap();
    assert!(ring.next(Level::MlDsa44).is_some(), "its level got no other key");
    assert_eq!(ring.next(Level::MlDsa65), None);
    assert!(ring.may_sign(Level::MlDsa65, KeyId(6501)).is_err());
    assert_eq!(ring.given(ids(4402, 6501, 8701)), Err(Error::KeyState));
    let ring = KeyRing::open(&mut chip).unwrap();
    assert_eq!(Level::ALL.map(|level| ring.active(level)), ids(4401, 6502, 8701));
}

#[test]
fn announcements_and_confirmations_come_back_and_in_no_other_length() {
    for level in Level::ALL {
        let said = Announcement { level, key_id: KeyId(0x0102), public_key: public(level).encode() };
        let mut out = vec![0; 3_000];
        let len = said.emit(&mut out).unwrap();
        assert_eq!(Announcement::parse(&out[..len]), Ok(said));
        assert_eq!(out[1..3], [1, 2]);
        assert_eq!(Announcement::parse(&out[..len - 1]), Err(Error::Truncated));
        assert_eq!(Announcement::parse(&out[..len + 1]), Err(Error::TrailingBytes));
        assert_eq!(said.emit(&mut out[..len - 1]), Err(Error::TooLong));
        let short = Announcement { public_key: &said.public_key[1..], ..said };
        assert!(short.emit(&mut out).is_err());
        let answer = Confirmation::of(&said);
        assert_eq!(Confirmation::parse(&answer.emit()), Ok(answer));
        assert_eq!(Confirmation::parse(&answer.emit()[..34]), Err(Error::Truncated));
        assert_eq!(Confirmation::parse(&[&answer.emit()[..], &[0]].concat()), Err(Error::TrailingBytes));
        let mut other = said.public_key.to_vec();
        other[9] ^= 1;
        assert_ne!(Confirmation::of(&Announcement { public_key: &other, ..said }).hash, answer.hash);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..60), first in 0usize..4, len in 0usize..2700) {
        let _ = (Announcement::parse(&bytes), Confirmation::parse(&bytes));
        let mut long = vec![7; len];
        if let Some(byte) = long.first_mut() {
            *byte = [0x44, 0x65, 0x87, 0x4d][first];
        }
        let good = matches!((first, len), (0, 1315) | (1, 1955) | (2, 2595));
        prop_assert_eq!(Announcement::parse(&long).is_ok(), good);
    }
}
