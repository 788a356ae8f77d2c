//! `sealstone jws`: JSON Web Signatures over any file.

mod sign;
mod verify;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use sealstone_jose::JwkSet;

use crate::error::Error;
use crate::files::Source;

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Sign a file: the signature beside it, or both in JSON
    Sign(sign::Options),
    /// Check a signature and the file that it is over
    Verify(verify::Options),
}

pub(crate) fn run(command: Command, terminal: &mut crate::terminal::Terminal) -> Result<(), Error> {
    match command {
        Command::Sign(options) => sign::run(&options, terminal),
        Command::Verify(options) => verify::run(&options, terminal),
    }
}

/// More than a set may have.
const SET_LIMIT: usize = 1 << 20;

/// A key set with at least one key that can be used.
pub(crate) fn load_set(file: &OsString) -> Result<JwkSet, Error> {
    let source = Source::from(file.clone());
    let text = source.read(SET_LIMIT)?;
    let set = JwkSet::parse(&text).map_err(|cause| Error::key(&source.name(), &cause, cause.hint()))?;
    if set.keys().is_empty() {
        let why = match set.ignored().first() {
            Some(ignored) => format!("no usable key in the set: {}", ignored.reason),
            None => "the key set is empty".to_owned(),
        };
        return Err(Error::key(&source.name(), why, None));
    }
    Ok(set)
}

/// Where a file's signature is: FILE.jws.
fn signature_path(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".jws");
    name.into()
}
