//! `sealstone admin user` and `admin session`: the people, and who of them is signed in.

use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::{Value, json};

use super::access::Access;
use super::api::body_of;
use super::{done, screen, text};
use crate::error::Error;
use crate::terminal::Terminal;
use crate::user::{PasswordSource, Person};

/// The verbs for users.
#[derive(Subcommand)]
pub(super) enum Command {
    /// Register a user
    Add(Add),
    /// List the users
    List,
    /// Show everything about a user but the password
    Show(Named),
    /// Set a new password; the user is signed out everywhere
    Passwd(Passwd),
    /// Take a user's passkeys away; the user is signed out everywhere
    RemovePasskeys(Named),
    /// Let a user sign in no longer, and sign them out everywhere
    Disable(Named),
    /// Let a disabled user sign in again
    Enable(Named),
    /// Remove a user; they are signed out everywhere
    Remove(Named),
}

/// The verbs for sessions.
#[derive(Subcommand)]
pub(super) enum SessionCommand {
    /// List who is signed in
    List(ListSessions),
    /// End a session, or all of a user, and tell the clients that got tokens in it
    End(End),
}

/// Options of `user add`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone admin user add alice --name 'Alice Archer' --email alice@example.org
  pass show work/carol | sealstone admin user add carol --password-stdin
  sealstone admin user add dave --no-password

The password is asked for twice, and is not shown. It is never an argument or an environment variable: other users of \
the machine could read those. It has 8 characters or more; length is what counts, so take a sentence.")]
pub(super) struct Add {
    #[command(flatten)]
    person: Person,
}

/// Options of `user passwd`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone admin user passwd alice
  pass show work/alice | sealstone admin user passwd alice --password-stdin

After a password has become known to others, take the passkeys away first, with `remove-passkeys`: whoever knew it may \
have added one.")]
pub(super) struct Passwd {
    #[command(flatten)]
    who: Named,
    #[command(flatten)]
    password: PasswordSource,
}

/// A user.
#[derive(Args)]
pub(super) struct Named {
    /// What the user signs in with
    #[arg(value_name = "USERNAME")]
    username: String,
}

/// Options of `session list`.
#[derive(Args)]
pub(super) struct ListSessions {
    /// Of this user alone
    #[arg(long, value_name = "USERNAME")]
    user: Option<String>,
}

/// Options of `session end`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone admin session end 2VbUp0Yf0mQ8XqvWb0Y7Ng
  sealstone admin session end --user alice")]
pub(super) struct End {
    /// The session, by the sid of the list
    #[arg(value_name = "SID", required_unless_present = "user", allow_hyphen_values = true)]
    sid: Option<String>,
    /// All sessions of this user
    #[arg(long, value_name = "USERNAME", conflicts_with = "sid")]
    user: Option<String>,
}

#[derive(Serialize)]
struct NewUser<'a> {
    email: Option<&'a str>,
    email_verified: bool,
    name: Option<&'a str>,
    password: Option<&'a str>,
    username: &'a str,
}

#[derive(Serialize)]
struct NewPassword<'a> {
    password: &'a str,
}

pub(super) async fn run(command: Command, access: &Access, terminal: &mut Terminal) -> Result<(), Error> {
    match command {
        Command::Add(Add { person }) => {
            let password = if person.no_password { None } else { Some(person.password.text()?) };
            let body = body_of(&NewUser {
                email: person.email.as_deref(),
                email_verified: person.email_verified,
                name: person.name.as_deref(),
                password: password.as_ref().map(|text| text.as_str()),
                username: &person.username,
            })?;
            let user = access.open(terminal).await?.post(&["users"], body).await?;
            say(&user, "added", access, terminal)?;
            match password.is_none() && !access.json {
                true => terminal.line("`sealstone admin user passwd` sets a password"),
                false => Ok(()),
            }
        }
        Command::List => list(access, terminal).await,
        Command::Show(Named { username }) => {
            let user = access.open(terminal).await?.get(&["users", &username]).await?;
            match access.json {
                true => terminal.json(&user),
                false => screen::facts(&user, "username", terminal),
            }
        }
        Command::Passwd(Passwd { who, password }) => {
            let body = body_of(&NewPassword { password: &password.text()? })?;
            let user = access.open(terminal).await?.put(&["users", &who.username, "password"], body).await?;
            say(&user, "has a new password, and is signed out everywhere", access, terminal)
        }
        Command::RemovePasskeys(Named { username }) => {
            access.open(terminal).await?.delete(&["users", &username, "passkeys"]).await?;
            done(access, &format!("{username} has no passkeys, and is signed out everywhere"), terminal)
        }
        Command::Disable(who) => {
            set_disabled(&who, true, "disabled, and signed out everywhere", access, terminal).await
        }
        Command::Enable(who) => set_disabled(&who, false, "enabled", access, terminal).await,
        Command::Remove(Named { username }) => {
            access.open(terminal).await?.delete(&["users", &username]).await?;
            done(access, &format!("{username} removed"), terminal)
        }
    }
}

pub(super) async fn sessions(
    command: SessionCommand,
    access: &Access,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    match command {
        SessionCommand::List(ListSessions { user }) => {
            let mut api = access.open(terminal).await?;
            let sessions = match &user {
                Some(username) => api.list(&["users", username, "sessions"]).await?,
                None => api.list(&["sessions"]).await?,
            };
            if access.json {
                return terminal.json(&Value::Array(sessions));
            }
            let row = |session: &Value| {
                ["sid", "username", "auth_time", "amr"].map(|member| screen::shown(member, &session[member]))
            };
            let head = ["SID", "USER", "SIGNED IN", "BY"];
            screen::table(head, sessions.iter().map(row).collect(), "nobody is signed in", terminal)
        }
        SessionCommand::End(End { sid, user }) => {
            let mut api = access.open(terminal).await?;
            match (sid, user) {
                (_, Some(username)) => {
                    api.delete(&["users", &username, "sessions"]).await?;
                    done(access, &format!("{username} signed out everywhere"), terminal)
                }
                (sid, None) => {
                    let sid = sid.unwrap_or_default();
                    api.delete(&["sessions", &sid]).await?;
                    done(access, &format!("{sid} ended"), terminal)
                }
            }
        }
    }
}

async fn set_disabled(
    who: &Named,
    disabled: bool,
    what: &str,
    access: &Access,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let body = body_of(&json!({"disabled": disabled}))?;
    let user = access.open(terminal).await?.put(&["users", &who.username, "disabled"], body).await?;
    say(&user, what, access, terminal)
}

async fn list(access: &Access, terminal: &mut Terminal) -> Result<(), Error> {
    let users = access.open(terminal).await?.list(&["users"]).await?;
    if access.json {
        return terminal.json(&Value::Array(users));
    }
    let row = |user: &Value| {
        let state = match (&user["disabled"], &user["has_password"], user["passkeys"].as_u64()) {
            (Value::Bool(true), ..) => "disabled",
            (_, Value::Bool(false), Some(0)) => "cannot sign in",
            _ => "",
        };
        let known = |member: &str| text(user, member).to_owned();
        let since = screen::shown("created_at", &user["created_at"]);
        [known("username"), known("name"), known("email"), state.to_owned(), since]
    };
    let none = "no users; `sealstone admin user add` registers one";
    let head = ["USERNAME", "NAME", "EMAIL", "STATE", "SINCE"];
    screen::table(head, users.iter().map(row).collect(), none, terminal)
}

fn say(user: &Value, what: &str, access: &Access, terminal: &mut Terminal) -> Result<(), Error> {
    match access.json {
        true => terminal.json(user),
        false => done(access, &format!("{} {what}", text(user, "username")), terminal),
    }
}
