//! ARMv7E-M (Cortex-M4 and M7): one lane, one Keccak state of interleaved words.
//!
//! Long products (`smull`, `smlal`, `umlal`) take a fixed time on these CPUs; nothing here divides.

#![allow(unsafe_code, reason = "the permutation is in assembly")]

use super::interleaved::inward;
use super::{Backend, Coeffs, PLACES, door};
use crate::fips204::ring::{Ball, NttPoly, Small, one};
use crate::keccak::{self, States};
use crate::kernels::ntt::zetas::{F, F_ZETA, INV_ZETAS, ZETAS};

use core::ptr;

mod lane;
use lane::Lane;

/// Only a target that has the instructions compiles this room; the field is private so that all rooms are had the same way.
#[derive(Clone, Copy)]
pub(crate) struct Armv7em(());

pub(super) static ROOM: Armv7em = Armv7em(());

#[cfg(not(one_room))]
pub(super) fn detect() -> Option<super::Room> {
    Some(&ROOM)
}

door!(Armv7em, Lane, [], {
    fn name(&self) -> &'static str {
        "armv7em"
    }
    fn width(&self) -> usize {
        1
    }
    fn keccak_x1(&self, States(words): &mut States<1>) {
        // SAFETY: the words of one state are 25 double words side by side, and the constants those of 24 rounds.
        unsafe { permute(words.as_flattened_mut().as_mut_ptr(), RC.as_ptr(), RC.as_ptr_range().end) }
    }
    fn keccak_x4(&self, states: &mut States<4>) {
        one_by_one(states)
    }
    fn keccak_x8(&self, states: &mut States<8>) {
        one_by_one(states)
    }
});

/// N states one after the other.
fn one_by_one<const N: usize>(states: &mut States<N>) {
    for n in 0..N {
        let mut one = States(states.0.each_ref().map(|words| [words[n]]));
        ROOM.keccak_x1(&mut one);
        for (words, [of_one]) in states.0.iter_mut().zip(one.0) {
            words[n] = of_one;
        }
    }
}

/// [`crate::kernels::ntt::ntt`] by hand.
fn ntt(w: &mut Coeffs) {
    // SAFETY: 256 coefficients of the caller's, and the zetas in the order in which they are met.
    unsafe { transform(w, &FORWARD) }
}

/// [`crate::kernels::ntt::inv_ntt`] by hand.
fn inv_ntt(w: &mut Coeffs) {
    // SAFETY: as above.
    unsafe { inverse_transform(w, &INVERSE) }
}

/// [`crate::kernels::pointwise::dot`] by hand.
fn dot(a: &[NttPoly], b: &[NttPoly], more: Option<(&NttPoly, &NttPoly)>, out: &mut Coeffs) {
    let (a, b, more) = match more {
        _ if !a.is_empty() => (a, b, more),
        Some((c, d)) => (one(c), one(d), None),
        None => return,
    };
    let (c, d) = more.map_or((ptr::null(), ptr::null()), |(c, d)| (&raw const *c, &raw const *d));
    // SAFETY: as many polynomials on both sides, at least one, and one further pair or none.
    unsafe { sum_of_products(a.as_ptr(), b.as_ptr(), a.len().min(b.len()), out, c, d) }
}

/// See dot.s.
///
/// # Safety
/// `a` and `b` point to `count` polynomials each, at least one; `c` and `d` to one each, or both are null.
#[unsafe(naked)]
unsafe extern "C" fn sum_of_products(
    a: *const NttPoly,
    b: *const NttPoly,
    count: usize,
    out: &mut Coeffs,
    c: *const NttPoly,
    d: *const NttPoly,
) {
    core::arch::naked_asm!(include_str!("armv7em/dot.s"), options(raw))
}

/// The sums of windows of a small polynomial, by hand.
fn sum_windows(s: &Small, starts: &[u16], sums: &mut [u8; 256]) {
    if starts.is_empty() {
        return sums.fill(0);
    }
    debug_assert!(starts.iter().all(|start| *start <= 512));
    let ends = starts.as_ptr_range();
    // SAFETY: 768 bytes, of which each window takes 256 from a place that is at most 512 (`Ball` makes no other); at least one
    // window.
    unsafe { add_windows(s.window(0).as_ptr(), ends.start, ends.end, sums) }
}

/// See ball.s.
///
/// # Safety
/// `bytes` points to 768 bytes; from `starts` to `end` lies at least one number, all of them at most 512.
#[unsafe(naked)]
unsafe extern "C" fn add_windows(
    bytes: *const u8,
    starts: *const u16,
    end: *const u16,
    sums: &mut [u8; 256],
) {
    core::arch::naked_asm!(include_str!("armv7em/ball.s"), options(raw))
}

// What the assembly takes for granted: polynomials lie side by side.
const _: () = assert!(size_of::<NttPoly>() == 1024);

/// The zetas of a pass of three layers, root first.
const fn tree(zetas: &Coeffs, root: usize) -> [i32; 7] {
    let (two, four) = (2 * root, 4 * root);
    [zetas[root], zetas[two], zetas[two + 1], zetas[four], zetas[four + 1], zetas[four + 2], zetas[four + 3]]
}

/// Writes the zetas of a tree at a place: the first `count` of them.
const fn put(to: &mut Coeffs, at: usize, tree: [i32; 7], count: usize) {
    let mut i = 0;
    while i < count {
        to[at + i] = tree[i];
        i += 1;
    }
}

/// The trees of layers 0, 3 and 6.
static FORWARD: Coeffs = {
    let mut ordered = [0; 256];
    put(&mut ordered, 0, tree(&ZETAS, 1), 7);
    let mut g = 0;
    while g < 8 {
        put(&mut ordered, 7 + 7 * g, tree(&ZETAS, 8 + g), 7);
        g += 1;
    }
    let mut g = 0;
    while g < 64 {
        // Of two layers only: leaves of its own it has none.
        put(&mut ordered, 63 + 3 * g, [ZETAS[64 + g], ZETAS[128 + 2 * g], ZETAS[129 + 2 * g], 0, 0, 0, 0], 3);
        g += 1;
    }
    ordered
};

/// The trees of layers 6, 3 and 0, with the last factor in the root of the last and behind it.
static INVERSE: Coeffs = {
    let mut ordered = [0; 256];
    let mut g = 0;
    while g < 64 {
        let three = [INV_ZETAS[64 + g], INV_ZETAS[128 + 2 * g], INV_ZETAS[129 + 2 * g], 0, 0, 0, 0];
        put(&mut ordered, 3 * g, three, 3);
        g += 1;
    }
    let mut g = 0;
    while g < 8 {
        put(&mut ordered, 192 + 7 * g, tree(&INV_ZETAS, 8 + g), 7);
        g += 1;
    }
    put(&mut ordered, 248, tree(&INV_ZETAS, 1), 7);
    ordered[248] = F_ZETA;
    ordered[255] = F;
    ordered
};

/// See ntt.s.
///
/// # Safety
/// None beyond what the types say.
#[unsafe(naked)]
unsafe extern "C" fn transform(w: &mut Coeffs, zetas: &Coeffs) {
    core::arch::naked_asm!(include_str!("armv7em/ntt.s"), options(raw))
}

/// See inv_ntt.s.
///
/// # Safety
/// None beyond what the types say.
#[unsafe(naked)]
unsafe extern "C" fn inverse_transform(w: &mut Coeffs, zetas: &Coeffs) {
    core::arch::naked_asm!(include_str!("armv7em/inv_ntt.s"), options(raw))
}

/// The constants of ι, interleaved.
static RC: [u64; 24] = {
    let mut rc = keccak::RC;
    let mut i = 0;
    while i < 24 {
        rc[i] = inward(rc[i]);
        i += 1;
    }
    rc
};

/// Keccak-f\[1600\]: 24 rounds on 25 interleaved words. Uses 264 bytes of stack, and wipes them.
///
/// # Safety
/// `state` points to 25 words that belong to the caller, `rc` to 24, which end at `end`.
#[unsafe(naked)]
unsafe extern "C" fn permute(state: *mut u64, rc: *const u64, end: *const u64) {
    #[cfg(not(compact))]
    core::arch::naked_asm!(include_str!("armv7em/keccak.s"), options(raw));
    #[cfg(compact)]
    core::arch::naked_asm!(include_str!("armv7em/keccak_compact.s"), options(raw))
}
