//! `sealstone mqtt`: signed messages of devices.

mod audit;
mod commander;
mod device;
mod gateway;
mod inspect;
mod keys;
mod options;
mod provision;
mod publish;
mod rotate;
mod simulate;
mod subscribe;
mod template;
mod written;

use clap::Subcommand;

use crate::error::Error;
use crate::terminal::Terminal;

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Check every line and every signature of a gateway's log
    Audit(audit::Options),
    /// Verify what devices publish, and publish clean copies
    Gateway(gateway::Options),
    /// Explain an envelope, and check it where its key is known
    Inspect(inspect::Options),
    /// Keys that devices announced and the gateway confirmed
    #[command(subcommand)]
    Keys(keys::Command),
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
    /// Commands signed beforehand, each let go by who has its token
    #[command(subcommand)]
    Template(template::Command),
}

pub(crate) fn run(command: Command, terminal: &mut Terminal) -> Result<(), Error> {
    match command {
        Command::Audit(options) => audit::run(&options, terminal),
        Command::Gateway(options) => gateway::run(&options, terminal),
        Command::Inspect(options) => inspect::run(&options, terminal),
        Command::Keys(command) => keys::run(command, terminal),
        Command::Provision(options) => provision::run(&options, terminal),
        Command::Publish(options) => publish::run(&options, terminal),
        Command::Rotate(options) => rotate::run(&options, terminal),
        Command::Simulate(options) => simulate::run(&options, terminal),
        Command::Subscribe(options) => subscribe::run(&options, terminal),
        Command::Template(command) => template::run(command, terminal),
    }
}
