//! The client credentials grant, RFC 6749 §4.4. Writes nothing, locks nothing: the answer follows from the request, the
//! snapshot, the time and chance.

use std::collections::BTreeSet;

use sealstone_jose::jwt::Claims;

use super::access_token::{self, NewToken};
use super::token::{Ground, TokenResponse, signing_key};
use super::{Authenticated, Code, OAuthError, Parameters};
use crate::client::Client;

/// Issues a token for the client itself.
/// RFC 6749 §4.4.2 and §4.4.3; claims by RFC 9068 §2.2.
/// Errors: `invalid_scope`, `invalid_target`; `server_error` if the client's algorithm has no key.
pub fn grant(
    caller: &Authenticated,
    parameters: &Parameters,
    ground: Ground<'_>,
) -> Result<TokenResponse, OAuthError> {
    let client = caller.client();
    let scope = scope(client, parameters.value("scope"))?;
    let audiences = audiences(client, parameters, ground.issuer.as_str())?;
    let lifetime = client.token_lifetime_seconds.min(ground.max_lifetime_seconds);
    let key = signing_key(client, ground)?;
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
    let access_token = access_token::issue(token, key, ground.issuer, ground.now, ground.randomness)?;
    Ok(TokenResponse::new(access_token, lifetime, scope, ground.confirmation))
}

/// The scopes of the token: those asked for, or all that the client has.
/// RFC 6749 §3.3.
fn scope(client: &Client, asked: Option<&str>) -> Result<Option<String>, OAuthError> {
    let Some(asked) = asked else {
        let all: Vec<&str> = client.scopes.iter().map(String::as_str).collect();
        return Ok((!all.is_empty()).then(|| all.join(" ")));
    };
    let mut wanted = BTreeSet::new();
    for name in asked.split(' ') {
        if !is_scope_token(name) {
            return Err(OAuthError::new(
                Code::InvalidScope,
                "`scope` is not a list of names with one space between",
            ));
        }
        if !client.scopes.contains(name) {
            return Err(OAuthError::new(Code::InvalidScope, "a scope is not one that the client may have"));
        }
        wanted.insert(name);
    }
    Ok(Some(wanted.into_iter().collect::<Vec<_>>().join(" ")))
}

/// `scope-token = 1*( %x21 / %x23-5B / %x5D-7E )`, RFC 6749 §3.3.
pub(crate) fn is_scope_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
}

/// The audiences of the token: those asked for by `resource`, or the client's, or the issuer.
/// RFC 8707 §2; RFC 9068 §3.
pub(super) fn audiences(
    client: &Client,
    parameters: &Parameters,
    issuer: &str,
) -> Result<Vec<String>, OAuthError> {
    let mut wanted: Vec<String> = Vec::new();
    for resource in parameters.values("resource") {
        if !client.audiences.iter().any(|known| known == resource) {
            return Err(OAuthError::new(
                Code::InvalidTarget,
                "a resource is not one that the client may use",
            ));
        }
        if !wanted.iter().any(|known| known == resource) {
            wanted.push(resource.to_owned());
        }
    }
    Ok(match (wanted.is_empty(), client.audiences.is_empty()) {
        (false, _) => wanted,
        (true, false) => client.audiences.clone(),
        (true, true) => vec![issuer.to_owned()],
    })
}
