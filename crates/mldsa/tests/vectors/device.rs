//! The engine in a small memory, with each profile, behind the door of bytes.

use std::marker::PhantomData;

use sealstone_mldsa::device::{
    EncodedSigningKey, EncodedVerifyingKey, KeygenSpace, Profile, SignSpace, VerifySpace,
};
use sealstone_mldsa::{
    Context, Error, ExpandedSigningKey, Level, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet,
};

use super::oracle;
use super::subject::{Fixed, Input, Secret, Subject, Trouble, whole_mu};

/// The engine in a small memory. Expanded private keys are checked first on the host, as the documentation asks.
#[derive(Clone, Copy, Debug)]
pub struct Device<M>(pub PhantomData<M>);

/// The same at one level.
struct At<P, M>(PhantomData<(P, M)>);

/// `at_level!(level, call(arguments))`: the call at that level.
macro_rules! at_level {
    ($level:expr, $call:ident($($arg:expr),*)) => {
        match $level {
            Level::MlDsa44 => At::<MlDsa44, M>::$call($($arg),*),
            Level::MlDsa65 => At::<MlDsa65, M>::$call($($arg),*),
            Level::MlDsa87 => At::<MlDsa87, M>::$call($($arg),*),
        }
    };
}

impl<M: Profile> Subject for Device<M> {
    fn name(&self) -> String {
        format!("sealstone in a small memory, {:?}", SignSpace::<MlDsa44, M>::new())
    }

    fn keygen(&self, level: Level, seed: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Trouble> {
        at_level!(level, keygen(seed))
    }

    fn public_of(&self, level: Level, expanded: &[u8]) -> Result<Vec<u8>, Trouble> {
        at_level!(level, public_of(expanded))
    }

    fn sign(
        &self,
        level: Level,
        secret: Secret<'_>,
        input: Input<'_>,
        rnd: &[u8; 32],
    ) -> Result<Vec<u8>, Trouble> {
        at_level!(level, sign(secret, input, rnd))
    }

    fn verify(&self, level: Level, public: &[u8], input: Input<'_>, signature: &[u8]) -> Result<(), Trouble> {
        at_level!(level, verify(public, input, signature))
    }

    fn round(&self, level: Level, seed: &[u8; 32]) -> Result<(Vec<u8>, Vec<u8>), Trouble> {
        let (public, expanded) = self.keygen(level, seed)?;
        let nothing = Input::Pure { context: &[], message: &[] };
        let signature = self.sign(level, Secret::Expanded(&expanded), nothing, &[0; 32])?;
        self.verify(level, &public, nothing, &signature)?;
        Ok((public, signature))
    }

    fn mu(&self, level: Level, public: &[u8], input: Input<'_>) -> Result<[u8; 64], Trouble> {
        at_level!(level, mu_of_public(public, input))
    }

    fn field_lines(&self, _: u32) -> Result<[[i32; 12]; 256], Trouble> {
        Err(Trouble::NoDoor)
    }
}

impl<P: ParameterSet, M: Profile> At<P, M> {
    fn keygen(seed: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Trouble> {
        let (mut pk, mut sk) = (vec![0; P::PK_LEN], vec![0; P::SK_LEN]);
        let wrong = Error::WrongLength { expected: 32, found: seed.len() };
        let seed = seed.try_into().map_err(|_| wrong)?;
        KeygenSpace::<P, M>::new().keygen(seed, &mut pk, &mut sk)?;
        Ok((pk, sk))
    }

    fn public_of(expanded: &[u8]) -> Result<Vec<u8>, Trouble> {
        let host = Box::new(ExpandedSigningKey::<P>::decode(expanded)?);
        EncodedSigningKey::<P>::decode(expanded)?;
        Ok(host.verifying_key().encode().to_vec())
    }

    fn sign(secret: Secret<'_>, input: Input<'_>, rnd: &[u8; 32]) -> Result<Vec<u8>, Trouble> {
        let sk = match secret {
            Secret::Seed(seed) => Self::keygen(seed)?.1,
            Secret::Expanded(bytes) => bytes.to_vec(),
        };
        Self::public_of(&sk)?;
        let key = EncodedSigningKey::<P>::decode(&sk)?;
        let mut space = Box::new(SignSpace::<P, M>::new());
        let mut signature = vec![0; P::SIG_LEN];
        match input {
            Input::Pure { context, message } => {
                space.sign(&key, &mut Fixed(*rnd), Context::new(context)?, message, &mut signature)?;
            }
            Input::PreHash { context, hash, message } => {
                let mu = key.prehashed(Context::new(context)?, hash, &oracle::digest(hash, message))?;
                space.sign_mu(&key, &mut Fixed(*rnd), &mu, &mut signature)?;
            }
            Input::Internal { formatted } => {
                let mu = Mu::from_bytes(oracle::shake256(&[&sk[64..128], formatted]));
                space.sign_mu(&key, &mut Fixed(*rnd), &mu, &mut signature)?;
            }
            Input::Mu { mu } => {
                space.sign_mu(&key, &mut Fixed(*rnd), &Mu::from_bytes(whole_mu(mu)?), &mut signature)?;
            }
        }
        Ok(signature)
    }

    fn verify(public: &[u8], input: Input<'_>, signature: &[u8]) -> Result<(), Trouble> {
        let key = EncodedVerifyingKey::<P>::decode(public)?;
        let mut space = Box::new(VerifySpace::<P, M>::new());
        match input {
            Input::Pure { context, message } => {
                space.verify(&key, Context::new(context)?, message, signature)?;
            }
            _ => space.verify_mu(&key, &Mu::from_bytes(Self::mu_of_public(public, input)?), signature)?,
        }
        Ok(())
    }

    fn mu_of_public(public: &[u8], input: Input<'_>) -> Result<[u8; 64], Trouble> {
        let key = EncodedVerifyingKey::<P>::decode(public)?;
        match input {
            Input::Pure { context, message } => {
                let mut hasher = key.message(Context::new(context)?);
                message.chunks(7).for_each(|piece| hasher.update(piece));
                Ok(*hasher.finish().as_bytes())
            }
            Input::PreHash { context, hash, message } => {
                let digest = oracle::digest(hash, message);
                Ok(*key.prehashed(Context::new(context)?, hash, &digest)?.as_bytes())
            }
            Input::Internal { formatted } => {
                let tr: [u8; 64] = oracle::shake256(&[public]);
                Ok(oracle::shake256(&[&tr, formatted]))
            }
            Input::Mu { mu } => whole_mu(mu),
        }
    }
}
