//! What the token path reads: clients, keys and revocation marks, as they stood at one moment.
//!
//! A request takes one atomic load and then owns a consistent view; no lock, no store. Refreshing builds the next
//! snapshot aside and swaps it in. The store decides what is true; being told that something changed is only a hint to
//! refresh now instead of at the next poll.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;

use arc_swap::ArcSwap;
use sealstone_jose::{Algorithm, UnixSeconds};
use tokio::sync::Mutex;

use crate::Error;
use crate::client::{Client, Clients, Origin};
use crate::clock::Randomness;
use crate::keys::{self, FlowKeys, KeyRing, Policy, Sealer, Step, plan, withdraw};
use crate::store::{Kind, Record, Store, Version, Versions};
use crate::trusted::{TrustedIssuer, TrustedIssuers};

/// Everything that decides about a token without asking the store.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The registered clients.
    pub clients: Arc<Clients>,
    /// The signing keys.
    pub keys: Arc<KeyRing>,
    /// The revoked token ids.
    pub revocations: Revocations,
    /// The issuers whose assertions are taken for a grant.
    pub trusted: Arc<TrustedIssuers>,
    versions: Versions,
}

/// The current snapshot and the way to the next one.
pub struct Live {
    algorithms: Vec<Algorithm>,
    /// The trusted issuers of the configuration.
    configured: Vec<TrustedIssuer>,
    current: ArcSwap<Snapshot>,
    flow_keys: FlowKeys,
    policy: Policy,
    randomness: Arc<dyn Randomness>,
    /// One refresh at a time; those who wait find their change already taken in.
    refreshing: Mutex<()>,
    sealer: Arc<Sealer>,
    store: Arc<dyn Store>,
}

impl Live {
    /// Takes the first snapshot, retires keys of algorithms that are no longer enabled, and makes the missing ones.
    pub async fn open(
        store: Arc<dyn Store>,
        sealer: impl Into<Arc<Sealer>>,
        algorithms: Vec<Algorithm>,
        policy: Policy,
        randomness: Arc<dyn Randomness>,
        now: UnixSeconds,
    ) -> Result<Self, Error> {
        let sealer = sealer.into();
        let live = Self {
            algorithms,
            configured: Vec::new(),
            current: ArcSwap::default(),
            flow_keys: FlowKeys::derive(&sealer)?,
            policy,
            randomness,
            refreshing: Mutex::new(()),
            sealer,
            store,
        };
        live.refresh(now).await?;
        live.apply(withdraw(live.snapshot().keys.stages(), &live.algorithms), now).await?;
        live.rotate(now).await?;
        Ok(live)
    }

    /// Trusts these issuers besides those of the store. Where both have one, this one counts.
    #[must_use]
    pub fn trusting(mut self, configured: Vec<TrustedIssuer>) -> Self {
        let mut next = Snapshot::clone(&self.current.load());
        let mut trusted = TrustedIssuers::clone(&next.trusted);
        trusted.extend(configured.iter().cloned());
        next.trusted = Arc::new(trusted);
        self.configured = configured;
        self.current.store(Arc::new(next));
        self
    }

    /// The current snapshot: one atomic load.
    pub fn snapshot(&self) -> arc_swap::Guard<Arc<Snapshot>> {
        self.current.load()
    }

    /// The current snapshot, for a request that must wait for the store while it holds it.
    pub fn snapshot_owned(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// The store behind the snapshot.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// The MAC keys of the flows.
    pub fn flow_keys(&self) -> &FlowKeys {
        &self.flow_keys
    }

    /// Opens and seals what the store keeps, and derives keys.
    pub fn sealer(&self) -> &Arc<Sealer> {
        &self.sealer
    }

    /// Chance, for flows that need it.
    pub fn randomness(&self) -> &dyn Randomness {
        &*self.randomness
    }

    /// Takes in what changed in the store. When it returns, every change whose write had returned before the call is
    /// in the snapshot.
    pub async fn refresh(&self, now: UnixSeconds) -> Result<(), Error> {
        let _one = self.refreshing.lock().await;
        let versions = self.store.versions().await?;
        let old = self.current.load_full();
        if versions == old.versions {
            return Ok(());
        }
        let mut next = Snapshot::clone(&old);
        let taken = self.take_in(&mut next, versions, now).await;
        // What was taken in before a failure counts: an unreadable key must not keep a revocation out.
        self.current.store(Arc::new(next));
        taken
    }

    /// Brings `next` to `versions`, part by part, revocations first.
    async fn take_in(&self, next: &mut Snapshot, versions: Versions, now: UnixSeconds) -> Result<(), Error> {
        if versions.revocations != next.versions.revocations {
            let records = self.store.list(Kind::Revocation, next.versions.revocations, now).await?;
            next.revocations.add(&records);
            next.revocations.prune(now);
            next.versions.revocations = versions.revocations;
        }
        if versions.clients != next.versions.clients {
            let records = self.store.list(Kind::Client, Version::ZERO, now).await?;
            let clients = records.iter().map(Client::from_record);
            // Who is disabled is nobody.
            let there = |client: &Result<Client, Error>| {
                client.as_ref().map_or(true, |client| client.origin != Origin::Withdrawn)
            };
            next.clients = Arc::new(clients.filter(there).collect::<Result<_, _>>()?);
            next.versions.clients = versions.clients;
        }
        if versions.trusted_issuers != next.versions.trusted_issuers {
            let records = self.store.list(Kind::TrustedIssuer, Version::ZERO, now).await?;
            let stored = records.iter().map(TrustedIssuer::from_record);
            let all = stored.chain(self.configured.iter().cloned().map(Ok));
            next.trusted = Arc::new(all.collect::<Result<_, _>>()?);
            next.versions.trusted_issuers = versions.trusted_issuers;
        }
        if versions.signing_keys != next.versions.signing_keys {
            let records = self.store.list(Kind::SigningKey, Version::ZERO, now).await?;
            next.keys = Arc::new(KeyRing::open(&records, &self.sealer, &next.keys)?);
            next.versions.signing_keys = versions.signing_keys;
        }
        Ok(())
    }

    /// Carries out what the rotation plan asks for at `now`, until it asks for nothing more.
    pub async fn rotate(&self, now: UnixSeconds) -> Result<(), Error> {
        // One step changes what the next plan sees; a plan settles in two rounds, the bound only guards the loop.
        for _ in 0..4 {
            let steps = plan(self.snapshot().keys.stages(), &self.algorithms, now, &self.policy);
            if steps.is_empty() {
                return Ok(());
            }
            self.apply(steps, now).await?;
        }
        Ok(())
    }

    async fn apply(&self, steps: Vec<Step>, now: UnixSeconds) -> Result<(), Error> {
        for step in steps {
            keys::apply(step, &*self.store, &self.sealer, &*self.randomness, now).await?;
        }
        self.refresh(now).await
    }
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").field("snapshot", &*self.snapshot()).finish_non_exhaustive()
    }
}

/// The revoked token ids, each until its token would have ended anyway, and a little longer.
///
/// In shards, so that the next snapshot copies only those that a new mark falls into.
#[derive(Clone, Debug)]
pub struct Revocations {
    hasher: RandomState,
    shards: Vec<Arc<HashMap<String, UnixSeconds>>>,
}

impl Revocations {
    const SHARDS: usize = 256;

    /// Whether the token id is revoked.
    pub fn contains(&self, jti: &str) -> bool {
        self.shards[self.shard(jti)].contains_key(jti)
    }

    /// How many marks are held.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.len()).sum()
    }

    /// Whether no mark is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn add(&mut self, records: &[Record]) {
        for Record { id, expires_at, .. } in records {
            let shard = self.shard(id);
            Arc::make_mut(&mut self.shards[shard])
                .insert(id.clone(), expires_at.unwrap_or(UnixSeconds(u64::MAX)));
        }
    }

    fn prune(&mut self, now: UnixSeconds) {
        for shard in &mut self.shards {
            if shard.values().any(|end| end.0 <= now.0) {
                Arc::make_mut(shard).retain(|_, end| end.0 > now.0);
            }
        }
    }

    fn shard(&self, jti: &str) -> usize {
        // Keyed, so that nobody can choose ids that fall together.
        self.hasher.hash_one(jti) as usize % Self::SHARDS
    }
}

impl Default for Revocations {
    fn default() -> Self {
        Self { hasher: RandomState::new(), shards: vec![Arc::default(); Self::SHARDS] }
    }
}
