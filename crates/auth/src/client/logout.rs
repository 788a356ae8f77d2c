//! What a client is registered with for signing out.

use serde::{Deserialize, Serialize};

use super::RedirectUri;

/// How a client takes part when a person signs out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Logout {
    /// Where people may be sent to once they have signed out, byte by byte: OpenID Connect RP-Initiated Logout 1.0 §3.1.
    pub post_logout_redirect_uris: Vec<RedirectUri>,
}

impl Logout {
    /// Whether nothing is registered.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}
