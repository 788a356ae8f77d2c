//! Keys as files: which of JWK, PEM, DER, COSE_Key and raw bytes a file is, what it holds, and how a key is written in each.

pub(crate) mod any;
pub(crate) mod composite;
mod jwk;
pub(crate) mod raw;

use clap::ValueEnum;
use sealstone_jose::{Algorithm, PrivateKey, PublicKey, legacy};
use sealstone_mldsa::{Level, any as engine};
use sealstone_pki::{KeyAlgorithm, PrivateKeyInfo, PublicKeyInfo, Secret, pkcs8, rsa, spki};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::files::Source;
use crate::keyfile::any::{AnyAlgorithm, AnyKey, Gates};
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
    /// Reads a standard key in any form.
    pub(crate) fn load(source: &Source, terminal: &mut Terminal) -> Result<Self, Error> {
        const ELSEWHERE: &str =
            "this command takes standard keys; key, jwk, jwks and jwt take such a one with --draft";
        match load(source, Gates::default(), ELSEWHERE, terminal)? {
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
fn load(source: &Source, gates: Gates, elsewhere: &str, terminal: &mut Terminal) -> Result<AnyKey, Error> {
    let name = source.name();
    let bytes = source.read(LIMIT)?;
    let encrypted = password::is_encrypted(&bytes);
    let bytes = password::opened(&name, bytes, &PasswordFile::default())?;
    let key = parse(&name, &bytes, gates, elsewhere, terminal)?;
    if !encrypted {
        warn_of_mode(&key, source, terminal);
    }
    Ok(key)
}

/// A private key that others can read is used, and that is said.
fn warn_of_mode(key: &AnyKey, source: &Source, terminal: &mut Terminal) {
    if let (true, Some(mode)) = (key.is_private(), source.wide_mode()) {
        let name = source.name();
        terminal.warn(
            format_args!("{name} holds a private key and its mode {mode:04o} lets others in"),
            &format!("chmod 600 {name}"),
        );
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

fn parse(
    name: &str,
    bytes: &[u8],
    gates: Gates,
    elsewhere: &str,
    terminal: &mut Terminal,
) -> Result<AnyKey, Error> {
    if let Some(key) = raw::recognised(name, bytes)? {
        return Ok(AnyKey::Standard(key));
    }
    match bytes.trim_ascii_start() {
        [] => Err(Error::key(name, "the file is empty", Some(KINDS))),
        [b'{', ..] => jwk::parse(name, text(name, bytes)?, gates, elsewhere, terminal),
        [first @ (b'-' | 0x30 | 0xa0..=0xbf), ..] => match composite::parse(name, bytes)? {
            Some(key) if gates.draft => Ok(key),
            Some(key) => Err(any::shut(name, key.public().algorithm(), elsewhere)),
            None => match first {
                b'-' => parse_pem(name, bytes),
                0x30 => parse_der(name, bytes),
                // A map of CBOR, RFC 8949 §3.1.
                _ => parse_cose(name, bytes),
            }
            .map(AnyKey::Standard),
        },
        _ => Err(raw::unknown(name, bytes)),
    }
}

const KINDS: &str = "give a key as JWK, PEM or DER, such as `sealstone key generate` writes";

fn parse_pem(name: &str, bytes: &[u8]) -> Result<Key, Error> {
    let text = text(name, bytes)?;
    if text.starts_with("-----BEGIN PUBLIC KEY-----") {
        match rsa::public_from_pem(text) {
            Ok(key) => public_rsa(name, &key, "SPKI in PEM"),
            Err(_) => public(name, spki::from_pem(text), "SPKI in PEM"),
        }
    } else {
        let encoding = match text.split_at_checked(20) {
            Some(("-----BEGIN EC PRIVAT", _)) => "SEC 1 in PEM",
            Some(("-----BEGIN RSA PRIVA", _)) => "PKCS#1 in PEM",
            _ => "PKCS#8 in PEM",
        };
        match rsa::private_from_pem(text) {
            Ok(key) => private_rsa(name, &key, encoding),
            Err(_) => private(name, pkcs8::from_pem(text), encoding),
        }
    }
}

/// The kinds differ in what comes first: an algorithm in SPKI, a version in the others, and then an algorithm in
/// PKCS#8 or the key in SEC 1.
fn parse_der(name: &str, bytes: &[u8]) -> Result<Key, Error> {
    let long_form = bytes.get(1).is_some_and(|length| length & 0x80 != 0);
    let header = 2 + if long_form { usize::from(bytes[1] & 0x7f) } else { 0 };
    let refused = |cause: sealstone_pki::Error| Error::key(name, &cause, cause.hint());
    match bytes.get(header..header.saturating_add(4)) {
        Some([0x30, ..]) if rsa::is_rsa(bytes) => {
            public_rsa(name, &rsa::public_from_der(bytes).map_err(refused)?, "SPKI in DER")
        }
        Some([0x30, ..]) => public(name, spki::from_der(bytes), "SPKI in DER"),
        Some([0x02, 0x01, 0x01, 0x04]) => private(name, pkcs8::from_sec1_der(bytes), "SEC 1 in DER"),
        _ if rsa::is_rsa(bytes) => {
            private_rsa(name, &rsa::private_from_der(bytes).map_err(refused)?, "PKCS#8 in DER")
        }
        _ => private(name, pkcs8::from_der(bytes), "PKCS#8 in DER"),
    }
}

fn parse_cose(name: &str, bytes: &[u8]) -> Result<Key, Error> {
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
    let info = read.map_err(|cause| Error::key(name, &cause, cause.hint()))?;
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
    let info = read.map_err(|cause| Error::key(name, &cause, cause.hint()))?;
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
fn expanded(name: &str, level: Level, sk: &[u8], encoding: &'static str) -> Result<Key, Error> {
    let key = engine::ExpandedSigningKey::decode(level, sk).map_err(|cause| Error::key(name, cause, None))?;
    let public =
        PublicKey::from_public(jose_algorithm(KeyAlgorithm::MlDsa(level)), key.verifying_key().encode())
            .map_err(|cause| Error::key(name, &cause, cause.hint()))?;
    Ok(Key::Private(Private::Expanded { key, public, encoding }))
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
