//! Keys as their bytes and nothing else. What could be several things is read only when it is said what it is.

use clap::ValueEnum;
use sealstone_jose::{Algorithm, Error as Refusal, PrivateKey, PublicKey, composite};
use sealstone_pki::KeyAlgorithm;
use sealstone_pki::form::Part;

use super::any::{AnyAlgorithm, AnyKey, Composite};
use super::{KINDS, Key, LIMIT, Opened, Private, standard};
use crate::error::Error;
use crate::files::Source;
use crate::password::PasswordFile;
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
    let file = Opened::read(source, LIMIT, &PasswordFile::default())?;
    let (name, bytes) = (&file.name, &file.bytes);
    let refused = |cause: Refusal| Error::key(name, &cause, cause.hint());
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
            return Err(Error::key(name, what, Some("--from raw-private or --from raw-public says which")));
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
            return Err(Error::key(name, what, None));
        }
    };
    let key = match (algorithm, is_private, expanded) {
        (AnyAlgorithm::Standard(_), true, Some(level)) if bytes.len() == level.signing_key_len() => {
            AnyKey::Standard(standard::expanded(name, level, bytes, "raw expanded key")?)
        }
        (AnyAlgorithm::Standard(algorithm), true, _) => {
            let key = PrivateKey::from_secret(algorithm, bytes).map_err(refused)?;
            AnyKey::Standard(Key::Private(Private::Whole { key, encoding: RAW }))
        }
        (AnyAlgorithm::Standard(algorithm), false, _) => {
            let key = PublicKey::from_public(algorithm, bytes).map_err(refused)?;
            AnyKey::Standard(Key::Public { key, encoding: RAW })
        }
        (AnyAlgorithm::Composite(algorithm), true, _) => {
            let key = composite::PrivateKey::from_secret(algorithm, bytes).map_err(refused)?;
            AnyKey::Composite { key: Composite::Private(key), encoding: RAW }
        }
        (AnyAlgorithm::Composite(algorithm), false, _) => {
            let key = composite::PublicKey::from_public(algorithm, bytes).map_err(refused)?;
            AnyKey::Composite { key: Composite::Public(key), encoding: RAW }
        }
    };
    if key.is_private() {
        file.warn_of_mode(source, terminal);
    }
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

/// A public or expanded key that its length and first byte give away.
pub(super) fn recognised(
    name: &str,
    algorithm: KeyAlgorithm,
    part: Part,
    bytes: &[u8],
) -> Result<Key, Error> {
    match (part, algorithm) {
        (Part::Expanded, KeyAlgorithm::MlDsa(level)) => {
            standard::expanded(name, level, bytes, "raw expanded key")
        }
        _ => {
            let key = PublicKey::from_public(super::jose_algorithm(algorithm), bytes)
                .map_err(|cause| Error::key(name, &cause, cause.hint()))?;
            Ok(Key::Public { key, encoding: RAW })
        }
    }
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
