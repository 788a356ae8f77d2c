//! `sealstone admin audit`: what a server has decided.

use clap::{Args, Subcommand};
use serde_json::Value;

use super::access::Access;
use crate::audit::{Only, sentence};
use crate::error::Error;
use crate::terminal::Terminal;

/// The verb.
#[derive(Subcommand)]
pub(super) enum Command {
    /// Read lines of the audit log
    Show(Show),
}

/// Options of `audit show`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone admin audit show
  sealstone admin audit show --limit 1000 --event token.refused
  sealstone admin audit show --after 4711 --json | jq .event

The lines are of the server that answers, as it has them; --event, --client and --user choose among them. Whether they hold \
is for `sealstone audit verify` to say, where the files are.")]
pub(super) struct Show {
    /// So many lines at most: the last ones, or the first ones after --after
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Those after the line with this number
    #[arg(long, value_name = "N")]
    after: Option<u64>,
    #[command(flatten)]
    only: Only,
}

pub(super) async fn run(command: Command, access: &Access, terminal: &mut Terminal) -> Result<(), Error> {
    let Command::Show(Show { limit, after, only }) = command;
    let after = after.map(|after| format!("&after={after}")).unwrap_or_default();
    let mut part = access.open(terminal).await?.part(&["audit"], &format!("?limit={limit}{after}")).await?;
    let mut lines = match part["audit"].take() {
        Value::Array(lines) => lines,
        _ => Vec::new(),
    };
    lines.retain(|line| only.wants(line));
    if access.json {
        return terminal.json(&Value::Array(lines));
    }
    lines.iter().try_for_each(|line| terminal.line(sentence(line)))
}
