//! Keys and signatures in CBOR: COSE_Key (RFC 9052 §7) and COSE_Sign1 (§4.2) with ML-DSA (RFC 9964), ECDSA, Ed25519 and RSA.
//!
//! The keys are those of JSON: what is a [`PublicKey`](crate::PublicKey) there is one here. As there, the algorithm comes from
//! the key, and a message is first [`Unverified`], then [`Verified`].
//!
//! ```
//! use sealstone_jose::{Algorithm, PrivateKey, PublicKey, cose};
//!
//! # fn main() -> Result<(), sealstone_jose::Error> {
//! let key = PrivateKey::generate(Algorithm::MlDsa44)?;
//! let message = cose::Sign1::new().content_type("text/plain").sign(&key, b"21.5 C")?;
//!
//! let public = PublicKey::from_cose(&key.public().to_cose())?;
//! let verified = cose::Unverified::parse(&message)?.verify(&public)?;
//! assert_eq!(verified.payload(), b"21.5 C");
//! # Ok(())
//! # }
//! ```
//!
//! What is written is deterministic (RFC 8949 §4.2.1). What is read may have its members in any order, but lengths are definite
//! and in their shortest form, and no label stands twice.

mod cbor;
mod header;
mod key;
mod sign1;

pub use cbor::Value;
pub use header::{ContentType, ReceivedHeader};
pub use sign1::{MAX_MESSAGE, Sign1, Unverified, Verified};

pub(crate) use key::Kid;
#[cfg(feature = "composite")]
pub(crate) use key::{Fields, akp_key, akp_thumbprint, malformed};
#[cfg(feature = "composite")]
pub(crate) use sign1::take_apart;

use crate::alg::Algorithm;

/// The value of `alg` in COSE, of each algorithm that COSE gives one: RFC 9964 §5, RFC 9053 §2, RFC 8812 §2, RFC 8230 §2,
/// RFC 9864 §2.2.
///
/// ```
/// use sealstone_jose::{Algorithm, cose};
///
/// assert_eq!(cose::id(Algorithm::MlDsa65), -49);
/// assert_eq!(cose::by_id(-49), Some(Algorithm::MlDsa65));
/// ```
pub const fn id(algorithm: Algorithm) -> i64 {
    match algorithm {
        Algorithm::EdDsa => -8,
        Algorithm::Ed25519 => -19,
        Algorithm::Es256 => -7,
        Algorithm::Es384 => -35,
        Algorithm::Es512 => -36,
        Algorithm::MlDsa44 => -48,
        Algorithm::MlDsa65 => -49,
        Algorithm::MlDsa87 => -50,
        Algorithm::Ps256 => -37,
        Algorithm::Rs256 => -257,
    }
}

/// The algorithm of a value of `alg`. ESP256, ESP384 and ESP512 (-9, -51, -52, RFC 9864 §2.1) are ES256, ES384 and ES512 on
/// the one curve that each has here.
pub fn by_id(value: i64) -> Option<Algorithm> {
    match value {
        -9 => Some(Algorithm::Es256),
        -51 => Some(Algorithm::Es384),
        -52 => Some(Algorithm::Es512),
        _ => Algorithm::ALL.into_iter().find(|algorithm| id(*algorithm) == value),
    }
}
