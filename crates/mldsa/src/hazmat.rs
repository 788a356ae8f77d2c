//! Doors that a user of signatures should leave shut: caller-supplied rnd, the internal interfaces of FIPS 204, a forced
//! room, a look at rejected attempts. For test vectors and measurements.

use crate::api::{ExpandedSigningKey, ExpandedVerifyingKey, ParameterSet, Signature};
#[cfg(feature = "ctgrind")]
use crate::backend::taint;
use crate::backend::{Coeffs, active, force};
use crate::error::Error;
use crate::fips204::flight::sign_internal as fips204_sign_internal;
use crate::fips204::params::{GAMMA2_32, GAMMA2_88, HALF_Q, Q};
use crate::kernels::round::MARK;
use crate::message::{Mu, MuHasher};

pub use crate::exam::{EDGES, Exam, METHODS, Method};
pub use crate::fips204::sign::Rejection;

/// The names of the rooms that this build has and this CPU can run.
pub fn rooms() -> impl Iterator<Item = &'static str> {
    force::names()
}

/// The name of the room that the next call uses.
pub fn room() -> &'static str {
    active().name()
}

/// Makes every later call of this process use the named room; `None` gives the choice back.
/// Errors: `UnknownRoom` if this build on this CPU has no such room.
pub fn force_room(name: Option<&str>) -> Result<(), UnknownRoom> {
    if force::force(name) { Ok(()) } else { Err(UnknownRoom) }
}

/// No room of this build that this CPU can run has that name; [`rooms`] lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownRoom;

impl core::fmt::Display for UnknownRoom {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("no such room in this build on this CPU; there is")?;
        rooms().try_for_each(|room| write!(f, " {room}"))
    }
}

impl core::error::Error for UnknownRoom {}

/// Signs a message representative with the caller's rnd. The same rnd for two messages is safe, a known one is not hedging.
pub fn sign_mu_with_rnd<P: ParameterSet>(
    key: &ExpandedSigningKey<P>,
    mu: &Mu,
    rnd: &[u8; 32],
) -> Result<Signature<P>, Error> {
    key.sign_in(active(), mu, rnd)
}

/// The same, telling of each refused attempt.
pub fn sign_mu_watched<P: ParameterSet>(
    key: &ExpandedSigningKey<P>,
    mu: &Mu,
    rnd: &[u8; 32],
    on_reject: impl FnMut(Rejection),
) -> Result<Signature<P>, Error> {
    fips204_sign_internal(active(), key, mu.as_bytes(), rnd, on_reject)
}

/// Signs an M' that the caller formatted: FIPS 204, Algorithm 7 as the standard draws it.
pub fn sign_internal<P: ParameterSet>(
    key: &ExpandedSigningKey<P>,
    m_prime: &[u8],
    rnd: &[u8; 32],
) -> Result<Signature<P>, Error> {
    sign_mu_with_rnd(key, &mu_of_m_prime(&key.tr, m_prime), rnd)
}

/// Checks the signature of an M' that the caller formatted: FIPS 204, Algorithm 8 as the standard draws it.
pub fn verify_internal<P: ParameterSet>(
    key: &ExpandedVerifyingKey<P>,
    m_prime: &[u8],
    signature: &Signature<P>,
) -> Result<(), Error> {
    key.verify_mu(&mu_of_m_prime(&key.tr, m_prime), signature)
}

/// Tells Valgrind that these bytes are secret: a branch on them, or an index that depends on them, is then reported.
#[cfg(feature = "ctgrind")]
pub fn classify(bytes: &mut [u8]) {
    taint::secret(bytes);
}

/// The reports that Valgrind made so far; `None` if this process does not run under it.
#[cfg(feature = "ctgrind")]
pub fn taint_reports() -> Option<u64> {
    taint::reports()
}

/// NTT of FIPS 204, Algorithm 41, in the room in use. Bounds: in and out [0, q).
pub fn ntt(w: &mut [i32; 256]) {
    active().ntt(w)
}

/// Decompose of FIPS 204, Algorithm 36, in the room in use, with the γ2 of the parameter set: r1 and r0.
/// Bounds: in [0, q).
pub fn decompose<P: ParameterSet>(r: &[i32; 256], r1: &mut [i32; 256], r0: &mut [i32; 256]) {
    active().decompose(P::GAMMA2, r, r1, r0)
}

fn mu_of_m_prime(tr: &[u8; 64], m_prime: &[u8]) -> Mu {
    MuHasher::of_m_prime(active(), tr, &[m_prime]).finish()
}

/// What the rounding functions make of 256 field elements from `first` on (after q - 1 comes 0), as the room in use
/// computes it. Each line, in the order of the CCTV field digest: r mod± q, |r mod± q|, r1 and r0 mod q of Power2Round;
/// then for γ2 = (q-1)/88 and for (q-1)/32: UseHint(0, r), UseHint(1, r), LowBits(r), |LowBits(r)|.
pub fn field_lines(first: u32) -> [[i32; 12]; 256] {
    let room = active();
    let centred = |x: i32| if x > HALF_Q { x - Q } else { x };
    #[allow(clippy::integer_division_remainder_used, reason = "public")]
    let r: Coeffs = core::array::from_fn(|i| ((first as i64 + i as i64) % Q as i64) as i32);
    let mut columns = [[0; 256]; 12];
    columns[0] = r.map(centred);
    columns[1] = columns[0].map(i32::abs);
    let [mut r1, mut r0] = [[0; 256]; 2];
    room.power2round(&r, &mut r1, &mut r0);
    (columns[2], columns[3]) = (r1, r0);
    for (gamma2, at) in [(GAMMA2_88, 4), (GAMMA2_32, 8)] {
        (columns[at], columns[at + 1]) = (r, r.map(|r| r | MARK));
        room.use_hint(gamma2, &mut columns[at]);
        room.use_hint(gamma2, &mut columns[at + 1]);
        room.decompose(gamma2, &r, &mut r1, &mut r0);
        debug_assert_eq!(columns[at], r1); // UseHint(0, r) = HighBits(r)
        columns[at + 2] = r0.map(centred);
        columns[at + 3] = columns[at + 2].map(i32::abs);
    }
    core::array::from_fn(|i| columns.map(|column| column[i]))
}
