//! What a client says of itself to people.

use serde::{Deserialize, Serialize};

use super::HttpsUri;

/// Addresses that the pages link to, RFC 7591 §2. Nothing is fetched from them. There is no `logo_uri`: our pages load
/// nothing but our files, so that nobody else learns who is about to sign in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct About {
    /// Its home page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_uri: Option<HttpsUri>,
    /// How it handles what it learns of people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_uri: Option<HttpsUri>,
    /// Its terms of service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tos_uri: Option<HttpsUri>,
}

impl About {
    pub(crate) fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// What there is: its name for people, and the address.
    pub(crate) fn links(&self) -> Vec<(&'static str, &HttpsUri)> {
        let all = [
            ("Website", &self.client_uri),
            ("Privacy policy", &self.policy_uri),
            ("Terms of service", &self.tos_uri),
        ];
        all.into_iter().filter_map(|(name, uri)| Some((name, uri.as_ref()?))).collect()
    }
}
