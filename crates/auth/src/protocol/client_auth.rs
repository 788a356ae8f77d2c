//! Client authentication, RFC 6749 §2.3.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use super::parameters::decode;
use super::{Code, OAuthError, Parameters};
use crate::client::{Client, Clients, SecretHash};

/// The methods a client may use, by their registered names (RFC 8414 §2).
pub const METHODS: [&str; 2] = ["client_secret_basic", "client_secret_post"];

/// A client that has proved who it is. Only [`authenticate`] makes one.
#[derive(Clone, Debug)]
pub struct Authenticated(Arc<Client>);

impl Authenticated {
    /// The client.
    pub fn client(&self) -> &Client {
        &self.0
    }
}

/// Finds out which client makes the request, by `client_secret_basic` or `client_secret_post`.
/// RFC 6749 §2.3.1; §2.3: not by two methods at once.
///
/// `authorization` holds the values of every Authorization header.
/// Time: the secret's comparison does not depend on the secret; an unknown client costs the same hash.
/// Errors: `invalid_client`, the same for an unknown client and a wrong secret; `invalid_request` for two methods.
pub fn authenticate(
    authorization: &[&[u8]],
    parameters: &Parameters,
    clients: &Clients,
) -> Result<Authenticated, OAuthError> {
    let posted = parameters.value("client_secret");
    let credentials = match (authorization, posted) {
        ([], None) => return Err(refused("client authentication is missing")),
        ([], Some(secret)) => Credentials {
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
    match clients.by_id(&credentials.id) {
        Some(client) if client.secret_hash.matches(&credentials.secret) => {
            Ok(Authenticated(Arc::clone(client)))
        }
        Some(client) => Err(refused(FAILED).hint(format!("client `{}` gave a wrong secret", client.id))),
        None => {
            let _same_work = SecretHash::of(&credentials.secret);
            Err(refused(FAILED).hint("no client has the id that was given"))
        }
    }
}

const FAILED: &str = "client authentication failed";

struct Credentials {
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
    Ok(Credentials { id: decode(id).ok_or_else(malformed)?, secret: decode(secret).ok_or_else(malformed)? })
}

fn refused(description: &'static str) -> OAuthError {
    OAuthError::new(Code::InvalidClient, description)
}

fn contradictory(description: &'static str) -> OAuthError {
    OAuthError::new(Code::InvalidRequest, description)
}
