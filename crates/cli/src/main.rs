//! The `sealstone` command.
//!
//! This file knows the list of commands and what their ends mean to a shell. Each command has a file of its own; how
//! keys, files, times and lines look is in `keyfile`, `files`, `clock` and `terminal`. The clock is read and chance is
//! drawn here and in the commands, never below them.

#![forbid(unsafe_code)]

mod admin;
mod audit;
mod backup;
mod cert;
mod client;
mod client_auth;
mod clock;
mod cms;
mod csr;
mod error;
mod files;
mod flags;
mod https;
mod issuer;
mod jwk;
mod jwks;
mod jws;
mod jwt;
mod key;
mod key_password;
mod keyfile;
mod manual;
mod message;
mod mqtt;
mod password;
mod quickstart;
mod serve;
mod sign;
mod signing_key;
mod terminal;
mod tree;
mod user;
mod verify;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::error::Error;
use crate::terminal::Terminal;

/// Signatures that hold against a quantum computer: keys, files, messages, tokens, and a token server
#[derive(Parser)]
#[command(
    name = "sealstone",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
First steps:
  sealstone quickstart                        a token server at work, explained
  sealstone key generate --out my.pem         a new ML-DSA-65 key
  sealstone sign --key my.pem letter.txt      writes letter.txt.sig
  sealstone verify --key my.pem letter.txt    checks it

`sealstone COMMAND --help` teaches each command by example. Where a file is expected, - is standard \
input or output. Exit code: 0 good, 1 a signature or token is not valid, 2 anything else. NO_COLOR is \
respected."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make, look at and convert keys
    #[command(subcommand)]
    Key(key::Command),
    /// Write a key in another form: PEM, DER, JWK, COSE_Key or raw
    Convert(key::convert::Options),
    /// Sign a file
    Sign(sign::Options),
    /// Check a file's signature
    Verify(verify::Options),
    /// Sign, check, read and measure JSON Web Tokens
    #[command(subcommand)]
    Jwt(jwt::Command),
    /// Sign and check files as JSON Web Signatures: detached, or in JSON
    #[command(subcommand)]
    Jws(jws::Command),
    /// Check, read and identify keys in JSON
    #[command(subcommand)]
    Jwk(jwk::Command),
    /// Build, read, fetch and rotate sets of public keys
    #[command(subcommand)]
    Jwks(jwks::Command),
    /// Make, issue, read, check and revoke certificates
    #[command(subcommand)]
    Cert(cert::Command),
    /// Make and check requests for certificates
    #[command(subcommand)]
    Csr(csr::Command),
    /// Sign, check, encrypt and decrypt messages in CMS, as other programs exchange them
    #[command(subcommand)]
    Cms(cms::Command),
    /// Sign, check and plan messages of devices over MQTT
    #[command(subcommand)]
    Mqtt(mqtt::Command),
    /// Sign and verify file trees as Linux IMA does
    #[command(subcommand)]
    Tree(tree::Command),
    /// Run the token server
    Serve(serve::Options),
    /// Add, list and remove the server's clients
    #[command(subcommand)]
    Client(client::Command),
    /// Add, list and remove the issuers whose assertions the server takes for a grant
    #[command(subcommand)]
    Issuer(issuer::Command),
    /// Add, list and remove the people who may sign in at the server
    #[command(subcommand)]
    User(user::Command),
    /// Administer a running server over its admin API, from anywhere
    Admin(admin::Options),
    /// Check and read the server's audit log
    #[command(subcommand)]
    Audit(audit::Command),
    /// List, rotate and retire the keys that the server signs with
    #[command(subcommand)]
    SigningKey(signing_key::Command),
    /// Copy the server's data directory while it runs
    Backup(backup::Backup),
    /// Make a data directory from a backup
    Restore(backup::Restore),
    /// Show a token server at work, from nothing, on this machine
    Quickstart(quickstart::Options),
    /// Print the completions of a shell
    Completions(manual::Completions),
    /// Print the manual page, or write all of them
    Man(manual::Man),
}

fn main() -> ExitCode {
    let mut terminal = Terminal::new();
    let matches = match Cli::command().try_get_matches() {
        Ok(matches) => matches,
        Err(wrong) => return terminal.usage(&wrong),
    };
    let done = match Cli::from_arg_matches(&matches) {
        Ok(cli) => run(cli.command, &mut terminal),
        Err(wrong) => return terminal.usage(&wrong),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            terminal.error(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(command: Command, terminal: &mut Terminal) -> Result<(), Error> {
    match command {
        Command::Key(command) => key::run(command, terminal),
        Command::Convert(options) => key::convert::run(options, terminal),
        Command::Sign(options) => sign::run(&options, terminal),
        Command::Verify(options) => verify::run(&options, terminal),
        Command::Jwt(command) => jwt::run(command, terminal),
        Command::Jws(command) => jws::run(command, terminal),
        Command::Jwk(command) => jwk::run(command, terminal),
        Command::Jwks(command) => jwks::run(command, terminal),
        Command::Cert(command) => cert::run(command, terminal),
        Command::Csr(command) => csr::run(command, terminal),
        Command::Cms(command) => cms::run(command, terminal),
        Command::Mqtt(command) => mqtt::run(command, terminal),
        Command::Tree(command) => tree::run(command, terminal),
        Command::Serve(options) => serve::run(&options),
        Command::Client(command) => client::run(command, terminal),
        Command::Issuer(command) => issuer::run(command, terminal),
        Command::User(command) => user::run(command, terminal),
        Command::Admin(options) => admin::run(options, terminal),
        Command::Audit(command) => audit::run(command, terminal),
        Command::SigningKey(command) => signing_key::run(command, terminal),
        Command::Backup(options) => backup::back_up(&options, terminal),
        Command::Restore(options) => backup::restore(&options, terminal),
        Command::Quickstart(options) => quickstart::run(&options, terminal),
        Command::Completions(options) => manual::completions(&options, terminal),
        Command::Man(options) => manual::man(&options, terminal),
    }
}
