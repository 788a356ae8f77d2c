//! Metadata: what the server can do and where, RFC 8414 §2 and OpenID Connect Discovery 1.0 §3.

use sealstone_jose::Algorithm;
use sealstone_jose::mac::MacAlgorithm;
use serde_json::{Value, json};

use super::redirect::ResponseMode;
use super::{dpop, request_object};
use crate::client::{AuthMethod, Grant};
use crate::issuer::Issuer;
use crate::people::login;

/// The authorization endpoint below the issuer, RFC 6749 §3.1.
pub const AUTHORIZE: &str = "/authorize";
/// Where the consent page's form goes.
pub const CONSENT: &str = "/consent";
/// The pushed authorization request endpoint below the issuer, RFC 9126 §2.
pub const PAR: &str = "/par";
/// The device authorization endpoint below the issuer, RFC 8628 §3.1.
pub const DEVICE_AUTHORIZATION: &str = "/device_authorization";
/// Where people type the code of a device, RFC 8628 §3.3.
pub const DEVICE: &str = "/device";
/// The end-session endpoint below the issuer, OpenID Connect RP-Initiated Logout 1.0 §2.1.
pub const END_SESSION: &str = "/end_session";
/// The userinfo endpoint below the issuer, OpenID Connect Core §5.3.
pub const USERINFO: &str = "/userinfo";
/// The token endpoint below the issuer, RFC 6749 §3.2.
pub const TOKEN: &str = "/token";
/// The JWK set below the issuer, RFC 7517.
pub const JWKS: &str = "/jwks";
/// The introspection endpoint below the issuer, RFC 7662.
pub const INTROSPECT: &str = "/introspect";
/// The revocation endpoint below the issuer, RFC 7009.
pub const REVOKE: &str = "/revoke";

/// The registration endpoint below the issuer, RFC 7591.
pub const REGISTER: &str = "/register";

/// The metadata document, the same for both well-known addresses. `methods` are those by which a client can prove who
/// it is on this server's listener.
pub fn metadata(issuer: &Issuer, algorithms: &[Algorithm], methods: &[AuthMethod]) -> Value {
    let names: Vec<&str> = algorithms.iter().map(|algorithm| algorithm.name()).collect();
    // What clients may make their assertions with: any algorithm of the house, whichever the server itself uses.
    let macs = MacAlgorithm::ALL.map(MacAlgorithm::name);
    let assertions = [&Algorithm::ALL.map(Algorithm::name)[..], &macs].concat();
    // RFC 8705 §3.3: to bind a token, it takes no more than to authenticate a client.
    let certificates = methods.contains(&AuthMethod::SelfSignedTlsClientAuth);
    let methods: Vec<&str> = methods.iter().map(|method| method.name()).collect();
    let proving: Vec<&str> = methods.iter().copied().filter(|name| *name != "none").collect();
    json!({
        "acr_values_supported": [login::PHISHING_RESISTANT],
        "authorization_endpoint": issuer.endpoint(AUTHORIZE),
        "authorization_response_iss_parameter_supported": true,
        "backchannel_logout_session_supported": true,
        "backchannel_logout_supported": true,
        "claims_supported": [
            "acr", "amr", "aud", "auth_time", "email", "email_verified", "exp", "iat", "iss", "name", "nonce",
            "preferred_username", "sid", "sub",
        ],
        "code_challenge_methods_supported": ["S256"],
        "device_authorization_endpoint": issuer.endpoint(DEVICE_AUTHORIZATION),
        "dpop_signing_alg_values_supported": dpop::ALGORITHMS.map(Algorithm::name),
        "end_session_endpoint": issuer.endpoint(END_SESSION),
        "grant_types_supported": Grant::ALL.map(Grant::name),
        "id_token_signing_alg_values_supported": names,
        "introspection_endpoint": issuer.endpoint(INTROSPECT),
        "introspection_endpoint_auth_methods_supported": proving,
        "introspection_endpoint_auth_signing_alg_values_supported": assertions,
        "introspection_signing_alg_values_supported": names,
        "issuer": issuer.as_str(),
        "jwks_uri": issuer.endpoint(JWKS),
        "prompt_values_supported": ["none", "login", "consent", "select_account"],
        "pushed_authorization_request_endpoint": issuer.endpoint(PAR),
        "request_object_signing_alg_values_supported": request_object::ALGORITHMS.map(Algorithm::name),
        "request_parameter_supported": true,
        "request_uri_parameter_supported": false,
        // A client can be registered so; not all of them are.
        "require_pushed_authorization_requests": false,
        "require_signed_request_object": false,
        "response_modes_supported": ResponseMode::ALL.map(ResponseMode::name),
        "response_types_supported": ["code"],
        "revocation_endpoint": issuer.endpoint(REVOKE),
        "revocation_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_signing_alg_values_supported": assertions,
        "scopes_supported": ["openid", "profile", "email", "offline_access"],
        "subject_types_supported": ["pairwise", "public"],
        "tls_client_certificate_bound_access_tokens": certificates,
        "token_endpoint": issuer.endpoint(TOKEN),
        "token_endpoint_auth_methods_supported": methods,
        "token_endpoint_auth_signing_alg_values_supported": assertions,
        "userinfo_endpoint": issuer.endpoint(USERINFO),
        "userinfo_signing_alg_values_supported": names,
    })
}

/// Where RFC 8414 §3.1 puts the document: the well-known part goes between host and path.
pub fn oauth_path(issuer: &Issuer) -> String {
    format!("/.well-known/oauth-authorization-server{}", issuer.path())
}

/// Where OpenID Connect Discovery 1.0 §4 puts it: the well-known part follows the path.
pub fn openid_path(issuer: &Issuer) -> String {
    format!("{}/.well-known/openid-configuration", issuer.path())
}
