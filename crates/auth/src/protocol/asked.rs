//! Where an authorization request comes from: said in the query of the address, or pushed before (RFC 9126 §4).
//!
//! A pushed request may be opened as often as the person needs, and is used up by the answer that goes back to the
//! client: a code or an error, one of them, whoever asks at the same time (§7.3). Which one, the store decides. A name
//! that was not opened within its `expires_in` is dead. One that was opened has a mark in the query of its pages, so
//! that the person has time to sign in.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_jose::UnixSeconds;
use serde::{Deserialize, Serialize};

use super::authorize::{AFTER, SIGN_IN_SECONDS};
use super::par::REQUEST_URI;
use super::{Code, OAuthError, Parameters, granted};
use crate::snapshot::Snapshot;
use crate::store::{Kind, Store, Use};

/// The parameter of our own that a pushed request carries once it was opened.
pub(crate) const OPENED: &str = "sealstone_opened";

/// An authorization request, before anything of it is checked.
#[derive(Debug)]
pub struct Asked {
    carried: Parameters,
    counts: Parameters,
    /// The record that it is used up with.
    pushed: Option<String>,
}

impl Asked {
    /// Finds out what is asked.
    /// RFC 9126 §4; RFC 9101 §5: beside a name nothing in the query counts but `client_id`.
    ///
    /// Errors: `invalid_request_uri`, the same for a name that was made up, has ended, was used up or is another
    /// client's. Nobody is to be sent anywhere for it. `invalid_request` without `client_id`.
    pub async fn open(
        query: Parameters,
        snapshot: &Snapshot,
        store: &dyn Store,
        key: &hmac::Key,
        now: UnixSeconds,
    ) -> Result<Self, OAuthError> {
        let Some(name) = query.value("request_uri").filter(|name| name.starts_with(REQUEST_URI)) else {
            return Ok(Self::said(query));
        };
        let client_id = query.required("client_id")?;
        let id = granted::name_of(name);
        let record = store.read(Kind::PushedRequest, &id, now).await?;
        let record = record.ok_or_else(|| dead("it was not pushed here, or ended long ago"))?;
        let body: PushedRecord = granted::parse(Kind::PushedRequest, &record.body)?;
        let client = snapshot.clients.by_id(client_id).filter(|client| client.created_at.0 <= body.pushed_at);
        if body.client_id != client_id || client.is_none() {
            return Err(dead("it was pushed by another client"));
        }
        if record.used_at.is_some() {
            return Err(dead("it was used before"));
        }
        let opened_at = query.value(OPENED).and_then(|mark| opened(mark, name, key, now));
        if opened_at.is_none() && body.ends_at <= now.0 {
            return Err(dead("it was not opened in time"));
        }
        let mark = mark(name, opened_at.unwrap_or(now), key);
        let after = query.value(AFTER).map(|after| (AFTER, after));
        let pairs = body.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let counts: Vec<_> = pairs.chain(after).collect();
        let carried: Vec<_> = [("client_id", client_id), ("request_uri", name), (OPENED, &mark)]
            .into_iter()
            .chain(after)
            .collect();
        Ok(Self { carried: Parameters::of(&carried), counts: Parameters::of(&counts), pushed: Some(id) })
    }

    /// A request that stands in the query as it is.
    pub fn said(query: Parameters) -> Self {
        Self { carried: query.clone(), counts: query, pushed: None }
    }

    /// One that is about to be pushed.
    pub(super) fn pushing(parameters: Parameters) -> Self {
        Self { carried: Parameters::of(&[]), counts: parameters, pushed: Some(String::new()) }
    }

    /// What the query of each of its pages holds, so that the next one finds it again.
    pub fn carried(&self) -> &Parameters {
        &self.carried
    }

    /// What counts.
    pub(super) fn parameters(&self) -> &Parameters {
        &self.counts
    }

    /// What it is used up with, see [`use_up`].
    pub(super) fn pushed(&self) -> Option<&str> {
        self.pushed.as_deref()
    }
}

/// A pushed request as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PushedRecord {
    pub(super) client_id: String,
    /// Opened for the first time from then on, it is dead.
    pub(super) ends_at: u64,
    pub(super) parameters: Vec<(String, String)>,
    pub(super) pushed_at: u64,
}

/// Uses a pushed request up: of any number of callers, on any number of nodes, one may answer the client.
/// RFC 9126 §7.3.
/// Errors: `invalid_request_uri` for the others.
pub(super) async fn use_up(id: &str, store: &dyn Store, now: UnixSeconds) -> Result<(), OAuthError> {
    match store.consume(Kind::PushedRequest, id, now).await? {
        Use::First(_) => Ok(()),
        Use::Again(_) | Use::Absent => Err(dead("it was used before")),
    }
}

/// Says that the request of this name was opened at `at`, when it could be. Nobody else can say so.
fn mark(name: &str, at: UnixSeconds, key: &hmac::Key) -> String {
    let tag = hmac::sign(key, mark_text(name, at.0).as_bytes());
    format!("{}.{}", at.0, URL_SAFE_NO_PAD.encode(tag))
}

fn opened(mark: &str, name: &str, key: &hmac::Key, now: UnixSeconds) -> Option<UnixSeconds> {
    let (at, tag) = mark.split_once('.')?;
    let at: u64 = at.parse().ok()?;
    hmac::verify(key, mark_text(name, at).as_bytes(), &URL_SAFE_NO_PAD.decode(tag).ok()?).ok()?;
    (at <= now.0 && now.0 - at <= SIGN_IN_SECONDS).then_some(UnixSeconds(at))
}

fn mark_text(name: &str, at: u64) -> String {
    format!("request opened v1\0{name}\0{at}")
}

/// All that anybody learns of a name that is not good.
fn dead(hint: &'static str) -> OAuthError {
    OAuthError::new(Code::InvalidRequestUri, "`request_uri` is not known, is over, or was used before")
        .hint(hint)
}
