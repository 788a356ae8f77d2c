//! The same keys and signatures with the level as a value, for callers who learn it at run time: formats, commands, servers.
//!
//! Private and expanded keys are on the heap and need the feature `alloc`.

use crate::api;
use crate::error::Error;
use crate::fips204::params::{MlDsa44, MlDsa65, MlDsa87};
use crate::level::Level;
use crate::message::{Context, Mu, MuHasher, PreHash};

/// What small kinds are held in.
type Plain<T> = T;

/// An enum of the three typed kinds, each held in `$hold`, and a way into whichever it is.
macro_rules! any {
    ($(#[$doc:meta])* $name:ident in $hold:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[allow(clippy::large_enum_variant, reason = "no allocator; the large kinds are in boxes")]
        pub enum $name {
            /// ML-DSA-44.
            MlDsa44($hold<api::$name<MlDsa44>>),
            /// ML-DSA-65.
            MlDsa65($hold<api::$name<MlDsa65>>),
            /// ML-DSA-87.
            MlDsa87($hold<api::$name<MlDsa87>>),
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

/// `pair!(self, signature, k, s => expression)`: the expression for a key and a signature of its level; another does not verify.
macro_rules! pair {
    ($any:expr, $of:expr, $key:ident, $signature:ident => $value:expr) => {
        match ($any, $of) {
            (Self::MlDsa44($key), Signature::MlDsa44($signature)) => $value,
            (Self::MlDsa65($key), Signature::MlDsa65($signature)) => $value,
            (Self::MlDsa87($key), Signature::MlDsa87($signature)) => $value,
            _ => Err(Error::BadSignature),
        }
    };
}

#[cfg(feature = "alloc")]
mod boxed;
#[cfg(feature = "alloc")]
pub use boxed::{ExpandedSigningKey, ExpandedVerifyingKey, SigningKey};

any!(
    /// See [`crate::VerifyingKey`].
    #[derive(Clone, PartialEq, Eq)]
    VerifyingKey in Plain
);
any!(
    /// See [`crate::Signature`].
    #[derive(Clone, PartialEq, Eq)]
    Signature in Plain
);

impl VerifyingKey {
    /// See [`crate::VerifyingKey::decode`].
    pub fn decode(level: Level, pk: &[u8]) -> Result<Self, Error> {
        Ok(made!(level, VerifyingKey::decode(pk)))
    }

    /// See [`crate::VerifyingKey::encode`].
    pub fn encode(&self) -> &[u8] {
        each!(self, key => key.encode())
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
        pair!(self, signature, key, signature => key.verify(ctx, message, signature))
    }

    /// See [`crate::VerifyingKey::verify_mu`]. A signature of another level does not verify.
    pub fn verify_mu(&self, mu: &Mu, signature: &Signature) -> Result<(), Error> {
        pair!(self, signature, key, signature => key.verify_mu(mu, signature))
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
