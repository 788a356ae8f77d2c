//! What a client may do at the authorization endpoint, and where people are sent back to.

use std::fmt;
use std::net::IpAddr;

use sealstone_jose::Algorithm;
use serde::{Deserialize, Serialize};

use super::About;

/// The authorization code grant as a client is registered for it, RFC 6749 §4.1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CodeFlow {
    /// What it says of itself to people.
    #[serde(skip_serializing_if = "About::is_none")]
    pub about: About,
    /// Whether people are asked before a client gets what it asks for.
    pub consent: Consent,
    /// Whether a request without PKCE may do without a nonce too, as OpenID Connect Core §3.1.2.1 has it. Then nothing that
    /// this server sees holds a code to the browser that asked for it: RFC 9700 §4.5.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub nonce_optional: bool,
    /// Whether a request may do without PKCE (RFC 7636). Only for a confidential client that sends a nonce and cannot
    /// be changed: RFC 9700 §2.1.1.
    pub pkce_optional: bool,
    /// Where people may be sent back to, RFC 6749 §3.1.2.
    pub redirect_uris: Vec<RedirectUri>,
    /// How long a refresh token lives without being used.
    pub refresh_lifetime_seconds: RefreshLifetime,
    /// Whether its requests must be pushed, RFC 9126 §6.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub require_pushed_authorization_requests: bool,
    /// The one algorithm of its request objects, RFC 9101 §10.1; `None`: that of any of its keys.
    #[serde(with = "algorithm", skip_serializing_if = "Option::is_none")]
    pub request_object_signing_alg: Option<Algorithm>,
    /// Whether its requests must be signed, RFC 9101 §10.5.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub require_signed_request_object: bool,
    /// What signs what the userinfo endpoint says, OpenID Connect Registration §2; `None`: nothing, it is JSON.
    #[serde(with = "algorithm", skip_serializing_if = "Option::is_none")]
    pub userinfo_signed_response_alg: Option<Algorithm>,
}

/// An algorithm by its name.
mod algorithm {
    use sealstone_jose::Algorithm;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &Option<Algorithm>, to: S) -> Result<S::Ok, S::Error> {
        value.map(Algorithm::name).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Algorithm>, D::Error> {
        let name = Option::<String>::deserialize(from)?;
        name.map(|name| name.parse().map_err(|_| D::Error::custom("an algorithm is not known"))).transpose()
    }
}

/// Whether people are asked before a client gets what it asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consent {
    /// Once for each scope, and again when the request says so.
    #[default]
    Asked,
    /// Never: the client belongs to the same house as the server.
    Implied,
}

/// Seconds; 30 days where nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RefreshLifetime(pub u64);

impl Default for RefreshLifetime {
    fn default() -> Self {
        Self(30 * 86_400)
    }
}

/// A registered address to which people are sent back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RedirectUri(String);

impl RedirectUri {
    /// Checks an address for registration: absolute, without a fragment, and one of
    /// - `https`;
    /// - `http` to a loopback address, for an application on the person's own machine (RFC 8252 §7.3);
    /// - a scheme with a dot in it, which such an application has registered (RFC 8252 §7.1).
    ///
    /// RFC 6749 §3.1.2. A scheme that runs in the browser (`javascript`, `data`) is none of these.
    /// Errors: what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.len() > 2048 || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("is longer than 2048 bytes or has characters other than printable ASCII");
        }
        if text.contains(['#', '\\', '"', '<', '>', '^', '`', '{', '|', '}']) {
            return Err("has a fragment or characters that no URI has");
        }
        let (scheme, rest) = text.split_once(':').ok_or("has no scheme")?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        if !scheme.starts_with(|first: char| first.is_ascii_alphabetic()) || !scheme.bytes().all(plain) {
            return Err("has no scheme");
        }
        match scheme {
            "https" => authority(rest).map(|_| ()),
            "http" => match authority(rest)?.is_loopback() {
                true => Ok(()),
                false => Err("is http to another host than 127.0.0.1 or [::1]"),
            },
            _ if scheme.contains('.') => Ok(()),
            _ => Err("is neither https nor http to a loopback address, and its scheme has no dot"),
        }?;
        Ok(Self(text.to_owned()))
    }

    /// As it was registered.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its host in lower case, if it is an `https` address.
    pub(crate) fn https_host(&self) -> Option<String> {
        let authority = authority(self.0.strip_prefix("https:")?).ok()?;
        Some(authority.host.to_ascii_lowercase())
    }

    /// Whether a request means this address: the same, byte by byte (RFC 9700 §2.1), but for the port where the host
    /// is a loopback address, because an application learns its port when it starts (RFC 8252 §7.3).
    pub fn matches(&self, asked: &str) -> bool {
        if self.0 == asked {
            return true;
        }
        let (Some(own), Some(other)) = (self.0.strip_prefix("http:"), asked.strip_prefix("http:")) else {
            return false;
        };
        let (Ok(own), Ok(other)) = (authority(own), authority(other)) else { return false };
        own.is_loopback()
            && own.host == other.host
            && own.rest == other.rest
            && RedirectUri::parse(asked).is_ok()
    }
}

impl fmt::Display for RedirectUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for RedirectUri {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<RedirectUri> for String {
    fn from(uri: RedirectUri) -> Self {
        uri.0
    }
}

/// What follows `http:`, cut at its joints.
struct Authority<'a> {
    host: &'a str,
    /// Path and query.
    rest: &'a str,
}

impl Authority<'_> {
    /// RFC 8252 §8.3: the address and not `localhost`, which a resolver may turn into something else.
    fn is_loopback(&self) -> bool {
        let literal =
            self.host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(self.host);
        ["127.0.0.1", "::1"].contains(&literal) && literal.parse::<IpAddr>().is_ok()
    }
}

/// `//host[:port][/path][?query]`, without user information, in which a host can be hidden (RFC 9700 §4.1.3).
fn authority(text: &str) -> Result<Authority<'_>, &'static str> {
    let text = text.strip_prefix("//").ok_or("has no host")?;
    let (authority, rest) = text.split_at(text.find(['/', '?']).unwrap_or(text.len()));
    if authority.contains(['@', '%']) {
        return Err("has a user name or an encoded host");
    }
    let host_end = match authority.starts_with('[') {
        true => authority.find(']').map(|end| end + 1).ok_or("has no host")?,
        false => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, port) = authority.split_at(host_end);
    let numbered =
        port.is_empty() || port.strip_prefix(':').is_some_and(|n| n.parse::<u16>().is_ok_and(|n| n > 0));
    match host.is_empty() || !numbered {
        true => Err("has no host, or a port that is not a number from 1 to 65535"),
        false => Ok(Authority { host, rest }),
    }
}
