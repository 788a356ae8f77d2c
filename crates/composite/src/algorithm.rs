//! What the drafts say of each algorithm: tables 2 to 4 and section 6 of draft-ietf-lamps-pq-composite-sigs-19, section 4 of
//! draft-ietf-jose-pq-composite-sigs-04.

use core::fmt;

use sealstone_mldsa::Level;

/// A pair of an ML-DSA level and a classical algorithm.
///
/// ```
/// use sealstone_composite::Algorithm;
/// use sealstone_mldsa::Level;
///
/// let algorithm = Algorithm::MlDsa65EcdsaP256;
/// assert_eq!(algorithm.name(), "MLDSA65-ECDSA-P256-SHA512");
/// assert_eq!(algorithm.jose_name(), Some("ML-DSA-65-ES256"));
/// assert_eq!(algorithm.oid_arc(), 45); // 1.3.6.1.5.5.7.6.45
/// assert_eq!(algorithm.level(), Level::MlDsa65);
///
/// // Both halves, one behind the other: an ML-DSA key and an uncompressed point; a seed and an ECPrivateKey.
/// assert_eq!(algorithm.public_len(), 1952 + 65);
/// assert_eq!(algorithm.secret_len(), 32 + 51);
/// // ECDSA signatures in DER vary in length, those of Ed25519 do not.
/// assert_eq!(algorithm.signature_max(), 3309 + 72);
/// assert!(algorithm.signature_min() < algorithm.signature_max());
/// assert_eq!(Algorithm::MlDsa65Ed25519.signature_min(), 3309 + 64);
/// assert_eq!(Algorithm::MlDsa65Ed25519.signature_max(), 3309 + 64);
///
/// // Found by the name that a token has.
/// let named = Algorithm::ALL.into_iter().find(|known| known.jose_name() == Some("ML-DSA-87-Ed448"));
/// assert_eq!(named, Some(Algorithm::MlDsa87Ed448));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// id-MLDSA44-RSA2048-PSS-SHA256; JOSE has no name for it.
    MlDsa44Rsa2048Pss,
    /// id-MLDSA44-RSA2048-PKCS15-SHA256; JOSE has no name for it.
    MlDsa44Rsa2048Pkcs15,
    /// `ML-DSA-44-Ed25519`, id-MLDSA44-Ed25519-SHA512.
    MlDsa44Ed25519,
    /// `ML-DSA-44-ES256`, id-MLDSA44-ECDSA-P256-SHA256.
    MlDsa44EcdsaP256,
    /// id-MLDSA65-RSA3072-PSS-SHA512; JOSE has no name for it.
    MlDsa65Rsa3072Pss,
    /// id-MLDSA65-RSA3072-PKCS15-SHA512; JOSE has no name for it.
    MlDsa65Rsa3072Pkcs15,
    /// id-MLDSA65-RSA4096-PSS-SHA512; JOSE has no name for it.
    MlDsa65Rsa4096Pss,
    /// id-MLDSA65-RSA4096-PKCS15-SHA512; JOSE has no name for it.
    MlDsa65Rsa4096Pkcs15,
    /// `ML-DSA-65-ES256`, id-MLDSA65-ECDSA-P256-SHA512.
    MlDsa65EcdsaP256,
    /// id-MLDSA65-ECDSA-P384-SHA512; JOSE has no name for it.
    MlDsa65EcdsaP384,
    /// `ML-DSA-65-Ed25519`, id-MLDSA65-Ed25519-SHA512.
    MlDsa65Ed25519,
    /// `ML-DSA-87-ES384`, id-MLDSA87-ECDSA-P384-SHA512.
    MlDsa87EcdsaP384,
    /// `ML-DSA-87-Ed448`, id-MLDSA87-Ed448-SHAKE256.
    MlDsa87Ed448,
    /// id-MLDSA87-RSA3072-PSS-SHA512; JOSE has no name for it.
    MlDsa87Rsa3072Pss,
    /// id-MLDSA87-RSA4096-PSS-SHA512; JOSE has no name for it.
    MlDsa87Rsa4096Pss,
    /// id-MLDSA87-ECDSA-P521-SHA512; JOSE has no name for it.
    MlDsa87EcdsaP521,
}

/// The classical half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Classical {
    Ec(Curve),
    Ed25519,
    Ed448,
    Rsa(Modulus, Padding),
}

/// A curve, with the hash that goes with it: SHA-256, SHA-384, SHA-512.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Curve {
    P256,
    P384,
    P521,
}

/// Bits of an RSA key's modulus, and the hash that goes with it: SHA-256, SHA-256, SHA-384.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Modulus {
    Rsa2048,
    Rsa3072,
    Rsa4096,
}

/// How RSA signs, RFC 8017: PSS with MGF1 over the modulus' hash and a salt of its length, or PKCS#1 v1.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Padding {
    Pss,
    Pkcs15,
}

/// What a message is hashed with before it is signed: 32, 64 and 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PreHash {
    Sha256,
    Sha512,
    Shake256,
}

impl Algorithm {
    /// Every algorithm, in the order of their object identifiers.
    pub const ALL: [Self; 16] = [
        Self::MlDsa44Rsa2048Pss,
        Self::MlDsa44Rsa2048Pkcs15,
        Self::MlDsa44Ed25519,
        Self::MlDsa44EcdsaP256,
        Self::MlDsa65Rsa3072Pss,
        Self::MlDsa65Rsa3072Pkcs15,
        Self::MlDsa65Rsa4096Pss,
        Self::MlDsa65Rsa4096Pkcs15,
        Self::MlDsa65EcdsaP256,
        Self::MlDsa65EcdsaP384,
        Self::MlDsa65Ed25519,
        Self::MlDsa87EcdsaP384,
        Self::MlDsa87Ed448,
        Self::MlDsa87Rsa3072Pss,
        Self::MlDsa87Rsa4096Pss,
        Self::MlDsa87EcdsaP521,
    ];

    /// The name of the LAMPS draft, without its `id-`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MlDsa44Rsa2048Pss => "MLDSA44-RSA2048-PSS-SHA256",
            Self::MlDsa44Rsa2048Pkcs15 => "MLDSA44-RSA2048-PKCS15-SHA256",
            Self::MlDsa65Rsa3072Pss => "MLDSA65-RSA3072-PSS-SHA512",
            Self::MlDsa65Rsa3072Pkcs15 => "MLDSA65-RSA3072-PKCS15-SHA512",
            Self::MlDsa65Rsa4096Pss => "MLDSA65-RSA4096-PSS-SHA512",
            Self::MlDsa65Rsa4096Pkcs15 => "MLDSA65-RSA4096-PKCS15-SHA512",
            Self::MlDsa87Rsa3072Pss => "MLDSA87-RSA3072-PSS-SHA512",
            Self::MlDsa87Rsa4096Pss => "MLDSA87-RSA4096-PSS-SHA512",
            Self::MlDsa44Ed25519 => "MLDSA44-Ed25519-SHA512",
            Self::MlDsa44EcdsaP256 => "MLDSA44-ECDSA-P256-SHA256",
            Self::MlDsa65EcdsaP256 => "MLDSA65-ECDSA-P256-SHA512",
            Self::MlDsa65EcdsaP384 => "MLDSA65-ECDSA-P384-SHA512",
            Self::MlDsa65Ed25519 => "MLDSA65-Ed25519-SHA512",
            Self::MlDsa87EcdsaP384 => "MLDSA87-ECDSA-P384-SHA512",
            Self::MlDsa87Ed448 => "MLDSA87-Ed448-SHAKE256",
            Self::MlDsa87EcdsaP521 => "MLDSA87-ECDSA-P521-SHA512",
        }
    }

    /// The `alg` of the JOSE draft, for the six that have one.
    pub const fn jose_name(self) -> Option<&'static str> {
        match self {
            Self::MlDsa44Ed25519 => Some("ML-DSA-44-Ed25519"),
            Self::MlDsa44EcdsaP256 => Some("ML-DSA-44-ES256"),
            Self::MlDsa65EcdsaP256 => Some("ML-DSA-65-ES256"),
            Self::MlDsa65Ed25519 => Some("ML-DSA-65-Ed25519"),
            Self::MlDsa87EcdsaP384 => Some("ML-DSA-87-ES384"),
            Self::MlDsa87Ed448 => Some("ML-DSA-87-Ed448"),
            _ => None,
        }
    }

    /// The last arc of the object identifier 1.3.6.1.5.5.7.6.n.
    pub const fn oid_arc(self) -> u8 {
        match self {
            Self::MlDsa44Rsa2048Pss => 37,
            Self::MlDsa44Rsa2048Pkcs15 => 38,
            Self::MlDsa65Rsa3072Pss => 41,
            Self::MlDsa65Rsa3072Pkcs15 => 42,
            Self::MlDsa65Rsa4096Pss => 43,
            Self::MlDsa65Rsa4096Pkcs15 => 44,
            Self::MlDsa87Rsa3072Pss => 52,
            Self::MlDsa87Rsa4096Pss => 53,
            Self::MlDsa44Ed25519 => 39,
            Self::MlDsa44EcdsaP256 => 40,
            Self::MlDsa65EcdsaP256 => 45,
            Self::MlDsa65EcdsaP384 => 46,
            Self::MlDsa65Ed25519 => 48,
            Self::MlDsa87EcdsaP384 => 49,
            Self::MlDsa87Ed448 => 51,
            Self::MlDsa87EcdsaP521 => 54,
        }
    }

    /// The ML-DSA parameter set.
    pub const fn level(self) -> Level {
        match self {
            Self::MlDsa44Rsa2048Pss
            | Self::MlDsa44Rsa2048Pkcs15
            | Self::MlDsa44Ed25519
            | Self::MlDsa44EcdsaP256 => Level::MlDsa44,
            Self::MlDsa65Rsa3072Pss
            | Self::MlDsa65Rsa3072Pkcs15
            | Self::MlDsa65Rsa4096Pss
            | Self::MlDsa65Rsa4096Pkcs15
            | Self::MlDsa65EcdsaP256
            | Self::MlDsa65EcdsaP384
            | Self::MlDsa65Ed25519 => Level::MlDsa65,
            Self::MlDsa87EcdsaP384
            | Self::MlDsa87Ed448
            | Self::MlDsa87Rsa3072Pss
            | Self::MlDsa87Rsa4096Pss
            | Self::MlDsa87EcdsaP521 => Level::MlDsa87,
        }
    }

    /// Bytes of a public key.
    pub const fn public_len(self) -> usize {
        self.level().verifying_key_len() + self.classical().public_len()
    }

    /// Bytes of a private key: the ML-DSA seed, and the classical key as the drafts write it. With RSA the length varies by some
    /// bytes, and this is the most.
    pub const fn secret_len(self) -> usize {
        sealstone_mldsa::SEED_LEN + self.classical().secret_len()
    }

    /// Most bytes of a signature; with ECDSA the length varies, with the others all have this one.
    pub const fn signature_max(self) -> usize {
        self.level().signature_len() + self.classical().signature_max()
    }

    /// Fewest bytes of a signature.
    pub const fn signature_min(self) -> usize {
        self.level().signature_len()
            + match self.classical() {
                // SEQUENCE of two INTEGERs of one byte.
                Classical::Ec(_) => 8,
                other => other.signature_max(),
            }
    }

    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::MlDsa44Rsa2048Pss => "COMPSIG-MLDSA44-RSA2048-PSS-SHA256",
            Self::MlDsa44Rsa2048Pkcs15 => "COMPSIG-MLDSA44-RSA2048-PKCS15-SHA256",
            Self::MlDsa65Rsa3072Pss => "COMPSIG-MLDSA65-RSA3072-PSS-SHA512",
            Self::MlDsa65Rsa3072Pkcs15 => "COMPSIG-MLDSA65-RSA3072-PKCS15-SHA512",
            Self::MlDsa65Rsa4096Pss => "COMPSIG-MLDSA65-RSA4096-PSS-SHA512",
            Self::MlDsa65Rsa4096Pkcs15 => "COMPSIG-MLDSA65-RSA4096-PKCS15-SHA512",
            Self::MlDsa87Rsa3072Pss => "COMPSIG-MLDSA87-RSA3072-PSS-SHA512",
            Self::MlDsa87Rsa4096Pss => "COMPSIG-MLDSA87-RSA4096-PSS-SHA512",
            Self::MlDsa44Ed25519 => "COMPSIG-MLDSA44-Ed25519-SHA512",
            Self::MlDsa44EcdsaP256 => "COMPSIG-MLDSA44-ECDSA-P256-SHA256",
            Self::MlDsa65EcdsaP256 => "COMPSIG-MLDSA65-ECDSA-P256-SHA512",
            Self::MlDsa65EcdsaP384 => "COMPSIG-MLDSA65-ECDSA-P384-SHA512",
            Self::MlDsa65Ed25519 => "COMPSIG-MLDSA65-Ed25519-SHA512",
            Self::MlDsa87EcdsaP384 => "COMPSIG-MLDSA87-ECDSA-P384-SHA512",
            Self::MlDsa87Ed448 => "COMPSIG-MLDSA87-Ed448-SHAKE256",
            Self::MlDsa87EcdsaP521 => "COMPSIG-MLDSA87-ECDSA-P521-SHA512",
        }
    }

    pub(crate) const fn classical(self) -> Classical {
        match self {
            Self::MlDsa44Ed25519 | Self::MlDsa65Ed25519 => Classical::Ed25519,
            Self::MlDsa44EcdsaP256 | Self::MlDsa65EcdsaP256 => Classical::Ec(Curve::P256),
            Self::MlDsa65EcdsaP384 | Self::MlDsa87EcdsaP384 => Classical::Ec(Curve::P384),
            Self::MlDsa87EcdsaP521 => Classical::Ec(Curve::P521),
            Self::MlDsa87Ed448 => Classical::Ed448,
            Self::MlDsa44Rsa2048Pss => Classical::Rsa(Modulus::Rsa2048, Padding::Pss),
            Self::MlDsa44Rsa2048Pkcs15 => Classical::Rsa(Modulus::Rsa2048, Padding::Pkcs15),
            Self::MlDsa65Rsa3072Pss | Self::MlDsa87Rsa3072Pss => {
                Classical::Rsa(Modulus::Rsa3072, Padding::Pss)
            }
            Self::MlDsa65Rsa3072Pkcs15 => Classical::Rsa(Modulus::Rsa3072, Padding::Pkcs15),
            Self::MlDsa65Rsa4096Pss | Self::MlDsa87Rsa4096Pss => {
                Classical::Rsa(Modulus::Rsa4096, Padding::Pss)
            }
            Self::MlDsa65Rsa4096Pkcs15 => Classical::Rsa(Modulus::Rsa4096, Padding::Pkcs15),
        }
    }

    pub(crate) const fn pre_hash(self) -> PreHash {
        match self {
            Self::MlDsa44EcdsaP256 | Self::MlDsa44Rsa2048Pss | Self::MlDsa44Rsa2048Pkcs15 => PreHash::Sha256,
            Self::MlDsa87Ed448 => PreHash::Shake256,
            _ => PreHash::Sha512,
        }
    }
}

/// The name.
impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Classical {
    const fn public_len(self) -> usize {
        match self {
            Self::Ec(curve) => 1 + 2 * curve.field_len(),
            Self::Ed25519 => 32,
            Self::Ed448 => 57,
            // Before, the numbers' headers and signs, modulus, behind: see `around_public`.
            Self::Rsa(modulus, _) => 9 + modulus.len() + 5,
        }
    }

    const fn secret_len(self) -> usize {
        match self {
            Self::Ec(curve) => {
                curve.around_secret().0.len() + curve.field_len() + curve.around_secret().1.len()
            }
            Self::Ed25519 => 32,
            Self::Ed448 => 57,
            Self::Rsa(modulus, _) => modulus.secret_max(),
        }
    }

    /// ECDSA: a SEQUENCE of two INTEGERs (RFC 3279, 2.2.3).
    const fn signature_max(self) -> usize {
        match self {
            Self::Ec(Curve::P256) => 72,
            Self::Ec(Curve::P384) => 104,
            Self::Ec(Curve::P521) => 139,
            Self::Ed25519 => 64,
            Self::Ed448 => 114,
            Self::Rsa(modulus, _) => modulus.len(),
        }
    }
}

impl Modulus {
    /// Bytes.
    pub(crate) const fn len(self) -> usize {
        match self {
            Self::Rsa2048 => 256,
            Self::Rsa3072 => 384,
            Self::Rsa4096 => 512,
        }
    }

    /// What stands before and behind the modulus in an RSAPublicKey (RFC 8017 §A.1.1) whose exponent is 65537.
    pub(crate) const fn around_public(self) -> (&'static [u8], &'static [u8]) {
        let before: &[u8] = match self {
            Self::Rsa2048 => &[0x30, 0x82, 0x01, 0x0a, 0x02, 0x82, 0x01, 0x01, 0x00],
            Self::Rsa3072 => &[0x30, 0x82, 0x01, 0x8a, 0x02, 0x82, 0x01, 0x81, 0x00],
            Self::Rsa4096 => &[0x30, 0x82, 0x02, 0x0a, 0x02, 0x82, 0x02, 0x01, 0x00],
        };
        (before, &[0x02, 0x03, 0x01, 0x00, 0x01])
    }

    /// Most bytes of an RSAPrivateKey (RFC 8017 §A.1.2): version, modulus and private exponent, public exponent, and five numbers of
    /// half the length, each with a first bit of one.
    const fn secret_max(self) -> usize {
        let half = self.len() / 2 + 1 + if self.len() < 512 { 3 } else { 4 };
        4 + 3 + 2 * (4 + self.len() + 1) + 5 + 5 * half
    }
}

impl Curve {
    pub(crate) const fn field_len(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
            Self::P521 => 66,
        }
    }

    /// What stands before and behind the scalar in an ECPrivateKey (RFC 5915) with parameters and without the public key.
    pub(crate) const fn around_secret(self) -> (&'static [u8], &'static [u8]) {
        match self {
            Self::P256 => (
                &[0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20],
                &[0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07],
            ),
            Self::P384 => (
                &[0x30, 0x3e, 0x02, 0x01, 0x01, 0x04, 0x30],
                &[0xa0, 0x07, 0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22],
            ),
            Self::P521 => (
                &[0x30, 0x50, 0x02, 0x01, 0x01, 0x04, 0x42],
                &[0xa0, 0x07, 0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23],
            ),
        }
    }
}
