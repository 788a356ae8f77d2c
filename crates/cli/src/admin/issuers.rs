//! `sealstone admin issuer`: whose assertions are taken for a grant.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::access::Access;
use super::api::body_of;
use super::{clients, done, screen, text};
use crate::error::Error;
use crate::issuer::Terms;
use crate::terminal::Terminal;

/// The verbs.
#[derive(Subcommand)]
pub(super) enum Command {
    /// Trust an issuer
    Add(Add),
    /// List the trusted issuers of the store
    List,
    /// Trust an issuer no more; the tokens for its subjects cease to be active
    Remove(Remove),
}

/// Options of `issuer add`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone admin issuer add https://ci.example --jwks ci.jwks --client deployer --scope deploy
  sealstone admin issuer add https://id.example --jwks id.jwks --client gateway --subject-prefix partner:

A subject is called ISSUER|SUB here, unless an option says otherwise (RFC 7523).")]
pub(super) struct Add {
    #[command(flatten)]
    terms: Terms,
}

/// Options of `issuer remove`.
#[derive(Args)]
pub(super) struct Remove {
    /// Its identifier
    #[arg(value_name = "ISSUER")]
    issuer: String,
}

pub(super) async fn run(command: Command, access: &Access, terminal: &mut Terminal) -> Result<(), Error> {
    match command {
        Command::Add(Add { terms }) => {
            let mut new = json!({
                "clients": terms.client,
                "issuer": terms.issuer,
                "jwks": clients::jwks(terms.jwks)?,
                "scopes": terms.scope,
            });
            match (terms.subject_prefix, terms.subject_fixed, terms.subject_same) {
                (Some(prefix), ..) => new["subject"] = json!({"prefix": prefix}),
                (_, Some(subject), _) => new["subject"] = json!({"fixed": subject}),
                (.., true) => new["subject"] = json!("same"),
                _ => {}
            }
            let added = access.open(terminal).await?.post(&["issuers"], body_of(&new)?).await?;
            match access.json {
                true => terminal.json(&added),
                false => done(access, &format!("{} is trusted", text(&added, "issuer")), terminal),
            }
        }
        Command::List => {
            let issuers = access.open(terminal).await?.list(&["issuers"]).await?;
            if access.json {
                return terminal.json(&Value::Array(issuers));
            }
            let row = |issuer: &Value| {
                let keys = issuer["jwks"]["keys"].as_array().map_or(0, Vec::len);
                let subjects = match &issuer["subject"] {
                    Value::String(same) => same.clone(),
                    other => other["fixed"].as_str().map_or_else(
                        || format!("{}SUB", text(other, "prefix")),
                        |fixed| format!("{fixed}, all of them"),
                    ),
                };
                let words = |member: &str| screen::shown(member, &issuer[member]);
                [text(issuer, "issuer").into(), words("clients"), words("scopes"), subjects, keys.to_string()]
            };
            let none = "no trusted issuers; `sealstone admin issuer add` adds one";
            let head = ["ISSUER", "CLIENTS", "SCOPES", "SUBJECTS", "KEYS"];
            screen::table(head, issuers.iter().map(row).collect(), none, terminal)
        }
        Command::Remove(Remove { issuer }) => {
            access.open(terminal).await?.delete(&["issuers", &issuer]).await?;
            done(access, &format!("{issuer} removed; its tokens are no longer active"), terminal)
        }
    }
}
