//! `sealstone jwt inspect`: a token read aloud. Nothing is checked, and that is said first.

use std::ffi::OsString;

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use clap::Args;
use sealstone_jose::Algorithm;
use sealstone_jose::jws::Unverified;
use serde_json::{Value, json};

use super::{read_token, words};
use crate::clock::now;
use crate::error::Error;
use crate::files::Source;
use crate::terminal::{BOLD, DIM, Safe, Terminal, WARNING, grouped};

/// Options of `jwt inspect`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone jwt inspect token.jwt
  sealstone jwt inspect --json - < token.jwt | jq .header

Also tokens that would be refused are read, with the reason. Exit code: 0 the token has the right \
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

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let text = read_token(&Source::from(options.token.clone()))?;
    let refusal = Unverified::parse(&text).err();
    let parts: Vec<Part<'_>> = text.split('.').take(5).map(Part::read).collect();
    if options.json {
        terminal.json(&json!({
            "claims": parts.get(1).and_then(|part| part.json.clone()),
            "header": parts.first().and_then(|part| part.json.clone()),
            "refused": refusal.as_ref().map(ToString::to_string),
            "signature_bytes": parts.get(2).map(|part| part.bytes.as_ref().map(Vec::len)),
            "token_bytes": text.len(),
            "verified": false,
        }))?;
    } else {
        show(&text, &parts, terminal)?;
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

fn show(text: &str, parts: &[Part<'_>], terminal: &mut Terminal) -> Result<(), Error> {
    terminal.line(format_args!(
        "{WARNING}NOTHING HAS BEEN VERIFIED{WARNING:#}  anyone can write a token that says this"
    ))?;
    let now = now();
    for (index, name) in ["header", "claims"].into_iter().enumerate() {
        let Some(part) = parts.get(index) else { continue };
        let size = format!("{} characters", grouped(part.text.len()));
        terminal.line(format_args!("\n{BOLD}{name}{BOLD:#}  {DIM}{size}{DIM:#}"))?;
        match (&part.json, &part.bytes) {
            (Some(Value::Object(map)), _) if index == 0 => words::members(map, words::header, terminal)?,
            (Some(Value::Object(map)), _) => {
                words::members(map, |name, value| words::claim(name, value, now), terminal)?;
            }
            (Some(other), _) => terminal.line(format_args!("  {}", Safe(&other.to_string())))?,
            (None, Some(bytes)) => {
                terminal.line(format_args!("  {} bytes that are not JSON", grouped(bytes.len())))?;
            }
            (None, None) => terminal.line("  not base64url")?,
        }
    }
    if let Some(signature) = parts.get(2) {
        let size = format!("{} characters", grouped(signature.text.len()));
        terminal.line(format_args!("\n{BOLD}signature{BOLD:#}  {DIM}{size}{DIM:#}"))?;
        terminal.line(format_args!("  {}", about_signature(parts, signature)))?;
    }
    terminal.line(format_args!("\n{BOLD}token{BOLD:#}  {DIM}{} bytes{DIM:#}", grouped(text.len())))
}

fn about_signature(parts: &[Part<'_>], signature: &Part<'_>) -> String {
    let Some(bytes) = &signature.bytes else { return "not base64url".into() };
    let found = format!("{} bytes", grouped(bytes.len()));
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
