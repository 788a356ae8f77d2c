//! `sealstone cert`: certificates are made, issued, read, checked and revoked.

mod certify;
mod content;
mod issue;
pub(crate) mod load;
mod new;
mod revoke;
mod show;
mod verify;
pub(crate) mod words;

pub(crate) use content::{Names, Place};

use clap::Subcommand;

use crate::error::Error;
use crate::terminal::Terminal;

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Make a certificate that its own key signs: an authority, a service, or a key for Linux IMA
    New(new::Options),
    /// Issue a certificate as an authority, for a request or a public key
    Issue(issue::Options),
    /// Say in words what certificates hold, without checking them
    Show(show::Options),
    /// Check a certificate up to one that is trusted
    Verify(verify::Options),
    /// Revoke certificates: write the authority's next revocation list
    Revoke(revoke::Options),
    /// Say what a revocation list holds, and check it
    Crl(revoke::Show),
}

pub(crate) fn run(command: Command, terminal: &mut Terminal) -> Result<(), Error> {
    match command {
        Command::New(options) => new::run(&options, terminal),
        Command::Issue(options) => issue::run(&options, terminal),
        Command::Show(options) => show::run(&options, terminal),
        Command::Verify(options) => verify::run(&options, terminal),
        Command::Revoke(options) => revoke::run(&options, terminal),
        Command::Crl(options) => revoke::show(&options, terminal),
    }
}
