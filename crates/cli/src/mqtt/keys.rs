//! `sealstone mqtt keys`: keys that devices announced and the gateway confirmed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use sealstone_mldsa::any;
use sealstone_mqtt::UnixMillis;
use sealstone_mqtt::gateway::directory::{KeyEntry, StateName};
use sealstone_mqtt::gateway::learned::{LearnedKey, is_same};
use sealstone_mqtt::gateway::{Directory, state};
use serde_json::json;

use super::{device, options};
use crate::error::Error;
use crate::files::shown;
use crate::terminal::{DIM, Safe, Terminal};

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Write learned keys into the directory
    Adopt(Adopt),
    /// List learned keys
    List(List),
}

pub(crate) fn run(command: Command, terminal: &mut Terminal) -> Result<(), Error> {
    match command {
        Command::Adopt(options) => adopt(&options, terminal),
        Command::List(options) => list(&options, terminal),
    }
}

/// Where the gateway's data and its directory are.
#[derive(Args)]
struct Place {
    /// The gateway's configuration
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The gateway's directory; that of the configuration if not given
    #[arg(long, value_name = "PATH")]
    directory: Option<PathBuf>,
    /// The gateway's data directory; that of the configuration if not given
    #[arg(long, value_name = "PATH")]
    data_dir: Option<PathBuf>,
    /// In JSON
    #[arg(long)]
    json: bool,
}

/// Options of `mqtt keys list`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone mqtt keys list
  sealstone mqtt keys list --config /etc/sealstone-mqtt.toml --json

With `announcements = \"confirm\"` in [keys] a device goes on to its next key by itself: it announces the key, signed with one \
that counts, and the gateway answers with the commander's signature. Such keys are in the gateway's data directory, and count \
beside the operator's files. A gateway that runs is not disturbed.")]
pub(crate) struct List {
    #[command(flatten)]
    place: Place,
}

/// Options of `mqtt keys adopt`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone mqtt keys adopt --config /etc/sealstone-mqtt.toml
  sealstone mqtt keys adopt pump-7 pump-8

What was learned becomes the operator's word: the new key is active, and those of its level before it are retired when the \
overlap ends. The data directory can be lost then without a device being locked out. A gateway that runs reads the directory \
again by itself.")]
pub(crate) struct Adopt {
    /// Devices; all of them if none is named
    #[arg(value_name = "DEVICE")]
    devices: Vec<String>,
    #[command(flatten)]
    place: Place,
}

/// A learned key, and how it stands to the directory.
struct Found {
    device: String,
    learned: LearnedKey,
    stands: Stands,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stands {
    /// In the directory too.
    Adopted,
    /// The directory has another key under its id, or before it.
    Contradicted,
    /// It counts, and the directory does not have it.
    Learned,
}

impl Stands {
    const fn name(self) -> &'static str {
        match self {
            Stands::Adopted => "adopted",
            Stands::Contradicted => "contradicted",
            Stands::Learned => "learned",
        }
    }
}

/// The directory's path, and what was learned, by device and in the order of confirmation.
fn found(place: &Place) -> Result<(PathBuf, Vec<Found>), Error> {
    let config = options::config(place.config.as_deref())?;
    let path = place.directory.clone().unwrap_or(config.directory);
    let directory = Directory::load(&path)?;
    let mut known = state::read_known(place.data_dir.as_ref().unwrap_or(&config.data_dir))?;
    known.learned.reconcile(&directory);
    let stands = |device: &str, learned: &LearnedKey| {
        let there = directory.device(device).and_then(|entry| entry.key(learned.key.id));
        match there {
            Some(there) if is_same(there, &learned.key) => Stands::Adopted,
            None if learned.holds() => Stands::Learned,
            _ => Stands::Contradicted,
        }
    };
    let all = known.learned.iter().map(|(device, learned)| Found {
        device: device.to_owned(),
        learned: learned.clone(),
        stands: stands(device, learned),
    });
    Ok((path, all.collect()))
}

fn list(options: &List, terminal: &mut Terminal) -> Result<(), Error> {
    let (_, all) = found(&options.place)?;
    if options.place.json {
        let rows = all.iter().map(|Found { device, learned, stands }| {
            json!({
                "device": device,
                "key_id": learned.key.id.0,
                "level": learned.key.level.name(),
                "state": stands.name(),
                "confirmed_at": learned.confirmed.0,
                "before_retired_at": learned.before_until.0,
            })
        });
        return terminal.json(&rows.collect());
    }
    if all.is_empty() {
        return terminal.line("no key was learned");
    }
    all.iter().try_for_each(|Found { device, learned, stands }| {
        terminal.line(format_args!(
            "{}  key {} of {}  {}  {DIM}confirmed {}, those before it until {}{DIM:#}",
            Safe(device),
            learned.key.id.0,
            learned.key.level,
            stands.name(),
            options::utc(learned.confirmed),
            options::utc(learned.before_until),
        ))
    })
}

fn adopt(options: &Adopt, terminal: &mut Terminal) -> Result<(), Error> {
    let (path, all) = found(&options.place)?;
    if let Some(name) = options.devices.iter().find(|name| all.iter().all(|found| found.device != **name)) {
        let what = format!("nothing was learned of {name}");
        return Err(Error::usage(what, "`sealstone mqtt keys list` lists what was"));
    }
    let wanted = |found: &&Found| {
        found.stands == Stands::Learned
            && (options.devices.is_empty() || options.devices.contains(&found.device))
    };
    // A file may hold many devices: it is written once.
    let mut files: BTreeMap<PathBuf, Vec<&Found>> = BTreeMap::new();
    for found in all.iter().filter(wanted) {
        let file = device::find(&path, &found.device)?;
        files.entry(file).or_default().push(found);
    }
    for (file, adopted) in &files {
        let mut entries = device::read_entries(file)?;
        for Found { device, learned, .. } in adopted {
            if let Some(entry) = entries.iter_mut().find(|entry| entry.device == *device) {
                enter(&mut entry.keys, learned)?;
            }
        }
        device::write_entries(file, &entries, terminal)?;
    }
    let adopted: Vec<&Found> = files.into_values().flatten().collect();
    if options.place.json {
        let rows =
            adopted.iter().map(|found| json!({"device": found.device, "key_id": found.learned.key.id.0}));
        return terminal.json(&rows.collect());
    }
    if adopted.is_empty() {
        return terminal.line("nothing to adopt");
    }
    adopted.iter().try_for_each(|Found { device, learned, .. }| {
        let (id, level) = (learned.key.id.0, learned.key.level);
        terminal.line(format_args!("{}  key {id} of {level} is in {}", Safe(device), shown(&path)))
    })
}

/// Adds a learned key to a device's keys, and retires those before it.
fn enter(keys: &mut Vec<KeyEntry>, learned: &LearnedKey) -> Result<(), Error> {
    let level = learned.key.level;
    let UnixMillis(until) = learned.before_until;
    for key in keys.iter_mut().filter(|key| key.level == level.name() && key.id < learned.key.id.0) {
        let before = match key.state {
            StateName::Active => until,
            StateName::Announced => continue,
            StateName::Retired => key.retired_at.unwrap_or(0),
        };
        (key.state, key.retired_at) = (StateName::Retired, Some(before.min(until)));
    }
    let public = any::VerifyingKey::decode(level, learned.key.public()).map_err(Error::Engine)?;
    keys.push(KeyEntry::new(learned.key.id, &public));
    Ok(())
}
