//! `sealstone mqtt`: signed messages of devices.

mod simulate;

use clap::Subcommand;

use crate::error::Error;
use crate::terminal::Terminal;

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Tell what a policy costs: time, bytes and energy of a workload
    Simulate(simulate::Options),
}

pub(crate) fn run(command: Command, terminal: &mut Terminal) -> Result<(), Error> {
    match command {
        Command::Simulate(options) => simulate::run(&options, terminal),
    }
}
