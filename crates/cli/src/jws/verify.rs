//! `sealstone jws verify`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args};
use sealstone_jose::jws::{Detached, General, ReceivedHeader};
use sealstone_jose::{Error as Refusal, JwkSet, PublicKey};
use serde_json::{Value, json};

use crate::error::Error;
use crate::files::{Readers, Source, Target};
use crate::jwks::set::KeySet;
use crate::keyfile::Key;
use crate::keyfile::any::Gates;
use crate::terminal::{DIM, GOOD, Safe, Terminal};

/// More than the longest document.
const LIMIT: usize = 4 << 20;

/// Options of `jws verify`.
#[derive(Args)]
#[command(
    group = ArgGroup::new("keys").required(true).args(["key", "jwks"]),
    after_help = "\
Examples:
  sealstone jws verify --key my.pub.pem report.pdf.jws               the file beside it: report.pdf
  sealstone jws verify --key my.pub.pem --file disk.img disk.sig
  sealstone jws verify --jwks keys.json --out order.json signed.json
  sealstone jws verify --jwks keys.json --all signed.json

The algorithm comes from the key, never from the signature. Of several signatures one by a given key is \
enough; with --all each must be by one. Of extensions `b64` is understood; whatever else is critical is \
refused. Exit code: 0 the signature is good, 1 it is not, 2 anything else.")]
pub(crate) struct Options {
    /// The file with the signature; - is standard input
    #[arg(value_name = "SIGNATURE", value_parser = clap::value_parser!(OsString))]
    signature: OsString,
    /// The key that must have signed: PEM, DER or JWK
    #[arg(long, value_name = "KEY", value_parser = clap::value_parser!(OsString))]
    key: Option<OsString>,
    /// A key set, of which the signature's key id names one
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    jwks: Option<OsString>,
    /// What was signed, where it is not in the document: SIGNATURE without `.jws` if not given
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    file: Option<OsString>,
    /// Each signature must be by a given key, not only one
    #[arg(long)]
    all: bool,
    /// Write what was signed to a file, once it is proven; - is standard output
    #[arg(long, value_name = "FILE", conflicts_with = "json", value_parser = clap::value_parser!(OsString))]
    out: Option<OsString>,
    /// Replace the file if it is there
    #[arg(long, requires = "out")]
    force: bool,
    /// Say it in JSON
    #[arg(long)]
    json: bool,
}

/// What is proven.
struct Proven {
    headers: Vec<ReceivedHeader>,
    /// What stood in the document.
    payload: Option<Vec<u8>>,
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let inputs =
        [Some(&options.signature), options.key.as_ref(), options.jwks.as_ref(), options.file.as_ref()];
    if inputs.into_iter().flatten().filter(|input| *input == "-").count() > 1 {
        return Err(Error::usage("two inputs cannot both be standard input", "give one of them by its name"));
    }
    let out = options.out.clone().map(Target::from);
    if let Some(out) = &out {
        out.check(options.force)?;
    }
    let keys = match (&options.key, &options.jwks) {
        (Some(file), _) => Keys::One(Key::load(&Source::from(file.clone()), terminal)?),
        (None, file) => {
            let source = Source::from(file.clone().unwrap_or_default());
            Keys::Set(KeySet::load(&source, Gates::default())?.standard)
        }
    };
    let signature = Source::from(options.signature.clone());
    let text = signature.read_text(LIMIT)?;
    let done = check(options, &keys, text.trim());
    if options.json {
        return say_json(done, terminal);
    }
    let Proven { headers, payload } = done?;
    match (out, payload) {
        (Some(out), Some(payload)) => out.write(&payload, Readers::All, options.force, terminal)?,
        (Some(_), None) => {
            return Err(Error::usage(
                "what was signed is not in the signature, so there is nothing to write",
                "it is the file that --file names",
            ));
        }
        (None, _) => {}
    }
    if options.out.as_ref().is_some_and(|out| out == "-") {
        return Ok(());
    }
    for header in &headers {
        let kid = header.kid().map_or_else(String::new, |kid| format!("\n{DIM}key id {}{DIM:#}", Safe(kid)));
        terminal.line(format_args!("{GOOD}good{GOOD:#}  {} signature{kid}", header.algorithm()))?;
    }
    Ok(())
}

enum Keys {
    One(Key),
    Set(JwkSet),
}

fn check(options: &Options, keys: &Keys, text: &str) -> Result<Proven, Error> {
    if !text.starts_with('{') {
        let token = Detached::parse(text).map_err(Error::Jws)?;
        let key = match keys {
            Keys::One(key) => key.public().clone(),
            Keys::Set(set) => token.key_in(set).map_err(Error::Jws)?.clone(),
        };
        let header = detached(token, &key, &beside(options)?)?;
        return Ok(Proven { headers: vec![header], payload: None });
    }
    let mut document = General::parse(text).map_err(Error::Jws)?;
    if !document.has_payload() {
        document = document.with_payload(&beside(options)?.read(LIMIT)?).map_err(Error::Jws)?;
    } else if options.file.is_some() {
        return Err(Error::usage(
            "what was signed is in the document",
            "leave --file out; --out writes it to a file",
        ));
    }
    let (payload, headers) = match (keys, options.all) {
        (Keys::One(key), false) => {
            document.verify(key.public()).map(|(payload, header)| (payload, vec![header.clone()]))
        }
        (Keys::Set(set), false) => {
            document.verify_any(set).map(|(payload, header)| (payload, vec![header.clone()]))
        }
        (Keys::One(key), true) => {
            all_of(&document, &JwkSet::new([key.public().clone()]).map_err(Error::Jws)?)
        }
        (Keys::Set(set), true) => all_of(&document, set),
    }
    .map_err(Error::Jws)?;
    Ok(Proven { headers, payload: Some(payload.to_vec()) })
}

fn all_of<'d>(document: &'d General, set: &JwkSet) -> Result<(&'d [u8], Vec<ReceivedHeader>), Refusal> {
    let payload = document.verify_all(set)?;
    Ok((payload, document.headers().cloned().collect()))
}

/// In pieces where the algorithm can.
fn detached(token: Detached, key: &PublicKey, file: &Source) -> Result<ReceivedHeader, Error> {
    if !key.takes_pieces() {
        return token.verify(key, &file.read(LIMIT)?).map_err(Error::Jws);
    }
    let mut verifier = token.verifier(key).map_err(Error::Jws)?;
    file.each_piece(|piece| verifier.update(piece))?;
    verifier.finish().map_err(Error::Jws)
}

/// What was signed, where it is not in the document.
fn beside(options: &Options) -> Result<Source, Error> {
    if let Some(file) = &options.file {
        return Ok(Source::from(file.clone()));
    }
    let path = PathBuf::from(&options.signature);
    match path.extension() {
        Some(extension) if extension == "jws" => Ok(Source::Path(path.with_extension(""))),
        _ => Err(Error::usage(
            "the signature is detached, and which file it is over is not known",
            "give the file with --file",
        )),
    }
}

fn say_json(done: Result<Proven, Error>, terminal: &mut Terminal) -> Result<(), Error> {
    let header =
        |header: &ReceivedHeader| json!({"header": header.members(), "unprotected": header.unprotected()});
    match done {
        Ok(Proven { headers, payload }) => {
            let payload = payload.and_then(|payload| String::from_utf8(payload).ok()).map(Value::String);
            let signatures: Vec<Value> = headers.iter().map(header).collect();
            terminal.json(&json!({"payload": payload, "signatures": signatures, "valid": true}))
        }
        Err(refused) => {
            if refused.exit_code() == 1 {
                terminal.json(&json!({"error": refused.to_string(), "valid": false}))?;
            }
            Err(refused)
        }
    }
}
