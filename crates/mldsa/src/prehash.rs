//! The pre-hash functions of HashML-DSA: SHA-3 and SHAKE from `keccak/`, SHA-2 from the crate `sha2`.

use crate::backend::active;
use crate::keccak::Shake;
use crate::message::PreHash;
use sha2::Digest as _;

/// Hashes a message in pieces, for [`VerifyingKey::prehashed`](crate::VerifyingKey::prehashed).
pub struct PreHasher {
    function: Function,
    len: usize,
}

#[allow(clippy::large_enum_variant, reason = "no allocation, and one value at a time")]
enum Function {
    Keccak(Shake),
    Sha224(sha2::Sha224),
    Sha256(sha2::Sha256),
    Sha384(sha2::Sha384),
    Sha512(sha2::Sha512),
    Sha512_224(sha2::Sha512_224),
    Sha512_256(sha2::Sha512_256),
}

/// A digest of 28 to 64 bytes.
#[derive(Clone, Copy)]
pub struct Digest {
    bytes: [u8; 64],
    len: usize,
}

impl AsRef<[u8]> for Digest {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl core::fmt::Debug for PreHasher {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("PreHasher(..)")
    }
}

impl core::fmt::Debug for Digest {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Digest(..)")
    }
}

impl PreHasher {
    /// Starts the function.
    pub fn new(ph: PreHash) -> Self {
        let function = match ph {
            PreHash::Sha2_224 => Function::Sha224(Default::default()),
            PreHash::Sha2_256 => Function::Sha256(Default::default()),
            PreHash::Sha2_384 => Function::Sha384(Default::default()),
            PreHash::Sha2_512 => Function::Sha512(Default::default()),
            PreHash::Sha2_512_224 => Function::Sha512_224(Default::default()),
            PreHash::Sha2_512_256 => Function::Sha512_256(Default::default()),
            PreHash::Sha3_224 => Function::Keccak(Shake::sha3(active(), 224)),
            PreHash::Sha3_256 => Function::Keccak(Shake::sha3(active(), 256)),
            PreHash::Sha3_384 => Function::Keccak(Shake::sha3(active(), 384)),
            PreHash::Sha3_512 => Function::Keccak(Shake::sha3(active(), 512)),
            PreHash::Shake128 => Function::Keccak(Shake::shake128(active())),
            PreHash::Shake256 => Function::Keccak(Shake::shake256(active())),
        };
        PreHasher { function, len: ph.digest_len() }
    }

    /// The next piece of the message.
    pub fn update(&mut self, piece: &[u8]) {
        match &mut self.function {
            Function::Keccak(h) => h.absorb([piece]),
            Function::Sha224(h) => h.update(piece),
            Function::Sha256(h) => h.update(piece),
            Function::Sha384(h) => h.update(piece),
            Function::Sha512(h) => h.update(piece),
            Function::Sha512_224(h) => h.update(piece),
            Function::Sha512_256(h) => h.update(piece),
        }
    }

    /// The digest.
    pub fn finish(self) -> Digest {
        let mut bytes = [0; 64];
        let out = &mut bytes[..self.len];
        match self.function {
            Function::Keccak(mut h) => h.squeeze([out]),
            Function::Sha224(h) => out.copy_from_slice(&h.finalize()),
            Function::Sha256(h) => out.copy_from_slice(&h.finalize()),
            Function::Sha384(h) => out.copy_from_slice(&h.finalize()),
            Function::Sha512(h) => out.copy_from_slice(&h.finalize()),
            Function::Sha512_224(h) => out.copy_from_slice(&h.finalize()),
            Function::Sha512_256(h) => out.copy_from_slice(&h.finalize()),
        }
        Digest { bytes, len: self.len }
    }
}
