//! How a client proves who it is: exactly one method, and what the server keeps for it.

use serde::{Deserialize, Serialize};

use super::{CertificateName, KeySource, Principal, SecretHash, SharedSecret};

/// A registered authentication method, by the names of RFC 7591 §2.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthMethod {
    /// The secret in the Authorization header, RFC 6749 §2.3.1.
    #[default]
    ClientSecretBasic,
    /// A token with a MAC under the secret, RFC 7523 §2.2 and OpenID Connect Core §9.
    ClientSecretJwt,
    /// The secret in the form, RFC 6749 §2.3.1.
    ClientSecretPost,
    /// A Kerberos ticket for this server in the Authorization header, RFC 4559.
    KerberosClientAuth,
    /// None: the client cannot keep a secret, RFC 6749 §2.1.
    None,
    /// A token that the client signs with a key of its own, RFC 7523 §2.2 and OpenID Connect Core §9.
    PrivateKeyJwt,
    /// A certificate that the client has registered itself, RFC 8705 §2.2.
    SelfSignedTlsClientAuth,
    /// A certificate of a trusted authority that bears the client's name, RFC 8705 §2.1.
    TlsClientAuth,
}

impl AuthMethod {
    /// Every method there is.
    pub const ALL: [AuthMethod; 8] = [
        AuthMethod::ClientSecretBasic,
        AuthMethod::ClientSecretJwt,
        AuthMethod::ClientSecretPost,
        AuthMethod::KerberosClientAuth,
        AuthMethod::None,
        AuthMethod::PrivateKeyJwt,
        AuthMethod::SelfSignedTlsClientAuth,
        AuthMethod::TlsClientAuth,
    ];

    /// Its registered name; that of Kerberos is not registered.
    pub const fn name(self) -> &'static str {
        match self {
            AuthMethod::ClientSecretBasic => "client_secret_basic",
            AuthMethod::ClientSecretJwt => "client_secret_jwt",
            AuthMethod::ClientSecretPost => "client_secret_post",
            AuthMethod::KerberosClientAuth => "kerberos_client_auth",
            AuthMethod::None => "none",
            AuthMethod::PrivateKeyJwt => "private_key_jwt",
            AuthMethod::SelfSignedTlsClientAuth => "self_signed_tls_client_auth",
            AuthMethod::TlsClientAuth => "tls_client_auth",
        }
    }
}

/// A client's method with what the server keeps for it: a client has one, and no other will do.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// `client_secret_basic`.
    ClientSecretBasic(SecretHash),
    /// `client_secret_jwt`.
    ClientSecretJwt(SharedSecret),
    /// `client_secret_post`.
    ClientSecretPost(SecretHash),
    /// `kerberos_client_auth`.
    KerberosClientAuth(Principal),
    /// `none`: the client is public.
    None,
    /// `private_key_jwt`.
    PrivateKeyJwt(AssertionKeys),
    /// `self_signed_tls_client_auth`.
    SelfSignedTlsClientAuth(KeySource),
    /// `tls_client_auth`.
    TlsClientAuth(CertificateName),
}

impl Authentication {
    /// The method.
    pub const fn method(&self) -> AuthMethod {
        match self {
            Authentication::ClientSecretBasic(_) => AuthMethod::ClientSecretBasic,
            Authentication::ClientSecretJwt(_) => AuthMethod::ClientSecretJwt,
            Authentication::ClientSecretPost(_) => AuthMethod::ClientSecretPost,
            Authentication::KerberosClientAuth(_) => AuthMethod::KerberosClientAuth,
            Authentication::None => AuthMethod::None,
            Authentication::PrivateKeyJwt(_) => AuthMethod::PrivateKeyJwt,
            Authentication::SelfSignedTlsClientAuth(_) => AuthMethod::SelfSignedTlsClientAuth,
            Authentication::TlsClientAuth(_) => AuthMethod::TlsClientAuth,
        }
    }

    /// The hash of the secret that the client sends, if it sends one.
    pub const fn secret_hash(&self) -> Option<&SecretHash> {
        match self {
            Authentication::ClientSecretBasic(hash) | Authentication::ClientSecretPost(hash) => Some(hash),
            _ => None,
        }
    }

    /// The secret that both sides know, if there is one.
    pub const fn shared_secret(&self) -> Option<&SharedSecret> {
        match self {
            Authentication::ClientSecretJwt(secret) => Some(secret),
            _ => None,
        }
    }

    /// What the `aud` of the client's assertions must be, if it makes them.
    pub const fn assertion_audience(&self) -> Option<AssertionAudience> {
        match self {
            Authentication::ClientSecretJwt(secret) => Some(secret.audience),
            Authentication::PrivateKeyJwt(keys) => Some(keys.audience),
            _ => None,
        }
    }

    /// The keys that check the client's assertions, if it makes them.
    pub const fn assertion_keys(&self) -> Option<&AssertionKeys> {
        match self {
            Authentication::PrivateKeyJwt(keys) => Some(keys),
            _ => None,
        }
    }

    /// The keys of the client, whatever they check.
    pub const fn keys(&self) -> Option<&KeySource> {
        match self {
            Authentication::PrivateKeyJwt(AssertionKeys { keys, .. })
            | Authentication::SelfSignedTlsClientAuth(keys) => Some(keys),
            _ => None,
        }
    }

    /// The principal that the client's tickets are of, if it is known by one.
    pub const fn principal(&self) -> Option<&Principal> {
        match self {
            Authentication::KerberosClientAuth(principal) => Some(principal),
            _ => None,
        }
    }

    /// The name that the client's certificate must bear, if it is known by one.
    pub const fn certificate_name(&self) -> Option<&CertificateName> {
        match self {
            Authentication::TlsClientAuth(name) => Some(name),
            _ => None,
        }
    }
}

/// The public keys of a client and the audience that its assertions may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssertionKeys {
    /// What an assertion's `aud` must be.
    pub audience: AssertionAudience,
    /// At least one key. Each decides its algorithm.
    pub keys: KeySource,
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
