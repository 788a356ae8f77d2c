//! Pushed authorization requests, RFC 9126: the client hands its request over itself, and the browser carries a name of
//! it alone.
//!
//! The store keeps the request under the hash of its name; [`super::asked`] opens it, and says how often that may be.

use aws_lc_rs::hmac;
use serde::Serialize;

use super::asked::{Asked, OPENED, PushedRecord};
use super::authorize::{AFTER, Refused, Request, SIGN_IN_SECONDS};
use super::client_assertion::{ASSERTION, ASSERTION_TYPE};
use super::client_auth::Means;
use super::granted;
use super::request_object::{self, REQUEST};
use super::token::Ground;
use super::{Authenticated, Code, OAuthError, Parameters};
use crate::Error;
use crate::clock::{later, random_secret};
use crate::store::{Kind, Write};

/// What every name begins with, RFC 9126 §2.2.
pub const REQUEST_URI: &str = "urn:ietf:params:oauth:request_uri:";
/// What shows who the client is, and what only our own pages say.
const NOT_KEPT: [&str; 7] = [AFTER, ASSERTION, ASSERTION_TYPE, "client_id", "client_secret", OPENED, REQUEST];

/// What the client gets, RFC 9126 §2.2.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pushed {
    /// The name of the request: 256 random bits.
    pub request_uri: String,
    /// For how many seconds it may be opened.
    pub expires_in: u64,
}

/// Checks a request as the authorization endpoint will, and keeps it. When it returns, the request is durable.
/// RFC 9126 §2.1 and §2.3; §3: of a signed request nothing counts but what is signed; RFC 9449 §10.1: `jkt` is the key
/// whose proof came with the request, and binds the code.
///
/// Errors: `invalid_request` for a `request_uri`, which must not be pushed; `invalid_dpop_proof` if the proof is not of
/// the key that `dpop_jkt` names; whatever is wrong with the request itself.
pub async fn push(
    caller: &Authenticated,
    parameters: &Parameters,
    jkt: Option<&str>,
    lifetime_seconds: u64,
    key: &hmac::Key,
    means: Means<'_>,
    ground: Ground<'_>,
) -> Result<Pushed, OAuthError> {
    let client = caller.client();
    if parameters.value("request_uri").is_some() {
        return Err(OAuthError::new(Code::InvalidRequest, "`request_uri` cannot be pushed"));
    }
    let signed = match parameters.value(REQUEST) {
        Some(object) => Some(request_object::open(object, client, means, ground.now).await?),
        None => None,
    };
    let parameters = signed.as_ref().unwrap_or(parameters);
    let mut kept: Vec<(&str, &str)> =
        parameters.iter().filter(|(name, _)| !NOT_KEPT.contains(name)).collect();
    match (parameters.value("dpop_jkt"), jkt) {
        (Some(named), Some(shown)) if named != shown => {
            let what = "`dpop_jkt` is not the key of the DPoP proof";
            return Err(OAuthError::new(Code::InvalidDpopProof, what));
        }
        (None, Some(shown)) => kept.push(("dpop_jkt", shown)),
        _ => {}
    }
    kept.push(("client_id", &client.id));
    let asked = Asked::pushing(Parameters::of(&kept), signed.is_some());
    Request::read(&asked, ground.snapshot, ground.issuer, key, ground.now).map_err(|refused| {
        let (Refused::Page(error) | Refused::Client(_, error)) = refused;
        error
    })?;
    let request_uri = format!("{REQUEST_URI}{}", *random_secret(ground.randomness, 32)?);
    let ends = later(ground.now, lifetime_seconds);
    let body = PushedRecord {
        client_id: client.id.clone(),
        ends_at: ends.0,
        parameters: kept.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        pushed_at: ground.now.0,
        signed: signed.is_some(),
    };
    let id = granted::name_of(&request_uri);
    // As long as somebody may be signing in for it.
    let new = granted::record(Kind::PushedRequest, id, later(ends, SIGN_IN_SECONDS), &body)?;
    match ground.store.insert(new, ground.now).await? {
        Write::Done(_) => Ok(Pushed { request_uri, expires_in: lifetime_seconds }),
        Write::Refused => Err(Error::store("insert a pushed request", "two names are alike").into()),
    }
}
