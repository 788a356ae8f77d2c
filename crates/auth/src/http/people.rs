//! Signing in and out: `/login`, `/logout`, the passkeys' addresses, and the files that pages load.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use hyper::header::{LOCATION, RETRY_AFTER};
use hyper::http::HeaderValue;
use hyper::{HeaderMap, Request, StatusCode};

use super::answer::{Refusal, noted};
use super::device;
use super::forms::{Cookie, check_form_token, form_token};
use super::pages::{self, AskPasskey, Asset, Failure, Login, Logout, Notice, SignedIn as SignedInPage};
use super::passkeys;
use super::serve::Origin;
use super::{App, Form, audited, only};
use crate::Error;
use crate::audit::{Event, What};
use crate::issuer::Issuer;
use crate::people::login::{Attempt, Outcome, SignedIn, attempt};
use crate::people::throttle::Held;
use crate::people::{Password, Session, session};
use crate::protocol::{Code, OAuthError, Parameters, session_clients};

/// The purpose of the login form's token.
pub(crate) const LOGIN: &str = "login";
/// The purpose of the logout form's token.
pub(crate) const LOGOUT: &str = "logout";

/// Adds the addresses of this file.
pub(super) fn routes(router: Router<Arc<App>>, below: impl Fn(&str) -> String) -> Router<Arc<App>> {
    router
        .route(&below("/login"), only(get(show_login).post(post_login)))
        .route(&below("/logout"), only(get(show_logout).post(post_logout)))
        .route(&below("/passkey"), only(post(passkeys::sign_in)))
        .route(&below("/passkeys"), only(get(passkeys::show).post(passkeys::change)))
        .route(&below("/assets/{name}"), only(get(asset)))
}

/// The session of a request's browser, if it holds now.
/// Errors: `Store`.
pub(crate) async fn session_of(app: &App, headers: &HeaderMap) -> Result<Option<Session>, Error> {
    match Cookie::Session.read(headers, &app.issuer) {
        Some(secret) => session::find(app.live.store(), &secret, app.clock.now()).await,
        None => Ok(None),
    }
}

/// The login page for the request in the query, or who is signed in, if there is none.
async fn show_login(State(app): State<Arc<App>>, request: Request<Body>) -> Response {
    let query = request.uri().query().unwrap_or_default();
    let headers = request.headers();
    if query.is_empty() {
        match session_of(&app, headers).await {
            Ok(Some(session)) => {
                return pages::signed_in(&SignedInPage {
                    username: &session.username,
                    passkeys: app.people.party.is_some(),
                });
            }
            Ok(None) => {}
            Err(cause) => return failed(cause),
        }
    }
    match continuable(query) {
        true => login_page(&app, headers, None, None, query),
        false => unreadable(OAuthError::new(Code::InvalidRequest, "the query cannot be read")),
    }
}

/// A username and a password. Signed in: on to the authorization endpoint of ours, with the query that was asked for.
async fn post_login(State(app): State<Arc<App>>, request: Request<Body>) -> Response {
    let origin = request.extensions().get::<Origin>().copied();
    let headers = request.headers().clone();
    let form = match Form::read(request, &app).await {
        Ok(form) => form.parameters,
        Err(refusal) => return refused(refusal),
    };
    let query = form.value("continue_query").unwrap_or_default();
    if !continuable(query) {
        return unreadable_query();
    }
    let username = form.value("username");
    let again = |why: &str| login_page(&app, &headers, username, Some(why), query);
    if let Err(hint) = check_form_token(&app, &headers, LOGIN, form.value("form_token")) {
        return noted(again(EXPIRED), denied(hint));
    }
    let (Some(username), Some(password)) = (username, form.value("password")) else {
        return noted(again("Please enter your username and your password."), denied("nothing was typed"));
    };
    let (now, password) = (app.clock.now(), Password::typed(password));
    let browser = Cookie::Known.read(&headers, &app.issuer);
    let attempted = Attempt {
        address: origin.map(|Origin(address)| address),
        browser: browser.as_ref().map(|cookie| cookie.as_str()),
        password: &password,
        username,
    };
    match attempt(&app.people, attempted, app.live.store(), now, app.live.randomness()).await {
        Ok(Outcome::In(signed_in)) => enter(&app, &headers, &signed_in, query).await,
        Ok(Outcome::Refused { hint }) => noted(again(WRONG), denied(&hint)),
        Ok(Outcome::Held(held)) => hold(&app, again(&patience(held)), held),
        Ok(Outcome::Busy) => busy(),
        Err(cause) => failed(cause),
    }
}

/// A form that is not this browser's.
pub(super) const EXPIRED: &str = "This page was open for too long, or in another window. Please try again.";

/// The same for every reason: nobody learns which usernames there are.
const WRONG: &str = "The username or the password is not right.";

/// Sets the cookies and goes on. What the browser held before ends: it is replaced, not continued.
pub(super) async fn enter(app: &App, headers: &HeaderMap, signed_in: &SignedIn, query: &str) -> Response {
    if let Err(cause) = replace(app, headers, signed_in).await {
        return failed(cause);
    }
    let mut response = match query {
        "" => see_other(&app.issuer.endpoint("/login")),
        query => see_other(&format!("{}?{query}", app.issuer.endpoint(device::after_login(query)))),
    };
    Cookie::Session.set(&signed_in.secret, &app.issuer, &mut response);
    Cookie::Known.set(&signed_in.browser, &app.issuer, &mut response);
    // Forms from before belong to nobody any more.
    Cookie::Form.clear(&app.issuer, &mut response);
    let Session { amr, sub, username, .. } = &signed_in.session;
    let entered = audited::event(app, What::SignInSucceeded).with("user", username).with("sub", sub);
    audited::tell(&mut response, entered.with("amr", &amr.join(" ")));
    response
}

/// Asks first: a link alone signs nobody out.
async fn show_logout(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    match session_of(&app, &headers).await {
        Ok(Some(session)) => logout_page(&app, &headers, &session),
        Ok(None) => signed_out(&app.issuer),
        Err(cause) => failed(cause),
    }
}

/// Ends the session of this browser.
async fn post_logout(State(app): State<Arc<App>>, request: Request<Body>) -> Response {
    let headers = request.headers().clone();
    let form = match Form::read(request, &app).await {
        Ok(form) => form.parameters,
        Err(refusal) => return refused(refusal),
    };
    let session = match session_of(&app, &headers).await {
        Ok(Some(session)) => session,
        Ok(None) => return signed_out(&app.issuer),
        Err(cause) => return failed(cause),
    };
    if let Err(hint) = check_form_token(&app, &headers, LOGOUT, form.value("form_token")) {
        return noted(
            with_status(StatusCode::FORBIDDEN, logout_page(&app, &headers, &session)),
            denied(hint),
        );
    }
    match end(&app, &headers).await {
        Ok(()) => {
            let mut response = signed_out(&app.issuer);
            audited::tell(&mut response, left(&app, &session));
            response
        }
        Err(cause) => failed(cause),
    }
}

/// Somebody has signed out.
pub(super) fn left(app: &App, session: &Session) -> Event {
    audited::event(app, What::SignOut).with("user", &session.username).with("sub", &session.sub)
}

/// Ends the session of this browser, for its clients first: who is signed out and has not told them would not come back
/// to do it.
/// Errors: `Store`; the session may then still hold.
pub(super) async fn end(app: &App, headers: &HeaderMap) -> Result<(), Error> {
    let Some(secret) = Cookie::Session.read(headers, &app.issuer) else { return Ok(()) };
    let (store, now) = (app.live.store(), app.clock.now());
    if let Some(session) = session::find(store, &secret, now).await? {
        session_clients::end(&session.sid, &session.sub, app.max_lifetime_seconds, store, now).await?;
    }
    session::end(store, &secret, now).await?;
    // This server honours the marks at once, the others at their next poll, and it too where this fails.
    if let Err(cause) = app.live.refresh(now).await {
        tracing::error!(%cause, "what a session's end revokes is noticed later");
    }
    Ok(())
}

/// What the browser held before: the same person goes on with the clients of before, anybody else is signed out.
async fn replace(app: &App, headers: &HeaderMap, signed_in: &SignedIn) -> Result<(), Error> {
    let Some(old) = Cookie::Session.read(headers, &app.issuer) else { return Ok(()) };
    let (store, now) = (app.live.store(), app.clock.now());
    match session::find(store, &old, now).await? {
        Some(before) if before.sub == signed_in.session.sub => {
            session::go_on(store, &signed_in.secret, &before, now).await?;
            session::end(store, &old, now).await
        }
        _ => end(app, headers).await,
    }
}

/// A file that pages load.
async fn asset(Path(name): Path<String>) -> Response {
    match Asset::named(&name) {
        Some(asset) => asset.response(),
        None => Refusal::NotFound.into_response(),
    }
}

/// The page to sign in on, for the request in the query.
pub(super) fn login_page(
    app: &App,
    headers: &HeaderMap,
    username: Option<&str>,
    failed_because: Option<&str>,
    continue_query: &str,
) -> Response {
    let token = match form_token(app, headers, LOGIN) {
        Ok(token) => token,
        Err(cause) => return failed(cause),
    };
    let snapshot = app.live.snapshot();
    // The name only decorates: what the request may do is decided when it is continued.
    let asked = Parameters::parse(continue_query.as_bytes()).ok();
    let id = asked.as_ref().and_then(|asked| asked.value("client_id"));
    let client = id.and_then(|id| snapshot.clients.by_id(id));
    let client_name =
        client.map_or("", |client| if client.name.is_empty() { &client.id } else { &client.name });
    let links = client.map(|client| client.code_flow.about.links()).unwrap_or_default();
    let form_token = token.text();
    let challenge = match token.challenge(app, LOGIN) {
        Ok(challenge) => challenge,
        Err(cause) => return failed(cause),
    };
    let party = app.people.party.as_ref();
    let passkey = party.map(|party| AskPasskey { challenge: &challenge, rp: &party.id });
    let failed = failed_because;
    let mut response = pages::login(&Login {
        client_name,
        links: &links,
        username,
        failed,
        continue_query,
        form_token,
        passkey,
    });
    token.set_on(&app.issuer, &mut response);
    response
}

fn logout_page(app: &App, headers: &HeaderMap, session: &Session) -> Response {
    let token = match form_token(app, headers, LOGOUT) {
        Ok(token) => token,
        Err(cause) => return failed(cause),
    };
    let mut response = pages::logout(&Logout {
        action: "logout",
        client_name: "",
        continue_query: "",
        username: &session.username,
        form_token: token.text(),
    });
    token.set_on(&app.issuer, &mut response);
    response
}

pub(super) fn signed_out(issuer: &Issuer) -> Response {
    let text = "You are signed out on this browser. Applications that you have used may still know you.";
    let mut response = pages::notice(&Notice { title: "Signed out", text, link: Some(("login", "Sign in")) });
    Cookie::Session.clear(issuer, &mut response);
    Cookie::Form.clear(issuer, &mut response);
    response
}

/// Whether `text` can stand behind a question mark of ours: visible ASCII, no fragment. Browsers write no other query.
pub(super) fn continuable(text: &str) -> bool {
    text.len() <= QUERY_MAX && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#')
}

/// Half of what a request's head may be.
const QUERY_MAX: usize = 8 * 1024;

/// RFC 9110 §15.4.4.
pub(super) fn see_other(location: &str) -> Response {
    let mut response = with_status(StatusCode::SEE_OTHER, Response::new(Body::empty()));
    pages::protect(response.headers_mut());
    if let Ok(location) = HeaderValue::from_str(location) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

fn with_status(status: StatusCode, mut response: Response) -> Response {
    *response.status_mut() = status;
    response
}

pub(super) fn patience(held: Held) -> String {
    let wait = match held.seconds {
        1 => "1 second".to_owned(),
        seconds @ ..100 => format!("{seconds} seconds"),
        seconds => format!("{} minutes", seconds.div_ceil(60)),
    };
    format!("Too many attempts have failed. Please try again in {wait}.")
}

/// RFC 6585 §4.
pub(super) fn hold(app: &App, response: Response, held: Held) -> Response {
    let mut response = with_status(StatusCode::TOO_MANY_REQUESTS, response);
    let throttled = audited::event(app, What::SignInThrottled).with_number("seconds", held.seconds);
    audited::tell(&mut response, throttled);
    response.headers_mut().insert(RETRY_AFTER, held.seconds.into());
    noted(response, denied("too many attempts have failed"))
}

fn busy() -> Response {
    let failure = Failure {
        title: "Very busy",
        description: "Too many people are signing in at this moment. Please go back and try again in a few seconds.",
    };
    let mut response = pages::error(StatusCode::SERVICE_UNAVAILABLE, &failure);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
    let full = OAuthError::new(Code::TemporarilyUnavailable, "too many sign in at once");
    noted(response, full.hint("`passwords.at_once` and `passwords.waiting` bound it"))
}

/// The machine's fault, or the disk's.
pub(super) fn failed(cause: Error) -> Response {
    let failure = Failure {
        title: "Something went wrong here",
        description: "It is not your fault, and nothing was changed. Please try again later.",
    };
    let status = match cause {
        Error::StoreUnavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    noted(pages::error(status, &failure), OAuthError::from(cause))
}

pub(super) fn unreadable_query() -> Response {
    unreadable(OAuthError::new(Code::InvalidRequest, "`continue_query` is not a query"))
}

fn unreadable(error: OAuthError) -> Response {
    let failure = Failure {
        title: "This link cannot be read",
        description: "Please go back to the application and start again from there.",
    };
    noted(pages::error(StatusCode::BAD_REQUEST, &failure), error)
}

/// What is refused before a page has seen it.
pub(super) fn refused(refusal: Refusal) -> Response {
    let (status, (error, _)) = (refusal.status(), refusal.into_oauth());
    let failure =
        Failure { title: "This form cannot be read", description: "Please go back, and send it once more." };
    noted(pages::error(status, &failure), error)
}

/// For the log; the page speaks for itself.
pub(super) fn denied(hint: &str) -> OAuthError {
    OAuthError::new(Code::AccessDenied, "not signed in").hint(hint.to_owned())
}
