//! `sealstone jwt verify`.

use std::ffi::OsString;
use std::time::Duration;

use clap::{ArgGroup, Args};
use sealstone_jose::UnixSeconds;
use sealstone_jose::jwt::Rules;
use serde_json::json;

use super::keys::{Checked, Keys};
use super::{many, read_tokens, words};
use crate::clock::{now, parse_span};
use crate::error::Error;
use crate::files::Source;
use crate::flags::unix_seconds;
use crate::jwks::fetch::{self, Network};
use crate::jwks::set::KeySet;
use crate::keyfile::any::Gates;
use crate::password::PasswordFile;
use crate::terminal::{DIM, GOOD, Safe, Terminal, WARNING};

/// Options of `jwt verify`.
#[derive(Args)]
#[command(
    group = ArgGroup::new("keys").required(true).args(["key", "jwks", "jwks_url"]),
    after_help = "\
Examples:
  sealstone jwt verify --key my.pub.pem --iss https://id.example --aud orders token.jwt
  sealstone jwt verify --jwks keys.json --typ at+jwt --json - < token.jwt | jq .claims.sub
  sealstone jwt verify --jwks-url https://id.example/jwks.json --iss https://id.example token.jwt

The algorithm comes from the key, never from the token. `exp` is required, and the times are always \
checked; issuer, audience and type are checked when you say what you expect: a service should say all \
three. Exit code: 0 the token is valid, 1 it is not, 2 anything else."
)]
pub(crate) struct Options {
    /// The file with the token, or with several, each on a line of its own; - is standard input
    #[arg(value_name = "TOKEN", default_value = "-", value_parser = clap::value_parser!(OsString))]
    token: OsString,
    /// The key that must have signed it: PEM, DER, JWK or COSE_Key; two with --legacy, an Ed25519 and an ML-DSA key
    #[arg(long, value_name = "KEY", value_parser = clap::value_parser!(OsString))]
    key: Vec<OsString>,
    #[command(flatten)]
    password: PasswordFile,
    /// A key set, of which the token's key id names one
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    jwks: Option<OsString>,
    /// The address of a key set, which is fetched once
    #[arg(long, value_name = "URL")]
    jwks_url: Option<String>,
    #[command(flatten)]
    network: Network,
    /// The issuer that the token must have
    #[arg(long, value_name = "ISSUER")]
    iss: Option<String>,
    /// An audience that the token must have
    #[arg(long, value_name = "AUDIENCE")]
    aud: Option<String>,
    /// The type that the token must have, as in at+jwt
    #[arg(long, value_name = "TYPE")]
    typ: Option<String>,
    /// A claim that must be there; may be given more than once
    #[arg(long, value_name = "CLAIM")]
    require: Vec<String>,
    /// How old the token may be, by its iat
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    max_age: Option<Duration>,
    /// How far clocks may differ
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_span)]
    leeway: Duration,
    /// Accept a token that never ends
    #[arg(long)]
    allow_no_exp: bool,
    #[command(flatten)]
    gates: Gates,
    /// Check as if it were this time, in seconds since 1970
    #[arg(long, value_name = "SECONDS", value_parser = unix_seconds)]
    at: Option<UnixSeconds>,
    /// Say it in JSON, with header and claims
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let inputs = options.key.iter().chain(&options.jwks).chain([&options.token]);
    if inputs.filter(|input| *input == "-").count() > 1 {
        return Err(Error::usage("two inputs cannot both be standard input", "give one of them by its name"));
    }
    if options.jwks_url.is_none() && options.network.is_told() {
        return Err(Error::usage("nothing is fetched, and options say how", "--jwks-url fetches a key set"));
    }
    let keys = match (&options.jwks_url, &options.jwks) {
        (Some(url), _) => {
            let document = fetch::document(url, &options.network)?;
            let set = KeySet::parse(&shown(url), &document.bytes, options.gates)?.not_empty(&shown(url))?;
            Keys::Set(Box::new(set))
        }
        (None, Some(file)) => Keys::Set(Box::new(KeySet::load(&Source::from(file.clone()), options.gates)?)),
        (None, None) => Keys::load(&options.key, &options.password, options.gates, terminal)?,
    };
    let text = read_tokens(&Source::from(options.token.clone()))?;
    let (rules, now) = (rules(options), options.at.unwrap_or_else(now));
    if let Some(tokens) = several(&text) {
        return many::run(options.json, &tokens, |tokens| keys.check_all(tokens, &rules, now), terminal);
    }
    match keys.check(&text, &rules, now) {
        Ok(token) => good(options, &token, now, terminal),
        Err(refused) => {
            if options.json && refused.exit_code() == 1 {
                terminal.json(&json!({"error": refused.to_string(), "valid": false}))?;
            }
            Err(refused)
        }
    }
}

/// An address as it is called in messages.
fn shown(url: &str) -> String {
    Safe(url).to_string()
}

/// The tokens of a text that has more than one, each on a line of its own. A token that was broken over lines is not several: its
/// parts are not.
fn several(text: &str) -> Option<Vec<&str>> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    (lines.len() > 1 && lines.iter().all(|line| line.matches('.').count() == 2)).then_some(lines)
}

fn rules(options: &Options) -> Rules {
    let mut rules = Rules::new().leeway(options.leeway);
    rules = match &options.iss {
        Some(issuer) => rules.issuer(issuer),
        None => rules.any_issuer(),
    };
    rules = match &options.aud {
        Some(audience) => rules.audience(audience),
        None => rules.any_audience(),
    };
    rules = match &options.typ {
        Some(typ) => rules.typ(typ),
        None => rules.any_typ(),
    };
    if options.allow_no_exp {
        rules = rules.without_expiry();
    }
    if let Some(age) = options.max_age {
        rules = rules.max_age(age);
    }
    options.require.iter().fold(rules, |rules, claim| rules.require(claim))
}

fn good(options: &Options, token: &Checked, now: UnixSeconds, terminal: &mut Terminal) -> Result<(), Error> {
    let named = [("iss", &options.iss), ("aud", &options.aud), ("typ", &options.typ)];
    let unchecked: Vec<&str> =
        named.iter().filter(|(_, expected)| expected.is_none()).map(|(name, _)| *name).collect();
    if options.json {
        return terminal.json(&json!({
            "algorithm": token.algorithm,
            "claims": token.claims,
            "header": token.header,
            "unchecked": unchecked,
            "valid": true,
        }));
    }
    terminal.line(format_args!("{GOOD}valid{GOOD:#}  {} token", token.algorithm))?;
    words::members(&token.header, words::header, terminal)?;
    terminal.line("")?;
    words::members(&token.claims, |name, value| words::claim(name, value, now), terminal)?;
    if !unchecked.is_empty() {
        let options: Vec<String> = unchecked.iter().map(|name| format!("--{name}")).collect();
        terminal.line(format_args!(
            "\n{WARNING}not checked{WARNING:#}  {}  {DIM}say what you expect with {}{DIM:#}",
            unchecked.join(", "),
            options.join(", ")
        ))?;
    }
    Ok(())
}
