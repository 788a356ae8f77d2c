//! How a client proves who it is: exactly one method, and what the server keeps for it.

use sealstone_jose::JwkSet;
use serde::{Deserialize, Serialize};

use super::SecretHash;

/// A registered authentication method, by the names of RFC 7591 §2.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthMethod {
    /// The secret in the Authorization header, RFC 6749 §2.3.1.
    #[default]
    ClientSecretBasic,
    /// The secret in the form, RFC 6749 §2.3.1.
    ClientSecretPost,
    /// None: the client cannot keep a secret, RFC 6749 §2.1.
    None,
    /// A token that the client signs with a key of its own, RFC 7523 §2.2 and OpenID Connect Core §9.
    PrivateKeyJwt,
}

impl AuthMethod {
    /// Every method there is.
    pub const ALL: [AuthMethod; 4] = [
        AuthMethod::ClientSecretBasic,
        AuthMethod::ClientSecretPost,
        AuthMethod::None,
        AuthMethod::PrivateKeyJwt,
    ];

    /// Its registered name.
    pub const fn name(self) -> &'static str {
        match self {
            AuthMethod::ClientSecretBasic => "client_secret_basic",
            AuthMethod::ClientSecretPost => "client_secret_post",
            AuthMethod::None => "none",
            AuthMethod::PrivateKeyJwt => "private_key_jwt",
        }
    }
}

/// A client's method with what the server keeps for it: a client has one, and no other will do.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// `client_secret_basic`.
    ClientSecretBasic(SecretHash),
    /// `client_secret_post`.
    ClientSecretPost(SecretHash),
    /// `none`: the client is public.
    None,
    /// `private_key_jwt`.
    PrivateKeyJwt(AssertionKeys),
}

impl Authentication {
    /// The method.
    pub const fn method(&self) -> AuthMethod {
        match self {
            Authentication::ClientSecretBasic(_) => AuthMethod::ClientSecretBasic,
            Authentication::ClientSecretPost(_) => AuthMethod::ClientSecretPost,
            Authentication::None => AuthMethod::None,
            Authentication::PrivateKeyJwt(_) => AuthMethod::PrivateKeyJwt,
        }
    }

    /// The hash of the secret that the client sends, if it sends one.
    pub const fn secret_hash(&self) -> Option<&SecretHash> {
        match self {
            Authentication::ClientSecretBasic(hash) | Authentication::ClientSecretPost(hash) => Some(hash),
            Authentication::None | Authentication::PrivateKeyJwt(_) => None,
        }
    }

    /// The keys that check the client's assertions, if it makes them.
    pub const fn assertion_keys(&self) -> Option<&AssertionKeys> {
        match self {
            Authentication::ClientSecretBasic(_)
            | Authentication::ClientSecretPost(_)
            | Authentication::None => None,
            Authentication::PrivateKeyJwt(keys) => Some(keys),
        }
    }
}

/// The public keys of a client and the audience that its assertions may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssertionKeys {
    /// What an assertion's `aud` must be.
    pub audience: AssertionAudience,
    /// At least one key. Each decides its algorithm.
    pub keys: JwkSet,
}

/// What the `aud` of a client's assertions must be.
///
/// A client that can be made to name another server's endpoint as the audience can be used against that server, so the
/// issuer is the one audience that is safe (draft-ietf-oauth-rfc7523bis).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AssertionAudience {
    /// The issuer, and nothing else.
    #[default]
    Issuer,
    /// The issuer or the token endpoint's address, for a client that cannot be changed (RFC 7523 §3, item 3).
    IssuerOrTokenEndpoint,
}
