//! Token revocation, RFC 7009.

use super::access_token::{self, Foreign};
use super::granted::{self, Family};
use super::token::Ground;
use super::token_refresh::Presented;
use super::{Authenticated, Code, OAuthError, Parameters};
use crate::clock::{CLOCK_SLACK_SECONDS, later};
use crate::store::{Kind, NewRecord, Write};

/// Revokes a token of the caller. When it returns, the mark is durable, and its name is returned: the token's id, or the
/// family's for a refresh token, with which every access token of the family is revoked too (§2.1).
/// RFC 7009 §2.1 and §2.2: a token that is malformed, foreign, expired or revoked already is a success too.
/// Of these only the last has a mark: of the others `None` is returned.
/// Errors: `invalid_request` without `token`; `invalid_grant` for another client's token; `unsupported_token_type` for
/// a token of ours that is neither.
pub async fn answer(
    caller: &Authenticated,
    parameters: &Parameters,
    ground: Ground<'_>,
) -> Result<Option<String>, OAuthError> {
    // token_type_hint: the two types cannot be taken for each other, so the search needs no hint (§2.1).
    let token = parameters.required("token")?;
    match Presented::open(token, ground.refresh_key) {
        Some(token) => refresh_token(caller, token.family, ground).await,
        None => access_token(caller, token, ground).await,
    }
}

async fn refresh_token(
    caller: &Authenticated,
    family: &str,
    ground: Ground<'_>,
) -> Result<Option<String>, OAuthError> {
    let Some(record) = ground.store.read(Kind::Family, family, ground.now).await? else { return Ok(None) };
    let found: Family = granted::parse(Kind::Family, &record.body)?;
    if !found.granted.is_for(caller.client()) {
        return Err(another_client());
    }
    ground.end_family(family).await?;
    Ok(Some(family.to_owned()))
}

async fn access_token(
    caller: &Authenticated,
    token: &str,
    ground: Ground<'_>,
) -> Result<Option<String>, OAuthError> {
    let token = match access_token::check(token, ground.snapshot, ground.issuer, ground.now) {
        Ok(token) => token,
        Err(Foreign::OtherType) => {
            return Err(OAuthError::new(
                Code::UnsupportedTokenType,
                "tokens of this type cannot be revoked here",
            ));
        }
        Err(Foreign::NotHeld) => return Ok(None),
    };
    if token.client_id() != caller.client().id {
        return Err(another_client());
    }
    let mark = NewRecord {
        kind: Kind::Revocation,
        id: token.jti().to_owned(),
        expires_at: Some(later(token.expires_at(), CLOCK_SLACK_SECONDS)),
        body: Vec::new(),
    };
    // Refused: the mark stands there already, which is what was asked for.
    let (Write::Done(_) | Write::Refused) = ground.store.insert(mark, ground.now).await?;
    Ok(Some(token.jti().to_owned()))
}

fn another_client() -> OAuthError {
    OAuthError::new(Code::InvalidGrant, "the token was issued to another client")
}
