//! `sealstone mqtt provision`: a key for a device, what its firmware is given, and its entry for the gateway.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sealstone_mldsa::Level;
use sealstone_mqtt::gateway::directory::{Entry, KeyEntry};
use sealstone_mqtt::level::{Band, Class, Policy};
use sealstone_mqtt::{KeyId, Topic};
use serde_json::json;

use super::{device, options};
use crate::error::Error;
use crate::files::{Target, shown};
use crate::terminal::{DIM, Terminal};

/// Options of `mqtt provision`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone mqtt provision pump-7                      pump-7.device and devices/pump-7.json
  sealstone mqtt provision pump-7 --level ML-DSA-87 --preset industrial
  sealstone mqtt provision meter-1 --topic 'device/meter-1/telemetry/#' --config gateway.toml

The file DEVICE.device goes to the device, and nowhere else: it holds the private key (32 bytes), the name, the \
key id, the level, the policy by which the device chooses levels, and the classes of topics, byte for byte in \
docs/formats/mqtt-device.md. The entry goes to the gateway's directory, which a running gateway reads again by itself. \
A device signs each message with the level of its key: give it the highest that its topics demand.")]
pub(crate) struct Options {
    /// The device: the level of its topics that names it
    #[arg(value_name = "DEVICE")]
    device: String,
    /// The level of its key
    #[arg(long, value_name = "LEVEL", default_value = "ML-DSA-65", ignore_case = true, value_parser = options::level())]
    level: Level,
    /// The id of its key
    #[arg(long, value_name = "ID", default_value_t = 1)]
    key_id: u16,
    /// Where what the device is given goes: DEVICE.device if not given
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    out: Option<OsString>,
    /// The gateway's directory: a folder, or a .json file; that of the configuration if not given
    #[arg(long, value_name = "PATH")]
    directory: Option<PathBuf>,
    /// The gateway's configuration: directory, classes and floors are taken from there
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A filter that it may publish on; without any, each topic that names it
    #[arg(long = "topic", value_name = "FILTER")]
    topics: Vec<String>,
    /// How the device weighs energy, memory and heat
    #[arg(long, value_enum, default_value_t = Preset::Battery)]
    preset: Preset,
    /// Replace the device's file if it is there
    #[arg(long)]
    force: bool,
    /// Say in JSON what was made
    #[arg(long)]
    json: bool,
}

/// The paper's presets.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Preset {
    /// A sensor on a battery
    Battery,
    /// A device on mains power
    Mains,
    /// A controller whose commands are signed at the highest level
    Industrial,
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let config = options::config(options.config.as_deref())?;
    let name = &options.device;
    if name.is_empty() || name.contains('/') || Topic::new(name).is_err() || name.starts_with(['.', '-']) {
        let what = format!("{name:?} is no name of a device");
        return Err(Error::usage(
            what,
            "one level of a topic: without `/`, `+` and `#`, and no dot or dash at its beginning",
        ));
    }
    let file = device::place(options.directory.as_ref().unwrap_or(&config.directory), name);
    let mut entries = device::read_entries(&file)?;
    if entries.iter().any(|entry| entry.device == *name) {
        let what = format!("{name} is in {} already", shown(&file));
        return Err(Error::usage(what, "`sealstone mqtt rotate` gives it a new key"));
    }
    let mut policy = match options.preset {
        Preset::Battery => Policy::BATTERY,
        Preset::Mains => Policy::MAINS,
        Preset::Industrial => Policy::INDUSTRIAL,
    };
    for class in Class::ALL {
        let floor = config.class.floor(class).max(policy.band(class).floor);
        policy.bands[class as usize] = Band { floor, default: policy.band(class).default.max(floor) };
    }
    let classes =
        |class| config.class.of(class).topics.iter().flatten().map(move |text| (text.clone(), class));
    let filters: Vec<(String, Class)> = Class::ALL.into_iter().rev().flat_map(classes).collect();
    let out = options.out.clone().unwrap_or_else(|| format!("{name}.device").into());
    let out = Target::from(out);
    out.check(options.force)?;
    let key_id = KeyId(options.key_id);
    let key = device::make((name, key_id, options.level), policy, &filters, &out, options.force, terminal)?;
    let keys = vec![KeyEntry::new(key_id, &key)];
    entries.push(Entry { device: name.clone(), topics: options.topics.clone(), keys });
    device::write_entries(&file, &entries, terminal)?;
    let Target::Path(out) = &out else { return Ok(()) };
    if options.json {
        return terminal.json(&json!({
            "device": name,
            "key_id": options.key_id,
            "level": options.level.name(),
            "given": shown(out),
            "entry": shown(&file),
        }));
    }
    let (given, entry) = (shown(out), shown(&file));
    let width = given.chars().count().max(entry.chars().count());
    terminal.line(format_args!(
        "{given:<width$}  key {} of {name}, {}, for the device alone",
        options.key_id, options.level
    ))?;
    terminal.line(format_args!("{entry:<width$}  its entry, for the gateway"))?;
    let below = |class: &Class| config.class.floor(*class) > options.level;
    let refused: Vec<&str> = Class::ALL.into_iter().filter(below).map(Class::name).collect();
    if !refused.is_empty() {
        let what = format!("the floor of {} is above {}", refused.join(" and "), options.level);
        terminal.line(format_args!("{DIM}{what}: it cannot publish there{DIM:#}"))?;
    }
    Ok(())
}
