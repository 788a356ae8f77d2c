//! Keys that sign and verify: the algorithm lives in the key. How a key looks in JSON is in `jwk.rs`.

mod batch;

use core::fmt;
use std::sync::{Arc, OnceLock};

use aws_lc_rs::encoding::{AsBigEndian as _, AsDer as _};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    self, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _, ParsedPublicKey, RsaEncoding,
    RsaKeyPair, VerificationAlgorithm,
};
use aws_lc_rs::{agreement, digest};
use sealstone_mldsa::{Context, MuHasher, OsRandom, Randomness as _, any};
use zeroize::Zeroizing;

use crate::alg::{Algorithm, Curve, Family, Padding};
use crate::cose::Kid;
use crate::error::Error;
use crate::{jwk, rsa};

/// A key that signs. Cloning shares it; dropping the last clone wipes it.
///
/// An ML-DSA key is held expanded (tens of kilobytes), so that each signature costs only the signature.
///
/// ```
/// use sealstone_jose::{Algorithm, Error, PrivateKey};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let key = PrivateKey::generate(Algorithm::MlDsa65)?.with_kid("2026-11");
/// assert_eq!((key.algorithm(), key.kid()), (Algorithm::MlDsa65, "2026-11"));
/// key.public().verify(b"a message", &key.sign(b"a message")?)?;
///
/// // Its seed is all there is to keep.
/// let seed = key.secret();
/// let again = PrivateKey::from_secret(Algorithm::MlDsa65, &seed)?;
/// assert_eq!(again.public(), key.public());
///
/// // If the public half is kept beside it, the two are compared.
/// PrivateKey::from_secret_and_public(Algorithm::MlDsa65, &seed, key.public().as_bytes())?;
/// let other = PrivateKey::generate(Algorithm::MlDsa65)?;
/// let mixed = PrivateKey::from_secret_and_public(Algorithm::MlDsa65, &seed, other.public().as_bytes());
/// assert!(matches!(mixed, Err(Error::KeyMismatch { .. })));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PrivateKey {
    core: Arc<PrivateCore>,
    public: PublicKey,
}

struct PrivateCore {
    secret: Zeroizing<Vec<u8>>,
    signer: Signer,
}

enum Signer {
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    MlDsa(any::ExpandedSigningKey),
    Rsa { pair: Box<RsaKeyPair>, padding: Padding },
}

impl PrivateKey {
    /// Makes a key from the randomness of the operating system. An RSA key has 2048 bits, and takes some 100 ms.
    ///
    /// # Errors
    /// [`Error::Provider`] if there is none.
    pub fn generate(algorithm: Algorithm) -> Result<Self, Error> {
        match algorithm.family() {
            Family::Ec(curve) => {
                let pair = EcdsaKeyPair::generate(curve.signing()).map_err(|_| Error::Provider)?;
                let scalar = pair.private_key().as_be_bytes().map_err(|_| Error::Provider)?;
                Self::from_secret(algorithm, scalar.as_ref())
            }
            Family::Ed25519 | Family::MlDsa(_) => {
                let mut seed = Zeroizing::new([0; 32]);
                OsRandom.fill(seed.as_mut()).map_err(|_| Error::Provider)?;
                Self::from_secret(algorithm, seed.as_ref())
            }
            Family::Rsa(_) => {
                let pair = RsaKeyPair::generate(KeySize::Rsa2048).map_err(|_| Error::Provider)?;
                let pkcs8 = pair.as_der().map_err(|_| Error::Provider)?;
                Self::from_secret(algorithm, rsa::of_pkcs8(pkcs8.as_ref()).ok_or(Error::Provider)?)
            }
        }
    }

    /// Takes a raw private key of [`Algorithm::secret_len`] bytes: the ML-DSA or Ed25519 seed, or the big-endian
    /// scalar of an EC key; or an `RSAPrivateKey` of two primes, RFC 8017 §A.1.2. The public half is computed.
    ///
    /// # Errors
    /// [`Error::KeyMalformed`] for another length, a scalar that is not within 1..n, an RSA modulus of less than 2048 or
    /// more than 4096 bits, or RSA numbers that do not belong together.
    pub fn from_secret(algorithm: Algorithm, secret: &[u8]) -> Result<Self, Error> {
        let member = jwk::secret_member(algorithm);
        if let Some(len) = algorithm.secret_len().filter(|len| *len != secret.len()) {
            return Err(Error::KeyMalformed {
                member,
                expected: format!("{len} bytes"),
                found: format!("{} bytes", secret.len()),
            });
        }
        let (signer, public) = match algorithm.family() {
            Family::Ec(curve) => {
                let out_of_range = || Error::KeyMalformed {
                    member,
                    expected: format!("a scalar from 1 to the order of {}", curve.name()),
                    found: "one out of range".into(),
                };
                let scalar = agreement::PrivateKey::from_private_key(curve.agreement(), secret)
                    .map_err(|_| out_of_range())?;
                let point = scalar.compute_public_key().map_err(|_| Error::Provider)?;
                let pair =
                    EcdsaKeyPair::from_private_key_and_public_key(curve.signing(), secret, point.as_ref())
                        .map_err(|_| out_of_range())?;
                let public = PublicKey::from_public(algorithm, point.as_ref())?;
                (Signer::Ecdsa(pair), public)
            }
            Family::Ed25519 => {
                let pair = Ed25519KeyPair::from_seed_unchecked(secret).map_err(|_| Error::Provider)?;
                let public = PublicKey::from_public(algorithm, pair.public_key().as_ref())?;
                (Signer::Ed25519(pair), public)
            }
            Family::MlDsa(level) => {
                let expanded =
                    any::SigningKey::try_from_seed(level, secret).map_err(|_| Error::Provider)?.expand();
                let public = PublicKey::from_verifying_key(algorithm, expanded.verifying_key());
                (Signer::MlDsa(expanded), public)
            }
            Family::Rsa(padding) => {
                let [n, e, ..] = rsa::private_numbers(secret).map_err(Error::from)?;
                let pair = RsaKeyPair::from_der(secret).map_err(|_| Error::KeyMalformed {
                    member,
                    expected: "the private numbers of `n` and `e`".into(),
                    found: "others".into(),
                })?;
                let public = PublicKey::from_public(algorithm, &rsa::public_der(n, e))?;
                (Signer::Rsa { pair: Box::new(pair), padding }, public)
            }
        };
        let core = PrivateCore { secret: Zeroizing::new(secret.to_vec()), signer };
        Ok(Self { core: Arc::new(core), public })
    }

    /// [`from_secret`](Self::from_secret), and the public half given must be the one computed (RFC 9964 §7.4).
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] if it is not.
    pub fn from_secret_and_public(algorithm: Algorithm, secret: &[u8], public: &[u8]) -> Result<Self, Error> {
        let key = Self::from_secret(algorithm, secret)?;
        if key.public.as_bytes() == public {
            Ok(key)
        } else {
            Err(Error::KeyMismatch { member: jwk::public_member(algorithm) })
        }
    }

    /// The same key under another key id.
    #[must_use]
    pub fn with_kid(self, kid: &str) -> Self {
        Self { public: self.public.with_kid(kid), ..self }
    }

    pub(crate) fn with_given_kid(self, kid: Kid) -> Self {
        Self { public: self.public.with_given_kid(kid), ..self }
    }

    /// The algorithm that it signs with.
    pub fn algorithm(&self) -> Algorithm {
        self.public.algorithm()
    }

    /// The key id: the one it was given, or else the thumbprint.
    pub fn kid(&self) -> &str {
        self.public.kid()
    }

    /// The public half.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// The raw private key, as [`from_secret`](Self::from_secret) takes it.
    pub fn secret(&self) -> Zeroizing<Vec<u8>> {
        self.core.secret.clone()
    }

    /// Signs `message`. ML-DSA: pure, empty context (RFC 9964 §5), hedged. ECDSA: `r || s` in field length. RSA: as long
    /// as the modulus.
    ///
    /// # Errors
    /// [`Error::Provider`] if there is no randomness.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        match &self.core.signer {
            Signer::Ecdsa(pair) => {
                let signature = pair.sign(&SystemRandom::new(), message).map_err(|_| Error::Provider)?;
                Ok(signature.as_ref().to_vec())
            }
            Signer::Ed25519(pair) => {
                Ok(pair.try_sign(message).map_err(|_| Error::Provider)?.as_ref().to_vec())
            }
            Signer::MlDsa(key) => {
                let signature =
                    key.sign(&mut OsRandom, Context::EMPTY, message).map_err(|_| Error::Provider)?;
                Ok(signature.encode().to_vec())
            }
            Signer::Rsa { pair, padding } => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(padding.signing(), &SystemRandom::new(), message, &mut signature)
                    .map_err(|_| Error::Provider)?;
                Ok(signature)
            }
        }
    }

    /// Signs a message that [`PublicKey::message`] of the public half took.
    pub(crate) fn sign_message(&self, message: Message) -> Result<Vec<u8>, Error> {
        match (&self.core.signer, message.0) {
            (Signer::MlDsa(key), Pieces::Mu(mu)) => {
                let signature = key.sign_mu(&mut OsRandom, &mu.finish()).map_err(|_| Error::Provider)?;
                Ok(signature.encode().to_vec())
            }
            (Signer::Ecdsa(pair), Pieces::Digest(digest)) => {
                Ok(pair.sign_digest(&digest.finish()).map_err(|_| Error::Provider)?.as_ref().to_vec())
            }
            (Signer::Rsa { pair, padding }, Pieces::Digest(digest)) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign_digest(padding.signing(), &digest.finish(), &mut signature)
                    .map_err(|_| Error::Provider)?;
                Ok(signature)
            }
            _ => Err(Error::Provider),
        }
    }
}

/// The algorithm and the key id, never the key.
impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrivateKey")
            .field("algorithm", &self.algorithm())
            .field("kid", &self.kid())
            .finish_non_exhaustive()
    }
}

/// A key that verifies. Cloning shares it; an ML-DSA key is expanded once, when it is first used.
///
/// ```
/// use sealstone_jose::{Algorithm, Error, PrivateKey, PublicKey};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let key = PrivateKey::from_secret(Algorithm::MlDsa44, &[0; 32])?;
/// let signature = key.sign(b"a message")?;
///
/// let public = PublicKey::from_public(Algorithm::MlDsa44, key.public().as_bytes())?;
/// assert_eq!(&public, key.public());
/// assert_eq!(public.algorithm(), Algorithm::MlDsa44);
/// assert_eq!(public.signature_len(), signature.len());
/// public.verify(b"a message", &signature)?;
/// assert_eq!(public.verify(b"another", &signature), Err(Error::BadSignature));
///
/// // Who gives it no name knows it by its thumbprint: this one is RFC 9964's own example.
/// assert_eq!(public.thumbprint(), "T4xl70S7MT6Zeq6r9V9fPJGVn76wfnXJ21-gyo0Gu6o");
/// assert_eq!(public.kid(), public.thumbprint());
/// assert_eq!(public.with_kid("2026-11").kid(), "2026-11");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PublicKey {
    core: Arc<PublicCore>,
    kid: Option<Kid>,
}

struct PublicCore {
    algorithm: Algorithm,
    verifier: Verifier,
    thumbprint: OnceLock<String>,
}

enum Verifier {
    Classical { key: ParsedPublicKey, bytes: Vec<u8> },
    MlDsa { key: Box<any::VerifyingKey>, expanded: OnceLock<any::ExpandedVerifyingKey> },
}

impl PublicKey {
    /// Takes a raw public key of [`Algorithm::public_len`] bytes: the ML-DSA or Ed25519 key, or the uncompressed
    /// point (SEC 1 §2.3.3) of an EC key, which must lie on the curve; or an `RSAPublicKey` (RFC 8017 §A.1.1) whose modulus
    /// has 2048 to 4096 bits.
    ///
    /// # Errors
    /// [`Error::KeyMalformed`] if it is not one.
    pub fn from_public(algorithm: Algorithm, bytes: &[u8]) -> Result<Self, Error> {
        let malformed = |expected: String, found: String| Error::KeyMalformed {
            member: jwk::public_member(algorithm),
            expected,
            found,
        };
        if let Some(expected) = algorithm.public_len().filter(|len| *len != bytes.len()) {
            let found = bytes.len();
            return Err(malformed(format!("{expected} bytes"), format!("{found} bytes")));
        }
        let parsed =
            |verification: &'static dyn VerificationAlgorithm, expected: String| -> Result<_, Error> {
                let key = ParsedPublicKey::new(verification, bytes)
                    .map_err(|_| malformed(expected, "another value".into()))?;
                Ok(Verifier::Classical { key, bytes: bytes.to_vec() })
            };
        let verifier = match algorithm.family() {
            // The length check leaves two readings of the first octet: 04, and the hybrid form 06 or 07.
            Family::Ec(_) if bytes[0] != 0x04 => {
                return Err(malformed(
                    "an uncompressed point".into(),
                    format!("first byte {:#04x}", bytes[0]),
                ));
            }
            Family::Ec(curve) => parsed(curve.verifying(), format!("a point on {}", curve.name()))?,
            Family::Ed25519 => parsed(&signature::ED25519, "a point on Ed25519".into())?,
            Family::MlDsa(level) => {
                let key = any::VerifyingKey::decode(level, bytes)
                    .map_err(|_| malformed(format!("a key of {level}"), "another value".into()))?;
                return Ok(Self::from_verifying_key(algorithm, key));
            }
            Family::Rsa(padding) => {
                rsa::public_numbers(bytes)?;
                parsed(padding.verifying(), "an RSA modulus and exponent".into())?
            }
        };
        Ok(Self::new(algorithm, verifier))
    }

    /// The same key under another key id.
    #[must_use]
    pub fn with_kid(self, kid: &str) -> Self {
        self.with_given_kid(Kid::Text(kid.into()))
    }

    /// The same for what COSE calls it.
    pub(crate) fn with_given_kid(self, kid: Kid) -> Self {
        Self { kid: Some(kid), ..self }
    }

    /// What it was called, if it was.
    pub(crate) fn given_kid(&self) -> Option<&Kid> {
        self.kid.as_ref()
    }

    /// The algorithm that it checks.
    pub fn algorithm(&self) -> Algorithm {
        self.core.algorithm
    }

    /// The key id: the one it was given, or else the thumbprint; that also where it was given one in COSE that is no text.
    pub fn kid(&self) -> &str {
        self.kid.as_ref().and_then(Kid::text).unwrap_or_else(|| self.thumbprint())
    }

    /// The SHA-256 thumbprint of RFC 7638 (members: RFC 7638 §3.2, RFC 8037 §2, RFC 9964 §6), computed once.
    pub fn thumbprint(&self) -> &str {
        self.core.thumbprint.get_or_init(|| jwk::thumbprint(self))
    }

    /// The raw public key, as [`from_public`](Self::from_public) takes it.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.core.verifier {
            Verifier::Classical { bytes, .. } => bytes,
            Verifier::MlDsa { key, .. } => key.encode(),
        }
    }

    /// Bytes of this key's signatures.
    pub fn signature_len(&self) -> usize {
        self.algorithm().signature_len().unwrap_or_else(|| {
            // The numbers were read before.
            rsa::public_numbers(self.as_bytes()).map_or(0, |(n, _)| n.len())
        })
    }

    /// Checks a signature as [`PrivateKey::sign`] makes it.
    ///
    /// # Errors
    /// [`Error::BadSignature`], whatever is wrong with it.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        match &self.core.verifier {
            Verifier::Classical { key, .. } => {
                key.verify_sig(message, signature).map_err(|_| Error::BadSignature)
            }
            Verifier::MlDsa { key, expanded } => {
                let signature =
                    any::Signature::decode(key.level(), signature).map_err(|_| Error::BadSignature)?;
                expanded
                    .get_or_init(|| key.expand())
                    .verify(Context::EMPTY, message, &signature)
                    .map_err(|_| Error::BadSignature)
            }
        }
    }

    /// Does now what the first verification would otherwise do: an ML-DSA key is expanded.
    pub(crate) fn prepare(&self) {
        if let Verifier::MlDsa { key, expanded } = &self.core.verifier {
            expanded.get_or_init(|| key.expand());
        }
    }

    /// Whether it can check a message that comes in pieces: all can, but Ed25519.
    ///
    /// ```
    /// use sealstone_jose::{Algorithm, PrivateKey, jws};
    ///
    /// # fn main() -> Result<(), sealstone_jose::Error> {
    /// for algorithm in [Algorithm::MlDsa44, Algorithm::Ed25519] {
    ///     let key = PrivateKey::generate(algorithm)?;
    ///     let signer = jws::Signer::new(&key, &jws::Header::new());
    ///     assert_eq!(signer.is_ok(), key.public().takes_pieces());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn takes_pieces(&self) -> bool {
        self.algorithm().family() != Family::Ed25519
    }

    /// To take a message in pieces. Errors: `NotStreamable` for Ed25519.
    pub(crate) fn message(&self) -> Result<Message, Error> {
        let pieces = match (self.algorithm().family(), &self.core.verifier) {
            (_, Verifier::MlDsa { key, .. }) => Pieces::Mu(Box::new(key.message(Context::EMPTY))),
            (Family::Ec(curve), _) => Pieces::Digest(digest::Context::new(curve.digest())),
            (Family::Rsa(_), _) => Pieces::Digest(digest::Context::new(&digest::SHA256)),
            _ => return Err(Error::NotStreamable { algorithm: self.algorithm() }),
        };
        Ok(Message(pieces))
    }

    /// Checks a signature over a message that [`Self::message`] took. Errors: `BadSignature`.
    pub(crate) fn verify_message(&self, message: Message, signature: &[u8]) -> Result<(), Error> {
        let verified = match (&self.core.verifier, message.0) {
            (Verifier::MlDsa { key, expanded }, Pieces::Mu(mu)) => {
                let signature =
                    any::Signature::decode(key.level(), signature).map_err(|_| Error::BadSignature)?;
                let expanded = expanded.get_or_init(|| key.expand());
                expanded.verify_mu(&mu.finish(), &signature).is_ok()
            }
            (Verifier::Classical { key, .. }, Pieces::Digest(digest)) => {
                key.verify_digest_sig(&digest.finish(), signature).is_ok()
            }
            _ => false,
        };
        if verified { Ok(()) } else { Err(Error::BadSignature) }
    }

    fn from_verifying_key(algorithm: Algorithm, key: any::VerifyingKey) -> Self {
        Self::new(algorithm, Verifier::MlDsa { key: Box::new(key), expanded: OnceLock::new() })
    }

    fn new(algorithm: Algorithm, verifier: Verifier) -> Self {
        Self { core: Arc::new(PublicCore { algorithm, verifier, thumbprint: OnceLock::new() }), kid: None }
    }
}

/// A message that comes in pieces, for one key: what ECDSA and RSA hash it to, or its μ (FIPS 204, Algorithm 7, step 6).
pub struct Message(Pieces);

enum Pieces {
    Digest(digest::Context),
    Mu(Box<MuHasher>),
}

impl Message {
    /// The next piece.
    pub(crate) fn update(&mut self, piece: &[u8]) {
        match &mut self.0 {
            Pieces::Digest(digest) => digest.update(piece),
            Pieces::Mu(mu) => mu.update(piece),
        }
    }
}

/// The same key for the same algorithm, whatever it is called.
impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.algorithm() == other.algorithm() && self.as_bytes() == other.as_bytes()
    }
}

impl Eq for PublicKey {}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublicKey")
            .field("algorithm", &self.algorithm())
            .field("kid", &self.kid())
            .finish_non_exhaustive()
    }
}

/// The curve's algorithms in the library: signatures in the fixed form of RFC 7518 §3.4, not DER.
impl Curve {
    const fn signing(self) -> &'static EcdsaSigningAlgorithm {
        match self {
            Self::P256 => &signature::ECDSA_P256_SHA256_FIXED_SIGNING,
            Self::P384 => &signature::ECDSA_P384_SHA384_FIXED_SIGNING,
            Self::P521 => &signature::ECDSA_P521_SHA512_FIXED_SIGNING,
        }
    }

    fn verifying(self) -> &'static dyn VerificationAlgorithm {
        match self {
            Self::P256 => &signature::ECDSA_P256_SHA256_FIXED,
            Self::P384 => &signature::ECDSA_P384_SHA384_FIXED,
            Self::P521 => &signature::ECDSA_P521_SHA512_FIXED,
        }
    }

    /// The hash of RFC 7518 §3.4.
    fn digest(self) -> &'static digest::Algorithm {
        match self {
            Self::P256 => &digest::SHA256,
            Self::P384 => &digest::SHA384,
            Self::P521 => &digest::SHA512,
        }
    }

    /// Only to compute the public point of a scalar.
    const fn agreement(self) -> &'static agreement::Algorithm {
        match self {
            Self::P256 => &agreement::ECDH_P256,
            Self::P384 => &agreement::ECDH_P384,
            Self::P521 => &agreement::ECDH_P521,
        }
    }
}

/// The library's ways to sign and check with RSA, both with SHA-256; PSS with a salt as long as the hash, RFC 7518 §3.5.
impl Padding {
    const fn signing(self) -> &'static dyn RsaEncoding {
        match self {
            Self::Pkcs1 => &signature::RSA_PKCS1_SHA256,
            Self::Pss => &signature::RSA_PSS_SHA256,
        }
    }

    const fn verifying(self) -> &'static dyn VerificationAlgorithm {
        match self {
            Self::Pkcs1 => &signature::RSA_PKCS1_2048_8192_SHA256,
            Self::Pss => &signature::RSA_PSS_2048_8192_SHA256,
        }
    }
}
