//! `sealstone key convert`, which is `sealstone convert`.

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use sealstone_pki::pkcs8;
use zeroize::Zeroizing;

use super::refuse_screen;
use crate::error::Error;
use crate::files::{Readers, Source, Target};
use crate::keyfile::any::{self, AnyAlgorithm, AnyKey, AnyPublic, Composite, Gates};
use crate::keyfile::{self, Format, Key, Private, composite, raw};
use crate::password::PasswordFile;
use crate::terminal::Terminal;

/// Options of `convert`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone convert my.pem --to jwk --out my.jwk
  sealstone convert my.jwk --public --to pem --out my.pub.pem
  sealstone convert my.pem --public --to cose --out my.cose
  sealstone convert seed.bin --from raw --alg ML-DSA-65 --out my.pem
  sealstone convert my.pem --pkcs8-form expanded --to der --out for-java.der
  openssl genpkey -algorithm ed25519 | sealstone convert - --to jwk --out ed.jwk

What a file holds is recognised: PEM, DER, JWK, COSE_Key, and raw ML-DSA public keys. A private key \
stays private unless --public is given.

What cannot be, cannot be had by force: an ML-DSA key that is there only in expanded form has no seed, so \
it becomes a PKCS#8 with --pkcs8-form expanded and nothing else; an RSA key has no raw form; a public key \
has no private half. `sealstone key convert` is the same command.")]
pub(crate) struct Options {
    /// The key; - is standard input
    #[arg(value_name = "KEY", value_parser = clap::value_parser!(OsString))]
    key: OsString,
    /// How to write it
    #[arg(long, value_enum, default_value_t = Format::Pem)]
    to: Format,
    /// Read raw bytes, which do not say what they are; everything else is recognised
    #[arg(long, value_enum, requires = "alg")]
    from: Option<raw::From>,
    /// What the raw bytes are a key of
    #[arg(long, value_name = "ALG", requires = "from", ignore_case = true, value_parser = any::parser())]
    alg: Option<AnyAlgorithm>,
    /// Only the public half
    #[arg(long)]
    public: bool,
    /// What of an ML-DSA private key a PKCS#8 holds (RFC 9881 §6), where the reader knows only one form
    #[arg(long, value_enum, value_name = "FORM")]
    pkcs8_form: Option<Pkcs8Form>,
    #[command(flatten)]
    password: PasswordFile,
    #[command(flatten)]
    gates: Gates,
    /// Where it goes; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-", value_parser = clap::value_parser!(OsString))]
    out: OsString,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
}

/// The forms of RFC 9881 §6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Pkcs8Form {
    /// The 32-byte seed, as the RFC recommends
    Seed,
    /// Seed and expanded key
    Both,
    /// The expanded key alone, as Java 24 writes it: there is no way back
    Expanded,
}

impl Pkcs8Form {
    const fn form(self) -> pkcs8::Form {
        match self {
            Pkcs8Form::Seed => pkcs8::Form::Seed,
            Pkcs8Form::Both => pkcs8::Form::Both,
            Pkcs8Form::Expanded => pkcs8::Form::Expanded,
        }
    }
}

pub(crate) fn run(options: Options, terminal: &mut Terminal) -> Result<(), Error> {
    let (source, out) = (Source::from(options.key), Target::from(options.out));
    refuse_screen(options.to, &out, terminal)?;
    out.check(options.force)?;
    let key = match (options.from, options.alg) {
        (Some(from), Some(algorithm)) => {
            options.gates.check(algorithm)?;
            raw::load(&source, from, algorithm, terminal)?
        }
        _ => AnyKey::load(&source, &options.password, options.gates, terminal)?,
    };
    if options.pkcs8_form.is_some() {
        check_form(&source, &key, options.to, options.public)?;
    }
    if options.public || !key.is_private() {
        return out.write(&public_bytes(key.public(), options.to)?, Readers::All, options.force, terminal);
    }
    let form = options.pkcs8_form.map_or(pkcs8::Form::Seed, Pkcs8Form::form);
    out.write(
        &private_bytes(&source.name(), &key, options.to, form)?,
        Readers::Owner,
        options.force,
        terminal,
    )
}

/// The option means something to private ML-DSA keys in PKCS#8 alone.
fn check_form(source: &Source, key: &AnyKey, to: Format, public: bool) -> Result<(), Error> {
    let why = match key {
        _ if !matches!(to, Format::Pem | Format::Der) => "what is written here is no PKCS#8",
        _ if public || !key.is_private() => "what is written here is a public key",
        AnyKey::Standard(Key::Private(private)) if private.public().algorithm().level().is_some() => {
            return Ok(());
        }
        _ => "this key has one form only",
    };
    let what =
        format!("{}: --pkcs8-form belongs to ML-DSA private keys in PEM or DER, and {why}", source.name());
    Err(Error::usage(what, "leave it away"))
}

/// A private key in any form.
pub(crate) fn private_bytes(
    name: &str,
    key: &AnyKey,
    format: Format,
    form: pkcs8::Form,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    match key {
        AnyKey::Composite { key: Composite::Private(key), .. } => Ok(composite::private_bytes(key, format)),
        AnyKey::Standard(Key::Private(Private::Expanded { key, .. })) => {
            keyfile::expanded_bytes(name, key, format, form)
        }
        AnyKey::Standard(Key::Private(Private::Whole { key, .. })) => {
            keyfile::private_bytes_as(key, format, form)
        }
        AnyKey::Composite { .. } | AnyKey::Standard(Key::Public { .. }) => {
            Err(Error::key(name, "this is a public key, expected a private one", None))
        }
    }
}

/// A public key in any form.
pub(crate) fn public_bytes(key: AnyPublic<'_>, format: Format) -> Result<Vec<u8>, Error> {
    match key {
        AnyPublic::Composite(key) => Ok(composite::public_bytes(key, format)),
        AnyPublic::Standard(key) => keyfile::public_bytes(key, format),
    }
}
