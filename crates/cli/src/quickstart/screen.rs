//! How the visit looks: one screen of plain text, or JSON.

use sealstone_jose::size::Report;
use serde_json::{Value, json};

use super::tour::Tour;
use super::{CA_FILE, CLIENT, CREDENTIALS_FILE, Place};
use crate::clock::measured;
use crate::error::Error;
use crate::terminal::{BOLD, DIM, GOOD, Safe, Terminal, bar, grouped};

pub(super) fn show(place: &Place<'_>, tour: &Tour, once: bool, terminal: &mut Terminal) -> Result<(), Error> {
    terminal.line(format_args!(
        "{BOLD}Sealstone{BOLD:#}  a token server is running on this machine, for you alone"
    ))?;
    terminal.line(format_args!(
        "{DIM}It signs with ML-DSA-65 (FIPS 204), which no known quantum algorithm breaks{DIM:#}\n"
    ))?;
    for (index, step) in tour.steps.iter().enumerate() {
        terminal.line(format_args!(
            "  {GOOD}{}{GOOD:#}  {:<18} {:<48} {DIM}{:>8}{DIM:#}",
            index + 1,
            step.title,
            step.result,
            measured(step.took)
        ))?;
    }
    token(tour, terminal)?;
    sizes(tour, terminal)?;
    ask(place, once, terminal)
}

fn token(tour: &Tour, terminal: &mut Terminal) -> Result<(), Error> {
    terminal.line(format_args!("\n{BOLD}The token{BOLD:#}, its three parts decoded"))?;
    let header = Value::Object(tour.token.header().members().clone()).to_string();
    let claims = Value::Object(tour.token.claims().members().clone()).to_string();
    let signature = tour.text.rsplit('.').next().unwrap_or_default();
    part("header", &header, terminal)?;
    part("claims", &claims, terminal)?;
    part("signature", &format!("{}...", signature.get(..60).unwrap_or(signature)), terminal)
}

/// A name, and text broken after a comma where the line is full.
fn part(name: &str, text: &str, terminal: &mut Terminal) -> Result<(), Error> {
    const WIDTH: usize = 72;
    let mut lines = vec![String::new()];
    for piece in text.split_inclusive(',') {
        match lines.last_mut() {
            Some(line) if line.is_empty() || line.len() + piece.len() <= WIDTH => line.push_str(piece),
            _ => lines.push(piece.to_owned()),
        }
    }
    for (index, line) in lines.iter().enumerate() {
        let name = if index == 0 { name } else { "" };
        terminal.line(format_args!("  {DIM}{name:<9}{DIM:#}  {}", Safe(line)))?;
    }
    Ok(())
}

fn sizes(tour: &Tour, terminal: &mut Terminal) -> Result<(), Error> {
    terminal.line(format_args!("\n{BOLD}Its size{BOLD:#}   {DIM}header  claims  signature  bytes{DIM:#}"))?;
    for report in [&tour.report, &tour.es256] {
        terminal.line(format_args!(
            "  {:<9}  {:>5} {:>7} {:>10} {:>6}  {DIM}{}{DIM:#}",
            report.algorithm.name(),
            grouped(report.header),
            grouped(report.payload),
            grouped(report.signature),
            grouped(report.total),
            bar(report.total, tour.report.total, 36)
        ))?;
    }
    terminal.line(format_args!(
        "  {DIM}The signature is the price; `sealstone jwt size` tells which limits it meets{DIM:#}"
    ))
}

fn ask(place: &Place<'_>, once: bool, terminal: &mut Terminal) -> Result<(), Error> {
    let (folder, issuer) = (place.folder.display(), &place.issuer);
    let when = if once { "without --once the server stays" } else { "from another terminal" };
    terminal.line(format_args!("\n{BOLD}Ask it yourself{BOLD:#}: {when}"))?;
    terminal.line(format_args!("  cd {folder}"))?;
    terminal.line(format_args!(
        "  curl --cacert {CA_FILE} -K {CREDENTIALS_FILE} -d grant_type=client_credentials {issuer}/token"
    ))?;
    terminal.line(format_args!("  curl --cacert {CA_FILE} {issuer}/jwks"))?;
    terminal
        .line(format_args!("  curl --cacert {CA_FILE} {issuer}/.well-known/oauth-authorization-server"))?;
    terminal.line(format_args!(
        "  {DIM}{CREDENTIALS_FILE} holds the client's secret, so that no list of processes shows it{DIM:#}"
    ))?;
    let end = if once {
        "Done: the server ends and its files are removed"
    } else {
        "Ctrl-C ends the server and removes its files"
    };
    terminal.line(format_args!("\n{end}"))
}

pub(super) fn json(place: &Place<'_>, tour: &Tour) -> Value {
    let size = |report: &Report| {
        json!({
            "claims": report.payload,
            "header": report.header,
            "signature": report.signature,
            "token": report.total,
        })
    };
    let steps: Vec<Value> = tour
        .steps
        .iter()
        .map(|step| json!({"name": step.name, "milliseconds": step.took.as_secs_f64() * 1e3, "result": step.result}))
        .collect();
    json!({
        "algorithm": tour.report.algorithm.name(),
        "ca_file": place.folder.join(CA_FILE).display().to_string(),
        "claims": tour.token.claims().members(),
        "client_id": CLIENT,
        "credentials_file": place.folder.join(CREDENTIALS_FILE).display().to_string(),
        "header": tour.token.header().members(),
        "issuer": place.issuer,
        "key_exchange": tour.key_exchange,
        "size": {"ES256": size(&tour.es256), "ML-DSA-65": size(&tour.report)},
        "steps": steps,
        "tls": tour.tls,
        "token": tour.text,
        "verified": {"forgery_refused": true, "offline": true, "online": true},
    })
}
