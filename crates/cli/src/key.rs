//! `sealstone key`: make, look at and convert keys.

use std::ffi::OsString;

use clap::{Args, Subcommand};
use sealstone_jose::{Algorithm, PrivateKey, PublicKey};
use serde_json::{Value, json};

use crate::error::Error;
use crate::files::{Readers, Source, Target, shown};
use crate::flags;
use crate::key_password;
use crate::keyfile::{Format, Key, Private, private_bytes, public_bytes};
use crate::terminal::{BOLD, DIM, Terminal, grouped};

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Make a new key from the randomness of the operating system
    Generate(Generate),
    /// Say what a key file holds, or print the key in another form
    Show(Show),
    /// Write a key in another form
    Convert(Convert),
    /// Put a private key under a password
    Encrypt(key_password::Encrypt),
    /// Take the password of a private key away
    Decrypt(key_password::Decrypt),
    /// Print a key's thumbprint (RFC 7638), which is its default key id
    Thumbprint(Thumbprint),
}

/// Options of `key generate`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone key generate --out my.pem --public-out my.pub.pem
  sealstone key generate --alg ES256 --format jwk --out token-key.jwk
  sealstone key generate | sealstone key show -

An ML-DSA private key is its 32-byte seed, in every form. ML-DSA-65 is a good choice where nothing \
speaks for another: 44 is smaller, 87 has the larger margin. The file is readable by its owner alone.")]
pub(crate) struct Generate {
    /// What the key is for
    #[arg(long, value_name = "ALG", default_value = "ML-DSA-65", ignore_case = true, value_parser = flags::key_algorithm())]
    alg: Algorithm,
    /// How the key is written
    #[arg(long, value_enum, default_value_t = Format::Pem)]
    format: Format,
    /// Where the private key goes; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-", value_parser = clap::value_parser!(OsString))]
    out: OsString,
    /// Where the public key goes, if it is wanted at once
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    public_out: Option<OsString>,
    /// Replace files that are there
    #[arg(long)]
    force: bool,
    /// Say in JSON what was made
    #[arg(long)]
    json: bool,
}

/// Options of `key show`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone key show my.pem                          what is in it
  sealstone key show --public --format jwk my.pem    the public key, for a JWKS
  sealstone key show --json my.pem

Without --private, nothing secret is ever printed.")]
pub(crate) struct Show {
    /// The key: JWK, PEM or DER; - is standard input
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
    /// Describe it in JSON
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// Options of `key convert`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone key convert my.pem --to jwk --out my.jwk
  sealstone key convert my.pem --public --out my.pub.pem
  openssl genpkey -algorithm ed25519 | sealstone key convert - --to jwk --out ed.jwk

A private key stays private unless --public is given. An ML-DSA key that is there only in expanded \
form has no seed, so it can become neither a JWK nor a PKCS#8 as written here; its public half can be \
written.")]
pub(crate) struct Convert {
    /// The key: JWK, PEM or DER; - is standard input
    #[arg(value_name = "KEY", value_parser = clap::value_parser!(OsString))]
    key: OsString,
    /// How to write it
    #[arg(long, value_enum, default_value_t = Format::Pem)]
    to: Format,
    /// Only the public half
    #[arg(long)]
    public: bool,
    /// Where it goes; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-", value_parser = clap::value_parser!(OsString))]
    out: OsString,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
}

/// Options of `key thumbprint`.
#[derive(Args)]
#[command(after_help = "\
Example:
  sealstone key thumbprint my.pem

The thumbprint is that of the public half: the private and the public file print the same.")]
pub(crate) struct Thumbprint {
    /// The key: JWK, PEM or DER; - is standard input
    #[arg(value_name = "KEY", value_parser = clap::value_parser!(OsString))]
    key: OsString,
    /// In JSON, with the algorithm
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(command: Command, terminal: &mut Terminal) -> Result<(), Error> {
    match command {
        Command::Generate(options) => generate(options, terminal),
        Command::Show(options) => show(options, terminal),
        Command::Convert(options) => convert(options, terminal),
        Command::Encrypt(options) => key_password::encrypt(&options, terminal),
        Command::Decrypt(options) => key_password::decrypt(&options, terminal),
        Command::Thumbprint(options) => thumbprint(options, terminal),
    }
}

fn generate(options: Generate, terminal: &mut Terminal) -> Result<(), Error> {
    let (out, public_out) = (Target::from(options.out), options.public_out.map(Target::from));
    if public_out.as_ref().is_some_and(|public| *public == out) {
        return Err(Error::usage(
            "--out and --public-out are the same",
            "give the public key a file of its own",
        ));
    }
    if options.json && (out == Target::Stdout || public_out == Some(Target::Stdout)) {
        return Err(Error::usage("--json and a key cannot share standard output", "give --out a file"));
    }
    refuse_screen(options.format, &out, terminal)?;
    out.check(options.force)?;
    public_out.as_ref().map_or(Ok(()), |public| public.check(options.force))?;

    let key =
        PrivateKey::generate(options.alg).map_err(|cause| Error::key("the new key", &cause, cause.hint()))?;
    out.write(&private_bytes(&key, options.format)?, Readers::Owner, options.force, terminal)?;
    if let Some(public_out) = &public_out {
        let bytes = public_bytes(key.public(), options.format)?;
        public_out.write(&bytes, Readers::All, options.force, terminal)?;
    }
    let path = |target: &Target| match target {
        Target::Path(path) => Some(shown(path)),
        Target::Stdout => None,
    };
    let (private, public) = (path(&out), public_out.as_ref().and_then(path));
    if options.json {
        return terminal.json(&json!({
            "algorithm": key.algorithm().name(),
            "kid": key.kid(),
            "private": private,
            "public": public,
        }));
    }
    // With a key on standard output there is no room for words.
    let (Some(private), false) = (private, public_out == Some(Target::Stdout)) else { return Ok(()) };
    let width = private.chars().count().max(public.as_ref().map_or(0, |public| public.chars().count()));
    terminal.line(format_args!("{private:<width$}  {} private key, for you alone", key.algorithm()))?;
    if let Some(public) = public {
        terminal.line(format_args!("{public:<width$}  its public half, for everyone"))?;
    }
    terminal.line(format_args!("{DIM}key id {}{DIM:#}", key.kid()))
}

fn show(options: Show, terminal: &mut Terminal) -> Result<(), Error> {
    let source = Source::from(options.key);
    let key = Key::load(&source, terminal)?;
    match options.format {
        Some(format) => {
            refuse_screen(format, &Target::Stdout, terminal)?;
            let bytes = if options.private {
                private_bytes(private_half(&key, &source)?, format)?
            } else {
                public_bytes(key.public(), format)?.into()
            };
            terminal.bytes(&bytes)
        }
        None if options.json => terminal.json(&described(&key)),
        None => describe(&source, &key, terminal),
    }
}

fn describe(source: &Source, key: &Key, terminal: &mut Terminal) -> Result<(), Error> {
    let public = key.public();
    let algorithm = public.algorithm();
    let (kind, encoding) = kind(key);
    terminal.line(format_args!("{BOLD}{}{BOLD:#}  {algorithm} {kind} key", source.name()))?;
    let mut rows = vec![
        ("algorithm", format!("{algorithm}  {}", about(algorithm))),
        ("encoding", encoding.to_owned()),
        ("key id", public.kid().to_owned()),
    ];
    if public.kid() != public.thumbprint() {
        rows.push(("thumbprint", public.thumbprint().to_owned()));
    }
    if let Key::Private(private) = key {
        rows.push(("private key", private_words(private)));
    }
    rows.push(("public key", format!("{} bytes", grouped(public.as_bytes().len()))));
    rows.push(("signature", format!("{} bytes", grouped(public.signature_len()))));
    for (name, value) in rows {
        terminal.line(format_args!("  {DIM}{name:<11}{DIM:#}  {value}"))?;
    }
    Ok(())
}

fn described(key: &Key) -> Value {
    let public = key.public();
    let (kind, encoding) = kind(key);
    json!({
        "algorithm": public.algorithm().name(),
        "encoding": encoding,
        "has_seed": matches!(key, Key::Private(Private::Whole { .. })),
        "kid": public.kid(),
        "kind": kind,
        "public_bytes": public.as_bytes().len(),
        "signature_bytes": public.signature_len(),
        "thumbprint": public.thumbprint(),
    })
}

/// Private or public, and the encoding it came in.
fn kind(key: &Key) -> (&'static str, &'static str) {
    match key {
        Key::Private(Private::Expanded { .. }) => ("private", "PKCS#8, expandedKey only"),
        Key::Private(Private::Whole { encoding, .. }) => ("private", encoding),
        Key::Public { encoding, .. } => ("public", encoding),
    }
}

fn private_words(private: &Private) -> String {
    let Private::Whole { key, .. } = private else {
        return "expanded, without its seed: it signs files, and nothing else".into();
    };
    let len = key.secret().len();
    match key.algorithm() {
        Algorithm::Es256 | Algorithm::Es384 | Algorithm::Es512 => format!("{len}-byte scalar"),
        Algorithm::Ps256 | Algorithm::Rs256 => "two primes".into(),
        _ => format!("{len}-byte seed"),
    }
}

/// One line for someone who meets the name for the first time.
pub(crate) fn about(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::MlDsa44 => "post-quantum, FIPS 204 category 2",
        Algorithm::MlDsa65 => "post-quantum, FIPS 204 category 3",
        Algorithm::MlDsa87 => "post-quantum, FIPS 204 category 5",
        Algorithm::Es256 => "ECDSA on P-256, not post-quantum",
        Algorithm::Es384 => "ECDSA on P-384, not post-quantum",
        Algorithm::Es512 => "ECDSA on P-521, not post-quantum",
        Algorithm::EdDsa | Algorithm::Ed25519 => "EdDSA on Curve25519, not post-quantum",
        Algorithm::Ps256 => "RSA with PSS, not post-quantum",
        Algorithm::Rs256 => "RSA with PKCS #1 v1.5, not post-quantum",
    }
}

fn convert(options: Convert, terminal: &mut Terminal) -> Result<(), Error> {
    let (source, out) = (Source::from(options.key), Target::from(options.out));
    refuse_screen(options.to, &out, terminal)?;
    out.check(options.force)?;
    let key = Key::load(&source, terminal)?;
    match &key {
        Key::Private(private) if !options.public => {
            let whole = private.whole(&source.name(), words(options.to))?;
            out.write(&private_bytes(whole, options.to)?, Readers::Owner, options.force, terminal)
        }
        _ => out.write(&public_bytes(key.public(), options.to)?, Readers::All, options.force, terminal),
    }
}

fn thumbprint(options: Thumbprint, terminal: &mut Terminal) -> Result<(), Error> {
    let key = Key::load(&Source::from(options.key), terminal)?;
    let public: &PublicKey = key.public();
    if options.json {
        terminal.json(&json!({"algorithm": public.algorithm().name(), "thumbprint": public.thumbprint()}))
    } else {
        terminal.line(public.thumbprint())
    }
}

fn private_half<'k>(key: &'k Key, source: &Source) -> Result<&'k PrivateKey, Error> {
    match key {
        Key::Private(private) => private.whole(&source.name(), "be written in this form"),
        Key::Public { .. } => {
            let hint = "leave --private away, or give the private key's file";
            Err(Error::key(&source.name(), "this is a public key, expected a private one", Some(hint)))
        }
    }
}

fn words(format: Format) -> &'static str {
    match format {
        Format::Der => "become a PKCS#8 in DER",
        Format::Jwk => "become a JWK",
        Format::Pem => "become a PKCS#8 in PEM",
    }
}

fn refuse_screen(format: Format, out: &Target, terminal: &Terminal) -> Result<(), Error> {
    if format == Format::Der && *out == Target::Stdout && terminal.is_screen() {
        return Err(Error::usage(
            "DER is binary and would disturb the terminal",
            "write it to a file or into a pipe",
        ));
    }
    Ok(())
}
