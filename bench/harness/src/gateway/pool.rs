//! Devices whose keys come from seeds, and messages that they have signed, or tagged, before the clock starts.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use sealstone_mldsa::{
    CpuEngine, Engine, ExpandedSigningKey, Level, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet, SignJob,
    SigningKey, any,
};
use sealstone_mqtt::form::{By, Covered};
use sealstone_mqtt::gateway::directory::{Entry, KeyEntry, MacEntry, StateName, mac_text};
use sealstone_mqtt::gateway::wire::{Packet, Publish, Qos};
use sealstone_mqtt::mac::{MacKey, Tagger};
use sealstone_mqtt::seal::{self, Signer};
use sealstone_mqtt::{Form, KeyId, Message, Number, Topic, UnixMillis};

use super::load::CONNECTIONS;

/// Bytes of a message's payload: its number, then zeros.
const PAYLOAD: usize = 64;
/// Signatures that are made together.
const BATCH: usize = 64;
/// The only key of each device.
const KEY: KeyId = KeyId(1);

/// The devices, and how many messages they have signed.
pub(super) struct Pool {
    by: By,
    devices: usize,
    signed: u64,
}

/// Messages of rising numbers, each a packet ready to be sent.
pub(super) struct Messages {
    pub(super) first: u64,
    pub(super) packets: Vec<Signed>,
}

/// A packet, and the connection that it goes over: always the same for a device, so its numbers rise.
pub(super) struct Signed {
    pub(super) connection: usize,
    pub(super) packet: Packet,
}

impl Pool {
    pub(super) fn new(by: By, devices: usize) -> Self {
        Pool { by, devices, signed: 0 }
    }

    pub(super) fn devices(&self) -> usize {
        self.devices
    }

    /// The next messages, of the devices in turn. Errors: of the seal, as text.
    pub(super) fn sign(&mut self, count: usize) -> Result<Messages, String> {
        let first = self.signed;
        self.signed += count as u64;
        let numbers: Vec<u64> = (first..self.signed).collect();
        // Both cores sign.
        let halves = numbers.chunks(numbers.len().div_ceil(2).max(1));
        let this = &*self;
        let made = std::thread::scope(|scope| {
            let threads: Vec<_> = halves.map(|half| scope.spawn(move || this.sign_all(half))).collect();
            let joined = threads.into_iter().map(|thread| thread.join());
            joined
                .map(|made| made.unwrap_or_else(|_| Err("a thread that signs has panicked".to_owned())))
                .collect::<Result<Vec<_>, String>>()
        })?;
        Ok(Messages { first, packets: made.into_iter().flatten().collect() })
    }

    fn sign_all(&self, numbers: &[u64]) -> Result<Vec<Signed>, String> {
        let batches = numbers.chunks(BATCH).map(|batch| match self.by {
            By::Signature(level @ Level::MlDsa44) => self.sign_batch::<MlDsa44>(level, batch),
            By::Signature(level @ Level::MlDsa65) => self.sign_batch::<MlDsa65>(level, batch),
            By::Signature(level @ Level::MlDsa87) => self.sign_batch::<MlDsa87>(level, batch),
            By::Mac => batch.iter().map(|number| self.tag(*number)).collect(),
        });
        Ok(batches.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    fn sign_batch<P: ParameterSet>(&self, level: Level, numbers: &[u64]) -> Result<Vec<Signed>, String> {
        let mut unsigned = Vec::with_capacity(numbers.len());
        for &number in numbers {
            let device = self.device_of(number);
            let key = SigningKey::<P>::from_seed(&seed(device)).expand();
            let mut later = Later { level, key: &key, mu: None };
            let (topic, bytes) = self.sealed(number, &mut later)?;
            let mu = later.mu.ok_or("a message was not sealed")?;
            unsigned.push((number, topic, bytes, key, mu));
        }
        let mut jobs: Vec<SignJob<'_, P>> = Vec::with_capacity(unsigned.len());
        for (.., key, mu) in &unsigned {
            jobs.push(SignJob { key, mu, rnd: [0; 32], signature: None });
        }
        CpuEngine::new().sign(&mut jobs);
        let signatures: Vec<_> = jobs.into_iter().map(|job| job.signature).collect();
        let mut signed = Vec::with_capacity(numbers.len());
        for ((number, topic, mut bytes, ..), signature) in unsigned.into_iter().zip(signatures) {
            let signature = signature.and_then(Result::ok).ok_or("a signature could not be made")?;
            let at = bytes.len() - level.signature_len();
            bytes[at..].copy_from_slice(signature.encode());
            signed.push(self.packet(number, topic, bytes));
        }
        Ok(signed)
    }

    fn tag(&self, number: u64) -> Result<Signed, String> {
        let key = MacKey::from_bytes(&seed(self.device_of(number)));
        let (topic, bytes) = self.sealed(number, &mut Tagger(&key))?;
        Ok(self.packet(number, topic, bytes))
    }

    /// A message's topic and its envelope.
    fn sealed(&self, number: u64, signer: &mut impl Signer) -> Result<(String, Vec<u8>), String> {
        let fault = |why: sealstone_mqtt::Error| format!("a message could not be sealed: {why}");
        let topic = topic(self.device_of(number));
        let mut payload = [0; PAYLOAD];
        payload[..8].copy_from_slice(&number.to_be_bytes());
        let named = Topic::new(&topic).map_err(fault)?;
        let rising = u32::try_from(number / self.devices as u64).unwrap_or(u32::MAX);
        let message = Message {
            key_id: KEY,
            number: Some(Number { epoch: 1, sequence: rising }),
            time: now(),
            ..Message::new(named, &payload)
        };
        let mut bytes = vec![0; 256 + PAYLOAD + signer.by().len()];
        let len = seal::seal(Form::V1, &message, signer, &mut bytes).map_err(fault)?;
        bytes.truncate(len);
        Ok((topic, bytes))
    }

    fn packet(&self, number: u64, topic: String, bytes: Vec<u8>) -> Signed {
        let id = (number % 65_535 + 1) as u16;
        let publish = Publish { qos: Qos::AtLeastOnce, topic, id, payload: bytes, ..Publish::default() };
        let connection = self.device_of(number) % CONNECTIONS;
        Signed { connection, packet: Packet::Publish(Box::new(publish)) }
    }

    fn device_of(&self, number: u64) -> usize {
        (number % self.devices as u64) as usize
    }

    fn entry(&self, device: usize) -> Entry {
        let (mut keys, mut macs) = (Vec::new(), Vec::new());
        match self.by {
            By::Signature(level) => {
                let key = any::SigningKey::from_seed(level, &seed(device)).verifying_key();
                keys.push(KeyEntry::new(KEY, &key));
            }
            By::Mac => macs.push(MacEntry {
                id: KEY.0,
                state: StateName::Active,
                retired_at: None,
                file: format!("{device}.mac"),
            }),
        }
        Entry { device: device.to_string(), topics: Vec::new(), keys, macs }
    }

    /// The shared keys, where there are any.
    fn write_shared(&self, folder: &Path) -> Result<(), String> {
        let devices = if self.by == By::Mac { self.devices } else { 0 };
        (0..devices).try_for_each(|device| {
            let path = folder.join(format!("{device}.mac"));
            let mut file = File::options();
            let opened = file.write(true).create(true).truncate(true).mode(0o600).open(&path);
            let written = opened.and_then(|mut file| file.write_all(&*mac_text(&seed(device))));
            written.map_err(|why| format!("{}: {why}", path.display()))
        })
    }

    /// All devices in one file of a folder.
    pub(super) fn write_array(&self, folder: &Path) -> Result<(), String> {
        let entries: Vec<Entry> = (0..self.devices).map(|device| self.entry(device)).collect();
        make(folder)?;
        self.write_shared(folder)?;
        write(&folder.join("all.json"), &serde_json::to_string(&entries).map_err(|why| why.to_string())?)
    }

    /// A file for each device.
    pub(super) fn write_files(&self, folder: &Path) -> Result<(), String> {
        make(folder)?;
        (0..self.devices).try_for_each(|device| self.write_file(folder, device))
    }

    /// Writes the first device's file anew.
    pub(super) fn touch(&self, folder: &Path) -> Result<(), String> {
        self.write_file(folder, 0)
    }

    fn write_file(&self, folder: &Path, device: usize) -> Result<(), String> {
        let text = serde_json::to_string(&self.entry(device)).map_err(|why| why.to_string())?;
        // A reader sees the old one or the new one.
        let (beside, path) = (folder.join("new"), folder.join(format!("{device}.json")));
        write(&beside, &text)?;
        std::fs::rename(&beside, &path).map_err(|why| format!("{}: {why}", path.display()))
    }
}

/// Notes what is to be signed, and leaves the seal for a batch.
struct Later<'a, P: ParameterSet> {
    level: Level,
    key: &'a ExpandedSigningKey<P>,
    mu: Option<Mu>,
}

impl<P: ParameterSet> Signer for Later<'_, P> {
    fn by(&self) -> By {
        By::Signature(self.level)
    }

    fn seal(&mut self, covered: &Covered<'_>, _: &mut [u8]) -> Result<(), sealstone_mqtt::Error> {
        self.mu = Some(seal::mu(covered, |ctx| self.key.message(ctx)));
        Ok(())
    }
}

/// The number in a payload.
pub(super) fn number_of(payload: &[u8]) -> Option<u64> {
    payload.first_chunk().map(|bytes| u64::from_be_bytes(*bytes))
}

fn topic(device: usize) -> String {
    format!("device/{device}/telemetry/t")
}

/// Different for each device, the same in each run.
fn seed(device: usize) -> [u8; 32] {
    let mut seed = *b"the seed of a device, 0000000000";
    seed[22..30].copy_from_slice(&(device as u64).to_be_bytes());
    seed
}

fn now() -> UnixMillis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMillis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn make(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|why| format!("{}: {why}", folder.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|why| format!("{}: {why}", path.display()))
}
