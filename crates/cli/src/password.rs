//! Passwords of key files: asked for at the terminal, or read from a file; never an argument, never in the environment.

use std::ffi::OsString;

use clap::Args;
use sealstone_pki::pbes2;
use zeroize::Zeroizing;

use crate::error::Error;
use crate::files::Source;

/// Room for the longest password and the end of its line.
const MAX_LINE: usize = 4096;
/// The object identifier of PBES2, whole: what an encrypted key in DER has in front.
const PBES2: [u8; 11] = [6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0d];

/// Where the password of a key file comes from.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PasswordFile {
    /// Read the password of an encrypted key from the first line of this file instead of asking for it
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    password_file: Option<OsString>,
}

impl PasswordFile {
    /// The password of a key that is there.
    pub(crate) fn read(&self, name: &str) -> Result<Zeroizing<String>, Error> {
        match &self.password_file {
            Some(file) => first_line(file),
            None => ask(&format!("Password of {name}: ")),
        }
    }

    /// The password of a key that is to be encrypted: typed twice.
    pub(crate) fn choose(&self) -> Result<Zeroizing<String>, Error> {
        let first = match &self.password_file {
            Some(file) => first_line(file)?,
            None => {
                let (first, second) = (ask("New password: ")?, ask("The same again: ")?);
                if *first != *second {
                    return Err(Error::usage("the two passwords differ", "nothing was changed; try again"));
                }
                first
            }
        };
        // It is all that stands between the key and who has the file.
        if first.chars().count() < 8 {
            return Err(Error::usage(
                "the password has fewer than 8 characters",
                "length is what counts: take a sentence",
            ));
        }
        Ok(first)
    }
}

/// Whether this is a private key under a password, in PEM or DER.
pub(crate) fn is_encrypted(bytes: &[u8]) -> bool {
    let in_der =
        bytes.first() == Some(&0x30) && bytes.windows(PBES2.len()).take(16).any(|window| window == PBES2);
    in_der || bytes.trim_ascii_start().starts_with(b"-----BEGIN ENCRYPTED PRIVATE KEY-----")
}

/// The plain PKCS#8 in DER of a key under a password; any other bytes as they are.
pub(crate) fn opened(
    name: &str,
    bytes: Zeroizing<Vec<u8>>,
    from: &PasswordFile,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    if !is_encrypted(&bytes) {
        return Ok(bytes);
    }
    let password = from.read(name)?;
    let plain = match std::str::from_utf8(bytes.trim_ascii()) {
        Ok(text) if bytes.first() != Some(&0x30) => pbes2::from_pem(text, password.as_bytes()),
        _ => pbes2::from_der(&bytes, password.as_bytes()),
    };
    plain.map_err(|cause| Error::key(name, &cause, cause.hint()))
}

fn first_line(file: &OsString) -> Result<Zeroizing<String>, Error> {
    let text = Source::from(file.clone()).read_text(MAX_LINE)?;
    Ok(Zeroizing::new(text.lines().next().unwrap_or_default().to_owned()))
}

fn ask(prompt: &str) -> Result<Zeroizing<String>, Error> {
    let typed = rpassword::prompt_password(prompt).map_err(|cause| match cause.kind() {
        std::io::ErrorKind::Interrupted | std::io::ErrorKind::UnexpectedEof => {
            Error::usage("no password was typed", "nothing was done")
        }
        _ => Error::usage(
            "the key is encrypted, and there is no terminal to ask for its password at",
            "--password-file reads it from a file: `sealstone key decrypt` has it, and `sealstone cms`",
        ),
    });
    typed.map(Zeroizing::new)
}
