//! What was learned of devices beside a directory that changes.

use crate::negative::world::public;
use sealstone_mldsa::Level;
use sealstone_mqtt::gateway::Directory;
use sealstone_mqtt::gateway::directory::{Entry, KeyEntry};
use sealstone_mqtt::gateway::known::{Change, Known};
use sealstone_mqtt::gateway::learned::{KEPT, LearnedKey, root};
use sealstone_mqtt::{KeyId, UnixMillis};
use std::sync::Arc;

const LEVEL: Level = Level::MlDsa44;

/// A directory in which device 7 has keys of the level: id and seed.
fn directory(keys: &[(u16, u8)]) -> Directory {
    let keys = keys.iter().map(|(id, seed)| KeyEntry::new(KeyId(*id), &public(LEVEL, *seed))).collect();
    let entries = [Entry { device: "7".into(), topics: vec![], keys, macs: vec![] }];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("devices.json");
    std::fs::write(&path, serde_json::to_string(&entries).unwrap()).unwrap();
    Directory::load(&path).unwrap()
}

/// Device 7 learned a key that follows from another one, and the ones before it count until a time.
fn learn(known: &mut Known, (id, seed): (u16, u8), from: (u16, u8), until: u64) {
    let of =
        |(id, seed)| directory(&[(id, seed)]).device("7").unwrap().key(KeyId(id)).map(Arc::clone).unwrap();
    let learned = LearnedKey::new(of((id, seed)), UnixMillis(1), UnixMillis(until), root(&of(from)));
    known.apply(Change::Learned("7".into(), learned));
}

fn holds(known: &Known, id: u16) -> bool {
    known.learned.key("7", KeyId(id)).is_some()
}

fn over_at(known: &Known, (id, seed): (u16, u8)) -> Option<u64> {
    let directory = directory(&[(id, seed)]);
    known.learned.over_at("7", directory.device("7").unwrap().key(KeyId(id)).unwrap()).map(|at| at.0)
}

#[test]
fn a_device_that_is_made_anew_has_nothing_of_the_one_before() {
    let mut known = Known::default();
    learn(&mut known, (4402, 2), (4401, 1), 100);
    learn(&mut known, (4403, 3), (4401, 1), 200);
    assert_eq!(known.learned.reconcile(&directory(&[(4401, 1)])), []);
    assert!(holds(&known, 4402) && holds(&known, 4403));
    // Made anew under the same name; gone; there again, as after a directory that was copied in pieces.
    assert_eq!(known.learned.reconcile(&directory(&[(4401, 9)])), []);
    assert!(!holds(&known, 4402) && !holds(&known, 4403));
    assert_eq!(over_at(&known, (4401, 9)), None, "the new key counts");
    known.learned.reconcile(&Directory::default());
    assert!(!holds(&known, 4402));
    known.learned.reconcile(&directory(&[(4401, 1)]));
    assert!(holds(&known, 4403));
    // What the new one announces takes the place of what the one before had.
    known.learned.reconcile(&directory(&[(4401, 9)]));
    learn(&mut known, (4402, 8), (4401, 9), 300);
    known.learned.reconcile(&directory(&[(4401, 9)]));
    assert!(holds(&known, 4402) && !holds(&known, 4403));
}

#[test]
fn the_directory_is_right_where_both_have_an_id() {
    let mut known = Known::default();
    learn(&mut known, (4402, 2), (4401, 1), 100);
    learn(&mut known, (4403, 3), (4401, 1), 200);
    // Written down by the operator, with the first key left out: still known, and still over.
    assert_eq!(known.learned.reconcile(&directory(&[(4402, 2)])), []);
    assert!(holds(&known, 4402) && holds(&known, 4403), "the second one follows the first");
    assert_eq!(over_at(&known, (4401, 1)), Some(100));
    // Another key: what was learned there, and what followed, does not count.
    let found = known.learned.reconcile(&directory(&[(4401, 1), (4402, 9)]));
    assert_eq!(found, [("7".into(), KeyId(4402))]);
    assert!(!holds(&known, 4402) && !holds(&known, 4403));
    assert_eq!(over_at(&known, (4401, 1)), None);
}

#[test]
fn the_oldest_goes_and_what_was_over_stays_over() {
    let mut known = Known::default();
    for at in 1..=10_u8 {
        learn(&mut known, (4401 + u16::from(at), 1 + at), (4401, 1), 100 * u64::from(at));
    }
    assert_eq!(known.learned.iter().count(), KEPT);
    assert!(!holds(&known, 4407) && holds(&known, 4408));
    assert_eq!(over_at(&known, (4401, 1)), Some(100));
    assert_eq!(over_at(&known, (4408, 8)), Some(800));
    assert_eq!(over_at(&known, (4411, 11)), None);
}
