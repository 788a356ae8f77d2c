//! Token introspection, RFC 7662.

use sealstone_jose::UnixSeconds;
use serde_json::{Map, Value, json};

use super::access_token;
use super::{Authenticated, OAuthError, Parameters};
use crate::issuer::Issuer;
use crate::snapshot::Snapshot;

/// Says whether a token holds and what it says.
/// RFC 7662 §2.1 and §2.2.
///
/// The caller may see its own tokens and those for an audience it answers for. Any other token, like one that is
/// malformed, foreign, expired or revoked, is `{"active": false}` and nothing more.
/// Errors: `invalid_request` without `token`.
pub fn answer(
    caller: &Authenticated,
    parameters: &Parameters,
    snapshot: &Snapshot,
    issuer: &Issuer,
    now: UnixSeconds,
) -> Result<Value, OAuthError> {
    let token = parameters.required("token")?;
    // token_type_hint: there is one type of token, so the search needs no hint (§2.1 lets the server ignore it).
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
