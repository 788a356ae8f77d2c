//! Signatures whose payload goes another way (RFC 7515, Appendix F): `header..signature`. The payload may have any length, and may come
//! in pieces.

use core::fmt;
use std::io::{self, Write as _};

use base64::engine::general_purpose::{GeneralPurpose, URL_SAFE_NO_PAD};
use base64::write::EncoderWriter;

use super::{
    Extensions, Header, MAX_HEADER, MAX_TOKEN, ReceivedHeader, SigningKey, VerifyingKey, check_not_empty,
    read_header, read_proof, split,
};
#[cfg(feature = "composite")]
use crate::any;
use crate::b64;
use crate::error::{Error, check_size};
use crate::key::{PrivateKey, PublicKey};

/// Signs `payload` and leaves it out of the token. It may be empty.
///
/// ```
/// use sealstone_jose::{Algorithm, PrivateKey, jws};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let key = PrivateKey::generate(Algorithm::MlDsa65)?;
/// let token = jws::encode_detached(&key, &jws::Header::new().unencoded(), b"a long report")?;
/// jws::Detached::parse(&token)?.verify(key.public(), b"a long report")?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::HeaderMalformed`] for a key id that a reader would refuse, [`Error::TooLarge`] for a header, [`Error::Provider`].
pub fn encode_detached<K: SigningKey>(key: &K, header: &Header, payload: &[u8]) -> Result<String, Error> {
    let protected = header.protected(key)?;
    let signature = key.sign_whole(&signing_input(&protected, !header.unencoded, payload))?;
    Ok(seal(protected, &signature))
}

/// Header and payload as they are signed: RFC 7515 §5.1, RFC 7797 §3.
pub(super) fn signing_input(protected: &str, encoded: bool, payload: &[u8]) -> Vec<u8> {
    match encoded {
        true => [protected.as_bytes(), b".", b64::encode(payload).as_bytes()].concat(),
        false => [protected.as_bytes(), b".", payload].concat(),
    }
}

fn seal(mut protected: String, signature: &[u8]) -> String {
    protected.push_str("..");
    b64::encode_into(signature, &mut protected);
    protected
}

/// Signs a payload of any length that comes in pieces, in constant memory.
///
/// ```
/// use sealstone_jose::{Algorithm, JwkSet, PrivateKey, jws};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// # let pieces = [b"a long ".as_slice(), b"report"];
/// let key = PrivateKey::generate(Algorithm::MlDsa65)?;
/// let mut signer = jws::Signer::new(&key, &jws::Header::new().unencoded())?;
/// for piece in pieces {
///     signer.update(piece);
/// }
/// let token = signer.finish()?;
///
/// // The other side, in pieces of its own.
/// let set = JwkSet::new([key.public().clone()])?;
/// let detached = jws::Detached::parse(&token)?;
/// assert_eq!(detached.header().algorithm(), Algorithm::MlDsa65); // by its own account
/// let public = detached.key_in(&set)?;
/// let mut verifier = detached.verifier(public)?;
/// verifier.update(b"a long report");
/// let header = verifier.finish()?;
/// assert_eq!(header.kid(), Some(key.kid()));
/// # Ok(())
/// # }
/// ```
pub struct Signer<K: SigningKey = PrivateKey> {
    key: K,
    protected: String,
    payload: Payload<<K::Public as VerifyingKey>::Message>,
}

impl<K: SigningKey> Signer<K> {
    /// No piece has come.
    ///
    /// # Errors
    /// [`Error::NotStreamable`] for Ed25519, which [`encode_detached`] signs with; else those of that.
    pub fn new(key: &K, header: &Header) -> Result<Self, Error> {
        let protected = header.protected(key)?;
        let payload = Payload::new(key.begin()?, &protected, !header.unencoded)?;
        Ok(Self { key: key.clone(), protected, payload })
    }

    /// The next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.payload.update(piece);
    }

    /// The token: header and signature.
    ///
    /// # Errors
    /// [`Error::Provider`] if there is no randomness.
    pub fn finish(self) -> Result<String, Error> {
        let signature = self.key.sign_pieces(self.payload.finish()?)?;
        Ok(seal(self.protected, &signature))
    }
}

impl<K: SigningKey> fmt::Debug for Signer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("key", &self.key).finish_non_exhaustive()
    }
}

/// A token without its payload, to be checked with a standard key, or with one of either kind. Its size, header and signature length
/// have been checked, its signature has not.
#[derive(Debug)]
pub struct Detached<K: VerifyingKey = PublicKey> {
    header: ReceivedHeader<K::Algorithm>,
    protected: String,
    signature: Vec<u8>,
}

impl Detached {
    /// Takes a token apart. Of extensions `b64` is understood (RFC 7797).
    ///
    /// # Errors
    /// [`Error::NotDetached`] for one with its payload in it; else the first thing that is wrong with it.
    pub fn parse(token: &str) -> Result<Self, Error> {
        take_apart(token)
    }
}

#[cfg(feature = "composite")]
impl Detached<any::PublicKey> {
    /// The same for a token that may have a composite signature, by a draft ([`composite`](crate::composite)).
    ///
    /// # Errors
    /// Those of [`parse`](Detached::parse).
    pub fn parse_any(token: &str) -> Result<Self, Error> {
        take_apart(token)
    }
}

fn take_apart<K: VerifyingKey>(token: &str) -> Result<Detached<K>, Error> {
    check_size("token", MAX_TOKEN, token.len())?;
    let [protected, payload, signature] = split(token)?;
    if !payload.is_empty() {
        return Err(Error::NotDetached);
    }
    check_not_empty("header", protected)?;
    check_size("header", MAX_HEADER, protected.len())?;
    let header: ReceivedHeader<K::Algorithm> = read_header(protected, Extensions::B64)?;
    let signature = read_proof(header.algorithm, signature)?;
    Ok(Detached { header, protected: protected.to_owned(), signature })
}

impl<K: VerifyingKey> Detached<K> {
    /// The header, of which nothing is proven: good for choosing the key by `kid`.
    pub fn header(&self) -> &ReceivedHeader<K::Algorithm> {
        &self.header
    }

    /// The key of `keys` that `kid` names, or, if it names none, the only one of its algorithm.
    ///
    /// # Errors
    /// [`Error::UnknownKid`], [`Error::AmbiguousKey`].
    pub fn key_in<'k>(&self, keys: &'k K::Set) -> Result<&'k K, Error> {
        K::of_set(&self.header, keys)
    }

    /// Checks the signature over `payload` with `key` and the algorithm of `key`. What comes back is the header, proven.
    ///
    /// # Errors
    /// [`Error::AlgorithmMismatch`] if the header names another algorithm, [`Error::BadSignature`].
    pub fn verify(self, key: &K, payload: &[u8]) -> Result<ReceivedHeader<K::Algorithm>, Error> {
        key.accept(self.header.algorithm)?;
        key.verify_whole(&signing_input(&self.protected, self.header.encoded, payload), &self.signature)?;
        Ok(self.header)
    }

    /// The same for a payload that comes in pieces, in constant memory.
    ///
    /// # Errors
    /// [`Error::AlgorithmMismatch`]; [`Error::NotStreamable`] for Ed25519.
    pub fn verifier(self, key: &K) -> Result<Verifier<K>, Error> {
        key.accept(self.header.algorithm)?;
        let payload = Payload::new(key.begin()?, &self.protected, self.header.encoded)?;
        Ok(Verifier { key: key.clone(), token: self, payload })
    }
}

/// Takes the payload of a [`Detached`] in pieces. Nothing is known of them before [`finish`](Self::finish).
pub struct Verifier<K: VerifyingKey = PublicKey> {
    key: K,
    token: Detached<K>,
    payload: Payload<K::Message>,
}

impl<K: VerifyingKey> Verifier<K> {
    /// The next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.payload.update(piece);
    }

    /// Checks the signature over all of them. What comes back is the header, proven.
    ///
    /// # Errors
    /// [`Error::BadSignature`].
    pub fn finish(self) -> Result<ReceivedHeader<K::Algorithm>, Error> {
        self.key.verify_pieces(self.payload.finish()?, &self.token.signature)?;
        Ok(self.token.header)
    }
}

impl<K: VerifyingKey> fmt::Debug for Verifier<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").field("token", &self.token).finish_non_exhaustive()
    }
}

/// A payload on its way into a message, behind the header. A message takes all that it is given.
enum Payload<M: io::Write> {
    Encoded(Box<EncoderWriter<'static, GeneralPurpose, M>>),
    Unencoded(M),
}

impl<M: io::Write> Payload<M> {
    /// Errors: none that is known; a writer may have some.
    fn new(mut message: M, protected: &str, encoded: bool) -> Result<Self, Error> {
        for piece in [protected, "."] {
            message.write_all(piece.as_bytes()).map_err(|_| Error::Provider)?;
        }
        Ok(match encoded {
            true => Self::Encoded(Box::new(EncoderWriter::new(message, &URL_SAFE_NO_PAD))),
            false => Self::Unencoded(message),
        })
    }

    fn update(&mut self, piece: &[u8]) {
        match self {
            Self::Encoded(encoder) => encoder.write_all(piece).unwrap_or_default(),
            Self::Unencoded(message) => message.write_all(piece).unwrap_or_default(),
        }
    }

    /// Errors: none that is known; a writer may have some.
    fn finish(self) -> Result<M, Error> {
        match self {
            Self::Encoded(mut encoder) => encoder.finish().map_err(|_| Error::Provider),
            Self::Unencoded(message) => Ok(message),
        }
    }
}
