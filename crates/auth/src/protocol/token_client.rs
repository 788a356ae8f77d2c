//! The client credentials grant, RFC 6749 §4.4. Writes nothing, waits for nothing but others that are signed beside it: the answer follows from the request, the
//! snapshot, the time and chance.

use sealstone_jose::jwt::Claims;

use super::access_token::{self, NewToken};
use super::token::{Ground, TokenResponse};
use super::{Authenticated, OAuthError, Parameters, target};

/// Issues a token for the client itself.
/// RFC 6749 §4.4.2 and §4.4.3; claims by RFC 9068 §2.2.
/// Errors: `invalid_scope`, `invalid_target`; `server_error` if the client's algorithm has no key.
pub async fn grant(
    caller: &Authenticated,
    parameters: &Parameters,
    ground: Ground<'_>,
) -> Result<TokenResponse, OAuthError> {
    let client = caller.client();
    let scope = target::scope(client, parameters.value("scope"))?;
    let audiences = target::audiences(client, parameters, ground.issuer.as_str())?;
    let lifetime = ground.lifetime(client);
    let key = ground.signing_key(client)?;
    let token = NewToken {
        audiences: &audiences,
        client,
        confirmation: ground.confirmation,
        family: None,
        lifetime,
        more: Claims::new(),
        scope: scope.as_deref(),
        subject: &client.id,
    };
    let access_token = access_token::issue(token, key, ground).await?;
    Ok(TokenResponse::new(access_token, lifetime, scope, ground.confirmation))
}
