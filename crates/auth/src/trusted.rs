//! Issuers of others whose assertions are taken for an authorization grant, RFC 7523 §2.1: from the configuration, or from
//! the store.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use sealstone_jose::JwkSet;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::ConfigError;
use crate::protocol::target::is_scope_token;
use crate::store::Record;

/// An issuer that is trusted to say who its subjects are, and what for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedIssuer {
    /// The clients that may bring its assertions. At least one.
    pub clients: BTreeSet<String>,
    /// What its tokens are revoked with when it is removed; `None` for one of the configuration.
    pub family: Option<String>,
    /// Its identifier, the `iss` of its assertions, compared byte for byte.
    pub issuer: String,
    /// Its public keys. At least one. Each decides its algorithm.
    pub keys: JwkSet,
    /// The scopes that a token for its subjects may have. None: tokens without scopes.
    pub scopes: BTreeSet<String>,
    /// What its subjects are called here.
    pub subject: SubjectRule,
}

/// How the `sub` of an assertion becomes the subject of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectRule {
    /// All of its subjects are this one here.
    Fixed(String),
    /// This text, and then the `sub`. No other issuer may have a rule with whose subjects these could be confused.
    Prefix(String),
    /// The `sub` as it is: the issuer speaks about the users of this server, and is trusted with all of them. Who is no
    /// user, or a disabled one, is refused.
    Same,
}

impl SubjectRule {
    /// Whether a subject of one could be taken for a subject of the other. [`SubjectRule::Same`] is left out: it is
    /// meant to speak about the subjects of others.
    fn overlaps(&self, other: &Self) -> bool {
        use SubjectRule::{Fixed, Prefix};
        match (self, other) {
            (Fixed(one), Fixed(two)) => one == two,
            (Fixed(one), Prefix(two)) => one.starts_with(two),
            (Prefix(one), Fixed(two)) => two.starts_with(one),
            (Prefix(one), Prefix(two)) => one.starts_with(two) || two.starts_with(one),
            _ => false,
        }
    }
}

/// `[[trusted_issuers]]` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configured {
    /// The clients that may bring its assertions.
    pub clients: BTreeSet<String>,
    /// Its identifier.
    pub issuer: String,
    /// The file of its public keys, a JWK set.
    pub jwks: PathBuf,
    /// The scopes that a token for its subjects may have.
    #[serde(default)]
    pub scopes: BTreeSet<String>,
    /// What its subjects are called here. By default the issuer, a vertical line and the `sub`.
    pub subject: Option<SubjectRule>,
}

impl Configured {
    /// The rule that is chosen, or the default.
    pub(crate) fn rule(&self) -> SubjectRule {
        self.subject.clone().unwrap_or_else(|| TrustedIssuer::default_rule(&self.issuer))
    }
}

/// The most keys of an issuer: enough for a rotation of each algorithm.
const MOST_KEYS: usize = 16;
/// The most bytes of a subject, OpenID Connect Core §2.
const MAX_SUBJECT: usize = 255;

impl TrustedIssuer {
    /// The rule of an issuer for which none is chosen: the issuer, a vertical line (which no issuer has) and the `sub`.
    pub fn default_rule(issuer: &str) -> SubjectRule {
        SubjectRule::Prefix(format!("{issuer}|"))
    }

    /// What a subject is called here. `None` if that is not 1 to 255 printable ASCII characters.
    pub(crate) fn subject(&self, sub: &str) -> Option<String> {
        let subject = match &self.subject {
            SubjectRule::Fixed(subject) => subject.clone(),
            SubjectRule::Prefix(prefix) => format!("{prefix}{sub}"),
            SubjectRule::Same => sub.to_owned(),
        };
        (!sub.is_empty() && is_subject(&subject)).then_some(subject)
    }

    /// Every bound of its fields; `own` is the identifier of this server.
    /// Errors: the field, what is wrong with it, and what would be right.
    pub(crate) fn check(&self, own: Option<&str>) -> Result<(), Fault> {
        let fault = |field, what: String, hint| Err(Fault { field, what, hint });
        let (scheme, rest) = self.issuer.split_once(':').unwrap_or_default();
        let graphic = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        if scheme.is_empty() || rest.is_empty() || self.issuer.len() > 512 || !graphic(&self.issuer) {
            let hint = "the `iss` of its assertions, a URL as in https://ci.example.org";
            return fault("issuer", "it is no URL".into(), hint);
        }
        if self.issuer.contains('|') {
            return fault(
                "issuer",
                "it has a vertical line".into(),
                "`|` ends an issuer in default subjects",
            );
        }
        if own == Some(&self.issuer) {
            let hint = "tokens of this server are exchanged, RFC 8693";
            return fault("issuer", "it is this server itself".into(), hint);
        }
        if !(1..=MOST_KEYS).contains(&self.keys.keys().len()) {
            let unused =
                self.keys.ignored().first().map(|first| format!("; the first unused one: {}", first.reason));
            let what = format!("{} usable keys{}", self.keys.keys().len(), unused.unwrap_or_default());
            return fault("jwks", what, "1 to 16 public keys (EC, Ed25519 or ML-DSA) in `keys`");
        }
        if self.clients.is_empty() {
            return fault(
                "clients",
                "there is none".into(),
                "name the clients that may bring its assertions",
            );
        }
        if self.scopes.iter().any(|scope| scope.len() > 128 || !is_scope_token(scope)) {
            let hint = "printable ASCII without space, quotation mark or backslash, as in orders:read";
            return fault("scopes", "one is no scope".into(), hint);
        }
        match &self.subject {
            SubjectRule::Fixed(text) | SubjectRule::Prefix(text) if !is_subject(text) => {
                fault("subject", "it cannot be one".into(), "1 to 255 printable ASCII characters")
            }
            _ => Ok(()),
        }
    }

    /// The record's body; its id is the issuer.
    pub(crate) fn to_body(&self) -> Result<Vec<u8>, Error> {
        let failed = |cause| Error::store("write a trusted issuer", cause);
        let body = Body {
            clients: self.clients.clone(),
            family: self.family.clone(),
            jwks: serde_json::from_str(&self.keys.to_json()).map_err(failed)?,
            scopes: self.scopes.clone(),
            subject: self.subject.clone(),
        };
        serde_json::to_vec(&body).map_err(failed)
    }

    pub(crate) fn from_record(record: &Record) -> Result<Self, Error> {
        let unreadable = |cause: &dyn fmt::Display| {
            Error::store("read a trusted issuer", format!("{}: {cause}", record.id))
        };
        let body: Body = serde_json::from_slice(&record.body).map_err(|cause| unreadable(&cause))?;
        let keys = JwkSet::parse(body.jwks.to_string().as_bytes()).map_err(|cause| unreadable(&cause))?;
        Ok(Self {
            clients: body.clients,
            family: body.family,
            issuer: record.id.clone(),
            keys,
            scopes: body.scopes,
            subject: body.subject,
        })
    }
}

fn is_subject(text: &str) -> bool {
    (1..=MAX_SUBJECT).contains(&text.len()) && text.bytes().all(|byte| matches!(byte, 0x20..=0x7e))
}

/// What is wrong with an issuer.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) field: &'static str,
    pub(crate) what: String,
    pub(crate) hint: &'static str,
}

/// The body of an issuer's record.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    clients: BTreeSet<String>,
    family: Option<String>,
    /// A JWK set, RFC 7517 §5.
    jwks: serde_json::Value,
    scopes: BTreeSet<String>,
    subject: SubjectRule,
}

/// The trusted issuers as the token path sees them.
#[derive(Clone, Debug, Default)]
pub struct TrustedIssuers(HashMap<String, Arc<TrustedIssuer>>);

impl TrustedIssuers {
    /// The one with this identifier.
    pub fn by_issuer(&self, issuer: &str) -> Option<&Arc<TrustedIssuer>> {
        self.0.get(issuer)
    }
}

impl Extend<TrustedIssuer> for TrustedIssuers {
    /// Of two with one identifier the later one counts.
    fn extend<T: IntoIterator<Item = TrustedIssuer>>(&mut self, issuers: T) {
        self.0.extend(issuers.into_iter().map(|trusted| (trusted.issuer.clone(), Arc::new(trusted))));
    }
}

impl FromIterator<TrustedIssuer> for TrustedIssuers {
    fn from_iter<T: IntoIterator<Item = TrustedIssuer>>(issuers: T) -> Self {
        let mut all = Self::default();
        all.extend(issuers);
        all
    }
}

/// Reads the issuers of the configuration and their keys.
/// Errors: `Config` for a file that cannot be read or is no JWK set, for a value out of its bounds, and for subjects that
/// could be taken for those of another one, here or in the store.
pub(crate) fn configured(
    list: &[Configured],
    stored: &TrustedIssuers,
    own: &str,
) -> Result<Vec<TrustedIssuer>, Error> {
    let mut read: Vec<TrustedIssuer> = Vec::new();
    for entry in list {
        let Configured { clients, issuer, jwks, scopes, .. } = entry;
        let fault = |what: String, hint: &str| {
            let what = format!("trusted issuer {}: {what}", issuer.escape_debug());
            let hint = Some(hint.to_owned());
            Error::Config(ConfigError { file: None, line: None, column: None, what, hint })
        };
        let text = std::fs::read(jwks)
            .map_err(|cause| fault(format!("{}: {cause}", jwks.display()), "its public keys as a JWK set"))?;
        let keys = JwkSet::parse(&text).map_err(|cause| {
            fault(format!("{}: {cause}", jwks.display()), "a JWK set of public keys, RFC 7517 section 5")
        })?;
        let trusted = TrustedIssuer {
            clients: clients.clone(),
            family: None,
            issuer: issuer.clone(),
            keys,
            scopes: scopes.clone(),
            subject: entry.rule(),
        };
        trusted
            .check(Some(own))
            .map_err(|Fault { field, what, hint }| fault(format!("{field}: {what}"), hint))?;
        if read.iter().any(|other| other.issuer == *issuer) {
            return Err(fault("it is there twice".into(), "each issuer once"));
        }
        let rules = stored.0.values().map(|other| (&*other.issuer, &other.subject));
        let rules = rules.chain(read.iter().map(|other| (&*other.issuer, &other.subject)));
        if let Some(other) = confused(issuer, &trusted.subject, rules) {
            let what = format!("its subjects could be taken for those of {}", other.escape_debug());
            return Err(fault(what, "no prefix that begins another"));
        }
        read.push(trusted);
    }
    Ok(read)
}

/// The other issuer whose subjects could be taken for those that `rule` gives.
pub(crate) fn confused<'a>(
    issuer: &str,
    rule: &SubjectRule,
    mut others: impl Iterator<Item = (&'a str, &'a SubjectRule)>,
) -> Option<&'a str> {
    others.find(|(other, theirs)| *other != issuer && rule.overlaps(theirs)).map(|(other, _)| other)
}
