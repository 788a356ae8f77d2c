//! The key algorithms, their object identifiers, and the AlgorithmIdentifier that names them (RFC 5280 §4.1.1.2).

use core::fmt;

use sealstone_mldsa::Level;
use zeroize::Zeroizing;

use crate::der::{self, Reader};
use crate::error::Error;

/// id-ecPublicKey, 1.2.840.10045.2.1 (RFC 5480 §2.1.1).
const ID_EC_PUBLIC_KEY: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
/// secp256r1, 1.2.840.10045.3.1.7 (RFC 5480 §2.1.1.1).
const SECP256R1: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
/// secp384r1, 1.3.132.0.34.
const SECP384R1: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x22];
/// secp521r1, 1.3.132.0.35.
const SECP521R1: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x23];
/// id-Ed25519, 1.3.101.112 (RFC 8410 §3).
const ID_ED25519: &[u8] = &[0x2b, 0x65, 0x70];
/// id-ml-dsa-44, 2.16.840.1.101.3.4.3.17 (RFC 9881 §2).
const ID_ML_DSA_44: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03, 0x11];
/// id-ml-dsa-65, 2.16.840.1.101.3.4.3.18.
const ID_ML_DSA_65: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03, 0x12];
/// id-ml-dsa-87, 2.16.840.1.101.3.4.3.19.
const ID_ML_DSA_87: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03, 0x13];

/// What a key is for.
///
/// ```
/// use sealstone_mldsa::Level;
/// use sealstone_pki::KeyAlgorithm;
///
/// let algorithm = KeyAlgorithm::MlDsa(Level::MlDsa65);
/// assert_eq!(algorithm.name(), "ML-DSA-65");
/// assert_eq!(algorithm.public_len(), 1952);
/// assert_eq!(algorithm.secret_len(), 32); // the seed
///
/// // A point is written uncompressed: 04, X and Y.
/// assert_eq!(KeyAlgorithm::EcP384.public_len(), 1 + 2 * 48);
/// assert_eq!(KeyAlgorithm::EcP384.secret_len(), 48);
///
/// let named = KeyAlgorithm::ALL.into_iter().find(|known| known.name() == "Ed25519");
/// assert_eq!(named, Some(KeyAlgorithm::Ed25519));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyAlgorithm {
    /// Elliptic curve P-256 (secp256r1).
    EcP256,
    /// Elliptic curve P-384 (secp384r1).
    EcP384,
    /// Elliptic curve P-521 (secp521r1).
    EcP521,
    /// Ed25519.
    Ed25519,
    /// ML-DSA at this level.
    MlDsa(Level),
}

impl KeyAlgorithm {
    /// Every algorithm.
    pub const ALL: [Self; 7] = [
        Self::EcP256,
        Self::EcP384,
        Self::EcP521,
        Self::Ed25519,
        Self::MlDsa(Level::MlDsa44),
        Self::MlDsa(Level::MlDsa65),
        Self::MlDsa(Level::MlDsa87),
    ];

    /// The name, such as `P-256` or `ML-DSA-65`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::EcP256 => "P-256",
            Self::EcP384 => "P-384",
            Self::EcP521 => "P-521",
            Self::Ed25519 => "Ed25519",
            Self::MlDsa(level) => level.name(),
        }
    }

    /// Bytes of a public key: an ML-DSA or Ed25519 key, or the uncompressed point `04 X Y`.
    pub const fn public_len(self) -> usize {
        match self {
            Self::EcP256 => 65,
            Self::EcP384 => 97,
            Self::EcP521 => 133,
            Self::Ed25519 => 32,
            Self::MlDsa(level) => level.verifying_key_len(),
        }
    }

    /// Bytes of a private key: the ML-DSA or Ed25519 seed, or the scalar in field length.
    pub const fn secret_len(self) -> usize {
        match self {
            Self::EcP256 | Self::Ed25519 | Self::MlDsa(_) => 32,
            Self::EcP384 => 48,
            Self::EcP521 => 66,
        }
    }

    /// The order of the group (SEC 2 §2), big-endian in field length, for a curve with scalars.
    pub(crate) const fn order(self) -> Option<&'static [u8]> {
        match self {
            Self::EcP256 => Some(&P256_ORDER),
            Self::EcP384 => Some(&P384_ORDER),
            Self::EcP521 => Some(&P521_ORDER),
            Self::Ed25519 | Self::MlDsa(_) => None,
        }
    }

    /// Reads an AlgorithmIdentifier. Parameters: a named curve for EC (RFC 5480 §2.1.1), absent for Ed25519
    /// (RFC 8410 §3) and ML-DSA (RFC 9881 §2); NULL is not absent.
    pub(crate) fn read(outer: &mut Reader<'_>) -> Result<Self, Error> {
        let mut fields = outer.take(der::SEQUENCE)?;
        let oid = fields.take(der::OBJECT_IDENTIFIER)?.rest();
        let parameters = fields.offset();
        if oid == ID_EC_PUBLIC_KEY {
            let named = fields.take(der::OBJECT_IDENTIFIER).map_err(|_| Error::Parameters {
                offset: parameters,
                expected: "a named curve",
                found: fields.peek().map_or("nothing".into(), |tag| format!("tag {tag:#04x}")),
            })?;
            fields.end()?;
            return Self::by_curve(named.rest());
        }
        let algorithm = match oid {
            ID_ED25519 => Self::Ed25519,
            ID_ML_DSA_44 => Self::MlDsa(Level::MlDsa44),
            ID_ML_DSA_65 => Self::MlDsa(Level::MlDsa65),
            ID_ML_DSA_87 => Self::MlDsa(Level::MlDsa87),
            other => return Err(crate::signature::unknown(other)),
        };
        match fields.peek() {
            None => Ok(algorithm),
            Some(tag) => Err(Error::Parameters {
                offset: parameters,
                expected: "none",
                found: if tag == 0x05 { "NULL".into() } else { format!("tag {tag:#04x}") },
            }),
        }
    }

    pub(crate) fn write(self) -> Zeroizing<Vec<u8>> {
        let oid = |oid| der::write(der::OBJECT_IDENTIFIER, &[oid]);
        match (self.curve(), self) {
            (Some(curve), _) => der::write(der::SEQUENCE, &[&oid(ID_EC_PUBLIC_KEY), &oid(curve)]),
            (None, Self::MlDsa(Level::MlDsa44)) => der::write(der::SEQUENCE, &[&oid(ID_ML_DSA_44)]),
            (None, Self::MlDsa(Level::MlDsa65)) => der::write(der::SEQUENCE, &[&oid(ID_ML_DSA_65)]),
            (None, Self::MlDsa(Level::MlDsa87)) => der::write(der::SEQUENCE, &[&oid(ID_ML_DSA_87)]),
            (None, _) => der::write(der::SEQUENCE, &[&oid(ID_ED25519)]),
        }
    }

    /// The algorithm of a named curve.
    pub(crate) fn by_curve(oid: &[u8]) -> Result<Self, Error> {
        match oid {
            SECP256R1 => Ok(Self::EcP256),
            SECP384R1 => Ok(Self::EcP384),
            SECP521R1 => Ok(Self::EcP521),
            other => Err(Error::AlgorithmUnknown { oid: der::dotted(other) }),
        }
    }

    const fn curve(self) -> Option<&'static [u8]> {
        match self {
            Self::EcP256 => Some(SECP256R1),
            Self::EcP384 => Some(SECP384R1),
            Self::EcP521 => Some(SECP521R1),
            Self::Ed25519 | Self::MlDsa(_) => None,
        }
    }

    pub(crate) fn check_len(self, part: &'static str, expected: usize, found: usize) -> Result<(), Error> {
        if expected == found {
            Ok(())
        } else {
            Err(Error::KeyLength { algorithm: self, part, expected, found })
        }
    }
}

impl fmt::Display for KeyAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The orders of SEC 2 §2.4.2, §2.5.1 and §2.6.1.
const P256_ORDER: [u8; 32] = hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551");
const P384_ORDER: [u8; 48] =
    hex("ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973");
const P521_ORDER: [u8; 66] = hex(concat!(
    "01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa",
    "51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409",
));

const fn hex<const N: usize>(text: &str) -> [u8; N] {
    const fn nibble(digit: u8) -> u8 {
        if digit.is_ascii_digit() { digit - b'0' } else { digit - b'a' + 10 }
    }
    assert!(text.len() == 2 * N);
    let mut out = [0; N];
    let mut index = 0;
    while index < N {
        out[index] = nibble(text.as_bytes()[2 * index]) << 4 | nibble(text.as_bytes()[2 * index + 1]);
        index += 1;
    }
    out
}
