//! `sealstone mqtt publish`: one signed message.

use std::ffi::OsString;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::Args;
use sealstone_mldsa::{Level, OsRandom, any};
use sealstone_mqtt::gateway::client::Client;
use sealstone_mqtt::gateway::link;
use sealstone_mqtt::gateway::verify::SIGNATURE_PROPERTY;
use sealstone_mqtt::gateway::wire::{Properties, Publish, Qos, Version};
use sealstone_mqtt::{Form, Keyed, Kind, Message, Topic, UnixMillis, seal};
use serde_json::json;

use super::options::BrokerOptions;
use super::{device, options};
use crate::error::{Error, Plain};
use crate::files::{Readers, Source, Target};
use crate::flags;
use crate::terminal::Terminal;

/// The largest payload that is taken: more than any broker's default.
const LIMIT: usize = 16 << 20;

/// Options of `mqtt publish`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone mqtt publish --as pump-7.device --topic device/pump-7/telemetry/flow --message 21.5
  sealstone mqtt publish --as pump-7.device --topic device/pump-7/status/log --file log.txt --form cose --qos 2
  sealstone mqtt publish --as pump-7.device --topic device/pump-7/telemetry/flow --message 1 --out envelope.bin
  sealstone mqtt publish --as commander.device --topic device/pump-7/command/keys --message 'rotate 65'
  sealstone mqtt publish --as commander.device --topic device/pump-7/command/pace --message 'interval 5000'

The message is signed with a key of the file that `sealstone mqtt provision` wrote. Its number is one higher \
each time, and kept beside that file in FILE.number: keys that are in a device must not be used here too. \
What tells a device something is signed as the commander, whom devices and gateway know. In the \
form `detached` the payload travels as it is and the signature in a user property, which needs MQTT 5. With --out nothing \
is published.")]
pub(crate) struct Options {
    /// What the device was given
    #[arg(long = "as", value_name = "FILE")]
    given: PathBuf,
    /// The topic, which is signed
    #[arg(long)]
    topic: String,
    /// The level of the signature; what the device's policy has for the topic if not given
    #[arg(long, value_name = "LEVEL", ignore_case = true, value_parser = options::level())]
    level: Option<Level>,
    /// What it says
    #[arg(long, value_name = "TEXT", conflicts_with = "file", required_unless_present = "file")]
    message: Option<String>,
    /// A file with what it says; - is standard input
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    file: Option<OsString>,
    /// The layout (docs/formats/mqtt.md)
    #[arg(long, default_value = "v1", value_parser = options::form())]
    form: Form,
    /// What the payload is (docs/formats/mqtt.md)
    #[arg(long, default_value = "plain", value_parser = options::kind())]
    kind: Kind,
    /// The quality of service: 0, 1 or 2
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=2))]
    qos: u8,
    /// Let the broker keep it for new subscribers
    #[arg(long)]
    retain: bool,
    /// The content type, which is signed
    #[arg(long, value_name = "TYPE", default_value = "")]
    content_type: String,
    /// Where an answer is expected, which is signed
    #[arg(long, value_name = "TOPIC")]
    response_topic: Option<String>,
    /// What ties an answer to its question, in hexadecimal digits, which is signed
    #[arg(long, value_name = "HEX")]
    correlation: Option<String>,
    /// Say no time, as a device without a clock
    #[arg(long)]
    no_clock: bool,
    #[command(flatten)]
    broker: BrokerOptions,
    /// Write the envelope to a file instead of publishing it; - is standard output
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    out: Option<OsString>,
    /// Say in JSON what was published
    #[arg(long, conflicts_with = "out")]
    json: bool,
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let topic = topic(&options.topic)?;
    let broker = options.broker.broker();
    if options.form == Form::Detached && broker.version == Version::V311 && options.out.is_none() {
        let hint = "--mqtt 5, or another form";
        return Err(Error::usage(
            "a detached signature travels in a user property, which MQTT 3.1.1 does not have",
            hint,
        ));
    }
    let payload = match (&options.message, &options.file) {
        (_, Some(file)) => Source::from(file.clone()).read(LIMIT)?.to_vec(),
        (text, _) => text.clone().unwrap_or_default().into_bytes(),
    };
    let correlation = options.correlation.as_deref().unwrap_or_default();
    let correlation = flags::hex(correlation).ok_or_else(|| {
        Error::usage("--correlation is not hexadecimal", "an even number of digits, as in 01ff")
    })?;
    let response_topic = options.response_topic.as_deref().map(self::topic).transpose()?;

    let bytes = device::read(&options.given, terminal)?;
    let given = device::parse(&options.given, &bytes)?;
    let level = options.level.unwrap_or(given.policy.band(given.topics.class(topic)).default);
    let key = given.key(level);
    let signer = any::SigningKey::from_seed(level, key.seed).expand();
    let number = match options.form {
        Form::Paper => None,
        _ => Some(device::next_number(&options.given)?),
    };
    let message = Message {
        kind: options.kind,
        key_id: key.id,
        number,
        time: if options.no_clock { UnixMillis(0) } else { options::now() },
        content_type: &options.content_type,
        response_topic,
        correlation_data: &correlation,
        ..Message::new(topic, &payload)
    };
    let mut chance = OsRandom;
    let mut keyed = Keyed::new(&signer, &mut chance);
    let mut wire = vec![0; payload.len() + 200_000];
    let len = seal::seal(options.form, &message, &mut keyed, &mut wire)
        .map_err(|cause| unfit(options.form, cause))?;
    wire.truncate(len);
    if let Some(out) = &options.out {
        return Target::from(out.clone()).write(&wire, Readers::All, true, terminal);
    }

    let bytes_on_air = wire.len();
    let (payload, user) = match options.form {
        Form::Detached => (payload, vec![(SIGNATURE_PROPERTY.into(), URL_SAFE_NO_PAD.encode(&wire))]),
        _ => (wire, Vec::new()),
    };
    let publish = Publish {
        qos: Qos::ALL[usize::from(options.qos)],
        retain: options.retain,
        topic: options.topic.clone(),
        properties: Properties {
            content_type: (!options.content_type.is_empty()).then(|| options.content_type.clone()),
            response_topic: options.response_topic.clone(),
            correlation_data: (!correlation.is_empty()).then(|| correlation.clone()),
            user,
            ..Properties::default()
        },
        payload,
        ..Publish::default()
    };
    let connect = link::Options::of(&broker)?;
    let failed = |cause: std::io::Error| Error::Network {
        doing: "publishing",
        what: format!("{}: {}", broker.address, Plain(&cause)),
        hint: Some("--broker HOST:PORT names the broker".into()),
    };
    let (mut client, _) = Client::connect(&connect).map_err(failed)?;
    client.publish(publish).map_err(failed)?;
    client.disconnect().map_err(failed)?;
    let said = number.map(|number| format!("{}.{}", number.epoch, number.sequence));
    if options.json {
        return terminal.json(&json!({
            "topic": options.topic,
            "form": options.form.name(),
            "level": level.name(),
            "device": given.device,
            "key_id": key.id.0,
            "number": said,
            "envelope_bytes": bytes_on_air,
        }));
    }
    let said = said.map_or_else(String::new, |said| format!(", number {said}"));
    terminal.line(format_args!(
        "{}: {}, {}, key {} of {}{said}, {bytes_on_air} bytes",
        options.topic,
        options.form.name(),
        level,
        key.id.0,
        given.device
    ))
}

pub(super) fn topic(text: &str) -> Result<Topic<'_>, Error> {
    Topic::new(text).map_err(|_| {
        Error::usage(
            format!("{text:?} is no topic"),
            "1 to 65535 bytes without `+` and `#`, as in device/7/telemetry/temp",
        )
    })
}

fn unfit(form: Form, cause: sealstone_mqtt::Error) -> Error {
    let hint = "docs/formats/mqtt.md has a table of what each form can hold; v1 holds everything";
    Error::usage(format!("the form {} cannot carry this: {cause}", form.name()), hint)
}
