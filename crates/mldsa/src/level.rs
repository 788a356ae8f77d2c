//! The parameter set as a value, for callers who learn it at run time.

use crate::fips204::params::{MlDsa44, MlDsa65, MlDsa87, Params};
use core::fmt;
use core::str::FromStr;

/// A parameter set of ML-DSA (FIPS 204, Table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Security category 2.
    MlDsa44,
    /// Security category 3.
    MlDsa65,
    /// Security category 5.
    MlDsa87,
}

macro_rules! of_level {
    ($level:expr, $constant:ident) => {
        match $level {
            Level::MlDsa44 => MlDsa44::$constant,
            Level::MlDsa65 => MlDsa65::$constant,
            Level::MlDsa87 => MlDsa87::$constant,
        }
    };
}

impl Level {
    /// All three, weakest first.
    pub const ALL: [Level; 3] = [Level::MlDsa44, Level::MlDsa65, Level::MlDsa87];

    /// The name in FIPS 204, which is also the JOSE `alg`: `ML-DSA-65`.
    pub const fn name(self) -> &'static str {
        match self {
            Level::MlDsa44 => "ML-DSA-44",
            Level::MlDsa65 => "ML-DSA-65",
            Level::MlDsa87 => "ML-DSA-87",
        }
    }

    /// Bytes of an encoded verifying key: 1312, 1952 or 2592.
    pub const fn verifying_key_len(self) -> usize {
        of_level!(self, PK_LEN)
    }

    /// Bytes of an encoded expanded signing key: 2560, 4032 or 4896.
    pub const fn signing_key_len(self) -> usize {
        of_level!(self, SK_LEN)
    }

    /// Bytes of a signature: 2420, 3309 or 4627.
    pub const fn signature_len(self) -> usize {
        of_level!(self, SIG_LEN)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The text names no parameter set of FIPS 204.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownLevel;

impl fmt::Display for UnknownLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected ML-DSA-44, ML-DSA-65 or ML-DSA-87")
    }
}

impl core::error::Error for UnknownLevel {}

impl FromStr for Level {
    type Err = UnknownLevel;
    fn from_str(name: &str) -> Result<Self, UnknownLevel> {
        Level::ALL.into_iter().find(|level| level.name() == name).ok_or(UnknownLevel)
    }
}
