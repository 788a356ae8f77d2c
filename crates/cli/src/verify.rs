//! `sealstone verify`: whether a detached signature is one of a key over a file.

use std::ffi::OsString;

use clap::Args;
use sealstone_jose::PublicKey;
use sealstone_mldsa::{Level, any};
use serde_json::json;

use crate::error::Error;
use crate::files::Source;
use crate::keyfile::{Key, verifying_key};
use crate::message::MessageOptions;
use crate::password::PasswordFile;
use crate::sign::signature_path;
use crate::terminal::{DIM, GOOD, Terminal};

/// More than the longest signature, so that a file that is none is not read whole.
const LIMIT: usize = 1 << 16;

/// Options of `verify`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone verify --key my.pub.pem letter.txt     looks for letter.txt.sig
  sealstone verify --key my.pub.pem --signature photos.sig - < photos.tar
  sealstone verify --key my.pub.pem --context firmware-v1 image.bin && echo good

Exit code: 0 the signature is good, 1 it is not valid, 2 anything else, such as a file that is not \
there. All forgeries look alike: a changed file, a changed signature, another key and another context \
are told apart by nobody.")]
pub(crate) struct Options {
    /// The file; - is standard input
    #[arg(value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    file: OsString,
    /// The public key: PEM, DER or JWK
    #[arg(long, value_name = "KEY", value_parser = clap::value_parser!(OsString))]
    key: OsString,
    #[command(flatten)]
    password: PasswordFile,
    /// The signature: FILE.sig if not given
    #[arg(long, value_name = "SIGNATURE", value_parser = clap::value_parser!(OsString))]
    signature: Option<OsString>,
    #[command(flatten)]
    message: MessageOptions,
    /// Say it in JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let (file, key) = (Source::from(options.file.clone()), Source::from(options.key.clone()));
    let signature = match (options.signature.clone().map(Source::from), &file) {
        (Some(signature), _) => signature,
        (None, Source::Path(path)) => Source::Path(signature_path(path)),
        (None, Source::Stdin) => {
            return Err(Error::usage(
                "the file is standard input, so its signature has no name",
                "give it with --signature",
            ));
        }
    };
    if [&file, &key, &signature].into_iter().filter(|source| **source == Source::Stdin).count() > 1 {
        return Err(Error::usage("two inputs cannot both be standard input", "give one of them by its name"));
    }
    let key = Key::unlock(&key, &options.password, terminal)?;
    let public = key.public();
    let bytes = signature.read(LIMIT)?;
    let done = check(options, public, &file, &signature, &bytes);
    if options.json {
        terminal.json(&json!({
            "algorithm": public.algorithm().name(),
            "file": file.name(),
            "kid": public.kid(),
            "valid": match &done {
                Ok(()) => true,
                Err(Error::Signature { .. }) => false,
                // Not an answer to the question: no verdict is printed.
                Err(_) => return done,
            },
        }))?;
        return done;
    }
    done?;
    terminal.line(format_args!(
        "{GOOD}good{GOOD:#}  {} signature of {}\n{DIM}key id {}{DIM:#}",
        public.algorithm(),
        file.name(),
        public.kid()
    ))
}

fn check(
    options: &Options,
    public: &PublicKey,
    file: &Source,
    source: &Source,
    signature: &[u8],
) -> Result<(), Error> {
    let algorithm = public.algorithm();
    if signature.len() != public.signature_len() {
        let what = format!(
            "expected {} bytes of an {algorithm} signature, found {}",
            public.signature_len(),
            signature.len()
        );
        let other = Level::ALL.into_iter().find(|level| level.signature_len() == signature.len());
        let hint =
            other.map(|level| format!("{level} signatures have this length: give the key that signed"));
        return Err(Error::Signature { name: source.name(), what, hint });
    }
    let good = match verifying_key(public) {
        Some(key) => {
            let mu = options.message.mu(&key, file)?;
            let signature = any::Signature::decode(key.level(), signature).map_err(Error::Engine)?;
            key.verify_mu(&mu, &signature).is_ok()
        }
        None => public.verify(&options.message.whole(public, file)?, signature).is_ok(),
    };
    if good {
        return Ok(());
    }
    Err(Error::Signature {
        name: file.name(),
        what: "the signature does not verify".into(),
        hint: Some(
            "the file, the signature, the key, or --context and --pre-hash are not those of the signing"
                .into(),
        ),
    })
}
