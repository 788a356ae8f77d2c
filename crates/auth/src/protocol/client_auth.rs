//! Client authentication, RFC 6749 §2.3.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sealstone_jose::UnixSeconds;
use zeroize::Zeroizing;

use super::client_assertion::{self, ASSERTION, ASSERTION_TYPE, SingleUse};
use super::client_certificate::{self, Anchors, PeerCertificate};
use super::parameters::decode;
use super::{Code, OAuthError, Parameters};
use crate::client::{AuthMethod, Authentication, Client, Clients, SecretHash};
use crate::issuer::Issuer;
use crate::keys::Sealer;
use crate::store::Store;

/// A client that has proved who it is, as far as its registered method can. Only [`Proof::complete`] hands one out.
#[derive(Clone, Debug)]
pub struct Authenticated(Arc<Client>);

impl Authenticated {
    /// The client.
    pub fn client(&self) -> &Client {
        &self.0
    }
}

/// What a request brings along to show who sends it.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// The values of every Authorization header.
    pub authorization: &'a [&'a [u8]],
    /// The certificate of the connection's handshake, RFC 8705 §2.
    pub certificate: Option<&'a Arc<PeerCertificate>>,
    /// The form.
    pub parameters: &'a Parameters,
}

/// What it is checked with.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    /// Who certifies clients.
    pub anchors: &'a Anchors,
    /// The registered clients.
    pub clients: &'a Clients,
    /// Who is asked.
    pub issuer: &'a Issuer,
    /// The time of the request.
    pub now: UnixSeconds,
    /// Opens the secrets that MACs are checked with.
    pub sealer: &'a Sealer,
}

/// What the request itself proves.
#[must_use]
#[derive(Debug)]
pub enum Proof {
    /// Everything: the client knows its secret, holds the key of its certificate, or has nothing to prove.
    Complete(Authenticated),
    /// Everything but that the assertion was not used before: the store decides.
    Once(SingleUse),
}

impl Proof {
    /// Who it will be. Nothing may be given out for this yet.
    pub fn client(&self) -> &Client {
        match self {
            Proof::Complete(caller) => caller.client(),
            Proof::Once(assertion) => assertion.client(),
        }
    }

    /// The client, once the store has been asked, where it must be.
    /// Errors: those of [`SingleUse::spend`].
    pub async fn complete(self, store: &dyn Store, now: UnixSeconds) -> Result<Authenticated, OAuthError> {
        match self {
            Proof::Complete(caller) => Ok(caller),
            Proof::Once(assertion) => Ok(Authenticated(assertion.spend(store, now).await?)),
        }
    }
}

/// Finds out which client makes the request, by the one method that it is registered for (RFC 7591 §2).
/// RFC 6749 §2.3.1; §2.3: not by two methods at once; RFC 7523 §3 for assertions; RFC 8705 §2 for certificates.
///
/// A certificate is a proof only where a request has no other: beside one it may still bind tokens (RFC 8705 §4).
/// Nothing is written: see [`Proof::complete`].
/// Time: the secret's comparison does not depend on the secret; an unknown client costs the same hash.
/// Errors: `invalid_client`, the same for an unknown client, a wrong proof and another method than the registered one;
/// `invalid_request` for two methods.
pub async fn authenticate(shown: Shown<'_>, means: Means<'_>) -> Result<Proof, OAuthError> {
    let (parameters, clients) = (shown.parameters, means.clients);
    let posted = parameters.value("client_secret");
    let asserted = [ASSERTION, ASSERTION_TYPE].into_iter().any(|name| parameters.value(name).is_some());
    let credentials = match (shown.authorization, posted, asserted) {
        ([], None, false) => return by_id(shown, means),
        ([], None, true) => {
            return client_assertion::check(parameters, means).map(Proof::Once);
        }
        ([], Some(secret), false) => Credentials {
            method: AuthMethod::ClientSecretPost,
            id: Zeroizing::new(parameters.required("client_id")?.to_owned()),
            secret: Zeroizing::new(secret.to_owned()),
        },
        ([header], None, false) => basic(header)?,
        ([] | [_], ..) => return Err(contradictory("more than one client authentication method")),
        _ => return Err(contradictory("more than one Authorization header")),
    };
    if parameters.value("client_id").is_some_and(|id| id != *credentials.id) {
        return Err(contradictory("`client_id` is not the authenticated client's"));
    }
    let given = SecretHash::of(&credentials.secret);
    let client = clients
        .by_id(&credentials.id)
        .ok_or_else(|| refused(FAILED).hint("no client has the id that was given"))?;
    if client.authentication.secret_hash().is_some_and(|hash| *hash != given) {
        return Err(refused(FAILED).hint(format!("client `{}` gave a wrong secret", client.id)));
    }
    check_method(client, credentials.method)?;
    Ok(Proof::Complete(Authenticated(Arc::clone(client))))
}

/// RFC 8705 §2: `client_id` says who it is, and the certificate shows it. A public client only says who it is, RFC 6749
/// §3.2.1.
fn by_id(shown: Shown<'_>, means: Means<'_>) -> Result<Proof, OAuthError> {
    let missing = || refused("client authentication is missing");
    let id = shown.parameters.value("client_id").ok_or_else(missing)?;
    let client = means.clients.by_id(id);
    let client = match (client, shown.certificate) {
        (Some(client), _) if client.authentication.method() == AuthMethod::None => client,
        (_, None) => return Err(missing()),
        (None, Some(_)) => return Err(refused(FAILED).hint("no client has the id that was given")),
        (Some(client), Some(certificate)) => {
            match &client.authentication {
                Authentication::TlsClientAuth(name) => {
                    client_certificate::check_name(certificate, client, name, means.anchors, means.now)?;
                }
                Authentication::SelfSignedTlsClientAuth(keys) => {
                    client_certificate::check_registered(certificate, client, keys, means.now)?;
                }
                _ => check_method(client, AuthMethod::TlsClientAuth)?,
            }
            client
        }
    };
    Ok(Proof::Complete(Authenticated(Arc::clone(client))))
}

/// RFC 7591 §2: the method that is registered, and no other.
pub(super) fn check_method(client: &Client, used: AuthMethod) -> Result<(), OAuthError> {
    let registered = client.authentication.method();
    if registered == used {
        return Ok(());
    }
    let (id, registered, used) = (&client.id, registered.name(), used.name());
    Err(refused(FAILED).hint(format!("client `{id}` used {used} and is registered for {registered}")))
}

pub(super) const FAILED: &str = "client authentication failed";

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

pub(super) fn refused(description: &'static str) -> OAuthError {
    OAuthError::new(Code::InvalidClient, description)
}

pub(super) fn contradictory(description: &'static str) -> OAuthError {
    OAuthError::new(Code::InvalidRequest, description)
}
