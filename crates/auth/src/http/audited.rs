//! What the audit log is told of a request: where there is room for it before anything is decided, and in one table what
//! each address decides.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::Method;
use serde::Deserialize;

use super::App;
use super::admin::ADMIN;
use super::answer::Seen;
use crate::audit::{Abandoned, Event, Slot, What};
use crate::client::{Client, Grant};
use crate::protocol::token::TokenResponse;
use crate::protocol::{Code, OAuthError, discovery};

/// What an address decides: what a good answer is, where its handler says no more, and what a refusal is.
struct Route {
    good: Option<What>,
    refused: What,
}

/// The table.
fn route(app: &App, method: &Method, path: &str) -> Option<Route> {
    let path = path.strip_prefix(app.issuer.path()).unwrap_or(path);
    let reading = |what| app.audit.as_ref().filter(|audit| audit.notes_reading()).map(|_| what);
    let (good, refused) = match path {
        discovery::AUTHORIZE | discovery::CONSENT => (None, What::AuthorizationRefused),
        discovery::USERINFO => (reading(What::UserinfoAnswered), What::UserinfoRefused),
        discovery::END_SESSION => (None, What::SignOutRefused),
        // The other pages decide nothing by being looked at.
        _ if method == Method::GET => return None,
        discovery::TOKEN => (None, What::TokenRefused),
        discovery::PAR => (Some(What::PushAccepted), What::PushRefused),
        discovery::DEVICE_AUTHORIZATION => (Some(What::DeviceAsked), What::DeviceRefused),
        discovery::DEVICE => (None, What::DeviceRefused),
        discovery::INTROSPECT => (reading(What::TokenIntrospected), What::IntrospectionRefused),
        discovery::REVOKE => (None, What::RevocationRefused),
        "/login" | "/passkey" => (None, What::SignInFailed),
        "/logout" => (None, What::SignOutRefused),
        "/passkeys" => (None, What::PasskeyRefused),
        path if path.starts_with(ADMIN) => (None, What::AdminRefused),
        path if path.starts_with(discovery::REGISTER) => {
            (Some(What::RegistrationDone), What::RegistrationRefused)
        }
        _ => return None,
    };
    Some(Route { good, refused })
}

/// What a handler has decided, on its answer.
#[derive(Clone, Debug, Default)]
struct Told(Vec<Event>);

/// What a token request asks for, on its answer, also if it is refused.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) grant: Option<Grant>,
}

/// Puts an event on an answer.
pub(super) fn tell(response: &mut Response, event: Event) {
    response.extensions_mut().get_or_insert_default::<Told>().0.push(event);
}

/// An event of now.
pub(super) fn event(app: &App, what: What) -> Event {
    Event::new(what, app.clock.now())
}

/// A token that was issued: its id and whom it is about are read from its claims.
pub(super) fn issued(app: &App, client: &Client, granted: &TokenResponse, asked: Asked) -> Event {
    #[derive(Default, Deserialize)]
    struct Claims<'a> {
        #[serde(borrow)]
        jti: Option<Cow<'a, str>>,
        #[serde(borrow)]
        sub: Option<Cow<'a, str>>,
    }
    let payload = granted.access_token.split('.').nth(1).and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
    let claims: Claims<'_> =
        payload.as_ref().and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default();
    event(app, What::TokenIssued)
        .with("client", &client.id)
        .with_name("grant", asked.grant.map_or("", Grant::name))
        .with_name("algorithm", client.algorithm.name())
        .with_some("jti", claims.jti.as_deref())
        .with_some("sub", claims.sub.as_deref())
        .with_some("scope", granted.scope.as_deref())
        .with_name("token_type", granted.token_type)
}

/// A request that decides something, and the room for its events.
pub(super) struct Begun<'a> {
    app: &'a App,
    origin: Option<IpAddr>,
    route: Route,
    slot: Slot<'a>,
}

/// Asks for room. `None` for requests that decide nothing.
/// Errors: `temporarily_unavailable` if there is none.
pub(super) fn begin<'a>(
    app: &'a Arc<App>,
    method: &Method,
    path: Option<&'a str>,
    origin: Option<IpAddr>,
) -> Result<Option<Begun<'a>>, OAuthError> {
    let Some(audit) = &app.audit else { return Ok(None) };
    let Some(route) = path.and_then(|path| route(app, method, path)) else { return Ok(None) };
    let abandoned = Abandoned { address: origin, now: app.clock.now(), path };
    let slot = audit.begin(abandoned).map_err(|_| {
        let full = OAuthError::new(Code::TemporarilyUnavailable, "the server cannot answer now");
        full.hint("the audit log takes no more: look at the disk, or at `audit.queue`")
    })?;
    Ok(Some(Begun { app, origin, route, slot }))
}

impl Begun<'_> {
    /// Hands over what was decided.
    pub(super) fn end(self, response: &mut Response, seen: &Seen) {
        let Told(mut events) = response.extensions_mut().remove().unwrap_or_default();
        if events.is_empty() {
            events.extend(self.derived(response, seen));
        }
        let located = events.into_iter().map(|event| located(event, self.origin)).collect();
        self.slot.tell(located);
    }

    /// The event of an answer whose handler says no more than the log gets.
    fn derived(&self, response: &Response, seen: &Seen) -> Option<Event> {
        let Some(error) = seen.error.as_deref() else {
            let good = self.route.good?;
            return Some(event(self.app, good).with_some("client", seen.client.as_deref()));
        };
        let asked = response.extensions().get::<Asked>().copied().unwrap_or_default();
        let why = error.hint.as_deref().unwrap_or(&error.description);
        let refused = event(self.app, self.route.refused)
            .with_some("client", seen.client.as_deref())
            .with_some("grant", asked.grant.map(Grant::name))
            .with("code", error.code.name())
            .with("why", why);
        Some(refused)
    }
}

/// With the address that a request came from, where it is known.
fn located(event: Event, origin: Option<IpAddr>) -> Event {
    match origin {
        Some(address) => event.with_address("address", address),
        None => event,
    }
}
