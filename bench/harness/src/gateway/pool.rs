//! Devices whose keys come from seeds, and messages that they have signed before the clock starts.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use sealstone_mldsa::{
    CpuEngine, Engine, ExpandedSigningKey, Level, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet, SignJob,
    SigningKey, any,
};
use sealstone_mqtt::form::{By, Covered};
use sealstone_mqtt::gateway::directory::{Entry, KeyEntry};
use sealstone_mqtt::gateway::wire::{Packet, Publish, Qos};
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
    level: Level,
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
    pub(super) fn new(level: Level, devices: usize) -> Self {
        Pool { level, devices, signed: 0 }
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
        let batches = numbers.chunks(BATCH).map(|batch| match self.level {
            Level::MlDsa44 => self.sign_batch::<MlDsa44>(batch),
            Level::MlDsa65 => self.sign_batch::<MlDsa65>(batch),
            Level::MlDsa87 => self.sign_batch::<MlDsa87>(batch),
        });
        Ok(batches.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    fn sign_batch<P: ParameterSet>(&self, numbers: &[u64]) -> Result<Vec<Signed>, String> {
        let fault = |why: sealstone_mqtt::Error| format!("a message could not be signed: {why}");
        let mut unsigned = Vec::with_capacity(numbers.len());
        for &number in numbers {
            let device = self.device_of(number);
            let key = SigningKey::<P>::from_seed(&seed(device)).expand();
            let topic = topic(device);
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
            let mut later = Later { level: self.level, key: &key, mu: None };
            let mut bytes = vec![0; 256 + PAYLOAD + self.level.signature_len()];
            let len = seal::seal(Form::V1, &message, &mut later, &mut bytes).map_err(fault)?;
            bytes.truncate(len);
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
            let at = bytes.len() - self.level.signature_len();
            bytes[at..].copy_from_slice(signature.encode());
            let id = (number % 65_535 + 1) as u16;
            let publish = Publish { qos: Qos::AtLeastOnce, topic, id, payload: bytes, ..Publish::default() };
            let connection = self.device_of(number) % CONNECTIONS;
            signed.push(Signed { connection, packet: Packet::Publish(Box::new(publish)) });
        }
        Ok(signed)
    }

    fn device_of(&self, number: u64) -> usize {
        (number % self.devices as u64) as usize
    }

    fn entry(&self, device: usize) -> Entry {
        let key = any::SigningKey::from_seed(self.level, &seed(device)).verifying_key();
        Entry {
            device: device.to_string(),
            topics: Vec::new(),
            keys: vec![KeyEntry::new(KEY, &key)],
            macs: Vec::new(),
        }
    }

    /// All devices in one file of a folder.
    pub(super) fn write_array(&self, folder: &Path) -> Result<(), String> {
        let entries: Vec<Entry> = (0..self.devices).map(|device| self.entry(device)).collect();
        make(folder)?;
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
