//! What jwt-pq (a Ruby library, up to 0.6.1) writes and RFC 9964 does not have, so that its users can move. Feature `legacy`.
//!
//! - Private JWKs whose `priv` is the expanded key. They are read into an [`ExpandedKey`], which signs, and has no JWK form: the
//!   seed that RFC 9964 §4 wants cannot be computed back. A PKCS#8 of the form `expandedKey` is no better, and read into the same. Make a new key, and keep the old public one until its tokens are over.
//! - Tokens `EdDSA+ML-DSA-65` and its likes: two signatures of the same bytes, one behind the other, with neither bound to the other.
//!   Whoever takes the Ed25519 half out has a good signature over a token that says otherwise. [`composite`](crate::composite) is
//!   what came instead.
//!
//! ```
//! use sealstone_jose::legacy::{HybridPrivateKey, Level, encode};
//! use sealstone_jose::jws::{Header, Unverified};
//!
//! # fn main() -> Result<(), sealstone_jose::Error> {
//! let key = HybridPrivateKey::generate(Level::MlDsa65)?;
//! let token = encode(&key, &Header::new().typ("JWT"), b"{}")?;
//! let verified = Unverified::parse_hybrid(&token)?.verify_hybrid(key.public())?;
//! assert_eq!(verified.payload(), b"{}");
//! # Ok(())
//! # }
//! ```

use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;
use std::sync::Arc;

pub use sealstone_mldsa::Level;
use sealstone_mldsa::{Context, OsRandom, any};
use zeroize::Zeroizing;

use crate::alg::Algorithm;
use crate::b64;
use crate::error::{Error, check_size, shown};
use crate::json;
use crate::jwk::{Fields, MAX_JWK, Wiped};
use crate::jws::{self, Header, Named, Unverified, Verified};
use crate::key::{PrivateKey, PublicKey};

/// Bytes of the Ed25519 half, which comes first.
const ED25519_LEN: usize = 64;

/// An ML-DSA private key without its seed. It signs, and can be written as PKCS#8 (RFC 9881 §6, `expandedKey`), never as a JWK.
///
/// ```
/// use base64::engine::{Engine as _, general_purpose::URL_SAFE_NO_PAD};
/// use sealstone_jose::legacy::{ExpandedKey, Level};
/// use sealstone_jose::{Algorithm, PrivateKey, jws};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// # let whole = sealstone_mldsa::any::SigningKey::from_seed(Level::MlDsa44, &[7; 32]).expand();
/// # let mut sk = vec![0; Level::MlDsa44.signing_key_len()];
/// # whole.encode(&mut sk).expect("there is room");
/// # let base64 = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
/// # let (public, private) = (base64(whole.verifying_key().encode()), base64(&sk));
/// // A private key as jwt-pq exports it. A reader of RFC 9964 does not take it.
/// let file = format!(r#"{{"kty":"AKP","alg":"ML-DSA-44","pub":"{public}","priv":"{private}"}}"#);
/// assert!(PrivateKey::from_jwk(&file).is_err());
/// let key = ExpandedKey::from_jwk(&file)?;
/// assert_eq!(key.public(), PrivateKey::from_secret(Algorithm::MlDsa44, &[7; 32])?.public());
///
/// // It signs tokens that are as good as any.
/// let token = key.encode(&jws::Header::new().typ("JWT"), b"{}")?;
/// jws::Unverified::parse(&token)?.verify(key.public())?;
///
/// // The same key as bytes.
/// assert_eq!(ExpandedKey::from_bytes(Level::MlDsa44, key.as_bytes())?.public(), key.public());
/// # Ok(())
/// # }
/// ```
pub struct ExpandedKey {
    bytes: Zeroizing<Vec<u8>>,
    signer: any::ExpandedSigningKey,
    public: PublicKey,
}

impl ExpandedKey {
    /// Reads a private JWK of jwt-pq: `alg`, `pub`, and the expanded key as `priv`. Both are checked: that the parts of the
    /// expanded key belong together (its t0, tr and secrets), and that `pub` is what they give.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`]; [`Error::KeyMalformed`], also for a key with its seed, which [`PrivateKey::from_jwk`] reads; what is
    /// wrong with it, by member.
    pub fn from_jwk(text: &str) -> Result<Self, Error> {
        check_size("JWK", MAX_JWK, text.len())?;
        let map = Wiped(json::object("JWK", text.as_bytes())?);
        let fields = Fields { map: &map.0 };
        let algorithm = fields.algorithm()?;
        let Some(level) = algorithm.level() else {
            return Err(Error::KeyTypeUnknown { found: shown(algorithm.name()) });
        };
        fields.check_use("sign")?;
        let public = fields.public_key(algorithm)?;
        let bytes = b64::decode_secret("priv", fields.text("priv")?, level.signing_key_len())?;
        let key = Self::from_bytes(level, &bytes)?;
        if key.public != public {
            return Err(Error::KeyMismatch { member: "pub" });
        }
        Ok(match fields.kid()? {
            Some(kid) => Self { public: key.public.with_kid(kid), ..key },
            None => key,
        })
    }

    /// Takes an expanded key as [`as_bytes`](Self::as_bytes) gives it, such as a PKCS#8 of the form `expandedKey` holds. It is
    /// checked that its parts belong together; the public half is computed.
    ///
    /// # Errors
    /// [`Error::KeyMalformed`].
    pub fn from_bytes(level: Level, sk: &[u8]) -> Result<Self, Error> {
        let signer = any::ExpandedSigningKey::decode(level, sk).map_err(|_| Error::KeyMalformed {
            member: "priv",
            expected: format!("an expanded key of {level}, whose parts belong together"),
            found: "others".into(),
        })?;
        let public = PublicKey::from_public(of_level(level), signer.verifying_key().encode())?;
        Ok(Self { bytes: Zeroizing::new(sk.to_vec()), signer, public })
    }

    /// The expanded key, skEncode (FIPS 204, Algorithm 24).
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The public half, as standard as any.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Signs `payload` into a compact token, which is as standard as any. As [`jws::encode`] does.
    ///
    /// # Errors
    /// Those of [`jws::encode`].
    pub fn encode(&self, header: &Header, payload: &[u8]) -> Result<String, Error> {
        let (name, len) = (self.public.algorithm().name(), self.public.signature_len());
        let token = jws::signing_input(name, len, Some(self.public.kid()), header, payload)?;
        let signature = self.sign(token.as_bytes())?;
        Ok(jws::sealed(token, &signature))
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let signature = self.signer.sign(&mut OsRandom, Context::EMPTY, message);
        Ok(signature.map_err(|_| Error::Provider)?.encode().to_vec())
    }
}

/// The algorithm and the key id, never the key.
impl fmt::Debug for ExpandedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpandedKey").field("public", &self.public).finish_non_exhaustive()
    }
}

/// `EdDSA+ML-DSA-44`, `-65` or `-87`.
///
/// ```
/// use sealstone_jose::legacy::{HybridAlgorithm, Level};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let algorithm: HybridAlgorithm = "EdDSA+ML-DSA-65".parse()?;
/// assert_eq!(algorithm, HybridAlgorithm(Level::MlDsa65));
/// assert_eq!(algorithm.name(), "EdDSA+ML-DSA-65");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HybridAlgorithm(pub Level);

impl HybridAlgorithm {
    /// The `alg` value, which is registered nowhere.
    pub const fn name(self) -> &'static str {
        match self.0 {
            Level::MlDsa44 => "EdDSA+ML-DSA-44",
            Level::MlDsa65 => "EdDSA+ML-DSA-65",
            Level::MlDsa87 => "EdDSA+ML-DSA-87",
        }
    }
}

/// Exact, case included: RFC 7515 §4.1.1.
impl FromStr for HybridAlgorithm {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let known = Level::ALL.into_iter().map(Self).find(|algorithm| algorithm.name() == name);
        known.ok_or_else(|| Error::AlgorithmUnknown { found: shown(name) })
    }
}

impl Named for HybridAlgorithm {
    fn proof_len(self) -> RangeInclusive<usize> {
        let len = ED25519_LEN + self.0.signature_len();
        len..=len
    }

    fn wrong_len(self, _: usize, _: usize) -> Error {
        Error::BadSignature
    }
}

/// Two private keys that sign side by side.
///
/// ```
/// use sealstone_jose::jws::{Header, Unverified};
/// use sealstone_jose::legacy::{ExpandedKey, HybridPrivateKey, HybridPublicKey, Level, encode};
/// use sealstone_jose::{Algorithm, PrivateKey};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// # let whole = sealstone_mldsa::any::SigningKey::from_seed(Level::MlDsa44, &[7; 32]).expand();
/// # let mut sk = vec![0; Level::MlDsa44.signing_key_len()];
/// # whole.encode(&mut sk).expect("there is room");
/// // The two keys of jwt-pq, of which the second has no seed any more.
/// let ed25519 = PrivateKey::generate(Algorithm::Ed25519)?;
/// let ml_dsa = ExpandedKey::from_bytes(Level::MlDsa44, &sk)?;
/// let public = HybridPublicKey::new(ed25519.public().clone(), ml_dsa.public().clone())?;
/// let key = HybridPrivateKey::with_expanded(ed25519.clone(), ml_dsa)?;
/// assert_eq!(public.algorithm().name(), "EdDSA+ML-DSA-44");
///
/// let token = encode(&key, &Header::new(), b"{}")?;
/// Unverified::parse_hybrid(&token)?.verify_hybrid(&public)?;
///
/// // With a seed it is an ordinary key; two of one kind are no hybrid.
/// HybridPrivateKey::new(ed25519.clone(), PrivateKey::generate(Algorithm::MlDsa44)?)?;
/// assert!(HybridPrivateKey::new(ed25519.clone(), ed25519).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct HybridPrivateKey {
    ed25519: PrivateKey,
    ml_dsa: MlDsa,
    public: HybridPublicKey,
}

#[derive(Clone, Debug)]
enum MlDsa {
    Expanded(Arc<ExpandedKey>),
    Whole(PrivateKey),
}

impl HybridPrivateKey {
    /// Makes both from the randomness of the operating system.
    ///
    /// # Errors
    /// [`Error::Provider`] if there is none.
    pub fn generate(level: Level) -> Result<Self, Error> {
        Self::new(PrivateKey::generate(Algorithm::EdDsa)?, PrivateKey::generate(of_level(level))?)
    }

    /// Of an Ed25519 key and an ML-DSA key. Errors: `KeyTypeUnknown` for others.
    pub fn new(ed25519: PrivateKey, ml_dsa: PrivateKey) -> Result<Self, Error> {
        let public = HybridPublicKey::new(ed25519.public().clone(), ml_dsa.public().clone())?;
        Ok(Self { ed25519, ml_dsa: MlDsa::Whole(ml_dsa), public })
    }

    /// Of an Ed25519 key and what jwt-pq has as its ML-DSA key. Errors: `KeyTypeUnknown` for another than an Ed25519 key.
    pub fn with_expanded(ed25519: PrivateKey, ml_dsa: ExpandedKey) -> Result<Self, Error> {
        let public = HybridPublicKey::new(ed25519.public().clone(), ml_dsa.public.clone())?;
        Ok(Self { ed25519, ml_dsa: MlDsa::Expanded(Arc::new(ml_dsa)), public })
    }

    /// The public halves.
    pub fn public(&self) -> &HybridPublicKey {
        &self.public
    }
}

const fn of_level(level: Level) -> Algorithm {
    match level {
        Level::MlDsa44 => Algorithm::MlDsa44,
        Level::MlDsa65 => Algorithm::MlDsa65,
        Level::MlDsa87 => Algorithm::MlDsa87,
    }
}

/// Two public keys, which both must verify.
#[derive(Clone, Debug)]
pub struct HybridPublicKey {
    algorithm: HybridAlgorithm,
    ed25519: PublicKey,
    ml_dsa: PublicKey,
}

impl HybridPublicKey {
    /// Of an Ed25519 key and an ML-DSA key. Errors: `KeyTypeUnknown` for others.
    pub fn new(ed25519: PublicKey, ml_dsa: PublicKey) -> Result<Self, Error> {
        if !Algorithm::EdDsa.accepts(ed25519.algorithm()) {
            return Err(Error::KeyTypeUnknown { found: shown(ed25519.algorithm().name()) });
        }
        let Some(level) = ml_dsa.algorithm().level() else {
            return Err(Error::KeyTypeUnknown { found: shown(ml_dsa.algorithm().name()) });
        };
        Ok(Self { algorithm: HybridAlgorithm(level), ed25519, ml_dsa })
    }

    /// The algorithm that they check.
    pub fn algorithm(&self) -> HybridAlgorithm {
        self.algorithm
    }
}

/// Signs `payload` into a compact token with `pq_alg` in its header and without a key id, as jwt-pq writes it.
///
/// # Errors
/// Those of [`jws::encode`].
pub fn encode(key: &HybridPrivateKey, header: &Header, payload: &[u8]) -> Result<String, Error> {
    let algorithm = key.public.algorithm;
    let header = header.clone().with("pq_alg", key.public.ml_dsa.algorithm().name());
    let (_, len) = algorithm.proof_len().into_inner();
    let token = jws::signing_input(algorithm.name(), len, None, &header, payload)?;
    let second = match &key.ml_dsa {
        MlDsa::Expanded(key) => key.sign(token.as_bytes())?,
        MlDsa::Whole(key) => key.sign(token.as_bytes())?,
    };
    let signature = [key.ed25519.sign(token.as_bytes())?, second].concat();
    Ok(jws::sealed(token, &signature))
}

impl<'t> Unverified<'t, HybridAlgorithm> {
    /// Takes a token of jwt-pq's hybrid kind apart, as [`parse`](Unverified::parse) does a standard one. A `pq_alg` that names
    /// another algorithm than `alg` is refused.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn parse_hybrid(token: &'t str) -> Result<Self, Error> {
        let parsed: Self = jws::take_apart(token)?;
        match parsed.header.get("pq_alg").map(|value| value.as_str()) {
            None => Ok(parsed),
            Some(Some(name)) if name == parsed.header.algorithm().0.name() => Ok(parsed),
            Some(other) => Err(Error::HeaderMalformed {
                member: "pq_alg",
                expected: "the ML-DSA algorithm that `alg` names",
                found: other.map_or_else(|| "no string".into(), shown),
            }),
        }
    }

    /// Checks both signatures, always both.
    ///
    /// # Errors
    /// [`Error::BadSignature`], also if the header names another algorithm.
    pub fn verify_hybrid(self, key: &HybridPublicKey) -> Result<Verified<HybridAlgorithm>, Error> {
        if self.header.algorithm() != key.algorithm {
            return Err(Error::BadSignature);
        }
        let (first, second) = self.signature.split_at(ED25519_LEN);
        let message = self.signing_input.as_bytes();
        let (first, second) = (key.ed25519.verify(message, first), key.ml_dsa.verify(message, second));
        if first.is_ok() & second.is_ok() { Ok(self.proven()) } else { Err(Error::BadSignature) }
    }
}
