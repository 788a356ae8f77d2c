//! What the verbs read: messages, certificates and keys, in PEM or DER whichever it is.

use std::ffi::OsString;

use sealstone_pki::cms::{self, Message, Recipient};
use sealstone_pki::form::Form;
use sealstone_pki::ml_kem::{DecapsulationKey, EncapsulationKey};
use sealstone_pki::sign::{SigningKey, VerifyingKey};
use sealstone_pki::{Certificate, Error as Refused, spki};
use zeroize::Zeroizing;

use crate::cert::load::standard_signer;
use crate::error::Error;
use crate::files::Source;
use crate::keyfile::{self, Opened};
use crate::password::PasswordFile;
use crate::terminal::Terminal;

/// Larger than any key, and than a bundle of a thousand certificates.
const LIMIT: usize = 16 << 20;
/// PEM of the largest message.
const MESSAGE_LIMIT: usize = cms::MAX_MESSAGE / 2 * 3;

fn refused(name: &str, cause: &Refused) -> Error {
    Error::key(name, cause, cause.hint())
}

/// What is wrong with options or files, not with a message that someone else made.
pub(super) fn wrong(cause: &cms::Error) -> Error {
    Error::Usage { what: cause.to_string(), hint: cause.hint().map(str::to_owned) }
}

/// What is wrong with a message: exit code 1.
pub(super) fn not_valid(name: &str, cause: &cms::Error) -> Error {
    let hint = cause.hint().map(str::to_owned);
    match cause {
        cms::Error::Encoding(Refused::Provider) => Error::Usage { what: cause.to_string(), hint },
        _ => Error::Signature {
            name: name.to_owned(),
            what: format!("the message is not valid: {cause}"),
            hint,
        },
    }
}

/// A message of any kind.
pub(super) fn message(source: &Source) -> Result<Message, Error> {
    let name = source.name();
    let bytes = source.read(MESSAGE_LIMIT)?;
    let read = match bytes.trim_ascii_start() {
        [b'-', ..] => Message::from_pem(text(&name, &bytes)?),
        _ => Message::from_der(&bytes),
    };
    // What is no message has no signature that could be bad.
    read.map_err(|cause| {
        let hint = "give a message in CMS: PEM, DER or BER, as `sealstone cms sign` writes";
        Error::key(&name, format_args!("this is no message in CMS: {cause}"), Some(hint))
    })
}

/// Content that goes into a message whole.
pub(super) fn content(source: &Source) -> Result<Zeroizing<Vec<u8>>, Error> {
    source.read(cms::MAX_MESSAGE)
}

/// Every certificate of a file: one in DER, or all in PEM.
pub(super) fn certificates(file: &OsString) -> Result<Vec<Certificate>, Error> {
    let source = Source::from(file.clone());
    let (name, bytes) = (source.name(), source.read(LIMIT)?);
    let read = match bytes.first() {
        Some(0x30) => Certificate::from_der(&bytes).map(|one| vec![one]),
        _ => Certificate::all_from_pem(text(&name, &bytes)?),
    };
    read.map_err(|cause| refused(&name, &cause))
}

/// All certificates of some files.
pub(super) fn all_certificates(files: &[OsString]) -> Result<Vec<Certificate>, Error> {
    let lists = files.iter().map(certificates).collect::<Result<Vec<_>, _>>()?;
    Ok(lists.into_iter().flatten().collect())
}

/// The first certificate of a file, and those behind it.
pub(super) fn certificate(file: &OsString) -> Result<(Certificate, Vec<Certificate>), Error> {
    let mut all = certificates(file)?;
    match all.is_empty() {
        false => Ok((all.remove(0), all)),
        true => Err(Error::key(&Source::from(file.clone()).name(), "there is no certificate in it", None)),
    }
}

/// A private key that signs: PEM, DER or JWK, under a password or not.
pub(super) fn signing_key(
    file: &OsString,
    password: &PasswordFile,
    terminal: &mut Terminal,
) -> Result<SigningKey, Error> {
    standard_signer(&private(file, password, terminal)?)
}

/// A private key that decrypts: ML-KEM in PEM or DER, under a password or not.
pub(super) fn decapsulation_key(
    file: &OsString,
    password: &PasswordFile,
    terminal: &mut Terminal,
) -> Result<DecapsulationKey, Error> {
    let file = private(file, password, terminal)?;
    let read = match Form::of(&file.bytes) {
        Some(Form::Pem(_)) => DecapsulationKey::from_pem(file.text()?),
        _ => DecapsulationKey::from_der(&file.bytes),
    };
    read.map_err(|cause| not_ml_kem(&file.name, &cause))
}

/// Whom a message is for: a certificate of an ML-KEM key, or the public key alone.
pub(super) fn recipient(file: &OsString) -> Result<Recipient, Error> {
    let source = Source::from(file.clone());
    let (name, bytes) = (source.name(), source.read(LIMIT)?);
    let key = match bytes.trim_ascii_start() {
        bytes if bytes.starts_with(b"-----BEGIN PUBLIC KEY-----") => {
            EncapsulationKey::from_pem(text(&name, bytes)?)
        }
        [0x30, ..] => EncapsulationKey::from_der(&bytes),
        _ => Err(Refused::Encrypted),
    };
    if let Ok(key) = key {
        return Recipient::key(&key).map_err(|cause| wrong(&cause));
    }
    if spki::from_der(&bytes).is_ok() || bytes.starts_with(b"-----BEGIN PUBLIC KEY-----") {
        return Err(not_ml_kem(&name, &key.err().unwrap_or(Refused::Provider)));
    }
    let read = match bytes.first() {
        Some(0x30) => Certificate::from_der(&bytes),
        _ => Certificate::from_pem(text(&name, &bytes)?),
    };
    let certificate = read.map_err(|cause| refused(&name, &cause))?;
    Recipient::certificate(&certificate).map_err(|cause| match cause {
        cms::Error::Encoding(cause) => not_ml_kem(&name, &cause),
        other => Error::key(&name, &other, other.hint()),
    })
}

/// A key that is trusted to have signed: public or private, whose public half it is then.
pub(super) fn verifying_key(file: &OsString, terminal: &mut Terminal) -> Result<VerifyingKey, Error> {
    let source = Source::from(file.clone());
    let name = source.name();
    let key = keyfile::Key::load(&source, terminal)?;
    let der = keyfile::public_bytes(key.public(), keyfile::Format::Der)?;
    VerifyingKey::from_spki(&der).map_err(|cause| refused(&name, &cause))
}

fn private(file: &OsString, password: &PasswordFile, terminal: &mut Terminal) -> Result<Opened, Error> {
    let source = Source::from(file.clone());
    let file = Opened::read(&source, LIMIT, password)?;
    file.warn_of_mode(&source, terminal);
    Ok(file)
}

fn not_ml_kem(name: &str, cause: &Refused) -> Error {
    match cause {
        Refused::AlgorithmUnknown { .. } => Error::key(
            name,
            "this key is not for encryption: expected ML-KEM-512, ML-KEM-768 or ML-KEM-1024",
            Some("`sealstone key generate --alg ML-KEM-768` makes one"),
        ),
        _ => refused(name, cause),
    }
}

pub(super) fn text<'b>(name: &str, bytes: &'b [u8]) -> Result<&'b str, Error> {
    std::str::from_utf8(bytes)
        .map_err(|at| Error::key(name, format_args!("neither text nor DER: byte {}", at.valid_up_to()), None))
}
