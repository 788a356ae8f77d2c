//! Keys of which it is known at run time only whether they are standard or composite, and sets of both. Feature `composite`.
//!
//! Who takes these types takes signatures of a draft, and says so by taking them: the rest of this crate knows standard keys alone.
//! What either kind computes is in [`PrivateKey`](crate::PrivateKey) and in [`composite`].
//!
//! ```
//! use sealstone_jose::{Algorithm, any, composite, jws};
//!
//! # fn main() -> Result<(), sealstone_jose::Error> {
//! let old = any::PrivateKey::from(sealstone_jose::PrivateKey::generate(Algorithm::Es256)?);
//! let new = any::PrivateKey::from(composite::PrivateKey::generate(composite::Algorithm::MlDsa65Ed25519)?);
//! let header = jws::Header::new();
//! let text = jws::General::sign(b"of both worlds", &[(&old, &header), (&new, &header)])?;
//!
//! let keys = any::JwkSet::new([old.public(), new.public()])?;
//! assert_eq!(jws::General::parse_any(&text)?.verify_all(&keys)?, b"of both worlds");
//! assert!(jws::General::parse(&text).is_err(), "a reader of standard signatures takes none of a draft");
//! # Ok(())
//! # }
//! ```

use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;
use std::io;

use sealstone_composite as pair;
use serde_json::Value;

use crate::composite;
use crate::error::{Error, check_size, shown};
use crate::jwk::{self, Ignored, Jwk, MAX_KEYS};
use crate::jws::keys::private::Sealed;
use crate::jws::{Named, ReceivedHeader, SigningKey, VerifyingKey};
use crate::key;

/// A standard algorithm, or a composite one.
///
/// ```
/// use sealstone_jose::any::Algorithm;
/// use sealstone_jose::composite;
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let of_a_draft: Algorithm = "ML-DSA-65-Ed25519".parse()?;
/// assert_eq!(of_a_draft, Algorithm::Composite(composite::Algorithm::MlDsa65Ed25519));
/// let standard: Algorithm = "ML-DSA-65".parse()?;
/// assert_eq!(standard.name(), "ML-DSA-65");
///
/// // The whole key does not check what its half signed.
/// assert!(of_a_draft.accepts(of_a_draft) && !of_a_draft.accepts(standard));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// Of a draft.
    Composite(composite::Algorithm),
    /// Of a standard.
    Standard(crate::Algorithm),
}

impl Algorithm {
    /// The `alg` value.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Composite(algorithm) => algorithm.name(),
            Self::Standard(algorithm) => algorithm.name(),
        }
    }

    /// Whether a key of this algorithm checks a signature that names `token`.
    pub fn accepts(self, token: Self) -> bool {
        match (self, token) {
            (Self::Composite(key), Self::Composite(token)) => key == token,
            (Self::Standard(key), Self::Standard(token)) => key.accepts(token),
            _ => false,
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
        name.parse().map(Self::Standard).or_else(|_| name.parse().map(Self::Composite))
    }
}

impl Named for Algorithm {
    fn proof_len(self) -> RangeInclusive<usize> {
        match self {
            Self::Composite(algorithm) => algorithm.proof_len(),
            Self::Standard(algorithm) => algorithm.proof_len(),
        }
    }

    fn wrong_len(self, expected: usize, found: usize) -> Error {
        match self {
            Self::Composite(algorithm) => algorithm.wrong_len(expected, found),
            Self::Standard(algorithm) => algorithm.wrong_len(expected, found),
        }
    }
}

/// A private key of either kind. Cloning shares it.
#[derive(Clone, Debug)]
pub enum PrivateKey {
    /// Of a draft.
    Composite(composite::PrivateKey),
    /// Of a standard.
    Standard(key::PrivateKey),
}

impl PrivateKey {
    /// Its public half.
    pub fn public(&self) -> PublicKey {
        match self {
            Self::Composite(key) => PublicKey::Composite(key.public().clone()),
            Self::Standard(key) => PublicKey::Standard(key.public().clone()),
        }
    }

    /// The algorithm that it signs with.
    pub fn algorithm(&self) -> Algorithm {
        match self {
            Self::Composite(key) => Algorithm::Composite(key.public().algorithm()),
            Self::Standard(key) => Algorithm::Standard(key.algorithm()),
        }
    }

    /// The key id: the one it was given, or else the thumbprint.
    pub fn kid(&self) -> &str {
        match self {
            Self::Composite(key) => key.public().kid(),
            Self::Standard(key) => key.kid(),
        }
    }
}

impl From<composite::PrivateKey> for PrivateKey {
    fn from(key: composite::PrivateKey) -> Self {
        Self::Composite(key)
    }
}

impl From<key::PrivateKey> for PrivateKey {
    fn from(key: key::PrivateKey) -> Self {
        Self::Standard(key)
    }
}

/// A public key of either kind. Cloning shares it.
///
/// ```
/// use sealstone_jose::{any, composite};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let key = any::PrivateKey::from(composite::PrivateKey::generate(composite::Algorithm::MlDsa65Es256)?);
/// let public = key.public();
/// assert_eq!(public.algorithm(), key.algorithm());
/// assert_eq!((public.kid(), public.thumbprint()), (key.kid(), key.kid()));
/// assert!(public.takes_pieces());
///
/// // In DER the ECDSA half varies in length.
/// assert_eq!(public.signature_len(), 3309 + 8..=3309 + 72);
/// assert_eq!(public.as_bytes().len(), 1952 + 65);
///
/// // What it is called in COSE, and how it is published in JSON.
/// assert_eq!(public.cose_thumbprint().len(), 32);
/// assert!(public.to_jwk().to_json().contains(r#""alg":"ML-DSA-65-ES256""#));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicKey {
    /// Of a draft.
    Composite(composite::PublicKey),
    /// Of a standard.
    Standard(key::PublicKey),
}

impl PublicKey {
    /// The algorithm that it checks.
    pub fn algorithm(&self) -> Algorithm {
        match self {
            Self::Composite(key) => Algorithm::Composite(key.algorithm()),
            Self::Standard(key) => Algorithm::Standard(key.algorithm()),
        }
    }

    /// The key id: the one it was given, or else the thumbprint.
    pub fn kid(&self) -> &str {
        match self {
            Self::Composite(key) => key.kid(),
            Self::Standard(key) => key.kid(),
        }
    }

    /// The SHA-256 thumbprint of RFC 7638.
    pub fn thumbprint(&self) -> &str {
        match self {
            Self::Composite(key) => key.thumbprint(),
            Self::Standard(key) => key.thumbprint(),
        }
    }

    /// The same of its COSE_Key, RFC 9679.
    pub fn cose_thumbprint(&self) -> [u8; 32] {
        match self {
            Self::Composite(key) => key.cose_thumbprint(),
            Self::Standard(key) => key.cose_thumbprint(),
        }
    }

    /// The raw public key.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Composite(key) => key.as_bytes(),
            Self::Standard(key) => key.as_bytes(),
        }
    }

    /// The key as public JSON.
    pub fn to_jwk(&self) -> Jwk {
        match self {
            Self::Composite(key) => key.to_jwk(),
            Self::Standard(key) => key.to_jwk(),
        }
    }

    /// Bytes of its signatures, least and most: they differ where a half is ECDSA in DER.
    pub fn signature_len(&self) -> RangeInclusive<usize> {
        match self {
            Self::Composite(key) => key.algorithm().proof_len(),
            Self::Standard(key) => key.signature_len()..=key.signature_len(),
        }
    }

    /// Whether it can check a message that comes in pieces: all can, but Ed25519 alone.
    pub fn takes_pieces(&self) -> bool {
        match self {
            Self::Composite(_) => true,
            Self::Standard(key) => key.takes_pieces(),
        }
    }
}

impl From<composite::PublicKey> for PublicKey {
    fn from(key: composite::PublicKey) -> Self {
        Self::Composite(key)
    }
}

impl From<key::PublicKey> for PublicKey {
    fn from(key: key::PublicKey) -> Self {
        Self::Standard(key)
    }
}

/// Public keys of either kind, each under a key id of its own.
///
/// ```
/// use sealstone_jose::{Algorithm, PrivateKey, any, composite};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let standard = PrivateKey::generate(Algorithm::MlDsa65)?.public().clone();
/// let of_a_draft = composite::PrivateKey::generate(composite::Algorithm::MlDsa65Ed25519)?.public().clone();
/// let text = format!(r#"{{"keys":[{},{}]}}"#, of_a_draft.to_jwk().to_json(), standard.to_jwk().to_json());
///
/// let set = any::JwkSet::parse(text.as_bytes())?;
/// assert_eq!((set.keys().len(), set.ignored().len()), (2, 0));
/// assert_eq!(set.find(of_a_draft.kid()).map(|key| key.algorithm().name()), Some("ML-DSA-65-Ed25519"));
///
/// // What readers of standard tokens see of it.
/// assert_eq!(set.standard().keys(), [standard]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct JwkSet {
    standard: jwk::JwkSet,
    /// Standard ones first.
    keys: Vec<PublicKey>,
    ignored: Vec<Ignored>,
}

impl JwkSet {
    /// Collects keys.
    ///
    /// # Errors
    /// [`Error::DuplicateKid`] if two have the same key id, [`Error::TooLarge`] for more than 512.
    pub fn new(keys: impl IntoIterator<Item = PublicKey>) -> Result<Self, Error> {
        let mut composite = Vec::new();
        let standard = keys.into_iter().filter_map(|key| match key {
            PublicKey::Composite(key) => {
                composite.push(key);
                None
            }
            PublicKey::Standard(key) => Some(key),
        });
        let mut set = Self::from(jwk::JwkSet::new(standard)?);
        composite.into_iter().try_for_each(|key| set.push(key))?;
        Ok(set)
    }

    /// Reads a set, composite keys too. Keys of types and algorithms not known here, or malformed, are ignored (see
    /// [`ignored`](Self::ignored)).
    ///
    /// # Errors
    /// Those of the [reader of standard sets](jwk::JwkSet::parse).
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let mut set = Self::from(jwk::JwkSet::parse(text)?);
        // What was passed over holds no private member, and no member twice: the set was read with all care before.
        let all: Value = serde_json::from_slice(text).unwrap_or_default();
        for one in std::mem::take(&mut set.ignored) {
            let unknown = matches!(one.reason, Error::AlgorithmUnknown { .. });
            match all["keys"][one.index].as_object().map(composite::PublicKey::from_members) {
                Some(Ok(key)) => set.push(key)?,
                Some(Err(reason)) if unknown => set.ignored.push(Ignored { index: one.index, reason }),
                _ => set.ignored.push(one),
            }
        }
        Ok(set)
    }

    /// The key of this id.
    pub fn find(&self, kid: &str) -> Option<&PublicKey> {
        self.keys.iter().find(|key| key.kid() == kid)
    }

    /// All keys, standard ones first.
    pub fn keys(&self) -> &[PublicKey] {
        &self.keys
    }

    /// The standard ones alone.
    pub fn standard(&self) -> &jwk::JwkSet {
        &self.standard
    }

    /// What was passed over, and why.
    pub fn ignored(&self) -> &[Ignored] {
        &self.ignored
    }

    fn push(&mut self, key: composite::PublicKey) -> Result<(), Error> {
        if self.find(key.kid()).is_some() {
            return Err(Error::DuplicateKid { kid: shown(key.kid()) });
        }
        check_size("keys of a JWK set", MAX_KEYS, self.keys.len() + 1)?;
        self.keys.push(PublicKey::Composite(key));
        Ok(())
    }
}

/// The same set, to which composite keys are as unknown as they are to it.
impl From<jwk::JwkSet> for JwkSet {
    fn from(standard: jwk::JwkSet) -> Self {
        let keys = standard.keys().iter().cloned().map(PublicKey::Standard).collect();
        Self { ignored: standard.ignored().to_vec(), keys, standard }
    }
}

impl Sealed for PrivateKey {}
impl Sealed for PublicKey {}

impl SigningKey for PrivateKey {
    type Public = PublicKey;

    fn alg(&self) -> &'static str {
        self.algorithm().name()
    }

    fn key_id(&self) -> &str {
        self.kid()
    }

    fn sign_whole(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        match self {
            Self::Composite(key) => Ok(key.pair().sign(b"", message)?),
            Self::Standard(key) => key.sign(message),
        }
    }

    fn begin(&self) -> Result<Message, Error> {
        self.public().begin()
    }

    fn sign_pieces(&self, message: Message) -> Result<Vec<u8>, Error> {
        match (self, message.0) {
            (Self::Composite(key), Pieces::Composite(message)) => Ok(key.pair().sign_message(message)?),
            (Self::Standard(key), Pieces::Standard(message)) => key.sign_message(message),
            _ => Err(Error::Provider),
        }
    }
}

impl VerifyingKey for PublicKey {
    type Algorithm = Algorithm;
    type Message = Message;
    type Set = JwkSet;

    fn accept(&self, token: Algorithm) -> Result<(), Error> {
        match (self.algorithm(), token) {
            (key, token) if key.accepts(token) => Ok(()),
            (Algorithm::Standard(key), Algorithm::Standard(token)) => {
                Err(Error::AlgorithmMismatch { key, token })
            }
            (key, token) => Err(Error::KindMismatch { key: key.name(), token: token.name() }),
        }
    }

    fn verify_whole(&self, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        match self {
            Self::Composite(key) => Ok(key.pair().verify(b"", message, signature)?),
            Self::Standard(key) => key.verify(message, signature),
        }
    }

    fn begin(&self) -> Result<Message, Error> {
        Ok(Message(match self {
            Self::Composite(key) => Pieces::Composite(pair::Message::new(key.algorithm().pair(), b"")?),
            Self::Standard(key) => Pieces::Standard(key.message()?),
        }))
    }

    fn verify_pieces(&self, message: Message, signature: &[u8]) -> Result<(), Error> {
        match (self, message.0) {
            (Self::Composite(key), Pieces::Composite(message)) => {
                Ok(key.pair().verify_message(message, signature)?)
            }
            (Self::Standard(key), Pieces::Standard(message)) => key.verify_message(message, signature),
            _ => Err(Error::BadSignature),
        }
    }

    fn of_set<'k>(header: &ReceivedHeader<Algorithm>, keys: &'k JwkSet) -> Result<&'k Self, Error> {
        let fits = |key: &Self| key.algorithm().accepts(header.algorithm());
        header.key_among(keys.find(header.kid().unwrap_or_default()), &keys.keys, fits)
    }
}

/// A message that comes in pieces, for one key.
pub struct Message(Pieces);

enum Pieces {
    Composite(pair::Message),
    Standard(key::Message),
}

impl io::Write for Message {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Pieces::Composite(message) => message.update(piece),
            Pieces::Standard(message) => message.update(piece),
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message").finish_non_exhaustive()
    }
}
