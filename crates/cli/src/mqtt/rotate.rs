//! `sealstone mqtt rotate`: the next key of a device.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sealstone_mldsa::Level;
use sealstone_mqtt::gateway::directory::{KeyEntry, StateName};
use sealstone_mqtt::level::Class;
use sealstone_mqtt::{KeyId, UnixMillis};
use serde_json::json;

use super::{device, options};
use crate::clock;
use crate::error::Error;
use crate::files::{Target, shown};
use crate::terminal::{DIM, Terminal};

/// Options of `mqtt rotate`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone mqtt rotate pump-7.device                       a new key; the old one counts for 7 more days
  sealstone mqtt rotate pump-7.device --overlap 0s          the old key is known to others: it counts no more
  sealstone mqtt rotate pump-7.device --level ML-DSA-87

The new file has the next key id and everything else of the old one. Give it to the device within the overlap: both \
keys count until then. A gateway that runs reads the directory again by itself.")]
pub(crate) struct Options {
    /// What the device was given
    #[arg(value_name = "FILE")]
    given: PathBuf,
    /// The level of the new key; that of the old one if not given
    #[arg(long, value_name = "LEVEL", ignore_case = true, value_parser = options::level())]
    level: Option<Level>,
    /// How long the old key counts
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = clock::parse_span)]
    overlap: Duration,
    /// Where the new file goes: the old name with .next if not given
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    out: Option<OsString>,
    /// The gateway's directory; that of the configuration if not given
    #[arg(long, value_name = "PATH")]
    directory: Option<PathBuf>,
    /// The gateway's configuration
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Replace the new file if it is there
    #[arg(long)]
    force: bool,
    /// Say in JSON what was made
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let config = options::config(options.config.as_deref())?;
    let bytes = device::read(&options.given, terminal)?;
    let blob = device::parse(&options.given, &bytes)?;
    let file = device::place(options.directory.as_ref().unwrap_or(&config.directory), blob.device);
    let mut entries = device::read_entries(&file)?;
    let Some(entry) = entries.iter_mut().find(|entry| entry.device == blob.device) else {
        let what = format!("{} is not in {}", blob.device, shown(&file));
        return Err(Error::usage(what, "--directory or --config names the gateway's directory"));
    };
    let Some(id) = entry.keys.iter().map(|key| key.id).max().unwrap_or(0).checked_add(1) else {
        return Err(Error::usage(
            "all key ids are used",
            "give the device a new name with `sealstone mqtt provision`",
        ));
    };
    let now = options::now();
    let overlap = u64::try_from(options.overlap.as_millis()).unwrap_or(u64::MAX);
    let ends = UnixMillis(now.0.saturating_add(overlap));
    for key in &mut entry.keys {
        let before = match key.state {
            StateName::Retired => key.retired_at.unwrap_or(0),
            _ => u64::MAX,
        };
        (key.state, key.retired_at) = (StateName::Retired, Some(before.min(ends.0)));
    }
    let out = options.out.clone().unwrap_or_else(|| format!("{}.next", options.given.display()).into());
    let out = Target::from(out);
    out.check(options.force)?;
    let level = options.level.unwrap_or(blob.level);
    let filters: Vec<(String, Class)> =
        blob.topics.iter().map(|(filter, class)| (filter.as_str().to_owned(), class)).collect();
    let made = (blob.device, KeyId(id), level);
    let key = device::make(made, blob.policy, &filters, &out, options.force, terminal)?;
    entry.keys.push(KeyEntry::new(KeyId(id), &key));
    device::write_entries(&file, &entries, terminal)?;
    let Target::Path(out) = &out else { return Ok(()) };
    if options.json {
        return terminal.json(&json!({
            "device": blob.device,
            "key_id": id,
            "level": level.name(),
            "given": shown(out),
            "entry": shown(&file),
            "before_retired_at": ends.0,
        }));
    }
    terminal.line(format_args!(
        "{}  key {id} of {}, {level}, for the device alone",
        shown(out),
        blob.device
    ))?;
    let until = if overlap == 0 {
        "do not count any more".into()
    } else {
        format!("count until {}", options::utc(ends))
    };
    terminal.line(format_args!("{DIM}the keys before {until}{DIM:#}"))
}
