//! Products with the challenge: τ coefficients ±1 times small ones are shifts and sums of bytes, which cost less than
//! three transforms (Zheng et al., arXiv 2306.01989, have the idea).

use crate::backend::{Coeffs, Lanes, wipe};
use crate::fips204::params::Q;
use crate::fips204::ring::{Ball, Small};

/// Registers of sums that are kept while the shifts go by.
const TILE: usize = 4;

/// c·s in R_q.
/// FIPS 204, Algorithm 7, ML-DSA.Sign_internal (steps 18 and 19).
///
/// Bounds: |s| <= η, at most 64 coefficients of c; out canonical, in [0, q).
/// Time: independent of s; c, which is public (see `respond`), chooses the addresses.
#[inline(always)]
pub(crate) fn times_ball<V: Lanes>(room: V::Room, c: &Ball, s: &Small, out: &mut Coeffs) {
    // The bytes of s are those of s + η, so that none is negative.
    let (q, bias) = (V::splat(room, Q), V::splat(room, -(c.starts().len() as i32) * s.eta()));
    for cell in V::cells_mut(out) {
        bias.store(cell);
    }
    let mut bytes = [0; 256];
    // As many shifts of s as a byte can hold the sum of.
    for starts in c.starts().chunks(s.sums()) {
        for (tile, bytes) in bytes.chunks_exact_mut(TILE * V::BYTES).enumerate() {
            let mut sums = [V::no_bytes(room); TILE];
            for &start in starts {
                let window = &s.window(start)[TILE * V::BYTES * tile..][..TILE * V::BYTES];
                for (sum, bytes) in sums.iter_mut().zip(window.chunks_exact(V::BYTES)) {
                    *sum = V::add_bytes(*sum, bytes);
                }
            }
            for (sum, bytes) in sums.into_iter().zip(bytes.chunks_exact_mut(V::BYTES)) {
                V::store_bytes(sum, bytes);
            }
        }
        for (cell, bytes) in V::cells_mut(out).iter_mut().zip(bytes.chunks_exact(V::N)) {
            (V::load(room, cell) + V::widen(room, bytes)).store(cell);
        }
    }
    for cell in V::cells_mut(out) {
        V::load(room, cell).add_q_if_negative(q).store(cell);
    }
    // With c, which the signature shows, the sums would give s away.
    wipe(&mut bytes);
}
