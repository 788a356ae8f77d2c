//! The configuration: TOML, every value defaulted, nothing unknown let through. An empty file is a configuration.

mod reading;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::{NonZeroU16, NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use sealstone_mldsa::Level;
use serde::Deserialize;

use super::reason::Reason;
use super::wire::Version;
use crate::form::Form;
use crate::level::{BANDS, Class};
use crate::topic::{Filter, Topic};

/// The whole configuration. See each part for its keys.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// When somebody is told.
    pub alerts: Alerts,
    /// Whether the command writes an audit log, in `audit` within the data directory.
    pub audit: bool,
    /// The broker.
    pub broker: Broker,
    /// Classes of topics, least first.
    pub class: Classes,
    /// Where everything that must survive is kept; created with mode 0700.
    pub data_dir: PathBuf,
    /// The device directory: a JSON file, or a folder of them. Read again when it changes.
    pub directory: PathBuf,
    /// Keys that devices announce, and who may tell devices something.
    pub keys: Keys,
    /// What people and monitoring see.
    pub page: Page,
    /// What is accepted.
    pub policy: Policy,
    /// Where messages come from and go to.
    pub topics: Topics,
    /// The threads that verify.
    pub workers: Workers,
}

/// `[alerts]`: each alert about a device is told once, and again after the cooldown.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Alerts {
    /// How long the same alert about the same device is not told again.
    pub cooldown_s: NonZeroU32,
    /// Messages below the default of their class that a device may sign in an hour.
    pub downgrades_per_hour: NonZeroU32,
    /// How long everything that a device signs may be below the default.
    pub low_means_minutes: NonZeroU32,
    /// An alert is published to this topic, `/`, its kind; empty: nowhere.
    pub topic: String,
}

/// `[keys]`: keys that devices announce, and who may tell devices something.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Keys {
    /// What becomes of keys that devices announce.
    pub announcements: Announcements,
    /// What the commander was given, with its private keys; the command reads it, for [`super::Commander`].
    pub commander: Option<PathBuf>,
    /// The commander's entry in the directory. Its keys sign commands and confirmations, and nothing else.
    pub commander_name: String,
    /// How long a key counts after the next one of its level was confirmed.
    pub overlap_s: u32,
}

/// What becomes of keys that devices announce.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Announcements {
    /// They are refused: who has which key is the operator's word alone.
    #[default]
    Refuse,
    /// A device that has proved with a key that counts may go on to the next one.
    Confirm,
}

/// `[page]`: plain HTTP, for whoever asks: as a rule a loopback address.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Page {
    /// Where the page and `/metrics` are, as in `127.0.0.1:9465`; without it, nowhere.
    pub listen: Option<SocketAddr>,
}

/// `[broker]`: one broker, from which messages come and to which they go.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Broker {
    /// Host and port; with `mqtts://` before them, TLS, and the port may be left out: 8883.
    pub address: String,
    /// The client identifier. The broker keeps the session under it, so it stays the same.
    pub client_id: String,
    /// Seconds of silence after which each side asks whether the other is there.
    pub keep_alive_s: NonZeroU16,
    /// The largest packet that is read, in bytes.
    pub max_packet_bytes: NonZeroU32,
    /// A file with the password, on its first line.
    pub password_file: Option<PathBuf>,
    /// The quality of service of what is published: 1, at least once; 2, exactly once.
    pub publish_qos: u8,
    /// Messages that the broker may have under way to the gateway (MQTT 5).
    pub receive_maximum: NonZeroU16,
    /// How long the broker keeps the session while the gateway is away, in seconds (MQTT 5).
    pub session_expiry_s: u32,
    /// TLS 1.3; without it, and without `mqtts://`, plain TCP.
    pub tls: Option<Tls>,
    /// A file with the user name, on its first line.
    pub user_file: Option<PathBuf>,
    /// The version of MQTT: "5" or "3.1.1".
    pub version: Version,
}

/// `[broker] tls`: whom we trust and who we are. The files are read when the gateway starts.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
pub struct Tls {
    /// A PEM file of the authorities that may have signed the broker's certificate; without it those of the system.
    pub ca: Option<PathBuf>,
    /// A PEM file with our certificate, for a broker that demands one, and with those between it and its authority.
    pub certificate: Option<PathBuf>,
    /// A PEM file with the private key of `certificate`. Not everyone may read it.
    pub key: Option<PathBuf>,
    /// The name in the broker's certificate; without it the host of the address.
    pub server_name: Option<String>,
}

/// `[topics]`: filters and prefixes. The prefixes must lie outside of what is subscribed to.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Topics {
    /// What is accepted without a mark goes to this prefix, `/`, and its own topic.
    pub clean: String,
    /// Where the commander speaks, to devices: what comes there is signed by its key and by no device's.
    pub commands: Vec<String>,
    /// What is refused goes to this prefix, `/`, the reason, `/`, and its own topic; empty: nowhere.
    pub dead_letters: String,
    /// The most dead letters in a second; what is refused beyond them is counted only.
    pub dead_letters_per_second: NonZeroU32,
    /// Where a topic names its device: at the first `+`.
    pub identity: String,
    /// What is accepted with a mark goes to this prefix, so that whoever reads the clean copies sees no marked one.
    pub marked: String,
    /// What is read.
    pub subscribe: Vec<String>,
}

/// `[policy]`: what is accepted.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// How long after a message with a tag a signed checkpoint must have named it, in seconds; then somebody is told.
    pub checkpoint_within_s: NonZeroU32,
    /// The stance where a device has none of its own.
    pub default: Stance,
    /// The stance of single devices.
    pub devices: BTreeMap<String, Stance>,
    /// Failed verifications that a device's topics may cause in a minute; beyond them its messages are refused unverified, so
    /// that forgeries of one device take no time from the others.
    pub failures_per_minute: NonZeroU32,
    /// The forms that are read.
    pub forms: Vec<FormName>,
    /// Messages without a time, from devices without a clock.
    pub no_clock: Choice,
    /// How long a payload and its signature on `<topic>/$sig` wait for each other, in milliseconds; 0: neither waits.
    pub pair_within_ms: u32,
    /// Messages that the broker kept for new subscribers.
    pub retained: Choice,
    /// Messages whose number is good and whose time is over.
    pub stale: Choice,
    /// The classes that take tags instead of signatures; without it, `low` where its floor is the least level. Bounds: classes
    /// whose floor is ML-DSA-44.
    pub tags: Option<Vec<ClassName>>,
    /// Topics without a class.
    pub unknown_topic: UnknownTopic,
}

/// A class by its name.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "see `Class`")]
pub enum ClassName {
    Low,
    Medium,
    High,
    Critical,
}

/// How much must be signed.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Stance {
    /// Unsigned messages pass, marked. Anybody who can publish can strip a signature: for a time of transition.
    Compatible,
    /// Who is in the directory must sign; unsigned messages of others pass, marked.
    #[default]
    Balanced,
    /// Everything is signed, by somebody in the directory.
    Strict,
}

/// What becomes of messages that are genuine, and yet not what one would wish.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// They pass, marked.
    Mark,
    /// They are refused.
    Refuse,
}

/// What a topic is that no class has.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum UnknownTopic {
    /// Of the class critical.
    Critical,
    /// Refused.
    #[default]
    Refuse,
}

/// A form of envelopes by its name.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "see `Form`")]
pub enum FormName {
    Paper,
    V1,
    Cose,
    Detached,
}

/// `[class.low]` to `[class.critical]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Classes {
    /// Telemetry, heartbeats.
    pub low: Terms,
    /// Aggregates, status reports.
    pub medium: Terms,
    /// Alerts, configuration, commands.
    pub high: Terms,
    /// Firmware, credentials, keys.
    pub critical: Terms,
}

/// The terms of a class. A key that is left out has the class's own default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Terms {
    /// The least level: "ML-DSA-44", "ML-DSA-65" or "ML-DSA-87".
    pub floor: Option<LevelName>,
    /// How far a message's time may lie from the gateway's, in seconds.
    pub fresh_s: Option<NonZeroU64>,
    /// Filters. Of all classes the first filter that takes a topic counts, beginning with the critical ones.
    pub topics: Option<Vec<String>>,
}

/// A level by its name in FIPS 204.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[allow(missing_docs, reason = "see `Level`")]
pub enum LevelName {
    #[serde(rename = "ML-DSA-44")]
    MlDsa44,
    #[serde(rename = "ML-DSA-65")]
    MlDsa65,
    #[serde(rename = "ML-DSA-87")]
    MlDsa87,
}

/// `[workers]`: verification beside the network.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Workers {
    /// Expanded keys that are kept, 18 to 66 kB each; the least used one goes.
    pub expanded_keys: NonZeroUsize,
    /// Messages under way in the gateway; no more are read then.
    pub queue: NonZeroUsize,
    /// How many; without it as many as there are cores.
    pub threads: Option<NonZeroUsize>,
}

/// Rules as they are used: filters read, names turned into what they stand for.
#[derive(Clone, Debug)]
pub struct Rules<'a> {
    policy: &'a Policy,
    topics: &'a Topics,
    keys: &'a Keys,
    identity: Filter<'a>,
    commands: Vec<Filter<'a>>,
    announcements: Filter<'a>,
    filters: Vec<(Filter<'a>, Class)>,
    floors: [Level; 4],
    fresh_ms: [u64; 4],
    tags: [bool; 4],
}

impl<'a> Rules<'a> {
    /// What is accepted.
    pub fn policy(&self) -> &'a Policy {
        self.policy
    }

    /// Where messages go.
    pub fn topics(&self) -> &'a Topics {
        self.topics
    }

    /// Announced keys and the commander.
    pub fn keys(&self) -> &'a Keys {
        self.keys
    }

    /// Whether a topic is the commander's.
    pub fn is_command(&self, topic: Topic<'_>) -> bool {
        self.commands.iter().any(|filter| filter.matches(topic))
    }

    /// Whether devices announce keys on a topic.
    pub fn is_announcement(&self, topic: Topic<'_>) -> bool {
        self.announcements.matches(topic)
    }

    /// Whether what the broker had kept may pass. Errors: `Retained`.
    pub fn retained(&self, retained: bool) -> Result<(), Reason> {
        if retained && self.policy.retained == Choice::Refuse { Err(Reason::Retained) } else { Ok(()) }
    }

    /// The device that a topic names.
    pub fn device<'t>(&self, topic: Topic<'t>) -> Option<&'t str> {
        self.identity.first_wild(topic)
    }

    /// The class of a topic; none where it has none and must have one.
    pub fn class(&self, topic: Topic<'_>) -> Option<Class> {
        let found = self.filters.iter().find(|(filter, _)| filter.matches(topic)).map(|(_, class)| *class);
        match self.policy.unknown_topic {
            UnknownTopic::Critical => found.or(Some(Class::Critical)),
            UnknownTopic::Refuse => found,
        }
    }

    /// The least level of a class.
    pub fn floor(&self, class: Class) -> Level {
        self.floors[class as usize]
    }

    /// How far a message's time may lie from now, in milliseconds.
    pub fn fresh_ms(&self, class: Class) -> u64 {
        self.fresh_ms[class as usize]
    }

    /// Whether a class takes tags instead of signatures.
    pub fn takes_tags(&self, class: Class) -> bool {
        self.tags[class as usize]
    }

    /// Whether a form is read.
    pub fn takes(&self, form: Form) -> bool {
        self.policy.forms.iter().any(|name| name.form() == form)
    }

    /// The stance towards a device.
    pub fn stance(&self, device: &str) -> Stance {
        self.policy.devices.get(device).copied().unwrap_or(self.policy.default)
    }
}

impl FormName {
    /// The form.
    pub const fn form(self) -> Form {
        match self {
            FormName::Paper => Form::Paper,
            FormName::V1 => Form::V1,
            FormName::Cose => Form::Cose,
            FormName::Detached => Form::Detached,
        }
    }
}

impl ClassName {
    /// The class.
    pub const fn class(self) -> Class {
        match self {
            ClassName::Low => Class::Low,
            ClassName::Medium => Class::Medium,
            ClassName::High => Class::High,
            ClassName::Critical => Class::Critical,
        }
    }
}

impl LevelName {
    /// The level.
    pub const fn level(self) -> Level {
        match self {
            LevelName::MlDsa44 => Level::MlDsa44,
            LevelName::MlDsa65 => Level::MlDsa65,
            LevelName::MlDsa87 => Level::MlDsa87,
        }
    }
}

impl Classes {
    /// The terms of a class.
    pub const fn of(&self, class: Class) -> &Terms {
        match class {
            Class::Low => &self.low,
            Class::Medium => &self.medium,
            Class::High => &self.high,
            Class::Critical => &self.critical,
        }
    }

    /// The least level of a class; without one that of the paper's Table 3.
    pub fn floor(&self, class: Class) -> Level {
        self.of(class).floor.map_or(BANDS[class as usize].floor, LevelName::level)
    }

    /// The freshness of a class in milliseconds: by default 300 s, and 30 s for high and critical.
    pub fn fresh_ms(&self, class: Class) -> u64 {
        let default = if class >= Class::High { 30 } else { 300 };
        self.of(class).fresh_s.map_or(default, NonZeroU64::get).saturating_mul(1000)
    }
}

impl Default for Classes {
    fn default() -> Self {
        let terms = |topics: &[&str]| Terms {
            topics: Some(topics.iter().map(|&topic| topic.to_owned()).collect()),
            ..Terms::default()
        };
        Classes {
            low: terms(&["device/+/telemetry/#"]),
            medium: terms(&["device/+/status/#"]),
            high: terms(&["device/+/alert/#", "device/+/command/#", "device/+/config/#"]),
            critical: terms(&["device/+/critical/#"]),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config {
            alerts: Alerts::default(),
            audit: true,
            broker: Broker::default(),
            class: Classes::default(),
            data_dir: "sealstone-mqtt-data".into(),
            directory: "devices".into(),
            keys: Keys::default(),
            page: Page::default(),
            policy: Policy::default(),
            topics: Topics::default(),
            workers: Workers::default(),
        }
    }
}

impl Default for Alerts {
    fn default() -> Self {
        Alerts {
            cooldown_s: const { NonZeroU32::new(3600).unwrap() },
            downgrades_per_hour: const { NonZeroU32::new(20).unwrap() },
            low_means_minutes: const { NonZeroU32::new(30).unwrap() },
            topic: "alerts".into(),
        }
    }
}

impl Default for Broker {
    fn default() -> Self {
        Broker {
            address: "127.0.0.1:1883".into(),
            client_id: "sealstone-gateway".into(),
            keep_alive_s: const { NonZeroU16::new(60).unwrap() },
            max_packet_bytes: const { NonZeroU32::new(1 << 20).unwrap() },
            password_file: None,
            publish_qos: 2,
            receive_maximum: const { NonZeroU16::new(256).unwrap() },
            session_expiry_s: 7 * 86_400,
            tls: None,
            user_file: None,
            version: Version::V5,
        }
    }
}

impl Default for Keys {
    fn default() -> Self {
        Keys {
            announcements: Announcements::default(),
            commander: None,
            commander_name: "commander".into(),
            overlap_s: 7 * 86_400,
        }
    }
}

impl Default for Topics {
    fn default() -> Self {
        Topics {
            clean: "clean".into(),
            commands: ["device/+/command/#", "device/+/critical/key/confirmed"].map(str::to_owned).into(),
            dead_letters: "dead-letters".into(),
            dead_letters_per_second: const { NonZeroU32::new(100).unwrap() },
            identity: "device/+/#".into(),
            marked: "marked".into(),
            subscribe: vec!["device/#".into()],
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            checkpoint_within_s: const { NonZeroU32::new(300).unwrap() },
            default: Stance::default(),
            devices: BTreeMap::new(),
            failures_per_minute: const { NonZeroU32::new(60).unwrap() },
            forms: vec![FormName::V1, FormName::Cose, FormName::Detached, FormName::Paper],
            no_clock: Choice::Mark,
            pair_within_ms: 0,
            retained: Choice::Mark,
            stale: Choice::Refuse,
            tags: None,
            unknown_topic: UnknownTopic::default(),
        }
    }
}

impl Default for Workers {
    fn default() -> Self {
        Workers {
            expanded_keys: const { NonZeroUsize::new(1024).unwrap() },
            queue: const { NonZeroUsize::new(1024).unwrap() },
            threads: None,
        }
    }
}
