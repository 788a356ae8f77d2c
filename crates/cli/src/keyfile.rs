//! Keys as files: how they are opened, under a password or not, what they hold, and how a key is written in each form. Which form a
//! file has, `sealstone_pki::form` recognises.

pub(crate) mod any;
pub(crate) mod composite;
mod jwk;
mod opened;
pub(crate) mod raw;
mod standard;

use clap::ValueEnum;
use sealstone_jose::{Algorithm, PrivateKey, PublicKey, legacy};
use sealstone_mldsa::{Level, any as engine};
use sealstone_pki::form::Form;
use sealstone_pki::{KeyAlgorithm, PrivateKeyInfo, PublicKeyInfo, pkcs8, rsa, spki};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::files::Source;
use crate::keyfile::any::{AnyAlgorithm, AnyKey, Gates};
use crate::password::PasswordFile;
use crate::terminal::Terminal;

pub(crate) use opened::Opened;

/// Larger than any key in any form, and than a key set of 512 keys.
const LIMIT: usize = 1 << 20;

/// How a key is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// PEM: PKCS#8 `PRIVATE KEY` (the seed, RFC 9881), or `PUBLIC KEY`
    Pem,
    /// The same in DER, which is binary
    Der,
    /// JSON Web Key (RFC 9964, RFC 7517)
    Jwk,
    /// COSE_Key (RFC 9964, RFC 9052), which is binary
    Cose,
    /// The bytes of the key and nothing else: a seed, a scalar, a public key
    Raw,
}

impl Format {
    /// Whether it would disturb a terminal.
    pub(crate) const fn is_binary(self) -> bool {
        matches!(self, Format::Der | Format::Cose | Format::Raw)
    }
}

/// What a key file holds.
pub(crate) enum Key {
    Private(Private),
    Public { key: PublicKey, encoding: &'static str },
}

/// A private key, whole or without its seed.
pub(crate) enum Private {
    /// An expanded ML-DSA key without its seed: it signs, and has no JWK.
    Expanded { key: engine::ExpandedSigningKey, public: PublicKey, encoding: &'static str },
    /// A key that can do everything.
    Whole { key: PrivateKey, encoding: &'static str },
}

impl Key {
    /// Reads a standard key in any form, where no option gives a password.
    pub(crate) fn load(source: &Source, terminal: &mut Terminal) -> Result<Self, Error> {
        Self::unlock(source, &PasswordFile::default(), terminal)
    }

    /// Reads a standard key in any form.
    pub(crate) fn unlock(
        source: &Source,
        password: &PasswordFile,
        terminal: &mut Terminal,
    ) -> Result<Self, Error> {
        const ELSEWHERE: &str =
            "this command takes standard keys; key, jwk, jwks, jws and jwt take such a one with --draft";
        match load(source, password, Gates::default(), ELSEWHERE, terminal)? {
            AnyKey::Standard(key) => Ok(key),
            AnyKey::Composite { key, .. } => {
                Err(any::shut(&source.name(), AnyAlgorithm::Composite(key.public().algorithm()), ELSEWHERE))
            }
        }
    }

    /// The public key, or the public half.
    pub(crate) fn public(&self) -> &PublicKey {
        match self {
            Key::Private(private) => private.public(),
            Key::Public { key, .. } => key,
        }
    }

    /// How it came.
    pub(crate) fn encoding(&self) -> &'static str {
        match self {
            Key::Private(Private::Expanded { encoding, .. } | Private::Whole { encoding, .. })
            | Key::Public { encoding, .. } => encoding,
        }
    }
}

/// Reads a key in any form. `elsewhere` is the hint where a gate is shut.
fn load(
    source: &Source,
    password: &PasswordFile,
    gates: Gates,
    elsewhere: &str,
    terminal: &mut Terminal,
) -> Result<AnyKey, Error> {
    let file = Opened::read(source, LIMIT, password)?;
    let key = parse(&file, gates, elsewhere, terminal)?;
    if key.is_private() {
        file.warn_of_mode(source, terminal);
    }
    Ok(key)
}

/// A key in whichever form it is.
fn parse(file: &Opened, gates: Gates, elsewhere: &str, terminal: &mut Terminal) -> Result<AnyKey, Error> {
    let (name, bytes) = (file.name.as_str(), file.bytes.as_slice());
    let form = match Form::of(bytes) {
        Some(Form::Json) => return jwk::parse(name, file.text()?, gates, elsewhere, terminal),
        Some(Form::Raw(algorithm, part)) => {
            return raw::recognised(name, algorithm, part, bytes).map(AnyKey::Standard);
        }
        Some(form) => form,
        None if bytes.trim_ascii_start().is_empty() => {
            return Err(Error::key(name, "the file is empty", Some(KINDS)));
        }
        None => return Err(raw::unknown(name, bytes)),
    };
    match composite::parse(name, bytes)? {
        Some(key) if gates.draft => Ok(key),
        Some(key) => Err(any::shut(name, key.public().algorithm(), elsewhere)),
        None => match form {
            Form::Pem(kind) => standard::of_pem(name, file.text()?, kind),
            Form::Der(kind) => standard::of_der(name, bytes, kind),
            _ => standard::of_cose(name, bytes),
        }
        .map(AnyKey::Standard),
    }
}

const KINDS: &str = "give a key as JWK, PEM or DER, such as `sealstone key generate` writes";

impl Private {
    /// Reads a private key in any form, where no option gives a password.
    pub(crate) fn load(source: &Source, terminal: &mut Terminal) -> Result<Self, Error> {
        Self::unlock(source, &PasswordFile::default(), terminal)
    }

    /// Reads a private key in any form.
    pub(crate) fn unlock(
        source: &Source,
        password: &PasswordFile,
        terminal: &mut Terminal,
    ) -> Result<Self, Error> {
        match Key::unlock(source, password, terminal)? {
            Key::Private(private) => Ok(private),
            Key::Public { .. } => Err(not_private(&source.name())),
        }
    }

    pub(crate) fn public(&self) -> &PublicKey {
        match self {
            Private::Expanded { public, .. } => public,
            Private::Whole { key, .. } => key.public(),
        }
    }

    /// The key, if its seed is there; `purpose` is what needs the seed, for the error.
    pub(crate) fn whole(&self, name: &str, purpose: &str) -> Result<&PrivateKey, Error> {
        match self {
            Private::Whole { key, .. } => Ok(key),
            Private::Expanded { .. } => Err(Error::key(
                name,
                format_args!("the key is there only in expanded form, without its seed: it cannot {purpose}"),
                Some(NO_SEED),
            )),
        }
    }

    /// A key without its seed, as the signer of tokens takes it. Errors: none that is known, it was read before.
    pub(crate) fn expanded(key: &engine::ExpandedSigningKey) -> Result<legacy::ExpandedKey, Error> {
        let public = key.verifying_key();
        let mut bytes = Zeroizing::new(vec![0; public.level().signing_key_len()]);
        key.encode(&mut bytes).map_err(Error::Engine)?;
        legacy::ExpandedKey::from_bytes(public.level(), &bytes)
            .map_err(|cause| Error::key("the key", &cause, cause.hint()))
    }
}

/// A public key where something is to be signed.
pub(crate) fn not_private(name: &str) -> Error {
    let hint = "signing takes the file that `sealstone key generate` wrote";
    Error::key(name, "this is a public key, expected a private one", Some(hint))
}

/// What is to be done with a key that has no seed.
pub(crate) const NO_SEED: &str = "it signs files and tokens; JWK and COSE_Key (RFC 9964 §4) and a PKCS#8 of the form seed hold the seed, \
                                  which cannot be computed back: export the key again from where its seed is kept, or write \
                                  --pkcs8-form expanded";

/// The engine's verifying key of an ML-DSA key.
pub(crate) fn verifying_key(public: &PublicKey) -> Option<engine::VerifyingKey> {
    engine::VerifyingKey::decode(public.algorithm().level()?, public.as_bytes()).ok()
}

/// Writes a private key; an ML-DSA key as its seed.
pub(crate) fn private_bytes(key: &PrivateKey, format: Format) -> Result<Zeroizing<Vec<u8>>, Error> {
    private_bytes_as(key, format, pkcs8::Form::Seed)
}

/// The same with the form of an ML-DSA key in PKCS#8 chosen.
pub(crate) fn private_bytes_as(
    key: &PrivateKey,
    format: Format,
    form: pkcs8::Form,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let text = |text: &str, end: &str| Zeroizing::new([text.as_bytes(), end.as_bytes()].concat());
    let algorithm = match (format, pki_algorithm(key.algorithm())) {
        (Format::Jwk, _) => return Ok(text(&key.to_jwk().to_json(), "\n")),
        (Format::Cose, _) => return Ok(key.to_cose()),
        (Format::Raw, Some(_)) => return Ok(key.secret()),
        (Format::Raw, None) => return Err(raw::no_raw_rsa()),
        (Format::Pem, None) => return Ok(text(&rsa::private_to_pem(&key.secret()), "")),
        (Format::Der, None) => return Ok(rsa::private_to_der(&key.secret())),
        (Format::Pem | Format::Der, Some(algorithm)) => algorithm,
    };
    let refused = |cause: sealstone_pki::Error| Error::key("the key", &cause, cause.hint());
    let public = Some(key.public().as_bytes());
    let info = PrivateKeyInfo::new(algorithm, &key.secret(), public).map_err(refused)?;
    match format {
        Format::Pem => pkcs8::to_pem_as(&info, form).map(|pem| text(&pem, "")).map_err(refused),
        _ => pkcs8::to_der_as(&info, form).map_err(refused),
    }
}

/// Writes a key that is there only in expanded form, as PKCS#8 of that form. Errors: for every other format, `name` in front.
pub(crate) fn expanded_bytes(
    name: &str,
    key: &engine::ExpandedSigningKey,
    format: Format,
    form: pkcs8::Form,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let purpose = match (format, form) {
        (Format::Pem | Format::Der, pkcs8::Form::Expanded) => {
            let refused = |cause: sealstone_pki::Error| Error::key(name, &cause, cause.hint());
            let level = key.verifying_key().level();
            let info =
                PrivateKeyInfo::from_expanded(level, Private::expanded(key)?.as_bytes()).map_err(refused)?;
            return match format {
                Format::Pem => {
                    pkcs8::to_pem_as(&info, form).map(|pem| Zeroizing::new(pem.as_bytes().to_vec()))
                }
                _ => pkcs8::to_der_as(&info, form),
            }
            .map_err(refused);
        }
        (Format::Pem | Format::Der, _) => "become a PKCS#8 that holds it",
        (Format::Jwk, _) => "become a JWK",
        (Format::Cose, _) => "become a COSE_Key",
        (Format::Raw, _) => "become raw bytes, which are the seed",
    };
    let what = format_args!("the key is there only in expanded form, without its seed: it cannot {purpose}");
    Err(Error::key(name, what, Some(NO_SEED)))
}

/// Writes a public key.
pub(crate) fn public_bytes(key: &PublicKey, format: Format) -> Result<Vec<u8>, Error> {
    let algorithm = match (format, pki_algorithm(key.algorithm())) {
        (Format::Jwk, _) => return Ok(format!("{}\n", key.to_jwk().to_json()).into_bytes()),
        (Format::Cose, _) => return Ok(key.to_cose()),
        (Format::Raw, Some(_)) => return Ok(key.as_bytes().to_vec()),
        (Format::Raw, None) => return Err(raw::no_raw_rsa()),
        (Format::Pem, None) => return Ok(rsa::public_to_pem(key.as_bytes()).into_bytes()),
        (Format::Der, None) => return Ok(rsa::public_to_der(key.as_bytes())),
        (Format::Pem | Format::Der, Some(algorithm)) => algorithm,
    };
    let info = PublicKeyInfo::new(algorithm, key.as_bytes())
        .map_err(|cause| Error::key("the key", &cause, cause.hint()))?;
    Ok(if format == Format::Pem { spki::to_pem(&info).into_bytes() } else { spki::to_der(&info) })
}

/// A key in DER does not say how it calls Ed25519; RFC 8037's name is the one that every reader knows.
const fn jose_algorithm(algorithm: KeyAlgorithm) -> Algorithm {
    match algorithm {
        KeyAlgorithm::EcP256 => Algorithm::Es256,
        KeyAlgorithm::EcP384 => Algorithm::Es384,
        KeyAlgorithm::EcP521 => Algorithm::Es512,
        KeyAlgorithm::Ed25519 => Algorithm::EdDsa,
        KeyAlgorithm::MlDsa(Level::MlDsa44) => Algorithm::MlDsa44,
        KeyAlgorithm::MlDsa(Level::MlDsa65) => Algorithm::MlDsa65,
        KeyAlgorithm::MlDsa(Level::MlDsa87) => Algorithm::MlDsa87,
    }
}

/// `None` for RSA, whose wrappings the PKI crate has elsewhere.
const fn pki_algorithm(algorithm: Algorithm) -> Option<KeyAlgorithm> {
    Some(match algorithm {
        Algorithm::EdDsa | Algorithm::Ed25519 => KeyAlgorithm::Ed25519,
        Algorithm::Es256 => KeyAlgorithm::EcP256,
        Algorithm::Es384 => KeyAlgorithm::EcP384,
        Algorithm::Es512 => KeyAlgorithm::EcP521,
        Algorithm::MlDsa44 => KeyAlgorithm::MlDsa(Level::MlDsa44),
        Algorithm::MlDsa65 => KeyAlgorithm::MlDsa(Level::MlDsa65),
        Algorithm::MlDsa87 => KeyAlgorithm::MlDsa(Level::MlDsa87),
        Algorithm::Ps256 | Algorithm::Rs256 => return None,
    })
}
