//! How every command opens a key file: read once, its password taken away, and its mode looked at.

use sealstone_pki::form::Form;
use sealstone_pki::pbes2;
use zeroize::Zeroizing;

use super::KINDS;
use crate::error::Error;
use crate::files::Source;
use crate::password::PasswordFile;
use crate::terminal::Terminal;

/// A file of a key, its password taken away.
pub(crate) struct Opened {
    /// As it is called in messages.
    pub(crate) name: String,
    /// What it holds; of a private key under a password the plain PKCS#8 in DER.
    pub(crate) bytes: Zeroizing<Vec<u8>>,
    was_encrypted: bool,
}

impl Opened {
    /// Reads it. A password is asked for only where one is needed.
    pub(crate) fn read(source: &Source, limit: usize, password: &PasswordFile) -> Result<Self, Error> {
        let name = source.name();
        if *source == Source::Stdin && password.is_stdin() {
            return Err(Error::usage(
                "the key and its password cannot both be standard input",
                "give one of them by its name",
            ));
        }
        let bytes = source.read(limit)?;
        let form = Form::of(&bytes).filter(|form| form.is_encrypted());
        let Some(form) = form else { return Ok(Self { name, bytes, was_encrypted: false }) };
        let password = password.read(&name)?;
        let plain = match form {
            Form::Pem(_) => pbes2::from_pem(text(&name, &bytes)?, password.as_bytes()),
            _ => pbes2::from_der(&bytes, password.as_bytes()),
        };
        let bytes = plain.map_err(|cause| Error::key(&name, &cause, cause.hint()))?;
        Ok(Self { name, bytes, was_encrypted: true })
    }

    /// A private key that others can read is used, and that is said; what is under a password may lie about.
    pub(crate) fn warn_of_mode(&self, source: &Source, terminal: &mut Terminal) {
        if let Some(mode) = source.wide_mode().filter(|_| !self.was_encrypted) {
            let name = &self.name;
            terminal.warn(
                format_args!("{name} holds a private key and its mode {mode:04o} lets others in"),
                &format!("chmod 600 {name}"),
            );
        }
    }

    /// Whether it was under a password.
    pub(crate) fn was_encrypted(&self) -> bool {
        self.was_encrypted
    }

    /// What it holds as text.
    pub(crate) fn text(&self) -> Result<&str, Error> {
        text(&self.name, &self.bytes)
    }
}

fn text<'b>(name: &str, bytes: &'b [u8]) -> Result<&'b str, Error> {
    std::str::from_utf8(bytes)
        .map_err(|at| Error::key(name, format_args!("bad UTF-8 at byte {}", at.valid_up_to()), Some(KINDS)))
}
