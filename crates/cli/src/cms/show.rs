//! `sealstone cms show`.

use std::ffi::OsString;

use clap::Args;
use sealstone_jose::UnixSeconds;
use sealstone_pki::cms::{Encrypted, Message, RecipientInfo, SignerInfo, Unverified};
use serde_json::{Value, json};

use super::load;
use crate::clock;
use crate::error::Error;
use crate::files::Source;
use crate::terminal::{BOLD, DIM, Safe, Terminal, WARNING, grouped};

/// Options of `cms show`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone cms show letter.txt.cms
  sealstone cms show --json letter.txt.cms

Nothing is checked: what is shown is what the message says of itself. The content is not shown.")]
pub(crate) struct Options {
    /// The message: PEM, DER or BER; - is standard input
    #[arg(value_name = "MESSAGE", value_parser = clap::value_parser!(OsString))]
    message: OsString,
    /// In JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let source = Source::from(options.message.clone());
    let message = load::message(&source)?;
    let row = match &message {
        Message::Signed(message) => signed_row(message),
        Message::Encrypted(message) => encrypted_row(message),
        _ => json!({}),
    };
    if options.json {
        return terminal.json(&row);
    }
    terminal.line(format_args!("{BOLD}{}{BOLD:#}  {}", source.name(), message.kind()))?;
    match &message {
        Message::Signed(message) => signed(message, terminal)?,
        Message::Encrypted(message) => encrypted(message, terminal)?,
        _ => {}
    }
    terminal.line(format_args!("{WARNING}not checked{WARNING:#}: this is what the message says of itself"))
}

fn line(name: &str, value: &str, terminal: &mut Terminal) -> Result<(), Error> {
    terminal.line(format_args!("  {DIM}{name:<12}{DIM:#}  {}", Safe(value)))
}

fn signed(message: &Unverified, terminal: &mut Terminal) -> Result<(), Error> {
    let content = match message.content_len() {
        Some(len) => format!("{} bytes inside", grouped(len)),
        None => "beside the message".into(),
    };
    line("content", &format!("{}, {content}", type_words(&message.content_type())), terminal)?;
    for certificate in message.certificates() {
        line("certificate", &certificate.subject().to_string(), terminal)?;
    }
    if !message.crls().is_empty() {
        line("revocation", &format!("{} lists", message.crls().len()), terminal)?;
    }
    for signer in message.signers() {
        line("signer", &signer.identifier().to_string(), terminal)?;
        line("", &format!("{}, {}", algorithm(signer), digest(signer)), terminal)?;
        let Some(attributes) = signer.attributes() else {
            line("", "no signed attributes: the content itself is signed", terminal)?;
            continue;
        };
        if let Some(time) = attributes.signing_time() {
            let words = match u64::try_from(time) {
                Ok(seconds) => clock::utc(UnixSeconds(seconds)),
                Err(_) => "before 1970".into(),
            };
            line("", &format!("signed on {words}"), terminal)?;
        }
        if attributes.protects_algorithms() {
            line("", "with its algorithms protected (RFC 6211)", terminal)?;
        }
        for other in attributes.others() {
            line("", &format!("with the attribute {other}"), terminal)?;
        }
    }
    Ok(())
}

fn encrypted(message: &Encrypted, terminal: &mut Terminal) -> Result<(), Error> {
    line(
        "content",
        &format!("{}, {} bytes", type_words(&message.content_type()), grouped(message.encrypted_len())),
        terminal,
    )?;
    let note =
        if message.cipher().is_authenticated() { "a change is noticed" } else { "a change is not noticed" };
    line("cipher", &format!("{}, {note}", message.cipher().name()), terminal)?;
    for recipient in message.recipients() {
        let words = match recipient {
            RecipientInfo::Kem(recipient) => format!("{}, {}", recipient.algorithm(), recipient.identifier()),
            RecipientInfo::Other { kind } => format!("by {kind}, which is not read here"),
            _ => "another".into(),
        };
        line("recipient", &words, terminal)?;
    }
    Ok(())
}

fn algorithm(signer: &SignerInfo) -> String {
    signer.algorithm().map_or_else(|cause| cause.to_string(), |algorithm| algorithm.name().to_owned())
}

fn digest(signer: &SignerInfo) -> String {
    signer.digest().map_or_else(|cause| cause.to_string(), |digest| digest.name().to_owned())
}

fn signed_row(message: &Unverified) -> Value {
    json!({
        "certificates": message.certificates().iter().map(|one| one.subject().to_string()).collect::<Vec<_>>(),
        "checked": false,
        "content_bytes": message.content_len(),
        "content_type": message.content_type(),
        "crls": message.crls().len(),
        "detached": message.is_detached(),
        "kind": "signed",
        "signers": message.signers().iter().map(|signer| json!({
            "algorithm": signer.algorithm().ok().map(|algorithm| algorithm.name()),
            "digest": signer.digest().ok().map(|digest| digest.name()),
            "named_by": signer.identifier().to_string(),
            "other_attributes": signer.attributes().map(|attributes| attributes.others().to_vec()),
            "protects_algorithms": signer.attributes().map(|attributes| attributes.protects_algorithms()),
            "signed_attributes": signer.attributes().is_some(),
            "signing_time": signer.attributes().and_then(|attributes| attributes.signing_time()),
            "unsigned_attributes": signer.unsigned_attributes(),
        })).collect::<Vec<_>>(),
    })
}

fn encrypted_row(message: &Encrypted) -> Value {
    json!({
        "authenticated": message.cipher().is_authenticated(),
        "checked": false,
        "cipher": message.cipher().name(),
        "content_type": message.content_type(),
        "encrypted_bytes": message.encrypted_len(),
        "kind": "encrypted",
        "recipients": message.recipients().iter().map(|recipient| match recipient {
            RecipientInfo::Kem(recipient) => json!({
                "algorithm": recipient.algorithm().name(),
                "named_by": recipient.identifier().to_string(),
            }),
            RecipientInfo::Other { kind } => json!({"other": kind}),
            _ => json!({}),
        }).collect::<Vec<_>>(),
    })
}

/// The common types by name.
fn type_words(dotted: &str) -> String {
    match dotted {
        "1.2.840.113549.1.7.1" => "plain data".into(),
        "1.2.840.113549.1.9.16.1.4" => "a time stamp".into(),
        other => format!("type {other}"),
    }
}
