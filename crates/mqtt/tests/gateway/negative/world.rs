//! Devices with keys in every state, and messages of theirs.

use crate::place::shared;
use crate::support::Zeros;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_mldsa::{Level, any};
use sealstone_mqtt::gateway::directory::{Entry, KeyEntry, StateName};
use sealstone_mqtt::gateway::wire::{Properties, Publish, Qos};
use sealstone_mqtt::gateway::{Config, Directory};
use sealstone_mqtt::mac::{MacKey, Tagger};
use sealstone_mqtt::{Form, KeyId, Keyed, Kind, Message, Number, Topic, UnixMillis, seal};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

pub(crate) const NOW: UnixMillis = UnixMillis(1_800_000_000_000);
/// The topic of most cases.
pub(crate) const TOPIC: &str = "device/a/telemetry/temp";

/// Something that must be refused.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// What was accepted before.
    pub(crate) before: Vec<Publish>,
    pub(crate) publish: Publish,
    pub(crate) reason: &'static str,
    pub(crate) config: String,
    pub(crate) later_ms: u64,
}

impl Case {
    pub(crate) fn new(name: impl Into<String>, reason: &'static str, publish: Publish) -> Self {
        Case { name: name.into(), before: vec![], publish, reason, config: String::new(), later_ms: 0 }
    }

    pub(crate) fn after(mut self, before: Vec<Publish>) -> Self {
        self.before = before;
        self
    }

    pub(crate) fn under(mut self, config: &str) -> Self {
        self.config = config.into();
        self
    }
}

pub(crate) struct World {
    pub(crate) directory: Directory,
}

impl World {
    /// Device a: key 1 of level 44 counts, 2 is retired, 3 announced, 4 of level 65; 17 and 18 are for tags, 18 is retired. b: level 65
    /// and 19 for tags. c: level 87. narrow: level 44 and 17 for tags, may publish telemetry alone. gone: its key is retired. r: a key of each
    /// level, a retired one, and 17 for tags. commander: level 87.
    pub(crate) fn new() -> Self {
        let key = |id: u16, level, seed, state| KeyEntry {
            state,
            ..KeyEntry::new(KeyId(id), &public(level, seed))
        };
        let active = |id, level, seed| key(id, level, seed, StateName::Active);
        let folder = tempfile::tempdir().unwrap();
        let mac = |id, seed: u8, state| shared(folder.path(), id, &[seed; 32], state);
        let tags = |seed| vec![mac(17, seed, StateName::Active)];
        let entry = |device: &str, keys| Entry { device: device.into(), topics: vec![], keys, macs: vec![] };
        let (low, middle, high) = (Level::MlDsa44, Level::MlDsa65, Level::MlDsa87);
        let entries = [
            Entry {
                macs: [tags(17), vec![mac(18, 18, StateName::Retired)]].concat(),
                ..entry(
                    "a",
                    vec![
                        active(1, low, 1),
                        key(2, low, 2, StateName::Retired),
                        key(3, low, 3, StateName::Announced),
                        active(4, middle, 4),
                    ],
                )
            },
            Entry { macs: vec![mac(19, 19, StateName::Active)], ..entry("b", vec![active(1, middle, 5)]) },
            entry("c", vec![active(1, high, 6)]),
            Entry {
                topics: vec!["device/narrow/telemetry/#".into()],
                macs: tags(27),
                ..entry("narrow", vec![active(1, low, 7)])
            },
            entry("gone", vec![key(1, low, 8, StateName::Retired)]),
            Entry {
                macs: vec![mac(17, 37, StateName::Active)],
                ..entry(
                    "r",
                    vec![
                        active(4401, low, 10),
                        active(6501, middle, 11),
                        key(8700, high, 12, StateName::Retired),
                        active(8701, high, 13),
                    ],
                )
            },
            entry("commander", vec![active(1, high, 14)]),
        ];
        let path = folder.path().join("devices.json");
        std::fs::write(&path, serde_json::to_string(&entries).unwrap()).unwrap();
        World { directory: Directory::load(&path).unwrap() }
    }

    pub(crate) fn config(&self, more: &str) -> Config {
        Config::parse(more, None).unwrap()
    }
}

pub(crate) fn public(level: Level, seed: u8) -> any::VerifyingKey {
    any::SigningKey::from_seed(level, &[seed; 32]).verifying_key()
}

/// What is said, and by whom.
#[derive(Clone)]
pub(crate) struct Said {
    pub(crate) form: Form,
    pub(crate) topic: &'static str,
    pub(crate) payload: &'static [u8],
    pub(crate) level: Level,
    /// A tag instead of a signature.
    pub(crate) tagged: bool,
    pub(crate) seed: u8,
    pub(crate) key_id: u16,
    pub(crate) number: Option<Number>,
    pub(crate) time: u64,
    pub(crate) kind: Kind,
    pub(crate) content_type: &'static str,
    pub(crate) response_topic: Option<&'static str>,
    pub(crate) correlation: &'static [u8],
}

impl Said {
    /// Telemetry of device a, with its key 1, now.
    pub(crate) fn new(form: Form) -> Self {
        Said {
            form,
            topic: TOPIC,
            payload: b"t=21.5",
            level: Level::MlDsa44,
            tagged: false,
            seed: 1,
            key_id: 1,
            number: (form != Form::Paper).then_some(Number { epoch: 3, sequence: 5000 }),
            time: NOW.0,
            kind: Kind::Plain,
            content_type: "",
            response_topic: None,
            correlation: &[],
        }
    }

    /// The same with a tag, of the key 17.
    pub(crate) fn tagged(form: Form) -> Self {
        Said { tagged: true, seed: 17, key_id: 17, ..Said::new(form) }
    }

    /// The same with answers expected.
    pub(crate) fn asking(form: Form) -> Self {
        Said {
            content_type: "text/plain",
            response_topic: Some("device/a/answers"),
            correlation: &[7, 8],
            ..Said::new(form)
        }
    }

    /// The envelope.
    pub(crate) fn sealed(&self) -> Vec<u8> {
        let message = Message {
            kind: self.kind,
            key_id: KeyId(self.key_id),
            number: self.number,
            time: UnixMillis(self.time),
            content_type: self.content_type,
            response_topic: self.response_topic.map(|topic| Topic::new(topic).unwrap()),
            correlation_data: self.correlation,
            ..Message::new(Topic::new(self.topic).unwrap(), self.payload)
        };
        let mut out = vec![0; 6000 + self.payload.len()];
        let len = if self.tagged {
            let key = MacKey::from_bytes(&[self.seed; 32]);
            seal::seal(self.form, &message, &mut Tagger(&key), &mut out)
        } else {
            let signer = signer(self.level, self.seed);
            seal::seal(self.form, &message, &mut Keyed::new(signer, &mut Zeros), &mut out)
        };
        out.truncate(len.unwrap());
        out
    }

    /// As it is published.
    pub(crate) fn publish(&self) -> Publish {
        self.carried(self.sealed())
    }

    /// An envelope as it is published: in a property if the form is detached.
    pub(crate) fn carried(&self, envelope: Vec<u8>) -> Publish {
        match self.form {
            Form::Detached => {
                let user = vec![("sealstone".into(), URL_SAFE_NO_PAD.encode(envelope))];
                Publish {
                    properties: Properties { user, ..Properties::default() },
                    ..plain(self.topic, self.payload)
                }
            }
            _ => plain(self.topic, &envelope),
        }
    }

    /// As it is published, with a change to the envelope.
    pub(crate) fn changed(&self, change: impl FnOnce(&mut Vec<u8>)) -> Publish {
        let mut envelope = self.sealed();
        change(&mut envelope);
        self.carried(envelope)
    }
}

pub(crate) fn plain(topic: &str, payload: &[u8]) -> Publish {
    Publish { qos: Qos::AtLeastOnce, topic: topic.into(), payload: payload.into(), ..Publish::default() }
}

/// Keys by level and seed, each expanded once.
fn signer(level: Level, seed: u8) -> &'static any::ExpandedSigningKey {
    type Keys = Mutex<HashMap<(Level, u8), &'static any::ExpandedSigningKey>>;
    static KEYS: LazyLock<Keys> = LazyLock::new(Mutex::default);
    let make =
        || -> &'static _ { Box::leak(Box::new(any::SigningKey::from_seed(level, &[seed; 32]).expand())) };
    KEYS.lock().unwrap().entry((level, seed)).or_insert_with(make)
}
