//! `sealstone jwt inspect`: a token read aloud. Nothing is checked, and that is said first.

mod in_json;

use std::ffi::OsString;

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use clap::Args;
use sealstone_jose::jws::{General, Unverified};
use sealstone_jose::legacy::HybridAlgorithm;
use sealstone_jose::{Algorithm, Error as Refusal, composite};
use serde_json::{Value, json};

use super::{read_token, words};
use crate::clock::now;
use crate::error::Error;
use crate::files::Source;
use crate::key::halves;
use crate::terminal::{BOLD, DIM, Safe, Terminal, WARNING, grouped};

/// Options of `jwt inspect`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone jwt inspect token.jwt
  sealstone jwt inspect --json - < token.jwt | jq .header

Also tokens that would be refused are read, with the reason; and composite ones, those of jwt-pq, encrypted \
ones and signatures in JSON, as far as they can be. Exit code: 0 the token has the right \
form, 1 it would be refused whatever the key. Whether its signature and claims are good, only \
`sealstone jwt verify` tells.")]
pub(crate) struct Options {
    /// The file with the token; - is standard input
    #[arg(value_name = "TOKEN", default_value = "-", value_parser = clap::value_parser!(OsString))]
    token: OsString,
    /// In JSON
    #[arg(long)]
    json: bool,
}

/// What a text is, by its form alone.
enum Kind {
    Composite(composite::Algorithm),
    Hybrid(HybridAlgorithm),
    Json,
    Jwe,
    Standard,
}

impl Kind {
    /// With why it would be refused whatever the key.
    fn of(text: &str) -> (Self, Option<Refusal>) {
        if text.starts_with('{') {
            return (Kind::Json, General::parse(text).err());
        }
        match Unverified::parse(text) {
            Err(Refusal::AlgorithmUnknown { found }) => {
                if let Ok(token) = Unverified::parse_composite(text) {
                    return (Kind::Composite(token.header().algorithm()), None);
                }
                if let Ok(token) = Unverified::parse_hybrid(text) {
                    return (Kind::Hybrid(token.header().algorithm()), None);
                }
                (Kind::Standard, Some(Refusal::AlgorithmUnknown { found }))
            }
            Err(Refusal::Jwe) => (Kind::Jwe, Some(Refusal::Jwe)),
            parsed => (Kind::Standard, parsed.err()),
        }
    }

    const fn name(&self) -> &'static str {
        match self {
            Kind::Composite(_) => "composite",
            Kind::Hybrid(_) => "hybrid of jwt-pq",
            Kind::Json => "jws in json",
            Kind::Jwe => "jwe",
            Kind::Standard => "jws",
        }
    }

    /// What a reader has to know of it, and what takes it.
    fn words(&self, nested: bool) -> Option<String> {
        Some(match self {
            Kind::Composite(algorithm) => format!(
                "{algorithm} is composite, of a draft: {}. `sealstone jwt verify --draft` checks both halves",
                composite::REVISION
            ),
            Kind::Hybrid(_) => "two signatures of the same bytes, neither bound to the other: who takes one out has a good token of the \
                                other. `sealstone jwt verify --legacy` checks both"
                .into(),
            Kind::Json => "a JSON Web Signature in JSON: `sealstone jws verify` checks it".into(),
            Kind::Jwe => "encrypted: only the header can be read without the key".into(),
            Kind::Standard if nested => {
                "the payload is itself a token: its signature is another, and is checked on its own".into()
            }
            Kind::Standard => return None,
        })
    }
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let text = read_token(&Source::from(options.token.clone()))?;
    let (kind, refusal) = Kind::of(&text);
    if matches!(kind, Kind::Json) {
        return in_json::run(&text, options.json, refusal, terminal);
    }
    let parts: Vec<Part<'_>> = text.split('.').take(5).map(Part::read).collect();
    if options.json {
        terminal.json(&json!({
            "claims": if matches!(kind, Kind::Jwe) { None } else { parts.get(1).and_then(|part| part.json.clone()) },
            "header": parts.first().and_then(|part| part.json.clone()),
            "kind": kind.name(),
            "refused": refusal.as_ref().map(ToString::to_string),
            "signature_bytes": parts.get(2).map(|part| part.bytes.as_ref().map(Vec::len)),
            "token_bytes": text.len(),
            "verified": false,
        }))?;
    } else {
        show(&text, &kind, &parts, terminal)?;
    }
    refusal.map_or(Ok(()), |cause| Err(Error::TokenRefused(cause)))
}

/// One part of a token, decoded as far as it can be.
struct Part<'t> {
    text: &'t str,
    bytes: Option<Vec<u8>>,
    json: Option<Value>,
}

impl<'t> Part<'t> {
    fn read(text: &'t str) -> Self {
        // Milder than the reader that decides: here everything that can be read is to be seen.
        let mild = GeneralPurposeConfig::new()
            .with_decode_padding_mode(DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true);
        let bytes = GeneralPurpose::new(&base64::alphabet::URL_SAFE, mild).decode(text).ok();
        let json = bytes.as_deref().and_then(|bytes| serde_json::from_slice(bytes).ok());
        Self { text, bytes, json }
    }
}

fn show(text: &str, kind: &Kind, parts: &[Part<'_>], terminal: &mut Terminal) -> Result<(), Error> {
    warning(terminal)?;
    if let Some(header) = parts.first() {
        header.show("header", true, terminal)?;
    }
    if matches!(kind, Kind::Jwe) {
        let names = ["wrapped key", "initial value", "encrypted content", "tag"];
        for (name, part) in names.into_iter().zip(&parts[1..]) {
            let bytes = part.bytes.as_ref().map_or(0, Vec::len);
            terminal.line(format_args!("\n{BOLD}{name}{BOLD:#}  {DIM}{} bytes{DIM:#}", grouped(bytes)))?;
        }
    } else {
        if let Some(claims) = parts.get(1) {
            claims.show("claims", false, terminal)?;
        }
        if let Some(signature) = parts.get(2) {
            let size = format!("{} characters", grouped(signature.text.len()));
            terminal.line(format_args!("\n{BOLD}signature{BOLD:#}  {DIM}{size}{DIM:#}"))?;
            terminal.line(format_args!("  {}", about_signature(kind, parts, signature)))?;
        }
    }
    terminal.line(format_args!("\n{BOLD}token{BOLD:#}  {DIM}{} bytes{DIM:#}", grouped(text.len())))?;
    let cty = parts.first().and_then(|header| header.json.as_ref()?.get("cty")?.as_str());
    let nested = cty.is_some_and(|cty| cty.eq_ignore_ascii_case("jwt"));
    match kind.words(nested) {
        Some(words) => terminal.line(format_args!("  {words}")),
        None => Ok(()),
    }
}

/// Said first, so that nobody overlooks it.
fn warning(terminal: &mut Terminal) -> Result<(), Error> {
    terminal.line(format_args!(
        "{WARNING}NOTHING HAS BEEN VERIFIED{WARNING:#}  anyone can write a token that says this"
    ))
}

impl Part<'_> {
    /// Its JSON, or why it has none.
    fn show(&self, name: &str, is_header: bool, terminal: &mut Terminal) -> Result<(), Error> {
        let size = format!("{} characters", grouped(self.text.len()));
        terminal.line(format_args!("\n{BOLD}{name}{BOLD:#}  {DIM}{size}{DIM:#}"))?;
        match (&self.json, &self.bytes) {
            (Some(Value::Object(map)), _) if is_header => words::members(map, words::header, terminal),
            (Some(Value::Object(map)), _) => {
                let now = now();
                words::members(map, |name, value| words::claim(name, value, now), terminal)
            }
            (Some(other), _) => terminal.line(format_args!("  {}", Safe(&other.to_string()))),
            (None, Some(bytes)) => match std::str::from_utf8(bytes) {
                // A token in a token.
                Ok(text) if text.starts_with("eyJ") && text.matches('.').count() >= 2 => {
                    let header = text.split('.').next().map(Part::read);
                    terminal.line("  a token, of which the header says")?;
                    match header.and_then(|header| header.json) {
                        Some(Value::Object(map)) => words::members(&map, words::header, terminal),
                        _ => terminal.line("  nothing that can be read"),
                    }
                }
                _ => terminal.line(format_args!("  {} bytes that are not JSON", grouped(bytes.len()))),
            },
            (None, None) => terminal.line("  not base64url"),
        }
    }
}

fn about_signature(kind: &Kind, parts: &[Part<'_>], signature: &Part<'_>) -> String {
    let Some(bytes) = &signature.bytes else { return "not base64url".into() };
    let found = format!("{} bytes", grouped(bytes.len()));
    match kind {
        Kind::Composite(algorithm) => {
            let (level, classical) = halves(*algorithm);
            let first = algorithm.pair().level().signature_len();
            let second = bytes.len().saturating_sub(first);
            return format!(
                "{found}: {} of {level}, then {second} of {classical}; not compared with any key",
                grouped(first)
            );
        }
        Kind::Hybrid(HybridAlgorithm(level)) => {
            let second = grouped(level.signature_len());
            return format!("{found}: 64 of Ed25519, then {second} of {level}; not compared with any key");
        }
        _ => {}
    }
    let named = parts.first().and_then(|header| header.json.as_ref()?.get("alg")?.as_str());
    match named.and_then(|name| name.parse::<Algorithm>().ok()) {
        Some(algorithm) => match algorithm.signature_len() {
            Some(len) if len == bytes.len() => {
                format!("{found}, as long as every {algorithm} signature; not compared with any key")
            }
            Some(len) => format!("{found}; an {algorithm} signature has {}", grouped(len)),
            None => format!("{found}, as many as the modulus of its key should have"),
        },
        None => found,
    }
}
