//! `sealstone jwt sign`.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use sealstone_jose::jws::{self, Header};
use sealstone_jose::jwt::Claims;
use sealstone_jose::{UnixSeconds, composite, legacy};
use serde_json::Value;

use super::keys::Signer;
use crate::clock::{now, parse_span};
use crate::error::Error;
use crate::files::{Readers, Source, Target};
use crate::flags::unix_seconds;
use crate::keyfile::any::Gates;
use crate::password::PasswordFile;
use crate::terminal::Terminal;

/// Larger than the claims of any token that can be written.
const LIMIT: usize = 1 << 16;

/// Options of `jwt sign`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone jwt sign --key my.pem --iss https://id.example --aud orders --expires-in 15m
  echo '{\"role\":\"reader\"}' | sealstone jwt sign --key my.pem --claims - --expires-in 8h
  sealstone jwt sign --key my.pem --claim-json 'groups=[\"a\",\"b\"]' --expires-in 1h
  sealstone jwt sign --key both.jwk --draft --sub alice --expires-in 15m        with a composite key

The algorithm is that of the key. --expires-in also says when the token was issued (iat). Everyone who \
sees the token can read its claims. What is given as an option others on this machine can see; --claims \
keeps it from them.")]
pub(crate) struct Options {
    /// The private key: PEM, DER, JWK or COSE_Key; two with --legacy, an Ed25519 and an ML-DSA key
    #[arg(long, value_name = "KEY", required = true, value_parser = clap::value_parser!(OsString))]
    key: Vec<OsString>,
    #[command(flatten)]
    password: PasswordFile,
    /// A file with claims, a JSON object; - is standard input
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    claims: Option<OsString>,
    /// A claim whose value is text
    #[arg(long, value_name = "NAME=TEXT")]
    claim: Vec<String>,
    /// A claim whose value is JSON
    #[arg(long, value_name = "NAME=JSON")]
    claim_json: Vec<String>,
    /// Who issues the token
    #[arg(long, value_name = "ISSUER")]
    iss: Option<String>,
    /// Whom the token is about
    #[arg(long, value_name = "SUBJECT")]
    sub: Option<String>,
    /// Whom the token is for; may be given more than once
    #[arg(long, value_name = "AUDIENCE")]
    aud: Vec<String>,
    /// How long the token lives, as in 15m; writes iat and exp
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    expires_in: Option<Duration>,
    /// How long until the token is good; writes nbf
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    valid_in: Option<Duration>,
    /// What kind of token it is, as in at+jwt
    #[arg(long, value_name = "TYPE", default_value = "JWT")]
    typ: String,
    /// Leave the key id out of the header
    #[arg(long)]
    no_kid: bool,
    /// The time to sign at, in seconds since 1970, instead of now
    #[arg(long, value_name = "SECONDS", value_parser = unix_seconds)]
    at: Option<UnixSeconds>,
    #[command(flatten)]
    gates: Gates,
    /// Where the token goes; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-", value_parser = clap::value_parser!(OsString))]
    out: OsString,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(options: Options, terminal: &mut Terminal) -> Result<(), Error> {
    let out = Target::from(options.out.clone());
    out.check(options.force)?;
    if options.key.iter().chain(&options.claims).filter(|file| *file == "-").count() > 1 {
        return Err(Error::usage("two inputs cannot both be standard input", "give one of them by its name"));
    }
    let claims = claims(&options, options.at.unwrap_or_else(now))?;
    let signer = Signer::load(&options.key, &options.password, options.gates, terminal)?;
    let mut header = Header::new().typ(&options.typ);
    if options.no_kid {
        header = header.without_kid();
    }
    let text = claims.to_json();
    let payload = text.as_bytes();
    let token = match &signer {
        Signer::Composite(key) => composite::encode(key, &header, payload),
        Signer::Expanded(key) => key.encode(&header, payload),
        Signer::Hybrid(key) => legacy::encode(key, &header, payload),
        Signer::Standard(key) => jws::encode(key, &header, payload),
    };
    // What goes wrong here is the input, not a token that someone else made.
    let token = token
        .map_err(|cause| Error::Usage { what: cause.to_string(), hint: cause.hint().map(str::to_owned) })?;
    if matches!(signer, Signer::Hybrid(_)) {
        terminal.warn(
            "a hybrid token of jwt-pq is no standard, and its halves are not bound to each other",
            "--alg ML-DSA-65-Ed25519 --draft makes a composite key, which binds them",
        );
    }
    if claims.get("exp").is_none() {
        terminal.warn("the token has no `exp` and never ends", "--expires-in 15m");
    }
    match out {
        Target::Stdout => terminal.line(&token),
        Target::Path(_) => {
            out.write(format!("{token}\n").as_bytes(), Readers::Owner, options.force, terminal)
        }
    }
}

fn claims(options: &Options, now: UnixSeconds) -> Result<Claims, Error> {
    let mut claims = Claims::new();
    if let Some(file) = &options.claims {
        let source = Source::from(file.clone());
        claims = Claims::parse(&source.read_text(LIMIT)?).map_err(|cause| {
            let what = format!("{}: {cause}", source.name());
            Error::usage(what, "give one JSON object, as in {\"sub\":\"alice\"}")
        })?;
    }
    for text in &options.claim {
        let (name, value) = pair("--claim", text)?;
        claims = add(claims, name, value.into())?;
    }
    for text in &options.claim_json {
        let (name, value) = pair("--claim-json", text)?;
        // Read as a member of an object, so that the reader of all claims judges it: no member twice, not too deep.
        let read =
            Claims::parse(&format!("{{\"value\":{value}}}")).ok().filter(|read| read.members().len() == 1);
        let Some(value) = read.as_ref().and_then(|read| read.get("value")) else {
            let what = format!("--claim-json {name}: the value is not JSON");
            return Err(Error::usage(what, "text needs quotation marks here; --claim takes it as it is"));
        };
        claims = add(claims, name, value.clone())?;
    }
    for (name, text) in [("iss", &options.iss), ("sub", &options.sub)] {
        if let Some(text) = text {
            claims = add(claims, name, text.as_str().into())?;
        }
    }
    match options.aud.as_slice() {
        [] => {}
        [one] => claims = add(claims, "aud", one.as_str().into())?,
        many => claims = add(claims, "aud", many.into())?,
    }
    if let Some(span) = options.valid_in {
        claims = add(claims, "nbf", now.0.saturating_add(span.as_secs()).into())?;
    }
    if let Some(span) = options.expires_in {
        claims = add(claims, "iat", now.0.into())?;
        claims = add(claims, "exp", now.0.saturating_add(span.as_secs()).into())?;
    }
    Ok(claims)
}

fn add(claims: Claims, name: &str, value: Value) -> Result<Claims, Error> {
    if claims.get(name).is_some() {
        let what = format!("claim `{name}` is given twice");
        return Err(Error::usage(
            what,
            "give each claim once: in --claims, by --claim, or by its own option",
        ));
    }
    Ok(claims.with(name, value))
}

fn pair<'t>(option: &str, text: &'t str) -> Result<(&'t str, &'t str), Error> {
    let expected = if option == "--claim" { "NAME=TEXT" } else { "NAME=JSON" };
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name, value)),
        _ => Err(Error::usage(
            format!("{option}: expected {expected}, found `{text}`"),
            "as in --claim team=blue",
        )),
    }
}
