//! The userinfo endpoint, OpenID Connect Core §5.3: what the person's claims are, for a client that may know them.

use sealstone_jose::UnixSeconds;
use serde_json::{Map, Value};

use super::access_token::OwnToken;
use super::{Code, OAuthError, subject};
use crate::store::Store;

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
    if token.has_scope("profile") {
        claims.insert("preferred_username".into(), person.username.as_str().into());
        if let Some(name) = &person.name {
            claims.insert("name".into(), name.as_str().into());
        }
    }
    if token.has_scope("email")
        && let Some(email) = &person.email
    {
        claims.insert("email".into(), email.as_str().into());
        claims.insert("email_verified".into(), person.email_verified.into());
    }
    Ok(Value::Object(claims))
}
