//! Answers: the one table from refusal to status, the headers, and the line in the log.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderName, PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::HeaderValue;
use hyper::{StatusCode, Version};
use serde::Serialize;
use serde_json::json;

use super::serve::{InFlight, Origin, Peer};
use super::{App, audited};
use crate::config::JWKS_MAX_AGE_SECONDS;
use crate::metrics::Limit;
use crate::protocol::{Authenticated, Code, OAuthError};

/// Why a request gets no good answer.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The address has no such method.
    Method,
    /// There is no such address.
    NotFound,
    /// There is one of this name already.
    Conflict { description: String, client: String },
    /// A flow refused; `client` is known once it has proved itself.
    OAuth { error: OAuthError, client: Option<String> },
    /// The body is over the limit.
    TooLarge,
    /// A limit is reached; it is named for the log.
    TooMany { limit: Limit, seconds: u64 },
    /// The request was not complete in time.
    TooSlow,
}

impl Refusal {
    /// The table: every refusal and its status.
    /// RFC 6749 §5.2 (400, and 401 for failed client authentication); RFC 9110 §15 for the others.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Refusal::Method => StatusCode::METHOD_NOT_ALLOWED,
            Refusal::Conflict { .. } => StatusCode::CONFLICT,
            Refusal::NotFound => StatusCode::NOT_FOUND,
            Refusal::OAuth { error, .. } => match error.code {
                Code::InvalidClient => StatusCode::UNAUTHORIZED,
                Code::ServerError => StatusCode::INTERNAL_SERVER_ERROR,
                Code::TemporarilyUnavailable => StatusCode::SERVICE_UNAVAILABLE,
                Code::InsufficientScope => StatusCode::FORBIDDEN,
                Code::InvalidToken => StatusCode::UNAUTHORIZED,
                Code::AccessDenied
                | Code::AuthorizationPending
                | Code::ConsentRequired
                | Code::ExpiredToken
                | Code::InvalidClientMetadata
                | Code::InvalidDpopProof
                | Code::InvalidGrant
                | Code::InvalidRedirectUri
                | Code::InvalidRequest
                | Code::InvalidRequestObject
                | Code::InvalidRequestUri
                | Code::InvalidScope
                | Code::InvalidTarget
                | Code::LoginRequired
                | Code::RequestNotSupported
                | Code::RequestUriNotSupported
                | Code::SlowDown
                | Code::UnauthorizedClient
                | Code::UnmetAuthenticationRequirements
                | Code::UnsupportedGrantType
                | Code::UnsupportedResponseType
                | Code::UnsupportedTokenType
                | Code::UseDpopNonce => StatusCode::BAD_REQUEST,
            },
            Refusal::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            // RFC 6585 §4.
            Refusal::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
            Refusal::TooSlow => StatusCode::REQUEST_TIMEOUT,
        }
    }

    pub(crate) fn into_oauth(self) -> (OAuthError, Option<String>) {
        let invalid = |description| (OAuthError::new(Code::InvalidRequest, description), None);
        match self {
            Refusal::Method => invalid("the method is not allowed here"),
            Refusal::Conflict { description, client } => {
                (OAuthError::new(Code::InvalidRequest, description), Some(client))
            }
            Refusal::NotFound => invalid("there is nothing at this address"),
            Refusal::OAuth { error, client } => (error, client),
            Refusal::TooLarge => invalid("the body is too large"),
            Refusal::TooMany { limit, .. } => {
                let many = OAuthError::new(Code::TemporarilyUnavailable, "too many requests");
                (many.hint(format!("`{}` is reached", limit.name())), None)
            }
            Refusal::TooSlow => invalid("the request was not complete in time"),
        }
    }
}

impl From<OAuthError> for Refusal {
    fn from(error: OAuthError) -> Self {
        Refusal::OAuth { error, client: None }
    }
}

impl IntoResponse for Refusal {
    /// RFC 6749 §5.2; §5.1 for the cache headers; RFC 9110 §11.6.1: a 401 names the scheme.
    fn into_response(self) -> Response {
        let status = self.status();
        let wait = match &self {
            Refusal::TooMany { seconds, .. } => Some(*seconds),
            // RFC 9110 §10.2.3.
            _ => (status == StatusCode::SERVICE_UNAVAILABLE).then_some(1),
        };
        let (error, client) = self.into_oauth();
        let body = json!({"error": error.code.name(), "error_description": error.description});
        let mut response = json_response(status, "application/json", body.to_string());
        forbid_caching(&mut response);
        if status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Basic realm=\"sealstone\", charset=\"UTF-8\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        if let Some(seconds) = wait {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        if status == StatusCode::REQUEST_TIMEOUT {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response.extensions_mut().insert(Seen { client, error: Some(Arc::new(error)) });
        response
    }
}

/// A refusal by a protected resource: RFC 6750 §3 and RFC 9449 §7.1 want the reason in the challenge too.
pub(crate) fn of_a_resource(refusal: Refusal, scope: &str) -> Response {
    let code = match &refusal {
        Refusal::OAuth { error, .. } => Some(error.code),
        _ => None,
    };
    let mut response = refusal.into_response();
    let challenge = match code {
        Some(Code::InvalidToken) => "Bearer realm=\"sealstone\", error=\"invalid_token\"",
        Some(Code::InsufficientScope) => {
            &format!("Bearer realm=\"sealstone\", error=\"insufficient_scope\", scope=\"{scope}\"")
        }
        Some(Code::InvalidDpopProof) => "DPoP error=\"invalid_dpop_proof\"",
        Some(Code::UseDpopNonce) => "DPoP error=\"use_dpop_nonce\"",
        _ => return response,
    };
    if code != Some(Code::InsufficientScope) {
        *response.status_mut() = StatusCode::UNAUTHORIZED;
    }
    add(&mut response, WWW_AUTHENTICATE, challenge);
    response
}

/// An answer for this caller alone.
pub(crate) fn private_json(caller: &Authenticated, body: &impl Serialize) -> Result<Response, Refusal> {
    let mut response = json_for(&caller.client().id, body)?;
    reply(caller, &mut response);
    Ok(response)
}

/// RFC 4559 §4.2: the last word of the negotiation goes with the answer.
fn reply(caller: &Authenticated, response: &mut Response) {
    if let Some(token) = caller.reply() {
        add(response, WWW_AUTHENTICATE, &format!("Negotiate {token}"));
    }
}

/// An answer of another type for this caller alone.
pub(crate) fn private(
    caller: &Authenticated,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response {
    let mut response = json_response(StatusCode::OK, content_type, body);
    forbid_caching(&mut response);
    reply(caller, &mut response);
    response.extensions_mut().insert(Seen::by(caller));
    response
}

/// An answer for this client alone.
pub(crate) fn json_for(client: &str, body: &impl Serialize) -> Result<Response, Refusal> {
    json_with(StatusCode::OK, client, body)
}

/// A signed answer for this client alone, OpenID Connect Core §5.3.2.
pub(crate) fn jwt_for(client: &str, token: String) -> Response {
    let mut response = json_response(StatusCode::OK, "application/jwt", token);
    forbid_caching(&mut response);
    response.extensions_mut().insert(Seen { client: Some(client.to_owned()), error: None });
    response
}

/// The same with another status.
pub(crate) fn json_with(
    status: StatusCode,
    client: &str,
    body: &impl Serialize,
) -> Result<Response, Refusal> {
    let body = serde_json::to_vec(body)
        .map_err(|cause| OAuthError::from(crate::Error::store("write an answer", cause)))?;
    let mut response = json_response(status, "application/json", body);
    forbid_caching(&mut response);
    response.extensions_mut().insert(Seen { client: Some(client.to_owned()), error: None });
    Ok(response)
}

/// RFC 9110 §15.3.5: done, and nothing to say.
pub(crate) fn nothing(client: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    forbid_caching(&mut response);
    response.extensions_mut().insert(Seen { client: Some(client.to_owned()), error: None });
    response
}

/// RFC 7009 §2.2: success says nothing.
pub(crate) fn empty(caller: &Authenticated) -> Response {
    let mut response = Response::new(Body::empty());
    forbid_caching(&mut response);
    reply(caller, &mut response);
    response.extensions_mut().insert(Seen::by(caller));
    response
}

/// A page, with what the log is to know of it.
pub(crate) fn noted(mut page: Response, error: OAuthError) -> Response {
    page.extensions_mut().insert(Seen { client: None, error: Some(Arc::new(error)) });
    page
}

/// An answer that anybody may keep for a while.
pub(crate) fn public(content_type: &'static str, body: impl Into<Bytes>) -> Response {
    let mut response = json_response(StatusCode::OK, content_type, body);
    let value = HeaderValue::from_str(&format!("public, max-age={JWKS_MAX_AGE_SECONDS}"));
    if let Ok(value) = value {
        response.headers_mut().insert(CACHE_CONTROL, value);
    }
    response
}

/// An answer for a supervisor.
pub(crate) fn health(status: StatusCode, what: &'static str) -> Response {
    let mut response = json_response(status, "application/json", json!({"status": what}).to_string());
    forbid_caching(&mut response);
    response
}

/// Sets a header whose value the server made.
pub(crate) fn add(response: &mut Response, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

fn json_response(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Body::from(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// RFC 6749 §5.1.
fn forbid_caching(response: &mut Response) {
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert(PRAGMA, HeaderValue::from_static("no-cache"));
}

/// What the log may know of a request besides its address: never a parameter, never a header.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Known only once the client has proved itself: before, it could be anything, a secret in the wrong field too.
    pub(crate) client: Option<String>,
    pub(crate) error: Option<Arc<OAuthError>>,
}

impl Seen {
    fn by(caller: &Authenticated) -> Self {
        Self { client: Some(caller.client().id.clone()), error: None }
    }
}

/// Bounds a request's time and writes its line in the log.
pub(crate) async fn observe(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let version = request.version();
    // The route and not the address: whoever puts a token into a path finds it in no log of ours.
    let path = request.extensions().get::<MatchedPath>().cloned();
    let route = path.as_ref().map(MatchedPath::as_str);
    let peer = request.extensions_mut().remove::<Peer>();
    let origin = peer.and_then(|Peer(address)| app.origins.of(address, request.headers()));
    if let Some(origin) = origin {
        request.extensions_mut().insert(Origin(origin));
    }
    let entered = app.gate.enter(request.extensions().get().map(|InFlight(share)| Arc::clone(share)));
    let audited = match entered {
        Some(_) => app.admit(route, origin).and_then(|()| Ok(audited::begin(&app, &method, route, origin)?)),
        None => {
            app.metrics.limited(Limit::Requests);
            Err(busy().into())
        }
    };
    let (mut response, audited) = match audited {
        Ok(audited) => (in_time(&app, request, next).await, audited),
        Err(refusal) => (refusal.into_response(), None),
    };
    if version < Version::HTTP_2 && !app.ready.load(Ordering::Acquire) {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }

    let seen = response.extensions_mut().remove::<Seen>().unwrap_or_default();
    // RFC 4559 §4.1, where a client could have shown a ticket.
    let unproved = seen.error.as_ref().is_some_and(|error| error.code == Code::InvalidClient);
    if unproved && app.kerberos.is_some() && response.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().append(WWW_AUTHENTICATE, HeaderValue::from_static("Negotiate"));
    }
    if let Some(audited) = audited {
        audited.end(&mut response, &seen);
    }
    let failed = app.is_failure(route, &seen);
    if failed {
        app.count_failure(origin);
    }
    app.metrics.answered(app.endpoint(route), response.status().as_u16(), started.elapsed());
    let path = route.unwrap_or("(none)");
    let status = response.status().as_u16();
    let client = seen.client.as_deref();
    let origin = origin.map(tracing::field::display);
    let peer = peer.map(|Peer(address)| tracing::field::display(address));
    let micros = started.elapsed().as_micros() as u64;
    let error = seen.error.as_deref();
    let code = error.map(|error| error.code.name());
    let description = error.map(|error| &*error.description);
    let hint = error.and_then(|error| error.hint.as_deref());
    let cause = error.and_then(|error| error.cause.as_ref()).map(tracing::field::display);
    match status {
        500.. => {
            tracing::error!(%method, path, status, micros, peer, origin, client, code, description, hint, cause, "request");
        }
        400.. => {
            tracing::warn!(%method, path, status, micros, peer, origin, client, code, description, hint, "request")
        }
        _ => tracing::info!(%method, path, status, micros, peer, origin, client, "request"),
    }
    // What it had under way is over; the answer alone waits.
    drop(entered);
    if failed || status == StatusCode::TOO_MANY_REQUESTS.as_u16() {
        app.limiters.late.failed().await;
    }
    response
}

/// There is no room for a request, whoever asks.
fn busy() -> OAuthError {
    let busy = OAuthError::new(Code::TemporarilyUnavailable, "too much is under way");
    busy.hint("`http.max_requests` or `http.max_requests_per_address` is reached")
}

/// The answer, or that there is none in time.
async fn in_time(app: &App, request: Request, next: Next) -> Response {
    // Its arrival has the same bound of its own: what is cut here arrived and waited for the store.
    let answered = tokio::time::timeout(2 * app.request_timeout, next.run(request)).await;
    answered.unwrap_or_else(|_| {
        let late = OAuthError::new(Code::TemporarilyUnavailable, "the server could not answer in time");
        Refusal::from(late.hint("the store does not answer")).into_response()
    })
}
