//! `sealstone key encrypt` and `key decrypt`: private keys under a password (PBES2, RFC 8018).

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use sealstone_mldsa::OsRandom;
use sealstone_pki::form::{Form as FileForm, Kind};
use sealstone_pki::ml_kem::DecapsulationKey;
use sealstone_pki::{Error as Refused, PrivateKeyInfo, Secret, composite, pbes2, pkcs8, rsa};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::files::{Readers, Source, Target, shown};
use crate::keyfile::Opened;
use crate::password::PasswordFile;
use crate::terminal::Terminal;

/// Larger than any key.
const LIMIT: usize = 1 << 20;

/// How a key is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
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
other tools read it (`openssl pkey -in my.enc.pem`). Commands that read keys ask for the password, or read it \
from --password-file. `sealstone key generate --encrypt` makes a key that was never without one.")]
pub(crate) struct Encrypt {
    /// The private key: PKCS#8 in PEM or DER, of any algorithm; - is standard input
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
    let cost = pbes2::Cost::new(options.iterations)
        .map_err(|cause| Error::Usage { what: cause.to_string(), hint: None })?;
    if source == Source::Stdin && options.password.is_stdin() {
        return Err(Error::usage(
            "the key and its password cannot both be standard input",
            "give one of them by its name",
        ));
    }
    let bytes = source.read(LIMIT)?;
    let plain = Plain::read(&name, &bytes)?;
    let written = sealed(&name, &plain.to_der(&name)?, options.out.format, cost, &options.password)?;
    options.out.write(&target, &written, "private key, under the password", terminal)
}

pub(crate) fn decrypt(options: &Decrypt, terminal: &mut Terminal) -> Result<(), Error> {
    let target = options.out.target(terminal)?;
    let file = Opened::read(&Source::from(options.key.clone()), LIMIT, &options.password)?;
    if !file.was_encrypted() {
        let hint = "give a block ENCRYPTED PRIVATE KEY, or the same in DER";
        return Err(Error::key(&file.name, "this is no key under a password", Some(hint)));
    }
    let bytes = match options.out.format {
        Form::Der => file.bytes,
        Form::Pem => {
            let text = Plain::read(&file.name, &file.bytes)?.to_pem(&file.name)?;
            Zeroizing::new(text.as_bytes().to_vec())
        }
    };
    options.out.write(&target, &bytes, "private key, for you alone", terminal)
}

/// A PKCS#8 in DER under a password that is new.
pub(crate) fn sealed(
    name: &str,
    plain: &[u8],
    form: Form,
    cost: pbes2::Cost,
    password: &PasswordFile,
) -> Result<Vec<u8>, Error> {
    let password = password.choose()?;
    let (password, mut rng) = (password.as_bytes(), OsRandom);
    let written = match form {
        Form::Pem => pbes2::to_pem(plain, password, cost, &mut rng).map(String::into_bytes),
        Form::Der => pbes2::to_der(plain, password, cost, &mut rng),
    };
    written.map_err(|cause| Error::key(name, &cause, cause.hint()))
}

/// A private key of any kind that has a PKCS#8.
enum Plain {
    Composite(composite::PrivateKey),
    MlKem(DecapsulationKey),
    Rsa(Zeroizing<Vec<u8>>),
    Standard(PrivateKeyInfo),
}

impl Plain {
    fn read(name: &str, bytes: &[u8]) -> Result<Self, Error> {
        let refused = |cause: Refused| Error::key(name, &cause, cause.hint());
        let form = FileForm::of(bytes);
        match form {
            Some(form) if form.is_encrypted() => {
                let hint = "`sealstone key decrypt` opens it";
                Err(Error::key(name, "the key is encrypted already", Some(hint)))
            }
            Some(FileForm::Pem(Kind::Spki) | FileForm::Der(Kind::Spki)) => {
                let hint = "a public key is for everyone: give the private one";
                Err(Error::key(name, "this is a public key, expected a private one", Some(hint)))
            }
            Some(FileForm::Pem(_)) => {
                let text = std::str::from_utf8(bytes).unwrap_or_default();
                let read = DecapsulationKey::from_pem(text).map(Self::MlKem);
                let read = read.or_else(|_| composite::from_pkcs8_pem(text).map(Self::Composite));
                let read = read.or_else(|_| rsa::private_from_pem(text).map(Self::Rsa));
                read.or_else(|_| pkcs8::from_pem(text).map(Self::Standard)).map_err(refused)
            }
            Some(FileForm::Json | FileForm::Cose) => {
                let hint = "`sealstone convert` writes it as PEM";
                Err(Error::key(
                    name,
                    "PKCS#8 has a form under a password, JWK and COSE_Key have none",
                    Some(hint),
                ))
            }
            _ => {
                let read = DecapsulationKey::from_der(bytes).map(Self::MlKem);
                let read = read.or_else(|_| composite::from_pkcs8(bytes).map(Self::Composite));
                let read = read.or_else(|_| rsa::private_from_der(bytes).map(Self::Rsa));
                read.or_else(|_| pkcs8::from_der(bytes).map(Self::Standard)).map_err(refused)
            }
        }
    }

    fn to_der(&self, name: &str) -> Result<Zeroizing<Vec<u8>>, Error> {
        match self {
            Self::Composite(key) => Ok(composite::to_pkcs8(key)),
            Self::MlKem(key) => key.to_der(),
            Self::Rsa(key) => Ok(rsa::private_to_der(key)),
            Self::Standard(key) => pkcs8::to_der_as(key, form_of(key)),
        }
        .map_err(|cause| Error::key(name, &cause, cause.hint()))
    }

    fn to_pem(&self, name: &str) -> Result<Zeroizing<String>, Error> {
        match self {
            Self::Composite(key) => Ok(composite::to_pkcs8_pem(key)),
            Self::MlKem(key) => key.to_pem(),
            Self::Rsa(key) => Ok(rsa::private_to_pem(key)),
            Self::Standard(key) => pkcs8::to_pem_as(key, form_of(key)),
        }
        .map_err(|cause| Error::key(name, &cause, cause.hint()))
    }
}

/// The form in which a key came: a password takes nothing from it.
fn form_of(key: &PrivateKeyInfo) -> pkcs8::Form {
    match key.secret() {
        Secret::MlDsaExpanded(_) => pkcs8::Form::Expanded,
        Secret::MlDsaBoth { .. } => pkcs8::Form::Both,
        _ => pkcs8::Form::Seed,
    }
}
