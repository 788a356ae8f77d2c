//! Sending a person back to the client, RFC 6749 §4.1.2 and §4.1.2.1; how, OAuth 2.0 Form Post Response Mode.

use super::{Code, OAuthError, Parameters};
use crate::issuer::Issuer;

/// How an answer travels, OAuth 2.0 Multiple Response Type Encoding Practices §2.1 and OAuth 2.0 Form Post Response Mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResponseMode {
    /// In the query of the redirect URI.
    #[default]
    Query,
    /// In a form that the browser posts there.
    FormPost,
}

impl ResponseMode {
    /// Every mode there is.
    pub const ALL: [ResponseMode; 2] = [ResponseMode::Query, ResponseMode::FormPost];

    /// Its `response_mode`.
    pub const fn name(self) -> &'static str {
        match self {
            ResponseMode::Query => "query",
            ResponseMode::FormPost => "form_post",
        }
    }

    /// The mode that a request asks for. A form goes to a web server alone, and keeps no line break as it is.
    /// Errors: `invalid_request`, to be told in the query.
    pub(super) fn asked(parameters: &Parameters, redirect_uri: &str) -> Result<Self, OAuthError> {
        let invalid = |what: &'static str| Err(OAuthError::new(Code::InvalidRequest, what));
        let Some(asked) = parameters.value("response_mode") else { return Ok(Self::default()) };
        match Self::ALL.into_iter().find(|mode| mode.name() == asked) {
            None => invalid("`response_mode` can only be `query` or `form_post`"),
            Some(Self::FormPost) if !["https:", "http:"].iter().any(|web| redirect_uri.starts_with(web)) => {
                invalid("`response_mode` is `form_post`, and `redirect_uri` is not of a web server")
            }
            Some(Self::FormPost)
                if parameters.value("state").is_some_and(|state| state.contains(['\r', '\n'])) =>
            {
                invalid("`state` has line breaks, which no form keeps")
            }
            Some(mode) => Ok(mode),
        }
    }
}

/// An answer that travels through the person's browser to an address that the client has registered.
#[derive(Clone, PartialEq, Eq)]
pub struct Redirect {
    mode: ResponseMode,
    parameters: Vec<(&'static str, String)>,
    uri: String,
}

impl Redirect {
    /// To the client, with its `state` as it came and our `iss`, RFC 9207 §2: an answer of another server cannot pass
    /// for ours.
    pub(crate) fn to(uri: &str, state: Option<&str>, issuer: &Issuer) -> Self {
        let mut parameters = vec![("iss", issuer.as_str().to_owned())];
        parameters.extend(state.map(|state| ("state", state.to_owned())));
        Self { mode: ResponseMode::default(), parameters, uri: uri.to_owned() }
    }

    pub(crate) fn by(self, mode: ResponseMode) -> Self {
        Self { mode, ..self }
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

    /// How it travels.
    pub fn mode(&self) -> ResponseMode {
        self.mode
    }

    /// The redirect URI alone.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The answer, as it stands in a form.
    pub fn fields(&self) -> &[(&'static str, String)] {
        &self.parameters
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
