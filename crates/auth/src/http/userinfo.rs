//! The userinfo endpoint as a client meets it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use hyper::header::AUTHORIZATION;
use hyper::{Method, Request};

use super::answer::{self, Refusal};
use super::{App, read_form};
use crate::protocol::{Code, OAuthError, userinfo};

/// OpenID Connect Core §5.3.1: by GET or by POST, with the token in the header or, by POST, in the form; RFC 6750 §2:
/// not in both, and never in the address.
pub(super) async fn endpoint(
    State(app): State<Arc<App>>,
    request: Request<Body>,
) -> Result<Response, Refusal> {
    let invalid = |what: &'static str| OAuthError::new(Code::InvalidRequest, what);
    let values: Vec<_> = request.headers().get_all(AUTHORIZATION).iter().cloned().collect();
    let is_form = request.method() == Method::POST && values.is_empty();
    let form = if is_form { Some(read_form(request, &app).await?.parameters) } else { None };
    let posted = form.as_ref().and_then(|form| form.value("access_token"));
    let token = match (values.as_slice(), posted) {
        ([], Some(token)) => token,
        ([header], None) => {
            bearer(header.as_bytes()).ok_or_else(|| invalid("the header is not `Bearer TOKEN`"))?
        }
        ([], None) => return Err(OAuthError::new(Code::InvalidToken, "an access token is missing").into()),
        _ => return Err(invalid("more than one access token").into()),
    };
    let snapshot = app.live.snapshot_owned();
    let token = userinfo::open(token, &snapshot, &app.issuer, app.clock.now())?;
    // RFC 9449 §7.1, RFC 8705 §3: a bound token is nothing without its key.
    if token.claim("cnf").is_some() {
        return Err(OAuthError::new(Code::InvalidToken, "the access token is bound to a key").into());
    }
    let claims = userinfo::answer(&token, app.live.store(), app.clock.now()).await?;
    answer::json_for(token.client_id(), &claims)
}

/// RFC 6750 §2.1; RFC 9110 §11.1: the scheme in any case.
fn bearer(header: &[u8]) -> Option<&str> {
    let (scheme, token) = std::str::from_utf8(header).ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_matches(' '))
}
