//! `sealstone mqtt gateway`: the verifying gateway in the foreground.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use sealstone_mqtt::gateway::page::{self, Page};
use sealstone_mqtt::gateway::verify::Effect;
use sealstone_mqtt::gateway::{Directory, Event, Gateway, Observer, Status, link};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::written::Written;
use super::{commander, options};
use crate::error::Error;
use crate::files::shown;
use crate::serve::{Ending, runtime};
use crate::terminal::{Safe, Terminal};

/// Options of `mqtt gateway`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone mqtt gateway --config /etc/sealstone-mqtt.toml
  sealstone mqtt gateway --config gateway.toml --check      reads everything, connects nowhere
  sealstone mqtt gateway                                    all defaults: 127.0.0.1:1883, ./devices

What is genuine goes to clean/<topic>, what is genuine and late, or unsigned where that is allowed, to marked/<topic>, anything \
else to dead-letters/<reason>/<topic>. Let nobody but the gateway publish there. A configuration:

  directory = \"/etc/sealstone/devices\"    # written by `sealstone mqtt provision`
  data_dir  = \"/var/lib/sealstone-mqtt\"

  [broker]
  address       = \"broker.example.org:1883\"
  user_file     = \"/etc/sealstone/mqtt-user\"
  password_file = \"/etc/sealstone/mqtt-password\"

  [policy]
  default = \"strict\"                      # everything is signed, by somebody in the directory

  [page]
  listen = \"127.0.0.1:9465\"             # what happens, for people; and /metrics

docs/mqtt-gateway.md lists every key. Logs go to standard error. SIGTERM and Ctrl-C end it: what is under way is finished.")]
pub(crate) struct Options {
    /// The configuration, in TOML; without it every value is the default
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Read the configuration and the directory, say what is there, and end
    #[arg(long)]
    check: bool,
    /// Logs as lines of JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let config = options::config(options.config.as_deref())?;
    if options.check {
        config.rules().map_err(sealstone_mqtt::gateway::Error::from)?;
        link::Options::of(&config.broker)?;
        let directory = Directory::load(&config.directory)?;
        if let Some(commander) = commander::load(&config, terminal)? {
            commander.check(&config, &directory, options::now())?;
        }
        let devices = directory.len();
        let words = if devices == 1 { "device" } else { "devices" };
        return terminal.line(format_args!("good: {devices} {words} in {}", shown(&config.directory)));
    }
    let runtime = runtime()?;
    let status = Arc::new(Status::default());
    let lines = Lines { json: options.json };
    let written = if config.audit { Some(Written::open(&config.data_dir)?) } else { None };
    if let Some(address) = config.page.listen {
        let failed = |cause| Error::file(&address.to_string(), "listened on", cause);
        let listener = runtime.block_on(TcpListener::bind(address)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        lines.say("page", &format!("http://{address}/"), json!({"address": address.to_string()}));
        runtime
            .spawn(page::serve(listener, Page { status: Arc::clone(&status), now: Box::new(options::now) }));
    }
    let commander = commander::load(&config, terminal)?;
    let mut gateway = Gateway::new(config);
    if let Some(commander) = commander {
        gateway = gateway.with_commander(commander);
    }
    let stop = gateway.stopper();
    let ending = runtime.block_on(async { Ending::watch(&[]) })?;
    runtime.spawn(async move {
        ending.first().await;
        stop.stop();
    });
    let done = match &written {
        Some(written) => gateway.run(options::now, &(lines, (status, written))),
        None => gateway.run(options::now, &(lines, status)),
    };
    if let Some(written) = written {
        written.close();
    }
    Ok(done?)
}

/// What happens, as lines on standard error.
struct Lines {
    json: bool,
}

impl Observer for Lines {
    fn note(&self, event: &Event<'_>) {
        let (what, words, fields) = match event {
            Event::Started { devices, owed } => (
                "started",
                format!("{devices} devices, {owed} copies owed"),
                json!({"devices": devices, "owed": owed}),
            ),
            Event::Connected { session_present } => {
                let words = if *session_present { "the broker kept the session" } else { "a new session" };
                ("connected", words.into(), json!({"session_present": session_present}))
            }
            Event::Subscribed => ("subscribed", String::new(), json!({})),
            Event::Disconnected { what } => ("disconnected", Safe(what).to_string(), json!({"why": what})),
            Event::Refused { reason, topic, device, .. } => (
                "refused",
                format!("{} {}", reason.name(), Safe(topic)),
                json!({"reason": reason.name(), "why": reason.to_string(), "topic": topic, "device": device}),
            ),
            Event::Passed { message, .. } => match (&message.effect, &message.signer) {
                (Effect::Confirmed(confirmed), Some(signer)) => {
                    let (id, level) = (confirmed.key.id.0, confirmed.key.level.name());
                    (
                        "key-confirmed",
                        format!("key {id} of {level}, {}", Safe(&signer.device)),
                        json!({"device": signer.device, "key_id": id, "level": level, "again": confirmed.again}),
                    )
                }
                (Effect::Template(id), _) => (
                    "template",
                    format!("{id} on {}", Safe(&message.topic)),
                    json!({"template": id, "topic": message.topic}),
                ),
                (Effect::Released { template, index }, _) => (
                    "released",
                    format!("command {index} of template {template} on {}", Safe(&message.topic)),
                    json!({"template": template, "index": index, "topic": message.topic}),
                ),
                _ => return,
            },
            Event::CopyRefused { reason } => {
                ("copy-refused", format!("by the broker: {reason:#04x}"), json!({"code": reason}))
            }
            Event::Directory { devices } => {
                ("directory", format!("{devices} devices"), json!({"devices": devices}))
            }
            Event::DirectoryFault { cause } => {
                let why = cause.to_string();
                ("directory-fault", format!("{}; the one from before holds", Safe(&why)), json!({"why": why}))
            }
            Event::Alert { alert } => {
                let kind = alert.kind.name();
                (
                    "alert",
                    format!("{kind} {}", Safe(&alert.device)),
                    json!({"alert": kind, "device": alert.device}),
                )
            }
            Event::Tags { device, tally, .. } => {
                let named: Vec<(&str, String)> = tally.named().collect();
                if named.is_empty() {
                    return; // all as it should be
                }
                let words: Vec<String> =
                    named.iter().map(|(name, which)| format!("{name} {which}")).collect();
                let counts: Value =
                    tally.counts().into_iter().map(|(name, count)| (name, json!(count))).collect();
                let fields = json!({"device": device, "counts": counts, "messages": named.into_iter().collect::<Value>()});
                ("tags", format!("{} {}", Safe(device), words.join(", ")), fields)
            }
            Event::Stopped { owed } => ("stopped", format!("{owed} copies owed"), json!({"owed": owed})),
            _ => return,
        };
        self.say(what, &words, fields);
    }
}

impl Lines {
    fn say(&self, what: &str, words: &str, fields: Value) {
        let time = options::now();
        let line = match (self.json, fields) {
            (true, Value::Object(mut fields)) => {
                fields.insert("time_ms".into(), time.0.into());
                fields.insert("event".into(), what.into());
                Value::Object(fields).to_string()
            }
            _ => format!("{} {what} {words}", options::utc(time)).trim_end().to_owned(),
        };
        // A reader that went away must not end the gateway.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}
