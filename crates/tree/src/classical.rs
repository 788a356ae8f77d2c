//! ECDSA and RSA, for trees that were signed before: both versions sign a digest, of the file (version 2) or of
//! [`FileId`](crate::FileId) (version 3).

use core::fmt;

use aws_lc_rs::digest::Digest;
use aws_lc_rs::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use sealstone_pki::KeyAlgorithm;

use crate::digest;
use crate::error::Error;
use crate::file_id::{FileId, HashAlgorithm};
use crate::record::{Record, Version};

/// A classical public key.
pub struct Classical {
    kind: Kind,
    /// The point, or RSAPublicKey in DER.
    key: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    P256,
    P384,
    Rsa,
}

impl Classical {
    /// Takes the content of a SubjectPublicKeyInfo's BIT STRING; `None` for a curve that IMA does not know.
    pub(crate) fn elliptic(algorithm: KeyAlgorithm, key: &[u8]) -> Option<Self> {
        let kind = match algorithm {
            KeyAlgorithm::EcP256 => Kind::P256,
            KeyAlgorithm::EcP384 => Kind::P384,
            _ => return None,
        };
        Some(Self { kind, key: key.to_vec() })
    }

    pub(crate) fn rsa(key: &[u8]) -> Self {
        Self { kind: Kind::Rsa, key: key.to_vec() }
    }

    /// What a record of this version and hash function signs.
    pub(crate) fn message(version: Version, file: &FileId) -> Result<Digest, Error> {
        let bad = |_| Error::BadSignature;
        match version {
            Version::V2 => {
                Digest::import_less_safe(file.digest(), digest::algorithm(file.hash())).map_err(bad)
            }
            Version::V3 => Ok(digest::of(file.hash(), file.as_bytes())),
        }
    }

    pub(crate) fn check(&self, record: &Record<'_>, file: &FileId) -> Result<(), Error> {
        let by: &'static dyn VerificationAlgorithm = match (self.kind, record.hash()) {
            (Kind::P256, HashAlgorithm::Sha256) => &signature::ECDSA_P256_SHA256_ASN1,
            (Kind::P256, HashAlgorithm::Sha384) => &signature::ECDSA_P256_SHA384_ASN1,
            (Kind::P256, HashAlgorithm::Sha512) => &signature::ECDSA_P256_SHA512_ASN1,
            (Kind::P384, HashAlgorithm::Sha256) => &signature::ECDSA_P384_SHA256_ASN1,
            (Kind::P384, HashAlgorithm::Sha384) => &signature::ECDSA_P384_SHA384_ASN1,
            (Kind::P384, HashAlgorithm::Sha512) => &signature::ECDSA_P384_SHA512_ASN1,
            (Kind::Rsa, HashAlgorithm::Sha256) => &signature::RSA_PKCS1_2048_8192_SHA256,
            (Kind::Rsa, HashAlgorithm::Sha384) => &signature::RSA_PKCS1_2048_8192_SHA384,
            (Kind::Rsa, HashAlgorithm::Sha512) => &signature::RSA_PKCS1_2048_8192_SHA512,
            (_, hash) => return Err(Error::ClassicalUnsupported { hash }),
        };
        let message = Self::message(record.version(), file)?;
        let checked = UnparsedPublicKey::new(by, &self.key).verify_digest(&message, record.signature());
        checked.map_err(|_| Error::BadSignature)
    }
}

impl fmt::Debug for Classical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Classical({:?})", self.kind)
    }
}
