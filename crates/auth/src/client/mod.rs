//! What a client is: its id, how it proves who it is, and what it may ask for.

mod about;
mod authentication;
mod certificate;
mod code_flow;
mod exchange;
mod https_uri;
mod jwks_uri;
mod logout;
pub mod metadata;
mod origin;
mod principal;
mod profile;
mod secret;
mod subject;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_jose::{Algorithm, UnixSeconds};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::store::{Kind, Record, Store, Version};

pub use about::About;
pub use authentication::{AssertionAudience, AssertionKeys, AuthMethod, Authentication};
pub(crate) use certificate::sha256;
pub use certificate::{CertificateName, ClientKeys};
pub use code_flow::{CodeFlow, Consent, RedirectUri, RefreshLifetime};
pub use exchange::Exchange;
pub use https_uri::HttpsUri;
pub use jwks_uri::KeySource;
pub use logout::Logout;
pub use origin::Origin;
pub use principal::Principal;
pub use profile::Profile;
pub use secret::{ClientSecret, SecretHash, SharedSecret};
pub use subject::SubjectType;
pub(crate) use subject::sector;

/// A registered client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// The algorithm that signs its tokens.
    pub algorithm: Algorithm,
    /// The audiences of its tokens, and the resources it may narrow them to (RFC 8707). Empty: the issuer.
    pub audiences: Vec<String>,
    /// How it proves who it is, RFC 6749 §2.3.
    pub authentication: Authentication,
    /// What it may do at the authorization endpoint.
    pub code_flow: CodeFlow,
    /// Whether its tokens are bound to its certificate, RFC 8705 §3.
    pub tls_client_certificate_bound_access_tokens: bool,
    /// When it was registered. No token from before is its own.
    pub created_at: UnixSeconds,
    /// Whether each token request must come with a DPoP proof, RFC 9449 §5.2.
    pub dpop_bound_access_tokens: bool,
    /// Which tokens it may exchange, and for what.
    pub exchange: Exchange,
    /// What it may ask the token endpoint for. Empty for a resource server that only introspects.
    pub grants: BTreeSet<Grant>,
    /// Its identifier, RFC 6749 §2.2.
    pub id: String,
    /// What signs introspections that it asks for as JWTs, RFC 9701 §6; `None`: what signs its tokens.
    pub introspection_signed_response_alg: Option<Algorithm>,
    /// How it takes part when a person signs out.
    pub logout: Logout,
    /// A name for people.
    pub name: String,
    /// Who decides about it.
    pub origin: Origin,
    /// What it is held to besides.
    pub profile: Option<Profile>,
    /// What it manages its registration with, where it registered itself (RFC 7592 §3).
    pub registration: Option<SecretHash>,
    /// The audiences it answers for as a resource server: it may introspect their tokens, RFC 7662 §4.
    pub resources: Vec<String>,
    /// The scopes it may have, RFC 6749 §3.3; all of them when it asks for none.
    pub scopes: BTreeSet<String>,
    /// What it sees of a person's `sub`.
    pub subject: SubjectType,
    /// How long its tokens live.
    pub token_lifetime_seconds: u64,
}

/// What a client may ask the token endpoint for.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// RFC 6749 §4.1: a person signs in and lets the client act.
    AuthorizationCode,
    /// RFC 6749 §4.4.
    ClientCredentials,
    /// RFC 8628: a device asks, and a person answers in a browser.
    DeviceCode,
    /// RFC 7523 §2.1.
    JwtBearer,
    /// RFC 6749 §6, for what a person has granted together with the scope `offline_access`.
    RefreshToken,
    /// RFC 8693 §2.1.
    TokenExchange,
}

impl Grant {
    /// Every grant there is.
    pub const ALL: [Grant; 6] = [
        Grant::AuthorizationCode,
        Grant::ClientCredentials,
        Grant::DeviceCode,
        Grant::JwtBearer,
        Grant::RefreshToken,
        Grant::TokenExchange,
    ];

    /// Its `grant_type`.
    pub const fn name(self) -> &'static str {
        match self {
            Grant::AuthorizationCode => "authorization_code",
            Grant::ClientCredentials => "client_credentials",
            Grant::DeviceCode => "urn:ietf:params:oauth:grant-type:device_code",
            Grant::JwtBearer => "urn:ietf:params:oauth:grant-type:jwt-bearer",
            Grant::RefreshToken => "refresh_token",
            Grant::TokenExchange => "urn:ietf:params:oauth:grant-type:token-exchange",
        }
    }
}

/// The registered clients as the token path sees them.
#[derive(Clone, Debug, Default)]
pub struct Clients(HashMap<String, Arc<Client>>);

impl Clients {
    /// The client with this id.
    pub fn by_id(&self, id: &str) -> Option<&Arc<Client>> {
        self.0.get(id)
    }

    /// How many have registered themselves, RFC 7591.
    pub(crate) fn registered_themselves(&self) -> usize {
        self.0.values().filter(|client| client.registration.is_some()).count()
    }
}

impl Clients {
    /// The ids of those of the configuration.
    pub(crate) fn configured(&self) -> Vec<String> {
        let configured = self.0.values().filter(|client| client.origin == Origin::Configured);
        configured.map(|client| client.id.clone()).collect()
    }
}

impl FromIterator<Client> for Clients {
    fn from_iter<T: IntoIterator<Item = Client>>(clients: T) -> Self {
        Self(clients.into_iter().map(|client| (client.id.clone(), Arc::new(client))).collect())
    }
}

/// The body of a client's record. Unknown members are refused: a later version's record must not be half understood.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    algorithm: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    assertion_audience: Option<AssertionAudience>,
    audiences: Vec<String>,
    #[serde(default)]
    code_flow: CodeFlow,
    created_at: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dpop_bound_access_tokens: bool,
    #[serde(default, skip_serializing_if = "Exchange::is_none")]
    exchange: Exchange,
    grants: BTreeSet<Grant>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    introspection_signed_response_alg: Option<String>,
    /// A JWK set, RFC 7517 §5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    jwks: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    jwks_uri: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kerberos_principal: Option<String>,
    #[serde(default, skip_serializing_if = "Logout::is_none")]
    logout: Logout,
    name: String,
    #[serde(default, skip_serializing_if = "Origin::is_registered")]
    origin: Origin,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    profile: Option<Profile>,
    /// SHA-256 of the registration access token, in base64url.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    registration_sha256: Option<String>,
    resources: Vec<String>,
    scopes: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret_sealed: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret_sha256: Option<String>,
    #[serde(default, skip_serializing_if = "SubjectType::is_public")]
    subject: SubjectType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tls_client_auth_san_dns: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tls_client_auth_san_email: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tls_client_auth_san_ip: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tls_client_auth_san_uri: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tls_client_auth_subject_dn: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    tls_client_certificate_bound_access_tokens: bool,
    /// The MAC of assertions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token_endpoint_auth_signing_alg: Option<String>,
    /// A record from before there was a choice has none.
    #[serde(default)]
    token_endpoint_auth_method: AuthMethod,
    token_lifetime_seconds: u64,
}

impl Client {
    /// Whether this is the registration access token of the client, RFC 7592 §3. Time: independent of it.
    pub(crate) fn is_managed_with(&self, token: &str) -> bool {
        self.registration.is_some_and(|hash| hash == SecretHash::of(token))
    }

    /// Whether this is the client's secret, where it has one of which a hash is kept. Time: independent of it.
    pub(crate) fn has_secret(&self, secret: &str) -> bool {
        self.authentication.secret_hash().is_some_and(|hash| *hash == SecretHash::of(secret))
    }

    /// Whether its authorization requests must be pushed, RFC 9126 §6.
    pub fn must_push(&self) -> bool {
        self.code_flow.require_pushed_authorization_requests || self.profile == Some(Profile::Fapi2)
    }

    /// Whether its profile lets a token of its own, or one for it, be signed so.
    pub fn may_use(&self, algorithm: Algorithm) -> bool {
        self.profile.is_none_or(|profile| profile.allows(algorithm))
    }

    /// The record's body; its id is the client's.
    pub(crate) fn to_body(&self) -> Result<Vec<u8>, Error> {
        let failed = |cause| Error::store("write a client", cause);
        let (hash, secret) = (self.authentication.secret_hash(), self.authentication.shared_secret());
        let keys = self.authentication.keys();
        let name = |member: &str| {
            let name = self.authentication.certificate_name().filter(|name| name.member() == member);
            name.map(CertificateName::value)
        };
        let body = Body {
            algorithm: self.algorithm.name().to_owned(),
            assertion_audience: self.authentication.assertion_audience(),
            audiences: self.audiences.clone(),
            code_flow: self.code_flow.clone(),
            created_at: self.created_at.0,
            dpop_bound_access_tokens: self.dpop_bound_access_tokens,
            exchange: self.exchange.clone(),
            grants: self.grants.clone(),
            introspection_signed_response_alg: self
                .introspection_signed_response_alg
                .map(|algorithm| algorithm.name().to_owned()),
            jwks: keys.and_then(KeySource::value).map(|keys| keys.json().clone()),
            jwks_uri: keys.and_then(KeySource::url).map(|uri| uri.as_str().to_owned()),
            kerberos_principal: self.authentication.principal().map(Principal::to_string),
            logout: self.logout.clone(),
            name: self.name.clone(),
            origin: self.origin,
            profile: self.profile,
            registration_sha256: self.registration.map(|hash| URL_SAFE_NO_PAD.encode(hash.as_bytes())),
            resources: self.resources.clone(),
            scopes: self.scopes.clone(),
            secret_sealed: secret.map(|secret| URL_SAFE_NO_PAD.encode(&secret.sealed)),
            secret_sha256: hash.map(|hash| URL_SAFE_NO_PAD.encode(hash.as_bytes())),
            subject: self.subject.clone(),
            tls_client_auth_san_dns: name("tls_client_auth_san_dns"),
            tls_client_auth_san_email: name("tls_client_auth_san_email"),
            tls_client_auth_san_ip: name("tls_client_auth_san_ip"),
            tls_client_auth_san_uri: name("tls_client_auth_san_uri"),
            tls_client_auth_subject_dn: name("tls_client_auth_subject_dn"),
            tls_client_certificate_bound_access_tokens: self.tls_client_certificate_bound_access_tokens,
            token_endpoint_auth_signing_alg: secret.map(|secret| secret.algorithm.name().to_owned()),
            token_endpoint_auth_method: self.authentication.method(),
            token_lifetime_seconds: self.token_lifetime_seconds,
        };
        serde_json::to_vec(&body).map_err(failed)
    }

    pub(crate) fn from_record(record: &Record) -> Result<Self, Error> {
        let unreadable =
            |cause: &dyn fmt::Display| Error::store("read a client", format!("{}: {cause}", record.id));
        let body: Body = serde_json::from_slice(&record.body).map_err(|cause| unreadable(&cause))?;
        let hash = |text: &String| {
            let hash = URL_SAFE_NO_PAD.decode(text).ok().and_then(|hash| SecretHash::from_bytes(&hash));
            hash.ok_or_else(|| unreadable(&"the hash of its registration access token is not one"))
        };
        let known = |name: &String| name.parse().map_err(|_| unreadable(&"an algorithm of its is not known"));
        let introspection = body.introspection_signed_response_alg.as_ref().map(known).transpose()?;
        let registration = body.registration_sha256.as_ref().map(hash).transpose()?;
        Ok(Self {
            algorithm: body.algorithm.parse().map_err(|_| unreadable(&"its algorithm is not known"))?,
            authentication: body.authentication().map_err(|cause| unreadable(&cause))?,
            audiences: body.audiences,
            code_flow: body.code_flow,
            tls_client_certificate_bound_access_tokens: body.tls_client_certificate_bound_access_tokens,
            created_at: UnixSeconds(body.created_at),
            dpop_bound_access_tokens: body.dpop_bound_access_tokens,
            exchange: body.exchange,
            grants: body.grants,
            introspection_signed_response_alg: introspection,
            id: record.id.clone(),
            logout: body.logout,
            name: body.name,
            origin: body.origin,
            profile: body.profile,
            registration,
            resources: body.resources,
            scopes: body.scopes,
            subject: body.subject,
            token_lifetime_seconds: body.token_lifetime_seconds,
        })
    }
}

/// Whether the store holds a client's secret that only its own seal opens.
pub(crate) async fn any_sealed(store: &dyn Store, now: UnixSeconds) -> Result<bool, Error> {
    for record in store.list(Kind::Client, Version::ZERO, now).await? {
        if Client::from_record(&record)?.authentication.shared_secret().is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Body {
    /// The method, with what must stand beside it.
    fn authentication(&self) -> Result<Authentication, String> {
        let hash = || {
            let decoded = self.secret_sha256.as_ref().and_then(|hash| URL_SAFE_NO_PAD.decode(hash).ok());
            let hash = decoded.and_then(|hash| SecretHash::from_bytes(&hash));
            hash.ok_or_else(|| "its secret's hash is not one".to_owned())
        };
        Ok(match self.token_endpoint_auth_method {
            AuthMethod::ClientSecretBasic => Authentication::ClientSecretBasic(hash()?),
            AuthMethod::ClientSecretJwt => Authentication::ClientSecretJwt(self.shared_secret()?),
            AuthMethod::ClientSecretPost => Authentication::ClientSecretPost(hash()?),
            AuthMethod::KerberosClientAuth => Authentication::KerberosClientAuth(self.principal()?),
            AuthMethod::None => Authentication::None,
            AuthMethod::PrivateKeyJwt => {
                let audience = self.assertion_audience.unwrap_or_default();
                Authentication::PrivateKeyJwt(AssertionKeys { audience, keys: self.keys()? })
            }
            AuthMethod::SelfSignedTlsClientAuth => Authentication::SelfSignedTlsClientAuth(self.keys()?),
            AuthMethod::TlsClientAuth => Authentication::TlsClientAuth(self.certificate_name()?),
        })
    }

    /// RFC 7591 §2: `jwks` and `jwks_uri` do not stand side by side.
    fn keys(&self) -> Result<KeySource, String> {
        match (&self.jwks, &self.jwks_uri) {
            (Some(jwks), None) => {
                let keys = ClientKeys::parse(jwks.to_string().as_bytes());
                keys.map(KeySource::from).map_err(|cause| format!("its keys: {cause}"))
            }
            (None, Some(uri)) => HttpsUri::parse(uri)
                .map(KeySource::from)
                .map_err(|what| format!("the address of its keys {what}")),
            _ => Err("its keys are missing, or there twice".into()),
        }
    }

    fn shared_secret(&self) -> Result<SharedSecret, String> {
        let sealed = self.secret_sealed.as_ref().and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
        let algorithm = self.token_endpoint_auth_signing_alg.as_deref().unwrap_or_default();
        Ok(SharedSecret {
            algorithm: algorithm.parse().map_err(|_| "the MAC of its assertions is not known".to_owned())?,
            audience: self.assertion_audience.unwrap_or_default(),
            sealed: sealed.ok_or("its sealed secret is missing")?,
        })
    }

    fn principal(&self) -> Result<Principal, String> {
        let text = self.kerberos_principal.as_deref().ok_or("its principal is missing")?;
        Principal::parse(text).map_err(|what| format!("its principal {what}"))
    }

    /// RFC 8705 §2.1.2: one name, and no second.
    fn certificate_name(&self) -> Result<CertificateName, String> {
        let values = [
            &self.tls_client_auth_subject_dn,
            &self.tls_client_auth_san_dns,
            &self.tls_client_auth_san_email,
            &self.tls_client_auth_san_ip,
            &self.tls_client_auth_san_uri,
        ];
        let named = CertificateName::MEMBERS.iter().zip(values);
        let mut given = named.filter_map(|(member, value)| Some((member, value.as_deref()?)));
        match (given.next(), given.next()) {
            (Some((member, value)), None) => {
                CertificateName::parse(member, value).map_err(|what| format!("its {member} {what}"))
            }
            _ => Err("it does not have one name in its certificate".into()),
        }
    }
}
