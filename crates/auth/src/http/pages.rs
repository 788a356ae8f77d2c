//! The pages that people see. Templates escape everything. Only passkeys need a script; an answer that is posted uses one
//! to spare the person a click. Both are files of ours.
//!
//! Every page lives directly below the issuer (`/login`, never `/login/new`), so the addresses in the templates are
//! relative, and an issuer with a path needs nothing else.

use std::sync::LazyLock;

use askama::Template;
use aws_lc_rs::digest;
use axum::body::Body;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::http::HeaderValue;
use hyper::{HeaderMap, StatusCode};

use crate::client::HttpsUri;
use crate::people::Passkey;

/// The login page. Posts `username`, `password`, `continue_query` and `form_token` to `login`.
#[derive(Template)]
#[template(path = "login.html")]
pub(crate) struct Login<'a> {
    /// Who asks; empty if nobody does.
    pub(crate) client_name: &'a str,
    /// What it says of itself.
    pub(crate) links: &'a [(&'static str, &'a HttpsUri)],
    /// What was typed before, or is known already.
    pub(crate) username: Option<&'a str>,
    /// Why the last attempt did not succeed: a sentence for the person.
    pub(crate) failed: Option<&'a str>,
    /// The query of the authorization request to go on with; empty if there is none.
    pub(crate) continue_query: &'a str,
    /// See [`super::forms`]; the purpose is [`super::people::LOGIN`].
    pub(crate) form_token: &'a str,
    /// For who would rather use a passkey.
    pub(crate) passkey: Option<AskPasskey<'a>>,
}

/// What the script asks an authenticator.
pub(crate) struct AskPasskey<'a> {
    /// See [`crate::people::passkey`].
    pub(crate) challenge: &'a str,
    /// The RP ID.
    pub(crate) rp: &'a str,
}

/// The page of a person's passkeys. Posts `action` (`add` or `remove`), `credential`, `form_token`, and for `add` what
/// the authenticator says, to `passkeys`.
#[derive(Template)]
#[template(path = "passkeys.html")]
pub(crate) struct Passkeys<'a> {
    /// Why the last change was not made: a sentence for the person.
    pub(crate) failed: Option<&'a str>,
    /// What there is.
    pub(crate) passkeys: &'a [Passkey],
    /// See [`crate::people::passkey`].
    pub(crate) challenge: &'a str,
    /// The RP ID.
    pub(crate) rp: &'a str,
    /// The algorithms that may be used, with spaces between.
    pub(crate) algorithms: &'a str,
    /// Who is signed in.
    pub(crate) username: &'a str,
    /// Their subject, which authenticators keep.
    pub(crate) sub: &'a str,
    /// See [`super::forms`].
    pub(crate) form_token: &'a str,
}

/// The consent page. Posts `decision` (`allow` or `deny`), `continue_query` and `form_token` to `consent`.
#[derive(Template)]
#[template(path = "consent.html")]
pub(crate) struct Consent<'a> {
    /// Who asks.
    pub(crate) client_name: &'a str,
    /// What it says of itself.
    pub(crate) links: &'a [(&'static str, &'a HttpsUri)],
    /// Who is signed in.
    pub(crate) username: &'a str,
    /// What is asked for: names, and what they mean to a person. Without a meaning the name is shown.
    pub(crate) scopes: &'a [(&'a str, &'a str)],
    /// The query of the authorization request.
    pub(crate) continue_query: &'a str,
    /// See [`super::forms`]; the purpose should name the request.
    pub(crate) form_token: &'a str,
}

/// The page where somebody types the code that a device shows, RFC 8628 §3.3. Posts `user_code` and `form_token` to
/// `device`.
#[derive(Template)]
#[template(path = "device.html")]
pub(crate) struct DeviceCode<'a> {
    /// The code, where it came in the address or was typed before.
    pub(crate) user_code: Option<&'a str>,
    /// Why the code was not taken: a sentence for the person.
    pub(crate) failed: Option<&'a str>,
    /// See [`super::forms`].
    pub(crate) form_token: &'a str,
}

/// The page where somebody lets a device in, RFC 8628 §3.3 and §5.4: it shows the code again, to be compared. Posts
/// `decision` (`allow` or `deny`), `user_code` and `form_token` to `device`.
#[derive(Template)]
#[template(path = "device_confirm.html")]
pub(crate) struct DeviceConfirm<'a> {
    /// Who asks.
    pub(crate) client_name: &'a str,
    /// Who is signed in.
    pub(crate) username: &'a str,
    /// The code as the device shows it.
    pub(crate) user_code: &'a str,
    /// What is asked for, as on the consent page.
    pub(crate) scopes: &'a [(&'a str, &'a str)],
    /// See [`super::forms`]; the purpose should name the code.
    pub(crate) form_token: &'a str,
}

/// Asks whether to sign out. Posts `form_token` to `logout`, or with `continue_query` to `end_session`.
#[derive(Template)]
#[template(path = "logout.html")]
pub(crate) struct Logout<'a> {
    /// Where the form goes.
    pub(crate) action: &'a str,
    /// Which client asks for it; empty if none does.
    pub(crate) client_name: &'a str,
    /// The client's request; empty if there is none.
    pub(crate) continue_query: &'a str,
    /// Who is signed in.
    pub(crate) username: &'a str,
    /// See [`super::forms`]; the purpose is [`super::people::LOGOUT`], or names the request.
    pub(crate) form_token: &'a str,
}

/// Says who is signed in.
#[derive(Template)]
#[template(path = "signed_in.html")]
pub(crate) struct SignedIn<'a> {
    /// Who is signed in.
    pub(crate) username: &'a str,
    /// Whether there can be passkeys.
    pub(crate) passkeys: bool,
}

/// A page with a title and a sentence, without a form: signed out, the device may go on, nothing to do.
#[derive(Template)]
#[template(path = "notice.html")]
pub(crate) struct Notice<'a> {
    /// What happened.
    pub(crate) title: &'a str,
    /// What it means.
    pub(crate) text: &'a str,
    /// Where to go on: an address below the issuer, without the slash, and what it says.
    pub(crate) link: Option<(&'a str, &'a str)>,
}

/// Carries an answer to the client, OAuth 2.0 Form Post Response Mode §2. It posts itself; where scripts do not run, by
/// its button.
#[derive(Template)]
#[template(path = "form_post.html")]
pub(crate) struct FormPost<'a> {
    /// The client's redirect URI.
    pub(crate) action: &'a str,
    /// The answer.
    pub(crate) fields: &'a [(&'static str, String)],
}

/// What went wrong, for a person.
pub(crate) struct Failure<'a> {
    /// In a few words.
    pub(crate) title: &'a str,
    /// What to do.
    pub(crate) description: &'a str,
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    status: u16,
    failure: &'a Failure<'a>,
}

/// The login page: 200, or 403 where an attempt has failed (RFC 9110 §15.5.4; a 401 would name a scheme).
pub(crate) fn login(page: &Login<'_>) -> Response {
    let mut response = html(if page.failed.is_some() { StatusCode::FORBIDDEN } else { StatusCode::OK }, page);
    if page.passkey.is_some() {
        allow_script(response.headers_mut());
    }
    response
}

/// The page of a person's passkeys: 200, or 403 where a change was not made.
pub(crate) fn passkeys(page: &Passkeys<'_>) -> Response {
    let mut response = html(if page.failed.is_some() { StatusCode::FORBIDDEN } else { StatusCode::OK }, page);
    allow_script(response.headers_mut());
    response
}

/// The consent page.
pub(crate) fn consent(page: &Consent<'_>) -> Response {
    html(StatusCode::OK, page)
}

/// The page for a device's code: 200, or 403 where a code was not taken.
pub(crate) fn device_code(page: &DeviceCode<'_>) -> Response {
    html(if page.failed.is_some() { StatusCode::FORBIDDEN } else { StatusCode::OK }, page)
}

/// The page that lets a device in.
pub(crate) fn device_confirm(page: &DeviceConfirm<'_>) -> Response {
    html(StatusCode::OK, page)
}

/// The page that asks whether to sign out.
pub(crate) fn logout(page: &Logout<'_>) -> Response {
    html(StatusCode::OK, page)
}

/// The page that says who is signed in.
pub(crate) fn signed_in(page: &SignedIn<'_>) -> Response {
    html(StatusCode::OK, page)
}

/// A page with a title and a sentence.
pub(crate) fn notice(page: &Notice<'_>) -> Response {
    html(StatusCode::OK, page)
}

/// The page that carries an answer to the client.
pub(crate) fn form_post(page: &FormPost<'_>) -> Response {
    let mut response = html(StatusCode::OK, page);
    let policy = format!("{POLICY}; script-src 'self'; form-action {}", form_action(page.action));
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Where the form of an answer may go: by https, or to the person's own machine by http where the client is there.
///
/// Not the client's origin alone: browsers hold a form's whole way against it, and many clients send people on to
/// another origin of theirs once they have the answer. The address of the form itself is ours and is in no danger.
fn form_action(action: &str) -> &'static str {
    match action.starts_with("https:") {
        true => "https:",
        false => "http: https:",
    }
}

/// The error page.
pub(crate) fn error(status: StatusCode, failure: &Failure<'_>) -> Response {
    html(status, &ErrorPage { status: status.as_u16(), failure })
}

/// The one way for a page to go out: with every header of a page.
fn html(status: StatusCode, page: &impl Template) -> Response {
    // Writing into a string fails only where a value's own Display does, and all of ours are text.
    let body = page.render().unwrap_or_default();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    protect(response.headers_mut());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    response
}

/// The headers of everything that a browser shows or follows.
pub(crate) fn protect(headers: &mut HeaderMap) {
    // No Cross-Origin-Opener-Policy: an application that opens the sign-in page in a window of its own (`display=popup`)
    // would lose the window for good. No form-action: browsers apply it to every redirect after the post, and the last of them leads to the client.
    let values = [
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
    ];
    for (name, value) in values {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

const POLICY: &str =
    "default-src 'none'; style-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'";

/// For a page that asks for passkeys: the file of ours may run, and nothing else.
fn allow_script(headers: &mut HeaderMap) {
    if let Ok(policy) = HeaderValue::from_str(&format!("{POLICY}; script-src 'self'")) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
}

/// A file that pages load. Its name holds its content's hash, so that it may be kept for ever.
pub(crate) struct Asset {
    name: String,
    content_type: &'static str,
    content: &'static str,
}

static ASSETS: LazyLock<[Asset; 4]> = LazyLock::new(|| {
    [
        Asset::new(
            "sealstone",
            "css",
            "text/css; charset=utf-8",
            include_str!("../../templates/sealstone.css"),
        ),
        Asset::new(
            "passkey",
            "js",
            "text/javascript; charset=utf-8",
            include_str!("../../templates/passkey.js"),
        ),
        Asset::new("mark", "svg", "image/svg+xml", include_str!("../../templates/mark.svg")),
        Asset::new(
            "answer",
            "js",
            "text/javascript; charset=utf-8",
            include_str!("../../templates/answer.js"),
        ),
    ]
});

impl Asset {
    fn new(stem: &str, extension: &str, content_type: &'static str, content: &'static str) -> Self {
        let hash =
            URL_SAFE_NO_PAD.encode(&digest::digest(&digest::SHA256, content.as_bytes()).as_ref()[..12]);
        Self { name: format!("{stem}-{hash}.{extension}"), content_type, content }
    }

    /// The file of that name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        ASSETS.iter().find(|asset| asset.name == name)
    }

    /// The file, to be kept for a year.
    pub(crate) fn response(&self) -> Response {
        let mut response = Response::new(Body::from(self.content));
        let headers = response.headers_mut();
        protect(headers);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
        response
    }
}

/// For the templates.
fn stylesheet() -> &'static str {
    &ASSETS[0].name
}

/// For the templates.
fn script() -> &'static str {
    &ASSETS[1].name
}

/// For the templates.
fn answer_script() -> &'static str {
    &ASSETS[3].name
}

/// For the templates.
fn mark() -> &'static str {
    &ASSETS[2].name
}
