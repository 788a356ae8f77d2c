//! `sealstone cert revoke` and `sealstone cert crl`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use sealstone_pki::sign::VerifyingKey;
use sealstone_pki::x509::{Crl, CrlBuilder, Reason, Revoked};
use serde_json::{Value, json};

use super::certify::made;
use super::load::{self, Out, Written, signer};
use super::{content, words};
use crate::clock;
use crate::error::Error;
use crate::files::{Source, Target, shown};
use crate::password::PasswordFile;
use crate::terminal::{BOLD, GOOD, Terminal};

/// Options of `cert revoke`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone cert revoke --ca root.crt --key root.pem --reason keyCompromise --out root.crl billing.crt
  sealstone cert revoke --ca root.crt --key root.pem --list root.crl --out root.crl --force other.crt
  sealstone cert revoke --ca root.crt --key root.pem --list root.crl --out root.crl --force

The list before, --list, must be signed by the same key: its entries go on into the new one, whose \
number is one more. Without a certificate the list is only renewed. It holds for --next.")]
pub(crate) struct Options {
    /// Certificates to revoke, of this authority
    #[arg(value_name = "CERT", value_parser = clap::value_parser!(OsString))]
    certificates: Vec<OsString>,
    /// The authority's certificate
    #[arg(long, value_name = "CERT", value_parser = clap::value_parser!(OsString))]
    ca: OsString,
    /// The authority's private key: PEM, DER or JWK
    #[arg(long, value_name = "KEY", value_parser = clap::value_parser!(OsString))]
    key: OsString,
    #[command(flatten)]
    password: PasswordFile,
    /// The list before
    #[arg(long, value_name = "CRL", value_parser = clap::value_parser!(OsString))]
    list: Option<OsString>,
    /// Why: keyCompromise, cACompromise, affiliationChanged, superseded, cessationOfOperation, certificateHold, privilegeWithdrawn
    #[arg(long, value_name = "REASON", value_parser = reason)]
    reason: Option<Reason>,
    /// When the next list will be there at the latest
    #[arg(long, value_name = "SPAN", default_value = "30d", value_parser = clock::parse_span)]
    next: Duration,
    /// Take a composite key, which is as draft-ietf-lamps-pq-composite-sigs-19 has it
    #[arg(long)]
    draft: bool,
    #[command(flatten)]
    out: Out,
}

/// Options of `cert crl`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone cert crl root.crl
  sealstone cert crl --ca root.crt root.crl      checks its signature and its time, too

Exit code 1 if its signature does not verify or its time is over.")]
pub(crate) struct Show {
    /// The list: PEM or DER; - is standard input
    #[arg(value_name = "CRL", value_parser = clap::value_parser!(OsString))]
    list: OsString,
    /// The authority's certificate
    #[arg(long, value_name = "CERT", value_parser = clap::value_parser!(OsString))]
    ca: Option<OsString>,
    /// In JSON
    #[arg(long)]
    json: bool,
}

fn reason(text: &str) -> Result<Reason, String> {
    let allowed = |reason: &Reason| !matches!(reason, Reason::RemoveFromCrl);
    Reason::by_name(text).filter(allowed).ok_or_else(|| {
        let known: Vec<_> = Reason::ALL.into_iter().filter(allowed).map(Reason::name).collect();
        format!("expected one of {}", known.join(", "))
    })
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let target = options.out.target(terminal)?;
    let issuer = load::certificate(&options.ca)?;
    let key = signer(&Source::from(options.key.clone()), &options.password, options.draft, terminal)?;
    let now = content::now()?;
    let (mut revoked, mut number) = (BTreeMap::new(), 1);
    if let Some(file) = &options.list {
        let before = load::crl(file)?;
        let name = Source::from(file.clone()).name();
        check(&name, &before, &options.ca)?;
        revoked.extend(before.revoked().map(|(serial, entry)| (serial.to_vec(), *entry)));
        number = next_number(&name, &before)?;
    }
    for file in &options.certificates {
        let certificate = load::certificate(file)?;
        let name = Source::from(file.clone()).name();
        if certificate.issuer() != issuer.subject() {
            return Err(Error::key(
                &name,
                format_args!("it was issued by {}, not by this authority", certificate.issuer()),
                Some("an authority revokes its own certificates only"),
            ));
        }
        let entry = Revoked {
            date: now,
            reason: options.reason.unwrap_or(Reason::Unspecified),
            unknown_critical: false,
        };
        if revoked.contains_key(certificate.serial()) {
            terminal.warn(format_args!("{name} was revoked before: its entry stays"), "nothing is lost");
        }
        revoked.entry(certificate.serial().to_vec()).or_insert(entry);
    }
    let span = i64::try_from(options.next.as_secs()).unwrap_or(i64::MAX);
    let builder = CrlBuilder { next_update: now.saturating_add(span), number, revoked, this_update: now };
    let list = builder.sign(&issuer, &*key).map_err(|cause| made(&cause))?;
    let form = options.out.format.unwrap_or(Written::Pem);
    options.out.write(&target, form, list.to_pem(), list.der(), terminal)?;
    let Target::Path(path) = &target else { return Ok(()) };
    if options.out.json {
        let mut value = described(&list);
        value["file"] = json!(shown(path));
        return terminal.json(&value);
    }
    terminal.line(format_args!(
        "{}  revocation list {number} of {}, {}, until {}",
        shown(path),
        list.issuer(),
        counted(list.revoked().len()),
        words::time(builder.next_update),
    ))
}

fn counted(entries: usize) -> String {
    match entries {
        0 => "nothing revoked".into(),
        1 => "1 certificate revoked".into(),
        more => format!("{more} certificates revoked"),
    }
}

/// One more than that of the list before.
fn next_number(name: &str, before: &Crl) -> Result<u64, Error> {
    let digits = before.number().unwrap_or(&[0]);
    let number = (digits.len() <= 8).then(|| digits.iter().fold(0_u64, |n, byte| n << 8 | u64::from(*byte)));
    number
        .and_then(|number| number.checked_add(1))
        .ok_or_else(|| Error::key(name, "its number leaves no room for the next one", None))
}

/// The list is of this authority, and signed by it.
fn check(name: &str, list: &Crl, authority: &OsString) -> Result<(), Error> {
    let issuer = load::certificate(authority)?;
    let refused = |what: String| Error::Signature { name: name.to_owned(), what, hint: None };
    if list.issuer() != issuer.subject() {
        return Err(refused(format!("it is a list of {}, not of this authority", list.issuer())));
    }
    let key = VerifyingKey::from_spki(issuer.public_key());
    let verified = key.and_then(|key| list.verify_signature(&key));
    verified.map_err(|cause| refused(format!("the list is not signed by this authority: {cause}")))
}

pub(crate) fn show(options: &Show, terminal: &mut Terminal) -> Result<(), Error> {
    let list = load::crl(&options.list)?;
    let name = Source::from(options.list.clone()).name();
    let verdict = options.ca.as_ref().map(|authority| {
        check(&name, &list, authority)?;
        let now = content::now()?;
        match list.next_update() {
            Some(due) if now > due => Err(Error::Signature {
                name: name.clone(),
                what: format!("it was to be replaced at {}", words::time(due)),
                hint: Some("fetch it again".into()),
            }),
            _ => Ok(()),
        }
    });
    if options.json {
        let mut value = described(&list);
        value["valid"] = json!(verdict.as_ref().map(Result::is_ok));
        terminal.json(&value)?;
        return verdict.unwrap_or(Ok(()));
    }
    terminal.line(format_args!("{BOLD}{name}{BOLD:#}  revocation list of {}", list.issuer()))?;
    let algorithm = list.signature_algorithm();
    let mut rows = vec![
        ("signed with", algorithm.map_or_else(|cause| cause.to_string(), |known| known.to_string())),
        ("of", words::time(list.this_update())),
        ("replaced", list.next_update().map_or("it does not say when".into(), words::time)),
    ];
    if let Some(number) = list.number() {
        rows.push(("number", words::hex(number)));
    }
    rows.push(("revoked", counted(list.revoked().len())));
    for (serial, entry) in list.revoked() {
        rows.push(("", format!("{}  {}, {}", words::hex(serial), words::time(entry.date), entry.reason)));
    }
    words::rows(terminal, &rows)?;
    match verdict {
        None => Ok(()),
        Some(Ok(())) => {
            terminal.line(format_args!("{GOOD}good{GOOD:#}  signed by the authority, and of now"))
        }
        Some(Err(refused)) => Err(refused),
    }
}

fn described(list: &Crl) -> Value {
    json!({
        "issuer": list.issuer().to_string(),
        "next_update": list.next_update(),
        "number": list.number().map(words::hex),
        "revoked": list.revoked().map(|(serial, entry)| json!({
            "date": entry.date,
            "reason": entry.reason.name(),
            "serial": words::hex(serial),
        })).collect::<Vec<_>>(),
        "signature_algorithm": list.signature_algorithm().map(|known| known.to_string()).ok(),
        "this_update": list.this_update(),
    })
}
