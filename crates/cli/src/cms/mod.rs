//! `sealstone cms`: signed and encrypted messages (CMS, RFC 5652), as OpenSSL, BouncyCastle and mail programs exchange
//! them.

mod decrypt;
mod encrypt;
mod key;
mod load;
mod show;
mod sign;
mod verify;

use std::ffi::OsString;

use clap::{Args, Subcommand, ValueEnum};

use crate::error::Error;
use crate::files::{Readers, Source, Target};
use crate::terminal::Terminal;

/// Larger than any revocation list that goes with a message.
const MAX_CRL: usize = 16 << 20;

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Sign a file: the message holds it, or stands beside it
    Sign(sign::Options),
    /// Check who signed a message, and take its content out
    Verify(verify::Options),
    /// Encrypt a file for holders of ML-KEM keys
    Encrypt(encrypt::Options),
    /// Decrypt a message
    Decrypt(decrypt::Options),
    /// Say in words what a message is, without checking it
    Show(show::Options),
    /// Make a new ML-KEM key, to which others encrypt
    Key(key::Options),
}

pub(crate) fn run(command: Command, terminal: &mut Terminal) -> Result<(), Error> {
    match command {
        Command::Sign(options) => sign::run(&options, terminal),
        Command::Verify(options) => verify::run(&options, terminal),
        Command::Encrypt(options) => encrypt::run(&options, terminal),
        Command::Decrypt(options) => decrypt::run(&options, terminal),
        Command::Show(options) => show::run(&options, terminal),
        Command::Key(options) => key::run(&options, terminal),
    }
}

/// How a message is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Text, a block CMS
    Pem,
    /// The same in DER, which is binary
    Der,
}

/// Where a message goes.
#[derive(Args)]
struct Out {
    /// How it is written
    #[arg(long, value_enum, default_value_t = Form::Pem)]
    format: Form,
    /// Where it goes: FILE.cms if not given; - is standard output
    #[arg(long, value_name = "MESSAGE", value_parser = clap::value_parser!(OsString))]
    out: Option<OsString>,
    /// Replace it if it is there
    #[arg(long)]
    force: bool,
    /// Say in JSON what was written
    #[arg(long)]
    json: bool,
}

impl Out {
    /// Refuses before any work what could not be written.
    fn target(&self, file: &Source, terminal: &Terminal) -> Result<Target, Error> {
        let target = match (self.out.clone().map(Target::from), file) {
            (Some(out), _) => out,
            (None, Source::Path(path)) => {
                let mut name = path.as_os_str().to_owned();
                name.push(".cms");
                Target::Path(name.into())
            }
            (None, Source::Stdin) => Target::Stdout,
        };
        if self.json && target == Target::Stdout {
            return Err(Error::usage(
                "--json and the message cannot share standard output",
                "give --out a file",
            ));
        }
        if self.format == Form::Der && target == Target::Stdout && terminal.is_screen() {
            return Err(Error::usage(
                "DER is binary and would disturb the terminal",
                "write it to a file or into a pipe",
            ));
        }
        target.check(self.force)?;
        Ok(target)
    }

    fn write(&self, target: &Target, message: &[u8], terminal: &mut Terminal) -> Result<(), Error> {
        match self.format {
            Form::Der => target.write(message, Readers::All, self.force, terminal),
            Form::Pem => {
                let text = sealstone_pki::cms::to_pem(message);
                target.write(text.as_bytes(), Readers::All, self.force, terminal)
            }
        }
    }
}

/// Content that was taken out of a message.
#[derive(Args)]
struct Taken {
    /// Where the content goes, if it is good; - is standard output
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    out: Option<OsString>,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
    /// Say in JSON what was found
    #[arg(long)]
    json: bool,
}

impl Taken {
    fn target(&self) -> Result<Option<Target>, Error> {
        let Some(target) = self.out.clone().map(Target::from) else { return Ok(None) };
        if self.json && target == Target::Stdout {
            return Err(Error::usage(
                "--json and the content cannot share standard output",
                "give --out a file",
            ));
        }
        target.check(self.force)?;
        Ok(Some(target))
    }
}
