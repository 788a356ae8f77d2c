//! Device authorization, RFC 8628: a device without a keyboard asks, a person answers in a browser of their own.
//!
//! The device holds a secret of 256 random bits, the person types a short code. What was asked for is one record under the
//! secret's hash; a second one, under a MAC of the short code, says where it is. Each step is a compare-and-set of the first
//! record, so nothing of it depends on which server is asked. How the device gets its tokens is in [`super::token_device`].

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_jose::UnixSeconds;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::granted::{self, Granted};
use super::token::Ground;
use super::{Authenticated, Code, OAuthError, Parameters, target};
use crate::Error;
use crate::client::{Client, Grant};
use crate::clock::{Randomness, later, random_id, random_secret};
use crate::config;
use crate::people::Session;
use crate::snapshot::Snapshot;
use crate::store::{Kind, NewRecord, Record, Store, Write};

/// How long a device code is remembered after its end, so that the device is told why it gets nothing.
const MEMORY_SECONDS: u64 = 600;

/// What a device is told, RFC 8628 §3.2.
#[derive(Serialize)]
pub struct DeviceAuthorization {
    device_code: String,
    expires_in: u64,
    interval: u64,
    user_code: String,
    verification_uri: String,
    verification_uri_complete: String,
}

impl fmt::Debug for DeviceAuthorization {
    /// Everything but the codes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uri = &self.verification_uri;
        f.debug_struct("DeviceAuthorization").field("verification_uri", uri).finish_non_exhaustive()
    }
}

/// Answers a device authorization request. When it returns, both codes are durable.
/// RFC 8628 §3.1 and §3.2; RFC 8707 §2. `page` is where people type the code.
/// Errors: `unauthorized_client`, `invalid_scope`, `invalid_target`.
pub async fn authorize(
    caller: &Authenticated,
    parameters: &Parameters,
    terms: &config::Device,
    key: &hmac::Key,
    page: String,
    ground: Ground<'_>,
) -> Result<DeviceAuthorization, OAuthError> {
    let client = caller.client();
    if !client.grants.contains(&Grant::DeviceCode) {
        return Err(OAuthError::new(Code::UnauthorizedClient, "the client may not use this grant"));
    }
    let scope = target::scope(client, parameters.value("scope"))?;
    let mut audiences = target::audiences(client, parameters, ground.issuer.as_str())?;
    let is_openid = scope.as_deref().is_some_and(|scope| scope.split(' ').any(|one| one == "openid"));
    if is_openid && !audiences.iter().any(|one| one == ground.issuer.as_str()) {
        // For the userinfo endpoint, as with a code.
        audiences.push(ground.issuer.as_str().to_owned());
    }
    let device_code = random_secret(ground.randomness, 32)?;
    let (lifetime, interval) = (terms.lifetime_seconds.get(), terms.interval_seconds.get());
    let body = DeviceRecord {
        asked_at: ground.now.0,
        audiences,
        client_id: client.id.clone(),
        ends_at: later(ground.now, lifetime).0,
        interval,
        polled_at: None,
        scope,
        state: State::Pending,
    };
    let id = granted::name_of(&device_code);
    let new = body.record(id.clone())?;
    let Write::Done(_) = ground.store.insert(new, ground.now).await? else {
        return Err(Error::store("insert a device code", "two codes are alike").into());
    };
    let user_code = draw(&id, lifetime, key, ground).await?;
    Ok(DeviceAuthorization {
        device_code: device_code.to_string(),
        expires_in: lifetime,
        interval,
        // Nothing to encode: letters and a dash.
        verification_uri_complete: format!("{page}?user_code={user_code}"),
        user_code: user_code.to_string(),
        verification_uri: page,
    })
}

/// Draws a code that no living request has.
async fn draw(
    device: &str,
    lifetime: u64,
    key: &hmac::Key,
    ground: Ground<'_>,
) -> Result<UserCode, OAuthError> {
    // With a million living codes two draws in a row are taken once in half a billion times.
    for _ in 0..4 {
        let code = UserCode::draw(ground.randomness)?;
        let new = NewRecord {
            kind: Kind::UserCode,
            id: code.name(key),
            expires_at: Some(later(ground.now, lifetime)),
            body: device.as_bytes().to_vec(),
        };
        if let Write::Done(_) = ground.store.insert(new, ground.now).await? {
            return Ok(code);
        }
    }
    Err(Error::store("insert a user code", "all that were drawn are taken").into())
}

/// What a person types, RFC 8628 §6.1: eight of twenty consonants, which make no words. 34.5 random bits, guarded by a
/// throttle and a short life (§5.1).
#[derive(Clone, PartialEq, Eq)]
pub struct UserCode(Zeroizing<[u8; USER_CODE_LEN]>);

const USER_CODE_LEN: usize = 8;
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";

impl UserCode {
    /// Reads what was typed: in any case, with or without dashes and spaces.
    pub fn parse(typed: &str) -> Option<Self> {
        let mut code = Zeroizing::new([0; USER_CODE_LEN]);
        let mut letters = typed.chars().filter(|letter| letter.is_alphanumeric());
        for place in code.iter_mut() {
            let letter = u8::try_from(letters.next()?).ok()?.to_ascii_uppercase();
            *place = *LETTERS.iter().find(|known| **known == letter)?;
        }
        letters.next().is_none().then_some(Self(code))
    }

    /// Every code is as likely as any other: bytes from 240 on are drawn again.
    fn draw(randomness: &dyn Randomness) -> Result<Self, Error> {
        let mut code = Zeroizing::new([0; USER_CODE_LEN]);
        for place in code.iter_mut() {
            *place = loop {
                let mut byte = [0];
                randomness.fill(&mut byte)?;
                if byte[0] < 240 {
                    break LETTERS[usize::from(byte[0] % 20)];
                }
            };
        }
        Ok(Self(code))
    }

    /// The name in the store: a MAC, for the hash of so few bits would give them away.
    fn name(&self, key: &hmac::Key) -> String {
        URL_SAFE_NO_PAD.encode(hmac::sign(key, &*self.0))
    }
}

impl fmt::Display for UserCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (head, tail) = self.0.split_at(USER_CODE_LEN / 2);
        for (dash, half) in [("", head), ("-", tail)] {
            f.write_str(dash)?;
            half.iter().try_for_each(|letter| write!(f, "{}", char::from(*letter)))?;
        }
        Ok(())
    }
}

impl fmt::Debug for UserCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserCode(..)")
    }
}

/// A device that waits for a person's answer.
#[derive(Debug)]
pub struct Waiting {
    /// Who asks.
    pub client: Arc<Client>,
    device: DeviceRecord,
    record: Record,
}

impl Waiting {
    /// What it asks for.
    pub fn scopes(&self) -> impl Iterator<Item = &str> {
        self.device.scope.iter().flat_map(|scope| scope.split(' '))
    }
}

/// The device that shows `code`, if it still waits. `None` for every other code, whatever is wrong with it.
/// RFC 8628 §3.3.
pub async fn find(
    code: &UserCode,
    key: &hmac::Key,
    snapshot: &Snapshot,
    store: &dyn Store,
    now: UnixSeconds,
) -> Result<Option<Waiting>, Error> {
    let Some(pointer) = store.read(Kind::UserCode, &code.name(key), now).await? else { return Ok(None) };
    let Ok(id) = String::from_utf8(pointer.body) else { return Ok(None) };
    let Some(record) = store.read(Kind::Device, &id, now).await? else { return Ok(None) };
    let device: DeviceRecord = granted::parse(Kind::Device, &record.body)?;
    if device.state != State::Pending || device.ends_at <= now.0 {
        return Ok(None);
    }
    let client = snapshot.clients.by_id(&device.client_id).filter(|client| device.is_for(client));
    Ok(client.map(|client| Waiting { client: Arc::clone(client), device, record }))
}

/// Writes down the person's answer. `false`: somebody else has answered meanwhile.
/// RFC 8628 §3.3. What is granted is the device's own: signing out of the browser does not end it.
pub async fn decide(
    waiting: Waiting,
    session: &Session,
    allow: bool,
    store: &dyn Store,
    randomness: &dyn Randomness,
    now: UnixSeconds,
) -> Result<bool, Error> {
    let Waiting { device, record, .. } = waiting;
    let state = match allow {
        false => State::Denied,
        true => State::Granted(Box::new(Granted {
            acr: session.acr.clone(),
            amr: session.amr.clone(),
            audiences: device.audiences.clone(),
            auth_time: session.auth_time.0,
            client_id: device.client_id.clone(),
            family: random_id(randomness)?,
            granted_at: now.0,
            scope: device.scope.clone(),
            session_ends_at: 0,
            sid: random_id(randomness)?,
            sub: session.sub.clone(),
        })),
    };
    let mut version = record.version;
    let decided = DeviceRecord { state, ..device };
    // Refused: the device has asked again meanwhile, which changes nothing that was shown, or somebody has answered.
    for _ in 0..16 {
        let new = decided.record(record.id.clone())?;
        if let Write::Done(_) = store.replace(new, version, now).await? {
            return Ok(true);
        }
        let Some(found) = store.read(Kind::Device, &record.id, now).await? else { return Ok(false) };
        let known: DeviceRecord = granted::parse(Kind::Device, &found.body)?;
        if known.state != State::Pending {
            return Ok(false);
        }
        version = found.version;
    }
    Ok(false)
}

/// What a device has asked for, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DeviceRecord {
    pub(super) asked_at: u64,
    pub(super) audiences: Vec<String>,
    pub(super) client_id: String,
    pub(super) ends_at: u64,
    /// How many seconds the device must let pass between two questions, RFC 8628 §3.5.
    pub(super) interval: u64,
    /// When it last asked in time.
    pub(super) polled_at: Option<u64>,
    pub(super) scope: Option<String>,
    pub(super) state: State,
}

/// Where the person's answer stands. It is given once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    Denied,
    Granted(Box<Granted>),
    Pending,
}

impl DeviceRecord {
    /// Whether this client asked, and not one that had its id before.
    pub(super) fn is_for(&self, client: &Client) -> bool {
        self.client_id == client.id && client.created_at.0 <= self.asked_at
    }

    pub(super) fn record(&self, id: String) -> Result<NewRecord, Error> {
        granted::record(Kind::Device, id, later(UnixSeconds(self.ends_at), MEMORY_SECONDS), self)
    }
}
