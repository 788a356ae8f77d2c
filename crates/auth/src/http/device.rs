//! Devices: the endpoint that they ask at, and the pages on which their people answer. RFC 8628 §3.1 and §3.3.
//!
//! Who is not signed in signs in first: only a person of ours can try codes, and is counted by name. A code in the address
//! is only filled in (§3.3.1), and the page that lets a device in shows it once more (§5.4).

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use hyper::{HeaderMap, Request};

use super::answer::{self, Refusal, noted};
use super::authorize::{describe, name_of};
use super::forms::{check_form_token, form_token};
use super::pages::{self, DeviceCode, DeviceConfirm, Notice};
use super::people::{EXPIRED, denied, failed, hold, login_page, patience, refused, session_of};
use super::serve::Origin;
use super::{App, Form, audited, by, only, read_form};
use crate::Error;
use crate::audit::What;
use crate::people::Session;
use crate::people::throttle::Subject;
use crate::protocol::device::{self, UserCode, Waiting};
use crate::protocol::discovery::{AUTHORIZE, DEVICE, DEVICE_AUTHORIZATION};
use crate::protocol::{Confirmation, Parameters};

/// The purpose of the token of the form for a code.
const TYPE_CODE: &str = "device";
/// What the query of this page begins with, and no other that a person is to go on with after signing in.
const USER_CODE: &str = "user_code=";
/// No code that is typed is longer, whatever stands between its letters.
const TYPED_MAX: usize = 64;

/// Adds the addresses of this file.
pub(super) fn routes(router: Router<Arc<App>>, below: impl Fn(&str) -> String) -> Router<Arc<App>> {
    router
        .route(&below(DEVICE_AUTHORIZATION), only(post(authorization)))
        .route(&below(DEVICE), only(get(show).post(answered)))
}

/// Where somebody who has signed in goes on with `query`.
pub(super) fn after_login(query: &str) -> &'static str {
    if query.starts_with(USER_CODE) { DEVICE } else { AUTHORIZE }
}

/// RFC 8628 §3.1 and §3.2.
async fn authorization(State(app): State<Arc<App>>, request: Request<Body>) -> Result<Response, Refusal> {
    let form = Form::read(request, &app).await?;
    let snapshot = app.live.snapshot_owned();
    let caller = form.authenticate(&app, &snapshot).await?;
    let bearer = Confirmation::default();
    let (key, page) = (&app.live.flow_keys().user_code, app.issuer.endpoint(DEVICE));
    let ground = app.ground(&snapshot, &bearer);
    let told = device::authorize(&caller, &form.parameters, &app.device, key, page, ground).await;
    answer::private_json(&caller, &told.map_err(|error| by(&caller, error))?)
}

/// The page for a code.
async fn show(State(app): State<Arc<App>>, request: Request<Body>) -> Response {
    let query = Parameters::parse(request.uri().query().unwrap_or_default().as_bytes()).ok();
    let typed =
        query.as_ref().and_then(|query| query.value("user_code")).filter(|code| code.len() <= TYPED_MAX);
    match session_of(&app, request.headers()).await {
        Ok(Some(_)) => code_page(&app, request.headers(), typed, None),
        Ok(None) => sign_in_first(&app, request.headers(), typed),
        Err(cause) => failed(cause),
    }
}

/// A code that was typed, or the answer to the page that shows it again.
async fn answered(State(app): State<Arc<App>>, request: Request<Body>) -> Response {
    let origin = request.extensions().get::<Origin>().copied();
    let headers = request.headers().clone();
    let form = match read_form(request, &app).await {
        Ok(form) => form.parameters,
        Err(refusal) => return refused(refusal),
    };
    let typed = form.value("user_code").filter(|code| code.len() <= TYPED_MAX);
    let session = match session_of(&app, &headers).await {
        Ok(Some(session)) => session,
        Ok(None) => return sign_in_first(&app, &headers, typed),
        Err(cause) => return failed(cause),
    };
    let page = Page { app: &app, headers: &headers, session: &session };
    let answered = match form.value("decision") {
        None => page.typed(typed, form.value("form_token"), origin).await,
        Some(decision) => page.decided(typed, form.value("form_token"), decision == "allow").await,
    };
    answered.unwrap_or_else(failed)
}

/// A request of somebody who is signed in.
#[derive(Clone, Copy)]
struct Page<'a> {
    app: &'a App,
    headers: &'a HeaderMap,
    session: &'a Session,
}

impl Page<'_> {
    /// Looks for the device that shows this code. Each code that is none counts, for the person and for the address; one
    /// that is right takes back only itself, or codes of one's own would pay for guesses.
    async fn typed(
        self,
        typed: Option<&str>,
        token: Option<&str>,
        origin: Option<Origin>,
    ) -> Result<Response, Error> {
        let Page { app, headers, session } = self;
        if let Err(hint) = check_form_token(app, headers, TYPE_CODE, token) {
            return Ok(noted(code_page(app, headers, typed, Some(EXPIRED)), denied(hint)));
        }
        let mut subjects = vec![Subject::Username(&session.username)];
        let address = origin.map(|Origin(address)| address);
        subjects.extend(address.map(Subject::Address));
        if let Err(held) = app.people.codes.begin(&subjects, app.clock.now()) {
            return Ok(hold(app, code_page(app, headers, typed, Some(&patience(held))), held));
        }
        let found = match typed.and_then(UserCode::parse) {
            Some(code) => self.waiting(&code).await.map(|waiting| waiting.map(|waiting| (code, waiting))),
            None => Ok(None),
        };
        match found {
            Ok(Some((code, waiting))) => {
                app.people.codes.withdraw(&subjects);
                self.confirm(&code, &waiting)
            }
            Ok(None) => Ok(self.unknown(typed)),
            Err(cause) => {
                app.people.codes.withdraw(&subjects);
                Err(cause)
            }
        }
    }

    /// The person's answer. The form's token is for the person, their session and the code: nothing can be guessed.
    async fn decided(self, typed: Option<&str>, token: Option<&str>, allow: bool) -> Result<Response, Error> {
        let Page { app, headers, session } = self;
        let Some(code) = typed.and_then(UserCode::parse) else { return Ok(self.unknown(typed)) };
        if let Err(hint) = check_form_token(app, headers, &purpose(session, &code), token) {
            return Ok(noted(code_page(app, headers, typed, Some(EXPIRED)), denied(hint)));
        }
        let Some(waiting) = self.waiting(&code).await? else { return Ok(self.unknown(typed)) };
        let what = if allow { What::ConsentGiven } else { What::ConsentDenied };
        let event = audited::event(app, what).with("client", &waiting.client.id).with("sub", &session.sub);
        let (store, now) = (app.live.store(), app.clock.now());
        if !device::decide(waiting, session, allow, store, app.live.randomness(), now).await? {
            return Ok(self.unknown(typed));
        }
        let (title, text) = match allow {
            true => ("Device connected", "You can go back to your device now."),
            false => ("Device not connected", "The device has been told that you do not agree."),
        };
        let mut response = pages::notice(&Notice { title, text, link: None });
        audited::tell(&mut response, event);
        Ok(response)
    }

    async fn waiting(self, code: &UserCode) -> Result<Option<Waiting>, Error> {
        let (snapshot, key) = (self.app.live.snapshot_owned(), &self.app.live.flow_keys().user_code);
        device::find(code, key, &snapshot, self.app.live.store(), self.app.clock.now()).await
    }

    fn confirm(self, code: &UserCode, waiting: &Waiting) -> Result<Response, Error> {
        let Page { app, headers, session } = self;
        let scopes: Vec<(&str, &str)> = waiting.scopes().map(|scope| (scope, describe(scope))).collect();
        let token = form_token(app, headers, &purpose(session, code))?;
        let mut response = pages::device_confirm(&DeviceConfirm {
            client_name: name_of(&waiting.client),
            username: &session.username,
            user_code: &code.to_string(),
            scopes: &scopes,
            form_token: token.text(),
        });
        token.set_on(&app.issuer, &mut response);
        Ok(response)
    }

    /// The same for a code that never was, one that has ended and one that was answered.
    fn unknown(self, typed: Option<&str>) -> Response {
        const UNKNOWN: &str = "No device waits with this code. Please compare it with what the device shows.";
        let page = code_page(self.app, self.headers, typed, Some(UNKNOWN));
        noted(page, denied("no device waits with the code that was given"))
    }
}

/// What the token of the last form stands for: this code, for a person signed in as at present.
fn purpose(session: &Session, code: &UserCode) -> String {
    format!("device {} {code}", session.sid)
}

fn code_page(
    app: &App,
    headers: &HeaderMap,
    user_code: Option<&str>,
    failed_because: Option<&str>,
) -> Response {
    let token = match form_token(app, headers, TYPE_CODE) {
        Ok(token) => token,
        Err(cause) => return failed(cause),
    };
    let page = DeviceCode { user_code, failed: failed_because, form_token: token.text() };
    let mut response = pages::device_code(&page);
    token.set_on(&app.issuer, &mut response);
    response
}

fn sign_in_first(app: &App, headers: &HeaderMap, typed: Option<&str>) -> Response {
    let mut query = form_urlencoded::Serializer::new(String::new());
    let query = query.append_pair("user_code", typed.unwrap_or_default()).finish();
    login_page(app, headers, None, None, &query)
}
