//! The token endpoint, RFC 6749 §3.2: hands the request to the flow of its grant.

use aws_lc_rs::hmac;
use sealstone_jose::jwt::{self, Claims};
use sealstone_jose::{Error as JoseError, UnixSeconds};
use serde::Serialize;

use super::{Authenticated, Code, Confirmation, OAuthError, Parameters};
use super::{dpop, granted, jwt_bearer};
use super::{token_client, token_code, token_device, token_exchange, token_refresh};
use crate::Error;
use crate::client::{Client, Grant};
use crate::clock::Randomness;
use crate::issuer::Issuer;
use crate::keys::ServerKey;
use crate::signers::Signers;
use crate::snapshot::Snapshot;
use crate::store::Store;

/// What a flow stands on.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    /// The keys that the client has shown to hold in this request.
    pub confirmation: &'a Confirmation,
    /// Who issues.
    pub issuer: &'a Issuer,
    /// The longest lifetime of a token.
    pub max_lifetime_seconds: u64,
    /// The time of the request.
    pub now: UnixSeconds,
    /// What pairwise subjects are made with.
    pub pairwise_key: &'a hmac::Key,
    /// Chance.
    pub randomness: &'a dyn Randomness,
    /// What refresh tokens are made with.
    pub refresh_key: &'a hmac::Key,
    /// What signs.
    pub signers: &'a Signers,
    /// Clients, keys, revocations.
    pub snapshot: &'a Snapshot,
    /// The truth, for the grants that are used up.
    pub store: &'a dyn Store,
}

impl<'a> Ground<'a> {
    /// How long a token of the client lives.
    pub(crate) fn lifetime(&self, client: &Client) -> u64 {
        client.token_lifetime_seconds.min(self.max_lifetime_seconds)
    }

    /// The key that signs the client's tokens.
    /// Errors: `server_error` if its algorithm is no longer enabled.
    pub(crate) fn signing_key(&self, client: &Client) -> Result<&'a ServerKey, OAuthError> {
        self.snapshot.keys.active(client.algorithm).ok_or_else(|| {
            OAuthError::new(Code::ServerError, "the server could not answer").hint(format!(
                "client `{}` is to have {} tokens, which `tokens.algorithms` does not enable",
                client.id,
                client.algorithm.name()
            ))
        })
    }

    /// Signs claims, beside those of others.
    pub(crate) async fn sign(&self, key: &ServerKey, typ: &str, claims: &Claims) -> Result<String, Error> {
        let failed = |cause: JoseError| Error::Key { what: cause.to_string() };
        let token = jwt::unsigned(key.private(), typ, claims).map_err(failed)?;
        self.signers.sign(token).await.map_err(failed)
    }

    /// See [`granted::end_family`].
    pub(crate) async fn end_family(&self, family: &str) -> Result<(), Error> {
        granted::end_family(family, self.max_lifetime_seconds, self.store, self.now).await
    }
}

/// A successful answer, RFC 6749 §5.1.
pub struct TokenResponse {
    /// The token.
    pub access_token: String,
    /// Its lifetime.
    pub expires_in: u64,
    /// Who signed in, OpenID Connect Core §3.1.3.3.
    pub id_token: Option<String>,
    /// What was issued, where that is not plain: RFC 8693 §2.2.1.
    pub issued_token_type: Option<&'static str>,
    /// What the next access token is to be had for, RFC 6749 §1.5.
    pub refresh_token: Option<String>,
    /// Its scopes; left out if it has none.
    pub scope: Option<String>,
    /// `Bearer` or `DPoP`, see [`Confirmation::token_type`].
    pub token_type: &'static str,
}

/// Everything but what is signed.
#[derive(Serialize)]
struct Unsigned<'a> {
    expires_in: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    issued_token_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'a str>,
    token_type: &'a str,
}

impl TokenResponse {
    /// The answer that brings an access token and nothing else.
    pub(super) fn new(
        access_token: String,
        lifetime: u64,
        scope: Option<String>,
        confirmation: &Confirmation,
    ) -> Self {
        Self {
            access_token,
            expires_in: lifetime,
            id_token: None,
            issued_token_type: None,
            refresh_token: None,
            scope,
            token_type: confirmation.token_type(),
        }
    }

    /// As it is sent. What is signed is base64url and dots, of which JSON escapes none: its thousands of letters are copied
    /// and not looked through.
    pub fn json(&self) -> Result<Vec<u8>, Error> {
        let rest = Unsigned {
            expires_in: self.expires_in,
            issued_token_type: self.issued_token_type,
            refresh_token: self.refresh_token.as_deref(),
            scope: self.scope.as_deref(),
            token_type: self.token_type,
        };
        let rest = serde_json::to_string(&rest).map_err(|cause| Error::store("write an answer", cause))?;
        let id_token = self.id_token.as_deref().unwrap_or_default();
        let mut text = String::with_capacity(self.access_token.len() + id_token.len() + rest.len() + 40);
        for (name, token) in [("{\"access_token", &*self.access_token), (",\"id_token", id_token)] {
            if !token.is_empty() {
                for part in [name, "\":\"", token, "\""] {
                    text.push_str(part);
                }
            }
        }
        text.push(',');
        text.push_str(rest.trim_start_matches('{'));
        Ok(text.into_bytes())
    }
}

impl std::fmt::Debug for TokenResponse {
    /// Everything but the tokens.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenResponse").field("scope", &self.scope).finish_non_exhaustive()
    }
}

/// Answers a token request.
/// Errors: `unsupported_grant_type`, `unauthorized_client`, `invalid_dpop_proof` without a proof from a client that
/// always sends one (RFC 9449 §5.2), and those of the flow.
pub async fn answer(
    caller: &Authenticated,
    parameters: &Parameters,
    ground: Ground<'_>,
) -> Result<TokenResponse, OAuthError> {
    let asked = parameters.required("grant_type")?;
    let grant = Grant::ALL.into_iter().find(|grant| grant.name() == asked).ok_or_else(|| {
        OAuthError::new(Code::UnsupportedGrantType, "`grant_type` is not one that this server supports")
    })?;
    if !caller.client().grants.contains(&grant) {
        return Err(OAuthError::new(Code::UnauthorizedClient, "the client may not use this grant"));
    }
    if caller.client().dpop_bound_access_tokens && ground.confirmation.jkt.is_none() {
        return Err(dpop::missing());
    }
    match grant {
        Grant::AuthorizationCode => token_code::grant(caller, parameters, ground).await,
        Grant::ClientCredentials => token_client::grant(caller, parameters, ground).await,
        Grant::DeviceCode => token_device::grant(caller, parameters, ground).await,
        Grant::JwtBearer => jwt_bearer::grant(caller, parameters, ground).await,
        Grant::RefreshToken => token_refresh::grant(caller, parameters, ground).await,
        Grant::TokenExchange => token_exchange::grant(caller, parameters, ground).await,
    }
}
