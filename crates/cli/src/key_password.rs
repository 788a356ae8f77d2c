//! `sealstone key encrypt` and `key decrypt`: private keys under a password (PBES2, RFC 8018).

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use sealstone_mldsa::OsRandom;
use sealstone_pki::ml_kem::DecapsulationKey;
use sealstone_pki::{Error as Refused, pbes2, pkcs8};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::files::{Readers, Source, Target, shown};
use crate::password::{self, PasswordFile};
use crate::terminal::Terminal;

/// Larger than any key.
const LIMIT: usize = 1 << 20;

/// How a key is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Text, one block
    Pem,
    /// The same in DER, which is binary
    Der,
}

/// Options of `key encrypt`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone key encrypt my.pem --out my.enc.pem
  sealstone key generate | sealstone key encrypt - --out my.enc.pem --password-file my.password

The password is asked for twice and not shown; it is never an argument and never in the environment. \
PBKDF2 with HMAC-SHA-512 and 600 000 iterations makes a key of it, AES-256-CBC encrypts with that: \
other tools read it (`openssl pkey -in my.enc.pem`). Commands that read keys ask for the password.")]
pub(crate) struct Encrypt {
    /// The private key: PKCS#8 in PEM or DER, of signatures or ML-KEM; - is standard input
    #[arg(value_name = "KEY", value_parser = clap::value_parser!(OsString))]
    key: OsString,
    /// How many iterations: what a guess at the password costs
    #[arg(long, value_name = "COUNT", default_value_t = pbes2::MIN_ITERATIONS)]
    iterations: u32,
    #[command(flatten)]
    password: PasswordFile,
    #[command(flatten)]
    out: Out,
}

/// Options of `key decrypt`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone key decrypt my.enc.pem --out my.pem
  sealstone key decrypt my.enc.pem --password-file my.password | sealstone sign --key - letter.txt

AES-CBC has no tag: a wrong password and a damaged file look alike.")]
pub(crate) struct Decrypt {
    /// The key under a password: PEM or DER; - is standard input
    #[arg(value_name = "KEY", value_parser = clap::value_parser!(OsString))]
    key: OsString,
    #[command(flatten)]
    password: PasswordFile,
    #[command(flatten)]
    out: Out,
}

/// Where the key goes.
#[derive(Args)]
struct Out {
    /// How it is written
    #[arg(long, value_enum, default_value_t = Form::Pem)]
    format: Form,
    /// Where it goes; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-", value_parser = clap::value_parser!(OsString))]
    out: OsString,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
}

impl Out {
    fn target(&self, terminal: &Terminal) -> Result<Target, Error> {
        let target = Target::from(self.out.clone());
        if self.format == Form::Der && target == Target::Stdout && terminal.is_screen() {
            return Err(Error::usage(
                "DER is binary and would disturb the terminal",
                "write it to a file or into a pipe",
            ));
        }
        target.check(self.force)?;
        Ok(target)
    }

    fn write(&self, target: &Target, bytes: &[u8], what: &str, terminal: &mut Terminal) -> Result<(), Error> {
        target.write(bytes, Readers::Owner, self.force, terminal)?;
        match target {
            Target::Path(path) => terminal.line(format_args!("{}  {what}", shown(path))),
            Target::Stdout => Ok(()),
        }
    }
}

pub(crate) fn encrypt(options: &Encrypt, terminal: &mut Terminal) -> Result<(), Error> {
    let target = options.out.target(terminal)?;
    let source = Source::from(options.key.clone());
    let name = source.name();
    let refused = |cause: Refused| Error::key(&name, &cause, cause.hint());
    let cost = pbes2::Cost::new(options.iterations)
        .map_err(|cause| Error::Usage { what: cause.to_string(), hint: None })?;
    let bytes = source.read(LIMIT)?;
    if password::is_encrypted(&bytes) {
        return Err(Error::key(
            &name,
            "the key is encrypted already",
            Some("`sealstone key decrypt` opens it"),
        ));
    }
    let plain = plain(&bytes).map_err(refused)?;
    let password = options.password.choose()?;
    let (password, mut rng) = (password.as_bytes(), OsRandom);
    let written = match options.out.format {
        Form::Pem => pbes2::to_pem(&plain, password, cost, &mut rng).map(String::into_bytes),
        Form::Der => pbes2::to_der(&plain, password, cost, &mut rng),
    };
    options.out.write(&target, &written.map_err(refused)?, "private key, under the password", terminal)
}

pub(crate) fn decrypt(options: &Decrypt, terminal: &mut Terminal) -> Result<(), Error> {
    let target = options.out.target(terminal)?;
    let source = Source::from(options.key.clone());
    let name = source.name();
    let refused = |cause: Refused| Error::key(&name, &cause, cause.hint());
    let bytes = source.read(LIMIT)?;
    if !password::is_encrypted(&bytes) {
        let hint = "give a block ENCRYPTED PRIVATE KEY, or the same in DER";
        return Err(Error::key(&name, "this is no key under a password", Some(hint)));
    }
    let opened = password::opened(&name, bytes, &options.password)?;
    let bytes = match options.out.format {
        Form::Der => opened,
        Form::Pem => {
            let text = match DecapsulationKey::from_der(&opened) {
                Ok(key) => key.to_pem(),
                Err(_) => pkcs8::from_der(&opened).and_then(|key| pkcs8::to_pem(&key)),
            };
            Zeroizing::new(text.map_err(refused)?.as_bytes().to_vec())
        }
    };
    options.out.write(&target, &bytes, "private key, for you alone", terminal)
}

/// PKCS#8 in DER of a private key in PEM or DER.
fn plain(bytes: &[u8]) -> Result<Zeroizing<Vec<u8>>, Refused> {
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.trim_ascii_start().starts_with(b"-") => match DecapsulationKey::from_pem(text) {
            Ok(key) => key.to_der(),
            Err(_) => pkcs8::to_der(&pkcs8::from_pem(text)?),
        },
        _ => match DecapsulationKey::from_der(bytes) {
            Ok(key) => key.to_der(),
            Err(_) => pkcs8::to_der(&pkcs8::from_der(bytes)?),
        },
    }
}
