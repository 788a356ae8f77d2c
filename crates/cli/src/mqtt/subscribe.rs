//! `sealstone mqtt subscribe`: what a gateway would say of each message.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use sealstone_mqtt::gateway::client::Client;
use sealstone_mqtt::gateway::config::Stance;
use sealstone_mqtt::gateway::state::{self, Recent};
use sealstone_mqtt::gateway::verify::{Judge, Passed};
use sealstone_mqtt::gateway::wire::{Publish, Qos};
use sealstone_mqtt::gateway::{Directory, Reason, link};
use serde_json::{Value, json};

use super::options;
use super::options::BrokerOptions;
use crate::clock;
use crate::error::{Error, Plain};
use crate::terminal::{BAD, DIM, GOOD, Safe, Terminal, WARNING};

/// Options of `mqtt subscribe`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone mqtt subscribe --directory devices
  sealstone mqtt subscribe --config gateway.toml --policy strict --json
  sealstone mqtt subscribe --filter 'device/+/alert/#' --count 1 --wait 60s

Each message is verified by the gateway's rules and printed: what passed with its payload, what did not with the reason. \
It reads beside a gateway and changes nothing; numbers are remembered as long as it runs. The exit code is 1 if anything \
was refused, with --count or --wait, after which it ends.")]
pub(crate) struct Options {
    /// The gateway's configuration
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The directory of devices; that of the configuration if not given
    #[arg(long, value_name = "PATH")]
    directory: Option<PathBuf>,
    /// What must be signed; that of the configuration if not given
    #[arg(long, value_enum)]
    policy: Option<PolicyName>,
    /// A topic filter; those of the configuration if not given
    #[arg(long = "filter", value_name = "FILTER")]
    filters: Vec<String>,
    /// End after so many messages
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// End after so long without a message
    #[arg(long, value_name = "TIME", value_parser = clock::parse_span)]
    wait: Option<Duration>,
    #[command(flatten)]
    broker: BrokerOptions,
    /// A line of JSON for each message
    #[arg(long)]
    json: bool,
}

/// The stances by name.
#[derive(Clone, Copy, ValueEnum)]
enum PolicyName {
    /// Unsigned messages pass, marked
    Compatible,
    /// Who is in the directory must sign
    Balanced,
    /// Everything is signed, by somebody in the directory
    Strict,
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let mut config = options::config(options.config.as_deref())?;
    if let Some(policy) = options.policy {
        config.policy.default = match policy {
            PolicyName::Compatible => Stance::Compatible,
            PolicyName::Balanced => Stance::Balanced,
            PolicyName::Strict => Stance::Strict,
        };
    }
    let directory = Directory::load(options.directory.as_ref().unwrap_or(&config.directory))?;
    let rules = config.rules().map_err(sealstone_mqtt::gateway::Error::from)?;
    let judge = Judge { rules: &rules, directory: &directory };
    let broker = options.broker.broker();
    let mut connect = link::Options::of(&broker)?;
    connect.connect.clean_start = true;
    let failed = |cause: std::io::Error| Error::Network {
        doing: "subscribing",
        what: format!("{}: {}", broker.address, Plain(&cause)),
        hint: Some("--broker HOST:PORT names the broker".into()),
    };
    let (mut client, _) = Client::connect(&connect).map_err(failed)?;
    let filters = if options.filters.is_empty() { &config.topics.subscribe } else { &options.filters };
    let filters: Vec<&str> = filters.iter().map(String::as_str).collect();
    client.subscribe(&filters, Qos::AtLeastOnce).map_err(failed)?;

    // What a gateway beside it has learned, where it is one's own.
    let mut seen = match (&options.config, state::read_known(&config.data_dir)) {
        (Some(_), Ok(known)) => Recent::knowing(known, &directory),
        _ => Recent::default(),
    };
    let (mut came, mut refused) = (0, 0);
    let mut last = Instant::now();
    while options.count.is_none_or(|count| came < count) {
        let left = options.wait.map_or(Duration::from_secs(3600), |wait| wait.saturating_sub(last.elapsed()));
        let Some(publish) = client.next(left).map_err(failed)? else {
            if options.wait.is_some() {
                break;
            }
            continue;
        };
        (came, last) = (came + 1, Instant::now());
        let publish = Arc::new(publish);
        let verdict = judge.judge(&publish, &mut seen, options::now());
        refused += usize::from(verdict.is_err());
        match options.json {
            true => terminal.line(described(&publish, &verdict))?,
            false => show(&publish, &verdict, terminal)?,
        }
    }
    match refused {
        0 => Ok(()),
        1 => Err(Error::message("1 message was refused")),
        more => Err(Error::message(format!("{more} messages were refused"))),
    }
}

fn show(publish: &Publish, verdict: &Result<Passed, Reason>, terminal: &mut Terminal) -> Result<(), Error> {
    let topic = Safe(&publish.topic);
    match verdict {
        Err(reason) => terminal.line(format_args!("{BAD}refused{BAD:#}  {topic}  {reason}")),
        Ok(passed) => {
            let marks: Vec<&str> = passed.marks.names().collect();
            let payload = String::from_utf8_lossy(&passed.payload);
            let by = passed.signer.as_ref().map_or_else(String::new, |signer| {
                format!("{DIM}  {} key {} of {}{DIM:#}", signer.by.name(), signer.key.0, signer.device)
            });
            let word = match marks.is_empty() {
                true => format!("{GOOD}genuine{GOOD:#}"),
                false => format!("{WARNING}{}{WARNING:#}", marks.join(",")),
            };
            terminal.line(format_args!("{word}  {topic}  {}{by}", Safe(&payload)))
        }
    }
}

fn described(publish: &Publish, verdict: &Result<Passed, Reason>) -> Value {
    match verdict {
        Err(reason) => {
            json!({"topic": publish.topic, "verdict": "refused", "reason": reason.name(), "why": reason.to_string()})
        }
        Ok(passed) => {
            let (text, hex) = match std::str::from_utf8(&passed.payload) {
                Ok(text) => (Some(text), None),
                Err(_) => {
                    (None, Some(passed.payload.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
                }
            };
            let signer = passed.signer.as_ref();
            json!({
                "topic": publish.topic,
                "verdict": if passed.marks.any() { "marked" } else { "genuine" },
                "marks": passed.marks.names().collect::<Vec<_>>(),
                "payload": text,
                "payload_hex": hex,
                "device": signer.map(|signer| &*signer.device),
                "key_id": signer.map(|signer| signer.key.0),
                "seal": signer.map(|signer| if signer.by.level().is_some() { "signature" } else { "tag" }),
                "level": signer.and_then(|signer| signer.by.level()).map(sealstone_mldsa::Level::name),
                "form": signer.map(|signer| signer.form.name()),
                "number": signer.and_then(|signer| signer.number).map(|number| format!("{}.{}", number.epoch, number.sequence)),
                "time_ms": signer.map(|signer| signer.time.0),
            })
        }
    }
}
