//! A folder with a directory of devices and a gateway at work in it.

use crate::support::{Zeros, expanded, public};
use sealstone_mldsa::Level;
use sealstone_mqtt::gateway::config::Config;
use sealstone_mqtt::gateway::directory::{Entry, KeyEntry, MacEntry, StateName, mac_text};
use sealstone_mqtt::gateway::{Error, Event, Gateway, Observer, Stop};
use sealstone_mqtt::{Form, KeyId, Keyed, Message, Number, Topic, UnixMillis, seal};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time now.
pub(crate) fn now() -> UnixMillis {
    UnixMillis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64)
}

/// Writes the devices "44", "65" and "87", each with key 1 of its level.
pub(crate) fn devices(folder: &Path) {
    let entries: Vec<Entry> = Level::ALL
        .iter()
        .map(|level| Entry {
            device: level.name()[7..].into(),
            topics: vec![],
            keys: vec![KeyEntry::new(KeyId(1), public(*level))],
            macs: vec![],
        })
        .collect();
    std::fs::write(folder.join("devices.json"), serde_json::to_string(&entries).unwrap()).unwrap();
}

/// Writes a shared key to a file of a folder, for its owner alone, and says what an entry says of it.
pub(crate) fn shared(folder: &Path, id: u16, key: &[u8; 32], state: StateName) -> MacEntry {
    let file = format!("{id}-{:02x}.mac", key[0]);
    write_key(&folder.join(&file), &*mac_text(key), 0o600);
    MacEntry { id, state, retired_at: None, file }
}

/// Writes a file anew, with a mode.
pub(crate) fn write_key(path: &Path, text: &[u8], mode: u32) {
    let beside = path.with_extension("new");
    std::fs::write(&beside, text).unwrap();
    std::fs::set_permissions(&beside, std::fs::Permissions::from_mode(mode)).unwrap();
    std::fs::rename(&beside, path).unwrap();
}

/// A configuration for a folder and a broker, with what the test adds before and behind the broker's address.
pub(crate) fn config(folder: &Path, port: u16, version: &str, more: &str) -> Config {
    config_with(folder, port, version, more, "")
}

pub(crate) fn config_with(folder: &Path, port: u16, version: &str, more: &str, broker: &str) -> Config {
    let text = format!(
        "data_dir = {:?}\ndirectory = {:?}\n{more}\n[broker]\naddress = \"127.0.0.1:{port}\"\nversion = {version:?}\n{broker}\n",
        folder.join("data"),
        folder.join("devices.json"),
    );
    Config::parse(&text, None).unwrap()
}

/// A message of a device's key, sealed.
pub(crate) fn sealed(form: Form, level: Level, topic: &str, payload: &[u8], number: Number) -> Vec<u8> {
    let message = Message {
        key_id: KeyId(1),
        number: (form != Form::Paper).then_some(number),
        time: now(),
        ..Message::new(Topic::new(topic).unwrap(), payload)
    };
    sealed_as(form, level, &message)
}

/// A message as it is, sealed.
pub(crate) fn sealed_as(form: Form, level: Level, message: &Message<'_>) -> Vec<u8> {
    let mut out = vec![0; 70_000 + message.payload.len()];
    let len = seal::seal(form, message, &mut Keyed::new(expanded(level), &mut Zeros), &mut out).unwrap();
    out.truncate(len);
    out
}

/// A gateway in a thread of its own.
pub(crate) struct Running {
    stop: Stop,
    thread: Option<JoinHandle<Result<(), Error>>>,
    lines: Receiver<String>,
}

struct Lines(Mutex<Sender<String>>);

impl Observer for Lines {
    fn note(&self, event: &Event<'_>) {
        let _ = self.0.lock().unwrap().send(format!("{event:?}"));
    }
}

impl Running {
    /// Starts one, and waits until it is subscribed.
    pub(crate) fn start(config: Config) -> Self {
        let running = Self::start_alone(config);
        running.until("Subscribed");
        running
    }

    /// Starts one.
    pub(crate) fn start_alone(config: Config) -> Self {
        Self::start_gateway(Gateway::new(config))
    }

    /// Starts one that was made.
    pub(crate) fn start_gateway(gateway: Gateway) -> Self {
        let stop = gateway.stopper();
        let (sender, lines) = channel();
        let thread = std::thread::spawn(move || {
            let ended = gateway.run(now, &Lines(Mutex::new(sender)));
            if let Err(why) = &ended {
                eprintln!("the gateway ended: {why:?}"); // beside the failure of whoever waits for it
            }
            ended
        });
        Running { stop, thread: Some(thread), lines }
    }

    /// Waits for an event that begins so.
    pub(crate) fn until(&self, begin: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(Duration::from_secs(60)).expect(begin);
            if line.starts_with(begin) {
                return line;
            }
        }
    }

    pub(crate) fn stop(mut self) -> Result<(), Error> {
        self.stop.stop();
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
