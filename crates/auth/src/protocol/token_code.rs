//! The authorization code grant's second half, RFC 6749 §4.1.3 and §4.1.4: a code becomes tokens, once.

use aws_lc_rs::{constant_time, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::authorize::CodeRecord;
use super::granted::{self, not_held};
use super::token::{Ground, TokenResponse};
use super::{Authenticated, OAuthError, Parameters, session_clients};
use crate::store::{Kind, Use};

/// Issues the tokens that a code stands for.
/// RFC 6749 §4.1.3; RFC 7636 §4.6; RFC 8707 §2.2; OpenID Connect Core §3.1.3; RFC 9449 §10 for `dpop_jkt`.
///
/// Whoever comes second gets nothing, and what the first one got is revoked (RFC 6749 §4.1.2): the store decides, so
/// this holds for any number of callers on any number of servers. A wrong `code_verifier` uses the code up.
/// Errors: `invalid_grant`, for whatever is wrong with the code; `invalid_request` without `code`.
pub async fn grant(
    caller: &Authenticated,
    parameters: &Parameters,
    ground: Ground<'_>,
) -> Result<TokenResponse, OAuthError> {
    let client = caller.client();
    let id = granted::name_of(parameters.required("code")?);
    let record = ground.store.read(Kind::Code, &id, ground.now).await?;
    let record = record.ok_or_else(|| not_held("no such code, or one that ended long ago"))?;
    let code: CodeRecord = granted::parse(Kind::Code, &record.body)?;
    let code = CodeRecord { granted: code.granted.in_session(), ..code };
    // Before it is used up: another client must not be able to spoil it.
    if !code.granted.is_for(client) {
        return Err(not_held("the code was issued to another client"));
    }
    if let Use::Again(_) | Use::Absent = ground.store.consume(Kind::Code, &id, ground.now).await? {
        ground.end_family(&code.granted.family).await?;
        return Err(not_held("the code was used before: everything issued for it is revoked"));
    }
    check(&code, parameters, ground)?;
    session_clients::join(&code.granted, ground.store, ground.now).await?;
    granted::issue(&code.granted, code.nonce.as_deref(), client, parameters, ground).await
}

/// What the request must show besides the code.
fn check(code: &CodeRecord, parameters: &Parameters, ground: Ground<'_>) -> Result<(), OAuthError> {
    if code.ends_at <= ground.now.0 {
        return Err(not_held("the code's minute is over"));
    }
    // §4.1.3 demands it where the authorization request had it; OAuth 2.1 drops it. PKCE and exact matching stand in
    // for it, so it may be absent, but it must not be another.
    if parameters.value("redirect_uri").is_some_and(|uri| uri != code.redirect_uri) {
        return Err(not_held("`redirect_uri` is not the one of the authorization request"));
    }
    match (&code.challenge, parameters.value("code_verifier")) {
        (Some(challenge), Some(verifier)) if !verifies(challenge, verifier) => {
            return Err(not_held("`code_verifier` does not fit the challenge"));
        }
        (Some(_), None) => return Err(not_held("`code_verifier` is missing")),
        // RFC 9700 §4.8.2: a verifier without a challenge is a sign of a downgrade.
        (None, Some(_)) => return Err(not_held("`code_verifier` is given, and there was no challenge")),
        _ => {}
    }
    match &code.dpop_jkt {
        Some(jkt) if ground.confirmation.jkt.as_ref() != Some(jkt) => {
            Err(not_held("the code is bound to a key that the request does not show"))
        }
        _ => Ok(()),
    }
}

/// RFC 7636 §4.1 and §4.6.
fn verifies(challenge: &str, verifier: &str) -> bool {
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let formed = (43..=128).contains(&verifier.len()) && verifier.bytes().all(unreserved);
    let hash = URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, verifier.as_bytes()));
    formed && constant_time::verify_slices_are_equal(hash.as_bytes(), challenge.as_bytes()).is_ok()
}
