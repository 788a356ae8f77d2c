//! Keys in DER and PEM: SubjectPublicKeyInfo (RFC 5280 §4.1), PKCS#8 (RFC 5958) and SEC 1 (RFC 5915), for ML-DSA
//! (RFC 9881), ECDSA on the NIST curves (RFC 5480) and Ed25519 (RFC 8410). And certificates, requests and revocation
//! lists ([`x509`]), read; with the feature `certificates` made and verified too, by the keys of `sign`. With the feature
//! `composite` keys of two halves, which are a draft.
//!
//! One key has one encoding here: lengths are minimal, nothing follows, parameters are as the algorithm's RFC says.
//! An ML-DSA private key is written as its seed; seed, expanded key and both are read, and what is redundant in them
//! is checked. No arithmetic is done on elliptic curves: whether a point lies on its curve, or belongs to a scalar,
//! is for the crate that uses the key.
//!
//! ```
//! use sealstone_pki::{KeyAlgorithm, PublicKeyInfo, spki};
//!
//! # fn main() -> Result<(), sealstone_pki::Error> {
//! let key = PublicKeyInfo::new(KeyAlgorithm::Ed25519, &[7; 32])?;
//! let pem = spki::to_pem(&key);
//! assert!(pem.starts_with("-----BEGIN PUBLIC KEY-----\n"));
//! assert_eq!(spki::from_pem(&pem)?, key);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod algorithm;
mod asymmetric;
#[cfg(feature = "certificates")]
pub mod cms;
#[cfg(feature = "composite")]
pub mod composite;
pub mod der;
mod error;
pub mod form;
#[cfg(feature = "certificates")]
pub mod ml_kem;
mod name;
#[cfg(feature = "certificates")]
pub mod pbes2;
mod pem;
pub mod pkcs8;
pub mod rsa;
mod sec1;
#[cfg(feature = "certificates")]
pub mod sign;
mod signature;
pub mod spki;
pub mod x509;

pub use algorithm::KeyAlgorithm;
pub use error::Error;
pub use name::Name;
pub use pkcs8::{PrivateKeyInfo, Secret};
pub use signature::{Hash, SignatureAlgorithm};
pub use spki::PublicKeyInfo;
pub use x509::{AltName, Certificate};
