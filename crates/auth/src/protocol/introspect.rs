//! Token introspection, RFC 7662.

use serde_json::{Map, Value, json};

use super::access_token;
use super::granted::{self, Family};
use super::token::Ground;
use super::token_refresh::Presented;
use super::{Authenticated, Code, OAuthError, Parameters, subject};
use crate::client::AuthMethod;
use crate::store::Kind;

/// Says whether a token holds and what it says.
/// RFC 7662 §2.1 and §2.2.
///
/// The caller may see its own tokens and those for an audience it answers for. Any other token, like one that is
/// malformed, foreign, expired or revoked, is `{"active": false}` and nothing more.
/// Errors: `invalid_request` without `token`; `invalid_client` for a public client.
pub async fn answer(
    caller: &Authenticated,
    parameters: &Parameters,
    ground: Ground<'_>,
) -> Result<Value, OAuthError> {
    let (snapshot, issuer, now) = (ground.snapshot, ground.issuer, ground.now);
    // §2.1: who asks must have proved it, so that nobody can try out tokens.
    if caller.client().authentication.method() == AuthMethod::None {
        return Err(OAuthError::new(Code::InvalidClient, "client authentication is missing"));
    }
    let token = parameters.required("token")?;
    // token_type_hint: the two types cannot be taken for each other, so the search needs no hint (§2.1).
    if let Some(token) = Presented::open(token, ground.refresh_key) {
        return refresh_token(caller, &token, ground).await;
    }
    let shown = access_token::check(token, snapshot, issuer, now)
        .ok()
        .filter(|token| token.is_active(snapshot))
        .filter(|token| {
            let client = caller.client();
            token.client_id() == client.id
                || token.audiences().iter().any(|aud| client.resources.iter().any(|own| own == aud))
        });
    let Some(token) = shown else { return Ok(json!({"active": false})) };
    let mut members = Map::new();
    members.insert("active".into(), true.into());
    let bound = token.claim("cnf").is_some_and(|cnf| cnf.get("jkt").is_some());
    members.insert("token_type".into(), if bound { "DPoP" } else { "Bearer" }.into());
    for name in [
        "acr",
        "act",
        "amr",
        "aud",
        "auth_time",
        "client_id",
        "cnf",
        "exp",
        "iat",
        "iss",
        "jti",
        "may_act",
        "scope",
        "sub",
    ] {
        if let Some(value) = token.claim(name) {
            members.insert(name.into(), value.clone());
        }
    }
    Ok(Value::Object(members))
}

/// A refresh token is shown to the client that holds it, and to nobody else.
async fn refresh_token(
    caller: &Authenticated,
    token: &Presented<'_>,
    ground: Ground<'_>,
) -> Result<Value, OAuthError> {
    let record = ground.store.read(Kind::Family, token.family, ground.now).await?;
    let Some(record) = record else { return Ok(json!({"active": false})) };
    let family: Family = granted::parse(Kind::Family, &record.body)?;
    let granted = &family.granted;
    if family.revoked || !family.holds(token) || !granted.is_for(caller.client()) {
        return Ok(json!({"active": false}));
    }
    let mut said = json!({
        "active": true,
        "client_id": granted.client_id,
        "iss": ground.issuer.as_str(),
        "sub": subject::at(caller.client(), &granted.sub, ground.pairwise_key),
    });
    if let Some(ends) = record.expires_at {
        said["exp"] = ends.0.into();
    }
    if let Some(scope) = &granted.scope {
        said["scope"] = scope.as_str().into();
    }
    Ok(said)
}
