//! The userinfo endpoint, OpenID Connect Core §5.3: what the person's claims are, for a client that may know them.

use sealstone_jose::UnixSeconds;
use serde_json::{Map, Value};

use super::access_token::{self, OwnToken};
use super::{Code, OAuthError, subject};
use crate::issuer::Issuer;
use crate::snapshot::Snapshot;
use crate::store::Store;

/// Checks that an access token opens the userinfo endpoint: ours, active, for this server, with the scope `openid`.
/// RFC 6750 §3.1; RFC 9068 §4. Whether its holder shows the key that it is bound to is for the caller to check.
/// Errors: `invalid_token`, the same for every token that does not hold; `insufficient_scope`.
pub fn open(
    token: &str,
    snapshot: &Snapshot,
    issuer: &Issuer,
    now: UnixSeconds,
) -> Result<OwnToken, OAuthError> {
    let invalid = || OAuthError::new(Code::InvalidToken, "the access token does not hold");
    let token = access_token::check(token, snapshot, issuer, now).map_err(|_| invalid())?;
    if !token.is_active(snapshot) || !token.audiences().contains(&issuer.as_str()) {
        return Err(invalid());
    }
    match has_scope(&token, "openid") {
        true => Ok(token),
        false => Err(OAuthError::new(Code::InsufficientScope, "the access token has no scope `openid`")),
    }
}

/// The claims, by the scopes of the token.
/// OpenID Connect Core §5.3.2 and §5.4: `sub` always; `profile` and `email` what is known of them.
/// Errors: `invalid_token` for a person who is not a user any more.
pub async fn answer(token: &OwnToken, store: &dyn Store, now: UnixSeconds) -> Result<Value, OAuthError> {
    let invalid = || OAuthError::new(Code::InvalidToken, "the access token does not hold");
    let sub = token.claim("sub").and_then(Value::as_str).ok_or_else(invalid)?;
    let person =
        subject::person(store, sub, now).await?.filter(|person| !person.disabled).ok_or_else(invalid)?;
    let mut claims = Map::new();
    claims.insert("sub".into(), sub.into());
    if has_scope(token, "profile") {
        claims.insert("preferred_username".into(), person.username.as_str().into());
        if let Some(name) = &person.name {
            claims.insert("name".into(), name.as_str().into());
        }
    }
    if has_scope(token, "email")
        && let Some(email) = &person.email
    {
        claims.insert("email".into(), email.as_str().into());
        claims.insert("email_verified".into(), person.email_verified.into());
    }
    Ok(Value::Object(claims))
}

fn has_scope(token: &OwnToken, name: &str) -> bool {
    let scope = token.claim("scope").and_then(Value::as_str).unwrap_or_default();
    scope.split(' ').any(|one| one == name)
}
