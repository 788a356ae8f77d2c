//! The data directory: the server's alone.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::Error;

/// Creates the directory with mode 0700, or checks an existing one as [`check`] does.
pub(crate) fn create(path: &Path) -> Result<(), Error> {
    let failed = |cause| Error::data(path, cause);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
    check(path)
}

/// That the directory lets nobody else in, and that no restore stopped half way in it.
pub(crate) fn check(path: &Path) -> Result<(), Error> {
    let mode = fs::metadata(path).map_err(|cause| Error::data(path, cause))?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(Error::data(path, format!("mode {:04o} lets others in, 0700 expected", mode & 0o7777)));
    }
    match unfinished(path).exists() {
        false => Ok(()),
        true => Err(Error::Backup {
            path: unfinished(path),
            what: "a restore is at work here, or stopped half way".into(),
            hint: "if none is at work, empty the data directory and restore again",
        }),
    }
}

/// Where the store is.
pub(crate) fn store(data_dir: &Path) -> PathBuf {
    data_dir.join("store.sqlite")
}

/// Where the key is that opens what is sealed.
pub(crate) fn seal_key(data_dir: &Path) -> PathBuf {
    data_dir.join("seal.key")
}

/// What is there while a restore is at work.
pub(crate) fn unfinished(data_dir: &Path) -> PathBuf {
    data_dir.join("restoring")
}
