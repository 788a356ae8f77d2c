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
pub(crate) struct Three {
    ids: [KeyId; 3],
    sk44: [u8; 2560],
    sk65: [u8; 4032],
    sk87: [u8; 4896],
    chance: Chance,
}

impl Three {
    pub(crate) fn new(given: &Provision<'_>, epoch: u32) -> Self {
        let chance = Chance::new(given, epoch);
        Three { ids: [KeyId(0); 3], sk44: [0; 2560], sk65: [0; 4032], sk87: [0; 4896], chance }
    }

    /// Makes the key of a seed: from here on it signs at its level. Errors: none that can happen: the lengths are those of the levels.
    pub(crate) fn make(&mut self, level: Level, id: KeyId, seed: &[u8; 32]) -> Result<(), Error> {
        let mut pk = [0; 2592];
        match level {
            Level::MlDsa44 => keygen::<MlDsa44>(seed, &mut pk[..1312], &mut self.sk44)?,
            Level::MlDsa65 => keygen::<MlDsa65>(seed, &mut pk[..1952], &mut self.sk65)?,
            Level::MlDsa87 => keygen::<MlDsa87>(seed, &mut pk, &mut self.sk87)?,
        }
        self.ids[level as usize] = id;
        Ok(())
    }

    /// Something that nobody can foretell, however little of it, goes into the chance to come.
    #[cfg(feature = "commands")]
    pub(crate) fn stir(&mut self, noise: u64) {
        self.chance.stir(noise);
    }
}

impl Keys for Three {
    fn sign(&mut self, level: Level, id: KeyId, covered: &Covered<'_>, seal: &mut [u8]) -> Result<(), Error> {
        if self.ids[level as usize] != id {
            return Err(Error::KeyState);
        }
        match level {
            Level::MlDsa44 => sign::<MlDsa44>(&self.sk44, &mut self.chance, covered, seal),
            Level::MlDsa65 => sign::<MlDsa65>(&self.sk65, &mut self.chance, covered, seal),
            Level::MlDsa87 => sign::<MlDsa87>(&self.sk87, &mut self.chance, covered, seal),
        }
    }
}

/// Not inlined, so that the workspace is on the stack only while a key is made.
#[inline(never)]
fn keygen<P: ParameterSet>(seed: &[u8; 32], pk: &mut [u8], sk: &mut [u8]) -> Result<(), Error> {
    Ok(KeygenSpace::<P, Small>::new().keygen(seed, pk, sk)?)
}

/// Not inlined, so that the workspace is on the stack only while somebody signs.
#[inline(never)]
fn sign<P: ParameterSet>(
    sk: &[u8],
    chance: &mut Chance,
    covered: &Covered<'_>,
    seal: &mut [u8],
) -> Result<(), Error> {
    let key = EncodedSigningKey::<P>::decode(sk)?;
    let mut space = SignSpace::<P, Small>::new();
    Spaced { key: &key, space: &mut space, rng: chance }.seal(covered, seal)
}

/// A key that the device makes itself.
#[cfg(feature = "commands")]
mod own {
    use super::{Error, Level, MlDsa44, MlDsa65, MlDsa87, Randomness, Three, keygen};
    use core::hint::black_box;
    use sealstone_mqtt::rotation::PublicKeys;

    impl PublicKeys for Three {
        /// Not inlined, as above. The private key, which comes along, is wiped.
        #[inline(never)]
        fn public_key(&mut self, level: Level, seed: &[u8; 32], public: &mut [u8]) -> Result<(), Error> {
            let mut sk = [0; 4896];
            let made = match level {
                Level::MlDsa44 => keygen::<MlDsa44>(seed, public, &mut sk[..2560]),
                Level::MlDsa65 => keygen::<MlDsa65>(seed, public, &mut sk[..4032]),
                Level::MlDsa87 => keygen::<MlDsa87>(seed, public, &mut sk),
            };
            black_box(&mut sk).fill(0);
            black_box(&sk);
            made
        }
    }

    impl Randomness for Three {
        fn fill(&mut self, bytes: &mut [u8]) -> Result<(), sealstone_mldsa::Error> {
            self.chance.fill(bytes)
        }
    }
}

/// Bytes that nobody can guess who does not know everything that went in, and that never come again. The emulated boards have no random
/// number generator; a board that has one feeds it in here (`stir`).
///
/// At a start it is SHAKE256 of the seeds that the device was given, its key for tags and the epoch, which is another one at each start. So it
/// hides what it gives from everybody who has not read the device, the gateway too, which knows the key for tags. Whoever has read the device
/// knows all of this: against him stands only the noise (see README.md, "Chance").
struct Chance {
    state: [u8; 32],
}

impl Chance {
    fn new(given: &Provision<'_>, epoch: u32) -> Self {
        let seeds = given.keys.iter().map(|key| key.seed.as_slice());
        let epoch = epoch.to_be_bytes();
        let pieces = [b"sealstone-device-chance".as_slice()].into_iter().chain(seeds);
        Chance { state: Shake256::of(pieces.chain([given.mac_key.as_slice(), &epoch])) }
    }

    #[cfg(feature = "commands")]
    fn stir(&mut self, noise: u64) {
        self.state = Shake256::of([b"stir".as_slice(), &self.state, &noise.to_be_bytes()]);
    }
}

impl Randomness for Chance {
    /// What was given out cannot be told from the state that is left.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), sealstone_mldsa::Error> {
        for piece in bytes.chunks_mut(32) {
            let out: [u8; 32] = Shake256::of([b"give".as_slice(), &self.state]);
            piece.copy_from_slice(&out[..piece.len()]);
            self.state = Shake256::of([b"next".as_slice(), &self.state]);
        }
        Ok(())
    }
}
