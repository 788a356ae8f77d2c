//! Passkeys: signing in with one (`/passkey`), and a person's own (`/passkeys`).

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::{HeaderMap, Request};

use super::answer::{Refusal, noted};
use super::forms::{Cookie, check_form_token, form_token};
use super::pages::{self, Passkeys};
use super::people::{self, LOGIN, denied, failed, login_page, refused, session_of};
use super::{App, audited, read_form};
use crate::Error;
use crate::audit::What;
use crate::people::cose::OFFERED;
use crate::people::login::{Assertion, Outcome, with_passkey};
use crate::people::passkey::{self, Bound, MOST, NAME_MAX, Said};
use crate::people::{Passkey, Session, User, user};
use crate::protocol::Parameters;
use crate::store::Write;

/// How long after signing in somebody may change their passkeys: who finds a browser open must not be able to stay.
const FRESH_SECONDS: u64 = 900;

/// Signs in with a passkey.
pub(super) async fn sign_in(State(app): State<Arc<App>>, request: Request<Body>) -> Response {
    let headers = request.headers().clone();
    let form = match read_form(request, &app).await {
        Ok(form) => form.parameters,
        Err(refusal) => return refused(refusal),
    };
    let query = form.value("continue_query").unwrap_or_default();
    if !people::continuable(query) {
        return people::unreadable_query();
    }
    let again = |why: &str| login_page(&app, &headers, None, Some(why), query);
    if let Err(hint) = check_form_token(&app, &headers, LOGIN, form.value("form_token")) {
        return noted(again(people::EXPIRED), denied(hint));
    }
    const WRONG: &str = "This passkey cannot be used here. Please try again, or use your password.";
    let sent = Sent::read(&form);
    let (Some(sent), Some(secret)) = (sent, Cookie::Form.read(&headers, &app.issuer)) else {
        return noted(again(WRONG), denied("no passkey was sent"));
    };
    let assertion = Assertion {
        id: sent.id,
        said: sent.said(),
        signature: &sent.signature,
        user: form.value("user").unwrap_or_default(),
    };
    let bound = Bound { purpose: LOGIN, secret: &secret };
    let (store, now) = (app.live.store(), app.clock.now());
    match with_passkey(&app.people, assertion, bound, store, now, app.live.randomness()).await {
        Ok(Outcome::In(signed_in)) => people::enter(&app, &headers, &signed_in, query).await,
        Ok(Outcome::Refused { hint }) => noted(again(WRONG), denied(&hint)),
        Ok(Outcome::Busy | Outcome::Held(_)) => noted(again(WRONG), denied("a passkey was held up")),
        Err(cause) => failed(cause),
    }
}

/// A person's passkeys.
pub(super) async fn show(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    match whose(&app, &headers).await {
        Ok(Some((session, user))) => page(&app, &headers, &session, &user, None),
        Ok(None) => login_page(&app, &headers, None, None, ""),
        Err(cause) => failed(cause),
    }
}

/// Adds or removes one.
pub(super) async fn change(State(app): State<Arc<App>>, request: Request<Body>) -> Response {
    let headers = request.headers().clone();
    let form = match read_form(request, &app).await {
        Ok(form) => form.parameters,
        Err(refusal) => return refused(refusal),
    };
    match changed(&app, &headers, &form).await {
        Ok(response) => response,
        Err(cause) => failed(cause),
    }
}

async fn changed(app: &App, headers: &HeaderMap, form: &Parameters) -> Result<Response, Error> {
    let Some((session, user)) = whose(app, headers).await? else {
        return Ok(login_page(app, headers, None, None, ""));
    };
    let again = |why: &str, hint: &str| noted(page(app, headers, &session, &user, Some(why)), denied(hint));
    if let Err(hint) = check_form_token(app, headers, &purpose(&session), form.value("form_token")) {
        return Ok(again(people::EXPIRED, hint));
    }
    if app.clock.now().0.saturating_sub(session.auth_time.0) > FRESH_SECONDS {
        let why = "You signed in a while ago. Please sign in once more to change your passkeys.";
        return Ok(login_page(app, headers, Some(&session.username), Some(why), ""));
    }
    let mut wanted = user.clone();
    if form.value("action") == Some("remove") {
        wanted.passkeys.retain(|passkey| Some(passkey.id.as_str()) != form.value("credential"));
    } else {
        match new_passkey(app, headers, form, &session, &user) {
            Ok(passkey) => wanted.passkeys.push(passkey),
            Err((why, hint)) => return Ok(again(why, hint)),
        }
    }
    let added = wanted.passkeys.len() > user.passkeys.len();
    Ok(match save(app, &user, &wanted).await? {
        true => {
            let mut response = people::see_other(&app.issuer.endpoint("/passkeys"));
            let what = if added { What::PasskeyAdded } else { What::PasskeyRemoved };
            let changed = audited::event(app, what).with("user", &user.username).with("sub", &user.sub);
            audited::tell(&mut response, changed);
            response
        }
        false => again("Something else was changed at the same moment. Please try again.", "a race"),
    })
}

/// What is to be added; or a sentence for the person, and one for the log.
fn new_passkey(
    app: &App,
    headers: &HeaderMap,
    form: &Parameters,
    session: &Session,
    user: &User,
) -> Result<Passkey, (&'static str, &'static str)> {
    const NOT_READ: &str = "This passkey could not be added. Please try again.";
    if user.passkeys.len() >= MOST {
        return Err((
            "You have 16 passkeys, which is the most. Please remove one first.",
            "too many passkeys",
        ));
    }
    let name = form.value("name").unwrap_or_default().trim();
    if name.is_empty() || name.len() > NAME_MAX || name.chars().any(char::is_control) {
        return Err(("Please give it a name of at most 64 letters.", "a name that is none"));
    }
    let sent = Sent::read(form).ok_or((NOT_READ, "no passkey was sent"))?;
    let secret = Cookie::Form.read(headers, &app.issuer).ok_or((NOT_READ, "the form's cookie is missing"))?;
    let party = app.people.party.as_ref().ok_or((NOT_READ, "the issuer's host is an address"))?;
    let (purpose, now) = (purpose(session), app.clock.now());
    let bound = Bound { purpose: &purpose, secret: &secret };
    let is_ours = |challenge: &str| passkey::is_ours(&app.people.browsers, bound, challenge, now);
    let made = party.register(sent.said(), is_ours).map_err(|hint| (NOT_READ, hint))?;
    if user.passkeys.iter().any(|passkey| passkey.id == made.id) {
        return Err(("You have this passkey already.", "a passkey that is there already"));
    }
    let (id, key, sign_count) = (made.id, made.key, made.sign_count);
    Ok(Passkey { created_at: now.0, id, key, name: name.to_owned(), sign_count })
}

/// Writes `wanted`, if the user is still `was`.
async fn save(app: &App, was: &User, wanted: &User) -> Result<bool, Error> {
    let (store, now) = (app.live.store(), app.clock.now());
    let Some((is, version)) = user::find(store, &was.username, now).await? else { return Ok(false) };
    if is != *was {
        return Ok(false);
    }
    Ok(matches!(store.replace(wanted.to_record()?, version, now).await?, Write::Done(_)))
}

/// Who is signed in, with their record.
async fn whose(app: &App, headers: &HeaderMap) -> Result<Option<(Session, User)>, Error> {
    let Some(session) = session_of(app, headers).await? else { return Ok(None) };
    let found = user::find(app.live.store(), &session.username, app.clock.now()).await?;
    Ok(found.filter(|(user, _)| user.sub == session.sub).map(|(user, _)| (session, user)))
}

fn page(
    app: &App,
    headers: &HeaderMap,
    session: &Session,
    user: &User,
    failed_because: Option<&str>,
) -> Response {
    let Some(party) = &app.people.party else { return refused(Refusal::NotFound) };
    let purpose = purpose(session);
    let made =
        form_token(app, headers, &purpose).and_then(|token| Ok((token.challenge(app, &purpose)?, token)));
    let (challenge, token) = match made {
        Ok(made) => made,
        Err(cause) => return failed(cause),
    };
    let mut response = pages::passkeys(&Passkeys {
        failed: failed_because,
        passkeys: &user.passkeys,
        challenge: &challenge,
        rp: &party.id,
        algorithms: &OFFERED.map(|number| number.to_string()).join(" "),
        username: &user.username,
        sub: &user.sub,
        form_token: token.text(),
    });
    token.set_on(&app.issuer, &mut response);
    response
}

fn purpose(session: &Session) -> String {
    format!("passkeys {}", session.sid)
}

/// What the script sends.
struct Sent<'a> {
    authenticator_data: Vec<u8>,
    client_data: Vec<u8>,
    id: &'a str,
    signature: Vec<u8>,
}

impl<'a> Sent<'a> {
    fn read(form: &'a Parameters) -> Option<Self> {
        let bytes = |name| URL_SAFE_NO_PAD.decode(form.value(name).unwrap_or_default()).ok();
        Some(Self {
            authenticator_data: bytes("authenticator_data")?,
            client_data: bytes("client_data")?,
            id: form.value("credential")?,
            signature: bytes("signature")?,
        })
    }

    fn said(&self) -> Said<'_> {
        Said { authenticator_data: &self.authenticator_data, client_data: &self.client_data }
    }
}
