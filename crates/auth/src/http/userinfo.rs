//! The userinfo endpoint as a client meets it: a protected resource, RFC 6750 and RFC 9449 §7.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use hyper::header::{AUTHORIZATION, HeaderName};
use hyper::http::HeaderValue;
use hyper::{HeaderMap, Method, Request};
use serde_json::Value;

use super::answer::{self, Refusal};
use super::{App, DPOP, DPOP_NONCE, read_form};
use crate::protocol::access_token::OwnToken;
use crate::protocol::client_certificate::PeerCertificate;
use crate::protocol::dpop::{self, BoundToken};
use crate::protocol::{Code, Confirmation, OAuthError, discovery, userinfo};
use crate::snapshot::Snapshot;

/// OpenID Connect Core §5.3.1: by GET or by POST, with the token in the header or, by POST, in the form; RFC 6750 §2:
/// not in both, and never in the address.
pub(super) async fn endpoint(State(app): State<Arc<App>>, request: Request<Body>) -> Response {
    let proved = request.headers().contains_key(DPOP);
    let answered = claims(&app, request).await;
    let nonce_asked =
        matches!(&answered, Err(Refusal::OAuth { error, .. }) if error.code == Code::UseDpopNonce);
    let mut response = answered.unwrap_or_else(answer::of_a_resource);
    if (proved || nonce_asked)
        && let Ok(Some(nonce)) = app.dpop.nonce(app.clock.now(), app.live.randomness())
    {
        answer::add(&mut response, DPOP_NONCE, &nonce);
    }
    response
}

async fn claims(app: &App, request: Request<Body>) -> Result<Response, Refusal> {
    let invalid = |what: &'static str| OAuthError::new(Code::InvalidRequest, what);
    let method = request.method().clone();
    let certificate = request.extensions().get::<Arc<PeerCertificate>>().cloned();
    let (authorization, proofs) = (values(request.headers(), AUTHORIZATION), values(request.headers(), DPOP));
    let form = match method == Method::POST && authorization.is_empty() {
        true => Some(read_form(request, app).await?.parameters),
        false => None,
    };
    let posted = form.as_ref().and_then(|form| form.value("access_token"));
    let (scheme, text) = match (authorization.as_slice(), posted) {
        ([], Some(token)) => (Scheme::Bearer, token),
        ([header], None) => scheme(header)
            .ok_or_else(|| invalid("the Authorization header is not `Bearer` or `DPoP` and a token"))?,
        ([], None) => return Err(OAuthError::new(Code::InvalidToken, "an access token is missing").into()),
        _ => return Err(invalid("more than one access token").into()),
    };
    let snapshot = app.live.snapshot_owned();
    let token = userinfo::open(text, &snapshot, &app.issuer, app.clock.now())?;
    let client = token.client_id().to_owned();
    let by = |error| Refusal::OAuth { error, client: Some(client.clone()) };
    let shown = Shown { certificate, method, proofs, scheme, text };
    hold(app, &token, &snapshot, shown).await.map_err(by)?;
    let claims: Value = userinfo::answer(&token, app.live.store(), app.clock.now()).await.map_err(by)?;
    answer::json_for(&client, &claims)
}

fn values(headers: &HeaderMap, name: HeaderName) -> Vec<HeaderValue> {
    headers.get_all(name).iter().cloned().collect()
}

/// What the request shows besides its token.
struct Shown<'a> {
    certificate: Option<Arc<PeerCertificate>>,
    method: Method,
    proofs: Vec<HeaderValue>,
    scheme: Scheme,
    /// The token as it was sent.
    text: &'a str,
}

/// Whether the sender holds the keys that the token is bound to, RFC 9449 §7.1 and RFC 8705 §3: a bound token does not
/// pass for a bearer token, nor a bearer token for a bound one (RFC 9449 §7.2).
async fn hold(app: &App, token: &OwnToken, snapshot: &Snapshot, shown: Shown<'_>) -> Result<(), OAuthError> {
    let invalid = |hint| OAuthError::new(Code::InvalidToken, "the access token does not hold").hint(hint);
    let confirmation: Confirmation = match token.claim("cnf") {
        None => Confirmation::default(),
        Some(cnf) => {
            serde_json::from_value(cnf.clone()).map_err(|_| invalid("its `cnf` is not known here"))?
        }
    };
    let thumbprint = shown.certificate.map(|certificate| certificate.thumbprint());
    if confirmation.x5t_s256.is_some() && confirmation.x5t_s256 != thumbprint {
        return Err(invalid("it is bound to a certificate that the connection does not show"));
    }
    match (&confirmation.jkt, shown.scheme) {
        (None, Scheme::Bearer) => Ok(()),
        (Some(jkt), Scheme::Dpop) => {
            let proofs: Vec<&[u8]> = shown.proofs.iter().map(HeaderValue::as_bytes).collect();
            if let Some(client) = snapshot.clients.by_id(token.client_id()) {
                dpop::check_profile(client, &proofs)?;
            }
            let request = dpop::Request {
                client: token.client_id(),
                method: shown.method.as_str(),
                proofs: &proofs,
                token: Some(BoundToken { jkt, text: shown.text }),
                url: &app.issuer.endpoint(discovery::USERINFO),
            };
            app.dpop
                .check(request, app.live.store(), app.live.randomness(), app.clock.now())
                .await
                .map(|_| ())
        }
        _ => Err(invalid("the scheme is not that of the token's `token_type`")),
    }
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
