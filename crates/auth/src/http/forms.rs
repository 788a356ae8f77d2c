//! Cookies, and the guard of forms against pages of others (cross-site request forgery).
//!
//! | cookie | holds | lives |
//! |---|---|---|
//! | `__Host-sealstone-session` | the session's secret | as long as the browser, and the session |
//! | `__Host-sealstone-form` | the secret under which forms are made | until somebody signs in or the browser ends |
//! | `__Host-sealstone-known` | that somebody has signed in here before | a year |
//!
//! `__Host-` cookies come from this host alone, over TLS, for every path (RFC 6265bis §4.1.3.2): no subdomain and nobody
//! on the wire can plant one. They are for the whole host, so an issuer with a path has the first characters of the
//! path's hash in the names; issuers on other ports of one host are not kept apart. Only where the issuer is `http` (mode
//! plain-loopback, for trials) do the names lack the prefix and the cookies `Secure`.
//!
//! A form is ours if its token fits the form cookie, and if the browser does not say that another site made it.

use std::fmt;

use aws_lc_rs::digest;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::HeaderMap;
use hyper::header::{COOKIE, ORIGIN, SET_COOKIE};
use hyper::http::HeaderValue;
use zeroize::Zeroizing;

use super::App;
use crate::Error;
use crate::clock::random_secret;
use crate::issuer::Issuer;

/// The cookies there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cookie {
    /// The session's secret.
    Session,
    /// The secret under which forms are made.
    Form,
    /// That somebody has signed in here before.
    Known,
}

impl Cookie {
    fn name(self, issuer: &Issuer) -> String {
        let stem = match self {
            Cookie::Session => "sealstone-session",
            Cookie::Form => "sealstone-form",
            Cookie::Known => "sealstone-known",
        };
        let prefix = if is_secure(issuer) { "__Host-" } else { "" };
        match issuer.path() {
            "" => format!("{prefix}{stem}"),
            path => {
                let hash = digest::digest(&digest::SHA256, path.as_bytes());
                format!("{prefix}{stem}-{}", URL_SAFE_NO_PAD.encode(&hash.as_ref()[..6]))
            }
        }
    }

    /// Its value in a request. More than one cookie of a name is none: one of them is not ours.
    pub(crate) fn read(self, headers: &HeaderMap, issuer: &Issuer) -> Option<Zeroizing<String>> {
        let name = self.name(issuer);
        let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let mut values = pairs.filter(|(known, _)| *known == name).map(|(_, value)| value);
        match (values.next(), values.next()) {
            (Some(value), None) if !value.is_empty() => Some(Zeroizing::new(value.to_owned())),
            _ => None,
        }
    }

    /// Sets it. RFC 6265 §4.1; SameSite=Lax, because a client's redirect to us comes from another site.
    pub(crate) fn set(self, value: &str, issuer: &Issuer, response: &mut Response) {
        let age = if self == Cookie::Known { "; Max-Age=31536000" } else { "" };
        self.write(value, age, issuer, response);
    }

    /// Takes it away.
    pub(crate) fn clear(self, issuer: &Issuer, response: &mut Response) {
        self.write("", "; Max-Age=0", issuer, response);
    }

    fn write(self, value: &str, age: &str, issuer: &Issuer, response: &mut Response) {
        let secure = if is_secure(issuer) { "; Secure" } else { "" };
        let name = self.name(issuer);
        let line = Zeroizing::new(format!("{name}={value}; Path=/{age}{secure}; HttpOnly; SameSite=Lax"));
        // Values are base64url and dots, so there is nothing to refuse.
        if let Ok(mut line) = HeaderValue::from_str(&line) {
            line.set_sensitive(true);
            response.headers_mut().append(SET_COOKIE, line);
        }
    }
}

fn is_secure(issuer: &Issuer) -> bool {
    issuer.as_str().starts_with("https:")
}

/// A form's token, and the cookie that must go out with the page, where the browser has none yet.
pub(crate) struct FormToken {
    cookie: Option<Zeroizing<String>>,
    token: Zeroizing<String>,
}

impl FormToken {
    /// What goes into the form as `form_token`.
    pub(crate) fn text(&self) -> &str {
        &self.token
    }

    /// Sets the cookie on the page that holds the form.
    pub(crate) fn set_on(&self, issuer: &Issuer, response: &mut Response) {
        if let Some(secret) = &self.cookie {
            Cookie::Form.set(secret, issuer, response);
        }
    }
}

impl fmt::Debug for FormToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FormToken(..)")
    }
}

/// The token of a form that the browser of this request is to post. `purpose` names the form and whatever must not be
/// exchanged in it, as in `consent CLIENT`.
/// Errors: `Randomness`.
pub(crate) fn form_token(app: &App, headers: &HeaderMap, purpose: &str) -> Result<FormToken, Error> {
    let browsers = &app.people.browsers;
    if let Some(secret) = Cookie::Form.read(headers, &app.issuer) {
        return Ok(FormToken { cookie: None, token: browsers.form_token(&secret, purpose) });
    }
    let secret = random_secret(app.live.randomness(), 32)?;
    Ok(FormToken { token: browsers.form_token(&secret, purpose), cookie: Some(secret) })
}

/// Checks a posted form: that no other site made it, and that its token is the one of this browser for `purpose`.
/// Errors: what is wrong, for the log.
pub(crate) fn check_form_token(
    app: &App,
    headers: &HeaderMap,
    purpose: &str,
    token: Option<&str>,
) -> Result<(), &'static str> {
    check_site(headers, &app.issuer)?;
    let secret = Cookie::Form.read(headers, &app.issuer).ok_or("the form's cookie is missing")?;
    let token = token.ok_or("the form's token is missing")?;
    match app.people.browsers.check_form_token(&secret, purpose, token) {
        true => Ok(()),
        false => Err("the form's token is not this browser's"),
    }
}

/// What the browser says of the page that made a form: Fetch Metadata, `Sec-Fetch-Site`; `Origin`, RFC 6454 §7.
///
/// Our pages forbid the Referer, so that browsers write `Origin: null` in their forms (Fetch §3.2.5): that alone says
/// nothing, and the token decides.
fn check_site(headers: &HeaderMap, issuer: &Issuer) -> Result<(), &'static str> {
    let all = |name: &hyper::header::HeaderName, wanted: &[&str]| {
        headers
            .get_all(name)
            .iter()
            .all(|value| wanted.iter().any(|wanted| value.as_bytes() == wanted.as_bytes()))
    };
    let origin = origin(issuer);
    if !all(&hyper::header::HeaderName::from_static("sec-fetch-site"), &["same-origin"]) {
        return Err("another site made the form, by Sec-Fetch-Site");
    }
    if !all(&ORIGIN, &[&origin, "null"]) {
        return Err("another site made the form, by Origin");
    }
    Ok(())
}

/// The issuer's origin as browsers write it, RFC 6454 §6.2: in lower case, without the scheme's own port.
fn origin(issuer: &Issuer) -> String {
    let origin = issuer.as_str().strip_suffix(issuer.path()).unwrap_or_default().to_ascii_lowercase();
    let own_port = if is_secure(issuer) { ":443" } else { ":80" };
    origin.strip_suffix(own_port).map(str::to_owned).unwrap_or(origin)
}
