//! ML-DSA keys as text and bytes: which of PEM, DER and JWK they are, what they hold, and how they are written in each.
//! Knows no pointers: the Python module takes this file as it is.

use core::fmt;

use sealstone_jose::{Algorithm, JwkSet, PrivateKey, PublicKey};
use sealstone_mldsa::Level;
use sealstone_pki::form::{Form as FileForm, Kind};
use sealstone_pki::{KeyAlgorithm, PrivateKeyInfo, PublicKeyInfo, Secret, pkcs8, spki};
use zeroize::Zeroizing;

/// How a key is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// RFC 7468: `PRIVATE KEY` (PKCS#8 with the seed, RFC 9881 §6) or `PUBLIC KEY`.
    Pem,
    /// The same in DER.
    Der,
    /// RFC 7517, RFC 9964 §3.
    Jwk,
}

/// What a private key file holds.
pub(crate) enum Private {
    /// The seed of a key in PEM or DER.
    Seed(Level, Zeroizing<[u8; 32]>),
    /// A key in JWK, with its key id.
    Jwk(Level, PrivateKey),
    /// An expanded key without its seed.
    Expanded(Level, Zeroizing<Vec<u8>>),
}

/// Why a key was refused.
#[derive(Debug)]
pub(crate) enum Refused {
    Engine(sealstone_mldsa::Error),
    Jose(sealstone_jose::Error),
    Pki(sealstone_pki::Error),
    NoSeed,
    NotMlDsa { found: &'static str },
    Other(String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => error.fmt(f),
            Self::Jose(error) => error.fmt(f),
            Self::Pki(error) => error.fmt(f),
            Self::NoSeed => f.write_str(
                "the key is there only in expanded form, without its seed, and JWK (RFC 9964 §4), PKCS#8 as written \
                 here and tokens need the seed",
            ),
            Self::NotMlDsa { found } => write!(
                f,
                "this is a key for {found}, expected one of ML-DSA; a JWK set takes it and verifies tokens with it"
            ),
            Self::Other(words) => f.write_str(words),
        }
    }
}

impl From<sealstone_jose::Error> for Refused {
    fn from(error: sealstone_jose::Error) -> Self {
        Self::Jose(error)
    }
}

impl From<sealstone_pki::Error> for Refused {
    fn from(error: sealstone_pki::Error) -> Self {
        Self::Pki(error)
    }
}

/// Reads a private key in the form given, or in whichever it is.
pub(crate) fn read_private(bytes: &[u8], form: Option<Form>) -> Result<Private, Refused> {
    let info = match form.map_or_else(|| recognise(bytes), Ok)? {
        Form::Jwk => return read_private_jwk(text(bytes)?),
        Form::Pem => {
            if FileForm::of(bytes) == Some(FileForm::Pem(Kind::Spki)) {
                return Err(Refused::Other("this is a public key, expected a private one".into()));
            }
            pkcs8::from_pem(text(bytes)?)?
        }
        Form::Der => pkcs8::from_der(bytes)?,
    };
    let level = level(info.algorithm())?;
    match info.secret() {
        Secret::MlDsaExpanded(expanded) => Ok(Private::Expanded(level, expanded.clone())),
        Secret::MlDsaSeed(seed) | Secret::MlDsaBoth { seed, .. } => Ok(Private::Seed(level, seed.clone())),
        // `level` has refused them.
        Secret::EcScalar(_) | Secret::Ed25519Seed(_) => {
            Err(Refused::NotMlDsa { found: info.algorithm().name() })
        }
    }
}

/// Reads a public key in the form given, or in whichever it is.
pub(crate) fn read_public(bytes: &[u8], form: Option<Form>) -> Result<PublicKey, Refused> {
    let info = match form.map_or_else(|| recognise(bytes), Ok)? {
        Form::Jwk => return read_public_jwk(bytes),
        Form::Pem => {
            if matches!(FileForm::of(bytes), Some(FileForm::Pem(kind)) if kind.is_private()) {
                return Err(Refused::Other("this is a private key, expected a public one".into()));
            }
            spki::from_pem(text(bytes)?)?
        }
        Form::Der => spki::from_der(bytes)?,
    };
    Ok(PublicKey::from_public(algorithm(level(info.algorithm())?), info.key())?)
}

/// Writes a private key as PKCS#8, which holds the seed alone (RFC 9881 §6): in DER, or else in PEM.
pub(crate) fn write_pkcs8(
    level: Level,
    seed: &[u8; 32],
    in_der: bool,
) -> Result<Zeroizing<Vec<u8>>, Refused> {
    let info = PrivateKeyInfo::new(KeyAlgorithm::MlDsa(level), seed, None)?;
    match in_der {
        true => Ok(pkcs8::to_der(&info)?),
        false => Ok(Zeroizing::new(pkcs8::to_pem(&info)?.as_bytes().to_vec())),
    }
}

/// Writes a private key as JWK.
pub(crate) fn write_private_jwk(key: &PrivateKey) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(key.to_jwk().to_json().as_bytes().to_vec())
}

/// Writes a public key.
pub(crate) fn write_public(key: &PublicKey, form: Form) -> Result<Vec<u8>, Refused> {
    if form == Form::Jwk {
        return Ok(key.to_jwk().to_json().into_bytes());
    }
    let level = key.algorithm().level().ok_or(Refused::NotMlDsa { found: key.algorithm().name() })?;
    let info = PublicKeyInfo::new(KeyAlgorithm::MlDsa(level), key.as_bytes())?;
    Ok(if form == Form::Pem { spki::to_pem(&info).into_bytes() } else { spki::to_der(&info) })
}

/// The algorithm of tokens that a level is.
pub(crate) const fn algorithm(level: Level) -> Algorithm {
    match level {
        Level::MlDsa44 => Algorithm::MlDsa44,
        Level::MlDsa65 => Algorithm::MlDsa65,
        Level::MlDsa87 => Algorithm::MlDsa87,
    }
}

fn recognise(bytes: &[u8]) -> Result<Form, Refused> {
    match FileForm::of(bytes) {
        Some(FileForm::Json) => Ok(Form::Jwk),
        Some(FileForm::Pem(_)) => Ok(Form::Pem),
        Some(FileForm::Der(_)) => Ok(Form::Der),
        Some(FileForm::Cose | FileForm::Raw(..)) => {
            Err(Refused::Other("this is a COSE_Key or a raw key, expected JSON, PEM or DER".into()))
        }
        None if bytes.trim_ascii_start().is_empty() => {
            Err(Refused::Other("there is nothing, expected a key".into()))
        }
        None => Err(Refused::Other("this is no key: it starts like neither JSON, PEM nor DER".into())),
    }
}

fn read_private_jwk(text: &str) -> Result<Private, Refused> {
    let key = PrivateKey::from_jwk(text)?;
    match key.algorithm().level() {
        Some(level) => Ok(Private::Jwk(level, key)),
        None => Err(Refused::NotMlDsa { found: key.algorithm().name() }),
    }
}

fn read_public_jwk(bytes: &[u8]) -> Result<PublicKey, Refused> {
    match PublicKey::from_jwk(text(bytes)?) {
        Ok(key) if key.algorithm().level().is_some() => Ok(key),
        Ok(key) => Err(Refused::NotMlDsa { found: key.algorithm().name() }),
        Err(_) if JwkSet::parse(bytes).is_ok() => {
            Err(Refused::Other("this is a key set, expected one key".into()))
        }
        Err(error) => Err(error.into()),
    }
}

fn level(algorithm: KeyAlgorithm) -> Result<Level, Refused> {
    match algorithm {
        KeyAlgorithm::MlDsa(level) => Ok(level),
        other => Err(Refused::NotMlDsa { found: other.name() }),
    }
}

fn text(bytes: &[u8]) -> Result<&str, Refused> {
    core::str::from_utf8(bytes)
        .map_err(|at| Refused::Other(format!("bad UTF-8 at byte {} of the key", at.valid_up_to())))
}
