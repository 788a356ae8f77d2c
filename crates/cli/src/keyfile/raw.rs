//! Keys as their bytes and nothing else. A public ML-DSA key is known by its length, which no other form has; what could be several
//! things is read only when it is said what it is.

use clap::ValueEnum;
use sealstone_jose::{Algorithm, Error as Refusal, PrivateKey, PublicKey, composite};
use sealstone_mldsa::Level;

use super::any::{AnyAlgorithm, AnyKey, Composite};
use super::{KINDS, Key, LIMIT, Private};
use crate::error::Error;
use crate::files::Source;
use crate::terminal::{Terminal, grouped};

const RAW: &str = "raw bytes";

/// What raw bytes are said to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum From {
    /// Raw bytes, private or public by their length
    Raw,
    /// A raw private key: a seed, a scalar, an expanded ML-DSA key
    RawPrivate,
    /// A raw public key
    RawPublic,
}

/// Reads raw bytes of a known algorithm.
pub(crate) fn load(
    source: &Source,
    from: From,
    algorithm: AnyAlgorithm,
    terminal: &mut Terminal,
) -> Result<AnyKey, Error> {
    let (name, bytes) = (source.name(), source.read(LIMIT)?);
    let refused = |cause: Refusal| Error::key(&name, &cause, cause.hint());
    let (public, private) = lens(algorithm);
    let expanded = match algorithm {
        AnyAlgorithm::Standard(algorithm) => algorithm.level(),
        AnyAlgorithm::Composite(_) => None,
    };
    let is_private = match from {
        From::RawPrivate => true,
        From::RawPublic => false,
        From::Raw if public == private && bytes.len() == public => {
            let what = format!("{public} bytes are as long as a private and as a public key of {algorithm}");
            return Err(Error::key(&name, what, Some("--from raw-private or --from raw-public says which")));
        }
        From::Raw if bytes.len() == public => false,
        From::Raw if bytes.len() == private => true,
        From::Raw if expanded.is_some_and(|level| level.signing_key_len() == bytes.len()) => true,
        From::Raw => {
            let what = format!(
                "a raw key of {algorithm}: expected {} bytes (public) or {private} (private), found {}",
                grouped(public),
                grouped(bytes.len())
            );
            return Err(Error::key(&name, what, None));
        }
    };
    let key = match (algorithm, is_private, expanded) {
        (AnyAlgorithm::Standard(_), true, Some(level)) if bytes.len() == level.signing_key_len() => {
            AnyKey::Standard(super::expanded(&name, level, &bytes, "raw expanded key")?)
        }
        (AnyAlgorithm::Standard(algorithm), true, _) => {
            let key = PrivateKey::from_secret(algorithm, &bytes).map_err(refused)?;
            AnyKey::Standard(Key::Private(Private::Whole { key, encoding: RAW }))
        }
        (AnyAlgorithm::Standard(algorithm), false, _) => {
            let key = PublicKey::from_public(algorithm, &bytes).map_err(refused)?;
            AnyKey::Standard(Key::Public { key, encoding: RAW })
        }
        (AnyAlgorithm::Composite(algorithm), true, _) => {
            let key = composite::PrivateKey::from_secret(algorithm, &bytes).map_err(refused)?;
            AnyKey::Composite { key: Composite::Private(key), encoding: RAW }
        }
        (AnyAlgorithm::Composite(algorithm), false, _) => {
            let key = composite::PublicKey::from_public(algorithm, &bytes).map_err(refused)?;
            AnyKey::Composite { key: Composite::Public(key), encoding: RAW }
        }
    };
    super::warn_of_mode(&key, source, terminal);
    Ok(key)
}

/// Bytes of a public and of a private key. RSA, which has no raw form, is not asked for.
fn lens(algorithm: AnyAlgorithm) -> (usize, usize) {
    match algorithm {
        AnyAlgorithm::Standard(algorithm) => {
            (algorithm.public_len().unwrap_or_default(), algorithm.secret_len().unwrap_or_default())
        }
        AnyAlgorithm::Composite(algorithm) => (algorithm.pair().public_len(), algorithm.pair().secret_len()),
    }
}

/// A public key that its length and first byte give away. Text is no raw key, and neither is DER whose length is right.
pub(super) fn recognised(name: &str, bytes: &[u8]) -> Result<Option<Key>, Error> {
    let algorithm = match bytes {
        // Shorter than any other form, whatever it starts with.
        _ if bytes.len() == 32 => return Err(unknown(name, bytes)),
        _ if std::str::from_utf8(bytes).is_ok() || is_whole_der(bytes) => return Ok(None),
        [0x04, point @ ..] => match point.len() {
            64 => Algorithm::Es256,
            96 => Algorithm::Es384,
            132 => Algorithm::Es512,
            _ => return expanded(name, bytes),
        },
        _ => match bytes.len() {
            1312 => Algorithm::MlDsa44,
            1952 => Algorithm::MlDsa65,
            2592 => Algorithm::MlDsa87,
            _ => return expanded(name, bytes),
        },
    };
    let key =
        PublicKey::from_public(algorithm, bytes).map_err(|cause| Error::key(name, &cause, cause.hint()))?;
    Ok(Some(Key::Public { key, encoding: RAW }))
}

/// An expanded ML-DSA key, which its length gives away as well.
fn expanded(name: &str, bytes: &[u8]) -> Result<Option<Key>, Error> {
    let level = Level::ALL.into_iter().find(|level| level.signing_key_len() == bytes.len());
    level.map(|level| super::expanded(name, level, bytes, "raw expanded key")).transpose()
}

/// A SEQUENCE whose two bytes of length are those of what follows.
fn is_whole_der(bytes: &[u8]) -> bool {
    matches!(bytes, [0x30, 0x82, high, low, rest @ ..] if rest.len() == usize::from(u16::from_be_bytes([*high, *low])))
}

/// What starts like no key, with what it could be.
pub(super) fn unknown(name: &str, bytes: &[u8]) -> Error {
    let could_be: Vec<&str> = Algorithm::ALL
        .into_iter()
        .filter(|known| known.secret_len() == Some(bytes.len()) && *known != Algorithm::Ed25519)
        .map(Algorithm::name)
        .collect();
    if could_be.is_empty() {
        return Error::key(
            name,
            "this is no key: it starts like neither JSON, PEM, DER nor CBOR",
            Some(KINDS),
        );
    }
    let what = format!(
        "{} bytes in no known form: as a raw private key they could be of {}, and their length does not say which",
        bytes.len(),
        could_be.join(", ")
    );
    Error::key(
        name,
        what,
        Some("`sealstone convert --from raw --alg ML-DSA-65` reads raw keys of a named algorithm"),
    )
}

pub(super) fn no_raw_rsa() -> Error {
    Error::usage("an RSA key is several numbers, and has no raw form", "--to pem, der, jwk or cose writes it")
}
