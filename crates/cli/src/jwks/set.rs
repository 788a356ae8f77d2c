//! Key sets as files: standard keys, and with `--draft` composite ones beside them.

use sealstone_jose::{Error as Refusal, Ignored, JwkSet, any, composite};
use sealstone_pki::form::Form;
use serde_json::{Value, json};

use crate::error::Error;
use crate::files::Source;
use crate::keyfile::any::{AnyPublic, Gates, RISK};

/// More than a set may have.
const LIMIT: usize = 1 << 20;

/// Public keys, each under a key id of its own. With the gate shut, composite ones are passed over.
pub(crate) struct KeySet(any::JwkSet);

impl KeySet {
    /// Reads a set with at least one key that can be used.
    pub(crate) fn load(source: &Source, gates: Gates) -> Result<Self, Error> {
        Self::read(source, gates)?.not_empty(&source.name())
    }

    /// Refuses a set with no key that can be used.
    pub(crate) fn not_empty(self, name: &str) -> Result<Self, Error> {
        if self.len() > 0 {
            return Ok(self);
        }
        let (why, hint) = match self.0.ignored().first() {
            Some(Ignored { reason, .. }) => {
                (format!("no usable key in the set: {reason}"), composite_hint(reason).or(reason.hint()))
            }
            None => ("the key set is empty".to_owned(), None),
        };
        Err(Error::key(name, why, hint))
    }

    /// Reads a set.
    pub(crate) fn read(source: &Source, gates: Gates) -> Result<Self, Error> {
        Self::parse(&source.name(), &source.read(LIMIT)?, gates)
    }

    /// Reads a set from its text, which `name` names in errors.
    pub(crate) fn parse(name: &str, text: &[u8], gates: Gates) -> Result<Self, Error> {
        let set = match gates.draft {
            true => any::JwkSet::parse(text),
            false => JwkSet::parse(text).map(any::JwkSet::from),
        };
        set.map(Self).map_err(|cause| match Form::of(text) {
            Some(Form::Json) | None => Error::key(name, &cause, cause.hint()),
            Some(_) => {
                let hint = "`sealstone jwks build` makes a set of keys in any form";
                Error::key(name, "this is one key, expected a key set", Some(hint))
            }
        })
    }

    /// How many keys can be used.
    pub(crate) fn len(&self) -> usize {
        self.0.keys().len()
    }

    /// All keys that can be used, standard ones first.
    pub(crate) fn keys(&self) -> impl Iterator<Item = AnyPublic<'_>> {
        self.0.keys().iter().map(AnyPublic::from)
    }

    /// The composite ones.
    pub(crate) fn composite(&self) -> impl Iterator<Item = &composite::PublicKey> {
        self.0.keys().iter().filter_map(|key| match key {
            any::PublicKey::Composite(key) => Some(key),
            any::PublicKey::Standard(_) => None,
        })
    }

    /// The standard ones.
    pub(crate) fn standard(&self) -> &JwkSet {
        self.0.standard()
    }

    /// As the library takes it where keys may be of either kind.
    pub(crate) fn any(&self) -> &any::JwkSet {
        &self.0
    }

    /// What was passed over, and why.
    pub(crate) fn ignored(&self) -> &[Ignored] {
        self.0.ignored()
    }

    pub(crate) fn by_kid(&self, kid: &str) -> Option<AnyPublic<'_>> {
        self.0.find(kid).map(AnyPublic::from)
    }
}

/// A set in JSON, one key a line, so that people and `diff` can read it.
pub(crate) fn to_json<'k>(keys: impl IntoIterator<Item = AnyPublic<'k>>) -> String {
    let keys: Vec<String> = keys.into_iter().map(|key| key.to_jwk().to_json()).collect();
    format!("{{\"keys\":[\n{}\n]}}\n", keys.join(",\n"))
}

/// What could be done about a key that was passed over because a gate is shut.
pub(crate) fn composite_hint(reason: &Refusal) -> Option<&'static str> {
    let Refusal::AlgorithmUnknown { found } = reason else { return None };
    let known = found.trim_matches('"').parse::<composite::Algorithm>();
    known.is_ok().then_some(RISK)
}

/// A key as `jwks list` tells programs of it.
pub(crate) fn described(key: AnyPublic<'_>) -> Value {
    json!({
        "algorithm": key.algorithm().name(),
        "kid": key.kid(),
        "public_bytes": key.as_bytes().len(),
        "thumbprint": key.thumbprint(),
    })
}
