//! `sealstone cms verify`.

use std::ffi::OsString;

use clap::Args;
use sealstone_jose::UnixSeconds;
use sealstone_pki::cms::{Error as Refused, Message, Policy, Trust, Unverified, Verified, VerifiedSigner};
use sealstone_pki::x509::path;
use sealstone_pki::{Certificate, x509::Crl};
use serde_json::{Value, json};

use super::{Taken, load};
use crate::clock;
use crate::error::Error;
use crate::files::{Readers, Source, Target, shown};
use crate::terminal::{DIM, GOOD, Terminal, grouped};

/// Options of `cms verify`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone cms verify --ca root.crt letter.txt.cms
  sealstone cms verify --ca root.crt --out letter.txt letter.txt.cms      the content, if it is good
  sealstone cms verify --ca root.crt --content disk.img disk.img.cms      a detached signature
  sealstone cms verify --certificate alice.crt letter.txt.cms             this certificate and no other

One of --ca, --certificate and --key says who is trusted: authorities, whose chains are checked by RFC \
5280 now; certificates as they are, at any time; or keys, whoever the message says signed. Every signer \
must be good, unless --any says that one is enough. Exit code 1 if the message is not valid.")]
pub(crate) struct Options {
    /// The message: PEM, DER or BER; - is standard input
    #[arg(value_name = "MESSAGE", value_parser = clap::value_parser!(OsString))]
    message: OsString,
    /// Certificates of authorities that are trusted
    #[arg(long, visible_alias = "trust", value_name = "CERTS", group = "who", value_parser = clap::value_parser!(OsString))]
    ca: Vec<OsString>,
    /// Certificates of signers that are trusted as they are
    #[arg(long, value_name = "CERT", group = "who", value_parser = clap::value_parser!(OsString))]
    certificate: Vec<OsString>,
    /// Public keys of signers that are trusted
    #[arg(long, value_name = "KEY", group = "who", value_parser = clap::value_parser!(OsString))]
    key: Vec<OsString>,
    /// Certificates that may stand between, or that the message left out
    #[arg(long, value_name = "CERTS", requires = "ca", value_parser = clap::value_parser!(OsString))]
    between: Vec<OsString>,
    /// Revocation lists, beside those in the message
    #[arg(long, value_name = "CRL", requires = "ca", value_parser = clap::value_parser!(OsString))]
    crl: Vec<OsString>,
    /// The content of a detached signature; - is standard input
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    content: Option<OsString>,
    /// Be content with one good signer
    #[arg(long)]
    any: bool,
    #[command(flatten)]
    taken: Taken,
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let target = options.taken.target()?;
    if options.ca.is_empty() && options.certificate.is_empty() && options.key.is_empty() {
        return Err(Error::usage(
            "nothing says who is trusted",
            "give --ca, --certificate or --key; `sealstone cms show` reads a message without checking it",
        ));
    }
    if options.message == "-" && options.content.as_ref().is_some_and(|content| content == "-") {
        return Err(Error::usage("two inputs cannot both be standard input", "give one of them by its name"));
    }
    let source = Source::from(options.message.clone());
    let name = source.name();
    let message = match load::message(&source)? {
        Message::Signed(message) => message,
        other => {
            let what = format!("{} is not signed: it is {}", name, other.kind());
            return Err(Error::Usage { what, hint: Some("`sealstone cms decrypt` opens it".into()) });
        }
    };
    let verified = match judged(options, message, terminal)? {
        Ok(verified) => verified,
        Err(cause) => {
            let refused = load::not_valid(&name, &cause);
            if options.taken.json {
                terminal.json(&json!({"error": cause.to_string(), "valid": false}))?;
            }
            return Err(refused);
        }
    };
    if let Some(target) = &target {
        let Some(content) = verified.content() else {
            return Err(Error::usage("the content is not in the message", "leave --out away"));
        };
        target.write(content, Readers::All, options.taken.force, terminal)?;
    }
    said(options, &name, &verified, target.as_ref(), terminal)
}

/// Our own errors outside, the verdict inside.
fn judged(
    options: &Options,
    message: Unverified,
    terminal: &mut Terminal,
) -> Result<Result<Verified, Refused>, Error> {
    let policy = if options.any { Policy::Any } else { Policy::All };
    if !options.key.is_empty() {
        let keys = options.key.iter().map(|key| load::verifying_key(key, terminal));
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        return checked(options, message, Trust::Keys(&keys), policy);
    }
    if !options.certificate.is_empty() {
        let certificates = load::all_certificates(&options.certificate)?;
        return checked(options, message, Trust::Certificates(&certificates), policy);
    }
    let (anchors, between) =
        (load::all_certificates(&options.ca)?, load::all_certificates(&options.between)?);
    let mut crls = Vec::new();
    for file in &options.crl {
        let source = Source::from(file.clone());
        let (name, bytes) = (source.name(), source.read(super::MAX_CRL)?);
        let read = match bytes.first() {
            Some(0x30) => Crl::from_der(&bytes),
            _ => Crl::from_pem(load::text(&name, &bytes)?),
        };
        crls.push(read.map_err(|cause| Error::key(&name, &cause, cause.hint()))?);
    }
    // A list of the message that cannot be read is as if it were not there: it is signed by others, or by no one.
    crls.extend(message.crls().iter().filter_map(|crl| Crl::from_der(crl).ok()));
    let now = i64::try_from(clock::now().0).unwrap_or(i64::MAX);
    let message = message.with_certificates(&between);
    let chain = |signer: &Certificate, others: &[Certificate]| {
        let policy = path::Policy { crls: &crls, intermediates: others, ..path::Policy::new(&anchors, now) };
        path::verify(signer, &policy).map(drop)
    };
    checked(options, message, Trust::Chain(&chain), policy)
}

fn checked(
    options: &Options,
    message: Unverified,
    trust: Trust<'_>,
    policy: Policy,
) -> Result<Result<Verified, Refused>, Error> {
    let Some(content) = &options.content else { return Ok(message.verify(trust, policy)) };
    let mut check = match message.over(trust, policy) {
        Ok(check) => check,
        Err(cause) => return Ok(Err(cause)),
    };
    let mut outcome = Ok(());
    Source::from(content.clone()).each_piece(|piece| {
        if outcome.is_ok() {
            outcome = check.update(piece);
        }
    })?;
    Ok(outcome.and_then(|()| check.finish()))
}

fn said(
    options: &Options,
    name: &str,
    verified: &Verified,
    target: Option<&Target>,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let bytes = verified.content().map(<[u8]>::len);
    if options.taken.json {
        return terminal.json(&json!({
            "content_bytes": bytes,
            "content_type": verified.content_type(),
            "detached": bytes.is_none(),
            "refused": verified.refused().iter().map(|(id, cause)| json!({
                "error": cause.to_string(),
                "signer": id.to_string(),
            })).collect::<Vec<_>>(),
            "signers": verified.signers().iter().map(row).collect::<Vec<_>>(),
            "valid": true,
        }));
    }
    // With the content on standard output there is no room for words.
    if target == Some(&Target::Stdout) {
        return Ok(());
    }
    let size =
        bytes.map_or("content beside it".into(), |bytes| format!("{} bytes of content", grouped(bytes)));
    terminal.line(format_args!("{GOOD}good{GOOD:#}  {name}, {size}"))?;
    for signer in verified.signers() {
        terminal.line(format_args!("  signed by {}", who(signer)))?;
        terminal.line(format_args!("  {DIM}{}{DIM:#}", how(signer)))?;
    }
    for (id, cause) in verified.refused() {
        terminal.line(format_args!("  {DIM}does not count: {id}: {cause}{DIM:#}"))?;
    }
    match target {
        Some(Target::Path(path)) => terminal.line(format_args!("{}  the content", shown(path))),
        _ => Ok(()),
    }
}

/// The certificate's subject where there is one: what a message says of itself is not known to be true.
fn who(signer: &VerifiedSigner) -> String {
    match signer.certificate() {
        Some(certificate) => certificate.subject().to_string(),
        None => "a key that you trust".into(),
    }
}

fn how(signer: &VerifiedSigner) -> String {
    let digest = signer.digest().map_or("the content itself".into(), |digest| format!("over its {digest}"));
    let time = signer.attributes().and_then(|attributes| attributes.signing_time());
    let time = match time.map(u64::try_from) {
        Some(Ok(seconds)) => format!(", by its own account on {}", clock::utc(UnixSeconds(seconds))),
        Some(Err(_)) => ", by its own account before 1970".into(),
        None => String::new(),
    };
    format!("{}, {digest}{time}", signer.algorithm())
}

fn row(signer: &VerifiedSigner) -> Value {
    json!({
        "algorithm": signer.algorithm().name(),
        "digest": signer.digest().map(|digest| digest.name()),
        "named_by": signer.identifier().to_string(),
        "signed_attributes": signer.attributes().is_some(),
        "signing_time": signer.attributes().and_then(|attributes| attributes.signing_time()),
        "subject": signer.certificate().map(|certificate| certificate.subject().to_string()),
    })
}
