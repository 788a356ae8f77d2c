//! The userinfo endpoint, OpenID Connect Core §5.3: what the person's claims are, for a client that may know them.

use sealstone_jose::jwt::{self, Claims};
use sealstone_jose::{Algorithm, Error as JoseError, UnixSeconds};
use serde_json::{Map, Value};

use super::access_token::OwnToken;
use super::{Code, OAuthError, id_token, subject};
use crate::Error;
use crate::client::Client;
use crate::issuer::Issuer;
use crate::signers::Signers;
use crate::snapshot::Snapshot;
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

/// The same as a signed token, for a client that is registered so.
/// §5.3.2: `iss` and `aud` besides. It has neither `iat` nor `exp`, so that it passes for no ID token.
/// Errors: `server_error` where the algorithm was disabled since.
pub(crate) async fn sign(
    claims: &Value,
    client: &Client,
    algorithm: Algorithm,
    snapshot: &Snapshot,
    issuer: &Issuer,
    signers: &Signers,
) -> Result<String, OAuthError> {
    let key = snapshot.keys.active(algorithm).ok_or_else(|| {
        let hint = format!(
            "`tokens.algorithms` does not enable {algorithm}, which client `{}` is to have",
            client.id
        );
        OAuthError::new(Code::ServerError, "the server could not answer").hint(hint)
    })?;
    let known = claims.as_object().into_iter().flatten();
    let said = known.fold(Claims::new(), |said, (name, value)| said.with(name, value.clone()));
    let said = said.with("iss", issuer.as_str()).with("aud", client.id.as_str());
    let failed = |cause: JoseError| Error::Key { what: cause.to_string() };
    let token = jwt::unsigned(key.private(), id_token::TYP, &said).map_err(failed)?;
    Ok(signers.sign(token).await.map_err(failed)?)
}
