//! Client authentication, RFC 6749 §2.3.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sealstone_jose::UnixSeconds;
use zeroize::Zeroizing;

use super::client_assertion::{self, ASSERTION, ASSERTION_TYPE, SingleUse};
use super::client_certificate::{self, Anchors, PeerCertificate};
use super::client_kerberos;
use super::parameters::decode;
use super::{Code, OAuthError, Parameters};
use crate::client::{AuthMethod, Authentication, Client, ClientKeys, Clients, KeySource, SecretHash};
use crate::clock::Randomness;
use crate::issuer::Issuer;
use crate::kerberos::Acceptor;
use crate::keys::Sealer;
use crate::outbound::KeySets;
use crate::store::Store;
use crate::verifiers::Verifiers;

/// A client that has proved who it is, as far as its registered method can. Only [`Proof::complete`] hands one out.
#[derive(Clone, Debug)]
pub struct Authenticated {
    client: Arc<Client>,
    reply: Option<String>,
}

impl Authenticated {
    fn by(client: &Arc<Client>) -> Self {
        Self { client: Arc::clone(client), reply: None }
    }

    /// The client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// What shows the client in turn that it speaks with this server, for the answer's `WWW-Authenticate: Negotiate`
    /// (RFC 4559 §4).
    pub fn reply(&self) -> Option<&str> {
        self.reply.as_deref()
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
    /// Accepts Kerberos tickets, where they are accepted.
    pub kerberos: Option<&'a Acceptor>,
    /// The keys that clients publish elsewhere.
    pub key_sets: &'a KeySets,
    /// The time of the request.
    pub now: UnixSeconds,
    /// Chance, for what a client is answered.
    pub randomness: &'a dyn Randomness,
    /// Opens the secrets that MACs are checked with.
    pub sealer: &'a Sealer,
    /// Where the signatures of clients are checked.
    pub verifiers: &'a Verifiers,
}

impl Means<'_> {
    /// The client's keys; `has` says whether the one that is looked for is among them.
    /// Errors: `temporarily_unavailable` if they are elsewhere and cannot be had.
    pub(super) async fn keys(
        &self,
        client: &Client,
        source: &KeySource,
        has: impl Fn(&ClientKeys) -> bool,
    ) -> Result<Arc<ClientKeys>, OAuthError> {
        let keys = self.key_sets.keys(source, self.now, has).await;
        keys.map_err(|_| later().hint(format!("client `{}`: its keys cannot be fetched", client.id)))
    }

    /// Does what costs a signature's arithmetic, when it is the client's turn.
    /// Errors: `temporarily_unavailable` if too many wait already.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        client: &Client,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, OAuthError> {
        let done = self.verifiers.run(&client.id, work).await;
        done.map_err(|_| {
            later().hint(format!("client `{}`: too many signatures wait to be checked", client.id))
        })
    }
}

fn later() -> OAuthError {
    OAuthError::new(Code::TemporarilyUnavailable, "the client cannot be authenticated now")
}

/// What the request itself proves.
#[must_use]
#[derive(Debug)]
pub enum Proof {
    /// Everything: the client knows its secret, holds the key of its certificate, or has nothing to prove.
    Complete(Authenticated),
    /// Everything but that the assertion, or the token of a ticket, was not used before: the store decides.
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
            Proof::Once(once) => {
                let (client, reply) = once.spend(store, now).await?;
                Ok(Authenticated { client, reply })
            }
        }
    }
}

/// Finds out which client makes the request, by the one method that it is registered for (RFC 7591 §2).
/// RFC 6749 §2.3.1; §2.3: not by two methods at once; RFC 7523 §3 for assertions; RFC 8705 §2 for certificates;
/// RFC 4559 for tickets.
///
/// A certificate is a proof only where a request has no other: beside one it may still bind tokens (RFC 8705 §4).
/// Nothing is written: see [`Proof::complete`].
/// Time: the secret's comparison does not depend on the secret; an unknown client costs the same hash.
/// Errors: `temporarily_unavailable` if keys cannot be fetched or too many signatures wait; `invalid_client`, the same for an unknown client, a wrong proof and another method than the registered one;
/// `invalid_request` for two methods.
pub async fn authenticate(shown: Shown<'_>, means: Means<'_>) -> Result<Proof, OAuthError> {
    let (parameters, clients) = (shown.parameters, means.clients);
    let posted = parameters.value("client_secret");
    let asserted = [ASSERTION, ASSERTION_TYPE].into_iter().any(|name| parameters.value(name).is_some());
    let credentials = match (shown.authorization, posted, asserted) {
        ([], None, false) => return by_id(shown, means).await,
        ([], None, true) => {
            return client_assertion::check(parameters, means).await.map(Proof::Once);
        }
        ([], Some(secret), false) => Credentials {
            method: AuthMethod::ClientSecretPost,
            id: Zeroizing::new(parameters.required("client_id")?.to_owned()),
            secret: Zeroizing::new(secret.to_owned()),
        },
        ([header], None, false) => match (client_kerberos::token(header), means.kerberos) {
            (Some(token), Some(acceptor)) => {
                return client_kerberos::check(token, acceptor, parameters, means).map(Proof::Once);
            }
            _ => basic(header)?,
        },
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
    Ok(Proof::Complete(Authenticated::by(client)))
}

/// RFC 8705 §2: `client_id` says who it is, and the certificate shows it. A public client only says who it is, RFC 6749
/// §3.2.1.
async fn by_id(shown: Shown<'_>, means: Means<'_>) -> Result<Proof, OAuthError> {
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
                    client_certificate::check_name(certificate, client, name, means).await?;
                }
                Authentication::SelfSignedTlsClientAuth(keys) => {
                    client_certificate::check_registered(certificate, client, keys, means).await?;
                }
                _ => check_method(client, AuthMethod::TlsClientAuth)?,
            }
            client
        }
    };
    Ok(Proof::Complete(Authenticated::by(client)))
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
