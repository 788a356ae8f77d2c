//! `sealstone cms encrypt`.

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use sealstone_mldsa::OsRandom;
use sealstone_pki::cms;
use serde_json::json;

use super::{Out, load};
use crate::error::Error;
use crate::files::{Source, Target, shown};
use crate::terminal::{Terminal, grouped};

/// Options of `cms encrypt`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone cms encrypt --to bob.crt letter.txt                     writes letter.txt.cms
  sealstone cms encrypt --to bob.pub.pem --to carol.crt --format der --out letter.p7m letter.txt
  sealstone cms sign --signer my.crt --key my.pem --out - letter.txt | sealstone cms encrypt --to bob.crt - > both.cms

Each recipient opens it with an ML-KEM key (RFC 9936), which a quantum computer does not break. The \
content is in AES-256-GCM, so that a changed message does not open. Who encrypted it, the message does \
not say: sign first. Whether a recipient's certificate is good is not checked here: `sealstone cert \
verify` does.")]
pub(crate) struct Options {
    /// The file; - is standard input
    #[arg(value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    file: OsString,
    /// Whom it is for: a certificate, or a public key; may be given more than once
    #[arg(long, value_name = "CERT", required = true, value_parser = clap::value_parser!(OsString))]
    to: Vec<OsString>,
    /// The cipher of the content
    #[arg(long, value_enum, ignore_case = true, default_value_t = Cipher::Gcm)]
    cipher: Cipher,
    #[command(flatten)]
    out: Out,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Cipher {
    /// AES-256-GCM in AuthEnvelopedData
    #[value(name = "AES-256-GCM")]
    Gcm,
    /// AES-256-CBC in EnvelopedData, for readers that know no other: a change is not noticed
    #[value(name = "AES-256-CBC")]
    Cbc,
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let file = Source::from(options.file.clone());
    let target = options.out.target(&file, terminal)?;
    let recipients = options.to.iter().map(load::recipient).collect::<Result<Vec<_>, _>>()?;
    let cipher = match options.cipher {
        Cipher::Gcm => cms::Cipher::Aes256Gcm,
        Cipher::Cbc => cms::Cipher::Aes256Cbc,
    };
    let message = cms::encrypt(&load::content(&file)?, &recipients, cipher, &mut OsRandom)
        .map_err(|cause| load::wrong(&cause))?;
    options.out.write(&target, &message, terminal)?;
    let Target::Path(path) = target else { return Ok(()) };
    if options.out.json {
        return terminal.json(&json!({
            "bytes": message.len(),
            "cipher": cipher.name(),
            "file": file.name(),
            "message": shown(&path),
            "recipients": recipients.len(),
        }));
    }
    let whom = if recipients.len() == 1 { "recipient" } else { "recipients" };
    terminal.line(format_args!(
        "{}  {}, {} {whom}, {} bytes of DER",
        shown(&path),
        cipher.name(),
        recipients.len(),
        grouped(message.len()),
    ))
}
