//! Backups of a data directory: made while servers run, and restored where there is none.
//!
//! A backup is a directory with `store.sqlite`, `manifest.json` and, unless it is left out, `seal.key`. It appears whole
//! and checked, or not at all.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_jose::UnixSeconds;
use serde::{Deserialize, Serialize};

use crate::client::Client;
use crate::clock::{Randomness, random_id};
use crate::keys::{KeyRing, Sealer, read_key_file};
use crate::store::copy::{self, Contents};
use crate::store::{Kind, Record};
use crate::{Error, data_dir};

/// What a backup holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// When it was made.
    pub made_at: UnixSeconds,
    /// How many records of each kind, by the kinds' names in the store.
    pub records: BTreeMap<String, u64>,
    /// The version of the store's tables.
    pub schema: u32,
    /// Whether `seal.key` is in it.
    pub seal_key: bool,
    /// How many sealed secrets were opened with the key, to see that they open.
    pub sealed: usize,
}

/// Makes a backup of `data_dir` in the new directory `target` (mode 0700, files 0600), whether or not servers run on it.
/// Every write that was acknowledged before the call is in it. With `seal_key` the key that opens what is sealed is in it
/// too: without that key, kept elsewhere, the backup cannot be restored.
///
/// When it returns the backup is on the disk, and was read again: the store is sound and has as many records as there
/// were, and the data directory's key opens everything that is sealed in it.
/// Errors: `Backup` if `target` exists; `DataDirectory`, `Sealed`, `Store`, `StoreSchema`.
pub fn make(
    data_dir: &Path,
    target: &Path,
    seal_key: bool,
    now: UnixSeconds,
    randomness: &dyn Randomness,
) -> Result<Summary, Error> {
    let source = data_dir::store(data_dir);
    if !source.exists() {
        return Err(Error::data(&source, "there is no store"));
    }
    data_dir::check(data_dir)?;
    if fs::symlink_metadata(target).is_ok() {
        return Err(exists(target));
    }
    let parent = parent(target);
    if !parent.is_dir() {
        return Err(Error::data(parent, "there is no such directory"));
    }
    let draft = Draft::begin(parent, ".sealstone-backup-", randomness)?;
    let copied = data_dir::store(&draft.path);
    let contents = copy::copy(&source, &copied, &draft.path)?;
    // After the store: what is sealed in the copy was sealed with a key that is there by now.
    let key = data_dir::seal_key(data_dir);
    let sealed = open_sealed(&copied, key.exists().then_some(&*key))?;
    let seal_key = seal_key && key.exists();
    if seal_key {
        copy_file(&key, &data_dir::seal_key(&draft.path))?;
    }
    let manifest = Manifest {
        format: FORMAT,
        made_at: now.0,
        records: contents.records,
        schema: contents.schema,
        seal_key,
        store_sha256: sha256(&copied)?,
    };
    let text = serde_json::to_vec_pretty(&manifest).map_err(|cause| Error::store("write a backup", cause))?;
    write_new(&draft.path.join(MANIFEST), &text)?;
    sync(&draft.path)?;
    draft.place(target)?;
    sync(parent)?;
    Ok(manifest.summary(sealed))
}

/// Makes `data_dir` from the backup at `from`. With `seal_key` the key is taken from that file.
///
/// The records that wait for their one use are left behind: a code of the time of the backup may have been used since.
/// Until the store is whole a marker stands in the directory, and no server starts there.
/// Errors: `Backup` if `data_dir` is not empty, if `from` is no backup or was changed, or if the key is missing;
/// `Sealed` if the key does not open what is sealed; `DataDirectory`, `Store`, `StoreSchema`.
pub fn restore(from: &Path, data_dir: &Path, seal_key: Option<&Path>) -> Result<Summary, Error> {
    let manifest = Manifest::read(from)?;
    let new = !data_dir.exists();
    data_dir::create(data_dir)?;
    if fs::read_dir(data_dir).map_err(|cause| Error::data(data_dir, cause))?.next().is_some() {
        return Err(Error::Backup {
            path: data_dir.to_owned(),
            what: "the data directory is not empty".into(),
            hint: "stop the server and move what is there away; a restore replaces nothing",
        });
    }
    let restored = restore_into(from, data_dir, seal_key, &manifest);
    if restored.is_err() {
        // Nothing but the draft is there: names of the data directory appear only when all is well.
        let _ = fs::remove_dir_all(data_dir::unfinished(data_dir));
        if new {
            let _ = fs::remove_dir(data_dir);
        }
    }
    Ok(manifest.summary(restored?))
}

/// Returns how many sealed secrets there are.
fn restore_into(
    from: &Path,
    data_dir: &Path,
    seal_key: Option<&Path>,
    manifest: &Manifest,
) -> Result<usize, Error> {
    let draft = data_dir::unfinished(data_dir);
    fs::DirBuilder::new().mode(0o700).create(&draft).map_err(|cause| Error::data(&draft, cause))?;
    sync(data_dir)?;
    let (store, key) = (data_dir::store(&draft), data_dir::seal_key(&draft));
    copy_file(&data_dir::store(from), &store)?;
    if sha256(&store)? != manifest.store_sha256 {
        return Err(damaged(from, "store.sqlite is not the one that was written"));
    }
    let found = copy::look_through(&store)?;
    if found != (Contents { records: manifest.records.clone(), schema: manifest.schema }) {
        return Err(damaged(from, "store.sqlite does not hold what the manifest says"));
    }
    let kept = data_dir::seal_key(from);
    if let Some(file) = seal_key.or(manifest.seal_key.then_some(&*kept)) {
        // Said of the file that was named, and not of its copy.
        read_key_file(file)?;
        copy_file(file, &key)?;
    }
    let sealed = open_sealed(&store, key.exists().then_some(&*key)).map_err(|cause| match cause {
        Error::Sealed { .. } if !key.exists() => Error::Backup {
            path: from.to_owned(),
            what: "seal.key was left out of this backup, and it has sealed keys".into(),
            hint: "--seal-key FILE names the key, which was kept elsewhere",
        },
        cause => cause,
    })?;
    copy::forget_what_awaits_its_use(&store)?;
    sync(&draft)?;
    // The store is last: without it there is nothing that a server could be wrong about.
    for name in [&key, &store].into_iter().filter(|path| path.exists()) {
        let place = data_dir.join(name.file_name().unwrap_or_default());
        fs::hard_link(name, &place).map_err(|cause| Error::data(&place, cause))?;
    }
    sync(data_dir)?;
    fs::remove_dir_all(&draft).map_err(|cause| Error::data(&draft, cause))?;
    sync(data_dir)?;
    Ok(sealed)
}

/// Opens everything that is sealed in a store with the key in a file, and says how much that is.
/// Errors: `Sealed`, also where something is sealed and there is no key.
fn open_sealed(store: &Path, key: Option<&Path>) -> Result<usize, Error> {
    let keys = copy::records(store, Kind::SigningKey)?;
    let clients = copy::records(store, Kind::Client)?;
    let clients = clients.iter().map(Client::from_record).collect::<Result<Vec<_>, _>>()?;
    let shared: Vec<_> = clients
        .iter()
        .filter_map(|client| Some((&client.id, client.authentication.shared_secret()?)))
        .collect();
    let sealed = KeyRing::count_sealed(&keys)? + shared.len();
    match key {
        None if sealed == 0 => Ok(0),
        None => Err(Error::Sealed { what: "seal.key is missing" }),
        Some(key) => {
            let sealer = Sealer::from_key(&*read_key_file(key)?)?;
            open_all(&keys, &sealer)?;
            shared.iter().try_for_each(|(id, secret)| secret.open(id, &sealer).map(drop))?;
            Ok(sealed)
        }
    }
}

fn open_all(keys: &[Record], sealer: &Sealer) -> Result<(), Error> {
    KeyRing::open(keys, sealer, &KeyRing::default()).map(drop)
}

const MANIFEST: &str = "manifest.json";
const FORMAT: u32 = 1;
/// No manifest of ours is longer.
const MAX_MANIFEST: u64 = 1 << 20;

/// What stands in `manifest.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    format: u32,
    made_at: u64,
    records: BTreeMap<String, u64>,
    schema: u32,
    seal_key: bool,
    store_sha256: String,
}

impl Manifest {
    fn read(from: &Path) -> Result<Self, Error> {
        let path = from.join(MANIFEST);
        let no_backup = |what: String| Error::Backup {
            path: path.clone(),
            what,
            hint: "a directory that `sealstone backup` has written",
        };
        let mut text = Vec::new();
        fs::File::open(&path)
            .and_then(|file| file.take(MAX_MANIFEST).read_to_end(&mut text))
            .map_err(|cause| no_backup(cause.to_string()))?;
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        match serde_json::from_slice(&text) {
            Ok(Format { format: FORMAT }) => {}
            Ok(Format { format }) => {
                return Err(no_backup(format!("format {format}, this program knows {FORMAT}")));
            }
            Err(cause) => return Err(no_backup(cause.to_string())),
        }
        serde_json::from_slice(&text).map_err(|cause| no_backup(cause.to_string()))
    }

    fn summary(self, sealed: usize) -> Summary {
        Summary {
            made_at: UnixSeconds(self.made_at),
            records: self.records,
            schema: self.schema,
            seal_key: self.seal_key,
            sealed,
        }
    }
}

/// A directory that is being written. It is removed unless it is placed.
struct Draft {
    path: PathBuf,
    placed: bool,
}

impl Draft {
    fn begin(parent: &Path, prefix: &str, randomness: &dyn Randomness) -> Result<Self, Error> {
        let path = parent.join(format!("{prefix}{}", random_id(randomness)?));
        fs::DirBuilder::new().mode(0o700).create(&path).map_err(|cause| Error::data(&path, cause))?;
        Ok(Self { path, placed: false })
    }

    /// Gives it its name. A directory replaces nothing but an empty directory.
    fn place(mut self, target: &Path) -> Result<(), Error> {
        match fs::rename(&self.path, target) {
            Ok(()) => {
                self.placed = true;
                Ok(())
            }
            Err(_) if target.exists() => Err(exists(target)),
            Err(cause) => Err(Error::data(target, cause)),
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.placed {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

fn exists(target: &Path) -> Error {
    Error::Backup {
        path: target.to_owned(),
        what: "there is something already".into(),
        hint: "each backup is a new directory; nothing is overwritten",
    }
}

fn damaged(from: &Path, what: &str) -> Error {
    let hint = "the backup was damaged or changed after it was made; take another one";
    Error::Backup { path: from.to_owned(), what: what.to_owned(), hint }
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A new file, mode 0600, on the disk when this returns.
fn write_new(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let write = || -> io::Result<()> {
        let mut file = create_new(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|cause| Error::data(path, cause))
}

/// The same from a file. What is copied may be a key: the kernel copies it, where it can.
fn copy_file(from: &Path, to: &Path) -> Result<(), Error> {
    let mut source = fs::File::open(from).map_err(|cause| Error::data(from, cause))?;
    let mut copy = || -> io::Result<()> {
        let mut file = create_new(to)?;
        io::copy(&mut source, &mut file)?;
        file.sync_all()
    };
    copy().map_err(|cause| Error::data(to, cause))
}

fn create_new(path: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn sync(directory: &Path) -> Result<(), Error> {
    fs::File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(|cause| Error::data(directory, cause))
}

fn sha256(path: &Path) -> Result<String, Error> {
    let hash = || -> io::Result<String> {
        let (mut file, mut context) = (fs::File::open(path)?, digest::Context::new(&digest::SHA256));
        let mut buffer = vec![0; 1 << 16];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(URL_SAFE_NO_PAD.encode(context.finish())),
                count => context.update(&buffer[..count]),
            }
        }
    };
    hash().map_err(|cause| Error::data(path, cause))
}
