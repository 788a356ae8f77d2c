//! Signature algorithms and the AlgorithmIdentifier that names each: ML-DSA (RFC 9881 §2), ECDSA (RFC 5758 §3.2),
//! Ed25519 (RFC 8410 §3), RSA (RFC 4055 §3, §5), and composites of the LAMPS draft. No arithmetic is done here.

use core::fmt;

use sealstone_mldsa::Level;

use crate::der::{self, Reader, Tag};
use crate::error::Error;

/// What a message is hashed with before ECDSA or RSA signs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Hash {
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

/// How a signature is made.
///
/// ```
/// use sealstone_mldsa::Level;
/// use sealstone_pki::{Error, Hash, SignatureAlgorithm};
///
/// # fn main() -> Result<(), sealstone_pki::Error> {
/// let algorithm = SignatureAlgorithm::MlDsa(Level::MlDsa87);
/// assert_eq!(algorithm.name(), "ML-DSA-87");
/// assert!(algorithm.is_post_quantum());
/// assert_eq!(algorithm.level(), Some(Level::MlDsa87));
/// assert_eq!(SignatureAlgorithm::from_der(&algorithm.to_der())?, algorithm);
///
/// let classical = SignatureAlgorithm::Ecdsa(Hash::Sha384);
/// assert_eq!(classical.to_string(), "ecdsa-with-SHA384");
/// assert_eq!((classical.is_post_quantum(), classical.level()), (false, None));
/// assert_eq!(Hash::Sha384.len(), 48);
///
/// // sha1WithRSAEncryption, 1.2.840.113549.1.1.5, with its NULL: known by name, and not used.
/// let sha1 = [0x30, 13, 0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 5, 0x05, 0];
/// let refused = SignatureAlgorithm::from_der(&sha1);
/// assert!(matches!(refused, Err(Error::AlgorithmRefused { name: "sha1WithRSAEncryption", .. })));
/// # Ok(())
/// # }
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SignatureAlgorithm {
    /// ML-DSA and a classical signature in one, draft-ietf-lamps-pq-composite-sigs-19.
    #[cfg(feature = "composite")]
    Composite(sealstone_composite::Algorithm),
    /// ECDSA on the curve of the key.
    Ecdsa(Hash),
    /// Ed25519.
    Ed25519,
    /// ML-DSA, pure and with an empty context (RFC 9881 §3).
    MlDsa(Level),
    /// RSASSA-PKCS1-v1_5, for verifying only.
    RsaPkcs1(Hash),
    /// RSASSA-PSS with MGF1 over the same hash, and how many bytes of salt, for verifying only. Most who sign take as many as
    /// the digest has; OpenSSL before 3.1, as many as fit.
    RsaPss(Hash, u16),
}

const ML_DSA: [(Level, &[u8]); 3] = [
    (Level::MlDsa44, &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03, 0x11]),
    (Level::MlDsa65, &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03, 0x12]),
    (Level::MlDsa87, &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03, 0x13]),
];
/// ecdsa-with-SHA256, -SHA384, -SHA512: 1.2.840.10045.4.3.2 to .4.
const ECDSA: [(Hash, &[u8]); 3] = [
    (Hash::Sha256, &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]),
    (Hash::Sha384, &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03]),
    (Hash::Sha512, &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x04]),
];
/// sha256-, sha384-, sha512WithRSAEncryption: 1.2.840.113549.1.1.11 to .13.
const RSA_PKCS1: [(Hash, &[u8]); 3] = [
    (Hash::Sha256, &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b]),
    (Hash::Sha384, &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0c]),
    (Hash::Sha512, &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0d]),
];
/// id-sha256, id-sha384, id-sha512: 2.16.840.1.101.3.4.2.1 to .3.
const HASHES: [(Hash, &[u8]); 3] = [
    (Hash::Sha256, &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]),
    (Hash::Sha384, &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02]),
    (Hash::Sha512, &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03]),
];
/// Bytes of salt where nothing is said (RFC 4055 §3.1), which in DER is the one way to say it.
const DEFAULT_SALT: u16 = 20;
/// Most salt that fits: that of 8192 bits with SHA-256 (RFC 8017 §9.1.1).
const MAX_SALT: u16 = 1_024 - 32 - 2;
/// id-RSASSA-PSS, 1.2.840.113549.1.1.10.
pub(crate) const RSA_PSS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0a];
/// id-mgf1, 1.2.840.113549.1.1.8.
const MGF1: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x08];
/// id-Ed25519, 1.3.101.112.
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
/// 1.3.6.1.5.5.7.6, under which section 6 of the LAMPS draft numbers its algorithms.
#[cfg(feature = "composite")]
const COMPOSITE: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x06];
const NULL: Tag = Tag { byte: 0x05, name: "NULL" };

const WEAK: &str = "its hash can be made to collide";
const PRE_HASHED: &str = "RFC 9881 §1 allows only pure ML-DSA in certificates";
const NO_CURVE: &str = "the curves of Brainpool are not implemented here";
#[cfg(not(feature = "composite"))]
const WITHOUT_FEATURE: &str = "this build is without the feature `composite`";

/// Known by name, so that the error can say more than a number.
const REFUSED: [(&str, &str, &str); 20] = [
    ("1.2.840.113549.1.1.2", "md2WithRSAEncryption", WEAK),
    ("1.2.840.113549.1.1.4", "md5WithRSAEncryption", WEAK),
    ("1.2.840.113549.1.1.5", "sha1WithRSAEncryption", WEAK),
    ("1.2.840.113549.1.1.14", "sha224WithRSAEncryption", "its hash is below 128 bits of strength"),
    ("1.2.840.10040.4.3", "dsa-with-sha1", WEAK),
    ("1.2.840.10045.4.1", "ecdsa-with-SHA1", WEAK),
    ("1.2.840.10045.4.3.1", "ecdsa-with-SHA224", "its hash is below 128 bits of strength"),
    ("2.16.840.1.101.3.4.3.2", "dsa-with-sha256", "DSA is withdrawn (FIPS 186-5)"),
    ("1.3.101.113", "Ed448", "it is not implemented here alone"),
    ("2.16.840.1.101.3.4.3.32", "HashML-DSA-44 with SHA-512", PRE_HASHED),
    ("2.16.840.1.101.3.4.3.33", "HashML-DSA-65 with SHA-512", PRE_HASHED),
    ("2.16.840.1.101.3.4.3.34", "HashML-DSA-87 with SHA-512", PRE_HASHED),
    ("1.3.6.1.5.5.7.6.47", "MLDSA65-ECDSA-brainpoolP256r1-SHA512", NO_CURVE),
    ("1.3.6.1.5.5.7.6.50", "MLDSA87-ECDSA-brainpoolP384r1-SHA512", NO_CURVE),
    ("1.3.9999.2.7.1", "Dilithium2 of a draft", "it is not ML-DSA: make the key anew"),
    ("1.3.6.1.4.1.2.267.7.4.4", "Dilithium2 of round 3", "it is not ML-DSA: make the key anew"),
    ("1.3.6.1.4.1.2.267.7.6.5", "Dilithium3 of round 3", "it is not ML-DSA: make the key anew"),
    ("1.3.6.1.4.1.2.267.7.8.7", "Dilithium5 of round 3", "it is not ML-DSA: make the key anew"),
    ("1.3.6.1.4.1.2.267.12.4.4", "ML-DSA-44 of the draft of FIPS 204", "it is not ML-DSA: make the key anew"),
    ("1.3.6.1.4.1.2.267.12.6.5", "ML-DSA-65 of the draft of FIPS 204", "it is not ML-DSA: make the key anew"),
];

/// The error for an object identifier that is none of a signature that is made or checked here.
pub(crate) fn unknown(oid: &[u8]) -> Error {
    let oid = der::dotted(oid);
    #[cfg(not(feature = "composite"))]
    if oid.starts_with("1.3.6.1.5.5.7.6.") && !REFUSED.iter().any(|(refused, ..)| *refused == oid) {
        return Error::AlgorithmRefused { oid, name: "a composite of the LAMPS draft", why: WITHOUT_FEATURE };
    }
    match REFUSED.iter().find(|(refused, ..)| *refused == oid) {
        Some((_, name, why)) => Error::AlgorithmRefused { oid, name, why },
        None => Error::AlgorithmUnknown { oid },
    }
}

impl SignatureAlgorithm {
    /// Reads a whole AlgorithmIdentifier.
    ///
    /// # Errors
    /// [`Error::AlgorithmUnknown`], [`Error::AlgorithmRefused`] with the name of a known algorithm that is not used,
    /// [`Error::Parameters`], or what is wrong with the DER.
    pub fn from_der(bytes: &[u8]) -> Result<Self, Error> {
        let mut whole = Reader::new(bytes)?;
        let algorithm = Self::read(&mut whole)?;
        whole.end()?;
        Ok(algorithm)
    }

    /// The AlgorithmIdentifier. Parameters are absent, but of RSA: NULL, or those of PSS.
    pub fn to_der(self) -> Vec<u8> {
        let oid = |content: &[u8]| der::write(der::OBJECT_IDENTIFIER, &[content]);
        match self {
            Self::RsaPkcs1(_) => der::write(der::SEQUENCE, &[&oid(&self.oid()), &[5, 0]]).to_vec(),
            Self::RsaPss(hash, salt) => {
                let hash_der = der::write(der::SEQUENCE, &[&oid(hash.oid()), &[5, 0]]);
                let explicit = |number: u8, content: &[u8]| {
                    der::write(Tag { byte: 0xa0 | number, name: "a parameter" }, &[content])
                };
                let mgf = der::write(der::SEQUENCE, &[&oid(MGF1), &hash_der]);
                let of_default = salt == DEFAULT_SALT;
                let [high, low] = salt.to_be_bytes();
                // X.690 §8.3: in as few bytes as hold it, and positive.
                let salt = match (high, low) {
                    (0, ..0x80) => &[low][..],
                    (..0x80, _) => &[high, low],
                    _ => &[0, high, low],
                };
                let salt = explicit(2, &der::write(der::INTEGER, &[salt]));
                let salt: &[u8] = if of_default { &[] } else { &salt };
                let parameters =
                    der::write(der::SEQUENCE, &[&explicit(0, &hash_der), &explicit(1, &mgf), salt]);
                der::write(der::SEQUENCE, &[&oid(RSA_PSS), &parameters]).to_vec()
            }
            _ => der::write(der::SEQUENCE, &[&oid(&self.oid())]).to_vec(),
        }
    }

    /// The name, such as `ML-DSA-65` or `ecdsa-with-SHA256`.
    pub const fn name(self) -> &'static str {
        match self {
            #[cfg(feature = "composite")]
            Self::Composite(algorithm) => algorithm.name(),
            Self::Ecdsa(Hash::Sha256) => "ecdsa-with-SHA256",
            Self::Ecdsa(Hash::Sha384) => "ecdsa-with-SHA384",
            Self::Ecdsa(Hash::Sha512) => "ecdsa-with-SHA512",
            Self::Ed25519 => "Ed25519",
            Self::MlDsa(level) => level.name(),
            Self::RsaPkcs1(Hash::Sha256) => "sha256WithRSAEncryption",
            Self::RsaPkcs1(Hash::Sha384) => "sha384WithRSAEncryption",
            Self::RsaPkcs1(Hash::Sha512) => "sha512WithRSAEncryption",
            Self::RsaPss(Hash::Sha256, _) => "RSASSA-PSS with SHA-256",
            Self::RsaPss(Hash::Sha384, _) => "RSASSA-PSS with SHA-384",
            Self::RsaPss(Hash::Sha512, _) => "RSASSA-PSS with SHA-512",
        }
    }

    /// Whether a quantum computer leaves it standing.
    pub const fn is_post_quantum(self) -> bool {
        match self {
            #[cfg(feature = "composite")]
            Self::Composite(_) => true,
            Self::MlDsa(_) => true,
            _ => false,
        }
    }

    /// The ML-DSA level that it holds, alone or as a half.
    pub const fn level(self) -> Option<Level> {
        match self {
            #[cfg(feature = "composite")]
            Self::Composite(algorithm) => Some(algorithm.level()),
            Self::MlDsa(level) => Some(level),
            _ => None,
        }
    }

    /// The content of its object identifier.
    fn oid(self) -> Vec<u8> {
        fn of<T: PartialEq>(table: &[(T, &'static [u8])], wanted: T) -> Vec<u8> {
            table.iter().find(|(key, _)| *key == wanted).map_or(Vec::new(), |(_, oid)| oid.to_vec())
        }
        match self {
            #[cfg(feature = "composite")]
            Self::Composite(algorithm) => composite_oid(algorithm),
            Self::Ecdsa(hash) => of(&ECDSA, hash),
            Self::Ed25519 => ED25519.to_vec(),
            Self::MlDsa(level) => of(&ML_DSA, level),
            Self::RsaPkcs1(hash) => of(&RSA_PKCS1, hash),
            Self::RsaPss(..) => RSA_PSS.to_vec(),
        }
    }

    /// Reads one AlgorithmIdentifier.
    pub(crate) fn read(outer: &mut Reader<'_>) -> Result<Self, Error> {
        let mut fields = outer.take(der::SEQUENCE)?;
        let oid = fields.take(der::OBJECT_IDENTIFIER)?.rest();
        fn by_oid<T: Copy>(table: &[(T, &[u8])], oid: &[u8]) -> Option<T> {
            table.iter().find(|(_, known)| *known == oid).map(|(key, _)| *key)
        }
        if let Some(hash) = by_oid(&RSA_PKCS1, oid) {
            // RFC 4055 §5: NULL, and absent is accepted.
            null_or_absent(&mut fields)?;
            return Ok(Self::RsaPkcs1(hash));
        }
        if oid == RSA_PSS {
            return read_pss(fields).map(|(hash, salt)| Self::RsaPss(hash, salt));
        }
        let algorithm = if let Some(level) = by_oid(&ML_DSA, oid) {
            Self::MlDsa(level)
        } else if let Some(hash) = by_oid(&ECDSA, oid) {
            Self::Ecdsa(hash)
        } else if oid == ED25519 {
            Self::Ed25519
        } else {
            Self::read_composite(oid)?
        };
        absent(&fields)?;
        Ok(algorithm)
    }

    #[cfg(feature = "composite")]
    fn read_composite(oid: &[u8]) -> Result<Self, Error> {
        composite_by_oid(oid).map(Self::Composite).ok_or_else(|| unknown(oid))
    }

    #[cfg(not(feature = "composite"))]
    fn read_composite(oid: &[u8]) -> Result<Self, Error> {
        Err(unknown(oid))
    }
}

/// The name.
impl fmt::Display for SignatureAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Hash {
    /// Bytes of a digest.
    #[allow(clippy::len_without_is_empty)] // a digest is never empty
    pub const fn len(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }

    fn oid(self) -> &'static [u8] {
        HASHES[self as usize].1
    }
}

#[cfg(feature = "composite")]
pub(crate) fn composite_oid(algorithm: sealstone_composite::Algorithm) -> Vec<u8> {
    [COMPOSITE, &[algorithm.oid_arc()]].concat()
}

#[cfg(feature = "composite")]
pub(crate) fn composite_by_oid(oid: &[u8]) -> Option<sealstone_composite::Algorithm> {
    let [arc] = oid.strip_prefix(COMPOSITE)? else { return None };
    sealstone_composite::Algorithm::ALL.into_iter().find(|algorithm| algorithm.oid_arc() == *arc)
}

/// Nothing may follow the object identifier; NULL is something.
pub(crate) fn absent(fields: &Reader<'_>) -> Result<(), Error> {
    match fields.peek() {
        None => Ok(()),
        Some(tag) => Err(Error::Parameters {
            offset: fields.offset(),
            expected: "none",
            found: if tag == NULL.byte { "NULL".into() } else { format!("tag {tag:#04x}") },
        }),
    }
}

fn null_or_absent(fields: &mut Reader<'_>) -> Result<(), Error> {
    if let Some(null) = fields.take_optional(NULL)? {
        null.end()?;
    }
    match fields.peek() {
        None => Ok(()),
        Some(tag) => Err(Error::Parameters {
            offset: fields.offset(),
            expected: "NULL",
            found: format!("tag {tag:#04x}"),
        }),
    }
}

/// RSASSA-PSS-params, RFC 4055 §3.1: hash and length of the salt. The default of both hashes is SHA-1 and so not allowed.
pub(crate) fn read_pss(mut fields: Reader<'_>) -> Result<(Hash, u16), Error> {
    let at = fields.offset();
    let refusal = |found: &str| Error::Parameters {
        offset: at,
        expected: "SHA-256, SHA-384 or SHA-512, MGF1 over the same, and how many bytes of salt, at most 990",
        found: found.into(),
    };
    if fields.peek().is_none() {
        return Err(refusal("nothing"));
    }
    let mut parameters = fields.take(der::SEQUENCE)?;
    fields.end()?;
    let mut explicit = |number: u8| match parameters.peek() {
        Some(tag) if tag == 0xa0 | number => parameters.take_next("a parameter").map(Some),
        _ => Ok(None),
    };
    let (first, second, third) = (explicit(0)?, explicit(1)?, explicit(2)?);
    let (Some(mut first), Some(mut second)) = (first, second) else {
        return Err(refusal("a default, which is SHA-1"));
    };
    let hash = read_hash(&mut first).map_err(|_| refusal("another hash"))?;
    first.end()?;
    let mut mgf = second.take(der::SEQUENCE)?;
    second.end()?;
    if mgf.take(der::OBJECT_IDENTIFIER)?.rest() != MGF1 {
        return Err(refusal("another mask generation function"));
    }
    if read_hash(&mut mgf).map_err(|_| refusal("another hash in MGF1"))? != hash {
        return Err(refusal("two hashes"));
    }
    mgf.end()?;
    let salt = match third {
        None => DEFAULT_SALT,
        Some(mut third) => {
            let salt = third.take(der::INTEGER)?.rest();
            third.end()?;
            match *salt {
                [low] if low < 0x80 && u16::from(low) != DEFAULT_SALT => u16::from(low),
                // X.690 §8.3: two bytes are one too many below 128.
                [high, low] if (0x80..=MAX_SALT).contains(&u16::from_be_bytes([high, low])) => {
                    u16::from_be_bytes([high, low])
                }
                _ => return Err(refusal("a salt of another length, or the default written out")),
            }
        }
    };
    // The trailer's default is the only one there is.
    if parameters.peek().is_some() {
        return Err(refusal("a trailer"));
    }
    Ok((hash, salt))
}

/// RFC 4055 §2.1: with NULL or without.
fn read_hash(outer: &mut Reader<'_>) -> Result<Hash, Error> {
    let mut fields = outer.take(der::SEQUENCE)?;
    let oid = fields.take(der::OBJECT_IDENTIFIER)?.rest();
    null_or_absent(&mut fields)?;
    HASHES
        .iter()
        .find(|(_, known)| *known == oid)
        .map(|(hash, _)| *hash)
        .ok_or_else(|| Error::AlgorithmUnknown { oid: der::dotted(oid) })
}
