//! `sealstone mqtt template`: commands that are signed beforehand, each let go later by who has its token.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use sealstone_mldsa::{OsRandom, Randomness as _};
use sealstone_mqtt::UnixMillis;
use sealstone_mqtt::gateway::client::Client;
use sealstone_mqtt::gateway::link;
use sealstone_mqtt::gateway::wire::{Publish, Qos};
use sealstone_mqtt::template::{COMMANDS_MAX, Command as Signed, Release, Template};
use serde_json::json;
use zeroize::Zeroizing;

use super::options;
use super::options::BrokerOptions;
use crate::clock;
use crate::error::{Error, Plain};
use crate::files::{Readers, Source, Target, shown};
use crate::flags;
use crate::terminal::{Safe, Terminal};

/// A token file: ids of five and ten digits, 64 digits, dots and the end of the line.
const TOKEN_LIMIT: usize = 100;

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Make a template of commands, and a token for each
    Make(Make),
    /// Let a command go
    Release(Let),
}

pub(crate) fn run(command: Command, terminal: &mut Terminal) -> Result<(), Error> {
    match command {
        Command::Make(options) => make(&options, terminal),
        Command::Release(options) => release(&options, terminal),
    }
}

/// Options of `mqtt template make`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone mqtt template make --command open --command close --valid 30d --out valve.template
  sealstone mqtt publish --as commander.device --topic device/pump-7/command/valve --file valve.template --kind template
  sealstone mqtt template release valve.template.token-1 --topic device/pump-7/command/valve

The first line makes the template, and beside it a token for each command. The second one signs it with the commander's key and gives it \
to the device, today. The third one needs no key: whoever has the token of a command can let it go, once, within the time. A token \
is a secret until then; it goes to whom may give that command, and to nobody else. A later template of a topic has a higher id and ends \
the one before.")]
pub(crate) struct Make {
    /// A command, in the order of their numbers, which begin with 0; may be given more than once
    #[arg(long = "command", value_name = "TEXT", required = true)]
    commands: Vec<String>,
    /// The template's id; the seconds since 1970 if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    id: Option<u32>,
    /// In how long the commands begin to hold
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = clock::parse_span)]
    after: Duration,
    /// How long they hold
    #[arg(long, value_name = "TIME", value_parser = clock::parse_span)]
    valid: Duration,
    /// Where the template goes; the tokens go to FILE.token-0, FILE.token-1, …
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace the files if they are there
    #[arg(long)]
    force: bool,
    /// Say in JSON what was made
    #[arg(long)]
    json: bool,
}

/// Options of `mqtt template release`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone mqtt template release valve.template.token-1 --topic device/pump-7/command/valve
  sealstone mqtt template release valve.template.token-1 --out release.bin

The second one writes the 39 bytes for whoever can publish them on the template's topic. Once published a token is no secret any \
more, and of no use: each command is taken once.")]
pub(crate) struct Let {
    /// The token's file
    #[arg(value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    token: OsString,
    /// The topic that the template was published on
    #[arg(long, required_unless_present = "out")]
    topic: Option<String>,
    #[command(flatten)]
    broker: BrokerOptions,
    /// Write the release to a file instead of publishing it; - is standard output
    #[arg(long, value_name = "FILE", conflicts_with = "topic", value_parser = clap::value_parser!(OsString))]
    out: Option<OsString>,
}

fn make(options: &Make, terminal: &mut Terminal) -> Result<(), Error> {
    if options.commands.len() > COMMANDS_MAX {
        let what = format!("{} commands are too many", options.commands.len());
        return Err(Error::usage(what, "a template has at most 256"));
    }
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let now = options::now();
    let id = options.id.or_else(|| u32::try_from(now.0.div_euclid(1000)).ok().filter(|id| *id > 0));
    let id = id.ok_or_else(|| Error::usage("the clock gives no id", "--id gives one"))?;
    let from = UnixMillis(now.0.saturating_add(millis(options.after)));
    let to = UnixMillis(from.0.saturating_add(millis(options.valid)));

    let beside = |index: usize| PathBuf::from(format!("{}.token-{index}", options.out.display()));
    let target = Target::Path(options.out.clone());
    target.check(options.force)?;
    for index in 0..options.commands.len() {
        Target::Path(beside(index)).check(options.force)?;
    }
    let mut tokens = Zeroizing::new(vec![[0; 32]; options.commands.len()]);
    for token in tokens.iter_mut() {
        OsRandom.fill(token).map_err(Error::Engine)?;
    }
    let commands: Vec<Signed<'_>> = tokens
        .iter()
        .zip(&options.commands)
        .map(|(token, text)| Signed { token, bytes: text.as_bytes() })
        .collect();
    let mut payload = vec![0; options.commands.iter().map(|text| text.len() + 34).sum::<usize>() + 22];
    let len = Template::emit(id, from, to, &commands, &mut payload).map_err(|cause| match cause {
        sealstone_mqtt::Error::NotCanonical => Error::usage("--valid is 0", "as in --valid 30d"),
        _ => Error::usage("a command is too long", "at most 65535 bytes"),
    })?;
    for (index, token) in tokens.iter().enumerate() {
        let mut line = Zeroizing::new(String::with_capacity(TOKEN_LIMIT));
        line.push_str(&format!("{id}.{index}."));
        for byte in token {
            line.push(digit(byte >> 4));
            line.push(digit(byte & 15));
        }
        line.push('\n');
        Target::Path(beside(index)).write(line.as_bytes(), Readers::Owner, options.force, terminal)?;
    }
    target.write(&payload[..len], Readers::Owner, options.force, terminal)?;

    if options.json {
        let tokens: Vec<String> = (0..commands.len()).map(|index| shown(&beside(index))).collect();
        return terminal.json(&json!({
            "template": shown(&options.out),
            "id": id,
            "not_before": from.0,
            "not_after": to.0,
            "tokens": tokens,
        }));
    }
    let (from, to) = (options::utc(from), options::utc(to));
    let mut rows = vec![(shown(&options.out), format!("template {id}, from {from} to {to}, to be signed"))];
    let texts = options.commands.iter().enumerate();
    rows.extend(texts.map(|(index, text)| (shown(&beside(index)), format!("lets go: {}", Safe(text)))));
    let width = rows.iter().map(|(path, _)| path.chars().count()).max().unwrap_or(0);
    rows.iter().try_for_each(|(path, what)| terminal.line(format_args!("{path:<width$}  {what}")))
}

fn digit(value: u8) -> char {
    char::from_digit(u32::from(value), 16).unwrap_or('0')
}

fn release(options: &Let, terminal: &mut Terminal) -> Result<(), Error> {
    let source = Source::from(options.token.clone());
    let text = source.read_text(TOKEN_LIMIT)?;
    let release = parse(text.trim_end()).ok_or_else(|| {
        let hint = "`sealstone mqtt template make` writes such a file: template, command, 64 digits";
        Error::key(&source.name(), "this is no token", Some(hint))
    })?;
    let wire = Zeroizing::new(release.emit());
    let Some(topic) = &options.topic else {
        let out = options.out.clone().unwrap_or_else(|| "-".into());
        return Target::from(out).write(&*wire, Readers::Owner, true, terminal);
    };
    super::publish::topic(topic)?;
    let broker = options.broker.broker();
    let connect = link::Options::of(&broker)?;
    let failed = |cause: std::io::Error| Error::Network {
        doing: "publishing",
        what: format!("{}: {}", broker.address, Plain(&cause)),
        hint: Some("--broker HOST:PORT names the broker".into()),
    };
    let (mut client, _) = Client::connect(&connect).map_err(failed)?;
    let publish =
        Publish { qos: Qos::AtLeastOnce, topic: topic.clone(), payload: wire.to_vec(), ..Publish::default() };
    client.publish(publish).map_err(failed)?;
    client.disconnect().map_err(failed)?;
    terminal.line(format_args!("{topic}: command {} of template {}", release.index, release.template))
}

/// `template.index.token`.
fn parse(text: &str) -> Option<Release> {
    let mut parts = text.split('.');
    let (template, index) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let token = Zeroizing::new(flags::hex(parts.next()?)?);
    let token = <[u8; 32]>::try_from(token.as_slice()).ok()?;
    parts.next().is_none().then_some(Release { template, index, token })
}
