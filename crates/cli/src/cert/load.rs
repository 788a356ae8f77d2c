//! Keys, certificates, requests and lists from files, in PEM or DER whichever it is; and where they are written.

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use sealstone_jose::PrivateKey;
use sealstone_pki::composite::{self, CompositeKey};
use sealstone_pki::form::{Form, Kind};
use sealstone_pki::ml_kem::EncapsulationKey;
use sealstone_pki::sign::{Signer, SigningKey};
use sealstone_pki::x509::{Crl, Csr};
use sealstone_pki::{Certificate, pkcs8, spki};

use crate::error::Error;
use crate::files::{Readers, Source, Target};
use crate::keyfile::{self, Opened};
use crate::password::PasswordFile;
use crate::terminal::Terminal;

/// Larger than any key, and than a bundle of a thousand certificates.
const LIMIT: usize = 16 << 20;

/// How a certificate, a request or a list is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Written {
    /// Text, one block
    Pem,
    /// The same in DER, which is binary
    Der,
}

/// Where what was made goes.
#[derive(Args)]
pub(crate) struct Out {
    /// Where it goes; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-", value_parser = clap::value_parser!(OsString))]
    pub(crate) out: OsString,
    /// How it is written
    #[arg(long, value_enum)]
    pub(crate) format: Option<Written>,
    /// Replace the file if it is there
    #[arg(long)]
    pub(crate) force: bool,
    /// Say in JSON what was made
    #[arg(long)]
    pub(crate) json: bool,
}

impl Out {
    /// The file, or nothing for standard output. Refuses before any work what could not be written.
    pub(crate) fn target(&self, terminal: &Terminal) -> Result<Target, Error> {
        let target = Target::from(self.out.clone());
        if self.json && target == Target::Stdout {
            return Err(Error::usage(
                "--json and what is made cannot share standard output",
                "give --out a file",
            ));
        }
        if self.format == Some(Written::Der) && target == Target::Stdout && terminal.is_screen() {
            return Err(Error::usage(
                "DER is binary and would disturb the terminal",
                "write it to a file or into a pipe",
            ));
        }
        target.check(self.force)?;
        Ok(target)
    }

    pub(crate) fn write(
        &self,
        target: &Target,
        form: Written,
        pem: String,
        der: &[u8],
        terminal: &mut Terminal,
    ) -> Result<(), Error> {
        let bytes = if form == Written::Pem { pem.as_bytes() } else { der };
        target.write(bytes, Readers::All, self.force, terminal)
    }
}

/// A file that cannot be taken, and why.
pub(crate) fn refused(name: &str, cause: &sealstone_pki::Error) -> Error {
    Error::key(name, cause, cause.hint())
}

/// A private key that signs certificates: PEM, DER or JWK; a composite only with `draft`.
pub(crate) fn signer(
    source: &Source,
    password: &PasswordFile,
    draft: bool,
    terminal: &mut Terminal,
) -> Result<Box<dyn Signer>, Error> {
    let file = Opened::read(source, LIMIT, password)?;
    file.warn_of_mode(source, terminal);
    let (name, bytes) = (file.name.as_str(), file.bytes.as_slice());
    let composite = match Form::of(bytes) {
        Some(Form::Pem(_)) => composite::from_pkcs8_pem(file.text()?),
        Some(Form::Der(_)) => composite::from_pkcs8(bytes),
        _ => return Ok(Box::new(standard_signer(&file)?)),
    };
    match composite {
        Ok(key) => composite_signer(name, key, draft),
        Err(sealstone_pki::Error::Composite(cause)) => Err(Error::key(name, cause, cause.hint())),
        Err(_) => Ok(Box::new(standard_signer(&file)?)),
    }
}

/// The same of a standard key alone.
pub(crate) fn standard_signer(file: &Opened) -> Result<SigningKey, Error> {
    let (name, bytes) = (file.name.as_str(), file.bytes.as_slice());
    let read = match Form::of(bytes) {
        Some(Form::Pem(Kind::Spki) | Form::Der(Kind::Spki)) => return Err(keyfile::not_private(name)),
        Some(Form::Json) => {
            let key =
                PrivateKey::from_jwk(file.text()?).map_err(|cause| Error::key(name, &cause, cause.hint()))?;
            pkcs8::from_der(&keyfile::private_bytes(&key, keyfile::Format::Der)?)
        }
        Some(Form::Pem(_)) => pkcs8::from_pem(file.text()?),
        Some(Form::Der(Kind::Sec1)) => pkcs8::from_sec1_der(bytes),
        _ => pkcs8::from_der(bytes),
    };
    read.and_then(|info| SigningKey::from_info(&info)).map_err(|cause| refused(name, &cause))
}

fn composite_signer(name: &str, key: composite::PrivateKey, draft: bool) -> Result<Box<dyn Signer>, Error> {
    if draft {
        return Ok(Box::new(CompositeKey::new(key)));
    }
    Err(Error::key(
        name,
        format_args!(
            "a composite key, {}, as {} has it, which is a draft",
            key.public().algorithm(),
            composite::DRAFT
        ),
        Some("--draft takes it; later software may not be able to read what it signs"),
    ))
}

/// Every certificate of a file: one in DER, or all in PEM.
pub(crate) fn certificates(file: &OsString) -> Result<Vec<Certificate>, Error> {
    let source = Source::from(file.clone());
    let (name, bytes) = (source.name(), source.read(LIMIT)?);
    let read = match bytes.first() {
        Some(0x30) => Certificate::from_der(&bytes).map(|one| vec![one]),
        _ => Certificate::all_from_pem(text(&name, &bytes)?),
    };
    read.map_err(|cause| match &cause {
        sealstone_pki::Error::Pem { .. } => {
            Error::key(&name, &cause, Some("give certificates in PEM, blocks CERTIFICATE, or one in DER"))
        }
        _ => refused(&name, &cause),
    })
}

/// One certificate.
pub(crate) fn certificate(file: &OsString) -> Result<Certificate, Error> {
    let mut all = certificates(file)?;
    match all.pop() {
        Some(one) if all.is_empty() => Ok(one),
        _ => Err(Error::key(
            &Source::from(file.clone()).name(),
            format_args!("{} certificates, expected one", all.len() + 1),
            Some("give the one that is meant in a file of its own"),
        )),
    }
}

/// A request.
pub(crate) fn request(name: &str, bytes: &[u8]) -> Result<Csr, Error> {
    let read = match bytes.first() {
        Some(0x30) => Csr::from_der(bytes),
        _ => Csr::from_pem(text(name, bytes)?),
    };
    read.map_err(|cause| match &cause {
        sealstone_pki::Error::Pem { .. } | sealstone_pki::Error::PemLabel { .. } => {
            Error::key(name, &cause, Some("`sealstone csr new` makes a request"))
        }
        _ => refused(name, &cause),
    })
}

/// What is to be certified: a request, whose signature is checked, or a public key.
pub(crate) enum Subject {
    Key(Vec<u8>),
    Request(Box<Csr>),
}

impl Subject {
    pub(crate) fn load(file: &OsString) -> Result<Self, Error> {
        let source = Source::from(file.clone());
        let (name, bytes) = (source.name(), source.read(LIMIT)?);
        if bytes.starts_with(b"-----BEGIN PUBLIC KEY-----") {
            let text = text(&name, &bytes)?;
            if let Ok(key) = EncapsulationKey::from_pem(text) {
                return Ok(Self::Key(key.to_der()));
            }
            return match (spki::from_pem(text), composite::from_spki_pem(text)) {
                (Ok(key), _) => Ok(Self::Key(spki::to_der(&key))),
                (_, Ok(key)) => Ok(Self::Key(composite::to_spki(&key))),
                (Err(cause), _) => Err(refused(&name, &cause)),
            };
        }
        if bytes.starts_with(b"-----BEGIN PRIVATE KEY-----") {
            return Err(Error::key(
                &name,
                "this is a private key, and no authority should have it",
                Some(
                    "`sealstone csr new` makes a request of it, or `sealstone key show --public --format pem` its public half",
                ),
            ));
        }
        if let Ok(key) = spki::from_der(&bytes) {
            return Ok(Self::Key(spki::to_der(&key)));
        }
        let request = request(&name, &bytes)?;
        request.verify().map_err(|cause| Error::Signature {
            name,
            what: format!("the request is not signed by its own key: {cause}"),
            hint: Some("whoever made it may not have the private key: ask for another".into()),
        })?;
        Ok(Self::Request(Box::new(request)))
    }
}

/// A revocation list.
pub(crate) fn crl(file: &OsString) -> Result<Crl, Error> {
    let source = Source::from(file.clone());
    let (name, bytes) = (source.name(), source.read(LIMIT)?);
    let read = match bytes.first() {
        Some(0x30) => Crl::from_der(&bytes),
        _ => Crl::from_pem(text(&name, &bytes)?),
    };
    read.map_err(|cause| match &cause {
        sealstone_pki::Error::Pem { .. } | sealstone_pki::Error::PemLabel { .. } => {
            Error::key(&name, &cause, Some("give a revocation list in PEM, a block X509 CRL, or in DER"))
        }
        _ => refused(&name, &cause),
    })
}

fn text<'b>(name: &str, bytes: &'b [u8]) -> Result<&'b str, Error> {
    std::str::from_utf8(bytes)
        .map_err(|at| Error::key(name, format_args!("neither text nor DER: byte {}", at.valid_up_to()), None))
}
