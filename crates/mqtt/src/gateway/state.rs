//! What the gateway must not forget: which numbers it accepted, and what it owes to the readers of the clean copies.
//!
//! A verified message changes both in one commit: its number is taken, a tag is remembered, and its clean copy stands in the outbox.
//! Only then is the broker told that it arrived. The argument why nothing is lost or doubled is in docs/mqtt-gateway.md.

mod record;

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Error;
use super::directory::Directory;
use super::error::plain;
use super::journal::{Journal, frame, framed};
use super::known::{Change, Known};
use super::tags::{Named, Tagged, Tags, Tally};
use super::verify::Seen;
use super::wire::{Packet, Publish, Version};
use crate::mac::Checkpointed;
use crate::message::{KeyId, Number, UnixMillis};
use crate::replay::{Replay, Window};

use record::Record;

/// Numbers below the highest that a key's window remembers: 64 times this.
const WORDS: usize = 16;
/// A journal that is longer, and longer than what it would be written as, becomes a snapshot.
const COMPACT_AT: u64 = 4 << 20;

/// The state, in memory and on the disk.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    generation: u64,
    journal: Journal,
    memory: Memory,
    /// Records since the last commit.
    batch: Vec<u8>,
    urgent: bool,
    snapshot_len: u64,
    /// Held as long as the store is open.
    _lock: File,
}

#[derive(Debug, Default)]
struct Memory {
    windows: HashMap<(Box<str>, u16), Window<WORDS>>,
    digests: HashMap<[u8; 32], UnixMillis>,
    /// By device; what is empty is not there.
    tags: HashMap<Box<str>, Tags>,
    outbox: BTreeMap<u64, Owed>,
    places: HashMap<u16, u64>,
    /// Halves that wait for their others, in the order of arrival.
    halves: BTreeMap<u64, Arc<Publish>>,
    next_place: u64,
    last_id: u16,
    known: Known,
}

/// A clean copy on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owed {
    /// The packet, with its identifier; the same after a restart.
    pub publish: Publish,
    /// The broker has it: what is left is to release its identifier (MQTT 5.0, 4.3.3).
    pub received: bool,
}

impl Store {
    /// Opens the folder, or makes it with mode 0700. Errors: `Data`: others may look in, another process has it, damage.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let failed = |cause: std::io::Error| Error::data(folder, cause);
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        let mode = fs::metadata(folder).map_err(failed)?.permissions().mode();
        if mode & 0o077 != 0 {
            let what = format!("mode {:04o} lets others in, 0700 expected", mode & 0o7777);
            return Err(Error::Data {
                path: folder.to_owned(),
                what,
                hint: "chmod 700, and look at what is in it",
            });
        }
        let lock = create(&folder.join("lock")).map_err(failed)?;
        lock.try_lock().map_err(|_| Error::Data {
            path: folder.to_owned(),
            what: "another gateway has it open".into(),
            hint: "one data directory belongs to one gateway",
        })?;

        let mut memory = Memory::default();
        let snapshot = folder.join("snapshot");
        let (mut generation, mut snapshot_len) = (0, 0);
        if snapshot.exists() {
            let bytes = fs::read(&snapshot).map_err(|cause| Error::data(&snapshot, cause))?;
            generation = memory.read_snapshot(&bytes).ok_or_else(|| damaged(&snapshot))?;
            snapshot_len = bytes.len() as u64;
        }
        let path = journal_path(folder, generation);
        if generation > 0 && !path.exists() {
            return Err(damaged(&path));
        }
        let journal = Journal::open(&path, |content| memory.replay(content).ok_or_else(|| damaged(&path)))?;
        sync_folder(folder)?;
        // Nobody knows which of them were on their way.
        memory.outbox.values_mut().for_each(|owed| owed.publish.dup = true);
        Ok(Store {
            folder: folder.to_owned(),
            generation,
            journal,
            memory,
            batch: Vec::new(),
            urgent: false,
            snapshot_len,
            _lock: lock,
        })
    }

    /// Holds what was learned to a directory. Returns the keys that it contradicts.
    pub fn reconcile(&mut self, directory: &Directory) -> Vec<(Box<str>, KeyId)> {
        self.memory.known.learned.reconcile(directory)
    }

    /// Puts a clean copy into the outbox and gives it its packet identifier.
    /// None if all identifiers are in use: the caller keeps far below.
    pub fn owe(&mut self, mut publish: Publish, also_used: impl Fn(u16) -> bool) -> Option<u16> {
        let id = self.free_id(also_used)?;
        publish.id = id;
        self.record(Record::Owed(&publish))?;
        self.memory.owe(publish);
        Some(id)
    }

    /// A packet identifier that nothing in the outbox has, in turn.
    pub fn free_id(&mut self, also_used: impl Fn(u16) -> bool) -> Option<u16> {
        let memory = &mut self.memory;
        for _ in 0..u16::MAX {
            memory.last_id = memory.last_id.checked_add(1).unwrap_or(1);
            if !memory.places.contains_key(&memory.last_id) && !also_used(memory.last_id) {
                return Some(memory.last_id);
            }
        }
        None
    }

    /// The broker has a copy of quality 2: whether it was one of the outbox's.
    pub fn received(&mut self, id: u16) -> bool {
        let Some(owed) = self.memory.owed(id) else { return false };
        if !owed.received {
            owed.received = true;
            self.record(Record::Received(id));
        }
        true
    }

    /// A copy is delivered: whether it was one of the outbox's.
    pub fn done(&mut self, id: u16) -> bool {
        let was_there = self.memory.done(id);
        if was_there {
            self.record(Record::Done(id));
        }
        was_there
    }

    /// Half of a message waits under a number that none has. False if it cannot be written.
    pub fn hold(&mut self, number: u64, publish: &Arc<Publish>) -> bool {
        if self.record(Record::Half(number, publish)).is_none() {
            return false;
        }
        self.memory.halves.insert(number, Arc::clone(publish));
        true
    }

    /// A half waits no more.
    pub fn release(&mut self, number: u64) {
        if self.memory.halves.remove(&number).is_some() {
            self.record(Record::Released(number));
        }
    }

    /// What waits for its other half, in the order of arrival.
    pub fn halves(&self) -> impl Iterator<Item = (u64, &Arc<Publish>)> {
        self.memory.halves.iter().map(|(number, publish)| (*number, publish))
    }

    /// What is owed, in the order of acceptance.
    pub fn outbox(&self) -> impl Iterator<Item = &Owed> {
        self.memory.outbox.values()
    }

    /// The copy with an identifier.
    pub fn owed(&self, id: u16) -> Option<&Owed> {
        self.memory.outbox.get(self.memory.places.get(&id)?)
    }

    /// A copy was sent: from now on it is sent as one that may have arrived (MQTT 5.0, 3.3.1.1).
    pub fn sent(&mut self, id: u16) {
        if let Some(owed) = self.memory.owed(id) {
            owed.publish.dup = true;
        }
    }

    /// The broker has forgotten the session: what it had of the outbox counts as never sent. Something may arrive twice then, and
    /// nothing is lost.
    pub fn session_lost(&mut self) {
        for owed in self.memory.outbox.values_mut() {
            (owed.received, owed.publish.dup) = (false, false);
        }
    }

    /// How many copies are owed.
    pub fn outbox_len(&self) -> usize {
        self.memory.outbox.len()
    }

    /// Whether something waits that others must not be told before it is on the disk. That a copy is delivered can wait for
    /// the next commit: should it be lost, the broker is asked once more, and says so.
    pub fn must_commit(&self) -> bool {
        self.urgent
    }

    /// Everything since the last commit is on the disk then; one write for all of it. Errors: `Data`: nothing may be
    /// acknowledged any more.
    pub fn commit(&mut self, now: UnixMillis) -> Result<(), Error> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.journal.commit(&self.batch)?;
        self.batch.clear();
        self.urgent = false;
        if self.journal.len() > COMPACT_AT.max(2 * self.snapshot_len) {
            self.compact(now)?;
        }
        Ok(())
    }

    /// Writes everything that counts as a snapshot, and begins a new journal. A crash at any point leaves a snapshot with its
    /// journal: the new ones count from the moment that the snapshot has its name.
    pub fn compact(&mut self, now: UnixMillis) -> Result<(), Error> {
        self.memory.digests.retain(|_, until| *until >= now);
        let generation = self.generation + 1;
        let path = journal_path(&self.folder, generation);
        let _ = fs::remove_file(&path); // what a crash left
        let journal = Journal::open(&path, |_| Ok(()))?;
        sync_folder(&self.folder)?;
        let (snapshot, beside) = (self.folder.join("snapshot"), self.folder.join("snapshot.new"));
        let bytes = self.memory.snapshot(generation);
        let write = || -> std::io::Result<()> {
            let mut file = create(&beside)?;
            file.set_len(0)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&beside, &snapshot)
        };
        write().map_err(|cause| Error::data(&snapshot, cause))?;
        sync_folder(&self.folder)?;
        let _ = fs::remove_file(journal_path(&self.folder, self.generation));
        (self.generation, self.journal, self.snapshot_len) = (generation, journal, bytes.len() as u64);
        Ok(())
    }

    /// Tags that wait for longer than this for a checkpoint, by device; each is told once.
    pub fn overdue(&mut self, now: UnixMillis, within_ms: u64) -> Vec<(Box<str>, Tally)> {
        let until = UnixMillis(now.0.saturating_sub(within_ms));
        let waits = |tags: &Tags| tags.since().is_some_and(|since| since <= until);
        let due: Vec<Box<str>> = self
            .memory
            .tags
            .iter()
            .filter(|(_, tags)| waits(tags))
            .map(|(device, _)| device.clone())
            .collect();
        let tell = |device: Box<str>| {
            let tally = self.memory.overdue(&device, until);
            self.record(Record::Told(&device, until));
            (device, tally)
        };
        due.into_iter().map(tell).collect()
    }

    /// Writes down what is remembered of a device's tags.
    fn record_tags(&mut self, device: &str) {
        let empty = Tags::default();
        let tags = self.memory.tags.get(device).unwrap_or(&empty);
        self.urgent = true;
        Record::Tags(device, tags).emit(&mut self.batch);
    }

    /// That a copy is delivered, or that somebody was told, may be lost: it comes again.
    fn record(&mut self, record: Record<'_>) -> Option<()> {
        self.urgent |= !matches!(record, Record::Done(_) | Record::Told(..));
        record.emit(&mut self.batch)
    }
}

impl Seen for Store {
    fn check(&self, device: &str, key: KeyId, number: Number) -> Result<(), Replay> {
        // A look-up without a copy of the name would need a borrowed pair; the copy is short.
        self.memory.windows.get(&(device.into(), key.0)).map_or(Ok(()), |window| window.check(number))
    }

    fn accept(&mut self, device: &str, key: KeyId, number: Number) -> Result<(), Replay> {
        self.memory.accept(device, key, number)?;
        self.record(Record::Number(device, key, number));
        Ok(())
    }

    fn accept_digest(&mut self, mu: &[u8; 64], until: UnixMillis, now: UnixMillis) -> Result<(), Replay> {
        let digest = self.memory.accept_digest(mu, until, now)?;
        self.record(Record::Digest(digest, until));
        Ok(())
    }

    fn known(&self) -> &Known {
        &self.memory.known
    }

    fn change(&mut self, change: Change) {
        self.record(Record::Change(change.clone()));
        self.memory.known.apply(change);
    }

    fn admit(&self, device: &str, tagged: Tagged, named: &Named) -> bool {
        self.memory.admit(device, tagged, named)
    }

    fn accept_tag(
        &mut self,
        device: &str,
        tagged: Tagged,
        named: &Named,
        now: UnixMillis,
    ) -> Result<Tally, Replay> {
        let tally = self.memory.accept_tag(device, tagged, named, now)?;
        self.record(Record::Tag(device, tagged, *named, now));
        Ok(tally)
    }

    fn signed(&mut self, device: &str, number: Number) -> Tally {
        let tally = self.memory.signed(device, number);
        if !tally.is_empty() {
            self.record_tags(device);
        }
        tally
    }

    fn checkpoint(&mut self, device: &str, checkpoint: &Checkpointed<'_>) -> Tally {
        let tally = self.memory.checkpoint(device, checkpoint);
        self.record_tags(device);
        tally
    }
}

/// What is known beside the directory, read beside a gateway that may be running. Errors: `Data`.
pub fn read_known(folder: &Path) -> Result<Known, Error> {
    // A gateway may write a snapshot and remove the journal in between: then there is another one.
    for _ in 0..10 {
        let (mut memory, snapshot) = (Memory::default(), folder.join("snapshot"));
        let generation = match fs::read(&snapshot) {
            Ok(bytes) => memory.read_snapshot(&bytes).ok_or_else(|| damaged(&snapshot))?,
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => 0,
            Err(cause) => return Err(Error::data(&snapshot, plain(&cause))),
        };
        let path = journal_path(folder, generation);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(_) if snapshot.exists() => continue,
            Err(cause) => return Err(Error::data(&path, plain(&cause))),
        };
        let mut at = 0;
        while let Some((content, next)) = frame(&bytes, at) {
            memory.replay(content).ok_or_else(|| damaged(&path))?;
            at = next;
        }
        return Ok(memory.known);
    }
    Err(damaged(folder))
}

/// What was accepted, in memory only: for those who read and keep nothing.
#[derive(Debug, Default)]
pub struct Recent(Memory);

impl Recent {
    /// With what a gateway knows beside its directory.
    pub fn knowing(mut known: Known, directory: &Directory) -> Self {
        known.learned.reconcile(directory);
        Recent(Memory { known, ..Memory::default() })
    }
}

impl Seen for Recent {
    fn check(&self, device: &str, key: KeyId, number: Number) -> Result<(), Replay> {
        self.0.windows.get(&(device.into(), key.0)).map_or(Ok(()), |window| window.check(number))
    }

    fn accept(&mut self, device: &str, key: KeyId, number: Number) -> Result<(), Replay> {
        self.0.accept(device, key, number)
    }

    fn accept_digest(&mut self, mu: &[u8; 64], until: UnixMillis, now: UnixMillis) -> Result<(), Replay> {
        self.0.accept_digest(mu, until, now).map(drop)
    }

    fn known(&self) -> &Known {
        &self.0.known
    }

    fn change(&mut self, change: Change) {
        self.0.known.apply(change);
    }

    fn admit(&self, device: &str, tagged: Tagged, named: &Named) -> bool {
        self.0.admit(device, tagged, named)
    }

    fn accept_tag(
        &mut self,
        device: &str,
        tagged: Tagged,
        named: &Named,
        now: UnixMillis,
    ) -> Result<Tally, Replay> {
        self.0.accept_tag(device, tagged, named, now)
    }

    fn signed(&mut self, device: &str, number: Number) -> Tally {
        self.0.signed(device, number)
    }

    fn checkpoint(&mut self, device: &str, checkpoint: &Checkpointed<'_>) -> Tally {
        self.0.checkpoint(device, checkpoint)
    }
}

impl Memory {
    /// The digest that is remembered.
    fn accept_digest(
        &mut self,
        mu: &[u8; 64],
        until: UnixMillis,
        now: UnixMillis,
    ) -> Result<[u8; 32], Replay> {
        let mut digest = [0; 32];
        digest.copy_from_slice(&mu[..32]);
        match self.digests.get(&digest) {
            Some(known) if *known >= now => Err(Replay::Seen),
            _ => {
                self.digests.insert(digest, until);
                Ok(digest)
            }
        }
    }

    fn accept(&mut self, device: &str, key: KeyId, number: Number) -> Result<(), Replay> {
        self.windows.entry((device.into(), key.0)).or_insert(Window::EMPTY).accept(number)
    }

    fn admit(&self, device: &str, tagged: Tagged, named: &Named) -> bool {
        self.tags.get(device).is_none_or(|tags| tags.admit(tagged, named))
    }

    fn accept_tag(
        &mut self,
        device: &str,
        tagged: Tagged,
        named: &Named,
        now: UnixMillis,
    ) -> Result<Tally, Replay> {
        self.accept(device, tagged.key, tagged.number)?;
        Ok(self.take_tag(device, tagged, *named, now))
    }

    fn take_tag(&mut self, device: &str, tagged: Tagged, named: Named, now: UnixMillis) -> Tally {
        let tally = self.tags.entry(device.into()).or_default().take(tagged, named, now);
        self.tidy(device);
        tally
    }

    fn signed(&mut self, device: &str, number: Number) -> Tally {
        let tally = self.tags.get_mut(device).map(|tags| tags.signed(number)).unwrap_or_default();
        if !tally.is_empty() {
            self.tidy(device);
        }
        tally
    }

    fn checkpoint(&mut self, device: &str, checkpoint: &Checkpointed<'_>) -> Tally {
        let window = self.windows.get(&(device.into(), checkpoint.key_id.0));
        let is_taken = |number| window.is_some_and(|window| window.check(number).is_err());
        let tally = self.tags.entry(device.into()).or_default().reconcile(checkpoint, is_taken);
        self.tidy(device);
        tally
    }

    fn overdue(&mut self, device: &str, until: UnixMillis) -> Tally {
        self.tags.get_mut(device).map(|tags| tags.overdue(until)).unwrap_or_default()
    }

    fn tidy(&mut self, device: &str) {
        if self.tags.get(device).is_some_and(Tags::is_empty) {
            self.tags.remove(device);
        }
    }

    fn owe(&mut self, publish: Publish) {
        self.places.insert(publish.id, self.next_place);
        self.last_id = publish.id;
        self.outbox.insert(self.next_place, Owed { publish, received: false });
        self.next_place += 1;
    }

    fn owed(&mut self, id: u16) -> Option<&mut Owed> {
        self.outbox.get_mut(self.places.get(&id)?)
    }

    fn done(&mut self, id: u16) -> bool {
        self.places.remove(&id).and_then(|place| self.outbox.remove(&place)).is_some()
    }

    /// Applies the records of a frame. None if they are not records.
    fn replay(&mut self, mut content: &[u8]) -> Option<()> {
        while !content.is_empty() {
            match Record::parse(&mut content)? {
                // A number that was accepted is accepted; what the window says now does not matter.
                Record::Number(device, key, number) => drop(self.accept(device, key, number)),
                Record::Digest(digest, until) => drop(self.digests.insert(digest, until)),
                Record::OwedBytes(bytes) => match Packet::parse(Version::V5, bytes).ok()? {
                    Packet::Publish(publish) => self.owe(*publish),
                    _ => return None,
                },
                Record::HalfBytes(number, bytes) => match Packet::parse(Version::V5, bytes).ok()? {
                    Packet::Publish(publish) => drop(self.halves.insert(number, Arc::from(publish))),
                    _ => return None,
                },
                Record::Released(number) => drop(self.halves.remove(&number)),
                Record::Owed(_) | Record::Half(..) => return None,
                Record::Received(id) => self.owed(id)?.received = true,
                Record::Done(id) => drop(self.done(id)),
                Record::Window(device, key, window) => {
                    self.windows.insert((device.into(), key.0), *window);
                }
                Record::Change(change) => self.known.apply(change),
                Record::Tag(device, tagged, named, at) => {
                    let _ = self.accept(device, tagged.key, tagged.number);
                    self.take_tag(device, tagged, named, at);
                }
                Record::Tags(..) => return None,
                Record::TagsRead(device, tags) => {
                    self.tags.insert(device.into(), tags);
                    self.tidy(device);
                }
                Record::Told(device, until) => drop(self.overdue(device, until)),
            }
        }
        Some(())
    }

    /// `SSMQ`, a version, the generation of the journal that follows, and one frame of records.
    fn snapshot(&self, generation: u64) -> Vec<u8> {
        let mut records = Vec::new();
        for ((device, key), window) in &self.windows {
            Record::Window(device, KeyId(*key), Box::new(*window)).emit(&mut records);
        }
        for (digest, until) in &self.digests {
            Record::Digest(*digest, *until).emit(&mut records);
        }
        for (device, tags) in &self.tags {
            Record::Tags(device, tags).emit(&mut records);
        }
        for (number, publish) in &self.halves {
            Record::Half(*number, publish).emit(&mut records);
        }
        for change in self.known.changes() {
            Record::Change(change).emit(&mut records);
        }
        for owed in self.outbox.values() {
            Record::Owed(&owed.publish).emit(&mut records);
            if owed.received {
                Record::Received(owed.publish.id).emit(&mut records);
            }
        }
        records.push(END);
        let mut bytes = b"SSMQ\0\0\0\x01".to_vec();
        bytes.extend(generation.to_be_bytes());
        bytes.extend(framed(&records));
        bytes
    }

    fn read_snapshot(&mut self, bytes: &[u8]) -> Option<u64> {
        let (magic, rest) = bytes.split_first_chunk::<8>()?;
        let (generation, rest) = rest.split_first_chunk::<8>()?;
        let (records, end) = frame(rest, 0)?;
        let (last, records) = records.split_last()?;
        if magic != b"SSMQ\0\0\0\x01" || end != rest.len() || *last != END {
            return None;
        }
        self.replay(records)?;
        Some(u64::from_be_bytes(*generation))
    }
}

/// Behind the last record of a snapshot, which so has a byte even where there is nothing to remember.
const END: u8 = 0xff;

fn create(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// New names in a folder are on the disk then.
fn sync_folder(folder: &Path) -> Result<(), Error> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|cause| Error::data(folder, cause))
}

fn journal_path(folder: &Path, generation: u64) -> PathBuf {
    folder.join(format!("journal-{generation}"))
}

fn damaged(path: &Path) -> Error {
    Error::Data {
        path: path.to_owned(),
        what: "it is missing or damaged".into(),
        hint: "keep the folder; an empty data directory starts anew, and takes what is fresh once more",
    }
}
