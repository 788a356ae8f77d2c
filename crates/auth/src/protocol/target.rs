//! What a token is good for: its scopes (RFC 6749 §3.3) and its audiences (RFC 8707), within what the client may have.

use std::collections::BTreeSet;

use super::{Code, OAuthError, Parameters};
use crate::client::Client;

/// The scopes of the token: those asked for, or all that the client has.
/// RFC 6749 §3.3.
/// Errors: `invalid_scope`.
pub(crate) fn scope(client: &Client, asked: Option<&str>) -> Result<Option<String>, OAuthError> {
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
/// Errors: `invalid_target`.
pub(crate) fn audiences(
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

/// Whether the request asks who the person is: whether `openid` is among its scopes.
pub(crate) fn asks_openid(parameters: &Parameters) -> bool {
    parameters.value("scope").is_some_and(|scope| scope.split(' ').any(|one| one == "openid"))
}

/// Those of the granted audiences that `resource` asks for; all of them where it asks for none.
/// RFC 8707 §2.2.
/// Errors: `invalid_target`.
pub(crate) fn narrowed(granted: &[String], parameters: &Parameters) -> Result<Vec<String>, OAuthError> {
    let mut wanted: Vec<String> = Vec::new();
    for resource in parameters.values("resource") {
        if !granted.iter().any(|known| known == resource) {
            return Err(OAuthError::new(Code::InvalidTarget, "a resource is not one that was granted"));
        }
        if !wanted.iter().any(|known| known == resource) {
            wanted.push(resource.to_owned());
        }
    }
    Ok(if wanted.is_empty() { granted.to_vec() } else { wanted })
}

/// Those of the granted scopes that are asked for; all of them where none is.
/// RFC 6749 §6.
/// Errors: `invalid_scope`.
pub(crate) fn narrowed_scope(
    granted: Option<&str>,
    asked: Option<&str>,
) -> Result<Option<String>, OAuthError> {
    let Some(asked) = asked else { return Ok(granted.map(str::to_owned)) };
    let known: BTreeSet<&str> = granted.into_iter().flat_map(|scope| scope.split(' ')).collect();
    let wanted: BTreeSet<&str> = asked.split(' ').collect();
    match wanted.is_subset(&known) {
        true => Ok(Some(wanted.into_iter().collect::<Vec<_>>().join(" "))),
        false => Err(OAuthError::new(Code::InvalidScope, "a scope is not one that was granted")),
    }
}
