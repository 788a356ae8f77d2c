//! Sending a person back to the client, RFC 6749 §4.1.2 and §4.1.2.1.

use super::OAuthError;
use crate::issuer::Issuer;

/// An answer that travels through the person's browser to an address that the client has registered.
#[derive(Clone, PartialEq, Eq)]
pub struct Redirect {
    parameters: Vec<(&'static str, String)>,
    uri: String,
}

impl Redirect {
    /// To the client, with its `state` as it came and our `iss`, RFC 9207 §2: an answer of another server cannot pass
    /// for ours.
    pub(crate) fn to(uri: &str, state: Option<&str>, issuer: &Issuer) -> Self {
        let mut parameters = vec![("iss", issuer.as_str().to_owned())];
        parameters.extend(state.map(|state| ("state", state.to_owned())));
        Self { parameters, uri: uri.to_owned() }
    }

    pub(crate) fn code(mut self, code: &str) -> Self {
        self.parameters.insert(0, ("code", code.to_owned()));
        self
    }

    /// Says what went wrong, RFC 6749 §4.1.2.1.
    pub fn error(mut self, error: &OAuthError) -> Self {
        self.parameters.insert(0, ("error", error.code.name().to_owned()));
        self.parameters.insert(1, ("error_description", error.description.clone().into_owned()));
        self
    }

    /// The address with the answer in its query; a query that was registered stays (RFC 6749 §3.1.2).
    pub fn location(&self) -> String {
        let mut location = self.uri.clone();
        for (i, (name, value)) in self.parameters.iter().enumerate() {
            location.push(if i == 0 && !self.uri.contains('?') { '?' } else { '&' });
            location.push_str(name);
            location.push('=');
            location.extend(form_urlencoded::byte_serialize(value.as_bytes()));
        }
        location
    }
}

impl std::fmt::Debug for Redirect {
    /// Everything but the code and the client's state.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redirect").field("uri", &self.uri).finish_non_exhaustive()
    }
}
