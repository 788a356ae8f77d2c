//! Token introspection, RFC 7662, and its answers as JWTs, RFC 9701.

use sealstone_jose::jwt::{self, Claims};
use serde_json::{Map, Value, json};

use super::access_token;
use super::granted::{self, Family};
use super::token::Ground;
use super::token_refresh::Presented;
use super::{Authenticated, Code, OAuthError, Parameters, subject};
use crate::Error;
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

/// The media type of an introspection as a JWT, RFC 9701 §4; as `typ`, without `application/` (RFC 7515 §4.1.9), §5.
pub const MEDIA_TYPE: &str = "application/token-introspection+jwt";
const TYP: &str = "token-introspection+jwt";

/// What was `said`, as a JWT for the caller.
/// RFC 9701 §5: `iss`, `aud`, `iat` and `token_introspection`, and nothing else beside them: neither `sub` nor `exp`, so
/// that it passes for no access token (§8.1).
/// Errors: `server_error` if the caller's algorithm is no longer enabled.
pub fn signed(caller: &Authenticated, said: Value, ground: Ground<'_>) -> Result<String, OAuthError> {
    let client = caller.client();
    let algorithm = client.introspection_signed_response_alg.unwrap_or(client.algorithm);
    let key = ground.snapshot.keys.active(algorithm).ok_or_else(|| {
        OAuthError::new(Code::ServerError, "the server could not answer").hint(format!(
            "client `{}` is to have introspections with {}, which `tokens.algorithms` does not enable",
            client.id,
            algorithm.name()
        ))
    })?;
    let claims = Claims::new()
        .with("iss", ground.issuer.as_str())
        .with("aud", client.id.as_str())
        .with("iat", ground.now.0)
        .with("token_introspection", said);
    let signed = jwt::sign(key.private(), TYP, &claims);
    Ok(signed.map_err(|cause| Error::Key { what: cause.to_string() })?)
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
