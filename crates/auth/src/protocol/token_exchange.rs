//! Token exchange, RFC 8693: a client that was called with a token of ours asks for one with which it may call on.
//!
//! - It can have less than the token that it brings, never more: the audiences that its policy allows, the scopes that
//!   the token, the client and the request share, and no longer life.
//! - The new token says who acts for whom (§4.1), a chain whose length is bounded. Only a client registered for it may
//!   leave itself out (impersonation, §1.1); a chain that is there already stays.
//! - Its id begins with the id of the token that it came from, so that a mark on that token or its family is a mark on
//!   this one: see [`OwnToken::is_active`](super::access_token::OwnToken::is_active).
//! - A token that is bound to a key is exchanged for whoever shows that key in the same request, and for nobody else.
//!   Otherwise a stolen one, worth nothing where it was to be used, could be made one's own here. A resource server that
//!   was called with such a token has not the key, and so cannot exchange it: it needs a token of its own, or callers
//!   whose tokens are not bound.
//!
//! The answer follows from the request, the snapshot, the time and chance; nothing is written.

use std::collections::BTreeSet;

use sealstone_jose::jwt::Claims;
use serde_json::{Map, Value, json};

use super::access_token::{self, NewToken, OwnToken};
use super::target::is_scope_token;
use super::token::{Ground, TokenResponse};
use super::{Authenticated, Code, OAuthError, Parameters};
use crate::client::{Client, Exchange};

/// The identifier of an access token, RFC 8693 §3.
pub const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
/// The identifier of a JWT, §3. Here it names the same: our access tokens are JWTs.
pub const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";
/// The most actors in a chain (§4.1), and the most exchanges that one token can come from.
pub const MAX_ACTORS: usize = 8;

/// What of a subject token still holds in one that came from it: how the user was authenticated (RFC 9068 §2.2.1), and
/// who alone may act (RFC 8693 §4.4).
const KEPT: [&str; 4] = ["acr", "amr", "auth_time", "may_act"];

/// Exchanges a token.
/// RFC 8693 §2.1 and §2.2.
///
/// Errors: `invalid_request`, the same for every token that cannot be exchanged (§2.2.2); `invalid_target`,
/// `invalid_scope`; `server_error` if the client's algorithm has no key.
pub async fn grant(
    caller: &Authenticated,
    parameters: &Parameters,
    ground: Ground<'_>,
) -> Result<TokenResponse, OAuthError> {
    let client = caller.client();
    let wanted = parameters.value("requested_token_type");
    if wanted.is_some_and(|wanted| wanted != ACCESS_TOKEN) {
        return Err(invalid("`requested_token_type` is not one that can be issued"));
    }
    let subject = Presented::read("subject_token", "subject_token_type", parameters, ground)?
        .ok_or_else(|| invalid("the parameter `subject_token` is missing"))?;
    subject.check_audience(&client.exchange)?;
    let actor_token = Presented::read("actor_token", "actor_token_type", parameters, ground)?;
    if let Some(actor) = &actor_token {
        actor.check_actor(client)?;
    }
    let actor = actor_token.as_ref().map_or_else(|| Actor::client(client), Actor::token);
    actor.check_allowed(&subject, ground.issuer.as_str())?;
    let audiences = audiences(&client.exchange, parameters)?;
    let scope = scope(client, &subject, parameters.value("scope"))?;

    let mut more = Claims::new();
    for name in KEPT {
        if let Some(value) = subject.token.claim(name) {
            more = more.with(name, value.clone());
        }
    }
    let impersonates = client.exchange.impersonation && actor_token.is_none();
    let before = subject.token.claim("act");
    match (impersonates, before) {
        (true, None) => {}
        (true, Some(before)) => more = more.with("act", before.clone()),
        (false, before) => more = more.with("act", actor.before(before)),
    }
    if more.get("act").is_some_and(|act| chain(act) > MAX_ACTORS) || subject.is_last() {
        return Err(subject.unfit("it has come through as many hands as a token may"));
    }

    let key = ground.signing_key(client)?;
    let lifetime = ground.lifetime(client);
    let lifetime = [Some(&subject), actor_token.as_ref()]
        .into_iter()
        .flatten()
        .fold(lifetime, |most, token| most.min(token.token.expires_at().0.saturating_sub(ground.now.0)));
    let token = NewToken {
        audiences: &audiences,
        client,
        confirmation: ground.confirmation,
        family: Some(subject.token.jti()),
        lifetime,
        more,
        scope: scope.as_deref(),
        subject: &subject.sub,
    };
    let access_token = access_token::issue(token, key, ground).await?;
    Ok(TokenResponse {
        issued_token_type: Some(ACCESS_TOKEN),
        ..TokenResponse::new(access_token, lifetime, scope, ground.confirmation)
    })
}

/// A token of ours that a client brings, active and in the hands of whom it is bound to.
struct Presented {
    name: &'static str,
    client: String,
    sub: String,
    token: OwnToken,
}

impl Presented {
    /// Reads the token in one parameter whose type stands in another, §2.1. `None` if neither is there.
    fn read(
        name: &'static str,
        type_name: &'static str,
        parameters: &Parameters,
        ground: Ground<'_>,
    ) -> Result<Option<Self>, OAuthError> {
        let (text, kind) = match (parameters.value(name), parameters.value(type_name)) {
            (None, None) => return Ok(None),
            (Some(text), Some(kind)) => (text, kind),
            _ => return Err(invalid("a token and its type go together")),
        };
        if ![ACCESS_TOKEN, JWT].contains(&kind) {
            return Err(invalid("a token's type is not one that can be exchanged"));
        }
        let token = access_token::check(text, ground.snapshot, ground.issuer, ground.now)
            .map_err(|_| unfit(name, "it is no access token of this server within its time"))?;
        let sub = token.claim("sub").and_then(Value::as_str).unwrap_or_default().to_owned();
        let presented = Self { name, client: token.client_id().to_owned(), sub, token };
        if !presented.token.is_active(ground.snapshot) {
            return Err(presented.unfit("it is revoked, or its client is gone"));
        }
        if presented.sub.is_empty() {
            return Err(presented.unfit("it has no subject"));
        }
        if !ground.confirmation.shows(presented.token.claim("cnf")) {
            return Err(presented.unfit("it is bound to a key that this request does not show"));
        }
        Ok(Some(presented))
    }

    /// The client's policy names the audiences whose tokens it may exchange: those that it was called with.
    fn check_audience(&self, policy: &Exchange) -> Result<(), OAuthError> {
        let audiences = self.token.audiences();
        match audiences.iter().any(|audience| policy.from.contains(*audience)) {
            true => Ok(()),
            false => Err(self.unfit("the client may not exchange tokens for its audiences")),
        }
    }

    /// Who acts is the client itself, or somebody whose token it was called with. Nobody acts for the actor: a chain
    /// has one line.
    fn check_actor(&self, client: &Client) -> Result<(), OAuthError> {
        if self.client != client.id {
            self.check_audience(&client.exchange)?;
        }
        match self.token.claim("act") {
            None => Ok(()),
            Some(_) => Err(self.unfit("an actor has an actor")),
        }
    }

    /// Whether it can be exchanged no more: its id has a part for its family, one for the first token, and one for each
    /// exchange.
    fn is_last(&self) -> bool {
        self.token.jti().split('.').count() >= 2 + MAX_ACTORS
    }

    fn unfit(&self, why: &str) -> OAuthError {
        unfit(self.name, &format!("of client `{}`: {why}", self.client))
    }
}

/// Who acts for the subject.
struct Actor<'a> {
    client_id: &'a str,
    sub: &'a str,
}

impl<'a> Actor<'a> {
    fn client(client: &'a Client) -> Self {
        Self { client_id: &client.id, sub: &client.id }
    }

    fn token(token: &'a Presented) -> Self {
        Self { client_id: &token.client, sub: &token.sub }
    }

    /// The subject's token may name the only one who may act, §4.4. A member that is not known here is not fulfilled.
    fn check_allowed(&self, subject: &Presented, issuer: &str) -> Result<(), OAuthError> {
        let Some(may_act) = subject.token.claim("may_act") else { return Ok(()) };
        let fulfilled = |(name, value): (&String, &Value)| match name.as_str() {
            "client_id" => value == self.client_id,
            "iss" => value == issuer,
            "sub" => value == self.sub,
            _ => false,
        };
        let named = |may_act: &Map<String, Value>| {
            ["client_id", "sub"].iter().any(|name| may_act.contains_key(*name))
        };
        match may_act.as_object().is_some_and(|all| named(all) && all.iter().all(fulfilled)) {
            true => Ok(()),
            false => Err(subject.unfit("its `may_act` names somebody else")),
        }
    }

    /// The `act` claim: this actor, and within it who acted before, §4.1. The client stands beside the subject, for a
    /// client's id and a user's are names of two kinds.
    fn before(&self, before: Option<&Value>) -> Value {
        let mut act = json!({"client_id": self.client_id, "sub": self.sub});
        if let Some(before) = before {
            act["act"] = before.clone();
        }
        act
    }
}

/// How many actors a chain has.
fn chain(act: &Value) -> usize {
    std::iter::successors(Some(act), |act| act.get("act")).count()
}

/// The audiences asked for by `resource` (RFC 8707 §2) and `audience` (§2.1), or the only one there is.
fn audiences(policy: &Exchange, parameters: &Parameters) -> Result<Vec<String>, OAuthError> {
    let mut wanted: Vec<String> = Vec::new();
    for name in ["resource", "audience"].into_iter().flat_map(|name| parameters.values(name)) {
        if !policy.to.contains(name) {
            return Err(target("the client may not exchange tokens for such a target"));
        }
        if !wanted.iter().any(|known| known == name) {
            wanted.push(name.to_owned());
        }
    }
    let mut all = policy.to.iter();
    match (wanted.is_empty(), all.next(), all.next()) {
        (false, ..) => Ok(wanted),
        (true, Some(only), None) => Ok(vec![only.clone()]),
        (true, ..) => Err(target("the request must name its target by `resource` or `audience`")),
    }
}

/// The scopes that the subject's token, the client and the request share; without a request, those that the first two
/// share. RFC 6749 §3.3: the answer says which.
fn scope(client: &Client, subject: &Presented, asked: Option<&str>) -> Result<Option<String>, OAuthError> {
    let held = subject.token.claim("scope").and_then(Value::as_str).unwrap_or_default();
    let held: BTreeSet<&str> = held.split(' ').filter(|name| client.scopes.contains(*name)).collect();
    let shared = match asked {
        None => held,
        Some(asked) => {
            let asked: BTreeSet<&str> = asked.split(' ').collect();
            if !asked.iter().all(|name| is_scope_token(name)) {
                let what = "`scope` is not a list of names with one space between";
                return Err(OAuthError::new(Code::InvalidScope, what));
            }
            let shared: BTreeSet<&str> = held.intersection(&asked).copied().collect();
            if shared.is_empty() {
                let what = "no scope is one that both the token and the client have";
                return Err(OAuthError::new(Code::InvalidScope, what));
            }
            shared
        }
    };
    Ok((!shared.is_empty()).then(|| shared.into_iter().collect::<Vec<_>>().join(" ")))
}

/// The peer learns that it failed; the operator learns why.
fn unfit(name: &str, why: &str) -> OAuthError {
    invalid("a token that the request brings cannot be exchanged").hint(format!("the {name}, {why}"))
}

fn invalid(what: &'static str) -> OAuthError {
    OAuthError::new(Code::InvalidRequest, what)
}

fn target(what: &'static str) -> OAuthError {
    OAuthError::new(Code::InvalidTarget, what)
}
