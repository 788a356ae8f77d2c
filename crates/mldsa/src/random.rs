//! Where random bytes come from: passed in, always.

use crate::error::Error;

/// A source of random bytes for keys and for hedged signing. It must be a cryptographic one (FIPS 204, 3.6.1).
pub trait Randomness {
    /// Fills `bytes`, or fails the whole call with `RngFailed`.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error>;
}

impl<R: Randomness + ?Sized> Randomness for &mut R {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        (**self).fill(bytes)
    }
}

/// The operating system's random source.
#[cfg(feature = "getrandom")]
#[derive(Clone, Copy, Debug)]
pub struct OsRandom;

#[cfg(feature = "getrandom")]
impl Randomness for OsRandom {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        getrandom::fill(bytes).map_err(|_| Error::RngFailed)
    }
}
