//! `sealstone cert verify`.

use std::ffi::OsString;
use std::net::IpAddr;

use clap::Args;
use sealstone_mldsa::Level;
use sealstone_pki::x509::path::{self, Policy, Revocation};
use sealstone_pki::x509::{GeneralName, Oid};
use sealstone_pki::{Certificate, Error as Refused};
use serde_json::json;

use super::{content, load, words};
use crate::error::Error;
use crate::files::Source;
use crate::terminal::{DIM, GOOD, Safe, Terminal, WARNING};

/// Options of `cert verify`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone cert verify --trust root.crt billing.crt
  sealstone cert verify --trust root.crt --between middle.crt --host billing.example.org billing.crt
  sealstone cert verify --trust root.crt --crl root.crl --require-crl --purpose serverAuth billing.crt
  sealstone cert verify --trust root.crt --least ML-DSA-65 --at 2030-01-01 billing.crt

By RFC 5280 §6: signatures, times, what each authority may do and how deep, name constraints, unknown \
critical extensions, key usage as RFC 9881 wants it, revocation lists. A chain may mix ML-DSA, ECDSA, \
Ed25519 and RSA, unless --least is given. Whom the certificate is about and what its key is for are \
checked when you say what you expect: --host or --email, and --purpose. Exit code 1 if no chain holds.")]
pub(crate) struct Options {
    /// The certificate: PEM or DER; others behind it in the file may stand between
    #[arg(value_name = "CERT", value_parser = clap::value_parser!(OsString))]
    certificate: OsString,
    /// Certificates that are trusted
    #[arg(long, value_name = "CERTS", required = true, value_parser = clap::value_parser!(OsString))]
    trust: Vec<OsString>,
    /// Certificates that may stand between
    #[arg(long, value_name = "CERTS", value_parser = clap::value_parser!(OsString))]
    between: Vec<OsString>,
    /// Revocation lists
    #[arg(long, value_name = "CRL", value_parser = clap::value_parser!(OsString))]
    crl: Vec<OsString>,
    /// Refuse what no revocation list of now covers
    #[arg(long)]
    require_crl: bool,
    /// The host, or its address, that it must be about
    #[arg(long, value_name = "HOST", conflicts_with = "email")]
    host: Option<String>,
    /// The mailbox that it must be about
    #[arg(long, value_name = "MAIL")]
    email: Option<String>,
    /// What its key must be for, such as serverAuth
    #[arg(long, value_name = "PURPOSE", value_parser = content::purpose)]
    purpose: Option<Oid>,
    /// The least ML-DSA level of every signature; nothing classical is taken then
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    least: Option<Level>,
    /// The time for which it must hold, as 2026-11-22 or 2026-11-22T04:00:00Z [default: now]
    #[arg(long, value_name = "TIME", value_parser = content::time)]
    at: Option<i64>,
    /// Take composites, which are as draft-ietf-lamps-pq-composite-sigs-19 has them
    #[arg(long)]
    draft: bool,
    /// In JSON
    #[arg(long)]
    json: bool,
}

fn level(text: &str) -> Result<Level, String> {
    let known = [Level::MlDsa44, Level::MlDsa65, Level::MlDsa87];
    let found = known.into_iter().find(|level| level.name().eq_ignore_ascii_case(text));
    found.ok_or_else(|| "expected ML-DSA-44, ML-DSA-65 or ML-DSA-87".into())
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let all = |files: &[OsString]| -> Result<Vec<Certificate>, Error> {
        let lists = files.iter().map(load::certificates).collect::<Result<Vec<_>, _>>()?;
        Ok(lists.into_iter().flatten().collect())
    };
    let own = load::certificates(&options.certificate)?;
    let Some((leaf, behind)) = own.split_first() else {
        return Err(Error::usage("there is no certificate in the file", "give one"));
    };
    let anchors = all(&options.trust)?;
    let mut intermediates = all(&options.between)?;
    intermediates.extend_from_slice(behind);
    let crls = options.crl.iter().map(load::crl).collect::<Result<Vec<_>, _>>()?;
    let now = options.at.map_or_else(content::now, Ok)?;
    let name = match (&options.host, &options.email) {
        (Some(host), _) => Some(match host.parse::<IpAddr>() {
            Ok(address) => GeneralName::Ip(address),
            Err(_) => GeneralName::Dns(host.clone()),
        }),
        (None, Some(mail)) => Some(GeneralName::Email(mail.clone())),
        (None, None) => None,
    };
    let policy = Policy {
        crls: &crls,
        draft: options.draft,
        intermediates: &intermediates,
        minimum_level: options.least,
        name,
        purpose: options.purpose.clone(),
        revocation: if options.require_crl { Revocation::Required } else { Revocation::WherePresent },
        ..Policy::new(&anchors, now)
    };
    let found = match path::verify(leaf, &policy) {
        Ok(found) => found,
        Err(cause) => {
            let refused = not_valid(&Source::from(options.certificate.clone()).name(), &cause);
            if options.json {
                terminal.json(&json!({"error": refused.to_string(), "valid": false}))?;
            }
            return Err(refused);
        }
    };
    let unchecked = unchecked(options, found.certificates.len(), found.revocation_checked);
    if options.json {
        return terminal.json(&json!({
            "checked": checked(options, now, found.certificates.len(), found.revocation_checked),
            "path": found.certificates.iter().map(|one| words::json(one)).collect::<Vec<_>>(),
            "revocation_checked": found.revocation_checked,
            "unchecked": unchecked.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            "valid": true,
        }));
    }
    terminal.line(format_args!("{GOOD}good{GOOD:#}  {}", Safe(&words::subject_words(leaf))))?;
    for (index, one) in found.certificates.iter().enumerate() {
        let (key, _) = words::key_words(one.public_key());
        let trusted = if index + 1 == found.certificates.len() { ", trusted" } else { "" };
        terminal.line(format_args!(
            "{DIM}{:>width$}{}  {key}, until {}{trusted}{DIM:#}",
            "",
            Safe(&words::subject_words(one)),
            words::time(one.not_after()),
            width = 6 + 2 * index,
        ))?;
    }
    let done = checked(options, now, found.certificates.len(), found.revocation_checked);
    terminal.line(format_args!("\n{DIM}checked{DIM:#}      {}", Safe(&done.join(", "))))?;
    if unchecked.is_empty() {
        return Ok(());
    }
    let (names, how): (Vec<_>, Vec<_>) = unchecked.into_iter().unzip();
    terminal.line(format_args!(
        "{WARNING}not checked{WARNING:#}  {}  {DIM}say what you expect with {}{DIM:#}",
        names.join(", "),
        how.join(", ")
    ))
}

/// What the verdict is about.
fn checked(options: &Options, now: i64, len: usize, revocation: bool) -> Vec<String> {
    let mut done = match len {
        1 => vec![format!("it is trusted itself, at {}", words::time(now))],
        _ => vec![
            format!("signatures and times up to a trusted certificate, at {}", words::time(now)),
            "what each authority may sign".to_owned(),
        ],
    };
    done.extend(options.host.as_ref().map(|host| format!("host {host}")));
    done.extend(options.email.as_ref().map(|mail| format!("mailbox {mail}")));
    done.extend(options.purpose.as_ref().map(|purpose| format!("purpose {}", words::purpose(purpose))));
    done.extend(options.least.map(|level| format!("every signature {level} at least")));
    done.extend((len > 1 && revocation).then(|| "revocation, by lists of now".to_owned()));
    done
}

/// What it says nothing about, and the option that asks.
fn unchecked(options: &Options, len: usize, revocation: bool) -> Vec<(&'static str, &'static str)> {
    let named = options.host.is_some() || options.email.is_some();
    let all = [
        (named, ("whom it is about", "--host or --email")),
        (options.purpose.is_some(), ("purpose", "--purpose")),
        (revocation || len == 1, ("revocation", "--crl")),
    ];
    all.into_iter().filter(|(done, _)| !done).map(|(_, what)| what).collect()
}

fn not_valid(name: &str, cause: &Refused) -> Error {
    Error::Signature {
        name: name.to_owned(),
        what: cause.to_string(),
        hint: match cause {
            Refused::Path { why, .. } => match **why {
                path::Refusal::Draft => Some("--draft takes it; later software may not".into()),
                path::Refusal::NoIssuer { .. } => {
                    Some("--between gives the certificates between, --trust the root".into())
                }
                path::Refusal::NotTrusted => Some("if you know it to be right, name it with --trust".into()),
                path::Refusal::NoCrl | path::Refusal::StaleCrl { .. } => {
                    Some("fetch the issuer's revocation list and give it with --crl".into())
                }
                ref other => other.hint().map(str::to_owned),
            },
            other => other.hint().map(str::to_owned),
        },
    }
}
