//! The tables, and the step from each version of them to the next.

use rusqlite::Connection;

use crate::Error;

/// Step `n` makes version `n` of version `n - 1`. Steps are only ever added: a file of any age is brought up to date.
const STEPS: [&str; 2] = [
    "CREATE TABLE records (
       kind TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL,
       expires_at INTEGER, used_at INTEGER, body BLOB NOT NULL,
       PRIMARY KEY (kind, id)) STRICT, WITHOUT ROWID;
     CREATE INDEX records_by_version ON records (kind, version);
     CREATE INDEX records_by_end ON records (expires_at) WHERE expires_at IS NOT NULL;
     CREATE TABLE counters (kind TEXT PRIMARY KEY, latest INTEGER NOT NULL) STRICT, WITHOUT ROWID;",
    // The file says whose it is.
    "PRAGMA application_id = 0x5365616c;",
];

/// The version that this program writes, kept in the file as `user_version`.
pub(super) const VERSION: u32 = STEPS.len() as u32;

/// What [`STEPS`] writes: `Seal` in ASCII.
const APPLICATION_ID: u32 = 0x5365_616c;

/// The first version whose files have the application id.
const SIGNED_SINCE: u32 = 2;

/// Brings the tables up to date, all of the way or not at all, and one process at a time.
/// Errors: those of [`version`], and what SQLite refuses.
pub(super) fn migrate(connection: &Connection) -> Result<(), Error> {
    let failed = |e| Error::store("bring the tables up to date", e);
    connection.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
    let found = version(connection)?;
    for step in &STEPS[found as usize..] {
        connection.execute_batch(step).map_err(failed)?;
    }
    if found < VERSION {
        connection.pragma_update(None, "user_version", VERSION).map_err(failed)?;
    }
    connection.execute_batch("COMMIT").map_err(failed)
}

/// The version of a file's tables, at most [`VERSION`]; 0 if it has none yet.
/// Errors: `StoreSchema` for a later one; `Store` for a file of another program.
pub(super) fn version(connection: &Connection) -> Result<u32, Error> {
    let failed = |e| Error::store("read the version of the tables", e);
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(failed);
    let (found, application) = (pragma("user_version")?, pragma("application_id")?);
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(failed)?;
    let foreign = || Error::store("open", "the file is a database of another program");
    let Ok(version) = u32::try_from(found) else { return Err(foreign()) };
    let whose = if version >= SIGNED_SINCE { i64::from(APPLICATION_ID) } else { 0 };
    match (version, tables) {
        _ if application != whose => Err(foreign()),
        (0, 1..) => Err(foreign()),
        (VERSION.., _) if version > VERSION => Err(Error::StoreSchema { found: version, known: VERSION }),
        _ => Ok(version),
    }
}
