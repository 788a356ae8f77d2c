//! Client secrets: shown once, kept as a hash.

use std::fmt;

use aws_lc_rs::{constant_time, digest};
use zeroize::Zeroizing;

use crate::Error;
use crate::clock::{Randomness, random_secret};

/// A client's secret as it is shown once, at registration: 256 random bits. Wiped when dropped.
pub struct ClientSecret(Zeroizing<String>);

impl ClientSecret {
    pub(crate) fn generate(randomness: &dyn Randomness) -> Result<Self, Error> {
        Ok(Self(random_secret(randomness)?))
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
