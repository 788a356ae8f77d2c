//! Signatures beside the network: threads that take what waits, many at a time, and verify it in batches by level, so that eight
//! and more share the engine's vector lanes. Tags over long messages come here too.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use sealstone_mldsa::{CpuEngine, Engine, ExpandedVerifyingKey, Mu, ParameterSet, Signature, VerifyJob, any};

use super::directory::Key;
use super::reason::Reason;
use super::verify::{Candidate, Verified};

/// The most messages that a thread takes at a time.
const BATCH: usize = 32;

/// A message on its way, with its place in the order of arrival.
pub(super) struct Job {
    pub(super) place: u64,
    pub(super) candidate: Candidate,
}

/// The threads. They end when this is dropped.
pub(super) struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    queue: Mutex<Queue>,
    more: Condvar,
    keys: Mutex<Expanded>,
    answer: Box<dyn Fn(Vec<Answer>) + Send + Sync>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    closed: bool,
}

/// What came of a job.
pub(super) struct Answer {
    pub(super) place: u64,
    pub(super) device: Box<str>,
    pub(super) verified: Result<Verified, Reason>,
}

impl Workers {
    /// Starts so many threads, which keep so many expanded keys together and hand over their answers batch by batch.
    pub(super) fn start(
        threads: usize,
        keys: usize,
        answer: impl Fn(Vec<Answer>) + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            more: Condvar::new(),
            keys: Mutex::new(Expanded { most: keys, ..Expanded::default() }),
            answer: Box::new(answer),
        });
        let mut workers = Workers { shared, threads: Vec::new() };
        for number in 0..threads {
            let shared = Arc::clone(&workers.shared);
            let thread = std::thread::Builder::new().name(format!("verify-{number}"));
            workers.threads.push(thread.spawn(move || shared.work())?);
        }
        Ok(workers)
    }

    /// Adds jobs. How many may wait is for the caller to bound.
    pub(super) fn add(&self, jobs: impl IntoIterator<Item = Job>) {
        lock(&self.shared.queue).jobs.extend(jobs);
        self.shared.more.notify_all();
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        lock(&self.shared.queue).closed = true;
        self.shared.more.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn work(&self) {
        let engine = CpuEngine::new();
        while let Some(jobs) = self.take() {
            let answers = self.verify(engine, jobs);
            (self.answer)(answers);
        }
    }

    fn take(&self) -> Option<Vec<Job>> {
        let mut queue = lock(&self.queue);
        loop {
            if queue.closed {
                return None;
            }
            if !queue.jobs.is_empty() {
                let count = queue.jobs.len().min(BATCH);
                return Some(queue.jobs.drain(..count).collect());
            }
            queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Every job gets its answer; those with a tag at once, those that have a key and a signature of the right length get it from the engine.
    fn verify(&self, engine: CpuEngine, jobs: Vec<Job>) -> Vec<Answer> {
        let (tagged, jobs): (Vec<_>, Vec<_>) =
            jobs.into_iter().partition(|job| job.candidate.public_key().is_none());
        let mut batches = Batches::default();
        let mut claims = Vec::with_capacity(jobs.len());
        for (at, job) in jobs.iter().enumerate() {
            let claim = job.candidate.public_key().ok_or(Reason::BadSignature);
            let claim = claim.and_then(|key| self.expanded(key)).and_then(|key| {
                let (mu, signature) = job.candidate.claim(&key)?;
                batches.add(at, key, mu.clone(), signature);
                Ok(mu)
            });
            claims.push(claim.map(|mu| (mu, Err(sealstone_mldsa::Error::BadSignature))));
        }
        for (at, verdict) in batches.run(engine) {
            if let Some(Ok((_, place))) = claims.get_mut(at) {
                *place = verdict;
            }
        }
        let checked = tagged.into_iter().map(|Job { place, candidate }| {
            let device = candidate.named().into();
            Answer { place, device, verified: candidate.check() }
        });
        let answered = jobs.into_iter().zip(claims).map(|(Job { place, candidate }, claim)| {
            let device = candidate.named().into();
            let verified = claim.and_then(|(mu, verdict)| candidate.believed_after(mu, verdict));
            Answer { place, device, verified }
        });
        checked.chain(answered).collect()
    }

    fn expanded(&self, key: &Key) -> Result<Arc<any::ExpandedVerifyingKey>, Reason> {
        if let Some(known) = lock(&self.keys).find(key.public()) {
            return Ok(known);
        }
        let read = key.verifying_key().map_err(|_| Reason::BadSignature)?;
        let expanded = Arc::new(read.expand());
        lock(&self.keys).keep(key.public(), Arc::clone(&expanded));
        Ok(expanded)
    }
}

/// The claims of a batch, by level.
#[derive(Default)]
struct Batches {
    keys: Vec<(usize, Arc<any::ExpandedVerifyingKey>, Mu, any::Signature)>,
}

impl Batches {
    fn add(&mut self, at: usize, key: Arc<any::ExpandedVerifyingKey>, mu: Mu, signature: any::Signature) {
        self.keys.push((at, key, mu, signature));
    }

    fn run(&self, engine: CpuEngine) -> Vec<(usize, Result<(), sealstone_mldsa::Error>)> {
        use any::{ExpandedVerifyingKey as Key, Signature as Sig};
        let (mut low, mut middle, mut high) = (Level::default(), Level::default(), Level::default());
        for (at, key, mu, signature) in &self.keys {
            match (&**key, signature) {
                (Key::MlDsa44(key), Sig::MlDsa44(signature)) => low.add(*at, key, mu, signature),
                (Key::MlDsa65(key), Sig::MlDsa65(signature)) => middle.add(*at, key, mu, signature),
                (Key::MlDsa87(key), Sig::MlDsa87(signature)) => high.add(*at, key, mu, signature),
                // A signature is decoded at the level of its key; what is not stays refused.
                _ => {}
            }
        }
        [low.run(engine), middle.run(engine), high.run(engine)].concat()
    }
}

/// The claims of one level.
struct Level<'a, P: ParameterSet> {
    places: Vec<usize>,
    jobs: Vec<VerifyJob<'a, P>>,
}

impl<P: ParameterSet> Default for Level<'_, P> {
    fn default() -> Self {
        Level { places: Vec::new(), jobs: Vec::new() }
    }
}

impl<'a, P: ParameterSet> Level<'a, P> {
    fn add(&mut self, at: usize, key: &'a ExpandedVerifyingKey<P>, mu: &'a Mu, signature: &'a Signature<P>) {
        self.places.push(at);
        self.jobs.push(VerifyJob { key, mu, signature, verdict: None });
    }

    fn run(mut self, engine: CpuEngine) -> Vec<(usize, Result<(), sealstone_mldsa::Error>)> {
        engine.verify(&mut self.jobs);
        let verdict =
            |job: VerifyJob<'_, P>| job.verdict.unwrap_or(Err(sealstone_mldsa::Error::BadSignature));
        self.places.into_iter().zip(self.jobs.into_iter().map(verdict)).collect()
    }
}

/// Expanded keys by their public bytes; the one that was used least recently goes.
#[derive(Default)]
struct Expanded {
    most: usize,
    clock: u64,
    keys: HashMap<Box<[u8]>, (Arc<any::ExpandedVerifyingKey>, u64)>,
}

impl Expanded {
    fn find(&mut self, public: &[u8]) -> Option<Arc<any::ExpandedVerifyingKey>> {
        self.clock += 1;
        let (key, used) = self.keys.get_mut(public)?;
        *used = self.clock;
        Some(Arc::clone(key))
    }

    fn keep(&mut self, public: &[u8], key: Arc<any::ExpandedVerifyingKey>) {
        if self.keys.len() >= self.most {
            let oldest =
                self.keys.iter().min_by_key(|(_, (_, used))| *used).map(|(public, _)| public.clone());
            if let Some(oldest) = oldest {
                self.keys.remove(&oldest);
            }
        }
        self.keys.insert(public.into(), (key, self.clock));
    }
}

/// A thread that panicked while it held the lock left nothing half done: each section is one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
