//! The userinfo endpoint as a client meets it: a protected resource.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use hyper::{Method, Request};

use super::answer::{self, Refusal};
use super::resource::{Resource, Shown};
use super::{App, read_form};
use crate::protocol::{discovery, userinfo};

/// OpenID Connect Core §5.3.1: by GET or by POST, with the token in the header or, by POST, in the form; RFC 6750 §2:
/// not in both, and never in the address.
pub(super) async fn endpoint(State(app): State<Arc<App>>, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let shown = Shown::by(&head);
    let resource = Resource { scopes: &["openid"], url: app.issuer.endpoint(discovery::USERINFO) };
    let answered = claims(&app, &shown, &resource, Request::from_parts(head, body)).await;
    shown.answer(&app, &resource, answered)
}

async fn claims(
    app: &App,
    shown: &Shown,
    resource: &Resource,
    request: Request<Body>,
) -> Result<Response, Refusal> {
    let form = match request.method() == Method::POST && !shown.has_token() {
        true => Some(read_form(request, app).await?.parameters),
        false => None,
    };
    let posted = form.as_ref().and_then(|form| form.value("access_token"));
    let snapshot = app.live.snapshot_owned();
    let token = shown.open(app, &snapshot, resource, posted).await?;
    let client = token.client_id().to_owned();
    let by = |error| Refusal::OAuth { error, client: Some(client.clone()) };
    let claims = userinfo::answer(&token, app.live.store(), app.clock.now()).await.map_err(by)?;
    let registered = snapshot.clients.by_id(&client);
    match registered.and_then(|known| Some((known, known.code_flow.userinfo_signed_response_alg?))) {
        None => answer::json_for(&client, &claims),
        Some((known, algorithm)) => {
            let signed =
                userinfo::sign(&claims, known, algorithm, &snapshot, &app.issuer, &app.signers).await;
            let signed = signed.map_err(by)?;
            Ok(answer::jwt_for(&client, signed))
        }
    }
}
