//! The data directory: the server's alone.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::Error;

/// Creates the directory with mode 0700, or checks that an existing one lets nobody else in.
pub(crate) fn create(path: &Path) -> Result<(), Error> {
    let failed = |cause| Error::data(path, cause);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
    let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
    match mode & 0o077 {
        0 => Ok(()),
        _ => Err(Error::data(path, format!("mode {:04o} lets others in, 0700 expected", mode & 0o7777))),
    }
}

/// Where the store is.
pub(crate) fn store(data_dir: &Path) -> PathBuf {
    data_dir.join("store.sqlite")
}
