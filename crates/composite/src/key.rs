//! Keys of two halves. A key's halves belong to it alone: neither may be used anywhere else (section 11.2 of the LAMPS draft).

use core::fmt;
use std::sync::OnceLock;

use sealstone_mldsa::{Context, OsRandom, Randomness as _, SEED_LEN, any};
use zeroize::Zeroizing;

use crate::algorithm::Classical;
use crate::classical::{self, Signer, Verifier};
use crate::{Algorithm, Error, Message};

/// A key that signs. Wiped on drop.
///
/// ```
/// use sealstone_composite::{Algorithm, Error, PrivateKey};
///
/// # fn main() -> Result<(), sealstone_composite::Error> {
/// let key = PrivateKey::generate(Algorithm::MlDsa44Ed25519)?;
/// assert_eq!(key.public().algorithm(), Algorithm::MlDsa44Ed25519);
///
/// // Kept as bytes, and read again: the same key.
/// let kept = key.encode().to_vec();
/// let again = PrivateKey::decode(Algorithm::MlDsa44Ed25519, &kept)?;
/// assert_eq!(again.public(), key.public());
///
/// // The context is signed too: a signature for one purpose is none for another.
/// let signature = again.sign(b"releases", b"version 1.0")?;
/// key.public().verify(b"releases", b"version 1.0", &signature)?;
/// let elsewhere = key.public().verify(b"invoices", b"version 1.0", &signature);
/// assert_eq!(elsewhere, Err(Error::BadSignature));
/// # Ok(())
/// # }
/// ```
pub struct PrivateKey {
    secret: Zeroizing<Vec<u8>>,
    ml_dsa: any::ExpandedSigningKey,
    classical: Signer,
    public: PublicKey,
}

impl PrivateKey {
    /// Makes a key from the randomness of the operating system.
    ///
    /// # Errors
    /// [`Error::Provider`] if there is none.
    pub fn generate(algorithm: Algorithm) -> Result<Self, Error> {
        let classical = classical::generate(algorithm.classical()).ok_or(Error::Provider)?;
        // All room at once: what grew would leave a copy behind.
        let mut secret = Zeroizing::new(Vec::with_capacity(algorithm.secret_len()));
        secret.resize(SEED_LEN, 0);
        OsRandom.fill(&mut secret).map_err(|_| Error::Provider)?;
        secret.extend_from_slice(&classical);
        Self::decode(algorithm, &secret)
    }

    /// Takes a private key of [`Algorithm::secret_len`] bytes: the ML-DSA seed, and the classical key: a seed, an ECPrivateKey
    /// (RFC 5915) with parameters and without the public key, or an RSAPrivateKey (RFC 8017 §A.1.2) of two primes. The public half
    /// is computed.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::RawEcdsa`], [`Error::KeyMalformed`].
    pub fn decode(algorithm: Algorithm, secret: &[u8]) -> Result<Self, Error> {
        let expected = algorithm.secret_len();
        match algorithm.classical() {
            Classical::Ec(curve) if secret.len() == SEED_LEN + curve.field_len() => {
                return Err(Error::RawEcdsa { algorithm });
            }
            Classical::Rsa(..) if (SEED_LEN + 1..=expected).contains(&secret.len()) => {}
            _ if secret.len() != expected => {
                return Err(Error::KeyLength { algorithm, expected, found: secret.len() });
            }
            _ => {}
        }
        let (seed, rest) = secret.split_at(SEED_LEN);
        let ml_dsa =
            any::SigningKey::try_from_seed(algorithm.level(), seed).map_err(|_| Error::Provider)?.expand();
        let (classical, point) =
            Signer::new(algorithm.classical(), rest).ok_or(Error::KeyMalformed { algorithm })?;
        let public = PublicKey::decode(algorithm, &[ml_dsa.verifying_key().encode(), &point].concat())?;
        let secret = Zeroizing::new(secret.to_vec());
        Ok(Self { secret, ml_dsa, classical, public })
    }

    /// The private key as [`decode`](Self::decode) takes it.
    pub fn encode(&self) -> &[u8] {
        &self.secret
    }

    /// The public half.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Signs a message under a context, with both halves; ML-DSA hedged.
    ///
    /// # Errors
    /// [`Error::ContextTooLong`], [`Error::Provider`].
    pub fn sign(&self, context: &[u8], message: &[u8]) -> Result<Vec<u8>, Error> {
        self.sign_message(whole(self.public.algorithm, context, message)?)
    }

    /// The same for a message that came in pieces. Errors: `Provider`, also for a message of another algorithm.
    pub fn sign_message(&self, message: Message) -> Result<Vec<u8>, Error> {
        self.sign_with(message, |ctx, m| self.ml_dsa.sign(&mut OsRandom, ctx, m))
    }

    /// With ML-DSA's deterministic variant (FIPS 204, 3.4), which needs no randomness and which the vectors have.
    ///
    /// ```
    /// use sealstone_composite::{Algorithm, PrivateKey};
    ///
    /// # fn main() -> Result<(), sealstone_composite::Error> {
    /// // Ed25519 needs no randomness either, so that the whole signature is the same each time.
    /// let key = PrivateKey::generate(Algorithm::MlDsa65Ed25519)?;
    /// let signature = key.sign_deterministic(b"", b"a message")?;
    /// assert_eq!(key.sign_deterministic(b"", b"a message")?, signature);
    /// assert_ne!(key.sign(b"", b"a message")?, signature);
    /// key.public().verify(b"", b"a message", &signature)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::ContextTooLong`], [`Error::Provider`].
    pub fn sign_deterministic(&self, context: &[u8], message: &[u8]) -> Result<Vec<u8>, Error> {
        let message = whole(self.public.algorithm, context, message)?;
        self.sign_with(message, |ctx, m| self.ml_dsa.sign_deterministic(ctx, m))
    }

    fn sign_with(
        &self,
        message: Message,
        ml_dsa: impl FnOnce(Context<'_>, &[u8]) -> Result<any::Signature, sealstone_mldsa::Error>,
    ) -> Result<Vec<u8>, Error> {
        if message.algorithm() != self.public.algorithm {
            return Err(Error::Provider);
        }
        let m = message.finish();
        let label = Context::new(self.public.algorithm.label().as_bytes()).map_err(|_| Error::Provider)?;
        let first = ml_dsa(label, &m).map_err(|_| Error::Provider)?;
        let second = self.classical.sign(&m).ok_or(Error::Provider)?;
        Ok([first.encode(), &second].concat())
    }
}

/// The algorithm, never the key.
impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrivateKey").field("algorithm", &self.public.algorithm).finish_non_exhaustive()
    }
}

/// A key that verifies. Its ML-DSA half is expanded once, when it is first used.
///
/// ```
/// use sealstone_composite::{Algorithm, Error, PrivateKey, PublicKey};
///
/// # fn main() -> Result<(), sealstone_composite::Error> {
/// let key = PrivateKey::generate(Algorithm::MlDsa65EcdsaP256)?;
/// let signature = key.sign(b"", b"a message")?;
///
/// // What the other side gets: the bytes, and the name of the algorithm.
/// let public = PublicKey::decode(Algorithm::MlDsa65EcdsaP256, key.public().encode())?;
/// assert_eq!(public.algorithm().jose_name(), Some("ML-DSA-65-ES256"));
/// public.verify(b"", b"a message", &signature)?;
///
/// // Each half must hold: neither a wrong ML-DSA half nor a wrong ECDSA half is let through.
/// let mut forged = signature.clone();
/// forged[0] ^= 1;
/// assert_eq!(public.verify(b"", b"a message", &forged), Err(Error::BadSignature));
/// let mut forged = signature.clone();
/// *forged.last_mut().expect("a signature has bytes") ^= 1;
/// assert_eq!(public.verify(b"", b"a message", &forged), Err(Error::BadSignature));
/// # Ok(())
/// # }
/// ```
pub struct PublicKey {
    algorithm: Algorithm,
    bytes: Vec<u8>,
    ml_dsa: Box<any::VerifyingKey>,
    expanded: OnceLock<any::ExpandedVerifyingKey>,
    classical: Verifier,
}

impl PublicKey {
    /// Takes a public key of [`Algorithm::public_len`] bytes: the ML-DSA key, and the classical one; a point of ECDSA
    /// uncompressed (SEC 1, 2.3.3), an RSAPublicKey whose exponent is 65537.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::RawEcdsa`], [`Error::KeyMalformed`].
    pub fn decode(algorithm: Algorithm, bytes: &[u8]) -> Result<Self, Error> {
        let (level, expected) = (algorithm.level(), algorithm.public_len());
        match algorithm.classical() {
            Classical::Ec(_) if bytes.len() + 1 == expected => return Err(Error::RawEcdsa { algorithm }),
            _ if bytes.len() != expected => {
                return Err(Error::KeyLength { algorithm, expected, found: bytes.len() });
            }
            _ => {}
        }
        let (first, second) = bytes.split_at(level.verifying_key_len());
        let ml_dsa =
            any::VerifyingKey::decode(level, first).map_err(|_| Error::KeyMalformed { algorithm })?;
        let classical =
            Verifier::new(algorithm.classical(), second).ok_or(Error::KeyMalformed { algorithm })?;
        let (bytes, ml_dsa) = (bytes.to_vec(), Box::new(ml_dsa));
        Ok(Self { algorithm, bytes, ml_dsa, expanded: OnceLock::new(), classical })
    }

    /// The public key as [`decode`](Self::decode) takes it.
    pub fn encode(&self) -> &[u8] {
        &self.bytes
    }

    /// Its algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Checks both halves of a signature; both are always looked at.
    ///
    /// # Errors
    /// [`Error::ContextTooLong`]; [`Error::SignatureLength`]; [`Error::RawEcdsa`]; [`Error::BadSignature`].
    pub fn verify(&self, context: &[u8], message: &[u8], signature: &[u8]) -> Result<(), Error> {
        self.verify_message(whole(self.algorithm, context, message)?, signature)
    }

    /// The same for a message that came in pieces. Errors: as there; `BadSignature` also for a message of another algorithm.
    pub fn verify_message(&self, message: Message, signature: &[u8]) -> Result<(), Error> {
        let algorithm = self.algorithm;
        if !(algorithm.signature_min()..=algorithm.signature_max()).contains(&signature.len()) {
            return Err(Error::SignatureLength { algorithm, found: signature.len() });
        }
        let (first, second) = signature.split_at(algorithm.level().signature_len());
        let m = message.finish();
        let expanded = self.expanded.get_or_init(|| self.ml_dsa.expand());
        let ml_dsa = Context::new(algorithm.label().as_bytes())
            .and_then(|label| expanded.verify(label, &m, &any::Signature::decode(algorithm.level(), first)?));
        let classical = self.classical.verifies(&m, second);
        match algorithm.classical() {
            _ if ml_dsa.is_ok() & classical => Ok(()),
            // Next to no signature in DER is so short.
            Classical::Ec(curve) if second.len() == 2 * curve.field_len() => {
                Err(Error::RawEcdsa { algorithm })
            }
            _ => Err(Error::BadSignature),
        }
    }
}

/// The same key of the same algorithm.
impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.algorithm == other.algorithm && self.bytes == other.bytes
    }
}

impl Eq for PublicKey {}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublicKey").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

fn whole(algorithm: Algorithm, context: &[u8], message: &[u8]) -> Result<Message, Error> {
    let mut whole = Message::new(algorithm, context)?;
    whole.update(message);
    Ok(whole)
}
