//! What a device is told: commands of its commander, each taken once; and the keys that it makes itself when it is told to.

use crate::TAGS;
use crate::flash::{self, Pages, Pair};
use crate::keys::Three;
use crate::readings::Forms;
use crate::told::Plain;
use sealstone_board::line;
use sealstone_mldsa::device::{EncodedVerifyingKey, Small, VerifySpace};
use sealstone_mldsa::{Level, MlDsa44, MlDsa65, MlDsa87, ParameterSet};
use sealstone_mqtt::commander::{Commander, Order, Verifier};
use sealstone_mqtt::device::SpacedVerifier;
use sealstone_mqtt::form::Covered;
use sealstone_mqtt::keyring::KeyRing;
use sealstone_mqtt::level::TopicMap;
use sealstone_mqtt::provision::{CommanderKey, Provision};
use sealstone_mqtt::publisher::{Event, Publisher};
use sealstone_mqtt::rotation::Rotation;
use sealstone_mqtt::sealer::Sealer;
use sealstone_mqtt::{Error, KeyId, Topic, UnixMillis};

/// Bytes for messages that wait: an announcement of the longest key, and readings.
pub(crate) const QUEUE: usize = 5_120;
/// Bytes for what comes: the longest template in an envelope of ML-DSA-87.
pub(crate) const CAME: usize = 6_144;
/// Bytes for what goes: the longest announcement, sealed with ML-DSA-87, which in a user property takes 4/3 of itself.
pub(crate) const FLIGHT: usize = 9_216;
/// Bytes for a template, as long as a page of flash.
pub(crate) const TEMPLATE: usize = 1_024;

/// Everything about commands; nothing where the device was given no commander.
pub(crate) struct Commands<'a> {
    told: Option<Told<'a>>,
}

struct Told<'a> {
    commander: Commander<'a, Key<'a>, Pages>,
    rotation: Rotation<Pages>,
}

type Sealing<'a> = Sealer<'a, Pages, Pages, &'a mut Three, TAGS, Forms>;

impl<'a> Commands<'a> {
    /// Reads flash, and tells the ring which keys the device has.
    pub(crate) fn open(
        given: &Provision<'a>,
        ring: &mut KeyRing<Pages>,
        memory: &'a mut [u8; TEMPLATE],
    ) -> Result<Self, Error> {
        let ids = given.keys.map(|key| key.id);
        let Some(key) = given.commander else {
            return ring.given(ids).map(|()| Commands { told: None });
        };
        let rotation = Rotation::open(flash::open(Pair::Seeds)?, ring, ids)?;
        let pages = [flash::open(Pair::Told)?, flash::open(Pair::Taken)?, flash::open(Pair::Template)?];
        let commander = Commander::open(given.device, key.id, Key(key), pages, memory)?;
        Ok(Commands { told: Some(Told { commander, rotation }) })
    }

    /// The seed of a key that the device made itself.
    pub(crate) fn seed(&self, level: Level, id: KeyId) -> Option<&[u8; 32]> {
        self.told.as_ref()?.rotation.seed(level, id)
    }

    /// Milliseconds between two readings, if somebody said so.
    pub(crate) fn interval_ms(&self) -> Option<u32> {
        self.told.as_ref()?.commander.interval_ms()
    }

    /// Looks at what happened. `noise`: a count that runs fast. Errors: `FlashFailed`; then what came is not acknowledged, and comes again
    /// after the next start.
    pub(crate) fn event(
        &mut self,
        event: &Event<'_>,
        sealer: &mut Sealing<'a>,
        time: UnixMillis,
        now: u64,
        noise: u32,
    ) -> Result<(), Error> {
        let Some(Told { commander, rotation }) = &mut self.told else { return Ok(()) };
        sealer.keys.stir(now << 32 | u64::from(noise));
        match event {
            Event::Connected { session_present: false } => rotation.again(),
            Event::Delivered(ticket) => rotation.delivered(&mut sealer.ring, *ticket, now)?,
            Event::Refused(ticket, _) => rotation.refused(*ticket, now),
            Event::Received(publish, payload) => {
                // The board's clock counts whole seconds: a command that holds from this one on is not early.
                let until = UnixMillis(if time.is_known() { time.0 + 999 } else { 0 });
                let order = commander.take(publish.topic, payload, until);
                let done = order.and_then(|order| obey(&order, rotation, sealer));
                match done {
                    Err(Error::FlashFailed) => return Err(Error::FlashFailed),
                    Err(error) => line!("{{\"event\":\"not taken\",\"error\":\"{}\"}}", error),
                    Ok(()) => {}
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Does what is due: prepares keys that are owed, and announces those that are prepared. Errors: `FlashFailed`.
    pub(crate) fn step(
        &mut self,
        publisher: &mut Publisher<'_, 1>,
        sealer: &mut Sealing<'a>,
        (topic, map): (Topic<'_>, &TopicMap<'_>),
        time: UnixMillis,
        now: u64,
    ) -> Result<(), Error> {
        let Some(Told { commander, rotation }) = &mut self.told else { return Ok(()) };
        while let Some(level) = commander.owed() {
            match rotation.prepare(&mut sealer.ring, level, &mut *sealer.keys) {
                Ok(id) => line!("{{\"event\":\"prepared\",\"level\":\"{:?}\",\"key\":{}}}", level, id.0),
                Err(Error::FlashFailed) => return Err(Error::FlashFailed),
                Err(error) => line!("{{\"event\":\"not prepared\",\"error\":\"{}\"}}", error),
            }
            commander.done(level)?;
        }
        let way = (topic, map.class(topic));
        match rotation.announce(&mut sealer.ring, &mut *sealer.keys, publisher, way, time, now) {
            None => Ok(()),
            Some(Ok((level, ticket))) => {
                line!("{{\"event\":\"announces\",\"level\":\"{:?}\",\"ticket\":{}}}", level, ticket.0);
                Ok(())
            }
            Some(Err(Error::FlashFailed)) => Err(Error::FlashFailed),
            Some(Err(error)) => {
                line!("{{\"event\":\"not announced\",\"error\":\"{}\"}}", error);
                Ok(())
            }
        }
    }
}

/// Does what can be done at once. Everything else is in flash, and done in `step`.
fn obey(order: &Order<'_>, rotation: &mut Rotation<Pages>, sealer: &mut Sealing<'_>) -> Result<(), Error> {
    match order {
        Order::Confirmed(confirmation) => {
            rotation.confirmed(&mut sealer.ring, confirmation, &mut *sealer.keys)?;
            let (level, id) = (confirmation.level, confirmation.key_id);
            let seed = rotation.seed(level, id).ok_or(Error::KeyState)?;
            sealer.keys.make(level, id, seed)?;
            line!("{{\"event\":\"rotated\",\"level\":\"{:?}\",\"key\":{}}}", level, id.0);
        }
        Order::Interval(ms) => line!("{{\"event\":\"told\",\"interval\":{}}}", ms),
        Order::Rotate(level) => line!("{{\"event\":\"told\",\"rotate\":\"{:?}\"}}", level),
        Order::Template(id) => line!("{{\"event\":\"told\",\"template\":{}}}", id),
        // Here an application does what it is for.
        Order::Text(text) => line!("{{\"event\":\"told\",\"text\":\"{}\"}}", Plain(text)),
        _ => {}
    }
    Ok(())
}

/// The commander's key.
struct Key<'a>(CommanderKey<'a>);

impl Verifier for Key<'_> {
    fn level(&self) -> Level {
        self.0.level
    }

    fn verify(&mut self, covered: &Covered<'_>, seal: &[u8]) -> Result<(), sealstone_mldsa::Error> {
        match self.0.level {
            Level::MlDsa44 => verify::<MlDsa44>(self.0.public_key, covered, seal),
            Level::MlDsa65 => verify::<MlDsa65>(self.0.public_key, covered, seal),
            Level::MlDsa87 => verify::<MlDsa87>(self.0.public_key, covered, seal),
        }
    }
}

/// Not inlined, so that the workspace is on the stack only while somebody verifies.
#[inline(never)]
fn verify<P: ParameterSet>(
    pk: &[u8],
    covered: &Covered<'_>,
    seal: &[u8],
) -> Result<(), sealstone_mldsa::Error> {
    let key = EncodedVerifyingKey::<P>::decode(pk)?;
    let mut space = VerifySpace::<P, Small>::new();
    SpacedVerifier { key: &key, space: &mut space }.verify(covered, seal)
}
