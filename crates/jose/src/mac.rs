//! Tokens with a MAC under a shared secret: HS256, HS384 and HS512 (RFC 7518 §3.2).
//!
//! A secret and a key pair are two types, and so are the tokens of the two: a public key cannot check a MAC, a secret
//! cannot check a signature, and a reader of one refuses the other by its name (RFC 8725 §2.1 and §3.1).
//!
//! ```
//! use sealstone_jose::jws::{Header, Unverified};
//! use sealstone_jose::mac::{self, MacAlgorithm, MacKey};
//!
//! # fn main() -> Result<(), sealstone_jose::Error> {
//! let key = MacKey::new(MacAlgorithm::Hs256, b"a secret of at least 32 bytes, drawn at random")?;
//! let token = mac::encode(&key, &Header::new().typ("JWT"), b"{}")?;
//! let verified = Unverified::parse_mac(&token)?.verify_mac(&key)?;
//! assert_eq!(verified.payload(), b"{}");
//! assert!(Unverified::parse(&token).is_err(), "no signature");
//! # Ok(())
//! # }
//! ```

use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;

use aws_lc_rs::hmac;

use crate::error::{Error, shown};
use crate::jws::{self, Header, Named, Unverified, Verified};

/// A MAC algorithm of RFC 7518 §3.2.
///
/// ```
/// use sealstone_jose::Error;
/// use sealstone_jose::mac::{MacAlgorithm, MacKey};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let algorithm: MacAlgorithm = "HS256".parse()?;
/// assert_eq!((algorithm.name(), algorithm.mac_len()), ("HS256", 32));
///
/// // A secret has at least as many bytes as the MAC.
/// assert_eq!(MacKey::new(algorithm, &[7; 32])?.algorithm(), MacAlgorithm::Hs256);
/// let short = MacKey::new(algorithm, b"password");
/// assert_eq!(short.err(), Some(Error::SecretTooShort { expected: 32, found: 8 }));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MacAlgorithm {
    /// `HS256`: HMAC with SHA-256.
    Hs256,
    /// `HS384`: HMAC with SHA-384.
    Hs384,
    /// `HS512`: HMAC with SHA-512.
    Hs512,
}

impl MacAlgorithm {
    /// Every algorithm, in the order of their names.
    pub const ALL: [Self; 3] = [Self::Hs256, Self::Hs384, Self::Hs512];

    /// The registered `alg` value.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hs256 => "HS256",
            Self::Hs384 => "HS384",
            Self::Hs512 => "HS512",
        }
    }

    /// Bytes of a MAC, and the least bytes of a secret: RFC 7518 §3.2.
    pub const fn mac_len(self) -> usize {
        match self {
            Self::Hs256 => 32,
            Self::Hs384 => 48,
            Self::Hs512 => 64,
        }
    }

    const fn hmac(self) -> hmac::Algorithm {
        match self {
            Self::Hs256 => hmac::HMAC_SHA256,
            Self::Hs384 => hmac::HMAC_SHA384,
            Self::Hs512 => hmac::HMAC_SHA512,
        }
    }
}

impl fmt::Display for MacAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Exact, case included: RFC 7515 §4.1.1.
impl FromStr for MacAlgorithm {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let known = Self::ALL.into_iter().find(|algorithm| algorithm.name() == name);
        known.ok_or_else(|| Error::AlgorithmUnknown { found: shown(name) })
    }
}

impl Named for MacAlgorithm {
    fn proof_len(self) -> RangeInclusive<usize> {
        self.mac_len()..=self.mac_len()
    }

    fn wrong_len(self, _: usize, _: usize) -> Error {
        Error::BadSignature
    }
}

/// A shared secret and the one algorithm that it is for.
pub struct MacKey {
    algorithm: MacAlgorithm,
    key: hmac::Key,
}

impl MacKey {
    /// Takes a secret's bytes.
    ///
    /// # Errors
    /// [`Error::SecretTooShort`] for fewer bytes than the hash has: RFC 7518 §3.2.
    pub fn new(algorithm: MacAlgorithm, secret: &[u8]) -> Result<Self, Error> {
        match secret.len() >= algorithm.mac_len() {
            true => Ok(Self { algorithm, key: hmac::Key::new(algorithm.hmac(), secret) }),
            false => Err(Error::SecretTooShort { expected: algorithm.mac_len(), found: secret.len() }),
        }
    }

    /// What it is for.
    pub fn algorithm(&self) -> MacAlgorithm {
        self.algorithm
    }
}

/// The algorithm, never the secret.
impl fmt::Debug for MacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MacKey").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

/// Writes `payload` into a compact token with a MAC. There is no `kid`: a secret has none.
///
/// # Errors
/// [`Error::TooLarge`], [`Error::NotCompact`] for an empty payload.
pub fn encode(key: &MacKey, header: &Header, payload: &[u8]) -> Result<String, Error> {
    let (name, len) = (key.algorithm.name(), key.algorithm.mac_len());
    let token = jws::signing_input(name, len, None, header, payload)?;
    let tag = hmac::sign(&key.key, token.as_bytes());
    Ok(jws::sealed(token, tag.as_ref()))
}

impl<'t> Unverified<'t, MacAlgorithm> {
    /// Takes a token with a MAC apart, as [`parse`](Unverified::parse) does one with a signature.
    ///
    /// # Errors
    /// The first thing that is wrong with it; [`Error::AlgorithmUnknown`] for one with a signature.
    pub fn parse_mac(token: &'t str) -> Result<Self, Error> {
        jws::take_apart(token)
    }

    /// Checks the MAC with `key` and the algorithm of `key`. Time: independent of the MAC.
    ///
    /// # Errors
    /// [`Error::BadSignature`], also if the header names another algorithm.
    pub fn verify_mac(self, key: &MacKey) -> Result<Verified<MacAlgorithm>, Error> {
        if self.header.algorithm() != key.algorithm {
            return Err(Error::BadSignature);
        }
        hmac::verify(&key.key, self.signing_input.as_bytes(), &self.signature)
            .map_err(|_| Error::BadSignature)?;
        Ok(self.proven())
    }
}
