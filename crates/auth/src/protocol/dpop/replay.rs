//! The proofs that one node has accepted, for as long as it could accept them again. The module above says why this is
//! complete.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::nonce::Epoch;
use crate::Error;
use crate::clock::Randomness;

/// Once half of the memory is used, a client may hold this part of it.
const SHARE: u64 = 16;

/// The used proofs of two minutes, behind a lock that is held for one look-up.
pub(super) struct Memory {
    /// The most proofs that are held at a time.
    most: u64,
    state: Mutex<State>,
}

struct State {
    epoch: Epoch,
    newest: u64,
    /// Of the newest minute, and of the one before.
    used: [Minute; 2],
}

/// The proofs with a nonce of one minute.
#[derive(Default)]
struct Minute {
    by_client: HashMap<Box<str>, u64>,
    proofs: HashSet<Id>,
}

/// Half of a SHA-256: whoever finds two proofs with one id has made both.
type Id = [u8; 16];

/// What became of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spent {
    First,
    Again,
    /// No room for it: neither accepted nor remembered.
    Full,
    /// Its nonce ended while it was checked.
    Over,
}

impl Memory {
    pub(super) fn new(most: u64, randomness: &dyn Randomness) -> Result<Self, Error> {
        let state = State { epoch: Epoch::draw(randomness)?, newest: 0, used: Default::default() };
        Ok(Self { most, state: Mutex::new(state) })
    }

    /// Moves on to the minute that the clock shows. Returns whose nonces are good, and the minute of the newest: good are
    /// those of this minute and the one before.
    ///
    /// One minute back is no setting of the clock: two requests may look at it in one order and come here in another.
    /// Errors: `Randomness` when the clock was set back and no epoch can be drawn.
    pub(super) fn turn(&self, minute: u64, randomness: &dyn Randomness) -> Result<(Epoch, u64), Error> {
        let mut state = self.lock();
        if minute.saturating_add(1) < state.newest {
            state.epoch = Epoch::draw(randomness)?;
            state.newest = minute;
            state.used = Default::default();
        }
        match minute.saturating_sub(state.newest) {
            0 => {}
            1 => {
                let [before, _] = std::mem::take(&mut state.used);
                // As many will come as came: growing a large set is work that all would wait for.
                state.used[0].proofs.reserve(before.proofs.len());
                state.used[1] = before;
            }
            _ => state.used = Default::default(),
        }
        state.newest = state.newest.max(minute);
        Ok((state.epoch, state.newest))
    }

    /// Uses up a proof whose nonce is of `epoch` and `minute`.
    pub(super) fn spend(&self, epoch: &Epoch, minute: u64, client: &str, id: [u8; 32]) -> Spent {
        let mut state = self.lock();
        let age = state.newest.checked_sub(minute).filter(|age| *age <= 1 && *epoch == state.epoch);
        let Some(age) = age else { return Spent::Over };
        let mut short = Id::default();
        short.copy_from_slice(&id[..16]);
        if state.used.iter().any(|minute| minute.proofs.contains(&short)) {
            return Spent::Again;
        }
        let held: u64 = state.used.iter().map(|minute| minute.proofs.len() as u64).sum();
        let own: u64 = state.used.iter().filter_map(|minute| minute.by_client.get(client)).sum();
        if held >= self.most || (held >= self.most / 2 && own >= self.most.div_ceil(SHARE)) {
            return Spent::Full;
        }
        let minute = &mut state.used[age as usize];
        minute.proofs.insert(short);
        match minute.by_client.get_mut(client) {
            Some(count) => *count += 1,
            None => drop(minute.by_client.insert(client.into(), 1)),
        }
        Spent::First
    }

    /// A panic elsewhere leaves nothing half done here.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("most", &self.most).finish_non_exhaustive()
    }
}
