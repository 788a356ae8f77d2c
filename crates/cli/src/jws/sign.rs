//! `sealstone jws sign`.

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use sealstone_jose::jws::{General, Header, Signer, encode_detached};
use sealstone_jose::{Error as Refusal, any};
use serde_json::json;

use super::signature_path;
use crate::error::Error;
use crate::files::{Readers, Source, Target, shown};
use crate::keyfile::any::{AnyKey, Gates};
use crate::password::PasswordFile;
use crate::terminal::{DIM, Terminal, grouped};

/// Most bytes of a file that is read whole: what stands in JSON, and what an algorithm cannot take in pieces.
const LIMIT: usize = 2 << 20;

/// Options of `jws sign`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone jws sign --key my.pem report.pdf              writes report.pdf.jws: header and signature
  sealstone jws sign --key my.pem --unencoded disk.img    the same, signed as it is (RFC 7797): faster
  sealstone jws sign --form flattened --key my.pem order.json --out signed.json
  sealstone jws sign --key old.pem --key new.pem order.json --out signed.json
  sealstone jws sign --key both.jwk --draft report.pdf                  with a composite key

A detached signature is over a file of any size, which is read once, in constant memory (with Ed25519: up to \
2 MiB). In JSON (RFC 7515 §7.2) the file itself is inside, as base64url, or with --unencoded as it is; several \
keys sign it side by side. For the raw bytes of a signature, without JSON, there is `sealstone sign`.")]
pub(crate) struct Options {
    /// The file; - is standard input
    #[arg(value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    file: OsString,
    /// The private key: PEM, DER or JWK; may be given more than once
    #[arg(long, value_name = "KEY", required = true, value_parser = clap::value_parser!(OsString))]
    key: Vec<OsString>,
    #[command(flatten)]
    password: PasswordFile,
    /// What is written; several keys need `general`, which is then what is written
    #[arg(long, value_enum)]
    form: Option<Form>,
    /// Sign the file as it is, not as base64url: `"b64":false`, which the reader must know
    #[arg(long)]
    unencoded: bool,
    /// What kind of object it is (header `typ`)
    #[arg(long, value_name = "TYPE")]
    typ: Option<String>,
    /// The media type of the file (header `cty`)
    #[arg(long, value_name = "TYPE")]
    cty: Option<String>,
    /// Leave the key id out of the header
    #[arg(long)]
    no_kid: bool,
    /// Allow composite keys, ML-DSA and a classical key in one, by draft-ietf-jose-pq-composite-sigs-04, which may still change
    #[arg(long)]
    draft: bool,
    /// Where it goes: FILE.jws if not given; - is standard output
    #[arg(long, value_name = "SIGNATURE", value_parser = clap::value_parser!(OsString))]
    out: Option<OsString>,
    /// Replace it if it is there
    #[arg(long)]
    force: bool,
    /// Say in JSON what was written
    #[arg(long)]
    json: bool,
}

/// Forms of RFC 7515.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Header and signature; the file stays where it is (Appendix F)
    Detached,
    /// JSON with the file and one signature (§7.2.2)
    Flattened,
    /// JSON with the file and any number of signatures (§7.2.1)
    General,
}

impl Form {
    const fn name(self) -> &'static str {
        match self {
            Form::Detached => "detached",
            Form::Flattened => "flattened",
            Form::General => "general",
        }
    }
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let file = Source::from(options.file.clone());
    let sources: Vec<Source> = options.key.iter().cloned().map(Source::from).collect();
    if sources.iter().chain([&file]).filter(|source| **source == Source::Stdin).count() > 1 {
        return Err(Error::usage("two inputs cannot both be standard input", "give one of them by its name"));
    }
    let form = form(options)?;
    let out = match (options.out.clone().map(Target::from), &file) {
        (Some(out), _) => out,
        (None, Source::Path(path)) => Target::Path(signature_path(path)),
        (None, Source::Stdin) => Target::Stdout,
    };
    if out == Target::Stdout && options.json {
        return Err(Error::usage(
            "--json and the signature cannot share standard output",
            "give --out a file",
        ));
    }
    out.check(options.force)?;
    let gates = Gates { draft: options.draft, legacy: false };
    let load = |source| {
        let key = AnyKey::load(source, &options.password, gates, terminal)?;
        key.private(&source.name(), "sign JSON objects")
    };
    let keys = sources.iter().map(load).collect::<Result<Vec<_>, _>>()?;
    let text = signed(options, form, &keys, &file)?;
    match &out {
        Target::Stdout => return terminal.line(&text),
        Target::Path(_) => {
            out.write(format!("{text}\n").as_bytes(), Readers::All, options.force, terminal)?
        }
    }
    let Target::Path(path) = out else { return Ok(()) };
    let names: Vec<&str> = keys.iter().map(|key| key.algorithm().name()).collect();
    let kids: Vec<&str> = keys.iter().map(|key| key.kid()).collect();
    if options.json {
        return terminal.json(&json!({
            "algorithms": names,
            "bytes": text.len(),
            "file": file.name(),
            "form": form.name(),
            "kids": kids,
            "signature": shown(&path),
        }));
    }
    terminal.line(format_args!(
        "{}  {}, {} JWS, {} characters\n{DIM}key id {}{DIM:#}",
        shown(&path),
        names.join(" and "),
        form.name(),
        grouped(text.len()),
        kids.join(" and "),
    ))
}

fn form(options: &Options) -> Result<Form, Error> {
    match (options.form, options.key.len()) {
        (None, 1) => Ok(Form::Detached),
        (None | Some(Form::General), _) => Ok(Form::General),
        (Some(form), 1) => Ok(form),
        (Some(form), count) => Err(Error::usage(
            format!("{} has one signature, and there are {count} keys", form.name()),
            "--form general holds several, or leave --form out",
        )),
    }
}

fn signed(options: &Options, form: Form, keys: &[any::PrivateKey], file: &Source) -> Result<String, Error> {
    let mut header = Header::new();
    if let Some(typ) = &options.typ {
        header = header.typ(typ);
    }
    if let Some(cty) = &options.cty {
        header = header.cty(cty);
    }
    if options.no_kid {
        header = header.without_kid();
    }
    if options.unencoded {
        header = header.unencoded();
    }
    // What goes wrong here is the input, not a signature that someone else made.
    let refused =
        |cause: Refusal| Error::Usage { what: cause.to_string(), hint: cause.hint().map(str::to_owned) };
    match (form, keys) {
        (Form::Detached, [key]) => detached(key, &header, file).map_err(|cause| match cause {
            Failed::Here(cause) => refused(cause),
            Failed::There(cause) => cause,
        }),
        (Form::Flattened, [key]) => General::flattened(key, &header, &file.read(LIMIT)?).map_err(refused),
        _ => {
            let signers: Vec<_> = keys.iter().map(|key| (key, &header)).collect();
            General::sign(&file.read(LIMIT)?, &signers).map_err(refused)
        }
    }
}

/// The signature could not be made, or the file could not be read.
enum Failed {
    Here(Refusal),
    There(Error),
}

fn detached(key: &any::PrivateKey, header: &Header, file: &Source) -> Result<String, Failed> {
    match Signer::new(key, header) {
        Ok(mut signer) => {
            file.each_piece(|piece| signer.update(piece)).map_err(Failed::There)?;
            signer.finish().map_err(Failed::Here)
        }
        Err(Refusal::NotStreamable { .. }) => {
            let whole = file.read(LIMIT).map_err(Failed::There)?;
            encode_detached(key, header, &whole).map_err(Failed::Here)
        }
        Err(cause) => Err(Failed::Here(cause)),
    }
}
