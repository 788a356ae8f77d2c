//! `sealstone mqtt audit`: whether a gateway's log holds.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use sealstone_jose::PublicKey;

use super::options;
use crate::audit::{chains_of, check};
use crate::error::Error;
use crate::files::{Source, shown};
use crate::keyfile::Key;
use crate::terminal::Terminal;

/// Options of `mqtt audit`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone mqtt audit                                      sealstone-mqtt-data/audit, with audit.pub.pem beside it
  sealstone mqtt audit --config gateway.toml --key kept/audit.pub.pem
  sealstone mqtt audit --key kept/audit.pub.pem --json archive/000001.jsonl archive/000002.jsonl

Each line carries the hash of the one before it, and each block ends in a line signed with ML-DSA-65. What was \
changed, removed, put in, moved or cut off is named by its file and line. Files given by name are one chain, in their order.

Without --key the key beside the log is used, which whoever rewrites the log can replace too: keep a copy of it elsewhere. \
That a log ends too early is known from head.json beside it; --head takes a copy of that file kept elsewhere. A gateway may run \
meanwhile: the last lines are not sealed yet then.

Exit code: 0 the log holds, 1 it does not, 2 anything else.")]
pub(crate) struct Options {
    /// The gateway's configuration; without it every value is the default
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The public key of the log; audit.pub.pem beside it if not given
    #[arg(long, value_name = "KEY", value_parser = clap::value_parser!(OsString))]
    key: Option<OsString>,
    /// How far the chain must reach, at least: an older copy of its head.json
    #[arg(long, value_name = "FILE")]
    head: Option<PathBuf>,
    /// In JSON
    #[arg(long)]
    json: bool,
    /// The log: directories, or files of one chain; audit in the data directory if not given
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// The file with the public half of the key.
const KEY_FILE: &str = "audit.pub.pem";

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let data_dir = options::config(options.config.as_deref())?.data_dir;
    let own = [data_dir.join("audit")];
    let paths = if options.paths.is_empty() { &own[..] } else { &options.paths };
    let hint = "--config names the gateway's configuration; `audit` is true unless it says otherwise";
    if options.paths.is_empty() && !own[0].is_dir() {
        return Err(Error::usage(format!("there is no audit log in {}", shown(&own[0])), hint));
    }
    let chains = chains_of(paths, hint)?;
    let source = match &options.key {
        Some(key) => Source::from(key.clone()),
        None => Source::Path(beside(paths, &data_dir)?),
    };
    let key: PublicKey = Key::load(&source, terminal)?.public().clone();
    check(chains, &key, options.head.as_deref(), options.json, terminal)
}

/// The key that belongs to a log: in a directory above it, or in the data directory.
fn beside(paths: &[PathBuf], data_dir: &Path) -> Result<PathBuf, Error> {
    let above = paths.iter().flat_map(|path| path.ancestors().take(4)).map(|path| path.join(KEY_FILE));
    above.chain([data_dir.join(KEY_FILE)]).find(|path| path.is_file()).ok_or_else(|| {
        let place = paths.first().map_or_else(String::new, |path| shown(path));
        Error::usage(format!("there is no {KEY_FILE} above {place}"), "--key names it")
    })
}
