//! What writers and readers of signatures need of a key, so that each form is written once: for standard keys, and with the feature
//! `composite` for keys of either kind. Knows no form of signature.

use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;
use std::io;

use super::ReceivedHeader;
use crate::alg::Algorithm;
use crate::error::Error;
use crate::jwk::JwkSet;
use crate::key::{self, PrivateKey, PublicKey};
use crate::rsa;

/// A key that signs what is not compact: a [`PrivateKey`], or with the feature `composite` one of either kind. No other crate
/// implements it.
pub trait SigningKey: Clone + fmt::Debug + private::Sealed {
    /// Its public half.
    type Public: VerifyingKey;

    /// `alg`.
    fn alg(&self) -> &'static str;

    /// `kid`.
    fn key_id(&self) -> &str;

    /// Signs a message that is there.
    ///
    /// # Errors
    /// [`Error::Provider`] if there is no randomness.
    fn sign_whole(&self, message: &[u8]) -> Result<Vec<u8>, Error>;

    /// To take a message in pieces.
    ///
    /// # Errors
    /// [`Error::NotStreamable`] for Ed25519 alone.
    fn begin(&self) -> Result<<Self::Public as VerifyingKey>::Message, Error>;

    /// Signs what [`begin`](Self::begin) took.
    ///
    /// # Errors
    /// [`Error::Provider`] if there is no randomness.
    fn sign_pieces(&self, message: <Self::Public as VerifyingKey>::Message) -> Result<Vec<u8>, Error>;
}

/// A key that checks what is not compact: a [`PublicKey`], or with the feature `composite` one of either kind. No other crate
/// implements it.
pub trait VerifyingKey: Clone + fmt::Debug + private::Sealed {
    /// What `alg` may name where such a key reads.
    type Algorithm: Named;
    /// A message that comes in pieces.
    type Message: io::Write;
    /// Several keys.
    type Set;

    /// Refuses a signature that names another algorithm than the key's.
    ///
    /// # Errors
    /// [`Error::AlgorithmMismatch`], [`Error::KindMismatch`].
    fn accept(&self, token: Self::Algorithm) -> Result<(), Error>;

    /// Checks a signature of a message that is there.
    ///
    /// # Errors
    /// [`Error::BadSignature`]; [`Error::Composite`] for one in the encoding of another revision.
    fn verify_whole(&self, message: &[u8], signature: &[u8]) -> Result<(), Error>;

    /// To take a message in pieces.
    ///
    /// # Errors
    /// [`Error::NotStreamable`] for Ed25519 alone.
    fn begin(&self) -> Result<Self::Message, Error>;

    /// Checks a signature of what [`begin`](Self::begin) took.
    ///
    /// # Errors
    /// As for [`verify_whole`](Self::verify_whole).
    fn verify_pieces(&self, message: Self::Message, signature: &[u8]) -> Result<(), Error>;

    /// The key that `kid` names, or, if it names none, the only one of the algorithm.
    ///
    /// # Errors
    /// [`Error::UnknownKid`], [`Error::AmbiguousKey`].
    fn of_set<'k>(header: &ReceivedHeader<Self::Algorithm>, keys: &'k Self::Set) -> Result<&'k Self, Error>;
}

/// What `alg` may name: one family of algorithms, and no name of another.
pub trait Named: Copy + fmt::Debug + FromStr<Err = Error> {
    /// Bytes of a signature or MAC.
    fn proof_len(self) -> RangeInclusive<usize>;

    /// What to say of another length.
    fn wrong_len(self, expected: usize, found: usize) -> Error;
}

/// Closes both traits: a key of somebody else could let any signature pass.
pub(crate) mod private {
    pub trait Sealed {}
}

impl private::Sealed for PrivateKey {}
impl private::Sealed for PublicKey {}

impl SigningKey for PrivateKey {
    type Public = PublicKey;

    fn alg(&self) -> &'static str {
        self.algorithm().name()
    }

    fn key_id(&self) -> &str {
        self.kid()
    }

    fn sign_whole(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        self.sign(message)
    }

    fn begin(&self) -> Result<key::Message, Error> {
        self.public().message()
    }

    fn sign_pieces(&self, message: key::Message) -> Result<Vec<u8>, Error> {
        self.sign_message(message)
    }
}

impl VerifyingKey for PublicKey {
    type Algorithm = Algorithm;
    type Message = key::Message;
    type Set = JwkSet;

    fn accept(&self, token: Algorithm) -> Result<(), Error> {
        match self.algorithm().accepts(token) {
            true => Ok(()),
            false => Err(Error::AlgorithmMismatch { key: self.algorithm(), token }),
        }
    }

    fn verify_whole(&self, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        self.verify(message, signature)
    }

    fn begin(&self) -> Result<key::Message, Error> {
        self.message()
    }

    fn verify_pieces(&self, message: key::Message, signature: &[u8]) -> Result<(), Error> {
        self.verify_message(message, signature)
    }

    fn of_set<'k>(header: &ReceivedHeader, keys: &'k JwkSet) -> Result<&'k Self, Error> {
        header.key_among(keys.find(header.kid().unwrap_or_default()), keys.keys(), |key| {
            key.algorithm().accepts(header.algorithm())
        })
    }
}

impl Named for Algorithm {
    fn proof_len(self) -> RangeInclusive<usize> {
        let bytes = |bits| bits / 8;
        let rsa = bytes(*rsa::MODULUS_BITS.start())..=bytes(*rsa::MODULUS_BITS.end());
        self.signature_len().map_or(rsa, |len| len..=len)
    }

    fn wrong_len(self, expected: usize, found: usize) -> Error {
        Error::SignatureLength { algorithm: self, expected, found }
    }
}

impl io::Write for key::Message {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.update(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
