//! What a client is registered with for signing out.

use serde::{Deserialize, Serialize};

use super::{HttpsUri, RedirectUri};

/// How a client takes part when a person signs out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Logout {
    /// Whether its logout tokens must name the session: OpenID Connect Back-Channel Logout 1.0 §2.2. Ours always do.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub backchannel_logout_session_required: bool,
    /// Where it is told that a session has ended, §2.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backchannel_logout_uri: Option<HttpsUri>,
    /// Where people may be sent to once they have signed out, byte by byte: OpenID Connect RP-Initiated Logout 1.0 §3.1.
    pub post_logout_redirect_uris: Vec<RedirectUri>,
}

impl Logout {
    /// Whether nothing is registered.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}
