//! `sealstone key show`.

use std::ffi::OsString;

use clap::Args;
use sealstone_jose::{Algorithm, PrivateKey};
use sealstone_pki::pkcs8::Form;
use serde_json::{Value, json};

use super::{about_any, convert, halves, refuse_screen};
use crate::error::Error;
use crate::files::{Source, Target};
use crate::keyfile::any::{AnyKey, Composite, Gates};
use crate::keyfile::{Format, Key, Private};
use crate::password::PasswordFile;
use crate::terminal::{BOLD, DIM, Terminal, grouped};

/// Options of `key show`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone key show my.pem                          what is in it
  sealstone key show --public --format jwk my.pem    the public key, for a JWKS
  sealstone key show --json my.pem

Without --private, nothing secret is ever printed.")]
pub(crate) struct Options {
    /// The key: JWK, PEM, DER, COSE_Key or a raw public key; - is standard input
    #[arg(value_name = "KEY", value_parser = clap::value_parser!(OsString))]
    key: OsString,
    /// Print the key in this form instead of describing it
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// The public half (the default)
    #[arg(long, conflicts_with = "private")]
    public: bool,
    /// The private key itself, to the screen or the pipe
    #[arg(long, requires = "format")]
    private: bool,
    #[command(flatten)]
    password: PasswordFile,
    #[command(flatten)]
    gates: Gates,
    /// Describe it in JSON
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

pub(super) fn run(options: Options, terminal: &mut Terminal) -> Result<(), Error> {
    let source = Source::from(options.key);
    let key = AnyKey::load(&source, &options.password, options.gates, terminal)?;
    match options.format {
        Some(format) => {
            refuse_screen(format, &Target::Stdout, terminal)?;
            if !options.private {
                return terminal.bytes(&convert::public_bytes(key.public(), format)?);
            }
            if !key.is_private() {
                let hint = "leave --private away, or give the private key's file";
                let what = "this is a public key, expected a private one";
                return Err(Error::key(&source.name(), what, Some(hint)));
            }
            terminal.bytes(&convert::private_bytes(&source.name(), &key, format, Form::Seed)?)
        }
        None if options.json => terminal.json(&described(&key)),
        None => describe(&source, &key, terminal),
    }
}

/// What a key is, for people.
fn describe(source: &Source, key: &AnyKey, terminal: &mut Terminal) -> Result<(), Error> {
    let public = key.public();
    let algorithm = public.algorithm();
    terminal.line(format_args!("{BOLD}{}{BOLD:#}  {algorithm} {} key", source.name(), kind(key)))?;
    let mut rows = vec![
        ("algorithm", format!("{algorithm}  {}", about_any(algorithm))),
        ("encoding", key.encoding().to_owned()),
        ("key id", public.kid().to_owned()),
    ];
    if public.kid() != public.thumbprint() {
        rows.push(("thumbprint", public.thumbprint().to_owned()));
    }
    if let Some(words) = private_words(key) {
        rows.push(("private key", words));
    }
    rows.push(("public key", format!("{} bytes", grouped(public.as_bytes().len()))));
    rows.push(("signature", public.signature_words()));
    for (name, value) in rows {
        terminal.line(format_args!("  {DIM}{name:<11}{DIM:#}  {value}"))?;
    }
    Ok(())
}

/// The same for programs.
fn described(key: &AnyKey) -> Value {
    let public = key.public();
    let (_, signature_bytes) = public.signature_len();
    let expanded = matches!(key, AnyKey::Standard(Key::Private(Private::Expanded { .. })));
    json!({
        "algorithm": public.algorithm().name(),
        "encoding": key.encoding(),
        "has_seed": key.is_private() && !expanded,
        "kid": public.kid(),
        "kind": kind(key),
        "public_bytes": public.as_bytes().len(),
        "signature_bytes": signature_bytes,
        "thumbprint": public.thumbprint(),
    })
}

fn kind(key: &AnyKey) -> &'static str {
    if key.is_private() { "private" } else { "public" }
}

fn private_words(key: &AnyKey) -> Option<String> {
    Some(match key {
        AnyKey::Composite { key: Composite::Private(key), .. } => {
            format!("32-byte seed of ML-DSA, and the private key of {}", halves(key.public().algorithm()).1)
        }
        AnyKey::Standard(Key::Private(Private::Expanded { .. })) => {
            "expanded, without its seed: it signs, and has no JWK".into()
        }
        AnyKey::Standard(Key::Private(Private::Whole { key, .. })) => whole_words(key),
        _ => return None,
    })
}

fn whole_words(key: &PrivateKey) -> String {
    let len = key.secret().len();
    match key.algorithm() {
        Algorithm::Es256 | Algorithm::Es384 | Algorithm::Es512 => format!("{len}-byte scalar"),
        Algorithm::Ps256 | Algorithm::Rs256 => "two primes".into(),
        _ => format!("{len}-byte seed"),
    }
}
