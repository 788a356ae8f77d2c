//! The authorization code flow of a person who has signed in: the authorization endpoint, then the token endpoint.

use http_body_util::BodyExt as _;
use hyper::body::Bytes;
use hyper::header::{COOKIE, HeaderMap, HeaderName, HeaderValue, LOCATION, SET_COOKIE};
use hyper::{Method, StatusCode};
use serde::Deserialize;

use crate::connection::{Connection, FORM, Prepared, Target};

/// What a plan says of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Code {
    /// Where the browser goes, with its query.
    authorize: String,
    /// Where the login form goes.
    login: String,
    username: String,
    password: String,
}

/// A browser in which somebody has signed in.
pub(crate) struct Browser {
    authorize: Prepared,
}

impl Browser {
    /// Signs in as the page at the authorization endpoint asks for.
    pub(crate) async fn sign_in(
        code: &Code,
        connection: &mut Connection,
        target: &Target,
    ) -> Result<Self, String> {
        let mut jar = Vec::new();
        let authorize = |jar: &[String]| Prepared::get(&code.authorize, cookies(jar)?);
        let page = connection.exchange(target, &authorize(&jar)?).await?;
        keep(page.headers(), &mut jar);
        let page =
            page.into_body().collect().await.map_err(|why| format!("the login page: {why}"))?.to_bytes();
        let page = String::from_utf8_lossy(&page);
        let mut form = String::new();
        for (name, value) in [
            ("username", code.username.clone()),
            ("password", code.password.clone()),
            ("form_token", field(&page, "form_token")?),
            ("continue_query", field(&page, "continue_query")?),
        ] {
            form += &format!("{name}={}&", escaped(&value));
        }
        let mut headers = cookies(&jar)?;
        headers.extend(FORM);
        headers.insert(HeaderName::from_static("sec-fetch-site"), HeaderValue::from_static("same-origin"));
        let login = Prepared::new(Method::POST, &code.login, headers, form)?;
        let answer = connection.exchange(target, &login).await?;
        if answer.status() != StatusCode::SEE_OTHER {
            return Err(format!("signing in: status {}", answer.status()));
        }
        keep(answer.headers(), &mut jar);
        answer.into_body().collect().await.map_err(|why| format!("signing in: {why}"))?;
        Ok(Self { authorize: authorize(&jar)? })
    }

    /// Asks for a code and hands it in. The body of a good answer of the token endpoint.
    pub(crate) async fn flow(
        &self,
        connection: &mut Connection,
        target: &Target,
        token: &Prepared,
    ) -> Result<Bytes, String> {
        let answer = connection.exchange(target, &self.authorize).await?;
        let location =
            answer.headers().get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let parameters = location.split(['?', '&']).find_map(|part| part.strip_prefix("code="));
        let code = parameters.ok_or_else(|| format!("status {}, and no code", answer.status()))?.to_owned();
        answer.into_body().collect().await.map_err(|why| format!("the authorization endpoint: {why}"))?;
        connection.send(target, &token.with_more(&format!("&code={code}"))).await
    }
}

fn cookies(jar: &[String]) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    if !jar.is_empty() {
        let value = HeaderValue::from_str(&jar.join("; ")).map_err(|why| format!("a cookie: {why}"))?;
        headers.insert(COOKIE, value);
    }
    Ok(headers)
}

/// Takes over what an answer sets.
fn keep(headers: &HeaderMap, jar: &mut Vec<String>) {
    for set in headers.get_all(SET_COOKIE).iter().filter_map(|value| value.to_str().ok()) {
        let pair = set.split(';').next().unwrap_or_default();
        let name = pair.split('=').next().unwrap_or_default();
        jar.retain(|known| known.split('=').next() != Some(name));
        jar.push(pair.to_owned());
    }
}

/// The value of a hidden field.
fn field(page: &str, name: &str) -> Result<String, String> {
    let behind = page.split_once(&format!("name=\"{name}\" value=\"")).map(|(_, rest)| rest);
    let value =
        behind.and_then(|rest| rest.split('"').next()).ok_or(format!("the login page has no {name}"))?;
    Ok(value.replace("&#38;", "&").replace("&amp;", "&"))
}

/// For a form: everything but letters and digits by its number.
fn escaped(text: &str) -> String {
    let letter = |byte: u8| match byte.is_ascii_alphanumeric() {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(letter).collect()
}
