//! `sealstone cms decrypt`.

use std::ffi::OsString;

use clap::Args;
use sealstone_pki::cms::{Accept, Error as Refused, Message};
use serde_json::json;

use super::{Taken, load};
use crate::error::Error;
use crate::files::{Readers, Source, Target, shown};
use crate::password::PasswordFile;
use crate::terminal::{Terminal, grouped};

/// Options of `cms decrypt`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone cms decrypt --key bob.pem letter.txt.cms --out letter.txt
  sealstone cms decrypt --key bob.pem both.cms | sealstone cms verify --ca root.crt --out letter.txt -

The content goes to standard output unless --out is given. A message in AES-CBC is opened with \
--allow-unauthenticated alone: nothing shows whether it was changed, and whoever can send messages and \
learn which of them open can find out what is in others (RFC 9709). Exit code 1 if it does not open.")]
pub(crate) struct Options {
    /// The message: PEM, DER or BER; - is standard input
    #[arg(value_name = "MESSAGE", value_parser = clap::value_parser!(OsString))]
    message: OsString,
    /// The ML-KEM private key: PEM or DER
    #[arg(long, value_name = "KEY", value_parser = clap::value_parser!(OsString))]
    key: OsString,
    #[command(flatten)]
    password: PasswordFile,
    /// The certificate of the key, to try only what is addressed to it
    #[arg(long, value_name = "CERT", value_parser = clap::value_parser!(OsString))]
    certificate: Option<OsString>,
    /// Open AES-CBC too
    #[arg(long)]
    allow_unauthenticated: bool,
    #[command(flatten)]
    taken: Taken,
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let out = options.taken.target()?;
    if options.message == "-" && options.key == "-" {
        return Err(Error::usage("two inputs cannot both be standard input", "give one of them by its name"));
    }
    let source = Source::from(options.message.clone());
    let name = source.name();
    let message = match load::message(&source)? {
        Message::Encrypted(message) => message,
        other => {
            let what = format!("{} is not encrypted: it is {}", name, other.kind());
            return Err(Error::Usage { what, hint: Some("`sealstone cms verify` checks it".into()) });
        }
    };
    let key = load::decapsulation_key(&options.key, &options.password, terminal)?;
    let certificate = options.certificate.as_ref().map(load::certificate).transpose()?;
    let accept = if options.allow_unauthenticated { Accept::Unauthenticated } else { Accept::Authenticated };
    let opened = message.decrypt(&key, certificate.as_ref().map(|(one, _)| one), accept);
    let opened = opened.map_err(|cause| match cause {
        Refused::Decryption => load::not_valid(&name, &cause),
        Refused::Unauthenticated => Error::usage(
            format!("{name}: {cause}"),
            "ask for AES-GCM; --allow-unauthenticated opens it where no one else learns whether it opened",
        ),
        _ => load::wrong(&cause),
    })?;
    if options.taken.json {
        if let Some(out) = &out {
            out.write(opened.content(), Readers::Owner, options.taken.force, terminal)?;
        }
        return terminal.json(&json!({
            "authenticated": opened.is_authenticated(),
            "cipher": message.cipher().name(),
            "content_bytes": opened.content().len(),
            "content_type": opened.content_type(),
        }));
    }
    let out = out.unwrap_or(Target::Stdout);
    out.write(opened.content(), Readers::Owner, options.taken.force, terminal)?;
    let Target::Path(path) = out else { return Ok(()) };
    let note = if opened.is_authenticated() { "" } else { ", which may have been changed" };
    terminal.line(format_args!("{}  {} bytes{note}", shown(&path), grouped(opened.content().len())))
}
