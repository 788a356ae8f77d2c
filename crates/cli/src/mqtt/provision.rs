//! `sealstone mqtt provision`: keys for a device, what its firmware is given, its flash, and its entry for the gateway.

use std::ffi::OsString;
use std::net::SocketAddrV4;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use sealstone_mldsa::{Level, OsRandom, Randomness as _};
use sealstone_mqtt::gateway::directory::{Entry, KeyEntry, StateName};
use sealstone_mqtt::level::{Band, Class, Policy};
use sealstone_mqtt::provision::{Key, Provision, Saying, Topics, first_key_id};
use sealstone_mqtt::sealer::Apart;
use sealstone_mqtt::{KeyId, Topic};
use serde_json::json;
use zeroize::Zeroizing;

use super::{commander, device, options};
use crate::clock;
use crate::error::Error;
use crate::files::{Readers, Target, shown};
use crate::terminal::Terminal;

/// Options of `mqtt provision`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone mqtt provision pump-7                      pump-7.device, pump-7.flash, devices/pump-7.json and devices/pump-7.1.mac
  sealstone mqtt provision pump-7 --broker 192.0.2.7:1883 --interval 15m --preset industrial
  sealstone mqtt provision meter-1 --topic 'device/meter-1/telemetry/#' --config gateway.toml
  sealstone mqtt provision pump-8 --commander devices/control.json      it takes commands that are signed with control's key

The file DEVICE.device goes to the device, and nowhere else: it holds a private key for each level, the key for tags, the name, the \
broker, the policy by which the device chooses levels, and the classes of topics. DEVICE.flash is the device's flash before its \
first start, with the count of its starts and the ids of its keys; it is written to the device once, and never again: a device that \
counts anew is refused as a replay. Both are described byte for byte in docs/formats/mqtt-device.md. The entry \
goes to the gateway's directory, which a running gateway reads again by itself, and beside it DEVICE.1.mac, the key for tags, which \
device and gateway share: nobody else may read it. The device gives tags to the classes that the configuration's `tags` takes them in, \
by default low, and signs a checkpoint over them.")]
pub(crate) struct Options {
    /// The device: the level of its topics that names it
    #[arg(value_name = "DEVICE")]
    device: String,
    /// The broker as the device reaches it: an IPv4 address and a port. What is there if not given is the host of an emulated board
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "10.0.2.2:1883")]
    broker: SocketAddrV4,
    /// Between two readings: 1s to 30d
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = clock::parse_span)]
    interval: Duration,
    /// The keep-alive
    #[arg(long, value_name = "TIME", default_value = "300s", value_parser = clock::parse_span)]
    keep_alive: Duration,
    /// How long the device waits for an answer before it connects anew: 1s to 30d
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = clock::parse_span)]
    answer: Duration,
    /// Where what the device is given goes: DEVICE.device if not given
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    out: Option<OsString>,
    /// Where its flash goes: DEVICE.flash if not given
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    flash: Option<OsString>,
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
    /// The form of its envelopes: v1; or detached, which leaves payloads as they are, in a user property of MQTT 5 or on the topic's /$sig
    #[arg(long, value_name = "FORM", default_value = "v1", value_parser = ["v1", "detached", "detached-topic"])]
    form: String,
    /// Readings of the class low in one message, 1 to 64
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=i64::from(Saying::BATCH_MAX)))]
    batch: u8,
    /// Say "unchanged" this often of a value that stays the same, and nothing between; each value is said if not given
    #[arg(long, value_name = "TIME", value_parser = clock::parse_span)]
    unchanged: Option<Duration>,
    /// Say such a value in full this often
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = clock::parse_span, requires = "unchanged")]
    full: Duration,
    /// Whose commands it takes: an entry of the gateway's directory, whose highest active key counts, or a public key
    #[arg(long, value_name = "PUB", value_parser = clap::value_parser!(OsString))]
    commander: Option<OsString>,
    /// The id of that key: that of the entry if not given, and for a public key 4401, 6501 or 8701
    #[arg(long, value_name = "ID", requires = "commander")]
    commander_id: Option<u16>,
    /// Replace the device's files if they are there
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
    let commander =
        options.commander.as_ref().map(|file| commander::read(file, options.commander_id, terminal));
    let commander = commander.transpose()?;
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
    let out = Target::from(options.out.clone().unwrap_or_else(|| format!("{name}.device").into()));
    let flash = Target::from(options.flash.clone().unwrap_or_else(|| format!("{name}.flash").into()));
    let rules = config.rules().map_err(sealstone_mqtt::gateway::Error::from)?;
    let shared = device::mac_place(&file, name, MAC_KEY_ID);
    out.check(options.force)?;
    flash.check(options.force)?;
    Target::Path(shared.clone()).check(options.force)?;

    let signing = [device::key(Level::MlDsa44)?, device::key(Level::MlDsa65)?, device::key(Level::MlDsa87)?];
    let ids = Level::ALL.map(first_key_id);
    let mut mac_key = Zeroizing::new([0; 32]);
    OsRandom.fill(mac_key.as_mut()).map_err(Error::Engine)?;
    let topics = device::topics(&filters)?;
    let unfit = |_| Error::usage("a topic is no filter", "`sealstone mqtt gateway --check` says which");
    let given = Provision {
        device: name,
        keys: Level::ALL.map(|level| Key { id: ids[level as usize], seed: signing[level as usize].seed() }),
        mac_key_id: MAC_KEY_ID,
        mac_key: &mac_key,
        tagged: Class::ALL.map(|class| rules.takes_tags(class)),
        address: options.broker.ip().octets(),
        port: options.broker.port(),
        keepalive_s: u16::try_from(options.keep_alive.as_secs())
            .map_err(|_| Error::usage("the keep-alive is too long", "MQTT counts up to 65535 seconds"))?,
        answer_ms: millis("--answer", options.answer)?,
        interval_ms: millis("--interval", options.interval)?,
        policy,
        saying: saying(options)?,
        topics: Topics::new(&topics).map_err(unfit)?,
        commander: commander.as_ref().map(commander::Named::key),
    };
    device::write(&given, &out, options.force, terminal)?;
    flash.write(&device::flash(ids)?, Readers::Owner, options.force, terminal)?;
    let keys = ids.iter().zip(&signing).map(|(id, key)| KeyEntry::new(*id, &key.verifying_key())).collect();
    let macs = vec![device::mac_entry(&shared, MAC_KEY_ID, StateName::Active)];
    entries.push(Entry { device: name.clone(), topics: options.topics.clone(), keys, macs });
    // The key first: an entry whose key is not there is a fault of the whole directory.
    device::write_mac(&shared, &mac_key, options.force, terminal)?;
    device::write_entries(&file, &entries, terminal)?;
    let (Target::Path(out), Target::Path(flash)) = (&out, &flash) else { return Ok(()) };
    if options.json {
        return terminal.json(&json!({
            "device": name,
            "keys": ids.map(|id| id.0),
            "given": shown(out),
            "flash": shown(flash),
            "entry": shown(&file),
            "mac": shown(&shared),
        }));
    }
    let [a, b, c] = ids.map(|id| id.0);
    let rows = [
        (shown(out), format!("keys {a}, {b} and {c} of {name}, for the device alone")),
        (shown(flash), "its flash before its first start, to be written once".into()),
        (shown(&file), "its entry, for the gateway".into()),
        (shown(&shared), "its key for tags, for the gateway alone".into()),
    ];
    let width = rows.iter().map(|(path, _)| path.chars().count()).max().unwrap_or(0);
    rows.iter().try_for_each(|(path, what)| terminal.line(format_args!("{path:<width$}  {what}")))
}

/// The id of a device's first key for tags.
const MAC_KEY_ID: KeyId = KeyId(1);

/// How the device says its readings.
fn saying(options: &Options) -> Result<Saying, Error> {
    let form = match options.form.as_str() {
        "detached" => Apart::Property,
        "detached-topic" => Apart::Topic,
        _ => Apart::Not,
    };
    let mut saying = Saying { form, batch: options.batch, ..Saying::PLAIN };
    if let Some(unchanged) = options.unchanged {
        let seconds = |time: Duration| u16::try_from(time.as_secs()).ok().filter(|seconds| *seconds > 0);
        let known = seconds(unchanged).zip(seconds(options.full)).filter(|(silence, full)| silence <= full);
        (saying.silence_s, saying.full_s) = known.ok_or_else(|| {
            Error::usage(
                "--unchanged or --full is out of range",
                "from 1s to 65535s, and --full not less than --unchanged",
            )
        })?;
    }
    Ok(saying)
}

/// Milliseconds that a device can wait.
fn millis(option: &str, time: Duration) -> Result<u32, Error> {
    let known = (1..=30 * 86_400).contains(&time.as_secs());
    let millis = known.then(|| u32::try_from(time.as_millis()).ok()).flatten();
    millis.ok_or_else(|| Error::usage(format!("{option} is out of range"), "from 1s to 30d"))
}
