//! The keys of a device, made from their seeds when they are needed.

use sealstone_mldsa::{Level, Randomness, Shake256, any};
use sealstone_mqtt::form::Covered;
use sealstone_mqtt::level::Need;
use sealstone_mqtt::provision::Provision;
use sealstone_mqtt::sealer::Keys;
use sealstone_mqtt::{Error, KeyId, Keyed, Signer};

/// Bytes of stack that a signature takes in this build.
pub(crate) const NEED: Need = Need([100_000, 150_000, 220_000]);

/// Seeds and ids of the first keys.
pub(crate) struct Seeds<'a> {
    given: &'a Provision<'a>,
    chance: Chance<'a>,
}

impl<'a> Seeds<'a> {
    pub(crate) fn new(given: &'a Provision<'a>, epoch: u32) -> Self {
        Seeds { given, chance: Chance { secret: given.mac_key, epoch, count: 0 } }
    }
}

impl Keys for Seeds<'_> {
    fn sign(&mut self, level: Level, id: KeyId, covered: &Covered<'_>, seal: &mut [u8]) -> Result<(), Error> {
        if self.given.key_ids[level as usize] != id {
            return Err(Error::KeyState);
        }
        let key = any::SigningKey::from_seed(level, self.given.seeds[level as usize]);
        Keyed::new(&key.expand(), &mut self.chance).seal(covered, seal)
    }
}

/// Bytes that nobody can guess who has not the secret, and that never come again: SHAKE256 of secret, epoch and count. The emulated boards have
/// no random number generator; a board that has one feeds it in here too.
struct Chance<'a> {
    secret: &'a [u8; 32],
    epoch: u32,
    count: u64,
}

impl Randomness for Chance<'_> {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), sealstone_mldsa::Error> {
        for piece in bytes.chunks_mut(32) {
            self.count += 1;
            let hash: [u8; 32] = Shake256::new()
                .and(b"sealstone-device-chance")
                .and(self.secret)
                .and(&self.epoch.to_be_bytes())
                .and(&self.count.to_be_bytes())
                .finish();
            piece.copy_from_slice(&hash[..piece.len()]);
        }
        Ok(())
    }
}
