//! Private and expanded keys, each in a box of the size that its level asks: they move without leaving copies behind, and take
//! nothing along that lay beside them on the stack.

use alloc::boxed::Box;

use super::{Signature, VerifyingKey};
use crate::api::{self, SEED_LEN};
use crate::engine::MuJob;
use crate::error::Error;
use crate::fips204::params::{MlDsa44, MlDsa65, MlDsa87};
use crate::level::Level;
use crate::message::{Context, Mu, MuHasher, PreHash};
use crate::random::Randomness;

/// `wrap!(self, Kind, key => expression)`: the same, with the result as another of these enums.
macro_rules! wrap {
    ($any:expr, $kind:ident, $key:ident => $value:expr) => {
        match $any {
            Self::MlDsa44($key) => $kind::MlDsa44($value),
            Self::MlDsa65($key) => $kind::MlDsa65($value),
            Self::MlDsa87($key) => $kind::MlDsa87($value),
        }
    };
}

any!(
    /// See [`crate::SigningKey`].
    #[derive(Clone)]
    SigningKey in Box
);
any!(
    /// See [`crate::ExpandedSigningKey`].
    ExpandedSigningKey in Box
);
any!(
    /// See [`crate::ExpandedVerifyingKey`].
    #[derive(Clone)]
    ExpandedVerifyingKey in Box
);
impl SigningKey {
    /// See [`crate::SigningKey::generate_boxed`].
    pub fn generate(level: Level, rng: &mut impl Randomness) -> Result<Self, Error> {
        Ok(made!(level, SigningKey::generate_boxed(rng)))
    }

    /// See [`crate::SigningKey::generate_checked`].
    pub fn generate_checked(level: Level, rng: &mut impl Randomness) -> Result<Self, Error> {
        let key = Self::generate(level, rng)?;
        key.check()?;
        Ok(key)
    }

    /// See [`crate::SigningKey::check`].
    pub fn check(&self) -> Result<(), Error> {
        each!(self, key => key.check())
    }

    /// See [`crate::SigningKey::from_seed`].
    pub fn from_seed(level: Level, xi: &[u8; SEED_LEN]) -> Self {
        match level {
            Level::MlDsa44 => SigningKey::MlDsa44(api::SigningKey::from_seed_boxed(xi)),
            Level::MlDsa65 => SigningKey::MlDsa65(api::SigningKey::from_seed_boxed(xi)),
            Level::MlDsa87 => SigningKey::MlDsa87(api::SigningKey::from_seed_boxed(xi)),
        }
    }

    /// See [`crate::SigningKey::try_from_seed`].
    pub fn try_from_seed(level: Level, xi: &[u8]) -> Result<Self, Error> {
        let exact = xi.try_into().map_err(|_| Error::WrongLength { expected: SEED_LEN, found: xi.len() })?;
        Ok(Self::from_seed(level, exact))
    }

    /// See [`crate::SigningKey::seed`].
    pub fn seed(&self) -> &[u8; SEED_LEN] {
        each!(self, key => key.seed())
    }

    /// See [`crate::SigningKey::expand_boxed`].
    pub fn expand(&self) -> ExpandedSigningKey {
        wrap!(self, ExpandedSigningKey, key => key.expand_boxed())
    }

    /// See [`crate::SigningKey::verifying_key`].
    pub fn verifying_key(&self) -> VerifyingKey {
        wrap!(self, VerifyingKey, key => key.verifying_key())
    }

    /// See [`crate::SigningKey::sign`].
    pub fn sign(
        &self,
        rng: &mut impl Randomness,
        ctx: Context<'_>,
        message: &[u8],
    ) -> Result<Signature, Error> {
        Ok(wrap!(self, Signature, key => key.sign(rng, ctx, message)?))
    }

    /// See [`crate::SigningKey::sign_deterministic`].
    pub fn sign_deterministic(&self, ctx: Context<'_>, message: &[u8]) -> Result<Signature, Error> {
        Ok(wrap!(self, Signature, key => key.sign_deterministic(ctx, message)?))
    }
}

impl ExpandedSigningKey {
    /// See [`crate::ExpandedSigningKey::decode_boxed`].
    pub fn decode(level: Level, sk: &[u8]) -> Result<Self, Error> {
        Ok(made!(level, ExpandedSigningKey::decode_boxed(sk)))
    }

    /// See [`crate::ExpandedSigningKey::encode`].
    pub fn encode(&self, out: &mut [u8]) -> Result<(), Error> {
        each!(self, key => key.encode(out))
    }

    /// See [`crate::ExpandedSigningKey::verifying_key`].
    pub fn verifying_key(&self) -> VerifyingKey {
        wrap!(self, VerifyingKey, key => key.verifying_key().clone())
    }

    /// See [`crate::ExpandedSigningKey::set_checked`].
    pub fn set_checked(&mut self, checked: bool) {
        each!(self, key => key.set_checked(checked))
    }

    /// See [`crate::ExpandedSigningKey::mu_job`].
    pub fn mu_job<'a>(&'a self, ctx: Context<'a>, message: &'a [u8]) -> MuJob<'a> {
        each!(self, key => key.mu_job(ctx, message))
    }

    /// See [`crate::ExpandedSigningKey::message`].
    pub fn message(&self, ctx: Context<'_>) -> MuHasher {
        each!(self, key => key.message(ctx))
    }

    /// See [`crate::ExpandedSigningKey::prehashed`].
    pub fn prehashed(&self, ctx: Context<'_>, ph: PreHash, digest: &[u8]) -> Result<Mu, Error> {
        each!(self, key => key.prehashed(ctx, ph, digest))
    }

    /// See [`crate::ExpandedSigningKey::sign`].
    pub fn sign(
        &self,
        rng: &mut impl Randomness,
        ctx: Context<'_>,
        message: &[u8],
    ) -> Result<Signature, Error> {
        Ok(wrap!(self, Signature, key => key.sign(rng, ctx, message)?))
    }

    /// See [`crate::ExpandedSigningKey::sign_deterministic`].
    pub fn sign_deterministic(&self, ctx: Context<'_>, message: &[u8]) -> Result<Signature, Error> {
        Ok(wrap!(self, Signature, key => key.sign_deterministic(ctx, message)?))
    }

    /// See [`crate::ExpandedSigningKey::sign_mu`].
    pub fn sign_mu(&self, rng: &mut impl Randomness, mu: &Mu) -> Result<Signature, Error> {
        Ok(wrap!(self, Signature, key => key.sign_mu(rng, mu)?))
    }

    /// See [`crate::ExpandedSigningKey::sign_mu_deterministic`].
    pub fn sign_mu_deterministic(&self, mu: &Mu) -> Result<Signature, Error> {
        Ok(wrap!(self, Signature, key => key.sign_mu_deterministic(mu)?))
    }
}

impl VerifyingKey {
    /// See [`crate::VerifyingKey::expand_boxed`].
    pub fn expand(&self) -> ExpandedVerifyingKey {
        wrap!(self, ExpandedVerifyingKey, key => key.expand_boxed())
    }
}

impl ExpandedVerifyingKey {
    /// See [`crate::ExpandedVerifyingKey::mu_job`].
    pub fn mu_job<'a>(&'a self, ctx: Context<'a>, message: &'a [u8]) -> MuJob<'a> {
        each!(self, key => key.mu_job(ctx, message))
    }

    /// See [`crate::ExpandedVerifyingKey::message`].
    pub fn message(&self, ctx: Context<'_>) -> MuHasher {
        each!(self, key => key.message(ctx))
    }

    /// See [`crate::ExpandedVerifyingKey::prehashed`].
    pub fn prehashed(&self, ctx: Context<'_>, ph: PreHash, digest: &[u8]) -> Result<Mu, Error> {
        each!(self, key => key.prehashed(ctx, ph, digest))
    }

    /// See [`crate::ExpandedVerifyingKey::verify`]. A signature of another level does not verify.
    pub fn verify(&self, ctx: Context<'_>, message: &[u8], signature: &Signature) -> Result<(), Error> {
        let mut hasher = self.message(ctx);
        hasher.update(message);
        self.verify_mu(&hasher.finish(), signature)
    }

    /// See [`crate::ExpandedVerifyingKey::verify_mu`]. A signature of another level does not verify.
    pub fn verify_mu(&self, mu: &Mu, signature: &Signature) -> Result<(), Error> {
        pair!(self, signature, key, signature => key.verify_mu(mu, signature))
    }
}
