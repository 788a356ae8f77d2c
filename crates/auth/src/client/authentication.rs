//! How a client proves who it is: exactly one method, and what the server keeps for it.

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
}

impl AuthMethod {
    /// Every method there is.
    pub const ALL: [AuthMethod; 2] = [AuthMethod::ClientSecretBasic, AuthMethod::ClientSecretPost];

    /// Its registered name.
    pub const fn name(self) -> &'static str {
        match self {
            AuthMethod::ClientSecretBasic => "client_secret_basic",
            AuthMethod::ClientSecretPost => "client_secret_post",
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
}

impl Authentication {
    /// The method.
    pub const fn method(&self) -> AuthMethod {
        match self {
            Authentication::ClientSecretBasic(_) => AuthMethod::ClientSecretBasic,
            Authentication::ClientSecretPost(_) => AuthMethod::ClientSecretPost,
        }
    }

    /// The hash of the secret that the client sends.
    pub const fn secret_hash(&self) -> &SecretHash {
        match self {
            Authentication::ClientSecretBasic(hash) | Authentication::ClientSecretPost(hash) => hash,
        }
    }
}
