//! The server's signing keys: seen, renewed before their time, and taken out of use at once.

use sealstone_jose::{Algorithm, UnixSeconds};

use super::Admin;
use crate::Error;
use crate::audit::What;
use crate::clock::later;
use crate::keys::{self, Policy, Stage, State, Step, retire_at_once, successor};
use crate::store::{Kind, Version};

/// A signing key as an administrator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningKey {
    /// Its identifier in tokens and in the JWK set.
    pub kid: String,
    /// When it comes to its next state: never before. `None` for a retired key.
    pub next_at: Option<UnixSeconds>,
    /// Where it stands.
    pub stage: Stage,
}

impl SigningKey {
    /// `ES256/2`: its algorithm, and its place in the line of the algorithm's keys.
    pub fn name(&self) -> String {
        keys::record_id(self.stage.algorithm, self.stage.sequence)
    }
}

impl Admin {
    /// The algorithms that this server has keys for.
    pub fn algorithms(&self) -> &[Algorithm] {
        &self.algorithms
    }

    /// The signing keys, by algorithm and number, retired ones too.
    pub async fn list_signing_keys(&self) -> Result<Vec<SigningKey>, Error> {
        let records = self.store.list(Kind::SigningKey, Version::ZERO, self.clock.now()).await?;
        let read = records.iter().map(|record| {
            let (kid, stage) = keys::described(record)?;
            Ok(SigningKey { kid, next_at: next_at(&stage, &self.key_policy), stage })
        });
        let mut found = read.collect::<Result<Vec<_>, Error>>()?;
        found.sort_by_key(|key| (key.stage.algorithm.name(), key.stage.sequence));
        Ok(found)
    }

    /// Begins the life of an algorithm's next key now: it is published, and signs when every verifier can know it
    /// (`keys.publish_seconds`). Returns that key; one that is published already is not joined by another.
    /// Errors: `Key` for an algorithm that is not enabled.
    pub async fn rotate_signing_key(&self, algorithm: Algorithm) -> Result<SigningKey, Error> {
        if !self.algorithms.contains(&algorithm) {
            let what = format!("{} is not one of `tokens.algorithms`", algorithm.name());
            return Err(Error::Key { what });
        }
        self.can_note().await?;
        let steps = successor(&self.stages().await?, algorithm);
        self.carry_out(steps.into_iter().collect()).await?;
        let keys = self.list_signing_keys().await?.into_iter();
        let of = keys.filter(|key| key.stage.algorithm == algorithm && key.stage.state.is_published());
        let last = of.max_by_key(|key| key.stage.sequence);
        let last = last.ok_or_else(|| Error::Key { what: "the new key was retired at once".into() })?;
        self.note(What::KeyRotated, "key", &last.name()).await?;
        Ok(last)
    }

    /// Takes a key, by `kid` or by name, out of the JWK set at once and deletes its secret, as when others may have it.
    /// Its tokens cease to be active, and its successor signs from now on, also where a verifier has yet to fetch it.
    /// A verifier that has cached the JWK set takes the old key's tokens until that has ended.
    /// Errors: `SigningKeyUnknown`.
    pub async fn retire_signing_key(&self, name: &str) -> Result<SigningKey, Error> {
        self.can_note().await?;
        let mut moved = false;
        // Each round that does not end has seen somebody else move a key on.
        for _ in 0..16 {
            let mut keys = self.list_signing_keys().await?.into_iter();
            let found = keys.find(|key| key.kid == name || key.name() == name);
            let key = found.ok_or_else(|| Error::SigningKeyUnknown { name: name.to_owned() })?;
            if key.stage.state == State::Retired {
                if moved {
                    self.note(What::KeyRetired, "key", &key.name()).await?;
                }
                return Ok(key);
            }
            moved = true;
            self.carry_out(retire_at_once(&self.stages().await?, &key.stage, &self.algorithms)).await?;
        }
        Err(Error::Key { what: "others change the keys without end".into() })
    }

    async fn stages(&self) -> Result<Vec<Stage>, Error> {
        Ok(self.list_signing_keys().await?.into_iter().map(|key| key.stage).collect())
    }

    async fn carry_out(&self, steps: Vec<Step>) -> Result<(), Error> {
        if steps.is_empty() {
            return Ok(());
        }
        let (sealer, now) = (self.sealer().await?, self.clock.now());
        for step in steps {
            keys::apply(step, &*self.store, &sealer, &*self.randomness, now).await?;
        }
        Ok(())
    }
}

fn next_at(stage: &Stage, policy: &Policy) -> Option<UnixSeconds> {
    let lasts = match stage.state {
        State::PrePublished => policy.publish_seconds,
        State::Active => policy.active_seconds,
        State::Retiring => policy.retire_seconds,
        State::Retired => return None,
    };
    Some(later(stage.since, lasts))
}
