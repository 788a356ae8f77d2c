//! A protected resource of this server: who may open it with which access token, RFC 6750, RFC 8705 §3 and RFC 9449 §7.

use std::sync::Arc;

use axum::response::Response;
use hyper::header::{AUTHORIZATION, HeaderName};
use hyper::http::HeaderValue;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method};

use super::answer::{self, Refusal};
use super::{App, DPOP, DPOP_NONCE};
use crate::protocol::access_token::{self, OwnToken};
use crate::protocol::client_certificate::PeerCertificate;
use crate::protocol::dpop::{self, BoundToken};
use crate::protocol::{Code, Confirmation, OAuthError};
use crate::snapshot::Snapshot;

/// What of a request may open a resource.
pub(super) struct Shown {
    authorization: Vec<HeaderValue>,
    certificate: Option<Arc<PeerCertificate>>,
    method: Method,
    proofs: Vec<HeaderValue>,
}

/// What is to be opened.
pub(super) struct Resource {
    /// The scopes of which the token must have one, the one to ask for first.
    pub(super) scopes: &'static [&'static str],
    /// Its address, as the server knows it.
    pub(super) url: String,
}

impl Shown {
    pub(super) fn by(head: &Parts) -> Self {
        Self {
            authorization: values(&head.headers, AUTHORIZATION),
            certificate: head.extensions.get::<Arc<PeerCertificate>>().cloned(),
            method: head.method.clone(),
            proofs: values(&head.headers, DPOP),
        }
    }

    /// Whether there is a token in the header.
    pub(super) fn has_token(&self) -> bool {
        !self.authorization.is_empty()
    }

    /// Opens the resource with the token of the header, or with one that was `posted`: never with two (RFC 6750 §2).
    /// Errors: `invalid_token`, `insufficient_scope`, `invalid_request`; what the holder's proof lacks.
    pub(super) async fn open(
        &self,
        app: &App,
        snapshot: &Snapshot,
        resource: &Resource,
        posted: Option<&str>,
    ) -> Result<OwnToken, Refusal> {
        let invalid = |what: &'static str| OAuthError::new(Code::InvalidRequest, what);
        let (scheme, text) = match (self.authorization.as_slice(), posted) {
            ([], Some(token)) => (Scheme::Bearer, token),
            ([header], None) => scheme(header)
                .ok_or_else(|| invalid("the Authorization header is not `Bearer` or `DPoP` and a token"))?,
            ([], None) => {
                return Err(OAuthError::new(Code::InvalidToken, "an access token is missing").into());
            }
            _ => return Err(invalid("more than one access token").into()),
        };
        let now = app.clock.now();
        let token = access_token::open(text, resource.scopes, snapshot, &app.issuer, now)?;
        match self.holds(app, &token, snapshot, (scheme, text), &resource.url).await {
            Ok(()) => Ok(token),
            Err(error) => Err(Refusal::OAuth { error, client: Some(token.client_id().to_owned()) }),
        }
    }

    /// Whether the sender holds the keys that the token is bound to: a bound token does not pass for a bearer token, nor
    /// a bearer token for a bound one (RFC 9449 §7.2).
    async fn holds(
        &self,
        app: &App,
        token: &OwnToken,
        snapshot: &Snapshot,
        (scheme, text): (Scheme, &str),
        url: &str,
    ) -> Result<(), OAuthError> {
        let invalid = |hint| OAuthError::new(Code::InvalidToken, "the access token does not hold").hint(hint);
        let confirmation: Confirmation = match token.claim("cnf") {
            None => Confirmation::default(),
            Some(cnf) => {
                serde_json::from_value(cnf.clone()).map_err(|_| invalid("its `cnf` is not known here"))?
            }
        };
        if let Some(bound) = &confirmation.x5t_s256 {
            let shown = self.certificate.as_ref().map(|certificate| certificate.thumbprint());
            if shown.as_ref() != Some(bound) {
                return Err(invalid("it is bound to another certificate than the connection's"));
            }
        }
        match (&confirmation.jkt, scheme) {
            (None, Scheme::Bearer) => Ok(()),
            (Some(jkt), Scheme::Dpop) => {
                let proofs: Vec<&[u8]> = self.proofs.iter().map(HeaderValue::as_bytes).collect();
                if let Some(client) = snapshot.clients.by_id(token.client_id()) {
                    dpop::check_profile(client, &proofs)?;
                }
                let request = dpop::Request {
                    client: token.client_id(),
                    method: self.method.as_str(),
                    proofs: &proofs,
                    token: Some(BoundToken { jkt, text }),
                    url,
                };
                let now = app.clock.now();
                app.dpop.check(request, app.live.store(), app.live.randomness(), now).await.map(drop)
            }
            _ => Err(invalid("the scheme is not that of the token's `token_type`")),
        }
    }

    /// The answer, with its challenge if it is a refusal, and with the newest nonce where one is of use (RFC 9449 §8.2).
    pub(super) fn answer(
        &self,
        app: &App,
        resource: &Resource,
        answered: Result<Response, Refusal>,
    ) -> Response {
        let nonce_asked =
            matches!(&answered, Err(Refusal::OAuth { error, .. }) if error.code == Code::UseDpopNonce);
        let mut response = answered
            .unwrap_or_else(|refusal| answer::of_a_resource(refusal, resource.scopes.first().unwrap_or(&"")));
        if (!self.proofs.is_empty() || nonce_asked)
            && let Ok(Some(nonce)) = app.dpop.nonce(app.clock.now(), app.live.randomness())
        {
            answer::add(&mut response, DPOP_NONCE, &nonce);
        }
        response
    }
}

fn values(headers: &HeaderMap, name: HeaderName) -> Vec<HeaderValue> {
    headers.get_all(name).iter().cloned().collect()
}

#[derive(Clone, Copy)]
enum Scheme {
    Bearer,
    Dpop,
}

/// RFC 6750 §2.1, RFC 9449 §7.1; RFC 9110 §11.1: the scheme in any case.
fn scheme(header: &HeaderValue) -> Option<(Scheme, &str)> {
    let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "bearer" => Scheme::Bearer,
        "dpop" => Scheme::Dpop,
        _ => return None,
    };
    Some((scheme, token.trim_matches(' ')))
}

/// The token of a header that is `Bearer` and nothing else: for tokens that are not access tokens (RFC 7592).
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    match (all.next().and_then(scheme), all.next()) {
        (Some((Scheme::Bearer, token)), None) => Some(token),
        _ => None,
    }
}
