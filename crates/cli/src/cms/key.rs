//! `sealstone cms key`.

use std::ffi::OsString;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use sealstone_mldsa::OsRandom;
use sealstone_pki::ml_kem::{DecapsulationKey, MlKem};
use serde_json::json;

use crate::error::Error;
use crate::files::{Readers, Target, shown};
use crate::terminal::Terminal;

/// Options of `cms key`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone cms key --out bob.pem --public-out bob.pub.pem
  sealstone cms encrypt --to bob.pub.pem letter.txt && sealstone cms decrypt --key bob.pem letter.txt.cms
  sealstone cms key | sealstone key encrypt - --out bob.pem       under a password

The private key is its 64-byte seed (RFC 9935), readable by its owner alone. An ML-KEM key does not \
sign. ML-KEM-768 is a good choice where nothing speaks for another.")]
pub(crate) struct Options {
    /// The parameter set
    #[arg(long, value_name = "ALG", default_value = "ML-KEM-768", ignore_case = true, value_parser = algorithm())]
    alg: MlKem,
    /// Where the private key goes; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-", value_parser = clap::value_parser!(OsString))]
    out: OsString,
    /// Where the public key goes, if it is wanted at once
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    public_out: Option<OsString>,
    /// Replace files that are there
    #[arg(long)]
    force: bool,
    /// Say in JSON what was made
    #[arg(long)]
    json: bool,
}

fn algorithm() -> impl clap::builder::TypedValueParser<Value = MlKem> {
    PossibleValuesParser::new(MlKem::ALL.map(MlKem::name))
        .try_map(|name| name.to_ascii_uppercase().parse::<MlKem>().map_err(|cause| cause.to_string()))
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let (out, public_out) = (Target::from(options.out.clone()), options.public_out.clone().map(Target::from));
    if public_out.as_ref().is_some_and(|public| *public == out) {
        return Err(Error::usage(
            "--out and --public-out are the same",
            "give the public key a file of its own",
        ));
    }
    if options.json && (out == Target::Stdout || public_out == Some(Target::Stdout)) {
        return Err(Error::usage("--json and a key cannot share standard output", "give --out a file"));
    }
    out.check(options.force)?;
    public_out.as_ref().map_or(Ok(()), |public| public.check(options.force))?;

    let refused = |cause: sealstone_pki::Error| Error::key("the new key", &cause, cause.hint());
    let key = DecapsulationKey::generate(options.alg, &mut OsRandom).map_err(refused)?;
    out.write(key.to_pem().map_err(refused)?.as_bytes(), Readers::Owner, options.force, terminal)?;
    if let Some(public_out) = &public_out {
        let pem = key.encapsulation_key().to_pem();
        public_out.write(pem.as_bytes(), Readers::All, options.force, terminal)?;
    }
    let path = |target: &Target| match target {
        Target::Path(path) => Some(shown(path)),
        Target::Stdout => None,
    };
    let (private, public) = (path(&out), public_out.as_ref().and_then(path));
    if options.json {
        return terminal
            .json(&json!({"algorithm": options.alg.name(), "private": private, "public": public}));
    }
    let (Some(private), false) = (private, public_out == Some(Target::Stdout)) else { return Ok(()) };
    let width = private.chars().count().max(public.as_ref().map_or(0, |public| public.chars().count()));
    terminal.line(format_args!("{private:<width$}  {} private key, for you alone", options.alg))?;
    match public {
        Some(public) => terminal.line(format_args!("{public:<width$}  its public half, for everyone")),
        None => Ok(()),
    }
}
