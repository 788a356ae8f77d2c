//! Digests by the kernel's hash functions, computed by the house's one provider of classical algorithms.

use aws_lc_rs::digest;

use crate::file_id::HashAlgorithm;

/// The provider's name for a hash function.
pub(crate) fn algorithm(hash: HashAlgorithm) -> &'static digest::Algorithm {
    match hash {
        HashAlgorithm::Sha1 => &digest::SHA1_FOR_LEGACY_USE_ONLY,
        HashAlgorithm::Sha224 => &digest::SHA224,
        HashAlgorithm::Sha256 => &digest::SHA256,
        HashAlgorithm::Sha384 => &digest::SHA384,
        HashAlgorithm::Sha512 => &digest::SHA512,
        HashAlgorithm::Sha3_256 => &digest::SHA3_256,
        HashAlgorithm::Sha3_384 => &digest::SHA3_384,
        HashAlgorithm::Sha3_512 => &digest::SHA3_512,
    }
}

/// The digest of bytes that are here.
pub(crate) fn of(hash: HashAlgorithm, bytes: &[u8]) -> digest::Digest {
    digest::digest(algorithm(hash), bytes)
}
