//! `sealstone jwks`: sets of public keys.

mod build;
pub(crate) mod fetch;
mod list;
mod rotate;
pub(crate) mod set;

use clap::Subcommand;

use crate::error::Error;
use crate::terminal::Terminal;

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Make a key set of key files of any form: of private keys the public half
    Build(build::Options),
    /// Say which keys a set holds, and which of them nobody here can use
    #[command(alias = "show")]
    List(list::List),
    /// Take one key out of a set, by its key id or its thumbprint
    Find(list::Find),
    /// Fetch the set that someone publishes, and say how long it may be believed
    Fetch(fetch::Options),
    /// Add the key that comes next to a published set, or take an old one out
    Rotate(rotate::Options),
}

pub(crate) fn run(command: Command, terminal: &mut Terminal) -> Result<(), Error> {
    match command {
        Command::Build(options) => build::run(options, terminal),
        Command::List(options) => list::run(&options, terminal),
        Command::Find(options) => list::find(&options, terminal),
        Command::Fetch(options) => fetch::run(&options, terminal),
        Command::Rotate(options) => rotate::run(options, terminal),
    }
}
