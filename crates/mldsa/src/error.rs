//! What can go wrong. Facts about the input, without strings, so that it works without an allocator.

use core::fmt;

/// Why a call of the engine failed.
///
/// All forgeries look alike: a signature that does not verify is [`Error::BadSignature`] whatever the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Signing was refused by the rejection loop more often than FIPS 204, Appendix C allows for.
    /// It happens with probability below 2^-256 for a sound key: suspect the key or the machine.
    AttemptsExhausted,
    /// An expanded signing key contradicts itself: s1 or s2 out of range, t0, tr or the public key not those of s1 and s2.
    /// Import the 32-byte seed instead where you have it.
    BadKey,
    /// The signature is not one of this key over this message and context.
    BadSignature,
    /// A context is longer than 255 bytes.
    ContextTooLong,
    /// A result did not stand its check: the machine computed wrongly. Nothing was released.
    FaultDetected,
    /// The random source failed; nothing was generated or signed.
    RngFailed,
    /// An encoding has the wrong length, in bytes.
    WrongLength {
        /// The only length this encoding has.
        expected: usize,
        /// The length it came with.
        found: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::AttemptsExhausted => {
                f.write_str("signing was rejected too often; the key or the machine is faulty")
            }
            Error::BadKey => f.write_str("the expanded signing key contradicts itself"),
            Error::BadSignature => f.write_str("the signature does not verify"),
            Error::ContextTooLong => f.write_str("the context is longer than 255 bytes"),
            Error::FaultDetected => f.write_str("the machine computed wrongly; nothing was released"),
            Error::RngFailed => f.write_str("the random source failed"),
            Error::WrongLength { expected, found } => {
                write!(f, "wrong length: expected {expected} bytes, found {found}")
            }
        }
    }
}

impl core::error::Error for Error {}
