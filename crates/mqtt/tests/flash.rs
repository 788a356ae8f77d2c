//! Power cuts: after every step of every write and erasure, and at every byte. No number twice, no value but the old or the new.

use sealstone_mqtt::Error;
use sealstone_mqtt::flash::{Flash, Store};
use sealstone_mqtt::number::Numbers;
use std::cell::RefCell;
use std::collections::HashSet;

const PAGE: usize = 80; // five records of 16 bytes

/// Two pages whose power ends after a number of steps: bytes that are written, or erased. What the byte at the cut holds is torn: some
/// of its bits are done. A chip that erases does so in an order of its own, here backwards or forwards.
#[derive(Clone)]
pub(crate) struct Chip {
    pub(crate) bytes: Vec<u8>,
    page: usize,
    left: Option<u64>,
    torn: u8,
    backwards: bool,
    pub(crate) erasures: u64,
    /// Places that keep their ones.
    stuck: HashSet<usize>,
}

impl Chip {
    pub(crate) fn new(page: usize) -> Self {
        Chip {
            bytes: vec![0xff; 2 * page],
            page,
            left: None,
            torn: 0,
            backwards: false,
            erasures: 0,
            stuck: HashSet::new(),
        }
    }

    /// The power ends after so many steps.
    pub(crate) fn cut_after(&mut self, steps: u64, torn: u8, backwards: bool) {
        (self.left, self.torn, self.backwards) = (Some(steps), torn, backwards);
    }

    /// The power is back. Says whether it had been cut.
    pub(crate) fn restore(&mut self) -> bool {
        self.left.take() == Some(0)
    }

    /// One step. Errors: the power is gone; then the mask of the bits that are done.
    fn step(&mut self) -> Result<(), u8> {
        match &mut self.left {
            None => Ok(()),
            Some(0) => Err(0),
            Some(left) => {
                *left -= 1;
                if *left == 0 { Err(self.torn) } else { Ok(()) }
            }
        }
    }
}

impl Flash for Chip {
    fn page_len(&self) -> usize {
        self.page
    }

    fn read(&mut self, page: usize, at: usize, out: &mut [u8]) -> Result<(), Error> {
        assert!(at + out.len() <= self.page);
        out.copy_from_slice(&self.bytes[page * self.page + at..][..out.len()]);
        Ok(())
    }

    fn write(&mut self, page: usize, at: usize, bytes: &[u8]) -> Result<(), Error> {
        assert!(at.is_multiple_of(8) && bytes.len().is_multiple_of(8) && at + bytes.len() <= self.page);
        for (i, byte) in bytes.iter().enumerate() {
            let place = page * self.page + at + i;
            let done = self.step();
            assert!(done == Err(0) || self.bytes[place] == 0xff, "written twice at {place}");
            match done {
                Ok(()) if self.stuck.contains(&place) => {}
                Ok(()) => self.bytes[place] = *byte,
                Err(mask) => {
                    self.bytes[place] &= *byte | !mask;
                    return Err(Error::FlashFailed);
                }
            }
        }
        Ok(())
    }

    fn erase(&mut self, page: usize) -> Result<(), Error> {
        self.erasures += 1;
        for i in 0..self.page {
            let place = page * self.page + if self.backwards { self.page - 1 - i } else { i };
            match self.step() {
                Ok(()) => self.bytes[place] = 0xff,
                Err(mask) => {
                    self.bytes[place] |= mask;
                    return Err(Error::FlashFailed);
                }
            }
        }
        Ok(())
    }
}

/// Chance that repeats itself (xorshift64*).
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n
    }
}

/// Starts on a chip and takes numbers until the power is gone or there are enough.
fn life(chip: &mut Chip, take: u32, given: &mut HashSet<(u32, u32)>) {
    if let Ok(mut numbers) = Numbers::start(&mut *chip) {
        for _ in 0..take {
            let Ok(number) = numbers.take() else { break };
            assert!(given.insert((number.epoch, number.sequence)), "{number:?} twice");
        }
    }
}

#[test]
fn the_power_is_cut_after_every_step() {
    // A chip in each state that its log goes through: a cut at each step of what comes next, at each tearing, and again.
    let mut begun = Chip::new(PAGE);
    Numbers::format(&mut begun, 0).unwrap();
    let mut cuts = 0;
    for _ in 0..12 {
        for steps in 1.. {
            let mut whole = false;
            for torn in [0, 0x01, 0x0f, 0xa5, 0xff] {
                for backwards in [false, true] {
                    let mut chip = begun.clone();
                    let mut given = HashSet::new();
                    // What was given out before, in this life and all before it.
                    let last = Numbers::start(&mut chip.clone()).unwrap().epoch() - 1;
                    given.extend((0..=last).map(|epoch| (epoch, 0)));
                    chip.cut_after(steps, torn, backwards);
                    life(&mut chip, 1, &mut given);
                    whole = !chip.restore();
                    cuts += 1;
                    // Cut once more in the same place, then three whole lives.
                    chip.cut_after(steps, torn, !backwards);
                    life(&mut chip, 1, &mut given);
                    chip.restore();
                    for _ in 0..3 {
                        let before = given.len();
                        life(&mut chip, 1, &mut given);
                        assert_eq!(given.len(), before + 1, "a whole life gives a number");
                    }
                }
            }
            if whole {
                break;
            }
        }
        Numbers::start(&mut begun).unwrap();
    }
    assert!(cuts > 2_000, "{cuts} cuts");
}

#[test]
fn ten_thousand_lives_cut_at_random() {
    let mut chance = Chance(0x5ea1);
    for _ in 0..10 {
        let mut chip = Chip::new(PAGE);
        Numbers::format(&mut chip, 0).unwrap();
        let mut given = HashSet::new();
        for _ in 0..1_000 {
            if chance.below(4) > 0 {
                chip.cut_after(1 + chance.below(120), chance.below(256) as u8, chance.below(2) == 0);
            }
            life(&mut chip, chance.below(5) as u32, &mut given);
            chip.restore();
        }
        assert!(given.len() > 200);
    }
}

#[test]
fn a_value_is_the_old_or_the_new_one() {
    let mut chance = Chance(0xf1a5);
    for _ in 0..20 {
        let mut chip = Chip::new(128);
        Store::<_, 20>::format(&mut chip, &[0; 20]).unwrap();
        let mut value = [0; 20];
        for round in 1..300u32 {
            let mut store = Store::<_, 20>::open(&mut chip).unwrap();
            assert_eq!(store.value(), &value);
            let mut new = [round as u8; 20];
            new[..4].copy_from_slice(&round.to_be_bytes());
            chip.cut_after(1 + chance.below(200), chance.below(256) as u8, round % 2 == 0);
            store = Store::<_, 20>::open(&mut chip).unwrap();
            let wrote = store.write(&new).is_ok();
            let cut = chip.restore();
            assert!(wrote || cut);
            let held = *Store::<_, 20>::open(&mut chip).unwrap().value();
            assert!(held == new || !wrote && held == value);
            value = held;
        }
    }
}

#[test]
fn pages_without_a_value_open_nothing() {
    for byte in [0xff, 0x00, 0x5a] {
        let mut chip = Chip::new(PAGE);
        chip.bytes.fill(byte);
        assert_eq!(Numbers::start(&mut chip).err(), Some(Error::FlashFailed));
    }
    // A whole record with one bit changed is none.
    for bit in 0..128 {
        let mut chip = Chip::new(PAGE);
        Numbers::format(&mut chip, 7).unwrap();
        chip.bytes[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(Numbers::start(&mut chip).err(), Some(Error::FlashFailed));
    }
}

#[test]
fn the_end_of_the_sequence_begins_an_epoch() {
    let mut chip = Chip::new(PAGE);
    Numbers::format(&mut chip, 41).unwrap();
    let mut numbers = Numbers::start(&mut chip).unwrap();
    numbers.skip_to(u32::MAX);
    numbers.skip_to(3); // never back
    let mut take = || numbers.take().map(|number| (number.epoch, number.sequence));
    assert_eq!([take(), take(), take()], [Ok((42, u32::MAX)), Ok((43, 0)), Ok((43, 1))]);
    assert_eq!(Numbers::start(&mut chip).unwrap().epoch(), 44, "the new epoch was in flash");
}

#[test]
fn the_end_of_all_numbers_is_told() {
    let mut chip = Chip::new(PAGE);
    Numbers::format(&mut chip, u32::MAX - 1).unwrap();
    let mut numbers = Numbers::start(&mut chip).unwrap();
    numbers.skip_to(u32::MAX);
    assert!(numbers.take().is_ok());
    assert_eq!(numbers.take(), Err(Error::NumbersExhausted));
    assert_eq!(numbers.take(), Err(Error::NumbersExhausted));
    assert_eq!(Numbers::start(&mut chip).err(), Some(Error::NumbersExhausted));
}

#[test]
fn places_that_do_not_take_what_is_written_are_passed_over_and_then_it_is_told() {
    let mut begun = Chip::new(PAGE);
    Numbers::format(&mut begun, 0).unwrap();
    // The record of epoch 0 is in the first 16 bytes; two bad places behind it, or nothing but bad ones.
    for (stuck, epoch) in [(16..48, Ok(1)), (16..2 * PAGE, Err(Error::FlashFailed))] {
        let mut chip = begun.clone();
        chip.stuck = stuck.collect();
        assert_eq!(Numbers::start(&mut chip).map(|numbers| numbers.epoch()), epoch);
    }
}

/// The same chip in two hands.
struct Shared<'a>(&'a RefCell<Chip>);

impl Flash for Shared<'_> {
    fn page_len(&self) -> usize {
        self.0.borrow().page_len()
    }
    fn read(&mut self, page: usize, at: usize, out: &mut [u8]) -> Result<(), Error> {
        self.0.borrow_mut().read(page, at, out)
    }
    fn write(&mut self, page: usize, at: usize, bytes: &[u8]) -> Result<(), Error> {
        self.0.borrow_mut().write(page, at, bytes)
    }
    fn erase(&mut self, page: usize) -> Result<(), Error> {
        self.0.borrow_mut().erase(page)
    }
}

/// Nobody knows what a failed write left, so nothing is written on top of it before somebody has looked.
#[test]
fn a_store_whose_write_failed_stays_closed() {
    let chip = RefCell::new(Chip::new(PAGE));
    let mut store = Store::<_, 4>::format(Shared(&chip), &[1; 4]).unwrap();
    chip.borrow_mut().cut_after(3, 0, false);
    assert_eq!(store.write(&[2; 4]), Err(Error::FlashFailed));
    assert!(chip.borrow_mut().restore());
    assert_eq!(store.write(&[3; 4]), Err(Error::FlashFailed), "the chip would take it");
    assert_eq!(Store::<_, 4>::open(Shared(&chip)).unwrap().value(), &[1; 4]);
}

#[test]
fn the_wear_is_as_stated() {
    let mut chip = Chip::new(1024);
    Numbers::format(&mut chip, 0).unwrap();
    let before = chip.erasures;
    for _ in 0..64 * 10 {
        Numbers::start(&mut chip).unwrap();
    }
    assert_eq!(chip.erasures - before, 10, "pages of 64 records: an erasure in 64 starts");
}
