//! Standard keys in PEM, DER and CBOR.

use sealstone_jose::{Algorithm, PrivateKey, PublicKey};
use sealstone_mldsa::{Level, any as engine};
use sealstone_pki::form::Kind;
use sealstone_pki::{KeyAlgorithm, PrivateKeyInfo, PublicKeyInfo, Secret, pkcs8, rsa, spki};

use super::{Key, Private, jose_algorithm};
use crate::error::Error;

pub(super) fn of_pem(name: &str, text: &str, kind: Kind) -> Result<Key, Error> {
    let encoding = match kind {
        Kind::Spki => {
            return match rsa::public_from_pem(text) {
                Ok(key) => public_rsa(name, &key, "SPKI in PEM"),
                Err(_) => public(name, spki::from_pem(text), "SPKI in PEM"),
            };
        }
        Kind::Sec1 => "SEC 1 in PEM",
        Kind::Pkcs1 => "PKCS#1 in PEM",
        Kind::Encrypted | Kind::Other | Kind::Pkcs8 => "PKCS#8 in PEM",
    };
    match rsa::private_from_pem(text) {
        Ok(key) => private_rsa(name, &key, encoding),
        Err(_) => private(name, pkcs8::from_pem(text), encoding),
    }
}

pub(super) fn of_der(name: &str, bytes: &[u8], kind: Kind) -> Result<Key, Error> {
    let refused = |cause: sealstone_pki::Error| Error::key(name, &cause, cause.hint());
    match kind {
        Kind::Spki if rsa::is_rsa(bytes) => {
            public_rsa(name, &rsa::public_from_der(bytes).map_err(refused)?, "SPKI in DER")
        }
        Kind::Spki => public(name, spki::from_der(bytes), "SPKI in DER"),
        Kind::Sec1 => private(name, pkcs8::from_sec1_der(bytes), "SEC 1 in DER"),
        Kind::Pkcs1 => private_rsa(name, bytes, "PKCS#1 in DER"),
        _ if rsa::is_rsa(bytes) => {
            private_rsa(name, &rsa::private_from_der(bytes).map_err(refused)?, "PKCS#8 in DER")
        }
        Kind::Encrypted | Kind::Other | Kind::Pkcs8 => private(name, pkcs8::from_der(bytes), "PKCS#8 in DER"),
    }
}

pub(super) fn of_cose(name: &str, bytes: &[u8]) -> Result<Key, Error> {
    let refused = |cause: sealstone_jose::Error| Error::key(name, &cause, cause.hint());
    match PublicKey::from_cose(bytes) {
        Ok(key) => Ok(Key::Public { key, encoding: "COSE_Key" }),
        Err(sealstone_jose::Error::PrivateMember { .. }) => {
            let key = PrivateKey::from_cose(bytes).map_err(refused)?;
            Ok(Key::Private(Private::Whole { key, encoding: "COSE_Key" }))
        }
        Err(cause) => Err(refused(cause)),
    }
}

fn public(
    name: &str,
    read: Result<PublicKeyInfo, sealstone_pki::Error>,
    encoding: &'static str,
) -> Result<Key, Error> {
    let info = read.map_err(|cause| refused(name, &cause))?;
    let key = PublicKey::from_public(jose_algorithm(info.algorithm()), info.key())
        .map_err(|cause| Error::key(name, &cause, cause.hint()))?;
    Ok(Key::Public { key, encoding })
}

/// A key in DER does not say for which padding it is; RS256 is what a JWK without `alg` means, too.
fn public_rsa(name: &str, key: &[u8], encoding: &'static str) -> Result<Key, Error> {
    let key = PublicKey::from_public(Algorithm::Rs256, key)
        .map_err(|cause| Error::key(name, &cause, cause.hint()))?;
    Ok(Key::Public { key, encoding })
}

fn private_rsa(name: &str, key: &[u8], encoding: &'static str) -> Result<Key, Error> {
    let key = PrivateKey::from_secret(Algorithm::Rs256, key)
        .map_err(|cause| Error::key(name, &cause, cause.hint()))?;
    Ok(Key::Private(Private::Whole { key, encoding }))
}

fn private(
    name: &str,
    read: Result<PrivateKeyInfo, sealstone_pki::Error>,
    encoding: &'static str,
) -> Result<Key, Error> {
    let info = read.map_err(|cause| refused(name, &cause))?;
    let refused = |cause: sealstone_jose::Error| Error::key(name, &cause, cause.hint());
    if let (KeyAlgorithm::MlDsa(level), Secret::MlDsaExpanded(sk)) = (info.algorithm(), info.secret()) {
        let encoding = if encoding.ends_with("PEM") {
            "PKCS#8 in PEM, expandedKey only"
        } else {
            "PKCS#8 in DER, expandedKey only"
        };
        return expanded(name, level, sk, encoding);
    }
    let secret = info.raw().map_err(|cause| Error::key(name, &cause, cause.hint()))?;
    let algorithm = jose_algorithm(info.algorithm());
    let key = match info.public() {
        // Also where the format's crate cannot compare the halves: on elliptic curves.
        Some(public) => PrivateKey::from_secret_and_public(algorithm, secret, public),
        None => PrivateKey::from_secret(algorithm, secret),
    };
    Ok(Key::Private(Private::Whole { key: key.map_err(refused)?, encoding }))
}

/// A key without its seed.
pub(super) fn expanded(name: &str, level: Level, sk: &[u8], encoding: &'static str) -> Result<Key, Error> {
    let key = engine::ExpandedSigningKey::decode(level, sk).map_err(|cause| Error::key(name, cause, None))?;
    let public =
        PublicKey::from_public(jose_algorithm(KeyAlgorithm::MlDsa(level)), key.verifying_key().encode())
            .map_err(|cause| Error::key(name, &cause, cause.hint()))?;
    Ok(Key::Private(Private::Expanded { key, public, encoding }))
}

/// A key of encryption is no broken key of signatures.
fn refused(name: &str, cause: &sealstone_pki::Error) -> Error {
    match cause {
        sealstone_pki::Error::AlgorithmUnknown { oid } if oid.starts_with(ML_KEM) => Error::key(
            name,
            "this is an ML-KEM key: others encrypt to it, and it signs nothing",
            Some("`sealstone cms decrypt --key` and `sealstone cms encrypt --to` take it"),
        ),
        _ => Error::key(name, cause, cause.hint()),
    }
}

/// The arc of ML-KEM's object identifiers, RFC 9935 §3.
const ML_KEM: &str = "2.16.840.1.101.3.4.4.";
