//! Checks the signatures of others on threads of their own, and no more of them than there is room for.
//!
//! Whoever knows a client's id and the name of its key can send any number of assertions that are well formed and
//! wrong, and each costs a verification. So these wait in a line for each client, and the lines take turns: a flood in
//! the name of one client makes the others wait for one of its assertions, not for all. What does not fit into a line
//! is turned away at once.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The most that wait for one client.
pub const MOST_PER_CLIENT: usize = 256;
/// The most that wait at all.
pub const MOST: usize = 2_048;

type Job = Box<dyn FnOnce() + Send>;

/// The lines and those who work them off.
#[derive(Clone)]
pub struct Verifiers(Arc<Shared>);

struct Shared {
    lines: Mutex<Lines>,
    threads: usize,
}

#[derive(Default)]
struct Lines {
    by_client: HashMap<String, VecDeque<Job>>,
    /// Each client that has a line, once.
    turns: VecDeque<String>,
    waiting: usize,
    working: usize,
}

/// There is no room: ask again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy;

impl Verifiers {
    /// With so many threads, at least one.
    pub fn new(threads: usize) -> Self {
        Self(Arc::new(Shared { lines: Mutex::default(), threads: threads.max(1) }))
    }

    /// With half as many threads as there are cores: the other half goes on answering.
    pub fn for_this_machine() -> Self {
        Self::new(std::thread::available_parallelism().map_or(1, usize::from) / 2)
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.0.lines().waiting
    }

    /// Does `work` on one of the threads, when it is `client`'s turn. If nobody waits for it any more then, it is not
    /// done.
    /// Errors: [`Busy`].
    pub async fn run<T: Send + 'static>(
        &self,
        client: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Busy> {
        let (done, outcome) = oneshot::channel();
        self.enqueue(
            client,
            Box::new(move || {
                if !done.is_closed() {
                    let _ = done.send(work());
                }
            }),
        )?;
        outcome.await.map_err(|_| Busy)
    }

    fn enqueue(&self, client: &str, job: Job) -> Result<(), Busy> {
        let mut lines = self.0.lines();
        let Lines { by_client, turns, waiting, working } = &mut *lines;
        let line = by_client.get(client).map_or(0, VecDeque::len);
        if *waiting >= MOST || line >= MOST_PER_CLIENT {
            return Err(Busy);
        }
        if line == 0 {
            turns.push_back(client.to_owned());
        }
        by_client.entry(client.to_owned()).or_default().push_back(job);
        *waiting += 1;
        if *working < self.0.threads {
            *working += 1;
            drop(lines);
            let shared = Arc::clone(&self.0);
            tokio::task::spawn_blocking(move || shared.work());
        }
        Ok(())
    }
}

impl Shared {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One thread: job after job, until there is none.
    fn work(&self) {
        while let Some(job) = self.next() {
            // A job that panics has dropped its end of the channel; the thread goes on with the next.
            let _ = catch_unwind(AssertUnwindSafe(job));
        }
    }

    /// The next job of the client whose turn it is, which then stands behind the others. If there is none, the thread
    /// counts as gone in the same moment: a job that comes after is never left to it.
    fn next(&self) -> Option<Job> {
        let mut lines = self.lines();
        while let Some(client) = lines.turns.pop_front() {
            let Some(line) = lines.by_client.get_mut(&client) else { continue };
            let job = line.pop_front();
            if line.is_empty() {
                lines.by_client.remove(&client);
            } else {
                lines.turns.push_back(client);
            }
            if job.is_some() {
                lines.waiting -= 1;
                return job;
            }
        }
        lines.working -= 1;
        None
    }
}

impl std::fmt::Debug for Verifiers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Verifiers").field("threads", &self.0.threads).finish_non_exhaustive()
    }
}
