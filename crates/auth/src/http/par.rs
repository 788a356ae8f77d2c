//! The pushed authorization request endpoint, RFC 9126 §2, as clients meet it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use hyper::{Request, StatusCode};

use super::answer::{self, Refusal};
use super::{App, DPOP, DPOP_NONCE, Form, by};
use crate::protocol::{Confirmation, discovery, par};

/// Who asks is found out as at the token endpoint. An answer to a DPoP proof brings the newest nonce.
pub(super) async fn endpoint(State(app): State<Arc<App>>, request: Request<Body>) -> Response {
    let proved = request.headers().contains_key(DPOP);
    let mut response = push(&app, request).await.into_response();
    if proved && let Ok(Some(nonce)) = app.dpop.nonce(app.clock.now(), app.live.randomness()) {
        answer::add(&mut response, DPOP_NONCE, &nonce);
    }
    response
}

/// An assertion is used up last, so that it can be sent again with a proof that has a nonce. No certificate is
/// demanded here, even of a client whose tokens are bound to one: what a code is bound to is said by `dpop_jkt`.
async fn push(app: &App, request: Request<Body>) -> Result<Response, Refusal> {
    let form = Form::read(request, app).await?;
    let snapshot = app.live.snapshot_owned();
    let proof = form.prove(app, &snapshot).await?;
    let jkt = form.jkt(app, proof.client(), discovery::PAR).await;
    let jkt = jkt.map_err(|error| Refusal::OAuth { error, client: Some(proof.client().id.clone()) })?;
    let caller = proof.complete(app.live.store(), app.clock.now()).await?;
    let bearer = Confirmation::default();
    let (ground, key) = (app.ground(&snapshot, &bearer), &app.live.flow_keys().sign_in);
    let (jkt, lifetime) = (jkt.as_deref(), app.par_lifetime_seconds);
    let pushed = par::push(&caller, &form.parameters, jkt, lifetime, key, app.means(&snapshot), ground).await;
    let mut response = answer::private_json(&caller, &pushed.map_err(|error| by(&caller, error))?)?;
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}
