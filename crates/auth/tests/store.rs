//! The store's contract, on SQLite in memory and in a file.

use std::sync::Arc;

use sealstone_auth::store::{Kind, NewRecord, Sqlite, Store, Use, Version, Write};
use sealstone_jose::UnixSeconds;

use crate::support::START;

const NOW: UnixSeconds = UnixSeconds(START);

fn record(kind: Kind, id: &str, end: Option<u64>, body: &str) -> NewRecord {
    NewRecord {
        kind,
        id: id.into(),
        expires_at: end.map(|after| UnixSeconds(START + after)),
        body: body.into(),
    }
}

fn after(seconds: u64) -> UnixSeconds {
    UnixSeconds(START + seconds)
}

fn done(write: Write) -> Version {
    match write {
        Write::Done(version) => version,
        Write::Refused => panic!("refused"),
    }
}

#[tokio::test]
async fn insert_only_if_absent() {
    let store = Sqlite::in_memory().unwrap();
    assert_eq!(
        store.insert(record(Kind::Client, "a", None, "1"), NOW).await.unwrap(),
        Write::Done(Version(1))
    );
    assert_eq!(store.insert(record(Kind::Client, "a", None, "2"), NOW).await.unwrap(), Write::Refused);
    assert_eq!(store.read(Kind::Client, "a", NOW).await.unwrap().unwrap().body, b"1");
    assert_eq!(store.read(Kind::SigningKey, "a", NOW).await.unwrap(), None, "kinds are apart");
}

#[tokio::test]
async fn a_refused_write_leaves_no_trace_in_the_versions() {
    let store = Sqlite::in_memory().unwrap();
    let version = done(store.insert(record(Kind::Client, "a", None, "1"), NOW).await.unwrap());
    assert_eq!(store.insert(record(Kind::Client, "a", None, "2"), NOW).await.unwrap(), Write::Refused);
    assert_eq!(store.remove(Kind::Client, "b", version).await.unwrap(), Write::Refused);
    assert_eq!(store.versions().await.unwrap().clients, version);
}

#[tokio::test]
async fn an_ended_record_counts_as_absent() {
    let store = Sqlite::in_memory().unwrap();
    done(store.insert(record(Kind::Revocation, "j", Some(10), ""), NOW).await.unwrap());
    assert!(store.read(Kind::Revocation, "j", after(9)).await.unwrap().is_some());
    assert!(store.read(Kind::Revocation, "j", after(10)).await.unwrap().is_none());
    assert!(store.list(Kind::Revocation, Version::ZERO, after(10)).await.unwrap().is_empty());
    let again = record(Kind::Revocation, "j", Some(20), "");
    assert_eq!(store.insert(again.clone(), after(9)).await.unwrap(), Write::Refused);
    assert_eq!(store.insert(again, after(10)).await.unwrap(), Write::Done(Version(2)));
}

#[tokio::test]
async fn replace_and_remove_demand_the_version() {
    let store = Sqlite::in_memory().unwrap();
    let first = done(store.insert(record(Kind::Client, "a", None, "1"), NOW).await.unwrap());
    let second = done(store.replace(record(Kind::Client, "a", None, "2"), first, NOW).await.unwrap());
    assert_eq!(
        store.replace(record(Kind::Client, "a", None, "3"), first, NOW).await.unwrap(),
        Write::Refused
    );
    assert_eq!(store.remove(Kind::Client, "a", first).await.unwrap(), Write::Refused);
    assert_eq!(store.read(Kind::Client, "a", NOW).await.unwrap().unwrap().body, b"2");
    done(store.remove(Kind::Client, "a", second).await.unwrap());
    // A record made anew never has a version that its forerunner had.
    let third = done(store.insert(record(Kind::Client, "a", None, "4"), NOW).await.unwrap());
    assert!(third > second);
    assert_eq!(
        store.replace(record(Kind::Client, "a", None, "5"), second, NOW).await.unwrap(),
        Write::Refused
    );
}

#[tokio::test]
async fn everything_after_a_version_is_listed_in_order() {
    let store = Sqlite::in_memory().unwrap();
    for id in ["a", "b", "c"] {
        done(store.insert(record(Kind::Revocation, id, Some(10), ""), NOW).await.unwrap());
    }
    let ids =
        |records: Vec<sealstone_auth::store::Record>| records.into_iter().map(|r| r.id).collect::<Vec<_>>();
    assert_eq!(ids(store.list(Kind::Revocation, Version::ZERO, NOW).await.unwrap()), ["a", "b", "c"]);
    assert_eq!(ids(store.list(Kind::Revocation, Version(2), NOW).await.unwrap()), ["c"]);
    assert_eq!(store.versions().await.unwrap().revocations, Version(3));
}

#[tokio::test]
async fn consume_once_then_again_then_absent() {
    let store = Sqlite::in_memory().unwrap();
    done(store.insert(record(Kind::SingleUse, "code", Some(60), "x"), NOW).await.unwrap());
    let Use::First(first) = store.consume(Kind::SingleUse, "code", after(1)).await.unwrap() else { panic!() };
    assert_eq!((first.body.as_slice(), first.used_at), (&b"x"[..], Some(after(1))));
    let Use::Again(again) = store.consume(Kind::SingleUse, "code", after(2)).await.unwrap() else { panic!() };
    assert_eq!(again.used_at, Some(after(1)), "the time of the first use stays");
    assert_eq!(store.consume(Kind::SingleUse, "code", after(60)).await.unwrap(), Use::Absent);
    assert_eq!(store.consume(Kind::SingleUse, "other", NOW).await.unwrap(), Use::Absent);
}

#[tokio::test]
async fn an_ended_value_cannot_be_consumed() {
    let store = Sqlite::in_memory().unwrap();
    done(store.insert(record(Kind::SingleUse, "code", Some(60), "x"), NOW).await.unwrap());
    assert_eq!(store.consume(Kind::SingleUse, "code", after(60)).await.unwrap(), Use::Absent);
}

/// Two stores on one file stand for two processes; many tasks on each race for the same values.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_race_for_one_use_has_one_winner() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.sqlite");
    let stores = [Arc::new(Sqlite::open(&path).unwrap()), Arc::new(Sqlite::open(&path).unwrap())];
    for round in 0..20 {
        let id = format!("code-{round}");
        done(stores[0].insert(record(Kind::SingleUse, &id, Some(60), "x"), NOW).await.unwrap());
        let racers: Vec<_> = (0..32)
            .map(|racer| {
                let (store, id) = (stores[racer % 2].clone(), id.clone());
                tokio::spawn(async move { store.consume(Kind::SingleUse, &id, NOW).await.unwrap() })
            })
            .collect();
        let mut winners = 0;
        for racer in racers {
            match racer.await.unwrap() {
                Use::First(_) => winners += 1,
                Use::Again(_) => {}
                Use::Absent => panic!("the value was there"),
            }
        }
        assert_eq!(winners, 1, "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_race_to_insert_has_one_winner() {
    let store = Arc::new(Sqlite::in_memory().unwrap());
    let racers: Vec<_> = (0..64)
        .map(|racer| {
            let store = store.clone();
            tokio::spawn(async move {
                store
                    .insert(record(Kind::SigningKey, "ES256/1", None, &racer.to_string()), NOW)
                    .await
                    .unwrap()
            })
        })
        .collect();
    let mut winners = 0;
    for racer in racers {
        winners += usize::from(racer.await.unwrap() != Write::Refused);
    }
    assert_eq!(winners, 1);
}

#[tokio::test]
async fn prune_deletes_what_has_ended() {
    let store = Sqlite::in_memory().unwrap();
    for (id, end) in [("a", Some(1)), ("b", Some(2)), ("c", None)] {
        done(store.insert(record(Kind::Revocation, id, end, ""), NOW).await.unwrap());
    }
    assert_eq!(store.prune(after(1)).await.unwrap(), 1);
    assert_eq!(store.prune(after(1)).await.unwrap(), 0);
    assert_eq!(store.list(Kind::Revocation, Version::ZERO, NOW).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_file_of_a_later_version_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.sqlite");
    drop(Sqlite::open(&path).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    let refused = Sqlite::open(&path).unwrap_err();
    assert!(refused.to_string().contains("schema 99"), "{refused}");
    assert!(refused.hint().unwrap().contains("backup from before"));
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(found, 99, "nothing was changed");
}

/// The tables as schema 1 had them, word for word.
const SCHEMA_1: &str = "
    CREATE TABLE records (
      kind TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL,
      expires_at INTEGER, used_at INTEGER, body BLOB NOT NULL,
      PRIMARY KEY (kind, id)) STRICT, WITHOUT ROWID;
    CREATE INDEX records_by_version ON records (kind, version);
    CREATE INDEX records_by_end ON records (expires_at) WHERE expires_at IS NOT NULL;
    CREATE TABLE counters (kind TEXT PRIMARY KEY, latest INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    PRAGMA user_version = 1;
    INSERT INTO records VALUES ('client', 'a', 7, NULL, NULL, x'31'), ('code', 'b', 1, 1800000060, 1800000001, x'32');
    INSERT INTO counters VALUES ('client', 7);";

fn file(directory: &tempfile::TempDir, text: &str) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = directory.path().join("store.sqlite");
    rusqlite::Connection::open(&path).unwrap().execute_batch(text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path
}

/// What an earlier version of the program wrote is brought up to date where it is, and nothing of it is lost.
#[tokio::test]
async fn a_file_of_schema_1_is_brought_up_to_date() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, SCHEMA_1);
    for _ in 0..2 {
        let store = Sqlite::open(&path).unwrap();
        assert_eq!(store.read(Kind::Client, "a", NOW).await.unwrap().unwrap().body, b"1");
        assert!(
            matches!(store.consume(Kind::Code, "b", NOW).await.unwrap(), Use::Again(_)),
            "used stays used"
        );
        assert_eq!(store.versions().await.unwrap().clients, Version(7));
    }
    let store = Sqlite::open(&path).unwrap();
    assert_eq!(done(store.insert(record(Kind::Client, "c", None, ""), NOW).await.unwrap()), Version(8));
    drop(store);
    let connection = rusqlite::Connection::open(&path).unwrap();
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(
        (pragma("user_version"), pragma("application_id")),
        (2, i64::from(u32::from_be_bytes(*b"Seal")))
    );
}

/// A step that fails leaves the file as it was.
#[tokio::test]
async fn a_step_that_fails_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, "CREATE TABLE records (id TEXT);");
    let refused = Sqlite::open(&path).unwrap_err();
    assert!(refused.to_string().contains("another program"), "{refused}");
    let path = file(&directory, "PRAGMA user_version = 1; PRAGMA application_id = 77;");
    assert!(Sqlite::open(&path).is_err(), "the application id is another program's");
    let connection = rusqlite::Connection::open(&path).unwrap();
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 1);
}

/// Servers that start at once on an old file: one brings it up to date, the others find it so.
#[test]
fn an_old_file_is_opened_by_many_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, SCHEMA_1);
    let start = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                start.wait();
                Sqlite::open(&path).unwrap()
            });
        }
    });
}

#[tokio::test]
async fn a_file_that_others_may_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.sqlite");
    drop(Sqlite::open(&path).unwrap());
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(Sqlite::open(&path).unwrap_err().to_string().contains("0644"));
}

/// A value that SQLite cannot hold fails its own write and nothing else in the same commit.
#[tokio::test]
async fn a_failed_write_spares_its_neighbours() {
    let store = Sqlite::in_memory().unwrap();
    let never =
        NewRecord { expires_at: Some(UnixSeconds(u64::MAX)), ..record(Kind::Client, "bad", None, "") };
    let (bad, good) =
        tokio::join!(store.insert(never, NOW), store.insert(record(Kind::Client, "good", None, ""), NOW));
    assert!(bad.is_err());
    assert_eq!(good.unwrap(), Write::Done(Version(1)), "the failed write gave its version back");
}

/// A server and an administrator may be the first on a data directory at the same moment.
#[test]
fn stores_opened_at_once_on_no_file_all_open() {
    for _ in 0..10 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.sqlite");
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    Sqlite::open(&path).unwrap()
                });
            }
        });
    }
}
