//! A whole store as a file: copied while others write to it, and looked through.
//!
//! These read and write files of SQLite without the threads of [`Sqlite`](super::Sqlite), and they bring no tables up to
//! date: what an older program wrote is copied as it is.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::sqlite::{PATIENCE, record};
use super::{Kind, Record, schema};
use crate::Error;

/// What a store's file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contents {
    /// How many records of each kind.
    pub(crate) records: BTreeMap<String, u64>,
    /// The version of its tables.
    pub(crate) schema: u32,
}

/// Copies the store at `from`, as it stands at one moment, into the new file `to` (mode 0600). Servers go on writing
/// meanwhile; every write that was acknowledged before the call is in the copy, and each write is there whole or not at
/// all. `scratch` is a directory for a file that is gone at the end.
///
/// The copy is written anew from its records, so that nothing that was deleted is in it, and is on the disk when this
/// returns. It is looked through and compared with what stood in the store at that moment.
/// Errors: `Store`; `StoreSchema` for a later version.
pub(crate) fn copy(from: &Path, to: &Path, scratch: &Path) -> Result<Contents, Error> {
    let failed = |cause: rusqlite::Error| Error::store("copy the store", cause);
    let source = Connection::open_with_flags(from, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
    source.busy_timeout(PATIENCE).map_err(failed)?;
    // From its first question to its end this transaction sees one moment.
    source.execute_batch("BEGIN").map_err(failed)?;
    let contents = contents(&source)?;
    let pages = scratch.join("pages");
    let mut copy = Connection::open(&pages).map_err(failed)?;
    let step = Backup::new(&source, &mut copy).and_then(|backup| backup.step(-1)).map_err(failed)?;
    if step != StepResult::Done {
        return Err(Error::store("copy the store", "the file is locked"));
    }
    source.execute_batch("ROLLBACK").map_err(failed)?;
    private(to)?;
    let name = to.to_str().ok_or_else(|| Error::data(to, "the name is not text"))?;
    copy.execute("VACUUM INTO ?1", [name]).map_err(failed)?;
    drop(copy);
    fs::remove_file(&pages).map_err(|cause| Error::data(&pages, cause))?;
    fs::File::open(to).and_then(|file| file.sync_all()).map_err(|cause| Error::data(to, cause))?;
    match look_through(to)? {
        found if found == contents => Ok(contents),
        found => Err(Error::store(
            "check the copy",
            format!("it holds {:?}, {:?} expected", found.records, contents.records),
        )),
    }
}

/// Reads all of a file that nobody writes to: that its pages, indexes and records are sound, and what it holds.
/// Errors: `Store` for damage; `StoreSchema` for a later version.
pub(crate) fn look_through(path: &Path) -> Result<Contents, Error> {
    let connection = open_at_rest(path)?;
    let verdict: String = connection
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        .map_err(|cause| Error::store("check a store", cause))?;
    match verdict.as_str() {
        "ok" => contents(&connection),
        fault => Err(Error::store("check a store", fault)),
    }
}

/// Every record of a kind, in a file that nobody writes to.
pub(crate) fn records(path: &Path, kind: Kind) -> Result<Vec<Record>, Error> {
    let read = |connection: Connection| -> rusqlite::Result<Vec<Record>> {
        connection
            .prepare("SELECT id, version, expires_at, used_at, body FROM records WHERE kind = ?1")?
            .query_map([kind.name()], record)?
            .collect()
    };
    read(open_at_rest(path)?).map_err(|cause| Error::store("read a store", cause))
}

/// Deletes the records that wait for their one use: see [`Kind::AWAIT_THEIR_USE`]. The file is on the disk when this
/// returns.
pub(crate) fn forget_what_awaits_its_use(path: &Path) -> Result<(), Error> {
    let failed = |cause: rusqlite::Error| Error::store("delete records", cause);
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
    for kind in Kind::AWAIT_THEIR_USE {
        connection.execute("DELETE FROM records WHERE kind = ?1", [kind.name()]).map_err(failed)?;
    }
    Ok(())
}

fn contents(connection: &Connection) -> Result<Contents, Error> {
    let schema = schema::version(connection)?;
    if schema == 0 {
        return Err(Error::store("read a store", "there is nothing in it"));
    }
    let count = || -> rusqlite::Result<BTreeMap<String, u64>> {
        connection
            .prepare("SELECT kind, count(*) FROM records GROUP BY kind")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect()
    };
    let records = count().map_err(|cause| Error::store("read a store", cause))?;
    Ok(Contents { records, schema })
}

/// For reading alone; a file in write-ahead mode would be another matter, but no copy is.
fn open_at_rest(path: &Path) -> Result<Connection, Error> {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .map_err(|cause| Error::store("open a store for reading", cause))
}

fn private(path: &Path) -> Result<(), Error> {
    let made = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    made.map(drop).map_err(|cause| Error::data(path, cause))
}
