//! `sealstone cert show`.

use std::ffi::OsString;

use clap::Args;
use serde_json::json;

use super::{load, words};
use crate::error::Error;
use crate::files::Source;
use crate::terminal::{DIM, Terminal};

/// Options of `cert show`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone cert show my.crt
  openssl s_client -connect example.org:443 -showcerts < /dev/null | sealstone cert show -
  sealstone cert show --json chain.pem

Nothing is checked: `sealstone cert verify` does.")]
pub(crate) struct Options {
    /// Certificates: PEM, or one in DER; - is standard input
    #[arg(value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    file: OsString,
    /// In JSON: a list
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let all = load::certificates(&options.file)?;
    if options.json {
        return terminal.json(&json!(all.iter().map(words::json).collect::<Vec<_>>()));
    }
    let name = Source::from(options.file.clone()).name();
    for (index, certificate) in all.iter().enumerate() {
        let name = if all.len() == 1 { name.clone() } else { format!("{name} {}", index + 1) };
        words::describe(&name, certificate, terminal)?;
    }
    terminal.line(format_args!("{DIM}not checked: `sealstone cert verify` does{DIM:#}"))
}
