//! Who fails while many fail is told so late.
//!
//! A flood of wrong assertions costs a server most where it answers at once: each connection then sends the next one. So of
//! the failures of a second the first ones are answered at once, and the others a quarter of a second later, which costs
//! nothing but a timer. Whoever succeeds is never held up.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

/// How long an answer is held.
const HELD: Duration = Duration::from_millis(250);
/// How many are held at a time. More than that are answered at once, so that a flood takes no more memory.
const MOST: usize = 2048;
/// The bits of a count beside its second.
const COUNT: u32 = 24;
const FULL: u64 = (1 << COUNT) - 1;

/// Counts failures, whoever they are of. Its seconds are those of this process: nothing is decided by them.
#[derive(Debug)]
pub(crate) struct Late {
    at_once: u64,
    begun: Instant,
    /// A second, and how many failures it had.
    failures: AtomicU64,
    held: Semaphore,
}

impl Late {
    /// With so many failures a second that are answered at once; 0 holds none up.
    pub(crate) fn new(at_once: u64) -> Self {
        Self { at_once, begun: Instant::now(), failures: AtomicU64::new(0), held: Semaphore::new(MOST) }
    }

    /// Counts a failure, and holds its answer if it is one of too many.
    pub(crate) async fn failed(&self) {
        if self.at_once == 0 || self.count() <= self.at_once {
            return;
        }
        if let Ok(_place) = self.held.try_acquire() {
            tokio::time::sleep(HELD).await;
        }
    }

    /// How many failures this second has had, this one included.
    fn count(&self) -> u64 {
        let second = self.begun.elapsed().as_secs();
        // A count that is full stays so: one more would be the next second's first.
        let next = |seen: u64| match seen >> COUNT == second {
            true => seen.saturating_add(1).min(second << COUNT | FULL),
            false => second << COUNT | 1,
        };
        let before =
            self.failures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |seen| Some(next(seen)));
        // It always takes the new value, so both are what stood there before.
        next(before.unwrap_or_else(|same| same)) & FULL
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    use super::{FULL, HELD, Late, MOST};

    /// So many at once, and the rest of them late. Time stands still but for what sleeps.
    #[tokio::test(start_paused = true)]
    async fn the_first_of_a_second_are_answered_at_once() {
        let late = Late::new(3);
        let begun = tokio::time::Instant::now();
        for _ in 0..3 {
            late.failed().await;
        }
        assert_eq!(begun.elapsed(), Duration::ZERO);
        late.failed().await;
        assert_eq!(begun.elapsed(), HELD);
        let off = Late::new(0);
        for _ in 0..1000 {
            off.failed().await;
        }
        assert_eq!(begun.elapsed(), HELD);
    }

    /// A count that is full began anew, and the flood was answered at once.
    #[tokio::test(start_paused = true)]
    async fn a_count_that_is_full_stays_full() {
        let late = Late::new(1);
        // The first second, unless this machine stands still: then the count is of a later one, and small.
        late.failures.store(FULL, Ordering::Relaxed);
        let counts = [late.count(), late.count()];
        assert!(late.begun.elapsed().as_secs() > 0 || counts == [FULL; 2], "{counts:?}");
    }

    /// A flood is held as far as there is room for it.
    #[tokio::test(start_paused = true)]
    async fn no_more_are_held_than_there_is_room_for() {
        let late = Late::new(1);
        late.failed().await;
        let begun = tokio::time::Instant::now();
        let all: Vec<_> = (0..MOST + 1).map(|_| Box::pin(late.failed())).collect();
        let (mut at_once, mut later) = (0, 0);
        for one in futures_in_turn(all).await {
            if one == begun { at_once += 1 } else { later += 1 }
        }
        assert_eq!((at_once, later), (1, MOST));
    }

    /// When each was done.
    async fn futures_in_turn<F: Future<Output = ()> + Unpin>(mut all: Vec<F>) -> Vec<tokio::time::Instant> {
        let mut done = vec![None; all.len()];
        std::future::poll_fn(|context| {
            for (one, done) in all.iter_mut().zip(&mut done) {
                if done.is_none() && std::pin::Pin::new(one).poll(context).is_ready() {
                    *done = Some(tokio::time::Instant::now());
                }
            }
            if done.iter().all(Option::is_some) {
                std::task::Poll::Ready(())
            } else {
                std::task::Poll::Pending
            }
        })
        .await;
        done.into_iter().flatten().collect()
    }
}
