//! What is on the disk after a crash, at any byte.

use crate::negative::orders;
use crate::negative::world::World;
use sealstone_mqtt::gateway::Error;
use sealstone_mqtt::gateway::state::Store;
use sealstone_mqtt::gateway::verify::{Judge, Seen};
use sealstone_mqtt::gateway::wire::{Publish, Qos};
use sealstone_mqtt::replay::Replay;
use sealstone_mqtt::{KeyId, Number, UnixMillis};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

fn number(sequence: u32) -> Number {
    Number { epoch: 1, sequence }
}

fn copy(text: &str) -> Publish {
    Publish { qos: Qos::ExactlyOnce, topic: "clean/a".into(), payload: text.into(), ..Publish::default() }
}

fn taken(store: &Store, sequence: u32) -> bool {
    store.check("7", KeyId(1), number(sequence)) == Err(Replay::Seen)
}

fn accept(store: &mut Store, sequence: u32) -> u16 {
    store.accept("7", KeyId(1), number(sequence)).unwrap();
    store.owe(copy(&sequence.to_string()), |_| false).unwrap()
}

/// A folder that is its owner's alone.
fn private() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    folder
}

/// What opening a folder comes to once nobody holds it. A test beside this one starts a broker now and then, and between fork
/// and exec that child has our lock open too.
fn opening(folder: &Path) -> Result<Store, Error> {
    for _ in 0..500 {
        match Store::open(folder) {
            Err(cause) if cause.to_string().contains("another gateway") => {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            done => return done,
        }
    }
    panic!("somebody holds {}", folder.display())
}

fn opened(folder: &Path) -> Store {
    opening(folder).unwrap()
}

/// A folder with the same files.
fn copied(from: &Path) -> tempfile::TempDir {
    let to = private();
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.path().join(file.file_name())).unwrap();
    }
    to
}

#[test]
fn what_is_committed_is_there_after_a_crash_and_nothing_else() {
    let folder = private();
    let mut store = opened(folder.path());
    let (first, second) = (accept(&mut store, 1), accept(&mut store, 2));
    assert!(store.received(second) && store.done(first) && !store.done(first));
    store.accept_digest(&[5; 64], NOW, NOW).unwrap();
    store.commit(NOW).unwrap();
    accept(&mut store, 3);
    let crashed = copied(folder.path());
    let mut store = opened(crashed.path());
    assert!(taken(&store, 1) && taken(&store, 2) && !taken(&store, 3));
    let owed: Vec<_> =
        store.outbox().map(|owed| (owed.publish.id, owed.publish.payload.clone(), owed.received)).collect();
    assert_eq!(owed, [(second, b"2".to_vec(), true)]);
    assert_eq!(store.accept_digest(&[5; 64], NOW, NOW), Err(Replay::Seen));
    assert_eq!(store.accept_digest(&[5; 64], NOW, UnixMillis(NOW.0 + 1)), Ok(()));
}

/// Two commits; the file is cut at each byte of the second.
#[test]
fn a_torn_tail_is_as_if_it_had_not_been_written() {
    let folder = private();
    let mut store = opened(folder.path());
    accept(&mut store, 1);
    store.commit(NOW).unwrap();
    let journal = folder.path().join("journal-0");
    let whole = fs::metadata(&journal).unwrap().len();
    accept(&mut store, 2);
    store.commit(NOW).unwrap();
    let bytes = fs::read(&journal).unwrap();
    for cut in whole..bytes.len() as u64 {
        let crashed = copied(folder.path());
        fs::write(crashed.path().join("journal-0"), &bytes[..cut as usize]).unwrap();
        let mut store = opened(crashed.path());
        assert!(taken(&store, 1) && !taken(&store, 2), "cut at {cut}");
        accept(&mut store, 2);
        store.commit(NOW).unwrap();
        drop(store);
        assert!(taken(&opened(crashed.path()), 2), "cut at {cut}, then written to");
    }
}

#[test]
fn damage_is_not_taken_for_a_torn_tail() {
    let folder = private();
    let mut store = opened(folder.path());
    for sequence in 0..3 {
        accept(&mut store, sequence);
        store.commit(NOW).unwrap();
    }
    let crashed = copied(folder.path());
    let journal = crashed.path().join("journal-0");
    let mut bytes = fs::read(&journal).unwrap();
    bytes[12] ^= 1;
    fs::write(&journal, bytes).unwrap();
    let refused = opening(crashed.path()).unwrap_err();
    assert!(
        matches!(refused, Error::Data { .. }) && refused.to_string().contains("damaged at byte 0"),
        "{refused}"
    );
}

#[test]
fn a_snapshot_has_everything() {
    let folder = private();
    let mut store = opened(folder.path());
    for sequence in 0..2000 {
        let id = accept(&mut store, sequence);
        if sequence % 3 > 0 {
            store.received(id);
        }
        if sequence % 3 > 1 {
            store.done(id);
        }
    }
    store.accept_digest(&[5; 64], NOW, NOW).unwrap();
    store.commit(NOW).unwrap();
    store.compact(NOW).unwrap();
    accept(&mut store, 5000);
    store.commit(NOW).unwrap();
    let owed = |store: &Store| -> Vec<_> {
        store.outbox().map(|owed| (owed.publish.id, owed.publish.payload.clone(), owed.received)).collect()
    };
    let before = owed(&store);
    assert!(!folder.path().join("journal-0").exists());
    let crashed = copied(folder.path());
    let mut again = opened(crashed.path());
    assert_eq!(owed(&again), before);
    assert!(taken(&again, 5000) && !taken(&again, 4999));
    assert_eq!(again.check("7", KeyId(1), number(1999)), Err(Replay::TooOld));
    assert_eq!(again.accept_digest(&[5; 64], NOW, NOW), Err(Replay::Seen));
    // Without its journal a snapshot is not taken for the whole.
    fs::remove_file(crashed.path().join("journal-1")).unwrap();
    drop(again);
    assert!(opening(crashed.path()).is_err());
}

#[test]
fn a_data_directory_belongs_to_one_gateway_and_to_nobody_else() {
    let folder = private();
    let store = opened(folder.path());
    assert!(Store::open(folder.path()).unwrap_err().to_string().contains("another gateway"));
    drop(store);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(opening(folder.path()).unwrap_err().to_string().contains("0755"));
}

/// Identifiers go round, and none is given twice at a time.
#[test]
fn identifiers_are_not_given_twice() {
    let folder = private();
    let mut store = opened(folder.path());
    let kept = store.owe(copy("kept"), |_| false).unwrap();
    for _ in 0..70_000 {
        let id = store.owe(copy("x"), |id| id == 9).unwrap();
        assert!(id != 0 && id != kept && id != 9);
        assert!(store.done(id));
    }
}

/// Halves are there after a restart, after a snapshot too, until they are released; a frame that is torn leaves none behind.
#[test]
fn halves_wait_on_the_disk() {
    let folder = private();
    let half = |text: &str| {
        let (qos, id) = (Qos::AtLeastOnce, 7);
        Arc::new(Publish { qos, id, topic: "device/7/a".into(), payload: text.into(), ..Publish::default() })
    };
    let there = |store: &Store| -> Vec<(u64, Vec<u8>)> {
        store.halves().map(|(number, half)| (number, half.payload.clone())).collect()
    };
    let mut store = opened(folder.path());
    for (number, text) in [(3, "a"), (4, "b"), (9, "c")] {
        assert!(store.hold(number, &half(text)) && store.must_commit());
    }
    store.commit(NOW).unwrap();
    let unwritten = Publish { id: 0, ..(*half("d")).clone() };
    assert!(!store.hold(10, &Arc::new(unwritten)));
    drop(store);
    for compact in [false, true] {
        let mut store = opened(folder.path());
        assert_eq!(there(&store), [(3, b"a".to_vec()), (4, b"b".to_vec()), (9, b"c".to_vec())]);
        if compact {
            store.compact(NOW).unwrap();
        }
    }
    // Together with what it became, in one frame.
    let mut store = opened(folder.path());
    store.release(4);
    accept(&mut store, 5);
    let before = copied(folder.path());
    store.commit(NOW).unwrap();
    drop(store);
    let store = opened(folder.path());
    assert_eq!((there(&store).len(), store.outbox_len(), taken(&store, 5)), (2, 1, true));
    let store = opened(before.path());
    assert_eq!((there(&store).len(), store.outbox_len(), taken(&store, 5)), (3, 0, false));
}

/// A key that was learned, a template and what was let go of it are there after a crash at any byte, or nothing of their frame
/// is: neither the number nor the copy. A snapshot has all of it too.
#[test]
fn what_a_message_changed_is_in_the_frame_of_its_number() {
    let folder = private();
    let mut store = opened(folder.path());
    store.commit(NOW).unwrap();
    let (world, key) = (World::new(), KeyId(8702));
    let config = world.config(orders::CONFIRM);
    let judge = Judge { rules: &config.rules().unwrap(), directory: &world.directory };
    for publish in orders::changing() {
        let passed = judge.judge(&Arc::new(publish), &mut store, NOW).unwrap();
        store.owe(copy(&passed.topic), |_| false).unwrap();
    }
    store.commit(NOW).unwrap();
    let told = |store: &Store| {
        let taken: Vec<u16> = store.known().templates.iter().flat_map(|(_, kept)| kept.taken()).collect();
        (store.known().learned.key("r", key).is_some(), taken, store.outbox_len())
    };
    assert_eq!(told(&store), (true, vec![1], 3));
    let journal = fs::read(folder.path().join("journal-0")).unwrap();
    for len in (0..journal.len()).step_by(37).chain([journal.len() - 1, journal.len()]) {
        let crashed = copied(folder.path());
        fs::write(crashed.path().join("journal-0"), &journal[..len]).unwrap();
        let found = told(&opened(crashed.path()));
        let expected = if len == journal.len() { (true, vec![1], 3) } else { (false, vec![], 0) };
        assert_eq!(found, expected, "{len} of {} bytes", journal.len());
    }
    store.compact(NOW).unwrap();
    assert_eq!(told(&opened(copied(folder.path()).path())), (true, vec![1], 3));
}
