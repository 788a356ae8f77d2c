//! Key sets as files: standard keys, and with `--draft` composite ones beside them.

use sealstone_jose::{Error as Refusal, Ignored, JwkSet, composite};
use serde_json::{Value, json};

use crate::error::Error;
use crate::files::Source;
use crate::keyfile::any::{AnyPublic, Gates, RISK};

/// More than a set may have.
const LIMIT: usize = 1 << 20;

/// Public keys, each under a key id of its own.
pub(crate) struct KeySet {
    pub(crate) standard: JwkSet,
    pub(crate) composite: Vec<composite::PublicKey>,
    pub(crate) ignored: Vec<Ignored>,
}

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
        let (why, hint) = match self.ignored.first() {
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
        let refused = |cause: Refusal| Error::key(name, &cause, cause.hint());
        let standard = JwkSet::parse(text).map_err(refused)?;
        let mut set = Self { ignored: standard.ignored().to_vec(), standard, composite: Vec::new() };
        if !gates.draft {
            return Ok(set);
        }
        // What was passed over holds no private member, and no member twice: the set was read with all care before.
        let all: Value = serde_json::from_slice(text).unwrap_or_default();
        let mut ignored = Vec::new();
        for one in std::mem::take(&mut set.ignored) {
            let members = all["keys"][one.index].as_object();
            match (members.map(composite::PublicKey::from_members), &one.reason) {
                (Some(Ok(key)), _) => set.push(key).map_err(refused)?,
                (Some(Err(reason)), Refusal::AlgorithmUnknown { .. }) => {
                    ignored.push(Ignored { index: one.index, reason });
                }
                _ => ignored.push(one),
            }
        }
        set.ignored = ignored;
        Ok(set)
    }

    fn push(&mut self, key: composite::PublicKey) -> Result<(), Refusal> {
        if self.by_kid(key.kid()).is_some() {
            return Err(Refusal::DuplicateKid { kid: key.kid().to_owned() });
        }
        self.composite.push(key);
        Ok(())
    }

    /// How many keys can be used.
    pub(crate) fn len(&self) -> usize {
        self.standard.keys().len() + self.composite.len()
    }

    /// All keys that can be used, standard ones first.
    pub(crate) fn keys(&self) -> impl Iterator<Item = AnyPublic<'_>> {
        let standard = self.standard.keys().iter().map(AnyPublic::Standard);
        standard.chain(self.composite.iter().map(AnyPublic::Composite))
    }

    pub(crate) fn by_kid(&self, kid: &str) -> Option<AnyPublic<'_>> {
        self.keys().find(|key| key.kid() == kid)
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
