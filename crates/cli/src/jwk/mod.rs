//! `sealstone jwk`: keys in JSON.

mod check;
#[cfg(test)]
mod mutants;
mod show;

use std::ffi::OsString;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::error::Error;
use crate::files::{Readers, Source, Target};
use crate::key::convert;
use crate::keyfile::Format;
use crate::keyfile::any::{AnyKey, AnyPublic, Gates};
use crate::password::PasswordFile;
use crate::terminal::{BAD, BOLD, DIM, GOOD, Safe, Terminal, WARNING};

/// Larger than any JWK, and than a set of 512 keys.
const LIMIT: usize = 1 << 20;

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Say what is wrong with a JWK or a key set: all of it, with the RFC and a cure
    Check(Check),
    /// Read a JWK aloud, member by member, without its secrets
    Show(show::Options),
    /// Print the public JWK of any key
    Public(Public),
    /// Print a key's thumbprints: of its JWK (RFC 7638), and of its COSE_Key (RFC 9679)
    Thumbprint(Thumbprint),
}

pub(crate) fn run(command: Command, terminal: &mut Terminal) -> Result<(), Error> {
    match command {
        Command::Check(options) => check(&options, terminal),
        Command::Show(options) => show::run(&options, terminal),
        Command::Public(options) => public(options, terminal),
        Command::Thumbprint(options) => thumbprint(&options, terminal),
    }
}

/// Options of `jwk check`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone jwk check partner.jwk
  curl -s https://id.example/jwks.json | sealstone jwk check -
  sealstone jwk check --json partner.jwk | jq '.keys[].findings'

A fault makes a key unusable here, a note is good to know. No secret is ever printed. Exit code: 0 no \
fault, 1 faults, 2 anything else.")]
pub(crate) struct Check {
    /// The JWK, or a set of them; - is standard input
    #[arg(value_name = "JWK", value_parser = clap::value_parser!(OsString))]
    jwk: OsString,
    #[command(flatten)]
    gates: Gates,
    /// In JSON
    #[arg(long)]
    json: bool,
}

fn check(options: &Check, terminal: &mut Terminal) -> Result<(), Error> {
    let source = Source::from(options.jwk.clone());
    let text = source.read_text(LIMIT)?;
    let reports = check::examine(&text, options.gates);
    let faults = reports.iter().map(check::Report::faults).sum();
    if options.json {
        let finding = |finding: &check::Finding| {
            json!({
                "cure": finding.cure,
                "fault": finding.fault,
                "member": finding.member,
                "source": finding.source,
                "what": finding.what,
            })
        };
        let key = |report: &check::Report| {
            let findings: Vec<Value> = report.findings.iter().map(finding).collect();
            json!({"algorithm": report.algorithm, "findings": findings, "private": report.private})
        };
        let keys: Vec<Value> = reports.iter().map(key).collect();
        terminal.json(&json!({"faults": faults, "keys": keys}))?;
    } else {
        for (index, report) in reports.iter().enumerate() {
            let number = if reports.len() > 1 { format!(" key {}", index + 1) } else { String::new() };
            say(&format!("{}{number}", source.name()), report, terminal)?;
        }
    }
    if faults == 0 { Ok(()) } else { Err(Error::KeyFaults { name: source.name(), faults }) }
}

fn say(name: &str, report: &check::Report, terminal: &mut Terminal) -> Result<(), Error> {
    let kind = if report.private { "private" } else { "public" };
    let algorithm = report.algorithm.as_deref().unwrap_or("unknown");
    let verdict = match report.faults() {
        0 => format!("{GOOD}good{GOOD:#}"),
        1 => format!("{BAD}1 fault{BAD:#}"),
        faults => format!("{BAD}{faults} faults{BAD:#}"),
    };
    terminal.line(format_args!("{BOLD}{name}{BOLD:#}  {} {kind} key: {verdict}", Safe(algorithm)))?;
    for finding in &report.findings {
        let (style, label) = if finding.fault { (BAD, "fault") } else { (WARNING, "note ") };
        let member =
            if finding.member.is_empty() { String::new() } else { format!("`{}`: ", finding.member) };
        terminal.line(format_args!(
            "  {style}{label}{style:#}  {member}{}  {DIM}{}{DIM:#}",
            Safe(&finding.what),
            finding.source
        ))?;
        terminal.line(format_args!("         {DIM}{}{DIM:#}", Safe(&finding.cure)))?;
    }
    Ok(())
}

/// Options of `jwk public`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone jwk public my.pem                          for a partner, or a key set
  sealstone jwk public my.pem --out my.pub.jwk

The same as `sealstone convert --public --to jwk`: nothing secret is in it, whatever the key was.")]
pub(crate) struct Public {
    /// The key in any form, private or public; - is standard input
    #[arg(value_name = "KEY", value_parser = clap::value_parser!(OsString))]
    key: OsString,
    #[command(flatten)]
    password: PasswordFile,
    #[command(flatten)]
    gates: Gates,
    /// Where it goes; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-", value_parser = clap::value_parser!(OsString))]
    out: OsString,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
}

fn public(options: Public, terminal: &mut Terminal) -> Result<(), Error> {
    let out = Target::from(options.out);
    out.check(options.force)?;
    let key = AnyKey::load(&Source::from(options.key), &options.password, options.gates, terminal)?;
    out.write(&convert::public_bytes(key.public(), Format::Jwk)?, Readers::All, options.force, terminal)
}

/// Options of `jwk thumbprint`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone jwk thumbprint my.jwk
  sealstone jwk thumbprint --all my.pem

The thumbprint is that of the public half, whatever the file holds. For AKP keys the algorithm's name is in \
it: one ML-DSA key alone and as a half of a composite key has different ones. The COSE_Key of the same key \
has another, for other bytes are hashed.")]
pub(crate) struct Thumbprint {
    /// The key in any form; - is standard input
    #[arg(value_name = "KEY", value_parser = clap::value_parser!(OsString))]
    key: OsString,
    /// That of the COSE_Key (RFC 9679), as base64url
    #[arg(long, conflicts_with_all = ["all", "json"])]
    cose: bool,
    /// Each, with its name
    #[arg(long, conflicts_with = "json")]
    all: bool,
    #[command(flatten)]
    password: PasswordFile,
    #[command(flatten)]
    gates: Gates,
    /// Each, in JSON
    #[arg(long)]
    json: bool,
}

fn thumbprint(options: &Thumbprint, terminal: &mut Terminal) -> Result<(), Error> {
    let key = AnyKey::load(&Source::from(options.key.clone()), &options.password, options.gates, terminal)?;
    let public = key.public();
    let jwk = public.thumbprint();
    let cose = cose_thumbprint(public);
    let uri = format!("urn:ietf:params:oauth:jwk-thumbprint:sha-256:{jwk}");
    if options.json {
        return terminal.json(&json!({
            "algorithm": public.algorithm().name(),
            "cose": cose,
            "jwk": jwk,
            "uri": uri,
        }));
    }
    if options.cose {
        return terminal.line(cose);
    }
    if !options.all {
        return terminal.line(jwk);
    }
    for (name, value) in [("JWK, RFC 7638", jwk), ("as a URI, RFC 9278", &uri), ("COSE_Key, RFC 9679", &cose)]
    {
        terminal.line(format_args!("{DIM}{name:<18}{DIM:#}  {value}"))?;
    }
    Ok(())
}

fn cose_thumbprint(key: AnyPublic<'_>) -> String {
    use base64::Engine as _;
    let bytes = match key {
        AnyPublic::Composite(key) => key.cose_thumbprint(),
        AnyPublic::Standard(key) => key.cose_thumbprint(),
    };
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}
