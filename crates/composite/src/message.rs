//! From a message to M', the bytes that both halves sign.

use aws_lc_rs::digest;
use sealstone_mldsa::Shake256;

use crate::algorithm::PreHash;
use crate::{Algorithm, Error};

/// ASCII: section 2.2 of the LAMPS draft.
const PREFIX: &[u8; 32] = b"CompositeAlgorithmSignatures2025";

/// A message that comes in pieces. It is hashed, so that it may have any length.
///
/// ```
/// use sealstone_composite::{Algorithm, Error, Message, PrivateKey};
///
/// # fn main() -> Result<(), sealstone_composite::Error> {
/// let key = PrivateKey::generate(Algorithm::MlDsa44Ed25519)?;
///
/// // A file of any size, read in pieces.
/// let pieces = [b"first piece, ".as_slice(), b"second piece"];
/// let mut message = Message::new(Algorithm::MlDsa44Ed25519, b"backups")?;
/// for piece in pieces {
///     message.update(piece);
/// }
/// let signature = key.sign_message(message)?;
///
/// // How it was cut does not count.
/// key.public().verify(b"backups", b"first piece, second piece", &signature)?;
///
/// let mut cut_short = Message::new(Algorithm::MlDsa44Ed25519, b"backups")?;
/// cut_short.update(pieces[0]);
/// assert_eq!(key.public().verify_message(cut_short, &signature), Err(Error::BadSignature));
/// # Ok(())
/// # }
/// ```
pub struct Message {
    algorithm: Algorithm,
    /// Prefix, label, length of the context, context.
    before: Vec<u8>,
    hash: Hash,
}

enum Hash {
    Sha2(digest::Context),
    Shake256(Box<Shake256>),
}

impl Message {
    /// Nothing of it has come. JOSE has an empty context.
    ///
    /// # Errors
    /// [`Error::ContextTooLong`].
    pub fn new(algorithm: Algorithm, context: &[u8]) -> Result<Self, Error> {
        let context_len = u8::try_from(context.len()).map_err(|_| Error::ContextTooLong)?;
        let before = [PREFIX, algorithm.label().as_bytes(), &[context_len], context].concat();
        let hash = match algorithm.pre_hash() {
            PreHash::Sha256 => Hash::Sha2(digest::Context::new(&digest::SHA256)),
            PreHash::Sha512 => Hash::Sha2(digest::Context::new(&digest::SHA512)),
            PreHash::Shake256 => Hash::Shake256(Box::new(Shake256::new())),
        };
        Ok(Self { algorithm, before, hash })
    }

    /// The next piece.
    pub fn update(&mut self, piece: &[u8]) {
        match &mut self.hash {
            Hash::Sha2(hash) => hash.update(piece),
            Hash::Shake256(hash) => hash.update(piece),
        }
    }

    pub(crate) fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// M'.
    pub(crate) fn finish(self) -> Vec<u8> {
        let mut m = self.before;
        match self.hash {
            Hash::Sha2(hash) => m.extend_from_slice(hash.finish().as_ref()),
            Hash::Shake256(hash) => m.extend_from_slice(&hash.finish::<64>()),
        }
        m
    }
}
