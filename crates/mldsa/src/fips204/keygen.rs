//! Algorithms 1 and 6: key generation.

use super::encode::{SkParts, pk_encode};
use super::params::{Array, Params};
use super::ring::{NttPoly, Poly};
use super::round::power2round;
use super::sample::{expand_a, expand_s};
use crate::backend::Room;
use crate::ct::{Wiped, declassify};
use crate::keccak::Shake;

/// Everything that a seed fixes.
pub(crate) struct KeyPair<P: Params> {
    pub(crate) pk: P::Pk,
    pub(crate) a_hat: P::K_<P::L_<NttPoly>>,
    pub(crate) sk: SkParts<P>,
}

/// The key pair of the seed ξ. Algorithm 1 draws ξ and calls this; `SigningKey::generate` does the same.
/// FIPS 204, Algorithm 1, ML-DSA.KeyGen.
/// FIPS 204, Algorithm 6, ML-DSA.KeyGen_internal.
///
/// Time: independent of ξ, but for the rejections in ExpandA (public) and ExpandS (which say nothing of what is taken).
/// Differs from the standard: Â is returned too, and the keys are left unencoded until somebody asks.
pub(crate) fn keygen_internal<P: Params>(room: Room, xi: &[u8; 32]) -> KeyPair<P> {
    // 1: (ρ, ρ', K) ← H(ξ || IntegerToBytes(k, 1) || IntegerToBytes(ℓ, 1), 128)
    let seeds = Wiped(Shake::h::<128>(room, &[xi, &[P::K as u8, P::L as u8]]));
    let (rho, rho_prime, k) =
        (part::<32>(&seeds, 0), Wiped(part::<64>(&seeds, 32)), Wiped(part::<32>(&seeds, 96)));
    let rho = declassify(rho); // the first 32 bytes of the public key
    // 3: Â ← ExpandA(ρ)
    let a_hat = expand_a::<P>(room, &rho);
    // 4: (s1, s2) ← ExpandS(ρ')
    let (s1, s2) = expand_s::<P>(room, &rho_prime);
    // 5 and 6: (t1, t0) ← Power2Round(NTT⁻¹(Â ∘ NTT(s1)) + s2)
    let (t1, t0) = public_part::<P>(room, &a_hat, &s1, &s2);
    // 8: pk ← pkEncode(ρ, t1)
    let pk = pk_encode::<P>(room, &rho, declassify(t1.as_ref())); // the public key
    // 9: tr ← H(pk, 64)
    let tr = Shake::h(room, &[pk.as_ref()]);
    KeyPair { pk, a_hat, sk: SkParts { rho, k, tr, s1, s2, t0 } }
}

/// t = A·s1 + s2, as t1 and t0: steps 5 and 6, which the import of an expanded key repeats.
pub(crate) fn public_part<P: Params>(
    room: Room,
    a_hat: &P::K_<P::L_<NttPoly>>,
    s1: &P::L_<Poly>,
    s2: &P::K_<Poly>,
) -> (P::K_<Poly>, Wiped<P::K_<Poly>>) {
    let s1_hat = Wiped(P::L_::from_fn(|i| s1.as_ref()[i].ntt(room)));
    let mut t0 = Wiped(P::K_::from_fn(|_| Poly::ZERO));
    let t1 = P::K_::from_fn(|i| {
        let t = NttPoly::dot(room, a_hat.as_ref()[i].as_ref(), s1_hat.as_ref()).inv_ntt(room);
        let (t1, low) = power2round(room, &t.add(room, &s2.as_ref()[i]));
        t0.as_mut()[i] = low;
        t1
    });
    (t1, t0)
}

/// N bytes from `at` on.
fn part<const N: usize>(bytes: &[u8; 128], at: usize) -> [u8; N] {
    core::array::from_fn(|i| bytes[at + i])
}
