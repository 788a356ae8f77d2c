//! Time and chance, passed in. Nothing below [`crate::run`] asks the machine for either.

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_jose::UnixSeconds;
use zeroize::Zeroizing;

use crate::Error;

/// Tells the time.
pub trait Clock: Send + Sync + 'static {
    /// The seconds since 1970, UTC.
    fn now(&self) -> UnixSeconds;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> UnixSeconds {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        UnixSeconds(since.map_or(0, |elapsed| elapsed.as_secs()))
    }
}

/// Fills bytes with chance that nobody can predict.
pub trait Randomness: Send + Sync + 'static {
    /// Fills all of `bytes`.
    /// Errors: [`Error::Randomness`]; the bytes must then not be used.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), Error>;
}

/// The operating system's generator, behind the one of aws-lc (per thread: no lock).
#[derive(Clone, Copy, Debug, Default)]
pub struct OsRandomness;

impl Randomness for OsRandomness {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), Error> {
        SystemRandom::new().fill(bytes).map_err(|_| Error::Randomness)
    }
}

/// 128 random bits as 22 characters of base64url: token ids, client ids.
pub(crate) fn random_id(randomness: &dyn Randomness) -> Result<String, Error> {
    let mut bytes = [0; 16];
    randomness.fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// So many random bytes in base64url, which are a third more characters: client secrets.
pub(crate) fn random_secret(randomness: &dyn Randomness, len: usize) -> Result<Zeroizing<String>, Error> {
    let mut bytes = Zeroizing::new(vec![0; len]);
    randomness.fill(&mut bytes)?;
    Ok(Zeroizing::new(URL_SAFE_NO_PAD.encode(&*bytes)))
}

/// How far the clock may be ahead for a while, or two nodes apart: what guards a token outlives it by this.
pub(crate) const CLOCK_SLACK_SECONDS: u64 = 300;

/// `time` moved on by `seconds`; the end of time stays the end of time.
pub(crate) fn later(time: UnixSeconds, seconds: u64) -> UnixSeconds {
    UnixSeconds(time.0.saturating_add(seconds))
}
