//! `sealstone jwks fetch`: what someone publishes, and how long it may be believed.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use sealstone_jose::Error as Refusal;
use sealstone_jose::remote::{Client, Document};
use serde_json::json;

use super::list;
use super::set::{KeySet, described};
use crate::clock::parse_span;
use crate::error::Error;
use crate::files::{Readers, Source, Target, shown};
use crate::keyfile::any::Gates;
use crate::terminal::{DIM, Safe, Terminal, grouped};

/// Larger than any bundle of authorities.
const BUNDLE: usize = 4 << 20;

/// As the help says.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// Options of `jwks fetch`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone jwks fetch https://id.example/jwks.json
  sealstone jwks fetch https://id.example/jwks.json --out jwks.json
  sealstone jwks fetch https://localhost:8443/jwks --allow-private --ca server.pem

Only https, only public addresses, no redirect, at most a mebibyte. A set in which a private key is, is \
refused: whoever published it has lost that key.")]
pub(crate) struct Options {
    /// The address of the set
    #[arg(value_name = "URL")]
    url: String,
    #[command(flatten)]
    network: Network,
    #[command(flatten)]
    gates: Gates,
    /// Where the set goes, as it came
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    out: Option<OsString>,
    /// Replace the file if it is there
    #[arg(long, requires = "out")]
    force: bool,
    /// In JSON
    #[arg(long)]
    json: bool,
}

/// Whom to ask, and how.
#[derive(Args)]
pub(crate) struct Network {
    /// Ask loopback and private addresses, too
    #[arg(long)]
    allow_private: bool,
    /// The certificates of the authorities to trust, in PEM, instead of the system's
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    ca: Option<OsString>,
    /// Within what time the whole answer must be here [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    time_limit: Option<Duration>,
}

impl Network {
    /// Whether anything is said that means nothing without an address.
    pub(crate) fn is_told(&self) -> bool {
        self.allow_private || self.ca.is_some() || self.time_limit.is_some()
    }
}

/// Fetches once.
pub(crate) fn document(url: &str, network: &Network) -> Result<Document, Error> {
    let mut builder = Client::builder(url).time_limit(network.time_limit.unwrap_or(TIME_LIMIT));
    if network.allow_private {
        builder = builder.allow_private_addresses();
    }
    if let Some(file) = &network.ca {
        builder = builder.roots(&Source::from(file.clone()).read(BUNDLE)?);
    }
    builder.build().and_then(|client| client.document()).map_err(failed)
}

fn failed(cause: Refusal) -> Error {
    let what = cause.to_string();
    let hint = if what.contains("not public") {
        Some("--allow-private asks it all the same: for a server of your own")
    } else if what.contains("certificate") || what.contains("authority") {
        Some("--ca FILE trusts the authority of a server of your own")
    } else {
        cause.hint()
    };
    match cause {
        Refusal::Unreachable { .. } => {
            Error::Network { doing: "fetching the key set", what, hint: hint.map(str::to_owned) }
        }
        _ => Error::Usage { what, hint: hint.map(str::to_owned) },
    }
}

pub(super) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let out = options.out.clone().map(Target::from);
    if options.json && out == Some(Target::Stdout) {
        return Err(Error::usage("--json and the set cannot share standard output", "give --out a file"));
    }
    if let Some(out) = &out {
        out.check(options.force)?;
    }
    let document = document(&options.url, &options.network)?;
    let set = KeySet::parse(&Safe(&options.url).to_string(), &document.bytes, options.gates)?;
    if let Some(out) = &out {
        out.write(&document.bytes, Readers::All, options.force, terminal)?;
    }
    if out == Some(Target::Stdout) {
        return Ok(());
    }
    let seconds = document.lifetime.get().map(|lifetime| lifetime.as_secs());
    if options.json {
        return terminal.json(&json!({
            "bytes": document.bytes.len(),
            "cache_control": document.cache_control,
            "etag": document.etag,
            "ignored": set.ignored().iter().map(|one| one.reason.to_string()).collect::<Vec<_>>(),
            "keys": set.keys().map(described).collect::<Vec<_>>(),
            "lifetime_seconds": seconds,
        }));
    }
    let none = "none: readers decide for themselves";
    let rows = [
        ("size", format!("{} bytes", grouped(document.bytes.len()))),
        ("Cache-Control", document.cache_control.clone().unwrap_or_else(|| none.into())),
        ("believed for", seconds.map_or_else(|| none.into(), |seconds| format!("{seconds} s"))),
        ("ETag", document.etag.clone().unwrap_or_else(|| "none: each fetch brings all of it".into())),
    ];
    for (name, value) in rows {
        terminal.line(format_args!("{DIM}{name:<13}{DIM:#}  {}", Safe(&value)))?;
    }
    if let Some(Target::Path(path)) = &out {
        terminal.line(format_args!("{DIM}{:<13}{DIM:#}  {}", "written to", shown(path)))?;
    }
    terminal.line("")?;
    list::show(&set, false, terminal)
}
