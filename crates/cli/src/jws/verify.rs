//! `sealstone jws verify`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args};
use sealstone_jose::jws::{self, Detached, General};
use sealstone_jose::{Error as Refusal, any, composite};
use serde_json::{Value, json};

use crate::error::Error;
use crate::files::{Readers, Source, Target};
use crate::jwks::set::KeySet;
use crate::keyfile::any::{AnyKey, Gates, RISK};
use crate::password::PasswordFile;
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
    #[command(flatten)]
    password: PasswordFile,
    /// A key set, of which the signature's key id names one
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    jwks: Option<OsString>,
    /// What was signed, where it is not in the document: SIGNATURE without `.jws` if not given
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    file: Option<OsString>,
    /// Each signature must be by a given key, not only one
    #[arg(long)]
    all: bool,
    /// Allow composite keys, ML-DSA and a classical key in one, by draft-ietf-jose-pq-composite-sigs-04, which may still change
    #[arg(long)]
    draft: bool,
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

/// Of a signature that may be composite.
type ReceivedHeader = jws::ReceivedHeader<any::Algorithm>;

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
    let gates = Gates { draft: options.draft, legacy: false };
    let keys = match (&options.key, &options.jwks) {
        (Some(file), _) => {
            let key = AnyKey::load(&Source::from(file.clone()), &options.password, gates, terminal)?;
            Keys::One(key.public().to_any())
        }
        (None, file) => {
            let source = Source::from(file.clone().unwrap_or_default());
            Keys::Set(KeySet::load(&source, gates)?)
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
    One(any::PublicKey),
    Set(KeySet),
}

/// A composite signature is known as one also with the gate shut, so that it can be named; nothing of it is checked then.
fn check_gate<'h>(
    options: &Options,
    mut headers: impl Iterator<Item = &'h ReceivedHeader>,
) -> Result<(), Error> {
    let composite = headers.find_map(|header| match header.algorithm() {
        any::Algorithm::Composite(algorithm) => Some(algorithm),
        any::Algorithm::Standard(_) => None,
    });
    match composite.filter(|_| !options.draft) {
        None => Ok(()),
        Some(algorithm) => Err(Error::Signature {
            name: Source::from(options.signature.clone()).name(),
            what: format!("it is signed with {algorithm}, composite, of a draft: {}", composite::REVISION),
            hint: Some(RISK.to_owned()),
        }),
    }
}

fn check(options: &Options, keys: &Keys, text: &str) -> Result<Proven, Error> {
    if !text.starts_with('{') {
        let token = Detached::parse_any(text).map_err(Error::Jws)?;
        check_gate(options, std::iter::once(token.header()))?;
        let key = match keys {
            Keys::One(key) => key,
            Keys::Set(set) => token.key_in(set.any()).map_err(Error::Jws)?,
        };
        let header = detached(token, &key.clone(), &beside(options)?)?;
        return Ok(Proven { headers: vec![header], payload: None });
    }
    let mut document = General::parse_any(text).map_err(Error::Jws)?;
    check_gate(options, document.headers())?;
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
            document.verify(key).map(|(payload, header)| (payload, vec![header.clone()]))
        }
        (Keys::Set(set), false) => {
            document.verify_any(set.any()).map(|(payload, header)| (payload, vec![header.clone()]))
        }
        (Keys::One(key), true) => all_of(&document, &any::JwkSet::new([key.clone()]).map_err(Error::Jws)?),
        (Keys::Set(set), true) => all_of(&document, set.any()),
    }
    .map_err(Error::Jws)?;
    Ok(Proven { headers, payload: Some(payload.to_vec()) })
}

fn all_of<'d>(
    document: &'d General<any::PublicKey>,
    set: &any::JwkSet,
) -> Result<(&'d [u8], Vec<ReceivedHeader>), Refusal> {
    let payload = document.verify_all(set)?;
    Ok((payload, document.headers().cloned().collect()))
}

/// In pieces where the algorithm can.
fn detached(
    token: Detached<any::PublicKey>,
    key: &any::PublicKey,
    file: &Source,
) -> Result<ReceivedHeader, Error> {
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
