//! A device that makes its own keys, and a gateway that confirms them, with power cuts at every byte.

use crate::commander::Shared;
use crate::flash::Chance;
use crate::publisher::{Broker, leaked, seven};
use crate::support::topic;
use sealstone_mldsa::{Level, Randomness, any};
use sealstone_mqtt::Error;
use sealstone_mqtt::KeyId;
use sealstone_mqtt::UnixMillis;
use sealstone_mqtt::keyring::{Announcement, Confirmation, KeyRing, Stage};
use sealstone_mqtt::level::Class;
use sealstone_mqtt::publisher::{Event, Publisher};
use sealstone_mqtt::rotation::{AGAIN_MS, PublicKeys, Rotation};
use std::collections::HashMap;

const PAGE: usize = 512;
const LEVEL: Level = Level::MlDsa44;
const GIVEN: [KeyId; 3] = [KeyId(4401), KeyId(6501), KeyId(8701)];

/// Keys as a device makes them, by chance that repeats itself.
struct Maker(Chance);

impl PublicKeys for Maker {
    fn public_key(&mut self, level: Level, seed: &[u8; 32], public: &mut [u8]) -> Result<(), Error> {
        public.copy_from_slice(any::SigningKey::from_seed(level, seed).verifying_key().encode());
        Ok(())
    }
}

impl Randomness for Maker {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), sealstone_mldsa::Error> {
        bytes.fill_with(|| self.0.below(256) as u8);
        Ok(())
    }
}

fn chips() -> [Shared; 2] {
    let [ring, seeds] = [(); 2].map(|()| Shared::new(PAGE));
    KeyRing::format(ring.clone(), GIVEN).unwrap();
    Rotation::format(seeds.clone()).unwrap();
    [ring, seeds]
}

fn start(
    [ring, seeds]: &[Shared; 2],
    given: [KeyId; 3],
) -> Result<(KeyRing<Shared>, Rotation<Shared>), Error> {
    let mut ring = KeyRing::open(ring.clone())?;
    let rotation = Rotation::open(seeds.clone(), &mut ring, given)?;
    Ok((ring, rotation))
}

fn key() -> (sealstone_mqtt::Topic<'static>, Class) {
    (topic("device/7/critical/key"), Class::Critical)
}

fn publisher() -> Publisher<'static, 1> {
    Publisher::new(seven(), leaked(3_000), leaked(128), leaked(64), [leaked(3_000)])
}

/// Seals nothing: the payload is the envelope.
fn pump(
    publisher: &mut Publisher<'static, 1>,
    broker: &mut Broker,
    now: u64,
    mut told: impl FnMut(Event<'_>),
) {
    for _ in 0..20 {
        while let Some(event) = publisher.poll(now, 0, broker) {
            told(event);
        }
        if let Some(turn) = publisher.turn(now) {
            let len = turn.message().unwrap().payload.len();
            let copy = |message: &sealstone_mqtt::publisher::Waiting<'_>, out: &mut [u8]| {
                out.copy_from_slice(message.payload);
                Ok(len)
            };
            turn.send(len, copy).unwrap();
        }
    }
}

#[test]
fn from_a_command_to_a_key_that_signs() {
    let (chips, mut maker, mut broker) = (chips(), Maker(Chance(1)), Broker::new());
    let mut publisher = publisher();
    let (mut ring, mut rotation) = start(&chips, GIVEN).unwrap();
    pump(&mut publisher, &mut broker, 0, |_| ());
    let time = UnixMillis(1);
    let announce = |rotation: &mut Rotation<_>, ring: &mut _, maker: &mut _, publisher: &mut _, now| {
        rotation.announce(ring, maker, publisher, key(), time, now)
    };
    assert!(announce(&mut rotation, &mut ring, &mut maker, &mut publisher, 0).is_none(), "nothing is due");
    let id = rotation.prepare(&mut ring, LEVEL, &mut maker).unwrap();
    assert_eq!(id, KeyId(4402));
    let seed = *rotation.seed(LEVEL, id).unwrap();
    assert_eq!(rotation.prepare(&mut ring, LEVEL, &mut maker), Ok(id), "again");
    assert_eq!(rotation.seed(LEVEL, id), Some(&seed), "it is the same key");
    let (level, ticket) = announce(&mut rotation, &mut ring, &mut maker, &mut publisher, 0).unwrap().unwrap();
    assert_eq!(level, LEVEL);
    assert!(announce(&mut rotation, &mut ring, &mut maker, &mut publisher, 0).is_none(), "one at a time");
    pump(&mut publisher, &mut broker, 0, |event| assert_eq!(event, Event::Delivered(ticket)));
    rotation.delivered(&mut ring, ticket, 0).unwrap();
    assert_eq!(ring.next(LEVEL), Some((id, Stage::Announced)));
    let announced = broker.order.last().unwrap().clone();
    let announcement = Announcement::parse(&announced).unwrap();
    let right = Confirmation::of(&announcement);
    // Nobody answers for an hour.
    assert!(announce(&mut rotation, &mut ring, &mut maker, &mut publisher, AGAIN_MS - 1).is_none());
    let (_, again) =
        announce(&mut rotation, &mut ring, &mut maker, &mut publisher, AGAIN_MS).unwrap().unwrap();
    pump(&mut publisher, &mut broker, AGAIN_MS, |_| ());
    rotation.delivered(&mut ring, again, AGAIN_MS).unwrap();
    assert_eq!(broker.order.last(), Some(&announced), "the same key");
    for wrong in [
        Confirmation { hash: [0; 32], ..right },
        Confirmation { key_id: KeyId(4403), ..right },
        Confirmation { key_id: KeyId(4401), ..right },
        Confirmation { level: Level::MlDsa65, ..right },
    ] {
        assert_eq!(rotation.confirmed(&mut ring, &wrong, &mut maker), Err(Error::KeyState), "{wrong:?}");
    }
    assert_eq!(ring.active(LEVEL), KeyId(4401));
    rotation.confirmed(&mut ring, &right, &mut maker).unwrap();
    assert_eq!(ring.active(LEVEL), id);
    assert_eq!(rotation.confirmed(&mut ring, &right, &mut maker), Err(Error::KeyState), "it is over");
    assert!(!format!("{rotation:?}").contains(&format!("{}, {}", seed[0], seed[1])), "no seed is shown");
    // The next one leaves nothing of the seed before it, and what was given is not asked for any more.
    let (mut ring, mut rotation) = start(&chips, GIVEN).unwrap();
    assert_eq!(rotation.seed(LEVEL, id), Some(&seed));
    let next = rotation.prepare(&mut ring, LEVEL, &mut maker).unwrap();
    let mut public = [0; 1312];
    let next_seed = *rotation.seed(LEVEL, next).unwrap();
    maker.public_key(LEVEL, &next_seed, &mut public).unwrap();
    let of = Announcement { level: LEVEL, key_id: next, public_key: &public };
    rotation.confirmed(&mut ring, &Confirmation::of(&of), &mut maker).unwrap();
    let left = chips[1].0.borrow().bytes.clone();
    assert!(left.windows(32).any(|bytes| bytes == next_seed) && !left.windows(32).any(|bytes| bytes == seed));
}

#[test]
fn newer_keys_that_were_given_take_over_and_older_ones_do_not() {
    let (chips, mut maker) = (chips(), Maker(Chance(2)));
    let (mut ring, mut rotation) = start(&chips, GIVEN).unwrap();
    let id = rotation.prepare(&mut ring, LEVEL, &mut maker).unwrap();
    // The operator gives the device a key with that id.
    let newer = [id, GIVEN[1], GIVEN[2]];
    let (ring, rotation) = start(&chips, newer).unwrap();
    assert_eq!((ring.active(LEVEL), ring.next(LEVEL)), (id, None));
    assert_eq!(rotation.seed(LEVEL, id), None, "what was given signs");
    assert_eq!(start(&chips, GIVEN).map(|_| ()), Err(Error::KeyState), "and no older one comes back");
}

/// Cut at any byte of flash: a key that was announced is the one that signs once it is confirmed, and no two keys have one id.
#[test]
fn a_rotation_survives_every_cut() {
    let mut all_cuts = 0;
    for seed in 1..=25 {
        let (mut chance, chips) = (Chance(seed), chips());
        let mut broker = Broker::new();
        let mut announced: HashMap<u16, Vec<u8>> = HashMap::new();
        let mut confirmed = 4401;
        let (mut now, mut cuts, mut lives) = (0, 0, 0);
        while confirmed < 4404 {
            lives += 1;
            assert!(lives < 3_000, "seed {seed}: {confirmed} after {cuts} cuts");
            for chip in &chips {
                let steps = 1 + chance.below(1_500);
                chip.0.borrow_mut().cut_after(steps, chance.below(256) as u8, chance.below(2) == 0);
            }
            let mut publisher = publisher();
            let mut maker = Maker(Chance(chance.below(1 << 40) + 1));
            let mut life = || -> Result<(), Error> {
                let (mut ring, mut rotation) = start(&chips, GIVEN)?;
                for _ in 0..3 {
                    now += 20_000;
                    let id = ring.active(LEVEL);
                    assert!(id.0 >= confirmed, "seed {seed}: back to {} from {confirmed}", id.0);
                    if id.0 > 4401 {
                        let public = any::SigningKey::from_seed(LEVEL, rotation.seed(LEVEL, id).unwrap());
                        let public = public.verifying_key().encode().to_vec();
                        assert_eq!(Some(&public), announced.get(&id.0), "seed {seed}: another key signs");
                        confirmed = id.0;
                    }
                    rotation.prepare(&mut ring, LEVEL, &mut maker)?;
                    let time = UnixMillis(1);
                    if let Some(said) =
                        rotation.announce(&mut ring, &mut maker, &mut publisher, key(), time, now)
                    {
                        said?;
                    }
                    let mut delivered = Vec::new();
                    pump(&mut publisher, &mut broker, now, |event| {
                        if let Event::Delivered(ticket) = event {
                            delivered.push(ticket);
                        }
                    });
                    for payload in broker.order.drain(..) {
                        let said = Announcement::parse(&payload).unwrap();
                        let before = announced.insert(said.key_id.0, said.public_key.to_vec());
                        assert!(
                            before.is_none_or(|before| before == said.public_key),
                            "seed {seed}: two keys, one id"
                        );
                    }
                    // The acknowledgement may be later than the answer.
                    let early = chance.below(2) == 0;
                    for ticket in delivered.iter().filter(|_| !early) {
                        rotation.delivered(&mut ring, *ticket, now)?;
                    }
                    if let Some((key_id, _)) = ring.next(LEVEL)
                        && let Some(public_key) = announced.get(&key_id.0)
                        && chance.below(3) > 0
                    {
                        let of = Announcement { level: LEVEL, key_id, public_key };
                        rotation.confirmed(&mut ring, &Confirmation::of(&of), &mut maker)?;
                    }
                    for ticket in delivered.iter().filter(|_| early) {
                        rotation.delivered(&mut ring, *ticket, now)?;
                    }
                }
                Ok(())
            };
            match life() {
                Ok(()) | Err(Error::FlashFailed) => {}
                Err(error) => panic!("seed {seed}: {error}"),
            }
            cuts += chips.iter().filter(|chip| chip.0.borrow_mut().restore()).count();
        }
        all_cuts += cuts;
    }
    assert!(all_cuts > 100, "{all_cuts} cuts");
}
