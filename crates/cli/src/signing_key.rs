//! `sealstone signing-key`: the keys that the token server signs with.

use clap::{Args, Subcommand};
use sealstone_auth::admin::SigningKey;
use sealstone_auth::keys::State;
use sealstone_jose::Algorithm;
use serde_json::{Value, json};

use crate::client::{Place, runtime};
use crate::clock::utc;
use crate::error::Error;
use crate::flags;
use crate::terminal::{BOLD, DIM, Terminal};

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// List the keys and their states
    List(List),
    /// Begin the next key before its time
    Rotate(Rotate),
    /// Take a key out of use at once, because others may have it
    Retire(Retire),
}

/// Options of `signing-key list`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone signing-key list
  sealstone signing-key list --json

A key is pre-published: in the JWK set and not signing yet, so that verifiers know it when it begins. Then it is \
active; then retiring: in the JWK set and no longer signing, while its tokens live; then retired, and its secret \
is deleted. `[keys]` in the configuration sets the times; a running server does the rest by itself.")]
pub(crate) struct List {
    #[command(flatten)]
    place: Place,
    /// In JSON
    #[arg(long)]
    json: bool,
}

/// Options of `signing-key rotate`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone signing-key rotate
  sealstone signing-key rotate --alg ES256 --alg ML-DSA-65

The next key is published at once and signs after `keys.publish_seconds`, a day as a rule, when every verifier has \
fetched it; the one before it stays published while its tokens live. No verifier meets a key that it does not know. Where \
the next key is published already, nothing changes.")]
pub(crate) struct Rotate {
    #[command(flatten)]
    place: Place,
    /// An algorithm; may be given more than once. Without it, every one that is enabled
    #[arg(long, value_name = "ALG", ignore_case = true, value_parser = flags::algorithm())]
    alg: Vec<Algorithm>,
    /// In JSON
    #[arg(long)]
    json: bool,
}

/// Options of `signing-key retire`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone signing-key retire ES256/3
  sealstone signing-key retire EQyYF7FtwDTBWPkxVj7d-jJfTNrdxJdfG_gNgXPP38k

For a key that others may have. It leaves the JWK set, its secret is deleted, its tokens are no longer active, and its \
successor signs from now on; running servers follow within a second. A verifier that has cached the JWK set still takes \
the old key's tokens, and does not know the new key, until it fetches the set again: within 5 minutes, if it heeds \
Cache-Control. To renew a key that is not in danger, use `rotate`, which no verifier notices.")]
pub(crate) struct Retire {
    #[command(flatten)]
    place: Place,
    /// Its name in the list, or its kid
    #[arg(value_name = "KEY")]
    key: String,
    /// In JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(command: Command, terminal: &mut Terminal) -> Result<(), Error> {
    let runtime = runtime()?;
    match command {
        Command::List(options) => {
            let keys = runtime.block_on(options.place.admin()?.list_signing_keys())?;
            if options.json {
                return terminal.json(&keys.iter().map(row).collect());
            }
            if keys.is_empty() {
                return terminal.line("no signing keys; `sealstone serve` makes the first ones");
            }
            keys.iter().try_for_each(|key| show(key, terminal))
        }
        Command::Rotate(options) => {
            let admin = options.place.admin()?;
            let algorithms = if options.alg.is_empty() { admin.algorithms().to_vec() } else { options.alg };
            let mut next = Vec::new();
            for algorithm in algorithms {
                next.push(runtime.block_on(admin.rotate_signing_key(algorithm))?);
            }
            if options.json {
                return terminal.json(&next.iter().map(row).collect());
            }
            next.iter().try_for_each(|key| {
                let when = match (key.stage.state, key.next_at) {
                    (State::PrePublished, Some(at)) => format!("is published and signs from {}", utc(at)),
                    _ => "signs".into(),
                };
                terminal.line(format_args!("{} {when}", key.name()))
            })
        }
        Command::Retire(options) => {
            let key = runtime.block_on(options.place.admin()?.retire_signing_key(&options.key))?;
            match options.json {
                true => terminal.json(&row(&key)),
                false => terminal.line(format_args!(
                    "{} is retired and its secret deleted; its tokens are no longer active",
                    key.name()
                )),
            }
        }
    }
}

fn show(key: &SigningKey, terminal: &mut Terminal) -> Result<(), Error> {
    terminal.line(format_args!("{BOLD}{}{BOLD:#}  {}", key.name(), key.stage.state.name()))?;
    let next = match key.stage.state {
        State::PrePublished => "signs from",
        State::Active => "signs until",
        _ => "published until",
    };
    let facts =
        [("kid", Some(key.kid.clone())), ("since", Some(utc(key.stage.since))), (next, key.next_at.map(utc))];
    for (name, value) in facts {
        if let Some(value) = value {
            terminal.line(format_args!("  {DIM}{name:<15}{DIM:#}  {value}"))?;
        }
    }
    Ok(())
}

fn row(key: &SigningKey) -> Value {
    json!({
        "algorithm": key.stage.algorithm.name(),
        "kid": key.kid,
        "name": key.name(),
        "next_at": key.next_at.map(|at| at.0),
        "since": key.stage.since.0,
        "state": key.stage.state.name(),
    })
}
