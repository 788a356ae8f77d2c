//! The signature algorithms: their names, sizes and key types. Knows nothing of JSON or of keys.

use core::fmt;
use core::str::FromStr;

use sealstone_mldsa::Level;

use crate::error::{Error, shown};

/// A JWS signature algorithm.
///
/// `EdDsa` and `Ed25519` are two names of one computation: RFC 8037 §3.1 named it `EdDSA`, RFC 9864 §2.2 named it
/// `Ed25519` and deprecated the first.
///
/// ```
/// use sealstone_jose::Algorithm;
/// use sealstone_mldsa::Level;
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let algorithm: Algorithm = "ML-DSA-65".parse()?;
/// assert_eq!(algorithm, Algorithm::MlDsa65);
/// assert_eq!(algorithm.name(), "ML-DSA-65");
/// assert_eq!(algorithm.level(), Some(Level::MlDsa65));
/// assert_eq!(algorithm.public_len(), Some(1952));
/// assert_eq!(algorithm.secret_len(), Some(32)); // the seed
/// assert_eq!(algorithm.signature_len(), Some(3309));
///
/// // RSA keys have sizes of their own.
/// assert_eq!(Algorithm::Ps256.signature_len(), None);
///
/// // One computation with two names; nothing else is mixed.
/// assert!(Algorithm::Ed25519.accepts(Algorithm::EdDsa));
/// assert!(!Algorithm::Rs256.accepts(Algorithm::Ps256));
///
/// // A name is exact, and `none` is none.
/// assert!("ml-dsa-65".parse::<Algorithm>().is_err());
/// assert!("none".parse::<Algorithm>().is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// `EdDSA` over the curve Ed25519, the name of RFC 8037 §3.1.
    EdDsa,
    /// `Ed25519`, the fully specified name of RFC 9864 §2.2.
    Ed25519,
    /// `ES256`: ECDSA on P-256 with SHA-256, RFC 7518 §3.4.
    Es256,
    /// `ES384`: ECDSA on P-384 with SHA-384, RFC 7518 §3.4.
    Es384,
    /// `ES512`: ECDSA on P-521 with SHA-512, RFC 7518 §3.4.
    Es512,
    /// `ML-DSA-44`, RFC 9964 §5.
    MlDsa44,
    /// `ML-DSA-65`, RFC 9964 §5.
    MlDsa65,
    /// `ML-DSA-87`, RFC 9964 §5.
    MlDsa87,
    /// `PS256`: RSASSA-PSS with SHA-256, RFC 7518 §3.5.
    Ps256,
    /// `RS256`: RSASSA-PKCS1-v1_5 with SHA-256, RFC 7518 §3.3.
    Rs256,
}

impl Algorithm {
    /// Every algorithm, in the order of their names.
    pub const ALL: [Self; 10] = [
        Self::EdDsa,
        Self::Ed25519,
        Self::Es256,
        Self::Es384,
        Self::Es512,
        Self::MlDsa44,
        Self::MlDsa65,
        Self::MlDsa87,
        Self::Ps256,
        Self::Rs256,
    ];

    /// The registered `alg` value.
    pub const fn name(self) -> &'static str {
        match self {
            Self::EdDsa => "EdDSA",
            Self::Ed25519 => "Ed25519",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Es512 => "ES512",
            Self::MlDsa44 => "ML-DSA-44",
            Self::MlDsa65 => "ML-DSA-65",
            Self::MlDsa87 => "ML-DSA-87",
            Self::Ps256 => "PS256",
            Self::Rs256 => "RS256",
        }
    }

    /// Bytes of a signature: always the same for one algorithm (ECDSA: r and s, each of field length), but for RSA, where
    /// each key has its own ([`PublicKey::signature_len`](crate::PublicKey::signature_len)).
    pub const fn signature_len(self) -> Option<usize> {
        match self.family() {
            Family::Ec(curve) => Some(2 * curve.field_len()),
            Family::Ed25519 => Some(64),
            Family::MlDsa(level) => Some(level.signature_len()),
            Family::Rsa(_) => None,
        }
    }

    /// Bytes of a raw public key: the ML-DSA key, the Ed25519 key, or the uncompressed point `04 X Y`. RSA keys differ.
    pub const fn public_len(self) -> Option<usize> {
        match self.family() {
            Family::Ec(curve) => Some(1 + 2 * curve.field_len()),
            Family::Ed25519 => Some(32),
            Family::MlDsa(level) => Some(level.verifying_key_len()),
            Family::Rsa(_) => None,
        }
    }

    /// Bytes of a raw private key: the ML-DSA or Ed25519 seed, or the scalar in field length. RSA keys differ.
    pub const fn secret_len(self) -> Option<usize> {
        match self.family() {
            Family::Ec(curve) => Some(curve.field_len()),
            Family::Ed25519 | Family::MlDsa(_) => Some(32),
            Family::Rsa(_) => None,
        }
    }

    /// The ML-DSA parameter set, where there is one.
    pub const fn level(self) -> Option<Level> {
        match self.family() {
            Family::MlDsa(level) => Some(level),
            Family::Ec(_) | Family::Ed25519 | Family::Rsa(_) => None,
        }
    }

    /// Whether a key of this algorithm checks a signature that names `token`: its own, and between the two names of
    /// Ed25519 also the other.
    pub const fn accepts(self, token: Self) -> bool {
        self as u8 == token as u8
            || (matches!(self.family(), Family::Ed25519) && matches!(token.family(), Family::Ed25519))
    }

    pub(crate) const fn family(self) -> Family {
        match self {
            Self::EdDsa | Self::Ed25519 => Family::Ed25519,
            Self::Es256 => Family::Ec(Curve::P256),
            Self::Es384 => Family::Ec(Curve::P384),
            Self::Es512 => Family::Ec(Curve::P521),
            Self::MlDsa44 => Family::MlDsa(Level::MlDsa44),
            Self::MlDsa65 => Family::MlDsa(Level::MlDsa65),
            Self::MlDsa87 => Family::MlDsa(Level::MlDsa87),
            Self::Ps256 => Family::Rsa(Padding::Pss),
            Self::Rs256 => Family::Rsa(Padding::Pkcs1),
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Exact, case included: RFC 7515 §4.1.1.
impl FromStr for Algorithm {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|alg| alg.name() == name)
            .ok_or_else(|| Error::AlgorithmUnknown { found: shown(name) })
    }
}

/// What kind of key an algorithm needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    Ec(Curve),
    Ed25519,
    MlDsa(Level),
    Rsa(Padding),
}

impl Family {
    /// `kty`: RFC 7518 §6.1, RFC 8037 §2, RFC 9964 §3.
    pub(crate) const fn kty(self) -> &'static str {
        match self {
            Self::Ec(_) => "EC",
            Self::Ed25519 => "OKP",
            Self::MlDsa(_) => "AKP",
            Self::Rsa(_) => "RSA",
        }
    }
}

/// How RSA signs a hash: RFC 8017 §8.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Padding {
    Pkcs1,
    Pss,
}

/// The curves of RFC 7518 §6.2.1.1.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Curve {
    P256,
    P384,
    P521,
}

impl Curve {
    /// `crv`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::P256 => "P-256",
            Self::P384 => "P-384",
            Self::P521 => "P-521",
        }
    }

    /// Bytes of a coordinate and of a scalar.
    pub(crate) const fn field_len(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
            Self::P521 => 66,
        }
    }

    pub(crate) const fn algorithm(self) -> Algorithm {
        match self {
            Self::P256 => Algorithm::Es256,
            Self::P384 => Algorithm::Es384,
            Self::P521 => Algorithm::Es512,
        }
    }

    pub(crate) fn by_name(name: &str) -> Option<Self> {
        [Self::P256, Self::P384, Self::P521].into_iter().find(|curve| curve.name() == name)
    }
}
