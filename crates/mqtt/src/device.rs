//! Signing and verifying in a microcontroller's memory: [`sealstone_mldsa::device`] behind [`Signer`] and [`Verifier`].
//!
//! ```
//! use sealstone_mldsa::{MlDsa44, OsRandom, device::{EncodedSigningKey, KeygenSpace, SignSpace, Small}};
//! use sealstone_mqtt::{Form, KeyId, Message, Number, Topic, device::Spaced, seal};
//!
//! # fn main() -> Result<(), sealstone_mqtt::Error> {
//! let (mut pk, mut sk) = ([0; 1312], [0; 2560]);
//! KeygenSpace::<MlDsa44, Small>::new().generate(&mut OsRandom, &mut pk, &mut sk)?;
//!
//! let key = EncodedSigningKey::<MlDsa44>::decode(&sk)?;
//! let mut space = SignSpace::<MlDsa44, Small>::new(); // 4160 bytes
//! let message = Message {
//!     key_id: KeyId(1),
//!     number: Some(Number { epoch: 1, sequence: 0 }),
//!     ..Message::new(Topic::new("device/7/telemetry/temp")?, b"21.5")
//! };
//! let mut wire = [0; 2600];
//! let mut signer = Spaced { key: &key, space: &mut space, rng: &mut OsRandom };
//! seal::seal(Form::V1, &message, &mut signer, &mut wire)?;
//! # Ok(())
//! # }
//! ```

use crate::commander::Verifier;
use crate::error::Error;
use crate::form::{By, Covered};
use crate::seal::{Signer, mu};
use sealstone_mldsa::device::{EncodedSigningKey, EncodedVerifyingKey, Profile, SignSpace, VerifySpace};
use sealstone_mldsa::{Level, ParameterSet, Randomness};

/// A private key as bytes, the memory to sign in, and a source of randomness: every signature is hedged (FIPS 204, 3.4).
pub struct Spaced<'a, P: ParameterSet, M: Profile, R> {
    /// The key, where it is.
    pub key: &'a EncodedSigningKey<'a, P>,
    /// The memory.
    pub space: &'a mut SignSpace<P, M>,
    /// Where hedging comes from.
    pub rng: &'a mut R,
}

impl<P: ParameterSet, M: Profile, R: Randomness> Signer for Spaced<'_, P, M, R> {
    fn by(&self) -> By {
        By::Signature(P::LEVEL)
    }

    fn seal(&mut self, covered: &Covered<'_>, seal: &mut [u8]) -> Result<(), Error> {
        let mu = mu(covered, |ctx| self.key.message(ctx));
        Ok(self.space.sign_mu(self.key, self.rng, &mu, seal)?)
    }
}

/// A public key as bytes, and the memory to verify in: 1 792 bytes with the profile Small.
pub struct SpacedVerifier<'a, P: ParameterSet, M: Profile> {
    /// The key, where it is.
    pub key: &'a EncodedVerifyingKey<'a, P>,
    /// The memory.
    pub space: &'a mut VerifySpace<P, M>,
}

impl<P: ParameterSet, M: Profile> Verifier for SpacedVerifier<'_, P, M> {
    fn level(&self) -> Level {
        P::LEVEL
    }

    fn verify(&mut self, covered: &Covered<'_>, seal: &[u8]) -> Result<(), sealstone_mldsa::Error> {
        let mu = mu(covered, |context| self.key.message(context));
        self.space.verify_mu(self.key, &mu, seal)
    }
}
