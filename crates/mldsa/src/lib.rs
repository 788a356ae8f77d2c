//! ML-DSA, the lattice signature of FIPS 204: small, plain and checkable against the standard.
//!
//! ```
//! # #[cfg(feature = "getrandom")]
//! # fn main() -> Result<(), sealstone_mldsa::Error> {
//! use sealstone_mldsa::{Context, MlDsa65, OsRandom, Signature, SigningKey, VerifyingKey};
//!
//! let key = SigningKey::<MlDsa65>::generate(&mut OsRandom)?;
//! let signature = key.sign(&mut OsRandom, Context::EMPTY, b"I sealed this")?;
//! let sent = (key.verifying_key().encode().to_vec(), signature.encode().to_vec());
//!
//! let key = VerifyingKey::<MlDsa65>::decode(&sent.0)?;
//! key.verify(Context::EMPTY, b"I sealed this", &Signature::decode(&sent.1)?)?;
//! assert!(key.verify(Context::EMPTY, b"I sealed that", &Signature::decode(&sent.1)?).is_err());
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "getrandom"))]
//! # fn main() {}
//! ```
//!
//! - A private key is its 32-byte seed, [`SigningKey`]. [`ExpandedSigningKey`] and [`ExpandedVerifyingKey`] spend memory to
//!   save time when a key is used more than once.
//! - Signing is hedged unless you call the deterministic variant by its name.
//! - [`MuHasher`] takes a message in pieces; everything that is signed becomes a [`Mu`] first, so messages, digests
//!   ([`PreHash`]) and representatives computed elsewhere ([`Mu::from_bytes`]) go the same way.
//! - Levels are types here, and values in [`any`].
//! - [`Engine`] works on batches.
//! - [`device`] works in a microcontroller's memory, which the caller gives.
//!
//! On x86-64 the rooms of vectors come with the feature `std`, which is a default one: without it all of this works, three
//! times slower and more.
//!
//! No panic on any input, no default dependency; no allocation, but for keys on the heap that the feature `alloc` adds. What
//! may leak through time is in SECURITY.md; which algorithm of the standard stands where is in docs/spec-map.md.
#![no_std]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod any;
mod api;
mod backend;
mod ct;
pub mod device;
mod engine;
mod error;
#[cfg(feature = "hazmat")]
mod exam;
mod fips204;
#[cfg(feature = "hazmat")]
pub mod hazmat;
mod keccak;
mod kernels;
#[cfg(feature = "kmac")]
mod kmac;
mod level;
mod message;
#[cfg(feature = "sha2")]
mod prehash;
mod random;
mod self_test;
#[cfg(test)]
mod suite;

pub use api::{
    ExpandedSigningKey, ExpandedVerifyingKey, ParameterSet, SEED_LEN, Signature, SigningKey, VerifyingKey,
};
pub use engine::{CpuEngine, Engine, KeygenJob, MuJob, SignJob, VerifyJob};
pub use error::Error;
pub use fips204::params::{MlDsa44, MlDsa65, MlDsa87};
#[cfg(feature = "kmac")]
pub use kmac::{Kmac256, MacKey, Shake256};
pub use level::{Level, UnknownLevel};
pub use message::{CONTEXT_MAX, Context, MU_LEN, Mu, MuHasher, PreHash, UnknownPreHash};
#[cfg(feature = "sha2")]
pub use prehash::{Digest, PreHasher};
#[cfg(feature = "getrandom")]
pub use random::OsRandom;
pub use random::Randomness;
pub use self_test::self_test;
