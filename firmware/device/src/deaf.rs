//! A device that hears nobody: the same door as `commands.rs`, and nothing behind it.

use crate::TAGS;
use crate::flash::Pages;
use crate::keys::Three;
use crate::readings::Forms;
use sealstone_board::line;
use sealstone_mldsa::Level;
use sealstone_mqtt::keyring::KeyRing;
use sealstone_mqtt::level::TopicMap;
use sealstone_mqtt::provision::Provision;
use sealstone_mqtt::publisher::{Event, Publisher};
use sealstone_mqtt::sealer::Sealer;
use sealstone_mqtt::{Error, KeyId, Topic, UnixMillis};

pub(crate) const QUEUE: usize = if cfg!(feature = "compact") { 3_072 } else { 2_048 };
pub(crate) const CAME: usize = 1_024;
pub(crate) const FLIGHT: usize = if cfg!(feature = "compact") { 7_424 } else { 5_120 };
pub(crate) const TEMPLATE: usize = 0;

pub(crate) struct Commands;

type Sealing<'a> = Sealer<'a, Pages, Pages, &'a mut Three, TAGS, Forms>;

impl Commands {
    pub(crate) fn open(
        given: &Provision<'_>,
        ring: &mut KeyRing<Pages>,
        _: &mut [u8; TEMPLATE],
    ) -> Result<Self, Error> {
        if given.commander.is_some() {
            line!("{{\"event\":\"deaf\",\"why\":\"built without commands\"}}");
        }
        ring.given(given.keys.map(|key| key.id)).map(|()| Commands)
    }

    pub(crate) fn seed(&self, _: Level, _: KeyId) -> Option<&[u8; 32]> {
        None
    }

    pub(crate) fn interval_ms(&self) -> Option<u32> {
        None
    }

    pub(crate) fn event(
        &mut self,
        _: &Event<'_>,
        _: &mut Sealing<'_>,
        _: UnixMillis,
        _: u64,
        _: u32,
    ) -> Result<(), Error> {
        Ok(())
    }

    pub(crate) fn step(
        &mut self,
        _: &mut Publisher<'_, 1>,
        _: &mut Sealing<'_>,
        _: (Topic<'_>, &TopicMap<'_>),
        _: UnixMillis,
        _: u64,
    ) -> Result<(), Error> {
        Ok(())
    }
}
