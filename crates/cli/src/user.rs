//! `sealstone user`: the people who may sign in at the token server.

use clap::{Args, Subcommand};
use sealstone_auth::{NewUser, Password, User};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::client::{Place, runtime};
use crate::clock::utc;
use crate::error::Error;
use crate::files::Source;
use crate::terminal::{BOLD, DIM, Safe, Terminal};

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Register a user
    Add(Add),
    /// List the users
    List(List),
    /// Set a new password and take the passkeys away; the user is signed out everywhere
    Passwd(Passwd),
    /// Let a user sign in no longer, and sign them out everywhere
    Disable(Named),
    /// Let a disabled user sign in again
    Enable(Named),
    /// Remove a user; they are signed out everywhere
    Remove(Named),
    /// End every session of a user, and tell the clients that got tokens in them
    SignOut(Named),
}

/// Options of `user add`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone user add alice --name 'Alice Archer' --email alice@example.org
  sealstone user add --config /etc/sealstone.toml bob
  pass show work/carol | sealstone user add carol --password-stdin
  sealstone user add dave --no-password

The password is asked for twice, and is not shown. --password-stdin reads it from standard input instead, \
up to the end of its first line. It is never an argument or an environment variable: other users of the \
machine could read those.

A password has 8 characters or more, and at most 1024 bytes; length is what counts, so take a sentence. The server keeps a hash of it \
(argon2id, the cost is `[passwords]` in the configuration). A username has 1 to 64 of the characters a to z, 0 \
to 9 and . _ - @ +, and upper case is the same as lower case. A running server knows the user at once.")]
pub(crate) struct Add {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    person: Person,
    /// In JSON
    #[arg(long)]
    json: bool,
}

/// Who is registered; `sealstone admin user add` takes the same.
#[derive(Args)]
pub(crate) struct Person {
    /// What the user signs in with
    #[arg(value_name = "USERNAME")]
    pub(crate) username: String,
    /// The user's name, for people
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The user's address
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) email: Option<String>,
    /// The address is known to be the user's; applications are told so
    #[arg(long, requires = "email")]
    pub(crate) email_verified: bool,
    /// Set no password: the user cannot sign in until `user passwd` sets one
    #[arg(long, conflicts_with = "password_stdin")]
    pub(crate) no_password: bool,
    #[command(flatten)]
    pub(crate) password: PasswordSource,
}

/// Options of `user list`.
#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    place: Place,
    /// In JSON
    #[arg(long)]
    json: bool,
}

/// Options of `user passwd`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone user passwd alice
  pass show work/alice | sealstone user passwd alice --password-stdin

The user is signed out everywhere and their passkeys are removed, for whoever knew the password may have \
added one: so this is also what to do after a password has become known to others.")]
pub(crate) struct Passwd {
    #[command(flatten)]
    who: Named,
    /// Leave the user's passkeys as they are
    #[arg(long)]
    keep_passkeys: bool,
    #[command(flatten)]
    password: PasswordSource,
}

/// A user, by name.
#[derive(Args)]
pub(crate) struct Named {
    #[command(flatten)]
    place: Place,
    /// What the user signs in with
    #[arg(value_name = "USERNAME")]
    username: String,
    /// In JSON
    #[arg(long)]
    json: bool,
}

/// Where a password comes from.
#[derive(Args)]
pub(crate) struct PasswordSource {
    /// Read the password from standard input instead of asking for it
    #[arg(long)]
    password_stdin: bool,
}

pub(crate) fn run(command: Command, terminal: &mut Terminal) -> Result<(), Error> {
    let runtime = runtime()?;
    match command {
        Command::Add(options) => {
            let person = options.person;
            let admin = options.place.admin()?;
            let password = if person.no_password { None } else { Some(person.password.read()?) };
            let without = password.is_none();
            let user = runtime.block_on(admin.add_user(NewUser {
                email: person.email,
                email_verified: person.email_verified,
                name: person.name,
                password,
                username: person.username,
            }))?;
            if options.json {
                return terminal.json(&row(&user));
            }
            terminal.line(format_args!("{} added", user.username))?;
            match without {
                true => terminal.line("`sealstone user passwd` sets a password"),
                false => Ok(()),
            }
        }
        Command::List(options) => {
            let users = runtime.block_on(options.place.admin()?.list_users())?;
            match options.json {
                true => terminal.json(&users.iter().map(row).collect()),
                false => list(&users, terminal),
            }
        }
        Command::Passwd(Passwd { who, keep_passkeys, password }) => {
            let (admin, password) = (who.place.admin()?, password.read()?);
            if !keep_passkeys {
                runtime.block_on(admin.remove_passkeys(&who.username))?;
            }
            let user = runtime.block_on(admin.set_password(&who.username, &password))?;
            who.say(&user, "has a new password, and is signed out everywhere", terminal)
        }
        Command::Disable(who) => {
            let user = runtime.block_on(who.place.admin()?.set_disabled(&who.username, true))?;
            who.say(&user, "disabled, and signed out everywhere", terminal)
        }
        Command::Enable(who) => {
            let user = runtime.block_on(who.place.admin()?.set_disabled(&who.username, false))?;
            who.say(&user, "enabled", terminal)
        }
        Command::SignOut(who) => {
            let user = runtime.block_on(who.place.admin()?.sign_out(&who.username))?;
            who.say(&user, "signed out everywhere", terminal)
        }
        Command::Remove(who) => {
            runtime.block_on(who.place.admin()?.remove_user(&who.username))?;
            match who.json {
                true => terminal.json(&json!({"removed": who.username.to_ascii_lowercase()})),
                false => terminal.line(format_args!("{} removed", Safe(&who.username.to_ascii_lowercase()))),
            }
        }
    }
}

impl Named {
    fn say(&self, user: &User, what: &str, terminal: &mut Terminal) -> Result<(), Error> {
        match self.json {
            true => terminal.json(&row(user)),
            false => terminal.line(format_args!("{} {what}", user.username)),
        }
    }
}

/// Room for the longest password and the end of its line.
const MAX_LINE: usize = 4096;

impl PasswordSource {
    fn read(&self) -> Result<Password, Error> {
        checked(&self.ask()?)
    }

    /// The text of a password that may be set.
    pub(crate) fn text(&self) -> Result<Zeroizing<String>, Error> {
        let text = self.ask()?;
        checked(&text).map(|_| text)
    }

    fn ask(&self) -> Result<Zeroizing<String>, Error> {
        if self.password_stdin { from_stdin() } else { from_terminal() }
    }
}

fn checked(text: &str) -> Result<Password, Error> {
    Password::new(text).map_err(|what| {
        Error::usage(
            format!("the password {what}"),
            "8 characters or more, at most 1024 bytes; length is what counts",
        )
    })
}

/// The first line of standard input.
fn from_stdin() -> Result<Zeroizing<String>, Error> {
    let text = Source::Stdin.read_text(MAX_LINE)?;
    Ok(Zeroizing::new(text.lines().next().unwrap_or_default().to_owned()))
}

/// What is typed twice on the terminal, without being shown.
fn from_terminal() -> Result<Zeroizing<String>, Error> {
    let ask = |prompt: &str| {
        let typed = rpassword::prompt_password(prompt).map_err(|cause| match cause.kind() {
            std::io::ErrorKind::Interrupted | std::io::ErrorKind::UnexpectedEof => {
                Error::usage("no password was typed", "nothing was changed")
            }
            _ => Error::usage(
                "there is no terminal to ask for the password at",
                "--password-stdin reads it from standard input",
            ),
        });
        typed.map(Zeroizing::new)
    };
    let (first, second) = (ask("Password: ")?, ask("The same again: ")?);
    match *first == *second {
        true => Ok(first),
        false => Err(Error::usage("the two passwords differ", "nothing was changed; try again")),
    }
}

fn list(users: &[User], terminal: &mut Terminal) -> Result<(), Error> {
    if users.is_empty() {
        return terminal.line("no users; `sealstone user add` registers one");
    }
    let width = users.iter().map(|user| user.username.len()).max().unwrap_or(0);
    for user in users {
        let name = user.name.as_deref().unwrap_or_default();
        terminal.line(format_args!("{BOLD}{:<width$}{BOLD:#}  {}", user.username, Safe(name)))?;
        let verified = if user.email_verified { ", verified" } else { "" };
        let email = user.email.as_ref().map(|email| format!("{}{verified}", Safe(email)));
        let state = match (user.disabled, &user.password, user.passkeys.len()) {
            (true, ..) => "disabled",
            (false, None, 0) => "no password: cannot sign in",
            (false, ..) => "",
        };
        let passkeys = match user.passkeys.len() {
            0 => String::new(),
            count => count.to_string(),
        };
        let facts = [
            ("email", email.unwrap_or_default()),
            ("passkeys", passkeys),
            ("state", state.to_owned()),
            ("subject", user.sub.clone()),
            ("since", utc(user.created_at)),
        ];
        for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
            terminal.line(format_args!("  {DIM}{name:<8}{DIM:#}  {value}"))?;
        }
    }
    Ok(())
}

/// Everything but the hash.
fn row(user: &User) -> Value {
    json!({
        "created_at": user.created_at.0,
        "disabled": user.disabled,
        "email": user.email,
        "email_verified": user.email_verified,
        "has_password": user.password.is_some(),
        "name": user.name,
        "passkeys": user.passkeys.len(),
        "sub": user.sub,
        "username": user.username,
    })
}
