//! Passwords of key files: asked for at the terminal, or read from a file; never an argument, never in the environment.

use std::ffi::OsString;

use clap::Args;
use zeroize::Zeroizing;

use crate::error::Error;
use crate::files::Source;

/// Room for the longest password and the end of its line.
const MAX_LINE: usize = 4096;

/// What to do without a terminal, where the command has the option.
const OPTION: &str = "--password-file FILE reads the password from the first line of a file";
/// And where it has not.
const ELSEWHERE: &str =
    "give the public half, which is enough to check with, or open the key with `sealstone key decrypt`";

/// Where the password of a key file comes from.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PasswordFile {
    /// Read the password of an encrypted key from the first line of this file instead of asking for it
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    password_file: Option<OsString>,
    /// Whether the command has the option: the default of this type has not.
    #[arg(skip = true)]
    is_option: bool,
}

impl PasswordFile {
    /// Of an option that a command has of its own.
    pub(crate) fn of(password_file: Option<OsString>) -> Self {
        Self { password_file, is_option: true }
    }

    /// The password of a key that is there.
    pub(crate) fn read(&self, name: &str) -> Result<Zeroizing<String>, Error> {
        match &self.password_file {
            Some(file) => first_line(file),
            None => ask(&format!("Password of {name}: "), |no_terminal| match self.is_option {
                true => Error::key(name, no_terminal, Some(OPTION)),
                false => Error::key(name, no_terminal, Some(ELSEWHERE)),
            }),
        }
    }

    /// Whether it comes on standard input.
    pub(crate) fn is_stdin(&self) -> bool {
        self.password_file.as_ref().is_some_and(|file| file == "-")
    }

    /// The password of a key that is to be encrypted: typed twice.
    pub(crate) fn choose(&self) -> Result<Zeroizing<String>, Error> {
        let first = match &self.password_file {
            Some(file) => first_line(file)?,
            None => {
                let no_terminal =
                    |_: &str| Error::usage("there is no terminal to ask for the new password at", OPTION);
                let (first, second) =
                    (ask("New password: ", no_terminal)?, ask("The same again: ", no_terminal)?);
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

fn first_line(file: &OsString) -> Result<Zeroizing<String>, Error> {
    let text = Source::from(file.clone()).read_text(MAX_LINE)?;
    Ok(Zeroizing::new(text.lines().next().unwrap_or_default().to_owned()))
}

fn ask(prompt: &str, no_terminal: impl Fn(&str) -> Error) -> Result<Zeroizing<String>, Error> {
    let typed = rpassword::prompt_password(prompt).map_err(|cause| match cause.kind() {
        std::io::ErrorKind::Interrupted | std::io::ErrorKind::UnexpectedEof => {
            Error::usage("no password was typed", "nothing was done")
        }
        _ => no_terminal("the key is encrypted, and there is no terminal to ask for its password at"),
    });
    typed.map(Zeroizing::new)
}
