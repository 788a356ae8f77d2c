//! A person who can sign in: the record behind a username.

use std::fmt;

use sealstone_jose::UnixSeconds;
use serde::{Deserialize, Serialize};

use super::password::PasswordHash;
use crate::Error;
use crate::store::{Kind, NewRecord, Record, Store, Version, Write};

/// A person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// When the record was made.
    pub created_at: UnixSeconds,
    /// May not sign in; no session holds.
    pub disabled: bool,
    /// `email`, OpenID Connect Core 1.0 §5.1.
    pub email: Option<String>,
    /// `email_verified`, OpenID Connect Core 1.0 §5.1.
    pub email_verified: bool,
    /// Rises with every change that ends the person's sessions: another password, being disabled.
    pub generation: u64,
    /// `name`, OpenID Connect Core 1.0 §5.1.
    pub name: Option<String>,
    /// What a password is compared with; without it no password fits.
    pub password: Option<PasswordHash>,
    /// The subject of this person's tokens, OpenID Connect Core 1.0 §2: random, never given to somebody else, also not
    /// to the next holder of the username.
    pub sub: String,
    /// What the person signs in with, in the form of [`normalised`].
    pub username: String,
}

/// The longest username, in bytes.
pub const USERNAME_MAX: usize = 64;

/// The one form of a username: 1 to 64 of the characters `a-z 0-9 . _ - @ +`, the first a letter or a digit. Upper case
/// becomes lower case, and nothing else is changed. Letters outside of ASCII are refused, so that no two names look
/// alike and every keyboard can type every name; a person's real name is [`User::name`].
/// Errors: what is wrong, to follow the word "username".
pub fn normalised(text: &str) -> Result<String, &'static str> {
    if text.is_empty() {
        return Err("is empty");
    }
    if text.len() > USERNAME_MAX {
        return Err("is longer than 64 bytes");
    }
    if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-@+".contains(&byte)) {
        return Err("has other characters than letters a to z, digits and . _ - @ +");
    }
    if !text.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        return Err("does not start with a letter or a digit");
    }
    Ok(text.to_ascii_lowercase())
}

/// The person with this username, in the form of [`normalised`], and the version of the record.
/// Errors: `Store`.
pub async fn find(
    store: &dyn Store,
    username: &str,
    now: UnixSeconds,
) -> Result<Option<(User, Version)>, Error> {
    let record = store.read(Kind::User, username, now).await?;
    record.map(|record| Ok((User::from_record(&record)?, record.version))).transpose()
}

/// The person with this `sub`.
/// Errors: `Store`.
pub async fn by_sub(store: &dyn Store, sub: &str, now: UnixSeconds) -> Result<Option<User>, Error> {
    let Some(pointer) = store.read(Kind::Subject, sub, now).await? else { return Ok(None) };
    let Ok(username) = String::from_utf8(pointer.body) else { return Ok(None) };
    let found = find(store, &username, now).await?.map(|(user, _)| user);
    // The name may be another person's by now.
    Ok(found.filter(|user| user.sub == sub))
}

/// Writes a new person, and before that where to find them by their `sub`: a pointer to nobody does no harm.
/// Errors: `Store`.
pub async fn insert(store: &dyn Store, user: &User, now: UnixSeconds) -> Result<Write, Error> {
    let body = user.username.clone().into_bytes();
    let pointer = NewRecord { kind: Kind::Subject, id: user.sub.clone(), expires_at: None, body };
    // Refused: 128 random bits that are there already are no random bits.
    let Write::Done(_) = store.insert(pointer, now).await? else { return Err(Error::Randomness) };
    store.insert(user.to_record()?, now).await
}

/// Removes what [`insert`] wrote besides the person.
pub(crate) async fn forget(store: &dyn Store, sub: &str, now: UnixSeconds) -> Result<(), Error> {
    if let Some(pointer) = store.read(Kind::Subject, sub, now).await? {
        let (Write::Done(_) | Write::Refused) = store.remove(Kind::Subject, sub, pointer.version).await?;
    }
    Ok(())
}

/// The body of a user's record. Unknown members are refused: a later version's record must not be half understood.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    created_at: u64,
    disabled: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    email_verified: bool,
    generation: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    password: Option<String>,
    sub: String,
}

impl User {
    /// The record that keeps this person.
    /// Errors: `Store`.
    pub fn to_record(&self) -> Result<NewRecord, Error> {
        let body = Body {
            created_at: self.created_at.0,
            disabled: self.disabled,
            email: self.email.clone(),
            email_verified: self.email_verified,
            generation: self.generation,
            name: self.name.clone(),
            password: self.password.as_ref().map(|hash| hash.to_phc().to_owned()),
            sub: self.sub.clone(),
        };
        let body = serde_json::to_vec(&body).map_err(|cause| Error::store("write a user", cause))?;
        Ok(NewRecord { kind: Kind::User, id: self.username.clone(), expires_at: None, body })
    }

    pub(crate) fn from_record(record: &Record) -> Result<Self, Error> {
        let unreadable =
            |cause: &dyn fmt::Display| Error::store("read a user", format!("{}: {cause}", record.id));
        let body: Body = serde_json::from_slice(&record.body).map_err(|cause| unreadable(&cause))?;
        let password = body.password.as_deref().map(PasswordHash::from_phc);
        Ok(Self {
            created_at: UnixSeconds(body.created_at),
            disabled: body.disabled,
            email: body.email,
            email_verified: body.email_verified,
            generation: body.generation,
            name: body.name,
            password: password.transpose().map_err(|what| unreadable(&what))?,
            sub: body.sub,
            username: record.id.clone(),
        })
    }
}
