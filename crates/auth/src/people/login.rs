//! Signing in, with a password or a passkey: one attempt, from what was sent to a session.

use std::fmt;
use std::net::IpAddr;

use sealstone_jose::UnixSeconds;
use zeroize::Zeroizing;

use super::passkey::{self, Bound, Said};
use super::password::{Password, PasswordHash, Verdict};
use super::session::{self, Proof, Session};
use super::throttle::{Held, Subject};
use super::user::{self, User};
use super::{People, normalised};
use crate::Error;
use crate::clock::Randomness;
use crate::store::{Store, Version, Write};

/// The `acr` of signing in with a passkey: no page of others can get anything that is good here. OpenID Connect Extended
/// Authentication Profile ACR Values 1.0 §2. Signing in with a password reaches no class that has a name.
pub const PHISHING_RESISTANT: &str = "phr";

/// What was sent.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// Where it comes from; `None` where a proxy stands between.
    pub address: Option<IpAddr>,
    /// The cookie of a browser in which somebody has signed in before.
    pub browser: Option<&'a str>,
    /// The password.
    pub password: &'a Password,
    /// The username as it was typed.
    pub username: &'a str,
}

/// What became of it.
#[must_use]
#[derive(Debug)]
pub enum Outcome {
    /// Too many attempts are being judged. This one was not, and does not count.
    Busy,
    /// Too many have failed. This one was not judged.
    Held(Held),
    /// Signed in.
    In(SignedIn),
    /// Refused. All refusals are the same to the person; the operator's log says why.
    Refused {
        /// For the log: a name only where it is a user's, for what was typed there may be a password.
        hint: String,
    },
}

/// A session and what the browser is to keep.
pub struct SignedIn {
    /// The cookie that makes this browser a known one.
    pub browser: Zeroizing<String>,
    /// The session's secret.
    pub secret: Zeroizing<String>,
    /// The session.
    pub session: Session,
}

impl fmt::Debug for SignedIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignedIn").field("session", &self.session).finish_non_exhaustive()
    }
}

/// What a passkey says.
#[derive(Clone, Copy, Debug)]
pub struct Assertion<'a> {
    /// The credential id, in base64url.
    pub id: &'a str,
    /// What authenticator and browser saw.
    pub said: Said<'a>,
    /// The signature over that.
    pub signature: &'a [u8],
    /// The user handle: the person's `sub`.
    pub user: &'a str,
}

/// Signs in with a passkey. Nothing can be guessed here, so nothing is counted.
/// Errors: `Randomness`, `Store`.
pub async fn with_passkey(
    people: &People,
    assertion: Assertion<'_>,
    bound: Bound<'_>,
    store: &dyn Store,
    now: UnixSeconds,
    randomness: &dyn Randomness,
) -> Result<Outcome, Error> {
    let refused = |hint: &str| Ok(Outcome::Refused { hint: hint.to_owned() });
    let Some(party) = &people.party else { return refused("the issuer's host is an address") };
    let Some(user) = user::by_sub(store, assertion.user, now).await? else {
        return refused("no user has the passkey's subject");
    };
    let Some((mut user, version)) = user::find(store, &user.username, now).await? else {
        return refused("no user has the passkey's subject");
    };
    let name = user.username.clone();
    if user.sub != assertion.user || user.disabled {
        return refused(&format!("user `{name}` is disabled"));
    }
    let Some(passkey) = user.passkeys.iter_mut().find(|passkey| passkey.id == assertion.id) else {
        return refused(&format!("user `{name}` has no such passkey"));
    };
    let is_ours = |challenge: &str| passkey::is_ours(&people.browsers, bound, challenge, now);
    let sign_count = match party.assert(passkey, assertion.said, assertion.signature, is_ours) {
        Ok(count) => count,
        Err(what) => return refused(&format!("user `{name}`: {what}")),
    };
    if !passkey::spend(assertion.said.client_data, store, now).await? {
        return refused(&format!("user `{name}`: the challenge was used before"));
    }
    if sign_count != passkey.sign_count {
        passkey.sign_count = sign_count;
        if let Write::Refused = store.replace(user.to_record()?, version, now).await? {
            return refused(&format!("user `{name}` was changed at the same moment"));
        }
    }
    // RFC 8176 §2: a key was held, somebody was there, and was verified besides. Which kind of key is what the
    // authenticator says of itself: nobody attests it.
    let key = if passkey::is_synced(assertion.said) { "swk" } else { "hwk" };
    let proof = Proof { acr: Some(PHISHING_RESISTANT), amr: &[key, "user", "mfa"] };
    enter(people, &user, proof, store, now, randomness).await
}

/// Judges one attempt. An unknown username, a user without a password and a disabled user cost the same hash as a wrong
/// password.
/// Errors: `Randomness`, `Store`; the attempt does not count then.
pub async fn attempt(
    people: &People,
    attempt: Attempt<'_>,
    store: &dyn Store,
    now: UnixSeconds,
    randomness: &dyn Randomness,
) -> Result<Outcome, Error> {
    // A name that nobody can have is counted as it is: the table keeps hashes.
    let username = normalised(attempt.username.trim()).unwrap_or_else(|_| attempt.username.to_owned());
    let number = attempt.browser.and_then(|cookie| people.browsers.known(cookie, &username));
    let mut subjects = Vec::with_capacity(2);
    match number {
        Some(number) => subjects.push(Subject::Browser(number)),
        None => {
            subjects.push(Subject::Username(&username));
            subjects.extend(attempt.address.map(Subject::Address));
        }
    }
    if let Err(held) = people.throttle.begin(&subjects, now) {
        return Ok(Outcome::Held(held));
    }
    let judged = judge(people, &username, attempt.password, store, now, randomness).await;
    match &judged {
        Ok(Outcome::In(_)) => people.throttle.succeeded(&subjects),
        Ok(Outcome::Busy) | Err(_) => people.throttle.withdraw(&subjects),
        Ok(Outcome::Held(_) | Outcome::Refused { .. }) => {}
    }
    judged
}

async fn judge(
    people: &People,
    username: &str,
    password: &Password,
    store: &dyn Store,
    now: UnixSeconds,
    randomness: &dyn Randomness,
) -> Result<Outcome, Error> {
    let found = user::find(store, username, now).await?;
    let known =
        found.as_ref().filter(|(user, _)| !user.disabled).and_then(|(user, _)| user.password.as_ref());
    let Ok(verdict) = people.passwords.verify(password, known, randomness).await? else {
        return Ok(Outcome::Busy);
    };
    let (rehashed, (user, version)) = match (verdict, found) {
        (Verdict::Right(rehashed), Some(found)) => (rehashed, found),
        (_, found) => return Ok(Outcome::Refused { hint: why(found.map(|(user, _)| user)) }),
    };
    let proof = Proof { acr: None, amr: &["pwd"] };
    let entered = enter(people, &user, proof, store, now, randomness).await?;
    if let Some(hash) = rehashed {
        rehash(user, version, hash, store, now).await;
    }
    Ok(entered)
}

async fn enter(
    people: &People,
    user: &User,
    proof: Proof<'_>,
    store: &dyn Store,
    now: UnixSeconds,
    randomness: &dyn Randomness,
) -> Result<Outcome, Error> {
    let browser = people.browsers.mark(&user.username, randomness)?;
    let (session, secret) = session::start(store, user, proof, people.sessions, now, randomness).await?;
    Ok(Outcome::In(SignedIn { browser, secret, session }))
}

fn why(user: Option<User>) -> String {
    match user {
        None => "no user has the name that was given".into(),
        Some(User { disabled: true, username, .. }) => format!("user `{username}` is disabled"),
        Some(User { password: None, username, .. }) => format!("user `{username}` has no password"),
        Some(User { username, .. }) => format!("user `{username}` gave a wrong password"),
    }
}

/// Keeps the same password at the cost of today. If that fails, or somebody else has changed the user meanwhile, the
/// next time will do.
async fn rehash(user: User, version: Version, hash: PasswordHash, store: &dyn Store, now: UnixSeconds) {
    let renewed = User { password: Some(hash), ..user };
    let written = match renewed.to_record() {
        Ok(record) => store.replace(record, version, now).await.map(drop),
        Err(cause) => Err(cause),
    };
    if let Err(cause) = written {
        tracing::error!(%cause, "a password's hash could not be renewed");
    }
}
