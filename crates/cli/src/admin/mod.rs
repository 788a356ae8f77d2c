//! `sealstone admin`: a running server, over its admin API.
//!
//! Each command reads what it needs, gets a token of its own, asks, and ends; no token is kept.

mod access;
mod api;
mod audit;
mod clients;
mod init;
mod issuers;
mod keys;
mod screen;
mod users;

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::{Args, Subcommand};
use serde_json::Value;

use self::access::Access;
use self::api::body_of;
use crate::client::runtime;
use crate::error::Error;
use crate::files::Source;
use crate::terminal::{Safe, Terminal};

/// Options of `admin`.
#[derive(Args)]
#[command(after_help = "\
First, on the server's machine, once:
  sealstone admin init --config /etc/sealstone.toml     a client that may do everything, and its key

Then, from there or wherever the two files are taken:
  sealstone admin client list
  sealstone admin client add --id billing --scope orders:read --secret-out billing.secret
  sealstone admin client change billing --lifetime 5m
  sealstone admin user add alice --email alice@example.org
  sealstone admin session list --user alice
  sealstone admin key rotate
  sealstone admin token revoke leaked.token
  sealstone admin audit show --event token.refused
  sealstone admin client list --json | jq -r '.[].client_id'

It speaks with the server whose URL is in admin.toml or follows --server, as the client that is named there, which \
proves who it is by a key of its own (private_key_jwt) or by its secret (client_secret_basic). Keys and secrets are in \
files, never in arguments or the environment, where other users of the machine could read them. The token that is got \
for a command is not kept.

admin.toml is in $XDG_CONFIG_HOME/sealstone, or in ~/.config/sealstone; paths in it count from there:
  server    = \"https://auth.example.org\"   # the issuer, letter by letter
  client_id = \"admin\"
  key       = \"admin.pem\"                  # or secret_file = \"admin.secret\"
  ca        = \"ca.pem\"                     # without it, whom the system trusts

What a client may do, its scopes say: sealstone:admin is everything, sealstone:users the users, \
sealstone:users:read looking at them; likewise clients, issuers, keys and sessions; and sealstone:tokens, and sealstone:audit:read. `[admin]` \
with `api = true` in the server's configuration switches the API on.

`sealstone client`, `user`, `issuer` and `signing-key` do the same to a server's store on its own machine, also while \
no server runs.")]
pub(crate) struct Options {
    #[command(flatten)]
    access: Access,
    #[command(subcommand)]
    command: Command,
}

/// What there is to administer.
#[derive(Subcommand)]
enum Command {
    /// Register the first client that may administer, at the store itself, and write down how to use it
    Init(init::Options),
    /// Read what the server has decided
    #[command(subcommand)]
    Audit(audit::Command),
    /// Look at, add, change and remove clients
    #[command(subcommand)]
    Client(clients::Command),
    /// Look at, add and remove issuers whose assertions are taken for a grant
    #[command(subcommand)]
    Issuer(issuers::Command),
    /// List, rotate and retire the keys that the server signs with
    #[command(subcommand)]
    Key(keys::Command),
    /// See who is signed in, and end that
    #[command(subcommand)]
    Session(users::SessionCommand),
    /// Revoke a token
    #[command(subcommand)]
    Token(TokenCommand),
    /// Look at, add, change and remove the people who may sign in
    #[command(subcommand)]
    User(users::Command),
}

/// The verb for tokens.
#[derive(Subcommand)]
enum TokenCommand {
    /// Revoke an access token, or a refresh token with everything that was granted with it
    Revoke(Revoke),
}

/// Options of `token revoke`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone admin token revoke leaked.token
  pbpaste | sealstone admin token revoke -

The token is never an argument, because other users of the machine could read it and use it first.")]
struct Revoke {
    /// The file that holds it; - is standard input
    #[arg(value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    token: OsString,
}

/// Longer than any token.
const MAX_TOKEN: usize = 65_536;

pub(crate) fn run(options: Options, terminal: &mut Terminal) -> Result<(), Error> {
    let access = options.access;
    runtime()?.block_on(async {
        match options.command {
            Command::Init(options) => init::run(options, &access, terminal).await,
            Command::Audit(command) => audit::run(command, &access, terminal).await,
            Command::Client(command) => clients::run(command, &access, terminal).await,
            Command::Issuer(command) => issuers::run(command, &access, terminal).await,
            Command::Key(command) => keys::run(command, &access, terminal).await,
            Command::Session(command) => users::sessions(command, &access, terminal).await,
            Command::Token(TokenCommand::Revoke(options)) => revoke(options, &access, terminal).await,
            Command::User(command) => users::run(command, &access, terminal).await,
        }
    })
}

async fn revoke(options: Revoke, access: &Access, terminal: &mut Terminal) -> Result<(), Error> {
    let token = Source::from(options.token).read_text(MAX_TOKEN)?;
    let body = body_of(&BTreeMap::from([("token", token.trim())]))?;
    access.open(terminal).await?.post(&["revocations"], body).await?;
    done(access, "the token is not active, if it was one of this server", terminal)
}

/// A sentence for people. A machine has the exit code.
fn done(access: &Access, what: &str, terminal: &mut Terminal) -> Result<(), Error> {
    match access.json {
        true => Ok(()),
        false => terminal.line(Safe(what)),
    }
}

/// The text of a member.
fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or_default()
}
