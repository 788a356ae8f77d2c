//! `sealstone admin key`: the keys that the server signs with.

use clap::{Args, Subcommand};
use sealstone_jose::Algorithm;
use serde_json::{Value, json};

use super::access::Access;
use super::api::body_of;
use super::{done, screen, text};
use crate::error::Error;
use crate::flags;
use crate::terminal::Terminal;

/// The verbs.
#[derive(Subcommand)]
pub(super) enum Command {
    /// List the keys and their states
    List,
    /// Begin the next key before its time
    Rotate(Rotate),
    /// Take a key out of use at once, because others may have it
    Retire(Retire),
}

/// Options of `key rotate`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone admin key rotate
  sealstone admin key rotate --alg ES256 --alg ML-DSA-65

The next key is published at once and signs when every verifier has fetched it; no verifier notices.")]
pub(super) struct Rotate {
    /// An algorithm; may be given more than once. Without it, every one that is enabled
    #[arg(long, value_name = "ALG", ignore_case = true, value_parser = flags::algorithm())]
    alg: Vec<Algorithm>,
}

/// Options of `key retire`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone admin key retire EQyYF7FtwDTBWPkxVj7d-jJfTNrdxJdfG_gNgXPP38k

For a key that others may have: its secret is deleted, its tokens are no longer active, and its successor signs from now \
on. To renew a key that is not in danger, use `rotate`.")]
pub(super) struct Retire {
    /// Its kid or its name in the list
    #[arg(value_name = "KEY", allow_hyphen_values = true)]
    key: String,
}

pub(super) async fn run(command: Command, access: &Access, terminal: &mut Terminal) -> Result<(), Error> {
    match command {
        Command::List => {
            let keys = access.open(terminal).await?.list(&["keys"]).await?;
            show(keys, access, terminal)
        }
        Command::Rotate(Rotate { alg }) => {
            let names: Vec<&str> = alg.iter().map(|alg| alg.name()).collect();
            let body = body_of(&json!({"algorithms": names}))?;
            let mut next = access.open(terminal).await?.post(&["keys", "rotation"], body).await?;
            let keys = match next["keys"].take() {
                Value::Array(keys) => keys,
                _ => Vec::new(),
            };
            show(keys, access, terminal)
        }
        Command::Retire(Retire { key }) => {
            let address = ["keys", key.as_str(), "retirement"];
            let key = access.open(terminal).await?.post(&address, body_of(&json!({}))?).await?;
            match access.json {
                true => terminal.json(&key),
                false => {
                    let name = text(&key, "name");
                    let what = "is retired and its secret deleted; its tokens are no longer active";
                    done(access, &format!("{name} {what}"), terminal)
                }
            }
        }
    }
}

fn show(keys: Vec<Value>, access: &Access, terminal: &mut Terminal) -> Result<(), Error> {
    if access.json {
        return terminal.json(&Value::Array(keys));
    }
    let row = |key: &Value| {
        ["name", "state", "since", "next_at", "kid"].map(|member| screen::shown(member, &key[member]))
    };
    let head = ["KEY", "STATE", "SINCE", "NEXT STATE AT", "KID"];
    screen::table(head, keys.iter().map(row).collect(), "no signing keys", terminal)
}
