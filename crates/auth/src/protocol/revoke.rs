//! Token revocation, RFC 7009.

use sealstone_jose::UnixSeconds;

use super::access_token::{self, Foreign};
use super::{Authenticated, Code, OAuthError, Parameters};
use crate::clock::{CLOCK_SLACK_SECONDS, later};
use crate::issuer::Issuer;
use crate::snapshot::Snapshot;
use crate::store::{Kind, NewRecord, Store, Write};

/// Revokes a token of the caller. When it returns, the mark is durable, and its name is the token's id.
/// RFC 7009 §2.1 and §2.2: a token that is malformed, foreign, expired or revoked already is a success too.
/// Of these only the last has a mark: of the others `None` is returned.
/// Errors: `invalid_request` without `token`; `invalid_grant` for another client's token; `unsupported_token_type` for
/// a token of ours that is no access token.
pub async fn answer(
    caller: &Authenticated,
    parameters: &Parameters,
    snapshot: &Snapshot,
    store: &dyn Store,
    issuer: &Issuer,
    now: UnixSeconds,
) -> Result<Option<String>, OAuthError> {
    let token = match access_token::check(parameters.required("token")?, snapshot, issuer, now) {
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
        return Err(OAuthError::new(Code::InvalidGrant, "the token was issued to another client"));
    }
    let mark = NewRecord {
        kind: Kind::Revocation,
        id: token.jti().to_owned(),
        expires_at: Some(later(token.expires_at(), CLOCK_SLACK_SECONDS)),
        body: Vec::new(),
    };
    // Refused: the mark stands there already, which is what was asked for.
    let (Write::Done(_) | Write::Refused) = store.insert(mark, now).await?;
    Ok(Some(token.jti().to_owned()))
}
