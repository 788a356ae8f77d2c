//! The people who may sign in.

use std::collections::BTreeSet;

use super::Admin;
use crate::Error;
use crate::audit::What;
use crate::clock::random_id;
use crate::people::{Password, PasswordHash, User, normalised, session, user};
use crate::protocol::{session_clients, subject};
use crate::store::{Kind, Version, Write};

/// A user to be registered. One without a password cannot sign in until one is set.
#[derive(Clone, Debug, Default)]
pub struct NewUser {
    /// `email`, OpenID Connect Core 1.0 §5.1.
    pub email: Option<String>,
    /// `email_verified`: that the address is known to be the person's.
    pub email_verified: bool,
    /// `name`, OpenID Connect Core 1.0 §5.1.
    pub name: Option<String>,
    /// The first password.
    pub password: Option<Password>,
    /// What the person signs in with; see [`normalised`].
    pub username: String,
}

/// The most bytes of a person's name.
const NAME_MAX: usize = 256;
/// The most bytes of an address, RFC 5321 §4.5.3.1.3.
const EMAIL_MAX: usize = 254;

impl Admin {
    /// RFC 9700 §4.15: the `sub` of a client's own tokens is its id, which must not be that of a person.
    /// Errors: `ClientInvalid`.
    pub(super) async fn nobodys_subject<'a>(&self, id: &'a String) -> Result<&'a String, Error> {
        match subject::person(&*self.store, id, self.clock.now()).await? {
            None => Ok(id),
            Some(_) => Err(Error::ClientInvalid {
                field: "id",
                what: "it is the `sub` of a person".to_owned(),
                hint: "without an id the server draws one".to_owned(),
            }),
        }
    }

    /// Registers a user and draws the `sub`.
    /// Errors: `UserInvalid`, `UserExists`, `Busy`.
    pub async fn add_user(&self, new: NewUser) -> Result<User, Error> {
        let username = username(&new.username)?;
        check(&new)?;
        let password = match &new.password {
            Some(password) => Some(self.hash(password).await?),
            None => None,
        };
        self.can_note().await?;
        let now = self.clock.now();
        let user = User {
            created_at: now,
            disabled: false,
            email: new.email,
            email_verified: new.email_verified,
            generation: 0,
            name: new.name,
            passkeys: Vec::new(),
            password,
            sub: random_id(&*self.randomness)?,
            username,
        };
        match user::insert(&*self.store, &user, now).await? {
            Write::Done(_) => {
                self.note(What::UserAdded, "user", &user.username).await?;
                Ok(user)
            }
            Write::Refused => Err(Error::UserExists { username: user.username }),
        }
    }

    /// The users, by username.
    pub async fn list_users(&self) -> Result<Vec<User>, Error> {
        let records = self.store.list(Kind::User, Version::ZERO, self.clock.now()).await?;
        let mut users = records.iter().map(User::from_record).collect::<Result<Vec<_>, Error>>()?;
        users.sort_by(|a, b| a.username.cmp(&b.username));
        Ok(users)
    }

    /// One user.
    /// Errors: `UserInvalid`, `UserUnknown`.
    pub async fn user(&self, name: &str) -> Result<User, Error> {
        self.known(&username(name)?).await.map(|(user, _)| user)
    }

    /// Removes a user; no session of theirs holds any more, also if the username is given to somebody else.
    /// Errors: `UserInvalid`, `UserUnknown`.
    pub async fn remove_user(&self, name: &str) -> Result<(), Error> {
        let username = username(name)?;
        self.can_note().await?;
        loop {
            let (user, version) = self.known(&username).await?;
            if let Write::Done(_) = self.store.remove(Kind::User, &username, version).await? {
                // Whoever is removed has no session any more.
                let user = User { disabled: true, ..user };
                self.end_sessions(&user).await?;
                user::forget(&*self.store, &user.sub, self.clock.now()).await?;
                return self.note(What::UserRemoved, "user", &username).await;
            }
        }
    }

    /// Sets the password; every session of the user ends.
    /// Errors: `UserInvalid`, `UserUnknown`, `Busy`.
    pub async fn set_password(&self, name: &str, password: &Password) -> Result<User, Error> {
        let username = username(name)?;
        // Before the work: a wrong name is told at once.
        self.known(&username).await?;
        let hash = self.hash(password).await?;
        let changed = self.change(What::PasswordSet, &username, |user| User {
            generation: user.generation.saturating_add(1),
            password: Some(hash.clone()),
            ..user
        });
        self.ended(changed.await?).await
    }

    /// Ends every session of the user, and tells their clients.
    /// Errors: `UserInvalid`, `UserUnknown`.
    pub async fn sign_out(&self, name: &str) -> Result<User, Error> {
        let later = |user: User| User { generation: user.generation.saturating_add(1), ..user };
        let changed = self.change(What::SessionEnded, &username(name)?, later).await?;
        self.ended(changed).await
    }

    /// Takes away every passkey; every session of the user ends.
    /// Errors: `UserInvalid`, `UserUnknown`.
    pub async fn remove_passkeys(&self, name: &str) -> Result<User, Error> {
        let name = username(name)?;
        let changed = self.change(What::PasskeyRemoved, &name, |user| User {
            generation: user.generation.saturating_add(1),
            passkeys: Vec::new(),
            ..user
        });
        self.ended(changed.await?).await
    }

    /// Lets a user sign in no longer and ends every session, or lets them sign in again.
    /// Errors: `UserInvalid`, `UserUnknown`.
    pub async fn set_disabled(&self, name: &str, disabled: bool) -> Result<User, Error> {
        let what = if disabled { What::UserDisabled } else { What::UserEnabled };
        // A session from before must not come back to life when the user is enabled again.
        let name = username(name)?;
        let changed = self.change(what, &name, |user| User {
            disabled,
            generation: user.generation.saturating_add(u64::from(disabled)),
            ..user
        });
        let user = changed.await?;
        if disabled { self.ended(user).await } else { Ok(user) }
    }

    /// No session of the user holds any more: their clients are told, and their records go.
    async fn ended(&self, user: User) -> Result<User, Error> {
        self.end_sessions(&user).await?;
        Ok(user)
    }

    async fn end_sessions(&self, user: &User) -> Result<(), Error> {
        let (store, now) = (&*self.store, self.clock.now());
        // One that was started since the change holds: it knows of it.
        let (held, over): (Vec<_>, Vec<_>) = session::of_person(store, &user.sub, now)
            .await?
            .into_iter()
            .partition(|(session, _)| session.belongs_to(user));
        // Those without a request for a while are among the second, and those without a client among the first.
        let mut sids: BTreeSet<String> = over.iter().map(|(session, _)| session.sid.clone()).collect();
        sids.extend(session_clients::of_person(&user.sub, store, now).await?);
        for (session, _) in held {
            sids.remove(&session.sid);
        }
        for sid in sids {
            session_clients::end(&sid, &user.sub, self.max_lifetime_seconds, store, now).await?;
        }
        for (_, record) in over {
            // Refused: it has ended, or was used at this moment, and holds no longer for all that.
            let (Write::Done(_) | Write::Refused) =
                store.remove(Kind::Session, &record.id, record.version).await?;
        }
        Ok(())
    }

    /// Changes a user; if somebody else changes them meanwhile, changes what they have become.
    async fn change(&self, what: What, username: &str, change: impl Fn(User) -> User) -> Result<User, Error> {
        self.can_note().await?;
        loop {
            let (user, version) = self.known(username).await?;
            let changed = change(user);
            let written = self.store.replace(changed.to_record()?, version, self.clock.now()).await?;
            if let Write::Done(_) = written {
                self.note(what, "user", username).await?;
                return Ok(changed);
            }
        }
    }

    async fn known(&self, username: &str) -> Result<(User, Version), Error> {
        let found = user::find(&*self.store, username, self.clock.now()).await?;
        found.ok_or_else(|| Error::UserUnknown { username: username.to_owned() })
    }

    async fn hash(&self, password: &Password) -> Result<PasswordHash, Error> {
        self.passwords.hash(password, &*self.randomness).await?.map_err(|_| Error::Busy)
    }
}

fn username(text: &str) -> Result<String, Error> {
    normalised(text).map_err(|what| {
        let hint = "1 to 64 of the letters a to z, digits and . _ - @ +, the first a letter or a digit";
        Error::UserInvalid { field: "username", what, hint }
    })
}

fn check(new: &NewUser) -> Result<(), Error> {
    let one_line = |text: &str| !text.is_empty() && !text.chars().any(char::is_control);
    if new.name.as_ref().is_some_and(|name| !one_line(name) || name.len() > NAME_MAX) {
        let what = "is empty, too long or has control characters";
        return Err(Error::UserInvalid { field: "name", what, hint: "at most 256 bytes on one line" });
    }
    let is_address = |email: &String| {
        let halves = email.rsplit_once('@');
        let full = halves.is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty());
        full && one_line(email) && email.len() <= EMAIL_MAX && !email.contains(char::is_whitespace)
    };
    if new.email.as_ref().is_some_and(|email| !is_address(email)) {
        let hint = "at most 254 bytes, as in alice@example.org";
        return Err(Error::UserInvalid { field: "email", what: "is not an address", hint });
    }
    Ok(())
}
