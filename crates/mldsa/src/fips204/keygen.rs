//! Algorithms 1 and 6: key generation.

use super::encode::{SkParts, pk_encode, t1_encode};
use super::params::{Params, Set};
use super::ring::{NttPoly, Poly};
use super::round::power2round;
use super::sample::{expand_a_beside, expand_s};
use crate::backend::{Room, wipe_below};
use crate::ct::{Wipe, Wiped, declassify_all};
use crate::keccak::{Guest, Shake};

/// Bytes of stack on which steps 1 and 4 leave the last states of their hashes, where a permutation has too few registers for
/// them: no more than this.
const HASHED: usize = if cfg!(armv7em) { 2048 } else { 8192 };

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
/// Differs from the standard: Â is kept too, where it has room for all rows; `each_t0` sees t0, which is not kept; the
/// private key is left unencoded until somebody asks. All of it is written in place: a secret that moves leaves a copy where it was.
pub(crate) fn keygen_internal<P: Params>(
    room: Room,
    xi: &[u8; 32],
    pair: &mut KeyPair<P>,
    a_hat: &mut [P::L_<NttPoly>],
    each_t0: impl FnMut(usize, &Poly),
) {
    // 1: (ρ, ρ', K) ← H(ξ || IntegerToBytes(k, 1) || IntegerToBytes(ℓ, 1), 128)
    let KeyPair { pk, sk } = pair;
    let mut rho_prime = Wiped([0; 64]);
    expand_seed(room, Set::of::<P>(), xi, &mut sk.rho, &mut rho_prime, &mut sk.k);
    // 4: (s1, s2) ← ExpandS(ρ')
    expand_s::<P>(room, &rho_prime, &mut sk.s1, &mut sk.s2);
    wipe_below::<HASHED>();
    // 3, and 5 to 9
    public_part::<P>(room, sk, a_hat, pk, each_t0);
}

/// Step 1 of Algorithm 6: H(ξ || k || ℓ) is ρ, ρ' and K.
#[inline(never)]
pub(crate) fn expand_seed(
    room: Room,
    p: &Set,
    xi: &[u8; 32],
    rho: &mut [u8; 32],
    rho_prime: &mut [u8; 64],
    k: &mut [u8; 32],
) {
    let mut ctx = Shake::shake256(room);
    ctx.absorb([xi]);
    ctx.absorb([&[p.k as u8, p.l as u8]]);
    ctx.squeeze([rho]);
    ctx.squeeze([rho_prime]);
    ctx.squeeze([k]);
    declassify_all(rho); // the first 32 bytes of the public key
}

impl<P: Params> KeyPair<P> {
    /// Zeros, to be written over.
    pub(crate) const BLANK: Self = KeyPair {
        pk: P::Pk::ZERO,
        sk: SkParts { rho: [0; 32], k: Wiped::ZERO, tr: [0; 64], s1: Wiped::ZERO, s2: Wiped::ZERO },
    };
}

/// Steps 3 and 5 to 9 of Algorithm 6: Â, pk, t0 and tr of ρ, s1 and s2; the import of an expanded key repeats them. `each_t0`
/// sees each polynomial of t0, which then is wiped.
///
/// A·s1 alone gives s1 away, so it is wiped.
/// Differs from the standard: each row of Â is used as soon as it is there, and pk hashed while the others are expanded.
pub(crate) fn public_part<P: Params>(
    room: Room,
    sk: &mut SkParts<P>,
    a_hat: &mut [P::L_<NttPoly>],
    pk: &mut P::Pk,
    mut each_t0: impl FnMut(usize, &Poly),
) {
    let SkParts { rho, s1, s2, tr, .. } = sk;
    let mut s1_hat = Wiped::<P::L_<NttPoly>>::ZERO;
    for (s1_hat, s1) in s1_hat.as_mut().iter_mut().zip(s1.as_ref()) {
        s1.ntt(room, s1_hat);
    }
    let (mut t, mut t1, mut t0) = (Wiped(Poly::ZERO), Poly::ZERO, Wiped(Poly::ZERO));
    let mut hash = Guest::shake256();
    hash.feed(rho);
    // 8: pk ← pkEncode(ρ, t1), row by row below
    let mut rows = s2.as_ref().iter().zip(pk_encode(rho, pk.as_mut())).enumerate();
    // 3: Â ← ExpandA(ρ)
    expand_a_beside::<P, _>(room, rho, a_hat, &mut hash, |row, hash| {
        let Some((r, (s2, bytes))) = rows.next() else { return };
        // 5: t ← NTT⁻¹(Â ∘ NTT(s1)) + s2
        t.product(room, row, s1_hat.as_ref());
        t.add(room, s2);
        // 6: (t1, t0) ← Power2Round(t)
        power2round(room, &t, &mut t1, &mut t0);
        each_t0(r, &t0);
        t1_encode(room, &t1.0, bytes);
        hash.feed(bytes);
    });
    // 9: tr ← H(pk, 64)
    *tr = hash.finish(room);
}
