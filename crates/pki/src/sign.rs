//! Keys at work: what signs certificates, requests, lists and messages, and what checks their signatures.
//!
//! ML-DSA signs pure, with an empty context and hedged (RFC 9881 §3). Classical algorithms come from the house's one
//! provider. RSA is checked and never made.
//!
//! ```
//! use sealstone_mldsa::Level;
//! use sealstone_pki::sign::{SigningKey, VerifyingKey};
//! use sealstone_pki::{Error, KeyAlgorithm, PrivateKeyInfo, SignatureAlgorithm, spki};
//!
//! # fn main() -> Result<(), sealstone_pki::Error> {
//! let info = PrivateKeyInfo::new(KeyAlgorithm::MlDsa(Level::MlDsa65), &[7; 32], None)?;
//! let key = SigningKey::from_info(&info)?;
//! assert_eq!(key.algorithm(), SignatureAlgorithm::MlDsa(Level::MlDsa65));
//! let signature = key.sign(b"a message")?;
//!
//! // The other side has the public key, as SubjectPublicKeyInfo or taken apart already.
//! let public = VerifyingKey::from_spki(&spki::to_der(key.public()))?;
//! public.verify(key.algorithm(), b"a message", &signature)?;
//! assert_eq!(public.verify(key.algorithm(), b"another", &signature), Err(Error::BadSignature));
//! let public = VerifyingKey::from_info(key.public())?;
//! public.verify(key.algorithm(), b"a message", &signature)?;
//!
//! assert_eq!(public.algorithm_name(), "ML-DSA-65");
//! assert!(public.is_post_quantum());
//! assert_eq!(public.level(), Some(Level::MlDsa65));
//! # Ok(())
//! # }
//! ```

use core::fmt;
use std::sync::Arc;

use aws_lc_rs::agreement;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    self, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _, ParsedPublicKey,
    RsaPssSaltLength, VerificationAlgorithm,
};
use sealstone_mldsa::{Context, Level, OsRandom, any};

use crate::algorithm::KeyAlgorithm;
use crate::der;
use crate::error::Error;
use crate::pkcs8::{PrivateKeyInfo, Secret};
use crate::rsa;
use crate::signature::{Hash, SignatureAlgorithm};
use crate::spki::{self, PublicKeyInfo};

/// Whatever signs: a [`SigningKey`], a key of two halves, or one that is kept somewhere else.
///
/// ```
/// use std::cell::Cell;
///
/// use sealstone_pki::sign::{Signer, SigningKey};
/// use sealstone_pki::{Error, KeyAlgorithm, PrivateKeyInfo, SignatureAlgorithm, spki, x509};
///
/// /// A key that counts its signatures. One in another process or in a device would be asked in `sign`.
/// struct Counted {
///     key: SigningKey,
///     spki: Vec<u8>,
///     signatures: Cell<u32>,
/// }
///
/// impl Signer for Counted {
///     fn algorithm(&self) -> SignatureAlgorithm {
///         self.key.algorithm()
///     }
///
///     fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
///         self.signatures.set(self.signatures.get() + 1);
///         self.key.sign(message)
///     }
///
///     fn spki(&self) -> &[u8] {
///         &self.spki
///     }
/// }
///
/// # fn main() -> Result<(), sealstone_pki::Error> {
/// let key = SigningKey::from_info(&PrivateKeyInfo::new(KeyAlgorithm::EcP256, &[7; 32], None)?)?;
/// let counted = Counted { spki: spki::to_der(key.public()), key, signatures: Cell::new(0) };
/// let request = x509::Csr::new(&"CN=billing".parse()?, &x509::Profile::default(), &counted)?;
/// request.verify()?;
/// assert_eq!(counted.signatures.get(), 1);
/// # Ok(())
/// # }
/// ```
pub trait Signer {
    /// How it signs.
    fn algorithm(&self) -> SignatureAlgorithm;

    /// Signs a message, all of it.
    ///
    /// # Errors
    /// [`Error::Provider`].
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error>;

    /// Its public key as SubjectPublicKeyInfo in DER.
    fn spki(&self) -> &[u8];
}

/// A private key, ready to sign. Wiped when dropped.
pub struct SigningKey {
    inner: Private,
    public: PublicKeyInfo,
    spki: Vec<u8>,
}

enum Private {
    Ecdsa(Box<EcdsaKeyPair>),
    Ed25519(Box<Ed25519KeyPair>),
    MlDsa(any::ExpandedSigningKey),
}

impl SigningKey {
    /// Takes a private key in whatever form it came; an ML-DSA key without its seed signs too. The public key is
    /// computed, and compared with the one that came beside it.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] for a public key of another private key; [`Error::Provider`].
    pub fn from_info(info: &PrivateKeyInfo) -> Result<Self, Error> {
        let algorithm = info.algorithm();
        let (inner, public) = match (algorithm, info.secret()) {
            (KeyAlgorithm::MlDsa(level), secret) => {
                let key = ml_dsa(level, secret)?;
                let public = key.verifying_key().encode().to_vec();
                (Private::MlDsa(key), public)
            }
            (KeyAlgorithm::Ed25519, Secret::Ed25519Seed(seed)) => {
                let pair =
                    Ed25519KeyPair::from_seed_unchecked(seed.as_slice()).map_err(|_| Error::Provider)?;
                let public = pair.public_key().as_ref().to_vec();
                (Private::Ed25519(Box::new(pair)), public)
            }
            (_, Secret::EcScalar(scalar)) => ecdsa(algorithm, scalar)?,
            _ => return Err(Error::Inconsistent { parts: "the secret is none of its algorithm" }),
        };
        if info.public().is_some_and(|claimed| claimed != public) {
            return Err(Error::Inconsistent { parts: "the public key is not that of the private key" });
        }
        let public = PublicKeyInfo::new(algorithm, &public)?;
        let spki = spki::to_der(&public);
        Ok(Self { inner, public, spki })
    }

    /// The public half.
    pub fn public(&self) -> &PublicKeyInfo {
        &self.public
    }

    /// How it signs: ECDSA with the hash of its curve's size.
    pub fn algorithm(&self) -> SignatureAlgorithm {
        match self.public.algorithm() {
            KeyAlgorithm::EcP256 => SignatureAlgorithm::Ecdsa(Hash::Sha256),
            KeyAlgorithm::EcP384 => SignatureAlgorithm::Ecdsa(Hash::Sha384),
            KeyAlgorithm::EcP521 => SignatureAlgorithm::Ecdsa(Hash::Sha512),
            KeyAlgorithm::Ed25519 => SignatureAlgorithm::Ed25519,
            KeyAlgorithm::MlDsa(level) => SignatureAlgorithm::MlDsa(level),
        }
    }

    /// Signs a message: ML-DSA hedged and with an empty context, ECDSA in DER.
    ///
    /// # Errors
    /// [`Error::Provider`].
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(match &self.inner {
            Private::Ecdsa(pair) => {
                pair.sign(&SystemRandom::new(), message).map_err(|_| Error::Provider)?.as_ref().to_vec()
            }
            Private::Ed25519(pair) => pair.try_sign(message).map_err(|_| Error::Provider)?.as_ref().to_vec(),
            Private::MlDsa(key) => {
                let signature =
                    key.sign(&mut OsRandom, Context::EMPTY, message).map_err(|_| Error::Provider)?;
                signature.encode().to_vec()
            }
        })
    }
}

impl SigningKey {
    /// The engine's key, for messages that come in pieces.
    pub(crate) fn ml_dsa(&self) -> Option<&any::ExpandedSigningKey> {
        match &self.inner {
            Private::MlDsa(key) => Some(key),
            _ => None,
        }
    }
}

impl Signer for SigningKey {
    fn algorithm(&self) -> SignatureAlgorithm {
        self.algorithm()
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        self.sign(message)
    }

    fn spki(&self) -> &[u8] {
        &self.spki
    }
}

/// The algorithm, never the key.
impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("algorithm", &self.algorithm()).finish_non_exhaustive()
    }
}

fn ml_dsa(level: Level, secret: &Secret) -> Result<any::ExpandedSigningKey, Error> {
    match secret {
        Secret::MlDsaSeed(seed) | Secret::MlDsaBoth { seed, .. } => {
            Ok(any::SigningKey::from_seed(level, seed).expand())
        }
        Secret::MlDsaExpanded(expanded) => any::ExpandedSigningKey::decode(level, expanded).map_err(|_| {
            Error::Inconsistent { parts: "the parts of the expanded key do not belong together" }
        }),
        _ => Err(Error::Inconsistent { parts: "the secret is none of its algorithm" }),
    }
}

fn ecdsa(algorithm: KeyAlgorithm, scalar: &[u8]) -> Result<(Private, Vec<u8>), Error> {
    let (curve, signing): (_, &'static EcdsaSigningAlgorithm) = match algorithm {
        KeyAlgorithm::EcP256 => (&agreement::ECDH_P256, &signature::ECDSA_P256_SHA256_ASN1_SIGNING),
        KeyAlgorithm::EcP384 => (&agreement::ECDH_P384, &signature::ECDSA_P384_SHA384_ASN1_SIGNING),
        KeyAlgorithm::EcP521 => (&agreement::ECDH_P521, &signature::ECDSA_P521_SHA512_ASN1_SIGNING),
        _ => return Err(Error::Inconsistent { parts: "the secret is none of its algorithm" }),
    };
    let private = agreement::PrivateKey::from_private_key(curve, scalar).map_err(|_| Error::Provider)?;
    let point = private.compute_public_key().map_err(|_| Error::Provider)?.as_ref().to_vec();
    let pair = EcdsaKeyPair::from_private_key_and_public_key(signing, scalar, &point)
        .map_err(|_| Error::Provider)?;
    Ok((Private::Ecdsa(Box::new(pair)), point))
}

/// A public key, ready to check signatures: expanded once, cheap to clone, shared between threads.
#[derive(Clone)]
pub struct VerifyingKey {
    inner: Arc<Public>,
}

enum Public {
    #[cfg(feature = "composite")]
    Composite(Box<sealstone_composite::PublicKey>),
    Ecdsa(KeyAlgorithm, ParsedPublicKey),
    Ed25519(ParsedPublicKey),
    MlDsa(any::ExpandedVerifyingKey, Level),
    /// RSAPublicKey in DER (RFC 8017 §A.1.1), and how it signs.
    Rsa(Vec<u8>, Padding),
}

/// How an RSA key may sign.
enum Padding {
    /// As it likes.
    Any,
    /// With PSS alone (RFC 4055 §1.2); with this hash and no shorter salt, if its parameters say so (§3.3).
    Pss(Option<(Hash, u16)>),
}

impl VerifyingKey {
    /// Takes a public key.
    ///
    /// # Errors
    /// [`Error::KeyMalformed`] for a point off its curve.
    pub fn from_info(info: &PublicKeyInfo) -> Result<Self, Error> {
        let algorithm = info.algorithm();
        let malformed = Error::KeyMalformed { algorithm: algorithm.name() };
        let parsed = |by: &'static dyn VerificationAlgorithm| {
            ParsedPublicKey::new(by, info.key()).map_err(|_| malformed.clone())
        };
        let inner = match algorithm {
            KeyAlgorithm::Ed25519 => Public::Ed25519(parsed(&signature::ED25519)?),
            KeyAlgorithm::MlDsa(level) => {
                let key = any::VerifyingKey::decode(level, info.key()).map_err(|_| malformed.clone())?;
                Public::MlDsa(key.expand(), level)
            }
            KeyAlgorithm::EcP256 => Public::Ecdsa(algorithm, parsed(&signature::ECDSA_P256_SHA256_ASN1)?),
            KeyAlgorithm::EcP384 => Public::Ecdsa(algorithm, parsed(&signature::ECDSA_P384_SHA384_ASN1)?),
            KeyAlgorithm::EcP521 => Public::Ecdsa(algorithm, parsed(&signature::ECDSA_P521_SHA512_ASN1)?),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Takes a SubjectPublicKeyInfo in DER: also of RSA, from 2048 to 8192 bits and perhaps for PSS alone, and of a composite.
    ///
    /// # Errors
    /// As [`spki::from_der`], and [`Error::KeyMalformed`].
    pub fn from_spki(spki: &[u8]) -> Result<Self, Error> {
        if let Ok(pss) = rsa::pss_public_from_der(spki) {
            let (modulus, exponent) = spki::rsa_numbers(&pss.key)?;
            return Self::rsa(&modulus, &exponent, Padding::Pss(pss.only));
        }
        if let Ok((modulus, exponent)) = spki::rsa_from_der(spki) {
            return Self::rsa(&modulus, &exponent, Padding::Any);
        }
        #[cfg(feature = "composite")]
        if let Some(read) = crate::composite::from_spki_if(spki) {
            return Ok(Self { inner: Arc::new(Public::Composite(Box::new(read?))) });
        }
        Self::from_info(&spki::from_der(spki)?)
    }

    fn rsa(modulus: &[u8], exponent: &[u8], padding: Padding) -> Result<Self, Error> {
        let bits = 8 * modulus.len() - modulus.first().map_or(0, |first| first.leading_zeros() as usize);
        // FIPS 186-5 §A.1.1: odd and above 2^16.
        let odd = exponent.last().is_some_and(|last| last & 1 == 1);
        if !(2048..=8192).contains(&bits) || !odd || exponent.len() < 3 || exponent.len() > 4 {
            return Err(Error::KeyMalformed { algorithm: "RSA, 2048 to 8192 bits" });
        }
        let positive = |number: &[u8]| {
            let sign: &[u8] = if number.first().is_some_and(|byte| *byte >= 0x80) { &[0] } else { &[] };
            der::write(der::INTEGER, &[sign, number])
        };
        let key = der::write(der::SEQUENCE, &[&positive(modulus), &positive(exponent)]).to_vec();
        Ok(Self { inner: Arc::new(Public::Rsa(key, padding)) })
    }

    /// The key's algorithm by name, such as `ML-DSA-65`, `P-256` or `RSA`.
    pub fn algorithm_name(&self) -> &'static str {
        match &*self.inner {
            #[cfg(feature = "composite")]
            Public::Composite(key) => key.algorithm().name(),
            Public::Ecdsa(algorithm, _) => algorithm.name(),
            Public::Ed25519(_) => "Ed25519",
            Public::MlDsa(_, level) => level.name(),
            Public::Rsa(_, Padding::Any) => "RSA",
            Public::Rsa(_, Padding::Pss(_)) => "RSA for PSS alone",
        }
    }

    /// Whether a quantum computer leaves it standing: ML-DSA, alone or as a half.
    pub fn is_post_quantum(&self) -> bool {
        self.level().is_some()
    }

    /// The ML-DSA level of the key, or of its half.
    pub fn level(&self) -> Option<Level> {
        match &*self.inner {
            #[cfg(feature = "composite")]
            Public::Composite(key) => Some(key.algorithm().level()),
            Public::MlDsa(_, level) => Some(*level),
            _ => None,
        }
    }

    /// Checks a signature of a message.
    ///
    /// # Errors
    /// [`Error::AlgorithmMismatch`] if the key cannot have made one by this algorithm; [`Error::BadSignature`] for
    /// every other reason, so that all forgeries look alike.
    pub fn verify(
        &self,
        algorithm: SignatureAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        let bad = |good: bool| if good { Ok(()) } else { Err(Error::BadSignature) };
        match (&*self.inner, algorithm) {
            #[cfg(feature = "composite")]
            (Public::Composite(key), SignatureAlgorithm::Composite(of)) if key.algorithm() == of => {
                bad(key.verify(&[], message, signature).is_ok())
            }
            (Public::Ecdsa(curve, key), SignatureAlgorithm::Ecdsa(hash)) => {
                let by = ecdsa_with(*curve, hash);
                // The parsed key is of the curve's own hash; another hash parses the point again.
                bad(match by {
                    None => key.verify_sig(message, signature).is_ok(),
                    Some(by) => by.verify_sig(key.as_ref(), message, signature).is_ok(),
                })
            }
            (Public::Ed25519(key), SignatureAlgorithm::Ed25519) => {
                bad(key.verify_sig(message, signature).is_ok())
            }
            (Public::MlDsa(key, level), SignatureAlgorithm::MlDsa(of)) if *level == of => {
                let signature = any::Signature::decode(of, signature).map_err(|_| Error::BadSignature)?;
                bad(key.verify(Context::EMPTY, message, &signature).is_ok())
            }
            (Public::Rsa(key, Padding::Any), SignatureAlgorithm::RsaPkcs1(hash)) => {
                let by: &dyn VerificationAlgorithm = match hash {
                    Hash::Sha256 => &signature::RSA_PKCS1_2048_8192_SHA256,
                    Hash::Sha384 => &signature::RSA_PKCS1_2048_8192_SHA384,
                    Hash::Sha512 => &signature::RSA_PKCS1_2048_8192_SHA512,
                };
                bad(by.verify_sig(key, message, signature).is_ok())
            }
            (Public::Rsa(key, padding), SignatureAlgorithm::RsaPss(hash, salt))
                if padding.allows(hash, salt) =>
            {
                let by = match hash {
                    Hash::Sha256 => signature::RSA_PSS_2048_8192_SHA256,
                    Hash::Sha384 => signature::RSA_PSS_2048_8192_SHA384,
                    Hash::Sha512 => signature::RSA_PSS_2048_8192_SHA512,
                };
                let by = by.with_pss_salt_length(RsaPssSaltLength::Custom(salt));
                bad(by.verify_sig(key, message, signature).is_ok())
            }
            _ => Err(Error::AlgorithmMismatch { key: self.algorithm_name(), signature: algorithm.name() }),
        }
    }
}

impl VerifyingKey {
    /// The engine's key, for messages that come in pieces.
    pub(crate) fn ml_dsa(&self) -> Option<(&any::ExpandedVerifyingKey, sealstone_mldsa::Level)> {
        match &*self.inner {
            Public::MlDsa(key, level) => Some((key, *level)),
            _ => None,
        }
    }
}

impl Padding {
    fn allows(&self, hash: Hash, salt: u16) -> bool {
        match self {
            Self::Any | Self::Pss(None) => true,
            Self::Pss(Some((only, least))) => hash == *only && salt >= *least,
        }
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifyingKey").field("algorithm", &self.algorithm_name()).finish_non_exhaustive()
    }
}

/// ECDSA on a curve with a hash that is not the curve's own; `None` for its own.
fn ecdsa_with(curve: KeyAlgorithm, hash: Hash) -> Option<&'static dyn VerificationAlgorithm> {
    Some(match (curve, hash) {
        (KeyAlgorithm::EcP256, Hash::Sha384) => &signature::ECDSA_P256_SHA384_ASN1,
        (KeyAlgorithm::EcP256, Hash::Sha512) => &signature::ECDSA_P256_SHA512_ASN1,
        (KeyAlgorithm::EcP384, Hash::Sha256) => &signature::ECDSA_P384_SHA256_ASN1,
        (KeyAlgorithm::EcP384, Hash::Sha512) => &signature::ECDSA_P384_SHA512_ASN1,
        (KeyAlgorithm::EcP521, Hash::Sha256) => &signature::ECDSA_P521_SHA256_ASN1,
        (KeyAlgorithm::EcP521, Hash::Sha384) => &signature::ECDSA_P521_SHA384_ASN1,
        _ => return None,
    })
}
