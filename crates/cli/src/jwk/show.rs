//! `sealstone jwk show`: a key read aloud.

use std::ffi::OsString;

use clap::Args;
use sealstone_jose::{Algorithm, composite};
use serde_json::{Map, Value, json};
use zeroize::{Zeroize as _, Zeroizing};

use super::{LIMIT, check};
use crate::error::Error;
use crate::files::Source;
use crate::key::{about, about_any};
use crate::keyfile::Opened;
use crate::keyfile::any::{AnyAlgorithm, AnyKey, Gates};
use crate::password::PasswordFile;
use crate::terminal::{BAD, BOLD, DIM, Safe, Terminal, grouped};

/// Options of `jwk show`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone jwk show my.jwk
  sealstone jwk show my.pem             the JWK that it would be
  sealstone jwk show --json my.jwk

Also a JWK that would be refused is read; `sealstone jwk check` says what is wrong with it. No secret is \
printed.")]
pub(crate) struct Options {
    /// The JWK, or a key in any form; - is standard input
    #[arg(value_name = "KEY", value_parser = clap::value_parser!(OsString))]
    key: OsString,
    #[command(flatten)]
    password: PasswordFile,
    #[command(flatten)]
    gates: Gates,
    /// In JSON, the secrets left out
    #[arg(long)]
    json: bool,
}

/// Members in the order in which they are written; all others follow by name.
const ORDER: [&str; 13] =
    ["kty", "alg", "kid", "use", "key_ops", "crv", "pub", "x", "y", "n", "e", "priv", "d"];
const SECRET: [&str; 10] = ["d", "priv", "seed", "k", "p", "q", "dp", "dq", "qi", "oth"];

pub(super) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let source = Source::from(options.key.clone());
    let file = Opened::read(&source, LIMIT, &options.password)?;
    let text = match std::str::from_utf8(&file.bytes) {
        Ok(text) if text.trim_start().starts_with('{') => Zeroizing::new(text.to_owned()),
        _ => {
            let key = AnyKey::parse(&source, &file, options.gates, terminal)?;
            Zeroizing::new(key.public().to_jwk().to_json())
        }
    };
    let mut map: Map<String, Value> = serde_json::from_str(&text).map_err(|cause| {
        let what = format_args!("no JWK: bad JSON at line {} column {}", cause.line(), cause.column());
        Error::key(&source.name(), what, Some("a key in JSON is one object, {\"kty\":…}"))
    })?;
    let done = if map.contains_key("keys") {
        let hint = "`sealstone jwks list` shows it";
        Err(Error::key(&source.name(), "this is a key set, expected one key", Some(hint)))
    } else if options.json {
        terminal.json(&without_secrets(&map))
    } else {
        show(&source.name(), &map, terminal)
    };
    map.values_mut().for_each(|value| {
        if let Value::String(text) = value {
            text.zeroize();
        }
    });
    done?;
    let faults: usize = check::examine(&text, options.gates).iter().map(check::Report::faults).sum();
    if faults > 0 && !options.json {
        terminal
            .line(format_args!("\n{BAD}would be refused{BAD:#}  {DIM}sealstone jwk check says why{DIM:#}"))?;
    }
    Ok(())
}

fn show(name: &str, map: &Map<String, Value>, terminal: &mut Terminal) -> Result<(), Error> {
    terminal.line(format_args!("{BOLD}{name}{BOLD:#}"))?;
    let place = |name: &str| ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len());
    let mut members: Vec<(&String, &Value)> = map.iter().collect();
    members.sort_by(|(a, _), (b, _)| place(a).cmp(&place(b)).then(a.cmp(b)));
    let values: Vec<String> = members.iter().map(|(name, value)| shown(name, value)).collect();
    let width = values.iter().map(|value| value.chars().count()).max().unwrap_or(0);
    for ((name, value), shown) in members.iter().zip(&values) {
        let (name, meaning) = (Safe(name).to_string(), meaning(name, value));
        terminal.line(format_args!("  {DIM}{name:<9}{DIM:#}  {shown:<width$}  {DIM}{meaning}{DIM:#}"))?;
    }
    Ok(())
}

/// What is long is cut, what is secret is not there.
fn shown(name: &str, value: &Value) -> String {
    const MOST: usize = 43;
    if SECRET.contains(&name) {
        return "(not shown)".into();
    }
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let text = Safe(&text).to_string();
    if text.chars().count() <= MOST {
        return text;
    }
    text.chars().take(MOST - 1).chain(['…']).collect()
}

fn meaning(name: &str, value: &Value) -> String {
    let text = value.as_str().unwrap_or_default();
    // A text that is decoded has three bytes for four characters.
    let bytes = |what: &str| format!("{what}, {} bytes", grouped(text.trim_end_matches('=').len() * 3 / 4));
    match name {
        "kty" => match text {
            "AKP" => "Algorithm Key Pair: `alg` says of which algorithm (RFC 9964)".into(),
            "EC" => "a point on an elliptic curve (RFC 7518)".into(),
            "OKP" => "octet key pair: Ed25519 here (RFC 8037)".into(),
            "RSA" => "RSA (RFC 7518)".into(),
            "oct" => "a shared secret (RFC 7518)".into(),
            _ => "not known here".into(),
        },
        "alg" => match (text.parse::<Algorithm>(), text.parse::<composite::Algorithm>()) {
            (Ok(known), _) => about(known).into(),
            (_, Ok(known)) => about_any(AnyAlgorithm::Composite(known)),
            _ => "not known here".into(),
        },
        "kid" => "the name of the key".into(),
        "use" if text == "sig" => "for signatures".into(),
        "use" => "not for signatures".into(),
        "key_ops" => "what may be done with it".into(),
        "crv" => "the curve".into(),
        "pub" => bytes("the public key"),
        "x" | "y" => bytes("the public key"),
        "n" => bytes("the public key: modulus"),
        "e" => bytes("the public key: exponent"),
        "x5c" | "x5t" | "x5u" | "x5t#S256" => "a certificate: not looked at".into(),
        secret if SECRET.contains(&secret) => bytes("the private key: for its owner alone"),
        _ => String::new(),
    }
}

fn without_secrets(map: &Map<String, Value>) -> Value {
    let public = map.iter().filter(|(name, _)| !SECRET.contains(&name.as_str()));
    let public: Map<String, Value> = public.map(|(name, value)| (name.clone(), value.clone())).collect();
    let hidden: Vec<&String> = map.keys().filter(|name| SECRET.contains(&name.as_str())).collect();
    json!({"jwk": public, "not_shown": hidden})
}
