//! Private keys: PKCS#8 as OneAsymmetricKey, RFC 5958, with the ML-DSA forms of RFC 9881 §6.
//!
//! ```
//! use sealstone_mldsa::Level;
//! use sealstone_pki::pkcs8::{self, Form};
//! use sealstone_pki::{Error, KeyAlgorithm, PrivateKeyInfo};
//!
//! # fn main() -> Result<(), sealstone_pki::Error> {
//! let algorithm = KeyAlgorithm::MlDsa(Level::MlDsa65);
//! let key = PrivateKeyInfo::new(algorithm, &[7; 32], None)?;
//!
//! // A file with the seed, which is all that is needed: 54 bytes.
//! let der = pkcs8::to_der(&key)?;
//! assert_eq!(der.len(), 54);
//! assert_eq!(pkcs8::from_der(&der)?.raw()?, &[7; 32]);
//! let pem = pkcs8::to_pem(&key)?;
//! assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----\n"));
//! assert_eq!(pkcs8::from_pem(&pem)?.algorithm(), algorithm);
//!
//! // For readers that know no seed. What such a file holds can still sign, but its seed is lost.
//! let expanded = pkcs8::from_pem(&pkcs8::to_pem_as(&key, Form::Expanded)?)?;
//! assert_eq!(expanded.secret().form(), "expandedKey");
//! assert_eq!(expanded.public(), key.public());
//! assert_eq!(expanded.raw(), Err(Error::NoSeed));
//!
//! let both = pkcs8::from_der(&pkcs8::to_der_as(&key, Form::Both)?)?;
//! assert_eq!(both.secret().form(), "both");
//! # Ok(())
//! # }
//! ```

use core::fmt;

use sealstone_mldsa::{Level, any};
use zeroize::Zeroizing;

use crate::algorithm::KeyAlgorithm;
use crate::asymmetric::{self, Forms};
use crate::der::{self, Reader};
use crate::error::Error;
use crate::pem;
use crate::sec1;
use crate::spki::PublicKeyInfo;

/// The private part of a key, in the form in which it came.
///
/// It is wiped when dropped.
#[derive(Clone)]
pub enum Secret {
    /// The scalar of an EC key, big-endian in field length.
    EcScalar(Zeroizing<Vec<u8>>),
    /// The seed of an Ed25519 key (RFC 8032 §5.1.5).
    Ed25519Seed(Zeroizing<[u8; 32]>),
    /// The seed of an ML-DSA key, and the expanded key that it gives; that it does has been checked.
    MlDsaBoth {
        /// ξ of FIPS 204, Algorithm 1.
        seed: Zeroizing<[u8; 32]>,
        /// sk of FIPS 204, Algorithm 24.
        expanded: Zeroizing<Vec<u8>>,
    },
    /// An expanded ML-DSA key without its seed: it signs, but it can become neither a JWK nor a seed PKCS#8.
    MlDsaExpanded(Zeroizing<Vec<u8>>),
    /// The seed of an ML-DSA key.
    MlDsaSeed(Zeroizing<[u8; 32]>),
}

impl Secret {
    /// The name of the form: `seed`, `expandedKey`, `both` (RFC 9881 §6) or `scalar`.
    pub const fn form(&self) -> &'static str {
        match self {
            Self::EcScalar(_) => "scalar",
            Self::Ed25519Seed(_) | Self::MlDsaSeed(_) => "seed",
            Self::MlDsaBoth { .. } => "both",
            Self::MlDsaExpanded(_) => "expandedKey",
        }
    }
}

/// The form, never the secret.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({})", self.form())
    }
}

/// A private key and what it is for.
///
/// ```
/// use sealstone_mldsa::Level;
/// use sealstone_pki::{Error, KeyAlgorithm, PrivateKeyInfo, Secret};
///
/// # fn main() -> Result<(), sealstone_pki::Error> {
/// let algorithm = KeyAlgorithm::MlDsa(Level::MlDsa44);
/// let key = PrivateKeyInfo::new(algorithm, &[7; 32], None)?;
/// assert_eq!(key.algorithm(), algorithm);
/// assert!(matches!(key.secret(), Secret::MlDsaSeed(seed) if **seed == [7; 32]));
/// assert_eq!(key.raw()?, &[7; 32]);
/// assert_eq!(key.public().map(<[u8]>::len), Some(1312)); // computed from the seed
///
/// // The public key of another private key does not go with it.
/// let other = PrivateKeyInfo::new(algorithm, &[8; 32], None)?;
/// let mixed = PrivateKeyInfo::new(algorithm, &[7; 32], other.public());
/// assert!(matches!(mixed, Err(Error::Inconsistent { .. })));
///
/// // Nothing of the secret is in its Debug.
/// assert_eq!(format!("{:?}", key.secret()), "Secret(seed)");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PrivateKeyInfo {
    algorithm: KeyAlgorithm,
    secret: Secret,
    public: Option<Vec<u8>>,
}

impl PrivateKeyInfo {
    /// Takes a raw private key of [`KeyAlgorithm::secret_len`] bytes: the ML-DSA or Ed25519 seed, or the scalar of an
    /// EC key. The public key of an ML-DSA key is computed; of the others it is the one given, unchecked.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::ScalarRange`], [`Error::PointForm`], and [`Error::Inconsistent`] if an ML-DSA
    /// public key is given and is another.
    pub fn new(algorithm: KeyAlgorithm, secret: &[u8], public: Option<&[u8]>) -> Result<Self, Error> {
        let secret = match algorithm {
            KeyAlgorithm::MlDsa(_) => Secret::MlDsaSeed(seed(algorithm, secret)?),
            KeyAlgorithm::Ed25519 => Secret::Ed25519Seed(seed(algorithm, secret)?),
            KeyAlgorithm::EcP256 | KeyAlgorithm::EcP384 | KeyAlgorithm::EcP521 => {
                sec1::check_scalar(algorithm, secret)?;
                Secret::EcScalar(Zeroizing::new(secret.to_vec()))
            }
        };
        Self::with_public(algorithm, secret, public)
    }

    /// Takes an ML-DSA key of which only the expanded form is there (FIPS 204, Algorithm 24, skEncode). Its parts are checked
    /// against each other, and the public key is computed.
    ///
    /// ```
    /// use sealstone_mldsa::{Level, any};
    /// use sealstone_pki::{Error, PrivateKeyInfo};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let whole = any::SigningKey::from_seed(Level::MlDsa44, &[7; 32]).expand();
    /// let mut sk = vec![0; Level::MlDsa44.signing_key_len()];
    /// whole.encode(&mut sk)?;
    ///
    /// let key = PrivateKeyInfo::from_expanded(Level::MlDsa44, &sk)?;
    /// assert_eq!(key.secret().form(), "expandedKey");
    /// assert_eq!(key.public(), Some(whole.verifying_key().encode()));
    ///
    /// // A flipped bit makes it another key's, or none's.
    /// sk[100] ^= 1;
    /// assert!(matches!(PrivateKeyInfo::from_expanded(Level::MlDsa44, &sk), Err(Error::Inconsistent { .. })));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::Inconsistent`].
    pub fn from_expanded(level: Level, sk: &[u8]) -> Result<Self, Error> {
        let algorithm = KeyAlgorithm::MlDsa(level);
        Self::with_public(algorithm, Secret::MlDsaExpanded(expanded(algorithm, sk)?), None)
    }

    /// What the key is for.
    pub fn algorithm(&self) -> KeyAlgorithm {
        self.algorithm
    }

    /// The private part, in the form in which it came.
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// The raw private key, as [`new`](Self::new) takes it.
    ///
    /// # Errors
    /// [`Error::NoSeed`] for an ML-DSA key that is only there in expanded form.
    pub fn raw(&self) -> Result<&[u8], Error> {
        match &self.secret {
            Secret::EcScalar(scalar) => Ok(scalar),
            Secret::Ed25519Seed(seed) | Secret::MlDsaSeed(seed) | Secret::MlDsaBoth { seed, .. } => {
                Ok(seed.as_slice())
            }
            Secret::MlDsaExpanded(_) => Err(Error::NoSeed),
        }
    }

    /// The public key: computed for ML-DSA; for the others the one that came with the private key, if one did, and
    /// not yet compared with it.
    pub fn public(&self) -> Option<&[u8]> {
        self.public.as_deref()
    }

    /// Checks the public key that came, where that can be done here, and keeps it.
    fn with_public(algorithm: KeyAlgorithm, secret: Secret, public: Option<&[u8]>) -> Result<Self, Error> {
        if let Some(public) = public {
            PublicKeyInfo::new(algorithm, public)?;
        }
        let computed = match (algorithm, &secret) {
            (KeyAlgorithm::MlDsa(level), Secret::MlDsaSeed(seed) | Secret::MlDsaBoth { seed, .. }) => {
                Some(any::SigningKey::from_seed(level, seed).verifying_key().encode().to_vec())
            }
            (KeyAlgorithm::MlDsa(level), Secret::MlDsaExpanded(expanded)) => {
                Some(decode_expanded(level, expanded)?.verifying_key().encode().to_vec())
            }
            _ => None,
        };
        match (computed, public) {
            (Some(computed), Some(public)) if computed != public => {
                Err(Error::Inconsistent { parts: "the public key is not that of the private key" })
            }
            (Some(computed), _) => Ok(Self { algorithm, secret, public: Some(computed) }),
            (None, public) => Ok(Self { algorithm, secret, public: public.map(<[u8]>::to_vec) }),
        }
    }
}

/// Reads `SEQUENCE { version, AlgorithmIdentifier, OCTET STRING, [0] attributes, [1] public key }`. Attributes are
/// passed over; the public key is there in version 1 (v2) and only then.
///
/// # Errors
/// The first thing that is wrong with it, and where.
pub fn from_der(bytes: &[u8]) -> Result<PrivateKeyInfo, Error> {
    let wrapped = asymmetric::read(bytes, KeyAlgorithm::read)?;
    let (algorithm, mut inner, public) = (wrapped.algorithm, wrapped.private, wrapped.public);
    let (secret, inner_public) = match algorithm {
        KeyAlgorithm::MlDsa(level) => (read_ml_dsa(level, inner)?, None),
        KeyAlgorithm::Ed25519 => {
            let content = inner.take(der::OCTET_STRING)?.rest();
            inner.end()?;
            (Secret::Ed25519Seed(seed(algorithm, content)?), None)
        }
        KeyAlgorithm::EcP256 | KeyAlgorithm::EcP384 | KeyAlgorithm::EcP521 => {
            let key = sec1::read(&mut inner, Some(algorithm))?;
            inner.end()?;
            (Secret::EcScalar(Zeroizing::new(key.scalar.to_vec())), key.public)
        }
    };
    if public.is_some() && inner_public.is_some() && public != inner_public {
        return Err(Error::Inconsistent { parts: "two different public keys" });
    }
    PrivateKeyInfo::with_public(algorithm, secret, public.or(inner_public))
}

/// What of an ML-DSA private key is written: the choice of RFC 9881 §6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// The 32-byte seed: what the RFC recommends, and what everybody should write.
    #[default]
    Seed,
    /// The expanded key alone, for readers that know no seed. There is no way back.
    Expanded,
    /// Both.
    Both,
}

/// Writes version 0, without attributes: the ML-DSA seed (54 bytes, RFC 9881 §6), the Ed25519 seed (RFC 8410 §7), or
/// the ECPrivateKey with its public key if that is known.
///
/// # Errors
/// [`Error::NoSeed`] for an ML-DSA key that is only there in expanded form.
pub fn to_der(info: &PrivateKeyInfo) -> Result<Zeroizing<Vec<u8>>, Error> {
    to_der_as(info, Form::Seed)
}

/// The same with the form of an ML-DSA key chosen; to other keys the form means nothing.
///
/// # Errors
/// [`Error::NoSeed`] where the form holds the seed and the key is only there in expanded form.
pub fn to_der_as(info: &PrivateKeyInfo, form: Form) -> Result<Zeroizing<Vec<u8>>, Error> {
    let inner = match (info.algorithm, &info.secret) {
        (KeyAlgorithm::MlDsa(_), Secret::MlDsaExpanded(sk)) if form == Form::Expanded => {
            asymmetric::write_forms(&Forms::Expanded(sk))
        }
        (KeyAlgorithm::MlDsa(level), _) => ml_dsa(level, info.raw()?, form)?,
        _ => classical(info)?,
    };
    Ok(asymmetric::write(&info.algorithm.write(), &inner))
}

fn ml_dsa(level: Level, seed: &[u8], form: Form) -> Result<Zeroizing<Vec<u8>>, Error> {
    if form == Form::Seed {
        return Ok(asymmetric::write_forms(&Forms::Seed(seed)));
    }
    let inconsistent = |_| Error::Inconsistent { parts: "the seed gives no key" };
    let key = any::SigningKey::try_from_seed(level, seed).map_err(inconsistent)?.expand();
    let mut expanded = Zeroizing::new(vec![0; level.signing_key_len()]);
    key.encode(&mut expanded).map_err(inconsistent)?;
    Ok(asymmetric::write_forms(&match form {
        Form::Both => Forms::Both { seed, expanded: &expanded },
        _ => Forms::Expanded(&expanded),
    }))
}

fn classical(info: &PrivateKeyInfo) -> Result<Zeroizing<Vec<u8>>, Error> {
    let raw = info.raw()?;
    Ok(match info.algorithm {
        KeyAlgorithm::Ed25519 => der::write(der::OCTET_STRING, &[raw]),
        _ => sec1::write(raw, info.public()),
    })
}

/// Reads a PEM block `PRIVATE KEY` (RFC 7468 §10) or `EC PRIVATE KEY` (RFC 5915 §4).
///
/// # Errors
/// [`Error::Encrypted`], or the first thing that is wrong with it, and where.
pub fn from_pem(text: &str) -> Result<PrivateKeyInfo, Error> {
    match pem::decode(text, "PRIVATE KEY or EC PRIVATE KEY")? {
        ("EC PRIVATE KEY", content) => from_sec1_der(&content),
        (_, content) => from_der(&content),
    }
}

/// Writes a PEM block `PRIVATE KEY`.
///
/// # Errors
/// As for [`to_der`].
pub fn to_pem(info: &PrivateKeyInfo) -> Result<Zeroizing<String>, Error> {
    to_pem_as(info, Form::Seed)
}

/// The same with the form of an ML-DSA key chosen.
///
/// # Errors
/// As for [`to_der_as`].
pub fn to_pem_as(info: &PrivateKeyInfo, form: Form) -> Result<Zeroizing<String>, Error> {
    Ok(pem::encode("PRIVATE KEY", &to_der_as(info, form)?))
}

/// Reads an ECPrivateKey that stands alone (RFC 5915 §3) and so must name its curve.
///
/// ```
/// use sealstone_pki::der::{self, Tag};
/// use sealstone_pki::{KeyAlgorithm, pkcs8};
///
/// # fn main() -> Result<(), sealstone_pki::Error> {
/// // As `openssl ecparam -genkey -name prime256v1 -noout -outform DER` writes it, here without the public key.
/// let curve = der::undotted("1.2.840.10045.3.1.7").expect("digits and dots");
/// let curve = der::write(der::OBJECT_IDENTIFIER, &[&curve]);
/// let file = der::write(
///     der::SEQUENCE,
///     &[
///         &der::write(der::INTEGER, &[&[1]]),
///         &der::write(der::OCTET_STRING, &[&[7; 32]]),
///         &der::write(Tag { byte: 0xa0, name: "the curve in [0]" }, &[&curve]),
///     ],
/// );
///
/// let key = pkcs8::from_sec1_der(&file)?;
/// assert_eq!(key.algorithm(), KeyAlgorithm::EcP256);
/// assert_eq!(key.raw()?, &[7; 32]);
/// assert_eq!(key.public(), None); // no arithmetic is done on curves here
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The first thing that is wrong with it, and where.
pub fn from_sec1_der(bytes: &[u8]) -> Result<PrivateKeyInfo, Error> {
    let mut whole = Reader::new(bytes)?;
    let key = sec1::read(&mut whole, None)?;
    whole.end()?;
    PrivateKeyInfo::new(key.algorithm, key.scalar, key.public)
}

/// RFC 9881 §6, and §8.2: what is redundant must agree.
fn read_ml_dsa(level: Level, inner: Reader<'_>) -> Result<Secret, Error> {
    let algorithm = KeyAlgorithm::MlDsa(level);
    Ok(match asymmetric::read_forms(inner)? {
        Forms::Seed(content) => Secret::MlDsaSeed(seed(algorithm, content)?),
        // Its checks are made when the public key is computed from it.
        Forms::Expanded(content) => Secret::MlDsaExpanded(expanded(algorithm, content)?),
        Forms::Both { seed: first, expanded: second } => {
            let (seed, expanded) = (seed(algorithm, first)?, expanded(algorithm, second)?);
            let mut computed = Zeroizing::new(vec![0; level.signing_key_len()]);
            let key = any::SigningKey::from_seed(level, &seed).expand();
            key.encode(&mut computed).map_err(|_| Error::Inconsistent { parts: "the seed gives no key" })?;
            asymmetric::same_key(&computed, &expanded)?;
            Secret::MlDsaBoth { seed, expanded }
        }
    })
}

fn seed(algorithm: KeyAlgorithm, content: &[u8]) -> Result<Zeroizing<[u8; 32]>, Error> {
    algorithm.check_len("private seed", 32, content.len())?;
    let mut seed = Zeroizing::new([0; 32]);
    seed.copy_from_slice(content);
    Ok(seed)
}

fn expanded(algorithm: KeyAlgorithm, content: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
    if let KeyAlgorithm::MlDsa(level) = algorithm {
        algorithm.check_len("expanded private key", level.signing_key_len(), content.len())?;
    }
    Ok(Zeroizing::new(content.to_vec()))
}

/// FIPS 204, Algorithm 25, skDecode, with the checks of RFC 9881 §8.2: ranges of s1 and s2, t0, tr.
fn decode_expanded(level: Level, content: &[u8]) -> Result<any::ExpandedSigningKey, Error> {
    any::ExpandedSigningKey::decode(level, content)
        .map_err(|_| Error::Inconsistent { parts: "the parts of the expanded key do not belong together" })
}
