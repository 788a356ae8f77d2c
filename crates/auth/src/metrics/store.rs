//! A store that is timed.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use sealstone_jose::UnixSeconds;

use super::{Histogram, Metrics, Text};
use crate::store::{Answer, Kind, NewRecord, Record, Store, Use, Version, Versions, Write};

/// The operations of a store.
#[derive(Clone, Copy)]
enum Operation {
    Consume,
    Insert,
    List,
    Prune,
    Read,
    Remove,
    Replace,
    Versions,
}

const NAMES: [&str; 8] = ["consume", "insert", "list", "prune", "read", "remove", "replace", "versions"];

/// What is counted of a store.
#[derive(Debug, Default)]
pub(super) struct Counts {
    failures: [AtomicU64; NAMES.len()],
    seconds: [Histogram; NAMES.len()],
}

impl Counts {
    pub(super) fn write(&self, text: &mut Text) {
        let help = "What the store was asked, until it answered.";
        text.family("sealstone_store_duration_seconds", "histogram", help);
        for (name, seconds) in NAMES.iter().zip(&self.seconds) {
            seconds.write(text, &[("operation", name)]);
        }
        text.family("sealstone_store_failures_total", "counter", "What the store could not do.");
        for (name, failures) in NAMES.iter().zip(&self.failures) {
            text.sample(&[("operation", name)], failures.load(Ordering::Relaxed));
        }
    }
}

/// A store whose answers are timed. It changes nothing else.
pub(crate) struct Measured {
    metrics: Arc<Metrics>,
    store: Arc<dyn Store>,
}

impl Measured {
    pub(crate) fn new(store: Arc<dyn Store>, metrics: Arc<Metrics>) -> Self {
        Self { metrics, store }
    }

    fn timed<'a, T: 'a>(
        &'a self,
        operation: Operation,
        answer: impl Future<Output = Result<T, crate::Error>> + Send + 'a,
    ) -> Answer<'a, T> {
        Box::pin(async move {
            let began = Instant::now();
            let answer = answer.await;
            let counts = &self.metrics.store;
            counts.seconds[operation as usize].observe(began.elapsed());
            if answer.is_err() {
                counts.failures[operation as usize].fetch_add(1, Ordering::Relaxed);
            }
            answer
        })
    }
}

impl Store for Measured {
    fn versions(&self) -> Answer<'_, Versions> {
        self.timed(Operation::Versions, self.store.versions())
    }

    fn list(&self, kind: Kind, after: Version, now: UnixSeconds) -> Answer<'_, Vec<Record>> {
        self.timed(Operation::List, self.store.list(kind, after, now))
    }

    fn read(&self, kind: Kind, id: &str, now: UnixSeconds) -> Answer<'_, Option<Record>> {
        self.timed(Operation::Read, self.store.read(kind, id, now))
    }

    fn insert(&self, new: NewRecord, now: UnixSeconds) -> Answer<'_, Write> {
        self.timed(Operation::Insert, self.store.insert(new, now))
    }

    fn replace(&self, new: NewRecord, expected: Version, now: UnixSeconds) -> Answer<'_, Write> {
        self.timed(Operation::Replace, self.store.replace(new, expected, now))
    }

    fn remove(&self, kind: Kind, id: &str, expected: Version) -> Answer<'_, Write> {
        self.timed(Operation::Remove, self.store.remove(kind, id, expected))
    }

    fn consume(&self, kind: Kind, id: &str, now: UnixSeconds) -> Answer<'_, Use> {
        self.timed(Operation::Consume, self.store.consume(kind, id, now))
    }

    fn prune(&self, now: UnixSeconds) -> Answer<'_, u64> {
        self.timed(Operation::Prune, self.store.prune(now))
    }
}
