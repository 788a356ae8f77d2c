//! A JSON Web Signature in JSON, read aloud.

use sealstone_jose::Error as Refusal;
use serde_json::{Map, Value, json};

use super::{Kind, Part, warning};
use crate::error::Error;
use crate::jwt::words;
use crate::terminal::{BOLD, DIM, Terminal, grouped};

pub(super) fn run(
    text: &str,
    as_json: bool,
    refusal: Option<Refusal>,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let document: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
    let flattened = Value::Object(document.clone());
    let signatures: Vec<&Value> = match document.get("signatures") {
        Some(Value::Array(all)) => all.iter().collect(),
        _ => vec![&flattened],
    };
    let payload = document.get("payload").and_then(Value::as_str);
    if as_json {
        let headers = signatures.iter().map(|signature| {
            let protected = header(signature).and_then(|header| header.json);
            json!({"protected": protected, "unprotected": signature.get("header")})
        });
        terminal.json(&json!({
            "kind": Kind::Json.name(),
            "payload_characters": payload.map(str::len),
            "refused": refusal.as_ref().map(ToString::to_string),
            "signatures": headers.collect::<Vec<_>>(),
            "verified": false,
        }))?;
        return end(refusal);
    }
    warning(terminal)?;
    for (index, signature) in signatures.iter().enumerate() {
        if let Some(header) = header(signature) {
            let name =
                if signatures.len() > 1 { format!("header {}", index + 1) } else { "header".to_owned() };
            header.show(&name, true, terminal)?;
        }
        if let Some(Value::Object(map)) = signature.get("header") {
            terminal
                .line(format_args!("\n{BOLD}beside it{BOLD:#}  {DIM}which no signature covers{DIM:#}"))?;
            words::members(map, words::header, terminal)?;
        }
    }
    match payload {
        None => terminal.line(format_args!("\n{BOLD}payload{BOLD:#}  {DIM}not in it: detached{DIM:#}"))?,
        Some(text) => {
            let part = Part::read(text);
            match part.json {
                Some(Value::Object(_)) => part.show("payload", false, terminal)?,
                _ => terminal.line(format_args!(
                    "\n{BOLD}payload{BOLD:#}  {DIM}{} characters{DIM:#}",
                    grouped(text.len())
                ))?,
            }
        }
    }
    let many = if signatures.len() == 1 {
        "1 signature".to_owned()
    } else {
        format!("{} signatures", signatures.len())
    };
    terminal
        .line(format_args!("\n{BOLD}document{BOLD:#}  {DIM}{many}, {} bytes{DIM:#}", grouped(text.len())))?;
    if let Some(words) = Kind::Json.words(false) {
        terminal.line(format_args!("  {words}"))?;
    }
    end(refusal)
}

/// The header that is signed.
fn header(signature: &Value) -> Option<Part<'_>> {
    Some(Part::read(signature.get("protected")?.as_str()?))
}

fn end(refusal: Option<Refusal>) -> Result<(), Error> {
    refusal.map_or(Ok(()), |cause| Err(Error::TokenRefused(cause)))
}
