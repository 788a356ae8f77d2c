//! Keys that devices announced and the gateway confirmed: an overlay on the directory, whose files stay the operator's.
//!
//! A learned key follows from a key of the directory, its root: as long as the directory has that one, or the learned key
//! itself, or the one before it holds, it holds. So a device that is taken out, or made anew under the same name, takes with it what was learned of it.
//! Where the directory has the same id with another key, the directory's counts, and nothing that was learned since.

use std::collections::BTreeMap;
use std::sync::Arc;

use sealstone_mldsa::{Level, Shake256};

use super::directory::{Device, Directory, Key};
use crate::message::{KeyId, UnixMillis};

/// Learned keys of one level of a device that are kept; the oldest one goes. So a device that announces without end fills no disk.
pub const KEPT: usize = 4;

/// What was learned, by device.
#[derive(Debug, Default)]
pub struct Learned {
    devices: BTreeMap<Box<str>, Vec<LearnedKey>>,
}

/// A key that was learned.
#[derive(Clone, Debug)]
pub struct LearnedKey {
    /// The key.
    pub key: Arc<Key>,
    /// When it was confirmed first.
    pub confirmed: UnixMillis,
    /// From when on the keys of its level before it do not count.
    pub before_until: UnixMillis,
    /// SHAKE256 of the directory's key that it follows from.
    pub root: [u8; 32],
    /// Whether the directory still has what it follows from, and nothing that contradicts it.
    holds: bool,
}

impl LearnedKey {
    /// One that holds.
    pub fn new(key: Arc<Key>, confirmed: UnixMillis, before_until: UnixMillis, root: [u8; 32]) -> Self {
        LearnedKey { key, confirmed, before_until, root, holds: true }
    }

    /// Whether it counts as far as the directory goes.
    pub fn holds(&self) -> bool {
        self.holds
    }
}

impl Learned {
    /// A key of a device that the directory may not have.
    pub fn key(&self, device: &str, id: KeyId) -> Option<&Arc<Key>> {
        self.held(device).find(|learned| learned.key.id == id).map(|learned| &learned.key)
    }

    /// From when on a key does not count because a later one of its level was confirmed.
    pub fn over_at(&self, device: &str, key: &Key) -> Option<UnixMillis> {
        let later = self.held(device).filter(|later| later.key.level == key.level && later.key.id > key.id);
        later.map(|later| later.before_until).min()
    }

    /// The latest key of a level that was learned.
    pub fn newest(&self, device: &str, level: Level) -> Option<&LearnedKey> {
        self.held(device).filter(|learned| learned.key.level == level).max_by_key(|learned| learned.key.id)
    }

    /// The learned keys of a device.
    pub fn keys(&self, device: &str) -> impl Iterator<Item = &Arc<Key>> {
        self.held(device).map(|learned| &learned.key)
    }

    /// Whether somebody's learned key is this one, held or not.
    pub fn has(&self, public: &[u8]) -> bool {
        self.devices.values().flatten().any(|learned| learned.key.public() == public)
    }

    /// All of them, by device and in the order of confirmation.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &LearnedKey)> {
        self.devices.iter().flat_map(|(device, keys)| keys.iter().map(|learned| (&**device, learned)))
    }

    /// Adds a key. Those of the level with its id or a later one are of a device that is no more; the oldest goes where there
    /// are too many, and those before it stay over.
    pub fn add(&mut self, device: &str, learned: LearnedKey) {
        let level = learned.key.level;
        let keys = self.devices.entry(device.into()).or_default();
        keys.retain(|old| old.key.level != level || old.key.id < learned.key.id);
        keys.push(learned);
        let mut of_level = keys.iter().enumerate().filter(|(_, kept)| kept.key.level == level);
        let (first, count) = (of_level.next().map(|(at, _)| at), 1 + of_level.count());
        if let Some(first) = first.filter(|_| count > KEPT) {
            let gone = keys.remove(first);
            if let Some(next) = keys.iter_mut().find(|kept| kept.key.level == level) {
                next.before_until = next.before_until.min(gone.before_until);
            }
        }
    }

    /// Holds everything to a directory. Returns the keys that it contradicts.
    pub fn reconcile(&mut self, directory: &Directory) -> Vec<(Box<str>, KeyId)> {
        let mut contradicted = Vec::new();
        for (name, keys) in &mut self.devices {
            let known = directory.device(name);
            // A level whose chain is broken is broken from there on; what follows a key that holds, holds.
            let (mut broken, mut last) = ([false; 3], [None; 3]);
            for learned in keys {
                let found = known.and_then(|known| known.key(learned.key.id));
                let same = found.map(|found| is_same(found, &learned.key));
                if same == Some(false) {
                    contradicted.push((name.clone(), learned.key.id));
                    broken[learned.key.level as usize] = true;
                }
                let level = learned.key.level as usize;
                let follows =
                    last[level].is_some_and(|KeyId(last)| last.checked_add(1) == Some(learned.key.id.0));
                let rooted = || known.is_some_and(|known| has_root(known, &learned.root));
                learned.holds = !broken[level] && (same == Some(true) || follows || rooted());
                last[level] = learned.holds.then_some(learned.key.id);
            }
        }
        contradicted
    }

    fn held(&self, device: &str) -> impl Iterator<Item = &LearnedKey> {
        self.devices.get(device).into_iter().flatten().filter(|learned| learned.holds)
    }
}

/// What a root is known by.
pub fn root(key: &Key) -> [u8; 32] {
    Shake256::new().and(key.public()).finish()
}

fn has_root(known: &Device, wanted: &[u8; 32]) -> bool {
    known.keys().iter().any(|key| root(key) == *wanted)
}

/// Whether two keys are one, whatever their states.
pub fn is_same(one: &Key, other: &Key) -> bool {
    one.level == other.level && one.public() == other.public()
}
