//! The authorization endpoint and the consent page, as a browser meets them.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use hyper::{HeaderMap, Method, Request};

use super::answer::{Refusal, Seen, noted};
use super::forms::{check_form_token, form_token};
use super::pages::{self, Consent, Failure, FormPost};
use super::people::{login_page, see_other, session_of};
use super::{App, audited, read_form};
use crate::audit::What;
use crate::client::Client;
use crate::people::Session;
use crate::protocol::asked::Asked;
use crate::protocol::authorize::{self, AFTER, Next, Refused};
use crate::protocol::discovery::AUTHORIZE;
use crate::protocol::redirect::{Redirect, ResponseMode};
use crate::protocol::{Code, OAuthError, Parameters};

/// RFC 6749 §3.1, OpenID Connect Core §3.1.2.1: by GET, or by POST with a form.
pub(super) async fn endpoint(State(app): State<Arc<App>>, request: Request<Body>) -> Response {
    match asked(&app, request).await {
        Ok(response) => response,
        Err(refusal) => page_of(refusal),
    }
}

async fn asked(app: &App, request: Request<Body>) -> Result<Response, Refusal> {
    if request.method() == Method::POST {
        // By GET once more: a browser sends no cookie of ours with a form that another site made.
        let query = query_of(&read_form(request, app).await?.parameters, &[]);
        return Ok(see_other(&format!("{}?{query}", app.issuer.endpoint(AUTHORIZE))));
    }
    let query = request.uri().query().unwrap_or_default();
    let asked = open(app, Parameters::parse(query.as_bytes())?).await?;
    go_on(app, request.headers(), &asked, false).await
}

/// The person's answer to the consent page.
pub(super) async fn consent(State(app): State<Arc<App>>, request: Request<Body>) -> Response {
    match answered(&app, request).await {
        Ok(response) => response,
        Err(refusal) => page_of(refusal),
    }
}

async fn answered(app: &App, request: Request<Body>) -> Result<Response, Refusal> {
    let headers = request.headers().clone();
    let form = read_form(request, app).await?.parameters;
    let query = form.required("continue_query")?;
    let asked = open(app, Parameters::parse(query.as_bytes())?).await?;
    let session = session_of(app, &headers).await.map_err(OAuthError::from)?;
    let checked = match &session {
        Some(session) => check_form_token(app, &headers, &purpose(session, query), form.value("form_token")),
        None => Err("nobody is signed in any more"),
    };
    // Not this person's answer to this very question: it is asked again.
    if let Err(hint) = checked {
        let stale = OAuthError::new(Code::InvalidRequest, "the consent form was not that of this page");
        return Ok(noted(go_on(app, &headers, &asked, false).await?, stale.hint(hint)));
    }
    if form.required("decision")? == "allow" {
        return go_on(app, &headers, &asked, true).await;
    }
    match read(app, &asked) {
        Ok(request) => {
            request.use_up(app.live.store(), app.clock.now()).await?;
            let client = request.client();
            let mut response = back(&request.denied(&app.issuer), client, None);
            let denied = audited::event(app, What::ConsentDenied).with("client", &client.id);
            let sub = session.as_ref().map(|session| session.sub.as_str());
            audited::tell(&mut response, denied.with_some("sub", sub));
            Ok(response)
        }
        Err(refused) => Ok(refused_response(refused)),
    }
}

/// What the consent form's token stands for: a person, signed in as at present, and one request.
fn purpose(session: &Session, query: &str) -> String {
    format!("consent {} {query}", session.sid)
}

/// RFC 9101 §5, RFC 9126 §4.
async fn open(app: &App, query: Parameters) -> Result<Asked, OAuthError> {
    let (snapshot, key) = (app.live.snapshot_owned(), &app.live.flow_keys().sign_in);
    Asked::open(query, app.means(&snapshot), app.live.store(), key).await
}

fn read(app: &App, asked: &Asked) -> Result<authorize::Request, Refused> {
    let key = &app.live.flow_keys().sign_in;
    authorize::Request::read(asked, &app.live.snapshot(), &app.issuer, key, app.clock.now())
}

/// One step: a page, or back to the client.
async fn go_on(app: &App, headers: &HeaderMap, asked: &Asked, agreed: bool) -> Result<Response, Refusal> {
    let request = match read(app, asked) {
        Ok(request) => request,
        Err(Refused::Client(_, error)) if !may_send_on(app, headers, asked).await? => {
            return Err(error.into());
        }
        Err(refused) => return Ok(refused_response(refused)),
    };
    // From here on the client's address is good: it is told of whatever fails (RFC 6749 §4.1.2.1). But it has its
    // answer already, if a pushed request was used up before.
    match step(app, headers, asked, &request, agreed).await {
        Ok(response) => Ok(response),
        Err(error) if error.code == Code::InvalidRequestUri => Err(error.into()),
        Err(error) => Ok(back(&request.refuse(&error, &app.issuer), request.client(), Some(error))),
    }
}

/// Whether an error may send somebody on who has not signed in.
/// RFC 9700 §4.11.2: to whom the operator has registered, or where no page was asked for; not to whoever registered itself.
async fn may_send_on(app: &App, headers: &HeaderMap, asked: &Asked) -> Result<bool, OAuthError> {
    let (parameters, snapshot) = (asked.parameters(), app.live.snapshot_owned());
    let client = parameters.value("client_id").and_then(|id| snapshot.clients.by_id(id));
    let trusted = client.is_some_and(|client| client.registration.is_none());
    Ok(trusted || parameters.value("prompt") == Some("none") || session_of(app, headers).await?.is_some())
}

async fn step(
    app: &App,
    headers: &HeaderMap,
    asked: &Asked,
    request: &authorize::Request,
    agreed: bool,
) -> Result<Response, OAuthError> {
    let (store, now) = (app.live.store(), app.clock.now());
    let session = session_of(app, headers).await?;
    let consented = match &session {
        Some(session) => authorize::consented(session, request.client(), store, now).await?,
        None => Vec::new(),
    };
    let client = request.client();
    let pairwise_key = &app.live.flow_keys().pairwise;
    let next = match &session {
        Some(session) if request.is_for_another(session, pairwise_key) => {
            authorize::next_for_another(request, &app.issuer)
        }
        _ => authorize::next(request, session.as_ref(), &consented, agreed, &app.issuer),
    };
    match (next, session) {
        (Next::Tell(redirect, error), _) => {
            request.use_up(store, now).await?;
            Ok(back(&redirect, client, Some(error)))
        }
        (Next::Issue, Some(session)) => {
            if agreed {
                authorize::remember_consent(request, &session, store, now).await?;
            }
            let redirect =
                authorize::issue(request, &session, &app.issuer, store, app.live.randomness(), now).await?;
            let mut response = back(&redirect, client, None);
            let scope: Vec<&str> = request.scopes().collect();
            for what in [agreed.then_some(What::ConsentGiven), Some(What::AuthorizationIssued)] {
                let Some(what) = what else { continue };
                let event = audited::event(app, what).with("client", &client.id).with("sub", &session.sub);
                audited::tell(&mut response, event.with("scope", &scope.join(" ")));
            }
            Ok(response)
        }
        (Next::AskConsent, Some(session)) => {
            ask_consent(app, headers, request, &session, &query_of(asked.carried(), &[]))
        }
        (Next::SignIn | Next::Issue | Next::AskConsent, _) => {
            let after = authorize::sealed_after(&client.id, &app.live.flow_keys().sign_in, now);
            let query = query_of(asked.carried(), &[(AFTER, &after)]);
            Ok(login_page(app, headers, request.login_hint(), None, &query))
        }
    }
}

fn ask_consent(
    app: &App,
    headers: &HeaderMap,
    request: &authorize::Request,
    session: &Session,
    continue_query: &str,
) -> Result<Response, OAuthError> {
    let scopes: Vec<(&str, &str)> = request.scopes().map(|scope| (scope, describe(scope))).collect();
    let token = form_token(app, headers, &purpose(session, continue_query))?;
    let mut response = pages::consent(&Consent {
        client_name: name_of(request.client()),
        links: &request.client().code_flow.about.links(),
        username: &session.username,
        scopes: &scopes,
        continue_query,
        form_token: token.text(),
    });
    token.set_on(&app.issuer, &mut response);
    Ok(response)
}

/// What a scope means to a person, OpenID Connect Core §5.4 and §11. A scope of a service speaks for itself.
pub(super) fn describe(scope: &str) -> &'static str {
    match scope {
        "openid" => "know who you are",
        "profile" => "see your name",
        "email" => "see your email address",
        "offline_access" => "go on while you are away",
        _ => "",
    }
}

pub(super) fn name_of(client: &Client) -> &str {
    if client.name.is_empty() { &client.id } else { &client.name }
}

/// The same request as a query, with some parameters set anew.
pub(super) fn query_of(parameters: &Parameters, set: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in parameters.iter().filter(|(name, _)| !set.iter().any(|(known, _)| known == name)) {
        query.append_pair(name, value);
    }
    query.extend_pairs(set);
    query.finish()
}

/// Back to the client, in the way that it asked for: by GET, whatever the browser came with (RFC 9700 §4.12: never 307), and without a trace of this
/// address (§4.2).
fn back(redirect: &Redirect, client: &Client, error: Option<OAuthError>) -> Response {
    let mut response = carry(redirect);
    response.extensions_mut().insert(Seen { client: Some(client.id.clone()), error: error.map(Arc::new) });
    response
}

fn refused_response(refused: Refused) -> Response {
    match refused {
        Refused::Page(error) => page_of(error.into()),
        Refused::Client(redirect, error) => noted(carry(&redirect.error(&error)), error),
    }
}

fn carry(answer: &Redirect) -> Response {
    match answer.mode() {
        ResponseMode::Query => see_other(&answer.location()),
        ResponseMode::FormPost => {
            pages::form_post(&FormPost { action: answer.uri(), fields: answer.fields() })
        }
    }
}

/// For a person: what is wrong, and nothing that the request said.
fn page_of(refusal: Refusal) -> Response {
    let status = refusal.status();
    let (error, _) = refusal.into_oauth();
    let description =
        format!("The application sent something that cannot be accepted: {}.", error.description);
    let failure = Failure { title: "This request cannot go on", description: &description };
    noted(pages::error(status, &failure), error)
}
