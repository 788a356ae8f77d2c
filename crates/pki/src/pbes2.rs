//! Private keys under a password: EncryptedPrivateKeyInfo (RFC 5958 §3) with PBES2 (RFC 8018 §6.2).
//!
//! Written: PBKDF2 with HMAC-SHA-512 or HMAC-SHA-256, and AES-256 in CBC. Read: PBKDF2 with HMAC-SHA-1, -256, -384 or
//! -512, and AES-128, -192 or -256 in CBC. CBC has no tag: that a password is wrong shows in the padding or in what
//! the plaintext turns out to be, so that a wrong password and a damaged file are one error, [`Error::Password`].
//!
//! ```
//! use sealstone_pki::{KeyAlgorithm, PrivateKeyInfo, pbes2, pkcs8};
//!
//! # fn main() -> Result<(), sealstone_pki::Error> {
//! let key = PrivateKeyInfo::new(KeyAlgorithm::Ed25519, &[7; 32], None)?;
//! let cost = pbes2::Cost::new(600_000)?;
//! let mut rng = sealstone_mldsa::OsRandom;
//! let pem = pbes2::to_pem(&pkcs8::to_der(&key)?, b"correct horse battery staple", cost, &mut rng)?;
//! assert!(pem.starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"));
//! let plain = pbes2::from_pem(&pem, b"correct horse battery staple")?;
//! assert_eq!(pkcs8::from_der(&plain)?.raw()?, &[7; 32]);
//! # Ok(())
//! # }
//! ```

use core::num::NonZeroU32;

use aws_lc_rs::cipher::{
    self, DecryptionContext, EncryptionContext, PaddedBlockDecryptingKey, PaddedBlockEncryptingKey,
    UnboundCipherKey,
};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::pbkdf2;
use sealstone_mldsa::Randomness;
use zeroize::Zeroizing;

use crate::der::{self, Reader, Tag};
use crate::error::Error;
use crate::pem;

/// Fewest iterations that are written, by the advice of OWASP for HMAC-SHA-256 (2023). With HMAC-SHA-512, as written
/// here, they cost more.
pub const MIN_ITERATIONS: u32 = 600_000;
/// Most iterations that are read and written: some seconds of work.
pub const MAX_ITERATIONS: u32 = 10_000_000;

/// id-PBES2, 1.2.840.113549.1.5.13 (RFC 8018, Appendix A.4).
const PBES2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0d];
/// id-PBKDF2, 1.2.840.113549.1.5.12 (RFC 8018, Appendix A.2).
const PBKDF2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0c];
/// id-hmacWithSHA512, 1.2.840.113549.2.11 (RFC 8018, Appendix B.1.2).
const HMAC_SHA512: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x0b];
/// aes256-CBC-PAD, 2.16.840.1.101.3.4.1.42 (RFC 8018, Appendix B.2.5).
const AES256_CBC: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01, 0x2a];

/// The pseudorandom functions of PBKDF2 (RFC 8018, Appendix B.1), for reading.
const PRFS: [(&[u8], pbkdf2::Algorithm); 4] = [
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x07], pbkdf2::PBKDF2_HMAC_SHA1),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x09], pbkdf2::PBKDF2_HMAC_SHA256),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x0a], pbkdf2::PBKDF2_HMAC_SHA384),
    (HMAC_SHA512, pbkdf2::PBKDF2_HMAC_SHA512),
];

/// The ciphers, with the bytes of their keys, for reading.
const CIPHERS: [(&[u8], &cipher::Algorithm, usize); 3] = [
    (&[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01, 0x02], &cipher::AES_128, 16),
    (&[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01, 0x16], &cipher::AES_192, 24),
    (AES256_CBC, &cipher::AES_256, 32),
];

const NULL: Tag = Tag { byte: 0x05, name: "NULL" };
const LABEL: &str = "ENCRYPTED PRIVATE KEY";
const SALT_LEN: usize = 16;
const SALT_MAX: usize = 1024;
const IV_LEN: usize = 16;

/// How much work a guess at the password is: the iterations of PBKDF2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost(NonZeroU32);

impl Cost {
    /// From [`MIN_ITERATIONS`] to [`MAX_ITERATIONS`].
    ///
    /// # Errors
    /// [`Error::Iterations`] outside of that.
    pub fn new(iterations: u32) -> Result<Self, Error> {
        match NonZeroU32::new(iterations) {
            Some(count) if (MIN_ITERATIONS..=MAX_ITERATIONS).contains(&iterations) => Ok(Self(count)),
            _ => Err(Error::Iterations {
                least: MIN_ITERATIONS,
                most: MAX_ITERATIONS,
                found: iterations.into(),
            }),
        }
    }
}

/// [`MIN_ITERATIONS`].
impl Default for Cost {
    fn default() -> Self {
        Self(NonZeroU32::MIN.saturating_add(MIN_ITERATIONS - 1))
    }
}

/// Encrypts a PKCS#8 in DER under a password.
///
/// # Errors
/// [`Error::Provider`] if there is no randomness.
pub fn to_der(
    plain: &[u8],
    password: &[u8],
    cost: Cost,
    rng: &mut impl Randomness,
) -> Result<Vec<u8>, Error> {
    let (mut salt, mut iv) = ([0; SALT_LEN], [0; IV_LEN]);
    rng.fill(&mut salt).map_err(|_| Error::Provider)?;
    rng.fill(&mut iv).map_err(|_| Error::Provider)?;
    let mut key = Zeroizing::new([0; 32]);
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA512, cost.0, &salt, password, &mut *key);

    let key = UnboundCipherKey::new(&cipher::AES_256, &*key).map_err(|_| Error::Provider)?;
    let key = PaddedBlockEncryptingKey::cbc_pkcs7(key).map_err(|_| Error::Provider)?;
    // Room for the padding, so that the plaintext is never moved.
    let mut bytes = Zeroizing::new(Vec::with_capacity(plain.len() + IV_LEN));
    bytes.extend_from_slice(plain);
    key.less_safe_encrypt(&mut *bytes, EncryptionContext::Iv128(FixedLength::from(iv)))
        .map_err(|_| Error::Provider)?;

    let oid = |oid| der::write(der::OBJECT_IDENTIFIER, &[oid]);
    let salt = der::write(der::OCTET_STRING, &[&salt]);
    let octets = cost.0.get().to_be_bytes();
    // The bounds keep the first of the four bytes zero and the second below 0x9a: with its leading zero it is positive.
    let iterations = der::write(der::INTEGER, &[&octets[usize::from(octets[1] < 0x80)..]]);
    let prf = der::write(der::SEQUENCE, &[&oid(HMAC_SHA512), &der::write(NULL, &[])]);
    let kdf = der::write(der::SEQUENCE, &[&salt, &iterations, &prf]);
    let kdf = der::write(der::SEQUENCE, &[&oid(PBKDF2), &kdf]);
    let cipher = der::write(der::SEQUENCE, &[&oid(AES256_CBC), &der::write(der::OCTET_STRING, &[&iv])]);
    let parameters = der::write(der::SEQUENCE, &[&kdf, &cipher]);
    let algorithm = der::write(der::SEQUENCE, &[&oid(PBES2), &parameters]);
    let encrypted = der::write(der::OCTET_STRING, &[&bytes]);
    Ok(der::write(der::SEQUENCE, &[&algorithm, &encrypted]).to_vec())
}

/// Decrypts an EncryptedPrivateKeyInfo into the DER of a PKCS#8, which is not looked at beyond its frame.
///
/// # Errors
/// The first thing that is wrong with it, and where; [`Error::Unsupported`] for another scheme,
/// [`Error::Iterations`] for more work than [`MAX_ITERATIONS`], [`Error::Password`].
pub fn from_der(bytes: &[u8], password: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
    let mut whole = Reader::new(bytes)?;
    let mut fields = whole.take(der::SEQUENCE)?;
    whole.end()?;
    let mut algorithm = fields.take(der::SEQUENCE)?;
    named(&mut algorithm, "the scheme", "PBES2 (1.2.840.113549.1.5.13)", |oid| (oid == PBES2).then_some(()))?;
    let mut parameters = algorithm.take(der::SEQUENCE)?;
    algorithm.end()?;
    let encrypted = fields.take(der::OCTET_STRING)?.rest();
    fields.end()?;

    let derivation = Derivation::read(&mut parameters)?;
    let mut cipher = parameters.take(der::SEQUENCE)?;
    parameters.end()?;
    let known = |oid: &[u8]| CIPHERS.iter().find(|(known, ..)| *known == oid);
    let (_, cipher_algorithm, key_len) = named(&mut cipher, "the cipher", "AES in CBC", known)?;
    let at = cipher.clone();
    let iv = cipher.take(der::OCTET_STRING)?.rest();
    cipher.end()?;
    let Ok(iv) = <[u8; IV_LEN]>::try_from(iv) else {
        return Err(at.refusal("an IV of 16 bytes", iv.len().to_string()));
    };
    if derivation.key_len.is_some_and(|said| said != *key_len) {
        return Err(Error::Inconsistent { parts: "the length of the derived key is not that of the cipher" });
    }

    let mut key = Zeroizing::new([0; 32]);
    let key = &mut key[..*key_len];
    pbkdf2::derive(derivation.prf, derivation.iterations, derivation.salt, password, key);
    let key = UnboundCipherKey::new(cipher_algorithm, key).map_err(|_| Error::Provider)?;
    let key = PaddedBlockDecryptingKey::cbc_pkcs7(key).map_err(|_| Error::Provider)?;
    let mut buffer = Zeroizing::new(encrypted.to_vec());
    let plain = key
        .decrypt(&mut buffer, DecryptionContext::Iv128(FixedLength::from(iv)))
        .map_err(|_| Error::Password)?;
    // One wrong password in 256 leaves a padding that looks right: then what it covers is no PKCS#8.
    let mut frame = Reader::within(plain, 0);
    let framed = frame.take(der::SEQUENCE).and_then(|mut key| {
        frame.end()?;
        key.take_version(&[0, 1], "version 0 or 1")?;
        key.take(der::SEQUENCE).map(drop)
    });
    match framed {
        Ok(()) => Ok(Zeroizing::new(plain.to_vec())),
        Err(_) => Err(Error::Password),
    }
}

/// Encrypts a PKCS#8 in DER into a PEM block `ENCRYPTED PRIVATE KEY` (RFC 7468 §11).
///
/// # Errors
/// As for [`to_der`].
pub fn to_pem(plain: &[u8], password: &[u8], cost: Cost, rng: &mut impl Randomness) -> Result<String, Error> {
    Ok(pem::encode(LABEL, &to_der(plain, password, cost, rng)?).to_string())
}

/// Decrypts a PEM block `ENCRYPTED PRIVATE KEY` into the DER of a PKCS#8.
///
/// # Errors
/// As for [`from_der`], and what is wrong with the PEM.
pub fn from_pem(text: &str, password: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
    from_der(&pem::decode(text, LABEL)?.1, password)
}

/// PBKDF2-params, RFC 8018, Appendix A.2.
struct Derivation<'a> {
    salt: &'a [u8],
    iterations: NonZeroU32,
    key_len: Option<usize>,
    prf: pbkdf2::Algorithm,
}

impl<'a> Derivation<'a> {
    fn read(outer: &mut Reader<'a>) -> Result<Self, Error> {
        let mut algorithm = outer.take(der::SEQUENCE)?;
        let expected = "PBKDF2 (1.2.840.113549.1.5.12)";
        named(&mut algorithm, "the derivation", expected, |oid| (oid == PBKDF2).then_some(()))?;
        let mut fields = algorithm.take(der::SEQUENCE)?;
        algorithm.end()?;
        let at = fields.clone();
        let salt = fields.take(der::OCTET_STRING)?.rest();
        if salt.len() > SALT_MAX {
            return Err(at.refusal("a salt of at most 1024 bytes", salt.len().to_string()));
        }
        let found = take_unsigned(&mut fields)?;
        let iterations = u32::try_from(found).ok().and_then(NonZeroU32::new);
        let Some(iterations) = iterations.filter(|count| count.get() <= MAX_ITERATIONS) else {
            return Err(Error::Iterations { least: 1, most: MAX_ITERATIONS, found });
        };
        let key_len = match fields.peek() {
            Some(tag) if tag == der::INTEGER.byte => usize::try_from(take_unsigned(&mut fields)?).ok(),
            _ => None,
        };
        let prf = match fields.take_optional(der::SEQUENCE)? {
            // RFC 8018, Appendix A.2: the default.
            None => pbkdf2::PBKDF2_HMAC_SHA1,
            Some(mut prf) => {
                let known = |oid: &[u8]| PRFS.iter().find(|(known, _)| *known == oid);
                let (_, algorithm) = named(&mut prf, "the hash", "HMAC with SHA-1 or SHA-2", known)?;
                if let Some(null) = prf.take_optional(NULL)? {
                    null.end()?;
                }
                prf.end()?;
                *algorithm
            }
        };
        fields.end()?;
        Ok(Self { salt, iterations, key_len, prf })
    }
}

/// Takes an object identifier that is one of those known.
fn named<T>(
    fields: &mut Reader<'_>,
    part: &'static str,
    expected: &'static str,
    known: impl Fn(&[u8]) -> Option<T>,
) -> Result<T, Error> {
    let oid = fields.take(der::OBJECT_IDENTIFIER)?.rest();
    known(oid).ok_or_else(|| Error::Unsupported { part, expected, found: der::dotted(oid) })
}

/// Takes an INTEGER of at most 8 bytes that is not negative.
fn take_unsigned(fields: &mut Reader<'_>) -> Result<u64, Error> {
    let at = fields.clone();
    let content = fields.take(der::INTEGER)?.rest();
    let minimal =
        !matches!(content, [] | [0, 0..=0x7f, ..]) && content.first().is_some_and(|first| *first < 0x80);
    if !minimal || content.len() > 8 {
        return Err(at.refusal("a number in its shortest form", "another form".into()));
    }
    Ok(content.iter().fold(0, |number, octet| number << 8 | u64::from(*octet)))
}
