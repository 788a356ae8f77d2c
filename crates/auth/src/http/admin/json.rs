//! What the admin API reads and writes, as `openapi.json` says it.

use sealstone_jose::{Algorithm, JwkSet};
use serde::Deserialize;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::invalid;
use crate::admin::{Admin, NewUser, SigningKey};
use crate::client::{Client, ClientSecret};
use crate::http::answer::Refusal;
use crate::people::{Password, Session, User};
use crate::trusted::{SubjectRule, TrustedIssuer};

pub(super) fn described(client: &Client) -> Value {
    Value::Object(client.for_administrators())
}

pub(super) fn with_secret(client: &Client, secret: Option<&ClientSecret>) -> Value {
    let mut all = client.for_administrators();
    if let Some(secret) = secret {
        all.insert("client_secret".into(), secret.reveal().into());
    }
    Value::Object(all)
}

pub(super) fn user_of(user: &User) -> Value {
    json!({
        "created_at": user.created_at.0,
        "disabled": user.disabled,
        "email": user.email,
        "email_verified": user.email_verified,
        "has_password": user.password.is_some(),
        "name": user.name,
        "passkeys": user.passkeys.len(),
        "sub": user.sub,
        "username": user.username,
    })
}

pub(super) fn session_of(session: &Session) -> Value {
    json!({
        "amr": session.amr,
        "auth_time": session.auth_time.0,
        "sid": session.sid,
        "sub": session.sub,
        "username": session.username,
    })
}

pub(super) fn key_of(key: &SigningKey) -> Value {
    json!({
        "algorithm": key.stage.algorithm.name(),
        "kid": key.kid,
        "name": key.name(),
        "next_at": key.next_at.map(|at| at.0),
        "since": key.stage.since.0,
        "state": key.stage.state.name(),
    })
}

pub(super) fn issuer_of(issuer: &TrustedIssuer) -> Value {
    let jwks: Value = serde_json::from_str(&issuer.keys.to_json()).unwrap_or_default();
    json!({
        "clients": issuer.clients,
        "issuer": issuer.issuer,
        "jwks": jwks,
        "scopes": issuer.scopes,
        "subject": issuer.subject,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewIssuer {
    clients: Vec<String>,
    issuer: String,
    jwks: Value,
    #[serde(default)]
    scopes: Vec<String>,
    subject: Option<SubjectRule>,
}

impl NewIssuer {
    pub(super) fn trusted(self, by: &str) -> Result<TrustedIssuer, Refusal> {
        let keys = JwkSet::parse(self.jwks.to_string().as_bytes());
        Ok(TrustedIssuer {
            clients: self.clients.into_iter().collect(),
            family: None,
            keys: keys.map_err(|cause| invalid(&format!("jwks: {cause}"), by))?,
            scopes: self.scopes.into_iter().collect(),
            subject: self.subject.unwrap_or_else(|| TrustedIssuer::default_rule(&self.issuer)),
            issuer: self.issuer,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewPerson {
    email: Option<String>,
    #[serde(default)]
    email_verified: bool,
    name: Option<String>,
    password: Option<String>,
    username: String,
}

impl NewPerson {
    pub(super) fn user(self, by: &str) -> Result<NewUser, Refusal> {
        let password = self.password.map(|password| NewPassword { password }.password(by)).transpose()?;
        let (email, email_verified) = (self.email, self.email_verified);
        Ok(NewUser { email, email_verified, name: self.name, password, username: self.username })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewPassword {
    password: String,
}

impl NewPassword {
    pub(super) fn password(self, by: &str) -> Result<Password, Refusal> {
        let text = Zeroizing::new(self.password);
        Password::new(&text).map_err(|what| invalid(&format!("password: it {what}"), by))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Disabled {
    pub(super) disabled: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Revocation {
    pub(super) token: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rotation {
    /// None: all that are enabled.
    #[serde(default)]
    pub(super) algorithms: Vec<String>,
}

impl Rotation {
    pub(super) fn algorithms(&self, admin: &Admin, by: &str) -> Result<Vec<Algorithm>, Refusal> {
        if self.algorithms.is_empty() {
            return Ok(admin.algorithms().to_vec());
        }
        let enabled = |name: &String| admin.algorithms().iter().copied().find(|one| one.name() == name);
        let all: Option<Vec<Algorithm>> = self.algorithms.iter().map(enabled).collect();
        all.ok_or_else(|| invalid("algorithms: one of them is not enabled", by))
    }
}
