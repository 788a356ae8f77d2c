//! The loop of Algorithm 7, for one message or for many: attempts that fly side by side, so that every Keccak state that
//! the room has is hashing something. ARCHITECTURE.md has a page on it, SECURITY.md the argument that attempts ahead show
//! nothing.
//!
//! With A = 4 seats and two messages m and m', a turn looks like this (κ of the first is 0, m' has been refused twice):
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

use super::params::{Array, MAX_ATTEMPTS};
use super::ring::{NttPoly, Poly};
use super::sample::{BallBlock, Mask, expand_mask};
use super::sign::{COMMITMENT_MAX, Rejection, Scratch, challenge, commit, nonce_seed, respond, transform};
use crate::api::{ExpandedSigningKey, ParameterSet, Signature};
use crate::backend::Room;
use crate::ct::Wipe;
use crate::error::Error;

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

/// What the attempts of one turn hold; wiped on drop.
struct Seats<P: ParameterSet, const A: usize> {
    /// ρ'' of each message, by its place among the passengers, where it stays: one that leaves would leave a copy.
    rho_pp: [[u8; 64]; A],
    y: [P::L_<Poly>; A],
    y_hat: [P::L_<NttPoly>; A],
    w: [P::K_<Poly>; A],
    commitments: [[u8; COMMITMENT_MAX]; A],
    c_tilde: [P::CTilde; A],
    blocks: [BallBlock; A],
}

impl<P: ParameterSet, const A: usize> Seats<P, A> {
    fn blank() -> Self {
        Seats {
            rho_pp: [[0; 64]; A],
            y: core::array::from_fn(|_| P::L_::from_fn(|_| Poly::ZERO)),
            y_hat: core::array::from_fn(|_| P::L_::from_fn(|_| NttPoly::ZERO)),
            w: core::array::from_fn(|_| P::K_::from_fn(|_| Poly::ZERO)),
            commitments: [[0; COMMITMENT_MAX]; A],
            c_tilde: core::array::from_fn(|_| P::CTilde::from_fn(|_| 0)),
            blocks: [[0; _]; A],
        }
    }
}

impl<P: ParameterSet, const A: usize> Drop for Seats<P, A> {
    fn drop(&mut self) {
        self.rho_pp.wipe();
        self.y.wipe();
        self.y_hat.wipe();
        self.w.wipe();
        self.commitments.wipe();
        self.c_tilde.wipe();
        self.blocks.wipe();
    }
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
    let mut seats = Seats::<P, A>::blank();
    let mut scratch = Scratch::<P>::blank();
    loop {
        // 8: κ ← 0
        let (mut aboard, mut in_flight) = ([0; A], 0);
        for (i, (place, rho_pp)) in passengers.iter_mut().zip(&mut seats.rho_pp).enumerate() {
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
        let of = |who: usize| passengers[who].as_ref().expect("tickets are of passengers");
        // 11: y ← ExpandMask(ρ'', κ)
        let masks = tickets.iter().zip(&mut seats.y).flat_map(|(&(who, kappa), y)| {
            let rho_pp = &seats.rho_pp[who];
            y.as_mut().iter_mut().zip(kappa..).map(move |(y, counter)| Mask { rho_pp, counter, y })
        });
        expand_mask::<P>(room, taken * P::L, masks);
        // 12 and 13, row by row: attempts with the same key take each row of Â while it is at hand.
        for (y, y_hat) in seats.y.iter().zip(&mut seats.y_hat).take(taken) {
            transform::<P>(room, y, y_hat);
        }
        for row in 0..P::K {
            for (seat, &(who, _)) in tickets.iter().enumerate() {
                let (w, commitment) = (&mut seats.w[seat], &mut seats.commitments[seat]);
                commit(room, &of(who).order, row, &seats.y_hat[seat], &mut scratch, w, commitment);
            }
        }
        challenge::<P, A>(room, taken, &seats.commitments, &mut seats.c_tilde, &mut seats.blocks);
        for (seat, &(who, _)) in tickets.iter().enumerate() {
            let Some(passenger) = &mut passengers[who] else { continue };
            let (y, w) = (&seats.y[seat], &seats.w[seat]);
            let (c_tilde, block) = (&seats.c_tilde[seat], &seats.blocks[seat]);
            match respond(room, passenger.order.sk, y, w, c_tilde, block, &mut scratch) {
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
    nonce_seed(room, order.sk, order.mu, order.rnd, rho_pp);
    Passenger { order, attempts: 0 }
}

/// Signs one message with as many attempts side by side as pay in this room.
/// FIPS 204, Algorithm 7, ML-DSA.Sign_internal.
pub(crate) fn sign_internal<P: ParameterSet>(
    room: Room,
    sk: &ExpandedSigningKey<P>,
    mu: &[u8; 64],
    rnd: &[u8; 32],
    on_reject: impl FnMut(Rejection),
) -> Result<Signature<P>, Error> {
    let mut answer = None;
    let order = core::iter::once(Order { sk, mu, rnd, answer: &mut answer });
    // With two attempts a turn, hashing costs half and one attempt in ten is made for nothing; found by trying 1 to 4.
    match room.width() {
        8 => sign_orders::<P, 2>(room, order, on_reject),
        _ => sign_orders::<P, 1>(room, order, on_reject),
    }
    answer.unwrap_or(Err(Error::AttemptsExhausted))
}
