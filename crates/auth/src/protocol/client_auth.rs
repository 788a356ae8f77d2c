//! Client authentication, RFC 6749 §2.3.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use super::parameters::decode;
use super::{Code, OAuthError, Parameters};
use crate::client::{AuthMethod, Client, Clients, SecretHash};

/// A client that has proved who it is. Only [`authenticate`] makes one.
#[derive(Clone, Debug)]
pub struct Authenticated(Arc<Client>);

impl Authenticated {
    /// The client.
    pub fn client(&self) -> &Client {
        &self.0
    }
}

/// Finds out which client makes the request, by the one method that it is registered for (RFC 7591 §2).
/// RFC 6749 §2.3.1; §2.3: not by two methods at once.
///
/// `authorization` holds the values of every Authorization header.
/// Time: the secret's comparison does not depend on the secret; an unknown client costs the same hash.
/// Errors: `invalid_client`, the same for an unknown client, a wrong secret and another method than the registered one;
/// `invalid_request` for two methods.
pub fn authenticate(
    authorization: &[&[u8]],
    parameters: &Parameters,
    clients: &Clients,
) -> Result<Authenticated, OAuthError> {
    let posted = parameters.value("client_secret");
    let credentials = match (authorization, posted) {
        ([], None) => return Err(refused("client authentication is missing")),
        ([], Some(secret)) => Credentials {
            method: AuthMethod::ClientSecretPost,
            id: Zeroizing::new(parameters.required("client_id")?.to_owned()),
            secret: Zeroizing::new(secret.to_owned()),
        },
        ([header], None) => basic(header)?,
        ([_], Some(_)) => return Err(contradictory("more than one client authentication method")),
        _ => return Err(contradictory("more than one Authorization header")),
    };
    if parameters.value("client_id").is_some_and(|id| id != *credentials.id) {
        return Err(contradictory("`client_id` is not the authenticated client's"));
    }
    if parameters.value("client_assertion").is_some() || parameters.value("client_assertion_type").is_some() {
        return Err(contradictory("more than one client authentication method"));
    }
    let given = SecretHash::of(&credentials.secret);
    let client = clients
        .by_id(&credentials.id)
        .ok_or_else(|| refused(FAILED).hint("no client has the id that was given"))?;
    if *client.authentication.secret_hash() != given {
        return Err(refused(FAILED).hint(format!("client `{}` gave a wrong secret", client.id)));
    }
    check_method(client, credentials.method)?;
    Ok(Authenticated(Arc::clone(client)))
}

/// RFC 7591 §2: the method that is registered, and no other.
fn check_method(client: &Client, used: AuthMethod) -> Result<(), OAuthError> {
    let registered = client.authentication.method();
    if registered == used {
        return Ok(());
    }
    let (id, registered, used) = (&client.id, registered.name(), used.name());
    Err(refused(FAILED).hint(format!("client `{id}` used {used} and is registered for {registered}")))
}

const FAILED: &str = "client authentication failed";

struct Credentials {
    method: AuthMethod,
    id: Zeroizing<String>,
    secret: Zeroizing<String>,
}

/// Reads `Basic base64(form-urlencoded id ":" form-urlencoded secret)`.
/// RFC 7617 §2; RFC 6749 §2.3.1 for the encoding inside.
fn basic(header: &[u8]) -> Result<Credentials, OAuthError> {
    let malformed = || refused("the Authorization header is not of the form Basic");
    let header = std::str::from_utf8(header).map_err(|_| malformed())?;
    let (scheme, encoded) = header.split_once(' ').ok_or_else(malformed)?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(refused("the Authorization header's scheme is not supported"));
    }
    let decoded = Zeroizing::new(STANDARD.decode(encoded.trim_matches(' ')).map_err(|_| malformed())?);
    let pair = std::str::from_utf8(&decoded).map_err(|_| malformed())?;
    let (id, secret) = pair.split_once(':').ok_or_else(malformed)?;
    Ok(Credentials {
        method: AuthMethod::ClientSecretBasic,
        id: decode(id).ok_or_else(malformed)?,
        secret: decode(secret).ok_or_else(malformed)?,
    })
}

fn refused(description: &'static str) -> OAuthError {
    OAuthError::new(Code::InvalidClient, description)
}

fn contradictory(description: &'static str) -> OAuthError {
    OAuthError::new(Code::InvalidRequest, description)
}
