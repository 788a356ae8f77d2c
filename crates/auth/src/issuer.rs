//! The issuer identifier and the URLs below it, RFC 8414 §2 and §3.

use std::fmt;
use std::sync::Arc;

/// An issuer identifier: a URL without query and fragment, compared byte for byte.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Issuer {
    url: Arc<str>,
    /// Where the path starts in `url`; its length when there is none.
    path: usize,
}

impl Issuer {
    /// Checks an issuer identifier; `plain` lets `http` through.
    /// Errors: what is wrong, to follow the word "issuer".
    pub fn parse(url: &str, plain: bool) -> Result<Self, &'static str> {
        let rest = match url.split_once("://") {
            Some(("https", rest)) => rest,
            Some(("http", rest)) if plain => rest,
            Some(("http", _)) => return Err("is http, which only mode plain-loopback may use"),
            _ => return Err("is not an https URL"),
        };
        if url.contains(['?', '#']) {
            return Err("has a query or a fragment");
        }
        if url.ends_with('/') {
            return Err("ends with a slash");
        }
        let authority = rest.split('/').next().unwrap_or_default();
        if authority.is_empty() || authority.contains('@') {
            return Err("has no plain host");
        }
        let plain_path = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
        if !rest[authority.len()..].bytes().all(plain_path) || rest.contains("//") {
            return Err("has a path with other characters than letters, digits, `-._~` and single slashes");
        }
        let parsed: Result<hyper::Uri, _> = url.parse();
        if parsed.is_err() {
            return Err("is not a URL");
        }
        Ok(Self { path: url.len() - rest.len() + authority.len(), url: url.into() })
    }

    /// The identifier as it stands in tokens and metadata.
    pub fn as_str(&self) -> &str {
        &self.url
    }

    /// Its path, `""` or `/tenant`.
    pub fn path(&self) -> &str {
        &self.url[self.path..]
    }

    /// Its host, without the port.
    pub fn host(&self) -> String {
        let parsed: Result<hyper::Uri, _> = self.url.parse();
        parsed.ok().and_then(|uri| uri.host().map(str::to_owned)).unwrap_or_default()
    }

    /// Its origin as browsers write it, RFC 6454 §6.2: in lower case, without the scheme's own port.
    pub fn origin(&self) -> String {
        let origin = self.url[..self.path].to_ascii_lowercase();
        let own_port = if origin.starts_with("https:") { ":443" } else { ":80" };
        origin.strip_suffix(own_port).map(str::to_owned).unwrap_or(origin)
    }

    /// The URL of an endpoint, `path` starting with a slash.
    pub fn endpoint(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }
}

impl fmt::Display for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}
