//! `sealstone jwt`: JSON Web Tokens, by hand.

mod inspect;
mod keys;
mod many;
mod sign;
mod size;
mod verify;
mod words;

use clap::Subcommand;
use sealstone_jose::jws::MAX_TOKEN;
use zeroize::Zeroizing;

use crate::error::Error;
use crate::files::Source;
use crate::terminal::Terminal;

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Sign claims into a token
    Sign(sign::Options),
    /// Check a token's signature and claims
    Verify(verify::Options),
    /// Read a token aloud, without checking it
    Inspect(inspect::Options),
    /// Measure a token against the limits that it will meet, for every algorithm
    Size(size::Options),
}

pub(crate) fn run(command: Command, terminal: &mut Terminal) -> Result<(), Error> {
    match command {
        Command::Sign(options) => sign::run(options, terminal),
        Command::Verify(options) => verify::run(&options, terminal),
        Command::Inspect(options) => inspect::run(&options, terminal),
        Command::Size(options) => size::run(&options, terminal),
    }
}

/// Reads a token from a file or standard input, never from the arguments, which everyone on the machine can read.
fn read_token(source: &Source) -> Result<Zeroizing<String>, Error> {
    read(source, 2 * MAX_TOKEN)
}

/// The same for a file that may have many.
fn read_tokens(source: &Source) -> Result<Zeroizing<String>, Error> {
    const MANY: usize = 64 << 20;
    read(source, MANY)
}

fn read(source: &Source, limit: usize) -> Result<Zeroizing<String>, Error> {
    if let Source::Path(path) = source
        && path.to_string_lossy().matches('.').count() == 2
        && path.to_string_lossy().starts_with("eyJ")
        && !path.exists()
    {
        return Err(Error::usage(
            "a token as an argument can be read by everyone on this machine",
            "give it on standard input or in a file, and consider it known",
        ));
    }
    let text = source.read_text(limit)?;
    Ok(Zeroizing::new(text.trim().to_owned()))
}
