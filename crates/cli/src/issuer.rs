//! `sealstone issuer`: whose assertions the token server takes for a grant.

use std::collections::BTreeSet;
use std::ffi::OsString;

use clap::{Args, Subcommand};
use sealstone_auth::{SubjectRule, TrustedIssuer};
use sealstone_jose::JwkSet;
use serde_json::{Value, json};

use crate::client::{Place, runtime};
use crate::client_auth::MAX_KEYS;
use crate::error::Error;
use crate::files::Source;
use crate::terminal::{BOLD, DIM, Safe, Terminal};

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Trust an issuer
    Add(Box<Add>),
    /// List the trusted issuers of the store
    List(List),
    /// Trust an issuer no more; the tokens for its subjects cease to be active
    Remove(Remove),
}

/// Options of `issuer add`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone issuer add https://ci.example --jwks ci.jwks --client deployer --scope deploy
  sealstone issuer add https://id.example --jwks id.jwks --client gateway --subject-prefix partner:

A client that is registered with --grant jwt-bearer and named here brings a token that the issuer has signed \
(RFC 7523): the issuer as iss, a sub, this server's issuer as aud, an exp within 5 minutes and a jti that is used \
once. It gets a token for that subject, with scopes that both have.

A subject is called ISSUER|SUB here, unless an option says otherwise. No two issuers can have subjects of one name.")]
pub(crate) struct Add {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    terms: Terms,
    /// In JSON
    #[arg(long)]
    json: bool,
}

/// An issuer, and what it is trusted with; `sealstone admin issuer add` takes the same.
#[derive(Args)]
pub(crate) struct Terms {
    /// Its identifier, the `iss` of its assertions
    #[arg(value_name = "ISSUER")]
    pub(crate) issuer: String,
    /// Its public keys as a JWK set
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    pub(crate) jwks: OsString,
    /// A client that may bring its assertions; may be given more than once
    #[arg(long, value_name = "ID", required = true)]
    pub(crate) client: Vec<String>,
    /// A scope that tokens for its subjects may have; may be given more than once
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,
    /// What stands before a sub to make a subject
    #[arg(long, value_name = "TEXT", group = "subject")]
    pub(crate) subject_prefix: Option<String>,
    /// The one subject that all of its subjects are
    #[arg(long, value_name = "SUBJECT", group = "subject")]
    pub(crate) subject_fixed: Option<String>,
    /// It speaks about the users of this server, and is trusted with all of them
    #[arg(long, group = "subject")]
    pub(crate) subject_same: bool,
}

/// Options of `issuer list`.
#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    place: Place,
    /// In JSON
    #[arg(long)]
    json: bool,
}

/// Options of `issuer remove`.
#[derive(Args)]
pub(crate) struct Remove {
    #[command(flatten)]
    place: Place,
    /// Its identifier
    #[arg(value_name = "ISSUER")]
    issuer: String,
}

pub(crate) fn run(command: Command, terminal: &mut Terminal) -> Result<(), Error> {
    let runtime = runtime()?;
    match command {
        Command::Add(options) => {
            let terms = options.terms;
            let jwks = Source::from(terms.jwks);
            let text = jwks.read(MAX_KEYS)?;
            let keys =
                JwkSet::parse(&text).map_err(|cause| Error::key(&jwks.name(), &cause, cause.hint()))?;
            let subject = match (terms.subject_prefix, terms.subject_fixed, terms.subject_same) {
                (Some(prefix), ..) => SubjectRule::Prefix(prefix),
                (_, Some(subject), _) => SubjectRule::Fixed(subject),
                (.., true) => SubjectRule::Same,
                _ => TrustedIssuer::default_rule(&terms.issuer),
            };
            let added = runtime.block_on(options.place.admin()?.add_issuer(TrustedIssuer {
                clients: terms.client.into_iter().collect(),
                family: None,
                issuer: terms.issuer,
                keys,
                scopes: terms.scope.into_iter().collect(),
                subject,
            }))?;
            match options.json {
                true => terminal.json(&row(&added)),
                false => terminal.line(format_args!("{} is trusted", Safe(&added.issuer))),
            }
        }
        Command::List(options) => {
            let issuers = runtime.block_on(options.place.admin()?.list_issuers())?;
            if options.json {
                return terminal.json(&issuers.iter().map(|(issuer, _)| row(issuer)).collect());
            }
            if issuers.is_empty() {
                return terminal.line("no trusted issuers; `sealstone issuer add` adds one");
            }
            issuers.iter().try_for_each(|(issuer, _)| show(issuer, terminal))
        }
        Command::Remove(options) => {
            runtime.block_on(options.place.admin()?.remove_issuer(&options.issuer))?;
            terminal.line(format_args!("{} removed; its tokens are no longer active", Safe(&options.issuer)))
        }
    }
}

fn show(issuer: &TrustedIssuer, terminal: &mut Terminal) -> Result<(), Error> {
    terminal.line(format_args!("{BOLD}{}{BOLD:#}", Safe(&issuer.issuer)))?;
    let names = |names: &BTreeSet<String>| names.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
    let keys = issuer.keys.keys().iter();
    let keys: Vec<String> =
        keys.map(|key| format!("{} {}", key.algorithm().name(), Safe(key.kid()))).collect();
    let subject = match &issuer.subject {
        SubjectRule::Fixed(subject) => subject.clone(),
        SubjectRule::Prefix(prefix) => format!("{prefix}SUB"),
        _ => "SUB".into(),
    };
    for (name, value) in [
        ("clients", names(&issuer.clients)),
        ("scopes", names(&issuer.scopes)),
        ("subjects", subject),
        ("keys", keys.join(", ")),
    ] {
        if !value.is_empty() {
            terminal.line(format_args!("  {DIM}{name:<8}{DIM:#}  {}", Safe(&value)))?;
        }
    }
    Ok(())
}

fn row(issuer: &TrustedIssuer) -> Value {
    json!({
        "clients": issuer.clients,
        "issuer": issuer.issuer,
        "jwks": {"keys": issuer.keys.keys().iter().map(|key| key.to_jwk()).collect::<Vec<_>>()},
        "scopes": issuer.scopes,
        "subject": issuer.subject,
    })
}
