//! The nonces that the server hands out, RFC 9449 §8: a minute, and a MAC over it and who handed it out.

use std::fmt;

use aws_lc_rs::{constant_time, hmac};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_jose::UnixSeconds;

use crate::Error;
use crate::clock::Randomness;
use crate::keys::Sealer;

/// How long a nonce is the newest. It is good for this time once more.
pub const NONCE_SECONDS: u64 = 60;

const MINUTE_LEN: usize = 8;
const TAG_LEN: usize = 16;

/// Whose nonces: those of one process between two settings of its clock, or those of all nodes of one store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Epoch([u8; 16]);

impl Epoch {
    /// Of all nodes.
    pub(super) const SHARED: Epoch = Epoch([0; 16]);

    pub(super) fn draw(randomness: &dyn Randomness) -> Result<Self, Error> {
        let mut bytes = [0; 16];
        randomness.fill(&mut bytes)?;
        Ok(Self(bytes))
    }
}

/// The minute that nonces made at `now` carry.
pub(super) const fn minute(now: UnixSeconds) -> u64 {
    now.0 / NONCE_SECONDS
}

/// Writes and reads nonces: base64url of 8 bytes of the minute and 16 of an HMAC-SHA256.
pub(super) struct Nonces(hmac::Key);

impl Nonces {
    pub(super) fn new(sealer: &Sealer) -> Result<Self, Error> {
        Ok(Self(sealer.mac_key("dpop nonce v1")?))
    }

    pub(super) fn write(&self, epoch: &Epoch, minute: u64) -> String {
        URL_SAFE_NO_PAD.encode([&minute.to_be_bytes()[..], &self.tag(epoch, minute)].concat())
    }

    /// The minute of a nonce of this epoch; `None` for every other text.
    /// Time: the tag's comparison does not depend on the tag.
    pub(super) fn read(&self, epoch: &Epoch, text: &str) -> Option<u64> {
        let mut bytes = [0; MINUTE_LEN + TAG_LEN];
        let length = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
        let (minute, tag) = bytes.get(..length)?.split_first_chunk::<MINUTE_LEN>()?;
        let minute = u64::from_be_bytes(*minute);
        constant_time::verify_slices_are_equal(tag, &self.tag(epoch, minute)).ok()?;
        Some(minute)
    }

    fn tag(&self, epoch: &Epoch, minute: u64) -> [u8; TAG_LEN] {
        let tag = hmac::sign(&self.0, &[&epoch.0[..], &minute.to_be_bytes()].concat());
        let mut short = [0; TAG_LEN];
        short.copy_from_slice(&tag.as_ref()[..TAG_LEN]);
        short
    }
}

impl fmt::Debug for Nonces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Nonces(..)")
    }
}
