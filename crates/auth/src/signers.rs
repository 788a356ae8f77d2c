//! Signs what is issued. ML-DSA tokens of requests that are answered at the same time are signed side by side, which takes
//! less time for each than one after the other.
//!
//! Nobody waits for company. Whoever has a token to sign puts it down and lets the requests that have arrived already go
//! on to the same point; then it signs everything that lies there, or finds its own done. Alone, it signs alone.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sealstone_jose::jws::Unsigned;
use sealstone_jose::{Algorithm, Error};
use tokio::sync::oneshot;
use tokio::task::yield_now;

/// The door to the keys.
#[derive(Debug)]
pub struct Signers {
    /// For ML-DSA-44, -65 and -87: one level's tokens are signed together.
    lines: [Mutex<Vec<Waiting>>; 3],
    most: NonZeroUsize,
    /// How often several were.
    together: AtomicU64,
}

#[derive(Debug)]
struct Waiting {
    signed: oneshot::Sender<Result<String, Error>>,
    token: Unsigned,
}

impl Signers {
    /// With at most so many ML-DSA tokens side by side; 1 signs each alone and at once.
    pub fn new(most: NonZeroUsize) -> Self {
        Self { lines: Default::default(), most, together: AtomicU64::new(0) }
    }

    /// How often tokens were signed side by side.
    pub fn together(&self) -> u64 {
        self.together.load(Ordering::Relaxed)
    }

    /// Signs a token.
    /// Errors: those of [`Unsigned::sign`].
    pub async fn sign(&self, token: Unsigned) -> Result<String, Error> {
        let line = match token.algorithm() {
            _ if self.most.get() == 1 => return token.sign(),
            Algorithm::MlDsa44 => &self.lines[0],
            Algorithm::MlDsa65 => &self.lines[1],
            Algorithm::MlDsa87 => &self.lines[2],
            _ => return token.sign(),
        };
        let (signed, mut mine) = oneshot::channel();
        locked(line).push(Waiting { signed, token });
        // Everybody who puts one down comes back for it: what is left lying by one who was cancelled is signed by the next.
        yield_now().await;
        loop {
            // Without this one there would be no token: the sender is in the line, or with somebody who signs now.
            match mine.try_recv() {
                Ok(signed) => return signed,
                Err(oneshot::error::TryRecvError::Closed) => return Err(Error::Provider),
                Err(oneshot::error::TryRecvError::Empty) => {}
            }
            let taken: Vec<Waiting> = {
                let mut line = locked(line);
                let count = line.len().min(self.most.get());
                line.drain(..count).collect()
            };
            if taken.is_empty() {
                return mine.await.unwrap_or(Err(Error::Provider));
            }
            self.sign_all(taken);
        }
    }

    fn sign_all(&self, waiting: Vec<Waiting>) {
        // What nobody waits for any more is not signed.
        let wanted = waiting.into_iter().filter(|one| !one.signed.is_closed());
        let (senders, tokens): (Vec<_>, Vec<_>) = wanted.map(|one| (one.signed, one.token)).unzip();
        if tokens.len() > 1 {
            self.together.fetch_add(1, Ordering::Relaxed);
        }
        for (sender, signed) in senders.into_iter().zip(Unsigned::sign_all(tokens)) {
            // Whoever has left in the meantime does without.
            let _ = sender.send(signed);
        }
    }
}

fn locked(line: &Mutex<Vec<Waiting>>) -> MutexGuard<'_, Vec<Waiting>> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}
