//! The loop of Algorithm 7: attempts that go side by side, so that every Keccak state that the room has is hashing
//! something. For one message, `sign_one`; for many, `sign_orders`. ARCHITECTURE.md has a page on it, SECURITY.md the
//! argument that attempts ahead show nothing.
//!
//! Of `sign_orders`: with A = 4 seats and two messages m and m', a turn looks like this (κ of the first is 0, m' has been refused twice):
//!
//! | seat | 0 | 1 | 2 | 3 |
//! |---|---|---|---|---|
//! | message | m | m' | m | m' |
//! | κ | 0 | 2ℓ | ℓ | 3ℓ |
//!
//! A *flight* has A seats. Before each turn the messages in flight are dealt to the seats in rounds: with as many
//! messages as seats each makes one attempt a turn; with fewer, some make several, of consecutive κ. After the turn each
//! message looks at its attempts in the order of κ and takes the first that is accepted: the one FIPS 204 takes. A
//! message that has its signature leaves, and the next one boards.

use super::params::MAX_ATTEMPTS;
use super::sample::{Mask, MaskAhead, expand_mask};
use super::sign::{Attempt, Rejection, Scratch, challenge, commit, nonce_seed, respond, transform};
use crate::api::{ExpandedSigningKey, ParameterSet, Signature};
use crate::backend::Room;
use crate::ct::Wiped;
use crate::error::Error;
use crate::keccak::{Queue, STREAM, Span, States, Width};

/// A message to be signed.
pub(crate) struct Order<'a, P: ParameterSet> {
    pub(crate) sk: &'a ExpandedSigningKey<P>,
    pub(crate) mu: &'a [u8; 64],
    /// 32 random bytes, or zeros.
    pub(crate) rnd: &'a [u8; 32],
    /// Where the answer goes.
    pub(crate) answer: &'a mut Option<Result<Signature<P>, Error>>,
}

/// A message in flight.
struct Passenger<'a, P: ParameterSet> {
    order: Order<'a, P>,
    /// Attempts that were made or are being made.
    attempts: u32,
}

/// Signs all orders, `A` attempts at a time; `on_reject` is told of each refused attempt.
/// FIPS 204, Algorithm 7, ML-DSA.Sign_internal.
///
/// Shapes: A in 1..=8. Stack: about 24 kB a seat at level 87.
/// Errors: `AttemptsExhausted` after the bound of Appendix C.
pub(crate) fn sign_orders<'a, P: ParameterSet, const A: usize>(
    room: Room,
    mut orders: impl Iterator<Item = Order<'a, P>>,
    mut on_reject: impl FnMut(Rejection),
) {
    let mut passengers: [Option<Passenger<'a, P>>; A] = core::array::from_fn(|_| None);
    // ρ'' of each message, by its place among the passengers, where it stays: one that leaves would leave a copy.
    let mut rho_pp = Wiped([[0; 64]; A]);
    let mut seats: [Attempt<P>; A] = [const { Attempt::BLANK }; A];
    let mut scratch = Scratch::<P>::BLANK;
    loop {
        // 8: κ ← 0
        let (mut aboard, mut in_flight) = ([0; A], 0);
        for (i, (place, rho_pp)) in passengers.iter_mut().zip(&mut *rho_pp).enumerate() {
            if place.is_none() {
                *place = orders.next().map(|order| board(room, order, rho_pp));
            }
            if place.is_some() {
                aboard[in_flight] = i;
                in_flight += 1;
            }
        }
        if in_flight == 0 {
            return;
        }
        // Who sits where, and with which κ.
        let mut taken = 0;
        let mut tickets = [(0, 0); A];
        for seat in 0..A {
            let who = aboard[seat.checked_rem(in_flight).unwrap_or(0)]; // in_flight > 0 here
            if let Some(passenger) = &mut passengers[who]
                && passenger.attempts < MAX_ATTEMPTS
            {
                // 32: κ ← κ + ℓ for each further attempt. At most 821·7, which fits 16 bits.
                tickets[taken] = (who, passenger.attempts as u16 * P::L as u16);
                passenger.attempts += 1;
                taken += 1;
            }
        }
        let tickets = &tickets[..taken];
        let of = |who: usize| &passengers[who].as_ref().expect("tickets are of passengers").order;
        // 11: y ← ExpandMask(ρ'', κ)
        let masks = tickets.iter().zip(&mut seats).flat_map(|(&(who, kappa), seat)| {
            let rho_pp = &rho_pp[who];
            seat.y.as_mut().iter_mut().zip(kappa..).map(move |(y, counter)| Mask { rho_pp, counter, y })
        });
        expand_mask::<P>(room, taken * P::L, masks);
        // 12 and 13, row by row: attempts with the same key take each row of Â while it is at hand.
        for seat in &mut seats[..taken] {
            transform(room, seat);
        }
        for row in 0..P::K {
            for (&(who, _), seat) in tickets.iter().zip(&mut seats) {
                commit(room, of(who).sk, of(who).mu, row, seat, &mut scratch);
            }
        }
        challenge(room, &mut seats, taken);
        for (&(who, _), seat) in tickets.iter().zip(&mut seats) {
            let Some(passenger) = &mut passengers[who] else { continue };
            match respond(room, passenger.order.sk, seat, &mut scratch) {
                // Its place is empty now: attempts ahead of this one are looked at by nobody.
                Ok(sigma) => leave(&mut passengers[who], Ok(Signature { sigma })),
                Err(why) => on_reject(why),
            }
        }
        for place in &mut passengers {
            if place.as_ref().is_some_and(|passenger| passenger.attempts >= MAX_ATTEMPTS) {
                leave(place, Err(Error::AttemptsExhausted));
            }
        }
    }
}

/// Lets a message go, with its answer.
fn leave<P: ParameterSet>(place: &mut Option<Passenger<'_, P>>, answer: Result<Signature<P>, Error>) {
    if let Some(passenger) = place.take() {
        *passenger.order.answer = Some(answer);
    }
}

/// Takes a message aboard.
fn board<'a, P: ParameterSet>(room: Room, order: Order<'a, P>, rho_pp: &mut [u8; 64]) -> Passenger<'a, P> {
    nonce_seed(room, &order.sk.k, order.mu, order.rnd, rho_pp);
    Passenger { order, attempts: 0 }
}

/// Signs one message, with as many attempts side by side as pay in this room. While c̃ of a turn is hashed, the states
/// that are left expand the masks of turns to come, which are needed more often than not.
/// FIPS 204, Algorithm 7, ML-DSA.Sign_internal.
pub(crate) fn sign_internal<P: ParameterSet>(
    room: Room,
    sk: &ExpandedSigningKey<P>,
    mu: &[u8; 64],
    rnd: &[u8; 32],
    on_reject: impl FnMut(Rejection),
) -> Result<Signature<P>, Error> {
    match room.width() {
        8 => sign_one::<P, 2, 8, 2>(room, sk, mu, rnd, on_reject),
        4 => sign_one::<P, 1, 4, 2>(room, sk, mu, rnd, on_reject),
        _ => sign_one::<P, 1, 1, 1>(room, sk, mu, rnd, on_reject),
    }
}

/// The same, `A` attempts side by side in N states, with the masks of T turns in memory: of two where states are left beside
/// the challenges. A and T in {1, 2}.
fn sign_one<P: ParameterSet, const A: usize, const N: usize, const T: usize>(
    room: Room,
    sk: &ExpandedSigningKey<P>,
    mu: &[u8; 64],
    rnd: &[u8; 32],
    mut on_reject: impl FnMut(Rejection),
) -> Result<Signature<P>, Error>
where
    States<N>: Width<N>,
{
    let mut rho_pp = Wiped([0; 64]);
    nonce_seed(room, &sk.k, mu, rnd, &mut rho_pp);
    // Attempt n has the place n mod T·A.
    let mut masks = [const { [const { MaskAhead::<P>::BLANK }; A] }; T];
    let mut attempts = [const { Attempt::<P>::BLANK }; A];
    let mut scratch = Scratch::BLANK;
    let mut queue = Queue::<N>::EMPTY;
    // 8, 11 and 32: y[r] of attempt n, whose κ is n·ℓ, is sampled from ρ'' || n·ℓ + r. At most 827·7, which fits 16 bits.
    let polys_of = |turns: usize| turns * A * P::L;
    #[allow(clippy::integer_division_remainder_used, reason = "public indices")]
    let keep = |masks: &mut [[MaskAhead<P>; A]; T], i: usize, v: &[u8; STREAM]| {
        masks.as_flattened_mut()[(i / P::L) & (T * A - 1)].take(i % P::L, v);
    };
    let first_turns = Span { needed: polys_of(1), allowed: polys_of(T) };
    queue.run::<A>(room, None, &rho_pp, first_turns, |i, v| keep(&mut masks, i, v));
    for (turn, first) in (0..MAX_ATTEMPTS as usize).step_by(A).enumerate() {
        for (attempt, mask) in attempts.iter_mut().zip(&masks[turn & (T - 1)]) {
            // 11: y ← ExpandMask(ρ'', κ)
            mask.unpack(room, &mut attempt.y);
            transform(room, attempt);
        }
        for row in 0..P::K {
            for attempt in &mut attempts {
                commit(room, sk, mu, row, attempt, &mut scratch);
            }
        }
        // The masks of this turn are used up, and their places free.
        let next_turns = || Span { needed: polys_of(turn + 2), allowed: polys_of(turn + 1 + T) };
        let beside = if T > 1 { next_turns() } else { Span { needed: 0, allowed: 0 } };
        let challenges = attempts.each_mut().map(Attempt::challenge);
        queue.run(room, Some(challenges), &rho_pp, beside, |i, v| keep(&mut masks, i, v));
        for attempt in attempts.iter_mut().take(MAX_ATTEMPTS as usize - first) {
            match respond(room, sk, attempt, &mut scratch) {
                Ok(sigma) => return Ok(Signature { sigma }),
                Err(why) => on_reject(why),
            }
        }
        if T == 1 {
            queue.run::<A>(room, None, &rho_pp, next_turns(), |i, v| keep(&mut masks, i, v));
        }
    }
    Err(Error::AttemptsExhausted)
}
