//! Composite signatures: an ML-DSA signature and a classical one over the same message, in one key and one signature, so that a forger
//! has to break both.
//!
//! As draft-ietf-lamps-pq-composite-sigs-19 has them for X.509, and draft-ietf-jose-pq-composite-sigs-04 for JOSE, which takes
//! six of them with an empty context. These are drafts: what is signed today may be unreadable to tomorrow's readers.
//!
//! ```text
//! M'        = "CompositeAlgorithmSignatures2025" || Label || |ctx| || ctx || PH(M)
//! signature = ML-DSA.Sign(sk, M', ctx = Label) || Trad.Sign(tradSk, M')
//! ```
//!
//! Label and pre-hash PH depend on the [`Algorithm`], so that neither half is a signature of anything else, and no half can be
//! taken out.
//!
//! ```
//! use sealstone_composite::{Algorithm, PrivateKey, PublicKey};
//!
//! # fn main() -> Result<(), sealstone_composite::Error> {
//! let key = PrivateKey::generate(Algorithm::MlDsa65Ed25519)?;
//! let signature = key.sign(b"", b"a message")?;
//! let public = PublicKey::decode(Algorithm::MlDsa65Ed25519, key.public().encode())?;
//! public.verify(b"", b"a message", &signature)?;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod algorithm;
mod classical;
mod error;
mod key;
mod message;

pub use algorithm::Algorithm;
pub use error::Error;
pub use key::{PrivateKey, PublicKey};
pub use message::Message;
