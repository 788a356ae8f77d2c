//! The admin API as a client asks it: a token, a request, an answer; and what a refusal means.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Method, Request, StatusCode, Uri};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sealstone_auth::Randomness as _;
use sealstone_auth::clock::OsRandomness;
use sealstone_jose::jwt::{self, Claims};
use serde::Serialize;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use super::access::{Proof, Reach};
use crate::clock::now;
use crate::error::Error;
use crate::https::{Answer, Connection, Place, fault, roots};

/// Where the API is, below the issuer.
const ADMIN: &str = "/admin/v1";
/// How long an assertion holds.
const ASSERTION_LIFETIME: Duration = Duration::from_secs(60);
/// What a segment of an address may have as it is, RFC 3986 §2.3.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The most that the server gives of a list at a time.
const PER_PAGE: usize = 1000;

/// A connection to the API, with a token for it.
pub(super) struct Api {
    connection: Connection,
    /// The path of the issuer.
    below: String,
    bearer: HeaderValue,
    client_id: String,
}

/// More than any body that the server takes: a buffer that grew would leave copies of a password behind.
const LARGEST_BODY: usize = 1 << 17;

/// The body that says this. It is wiped.
pub(super) fn body_of(value: &impl Serialize) -> Result<Zeroizing<Vec<u8>>, Error> {
    let mut body = Zeroizing::new(Vec::with_capacity(LARGEST_BODY));
    serde_json::to_writer(&mut *body, value).map_err(|cause| fault("writing the request", cause))?;
    Ok(body)
}

impl Api {
    /// Connects, and gets a token by client_credentials.
    /// Errors: `Network`, `Refused`, and `Usage` for a key that cannot sign.
    pub(super) async fn open(reach: Reach) -> Result<Self, Error> {
        let doing = "connecting to the server";
        let uri: Uri = reach.server.parse().map_err(|cause| fault(doing, cause))?;
        let plain = uri.scheme_str() == Some("http");
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let usual = if plain { 80 } else { 443 };
        let address = match (&reach.connect, uri.port_u16()) {
            (Some(other), _) => other.clone(),
            (None, Some(_)) => authority.to_owned(),
            (None, None) => format!("{authority}:{usual}"),
        };
        let roots = if plain { None } else { Some(roots(reach.ca.as_deref())?) };
        let mut connection = Connection::open(Place { address, authority, roots }).await?;
        let below = uri.path().trim_end_matches('/').to_owned();
        let bearer = token(&mut connection, &below, &reach).await?;
        Ok(Self { connection, below, bearer, client_id: reach.client_id })
    }

    pub(super) async fn get(&mut self, address: &[&str]) -> Result<Value, Error> {
        self.ask(Method::GET, address, None).await
    }

    /// A part of a list, as the query says which.
    pub(super) async fn part(&mut self, address: &[&str], query: &str) -> Result<Value, Error> {
        self.send(Method::GET, address, query, None).await
    }

    pub(super) async fn post(&mut self, address: &[&str], body: Zeroizing<Vec<u8>>) -> Result<Value, Error> {
        self.ask(Method::POST, address, Some(body)).await
    }

    /// A POST whose address says everything.
    pub(super) async fn act(&mut self, address: &[&str]) -> Result<Value, Error> {
        self.ask(Method::POST, address, None).await
    }

    pub(super) async fn put(&mut self, address: &[&str], body: Zeroizing<Vec<u8>>) -> Result<Value, Error> {
        self.ask(Method::PUT, address, Some(body)).await
    }

    pub(super) async fn delete(&mut self, address: &[&str]) -> Result<Value, Error> {
        self.ask(Method::DELETE, address, None).await
    }

    /// All parts of a list, whose member is named as the last word of its address.
    pub(super) async fn list(&mut self, address: &[&str]) -> Result<Vec<Value>, Error> {
        let mut all = Vec::new();
        let mut after: Option<String> = None;
        loop {
            // The keys come in one part, and take no query.
            let query = match address {
                ["keys"] => String::new(),
                _ => {
                    let after = after.as_deref().map(|text| format!("&after={}", encoded(text)));
                    format!("?limit={PER_PAGE}{}", after.unwrap_or_default())
                }
            };
            let mut part = self.send(Method::GET, address, &query, None).await?;
            let member = address.last().copied().unwrap_or_default();
            match part[member].take() {
                Value::Array(more) => all.extend(more),
                _ => return Err(fault("reading the server's answer", format_args!("it has no {member}"))),
            }
            match part["next"].as_str() {
                Some(next) if after.as_deref() != Some(next) => after = Some(next.to_owned()),
                _ => return Ok(all),
            }
        }
    }

    async fn ask(
        &mut self,
        method: Method,
        address: &[&str],
        body: Option<Zeroizing<Vec<u8>>>,
    ) -> Result<Value, Error> {
        self.send(method, address, "", body).await
    }

    /// Null for an answer without a body.
    async fn send(
        &mut self,
        method: Method,
        address: &[&str],
        query: &str,
        body: Option<Zeroizing<Vec<u8>>>,
    ) -> Result<Value, Error> {
        let doing = "asking the admin API";
        let segments: String = address.iter().map(|segment| format!("/{}", encoded(segment))).collect();
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{ADMIN}{segments}{query}", self.below))
            .header(AUTHORIZATION, self.bearer.clone());
        let request = match body {
            Some(body) => {
                request.header(CONTENT_TYPE, "application/json").body(Full::from(Bytes::from_owner(body)))
            }
            None => request.body(Full::default()),
        };
        let answer = self.connection.send(doing, request.map_err(|cause| fault(doing, cause))?).await?;
        if answer.status.is_success() {
            return match answer.body.is_empty() {
                true => Ok(Value::Null),
                false => serde_json::from_slice(&answer.body)
                    .map_err(|cause| fault("reading the server's answer", cause)),
            };
        }
        if answer.status == StatusCode::NOT_FOUND {
            return Err(self.not_found(address).await);
        }
        Err(self.refusal(&answer))
    }

    /// That nothing has this name, or that there is no such API.
    async fn not_found(&mut self, address: &[&str]) -> Error {
        let document = Request::get(format!("{}{ADMIN}/openapi.json", self.below)).body(Full::default());
        let there = match document {
            Ok(request) => self.connection.send("asking the admin API", request).await,
            Err(cause) => Err(fault("asking the admin API", cause)),
        };
        let (what, hint) = match (there, address) {
            (Ok(answer), [kind, name, ..]) if answer.status == StatusCode::OK => {
                let kind = match *kind {
                    "clients" => "client",
                    "issuers" => "trusted issuer",
                    "keys" => "signing key",
                    "sessions" => "session",
                    _ => "user",
                };
                (format!("there is no {kind} {name}"), "`list` shows what there is".to_owned())
            }
            _ => {
                let hint = "`[admin]` with `api = true` in the server's configuration switches it on";
                ("there is no admin API at this server".to_owned(), hint.to_owned())
            }
        };
        Error::Refused { what, hint: Some(hint) }
    }

    /// What the server says of its refusal, and what can be done.
    fn refusal(&self, answer: &Answer) -> Error {
        let (what, said) = description(answer);
        let challenge = answer.headers.get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
        let scope = challenge.and_then(|text| text.split_once(" scope=\"")?.1.split('"').next());
        let hint = match (answer.status, scope) {
            (StatusCode::FORBIDDEN, Some(scope)) if !scope.is_empty() => {
                Some(format!("the client {} needs the scope {scope}, or sealstone:admin", self.client_id))
            }
            _ => said.or_else(|| later(answer)),
        };
        Error::Refused { what, hint }
    }
}

/// Gets a token for the client itself.
async fn token(connection: &mut Connection, below: &str, reach: &Reach) -> Result<HeaderValue, Error> {
    let doing = "getting a token";
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("grant_type", "client_credentials");
    let mut request =
        Request::post(format!("{below}/token")).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
    match &reach.proof {
        Proof::Key { key, name } => {
            let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
            form.append_pair("client_assertion_type", kind);
            let key = key.whole(name, "sign the client's assertion")?;
            form.append_pair("client_assertion", &assertion(key, reach)?);
        }
        Proof::Secret(secret) => {
            // RFC 6749 §2.3.1: both in the form encoding, then together.
            let encoded =
                |text: &str| -> String { form_urlencoded::byte_serialize(text.as_bytes()).collect() };
            let pair = Zeroizing::new(format!("{}:{}", encoded(&reach.client_id), encoded(secret)));
            let basic = Zeroizing::new(format!("Basic {}", STANDARD.encode(pair.as_bytes())));
            request = request.header(AUTHORIZATION, hidden(&basic)?);
        }
    }
    let request = request.body(Full::from(form.finish())).map_err(|cause| fault(doing, cause))?;
    let answer = connection.send(doing, request).await?;
    if answer.status != StatusCode::OK {
        let (what, said) = description(&answer);
        let hint = match answer.status {
            StatusCode::UNAUTHORIZED => Some(format!(
                "is {} a client of this server, with this key or secret, and {} its issuer, letter by letter?",
                reach.client_id, reach.server
            )),
            _ => said.or_else(|| later(&answer)),
        };
        return Err(Error::Refused { what, hint });
    }
    let body: Map<String, Value> =
        serde_json::from_slice(&answer.body).map_err(|cause| fault(doing, cause))?;
    match (body.get("access_token").and_then(Value::as_str), body.get("token_type").and_then(Value::as_str)) {
        (Some(token), Some(kind)) if kind.eq_ignore_ascii_case("bearer") => {
            hidden(&Zeroizing::new(format!("Bearer {token}")))
        }
        (Some(_), _) => Err(Error::Refused {
            what: "the token is bound to a key that this command does not have".into(),
            hint: Some("a client without `dpop_bound_access_tokens` is needed here".into()),
        }),
        _ => Err(fault(doing, "the answer has no access token")),
    }
}

/// RFC 7523 §3: for this server alone, for a minute, used once.
fn assertion(key: &sealstone_jose::PrivateKey, reach: &Reach) -> Result<String, Error> {
    let mut id = [0; 16];
    OsRandomness.fill(&mut id)?;
    let now = now().0;
    let claims = Claims::new()
        .with("aud", reach.server.as_str())
        .with("exp", now + ASSERTION_LIFETIME.as_secs())
        .with("iat", now)
        .with("iss", reach.client_id.as_str())
        .with("jti", URL_SAFE_NO_PAD.encode(id))
        .with("sub", reach.client_id.as_str());
    jwt::sign(key, "JWT", &claims)
        .map_err(|cause| Error::Usage { what: cause.to_string(), hint: cause.hint().map(str::to_owned) })
}

/// A header that no log shows.
fn hidden(text: &str) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(text).map_err(|cause| fault("getting a token", cause))?;
    value.set_sensitive(true);
    Ok(value)
}

/// The server's `error_description` in two: what is wrong, and what to do where it says that.
fn description(answer: &Answer) -> (String, Option<String>) {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    match body["error_description"].as_str() {
        Some(text) => match text.split_once("; ") {
            Some((what, hint)) => (what.to_owned(), Some(hint.to_owned())),
            None => (text.to_owned(), None),
        },
        None => (format!("it answered {}", answer.status), None),
    }
}

fn later(answer: &Answer) -> Option<String> {
    let seconds = answer.headers.get(RETRY_AFTER)?.to_str().ok()?;
    Some(format!("try again in {seconds} s"))
}

fn encoded(segment: &str) -> String {
    utf8_percent_encode(segment, SEGMENT).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_segment() {
        assert_eq!(encoded("https://a b/ü%?#"), "https%3A%2F%2Fa%20b%2F%C3%BC%25%3F%23");
        assert_eq!(encoded("billing-1.a_b~"), "billing-1.a_b~");
    }
}
