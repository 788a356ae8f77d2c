//! The only place that knows HTTP: addresses, methods, headers, statuses.

mod accept;
mod admin;
mod answer;
mod audited;
mod authorize;
mod device;
mod end_session;
mod forms;
mod gate;
mod late;
mod limited;
pub(crate) mod measured;
mod origin;
mod pages;
mod par;
mod passkeys;
mod people;
mod registration;
mod resource;
mod serve;
mod userinfo;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::Guard;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderName};
use hyper::{HeaderMap, Request, StatusCode};
use zeroize::Zeroizing;

use crate::admin::Admin;
use crate::audit::{Audit, What};
use crate::client::{Client, Grant};
use crate::clock::Clock;
use crate::config;
use crate::issuer::Issuer;
use crate::kerberos::Acceptor;
use crate::metrics::Metrics;
use crate::outbound::KeySets;
use crate::people::People;
use crate::protocol::client_auth::{Means, Proof, Shown};
use crate::protocol::client_certificate::{self, Anchors, PeerCertificate};
use crate::protocol::dpop::{self, Dpop};
use crate::protocol::token::Ground;
use crate::protocol::{Authenticated, Code, Confirmation, OAuthError, Parameters};
use crate::protocol::{client_assertion, client_auth, client_kerberos, discovery, introspect, revoke, token};
use crate::signers::Signers;
use crate::snapshot::{Live, Snapshot};
use crate::verifiers::Verifiers;
use answer::Refusal;
use audited::Asked;

pub(crate) use gate::Gate;
pub(crate) use limited::Limiters;
pub(crate) use origin::Origins;
#[allow(unreachable_pub, reason = "`config` hands them on")]
pub use origin::{Block, ProxyHeader};
pub(crate) use serve::{Limits, serve};

/// RFC 9449 §4.1.
const DPOP: HeaderName = HeaderName::from_static("dpop");
/// RFC 9449 §8.1.
const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// How long the store may take to answer before the server says that it is not ready.
const READY_WITHIN: Duration = Duration::from_secs(2);

/// What every request may reach.
pub(crate) struct App {
    pub(crate) admin: Admin,
    /// Whether the admin API is there.
    pub(crate) admin_api: bool,
    pub(crate) anchors: Anchors,
    /// Where decisions are written down, if they are.
    pub(crate) audit: Option<Arc<Audit>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) device: config::Device,
    pub(crate) dpop: Dpop,
    pub(crate) issuer: Issuer,
    /// Accepts Kerberos tickets, where they are accepted.
    pub(crate) kerberos: Option<Acceptor>,
    pub(crate) key_sets: KeySets,
    /// What may be under way at once.
    pub(crate) gate: Arc<Gate>,
    pub(crate) limiters: Limiters,
    pub(crate) live: Arc<Live>,
    pub(crate) max_body_bytes: usize,
    pub(crate) max_lifetime_seconds: u64,
    pub(crate) metadata: Bytes,
    pub(crate) metrics: Arc<Metrics>,
    /// Who is believed about where a request comes from.
    pub(crate) origins: Origins,
    /// How long a pushed request may be opened.
    pub(crate) par_lifetime_seconds: u64,
    pub(crate) people: People,
    pub(crate) ready: AtomicBool,
    /// When the store was last looked at for what others changed.
    pub(crate) refreshed_at: AtomicU64,
    pub(crate) registration: config::Registration,
    /// How long a request may take to arrive, and then to be answered.
    pub(crate) request_timeout: Duration,
    pub(crate) signers: Signers,
    pub(crate) verifiers: Verifiers,
}

impl App {
    /// What clients' proofs and signatures are checked with, now.
    fn means<'a>(&'a self, snapshot: &'a Snapshot) -> Means<'a> {
        Means {
            anchors: &self.anchors,
            clients: &snapshot.clients,
            issuer: &self.issuer,
            kerberos: self.kerberos.as_ref(),
            key_sets: &self.key_sets,
            now: self.clock.now(),
            randomness: self.live.randomness(),
            sealer: self.live.sealer(),
            verifiers: &self.verifiers,
        }
    }

    /// What a flow stands on, now.
    fn ground<'a>(&'a self, snapshot: &'a Snapshot, confirmation: &'a Confirmation) -> Ground<'a> {
        Ground {
            confirmation,
            issuer: &self.issuer,
            max_lifetime_seconds: self.max_lifetime_seconds,
            now: self.clock.now(),
            pairwise_key: &self.live.flow_keys().pairwise,
            randomness: self.live.randomness(),
            refresh_key: &self.live.flow_keys().refresh,
            signers: &self.signers,
            snapshot,
            store: self.live.store(),
        }
    }
}

/// The metadata document as it is served.
pub(crate) fn metadata(issuer: &Issuer, config: &config::Config) -> Bytes {
    let mut all = discovery::metadata(issuer, &config.tokens.algorithms, &config.auth_methods());
    if config.registration.enabled {
        all["registration_endpoint"] = issuer.endpoint(discovery::REGISTER).into();
    }
    all.to_string().into()
}

/// Every address of the server, below the issuer's path.
pub(crate) fn router(app: Arc<App>) -> Router {
    let below = |path: &str| format!("{}{path}", app.issuer.path());
    let mut router = Router::new()
        .route(&below(discovery::TOKEN), only(post(token_endpoint)))
        .route(&below(discovery::PAR), only(post(par::endpoint)))
        .route(&below(discovery::INTROSPECT), only(post(introspection_endpoint)))
        .route(&below(discovery::REVOKE), only(post(revocation_endpoint)))
        .route(&below(discovery::AUTHORIZE), only(get(authorize::endpoint).post(authorize::endpoint)))
        .route(&below(discovery::CONSENT), only(post(authorize::consent)))
        .route(&below(discovery::USERINFO), only(get(userinfo::endpoint).post(userinfo::endpoint)))
        .route(&below(discovery::END_SESSION), only(get(end_session::endpoint).post(end_session::endpoint)))
        .route(&below(discovery::JWKS), only(get(jwks)))
        .route(&discovery::oauth_path(&app.issuer), only(get(metadata_document)))
        .route(&discovery::openid_path(&app.issuer), only(get(metadata_document)))
        .route("/health/live", only(get(health_live)))
        .route("/health/ready", only(get(health_ready)));
    if app.admin_api {
        router = admin::routes(router, below);
    }
    if app.registration.enabled {
        let one = get(registration::read).put(registration::update).delete(registration::remove);
        router = router
            .route(&below(discovery::REGISTER), only(post(registration::register)))
            .route(&below("/register/{id}"), only(one));
    }
    router = people::routes(router, below);
    router = device::routes(router, below);
    router = router.fallback(|| async { Refusal::NotFound });
    router.layer(axum::middleware::from_fn_with_state(Arc::clone(&app), answer::observe)).with_state(app)
}

/// Every other method is refused in the form that OAuth clients read.
fn only(methods: MethodRouter<Arc<App>>) -> MethodRouter<Arc<App>> {
    methods.fallback(|| async { Refusal::Method })
}

/// RFC 6749 §3.2. An answer to a DPoP proof brings the newest nonce, so that the client has it before its own ends:
/// RFC 9449 §8.
async fn token_endpoint(State(app): State<Arc<App>>, request: Request<Body>) -> Response {
    let proved = request.headers().contains_key(DPOP);
    let mut asked = Asked::default();
    let mut response = token_response(&app, request, &mut asked).await.into_response();
    response.extensions_mut().insert(asked);
    if proved && let Ok(Some(nonce)) = app.dpop.nonce(app.clock.now(), app.live.randomness()) {
        answer::add(&mut response, DPOP_NONCE, &nonce);
    }
    response
}

/// Reads the snapshot, writes nothing, takes no lock, for a client that gives its secret. For one that gives an
/// assertion the store is asked once: whether it was used before. That is asked last, so that an assertion whose DPoP
/// proof needs a nonce can be sent again with one.
async fn token_response(app: &App, request: Request<Body>, asked: &mut Asked) -> Result<Response, Refusal> {
    let form = Form::read(request, app).await?;
    let grant = form.parameters.value("grant_type");
    asked.grant = Grant::ALL.into_iter().find(|known| Some(known.name()) == grant);
    let snapshot = form.snapshot(&app.live);
    let proof = form.prove(app, &snapshot).await?;
    let x5t_s256 = client_certificate::binding(proof.client(), form.certificate.as_ref())?;
    let jkt = form.jkt(app, proof.client(), discovery::TOKEN).await;
    let jkt = jkt.map_err(|error| Refusal::OAuth { error, client: Some(proof.client().id.clone()) })?;
    let confirmation = Confirmation { jkt, x5t_s256 };
    let caller = proof.complete(app.live.store(), app.clock.now()).await?;
    let ground = app.ground(&snapshot, &confirmation);
    let granted =
        token::answer(&caller, &form.parameters, ground).await.map_err(|error| by(&caller, error))?;
    let body = granted.json().map_err(|cause| by(&caller, cause.into()))?;
    let mut response = answer::private(&caller, "application/json", body);
    app.metrics.issued(asked.grant, caller.client().algorithm);
    if app.audit.is_some() {
        audited::tell(&mut response, audited::issued(app, caller.client(), &granted, *asked));
    }
    Ok(response)
}

/// RFC 7662 §2; RFC 9701 §4 and §5 for who would rather have a JWT.
async fn introspection_endpoint(
    State(app): State<Arc<App>>,
    request: Request<Body>,
) -> Result<Response, Refusal> {
    let as_jwt = accept::prefers(request.headers(), introspect::MEDIA_TYPE);
    let form = Form::read(request, &app).await?;
    let snapshot = form.snapshot(&app.live);
    let caller = form.authenticate(&app, &snapshot).await?;
    let bearer = Confirmation::default();
    let ground = app.ground(&snapshot, &bearer);
    let said = introspect::answer(&caller, &form.parameters, ground).await;
    let said = said.map_err(|error| by(&caller, error))?;
    if as_jwt {
        let signed = introspect::signed(&caller, said, ground).map_err(|error| by(&caller, error))?;
        return Ok(answer::private(&caller, introspect::MEDIA_TYPE, signed));
    }
    answer::private_json(&caller, &said)
}

/// RFC 7009 §2. When the answer leaves, the mark is durable and this server honours it.
async fn revocation_endpoint(
    State(app): State<Arc<App>>,
    request: Request<Body>,
) -> Result<Response, Refusal> {
    let form = Form::read(request, &app).await?;
    let snapshot = app.live.snapshot_owned();
    let caller = form.authenticate(&app, &snapshot).await?;
    let bearer = Confirmation::default();
    let ground = app.ground(&snapshot, &bearer);
    let marked = revoke::answer(&caller, &form.parameters, ground).await;
    let mut response = answer::empty(&caller);
    if let Some(mark) = marked.map_err(|error| by(&caller, error))? {
        let revoked = audited::event(&app, What::TokenRevoked).with("client", &caller.client().id);
        audited::tell(&mut response, revoked.with("mark", &mark));
        let refreshed = app.live.refresh(ground.now).await;
        if !app.live.snapshot().revocations.contains(&mark) {
            refreshed.map_err(|cause| by(&caller, cause.into()))?;
        }
    }
    Ok(response)
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
    /// The DPoP headers.
    proofs: Vec<Vec<u8>>,
    certificate: Option<Arc<PeerCertificate>>,
    parameters: Parameters,
}

impl Form {
    /// RFC 6749 §3.2 and §2.3.1: a form in the body, nothing in the address.
    async fn read(request: Request<Body>, app: &App) -> Result<Self, Refusal> {
        if request.uri().query().is_some_and(|query| !query.is_empty()) {
            return Err(OAuthError::new(Code::InvalidRequest, "parameters belong into the body").into());
        }
        read_form(request, app).await
    }

    /// One atomic load; one that may be held while the store is asked, where it will be.
    fn snapshot(&self, live: &Live) -> Guard<Arc<Snapshot>> {
        let at_once = |grant| [None, Some(Grant::ClientCredentials.name())].contains(&grant);
        // By a secret, that is: for everything else a signature, a document or the store may have to be waited for.
        let by_secret = |header: &Zeroizing<Vec<u8>>| client_kerberos::token(header).is_none();
        let secret =
            self.authorization.iter().any(by_secret) || self.parameters.value("client_secret").is_some();
        match self.parameters.value(client_assertion::ASSERTION) {
            None if secret && self.proofs.is_empty() && at_once(self.parameters.value("grant_type")) => {
                live.snapshot()
            }
            _ => Guard::from_inner(live.snapshot_owned()),
        }
    }

    async fn authenticate(&self, app: &App, snapshot: &Snapshot) -> Result<Authenticated, Refusal> {
        Ok(self.prove(app, snapshot).await?.complete(app.live.store(), app.clock.now()).await?)
    }

    /// Who asks, before anything is used up.
    async fn prove(&self, app: &App, snapshot: &Snapshot) -> Result<Proof, Refusal> {
        let headers: Vec<&[u8]> = self.authorization.iter().map(|value| value.as_slice()).collect();
        let certificate = self.certificate.as_ref();
        let shown = Shown { authorization: &headers, certificate, parameters: &self.parameters };
        let proof = client_auth::authenticate(shown, app.means(snapshot)).await?;
        app.admit_client(&proof.client().id)?;
        Ok(proof)
    }

    /// The thumbprint of the key that a request to `endpoint` shows to hold, RFC 9449 §5 and §10.1.
    async fn jkt(&self, app: &App, client: &Client, endpoint: &str) -> Result<Option<String>, OAuthError> {
        let proofs: Vec<&[u8]> = self.proofs.iter().map(Vec::as_slice).collect();
        dpop::check_profile(client, &proofs)?;
        let request = dpop::Request {
            client: &client.id,
            method: "POST",
            proofs: &proofs,
            token: None,
            url: &app.issuer.endpoint(endpoint),
        };
        app.dpop.check(request, app.live.store(), app.live.randomness(), app.clock.now()).await
    }
}

/// A form in the body, whatever the address says.
async fn read_form(request: Request<Body>, app: &App) -> Result<Form, Refusal> {
    let (head, body) = request.into_parts();
    check_form(&head.headers)?;
    let body = read_body(body, app).await?;
    let values = head.headers.get_all(AUTHORIZATION).iter();
    let authorization = values.map(|value| Zeroizing::new(value.as_bytes().to_vec())).collect();
    let proofs = head.headers.get_all(DPOP).iter().map(|value| value.as_bytes().to_vec()).collect();
    let certificate = head.extensions.get::<Arc<PeerCertificate>>().cloned();
    Ok(Form { authorization, certificate, proofs, parameters: Parameters::parse(&body)? })
}

/// A JSON body, whose type says that it is one.
async fn read_json(headers: &HeaderMap, body: Body, app: &App) -> Result<Vec<u8>, Refusal> {
    let is_json = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(|text| {
        text.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
    });
    match is_json {
        true => read_body(body, app).await.map(|bytes| bytes.to_vec()),
        false => {
            Err(OAuthError::new(Code::InvalidRequest, "the content type must be application/json").into())
        }
    }
}

/// A body within the bounds of size and time.
async fn read_body(body: Body, app: &App) -> Result<Bytes, Refusal> {
    let body = Limited::new(body, app.max_body_bytes).collect();
    let body = tokio::time::timeout(app.request_timeout, body).await.map_err(|_| Refusal::TooSlow)?;
    let body = body.map_err(|cause| match cause.downcast_ref::<LengthLimitError>() {
        Some(_) => Refusal::TooLarge,
        None => OAuthError::new(Code::InvalidRequest, "the body broke off").into(),
    })?;
    Ok(body.to_bytes())
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
