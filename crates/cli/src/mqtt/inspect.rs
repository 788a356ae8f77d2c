//! `sealstone mqtt inspect`: an envelope in words.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use sealstone_mqtt::form::By;
use sealstone_mqtt::gateway::{Directory, config};
use sealstone_mqtt::open::{self, Envelope};
use sealstone_mqtt::{Form, Topic};
use serde_json::json;

use super::options;
use crate::error::Error;
use crate::files::Source;
use crate::terminal::{BOLD, DIM, GOOD, Safe, Terminal, grouped};

/// The largest envelope that is read.
const LIMIT: usize = 16 << 20;

/// Options of `mqtt inspect`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone mqtt inspect --topic device/pump-7/telemetry/flow envelope.bin
  mosquitto_sub -t device/pump-7/telemetry/flow -C 1 -N | sealstone mqtt inspect --topic device/pump-7/telemetry/flow -
  sealstone mqtt inspect --topic device/pump-7/telemetry/flow --directory devices envelope.bin

Nothing is sent anywhere. Without --directory nothing is verified, and what is shown is what the envelope says of itself. \
The topic is signed and not part of the envelope: the signature verifies on the topic that it was made for, and on no other. \
Whether a number was seen before, and whether the time is good, only a gateway can say.")]
pub(crate) struct Options {
    /// The envelope; - is standard input
    #[arg(value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    file: OsString,
    /// The topic that it came on
    #[arg(long)]
    topic: String,
    /// The payload that a detached envelope came with
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    payload: Option<OsString>,
    /// The directory of devices: then the signature or the tag is checked
    #[arg(long, value_name = "PATH")]
    directory: Option<PathBuf>,
    /// Where a topic names its device: at the first `+`
    #[arg(long, value_name = "FILTER", default_value = "device/+/#")]
    identity: String,
    /// Who signs commands, in the directory
    #[arg(long, value_name = "NAME", default_value = "commander")]
    commander: String,
    /// In JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let source = Source::from(options.file.clone());
    let bytes = source.read(LIMIT)?;
    let name = source.name();
    let topic = Topic::new(&options.topic).map_err(|_| {
        Error::usage(format!("{:?} is no topic", options.topic), "the topic that the envelope came on")
    })?;
    let payload = match &options.payload {
        Some(file) => Some(Source::from(file.clone()).read(LIMIT)?),
        None => None,
    };
    if let Ok(payload) = open::unsigned(&bytes) {
        terminal
            .warn("this message is not signed: anybody may have written it", "a gateway marks or refuses it");
        return terminal
            .line(format_args!("{BOLD}{name}{BOLD:#}  unsigned, a payload of {}", bytes_of(payload)));
    }
    let Some(form) = Form::of(&bytes) else {
        let hint = "docs/formats/mqtt.md has a table of first bytes";
        return Err(Error::usage(format!("{name} is no envelope, by its first byte"), hint));
    };
    let parsed = match (form, &payload) {
        (Form::Detached, Some(payload)) => Envelope::parse_detached(topic, payload, &bytes),
        (Form::Detached, None) => {
            return Err(Error::usage("a detached envelope does not hold its payload", "--payload names it"));
        }
        _ => Envelope::parse(form, topic, &bytes),
    };
    let envelope = parsed.map_err(|cause| Error::Signature {
        name: name.clone(),
        what: format!("not well formed as {}: {cause}", form.name()),
        hint: Some("docs/formats/mqtt.md has the bytes".into()),
    })?;
    let verified = match &options.directory {
        None => None,
        Some(directory) => Some(check(&envelope, topic, options, &Directory::load(directory)?)?),
    };

    let said = envelope.claimed();
    let seal = match envelope.by() {
        By::Signature(level) => format!("{level}, {} bytes", grouped(level.signature_len())),
        By::Mac => "KMAC256, 32 bytes".into(),
    };
    let number = said.number.map(|number| format!("{}.{}", number.epoch, number.sequence));
    let time = said.time.is_known().then(|| options::utc(said.time));
    let text = std::str::from_utf8(said.payload).ok();
    if options.json {
        terminal.json(&json!({
            "verified": verified.is_some(),
            "form": form.name(),
            "topic": options.topic,
            "seal": seal,
            "key_id": said.key_id.0,
            "number": number,
            "time": time,
            "kind": said.kind.name(),
            "content_type": said.content_type,
            "response_topic": said.response_topic.map(Topic::as_str),
            "payload_bytes": said.payload.len(),
            "payload": text,
        }))?;
    } else {
        terminal.line(format_args!("{BOLD}{name}{BOLD:#}  an envelope of the form {}", form.name()))?;
        let payload = match text {
            Some(text) if text.chars().count() <= 60 => {
                format!("{}: {}", bytes_of(said.payload), Safe(text))
            }
            _ => bytes_of(said.payload),
        };
        let mut rows = vec![
            ("topic", format!("{}  (signed, not in the envelope)", Safe(&options.topic))),
            ("payload", payload),
            ("kind", said.kind.name().into()),
            ("key id", said.key_id.0.to_string()),
            ("number", number.unwrap_or_else(|| "none: this form or device has none".into())),
            ("time", time.unwrap_or_else(|| "none: the device has no clock".into())),
            ("seal", seal),
        ];
        if !said.content_type.is_empty() {
            rows.push(("content", Safe(said.content_type).to_string()));
        }
        if let Some(topic) = said.response_topic {
            rows.push(("answers to", Safe(topic.as_str()).to_string()));
        }
        for (label, value) in rows {
            terminal.line(format_args!("  {DIM}{label:<10}{DIM:#}  {value}"))?;
        }
        if let Some(device) = &verified {
            let what = seal_word(envelope.by());
            terminal.line(format_args!(
                "  {GOOD}the {what} is good: key {} of {device}{GOOD:#}",
                said.key_id.0
            ))?;
        }
    }
    if verified.is_none() {
        terminal.warn("nothing of this is verified", "--directory names the devices whose keys check it");
    }
    Ok(())
}

fn bytes_of(payload: &[u8]) -> String {
    match payload.len() {
        1 => "1 byte".into(),
        len => format!("{} bytes", grouped(len)),
    }
}

/// Checks the seal with the key of the device that the topic names. Returns the device.
fn check(
    envelope: &Envelope<'_>,
    topic: Topic<'_>,
    options: &Options,
    directory: &Directory,
) -> Result<String, Error> {
    let refused = |what: String, hint: &str| Error::Signature {
        name: Source::from(options.file.clone()).name(),
        what,
        hint: Some(hint.to_owned()),
    };
    let topics = config::Topics { identity: options.identity.clone(), ..config::Topics::default() };
    let config = sealstone_mqtt::gateway::Config { topics, ..Default::default() };
    let rules = config.rules().map_err(sealstone_mqtt::gateway::Error::from)?;
    let named = rules
        .device(topic)
        .ok_or_else(|| refused("the topic names no device".into(), "--identity says where"))?;
    let device = if rules.is_command(topic) { &options.commander } else { named };
    let found = directory.device(device);
    let found = found.ok_or_else(|| {
        refused(format!("no device {device} is in the directory"), "it was made elsewhere, or forged")
    })?;
    let id = envelope.claimed().key_id;
    let unknown = || refused(format!("{device} has no key {}", id.0), "its key is newer, or it is forged");
    let (counts, verdict) = match envelope.by() {
        By::Signature(_) => {
            let key = found.key(id).ok_or_else(unknown)?;
            let public = key.verifying_key().map_err(Error::Engine)?;
            (key.counts(options::now()), envelope.verify(&public))
        }
        By::Mac => {
            let mac = found.mac(id).ok_or_else(unknown)?;
            (mac.counts(options::now()), envelope.verify_mac(mac.key()))
        }
    };
    if !counts {
        return Err(refused(
            format!("key {} of {device} does not count", id.0),
            "it is retired, or announced and not confirmed",
        ));
    }
    verdict.map_err(|_| {
        refused(
            format!("the {} is not good", seal_word(envelope.by())),
            "something was changed, or it came on another topic, or it is forged",
        )
    })?;
    Ok(device.to_owned())
}

fn seal_word(by: By) -> &'static str {
    match by {
        By::Signature(_) => "signature",
        By::Mac => "tag",
    }
}
