//! JSON Web Keys, Signatures and Tokens with ML-DSA (RFC 9964), ECDSA, Ed25519 and RSA.
//!
//! Data walks one way. A token is text, then [`jws::Unverified`], then [`jws::Verified`], then, when its claims
//! have passed the rules, a [`jwt::Token`]: each step is a type of its own, and there is no road back. The
//! algorithm always comes from the key, never from the token.
//!
//! ```
//! use std::time::Duration;
//! use sealstone_jose::{Algorithm, PrivateKey, UnixSeconds, jws, jwt};
//!
//! # fn main() -> Result<(), sealstone_jose::Error> {
//! let key = PrivateKey::generate(Algorithm::Es256)?;
//! let now = UnixSeconds(1_800_000_000);
//! let claims = jwt::Claims::new()
//!     .with("iss", "https://id.example")
//!     .with("aud", "orders")
//!     .with("exp", now.0 + 300);
//! let token = jwt::sign(&key, "at+jwt", &claims)?;
//!
//! let rules = jwt::Rules::new()
//!     .issuer("https://id.example")
//!     .audience("orders")
//!     .typ("at+jwt")
//!     .leeway(Duration::from_secs(5));
//! let verified = jws::Unverified::parse(&token)?.verify(key.public())?;
//! let token = rules.check(verified, now)?;
//! assert_eq!(token.claims().issuer(), Some("https://id.example"));
//! # Ok(())
//! # }
//! ```
//!
//! Change `Es256` to `MlDsa65` and nothing else changes but the size.

#![forbid(unsafe_code)]

/// The Rust of docs/from-jwt-pq.md is compiled and run with the other examples.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/from-jwt-pq.md")]
mod from_jwt_pq {}

mod alg;
#[cfg(feature = "composite")]
pub mod any;
mod b64;
#[cfg(feature = "composite")]
pub mod composite;
pub mod cose;
mod error;
mod json;
mod jwk;
pub mod jws;
pub mod jwt;
mod key;
#[cfg(feature = "legacy")]
pub mod legacy;
pub mod mac;
pub mod remote;
mod rsa;
pub mod size;

pub use alg::Algorithm;
pub use error::Error;
pub use jwk::{Ignored, Jwk, JwkSet, PrivateJwk};
pub use jwt::UnixSeconds;
pub use key::{PrivateKey, PublicKey};
