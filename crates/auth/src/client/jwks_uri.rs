//! Where a client publishes its keys, RFC 7591 §2 (`jwks_uri`).

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use sealstone_jose::JwkSet;

use super::ClientKeys;

/// An `https` address without user, password or fragment.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct JwksUri {
    /// Host and port, as they stand.
    authority: Arc<str>,
    host: Arc<str>,
    path: Arc<str>,
    port: u16,
    text: Arc<str>,
}

impl JwksUri {
    /// Reads an address.
    /// Errors: what is wrong with it, to follow "the address".
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.len() > 2_048 || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("is longer than 2048 characters, or has others than printable ASCII");
        }
        if text.contains('#') {
            return Err("has a fragment");
        }
        let uri: hyper::Uri = text.parse().map_err(|_| "is not a URL")?;
        let authority = uri.authority().filter(|_| uri.scheme_str() == Some("https"));
        let authority = authority.ok_or("is not an https URL")?;
        if authority.as_str().contains('@') {
            return Err("has a user in it");
        }
        let host = authority.host();
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if bare.is_empty() || rustls::pki_types::ServerName::try_from(bare).is_err() {
            return Err("has no host name and no address");
        }
        // What follows the host is a port, and one that can be.
        let port = match authority.as_str().strip_prefix(host) {
            Some("") => 443,
            Some(rest) => {
                let port =
                    rest.strip_prefix(':').and_then(|port| port.parse().ok()).filter(|port| *port != 0);
                port.ok_or("has a port that is none")?
            }
            None => return Err("is not a URL"),
        };
        Ok(Self {
            authority: authority.as_str().into(),
            host: bare.into(),
            path: uri.path_and_query().map_or("/", |path| path.as_str()).into(),
            port,
            text: text.into(),
        })
    }

    /// As registered.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its host, if that is an address and not a name.
    pub fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Debug for JwksUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JwksUri").field(&self.text).finish()
    }
}

/// Where a client's keys come from: RFC 7591 §2, one of two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// `jwks_uri`: fetched when they are needed.
    Url(JwksUri),
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
    pub fn url(&self) -> Option<&JwksUri> {
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

impl From<JwksUri> for KeySource {
    fn from(uri: JwksUri) -> Self {
        KeySource::Url(uri)
    }
}
