//! `sealstone jwks list` and `find`.

use std::ffi::OsString;

use clap::Args;
use serde_json::json;

use super::set::{KeySet, composite_hint, described};
use crate::error::Error;
use crate::files::Source;
use crate::key::about_any;
use crate::keyfile::any::Gates;
use crate::terminal::{DIM, Safe, Terminal, WARNING};

/// Options of `jwks list`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone jwks list jwks.json
  curl -s https://id.example/jwks.json | sealstone jwks list -

A key that nobody here can use is passed over by readers (RFC 7517 §5), never silently by this one. A set \
with a private member in it is refused; `sealstone jwk check` says more of it.")]
pub(crate) struct List {
    /// The key set; - is standard input
    #[arg(value_name = "SET", value_parser = clap::value_parser!(OsString))]
    set: OsString,
    #[command(flatten)]
    gates: Gates,
    /// In JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &List, terminal: &mut Terminal) -> Result<(), Error> {
    let source = Source::from(options.set.clone());
    let set = KeySet::read(&source, options.gates)?;
    show(&set, options.json, terminal)
}

/// All that is in a set.
pub(super) fn show(set: &KeySet, as_json: bool, terminal: &mut Terminal) -> Result<(), Error> {
    if as_json {
        let ignored =
            set.ignored().iter().map(|one| json!({"index": one.index, "reason": one.reason.to_string()}));
        let (keys, ignored): (Vec<_>, Vec<_>) = (set.keys().map(described).collect(), ignored.collect());
        return terminal.json(&json!({"ignored": ignored, "keys": keys}));
    }
    if set.len() + set.ignored().len() == 0 {
        return terminal.line("no key");
    }
    let width = set.keys().map(|key| key.kid().chars().count()).max().unwrap_or(0).min(64);
    let names = set.keys().map(|key| key.algorithm().name().len()).max().unwrap_or(0);
    for key in set.keys() {
        let (kid, algorithm) = (Safe(key.kid()).to_string(), key.algorithm());
        terminal
            .line(format_args!("{kid:<width$}  {algorithm:<names$}  {DIM}{}{DIM:#}", about_any(algorithm)))?;
        if key.kid() != key.thumbprint() {
            terminal.line(format_args!("{DIM}  thumbprint {}{DIM:#}", key.thumbprint()))?;
        }
    }
    for one in set.ignored() {
        let hint = composite_hint(&one.reason).map_or("", |_| "  (--draft reads it)");
        terminal.line(format_args!(
            "{WARNING}not used{WARNING:#}  key {}: {}{DIM}{hint}{DIM:#}",
            one.index + 1,
            Safe(&one.reason.to_string())
        ))?;
    }
    Ok(())
}

/// Options of `jwks find`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone jwks find jwks.json 2026-11
  sealstone jwks find jwks.json T4xl70S7MT6Zeq6r9V9fPJGVn76wfnXJ21-gyo0Gu6o > key.jwk

What is printed is the public JWK. Exit code 2 if no key has this id or thumbprint.")]
pub(crate) struct Find {
    /// The key set; - is standard input
    #[arg(value_name = "SET", value_parser = clap::value_parser!(OsString))]
    set: OsString,
    /// A key id, or a thumbprint (RFC 7638)
    #[arg(value_name = "KID")]
    kid: String,
    #[command(flatten)]
    gates: Gates,
}

pub(super) fn find(options: &Find, terminal: &mut Terminal) -> Result<(), Error> {
    let source = Source::from(options.set.clone());
    let set = KeySet::read(&source, options.gates)?;
    // The id first: it is what tokens name.
    let found = set.by_kid(&options.kid).or_else(|| set.keys().find(|key| key.thumbprint() == options.kid));
    match found {
        Some(key) => terminal.line(key.to_jwk().to_json()),
        None => {
            let what = format!("no key of the set has the id or thumbprint \"{}\"", Safe(&options.kid));
            Err(Error::key(&source.name(), what, Some("`sealstone jwks list` says which it has")))
        }
    }
}
