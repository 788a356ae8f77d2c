//! The store on one machine: SQLite in write-ahead mode.
//!
//! One thread writes. It takes every job that waits, runs them in one transaction, commits once (one fsync for all of
//! them) and only then answers. A second thread reads on its own connection. Other processes may open the same file:
//! what they write is seen through the version counters.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, params};
use sealstone_jose::UnixSeconds;
use tokio::sync::{mpsc, oneshot};

use super::schema::migrate;
use super::{Answer, Kind, NewRecord, Record, Store, Use, Version, Versions, Write};
use crate::Error;

/// A store in one SQLite file, or in memory. Dropping it finishes what waits and closes the file.
#[derive(Debug)]
pub struct Sqlite {
    /// None in memory, where there is but one connection. First, so that it is closed first: the last connection to
    /// close folds the write-ahead log into the file, and only one that may write can.
    reader: Option<Worker>,
    writer: Worker,
}

impl Sqlite {
    /// Opens or creates the file (mode 0600) and brings its tables up to date.
    /// Errors: `StoreSchema` for a file written by a later version; `Store` for another program's file and for what
    /// SQLite refuses.
    pub fn open(path: &Path) -> Result<Self, Error> {
        create_private(path)?;
        let write = connect(path)?;
        migrate(&write)?;
        let read = connect(path)?;
        read.pragma_update(None, "query_only", true).map_err(|e| Error::store("open for reading", e))?;
        let writer = Worker::start("store-writer", write, run_writer)?;
        Ok(Self { reader: Some(Worker::start("store-reader", read, run_reader)?), writer })
    }

    /// A store that lives as long as the value, for tests and trials.
    pub fn in_memory() -> Result<Self, Error> {
        let connection = Connection::open_in_memory().map_err(|e| Error::store("open in memory", e))?;
        migrate(&connection)?;
        Ok(Self { reader: None, writer: Worker::start("store-writer", connection, run_writer)? })
    }

    fn write<T: Send + 'static>(
        &self,
        what: &'static str,
        operation: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Answer<'_, T> {
        self.writer.ask(what, operation)
    }

    fn fetch<T: Send + 'static>(
        &self,
        what: &'static str,
        operation: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Answer<'_, T> {
        self.reader.as_ref().unwrap_or(&self.writer).ask(what, operation)
    }
}

impl Store for Sqlite {
    fn versions(&self) -> Answer<'_, Versions> {
        self.fetch("read versions", |connection| {
            let mut versions = Versions::default();
            let mut statement = connection.prepare_cached("SELECT kind, latest FROM counters")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let latest = Version(row.get(1)?);
                match row.get_ref(0)?.as_str()? {
                    "client" => versions.clients = latest,
                    "revocation" => versions.revocations = latest,
                    "signing-key" => versions.signing_keys = latest,
                    "trusted-issuer" => versions.trusted_issuers = latest,
                    _ => {}
                }
            }
            Ok(versions)
        })
    }

    fn list(&self, kind: Kind, after: Version, now: UnixSeconds) -> Answer<'_, Vec<Record>> {
        self.fetch("list records", move |connection| {
            connection
                .prepare_cached(
                    "SELECT id, version, expires_at, used_at, body FROM records
                     WHERE kind = ?1 AND version > ?2 AND (expires_at IS NULL OR expires_at > ?3) ORDER BY version",
                )?
                .query_map(params![kind.name(), after.0, now.0], record)?
                .collect()
        })
    }

    fn read(&self, kind: Kind, id: &str, now: UnixSeconds) -> Answer<'_, Option<Record>> {
        let id = id.to_owned();
        self.fetch("read a record", move |connection| live(connection, kind, &id, now))
    }

    fn insert(&self, new: NewRecord, now: UnixSeconds) -> Answer<'_, Write> {
        self.write("insert a record", move |connection| {
            conditional(connection, new.kind, Version::ZERO, |version| {
                connection
                    .prepare_cached(
                        "INSERT INTO records (kind, id, version, expires_at, used_at, body)
                         VALUES (?1, ?2, ?3, ?4, NULL, ?5)
                         ON CONFLICT (kind, id) DO UPDATE SET version = excluded.version, used_at = NULL,
                           expires_at = excluded.expires_at, body = excluded.body
                         WHERE records.expires_at <= ?6",
                    )?
                    .execute(params![
                        new.kind.name(),
                        new.id,
                        version.0,
                        end(new.expires_at),
                        new.body,
                        now.0
                    ])
            })
        })
    }

    fn replace(&self, new: NewRecord, expected: Version, now: UnixSeconds) -> Answer<'_, Write> {
        self.write("replace a record", move |connection| {
            conditional(connection, new.kind, expected, |version| {
                connection
                    .prepare_cached(
                        "UPDATE records SET version = ?3, expires_at = ?4, body = ?5
                         WHERE kind = ?1 AND id = ?2 AND version = ?6 AND (expires_at IS NULL OR expires_at > ?7)",
                    )?
                    .execute(params![
                        new.kind.name(),
                        new.id,
                        version.0,
                        end(new.expires_at),
                        new.body,
                        expected.0,
                        now.0
                    ])
            })
        })
    }

    fn remove(&self, kind: Kind, id: &str, expected: Version) -> Answer<'_, Write> {
        let id = id.to_owned();
        self.write("remove a record", move |connection| {
            conditional(connection, kind, expected, |_| {
                connection
                    .prepare_cached("DELETE FROM records WHERE kind = ?1 AND id = ?2 AND version = ?3")?
                    .execute(params![kind.name(), id, expected.0])
            })
        })
    }

    fn consume(&self, kind: Kind, id: &str, now: UnixSeconds) -> Answer<'_, Use> {
        let id = id.to_owned();
        self.write("consume a record", move |connection| {
            let first = connection
                .prepare_cached(
                    "UPDATE records SET used_at = ?3
                     WHERE kind = ?1 AND id = ?2 AND used_at IS NULL AND (expires_at IS NULL OR expires_at > ?3)
                     RETURNING id, version, expires_at, used_at, body",
                )?
                .query_row(params![kind.name(), id, now.0], record)
                .optional()?;
            if let Some(first) = first {
                return Ok(Use::First(first));
            }
            Ok(live(connection, kind, &id, now)?.map_or(Use::Absent, Use::Again))
        })
    }

    fn prune(&self, now: UnixSeconds) -> Answer<'_, u64> {
        self.write("prune", move |connection| {
            let gone =
                connection.prepare_cached("DELETE FROM records WHERE expires_at <= ?1")?.execute([now.0])?;
            Ok(gone as u64)
        })
    }
}

/// Runs a conditional write with the version it will have; a refused one leaves no trace, not even in the counter.
fn conditional(
    connection: &Connection,
    kind: Kind,
    before: Version,
    write: impl FnOnce(Version) -> rusqlite::Result<usize>,
) -> rusqlite::Result<Write> {
    connection.prepare_cached("SAVEPOINT conditional")?.execute([])?;
    let written = next_version(connection, kind, before).and_then(|version| Ok((version, write(version)?)));
    // A full disk may have ended the whole transaction, and the savepoint with it.
    if !connection.is_autocommit() {
        if !matches!(written, Ok((_, 1..))) {
            connection.prepare_cached("ROLLBACK TO conditional")?.execute([])?;
        }
        connection.prepare_cached("RELEASE conditional")?.execute([])?;
    }
    Ok(match written? {
        (_, 0) => Write::Refused,
        (version, _) => Write::Done(version),
    })
}

/// A watched kind draws from its counter; any other kind counts within the record.
fn next_version(connection: &Connection, kind: Kind, before: Version) -> rusqlite::Result<Version> {
    if !kind.is_watched() {
        return Ok(Version(before.0.saturating_add(1)));
    }
    connection
        .prepare_cached(
            "INSERT INTO counters (kind, latest) VALUES (?1, 1)
             ON CONFLICT (kind) DO UPDATE SET latest = latest + 1 RETURNING latest",
        )?
        .query_row([kind.name()], |row| row.get(0))
        .map(Version)
}

fn live(connection: &Connection, kind: Kind, id: &str, now: UnixSeconds) -> rusqlite::Result<Option<Record>> {
    connection
        .prepare_cached(
            "SELECT id, version, expires_at, used_at, body FROM records
             WHERE kind = ?1 AND id = ?2 AND (expires_at IS NULL OR expires_at > ?3)",
        )?
        .query_row(params![kind.name(), id, now.0], record)
        .optional()
}

pub(super) fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    Ok(Record {
        id: row.get(0)?,
        version: Version(row.get(1)?),
        expires_at: row.get::<_, Option<u64>>(2)?.map(UnixSeconds),
        used_at: row.get::<_, Option<u64>>(3)?.map(UnixSeconds),
        body: row.get(4)?,
    })
}

fn end(expires_at: Option<UnixSeconds>) -> Option<u64> {
    expires_at.map(|at| at.0)
}

/// One operation on its way to a thread; `Err` says why it cannot even begin. Running it gives the step that answers,
/// taken once the outcome is durable.
type Job = Box<dyn FnOnce(Result<&Connection, &rusqlite::Error>) -> Reply + Send>;
type Reply = Box<dyn FnOnce(Result<(), &rusqlite::Error>) + Send>;

/// As many jobs as share one commit.
const GROUP: usize = 256;
/// As many jobs as wait before the next caller does.
const QUEUE: usize = 1024;

/// A thread with its connection and its queue.
#[derive(Debug)]
struct Worker {
    /// Taken when the worker is dropped.
    queue: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    fn start(
        name: &str,
        connection: Connection,
        run: fn(&Connection, &mut mpsc::Receiver<Job>),
    ) -> Result<Self, Error> {
        let (queue, mut waiting) = mpsc::channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || run(&connection, &mut waiting))
            .map_err(|cause| Error::store("start a thread", cause))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    fn ask<T: Send + 'static>(
        &self,
        what: &'static str,
        operation: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Answer<'_, T> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            let result = match connection {
                Ok(connection) => operation(connection).map_err(|cause| failed(what, &cause)),
                Err(cause) => Err(failed(what, cause)),
            };
            Box::new(move |committed| {
                let committed = committed.map_err(|cause| failed("commit", cause));
                // A caller that went away loses its answer, not its write.
                let _ = answer.send(result.and_then(|value| committed.map(|()| value)));
            })
        });
        Box::pin(async move {
            let closed = || Error::store(what, "the store is closed");
            self.queue.as_ref().ok_or_else(closed)?.send(job).await.map_err(|_| closed())?;
            answered.await.map_err(|_| closed())?
        })
    }
}

impl Drop for Worker {
    /// Waits until the queue is worked off and the connection closed.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A panic in it has been answered to whoever waited.
            let _ = thread.join();
        }
    }
}

/// Group commit: whatever waits joins the transaction, and nobody is answered before it is on the disk.
fn run_writer(connection: &Connection, jobs: &mut mpsc::Receiver<Job>) {
    while let Some(first) = jobs.blocking_recv() {
        if let Err(cause) = connection.execute_batch("BEGIN IMMEDIATE") {
            first(Err(&cause))(Ok(()));
            continue;
        }
        let mut replies = vec![first(Ok(connection))];
        // A full disk ends the transaction by itself: then nothing more may join, and nothing is committed.
        while replies.len() < GROUP
            && !connection.is_autocommit()
            && let Ok(next) = jobs.try_recv()
        {
            replies.push(next(Ok(connection)));
        }
        let failure = match connection.is_autocommit() {
            true => Some(ended_by_itself()),
            false => connection.execute_batch("COMMIT").err(),
        };
        if failure.is_some() && !connection.is_autocommit() {
            // Nothing of a failed commit may join the next one.
            let _ = connection.execute_batch("ROLLBACK");
        }
        for reply in replies {
            reply(failure.as_ref().map_or(Ok(()), Err));
        }
    }
}

fn ended_by_itself() -> rusqlite::Error {
    let why = "the disk had no room for another write of the same commit".to_owned();
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL), Some(why))
}

/// What the disk, or another process, is to blame for may be tried again; anything else is a fault.
fn failed(what: &'static str, cause: &rusqlite::Error) -> Error {
    match cause.sqlite_error_code() {
        Some(
            ErrorCode::CannotOpen
            | ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::DiskFull
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::OutOfMemory
            | ErrorCode::ReadOnly
            | ErrorCode::SystemIoFailure,
        ) => Error::StoreUnavailable { what, cause: cause.to_string() },
        _ => Error::store(what, cause),
    }
}

fn run_reader(connection: &Connection, jobs: &mut mpsc::Receiver<Job>) {
    while let Some(job) = jobs.blocking_recv() {
        job(Ok(connection))(Ok(()));
    }
}

/// Write-ahead log, an fsync per commit, and patience with another process that writes.
fn connect(path: &Path) -> Result<Connection, Error> {
    let failed = |cause| Error::store("open", cause);
    let connection = Connection::open(path).map_err(failed)?;
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    // SQLite does not wait by itself for this one: another process may just be opening or closing the file.
    let begun = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(cause) if is_busy(&cause) && begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            switched => break switched.map_err(failed)?,
        }
    }
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    Ok(connection)
}

/// How long to wait for another process that writes.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

fn is_busy(cause: &rusqlite::Error) -> bool {
    matches!(cause.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Makes sure of a file with mode 0600. SQLite gives its log files the mode of the main file, so that mode must be there
/// before SQLite sees it.
///
/// A file that exists is not opened: closing it again would take from this process every lock that SQLite holds on it
/// elsewhere (POSIX locks belong to process and file). So a new one is linked into place when it is closed already.
fn create_private(path: &Path) -> Result<(), Error> {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    let failed = |cause| Error::data(path, cause);
    if !path.exists() {
        let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let draft = path.with_extension(format!("new-{}-{number}", std::process::id()));
        fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft).map_err(failed)?;
        let linked = fs::hard_link(&draft, path);
        fs::remove_file(&draft).map_err(failed)?;
        if let Err(cause) = linked
            && cause.kind() != ErrorKind::AlreadyExists
        {
            return Err(failed(cause));
        }
    }
    let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
    match mode & 0o077 {
        0 => Ok(()),
        _ => Err(Error::data(path, format!("mode {:04o} lets others in, 0600 expected", mode & 0o7777))),
    }
}
