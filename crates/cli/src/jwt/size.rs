//! `sealstone jwt size`: what a token costs on its way, and how other algorithms would do.

use std::ffi::OsString;

use clap::Args;
use sealstone_jose::jwt::{self, Claims};
use sealstone_jose::size::{self, COOKIE_NAME, Carrier, LIMITS, Limit, Report};
use sealstone_jose::{Algorithm, PrivateKey, composite};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::read_token;
use crate::error::Error;
use crate::files::Source;
use crate::terminal::{BAD, BOLD, DIM, Terminal, bar, grouped};

/// Larger than the claims of any token that can be written.
const LIMIT: usize = 1 << 16;

/// Options of `jwt size`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone jwt size token.jwt
  echo '{\"sub\":\"alice\"}' | sealstone jwt size --claims -     before there is a token

A signature cannot be compressed, so a token gets smaller by its claims, or by another algorithm. The \
limits are the defaults of widespread programs; most can be raised, a browser's cannot.")]
pub(crate) struct Options {
    /// The file with the token; - is standard input
    #[arg(value_name = "TOKEN", default_value = "-", value_parser = clap::value_parser!(OsString))]
    token: OsString,
    /// Measure a token with these claims instead
    #[arg(long, value_name = "FILE", conflicts_with = "token", value_parser = clap::value_parser!(OsString))]
    claims: Option<OsString>,
    /// The type of the token with these claims
    #[arg(long, value_name = "TYPE", default_value = "JWT", requires = "claims")]
    typ: String,
    /// In JSON
    #[arg(long)]
    json: bool,
}

/// A measured token, whatever the kind of its algorithm.
struct Row {
    name: &'static str,
    header: usize,
    payload: usize,
    signature: usize,
    total: usize,
}

impl Row {
    fn of<A>(name: &'static str, report: &Report<A>) -> Self {
        let Report { header, payload, signature, total, .. } = *report;
        Self { name, header, payload, signature, total }
    }

    fn broken(&self) -> impl Iterator<Item = (usize, &'static Limit)> {
        let total = self.total;
        LIMITS.iter().enumerate().filter(move |(_, limit)| limit.is_broken_by(total))
    }
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let (text, this) = match &options.claims {
        Some(file) => (throw_away(&Source::from(file.clone()), &options.typ)?, None),
        None => {
            let text = read_token(&Source::from(options.token.clone()))?;
            let this = match (size::report(&text), size::composite::report(&text)) {
                (Ok(report), _) => Row::of(report.algorithm.name(), &report),
                (_, Ok(report)) => Row::of(report.algorithm.name(), &report),
                (Err(cause), _) => return Err(Error::Token(cause)),
            };
            (text, Some(this))
        }
    };
    let (standard, composite) = size::composite::compare(&text).map_err(Error::Token)?;
    let mut all: Vec<Row> = standard.iter().map(|report| Row::of(report.algorithm.name(), report)).collect();
    all.extend(composite.iter().map(|report| Row::of(report.algorithm.name(), report)));
    if options.json {
        return terminal.json(&json!({
            "algorithms": all.iter().map(row).collect::<Vec<_>>(),
            "limits": LIMITS.iter().map(limit).collect::<Vec<_>>(),
            "token": this.as_ref().map(row),
        }));
    }
    if let Some(this) = &this {
        parts(this, terminal)?;
    }
    table(all, this.as_ref(), terminal)?;
    legend(terminal)
}

/// A token with these claims, to be measured and forgotten.
fn throw_away(source: &Source, typ: &str) -> Result<Zeroizing<String>, Error> {
    let unusable = |cause: sealstone_jose::Error| Error::Usage {
        what: format!("{}: {cause}", source.name()),
        hint: cause.hint().map(str::to_owned),
    };
    let claims = Claims::parse(&source.read_text(LIMIT)?).map_err(unusable)?;
    let key = PrivateKey::generate(Algorithm::Es256).map_err(unusable)?;
    jwt::sign(&key, typ, &claims).map(Zeroizing::new).map_err(unusable)
}

fn parts(this: &Row, terminal: &mut Terminal) -> Result<(), Error> {
    terminal.line(format_args!("{BOLD}this token{BOLD:#}  {}", this.name))?;
    let rows = [("header", this.header), ("claims", this.payload), ("signature", this.signature)];
    for (name, bytes) in rows {
        terminal.line(format_args!(
            "  {DIM}{name:<9}{DIM:#} {:>7}  {}",
            grouped(bytes),
            bar(bytes, this.total, 40)
        ))?;
    }
    terminal.line(format_args!(
        "  {DIM}{:<9}{DIM:#} {:>7}  bytes, with two dots",
        "all",
        grouped(this.total)
    ))?;
    let broken: Vec<_> = this.broken().collect();
    if broken.is_empty() {
        terminal.line("  fits everywhere")?;
    }
    for (_, limit) in broken {
        let cure = match limit.setting {
            Some(setting) => format!("raise {setting}"),
            None => "cannot be raised".into(),
        };
        terminal.line(format_args!(
            "  {BAD}too large{BAD:#} for {} ({}): {cure}",
            limit.name,
            grouped(limit.bytes)
        ))?;
    }
    terminal.line("")
}

fn table(mut all: Vec<Row>, this: Option<&Row>, terminal: &mut Terminal) -> Result<(), Error> {
    terminal.line(format_args!("{BOLD}the same claims under each algorithm{BOLD:#}, in bytes"))?;
    terminal.line(format_args!(
        "  {DIM}{:<17} {:>7} {:>7} {:>9} {:>7}   too large for{DIM:#}",
        "", "header", "claims", "signature", "token"
    ))?;
    all.sort_by_key(|report| report.total);
    for report in &all {
        let here = if this.is_some_and(|this| this.name == report.name) { '>' } else { ' ' };
        terminal.line(format_args!(
            "{here} {:<17} {:>7} {:>7} {:>9} {:>7}   {}",
            report.name,
            grouped(report.header),
            grouped(report.payload),
            grouped(report.signature),
            grouped(report.total),
            marks(report)
        ))?;
    }
    terminal.line(format_args!(
        "  {DIM}two names: composite, of {}, with ECDSA at its longest{DIM:#}",
        composite::REVISION
    ))
}

/// The numbers of the limits that are broken, as the legend counts them.
fn marks(report: &Row) -> String {
    let numbers: Vec<String> = report.broken().map(|(index, _)| (index + 1).to_string()).collect();
    if numbers.is_empty() { "-".into() } else { numbers.join(" ") }
}

fn legend(terminal: &mut Terminal) -> Result<(), Error> {
    terminal.line(format_args!("\n{BOLD}limits{BOLD:#}, by default"))?;
    for (index, limit) in LIMITS.iter().enumerate() {
        let counted = match (limit.carrier, limit.shared) {
            (_, true) => "with all other headers",
            (Carrier::Cookie, _) => "with the cookie's name",
            (Carrier::Header, _) => "the Authorization line",
        };
        let setting = limit.setting.unwrap_or("fixed");
        terminal.line(format_args!(
            "{:>3}  {:<26} {:>7}  {DIM}{counted:<23} {setting}{DIM:#}",
            index + 1,
            limit.name,
            grouped(limit.bytes)
        ))?;
    }
    Ok(())
}

fn row(report: &Row) -> Value {
    json!({
        "algorithm": report.name,
        "broken": report.broken().map(|(_, limit)| limit.name).collect::<Vec<_>>(),
        "claims": report.payload,
        "header": report.header,
        "signature": report.signature,
        "token": report.total,
    })
}

fn limit(limit: &Limit) -> Value {
    json!({
        "bytes": limit.bytes,
        "counted_with": match limit.carrier {
            Carrier::Cookie => format!("{COOKIE_NAME}="),
            Carrier::Header => "Authorization: Bearer ".to_owned(),
        },
        "name": limit.name,
        "setting": limit.setting,
        "shared": limit.shared,
    })
}
