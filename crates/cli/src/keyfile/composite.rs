//! Composite keys in files. In JSON and CBOR they are those of the JOSE draft, in PEM and DER those of the LAMPS draft for X.509: the same
//! bytes under another name.

use sealstone_jose::Error as Refusal;
use sealstone_jose::composite::{Algorithm, PrivateKey, PublicKey};
use sealstone_pki::composite as pki;
use zeroize::Zeroizing;

use super::Format;
use super::any::{AnyKey, Composite};
use crate::error::Error;

/// Reads one in PEM, DER or CBOR. `None` for what is no composite key.
pub(super) fn parse(name: &str, bytes: &[u8]) -> Result<Option<AnyKey>, Error> {
    let refused = |cause: Refusal| Error::key(name, &cause, cause.hint());
    if matches!(bytes, [0xa0..=0xbf, ..]) {
        let key = match PublicKey::from_cose(bytes) {
            Err(Refusal::PrivateMember { .. }) => PrivateKey::from_cose(bytes).map(Composite::Private),
            read => read.map(Composite::Public),
        };
        return match key {
            Ok(key) => Ok(Some(AnyKey::Composite { key, encoding: "COSE_Key" })),
            Err(cause @ Refusal::Composite(_)) => Err(refused(cause)),
            // Its own reader says what is wrong with a standard one.
            Err(_) => Ok(None),
        };
    }
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let is_pem = bytes.starts_with(b"-");
    let public = if is_pem { pki::from_spki_pem(text) } else { pki::from_spki(bytes) };
    let private = if is_pem { pki::from_pkcs8_pem(text) } else { pki::from_pkcs8(bytes) };
    let (key, encoding) = match (public, private) {
        (Ok(key), _) => {
            let algorithm = Algorithm::of_pair(key.algorithm()).ok_or_else(|| unnamed(name))?;
            let key = PublicKey::from_public(algorithm, key.encode()).map_err(refused)?;
            (Composite::Public(key), if is_pem { "SPKI in PEM" } else { "SPKI in DER" })
        }
        (_, Ok(key)) => {
            let algorithm = Algorithm::of_pair(key.public().algorithm()).ok_or_else(|| unnamed(name))?;
            let key = PrivateKey::from_secret(algorithm, key.encode()).map_err(refused)?;
            (Composite::Private(key), if is_pem { "PKCS#8 in PEM" } else { "PKCS#8 in DER" })
        }
        (Err(sealstone_pki::Error::Composite(cause)), _)
        | (_, Err(sealstone_pki::Error::Composite(cause))) => {
            return Err(Error::key(name, cause, cause.hint()));
        }
        _ => return Ok(None),
    };
    Ok(Some(AnyKey::Composite { key, encoding }))
}

/// Two pairs have a place in X.509 only.
fn unnamed(name: &str) -> Error {
    Error::key(name, "this pair of algorithms is for certificates: JOSE has no name for it", None)
}

/// Writes a private key.
pub(crate) fn private_bytes(key: &PrivateKey, format: Format) -> Zeroizing<Vec<u8>> {
    let text = |text: &str, end: &str| Zeroizing::new([text.as_bytes(), end.as_bytes()].concat());
    match format {
        Format::Cose => key.to_cose(),
        Format::Der => pki::to_pkcs8(key.pair()),
        Format::Jwk => text(&key.to_jwk(), "\n"),
        Format::Pem => text(&pki::to_pkcs8_pem(key.pair()), ""),
        Format::Raw => key.secret(),
    }
}

/// Writes a public key.
pub(crate) fn public_bytes(key: &PublicKey, format: Format) -> Vec<u8> {
    match format {
        Format::Cose => key.to_cose(),
        Format::Der => pki::to_spki(key.pair()),
        Format::Jwk => format!("{}\n", key.to_jwk().to_json()).into_bytes(),
        Format::Pem => pki::to_spki_pem(key.pair()).into_bytes(),
        Format::Raw => key.as_bytes().to_vec(),
    }
}
