//! Algorithms 1 and 6: key generation.

use super::encode::{SkParts, pk_encode};
use super::params::Params;
use super::ring::{NttPoly, Poly};
use super::round::power2round;
use super::sample::{expand_a, expand_s};
use crate::backend::Room;
use crate::ct::{Wipe, Wiped, declassify, declassify_all};
use crate::keccak::Shake;

/// The keys that a seed fixes.
pub(crate) struct KeyPair<P: Params> {
    pub(crate) pk: P::Pk,
    pub(crate) sk: SkParts<P>,
}

/// The key pair of the seed ξ. Algorithm 1 draws ξ and calls this; `SigningKey::generate` does the same.
/// FIPS 204, Algorithm 1, ML-DSA.KeyGen.
/// FIPS 204, Algorithm 6, ML-DSA.KeyGen_internal.
///
/// Time: independent of ξ, but for the rejections in ExpandA (public) and ExpandS (which say nothing of what is taken).
/// Differs from the standard: Â is kept too, and the private key is left unencoded until somebody asks. All of
/// it is written in place: a secret that moves leaves a copy where it was.
pub(crate) fn keygen_internal<P: Params>(
    room: Room,
    xi: &[u8; 32],
    pair: &mut KeyPair<P>,
    a_hat: &mut P::K_<P::L_<NttPoly>>,
) {
    // 1: (ρ, ρ', K) ← H(ξ || IntegerToBytes(k, 1) || IntegerToBytes(ℓ, 1), 128)
    let seeds = Wiped(Shake::h::<128>(room, &[xi, &[P::K as u8, P::L as u8]]));
    let rho_prime = Wiped(part::<64>(&seeds, 32));
    let KeyPair { pk, sk } = pair;
    sk.rho = declassify(part(&seeds, 0)); // the first 32 bytes of the public key
    sk.k.copy_from_slice(&seeds[96..]);
    // 3: Â ← ExpandA(ρ)
    expand_a::<P>(room, &sk.rho, a_hat);
    // 4: (s1, s2) ← ExpandS(ρ')
    expand_s::<P>(room, &rho_prime, &mut sk.s1, &mut sk.s2);
    // 5 and 6: (t1, t0) ← Power2Round(NTT⁻¹(Â ∘ NTT(s1)) + s2)
    let t1 = public_part::<P>(room, a_hat, sk.s1.as_ref(), sk.s2.as_ref(), sk.t0.as_mut());
    // 8: pk ← pkEncode(ρ, t1)
    *pk = pk_encode::<P>(room, &sk.rho, declassify_all(t1.as_ref())); // the public key
    // 9: tr ← H(pk, 64)
    sk.tr = Shake::h(room, &[pk.as_ref()]);
}

impl<P: Params> KeyPair<P> {
    /// Zeros, to be written over.
    pub(crate) const BLANK: Self = KeyPair {
        pk: P::Pk::ZERO,
        sk: SkParts {
            rho: [0; 32],
            k: Wiped::ZERO,
            tr: [0; 64],
            s1: Wiped::ZERO,
            s2: Wiped::ZERO,
            t0: Wiped::ZERO,
        },
    };
}

/// t = A·s1 + s2, as t1 and t0: steps 5 and 6, which the import of an expanded key repeats.
///
/// A·s1 alone gives s1 away, so it is wiped.
pub(crate) fn public_part<P: Params>(
    room: Room,
    a_hat: &P::K_<P::L_<NttPoly>>,
    s1: &[Poly],
    s2: &[Poly],
    t0: &mut [Poly],
) -> P::K_<Poly> {
    let mut s1_hat = Wiped::<P::L_<NttPoly>>::ZERO;
    for (s1_hat, s1) in s1_hat.as_mut().iter_mut().zip(s1) {
        s1.ntt(room, s1_hat);
    }
    let mut t = Wiped(Poly::ZERO);
    let mut t1 = P::K_::<Poly>::ZERO;
    for ((row, s2), (t1, t0)) in a_hat.as_ref().iter().zip(s2).zip(t1.as_mut().iter_mut().zip(t0)) {
        t.product(room, row.as_ref(), s1_hat.as_ref());
        t.add(room, s2);
        power2round(room, &t, t1, t0);
    }
    t1
}

/// N bytes from `at` on.
fn part<const N: usize>(bytes: &[u8; 128], at: usize) -> [u8; N] {
    core::array::from_fn(|i| bytes[at + i])
}
