//! `sealstone jwt verify`.

use std::ffi::OsString;
use std::time::Duration;

use clap::{ArgGroup, Args};
use sealstone_jose::jws::{Unverified, Verified};
use sealstone_jose::jwt::{Rules, Token};
use sealstone_jose::{Error as Refusal, JwkSet, UnixSeconds};
use serde_json::json;

use super::{read_token, words};
use crate::clock::{now, parse_span};
use crate::error::Error;
use crate::files::Source;
use crate::flags::unix_seconds;
use crate::jws::load_set;
use crate::keyfile::Key;
use crate::terminal::{DIM, GOOD, Terminal, WARNING};

/// Options of `jwt verify`.
#[derive(Args)]
#[command(
    group = ArgGroup::new("keys").required(true).args(["key", "jwks"]),
    after_help = "\
Examples:
  sealstone jwt verify --key my.pub.pem --iss https://id.example --aud orders token.jwt
  sealstone jwt verify --jwks keys.json --typ at+jwt --json - < token.jwt | jq .claims.sub

The algorithm comes from the key, never from the token. `exp` is required, and the times are always \
checked; issuer, audience and type are checked when you say what you expect: a service should say all \
three. Exit code: 0 the token is valid, 1 it is not, 2 anything else."
)]
pub(crate) struct Options {
    /// The file with the token; - is standard input
    #[arg(value_name = "TOKEN", default_value = "-", value_parser = clap::value_parser!(OsString))]
    token: OsString,
    /// The key that must have signed it: PEM, DER or JWK
    #[arg(long, value_name = "KEY", value_parser = clap::value_parser!(OsString))]
    key: Option<OsString>,
    /// A key set, of which the token's key id names one
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    jwks: Option<OsString>,
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
    /// Check as if it were this time, in seconds since 1970
    #[arg(long, value_name = "SECONDS", value_parser = unix_seconds)]
    at: Option<UnixSeconds>,
    /// Say it in JSON, with header and claims
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let token = Source::from(options.token.clone());
    let keys = options.key.iter().chain(&options.jwks).cloned().map(Source::from);
    if token == Source::Stdin && keys.into_iter().any(|key| key == Source::Stdin) {
        return Err(Error::usage(
            "the token and the key cannot both be standard input",
            "give one of them by its name",
        ));
    }
    let keys = Keys::load(options, terminal)?;
    let text = read_token(&token)?;
    let now = options.at.unwrap_or_else(now);
    let done = Unverified::parse(&text)
        .and_then(|token| keys.verify(token))
        .and_then(|verified| rules(options).check(verified, now));
    match done {
        Ok(token) => good(options, &token, now, terminal),
        Err(cause) => {
            let refused = Error::Token(cause);
            if options.json && refused.exit_code() == 1 {
                terminal.json(&json!({"error": refused.to_string(), "valid": false}))?;
            }
            Err(refused)
        }
    }
}

enum Keys {
    One(Key),
    Set(JwkSet),
}

impl Keys {
    fn load(options: &Options, terminal: &mut Terminal) -> Result<Self, Error> {
        if let Some(file) = &options.key {
            return Ok(Keys::One(Key::load(&Source::from(file.clone()), terminal)?));
        }
        let set = load_set(&options.jwks.clone().unwrap_or_default())?;
        Ok(Keys::Set(set))
    }

    fn verify(&self, token: Unverified<'_>) -> Result<Verified, Refusal> {
        match self {
            Keys::One(key) => token.verify(key.public()),
            Keys::Set(set) => token.verify_with_set(set),
        }
    }
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

fn good(options: &Options, token: &Token, now: UnixSeconds, terminal: &mut Terminal) -> Result<(), Error> {
    let named = [("iss", &options.iss), ("aud", &options.aud), ("typ", &options.typ)];
    let unchecked: Vec<&str> =
        named.iter().filter(|(_, expected)| expected.is_none()).map(|(name, _)| *name).collect();
    if options.json {
        return terminal.json(&json!({
            "algorithm": token.header().algorithm().name(),
            "claims": token.claims().members(),
            "header": token.header().members(),
            "unchecked": unchecked,
            "valid": true,
        }));
    }
    terminal.line(format_args!("{GOOD}valid{GOOD:#}  {} token", token.header().algorithm()))?;
    words::members(token.header().members(), words::header, terminal)?;
    terminal.line("")?;
    words::members(token.claims().members(), |name, value| words::claim(name, value, now), terminal)?;
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
