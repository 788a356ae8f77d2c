//! The `claims` parameter, OpenID Connect Core 1.0 §5.5, as far as it decides anything here: an `acr` without which the client
//! cannot do (§5.5.1.1). Every other claim goes by the scopes, and what else the parameter asks for is left out, as §5.5.1
//! lets a server do.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Code, OAuthError, Parameters};

/// The most bytes of the parameter.
const MAX_BYTES: usize = 8 * 1024;

/// The values of `acr` that the ID token must have one of; empty if the request can do with any.
/// §5.5.1.1.
/// Errors: `invalid_request` for what is no request of claims.
pub(crate) fn essential_acr(parameters: &Parameters) -> Result<Vec<String>, OAuthError> {
    let Some(text) = parameters.value("claims") else { return Ok(Vec::new()) };
    let invalid = || OAuthError::new(Code::InvalidRequest, "`claims` cannot be read");
    if text.len() > MAX_BYTES {
        return Err(invalid());
    }
    let asked: Map<String, Value> = serde_json::from_str(text).map_err(|_| invalid())?;
    // §5.5: null asks for a claim in the default manner.
    let member = |of: &Map<String, Value>, name: &str| match of.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(found)) => Ok(Some(found.clone())),
        Some(_) => Err(invalid()),
    };
    let Some(id_token) = member(&asked, "id_token")? else { return Ok(Vec::new()) };
    let Some(acr) = member(&id_token, "acr")? else { return Ok(Vec::new()) };
    let acr: Acr = serde_json::from_value(Value::Object(acr)).map_err(|_| invalid())?;
    if !acr.essential {
        return Ok(Vec::new());
    }
    Ok(acr.values.into_iter().chain(acr.value).collect())
}

/// §5.5.1.
#[derive(Deserialize)]
struct Acr {
    #[serde(default)]
    essential: bool,
    value: Option<String>,
    #[serde(default)]
    values: Vec<String>,
}
