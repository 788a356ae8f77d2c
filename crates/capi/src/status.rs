//! What a call can return, and which error of the other crates is which number.

use core::ffi::c_int;

/// Done.
pub const SEALSTONE_OK: c_int = 0;
/// An argument cannot be: NULL, an unknown level, format or flag, text that is not UTF-8.
pub const SEALSTONE_BAD_ARGUMENT: c_int = -1;
/// A pointer is no handle of the kind that the function takes, or one that was freed.
pub const SEALSTONE_BAD_HANDLE: c_int = -2;
/// A buffer or an encoding has another length than the one it must have.
pub const SEALSTONE_WRONG_LENGTH: c_int = -3;
/// A context is longer than 255 bytes.
pub const SEALSTONE_CONTEXT_TOO_LONG: c_int = -4;
/// A key is malformed, contradicts itself, or must not be used so.
pub const SEALSTONE_BAD_KEY: c_int = -5;
/// The key is there only in expanded form; what was asked needs its seed.
pub const SEALSTONE_NO_SEED: c_int = -6;
/// The algorithm, curve or key type is not known here, or not one of ML-DSA.
pub const SEALSTONE_UNKNOWN_ALGORITHM: c_int = -7;
/// The signature is not one of this key over this message. All forgeries look alike.
pub const SEALSTONE_BAD_SIGNATURE: c_int = -8;
/// The token is malformed, or its header asks for what is refused.
pub const SEALSTONE_BAD_TOKEN: c_int = -9;
/// The token names another algorithm than its key's.
pub const SEALSTONE_ALGORITHM_MISMATCH: c_int = -10;
/// No key of the set is the token's, or more than one could be.
pub const SEALSTONE_UNKNOWN_KEY: c_int = -11;
/// The token's time is over.
pub const SEALSTONE_EXPIRED: c_int = -12;
/// The token's time has not come.
pub const SEALSTONE_NOT_YET_VALID: c_int = -13;
/// A claim, or the token's type, is not what the rules want.
pub const SEALSTONE_CLAIM_REFUSED: c_int = -14;
/// The operating system gave no randomness, or the cryptographic library failed.
pub const SEALSTONE_RNG_FAILED: c_int = -15;
/// The machine computed wrongly; nothing was released.
pub const SEALSTONE_FAULT: c_int = -16;
/// A defect of the library was met. Nothing was released.
pub const SEALSTONE_PANICKED: c_int = -17;

/// Every number with its name.
pub(crate) const NAMES: [(c_int, &core::ffi::CStr); 18] = [
    (SEALSTONE_OK, c"SEALSTONE_OK"),
    (SEALSTONE_BAD_ARGUMENT, c"SEALSTONE_BAD_ARGUMENT"),
    (SEALSTONE_BAD_HANDLE, c"SEALSTONE_BAD_HANDLE"),
    (SEALSTONE_WRONG_LENGTH, c"SEALSTONE_WRONG_LENGTH"),
    (SEALSTONE_CONTEXT_TOO_LONG, c"SEALSTONE_CONTEXT_TOO_LONG"),
    (SEALSTONE_BAD_KEY, c"SEALSTONE_BAD_KEY"),
    (SEALSTONE_NO_SEED, c"SEALSTONE_NO_SEED"),
    (SEALSTONE_UNKNOWN_ALGORITHM, c"SEALSTONE_UNKNOWN_ALGORITHM"),
    (SEALSTONE_BAD_SIGNATURE, c"SEALSTONE_BAD_SIGNATURE"),
    (SEALSTONE_BAD_TOKEN, c"SEALSTONE_BAD_TOKEN"),
    (SEALSTONE_ALGORITHM_MISMATCH, c"SEALSTONE_ALGORITHM_MISMATCH"),
    (SEALSTONE_UNKNOWN_KEY, c"SEALSTONE_UNKNOWN_KEY"),
    (SEALSTONE_EXPIRED, c"SEALSTONE_EXPIRED"),
    (SEALSTONE_NOT_YET_VALID, c"SEALSTONE_NOT_YET_VALID"),
    (SEALSTONE_CLAIM_REFUSED, c"SEALSTONE_CLAIM_REFUSED"),
    (SEALSTONE_RNG_FAILED, c"SEALSTONE_RNG_FAILED"),
    (SEALSTONE_FAULT, c"SEALSTONE_FAULT"),
    (SEALSTONE_PANICKED, c"SEALSTONE_PANICKED"),
];

/// A number, and the same in words for a person.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: c_int,
    pub(crate) words: String,
}

impl Failure {
    pub(crate) fn new(status: c_int, words: impl Into<String>) -> Self {
        Self { status, words: words.into() }
    }

    pub(crate) fn argument(words: impl Into<String>) -> Self {
        Self::new(SEALSTONE_BAD_ARGUMENT, words)
    }

    pub(crate) fn length(name: &str, expected: usize, found: usize) -> Self {
        Self::new(SEALSTONE_WRONG_LENGTH, format!("{name}: expected {expected} bytes, found {found}"))
    }
}

impl From<sealstone_mldsa::Error> for Failure {
    fn from(error: sealstone_mldsa::Error) -> Self {
        use sealstone_mldsa::Error;
        let status = match error {
            Error::BadKey => SEALSTONE_BAD_KEY,
            Error::BadSignature => SEALSTONE_BAD_SIGNATURE,
            Error::ContextTooLong => SEALSTONE_CONTEXT_TOO_LONG,
            Error::RngFailed => SEALSTONE_RNG_FAILED,
            Error::WrongLength { .. } => SEALSTONE_WRONG_LENGTH,
            _ => SEALSTONE_FAULT,
        };
        Self::new(status, error.to_string())
    }
}

/// What is left of an error of sealstone-jose depends on what was read: `malformed` is the number for that.
#[cfg(feature = "jose")]
pub(crate) fn of_jose(malformed: c_int) -> impl Fn(sealstone_jose::Error) -> Failure {
    use sealstone_jose::Error;
    move |error| {
        let status = match &error {
            Error::AlgorithmMismatch { .. } => SEALSTONE_ALGORITHM_MISMATCH,
            Error::AlgorithmUnknown { .. } | Error::KeyTypeUnknown { .. } => SEALSTONE_UNKNOWN_ALGORITHM,
            Error::AmbiguousKey { .. } | Error::UnknownKid { .. } => SEALSTONE_UNKNOWN_KEY,
            Error::AudienceMismatch { .. }
            | Error::ClaimMalformed { .. }
            | Error::ClaimMissing { .. }
            | Error::IssuerMismatch { .. }
            | Error::TypMismatch { .. } => SEALSTONE_CLAIM_REFUSED,
            Error::BadSignature | Error::NoneVerifies { .. } | Error::SignatureLength { .. } => {
                SEALSTONE_BAD_SIGNATURE
            }
            Error::DuplicateKid { .. }
            | Error::KeyMalformed { .. }
            | Error::KeyMismatch { .. }
            | Error::KeyUseRefused { .. }
            | Error::PrivateMember { .. } => SEALSTONE_BAD_KEY,
            Error::Expired { .. } | Error::TooOld { .. } => SEALSTONE_EXPIRED,
            Error::IssuedInFuture { .. } | Error::NotYetValid { .. } => SEALSTONE_NOT_YET_VALID,
            Error::Provider => SEALSTONE_RNG_FAILED,
            _ => malformed,
        };
        Failure::new(status, hinted(&error, error.hint()))
    }
}

#[cfg(feature = "jose")]
impl From<crate::forms::Refused> for Failure {
    fn from(refused: crate::forms::Refused) -> Self {
        use crate::forms::Refused;
        match refused {
            Refused::Engine(error) => Self { status: SEALSTONE_BAD_KEY, ..error.into() },
            Refused::Jose(error) => of_jose(SEALSTONE_BAD_KEY)(error),
            Refused::NotMlDsa { .. } => Self::new(SEALSTONE_UNKNOWN_ALGORITHM, refused.to_string()),
            Refused::NoSeed => Self::new(SEALSTONE_NO_SEED, refused.to_string()),
            Refused::Other(_) => Self::new(SEALSTONE_BAD_KEY, refused.to_string()),
            Refused::Pki(error) => {
                let status = match &error {
                    sealstone_pki::Error::AlgorithmUnknown { .. } => SEALSTONE_UNKNOWN_ALGORITHM,
                    sealstone_pki::Error::NoSeed => SEALSTONE_NO_SEED,
                    _ => SEALSTONE_BAD_KEY,
                };
                Self::new(status, hinted(&error, error.hint()))
            }
        }
    }
}

#[cfg(feature = "jose")]
fn hinted(error: &impl core::fmt::Display, hint: Option<&str>) -> String {
    match hint {
        Some(hint) => format!("{error}; hint: {hint}"),
        None => error.to_string(),
    }
}
