//! `sealstone audit`: whether the server's audit log holds, and what it says.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use sealstone_auth::audit::{self, ChainFiles, Head, MAX_LINE, Report, What};
use sealstone_jose::{PublicKey, UnixSeconds};
use serde_json::{Map, Value, json};

use crate::clock::{now, parse_span, utc};
use crate::error::Error;
use crate::files::{Readers, Source, Target, shown};
use crate::keyfile::{Format, Key, public_bytes};
use crate::serve::load;
use crate::terminal::{BAD, BOLD, DIM, GOOD, Safe, Terminal};

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Print the public key that checks the log
    Key(KeyOptions),
    /// Read the log
    Show(Show),
    /// Check every line and every signature of the log
    Verify(Verify),
}

/// Options of `audit key`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone audit key --out audit.pub.pem
  sealstone audit key --format jwk

Keep a copy where whoever can write to the server's disk cannot: `sealstone audit verify --key` takes it.")]
pub(crate) struct KeyOptions {
    /// The server's configuration; without it every value is the default
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How it is written
    #[arg(long, value_enum, default_value = "pem")]
    format: Format,
    /// Where it goes; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-", value_parser = clap::value_parser!(OsString))]
    out: OsString,
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
}

/// Options of `audit verify`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone audit verify --config /etc/sealstone.toml
  sealstone audit verify --key audit.pub.pem /var/lib/sealstone/audit
  sealstone audit verify --key audit.pub.pem --json archive/000001.jsonl archive/000002.jsonl

Each line carries the hash of the one before it, and each block ends in a line signed with ML-DSA-65. What was \
changed, removed, put in, moved or cut off is named by its file and line. Files given by name are one chain, in \
their order; a directory is a chain, or holds chains.

Without --key the key beside the log is used, which whoever rewrites the log can replace too. That a log ends too \
early is known from head.json beside it; --head takes a copy of that file kept elsewhere.

Exit code: 0 the log holds, 1 it does not, 2 anything else.")]
pub(crate) struct Verify {
    /// The server's configuration; without it every value is the default
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The public key of the log, as `sealstone audit key` prints it
    #[arg(long, value_name = "KEY", value_parser = clap::value_parser!(OsString))]
    key: Option<OsString>,
    /// How far the chain must reach, at least: an older copy of its head.json
    #[arg(long, value_name = "FILE")]
    head: Option<PathBuf>,
    /// In JSON
    #[arg(long)]
    json: bool,
    /// The log: directories, or files of one chain
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// Options of `audit show`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone audit show --since 1h
  sealstone audit show --event token.refused --client billing
  sealstone audit show --user alice --since 7d --json

Lines are shown as they stand; whether they hold is for `sealstone audit verify` to say.")]
pub(crate) struct Show {
    /// The server's configuration; without it every value is the default
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Only what happened in this time before now, as in 1h
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    since: Option<Duration>,
    #[command(flatten)]
    only: Only,
    /// The lines themselves
    #[arg(long)]
    json: bool,
    /// The log: directories, or files of one chain
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// Which lines are shown.
#[derive(Args)]
pub(crate) struct Only {
    /// Only what is about this client
    #[arg(long, value_name = "ID")]
    client: Option<String>,
    /// Only what is about this user
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Only this event, or those of a name before the dot, as in token; may be given more than once
    #[arg(long, value_name = "EVENT", value_parser = event_name)]
    event: Vec<String>,
}

pub(crate) fn run(command: Command, terminal: &mut Terminal) -> Result<(), Error> {
    match command {
        Command::Key(options) => {
            let key = audit::public(&place(options.config.as_ref())?)?;
            let out = Target::from(options.out);
            if options.format.is_binary() && out == Target::Stdout && terminal.is_screen() {
                let hint = "--out FILE writes it into a file, --format pem is text";
                return Err(Error::usage("DER is binary and would go to the screen", hint));
            }
            out.write(&public_bytes(&key, options.format)?, Readers::All, options.force, terminal)
        }
        Command::Show(options) => show(&options, terminal),
        Command::Verify(options) => verify(&options, terminal),
    }
}

/// The log of a configuration.
fn place(config: Option<&PathBuf>) -> Result<PathBuf, Error> {
    Ok(audit::directory(&load(config)?.data_dir))
}

/// The chains that are meant.
fn chains(paths: &[PathBuf], config: Option<&PathBuf>) -> Result<Vec<ChainFiles>, Error> {
    let hint = "--config names the server's configuration; `audit.enabled` is true unless it says otherwise";
    match paths {
        [] => chains_of(&[place(config)?], hint),
        paths => chains_of(paths, hint),
    }
}

/// The chains of directories, or of files of one chain. Errors: there is none; `hint` says what to do.
pub(crate) fn chains_of(paths: &[PathBuf], hint: &str) -> Result<Vec<ChainFiles>, Error> {
    if paths.iter().all(|path| path.is_dir()) {
        let mut chains = Vec::new();
        for path in paths {
            match ChainFiles::of(path)? {
                Some(chain) => chains.push(chain),
                None => chains.extend(ChainFiles::all(path)?),
            }
        }
        return match chains.is_empty() {
            true => {
                let place = paths.first().map_or_else(String::new, |path| shown(path));
                Err(Error::usage(format!("there is no audit log in {place}"), hint))
            }
            false => Ok(chains),
        };
    }
    let name = paths.last().map_or_else(String::new, |path| shown(path));
    Ok(vec![ChainFiles { files: paths.to_vec(), head: None, held: false, name }])
}

fn verify(options: &Verify, terminal: &mut Terminal) -> Result<(), Error> {
    let key: PublicKey = match options.key.clone().map(Source::from) {
        Some(source) => Key::load(&source, terminal)?.public().clone(),
        None => audit::public(&own_key(options)?)?,
    };
    let chains = chains(&options.paths, options.config.as_ref())?;
    check(chains, &key, options.head.as_deref(), options.json, terminal)
}

/// Checks chains and tells what came of it. Errors: `Audit` if one does not hold.
pub(crate) fn check(
    mut chains: Vec<ChainFiles>,
    key: &PublicKey,
    head: Option<&Path>,
    json: bool,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    if let Some(path) = head {
        let head = Head::read(path)?;
        let head = head.ok_or_else(|| Error::path(path, "read", std::io::ErrorKind::NotFound.into()))?;
        match chains.as_mut_slice() {
            [chain] => chain.head = Some(head),
            _ => return Err(Error::usage("--head is of one chain", "give that chain's directory")),
        }
    }
    let mut reports: Vec<(String, Report)> = Vec::new();
    for chain in chains {
        let report = chain.verify(key)?;
        reports.push((chain.name, report));
    }
    let faults: usize = reports.iter().map(|(_, report)| report.findings.len()).sum();
    if json {
        let chains: Map<String, Value> =
            reports.iter().map(|(name, report)| (name.clone(), json!(report))).collect();
        terminal.json(&json!({"chains": chains, "good": faults == 0, "key": key.kid()}))?;
    } else {
        for (name, report) in &reports {
            tell(name, report, terminal)?;
        }
    }
    match faults {
        0 => Ok(()),
        faults => Err(Error::Audit { faults }),
    }
}

/// Where the key is that belongs to the log: beside it, or a directory above.
fn own_key(options: &Verify) -> Result<PathBuf, Error> {
    let Some(first) = options.paths.first() else { return place(options.config.as_ref()) };
    let above = first.ancestors().take(3).find(|path| path.join("key.json").is_file());
    match above {
        Some(path) => Ok(path.to_owned()),
        None => place(options.config.as_ref()),
    }
}

fn tell(name: &str, report: &Report, terminal: &mut Terminal) -> Result<(), Error> {
    let verdict = match report.is_good() {
        true => format!("{GOOD}holds{GOOD:#}"),
        false => format!("{BAD}does not hold{BAD:#}"),
    };
    let count = |count: u64, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    terminal.line(format_args!(
        "{BOLD}{}{BOLD:#}  {verdict}  {}, {}",
        Safe(name),
        count(report.lines, "line"),
        count(report.seals, "seal")
    ))?;
    for finding in &report.findings {
        let fault = serde_json::to_value(finding.fault).ok();
        let fault = fault.as_ref().and_then(Value::as_str).unwrap_or_default();
        let place = format!("{}:{}", shown(&finding.file), finding.line);
        terminal.line(format_args!("  {BAD}{fault}{BAD:#}  {place}  {}", Safe(&finding.what)))?;
    }
    for note in &report.notes {
        terminal.line(format_args!("  {DIM}{}{DIM:#}", Safe(note)))?;
    }
    Ok(())
}

fn show(options: &Show, terminal: &mut Terminal) -> Result<(), Error> {
    let from = options.since.map_or(0, |since| now().0.saturating_sub(since.as_secs()));
    let mut found: Vec<(u64, Value, String)> = Vec::new();
    for chain in chains(&options.paths, options.config.as_ref())? {
        for path in &chain.files {
            each_line(path, |line| {
                let Ok(value) = serde_json::from_str::<Value>(line) else { return };
                let time = value["time"].as_u64().unwrap_or(0);
                if time >= from && options.only.wants(&value) {
                    found.push((time, value, line.to_owned()));
                }
            })?;
        }
    }
    found.sort_by_key(|(time, ..)| *time);
    for (_, value, line) in &found {
        match options.json {
            true => terminal.line(Safe(line))?,
            false => terminal.line(sentence(value))?,
        }
    }
    Ok(())
}

impl Only {
    pub(crate) fn wants(&self, line: &Value) -> bool {
        let event = line["event"].as_str().unwrap_or_default();
        let is = |name: &str, wanted: &Option<String>| {
            wanted.as_ref().is_none_or(|wanted| line[name] == wanted.as_str())
        };
        let named = |wanted: &String| {
            event == wanted || event.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.starts_with('.'))
        };
        let of_the_log = event == What::Seal.name() || event == What::Opened.name();
        let event_fits = match self.event.as_slice() {
            [] => !of_the_log,
            wanted => wanted.iter().any(named),
        };
        event_fits && is("client", &self.client) && is("user", &self.user)
    }
}

/// `2026-11-21 03:05:00 UTC  token.issued  client billing, grant client_credentials`.
pub(crate) fn sentence(line: &Value) -> String {
    let time = line["time"].as_u64().unwrap_or(0);
    let own = ["event", "n", "prev", "sig", "time"];
    let members = line.as_object().into_iter().flatten().filter(|(name, _)| !own.contains(&name.as_str()));
    let said: Vec<String> = members
        .map(|(name, value)| match value.as_str() {
            Some(text) => format!("{name} {}", Safe(text)),
            None => format!("{name} {}", Safe(&value.to_string())),
        })
        .collect();
    let event = line["event"].as_str().unwrap_or_default();
    format!("{DIM}{}{DIM:#}  {BOLD}{}{BOLD:#}  {}", utc(UnixSeconds(time)), Safe(event), said.join(", "))
}

fn each_line(path: &Path, mut take: impl FnMut(&str)) -> Result<(), Error> {
    let failed = |cause| Error::path(path, "read", cause);
    let mut reader = BufReader::new(File::open(path).map_err(failed)?);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        if reader.read_until(b'\n', &mut bytes).map_err(failed)? == 0 {
            return Ok(());
        }
        if bytes.len() <= MAX_LINE
            && let Ok(line) = std::str::from_utf8(&bytes)
        {
            take(line.trim_end());
        }
    }
}

fn event_name(text: &str) -> Result<String, String> {
    let fits = |what: &What| {
        what.name() == text || what.name().strip_prefix(text).is_some_and(|rest| rest.starts_with('.'))
    };
    match What::ALL.iter().any(fits) {
        true => Ok(text.to_owned()),
        false => {
            let names: Vec<&str> = What::ALL.iter().map(|what| what.name()).collect();
            Err(format!("no such event, expected one of {}", names.join(", ")))
        }
    }
}
