//! A room that computes wrongly once: an inner room behind a door that counts the calls, and at one of them flips a bit of
//! what the inner room answers, or does not ask it. It can also refuse attempts of signing, and bytes of the matrix. Each
//! thread has its own.

use crate::backend::{Backend, Coeffs, PACKED, PLACES, Room};
use crate::fips204::ring::{Ball, NttPoly, Small};
use crate::keccak::States;
use std::cell::Cell;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// One bit of the outputs, counted modulo their length; a flipped answer is yes for no, or another number.
    Flip(u64),
    /// The call is left out: outputs stay as they were, a norm is below its bound, nothing more is counted.
    Skip,
}

/// The plan of a thread.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    /// Who computes.
    pub(super) inner: Room,
    /// Which call goes wrong, counted from 0, and how.
    pub(super) fault: Option<(u64, Fault)>,
    /// So many norms are said not to be below their bound before the truth is told.
    pub(super) refusals: u64,
    /// Bytes for an entry of the matrix are not taken where the first is odd, so that some entries wait long for others.
    pub(super) reluctant: bool,
}

impl Plan {
    /// Nothing goes wrong.
    pub(super) fn of(inner: Room) -> Self {
        Plan { inner, fault: None, refusals: 0, reluctant: false }
    }
}

std::thread_local! {
    static PLAN: Cell<Option<Plan>> = const { Cell::new(None) };
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// The faulty room, where this thread has a plan: what [`crate::backend::active`] gives before any other.
pub(crate) fn in_use() -> Option<Room> {
    static ROOM: Faulty = Faulty;
    PLAN.get().map(|_| &ROOM as Room)
}

/// Runs `work` under a plan, also if it panics: what it gives, and the number of calls that it made.
pub(super) fn under<T>(plan: Plan, work: impl FnOnce() -> T) -> (std::thread::Result<T>, u64) {
    PLAN.set(Some(plan));
    CALLS.set(0);
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    PLAN.set(None);
    (done, CALLS.get())
}

struct Faulty;

impl Faulty {
    fn plan(&self) -> Plan {
        PLAN.get().expect("a faulty room is had under a plan alone")
    }

    /// Counts a call; the inner room, and what shall go wrong with this one.
    fn turn(&self) -> (Room, Option<Fault>) {
        let (plan, call) = (self.plan(), CALLS.get());
        CALLS.set(call + 1);
        (plan.inner, plan.fault.filter(|(at, _)| *at == call).map(|(_, fault)| fault))
    }
}

/// Whether a norm shall be said to be too great once more.
fn refuses(plan: Plan) -> bool {
    let refuses = plan.refusals > 0;
    if refuses {
        PLAN.set(Some(Plan { refusals: plan.refusals - 1, ..plan }));
    }
    refuses
}

/// Something with bits.
trait Bits {
    fn len(&self) -> u64;
    fn flip(&mut self, bit: u64);
}

impl Bits for [i32] {
    fn len(&self) -> u64 {
        32 * <[i32]>::len(self) as u64
    }
    fn flip(&mut self, bit: u64) {
        self[(bit >> 5) as usize] ^= 1 << (bit & 31);
    }
}

impl Bits for [u8] {
    fn len(&self) -> u64 {
        8 * <[u8]>::len(self) as u64
    }
    fn flip(&mut self, bit: u64) {
        self[(bit >> 3) as usize] ^= 1 << (bit & 7);
    }
}

impl<const N: usize> Bits for States<N> {
    fn len(&self) -> u64 {
        64 * 25 * N as u64
    }
    fn flip(&mut self, bit: u64) {
        self.0.as_flattened_mut()[(bit >> 6) as usize] ^= 1 << (bit & 63);
    }
}

impl<T: Bits + ?Sized> Bits for &mut T {
    fn len(&self) -> u64 {
        (**self).len()
    }
    fn flip(&mut self, bit: u64) {
        (**self).flip(bit)
    }
}

/// Flips one bit of all these outputs together.
fn flip_one(mut bit: u64, outputs: &mut [&mut dyn Bits]) {
    bit %= outputs.iter().map(|output| output.len()).sum::<u64>();
    for output in outputs {
        if bit < output.len() {
            return output.flip(bit);
        }
        bit -= output.len();
    }
}

/// Doors that answer by their outputs alone, or by a number besides: one time in eight it is the number that is wrong.
macro_rules! doors {
    ($(fn $name:ident($($arg:ident: $type:ty),*) $(-> $answer:ty = $skipped:expr)?, $($out:expr),+;)*) => {$(
        fn $name(&self, $($arg: $type),*) $(-> $answer)? {
            match self.turn() {
                (inner, None) => inner.$name($($arg),*),
                (_, Some(Fault::Skip)) => ($($skipped)?),
                (inner, Some(Fault::Flip(bit))) => {
                    #[allow(clippy::let_unit_value, reason = "some answer and some do not")]
                    let answer = inner.$name($($arg),*);
                    $(if bit & 7 == 0 {
                        return answer ^ (1 as $answer) << (bit >> 3 & 7);
                    })?
                    flip_one(bit >> 6, &mut [$(&mut &mut $out),+]);
                    answer
                }
            }
        }
    )*};
}

impl Backend for Faulty {
    fn name(&self) -> &'static str {
        self.plan().inner.name()
    }
    fn width(&self) -> usize {
        self.plan().inner.width()
    }
    fn read_x4(&self, state: &States<4>, out: [&mut [u8]; 4]) {
        let (inner, fault) = self.turn();
        let [a, b, c, d] = out;
        if fault != Some(Fault::Skip) {
            inner.read_x4(state, [&mut *a, &mut *b, &mut *c, &mut *d]);
        }
        if let Some(Fault::Flip(bit)) = fault {
            [a, b, c, d][(bit & 3) as usize].flip((bit >> 2) % 64);
        }
    }
    fn read_x8(&self, state: &States<8>, mut out: [&mut [u8]; 8]) {
        let (inner, fault) = self.turn();
        if fault != Some(Fault::Skip) {
            inner.read_x8(state, out.each_mut().map(|out| &mut **out));
        }
        if let Some(Fault::Flip(bit)) = fault {
            let out = &mut out[(bit & 7) as usize];
            let len = Bits::len(&**out);
            out.flip((bit >> 3) % len);
        }
    }
    fn reject_uniform(&self, bytes: &[u8], out: &mut Coeffs, filled: usize) -> usize {
        if self.plan().reluctant && bytes[0] & 1 == 1 {
            return filled;
        }
        match self.turn() {
            (inner, None) => inner.reject_uniform(bytes, out, filled),
            (_, Some(Fault::Skip)) => filled,
            (inner, Some(Fault::Flip(bit))) => {
                let answer = inner.reject_uniform(bytes, out, filled);
                if bit & 7 == 0 {
                    return answer ^ 1 << (bit >> 3 & 7);
                }
                flip_one(bit >> 6, &mut [&mut &mut out[..]]);
                answer
            }
        }
    }
    fn norm_below(&self, w: &Coeffs, bound: i32) -> bool {
        if refuses(self.plan()) {
            return false;
        }
        match self.turn() {
            (inner, None) => inner.norm_below(w, bound),
            (_, Some(Fault::Skip)) => true,
            (inner, Some(Fault::Flip(_))) => !inner.norm_below(w, bound),
        }
    }
    fn low_bits_below(&self, gamma2: i32, r: &Coeffs, bound: i32) -> bool {
        if refuses(self.plan()) {
            return false;
        }
        match self.turn() {
            (inner, None) => inner.low_bits_below(gamma2, r, bound),
            (_, Some(Fault::Skip)) => true,
            (inner, Some(Fault::Flip(_))) => !inner.low_bits_below(gamma2, r, bound),
        }
    }
    fn add_times_ball(&self, c: &Ball, s: &Small, bound: i32, w: &mut Coeffs) -> bool {
        if refuses(self.plan()) {
            return false;
        }
        match self.turn() {
            (inner, None) => inner.add_times_ball(c, s, bound, w),
            (_, Some(Fault::Skip)) => true,
            (inner, Some(Fault::Flip(bit))) => {
                let below = inner.add_times_ball(c, s, bound, w);
                if bit & 7 == 0 {
                    return !below;
                }
                w[..].flip(bit >> 3 & 8191);
                below
            }
        }
    }
    doors! {
        fn keccak_x1(states: &mut States<1>), *states;
        fn keccak_x4(states: &mut States<4>), *states;
        fn keccak_x8(states: &mut States<8>), *states;
        fn ntt(w: &mut Coeffs), w[..];
        fn inv_ntt(w: &mut Coeffs), w[..];
        fn dot(a: &[NttPoly], b: &[NttPoly], more: Option<(&NttPoly, &NttPoly)>, out: &mut Coeffs), out[..];
        fn mul_add(a: &Coeffs, b: &Coeffs, sum: &mut Coeffs), sum[..];
        fn mul_packed(a: &[u8; PACKED], b: &mut Coeffs), b[..];
        fn add(a: &mut Coeffs, b: &Coeffs), a[..];
        fn sub(a: &mut Coeffs, b: &Coeffs), a[..];
        fn power2round(r: &Coeffs, r1: &mut Coeffs, r0: &mut Coeffs), r1[..], r0[..];
        fn decompose(gamma2: i32, r: &Coeffs, r1: &mut Coeffs, r0: &mut Coeffs), r1[..], r0[..];
        fn high_bits(gamma2: i32, r: &mut Coeffs), r[..];
        fn make_hint_packed(gamma2: i32, r: &[u8; PACKED], z: &mut Coeffs) -> i32 = 0, z[..];
        fn mul_add_uniform(bytes: &[u8], b: &Coeffs, sum: &mut [u8; PACKED], done: usize) -> usize = done, sum[..];
        fn recompose(gamma2: i32, r1: &Coeffs, r: &mut Coeffs), r[..];
        fn make_hint(gamma2: i32, z: &Coeffs, r: &Coeffs, h: &mut Coeffs) -> i32 = 0, h[..];
        fn use_hint(gamma2: i32, w: &mut Coeffs), w[..];
        fn places(w: &Coeffs, out: &mut [i32; PLACES]) -> usize = 0, out[..];
        fn simple_bit_pack(bits: u32, w: &Coeffs, out: &mut [u8]), out[..];
        fn bit_pack(bits: u32, b: i32, w: &Coeffs, out: &mut [u8]), out[..];
        fn simple_bit_unpack(bits: u32, v: &[u8], out: &mut Coeffs), out[..];
        fn bit_unpack(bits: u32, b: i32, v: &[u8], out: &mut Coeffs), out[..];
        fn reject_bounded(eta: i32, bytes: &[u8], out: &mut Coeffs, filled: usize) -> usize = filled, out[..];
    }
    fn mont_mul(&self, w: &mut Coeffs, zeta: i32, told: bool) {
        self.plan().inner.mont_mul(w, zeta, told)
    }
}
