//! The rules that a client is held to besides those for all.

use sealstone_jose::Algorithm;
use serde::{Deserialize, Serialize};

/// A named set of rules. It is checked when the client is registered, and again with each request where a request can
/// break it.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// The FAPI 2.0 Security Profile, Final: the client proves by key or certificate who it is, pushes its requests
    /// (RFC 9126) with PKCE and a redirect URI, has tokens that are bound to a key (RFC 8705, RFC 9449) and refresh
    /// tokens that do not rotate.
    Fapi2,
}

impl Profile {
    /// Every profile there is.
    pub const ALL: [Profile; 1] = [Profile::Fapi2];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Fapi2 => "fapi2",
        }
    }

    /// Whether a token may be signed so, by the client or for it. FAPI 2.0 Security Profile §5.4.1 has ES256, Ed25519 and
    /// PS256; ML-DSA is of this house, for who chooses it.
    pub const fn allows(self, algorithm: Algorithm) -> bool {
        match self {
            Profile::Fapi2 => {
                matches!(
                    algorithm,
                    Algorithm::Es256 | Algorithm::EdDsa | Algorithm::Ed25519 | Algorithm::Ps256
                ) || algorithm.level().is_some()
            }
        }
    }
}
