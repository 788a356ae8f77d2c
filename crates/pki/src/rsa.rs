//! RSA keys in their wrappings: SPKI (RFC 3279 §2.3.1) and PKCS#8 (RFC 5208 §5) around the structures of RFC 8017 §A.1,
//! `RSAPublicKey` and `RSAPrivateKey`, which are handed over as they are. Whether their numbers are good ones is for the crate
//! that uses the key.
//!
//! ```
//! use sealstone_pki::rsa;
//!
//! # fn main() -> Result<(), sealstone_pki::Error> {
//! // RSAPublicKey, SEQUENCE { modulus, exponent }, with numbers far too small to be used.
//! let key = [0x30, 0x06, 0x02, 0x01, 0x0f, 0x02, 0x01, 0x03];
//! let spki = rsa::public_to_der(&key);
//! assert!(rsa::is_rsa(&spki));
//! assert_eq!(rsa::public_from_der(&spki)?, key);
//! assert_eq!(rsa::public_from_pem(&rsa::public_to_pem(&key))?, key);
//! # Ok(())
//! # }
//! ```
//!
//! Private keys likewise; the older `RSA PRIVATE KEY` is read too:
//!
//! ```
//! use sealstone_pki::rsa;
//!
//! # fn main() -> Result<(), sealstone_pki::Error> {
//! // The beginning of an RSAPrivateKey: what is in it is not looked at.
//! let key = [0x30, 0x03, 0x02, 0x01, 0x00];
//! let pkcs8 = rsa::private_to_der(&key);
//! assert!(rsa::is_rsa(&pkcs8));
//! assert_eq!(*rsa::private_from_der(&pkcs8)?, key);
//! assert_eq!(*rsa::private_from_pem(&rsa::private_to_pem(&key))?, key);
//!
//! let older = "-----BEGIN RSA PRIVATE KEY-----\nMAMCAQA=\n-----END RSA PRIVATE KEY-----\n";
//! assert_eq!(*rsa::private_from_pem(older)?, key);
//! # Ok(())
//! # }
//! ```

use zeroize::Zeroizing;

use crate::der::{self, Reader};
use crate::error::Error;
use crate::pem;
use crate::signature::{Hash, RSA_PSS, read_pss};

/// rsaEncryption, 1.2.840.113549.1.1.1, with its NULL, as content of an AlgorithmIdentifier.
pub(crate) const RSA_ENCRYPTION: &[u8] = &[0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1, 0x05, 0];

/// Whether DER is the SPKI or the PKCS#8 of an RSA key, by its algorithm alone.
pub fn is_rsa(der: &[u8]) -> bool {
    // Before it stand at most two headers of four bytes and a version of three.
    der.get(..der.len().min(12 + RSA_ENCRYPTION.len()))
        .is_some_and(|start| start.windows(RSA_ENCRYPTION.len()).any(|window| window == RSA_ENCRYPTION))
}

/// Reads an SPKI; what comes back is the `RSAPublicKey` in it.
///
/// # Errors
/// The first thing that is wrong with it, and where; also for a key of another type.
pub fn public_from_der(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut whole = Reader::new(bytes)?;
    let mut fields = whole.take(der::SEQUENCE)?;
    whole.end()?;
    algorithm(&mut fields)?;
    let key = fields.take_bits(der::BIT_STRING)?;
    fields.end()?;
    Ok(key.to_vec())
}

/// An `RSAPublicKey` that signs with PSS alone.
pub(crate) struct PssKey {
    pub key: Vec<u8>,
    /// The hash and the fewest bytes of salt that it may sign with, if it says so.
    #[cfg_attr(not(feature = "certificates"), allow(dead_code, reason = "without them nothing is verified"))]
    pub only: Option<(Hash, u16)>,
}

/// Reads an SPKI that names id-RSASSA-PSS (RFC 4055 §1.2), whose key signs in no other way.
pub(crate) fn pss_public_from_der(bytes: &[u8]) -> Result<PssKey, Error> {
    let mut whole = Reader::new(bytes)?;
    let mut fields = whole.take(der::SEQUENCE)?;
    whole.end()?;
    let mut algorithm = fields.take(der::SEQUENCE)?;
    if algorithm.take(der::OBJECT_IDENTIFIER)?.rest() != RSA_PSS {
        return Err(algorithm.refusal("RSASSA-PSS", "another algorithm".into()));
    }
    let only = algorithm.peek().is_some().then(|| read_pss(algorithm)).transpose()?;
    let key = fields.take_bits(der::BIT_STRING)?.to_vec();
    fields.end()?;
    Ok(PssKey { key, only })
}

/// Writes an SPKI around an `RSAPublicKey`.
pub fn public_to_der(key: &[u8]) -> Vec<u8> {
    let algorithm = der::write(der::SEQUENCE, &[RSA_ENCRYPTION]);
    der::write(der::SEQUENCE, &[&algorithm, &der::write_bits(der::BIT_STRING, key)]).to_vec()
}

/// Reads a PEM block `PUBLIC KEY`. Errors: as for [`public_from_der`].
pub fn public_from_pem(text: &str) -> Result<Vec<u8>, Error> {
    public_from_der(&pem::decode(text, "PUBLIC KEY")?.1)
}

/// Writes a PEM block `PUBLIC KEY`.
pub fn public_to_pem(key: &[u8]) -> String {
    pem::encode("PUBLIC KEY", &public_to_der(key)).to_string()
}

/// Reads a PKCS#8; what comes back is the `RSAPrivateKey` in it. Attributes are passed over.
///
/// # Errors
/// The first thing that is wrong with it, and where; also for a key of another type.
pub fn private_from_der(bytes: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
    const ATTRIBUTES: der::Tag = der::Tag { byte: 0xa0, name: "attributes in [0]" };
    let mut whole = Reader::new(bytes)?;
    let mut fields = whole.take(der::SEQUENCE)?;
    whole.end()?;
    fields.take_version(&[0], "version 0")?;
    algorithm(&mut fields)?;
    let key = fields.take(der::OCTET_STRING)?.rest();
    fields.take_optional(ATTRIBUTES)?;
    fields.end()?;
    Ok(Zeroizing::new(key.to_vec()))
}

/// Writes a PKCS#8 of version 0 around an `RSAPrivateKey`.
pub fn private_to_der(key: &[u8]) -> Zeroizing<Vec<u8>> {
    let version = der::write(der::INTEGER, &[&[0]]);
    let algorithm = der::write(der::SEQUENCE, &[RSA_ENCRYPTION]);
    der::write(der::SEQUENCE, &[&version, &algorithm, &der::write(der::OCTET_STRING, &[key])])
}

/// Reads a PEM block `PRIVATE KEY`, or `RSA PRIVATE KEY`, which is the `RSAPrivateKey` itself.
///
/// # Errors
/// As for [`private_from_der`].
pub fn private_from_pem(text: &str) -> Result<Zeroizing<Vec<u8>>, Error> {
    match pem::decode(text, "PRIVATE KEY or RSA PRIVATE KEY")? {
        ("RSA PRIVATE KEY", key) => Ok(key),
        (_, content) => private_from_der(&content),
    }
}

/// Writes a PEM block `PRIVATE KEY`.
pub fn private_to_pem(key: &[u8]) -> Zeroizing<String> {
    pem::encode("PRIVATE KEY", &private_to_der(key))
}

fn algorithm(fields: &mut Reader<'_>) -> Result<(), Error> {
    let algorithm = fields.take(der::SEQUENCE)?;
    if algorithm.clone().rest() == RSA_ENCRYPTION {
        Ok(())
    } else {
        Err(algorithm.refusal("rsaEncryption with NULL", "another algorithm".into()))
    }
}
