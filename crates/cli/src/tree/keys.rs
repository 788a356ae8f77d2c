//! Keys and certificates as files. A private key that others may read is not used.

use std::ffi::OsString;

use clap::Args;
use sealstone_pki::{Certificate, pkcs8, spki};
use sealstone_tree::{Appraiser, HashAlgorithm, Signer, TrustedKey, Version};

use super::usage;
use crate::clock;
use crate::error::Error;
use crate::files::Source;
use crate::keyfile::Opened;
use crate::password::PasswordFile;
use crate::terminal::Terminal;

const LIMIT: usize = 1 << 20;

/// What signs.
#[derive(Args)]
pub(crate) struct Signing {
    /// The private key: PKCS#8 in PEM or DER, ML-DSA, P-256 or P-384
    #[arg(long, value_name = "KEY")]
    pub(super) key: OsString,
    #[command(flatten)]
    pub(super) password: PasswordFile,
    /// Its certificate in PEM or DER, whose subject key identifier names the key in each signature
    #[arg(long, value_name = "CERT")]
    pub(super) cert: Option<OsString>,
}

impl Signing {
    pub(super) fn load(&self, terminal: &mut Terminal) -> Result<Signer, Error> {
        let source = Source::from(self.key.clone());
        let file = Opened::read(&source, LIMIT, &self.password)?;
        let name = source.name();
        if let Some(mode) = source.wide_mode().filter(|_| !file.was_encrypted()) {
            let what = format!("{name} holds a private key and its mode {mode:04o} lets others in");
            return Err(Error::usage(
                what,
                &format!("chmod 600 {name}; then consider whether somebody has read it"),
            ));
        }
        let info = match std::str::from_utf8(&file.bytes) {
            Ok(text) if text.trim_start().starts_with("-----") => pkcs8::from_pem(text),
            _ => pkcs8::from_der(&file.bytes),
        };
        let info = info.map_err(|cause| Error::key(&name, &cause, cause.hint()))?;
        let certificate = match &self.cert {
            None => None,
            Some(cert) => Some(one(&Source::from(cert.clone()))?),
        };
        let now = i64::try_from(clock::now().0).unwrap_or(i64::MAX);
        let signer = Signer::new(&info, certificate.as_ref(), now);
        let of = self.cert.as_ref().map_or(name, |cert| Source::from(cert.clone()).name());
        let signer = signer.map_err(|cause| usage(&of, &cause))?;
        if signer.id_is_derived() {
            terminal.warn(
                format_args!("without a certificate the key is named {}, the SHA-1 of its bits", signer.public().key_id),
                "a kernel finds it under the subject key identifier of the certificate that it loads: give that with --cert",
            );
        }
        Ok(signer)
    }
}

pub(super) fn set(signer: &mut Signer, hash: Option<Hash>, version: Option<u8>) -> Result<(), Error> {
    let refused = |cause| usage("the key", &cause);
    if let Some(hash) = hash {
        let hash = match hash {
            Hash::Sha256 => HashAlgorithm::Sha256,
            Hash::Sha384 => HashAlgorithm::Sha384,
            Hash::Sha512 => HashAlgorithm::Sha512,
        };
        signer.set_hash(hash).map_err(refused)?;
    }
    if version == Some(2) {
        signer.set_version(Version::V2).map_err(refused)?;
    }
    Ok(())
}

/// What files are hashed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Hash {
    /// What kernels take by default
    Sha256,
    /// 48 bytes
    Sha384,
    /// 64 bytes
    Sha512,
}

/// What is trusted.
pub(super) fn trusted(
    certs: &[OsString],
    public: &[OsString],
    terminal: &mut Terminal,
) -> Result<(Appraiser, Vec<TrustedKey>), Error> {
    let mut appraiser = Appraiser::new();
    let mut keys = Vec::new();
    let now = i64::try_from(clock::now().0).unwrap_or(i64::MAX);
    for cert in certs {
        let source = Source::from(cert.clone());
        let name = source.name();
        for certificate in all(&source)? {
            let key = TrustedKey::of_certificate(&certificate, now).map_err(|cause| usage(&name, &cause))?;
            keys.push(key);
        }
    }
    for source in public.iter().map(|public| Source::from(public.clone())) {
        let name = source.name();
        let text = source.read_text(LIMIT)?;
        let info = spki::from_pem(&text).map_err(|cause| Error::key(&name, &cause, cause.hint()))?;
        keys.push(TrustedKey::of_spki(&spki::to_der(&info)).map_err(|cause| usage(&name, &cause))?);
    }
    // The same certificate given twice is one key.
    keys.sort_by(|a, b| (a.key_id, &a.spki).cmp(&(b.key_id, &b.spki)));
    keys.dedup_by(|a, b| (a.key_id, &a.spki) == (b.key_id, &b.spki));
    for key in &keys {
        key.trusted_by(&mut appraiser).map_err(|cause| usage("the key", &cause))?;
    }
    for key_id in appraiser.shared_ids() {
        terminal.warn(
            format_args!("two different keys have the id {key_id}"),
            "here both are tried; a kernel takes the first that it finds and refuses the files of the other: make a new key",
        );
    }
    Ok((appraiser, keys))
}

/// Certificates of a file: one in DER, or all in PEM.
fn all(source: &Source) -> Result<Vec<Certificate>, Error> {
    let name = source.name();
    let bytes = source.read(LIMIT)?;
    let read = match std::str::from_utf8(&bytes) {
        Ok(text) if text.contains("-----BEGIN") => Certificate::all_from_pem(text),
        _ => Certificate::from_der(&bytes).map(|certificate| vec![certificate]),
    };
    read.map_err(|cause| Error::key(&name, &cause, cause.hint()))
}

fn one(source: &Source) -> Result<Certificate, Error> {
    let mut certificates = all(source)?;
    match (certificates.pop(), certificates.is_empty()) {
        (Some(certificate), true) => Ok(certificate),
        _ => Err(Error::key(&source.name(), "several certificates, expected that of the key", None)),
    }
}
