//! The end-session endpoint as a browser meets it, OpenID Connect RP-Initiated Logout 1.0 §2.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use hyper::{HeaderMap, Method, Request, StatusCode};

use super::answer::{Refusal, noted};
use super::authorize::{name_of, query_of};
use super::forms::{Cookie, check_form_token, form_token};
use super::pages::{self, Failure, Logout};
use super::people::{denied, end, failed, left, see_other, session_of, signed_out};
use super::{App, audited, read_form};
use crate::people::Session;
use crate::protocol::discovery::END_SESSION;
use crate::protocol::end_session::{Next, Request as Asked};
use crate::protocol::{OAuthError, Parameters};

/// By GET; by POST with a client's form, which becomes a GET, because a browser sends no cookie of ours with it; or by
/// POST with our own form, on which the person has agreed.
pub(super) async fn endpoint(State(app): State<Arc<App>>, request: Request<Body>) -> Response {
    answered(&app, request).await.unwrap_or_else(refused)
}

async fn answered(app: &App, request: Request<Body>) -> Result<Response, Refusal> {
    let headers = request.headers().clone();
    if request.method() != Method::POST {
        let query = request.uri().query().unwrap_or_default();
        return go_on(app, &headers, query).await;
    }
    let form = read_form(request, app).await?.parameters;
    let Some(token) = form.value("form_token") else {
        return Ok(see_other(&format!("{}?{}", app.issuer.endpoint(END_SESSION), query_of(&form, &[]))));
    };
    let query = form.value("continue_query").unwrap_or_default();
    let asked = read(app, query)?;
    let Some(session) = session_of(app, &headers).await.map_err(OAuthError::from)? else {
        return Ok(done(app, &asked, true));
    };
    // Not this person's answer to this very question: it is asked again.
    if let Err(hint) = check_form_token(app, &headers, &purpose(&session, query), Some(token)) {
        return Ok(noted(ask(app, &headers, &asked, &session, query), denied(hint)));
    }
    sign_out(app, &headers, &asked, &session, true).await
}

/// One step: a page, the end of the session, or on to the client.
async fn go_on(app: &App, headers: &HeaderMap, query: &str) -> Result<Response, Refusal> {
    let asked = read(app, query)?;
    let session = session_of(app, headers).await.map_err(OAuthError::from)?;
    match (asked.next(session.as_ref()), session) {
        (Next::SignOut, Some(session)) => sign_out(app, headers, &asked, &session, false).await,
        (Next::Ask, Some(session)) => Ok(ask(app, headers, &asked, &session, query)),
        (_, _) => Ok(done(app, &asked, false)),
    }
}

fn read(app: &App, query: &str) -> Result<Asked, OAuthError> {
    let parameters = Parameters::parse(query.as_bytes())?;
    Asked::read(&parameters, &app.live.snapshot(), &app.issuer, app.clock.now())
}

async fn sign_out(
    app: &App,
    headers: &HeaderMap,
    asked: &Asked,
    session: &Session,
    agreed: bool,
) -> Result<Response, Refusal> {
    end(app, headers).await.map_err(OAuthError::from)?;
    let mut response = done(app, asked, agreed);
    audited::tell(&mut response, left(app, session));
    Ok(response)
}

/// The session is over: back to the client where it may be, or a page.
fn done(app: &App, asked: &Asked, agreed: bool) -> Response {
    let Some(location) = asked.location(agreed) else { return signed_out(&app.issuer) };
    let mut response = see_other(location);
    Cookie::Session.clear(&app.issuer, &mut response);
    Cookie::Form.clear(&app.issuer, &mut response);
    response
}

fn ask(app: &App, headers: &HeaderMap, asked: &Asked, session: &Session, query: &str) -> Response {
    let token = match form_token(app, headers, &purpose(session, query)) {
        Ok(token) => token,
        Err(cause) => return failed(cause),
    };
    let mut response = pages::logout(&Logout {
        action: END_SESSION.trim_start_matches('/'),
        client_name: asked.client().map_or("", name_of),
        continue_query: query,
        username: &session.username,
        form_token: token.text(),
    });
    token.set_on(&app.issuer, &mut response);
    response
}

/// What the form's token stands for: one session, and one request.
fn purpose(session: &Session, query: &str) -> String {
    format!("end_session {} {query}", session.sid)
}

/// For a person: what is wrong, and nothing that the request said.
fn refused(refusal: Refusal) -> Response {
    let status = match refusal.status() {
        StatusCode::UNAUTHORIZED => StatusCode::BAD_REQUEST,
        other => other,
    };
    let (error, _) = refusal.into_oauth();
    let description = format!(
        "The application sent something that cannot be accepted: {}. Nothing was changed.",
        error.description
    );
    noted(
        pages::error(status, &Failure { title: "You were not signed out", description: &description }),
        error,
    )
}
