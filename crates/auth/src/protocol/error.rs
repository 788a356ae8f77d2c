//! What a peer is told when a request cannot be granted, RFC 6749 §5.2 and its registry.

use std::borrow::Cow;
use std::fmt;

/// A refusal: `code` and `description` are for the peer and say no more than the RFC lets them; `hint` and `cause`
/// are for the operator and go to the log.
#[derive(Debug)]
pub struct OAuthError {
    /// The registered code.
    pub code: Code,
    /// For the peer's developer. Never holds what the peer sent.
    pub description: Cow<'static, str>,
    /// For the operator: what to do.
    pub hint: Option<Cow<'static, str>>,
    /// For the operator: what happened.
    pub cause: Option<Box<crate::Error>>,
}

/// The registered error codes.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// RFC 6749 §4.1.2.1, RFC 8628 §3.5: the person, or the server for them, refused.
    AccessDenied,
    /// RFC 8628 §3.5: the person has not answered yet.
    AuthorizationPending,
    /// OpenID Connect Core §3.1.2.6: the person must be asked, and may not be.
    ConsentRequired,
    /// RFC 8628 §3.5: the device code's time is over.
    ExpiredToken,
    /// RFC 6750 §3.1: the token is not good for this.
    InsufficientScope,
    /// RFC 6749 §5.2: client authentication failed.
    InvalidClient,
    /// RFC 7591 §3.2.2: a member of a registration is not possible.
    InvalidClientMetadata,
    /// RFC 9449 §5: the DPoP proof is missing or wrong.
    InvalidDpopProof,
    /// RFC 6749 §5.2: the grant, or the token, is not this client's.
    InvalidGrant,
    /// RFC 7591 §3.2.2: a redirect URI is not possible.
    InvalidRedirectUri,
    /// RFC 6749 §5.2: malformed, repeated or contradictory parameters.
    InvalidRequest,
    /// RFC 9101 §7.1: the request object is not good.
    InvalidRequestObject,
    /// RFC 9101 §7.1: the name of a pushed request is not good.
    InvalidRequestUri,
    /// RFC 6749 §5.2: the scope is malformed or more than the client may have.
    InvalidScope,
    /// RFC 8707 §2: the resource is not one that the client may use.
    InvalidTarget,
    /// RFC 6750 §3.1: the token does not hold.
    InvalidToken,
    /// OpenID Connect Core §3.1.2.6: the person must sign in, and may not be asked to.
    LoginRequired,
    /// OpenID Connect Core §3.1.2.6.
    RequestNotSupported,
    /// OpenID Connect Core §3.1.2.6.
    RequestUriNotSupported,
    /// Registered for RFC 6749 §4.1.2.1: the server failed.
    ServerError,
    /// RFC 8628 §3.5: the device asks too often.
    SlowDown,
    /// Registered for RFC 6749 §4.1.2.1: the server cannot answer now.
    TemporarilyUnavailable,
    /// RFC 6749 §5.2: the client may not use this grant.
    UnauthorizedClient,
    /// OpenID Connect Core Error Code unmet_authentication_requirements 1.0 §2: the person has not signed in as it must be.
    UnmetAuthenticationRequirements,
    /// RFC 6749 §5.2: no such grant here.
    UnsupportedGrantType,
    /// RFC 6749 §4.1.2.1: no such response type here.
    UnsupportedResponseType,
    /// RFC 7009 §2.2.1: tokens of this type are not revoked here.
    UnsupportedTokenType,
    /// RFC 9449 §8: the DPoP proof needs the nonce that comes with this answer.
    UseDpopNonce,
}

impl Code {
    /// The code as the peer sees it.
    pub const fn name(self) -> &'static str {
        match self {
            Code::AccessDenied => "access_denied",
            Code::AuthorizationPending => "authorization_pending",
            Code::ConsentRequired => "consent_required",
            Code::ExpiredToken => "expired_token",
            Code::InsufficientScope => "insufficient_scope",
            Code::InvalidClient => "invalid_client",
            Code::InvalidClientMetadata => "invalid_client_metadata",
            Code::InvalidDpopProof => "invalid_dpop_proof",
            Code::InvalidGrant => "invalid_grant",
            Code::InvalidRedirectUri => "invalid_redirect_uri",
            Code::InvalidRequest => "invalid_request",
            Code::InvalidRequestObject => "invalid_request_object",
            Code::InvalidRequestUri => "invalid_request_uri",
            Code::InvalidScope => "invalid_scope",
            Code::InvalidTarget => "invalid_target",
            Code::InvalidToken => "invalid_token",
            Code::LoginRequired => "login_required",
            Code::RequestNotSupported => "request_not_supported",
            Code::RequestUriNotSupported => "request_uri_not_supported",
            Code::ServerError => "server_error",
            Code::SlowDown => "slow_down",
            Code::TemporarilyUnavailable => "temporarily_unavailable",
            Code::UnauthorizedClient => "unauthorized_client",
            Code::UnmetAuthenticationRequirements => "unmet_authentication_requirements",
            Code::UnsupportedGrantType => "unsupported_grant_type",
            Code::UnsupportedResponseType => "unsupported_response_type",
            Code::UnsupportedTokenType => "unsupported_token_type",
            Code::UseDpopNonce => "use_dpop_nonce",
        }
    }
}

impl OAuthError {
    pub(crate) fn new(code: Code, description: impl Into<Cow<'static, str>>) -> Self {
        Self { code, description: description.into(), hint: None, cause: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<crate::Error> for OAuthError {
    /// The peer learns that the server failed, and whether to try again; the log learns why.
    fn from(cause: crate::Error) -> Self {
        let error = match &cause {
            crate::Error::StoreUnavailable { .. } => {
                Self::new(Code::TemporarilyUnavailable, "the server cannot answer now")
            }
            _ => Self::new(Code::ServerError, "the server could not answer"),
        };
        let hint = cause.hint().map(Cow::Owned);
        Self { cause: Some(Box::new(cause)), hint, ..error }
    }
}

impl fmt::Display for OAuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.description)
    }
}

impl std::error::Error for OAuthError {}
