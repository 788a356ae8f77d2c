//! `sealstone jwks build`.

use std::ffi::OsString;

use clap::Args;
use sealstone_jose::{JwkSet, PublicKey};
use serde_json::json;

use super::set::{self, described};
use crate::error::Error;
use crate::files::{Readers, Source, Target, shown};
use crate::keyfile::any::{AnyKey, AnyPublic, Gates};
use crate::password::PasswordFile;
use crate::terminal::{DIM, Safe, Terminal, grouped};

/// Options of `jwks build`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone jwks build my.pem --out jwks.json
  sealstone jwks build now.pem next.jwk partner.der --out jwks.json
  sealstone jwks build *.pub.pem | sealstone jwks list -

Only public halves are written, whatever the files hold: the type that is written cannot hold a private key. \
Each key's id is its own, or else its thumbprint.")]
pub(crate) struct Options {
    /// Keys in any form, private or public; - is standard input
    #[arg(value_name = "KEY", required = true, value_parser = clap::value_parser!(OsString))]
    keys: Vec<OsString>,
    #[command(flatten)]
    password: PasswordFile,
    #[command(flatten)]
    gates: Gates,
    /// Where the set goes; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-", value_parser = clap::value_parser!(OsString))]
    out: OsString,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
    /// Say in JSON what was written
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: Options, terminal: &mut Terminal) -> Result<(), Error> {
    let out = Target::from(options.out);
    if options.json && out == Target::Stdout {
        return Err(Error::usage("--json and the set cannot share standard output", "give --out a file"));
    }
    if options.keys.iter().filter(|key| *key == "-").count() > 1 {
        return Err(Error::usage("two inputs cannot both be standard input", "give one of them by its name"));
    }
    out.check(options.force)?;
    let keys: Vec<AnyKey> = options
        .keys
        .into_iter()
        .map(|file| AnyKey::load(&Source::from(file), &options.password, options.gates, terminal))
        .collect::<Result<_, _>>()?;
    check(keys.iter().map(AnyKey::public))?;
    let text = set::to_json(keys.iter().map(AnyKey::public));
    out.write(text.as_bytes(), Readers::All, options.force, terminal)?;
    let Target::Path(path) = out else { return Ok(()) };
    if options.json {
        let rows: Vec<_> = keys.iter().map(|key| described(key.public())).collect();
        return terminal.json(&json!({"bytes": text.len(), "file": shown(&path), "keys": rows}));
    }
    let count = if keys.len() == 1 { "1 key".to_owned() } else { format!("{} keys", keys.len()) };
    terminal.line(format_args!("{}  {count}, {} bytes", shown(&path), grouped(text.len())))?;
    for key in &keys {
        let public = key.public();
        terminal.line(format_args!("{DIM}{}  {}{DIM:#}", public.algorithm(), Safe(public.kid())))?;
    }
    Ok(())
}

/// A set has each key id once. Errors: `DuplicateKid`.
pub(super) fn check<'k>(keys: impl Iterator<Item = AnyPublic<'k>>) -> Result<(), Error> {
    let refused = |cause: sealstone_jose::Error| {
        Error::usage(
            cause.to_string(),
            "a token could mean either: leave one out, or give it another `kid` in its JWK",
        )
    };
    let mut standard: Vec<PublicKey> = Vec::new();
    let mut kids: Vec<&str> = Vec::new();
    for key in keys {
        if kids.contains(&key.kid()) {
            return Err(refused(sealstone_jose::Error::DuplicateKid {
                kid: format!("\"{}\"", Safe(key.kid())),
            }));
        }
        kids.push(key.kid());
        if let AnyPublic::Standard(key) = key {
            standard.push(key.clone());
        }
    }
    JwkSet::new(standard).map(drop).map_err(refused)
}
