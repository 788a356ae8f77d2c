//! `sealstone key generate`.

use std::ffi::OsString;

use clap::Args;
use sealstone_pki::pkcs8::Form;
use serde_json::json;

use super::{convert, refuse_screen};
use crate::error::Error;
use crate::files::{Readers, Target, shown};
use crate::keyfile::Format;
use crate::keyfile::any::{AnyAlgorithm, AnyKey, Gates};
use crate::terminal::{DIM, Terminal};

/// Options of `key generate`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone key generate --out my.pem --public-out my.pub.pem
  sealstone key generate --alg ES256 --format jwk --out token-key.jwk
  sealstone key generate --alg ML-DSA-65-Ed25519 --draft --format jwk --out both.jwk
  sealstone key generate | sealstone key show -

An ML-DSA private key is its 32-byte seed, in every form. ML-DSA-65 is a good choice where nothing \
speaks for another: 44 is smaller, 87 has the larger margin. The file is readable by its owner alone. \
Algorithms of two names are composite and need --draft: a forger has to break both halves.")]
pub(crate) struct Options {
    /// What the key is for
    #[arg(long, value_name = "ALG", default_value = "ML-DSA-65", ignore_case = true, value_parser = AnyAlgorithm::parser())]
    alg: AnyAlgorithm,
    /// How the key is written
    #[arg(long, value_enum, default_value_t = Format::Pem)]
    format: Format,
    /// Where the private key goes; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-", value_parser = clap::value_parser!(OsString))]
    out: OsString,
    /// Where the public key goes, if it is wanted at once
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    public_out: Option<OsString>,
    /// Allow composite keys, ML-DSA and a classical key in one, by draft-ietf-jose-pq-composite-sigs-04, which may still change
    #[arg(long)]
    draft: bool,
    /// Replace files that are there
    #[arg(long)]
    force: bool,
    /// Say in JSON what was made
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: Options, terminal: &mut Terminal) -> Result<(), Error> {
    let (out, public_out) = (Target::from(options.out), options.public_out.map(Target::from));
    if public_out.as_ref().is_some_and(|public| *public == out) {
        return Err(Error::usage(
            "--out and --public-out are the same",
            "give the public key a file of its own",
        ));
    }
    if options.json && (out == Target::Stdout || public_out == Some(Target::Stdout)) {
        return Err(Error::usage("--json and a key cannot share standard output", "give --out a file"));
    }
    options.alg.check(Gates { draft: options.draft, legacy: false })?;
    refuse_screen(options.format, &out, terminal)?;
    out.check(options.force)?;
    public_out.as_ref().map_or(Ok(()), |public| public.check(options.force))?;

    let key =
        AnyKey::generate(options.alg).map_err(|cause| Error::key("the new key", &cause, cause.hint()))?;
    let bytes = convert::private_bytes("the new key", &key, options.format, Form::Seed)?;
    out.write(&bytes, Readers::Owner, options.force, terminal)?;
    if let Some(public_out) = &public_out {
        let bytes = convert::public_bytes(key.public(), options.format)?;
        public_out.write(&bytes, Readers::All, options.force, terminal)?;
    }
    let path = |target: &Target| match target {
        Target::Path(path) => Some(shown(path)),
        Target::Stdout => None,
    };
    let (private, public) = (path(&out), public_out.as_ref().and_then(path));
    let (algorithm, kid) = (key.public().algorithm(), key.public().kid());
    if options.json {
        return terminal.json(&json!({
            "algorithm": algorithm.name(),
            "kid": kid,
            "private": private,
            "public": public,
        }));
    }
    // With a key on standard output there is no room for words.
    let (Some(private), false) = (private, public_out == Some(Target::Stdout)) else { return Ok(()) };
    let width = private.chars().count().max(public.as_ref().map_or(0, |public| public.chars().count()));
    terminal.line(format_args!("{private:<width$}  {algorithm} private key, for you alone"))?;
    if let Some(public) = public {
        terminal.line(format_args!("{public:<width$}  its public half, for everyone"))?;
    }
    terminal.line(format_args!("{DIM}key id {kid}{DIM:#}"))
}
