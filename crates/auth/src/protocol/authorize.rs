//! The authorization endpoint, RFC 6749 §3.1 and §4.1.1, OpenID Connect Core §3.1.2: what a client asks of a person.
//!
//! A request is read anew on each of its pages, from the same query: nothing is kept for somebody who has not signed in.
//! What decides next is [`next`], a function of the request, the session and the consent.

use std::sync::Arc;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_jose::UnixSeconds;
use serde::{Deserialize, Serialize};

use super::asked::{self, Asked};
use super::granted::{self, Granted};
use super::redirect::{Redirect, ResponseMode};
use super::{Code, OAuthError, Parameters, claims_request, id_token, subject, target};
use crate::Error;
use crate::client::{Client, Consent, Grant};
use crate::clock::{Randomness, later, random_id, random_secret};
use crate::issuer::Issuer;
use crate::people::Session;
use crate::snapshot::Snapshot;
use crate::store::{Kind, Store, Write};

/// How long a code holds: RFC 6749 §4.1.2 recommends 10 minutes at most, the FAPI 2.0 Security Profile §5.3.2.1 demands
/// one.
const CODE_LIFETIME_SECONDS: u64 = 60;
/// How long a code is remembered, so that its second use is noticed.
const CODE_MEMORY_SECONDS: u64 = 600;
/// How long a person may take to sign in.
pub(super) const SIGN_IN_SECONDS: u64 = 600;

/// A request that may go on: its client and its redirect URI are good.
#[derive(Clone, Debug)]
pub struct Request {
    /// Of these the person's `acr` must be one, where there are any: OpenID Connect Core §5.5.1.1.
    acr: Vec<String>,
    audiences: Vec<String>,
    /// The S256 challenge, RFC 7636 §4.3.
    challenge: Option<String>,
    client: Arc<Client>,
    dpop_jkt: Option<String>,
    /// The person must have signed in at or after this moment.
    signed_in_since: Option<UnixSeconds>,
    login_hint: Option<String>,
    /// Who is meant: the `sub` of an ID token that the client got before.
    hinted: Option<String>,
    mode: ResponseMode,
    nonce: Option<String>,
    prompt: Prompt,
    /// The record of a pushed request, which the answer uses up.
    pushed: Option<String>,
    redirect_uri: String,
    scope: Option<String>,
    /// Whether its sign-in page was shown before.
    shown: bool,
    state: Option<String>,
}

/// What the request wants to be shown, OpenID Connect Core §3.1.2.1.
#[derive(Clone, Copy, Debug, Default)]
struct Prompt {
    consent: bool,
    none: bool,
}

/// Why a request cannot go on.
#[derive(Debug)]
pub enum Refused {
    /// The person is told, and not sent anywhere: there is no address that can be trusted. RFC 6749 §4.1.2.1.
    Page(OAuthError),
    /// The client is told.
    Client(Redirect, OAuthError),
}

/// What happens now.
#[derive(Debug)]
pub enum Next {
    /// The person is asked to let the client have these scopes.
    AskConsent,
    /// A code is issued.
    Issue,
    /// The person signs in.
    SignIn,
    /// The client is told that nothing can be done without a page.
    Tell(Redirect, OAuthError),
}

impl Request {
    /// Reads a request.
    /// RFC 6749 §4.1.1; RFC 7636 §4.3; RFC 8707 §2; OpenID Connect Core §3.1.2.1.
    ///
    /// The client and the redirect URI first: before both are known to be good nobody is sent anywhere. From a client
    /// that must push its requests, no address in the query is good (RFC 9126 §6), nor an unsigned one from a client that
    /// must sign (RFC 9101 §10.5).
    pub fn read(
        asked: &Asked,
        snapshot: &Snapshot,
        issuer: &Issuer,
        key: &hmac::Key,
        now: UnixSeconds,
    ) -> Result<Self, Refused> {
        let parameters = asked.parameters();
        let (client, redirect_uri) = destination(parameters, snapshot).map_err(Refused::Page)?;
        let unsigned = client.code_flow.require_signed_request_object && !asked.is_signed();
        if client.must_push() && asked.pushed().is_none() {
            let what = "the client must push its requests to the server";
            return Err(Refused::Page(OAuthError::new(Code::InvalidRequest, what)));
        }
        if unsigned {
            let what = "the client must sign its requests";
            return Err(Refused::Page(OAuthError::new(Code::InvalidRequest, what)));
        }
        let state = parameters.value("state");
        let tell = |error| Refused::Client(Redirect::to(&redirect_uri, state, issuer), error);
        let mode = ResponseMode::asked(parameters, &redirect_uri).map_err(tell)?;
        let tell = |error| Refused::Client(Redirect::to(&redirect_uri, state, issuer).by(mode), error);
        let details = Self::details(parameters, &client, issuer, key, now).map_err(tell)?;
        let hinted = hinted(parameters, &client, snapshot, issuer, now).map_err(tell)?;
        let pushed = asked.pushed().map(str::to_owned);
        Ok(Self { client, hinted, mode, pushed, redirect_uri, state: state.map(str::to_owned), ..details })
    }

    fn details(
        parameters: &Parameters,
        client: &Arc<Client>,
        issuer: &Issuer,
        key: &hmac::Key,
        now: UnixSeconds,
    ) -> Result<Self, OAuthError> {
        let value = |name| parameters.value(name).map(str::to_owned);
        if !client.grants.contains(&Grant::AuthorizationCode) {
            return Err(OAuthError::new(Code::UnauthorizedClient, "the client may not use this grant"));
        }
        // OpenID Connect Core §3.1.2.6.
        for (name, code) in
            [("request", Code::RequestNotSupported), ("request_uri", Code::RequestUriNotSupported)]
        {
            if parameters.value(name).is_some() {
                return Err(OAuthError::new(code, format!("`{name}` is not supported")));
            }
        }
        if parameters.required("response_type")? != "code" {
            let what = "`response_type` can only be `code`";
            return Err(OAuthError::new(Code::UnsupportedResponseType, what));
        }
        let scope = target::scope(client, parameters.value("scope"))?;
        let is_openid = scope.as_deref().is_some_and(|scope| scope.split(' ').any(|one| one == "openid"));
        let nonce = value("nonce");
        let mut audiences = target::audiences(client, parameters, issuer.as_str())?;
        if is_openid && !audiences.iter().any(|one| one == issuer.as_str()) {
            // For the userinfo endpoint, which is a resource of ours.
            audiences.push(issuer.as_str().to_owned());
        }
        let after = parameters.value(AFTER);
        Ok(Self {
            acr: claims_request::essential_acr(parameters)?,
            audiences,
            challenge: challenge(parameters, client, is_openid && nonce.is_some())?,
            client: Arc::clone(client),
            dpop_jkt: value("dpop_jkt"),
            signed_in_since: signed_in_since(parameters, client, key, now)?,
            login_hint: value("login_hint"),
            hinted: None,
            mode: ResponseMode::default(),
            nonce,
            prompt: prompt(parameters)?,
            pushed: None,
            redirect_uri: String::new(),
            scope,
            shown: after.is_some_and(|text| opened_after(text, &client.id, key, now).is_some()),
            state: None,
        })
    }

    /// The client that asks.
    pub fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// Who the client thinks will sign in.
    pub fn login_hint(&self) -> Option<&str> {
        self.login_hint.as_deref()
    }

    /// Whether it is about somebody else than the person who has signed in: `id_token_hint`, OpenID Connect Core §3.1.2.1.
    pub fn is_for_another(&self, session: &Session, pairwise_key: &hmac::Key) -> bool {
        let known_as = subject::at(&self.client, &session.sub, pairwise_key);
        self.hinted.as_ref().is_some_and(|hinted| *hinted != known_as)
    }

    /// What it asks for.
    pub fn scopes(&self) -> impl Iterator<Item = &str> {
        self.scope.iter().flat_map(|scope| scope.split(' '))
    }

    /// Before the client is told anything: a pushed request is used up by its answer.
    /// Errors: `invalid_request_uri` if another answer came first; then nobody is sent anywhere.
    pub async fn use_up(&self, store: &dyn Store, now: UnixSeconds) -> Result<(), OAuthError> {
        match &self.pushed {
            Some(id) => asked::use_up(id, store, now).await,
            None => Ok(()),
        }
    }

    /// The person said no, RFC 6749 §4.1.2.1.
    pub fn denied(&self, issuer: &Issuer) -> Redirect {
        self.refuse(&OAuthError::new(Code::AccessDenied, "the person did not agree"), issuer)
    }

    /// The client is told of an error.
    pub fn refuse(&self, error: &OAuthError, issuer: &Issuer) -> Redirect {
        self.answer(issuer).error(error)
    }

    /// The way back to the client, with nothing to say yet.
    fn answer(&self, issuer: &Issuer) -> Redirect {
        Redirect::to(&self.redirect_uri, self.state.as_deref(), issuer).by(self.mode)
    }
}

/// The client and where to send the person back to.
/// RFC 6749 §3.1.2.4: an address that is not registered is never redirected to. RFC 9700 §4.1.
fn destination(parameters: &Parameters, snapshot: &Snapshot) -> Result<(Arc<Client>, String), OAuthError> {
    let invalid = |what: &'static str| OAuthError::new(Code::InvalidRequest, what);
    let client = snapshot.clients.by_id(parameters.required("client_id")?);
    let client = client.ok_or_else(|| invalid("no client has this `client_id`"))?;
    let registered = &client.code_flow.redirect_uris;
    let uri = match (parameters.value("redirect_uri"), registered.as_slice()) {
        (Some(asked), _) => registered
            .iter()
            .find(|uri| uri.matches(asked))
            .map(|_| asked.to_owned())
            .ok_or_else(|| invalid("`redirect_uri` is not one that the client has registered"))?,
        // OpenID Connect Core §3.1.2.1 and the FAPI 2.0 Security Profile §5.3.2.2 demand the parameter; RFC 6749 §3.1.2.3
        // where there is a choice.
        (None, [one]) if !target::asks_openid(parameters) && client.profile.is_none() => {
            one.as_str().to_owned()
        }
        (None, _) => return Err(invalid("the parameter `redirect_uri` is missing")),
    };
    Ok((Arc::clone(client), uri))
}

/// RFC 7636 §4.2 and §4.3; RFC 9700 §2.1.1: S256 and nothing else, and no request without it but from a client that is
/// registered so and sends a nonce, or is registered to do without that too.
fn challenge(
    parameters: &Parameters,
    client: &Client,
    has_nonce: bool,
) -> Result<Option<String>, OAuthError> {
    let invalid = |what: &'static str| OAuthError::new(Code::InvalidRequest, what);
    let method = parameters.value("code_challenge_method");
    let Some(challenge) = parameters.value("code_challenge") else {
        let flow = &client.code_flow;
        let optional = flow.pkce_optional && (has_nonce || flow.nonce_optional) && method.is_none();
        return match optional {
            true => Ok(None),
            false => Err(invalid("`code_challenge` is missing: this server demands PKCE")),
        };
    };
    if method != Some("S256") {
        return Err(invalid("`code_challenge_method` can only be `S256`"));
    }
    match URL_SAFE_NO_PAD.decode(challenge).is_ok_and(|hash| hash.len() == 32) {
        true => Ok(Some(challenge.to_owned())),
        false => Err(invalid("`code_challenge` is not the base64url of a SHA-256")),
    }
}

/// OpenID Connect Core §3.1.2.1: names with one space between; `none` stands alone.
fn prompt(parameters: &Parameters) -> Result<Prompt, OAuthError> {
    let names: Vec<&str> =
        parameters.value("prompt").map(|text| text.split(' ').collect()).unwrap_or_default();
    let none = names.contains(&"none");
    if none && names.len() > 1 {
        return Err(OAuthError::new(Code::InvalidRequest, "`prompt` has `none` and something besides"));
    }
    Ok(Prompt { consent: names.contains(&"consent"), none })
}

/// The `sub` of `id_token_hint`: an ID token that this client got of this server, however old.
/// OpenID Connect Core §3.1.2.1.
/// Errors: `invalid_request` for anything else; a client whose token's key has left the JWK set leaves it out.
fn hinted(
    parameters: &Parameters,
    client: &Client,
    snapshot: &Snapshot,
    issuer: &Issuer,
    now: UnixSeconds,
) -> Result<Option<String>, OAuthError> {
    let Some(token) = parameters.value("id_token_hint") else { return Ok(None) };
    let hint = id_token::read(token, snapshot, issuer, now).filter(|hint| hint.client.id == client.id);
    let invalid = || {
        OAuthError::new(Code::InvalidRequest, "`id_token_hint` is no ID token of the client from this server")
    };
    hint.map(|hint| Some(hint.sub)).ok_or_else(invalid)
}

/// Since when the person must have signed in: `prompt=login` and `max_age` say it (OpenID Connect Core §3.1.2.1), until
/// the person has signed in for this request, which `after` shows.
fn signed_in_since(
    parameters: &Parameters,
    client: &Client,
    key: &hmac::Key,
    now: UnixSeconds,
) -> Result<Option<UnixSeconds>, OAuthError> {
    if let Some(shown_at) = parameters.value(AFTER).and_then(|text| opened_after(text, &client.id, key, now))
    {
        return Ok(Some(shown_at));
    }
    let prompt = parameters.value("prompt").unwrap_or_default();
    if prompt.split(' ').any(|name| name == "login" || name == "select_account") {
        return Ok(Some(later(now, 1)));
    }
    let Some(max_age) = parameters.value("max_age") else { return Ok(None) };
    let max_age: u64 = max_age
        .parse()
        .map_err(|_| OAuthError::new(Code::InvalidRequest, "`max_age` is not a number of seconds"))?;
    Ok(Some(match max_age {
        0 => later(now, 1),
        _ => UnixSeconds(now.0.saturating_sub(max_age)),
    }))
}

/// The parameter of our own that a request carries once its sign-in page was shown.
pub const AFTER: &str = "sealstone_after";

/// The value of [`AFTER`]: when the page was shown, with a MAC, so that nobody weakens `prompt=login` or `max_age` by
/// adding it.
pub fn sealed_after(client_id: &str, key: &hmac::Key, now: UnixSeconds) -> String {
    let tag = hmac::sign(key, after_text(client_id, now.0).as_bytes());
    format!("{}.{}", now.0, URL_SAFE_NO_PAD.encode(tag))
}

fn opened_after(text: &str, client_id: &str, key: &hmac::Key, now: UnixSeconds) -> Option<UnixSeconds> {
    let (shown_at, tag) = text.split_once('.')?;
    let shown_at: u64 = shown_at.parse().ok()?;
    let tag = URL_SAFE_NO_PAD.decode(tag).ok()?;
    hmac::verify(key, after_text(client_id, shown_at).as_bytes(), &tag).ok()?;
    (shown_at <= now.0 && now.0 - shown_at <= SIGN_IN_SECONDS).then_some(UnixSeconds(shown_at))
}

fn after_text(client_id: &str, shown_at: u64) -> String {
    format!("sign-in page shown v1\0{client_id}\0{shown_at}")
}

/// Decides what happens now.
/// OpenID Connect Core §3.1.2.3, §3.1.2.4 and §3.1.2.6.
///
/// `consented` holds what [`consented`] found; `agreed` says that the person has agreed to this very request.
pub fn next(
    request: &Request,
    session: Option<&Session>,
    consented: &[String],
    agreed: bool,
    issuer: &Issuer,
) -> Next {
    let tell = |code, what: &'static str| {
        let error = OAuthError::new(code, what);
        Next::Tell(request.refuse(&error, issuer), error)
    };
    let since = request.signed_in_since.unwrap_or(UnixSeconds(0));
    if session.is_none_or(|session| session.auth_time < since) {
        return match request.prompt.none {
            true => tell(Code::LoginRequired, "nobody has signed in, or not lately enough"),
            false => Next::SignIn,
        };
    }
    let unmet = session.is_some_and(|session| {
        !request.acr.is_empty() && !request.acr.iter().any(|one| Some(one) == session.acr.as_ref())
    });
    match (unmet, request.prompt.none, request.shown) {
        (false, ..) => {}
        (true, true, _) => return tell(Code::LoginRequired, "the person must sign in in another way"),
        (true, false, false) => return Next::SignIn,
        // They have signed in for this request, and not as it must be.
        (true, false, true) => {
            let what = "the person has not signed in in a way that the request can do with";
            return tell(Code::UnmetAuthenticationRequirements, what);
        }
    }
    let settled = match request.client.code_flow.consent {
        Consent::Implied => true,
        Consent::Asked => {
            !request.prompt.consent && request.scopes().all(|one| consented.iter().any(|known| known == one))
        }
    };
    match (settled || agreed, request.prompt.none) {
        (true, _) => Next::Issue,
        (false, false) => Next::AskConsent,
        (false, true) => tell(Code::ConsentRequired, "the person has not agreed yet"),
    }
}

/// What happens while somebody else than the person that the client means has signed in, or nobody has.
/// OpenID Connect Core §3.1.2.1: they may sign in now; who has done so for this very request and is another is told of.
pub fn next_for_another(request: &Request, issuer: &Issuer) -> Next {
    match request.prompt.none || request.shown {
        false => Next::SignIn,
        true => {
            let error =
                OAuthError::new(Code::LoginRequired, "the person of `id_token_hint` has not signed in");
            Next::Tell(request.refuse(&error, issuer), error)
        }
    }
}

/// What a code stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CodeRecord {
    pub(crate) challenge: Option<String>,
    pub(crate) dpop_jkt: Option<String>,
    pub(crate) ends_at: u64,
    pub(crate) granted: Granted,
    pub(crate) nonce: Option<String>,
    /// As the request gave it; the token request must give the same, RFC 6749 §4.1.3.
    pub(crate) redirect_uri: String,
}

/// Issues a code, for a pushed request once. When it returns, the code is durable.
/// RFC 6749 §4.1.2: 256 random bits, one minute, kept by its hash.
pub async fn issue(
    request: &Request,
    session: &Session,
    issuer: &Issuer,
    store: &dyn Store,
    randomness: &dyn Randomness,
    now: UnixSeconds,
) -> Result<Redirect, OAuthError> {
    request.use_up(store, now).await?;
    let code = random_secret(randomness, 32)?;
    let granted = Granted {
        acr: session.acr.clone(),
        amr: session.amr.clone(),
        audiences: request.audiences.clone(),
        auth_time: session.auth_time.0,
        client_id: request.client.id.clone(),
        family: random_id(randomness)?,
        granted_at: now.0,
        scope: request.scope.clone(),
        session_ends_at: session.ends_at().0,
        sid: session.sid.clone(),
        sub: session.sub.clone(),
    };
    let body = CodeRecord {
        challenge: request.challenge.clone(),
        dpop_jkt: request.dpop_jkt.clone(),
        ends_at: later(now, CODE_LIFETIME_SECONDS).0,
        granted,
        nonce: request.nonce.clone(),
        redirect_uri: request.redirect_uri.clone(),
    };
    let new = granted::record(Kind::Code, granted::name_of(&code), later(now, CODE_MEMORY_SECONDS), &body)?;
    match store.insert(new, now).await? {
        Write::Done(_) => Ok(request.answer(issuer).code(&code)),
        Write::Refused => Err(Error::store("insert a code", "two codes are alike").into()),
    }
}

/// What a person has agreed to, for one client.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConsentRecord {
    given_at: u64,
    scopes: Vec<String>,
}

/// The scopes that the person has let the client have before.
pub async fn consented(
    session: &Session,
    client: &Client,
    store: &dyn Store,
    now: UnixSeconds,
) -> Result<Vec<String>, Error> {
    let Some(record) = store.read(Kind::Consent, &consent_id(session, client), now).await? else {
        return Ok(Vec::new());
    };
    let found: ConsentRecord = granted::parse(Kind::Consent, &record.body)?;
    // A client that was registered anew is another client.
    Ok(if found.given_at < client.created_at.0 { Vec::new() } else { found.scopes })
}

/// Remembers what the person has agreed to, besides what was agreed before.
pub async fn remember_consent(
    request: &Request,
    session: &Session,
    store: &dyn Store,
    now: UnixSeconds,
) -> Result<(), Error> {
    let id = consent_id(session, &request.client);
    // Another page of the same person may write at the same time; a few rounds settle it.
    for _ in 0..8 {
        let before = store.read(Kind::Consent, &id, now).await?;
        let mut scopes = consented(session, &request.client, store, now).await?;
        scopes.extend(request.scopes().map(str::to_owned));
        scopes.sort();
        scopes.dedup();
        let body = ConsentRecord { given_at: now.0, scopes };
        let mut new = granted::record(Kind::Consent, id.clone(), now, &body)?;
        new.expires_at = None;
        let written = match before {
            Some(before) => store.replace(new, before.version, now).await?,
            None => store.insert(new, now).await?,
        };
        if let Write::Done(_) = written {
            return Ok(());
        }
    }
    Err(Error::store("remember a consent", "others write it all the time"))
}

fn consent_id(session: &Session, client: &Client) -> String {
    granted::name_of(&format!("consent v1\0{}\0{}", session.sub, client.id))
}
