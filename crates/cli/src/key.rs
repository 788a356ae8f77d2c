//! `sealstone key`: make, look at and convert keys.

pub(crate) mod convert;
pub(crate) mod generate;
mod show;

use std::ffi::OsString;

use clap::{Args, Subcommand};
use sealstone_jose::{Algorithm, composite};
use serde_json::json;

use crate::error::Error;
use crate::files::{Source, Target};
use crate::key_password;
use crate::keyfile::Format;
use crate::keyfile::any::{AnyAlgorithm, AnyKey, Gates};
use crate::password::PasswordFile;
use crate::terminal::Terminal;

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Make a new key from the randomness of the operating system
    Generate(generate::Options),
    /// Say what a key file holds, or print the key in another form
    Show(show::Options),
    /// Write a key in another form (the same as `sealstone convert`)
    Convert(convert::Options),
    /// Put a private key under a password
    Encrypt(key_password::Encrypt),
    /// Take the password of a private key away
    Decrypt(key_password::Decrypt),
    /// Print a key's thumbprint (RFC 7638), which is its default key id
    Thumbprint(Thumbprint),
}

/// Options of `key thumbprint`.
#[derive(Args)]
#[command(after_help = "\
Example:
  sealstone key thumbprint my.pem

The thumbprint is that of the public half: the private and the public file print the same.")]
pub(crate) struct Thumbprint {
    /// The key: JWK, PEM, DER or COSE_Key; - is standard input
    #[arg(value_name = "KEY", value_parser = clap::value_parser!(OsString))]
    key: OsString,
    #[command(flatten)]
    password: PasswordFile,
    #[command(flatten)]
    gates: Gates,
    /// In JSON, with the algorithm
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(command: Command, terminal: &mut Terminal) -> Result<(), Error> {
    match command {
        Command::Generate(options) => generate::run(&options, terminal),
        Command::Show(options) => show::run(options, terminal),
        Command::Convert(options) => convert::run(options, terminal),
        Command::Encrypt(options) => key_password::encrypt(&options, terminal),
        Command::Decrypt(options) => key_password::decrypt(&options, terminal),
        Command::Thumbprint(options) => thumbprint(options, terminal),
    }
}

fn thumbprint(options: Thumbprint, terminal: &mut Terminal) -> Result<(), Error> {
    let key = AnyKey::load(&Source::from(options.key), &options.password, options.gates, terminal)?;
    let public = key.public();
    if options.json {
        terminal.json(&json!({"algorithm": public.algorithm().name(), "thumbprint": public.thumbprint()}))
    } else {
        terminal.line(public.thumbprint())
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

/// The same of any algorithm.
pub(crate) fn about_any(algorithm: AnyAlgorithm) -> String {
    match algorithm {
        AnyAlgorithm::Composite(algorithm) => {
            let (level, classical) = halves(algorithm);
            format!("{level} and {classical} in one, {}", composite::REVISION)
        }
        AnyAlgorithm::Standard(algorithm) => about(algorithm).to_owned(),
    }
}

/// The names of the two halves.
pub(crate) fn halves(algorithm: composite::Algorithm) -> (&'static str, &'static str) {
    algorithm.name().split_at_checked("ML-DSA-65".len()).map_or(("", ""), |(level, rest)| (level, &rest[1..]))
}

/// Binary goes to files and pipes.
fn refuse_screen(format: Format, out: &Target, terminal: &Terminal) -> Result<(), Error> {
    let name = match format {
        Format::Cose => "CBOR",
        Format::Der => "DER",
        Format::Raw => "a raw key",
        Format::Jwk | Format::Pem => return Ok(()),
    };
    if *out == Target::Stdout && terminal.is_screen() {
        return Err(Error::usage(
            format!("{name} is binary and would disturb the terminal"),
            "write it to a file or into a pipe",
        ));
    }
    Ok(())
}
