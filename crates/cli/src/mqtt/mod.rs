//! `sealstone mqtt`: signed messages of devices.

mod commander;
mod device;
mod gateway;
mod inspect;
mod options;
mod provision;
mod publish;
mod rotate;
mod simulate;
mod subscribe;
mod written;

use clap::Subcommand;

use crate::error::Error;
use crate::terminal::Terminal;

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Verify what devices publish, and publish clean copies
    Gateway(gateway::Options),
    /// Explain an envelope, and check it where its key is known
    Inspect(inspect::Options),
    /// Make a device's keys, its flash, and its entry for the gateway
    Provision(provision::Options),
    /// Sign a message and publish it
    Publish(publish::Options),
    /// Give a device its next keys, and retire those before
    Rotate(rotate::Options),
    /// Tell what a policy costs: time, bytes and energy of a workload
    Simulate(simulate::Options),
    /// Verify messages as a gateway would, and print what came of each
    Subscribe(subscribe::Options),
}

pub(crate) fn run(command: Command, terminal: &mut Terminal) -> Result<(), Error> {
    match command {
        Command::Gateway(options) => gateway::run(&options, terminal),
        Command::Inspect(options) => inspect::run(&options, terminal),
        Command::Provision(options) => provision::run(&options, terminal),
        Command::Publish(options) => publish::run(&options, terminal),
        Command::Rotate(options) => rotate::run(&options, terminal),
        Command::Simulate(options) => simulate::run(&options, terminal),
        Command::Subscribe(options) => subscribe::run(&options, terminal),
    }
}
