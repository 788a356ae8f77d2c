//! The keys of a device: made from their seeds at the start, and used in the little memory that an STM32F405 has.

use sealstone_mldsa::device::{EncodedSigningKey, KeygenSpace, SignSpace, Small};
use sealstone_mldsa::{Level, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Randomness, Shake256};
use sealstone_mqtt::device::Spaced;
use sealstone_mqtt::form::Covered;
use sealstone_mqtt::level::Need;
use sealstone_mqtt::provision::Provision;
use sealstone_mqtt::sealer::Keys;
use sealstone_mqtt::{Error, KeyId, Signer};

/// Bytes of stack that a signature takes in this build: the workspace, what the engine takes beside it, and the calls on the way there.
pub(crate) const NEED: Need = Need([need::<MlDsa44>(), need::<MlDsa65>(), need::<MlDsa87>()]);

/// Bytes of the frames between the main loop and the engine, rounded up.
const CALLS: usize = 2_048;

const fn need<P: ParameterSet>() -> u32 {
    (SignSpace::<P, Small>::SIZE + SignSpace::<P, Small>::STACK + CALLS) as u32
}

/// The private keys of the three levels, 11488 bytes, and their ids.
pub(crate) struct Three<'a> {
    given: &'a Provision<'a>,
    sk44: [u8; 2560],
    sk65: [u8; 4032],
    sk87: [u8; 4896],
    chance: Chance<'a>,
}

impl<'a> Three<'a> {
    pub(crate) const fn new(given: &'a Provision<'a>, epoch: u32) -> Self {
        let chance = Chance { secret: given.mac_key, epoch, count: 0 };
        Three { given, sk44: [0; 2560], sk65: [0; 4032], sk87: [0; 4896], chance }
    }

    /// Makes the keys of the seeds. Errors: none that can happen: the lengths are those of the levels.
    pub(crate) fn make(&mut self) -> Result<(), Error> {
        let mut pk = [0; 2592];
        let [seed44, seed65, seed87] = self.given.keys.map(|key| key.seed);
        KeygenSpace::<MlDsa44, Small>::new().keygen(seed44, &mut pk[..1312], &mut self.sk44)?;
        KeygenSpace::<MlDsa65, Small>::new().keygen(seed65, &mut pk[..1952], &mut self.sk65)?;
        KeygenSpace::<MlDsa87, Small>::new().keygen(seed87, &mut pk, &mut self.sk87)?;
        Ok(())
    }
}

impl Keys for Three<'_> {
    fn sign(&mut self, level: Level, id: KeyId, covered: &Covered<'_>, seal: &mut [u8]) -> Result<(), Error> {
        if self.given.key(level).id != id {
            return Err(Error::KeyState);
        }
        match level {
            Level::MlDsa44 => sign::<MlDsa44>(&self.sk44, &mut self.chance, covered, seal),
            Level::MlDsa65 => sign::<MlDsa65>(&self.sk65, &mut self.chance, covered, seal),
            Level::MlDsa87 => sign::<MlDsa87>(&self.sk87, &mut self.chance, covered, seal),
        }
    }
}

/// Not inlined, so that the workspace is on the stack only while somebody signs.
#[inline(never)]
fn sign<P: ParameterSet>(
    sk: &[u8],
    chance: &mut Chance<'_>,
    covered: &Covered<'_>,
    seal: &mut [u8],
) -> Result<(), Error> {
    let key = EncodedSigningKey::<P>::decode(sk)?;
    let mut space = SignSpace::<P, Small>::new();
    Spaced { key: &key, space: &mut space, rng: chance }.seal(covered, seal)
}

/// Bytes that nobody can guess who has not the secret, and that never come again: SHAKE256 of secret, epoch and count. The
/// emulated boards have no random number generator; a board that has one feeds it in here too.
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
