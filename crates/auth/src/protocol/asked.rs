//! Where an authorization request comes from: said in the query of the address, signed there (RFC 9101 §5), or pushed
//! before (RFC 9126 §4).
//!
//! A pushed request may be opened as often as the person needs, and is used up by the answer that goes back to the
//! client: a code or an error, one of them, whoever asks at the same time (§7.3). Which one, the store decides. A name
//! that was not opened within its `expires_in` is dead. One that was opened has a mark in the query of its pages, so
//! that the person has time to sign in; so has a signed request whose `exp` passes meanwhile.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_jose::UnixSeconds;
use serde::{Deserialize, Serialize};

use super::authorize::{AFTER, SIGN_IN_SECONDS};
use super::client_auth::Means;
use super::par::REQUEST_URI;
use super::request_object::{self, REQUEST};
use super::{Code, OAuthError, Parameters, granted};
use crate::store::{Kind, Store, Use};

/// The parameter of our own that a pushed request carries once it was opened.
pub(crate) const OPENED: &str = "sealstone_opened";

/// Most bytes of a request object in a query, which the pages carry on in theirs.
const MAX_IN_QUERY: usize = 7_168;

/// An authorization request, before anything of it is checked.
#[derive(Debug)]
pub struct Asked {
    carried: Parameters,
    counts: Parameters,
    /// The record that it is used up with.
    pushed: Option<String>,
    signed: bool,
}

impl Asked {
    /// Finds out what is asked.
    /// RFC 9126 §4; RFC 9101 §5: beside a name nothing in the query counts but `client_id`.
    ///
    /// Nobody is to be sent anywhere for what is refused here.
    /// Errors: `invalid_request_uri`, the same for a name that was made up, has ended, was used up or is another
    /// client's; `invalid_request` without `client_id`, and for a name and an object at once (RFC 9101 §5); those of a
    /// request object, `invalid_request_object` and `temporarily_unavailable`.
    pub async fn open(
        query: Parameters,
        means: Means<'_>,
        store: &dyn Store,
        key: &hmac::Key,
    ) -> Result<Self, OAuthError> {
        match (query.value("request_uri"), query.value(REQUEST)) {
            (None, None) => Ok(Self::said(query)),
            (None, Some(object)) => Self::signed(&query, object, means, key).await,
            (Some(name), None) if name.starts_with(REQUEST_URI) => {
                Self::pushed_before(&query, name, means, store, key).await
            }
            (Some(_), None) => Ok(Self::said(query)),
            (Some(_), Some(_)) => {
                let what = "`request` and `request_uri` do not stand side by side";
                Err(OAuthError::new(Code::InvalidRequest, what))
            }
        }
    }

    /// RFC 9101 §6.3. What was opened in time is read as it was then.
    async fn signed(
        query: &Parameters,
        object: &str,
        means: Means<'_>,
        key: &hmac::Key,
    ) -> Result<Self, OAuthError> {
        let client_id = query.required("client_id")?;
        let unknown = || OAuthError::new(Code::InvalidRequest, "no client has this `client_id`");
        let client = means.clients.by_id(client_id).ok_or_else(unknown)?;
        // Before anything is computed for whoever sends it.
        if client.must_push() {
            let what = "the client must push its requests to the server";
            return Err(OAuthError::new(Code::InvalidRequest, what));
        }
        if object.len() > MAX_IN_QUERY {
            let what = "the request object is too long for a query; it can be pushed";
            return Err(OAuthError::new(Code::InvalidRequestObject, what));
        }
        let opened_at = query.value(OPENED).and_then(|mark| opened(mark, object, key, means.now));
        let opened_at = opened_at.unwrap_or(means.now);
        let said = request_object::open(object, client, means, opened_at).await?;
        let mark = mark(object, opened_at, key);
        let after = query.value(AFTER).map(|after| (AFTER, after));
        let own = [AFTER, OPENED];
        let counts: Vec<_> = said.iter().filter(|(name, _)| !own.contains(name)).chain(after).collect();
        let carried: Vec<_> =
            [("client_id", client_id), (REQUEST, object), (OPENED, &mark)].into_iter().chain(after).collect();
        let (carried, counts) = (Parameters::of(&carried), Parameters::of(&counts));
        Ok(Self { carried, counts, pushed: None, signed: true })
    }

    async fn pushed_before(
        query: &Parameters,
        name: &str,
        means: Means<'_>,
        store: &dyn Store,
        key: &hmac::Key,
    ) -> Result<Self, OAuthError> {
        let now = means.now;
        let client_id = query.required("client_id")?;
        let id = granted::name_of(name);
        let record = store.read(Kind::PushedRequest, &id, now).await?;
        let record = record.ok_or_else(|| dead("it was not pushed here, or ended long ago"))?;
        let body: PushedRecord = granted::parse(Kind::PushedRequest, &record.body)?;
        let client = means.clients.by_id(client_id).filter(|client| client.created_at.0 <= body.pushed_at);
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
        Ok(Self {
            carried: Parameters::of(&carried),
            counts: Parameters::of(&counts),
            pushed: Some(id),
            signed: body.signed,
        })
    }

    /// A request that stands in the query as it is.
    pub fn said(query: Parameters) -> Self {
        Self { carried: query.clone(), counts: query, pushed: None, signed: false }
    }

    /// One that is about to be pushed.
    pub(super) fn pushing(parameters: Parameters, signed: bool) -> Self {
        Self { carried: Parameters::of(&[]), counts: parameters, pushed: Some(String::new()), signed }
    }

    /// What the query of each of its pages holds, so that the next one finds it again.
    pub fn carried(&self) -> &Parameters {
        &self.carried
    }

    /// What counts.
    pub(crate) fn parameters(&self) -> &Parameters {
        &self.counts
    }

    /// Whether the client has signed it.
    pub(super) fn is_signed(&self) -> bool {
        self.signed
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
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) signed: bool,
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
