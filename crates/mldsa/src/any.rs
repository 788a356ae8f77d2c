//! The same keys and signatures with the level as a value, for callers who learn it at run time: formats, commands, servers.
//!
//! The expanded kinds are tens of kilobytes: put them in a box.

use crate::api::{self, SEED_LEN};
use crate::error::Error;
use crate::fips204::params::{MlDsa44, MlDsa65, MlDsa87};
use crate::level::Level;
use crate::message::{Context, Mu, MuHasher, PreHash};
use crate::random::Randomness;

/// An enum of the three typed kinds, and a way into whichever it holds.
macro_rules! any {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[allow(clippy::large_enum_variant, reason = "no allocator; callers box what they keep")]
        pub enum $name {
            /// ML-DSA-44.
            MlDsa44(api::$name<MlDsa44>),
            /// ML-DSA-65.
            MlDsa65(api::$name<MlDsa65>),
            /// ML-DSA-87.
            MlDsa87(api::$name<MlDsa87>),
        }

        impl $name {
            /// The parameter set.
            pub fn level(&self) -> Level {
                match self {
                    $name::MlDsa44(_) => Level::MlDsa44,
                    $name::MlDsa65(_) => Level::MlDsa65,
                    $name::MlDsa87(_) => Level::MlDsa87,
                }
            }
        }
    };
}

/// `each!(self, key => expression)`: the expression for whichever kind self holds.
macro_rules! each {
    ($any:expr, $key:ident => $value:expr) => {
        match $any {
            Self::MlDsa44($key) => $value,
            Self::MlDsa65($key) => $value,
            Self::MlDsa87($key) => $value,
        }
    };
}

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

/// `made!(level, constructor(arguments))`: one of these enums from a level.
macro_rules! made {
    ($level:expr, $kind:ident::$new:ident($($arg:expr),*)) => {
        match $level {
            Level::MlDsa44 => $kind::MlDsa44(api::$kind::$new($($arg),*)?),
            Level::MlDsa65 => $kind::MlDsa65(api::$kind::$new($($arg),*)?),
            Level::MlDsa87 => $kind::MlDsa87(api::$kind::$new($($arg),*)?),
        }
    };
}

any!(
    /// See [`crate::SigningKey`].
    #[derive(Clone)]
    SigningKey
);
any!(
    /// See [`crate::ExpandedSigningKey`].
    ExpandedSigningKey
);
any!(
    /// See [`crate::VerifyingKey`].
    #[derive(Clone, PartialEq, Eq)]
    VerifyingKey
);
any!(
    /// See [`crate::ExpandedVerifyingKey`].
    #[derive(Clone)]
    ExpandedVerifyingKey
);
any!(
    /// See [`crate::Signature`].
    #[derive(Clone, PartialEq, Eq)]
    Signature
);

impl SigningKey {
    /// See [`crate::SigningKey::generate`].
    pub fn generate(level: Level, rng: &mut impl Randomness) -> Result<Self, Error> {
        Ok(made!(level, SigningKey::generate(rng)))
    }

    /// See [`crate::SigningKey::generate_checked`].
    pub fn generate_checked(level: Level, rng: &mut impl Randomness) -> Result<Self, Error> {
        Ok(made!(level, SigningKey::generate_checked(rng)))
    }

    /// See [`crate::SigningKey::check`].
    pub fn check(&self) -> Result<(), Error> {
        each!(self, key => key.check())
    }

    /// See [`crate::SigningKey::from_seed`].
    pub fn from_seed(level: Level, xi: &[u8; SEED_LEN]) -> Self {
        match level {
            Level::MlDsa44 => SigningKey::MlDsa44(api::SigningKey::from_seed(xi)),
            Level::MlDsa65 => SigningKey::MlDsa65(api::SigningKey::from_seed(xi)),
            Level::MlDsa87 => SigningKey::MlDsa87(api::SigningKey::from_seed(xi)),
        }
    }

    /// See [`crate::SigningKey::try_from_seed`].
    pub fn try_from_seed(level: Level, xi: &[u8]) -> Result<Self, Error> {
        Ok(made!(level, SigningKey::try_from_seed(xi)))
    }

    /// See [`crate::SigningKey::seed`].
    pub fn seed(&self) -> &[u8; SEED_LEN] {
        each!(self, key => key.seed())
    }

    /// See [`crate::SigningKey::expand`].
    pub fn expand(&self) -> ExpandedSigningKey {
        wrap!(self, ExpandedSigningKey, key => key.expand())
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
    /// See [`crate::ExpandedSigningKey::decode`].
    pub fn decode(level: Level, sk: &[u8]) -> Result<Self, Error> {
        Ok(made!(level, ExpandedSigningKey::decode(sk)))
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
    /// See [`crate::VerifyingKey::decode`].
    pub fn decode(level: Level, pk: &[u8]) -> Result<Self, Error> {
        Ok(made!(level, VerifyingKey::decode(pk)))
    }

    /// See [`crate::VerifyingKey::encode`].
    pub fn encode(&self) -> &[u8] {
        each!(self, key => key.encode())
    }

    /// See [`crate::VerifyingKey::expand`].
    pub fn expand(&self) -> ExpandedVerifyingKey {
        wrap!(self, ExpandedVerifyingKey, key => key.expand())
    }

    /// See [`crate::VerifyingKey::message`].
    pub fn message(&self, ctx: Context<'_>) -> MuHasher {
        each!(self, key => key.message(ctx))
    }

    /// See [`crate::VerifyingKey::prehashed`].
    pub fn prehashed(&self, ctx: Context<'_>, ph: PreHash, digest: &[u8]) -> Result<Mu, Error> {
        each!(self, key => key.prehashed(ctx, ph, digest))
    }

    /// See [`crate::VerifyingKey::verify`]. A signature of another level does not verify.
    pub fn verify(&self, ctx: Context<'_>, message: &[u8], signature: &Signature) -> Result<(), Error> {
        self.expand().verify(ctx, message, signature)
    }

    /// See [`crate::VerifyingKey::verify_mu`]. A signature of another level does not verify.
    pub fn verify_mu(&self, mu: &Mu, signature: &Signature) -> Result<(), Error> {
        self.expand().verify_mu(mu, signature)
    }
}

impl ExpandedVerifyingKey {
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
        match (self, signature) {
            (Self::MlDsa44(key), Signature::MlDsa44(signature)) => key.verify_mu(mu, signature),
            (Self::MlDsa65(key), Signature::MlDsa65(signature)) => key.verify_mu(mu, signature),
            (Self::MlDsa87(key), Signature::MlDsa87(signature)) => key.verify_mu(mu, signature),
            _ => Err(Error::BadSignature),
        }
    }
}

impl Signature {
    /// See [`crate::Signature::decode`].
    pub fn decode(level: Level, sigma: &[u8]) -> Result<Self, Error> {
        Ok(made!(level, Signature::decode(sigma)))
    }

    /// See [`crate::Signature::encode`].
    pub fn encode(&self) -> &[u8] {
        each!(self, signature => signature.encode())
    }
}
