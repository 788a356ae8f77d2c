//! The admin API: what an administrator does, over HTTP, with an access token of this server.
//!
//! A role is a scope. Only tokens that a client has got for itself open this API (`sub` is its own id): a person who agrees
//! to a scope cannot make an application an administrator. `openapi.json` beside this file says everything else; a test
//! compares it with [`ADDRESSES`].

mod json;

use std::str::FromStr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::any;
use hyper::header::ALLOW;
use hyper::{Method, Request, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::answer::{self, Refusal};
use super::resource::{Resource, Shown};
use super::{App, read_json};
use crate::Error;
use crate::admin::Admin;
use crate::audit::Part;
use crate::client::Client;
use crate::client::metadata::{Metadata, plain};
use crate::protocol::{Code, OAuthError};
use json::{
    Disabled, NewIssuer, NewPassword, NewPerson, Revocation, Rotation, described, issuer_of, key_of,
    session_of, user_of, with_secret,
};

/// Where it is, below the issuer.
pub(crate) const ADMIN: &str = "/admin/v1";

/// Where what describes it is, for anybody.
const DOCUMENT: &str = "/openapi.json";
const OPENAPI: &str = include_str!("openapi.json");

/// Every address and its methods, as they stand in the document.
const ADDRESSES: [(&str, &str, Area); 25] = [
    ("GET", "/audit", Area::Audit),
    ("GET", "/clients", Area::Clients),
    ("POST", "/clients", Area::Clients),
    ("GET", "/clients/{id}", Area::Clients),
    ("PUT", "/clients/{id}", Area::Clients),
    ("DELETE", "/clients/{id}", Area::Clients),
    ("POST", "/clients/{id}/secret", Area::Clients),
    ("GET", "/issuers", Area::Issuers),
    ("POST", "/issuers", Area::Issuers),
    ("DELETE", "/issuers/{issuer}", Area::Issuers),
    ("GET", "/keys", Area::Keys),
    ("POST", "/keys/rotation", Area::Keys),
    ("POST", "/keys/{kid}/retirement", Area::Keys),
    ("POST", "/revocations", Area::Tokens),
    ("GET", "/sessions", Area::Sessions),
    ("DELETE", "/sessions/{sid}", Area::Sessions),
    ("GET", "/users", Area::Users),
    ("POST", "/users", Area::Users),
    ("GET", "/users/{username}", Area::Users),
    ("DELETE", "/users/{username}", Area::Users),
    ("PUT", "/users/{username}/disabled", Area::Users),
    ("PUT", "/users/{username}/password", Area::Users),
    ("DELETE", "/users/{username}/passkeys", Area::Users),
    ("GET", "/users/{username}/sessions", Area::Sessions),
    ("DELETE", "/users/{username}/sessions", Area::Sessions),
];

/// What a role is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Area {
    /// What was decided.
    Audit,
    /// The clients.
    Clients,
    /// The issuers whose assertions are taken.
    Issuers,
    /// The signing keys.
    Keys,
    /// Who is signed in.
    Sessions,
    /// What was issued.
    Tokens,
    /// The users.
    Users,
}

impl Area {
    /// The scopes of which one opens it, the narrowest first.
    const fn scopes(self, writes: bool) -> &'static [&'static str] {
        match (self, writes) {
            (Area::Audit, _) => &["sealstone:audit:read", "sealstone:admin:read", "sealstone:admin"],
            (Area::Clients, true) => &["sealstone:clients", "sealstone:admin"],
            (Area::Issuers, true) => &["sealstone:issuers", "sealstone:admin"],
            (Area::Keys, true) => &["sealstone:keys", "sealstone:admin"],
            (Area::Sessions, true) => &["sealstone:sessions", "sealstone:admin"],
            (Area::Tokens, _) => &["sealstone:tokens", "sealstone:admin"],
            (Area::Users, true) => &["sealstone:users", "sealstone:admin"],
            (Area::Clients, false) => {
                &["sealstone:clients:read", "sealstone:clients", "sealstone:admin:read", "sealstone:admin"]
            }
            (Area::Issuers, false) => {
                &["sealstone:issuers:read", "sealstone:issuers", "sealstone:admin:read", "sealstone:admin"]
            }
            (Area::Keys, false) => {
                &["sealstone:keys:read", "sealstone:keys", "sealstone:admin:read", "sealstone:admin"]
            }
            (Area::Sessions, false) => {
                &["sealstone:sessions:read", "sealstone:sessions", "sealstone:admin:read", "sealstone:admin"]
            }
            (Area::Users, false) => {
                &["sealstone:users:read", "sealstone:users", "sealstone:admin:read", "sealstone:admin"]
            }
        }
    }
}

/// Adds the addresses of this file.
pub(super) fn routes(router: Router<Arc<App>>, below: impl Fn(&str) -> String) -> Router<Arc<App>> {
    router.route(&below(&format!("{ADMIN}/{{*address}}")), any(endpoint))
}

async fn endpoint(State(app): State<Arc<App>>, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let shown = Shown::by(&head);
    let whole = head.uri.path().to_owned();
    let address =
        whole.strip_prefix(app.issuer.path()).and_then(|path| path.strip_prefix(ADMIN)).unwrap_or("");
    // RFC 9110 §9.3.2: as GET; what sends the answer leaves its body out.
    let method = if head.method == Method::HEAD { &Method::GET } else { &head.method };
    if method == Method::GET && address == DOCUMENT {
        return answer::public("application/json", OPENAPI);
    }
    let asked = match Asked::find(method, address) {
        Ok(asked) => asked,
        Err(refusal) => {
            let mut response = answer::of_a_resource(refusal, "");
            let methods = methods_of(address);
            if !methods.is_empty() {
                answer::add(&mut response, ALLOW, &methods);
            }
            return response;
        }
    };
    let resource = Resource {
        scopes: asked.area.scopes(method != Method::GET),
        url: app.issuer.endpoint(&format!("{ADMIN}{address}")),
    };
    let snapshot = app.live.snapshot_owned();
    let answered = async {
        let token = shown.open(&app, &snapshot, &resource, None).await?;
        let by = token.client_id().to_owned();
        let refused = |error| Refusal::OAuth { error, client: Some(by.clone()) };
        // What a person has agreed to is no administrator's.
        if token.claim("sub").and_then(Value::as_str) != Some(&by) || token.claim("act").is_some() {
            let what = "the access token is not one that a client has got for itself";
            return Err(refused(OAuthError::new(Code::InsufficientScope, what)));
        }
        let body = match asked.has_body() {
            true => read_json(&head.headers, body, &app).await?,
            false => Vec::new(),
        };
        let page = Page::of(head.uri.query().unwrap_or_default()).map_err(refused)?;
        let done = asked.carry_out(&app, &by, &body, page).await;
        // What was changed holds here at once; other servers follow within their poll.
        if method != Method::GET {
            app.live.refresh(app.clock.now()).await.map_err(|cause| refused(cause.into()))?;
        }
        done
    };
    let answered = answered.await;
    shown.answer(&app, &resource, answered)
}

/// Whether an address is one of a pattern's.
fn fits(pattern: &str, address: &str) -> bool {
    let same = |(part, segment): (&str, &str)| part.starts_with('{') || part == segment;
    let (parts, segments) = (pattern.split('/'), address.split('/'));
    parts.clone().count() == segments.clone().count() && parts.zip(segments).all(same)
}

/// What an address takes, as `Allow` says it (RFC 9110 §10.2.1); empty for one that is none.
fn methods_of(address: &str) -> String {
    let document = ("GET", DOCUMENT, Area::Clients);
    let fitting = ADDRESSES.into_iter().chain([document]).filter(|(_, pattern, _)| fits(pattern, address));
    let names = fitting.map(|(name, ..)| if name == "GET" { "GET,HEAD" } else { name });
    names.collect::<Vec<_>>().join(",")
}

/// An address that was found, and what stands in its places.
struct Asked {
    area: Area,
    method: &'static str,
    pattern: &'static str,
    place: Zeroizing<String>,
}

impl Asked {
    /// Errors: `NotFound`, and `Method` for an address that has others.
    fn find(method: &Method, address: &str) -> Result<Self, Refusal> {
        let mut fitting = ADDRESSES.into_iter().filter(|(_, pattern, _)| fits(pattern, address));
        let Some((method, pattern, area)) = fitting.find(|(name, ..)| *name == method.as_str()) else {
            return Err(if methods_of(address).is_empty() { Refusal::NotFound } else { Refusal::Method });
        };
        let place = pattern.split('/').zip(address.split('/')).find(|(part, _)| part.starts_with('{'));
        let place = place.map_or(Some(String::new()), |(_, text)| decoded(text));
        Ok(Self { area, method, pattern, place: Zeroizing::new(place.ok_or(Refusal::NotFound)?) })
    }

    /// Whether it is told something; a body that comes with another request is not read.
    fn has_body(&self) -> bool {
        let said_by_the_address = ["/clients/{id}/secret", "/keys/{kid}/retirement"].contains(&self.pattern);
        matches!(self.method, "POST" | "PUT") && !said_by_the_address
    }

    async fn carry_out(self, app: &App, by: &str, body: &[u8], page: Page) -> Result<Response, Refusal> {
        let admin = &app.admin.acting_for(by);
        let ok = |value: Value| answer::json_for(by, &value);
        let created = |value: Value| answer::json_with(StatusCode::CREATED, by, &value);
        let failed = |cause| told(cause, by);
        let place = &*self.place;
        match (self.method, self.pattern) {
            ("GET", "/audit") => {
                let part = lines(app, &page, by).await?;
                let next = part.next.map(|n| n.to_string());
                let mut said = json!({"audit": part.lines});
                next.into_iter().for_each(|next| said["next"] = next.into());
                ok(said)
            }
            ("GET", "/clients") => {
                let clients = admin.list_clients().await.map_err(failed)?;
                let all = clients.iter().map(|(client, _)| (client.id.as_str(), described(client)));
                ok(page.cut("clients", all))
            }
            ("POST", "/clients") => {
                let new = Metadata::parse(body).and_then(|metadata| metadata.by_administrator(None));
                let new = new.map_err(|fault| by_client(fault.into(), by))?;
                let (client, secret) = admin.add_client(new).await.map_err(failed)?;
                created(with_secret(&client, secret.as_ref()))
            }
            ("GET", "/clients/{id}") => ok(described(&client(admin, place).await.map_err(failed)?)),
            ("PUT", "/clients/{id}") => {
                let new = Metadata::parse(body).and_then(|metadata| metadata.by_administrator(Some(place)));
                let new = new.map_err(|fault| by_client(fault.into(), by))?;
                let (client, secret) = admin.change_client(place, new).await.map_err(failed)?;
                ok(with_secret(&client, secret.as_ref()))
            }
            ("DELETE", "/clients/{id}") => {
                admin.remove_client(place, None).await.map_err(failed)?;
                Ok(answer::nothing(by))
            }
            ("POST", "/clients/{id}/secret") => {
                let (client, secret) = admin.renew_secret(place).await.map_err(failed)?;
                ok(with_secret(&client, Some(&secret)))
            }
            ("GET", "/issuers") => {
                let issuers = admin.list_issuers().await.map_err(failed)?;
                ok(page.cut("issuers", issuers.iter().map(|(one, _)| (one.issuer.as_str(), issuer_of(one)))))
            }
            ("POST", "/issuers") => {
                let new: NewIssuer = read(body, by)?;
                let added = admin.add_issuer(new.trusted(by)?).await.map_err(failed)?;
                created(issuer_of(&added))
            }
            ("DELETE", "/issuers/{issuer}") => {
                admin.remove_issuer(place).await.map_err(failed)?;
                Ok(answer::nothing(by))
            }
            ("GET", "/keys") => {
                let keys = admin.list_signing_keys().await.map_err(failed)?;
                ok(json!({"keys": keys.iter().map(key_of).collect::<Vec<_>>()}))
            }
            ("POST", "/keys/rotation") => {
                let wanted: Rotation = read(body, by)?;
                let mut next = Vec::new();
                for algorithm in wanted.algorithms(admin, by)? {
                    next.push(key_of(&admin.rotate_signing_key(algorithm).await.map_err(failed)?));
                }
                ok(json!({"keys": next}))
            }
            ("POST", "/keys/{kid}/retirement") => {
                ok(key_of(&admin.retire_signing_key(place).await.map_err(failed)?))
            }
            ("POST", "/revocations") => {
                let wanted: Revocation = read(body, by)?;
                let snapshot = app.live.snapshot_owned();
                let key = &app.live.flow_keys().refresh;
                admin.revoke(&wanted.token, key, &snapshot, &app.issuer).await.map_err(failed)?;
                Ok(answer::nothing(by))
            }
            ("GET", "/sessions") => {
                let sessions = admin.list_sessions(None).await.map_err(failed)?;
                ok(page.cut("sessions", sessions.iter().map(|one| (one.sid.as_str(), session_of(one)))))
            }
            ("DELETE", "/sessions/{sid}") => {
                admin.end_session(place).await.map_err(failed)?;
                Ok(answer::nothing(by))
            }
            ("GET", "/users") => {
                let users = admin.list_users().await.map_err(failed)?;
                ok(page.cut("users", users.iter().map(|user| (user.username.as_str(), user_of(user)))))
            }
            ("POST", "/users") => {
                let new: NewPerson = read(body, by)?;
                created(user_of(&admin.add_user(new.user(by)?).await.map_err(failed)?))
            }
            ("GET", "/users/{username}") => ok(user_of(&admin.user(place).await.map_err(failed)?)),
            ("DELETE", "/users/{username}") => {
                admin.remove_user(place).await.map_err(failed)?;
                Ok(answer::nothing(by))
            }
            ("PUT", "/users/{username}/disabled") => {
                let wanted: Disabled = read(body, by)?;
                ok(user_of(&admin.set_disabled(place, wanted.disabled).await.map_err(failed)?))
            }
            ("PUT", "/users/{username}/password") => {
                let wanted: NewPassword = read(body, by)?;
                let password = wanted.password(by)?;
                ok(user_of(&admin.set_password(place, &password).await.map_err(failed)?))
            }
            ("DELETE", "/users/{username}/passkeys") => {
                admin.remove_passkeys(place).await.map_err(failed)?;
                Ok(answer::nothing(by))
            }
            ("GET", "/users/{username}/sessions") => {
                let user = admin.user(place).await.map_err(failed)?;
                let sessions = admin.list_sessions(Some(&user)).await.map_err(failed)?;
                ok(page.cut("sessions", sessions.iter().map(|one| (one.sid.as_str(), session_of(one)))))
            }
            ("DELETE", "/users/{username}/sessions") => {
                admin.sign_out(place).await.map_err(failed)?;
                Ok(answer::nothing(by))
            }
            _ => Err(Refusal::NotFound),
        }
    }
}

/// A segment of an address, in which a slash may be written as `%2F` (RFC 3986 §2.1).
fn decoded(segment: &str) -> Option<String> {
    percent_encoding::percent_decode_str(segment).decode_utf8().ok().map(|text| text.into_owned())
}

/// Which part of a list: so many, after the one of this name.
struct Page {
    after: Option<String>,
    limit: usize,
}

const MOST_PER_PAGE: usize = 1_000;
const PER_PAGE: usize = 100;

impl Page {
    fn of(query: &str) -> Result<Self, OAuthError> {
        let mut page = Self { after: None, limit: PER_PAGE };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let invalid = |what| OAuthError::new(Code::InvalidRequest, what);
            match &*name {
                "after" => page.after = Some(value.into_owned()),
                "limit" => {
                    let limit = usize::from_str(&value).ok().filter(|n| (1..=MOST_PER_PAGE).contains(n));
                    page.limit = limit.ok_or_else(|| invalid("limit must be a number from 1 to 1000"))?;
                }
                _ => return Err(invalid("the query may have after and limit, and nothing else")),
            }
        }
        Ok(page)
    }

    /// `{NAME: […], "next": …}`: `next` is what `after` must be for the next part, absent on the last.
    fn cut<'a>(&self, name: &str, all: impl Iterator<Item = (&'a str, Value)>) -> Value {
        let later = |id: &str| self.after.as_deref().is_none_or(|after| id > after);
        let mut rest = all.filter(|(id, _)| later(id)).peekable();
        let (mut part, mut last) = (Vec::new(), None);
        while part.len() < self.limit
            && let Some((id, value)) = rest.next()
        {
            part.push(value);
            last = Some(id);
        }
        match rest.peek() {
            Some(_) => json!({name: part, "next": last}),
            None => json!({name: part}),
        }
    }
}

/// What a page asks for of this server's audit log.
/// Errors: `NotFound` where there is none.
async fn lines(app: &App, page: &Page, by: &str) -> Result<Part, Refusal> {
    let audit = app.audit.clone().ok_or(Refusal::NotFound)?;
    let number = |after: &String| {
        let invalid = || OAuthError::new(Code::InvalidRequest, "after must be the number of a line");
        after.parse().map_err(|_| by_client(invalid(), by))
    };
    let (after, most) = (page.after.as_ref().map(number).transpose()?, page.limit);
    let read = tokio::task::spawn_blocking(move || audit.part(after, most)).await;
    let read = read.map_err(|cause| Error::store("read the audit log", cause)).and_then(|part| part);
    read.map_err(|cause| by_client(cause.into(), by))
}

async fn client(admin: &Admin, id: &str) -> Result<Client, Error> {
    let clients = admin.list_clients().await?.into_iter();
    let found = clients.map(|(client, _)| client).find(|client| client.id == id);
    found.ok_or_else(|| Error::ClientUnknown { id: id.to_owned() })
}

/// A body of exactly these members.
fn read<T: DeserializeOwned>(body: &[u8], by: &str) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|cause| {
        // Where it is, and not what: the text may quote a password.
        let place =
            format!("the body does not fit the document, line {} column {}", cause.line(), cause.column());
        invalid(&place, by)
    })
}

fn invalid(what: &str, by: &str) -> Refusal {
    by_client(OAuthError::new(Code::InvalidRequest, plain(what)), by)
}

fn by_client(error: OAuthError, by: &str) -> Refusal {
    Refusal::OAuth { error, client: Some(by.to_owned()) }
}

/// What an administrator is told: more than others, but only of their own request.
fn told(cause: Error, by: &str) -> Refusal {
    let text = plain(&match cause.hint() {
        Some(hint) => format!("{cause}; {hint}"),
        None => cause.to_string(),
    });
    match cause {
        Error::ClientInvalid { .. }
        | Error::IssuerInvalid { .. }
        | Error::UserInvalid { .. }
        | Error::Key { .. } => by_client(OAuthError::new(Code::InvalidRequest, text), by),
        Error::ClientUnknown { .. }
        | Error::IssuerUnknown { .. }
        | Error::SigningKeyUnknown { .. }
        | Error::SessionUnknown { .. }
        | Error::UserUnknown { .. } => Refusal::NotFound,
        Error::ClientConfigured { .. }
        | Error::ClientExists { .. }
        | Error::IssuerExists { .. }
        | Error::UserExists { .. } => Refusal::Conflict { description: text, client: by.to_owned() },
        Error::Busy => {
            let busy = OAuthError::new(Code::TemporarilyUnavailable, "too many passwords are hashed now");
            by_client(busy, by)
        }
        other => by_client(other.into(), by),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The document and the table say the same of every address, and of the scope that it asks for.
    #[test]
    fn the_document_is_the_table() {
        let document: Value = serde_json::from_str(OPENAPI).unwrap();
        let mut said = Vec::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in
                methods.as_object().unwrap().iter().filter(|(name, _)| *name != "parameters")
            {
                let scope = operation["security"][0]["token"][0].as_str().unwrap();
                said.push((method.to_uppercase(), path.clone(), scope.to_owned()));
                let asked = Asked::find(&Method::from_bytes(method.to_uppercase().as_bytes()).unwrap(), path);
                assert_eq!(
                    asked.unwrap().has_body(),
                    operation.get("requestBody").is_some(),
                    "{method} {path}"
                );
            }
        }
        let mut table: Vec<_> = ADDRESSES
            .iter()
            .map(|(method, path, area)| {
                ((*method).to_owned(), (*path).to_owned(), area.scopes(*method != "GET")[0].to_owned())
            })
            .collect();
        said.sort();
        table.sort();
        assert_eq!(said, table);
    }
}
