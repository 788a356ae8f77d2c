//! An address of a client that the server asks or tells something.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// An `https` address without user, password or fragment.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HttpsUri {
    /// Host and port, as they stand.
    authority: Arc<str>,
    host: Arc<str>,
    path: Arc<str>,
    port: u16,
    text: Arc<str>,
}

impl HttpsUri {
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

impl fmt::Debug for HttpsUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HttpsUri").field(&self.text).finish()
    }
}

impl TryFrom<String> for HttpsUri {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<HttpsUri> for String {
    fn from(uri: HttpsUri) -> Self {
        uri.text.as_ref().to_owned()
    }
}
