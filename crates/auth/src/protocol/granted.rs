//! What a person has let a client do, and what becomes of it: a code, then tokens of one family.
//!
//! A family is everything that one sign-in at one client has led to. It is revoked as a whole: every access token of it
//! carries its id (see [`super::access_token`]), and every refresh token is a move within its record.

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_jose::UnixSeconds;
use sealstone_jose::jwt::Claims;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::access_token::{self, NewToken};
use super::token::{Ground, TokenResponse};
use super::{Code, Confirmation, OAuthError, Parameters, id_token, subject, target, token_refresh};
use crate::Error;
use crate::client::{Client, Grant};
use crate::clock::{CLOCK_SLACK_SECONDS, later};
use crate::store::{Kind, NewRecord, Store, Write};

/// What a person has granted to a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Granted {
    /// The authentication context class, OpenID Connect Core §2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acr: Option<String>,
    /// How the person signed in, RFC 8176.
    pub amr: Vec<String>,
    /// The audiences of access tokens.
    pub audiences: Vec<String>,
    /// When the person signed in.
    pub auth_time: u64,
    /// To whom.
    pub client_id: String,
    /// What everything that follows is revoked with.
    pub family: String,
    /// When.
    pub granted_at: u64,
    /// The scopes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// When that session ends at the latest; 0 where there is none, or one that is not told.
    #[serde(default)]
    pub session_ends_at: u64,
    /// The session that the person had. A client knows it by another name: see [`sid_at`].
    pub sid: String,
    /// The person's own `sub`; what the client sees of it is in [`subject`].
    pub sub: String,
}

impl Granted {
    /// Whether `name` is among the scopes.
    pub fn has_scope(&self, name: &str) -> bool {
        self.scope.as_deref().is_some_and(|scope| scope.split(' ').any(|one| one == name))
    }

    /// Whether it was granted to this client and not to one that had its id before.
    pub fn is_for(&self, client: &Client) -> bool {
        self.client_id == client.id && client.created_at.0 <= self.granted_at
    }

    /// The same grant, whose access tokens end with the session unless it has `offline_access`: their ids begin with what
    /// is revoked then. OpenID Connect Back-Channel Logout 1.0 §2.7.
    pub(crate) fn in_session(mut self) -> Self {
        if !self.has_scope("offline_access") {
            self.family = format!("{}{IN_SESSION}{}", sid_at(&self.sid, &self.client_id), self.family);
        }
        self
    }

    /// Issues an access token for `audiences` and `scope`, which are within what was granted.
    pub(crate) async fn access_token(
        &self,
        client: &Client,
        audiences: &[String],
        scope: Option<&str>,
        ground: Ground<'_>,
    ) -> Result<(String, u64), OAuthError> {
        let lifetime = ground.lifetime(client);
        let mut more = Claims::new().with("auth_time", self.auth_time);
        if let Some(acr) = &self.acr {
            more = more.with("acr", acr.as_str());
        }
        if !self.amr.is_empty() {
            more = more.with("amr", Value::from(self.amr.clone()));
        }
        let token = NewToken {
            audiences,
            client,
            confirmation: ground.confirmation,
            family: Some(&self.family),
            lifetime,
            more,
            scope,
            subject: &subject::at(client, &self.sub, ground.pairwise_key),
        };
        let key = ground.signing_key(client)?;
        Ok((access_token::issue(token, key, ground).await?, lifetime))
    }
}

/// Issues the tokens that a grant stands for, which the caller has used up.
/// RFC 6749 §5.1; RFC 8707 §2.2; OpenID Connect Core §3.1.3.3, and §11 for `offline_access`.
pub(crate) async fn issue(
    granted: &Granted,
    nonce: Option<&str>,
    client: &Client,
    parameters: &Parameters,
    ground: Ground<'_>,
) -> Result<TokenResponse, OAuthError> {
    let audiences = target::narrowed(&granted.audiences, parameters)?;
    subject::given(client, &granted.sub, ground.pairwise_key, ground.store, ground.now).await?;
    let (access_token, expires_in) =
        granted.access_token(client, &audiences, granted.scope.as_deref(), ground).await?;
    let id_token = match granted.has_scope("openid") {
        true => Some(id_token::issue(granted, nonce, &access_token, client, ground).await?),
        false => None,
    };
    let refreshes = client.grants.contains(&Grant::RefreshToken) && granted.has_scope("offline_access");
    let refresh_token = match refreshes {
        true => Some(begin_family(client, granted, ground).await?),
        false => None,
    };
    let (scope, token_type) = (granted.scope.clone(), ground.confirmation.token_type());
    let issued_token_type = None;
    Ok(TokenResponse {
        access_token,
        expires_in,
        id_token,
        issued_token_type,
        refresh_token,
        scope,
        token_type,
    })
}

async fn begin_family(client: &Client, granted: &Granted, ground: Ground<'_>) -> Result<String, OAuthError> {
    let family = Family {
        confirmation: ground.confirmation.clone(),
        generation: 1,
        granted: granted.clone(),
        revoked: false,
        rotated_at: ground.now.0,
    };
    let ends = later(ground.now, client.code_flow.refresh_lifetime_seconds.0);
    match ground.store.insert(family.record(ends)?, ground.now).await? {
        Write::Done(_) => Ok(token_refresh::token(&granted.family, 1, ground.refresh_key)),
        Write::Refused => Err(OAuthError::new(Code::ServerError, "the server could not answer")
            .hint("two families have the same id")),
    }
}

/// A family's record: where its refresh token stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Family {
    /// What a public client must go on showing, RFC 9449 §5 and RFC 8705 §4.
    pub(crate) confirmation: Confirmation,
    /// The number of the refresh token that holds.
    pub(crate) generation: u64,
    pub(crate) granted: Granted,
    /// Nothing of it holds any more.
    pub(crate) revoked: bool,
    /// When the token before was exchanged for this one.
    pub(crate) rotated_at: u64,
}

impl Family {
    pub(crate) fn record(&self, ends: UnixSeconds) -> Result<NewRecord, Error> {
        record(Kind::Family, self.granted.family.clone(), ends, self)
    }
}

/// Ends a family: no refresh token of it is exchanged again, no access token of it is active again. Returns when both
/// are durable. In this order, so that whoever sees the mark finds no living refresh token, and a server that stops half
/// way has at least kept the longer-lived of the two from being used; asked again, it does the rest.
pub(crate) async fn end_family(
    family: &str,
    max_lifetime_seconds: u64,
    store: &dyn Store,
    now: UnixSeconds,
) -> Result<(), Error> {
    while let Some(record) = store.read(Kind::Family, family, now).await? {
        let found: Family = parse(Kind::Family, &record.body)?;
        if found.revoked {
            break;
        }
        let ends = record.expires_at.unwrap_or(UnixSeconds(u64::MAX));
        let ended = Family { revoked: true, ..found }.record(ends)?;
        // Refused: a refresh came between, and the next round sees it.
        if let Write::Done(_) = store.replace(ended, record.version, now).await? {
            break;
        }
    }
    let ends = later(now, max_lifetime_seconds.saturating_add(CLOCK_SLACK_SECONDS));
    let mark =
        NewRecord { kind: Kind::Revocation, id: family.to_owned(), expires_at: Some(ends), body: Vec::new() };
    // Refused: the mark stands there already, which is what was asked for.
    let (Write::Done(_) | Write::Refused) = store.insert(mark, now).await?;
    tracing::warn!(family, "a family of tokens is revoked");
    Ok(())
}

/// What stands in the id of an access token between the session that it ends with and its family.
pub(crate) const IN_SESSION: char = ':';

/// The `sid` by which a client knows a session: OpenID Connect Back-Channel Logout 1.0 §2.1. Each client has another, so
/// that two of them cannot tell by it that they have the same person before them. A session's own `sid` has 128 random bits
/// and leaves the server nowhere, so nothing can be found from this one.
pub(crate) fn sid_at(sid: &str, client_id: &str) -> String {
    let hash =
        digest::digest(&digest::SHA256, format!("session at a client v1\0{sid}\0{client_id}").as_bytes());
    URL_SAFE_NO_PAD.encode(&hash.as_ref()[..16])
}

/// The name under which a secret is kept: its hash, so that the store does not give it away.
pub(crate) fn name_of(secret: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, secret.as_bytes()))
}

pub(crate) fn record(
    kind: Kind,
    id: String,
    ends: UnixSeconds,
    body: &impl Serialize,
) -> Result<NewRecord, Error> {
    let body = serde_json::to_vec(body).map_err(|cause| Error::store("write a record", cause))?;
    Ok(NewRecord { kind, id, expires_at: Some(ends), body })
}

pub(crate) fn parse<T: DeserializeOwned>(kind: Kind, body: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(body)
        .map_err(|cause| Error::store("read a record", format!("{}: {cause}", kind.name())))
}

/// All that a client learns of a code or a refresh token that does not hold.
pub(crate) fn not_held(hint: &'static str) -> OAuthError {
    OAuthError::new(Code::InvalidGrant, "the grant is not valid, was used before, or is another client's")
        .hint(hint)
}
