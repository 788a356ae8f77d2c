//! `sealstone backup` and `sealstone restore`: the server's data directory, elsewhere and back.

use std::path::PathBuf;

use clap::Args;
use sealstone_auth::backup::{self, Summary};
use sealstone_auth::clock::OsRandomness;
use serde_json::{Value, json};

use crate::clock::{now, utc};
use crate::error::Error;
use crate::files::shown;
use crate::serve::load;
use crate::terminal::{DIM, Terminal};

/// Options of `backup`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone backup --config /etc/sealstone.toml /backup/sealstone-$(date +%F)
  sealstone backup /backup/today --without-seal-key

The server goes on while a backup is made. Every write that was acknowledged before the command began is in it. \
It is written under another name, read again and compared, and only then appears: a directory with mode 0700, \
which replaces nothing.

seal.key opens the signing keys and the clients' shared secrets that the store holds sealed. Whoever has a backup with \
it can sign tokens as this server, so keep such a backup as you keep the server; or leave the key out, and keep a copy \
of it elsewhere: without it nothing can be restored. The configuration, TLS certificates and keys that it \
names, and the audit log are in no backup.")]
pub(crate) struct Backup {
    /// The server's configuration, for its `data_dir`; without it every value is the default
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The directory to write, which must not exist
    #[arg(value_name = "DIR")]
    target: PathBuf,
    /// Leave out the key that opens what is sealed
    #[arg(long)]
    without_seal_key: bool,
    /// In JSON
    #[arg(long)]
    json: bool,
}

/// Options of `restore`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone restore --config /etc/sealstone.toml /backup/sealstone-2026-11-21
  sealstone restore /backup/today --seal-key /safe/seal.key

The data directory of the configuration must be empty or not exist: stop the server and move the old one away. It \
becomes what it was when the backup was made, so what was revoked, removed, disabled or retired since then has to be \
revoked, removed, disabled or retired again. Refresh tokens that were exchanged since then end their family, so people \
sign in again. Authorization codes, device codes and pushed requests are not restored, because they may have been used.")]
pub(crate) struct Restore {
    /// The server's configuration, for its `data_dir`; without it every value is the default
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The directory that `sealstone backup` has written
    #[arg(value_name = "DIR")]
    from: PathBuf,
    /// The key that was left out of the backup
    #[arg(long, value_name = "FILE")]
    seal_key: Option<PathBuf>,
    /// In JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn back_up(options: &Backup, terminal: &mut Terminal) -> Result<(), Error> {
    let data_dir = load(options.config.as_ref())?.data_dir;
    let seal_key = !options.without_seal_key;
    let made = backup::make(&data_dir, &options.target, seal_key, now(), &OsRandomness)?;
    if options.json {
        return terminal.json(&row(&made, "backup", &options.target));
    }
    terminal.line(format_args!("{DIM}backup{DIM:#}     {}", shown(&options.target)))?;
    facts(&made, terminal)?;
    let key = match (made.seal_key, options.without_seal_key) {
        (true, _) => "in it: whoever has this backup can sign as this server",
        (false, true) => "not in it: keep a copy elsewhere, nothing can be restored without it",
        (false, false) => "there is none yet",
    };
    terminal.line(format_args!("{DIM}seal.key{DIM:#}   {key}"))?;
    terminal.line(format_args!(
        "{DIM}not in it{DIM:#}  the configuration, the TLS files that it names, the audit log"
    ))
}

pub(crate) fn restore(options: &Restore, terminal: &mut Terminal) -> Result<(), Error> {
    let data_dir = load(options.config.as_ref())?.data_dir;
    let restored = backup::restore(&options.from, &data_dir, options.seal_key.as_deref())?;
    if options.json {
        return terminal.json(&row(&restored, "data_dir", &data_dir));
    }
    terminal.line(format_args!("{DIM}restored{DIM:#}   {}", shown(&data_dir)))?;
    facts(&restored, terminal)?;
    terminal.line("\nWhat was revoked, removed, disabled or retired after that time has to be again.")
}

fn facts(summary: &Summary, terminal: &mut Terminal) -> Result<(), Error> {
    let records = summary.records.iter().map(|(kind, count)| format!("{count} {kind}"));
    let records = records.collect::<Vec<_>>().join(", ");
    terminal.line(format_args!("{DIM}as of{DIM:#}      {}", utc(summary.made_at)))?;
    terminal.line(format_args!("{DIM}records{DIM:#}    {records}"))?;
    terminal.line(format_args!(
        "{DIM}checked{DIM:#}    every page and index; {} sealed secrets open",
        summary.sealed
    ))
}

fn row(summary: &Summary, place: &str, path: &std::path::Path) -> Value {
    json!({
        place: path.display().to_string(),
        "made_at": summary.made_at.0,
        "records": summary.records,
        "schema": summary.schema,
        "seal_key": summary.seal_key,
        "sealed_secrets": summary.sealed,
    })
}
