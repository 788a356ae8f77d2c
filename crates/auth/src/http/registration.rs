//! Dynamic client registration, RFC 7591, and its management, RFC 7592.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Request, StatusCode};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::answer::{self, Refusal};
use super::resource::{Resource, Shown, bearer};
use super::{App, read_json};
use crate::client::{Client, ClientSecret};
use crate::protocol::registration::{self, Change, REGISTER_SCOPE};
use crate::protocol::{Code, OAuthError, discovery};

/// RFC 7591 §3.1: open, or with an initial access token, as the configuration says.
pub(super) async fn register(State(app): State<Arc<App>>, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let shown = Shown::by(&head);
    let resource = Resource { scopes: &[REGISTER_SCOPE], url: app.issuer.endpoint(discovery::REGISTER) };
    let answered = registered(&app, &shown, &resource, &head, body).await;
    shown.answer(&app, &resource, answered)
}

async fn registered(
    app: &App,
    shown: &Shown,
    resource: &Resource,
    head: &Parts,
    body: Body,
) -> Result<Response, Refusal> {
    let snapshot = app.live.snapshot_owned();
    // Who must bring a token is asked for it before the body is read.
    if !app.registration.open || shown.has_token() {
        shown.open(app, &snapshot, resource, None).await?;
    }
    let body = read_json(&head.headers, body, app).await?;
    let made = registration::register(&app.registration, &app.admin, &snapshot.clients, &body).await?;
    let refreshed = app.live.refresh(app.clock.now()).await;
    refreshed.map_err(OAuthError::from)?;
    let information = information(app, &made.client, made.secret.as_ref(), &made.token);
    answer::json_with(StatusCode::CREATED, &made.client.id, &information)
}

/// RFC 7592 §2.1.
pub(super) async fn read(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Response {
    let (head, _) = request.into_parts();
    managed(
        held(&app, &head.headers, &id).and_then(|(client, token)| {
            answer::json_for(&client.id, &information(&app, &client, None, &token))
        }),
    )
}

/// RFC 7592 §2.2.
pub(super) async fn update(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Response {
    let (head, body) = request.into_parts();
    managed(updated(&app, &head, body, &id).await)
}

async fn updated(app: &App, head: &Parts, body: Body, id: &str) -> Result<Response, Refusal> {
    let (client, token) = held(app, &head.headers, id)?;
    let body = read_json(&head.headers, body, app).await?;
    let Change { client, secret } =
        registration::update(&app.registration, &app.admin, &client, &body).await?;
    app.live.refresh(app.clock.now()).await.map_err(OAuthError::from)?;
    answer::json_for(&client.id, &information(app, &client, secret.as_ref(), &token))
}

/// RFC 7592 §2.3: the client is gone, and what it was given holds no more.
pub(super) async fn remove(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Response {
    let (head, _) = request.into_parts();
    managed(removed(&app, &head.headers, &id).await)
}

async fn removed(app: &App, headers: &HeaderMap, id: &str) -> Result<Response, Refusal> {
    let (client, _) = held(app, headers, id)?;
    registration::remove(&app.admin, &client).await?;
    app.live.refresh(app.clock.now()).await.map_err(OAuthError::from)?;
    Ok(answer::nothing(&client.id))
}

/// Who holds the registration access token of a client may manage it. Without one, nobody learns whether there is
/// such a client (RFC 7592 §2.1).
fn held(app: &App, headers: &HeaderMap, id: &str) -> Result<(Arc<Client>, Zeroizing<String>), Refusal> {
    let invalid = || OAuthError::new(Code::InvalidToken, "the registration access token does not hold");
    let token = Zeroizing::new(bearer(headers).ok_or_else(invalid)?.to_owned());
    let snapshot = app.live.snapshot_owned();
    let client = snapshot.clients.by_id(id).filter(|client| client.is_managed_with(&token));
    Ok((Arc::clone(client.ok_or_else(invalid)?), token))
}

fn managed(answered: Result<Response, Refusal>) -> Response {
    answered.unwrap_or_else(|refusal| answer::of_a_resource(refusal, REGISTER_SCOPE))
}

/// RFC 7591 §3.2.1. A secret is shown when it is drawn, and never again.
fn information(app: &App, client: &Client, secret: Option<&ClientSecret>, token: &str) -> Value {
    let mut all = client.metadata();
    let place = format!("{}/{}", app.issuer.endpoint(discovery::REGISTER), client.id);
    all.insert("registration_client_uri".into(), place.into());
    all.insert("registration_access_token".into(), token.into());
    if let Some(secret) = secret {
        all.insert("client_secret".into(), secret.reveal().into());
        all.insert("client_secret_expires_at".into(), json!(0));
    }
    Value::Object(all)
}
