//! Keys as files: which of JWK, PEM and DER a file is, what it holds, and how a key is written in each.

use clap::ValueEnum;
use sealstone_jose::{Algorithm, JwkSet, PrivateKey, PublicKey};
use sealstone_mldsa::{Level, any};
use sealstone_pki::{KeyAlgorithm, PrivateKeyInfo, PublicKeyInfo, Secret, pkcs8, spki};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::files::Source;
use crate::password::{self, PasswordFile};
use crate::terminal::Terminal;

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
}

/// What a key file holds.
pub(crate) enum Key {
    Private(Private),
    Public { key: PublicKey, encoding: &'static str },
}

/// A private key, whole or without its seed.
pub(crate) enum Private {
    /// An expanded ML-DSA key without its seed: it signs files, and nothing else.
    Expanded { key: Box<any::ExpandedSigningKey>, public: PublicKey },
    /// A key that can do everything.
    Whole { key: PrivateKey, encoding: &'static str },
}

impl Key {
    /// Reads a key in any form.
    pub(crate) fn load(source: &Source, terminal: &mut Terminal) -> Result<Self, Error> {
        let name = source.name();
        let bytes = source.read(LIMIT)?;
        let encrypted = password::is_encrypted(&bytes);
        let key = parse(&name, &password::opened(&name, bytes, &PasswordFile::default())?)?;
        if let (Key::Private(_), Some(mode), false) = (&key, source.wide_mode(), encrypted) {
            terminal.warn(
                format_args!("{name} holds a private key and its mode {mode:04o} lets others in"),
                &format!("chmod 600 {name}"),
            );
        }
        Ok(key)
    }

    /// The public key, or the public half.
    pub(crate) fn public(&self) -> &PublicKey {
        match self {
            Key::Private(private) => private.public(),
            Key::Public { key, .. } => key,
        }
    }
}

impl Private {
    /// Reads a private key in any form.
    pub(crate) fn load(source: &Source, terminal: &mut Terminal) -> Result<Self, Error> {
        match Key::load(source, terminal)? {
            Key::Private(private) => Ok(private),
            Key::Public { .. } => Err(Error::key(
                &source.name(),
                "this is a public key, expected a private one",
                Some("signing takes the file that `sealstone key generate` wrote"),
            )),
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
                Some(
                    "it still signs files; JWK (RFC 9964 §4) and PKCS#8 as written here hold the seed, which cannot \
                     be computed back: export the key again from where its seed is kept",
                ),
            )),
        }
    }
}

/// The engine's verifying key of an ML-DSA key.
pub(crate) fn verifying_key(public: &PublicKey) -> Option<any::VerifyingKey> {
    any::VerifyingKey::decode(public.algorithm().level()?, public.as_bytes()).ok()
}

/// Writes a private key.
pub(crate) fn private_bytes(key: &PrivateKey, format: Format) -> Result<Zeroizing<Vec<u8>>, Error> {
    let text = |text: &str, end: &str| Zeroizing::new([text.as_bytes(), end.as_bytes()].concat());
    if format == Format::Jwk {
        return Ok(text(&key.to_jwk().to_json(), "\n"));
    }
    let refused = |cause: sealstone_pki::Error| Error::key("the key", &cause, cause.hint());
    let public = Some(key.public().as_bytes());
    let algorithm = pki_algorithm(key.algorithm())?;
    let info = PrivateKeyInfo::new(algorithm, &key.secret(), public).map_err(refused)?;
    match format {
        Format::Pem => pkcs8::to_pem(&info).map(|pem| text(&pem, "")).map_err(refused),
        _ => pkcs8::to_der(&info).map_err(refused),
    }
}

/// Writes a public key.
pub(crate) fn public_bytes(key: &PublicKey, format: Format) -> Result<Vec<u8>, Error> {
    if format == Format::Jwk {
        return Ok(format!("{}\n", key.to_jwk().to_json()).into_bytes());
    }
    let info = PublicKeyInfo::new(pki_algorithm(key.algorithm())?, key.as_bytes())
        .map_err(|cause| Error::key("the key", &cause, cause.hint()))?;
    Ok(if format == Format::Pem { spki::to_pem(&info).into_bytes() } else { spki::to_der(&info) })
}

fn parse(name: &str, bytes: &[u8]) -> Result<Key, Error> {
    match bytes.trim_ascii_start() {
        [] => Err(Error::key(name, "the file is empty", Some(KINDS))),
        [b'{', ..] => parse_jwk(name, bytes),
        [b'-', ..] => parse_pem(name, bytes),
        [0x30, ..] => parse_der(name, bytes),
        _ => Err(Error::key(name, "this is no key: it starts like neither JSON, PEM nor DER", Some(KINDS))),
    }
}

const KINDS: &str = "give a key as JWK, PEM or DER, such as `sealstone key generate` writes";

fn parse_jwk(name: &str, bytes: &[u8]) -> Result<Key, Error> {
    let refused = |cause: sealstone_jose::Error| Error::key(name, &cause, cause.hint());
    let text = text(name, bytes)?;
    match PublicKey::from_jwk(text) {
        Ok(key) => Ok(Key::Public { key, encoding: "JWK" }),
        Err(sealstone_jose::Error::PrivateMember { .. }) => {
            let key = PrivateKey::from_jwk(text).map_err(refused)?;
            Ok(Key::Private(Private::Whole { key, encoding: "JWK" }))
        }
        Err(_) if JwkSet::parse(bytes).is_ok() => Err(Error::key(
            name,
            "this is a key set, expected one key",
            Some("`sealstone jwt verify` takes a set with --jwks; elsewhere take one key out of it"),
        )),
        Err(cause) => Err(refused(cause)),
    }
}

fn parse_pem(name: &str, bytes: &[u8]) -> Result<Key, Error> {
    let text = text(name, bytes)?;
    if text.starts_with("-----BEGIN PUBLIC KEY-----") {
        public(name, spki::from_pem(text), "SPKI in PEM")
    } else {
        let encoding =
            if text.starts_with("-----BEGIN EC PRIVATE KEY") { "SEC 1 in PEM" } else { "PKCS#8 in PEM" };
        private(name, pkcs8::from_pem(text), encoding)
    }
}

/// The kinds differ in what comes first: an algorithm in SPKI, a version in the others, and then an algorithm in
/// PKCS#8 or the key in SEC 1.
fn parse_der(name: &str, bytes: &[u8]) -> Result<Key, Error> {
    let long_form = bytes.get(1).is_some_and(|length| length & 0x80 != 0);
    let header = 2 + if long_form { usize::from(bytes[1] & 0x7f) } else { 0 };
    match bytes.get(header..header.saturating_add(4)) {
        Some([0x30, ..]) => public(name, spki::from_der(bytes), "SPKI in DER"),
        Some([0x02, 0x01, 0x01, 0x04]) => private(name, pkcs8::from_sec1_der(bytes), "SEC 1 in DER"),
        _ => private(name, pkcs8::from_der(bytes), "PKCS#8 in DER"),
    }
}

fn public(
    name: &str,
    read: Result<PublicKeyInfo, sealstone_pki::Error>,
    encoding: &'static str,
) -> Result<Key, Error> {
    let info = read.map_err(|cause| Error::key(name, &cause, cause.hint()))?;
    let key = PublicKey::from_public(jose_algorithm(info.algorithm()), info.key())
        .map_err(|cause| Error::key(name, &cause, cause.hint()))?;
    Ok(Key::Public { key, encoding })
}

fn private(
    name: &str,
    read: Result<PrivateKeyInfo, sealstone_pki::Error>,
    encoding: &'static str,
) -> Result<Key, Error> {
    let info = read.map_err(|cause| Error::key(name, &cause, cause.hint()))?;
    let refused = |cause: sealstone_jose::Error| Error::key(name, &cause, cause.hint());
    let algorithm = jose_algorithm(info.algorithm());
    if let (KeyAlgorithm::MlDsa(level), Secret::MlDsaExpanded(expanded)) = (info.algorithm(), info.secret()) {
        let key = any::ExpandedSigningKey::decode(level, expanded)
            .map_err(|cause| Error::key(name, cause, None))?;
        let public = PublicKey::from_public(algorithm, key.verifying_key().encode()).map_err(refused)?;
        return Ok(Key::Private(Private::Expanded { key: Box::new(key), public }));
    }
    let secret = info.raw().map_err(|cause| Error::key(name, &cause, cause.hint()))?;
    let key = match info.public() {
        // Also where the format's crate cannot compare the halves: on elliptic curves.
        Some(public) => PrivateKey::from_secret_and_public(algorithm, secret, public),
        None => PrivateKey::from_secret(algorithm, secret),
    };
    Ok(Key::Private(Private::Whole { key: key.map_err(refused)?, encoding }))
}

fn text<'b>(name: &str, bytes: &'b [u8]) -> Result<&'b str, Error> {
    std::str::from_utf8(bytes)
        .map_err(|at| Error::key(name, format_args!("bad UTF-8 at byte {}", at.valid_up_to()), Some(KINDS)))
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

/// Errors: for RSA, which is read and written as JWK alone.
fn pki_algorithm(algorithm: Algorithm) -> Result<KeyAlgorithm, Error> {
    Ok(match algorithm {
        Algorithm::EdDsa | Algorithm::Ed25519 => KeyAlgorithm::Ed25519,
        Algorithm::Es256 => KeyAlgorithm::EcP256,
        Algorithm::Es384 => KeyAlgorithm::EcP384,
        Algorithm::Es512 => KeyAlgorithm::EcP521,
        Algorithm::MlDsa44 => KeyAlgorithm::MlDsa(Level::MlDsa44),
        Algorithm::MlDsa65 => KeyAlgorithm::MlDsa(Level::MlDsa65),
        Algorithm::MlDsa87 => KeyAlgorithm::MlDsa(Level::MlDsa87),
        Algorithm::Ps256 | Algorithm::Rs256 => {
            return Err(Error::usage(
                "RSA keys are written as JWK only",
                "--format jwk or --to jwk writes it",
            ));
        }
    })
}
