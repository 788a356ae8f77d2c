//! `sealstone cms sign`.

use std::ffi::OsString;

use clap::Args;
use sealstone_pki::Certificate;
use sealstone_pki::cms::{DigestAlgorithm, Signer, Signing};
use sealstone_pki::sign::SigningKey;
use serde_json::json;

use super::{Out, load};
use crate::clock;
use crate::error::Error;
use crate::files::{Source, Target, shown};
use crate::password::PasswordFile;
use crate::terminal::{DIM, Terminal, grouped};

/// Options of `cms sign`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone cms sign --signer my.crt --key my.pem letter.txt              writes letter.txt.cms
  sealstone cms sign --detached --signer my.crt --key my.pem disk.img
  sealstone cms sign --signer old.crt --key old.pem --signer new.crt --key new.pem letter.txt
  openssl cms -verify -in letter.txt.cms -inform PEM -CAfile root.crt     OpenSSL 3.5 reads it

A detached signature is over a file of any size, read once in constant memory. Signed attributes say \
what the content is, its digest, when it was signed (by this machine's clock) and with which \
algorithms; --no-attributes signs the file itself. Each --signer goes with the --key in the same \
place. SHA-512 is the digest that every reader of ML-DSA knows (RFC 9882).")]
pub(crate) struct Options {
    /// The file; - is standard input
    #[arg(value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    file: OsString,
    /// The signer's certificate; those behind it in the file go into the message too
    #[arg(long, value_name = "CERT", required = true, value_parser = clap::value_parser!(OsString))]
    signer: Vec<OsString>,
    /// Its private key: PEM, DER or JWK
    #[arg(long, value_name = "KEY", required = true, value_parser = clap::value_parser!(OsString))]
    key: Vec<OsString>,
    #[command(flatten)]
    password: PasswordFile,
    /// Leave the content out of the message
    #[arg(long)]
    detached: bool,
    /// Sign the file as it is, without signed attributes
    #[arg(long, conflicts_with = "digest")]
    no_attributes: bool,
    /// Leave the time out
    #[arg(long)]
    no_signing_time: bool,
    /// The digest of the content: SHA-512, SHAKE256, SHA3-512, and for lower levels shorter ones
    #[arg(long, value_name = "DIGEST", value_parser = digest)]
    digest: Option<DigestAlgorithm>,
    /// Name the signer by its key's identifier instead of issuer and serial number
    #[arg(long)]
    by_key_id: bool,
    /// More certificates to go into the message
    #[arg(long, value_name = "CERTS", value_parser = clap::value_parser!(OsString))]
    certificate: Vec<OsString>,
    /// Leave all certificates out
    #[arg(long, conflicts_with = "certificate")]
    no_certificates: bool,
    /// A revocation list in DER to go into the message
    #[arg(long, value_name = "CRL", value_parser = clap::value_parser!(OsString))]
    crl: Vec<OsString>,
    #[command(flatten)]
    out: Out,
}

fn digest(text: &str) -> Result<DigestAlgorithm, String> {
    DigestAlgorithm::by_name(text).ok_or_else(|| {
        let names: Vec<&str> = DigestAlgorithm::ALL.iter().map(|digest| digest.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let file = Source::from(options.file.clone());
    let target = options.out.target(&file, terminal)?;
    if options.signer.len() != options.key.len() {
        return Err(Error::usage(
            format!("--signer was given {} times, and --key {}", options.signer.len(), options.key.len()),
            "each certificate goes with the key in the same place",
        ));
    }
    let from_stdin =
        options.key.iter().filter(|key| *key == "-").count() + usize::from(file == Source::Stdin);
    if from_stdin > 1 {
        return Err(Error::usage("two inputs cannot both be standard input", "give one of them by its name"));
    }
    let mut more = load::all_certificates(&options.certificate)?;
    let mut signers: Vec<(Certificate, SigningKey)> = Vec::new();
    for (signer, key) in options.signer.iter().zip(&options.key) {
        let (certificate, behind) = load::certificate(signer)?;
        more.extend(behind);
        signers.push((certificate, load::signing_key(key, &options.password, terminal)?));
    }
    let signing_time = i64::try_from(clock::now().0).ok().filter(|_| !options.no_signing_time);
    let made = signers.iter().map(|(certificate, key)| {
        let mut signer = Signer::new(certificate, key)?;
        if let Some(digest) = options.digest {
            signer = signer.digest(digest)?;
        }
        if options.by_key_id {
            signer = signer.by_key_id();
        }
        match (options.no_attributes, signing_time) {
            (true, _) => signer.without_attributes(),
            (false, Some(seconds)) => Ok(signer.signing_time(seconds)),
            (false, None) => Ok(signer),
        }
    });
    let made = made.collect::<Result<Vec<_>, _>>().map_err(|cause| load::wrong(&cause))?;
    let mut made = made.into_iter();
    let Some(first) = made.next() else { return Err(Error::usage("there is no signer", "give --signer")) };
    let mut signing = made.fold(Signing::new(first), Signing::signer);
    signing = more.iter().fold(signing, Signing::certificate);
    if options.no_certificates {
        signing = signing.without_certificates();
    }
    for crl in &options.crl {
        signing = signing.crl(&Source::from(crl.clone()).read(super::MAX_CRL)?);
    }

    let message = match options.detached {
        false => signing.attached(&load::content(&file)?),
        true => {
            let mut stream = signing.detached().map_err(|cause| load::wrong(&cause))?;
            let mut outcome = Ok(());
            file.each_piece(|piece| {
                if outcome.is_ok() {
                    outcome = stream.update(piece);
                }
            })?;
            outcome.and_then(|()| stream.finish())
        }
    };
    let message = message.map_err(|cause| load::wrong(&cause))?;
    options.out.write(&target, &message, terminal)?;
    let Target::Path(path) = target else { return Ok(()) };
    let algorithms: Vec<&str> = signers.iter().map(|(_, key)| key.algorithm().name()).collect();
    if options.out.json {
        return terminal.json(&json!({
            "algorithms": algorithms,
            "attributes": !options.no_attributes,
            "bytes": message.len(),
            "detached": options.detached,
            "file": file.name(),
            "message": shown(&path),
            "signers": signers.iter().map(|(one, _)| one.subject().to_string()).collect::<Vec<_>>(),
        }));
    }
    let form = if options.detached { "detached signature" } else { "signed message" };
    terminal.line(format_args!(
        "{}  {}, {form}, {} bytes of DER",
        shown(&path),
        algorithms.join(" and "),
        grouped(message.len()),
    ))?;
    for (certificate, _) in &signers {
        terminal.line(format_args!("{DIM}signed by {}{DIM:#}", certificate.subject()))?;
    }
    Ok(())
}
