//! Work on many things by some threads, in bounded memory, with the answers in the order of the things.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

/// Things in a batch: enough to fill the engine's lanes several times, and few enough to keep that many files open.
pub(crate) const BATCH: usize = 32;

/// Takes things from `source` in batches to `jobs` threads, and their answers to `take`, which may end it all. At most
/// `window` batches are on their way at any time, so one that takes long holds up memory for no more than that.
///
/// `start` makes what a thread keeps between batches.
pub(crate) fn run<I: Send, S, O: Send, E>(
    jobs: usize,
    window: usize,
    source: impl Iterator<Item = I> + Send,
    start: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, Vec<I>) -> Vec<O> + Sync,
    mut take: impl FnMut(O) -> Result<(), E>,
) -> Result<(), E> {
    let jobs = jobs.max(1);
    let window = window.max(jobs);
    let stopped = AtomicBool::new(false);
    // Permits to be on the way: as many as there is room for.
    let (permit, permits) = sync_channel::<()>(window);
    for _ in 0..window {
        let _ = permit.send(());
    }
    let (give, batches) = sync_channel::<(u64, Vec<I>)>(jobs);
    let batches = Mutex::new(batches);
    let (answer, answers) = sync_channel::<(u64, Vec<O>)>(jobs);
    std::thread::scope(|scope| {
        let stopped = &stopped;
        scope.spawn(move || {
            let mut source = source;
            for number in 0.. {
                // No permit, or nobody to give it to: the end.
                if permits.recv().is_err() || stopped.load(Ordering::Relaxed) {
                    return;
                }
                let batch: Vec<I> = source.by_ref().take(BATCH).collect();
                if batch.is_empty() || give.send((number, batch)).is_err() {
                    return;
                }
            }
        });
        for _ in 0..jobs {
            let (answer, batches, start, work) = (answer.clone(), &batches, &start, &work);
            scope.spawn(move || {
                let mut state = start();
                // To the last batch, also when nobody wants answers any more: the walk may be waiting to give one.
                while let Some((number, batch)) = next(batches) {
                    if !stopped.load(Ordering::Relaxed) {
                        let _ = answer.send((number, work(&mut state, batch)));
                    }
                }
            });
        }
        drop(answer);
        let done = in_order(&answers, &permit, &mut take);
        // Threads that wait to give or to take find nobody, and end.
        stopped.store(true, Ordering::Relaxed);
        drop((answers, permit));
        done
    })
}

fn next<T>(queue: &Mutex<Receiver<T>>) -> Option<T> {
    // A thread that panicked held the lock only to receive.
    let queue = queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    queue.recv().ok()
}

fn in_order<O, E>(
    answers: &Receiver<(u64, Vec<O>)>,
    permit: &std::sync::mpsc::SyncSender<()>,
    take: &mut impl FnMut(O) -> Result<(), E>,
) -> Result<(), E> {
    let mut early = BTreeMap::new();
    let mut due = 0;
    for (number, batch) in answers {
        early.insert(number, batch);
        while let Some(batch) = early.remove(&due) {
            batch.into_iter().try_for_each(&mut *take)?;
            due += 1;
            // The walk may have ended, and wants none.
            let _ = permit.try_send(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_order_whatever_takes_long() {
        for jobs in [1, 2, 7] {
            let mut taken = Vec::new();
            let work = |(): &mut (), batch: Vec<u32>| {
                if batch.contains(&64) {
                    std::thread::sleep(std::time::Duration::from_millis(30));
                }
                batch.into_iter().map(|thing| thing * 2).collect()
            };
            let done: Result<(), ()> = run(
                jobs,
                4,
                0..1000_u32,
                || (),
                work,
                |answer| {
                    taken.push(answer);
                    Ok(())
                },
            );
            assert_eq!(done, Ok(()));
            assert_eq!(taken, (0..1000).map(|thing| thing * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_end_that_the_taker_wants_is_an_end() {
        let mut count = 0;
        let work = |(): &mut (), batch: Vec<u32>| batch;
        let done = run(
            3,
            8,
            0..,
            || (),
            work,
            |answer| {
                count += 1;
                if answer == 100 { Err("enough") } else { Ok(()) }
            },
        );
        assert_eq!((done, count), (Err("enough"), 101));
    }

    #[test]
    fn nothing_to_do_is_done() {
        let done: Result<(), ()> = run(2, 8, 0..0_u32, || (), |(): &mut (), batch| batch, |_| Ok(()));
        assert_eq!(done, Ok(()));
    }
}
