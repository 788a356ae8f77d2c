//! The only place that knows HTTP: addresses, methods, headers, statuses.

mod answer;
mod serve;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::Guard;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE};
use hyper::{HeaderMap, Request, StatusCode};
use sealstone_jose::Algorithm;
use zeroize::Zeroizing;

use crate::client::{AuthMethod, Grant};
use crate::clock::Clock;
use crate::issuer::Issuer;
use crate::outbound::KeySets;
use crate::protocol::client_auth::{Means, Shown};
use crate::protocol::client_certificate::{self, Anchors, PeerCertificate};
use crate::protocol::token::Ground;
use crate::protocol::{Authenticated, Code, Confirmation, OAuthError, Parameters};
use crate::protocol::{client_assertion, client_auth, discovery, introspect, revoke, token};
use crate::snapshot::{Live, Snapshot};
use crate::verifiers::Verifiers;
use answer::Refusal;

pub(crate) use serve::{Limits, serve};

/// How long the store may take to answer before the server says that it is not ready.
const READY_WITHIN: Duration = Duration::from_secs(2);

/// What every request may reach.
pub(crate) struct App {
    pub(crate) anchors: Anchors,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) issuer: Issuer,
    pub(crate) key_sets: KeySets,
    pub(crate) live: Arc<Live>,
    pub(crate) max_body_bytes: usize,
    pub(crate) max_lifetime_seconds: u64,
    pub(crate) metadata: Bytes,
    pub(crate) ready: AtomicBool,
    /// How long a request may take to arrive, and then to be answered.
    pub(crate) request_timeout: Duration,
    pub(crate) verifiers: Verifiers,
}

/// The metadata document as it is served.
pub(crate) fn metadata(issuer: &Issuer, algorithms: &[Algorithm], methods: &[AuthMethod]) -> Bytes {
    discovery::metadata(issuer, algorithms, methods).to_string().into()
}

/// Every address of the server, below the issuer's path.
pub(crate) fn router(app: Arc<App>) -> Router {
    let below = |path: &str| format!("{}{path}", app.issuer.path());
    let mut router = Router::new()
        .route(&below(discovery::TOKEN), only(post(token_endpoint)))
        .route(&below(discovery::INTROSPECT), only(post(introspection_endpoint)))
        .route(&below(discovery::REVOKE), only(post(revocation_endpoint)))
        .route(&below(discovery::JWKS), only(get(jwks)))
        .route(&discovery::oauth_path(&app.issuer), only(get(metadata_document)))
        .route(&discovery::openid_path(&app.issuer), only(get(metadata_document)))
        .route("/health/live", only(get(health_live)))
        .route("/health/ready", only(get(health_ready)));
    router = router.fallback(|| async { Refusal::NotFound });
    router.layer(axum::middleware::from_fn_with_state(Arc::clone(&app), answer::observe)).with_state(app)
}

/// Every other method is refused in the form that OAuth clients read.
fn only(methods: MethodRouter<Arc<App>>) -> MethodRouter<Arc<App>> {
    methods.fallback(|| async { Refusal::Method })
}

/// RFC 6749 §3.2. Reads the snapshot, writes nothing, takes no lock, for a client that gives its secret. For one that
/// gives an assertion the store is asked once: whether it was used before.
async fn token_endpoint(State(app): State<Arc<App>>, request: Request<Body>) -> Result<Response, Refusal> {
    let form = Form::read(request, &app).await?;
    let snapshot = form.snapshot(&app.live);
    let caller = form.authenticate(&app, &snapshot).await?;
    let x5t_s256 = client_certificate::binding(caller.client(), form.certificate.as_ref());
    let x5t_s256 = x5t_s256.map_err(|error| by(&caller, error))?;
    let ground = Ground {
        confirmation: &Confirmation { x5t_s256, ..Confirmation::default() },
        issuer: &app.issuer,
        max_lifetime_seconds: app.max_lifetime_seconds,
        now: app.clock.now(),
        randomness: app.live.randomness(),
        snapshot: &snapshot,
        store: app.live.store(),
    };
    let granted =
        token::answer(&caller, &form.parameters, ground).await.map_err(|error| by(&caller, error))?;
    answer::private_json(&caller, &granted)
}

/// RFC 7662 §2.
async fn introspection_endpoint(
    State(app): State<Arc<App>>,
    request: Request<Body>,
) -> Result<Response, Refusal> {
    let form = Form::read(request, &app).await?;
    let snapshot = form.snapshot(&app.live);
    let caller = form.authenticate(&app, &snapshot).await?;
    let now = app.clock.now();
    let said = introspect::answer(&caller, &form.parameters, &snapshot, &app.issuer, now);
    answer::private_json(&caller, &said.map_err(|error| by(&caller, error))?)
}

/// RFC 7009 §2. When the answer leaves, the mark is durable and this server honours it.
async fn revocation_endpoint(
    State(app): State<Arc<App>>,
    request: Request<Body>,
) -> Result<Response, Refusal> {
    let form = Form::read(request, &app).await?;
    let snapshot = app.live.snapshot_owned();
    let caller = form.authenticate(&app, &snapshot).await?;
    let now = app.clock.now();
    let marked =
        revoke::answer(&caller, &form.parameters, &snapshot, app.live.store(), &app.issuer, now).await;
    if let Some(jti) = marked.map_err(|error| by(&caller, error))? {
        let refreshed = app.live.refresh(now).await;
        if !app.live.snapshot().revocations.contains(&jti) {
            refreshed.map_err(|cause| by(&caller, cause.into()))?;
        }
    }
    Ok(answer::empty(&caller))
}

/// RFC 7517 §5.
async fn jwks(State(app): State<Arc<App>>) -> Response {
    answer::public("application/jwk-set+json", app.live.snapshot().keys.jwks().to_owned())
}

/// RFC 8414 §3.2; OpenID Connect Discovery 1.0 §4.2.
async fn metadata_document(State(app): State<Arc<App>>) -> Response {
    answer::public("application/json", app.metadata.clone())
}

/// The process runs.
async fn health_live() -> Response {
    answer::health(StatusCode::OK, "live")
}

/// The store answers, and the server is not about to end.
async fn health_ready(State(app): State<Arc<App>>) -> Response {
    if !app.ready.load(Ordering::Acquire) {
        return answer::health(StatusCode::SERVICE_UNAVAILABLE, "shutting down");
    }
    match tokio::time::timeout(READY_WITHIN, app.live.store().versions()).await {
        Ok(Ok(_)) => answer::health(StatusCode::OK, "ready"),
        Ok(Err(cause)) => {
            tracing::error!(%cause, "not ready");
            answer::health(StatusCode::SERVICE_UNAVAILABLE, "the store fails")
        }
        Err(_) => answer::health(StatusCode::SERVICE_UNAVAILABLE, "the store does not answer"),
    }
}

fn by(caller: &Authenticated, error: OAuthError) -> Refusal {
    Refusal::OAuth { error, client: Some(caller.client().id.clone()) }
}

/// A form request: its parameters and what may authenticate it.
struct Form {
    authorization: Vec<Zeroizing<Vec<u8>>>,
    certificate: Option<Arc<PeerCertificate>>,
    parameters: Parameters,
}

impl Form {
    /// RFC 6749 §3.2 and §2.3.1: a form in the body, nothing in the address.
    async fn read(request: Request<Body>, app: &App) -> Result<Self, Refusal> {
        let (head, body) = request.into_parts();
        if head.uri.query().is_some_and(|query| !query.is_empty()) {
            return Err(OAuthError::new(Code::InvalidRequest, "parameters belong into the body").into());
        }
        check_form(&head.headers)?;
        let body = Limited::new(body, app.max_body_bytes).collect();
        let body = tokio::time::timeout(app.request_timeout, body).await.map_err(|_| Refusal::TooSlow)?;
        let body = body.map_err(|cause| match cause.downcast_ref::<LengthLimitError>() {
            Some(_) => Refusal::TooLarge,
            None => OAuthError::new(Code::InvalidRequest, "the body broke off").into(),
        })?;
        let values = head.headers.get_all(AUTHORIZATION).iter();
        let authorization = values.map(|value| Zeroizing::new(value.as_bytes().to_vec())).collect();
        let certificate = head.extensions.get::<Arc<PeerCertificate>>().cloned();
        Ok(Self { authorization, certificate, parameters: Parameters::parse(&body.to_bytes())? })
    }

    /// One atomic load; one that may be held while the store is asked, where it will be.
    fn snapshot(&self, live: &Live) -> Guard<Arc<Snapshot>> {
        let at_once = |grant| [None, Some(Grant::ClientCredentials.name())].contains(&grant);
        // By a secret, that is: for everything else a signature, a document or the store may have to be waited for.
        let secret = !self.authorization.is_empty() || self.parameters.value("client_secret").is_some();
        match self.parameters.value(client_assertion::ASSERTION) {
            None if secret && at_once(self.parameters.value("grant_type")) => live.snapshot(),
            _ => Guard::from_inner(live.snapshot_owned()),
        }
    }

    async fn authenticate(&self, app: &App, snapshot: &Snapshot) -> Result<Authenticated, OAuthError> {
        let headers: Vec<&[u8]> = self.authorization.iter().map(|value| value.as_slice()).collect();
        let now = app.clock.now();
        let certificate = self.certificate.as_ref();
        let shown = Shown { authorization: &headers, certificate, parameters: &self.parameters };
        let means = Means {
            anchors: &app.anchors,
            clients: &snapshot.clients,
            issuer: &app.issuer,
            key_sets: &app.key_sets,
            now,
            sealer: app.live.sealer(),
            verifiers: &app.verifiers,
        };
        let proof = client_auth::authenticate(shown, means).await?;
        proof.complete(app.live.store(), now).await
    }
}

/// The content is a form, and not a compressed one.
fn check_form(headers: &HeaderMap) -> Result<(), OAuthError> {
    let invalid = |what| Err(OAuthError::new(Code::InvalidRequest, what));
    if headers.contains_key(CONTENT_ENCODING) {
        return invalid("compressed bodies are not read");
    }
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (types.next(), types.next()) else {
        return invalid("the content type must be given once");
    };
    let essence = value.to_str().ok().and_then(|text| text.split(';').next()).unwrap_or_default();
    match essence.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        true => Ok(()),
        false => invalid("the content type must be application/x-www-form-urlencoded"),
    }
}
