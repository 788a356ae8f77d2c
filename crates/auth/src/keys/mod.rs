//! The signing keys: who signs now, who is published, and how they are kept.
//!
//! Keys belong to the store, not to a node: every server on one store signs with the same keys and publishes the same
//! JWK set, which holds one or two keys per algorithm however many servers there are.

mod rotation;
mod seal;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_jose::{Algorithm, JwkSet, PrivateKey, PublicKey, UnixSeconds};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::clock::Randomness;
use crate::store::{Kind, NewRecord, Record, Store, Version, Write};

pub use rotation::{Policy, Stage, State, Step, plan, retire_at_once, successor, withdraw};
pub(crate) use seal::read_key_file;
pub use seal::{Sealer, Secret};

/// The MAC keys of the flows, each for one purpose, the same on every server of one store.
#[derive(Debug)]
pub struct FlowKeys {
    /// Of pairwise subjects.
    pub pairwise: hmac::Key,
    /// Of refresh tokens.
    pub refresh: hmac::Key,
    /// Of the mark that a sign-in page was shown.
    pub sign_in: hmac::Key,
    /// Of the names of user codes.
    pub user_code: hmac::Key,
}

impl FlowKeys {
    /// Derives them.
    pub fn derive(sealer: &Sealer) -> Result<Self, Error> {
        Ok(Self {
            pairwise: sealer.mac_key("pairwise subject v1")?,
            refresh: sealer.mac_key("refresh token v1")?,
            sign_in: sealer.mac_key("sign-in page v1")?,
            user_code: sealer.mac_key("user code v1")?,
        })
    }
}

/// A key of the server.
#[derive(Clone, Debug)]
pub struct ServerKey {
    private: PrivateKey,
    stage: Stage,
    version: Version,
}

impl ServerKey {
    /// Where it stands in its life.
    pub fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Its identifier: the RFC 7638 thumbprint.
    pub fn kid(&self) -> &str {
        self.private.kid()
    }

    pub(crate) fn private(&self) -> &PrivateKey {
        &self.private
    }

    pub(crate) fn public(&self) -> &PublicKey {
        self.private.public()
    }
}

/// All keys at one moment.
#[derive(Clone, Default)]
pub struct KeyRing {
    active: HashMap<Algorithm, Arc<ServerKey>>,
    by_kid: HashMap<String, Arc<ServerKey>>,
    /// Retired keys are here only as stages: they hold the number of their successors.
    stages: Vec<Stage>,
    jwks: Arc<str>,
}

impl KeyRing {
    /// The key that signs with `algorithm`, if the algorithm is enabled.
    pub fn active(&self, algorithm: Algorithm) -> Option<&ServerKey> {
        self.active.get(&algorithm).map(Arc::as_ref)
    }

    /// A published key by its id.
    pub fn by_kid(&self, kid: &str) -> Option<&ServerKey> {
        self.by_kid.get(kid).map(Arc::as_ref)
    }

    /// The JWK set, RFC 7517 §5: the public halves of every published key.
    pub fn jwks(&self) -> &str {
        &self.jwks
    }

    /// Every key's place in its life, retired ones too.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// How many secrets the records of keys hold, all of them sealed.
    pub(crate) fn count_sealed(records: &[Record]) -> Result<usize, Error> {
        let bodies = records.iter().map(Body::parse).collect::<Result<Vec<_>, _>>()?;
        Ok(bodies.iter().filter(|body| body.sealed.is_some()).count())
    }

    /// Reads the keys from their records, opening what is sealed. Keys that `known` holds in the same version are
    /// taken over: opening and expanding an ML-DSA key is work.
    pub(crate) fn open(records: &[Record], sealer: &Sealer, known: &KeyRing) -> Result<Self, Error> {
        let mut ring = KeyRing::default();
        let mut published: Vec<Arc<ServerKey>> = Vec::new();
        for record in records {
            let body = Body::parse(record)?;
            let stage = body.stage(record)?;
            ring.stages.push(stage);
            if !stage.state.is_published() {
                continue;
            }
            let same = |key: &&Arc<ServerKey>| key.version == record.version && key.stage == stage;
            published.push(match known.by_kid.get(&body.kid).filter(same) {
                Some(key) => Arc::clone(key),
                None => Arc::new(ServerKey {
                    private: body.open(record, sealer)?,
                    stage,
                    version: record.version,
                }),
            });
        }
        published.sort_by_key(|key| (key.stage.algorithm.name(), key.stage.sequence));
        for key in &published {
            ring.by_kid.insert(key.kid().to_owned(), Arc::clone(key));
            if key.stage.state == State::Active {
                // In order of sequence: the newest active key signs.
                ring.active.insert(key.stage.algorithm, Arc::clone(key));
            }
        }
        let set = JwkSet::new(published.iter().map(|key| key.public().clone()));
        ring.jwks = set.map_err(|cause| Error::Key { what: cause.to_string() })?.to_json().into();
        Ok(ring)
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing").field("stages", &self.stages).finish_non_exhaustive()
    }
}

/// Carries one step of the plan to the store. Another server that did it first is no error: the store decides.
pub(crate) async fn apply(
    step: Step,
    store: &dyn Store,
    sealer: &Sealer,
    randomness: &dyn Randomness,
    now: UnixSeconds,
) -> Result<(), Error> {
    let written = match step {
        Step::Create { algorithm, sequence, state } => {
            let id = record_id(algorithm, sequence);
            // Two primes take a while: not on a thread that others' requests wait for.
            let made = tokio::task::spawn_blocking(move || PrivateKey::generate(algorithm)).await;
            let made = made.map_err(|cause| Error::Key { what: cause.to_string() })?;
            let key = made.map_err(|cause| Error::Key { what: cause.to_string() })?;
            let body = Body {
                kid: key.kid().to_owned(),
                sealed: Some(URL_SAFE_NO_PAD.encode(sealer.seal(
                    Secret::SigningKey,
                    &id,
                    &key.secret(),
                    randomness,
                )?)),
                since: now.0,
                state,
            };
            store.insert(body.record(id)?, now).await?
        }
        Step::Move { algorithm, sequence, state } => {
            let id = record_id(algorithm, sequence);
            let Some(record) = store.read(Kind::SigningKey, &id, now).await? else { return Ok(()) };
            let body = Body::parse(&record)?;
            if body.state >= state {
                return Ok(());
            }
            let sealed = body.sealed.filter(|_| state.is_published());
            let body = Body { kid: body.kid, sealed, since: now.0, state };
            store.replace(body.record(id)?, record.version, now).await?
        }
    };
    if let Write::Done(_) = written {
        let (algorithm, sequence, state) = match step {
            Step::Create { algorithm, sequence, state } | Step::Move { algorithm, sequence, state } => {
                (algorithm, sequence, state)
            }
        };
        tracing::info!(algorithm = algorithm.name(), sequence, ?state, "signing key");
    }
    Ok(())
}

/// A key's identifier, and where it stands.
pub(crate) fn described(record: &Record) -> Result<(String, Stage), Error> {
    let body = Body::parse(record)?;
    let stage = body.stage(record)?;
    Ok((body.kid, stage))
}

/// `ML-DSA-65/1`: two servers that make the first key of an algorithm at the same time collide here, and one wins.
pub(crate) fn record_id(algorithm: Algorithm, sequence: u64) -> String {
    format!("{}/{sequence}", algorithm.name())
}

/// The body of a key's record.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    kid: String,
    /// The sealed secret; deleted when the key retires.
    sealed: Option<String>,
    since: u64,
    state: State,
}

impl Body {
    fn parse(record: &Record) -> Result<Self, Error> {
        serde_json::from_slice(&record.body)
            .map_err(|cause| Error::store("read a signing key", format!("{}: {cause}", record.id)))
    }

    fn record(&self, id: String) -> Result<NewRecord, Error> {
        let body = serde_json::to_vec(self).map_err(|cause| Error::store("write a signing key", cause))?;
        Ok(NewRecord { kind: Kind::SigningKey, id, expires_at: None, body })
    }

    fn stage(&self, record: &Record) -> Result<Stage, Error> {
        let parts = record
            .id
            .rsplit_once('/')
            .and_then(|(algorithm, sequence)| Some((algorithm.parse().ok()?, sequence.parse().ok()?)));
        let (algorithm, sequence) = parts.ok_or_else(|| {
            Error::store("read a signing key", format!("`{}` is not algorithm/number", record.id))
        })?;
        Ok(Stage { algorithm, sequence, since: UnixSeconds(self.since), state: self.state })
    }

    fn open(&self, record: &Record, sealer: &Sealer) -> Result<PrivateKey, Error> {
        let algorithm = self.stage(record)?.algorithm;
        let sealed = self.sealed.as_deref().and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
        let sealed = sealed.ok_or(Error::Sealed { what: "its bytes are missing" })?;
        let secret = sealer.open_sealed(Secret::SigningKey, &record.id, &sealed)?;
        let key = PrivateKey::from_secret(algorithm, &secret)
            .map_err(|cause| Error::Key { what: format!("{}: {cause}", record.id) })?;
        match key.kid() == self.kid {
            true => Ok(key),
            false => Err(Error::Key {
                what: format!("{}: the secret is not the one of kid {}", record.id, self.kid),
            }),
        }
    }
}
