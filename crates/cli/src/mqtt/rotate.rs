//! `sealstone mqtt rotate`: the next keys of a device.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sealstone_mldsa::{Level, OsRandom, Randomness as _};
use sealstone_mqtt::gateway::directory::{Entry, KeyEntry, StateName};
use sealstone_mqtt::provision::{Key, Provision};
use sealstone_mqtt::{KeyId, UnixMillis};
use serde_json::json;
use zeroize::Zeroizing;

use super::{device, options};
use crate::clock;
use crate::error::Error;
use crate::files::{Target, shown};
use crate::terminal::{DIM, Terminal};

/// Options of `mqtt rotate`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone mqtt rotate pump-7.device                       new keys; the old ones count for 7 more days
  sealstone mqtt rotate pump-7.device --overlap 0s          the old keys are known to others: they count no more
  sealstone mqtt rotate pump-7.device --level ML-DSA-87     one of them

The new file has the next key ids and everything else of the old one. Without --level there is a new key for tags too, which goes \
beside the entry as DEVICE.ID.mac. Give the file to the device within the overlap: both count until then. Its flash stays as it is: the device takes newer keys, and never older ones again. A gateway \
that runs reads the directory again by itself.")]
pub(crate) struct Options {
    /// What the device was given
    #[arg(value_name = "FILE")]
    given: PathBuf,
    /// The level of the new key; each level gets one if not given, and there is a new key for tags
    #[arg(long, value_name = "LEVEL", ignore_case = true, value_parser = options::level())]
    level: Option<Level>,
    /// How long the old keys count
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
    let given = device::parse(&options.given, &bytes)?;
    let file = device::place(options.directory.as_ref().unwrap_or(&config.directory), given.device);
    let mut entries = device::read_entries(&file)?;
    let Some(entry) = entries.iter_mut().find(|entry| entry.device == given.device) else {
        let what = format!("{} is not in {}", given.device, shown(&file));
        return Err(Error::usage(what, "--directory or --config names the gateway's directory"));
    };
    let out = options.out.clone().unwrap_or_else(|| format!("{}.next", options.given.display()).into());
    let out = Target::from(out);
    out.check(options.force)?;
    let now = options::now();
    let overlap = u64::try_from(options.overlap.as_millis()).unwrap_or(u64::MAX);
    let ends = UnixMillis(now.0.saturating_add(overlap));
    let levels: Vec<Level> =
        Level::ALL.into_iter().filter(|of| options.level.is_none_or(|level| level == *of)).collect();
    let made = levels.iter().map(|level| device::key(*level)).collect::<Result<Vec<_>, _>>()?;
    let mut keys = given.keys;
    for (level, key) in levels.iter().zip(&made) {
        let of_level = |key: &&mut KeyEntry| key.level == level.name();
        let mut last = given.key(*level).id.0;
        for key in entry.keys.iter_mut().filter(of_level) {
            let before = match key.state {
                StateName::Retired => key.retired_at.unwrap_or(0),
                _ => u64::MAX,
            };
            (key.state, key.retired_at) = (StateName::Retired, Some(before.min(ends.0)));
            last = last.max(key.id);
        }
        let id =
            last.checked_add(1).filter(|id| entry.keys.iter().all(|key| key.id != *id)).ok_or_else(|| {
                let what = format!("all key ids of {level} are used");
                Error::usage(what, "give the device a new name with `sealstone mqtt provision`")
            })?;
        keys[*level as usize] = Key { id: KeyId(id), seed: key.seed() };
        entry.keys.push(KeyEntry::new(KeyId(id), &key.verifying_key()));
    }
    let mut made_mac = None;
    if options.level.is_none() {
        let mut key = Zeroizing::new([0; 32]);
        OsRandom.fill(key.as_mut()).map_err(Error::Engine)?;
        let id = next_mac(entry, given.mac_key_id, ends)?;
        let place = device::mac_place(&file, given.device, id);
        Target::Path(place.clone()).check(options.force)?;
        entry.macs.push(device::mac_entry(&place, id, StateName::Active));
        made_mac = Some((id, key, place));
    }
    let (mac_key_id, mac_key) = match &made_mac {
        Some((id, key, _)) => (*id, &**key),
        None => (given.mac_key_id, given.mac_key),
    };
    device::write(&Provision { keys, mac_key_id, mac_key, ..given }, &out, options.force, terminal)?;
    if let Some((_, key, place)) = &made_mac {
        device::write_mac(place, key, options.force, terminal)?;
    }
    device::write_entries(&file, &entries, terminal)?;
    let ids: Vec<u16> = levels.iter().map(|level| keys[*level as usize].id.0).collect();
    let Target::Path(out) = &out else { return Ok(()) };
    if options.json {
        return terminal.json(&json!({
            "device": given.device,
            "keys": ids,
            "given": shown(out),
            "entry": shown(&file),
            "before_retired_at": ends.0,
            "mac": made_mac.as_ref().map(|(_, _, place)| shown(place)),
        }));
    }
    let ids = ids.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
    terminal.line(format_args!("{}  new for {}, for the device alone: {ids}", shown(out), given.device))?;
    if let Some((id, _, place)) = &made_mac {
        terminal.line(format_args!(
            "{}  its new key for tags, {}, for the gateway alone",
            shown(place),
            id.0
        ))?;
    }
    let until = if overlap == 0 {
        "do not count any more".into()
    } else {
        format!("count until {}", options::utc(ends))
    };
    terminal.line(format_args!("{DIM}the keys before {until}{DIM:#}"))
}

/// Retires the keys for tags that there are; the id of the next one.
fn next_mac(entry: &mut Entry, given: KeyId, ends: UnixMillis) -> Result<KeyId, Error> {
    let mut last = given.0;
    for mac in &mut entry.macs {
        let before = match mac.state {
            StateName::Retired => mac.retired_at.unwrap_or(0),
            _ => u64::MAX,
        };
        (mac.state, mac.retired_at) = (StateName::Retired, Some(before.min(ends.0)));
        last = last.max(mac.id);
    }
    let next = last.checked_add(1).filter(|id| entry.keys.iter().all(|key| key.id != *id));
    next.map(KeyId).ok_or_else(|| {
        let what = "all key ids for tags are used";
        Error::usage(what, "give the device a new name with `sealstone mqtt provision`")
    })
}
