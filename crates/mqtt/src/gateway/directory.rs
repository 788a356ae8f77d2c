//! The device directory: which keys are whose, and what each device may publish on.
//!
//! One JSON file, or a folder of `.json` files; each holds one device or an array of them (docs/mqtt-gateway.md). It is read
//! whole or not at all: a file with a fault changes nothing.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_mldsa::{Level, any};
use serde::{Deserialize, Serialize};

use super::Error;
use super::error::plain;
use crate::message::{KeyId, UnixMillis};
use crate::topic::{Filter, Topic};

/// All devices.
#[derive(Debug, Default)]
pub struct Directory {
    devices: HashMap<Box<str>, Device>,
    stamp: Vec<(PathBuf, SystemTime, u64)>,
}

/// One device.
#[derive(Debug)]
pub struct Device {
    keys: Vec<Arc<Key>>,
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
        let mut directory = Directory { devices: HashMap::new(), stamp: stamp(path)? };
        let mut publics = HashSet::new();
        for (file, ..) in &directory.stamp {
            let text = fs::read_to_string(file).map_err(|cause| unreadable(file, cause))?;
            for entry in entries(file, &text)? {
                let fault = |what, hint| Error::Directory { file: file.clone(), what, hint };
                let device = device(&entry, file)?;
                if directory.devices.contains_key(entry.device.as_str()) {
                    let what = format!("device {:?} is there twice", entry.device);
                    return Err(fault(what, "a device has one entry, with all of its keys"));
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

    /// Whether the files are others than those that were read, by name, time and length.
    pub fn changed(&self, path: &Path) -> Result<bool, Error> {
        Ok(stamp(path)? != self.stamp)
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

    /// All of its keys.
    pub fn keys(&self) -> impl Iterator<Item = &Arc<Key>> {
        self.keys.iter()
    }

    /// Whether the device may publish on a topic that names it.
    pub fn may_publish(&self, topic: Topic<'_>) -> bool {
        let matches = |text: &str| Filter::new(text).is_ok_and(|filter| filter.matches(topic));
        self.topics.is_empty() || self.topics.iter().any(|text| matches(text))
    }

    /// Whether it has a key that counts, so that it can sign.
    pub fn can_sign(&self, now: UnixMillis) -> bool {
        self.keys.iter().any(|key| key.counts(now))
    }
}

impl Key {
    /// A key that counts. Shapes: `public` has the length of the level.
    pub(super) fn active(id: KeyId, level: Level, public: &[u8]) -> Self {
        Key { id, level, state: State::Active, public: public.into() }
    }

    /// Whether its signatures count.
    pub fn counts(&self, now: UnixMillis) -> bool {
        match self.state {
            State::Active => true,
            State::Announced => false,
            State::Retired(at) => now < at,
        }
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
        let state = match state {
            StateName::Active => State::Active,
            StateName::Announced => State::Announced,
            StateName::Retired => State::Retired(UnixMillis(retired_at.unwrap_or(0))),
        };
        if retired_at.is_some() && !matches!(state, State::Retired(_)) {
            let hint = "`retired_at` goes with the state `retired`";
            return fault(format!("device {name:?}, key {id}: `retired_at` without being retired"), hint);
        }
        keys.push(Arc::new(Key { id: KeyId(*id), level, state, public: public.into() }));
    }
    Ok(Device { keys, topics: entry.topics.iter().map(|text| text.as_str().into()).collect() })
}

/// The files of a directory in the order of their names, with what tells that they changed.
fn stamp(path: &Path) -> Result<Vec<(PathBuf, SystemTime, u64)>, Error> {
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        let listed = fs::read_dir(path).and_then(|listed| listed.collect::<Result<Vec<_>, _>>());
        files =
            listed.map_err(|cause| unreadable(path, cause))?.into_iter().map(|entry| entry.path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
        files.sort();
    }
    let stamped = files.into_iter().map(|file| {
        let found = fs::metadata(&file).and_then(|found| Ok((found.modified()?, found.len())));
        found.map(|(time, len)| (file.clone(), time, len)).map_err(|cause| unreadable(&file, cause))
    });
    stamped.collect()
}

fn unreadable(file: &Path, cause: std::io::Error) -> Error {
    let hint = "`directory` names a JSON file or a folder of them; `sealstone mqtt provision` makes entries";
    Error::Directory { file: file.to_owned(), what: format!("cannot be read: {}", plain(&cause)), hint }
}
