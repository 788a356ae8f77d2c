//! What binds a token to the key of its holder: the `cnf` claim, RFC 7800 §3.1.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The keys whose possession the holder of a token must show. Empty: a bearer token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confirmation {
    /// The RFC 7638 thumbprint of the key that signs DPoP proofs, RFC 9449 §6.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jkt: Option<String>,
    /// The SHA-256 of the client's certificate, RFC 8705 §3.1.
    #[serde(default, rename = "x5t#S256", skip_serializing_if = "Option::is_none")]
    pub x5t_s256: Option<String>,
}

impl Confirmation {
    /// Whether nothing binds: anybody who has the token may use it.
    pub const fn is_bearer(&self) -> bool {
        self.jkt.is_none() && self.x5t_s256.is_none()
    }

    /// Whether these keys are all that a token's `cnf` claim demands. A token without the claim demands none; a claim
    /// that is not understood demands what nobody can show.
    pub fn shows(&self, cnf: Option<&Value>) -> bool {
        let Some(cnf) = cnf else { return true };
        let Ok(demanded) = Self::deserialize(cnf) else { return false };
        let held = |demanded: &Option<String>, shown| demanded.is_none() || demanded == shown;
        !demanded.is_bearer() && held(&demanded.jkt, &self.jkt) && held(&demanded.x5t_s256, &self.x5t_s256)
    }

    /// The `token_type` of a token so bound: `DPoP` (RFC 9449 §5) or `Bearer` (RFC 6750, RFC 8705 §3).
    pub const fn token_type(&self) -> &'static str {
        match self.jkt {
            Some(_) => "DPoP",
            None => "Bearer",
        }
    }
}
