//! What the parts of a token mean, in words, and how a value is shown on one line.

use sealstone_jose::legacy::HybridAlgorithm;
use sealstone_jose::{Algorithm, UnixSeconds, composite};
use serde_json::{Map, Value};

use crate::clock::{relative, utc};
use crate::error::Error;
use crate::key::{about, about_any};
use crate::keyfile::any::AnyAlgorithm;
use crate::terminal::{DIM, Safe, Terminal};

/// Members in the order in which people think of them; all others follow by name.
const ORDER: [&str; 13] =
    ["alg", "typ", "cty", "kid", "iss", "sub", "client_id", "aud", "scope", "iat", "nbf", "exp", "jti"];

/// The widest column of values: a thumbprint. What is longer pushes its own meaning aside and nobody else's.
const WIDEST: usize = 43;

/// Prints each member on a line: name, value, meaning.
pub(crate) fn members(
    map: &Map<String, Value>,
    mean: impl Fn(&str, &Value) -> Option<String>,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let place = |name: &str| ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len());
    let mut sorted: Vec<_> = map.iter().collect();
    sorted.sort_by(|(a, _), (b, _)| place(a).cmp(&place(b)).then(a.cmp(b)));
    let rows: Vec<_> = sorted
        .iter()
        .map(|(name, value)| (Safe(name).to_string(), shown(value), mean(name, value)))
        .collect();
    let width = |text: &String| text.chars().count();
    let names = rows.iter().map(|(name, ..)| width(name)).max().unwrap_or(0).clamp(9, 24);
    let values =
        rows.iter().map(|(_, value, _)| width(value)).filter(|width| *width <= WIDEST).max().unwrap_or(0);
    for (name, value, meaning) in rows {
        match meaning {
            Some(meaning) => {
                terminal.line(format_args!(
                    "  {DIM}{name:<names$}{DIM:#}  {value:<values$}  {DIM}{meaning}{DIM:#}"
                ))?;
            }
            None => terminal.line(format_args!("  {DIM}{name:<names$}{DIM:#}  {value}"))?,
        }
    }
    Ok(())
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) if !text.is_empty() => Safe(text).to_string(),
        other => Safe(&other.to_string()).to_string(),
    }
}

/// What a header member means.
pub(crate) fn header(name: &str, value: &Value) -> Option<String> {
    let text = value.as_str().unwrap_or_default();
    Some(match name {
        "alg" => algorithm(text),
        "b64" => "whether the payload is signed as base64url (RFC 7797)".into(),
        "crit" => "what a reader must understand (RFC 7515 §4.1.11)".into(),
        "cty" if text.eq_ignore_ascii_case("jwt") => "the payload is itself a token".into(),
        "cty" => "what the payload is".into(),
        "enc" => "how the content is encrypted (RFC 7516)".into(),
        "pq_alg" => "jwt-pq's name of the second half; no standard has it".into(),
        "jku" | "x5u" => "where the token says its key is: never followed".into(),
        "jwk" | "x5c" => "the key that the token brings itself: never trusted".into(),
        "kid" => "the name of the key".into(),
        "typ" => match text.to_ascii_lowercase().trim_start_matches("application/") {
            "jwt" => "JSON Web Token (RFC 7519)",
            "at+jwt" => "OAuth 2.0 access token (RFC 9068)",
            "dpop+jwt" => "proof of possession (RFC 9449)",
            "logout+jwt" => "OpenID Connect back-channel logout token",
            "token-introspection+jwt" => "introspection answer (RFC 9701)",
            _ => "the kind of token",
        }
        .into(),
        _ => return None,
    })
}

/// What `alg` says.
fn algorithm(name: &str) -> String {
    if let Ok(known) = name.parse::<Algorithm>() {
        return about(known).to_owned();
    }
    if let Ok(known) = name.parse::<composite::Algorithm>() {
        return about_any(AnyAlgorithm::Composite(known));
    }
    if name.parse::<HybridAlgorithm>().is_ok() {
        return "jwt-pq's hybrid, no standard: two signatures side by side".into();
    }
    match name {
        _ if name.eq_ignore_ascii_case("none") => "no signature at all: never accepted",
        "HS256" | "HS384" | "HS512" => "a MAC: whoever can check it can make it",
        "dir" => "encrypted with a shared key (RFC 7518 §4.5)",
        _ if name.starts_with("RSA") || name.starts_with("ECDH-ES") || name.starts_with('A') => {
            "how the key of an encrypted token is wrapped (RFC 7518 §4)"
        }
        _ => "not known here",
    }
    .into()
}

/// What a claim means, and when its time is.
pub(crate) fn claim(name: &str, value: &Value, now: UnixSeconds) -> Option<String> {
    let time = |what: &str| match value.as_f64() {
        Some(seconds) if (0.0..=253_402_300_799.0).contains(&seconds) => {
            let time = UnixSeconds(seconds as u64);
            format!("{what} {}, {}", utc(time), relative(time, now))
        }
        _ => format!("{what} no time: expected seconds since 1970"),
    };
    Some(match name {
        "aud" => "whom it is for".into(),
        "client_id" => "the OAuth client that got it".into(),
        "exp" if value.as_f64().is_some_and(|seconds| seconds <= now.0 as f64) => time("expired"),
        "exp" => time("expires"),
        "iat" => time("issued"),
        "iss" => "who issued it".into(),
        "jti" => "its own id".into(),
        "nbf" => time("good from"),
        "scope" => "what it allows".into(),
        "sub" => "whom it is about".into(),
        _ => return None,
    })
}
