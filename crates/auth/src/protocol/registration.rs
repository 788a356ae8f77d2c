//! Dynamic client registration, RFC 7591 and RFC 7592: clients come by themselves, within what the operator allows.

use std::collections::BTreeSet;

use sealstone_jose::Algorithm;
use zeroize::Zeroizing;

use super::{Code, OAuthError};
use crate::Error;
use crate::admin::{Admin, NewAuthentication, NewClient};
use crate::client::metadata::{Fault, Metadata, plain};
use crate::client::{AssertionAudience, AssertionKeys, Client, ClientSecret, Clients, Grant};
use crate::config::Registration;

/// The scope of an initial access token, RFC 7591 §3: an access token of this server, for this server.
pub const REGISTER_SCOPE: &str = "sealstone:register";

/// The grants that a client can give itself. The others need a decision of the operator's.
const GRANTS: [Grant; 3] = [Grant::AuthorizationCode, Grant::ClientCredentials, Grant::RefreshToken];

/// A client that has come.
#[derive(Debug)]
pub struct Made {
    /// As it is registered now.
    pub client: Client,
    /// Its secret, where its method has one.
    pub secret: Option<ClientSecret>,
    /// What it manages its registration with, RFC 7592 §3.
    pub token: Zeroizing<String>,
}

/// A client that is registered in another way now.
#[derive(Debug)]
pub struct Change {
    /// As it is registered now.
    pub client: Client,
    /// A new secret, where its new method has one.
    pub secret: Option<ClientSecret>,
}

/// Registers a client, RFC 7591 §3.
/// Errors: `invalid_client_metadata`, `invalid_redirect_uri`; `temporarily_unavailable` where there are too many.
pub async fn register(
    policy: &Registration,
    admin: &Admin,
    clients: &Clients,
    body: &[u8],
) -> Result<Made, OAuthError> {
    if clients.registered_themselves() >= policy.most.get() {
        let full = OAuthError::new(Code::TemporarilyUnavailable, "no more clients can register now");
        return Err(full.hint("`registration.most` clients have registered themselves"));
    }
    let new = read(&Metadata::parse(body)?, policy, admin)?;
    let (client, secret, token) = admin.register_client(new).await.map_err(refused)?;
    Ok(Made { client, secret, token })
}

/// Replaces a registration, RFC 7592 §2.2: what is left out is left out.
/// Errors: those of [`register`]; `invalid_request` for another client's id, or a member that only the server sets.
pub async fn update(
    policy: &Registration,
    admin: &Admin,
    client: &Client,
    body: &[u8],
) -> Result<Change, OAuthError> {
    let metadata = Metadata::parse(body)?;
    let invalid = |what| Err(OAuthError::new(Code::InvalidRequest, what));
    let text = |name| metadata.member(name).and_then(serde_json::Value::as_str);
    if text("client_id") != Some(&client.id) {
        return invalid("client_id must be the client's");
    }
    if text("client_secret").is_some_and(|secret| !client.has_secret(secret)) {
        return invalid("client_secret is not the client's");
    }
    let ours = [
        "registration_access_token",
        "registration_client_uri",
        "client_secret_expires_at",
        "client_id_issued_at",
    ];
    if ours.iter().any(|name| metadata.member(name).is_some()) {
        return invalid("a member that only the server sets");
    }
    let new = read(&metadata, policy, admin)?;
    let (client, secret) = admin.change_client(&client.id, new).await.map_err(refused)?;
    Ok(Change { client, secret })
}

/// Removes a registration, RFC 7592 §2.3: the client is gone, and what it was given holds no more.
/// Errors: `invalid_token` if it is gone already.
pub async fn remove(admin: &Admin, client: &Client) -> Result<(), OAuthError> {
    admin.remove_client(&client.id, None).await.map_err(refused)
}

/// What is asked for, within what the operator allows.
fn read(metadata: &Metadata, policy: &Registration, admin: &Admin) -> Result<NewClient, OAuthError> {
    let mut grants = metadata.grants()?;
    if let Some(grant) = grants.iter().find(|grant| !GRANTS.contains(grant)) {
        let what = format!("{} is not for clients that register themselves", grant.name());
        return Err(Fault::Metadata(what).into());
    }
    let mut scopes: BTreeSet<String> = match &metadata.scope {
        Some(scope) => {
            scope.split(' ').filter(|one| policy.scopes.contains(*one)).map(str::to_owned).collect()
        }
        None => policy.scopes.clone(),
    };
    // The scope and the grant go together: OpenID Connect Core §11.
    if grants.contains(&Grant::RefreshToken) && policy.scopes.contains("offline_access") {
        scopes.insert("offline_access".to_owned());
    } else {
        scopes.remove("offline_access");
        grants.remove(&Grant::RefreshToken);
    }
    let mut authentication = metadata.authentication()?;
    if policy.token_endpoint_audience {
        name_the_token_endpoint(&mut authentication);
    }
    let public = authentication.method() == crate::client::AuthMethod::None;
    let mut new = NewClient {
        algorithm: algorithm(metadata, admin.algorithms())?,
        authentication,
        dpop_bound_access_tokens: metadata.dpop_bound_access_tokens,
        grants,
        logout: metadata.logout()?,
        name: metadata.client_name.clone(),
        scopes,
        subject: metadata.subject()?,
        tls_client_certificate_bound_access_tokens: metadata.tls_client_certificate_bound_access_tokens,
        ..NewClient::default()
    };
    new.code_flow.about = metadata.about()?;
    new.code_flow.redirect_uris = metadata.redirect_uris()?;
    new.code_flow.require_pushed_authorization_requests = metadata.require_pushed_authorization_requests;
    new.code_flow.require_signed_request_object = metadata.require_signed_request_object;
    new.code_flow.request_object_signing_alg = metadata.request_object_signing_alg()?;
    new.introspection_signed_response_alg = metadata.introspection_signed_response_alg()?;
    new.code_flow.userinfo_signed_response_alg = metadata.userinfo_signed_response_alg()?;
    new.code_flow.pkce_optional = policy.pkce_optional && !public;
    Ok(new)
}

/// Lets assertions name the token endpoint, RFC 7523 §3, item 3.
fn name_the_token_endpoint(authentication: &mut NewAuthentication) {
    if let NewAuthentication::ClientSecretJwt(_, audience)
    | NewAuthentication::PrivateKeyJwt(AssertionKeys { audience, .. }) = authentication
    {
        *audience = AssertionAudience::IssuerOrTokenEndpoint;
    }
}

/// What signs the client's tokens. Where nothing is said: RS256, as OpenID Connect Registration §2 has it, or else what
/// clients of others know best.
fn algorithm(metadata: &Metadata, enabled: &[Algorithm]) -> Result<Algorithm, Fault> {
    let wanted = match &metadata.id_token_signed_response_alg {
        Some(name) => enabled.iter().find(|algorithm| algorithm.name() == name),
        None => [Algorithm::Rs256, Algorithm::Es256]
            .iter()
            .find(|usual| enabled.contains(usual))
            .or(enabled.first()),
    };
    let missing = || Fault::Metadata("id_token_signed_response_alg: it is not possible here".into());
    wanted.copied().ok_or_else(missing)
}

impl From<Fault> for OAuthError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Metadata(what) => OAuthError::new(Code::InvalidClientMetadata, what),
            Fault::RedirectUri(what) => OAuthError::new(Code::InvalidRedirectUri, what),
        }
    }
}

/// What an administrator would be told, in the words of RFC 7591.
fn refused(cause: Error) -> OAuthError {
    match cause {
        Error::ClientInvalid { field, what, .. } => {
            OAuthError::new(Code::InvalidClientMetadata, plain(&format!("{field}: {what}")))
        }
        // Somebody removed it meanwhile.
        Error::ClientUnknown { .. } => {
            OAuthError::new(Code::InvalidToken, "the registration access token does not hold")
        }
        other => other.into(),
    }
}
