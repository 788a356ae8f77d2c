//! `sealstone jws`: JSON Web Signatures over any file.

mod sign;
mod verify;

use std::path::{Path, PathBuf};

use clap::Subcommand;

use crate::error::Error;

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

/// Where a file's signature is: FILE.jws.
fn signature_path(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".jws");
    name.into()
}
