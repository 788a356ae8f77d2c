//! The device directory: which keys are whose, and what each device may publish on.
//!
//! One JSON file, or a folder of `.json` files; each holds one device or an array of them (docs/mqtt-gateway.md). Keys that are
//! shared stand in files of their own (`shared.rs`). It is read whole or not at all: a file with a fault changes nothing.

mod shared;
mod stamp;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_mldsa::{Level, any};
use serde::{Deserialize, Serialize};

pub use self::shared::{Mac, MacEntry, mac_text};
use self::stamp::Stamp;
use super::Error;
use super::error::plain;
use crate::message::{KeyId, UnixMillis};
use crate::topic::{Filter, Topic};

/// All devices.
#[derive(Debug, Default)]
pub struct Directory {
    devices: HashMap<Box<str>, Device>,
    /// Of the JSON files.
    stamps: Vec<Stamp>,
    /// Of the files with shared keys.
    shared: Vec<Stamp>,
}

/// One device.
#[derive(Debug)]
pub struct Device {
    keys: Vec<Arc<Key>>,
    macs: Vec<Arc<Mac>>,
    topics: Vec<Box<str>>,
}

/// One key of a device.
#[derive(Debug, PartialEq, Eq)]
pub struct Key {
    /// Its id.
    pub id: KeyId,
    /// Its level. An envelope that states another one is refused.
    pub level: Level,
    /// Whether it counts.
    pub state: State,
    public: Box<[u8]>,
}

/// What became of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its signatures count.
    Active,
    /// It was announced and nobody has confirmed it: its signatures do not count yet.
    Announced,
    /// From this time on its signatures do not count any more.
    Retired(UnixMillis),
}

/// A device as its file has it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The device: the level of the topic that names it.
    pub device: String,
    /// Filters that it may publish on; without any, each topic that names it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub topics: Vec<String>,
    /// Its keys.
    pub keys: Vec<KeyEntry>,
    /// Its keys for tags, which it shares with the gateway. No id is there twice, nor one of `keys`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub macs: Vec<MacEntry>,
}

/// A key as its file has it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct KeyEntry {
    /// The id, 0 to 65535. A new key has a new one.
    pub id: u16,
    /// `ML-DSA-44`, `ML-DSA-65` or `ML-DSA-87`.
    pub level: String,
    /// `active`, `announced` or `retired`.
    #[serde(default)]
    pub state: StateName,
    /// When it is retired, in milliseconds since 1970; without it, from the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired_at: Option<u64>,
    /// The public key in the encoding of FIPS 204, base64url without padding.
    pub public: String,
}

/// The states by name.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "see `State`")]
pub enum StateName {
    #[default]
    Active,
    Announced,
    Retired,
}

impl Directory {
    /// Reads a directory. Errors: `Directory` with the file, what is wrong, and with which device.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let mut directory = Directory { stamps: stamp::of_directory(path)?, ..Directory::default() };
        let (mut publics, mut marks) = (HashSet::new(), HashSet::new());
        for Stamp { file, .. } in &directory.stamps {
            let text = fs::read_to_string(file).map_err(|cause| unreadable(file, cause))?;
            for entry in entries(file, &text)? {
                let fault = |what, hint| Error::Directory { file: file.clone(), what, hint };
                let mut device = device(&entry, file)?;
                if directory.devices.contains_key(entry.device.as_str()) {
                    let what = format!("device {:?} is there twice", entry.device);
                    return Err(fault(what, "a device has one entry, with all of its keys"));
                }
                for mac in &entry.macs {
                    let (mac, stamp) = shared::load(mac, &entry, file)?;
                    if !marks.insert(mac.mark()) {
                        let what = format!(
                            "device {:?}, key {}: this shared key is there already",
                            entry.device, mac.id.0
                        );
                        return Err(fault(
                            what,
                            "whoever has it could tag as either: every device has its own",
                        ));
                    }
                    directory.shared.push(stamp);
                    device.macs.push(Arc::new(mac));
                }
                for key in &device.keys {
                    if !publics.insert(key.public.clone()) {
                        let what = format!(
                            "device {:?}, key {}: this public key is there already",
                            entry.device, key.id.0
                        );
                        return Err(fault(what, "every key of every device is made anew"));
                    }
                }
                directory.devices.insert(entry.device.as_str().into(), device);
            }
        }
        Ok(directory)
    }

    /// Whether the files are others than those that were read, by name, time, length, mode and inode; those of shared keys too.
    pub fn changed(&self, path: &Path) -> Result<bool, Error> {
        if stamp::of_directory(path)? != self.stamps {
            return Ok(true);
        }
        for stamp in &self.shared {
            if Stamp::of(&stamp.file)? != *stamp {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A device.
    pub fn device(&self, id: &str) -> Option<&Device> {
        self.devices.get(id)
    }

    /// Whether a key of some device is this one.
    pub fn has(&self, public: &[u8]) -> bool {
        self.devices.values().flat_map(Device::keys).any(|key| key.public() == public)
    }

    /// How many devices there are.
    pub fn len(&self) -> usize {
        self.devices.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }
}

impl Device {
    /// A key.
    pub fn key(&self, id: KeyId) -> Option<&Arc<Key>> {
        self.keys.iter().find(|key| key.id == id)
    }

    /// A key for tags.
    pub fn mac(&self, id: KeyId) -> Option<&Arc<Mac>> {
        self.macs.iter().find(|mac| mac.id == id)
    }

    /// All keys that sign.
    pub fn keys(&self) -> &[Arc<Key>] {
        &self.keys
    }

    /// Whether the device may publish on a topic that names it.
    pub fn may_publish(&self, topic: Topic<'_>) -> bool {
        let matches = |text: &str| Filter::new(text).is_ok_and(|filter| filter.matches(topic));
        self.topics.is_empty() || self.topics.iter().any(|text| matches(text))
    }

    /// Whether it has a key that counts, so that it can sign or tag.
    pub fn can_sign(&self, now: UnixMillis) -> bool {
        self.keys.iter().any(|key| key.counts(now)) || self.macs.iter().any(|mac| mac.state.counts(now))
    }
}

impl State {
    /// Whether what the key seals counts.
    pub fn counts(self, now: UnixMillis) -> bool {
        match self {
            State::Active => true,
            State::Announced => false,
            State::Retired(at) => now < at,
        }
    }
}

impl Key {
    /// A key that counts. Shapes: `public` has the length of the level.
    pub(super) fn active(id: KeyId, level: Level, public: &[u8]) -> Self {
        Key { id, level, state: State::Active, public: public.into() }
    }

    /// Whether its signatures count.
    pub fn counts(&self, now: UnixMillis) -> bool {
        self.state.counts(now)
    }

    /// The public key's bytes.
    pub fn public(&self) -> &[u8] {
        &self.public
    }

    /// The public key.
    pub fn verifying_key(&self) -> Result<any::VerifyingKey, sealstone_mldsa::Error> {
        any::VerifyingKey::decode(self.level, &self.public)
    }
}

impl KeyEntry {
    /// An active key.
    pub fn new(id: KeyId, key: &any::VerifyingKey) -> Self {
        KeyEntry {
            id: id.0,
            level: key.level().name().into(),
            state: StateName::Active,
            retired_at: None,
            public: URL_SAFE_NO_PAD.encode(key.encode()),
        }
    }
}

/// One entry, or an array of them. Errors: `Directory` with the place.
pub fn entries(file: &Path, text: &str) -> Result<Vec<Entry>, Error> {
    let read = match text.trim_start().starts_with('[') {
        true => serde_json::from_str::<Vec<Entry>>(text),
        false => serde_json::from_str::<Entry>(text).map(|entry| vec![entry]),
    };
    read.map_err(|cause| Error::Directory {
        file: file.to_owned(),
        what: cause.to_string(),
        hint: "`sealstone mqtt provision` writes such files",
    })
}

fn device(entry: &Entry, file: &Path) -> Result<Device, Error> {
    let name = &entry.device;
    let fault = |what, hint| Err(Error::Directory { file: file.to_owned(), what, hint });
    if name.is_empty() || name.contains(['/', '+', '#', '\0']) {
        let hint = "a device is one level of a topic: without `/`, `+` and `#`";
        return fault(format!("device {name:?} is no level of a topic"), hint);
    }
    if let Some(text) = entry.topics.iter().find(|text| Filter::new(text).is_err()) {
        return fault(
            format!("device {name:?}: {text:?} is no topic filter"),
            "as in \"device/7/telemetry/#\"",
        );
    }
    let mut keys: Vec<Arc<Key>> = Vec::with_capacity(entry.keys.len());
    for KeyEntry { id, level, state, retired_at, public } in &entry.keys {
        let Some(level) = Level::ALL.into_iter().find(|known| known.name() == level) else {
            let hint = "ML-DSA-44, ML-DSA-65 or ML-DSA-87";
            return fault(format!("device {name:?}, key {id}: unknown level {level:?}"), hint);
        };
        let Ok(public) = URL_SAFE_NO_PAD.decode(public) else {
            let hint = "base64url without padding (RFC 4648, 5)";
            return fault(format!("device {name:?}, key {id}: the public key is not base64url"), hint);
        };
        if public.len() != level.verifying_key_len() {
            let (wanted, found) = (level.verifying_key_len(), public.len());
            let what = format!(
                "device {name:?}, key {id}: a public key of {level} has {wanted} bytes, this one {found}"
            );
            return fault(what, "the level is another one, or the key was cut");
        }
        if keys.iter().any(|key| key.id.0 == *id) {
            let hint = "a new key has a new id";
            return fault(format!("device {name:?}: key {id} is there twice"), hint);
        }
        let state = state_of(*state, *retired_at).ok_or_else(|| {
            let what = format!("device {name:?}, key {id}: `retired_at` without being retired");
            Error::Directory { file: file.to_owned(), what, hint: RETIRED_HINT }
        })?;
        keys.push(Arc::new(Key { id: KeyId(*id), level, state, public: public.into() }));
    }
    let topics = entry.topics.iter().map(|text| text.as_str().into()).collect();
    Ok(Device { keys, macs: Vec::with_capacity(entry.macs.len()), topics })
}

const RETIRED_HINT: &str = "`retired_at` goes with the state `retired`";

/// None for a time that the state has no use for.
fn state_of(name: StateName, retired_at: Option<u64>) -> Option<State> {
    match (name, retired_at) {
        (StateName::Retired, at) => Some(State::Retired(UnixMillis(at.unwrap_or(0)))),
        (StateName::Active, None) => Some(State::Active),
        (StateName::Announced, None) => Some(State::Announced),
        _ => None,
    }
}

fn unreadable(file: &Path, cause: std::io::Error) -> Error {
    let hint = "`directory` names a JSON file or a folder of them; `sealstone mqtt provision` makes entries";
    Error::Directory { file: file.to_owned(), what: format!("cannot be read: {}", plain(&cause)), hint }
}
