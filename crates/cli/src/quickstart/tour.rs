//! The way of a token: fetched over TLS, checked with the published keys, tampered with, checked with the server.

use std::time::{Duration, Instant};

use sealstone_jose::jws::Unverified;
use sealstone_jose::jwt::{Rules, Token};
use sealstone_jose::size::{self, Report};
use sealstone_jose::{Algorithm, JwkSet};

use super::http::{Connection, Credentials};
use super::{CLIENT, Place};
use crate::clock::now;
use crate::error::Error;
use crate::https::fault;

/// What happened on the way.
pub(super) struct Tour {
    pub(super) es256: Report,
    pub(super) key_exchange: String,
    pub(super) report: Report,
    pub(super) steps: Vec<Step>,
    pub(super) text: String,
    pub(super) tls: String,
    pub(super) token: Token,
}

/// One thing that was done.
pub(super) struct Step {
    /// What it is called in JSON.
    pub(super) name: &'static str,
    /// What it is called for people.
    pub(super) title: &'static str,
    /// What came out.
    pub(super) result: String,
    pub(super) took: Duration,
}

pub(super) async fn walk(place: &Place<'_>) -> Result<Tour, Error> {
    let mut steps = Vec::new();
    let mut step = |name, title, result: String, took| steps.push(Step { name, title, result, took });
    let who = Credentials { id: CLIENT, secret: place.secret.reveal() };
    step("start", "server started", place.issuer.clone(), place.took_to_start);
    step(
        "register",
        "client registered",
        format!("`{CLIENT}`, kept with a hash of its secret"),
        place.took_to_register,
    );

    let started = Instant::now();
    let mut server = Connection::open(place.address, &place.certificate_pem).await?;
    let agreed = match server.key_exchange() {
        "X25519MLKEM768" => "X25519MLKEM768, so that nobody decrypts it later".into(),
        other => format!("{other}, a classical key exchange"),
    };
    step("handshake", "TLS 1.3 agreed", agreed, started.elapsed());

    let started = Instant::now();
    let form = "grant_type=client_credentials".to_owned();
    let answer = server.post("fetching a token", "/token", &who, form).await?;
    let text = answer["access_token"].as_str().unwrap_or_default().to_owned();
    step("token", "token fetched", "client_credentials, signed with ML-DSA-65".into(), started.elapsed());

    let started = Instant::now();
    let set = server.get("fetching the keys", "/jwks").await?;
    let set =
        JwkSet::parse(&set).map_err(|cause| Error::key("the server's key set", &cause, cause.hint()))?;
    step("keys", "keys fetched", keys(&set), started.elapsed());

    let started = Instant::now();
    let token = check(&text, &set, &place.issuer).map_err(Error::Token)?;
    step(
        "offline",
        "checked offline",
        "signature, issuer, audience, type and times".into(),
        started.elapsed(),
    );

    let started = Instant::now();
    let forged = forge(&text);
    if check(&forged, &set, &place.issuer).is_ok() {
        return Err(fault("checking a forgery", "it was accepted"));
    }
    step("forgery", "forgery refused", "the same token with one letter changed".into(), started.elapsed());

    let started = Instant::now();
    let answer = server.post("introspection", "/introspect", &who, format!("token={text}")).await?;
    if answer["active"] != true {
        return Err(fault("introspection", "the server says that its own token is not active"));
    }
    step("online", "checked online", "introspection: the server says `active`".into(), started.elapsed());

    let (report, es256) = sizes(&text)?;
    let (key_exchange, tls) = (server.key_exchange().to_owned(), server.tls().to_owned());
    Ok(Tour { es256, key_exchange, report, steps, text, tls, token })
}

/// What a resource server does with a token (RFC 9068 §4): everything named, nothing left open.
fn check(text: &str, set: &JwkSet, issuer: &str) -> Result<Token, sealstone_jose::Error> {
    let rules = Rules::new().issuer(issuer).audience(issuer).typ("at+jwt").leeway(Duration::from_secs(5));
    rules.check(Unverified::parse(text)?.verify_with_set(set)?, now())
}

/// The token with one letter in the middle of its claims changed.
fn forge(text: &str) -> String {
    let dots: Vec<usize> = text.match_indices('.').map(|(at, _)| at).collect();
    let middle = match dots.as_slice() {
        [first, second] => (first + second) / 2,
        _ => 0,
    };
    let change = |(at, letter): (usize, char)| match (at == middle, letter) {
        (false, letter) => letter,
        (true, 'A') => 'B',
        (true, _) => 'A',
    };
    text.char_indices().map(change).collect()
}

fn keys(set: &JwkSet) -> String {
    let names: Vec<&str> = set.keys().iter().map(|key| key.algorithm().name()).collect();
    format!("JWKS: the public {} key", names.join(" and "))
}

/// The token measured, and what it would measure under ES256.
fn sizes(text: &str) -> Result<(Report, Report), Error> {
    let report = size::report(text).map_err(Error::Token)?;
    let all = size::compare(text).map_err(Error::Token)?;
    let es256 = all.into_iter().find(|other| other.algorithm == Algorithm::Es256).unwrap_or(report);
    Ok((report, es256))
}
