//! Where a client publishes its keys, RFC 7591 §2 (`jwks_uri`).

use std::sync::Arc;

use sealstone_jose::JwkSet;

use super::{ClientKeys, HttpsUri};

/// Where a client's keys come from: RFC 7591 §2, one of two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// `jwks_uri`: fetched when they are needed.
    Url(HttpsUri),
    /// `jwks`: registered themselves.
    Value(Arc<ClientKeys>),
}

impl KeySource {
    /// The keys that are registered themselves.
    pub fn value(&self) -> Option<&ClientKeys> {
        match self {
            KeySource::Url(_) => None,
            KeySource::Value(keys) => Some(keys),
        }
    }

    /// The address.
    pub fn url(&self) -> Option<&HttpsUri> {
        match self {
            KeySource::Url(uri) => Some(uri),
            KeySource::Value(_) => None,
        }
    }
}

impl From<ClientKeys> for KeySource {
    fn from(keys: ClientKeys) -> Self {
        KeySource::Value(Arc::new(keys))
    }
}

impl From<JwkSet> for KeySource {
    fn from(set: JwkSet) -> Self {
        ClientKeys::from(set).into()
    }
}

impl From<HttpsUri> for KeySource {
    fn from(uri: HttpsUri) -> Self {
        KeySource::Url(uri)
    }
}
