//! `sealstone sign`: a detached signature beside a file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use sealstone_jose::PublicKey;
use sealstone_mldsa::{OsRandom, any};
use serde_json::json;

use crate::error::Error;
use crate::files::{Readers, Source, Target, shown};
use crate::keyfile::{Key, Private, verifying_key};
use crate::message::{MessageOptions, refused};
use crate::password::PasswordFile;
use crate::terminal::{DIM, Terminal, grouped};

/// Options of `sign`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone sign --key my.pem letter.txt         writes letter.txt.sig
  sealstone sign --key my.pem --context firmware-v1 image.bin
  tar c photos | sealstone sign --key my.pem --out photos.sig -

  The key on one machine, the file on another (external μ; only 64 bytes travel):
  sealstone sign --compute-mu --key my.pub.pem disk.img > disk.mu
  sealstone sign --mu --key my.pem --out disk.img.sig disk.mu

A file of any size is read once, in constant memory. Signatures are raw bytes: 2420, 3309 or 4627 for \
ML-DSA, r || s for ECDSA, 64 for Ed25519. Whoever checks must give the same --context and --pre-hash.")]
pub(crate) struct Options {
    /// The file; - is standard input
    #[arg(value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    file: OsString,
    /// The private key: PEM, DER or JWK (with --compute-mu the public key is enough)
    #[arg(long, value_name = "KEY", value_parser = clap::value_parser!(OsString))]
    key: OsString,
    #[command(flatten)]
    password: PasswordFile,
    /// Where the signature goes: FILE.sig if not given; - is standard output
    #[arg(long, value_name = "SIGNATURE", value_parser = clap::value_parser!(OsString))]
    out: Option<OsString>,
    #[command(flatten)]
    message: MessageOptions,
    /// Sign without randomness: the same input gives the same signature, at the price of a defence
    #[arg(long)]
    deterministic: bool,
    /// Do not sign: print the file's μ for this key, in hexadecimal
    #[arg(long, conflicts_with_all = ["mu", "deterministic", "force"])]
    compute_mu: bool,
    /// Replace the signature if it is there
    #[arg(long)]
    force: bool,
    /// Say in JSON what was written
    #[arg(long, conflicts_with = "compute_mu")]
    json: bool,
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let (file, key) = (Source::from(options.file.clone()), Source::from(options.key.clone()));
    if file == Source::Stdin && key == Source::Stdin {
        return Err(Error::usage(
            "the file and the key cannot both be standard input",
            "give one of them by its name",
        ));
    }
    if options.compute_mu {
        return compute_mu(options, &file, &key, terminal);
    }
    let out = options.out.clone().map_or_else(|| beside(&file), Target::from);
    if out == Target::Stdout && terminal.is_screen() {
        return Err(Error::usage(
            "a signature is binary and would disturb the terminal",
            "give --out a file",
        ));
    }
    if out == Target::Stdout && options.json {
        return Err(Error::usage(
            "--json and the signature cannot share standard output",
            "give --out a file",
        ));
    }
    out.check(options.force)?;
    let private = Private::unlock(&key, &options.password, terminal)?;
    let signature = match expanded(&private)? {
        Some(key) => ml_dsa(options, key.as_ref(), &file)?,
        None => classical(options, &private, &key, &file)?,
    };
    out.write(&signature, Readers::All, options.force, terminal)?;
    let (Target::Path(path), public) = (out, private.public()) else { return Ok(()) };
    if options.json {
        return terminal.json(&json!({
            "algorithm": public.algorithm().name(),
            "bytes": signature.len(),
            "file": file.name(),
            "kid": public.kid(),
            "signature": shown(&path),
        }));
    }
    terminal.line(format_args!(
        "{}  {} signature, {} bytes\n{DIM}key id {}{DIM:#}",
        shown(&path),
        public.algorithm(),
        grouped(signature.len()),
        public.kid(),
    ))
}

fn ml_dsa(options: &Options, key: &any::ExpandedSigningKey, file: &Source) -> Result<Vec<u8>, Error> {
    let mu = options.message.mu(&key.verifying_key(), file)?;
    let signature =
        if options.deterministic { key.sign_mu_deterministic(&mu) } else { key.sign_mu(&mut OsRandom, &mu) };
    Ok(signature.map_err(Error::Engine)?.encode().to_vec())
}

fn classical(options: &Options, private: &Private, key: &Source, file: &Source) -> Result<Vec<u8>, Error> {
    if options.deterministic {
        return Err(refused("--deterministic", private.public()));
    }
    let message = options.message.whole(private.public(), file)?;
    let signed = private.whole(&key.name(), "sign here")?.sign(&message);
    signed.map_err(|cause| Error::key(&key.name(), &cause, cause.hint()))
}

fn compute_mu(options: &Options, file: &Source, key: &Source, terminal: &mut Terminal) -> Result<(), Error> {
    let key = Key::unlock(key, &options.password, terminal)?;
    let public: &PublicKey = key.public();
    let Some(verifying) = verifying_key(public) else { return Err(refused("--compute-mu", public)) };
    let mu = options.message.mu(&verifying, file)?;
    match options.out.clone().map(Target::from) {
        None | Some(Target::Stdout) => {
            let digits: String = mu.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            terminal.line(digits)
        }
        Some(out) => out.write(mu.as_bytes(), Readers::All, false, terminal),
    }
}

/// The expanded key of an ML-DSA key; `None` for a classical one.
fn expanded(private: &Private) -> Result<Option<Expanded<'_>>, Error> {
    match private {
        Private::Expanded { key, .. } => Ok(Some(Expanded::Given(key))),
        Private::Whole { key, .. } => match key.algorithm().level() {
            Some(level) => {
                let seed = any::SigningKey::try_from_seed(level, &key.secret()).map_err(Error::Engine)?;
                Ok(Some(Expanded::Made(seed.expand())))
            }
            None => Ok(None),
        },
    }
}

enum Expanded<'k> {
    Given(&'k any::ExpandedSigningKey),
    Made(any::ExpandedSigningKey),
}

impl AsRef<any::ExpandedSigningKey> for Expanded<'_> {
    fn as_ref(&self) -> &any::ExpandedSigningKey {
        match self {
            Expanded::Given(key) => key,
            Expanded::Made(key) => key,
        }
    }
}

/// Where a file's signature is expected: FILE.sig, or standard output for standard input.
fn beside(file: &Source) -> Target {
    match file {
        Source::Path(path) => Target::Path(signature_path(path)),
        Source::Stdin => Target::Stdout,
    }
}

pub(crate) fn signature_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".sig");
    name.into()
}
