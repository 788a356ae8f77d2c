//! What tells that a file changed.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::unreadable;
use crate::gateway::Error;

/// A file as it was when it was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) file: PathBuf,
    modified: Option<SystemTime>,
    len: u64,
    /// A file that others may read from now on is another one.
    mode: u32,
    /// Keys all have one length, and a new one may come within a tick of the clock.
    inode: u64,
}

impl Stamp {
    /// A file as it is now. Errors: `Directory`.
    pub(super) fn of(file: &Path) -> Result<Self, Error> {
        fs::metadata(file).map(|found| Self::new(file, &found)).map_err(|cause| unreadable(file, cause))
    }

    pub(super) fn new(file: &Path, found: &Metadata) -> Self {
        Stamp {
            file: file.to_owned(),
            modified: found.modified().ok(),
            len: found.len(),
            mode: found.mode(),
            inode: found.ino(),
        }
    }
}

/// The JSON files of a directory in the order of their names.
pub(super) fn of_directory(path: &Path) -> Result<Vec<Stamp>, Error> {
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        let listed = fs::read_dir(path).and_then(|listed| listed.collect::<Result<Vec<_>, _>>());
        files =
            listed.map_err(|cause| unreadable(path, cause))?.into_iter().map(|entry| entry.path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
        files.sort();
    }
    files.iter().map(|file| Stamp::of(file)).collect()
}
