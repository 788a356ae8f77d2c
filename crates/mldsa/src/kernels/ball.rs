//! Products with the challenge: τ coefficients ±1 times small ones are shifts and sums of bytes, which cost less than
//! three transforms (Zheng et al., arXiv 2306.01989, have the idea).

use crate::backend::{CacheLine, Coeffs, Lanes, wipe};
use crate::fips204::params::Q;
use crate::fips204::ring::{Ball, Small};
use crate::kernels::norm::Norm;

/// Registers of sums that are kept while the shifts go by.
const TILE: usize = 4;

/// The sums of all coefficients, aligned to a cache line.
struct Sums([u8; 256], #[allow(dead_code, reason = "its alignment counts")] CacheLine);

/// w <- w + c·s in R_q; returns whether ‖w‖∞ < bound then.
/// FIPS 204, Algorithm 7, ML-DSA.Sign_internal (steps 18 to 21, and the checks of step 23).
///
/// Bounds: |s| <= η, at most 64 coefficients of c; w canonical, in [0, q), in and out; 0 < bound <= (q - 1)/8.
/// Time: independent of s and w; c, which is public (see `respond`), chooses the addresses.
#[inline(always)]
pub(crate) fn add_times_ball<V: Lanes>(
    room: V::Room,
    c: &Ball,
    s: &Small,
    bound: i32,
    w: &mut Coeffs,
) -> bool {
    let q = V::splat(room, Q);
    let mut norm = Norm::below(room, bound);
    let mut sums = Sums([0; 256], CacheLine);
    let bytes = &mut sums.0;
    let mut rest = c.starts();
    loop {
        // As many shifts of s as a byte can hold the sum of. The bytes of s are those of s + η: none is negative.
        let starts;
        (starts, rest) = rest.split_at(rest.len().min(s.sums()));
        match V::SUM_WINDOWS {
            Some(sum_windows) => sum_windows(s, starts, bytes),
            None => sum_windows::<V>(room, s, starts, bytes),
        }
        let cells = V::cells_mut(w).iter_mut().zip(bytes.chunks_exact(V::N));
        let bias = V::splat(room, starts.len() as i32 * s.eta());
        if !rest.is_empty() {
            for (cell, bytes) in cells {
                (V::load(room, cell) + (V::widen(room, bytes) - bias)).store(cell);
            }
            continue;
        }
        for (cell, bytes) in cells {
            // In (-2^8, q + 2^8), brought into [0, q) from below and from above.
            let x = V::load(room, cell) + (V::widen(room, bytes) - bias);
            let x = (x.add_q_if_negative(q) - q).add_q_if_negative(q);
            norm.look_at(x);
            x.store(cell);
        }
        break;
    }
    // With c, which the signature shows, the sums would give s away.
    wipe(bytes);
    norm.holds(room)
}

/// The sums of the windows of s, byte by byte. Bounds: sums below 2^8.
#[inline(always)]
fn sum_windows<V: Lanes>(room: V::Room, s: &Small, starts: &[u16], bytes: &mut [u8; 256]) {
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
}
