//! Request objects: an authorization request that the client has signed, RFC 9101, under the rules of FAPI 2.0 Message
//! Signing §5.3.
//!
//! By value alone: an object at an address is not fetched. Where there is an object, nothing outside it counts.

use std::time::Duration;

use sealstone_jose::jws::Unverified;
use sealstone_jose::jwt::{Claims, Rules};
use sealstone_jose::{Algorithm, UnixSeconds};
use serde::Deserialize;
use serde_json::Value;

use super::client_assertion::LEEWAY_SECONDS;
use super::client_auth::Means;
use super::{Code, OAuthError, Parameters};
use crate::client::{Client, ClientKeys};

/// The parameter that holds an object, RFC 9101 §5.
pub const REQUEST: &str = "request";
/// The media type of an object, RFC 9101 §4. It may be absent.
pub const TYP: &str = "oauth-authz-req+jwt";
/// Most bytes of an object: one signed with ML-DSA-87 takes 6,170 for the signature.
pub const MAX_OBJECT: usize = 16_384;
/// How long an object may be good, and how long ago its time may have begun.
pub const MAX_LIFETIME_SECONDS: u64 = 3_600;

/// What an object says of itself and not of the request.
const ABOUT_IT: [&str; 7] = ["aud", "exp", "iat", "iss", "jti", "nbf", "sub"];

/// The parameters that an object of the client holds, at the time `now`.
/// RFC 9101 §4, §6.2 and §6.3; FAPI 2.0 Message Signing §5.3.1: `aud` has the issuer, `nbf` and `exp` are there and at most
/// an hour apart, `client_id` is the client, and no other object is inside.
///
/// The key comes from the client's registration; its signature is checked where those of all clients are.
/// Errors: `invalid_request_object`, the same for whatever is wrong; `temporarily_unavailable` if the client's keys cannot
/// be fetched or too many signatures wait.
pub(super) async fn open(
    object: &str,
    client: &Client,
    means: Means<'_>,
    now: UnixSeconds,
) -> Result<Parameters, OAuthError> {
    let wrong = |what: &dyn std::fmt::Display| wrong(client, what);
    if object.len() > MAX_OBJECT {
        return Err(wrong(&"is longer than any that could be accepted"));
    }
    let token = Unverified::parse(object).map_err(|cause| wrong(&cause))?;
    if !token.header().typ().is_none_or(|typ| typ.eq_ignore_ascii_case(TYP)) {
        return Err(wrong(&"has the `typ` of another kind of token"));
    }
    // Of what is not proven, the end can only refuse.
    let claimed: Claimed = serde_json::from_slice(token.peek_payload_untrusted())
        .map_err(|_| wrong(&"has no `exp`, or one that is not a number"))?;
    if now.0 as f64 >= claimed.exp + LEEWAY_SECONDS as f64 {
        return Err(wrong(&"is over"));
    }
    let algorithm = token.header().algorithm();
    let registered = client.code_flow.request_object_signing_alg;
    if !client.may_use(algorithm) || registered.is_some_and(|registered| !registered.accepts(algorithm)) {
        return Err(wrong(&"is signed with an algorithm that the client is not registered for"));
    }
    let Some(source) = client.authentication.keys() else {
        return Err(wrong(&"cannot be checked: the client has no keys"));
    };
    let has = |known: &ClientKeys| token.key_in(known.set()).is_ok();
    let known = means.keys(client, source, has).await?;
    let key = token.key_in(known.set()).map_err(|cause| wrong(&cause))?.clone();
    let token = token.into_owned();
    let verified = means.work(client, move || token.verify(&key)).await?;
    let verified = verified.map_err(|cause| wrong(&cause))?;
    let rules = Rules::new().any_issuer().audience(means.issuer.as_str()).any_typ().require("nbf");
    let rules = rules.require("client_id").leeway(Duration::from_secs(LEEWAY_SECONDS));
    let token = rules.check(verified, now).map_err(|cause| wrong(&cause))?;
    let claims = token.claims();
    check(claims, client, now).map_err(|what| wrong(&what))?;
    parameters(claims).map_err(|what| wrong(&what))
}

/// What is read before the signature.
#[derive(Deserialize)]
struct Claimed {
    exp: f64,
}

/// What the rules for every token do not say.
fn check(claims: &Claims, client: &Client, now: UnixSeconds) -> Result<(), &'static str> {
    if claims.get("iss").is_some() && claims.issuer() != Some(&client.id) {
        return Err("has an `iss` that is not the client");
    }
    if claims.text("client_id") != Some(&client.id) {
        return Err("has a `client_id` that is not the client");
    }
    if claims.get(REQUEST).is_some() || claims.get("request_uri").is_some() {
        return Err("holds another request");
    }
    match (claims.not_before(), claims.expires()) {
        (Some(nbf), Some(exp)) if exp.0.saturating_sub(nbf.0) > MAX_LIFETIME_SECONDS => {
            Err("is good for more than an hour")
        }
        (Some(nbf), _) if now.0.saturating_sub(nbf.0) > MAX_LIFETIME_SECONDS + LEEWAY_SECONDS => {
            Err("began to be good more than an hour ago")
        }
        (Some(_), Some(_)) => Ok(()),
        _ => Err("has no `nbf` or no `exp`"),
    }
}

/// RFC 9101 §4: parameters are strings, numbers or JSON; what may repeat is an array.
fn parameters(claims: &Claims) -> Result<Parameters, &'static str> {
    let mut pairs: Vec<(&str, String)> = Vec::new();
    for (name, value) in claims.members() {
        match value {
            _ if ABOUT_IT.contains(&name.as_str()) => {}
            Value::Null => return Err("has a parameter that is null"),
            Value::String(text) => pairs.push((name, text.clone())),
            Value::Array(values) if Parameters::repeats(name) => {
                for value in values {
                    let text = value.as_str().ok_or("has a list of something else than strings")?;
                    pairs.push((name, text.to_owned()));
                }
            }
            other => pairs.push((name, other.to_string())),
        }
    }
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Ok(Parameters::of(&pairs))
}

/// The algorithms that objects may be signed with: those of the house.
pub(super) const ALGORITHMS: [Algorithm; Algorithm::ALL.len()] = Algorithm::ALL;

/// The peer learns that it failed; the operator learns why.
fn wrong(client: &Client, what: &dyn std::fmt::Display) -> OAuthError {
    OAuthError::new(Code::InvalidRequestObject, "the request object is not valid")
        .hint(format!("client `{}`: its request object {what}", client.id))
}
