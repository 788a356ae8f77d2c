//! A device that makes its next keys itself: from a command to a key that signs, whatever happens to its power.
//!
//! [`KeyRing`] has the ids and how far each rotation is; here are the seeds beside it, and the announcement that goes out until it is answered.
//! Where power is cut:
//!
//! | between | it is then | and goes on with |
//! |---|---|---|
//! | the command, the id | owed in flash ([`Commander::owed`](crate::commander::Commander::owed)) | preparing |
//! | the id, the seed | prepared, without a seed | a new seed: nobody has seen the one before |
//! | the seed, the acknowledgement | prepared | announcing the same key |
//! | the acknowledgement, the confirmation | announced | announcing the same key |
//! | the confirmation, the ring's write | announced | announcing; the gateway confirms the same key again |
//! | the ring's write, wiping | the new key signs | wiping the old seed |
//!
//! So a public key that left the device is always that of a seed in flash, and no two keys have one id.

use crate::error::Error;
use crate::flash::{Flash, Store};
use crate::keyring::{Announcement, Confirmation, KeyRing, Stage};
use crate::level::Class;
use crate::message::{KeyId, UnixMillis};
use crate::publisher::{Publisher, Ticket, Waiting};
use crate::topic::Topic;
use core::fmt;
use core::hint::black_box;
use sealstone_mldsa::{Level, Randomness, SEED_LEN};

/// Bytes of a place: id, seed.
const PLACE: usize = 2 + SEED_LEN;
/// Two places a level: for the key that signs and for the next one.
const LEN: usize = 6 * PLACE;

/// Milliseconds after which an announcement that nobody confirmed is repeated.
pub const AGAIN_MS: u64 = 3_600_000;
/// Milliseconds after which one is tried again that found no room, or that the broker refused.
const SOON_MS: u64 = 10_000;

/// Makes the public key of a seed: in the memory of whoever implements it.
pub trait PublicKeys {
    /// Shapes: `public` has the level's length. Errors: the engine's.
    fn public_key(&mut self, level: Level, seed: &[u8; SEED_LEN], public: &mut [u8]) -> Result<(), Error>;
}

/// The seeds of keys that a device made, in two pages of flash, and what is under way. `Debug` shows no seed.
///
/// Wear: a record of 216 bytes and two erasures a rotation (see [`Store`]).
pub struct Rotation<F> {
    store: Store<F, LEN>,
    /// The announcement of each level: which message, if one is under way, and before when none is due.
    told: [(Option<Ticket>, u64); 3],
}

impl<F: Flash> Rotation<F> {
    /// Makes two pages ready, without a seed. Only at provisioning. Errors: `FlashFailed`.
    pub fn format(flash: F) -> Result<(), Error> {
        Store::format(flash, &[0; LEN]).map(|_| ())
    }

    /// Reads what there is, and lets the ring know which keys the device has: those that it was given, in the order of [`Level::ALL`], and
    /// where the ring has gone on from them, its own. A newer one that it was given takes the place of one with its id that it was about to
    /// use. Wipes seeds of keys that are over.
    ///
    /// Errors: `KeyState` where the ring has gone on to a key that is not here; `FlashFailed`.
    pub fn open<G: Flash>(flash: F, ring: &mut KeyRing<G>, mut given: [KeyId; 3]) -> Result<Self, Error> {
        let mut rotation = Rotation { store: Store::open(flash)?, told: [(None, 0); 3] };
        let mut newer = [None; 3];
        for (level, id) in Level::ALL.into_iter().zip(&mut given) {
            let active = ring.active(level);
            if *id > active {
                newer[level as usize] = Some(*id);
            } else if rotation.seed(level, active).is_some() {
                *id = active;
            }
        }
        rotation.wipe(ring, newer)?;
        ring.given(given)?;
        rotation.wipe(ring, [None; 3])?;
        Ok(rotation)
    }

    /// The seed of a key, if the device made it itself.
    pub fn seed(&self, level: Level, id: KeyId) -> Option<&[u8; SEED_LEN]> {
        let places = places(self.store.value(), level);
        places.into_iter().find(|(known, _)| *known == id && id.0 != 0).map(|(_, seed)| seed)
    }

    /// Prepares the next key of a level, unless it is: gives it its id and makes its seed. Where it is announced, nothing happens.
    /// Errors: `NumbersExhausted`, `RngFailed`, `FlashFailed`.
    pub fn prepare<G: Flash>(
        &mut self,
        ring: &mut KeyRing<G>,
        level: Level,
        rng: &mut impl Randomness,
    ) -> Result<KeyId, Error> {
        let id = match ring.next(level) {
            Some((id, Stage::Announced)) => return Ok(id),
            _ => ring.prepare(level)?,
        };
        if self.seed(level, id).is_some() {
            return Ok(id);
        }
        let mut seed = [0; SEED_LEN];
        rng.fill(&mut seed)?;
        let mut value = *self.store.value();
        let active = ring.active(level);
        let [first, second] = place_starts(level);
        let free = if places(&value, level)[0].0 == active { second } else { first };
        value[free..free + 2].copy_from_slice(&id.0.to_be_bytes());
        value[free + 2..free + PLACE].copy_from_slice(&seed);
        let written = self.store.write(&value);
        black_box(&mut value).fill(0);
        black_box(&mut seed).fill(0);
        written.map(|()| id)
    }

    /// Lets an announcement wait to be sent, if one is due: of a key that is prepared, or announced and not confirmed for an hour. Says of which level
    /// it was, and its ticket. `topic` is `device/{id}/critical/key`, and `class` the class of that.
    ///
    /// Errors: those of [`Self::prepare`], of the key's maker and of [`Publisher::push`]; after the latter it is tried again in 10 s.
    #[allow(clippy::too_many_arguments, reason = "two clocks, two keys, one way out")]
    pub fn announce<G: Flash, const W: usize>(
        &mut self,
        ring: &mut KeyRing<G>,
        keys: &mut (impl PublicKeys + Randomness),
        publisher: &mut Publisher<'_, W>,
        (topic, class): (Topic<'_>, Class),
        time: UnixMillis,
        now: u64,
    ) -> Option<Result<(Level, Ticket), Error>> {
        let due = |level: &Level| {
            let (under_way, not_before) = self.told[*level as usize];
            ring.next(*level).is_some() && under_way.is_none() && now >= not_before
        };
        let level = Level::ALL.into_iter().find(due)?;
        self.told[level as usize].1 = now.saturating_add(SOON_MS);
        let pushed = self.prepare(ring, level, keys).and_then(|key_id| {
            let seed = self.seed(level, key_id).ok_or(Error::KeyState)?;
            let (mut public, mut payload) = ([0; 2592], [0; 2595]);
            let public_key = public.get_mut(..level.verifying_key_len()).ok_or(Error::TooLong)?;
            keys.public_key(level, seed, public_key)?;
            let len = Announcement { level, key_id, public_key }.emit(&mut payload)?;
            let payload = payload.get(..len).unwrap_or_default();
            publisher.push(&Waiting { time, ..Waiting::new(class, topic, payload) }, |_, _| ())
        });
        if let Ok(ticket) = pushed {
            self.told[level as usize].0 = Some(ticket);
        }
        Some(pushed.map(|ticket| (level, ticket)))
    }

    /// The broker has a message: if it was an announcement, its key is announced. Errors: `FlashFailed`.
    pub fn delivered<G: Flash>(
        &mut self,
        ring: &mut KeyRing<G>,
        ticket: Ticket,
        now: u64,
    ) -> Result<(), Error> {
        for (level, told) in Level::ALL.into_iter().zip(&mut self.told) {
            if told.0 == Some(ticket) {
                *told = (None, now.saturating_add(AGAIN_MS));
                if ring.next(level).is_some() {
                    ring.announced(level)?;
                }
            }
        }
        Ok(())
    }

    /// The broker does not take a message: if it was an announcement, it is tried again.
    pub fn refused(&mut self, ticket: Ticket, now: u64) {
        for told in self.told.iter_mut().filter(|told| told.0 == Some(ticket)) {
            *told = (None, now.saturating_add(SOON_MS));
        }
    }

    /// The broker has lost the session, and answers that waited in it: what is not confirmed is announced again.
    pub fn again(&mut self) {
        for (_, not_before) in &mut self.told {
            *not_before = 0;
        }
    }

    /// A key was confirmed, by a message that was verified: from here on it signs, and the one before never again. Its private key is to be made
    /// before the next signature.
    ///
    /// Errors: `KeyState` for a key that is not announced, or another one with its id; `FlashFailed`, after which the device starts again.
    pub fn confirmed<G: Flash>(
        &mut self,
        ring: &mut KeyRing<G>,
        confirmation: &Confirmation,
        keys: &mut impl PublicKeys,
    ) -> Result<(), Error> {
        let Confirmation { level, key_id, .. } = *confirmation;
        let next = ring.next(level).filter(|(id, _)| *id == key_id);
        let (Some((_, stage)), Some(seed)) = (next, self.seed(level, key_id)) else {
            return Err(Error::KeyState);
        };
        let mut public = [0; 2592];
        let public_key = public.get_mut(..level.verifying_key_len()).ok_or(Error::TooLong)?;
        keys.public_key(level, seed, public_key)?;
        if Confirmation::of(&Announcement { level, key_id, public_key }) != *confirmation {
            return Err(Error::KeyState);
        }
        if stage == Stage::Prepared {
            ring.announced(level)?; // it was, as the answer shows; the acknowledgement is still to come
        }
        ring.confirm(level, key_id)?;
        self.wipe(ring, [None; 3])
    }

    /// Wipes seeds of keys that neither sign nor will, and of these.
    fn wipe<G: Flash>(&mut self, ring: &KeyRing<G>, these: [Option<KeyId>; 3]) -> Result<(), Error> {
        let mut value = *self.store.value();
        for level in Level::ALL {
            for (start, (id, _)) in place_starts(level).into_iter().zip(places(self.store.value(), level)) {
                let lives = id == ring.active(level) || ring.next(level).is_some_and(|(next, _)| next == id);
                if !lives || these[level as usize] == Some(id) {
                    value[start..start + PLACE].fill(0);
                }
            }
        }
        let changed = value != *self.store.value();
        let written = if changed { self.store.replace(&value) } else { Ok(()) };
        black_box(&mut value).fill(0);
        written
    }
}

impl<F> fmt::Debug for Rotation<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rotation").field("told", &self.told).finish_non_exhaustive()
    }
}

/// Where the places of a level begin.
const fn place_starts(level: Level) -> [usize; 2] {
    let first = 2 * PLACE * level as usize;
    [first, first + PLACE]
}

/// The places of a level: id, 0 for none, and seed.
fn places(value: &[u8; LEN], level: Level) -> [(KeyId, &[u8; SEED_LEN]); 2] {
    const NONE: &[u8; SEED_LEN] = &[0; SEED_LEN];
    place_starts(level).map(|start| {
        let id = KeyId(u16::from_be_bytes([value[start], value[start + 1]]));
        (id, value[start + 2..].first_chunk().unwrap_or(NONE))
    })
}
