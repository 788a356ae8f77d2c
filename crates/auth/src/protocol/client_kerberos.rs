//! Client authentication by a Kerberos ticket: `kerberos_client_auth`, with the header of RFC 4559.
//!
//! The ticket says who somebody is, and `client_id` which client they want to be (as RFC 8705 §2 has it for certificates):
//! it is one whose registration has this principal and no other. RFC 4120 §3.2.3 wants a cache of used authenticators
//! on the machine; here the store remembers them, for all nodes, as it does the ids of assertions.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::client_assertion::SingleUse;
use super::client_auth::{FAILED, Means, check_method, refused};
use super::{OAuthError, Parameters};
use crate::client::AuthMethod;
use crate::clock::{CLOCK_SLACK_SECONDS, later};
use crate::kerberos::{Acceptor, CHANCE, CLOCK_SKEW_SECONDS, MAX_TOKEN};
use crate::store::{Kind, NewRecord};

/// What follows the scheme, where that is Negotiate. RFC 4559 §4.2; RFC 9110 §11.1: the scheme in any case.
pub fn token(header: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = header.split_at_checked("negotiate ".len())?;
    scheme.eq_ignore_ascii_case(b"negotiate ").then(|| rest.trim_ascii())
}

/// Checks everything about the token but that it was not used before.
///
/// What it costs is a few kilobytes of AES and SHA; nothing is waited for, so it takes its turn with no line.
/// Errors: `invalid_client`, the same for whatever is wrong; `server_error` without chance.
pub(super) fn check(
    token: &[u8],
    acceptor: &Acceptor,
    parameters: &Parameters,
    means: Means<'_>,
) -> Result<SingleUse, OAuthError> {
    let failed = |why: &str| refused(FAILED).hint(format!("the Kerberos token: {why}"));
    if token.len() > MAX_TOKEN.div_ceil(3) * 4 {
        return Err(failed("it is longer than any that could be accepted"));
    }
    let token = STANDARD.decode(token).map_err(|_| failed("it is not base64"))?;
    let mut chance = [0; CHANCE];
    means.randomness.fill(&mut chance)?;
    let accepted = acceptor.accept(&token, means.now, chance).map_err(|why| failed(&why))?;
    let id = parameters.value("client_id").ok_or_else(|| failed("there is no `client_id` beside it"))?;
    let client = means.clients.by_id(id).ok_or_else(|| failed("no client has the id that was given"))?;
    check_method(client, AuthMethod::KerberosClientAuth)?;
    if client.authentication.principal() != Some(&accepted.principal) {
        let (id, shown) = (&client.id, &accepted.principal);
        return Err(refused(FAILED)
            .hint(format!("client `{id}`: the ticket is of {shown}, which is another principal")));
    }
    let made = later(accepted.made_at, CLOCK_SKEW_SECONDS + CLOCK_SLACK_SECONDS);
    let mark = NewRecord {
        kind: Kind::SingleUse,
        id: format!("kerberos:{}", URL_SAFE_NO_PAD.encode(accepted.seal)),
        expires_at: Some(made),
        body: Vec::new(),
    };
    let reply = Some(STANDARD.encode(accepted.reply));
    Ok(SingleUse { client: std::sync::Arc::clone(client), mark, reply, what: "its Kerberos token" })
}
