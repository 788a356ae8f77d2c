//! What a profile demands of a client's registration.

use super::{NewAuthentication, NewClient};
use crate::Error;
use crate::client::{AssertionAudience, AssertionKeys, AuthMethod, KeySource, Profile};

/// Refuses what contradicts the profile, so that no client carries its name and not its rules.
/// Errors: `ClientInvalid`.
pub(super) fn check(new: &NewClient) -> Result<(), Error> {
    match new.profile {
        None => Ok(()),
        Some(Profile::Fapi2) => fapi2(new),
    }
}

/// Signed requests are checked with the keys of the client's authentication.
/// Errors: `ClientInvalid`.
pub(super) fn check_request_objects(new: &NewClient) -> Result<(), Error> {
    let flow = &new.code_flow;
    let signs = flow.require_signed_request_object || flow.request_object_signing_alg.is_some();
    let has_keys = matches!(
        new.authentication,
        NewAuthentication::PrivateKeyJwt(_) | NewAuthentication::SelfSignedTlsClientAuth(_)
    );
    match signs && !has_keys {
        true => Err(Error::ClientInvalid {
            field: "signed request",
            what: format!("{} has no keys to check them with", new.authentication.method().name()),
            hint: "private_key_jwt or self_signed_tls_client_auth".to_owned(),
        }),
        false => Ok(()),
    }
}

/// FAPI 2.0 Security Profile §5.3.2.1, §5.3.2.2 and §5.4.1.
fn fapi2(new: &NewClient) -> Result<(), Error> {
    let profile = Profile::Fapi2;
    let invalid = |what: String, hint: &str| {
        Err(Error::ClientInvalid { field: "profile", what, hint: hint.to_owned() })
    };
    let algorithms = "fapi2 has ES256, PS256, EdDSA and Ed25519, and ML-DSA where it is chosen";
    match &new.authentication {
        NewAuthentication::PrivateKeyJwt(AssertionKeys { audience, keys }) => {
            if *audience != AssertionAudience::Issuer {
                let hint = "§5.3.2.1: the issuer alone, as a string";
                return invalid("fapi2 with assertions for the token endpoint".into(), hint);
            }
            let foreign = |keys: &KeySource| {
                let keys = keys.value()?.set().keys().iter();
                keys.map(|key| key.algorithm()).find(|algorithm| !profile.allows(*algorithm))
            };
            if let Some(algorithm) = foreign(keys) {
                return invalid(format!("fapi2 with a key for {algorithm}"), algorithms);
            }
        }
        NewAuthentication::SelfSignedTlsClientAuth(_) | NewAuthentication::TlsClientAuth(_) => {}
        other => {
            let methods = [
                AuthMethod::PrivateKeyJwt.name(),
                AuthMethod::TlsClientAuth.name(),
                AuthMethod::SelfSignedTlsClientAuth.name(),
            ];
            let hint = format!("§5.3.2.1: {}, {} or {}", methods[0], methods[1], methods[2]);
            return invalid(format!("fapi2 with {}", other.method().name()), &hint);
        }
    }
    if !(new.dpop_bound_access_tokens || new.tls_client_certificate_bound_access_tokens) {
        let hint = "§5.3.2.1: `dpop_bound_access_tokens`, or `tls_client_certificate_bound_access_tokens`";
        return invalid("fapi2 with tokens that are bound to nothing".into(), hint);
    }
    if let Some(algorithm) = new.code_flow.request_object_signing_alg.filter(|one| !profile.allows(*one)) {
        return invalid(format!("fapi2 with {algorithm} request objects"), algorithms);
    }
    if let Some(algorithm) = new.code_flow.userinfo_signed_response_alg.filter(|one| !profile.allows(*one)) {
        return invalid(format!("fapi2 with {algorithm} userinfo"), algorithms);
    }
    if new.code_flow.pkce_optional {
        return invalid("fapi2 without PKCE".into(), "§5.3.2.2: PKCE with S256, always");
    }
    if !profile.allows(new.algorithm) {
        return invalid(format!("fapi2 with {} tokens", new.algorithm), algorithms);
    }
    if let Some(algorithm) = new.introspection_signed_response_alg.filter(|one| !profile.allows(*one)) {
        return invalid(format!("fapi2 with {algorithm} introspections"), algorithms);
    }
    Ok(())
}
