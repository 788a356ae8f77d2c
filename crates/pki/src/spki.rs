//! Public keys: SubjectPublicKeyInfo, RFC 5280 §4.1.

use crate::algorithm::KeyAlgorithm;
use crate::der::{self, Reader};
use crate::error::Error;
use crate::pem;
use crate::rsa;

/// A public key and what it is for.
///
/// ```
/// use sealstone_pki::{Error, KeyAlgorithm, PublicKeyInfo, spki};
///
/// # fn main() -> Result<(), sealstone_pki::Error> {
/// let key = PublicKeyInfo::new(KeyAlgorithm::Ed25519, &[7; 32])?;
/// assert_eq!(key.algorithm(), KeyAlgorithm::Ed25519);
/// assert_eq!(key.key(), [7; 32]);
/// assert_eq!(spki::from_der(&spki::to_der(&key))?, key);
///
/// let short = PublicKeyInfo::new(KeyAlgorithm::Ed25519, &[7; 31]);
/// assert!(matches!(short, Err(Error::KeyLength { expected: 32, found: 31, .. })));
/// // 02 or 03 begins a compressed point.
/// let compressed = PublicKeyInfo::new(KeyAlgorithm::EcP256, &[2; 33]);
/// assert_eq!(compressed, Err(Error::PointForm { found: 2 }));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKeyInfo {
    algorithm: KeyAlgorithm,
    key: Vec<u8>,
}

impl PublicKeyInfo {
    /// Takes a raw public key of [`KeyAlgorithm::public_len`] bytes. A point must be uncompressed; whether it lies on
    /// its curve is not checked here.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::PointForm`].
    pub fn new(algorithm: KeyAlgorithm, key: &[u8]) -> Result<Self, Error> {
        let form = key.first().copied().unwrap_or_default();
        if algorithm.order().is_some() && form != 0x04 {
            return Err(Error::PointForm { found: form });
        }
        algorithm.check_len("public key", algorithm.public_len(), key.len())?;
        Ok(Self { algorithm, key: key.to_vec() })
    }

    /// What the key is for.
    pub fn algorithm(&self) -> KeyAlgorithm {
        self.algorithm
    }

    /// The raw public key.
    pub fn key(&self) -> &[u8] {
        &self.key
    }
}

/// Reads `SEQUENCE { AlgorithmIdentifier, BIT STRING }`.
///
/// # Errors
/// The first thing that is wrong with it, and where.
pub fn from_der(bytes: &[u8]) -> Result<PublicKeyInfo, Error> {
    let mut whole = Reader::new(bytes)?;
    let mut fields = whole.take(der::SEQUENCE)?;
    whole.end()?;
    let algorithm = KeyAlgorithm::read(&mut fields)?;
    let key = fields.take_bits(der::BIT_STRING)?;
    fields.end()?;
    PublicKeyInfo::new(algorithm, key)
}

/// Writes `SEQUENCE { AlgorithmIdentifier, BIT STRING }`.
pub fn to_der(info: &PublicKeyInfo) -> Vec<u8> {
    let key = der::write_bits(der::BIT_STRING, &info.key);
    der::write(der::SEQUENCE, &[&info.algorithm.write(), &key]).to_vec()
}

/// Reads a PEM block `PUBLIC KEY` (RFC 7468 §13).
///
/// # Errors
/// The first thing that is wrong with it, and where.
pub fn from_pem(text: &str) -> Result<PublicKeyInfo, Error> {
    let (_, content) = pem::decode(text, "PUBLIC KEY")?;
    from_der(&content)
}

/// Writes a PEM block `PUBLIC KEY`.
pub fn to_pem(info: &PublicKeyInfo) -> String {
    pem::encode("PUBLIC KEY", &to_der(info)).to_string()
}

/// Writes the SubjectPublicKeyInfo of an RSA key (RFC 3279 §2.3.1) from its modulus and exponent, big-endian: to
/// compare with a certificate's. Nothing is done with such keys here.
///
/// ```
/// use sealstone_pki::spki;
///
/// # fn main() -> Result<(), sealstone_pki::Error> {
/// let (modulus, exponent) = ([0xc5; 256], [1, 0, 1]);
/// let der = spki::rsa_to_der(&modulus, &exponent);
/// assert_eq!(spki::rsa_from_der(&der)?, (modulus.to_vec(), exponent.to_vec()));
///
/// // Zeros before a number do not count.
/// assert_eq!(spki::rsa_to_der(&[[0; 256], modulus].concat(), &exponent), der);
/// # Ok(())
/// # }
/// ```
pub fn rsa_to_der(modulus: &[u8], exponent: &[u8]) -> Vec<u8> {
    let integer = |number: &[u8]| {
        let significant = &number[number.iter().take_while(|byte| **byte == 0).count()..];
        // X.690 §8.3: signed, so that a first bit of one needs a zero before it.
        let sign: &[u8] = if significant.first().is_none_or(|byte| *byte >= 0x80) { &[0] } else { &[] };
        der::write(der::INTEGER, &[sign, significant])
    };
    let key = der::write(der::SEQUENCE, &[&integer(modulus), &integer(exponent)]);
    rsa::public_to_der(&key)
}

/// Whether this is an RSA key that signs with PSS alone: its SubjectPublicKeyInfo names id-RSASSA-PSS (RFC 4055 §1.2) and not
/// rsaEncryption. Whoever checks PKCS #1 v1.5 signatures must not take it.
///
/// ```
/// use sealstone_pki::{der, spki};
///
/// let plain = spki::rsa_to_der(&[0xc5; 256], &[1, 0, 1]);
/// assert!(!spki::rsa_is_for_pss_alone(&plain));
///
/// // The same key under the other identifier, 1.2.840.113549.1.1.10.
/// let oid = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0a];
/// let numbers = [der::write(der::INTEGER, &[&[0], &[0xc5; 256]]), der::write(der::INTEGER, &[&[1, 0, 1]])];
/// let key = der::write(der::SEQUENCE, &[&numbers[0], &numbers[1]]);
/// let algorithm = der::write(der::SEQUENCE, &[&der::write(der::OBJECT_IDENTIFIER, &[&oid])]);
/// let pss = der::write(der::SEQUENCE, &[&algorithm, &der::write_bits(der::BIT_STRING, &key)]);
/// assert!(spki::rsa_is_for_pss_alone(&pss));
/// assert_eq!(spki::rsa_from_der(&pss), spki::rsa_from_der(&plain));
/// ```
pub fn rsa_is_for_pss_alone(bytes: &[u8]) -> bool {
    rsa::pss_public_from_der(bytes).is_ok()
}

/// Reads the modulus and exponent of an RSA key, big-endian, to show them; also of one
/// [for PSS alone](rsa_is_for_pss_alone). Whether they are good ones is not checked.
///
/// # Errors
/// The first thing that is wrong with it, and where; also for a key of another type.
pub fn rsa_from_der(bytes: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Error> {
    match rsa::pss_public_from_der(bytes) {
        Ok(pss) => rsa_numbers(&pss.key),
        Err(_) => rsa_numbers(&rsa::public_from_der(bytes)?),
    }
}

/// Modulus and exponent of an RSAPublicKey.
pub(crate) fn rsa_numbers(content: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Error> {
    let mut key = Reader::new(content)?;
    let mut numbers = key.take(der::SEQUENCE)?;
    key.end()?;
    let number = |content: &[u8]| content[content.iter().take_while(|byte| **byte == 0).count()..].to_vec();
    let modulus = number(numbers.take(der::INTEGER)?.rest());
    let exponent = number(numbers.take(der::INTEGER)?.rest());
    numbers.end()?;
    Ok((modulus, exponent))
}
