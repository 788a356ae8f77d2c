//! Client secrets: shown once, kept as a hash, or sealed where the server must know them to check a MAC.

use std::fmt;

use aws_lc_rs::{constant_time, digest};
use sealstone_jose::mac::{MacAlgorithm, MacKey};
use zeroize::Zeroizing;

use super::AssertionAudience;
use crate::Error;
use crate::clock::{Randomness, random_secret};
use crate::keys::{Sealer, Secret};

/// A client's secret as it is shown once, at registration: 256 random bits, or as many as its MAC has. Wiped when dropped.
pub struct ClientSecret(Zeroizing<String>);

impl ClientSecret {
    pub(crate) fn generate(randomness: &dyn Randomness) -> Result<Self, Error> {
        Ok(Self(random_secret(randomness, 32)?))
    }

    /// A secret that an operator has chosen.
    pub(crate) fn given(text: Zeroizing<String>) -> Self {
        Self(text)
    }

    /// As much chance as a MAC of this algorithm can hold, RFC 7518 §3.2.
    pub(crate) fn generate_for(algorithm: MacAlgorithm, randomness: &dyn Randomness) -> Result<Self, Error> {
        Ok(Self(random_secret(randomness, algorithm.mac_len())?))
    }

    /// What the server keeps to check MACs.
    pub(crate) fn seal(
        &self,
        client: &str,
        sealer: &Sealer,
        randomness: &dyn Randomness,
    ) -> Result<Vec<u8>, Error> {
        sealer.seal(Secret::Client, client, self.0.as_bytes(), randomness)
    }

    /// The secret itself, to hand to the client and to no log.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What the server keeps.
    pub fn hash(&self) -> SecretHash {
        SecretHash::of(&self.0)
    }
}

impl fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientSecret(..)")
    }
}

/// SHA-256 of a secret. Secrets are 256 random bits, so there is nothing to guess and no slow hash is needed.
#[derive(Clone, Copy)]
pub struct SecretHash([u8; digest::SHA256_OUTPUT_LEN]);

impl SecretHash {
    pub(crate) fn of(secret: &str) -> Self {
        let mut hash = [0; digest::SHA256_OUTPUT_LEN];
        hash.copy_from_slice(digest::digest(&digest::SHA256, secret.as_bytes()).as_ref());
        Self(hash)
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl PartialEq for SecretHash {
    /// Time: independent of the bytes.
    fn eq(&self, other: &Self) -> bool {
        constant_time::verify_slices_are_equal(&self.0, &other.0).is_ok()
    }
}

impl Eq for SecretHash {}

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash(..)")
    }
}

/// A secret that both sides know, for [`client_secret_jwt`](super::AuthMethod::ClientSecretJwt). The server holds it
/// sealed, in memory too, and opens it for the time of a check.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedSecret {
    /// The MAC of its assertions, and no other.
    pub algorithm: MacAlgorithm,
    /// What an assertion's `aud` must be.
    pub audience: AssertionAudience,
    pub(crate) sealed: Vec<u8>,
}

impl SharedSecret {
    /// OpenID Connect Core §10.1: the key is the secret's text, in UTF-8.
    /// Errors: `Sealed`; `Key` if it is shorter than its MAC.
    pub(crate) fn open(&self, client: &str, sealer: &Sealer) -> Result<MacKey, Error> {
        let secret = sealer.open_sealed(Secret::Client, client, &self.sealed)?;
        MacKey::new(self.algorithm, &secret).map_err(|cause| Error::Key { what: cause.to_string() })
    }
}

impl SharedSecret {
    /// Whether it is this secret. Time: independent of it.
    pub(crate) fn holds(&self, client: &str, secret: &ClientSecret, sealer: &Sealer) -> bool {
        let opened = sealer.open_sealed(Secret::Client, client, &self.sealed);
        opened.is_ok_and(|kept| constant_time::verify_slices_are_equal(&kept, secret.0.as_bytes()).is_ok())
    }
}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedSecret").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}
