//! Doors that a user of signatures should leave shut: caller-supplied rnd, the internal interfaces of FIPS 204, a forced
//! room, a look at rejected attempts. For test vectors and measurements.

use crate::api::{ExpandedSigningKey, ExpandedVerifyingKey, ParameterSet, Signature};
use crate::backend::{active, force};
use crate::error::Error;
use crate::fips204::sign::sign_internal as fips204_sign_internal;
use crate::message::{Mu, MuHasher};

pub use crate::fips204::sign::Rejection;

/// The names of the rooms that this build has and this CPU can run.
pub fn rooms() -> impl Iterator<Item = &'static str> {
    force::names()
}

/// The name of the room that the next call uses.
pub fn room() -> &'static str {
    active().name()
}

/// Makes every later call of this process use the named room; `None` gives the choice back. False if there is no such room.
#[must_use]
pub fn force_room(name: Option<&str>) -> bool {
    force::force(name)
}

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
    Signature::decode(fips204_sign_internal(active(), key, mu.as_bytes(), rnd, on_reject)?.as_ref())
}

/// μ = H(tr || M') of an M' that the caller formatted, as FIPS 204's internal interfaces take it.
pub fn mu_of_m_prime<P: ParameterSet>(key: &ExpandedVerifyingKey<P>, m_prime: &[u8]) -> Mu {
    MuHasher::of_m_prime(active(), &key.tr, &[m_prime]).finish()
}
