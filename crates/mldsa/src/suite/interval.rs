//! The transforms on intervals: the kernels themselves, run over lanes that hold the bounds of a coefficient in place of
//! the coefficient. Each addition is shown to stay within 32 bits, each product with a zeta to get a factor within 256q
//! and the quotient that belongs to its zeta, each answer to be canonical; for 1, 8 and 16 lanes.
//!
//! A value is a list of pieces, each `slope·x + [low, high]` for x in a part of the range of some root x. So
//! `x - ⌊x / 2^23⌉·q` is seen as one function of x: the shift cuts the range where the quotient changes, and the
//! difference is taken piece by piece. Roots are what memory gives, products with a zeta, and sums of two roots, whose
//! dependence on each other is given up (which can only widen the bounds).

use super::{NttPoly, Q};
use crate::backend::{Coeffs, Lanes};
use crate::kernels::{QINV, ntt, pointwise};
use core::array::from_fn;
use core::ops::{Add, BitAnd, BitOr, BitXor, Range, Sub};
use std::cell::RefCell;
use std::vec;
use std::vec::Vec;

const Q64: i64 = Q as i64;

/// value = slope·x + [low, high] for x in `root`, both ends included.
#[derive(Clone, Copy)]
struct Piece {
    root: (i64, i64),
    slope: i64,
    low: i64,
    high: i64,
}

impl Piece {
    fn bounds(&self) -> (i64, i64) {
        let ends = (self.slope * self.root.0, self.slope * self.root.1);
        (ends.0.min(ends.1) + self.low, ends.0.max(ends.1) + self.high)
    }
}

/// A value that depends on the root of this number; 0 for none.
#[derive(Clone)]
struct Value {
    root: usize,
    pieces: Vec<Piece>,
}

impl Value {
    fn constant(x: i64) -> Self {
        Value { root: 0, pieces: vec![Piece { root: (0, 0), slope: 0, low: x, high: x }] }
    }

    fn bounds(&self) -> (i64, i64) {
        let bounds = self.pieces.iter().map(Piece::bounds);
        bounds.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).expect("a value has a piece")
    }

    /// The number that it is for certain.
    fn number(&self) -> Option<i64> {
        Some(self.bounds()).filter(|(low, high)| low == high).map(|(low, _)| low)
    }
}

/// All values of a run; lanes and memory hold their numbers.
#[derive(Default)]
struct Ledger {
    values: Vec<Value>,
    roots: usize,
    /// Addresses whose contents are numbers of values. Anything else in memory is a table of constants.
    memory: Vec<Range<usize>>,
    /// The greatest absolute value of a sum or difference of two roots: what a butterfly makes.
    greatest: i64,
}

std::thread_local! {
    static LEDGER: RefCell<Ledger> = RefCell::default();
}

fn ledger<T>(f: impl FnOnce(&mut Ledger) -> T) -> T {
    LEDGER.with(|ledger| f(&mut ledger.borrow_mut()))
}

impl Ledger {
    fn enter(&mut self, value: Value) -> u32 {
        self.values.push(value);
        (self.values.len() - 1) as u32
    }

    /// A root within these bounds.
    fn root(&mut self, (low, high): (i64, i64)) -> u32 {
        self.roots += 1;
        self.enter(Value {
            root: self.roots,
            pieces: vec![Piece { root: (low, high), slope: 1, low: 0, high: 0 }],
        })
    }

    fn value(&self, number: u32) -> &Value {
        &self.values[number as usize]
    }

    /// a + sign·b, which must fit 32 bits.
    fn sum(&mut self, a: u32, b: u32, sign: i64) -> u32 {
        let (a, b) = (self.value(a).clone(), self.value(b).clone());
        let sum = |a: &Piece, b: &Piece, root: (i64, i64)| {
            let b = if sign > 0 { (b.slope, b.low, b.high) } else { (-b.slope, -b.high, -b.low) };
            Piece { root, slope: a.slope + b.0, low: a.low + b.1, high: a.high + b.2 }
        };
        let mut pieces = Vec::new();
        if a.root != 0 && b.root != 0 && a.root != b.root {
            let (a, b) = (a.bounds(), b.bounds());
            let bounds = if sign > 0 { (a.0 + b.0, a.1 + b.1) } else { (a.0 - b.1, a.1 - b.0) };
            self.greatest = self.greatest.max(-bounds.0).max(bounds.1);
            let root = self.root(bounds);
            return self.fits(root);
        }
        for a in &a.pieces {
            for b_piece in &b.pieces {
                let root = match (a.slope, b.root) {
                    _ if a.root == b_piece.root => a.root,
                    (_, 0) => a.root,
                    _ => (a.root.0.max(b_piece.root.0), a.root.1.min(b_piece.root.1)),
                };
                pieces.extend((root.0 <= root.1).then(|| sum(a, b_piece, root)));
            }
        }
        let number = self.enter(Value { root: a.root.max(b.root), pieces });
        self.fits(number)
    }

    fn fits(&self, number: u32) -> u32 {
        for piece in &self.value(number).pieces {
            let (low, high) = piece.bounds();
            assert!(
                i32::try_from(low).is_ok() && i32::try_from(high).is_ok(),
                "a sum in [{low}, {high}] overflows"
            );
        }
        number
    }

    /// ⌊a / 2^S⌋, cut where the quotient changes.
    fn sar(&mut self, a: u32, s: u32) -> u32 {
        let a = self.value(a).clone();
        let mut pieces = Vec::new();
        for piece in &a.pieces {
            let (low, high) = piece.bounds();
            if (piece.slope, piece.low) == (1, piece.high) {
                for quotient in low >> s..=high >> s {
                    let from = ((quotient << s) - piece.low).max(piece.root.0);
                    let to = (((quotient + 1) << s) - 1 - piece.low).min(piece.root.1);
                    pieces.push(Piece { root: (from, to), slope: 0, low: quotient, high: quotient });
                }
            } else {
                pieces.push(Piece { slope: 0, low: low >> s, high: high >> s, ..*piece });
            }
        }
        self.enter(Value { root: a.root, pieces })
    }

    /// a·c for a number c, which must fit 32 bits.
    fn times(&mut self, a: u32, c: i64) -> u32 {
        let a = self.value(a).clone();
        let scaled = |p: &Piece| {
            let ends = (p.low * c, p.high * c);
            Piece { root: p.root, slope: p.slope * c, low: ends.0.min(ends.1), high: ends.0.max(ends.1) }
        };
        let number = self.enter(Value { root: a.root, pieces: a.pieces.iter().map(scaled).collect() });
        self.fits(number)
    }

    /// a + q where a is negative, for a in [-q, q).
    fn add_q_if_negative(&mut self, a: u32) -> u32 {
        let (mut low, mut high) = (Q64, 0);
        for piece in &self.value(a).pieces {
            let (from, to) = piece.bounds();
            assert!(-Q64 <= from && to < Q64, "[{from}, {to}] is made canonical by one addition of q");
            if from < 0 {
                (low, high) = (low.min(from + Q64), high.max(to.min(-1) + Q64));
            }
            if to >= 0 {
                (low, high) = (low.min(from.max(0)), high.max(to));
            }
        }
        self.root((low, high))
    }
}

/// N intervals, by their numbers in the ledger.
#[derive(Clone, Copy)]
struct Interval<const N: usize>([u32; N]);

/// Any CPU can run this room.
#[derive(Clone, Copy)]
struct Bounds;

impl<const N: usize> Interval<N> {
    fn each(self, f: impl Fn(&mut Ledger, u32) -> u32) -> Self {
        Interval(self.0.map(|a| ledger(|ledger| f(ledger, a))))
    }

    fn both(self, other: Self, f: impl Fn(&mut Ledger, u32, u32) -> u32) -> Self {
        Interval(from_fn(|j| ledger(|ledger| f(ledger, self.0[j], other.0[j]))))
    }
}

impl<const N: usize> Add for Interval<N> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.both(other, |ledger, a, b| ledger.sum(a, b, 1))
    }
}

impl<const N: usize> Sub for Interval<N> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.both(other, |ledger, a, b| ledger.sum(a, b, -1))
    }
}

macro_rules! not_in_transforms {
    ($($op:ident $method:ident),*) => {$(
        impl<const N: usize> $op for Interval<N> {
            type Output = Self;
            fn $method(self, _: Self) -> Self {
                unimplemented!("the transforms do without it")
            }
        }
    )*};
}
not_in_transforms!(BitAnd bitand, BitOr bitor, BitXor bitxor);

impl<const N: usize> Lanes for Interval<N> {
    const N: usize = N;
    type Cell = [i32; N];
    type Group = [Self; 1];
    const GROUP: usize = 1;
    type Room = Bounds;
    type Wide = [u32; N];
    type Bytes = ();
    const BYTES: usize = 8;

    fn cells(w: &[i32]) -> &[[i32; N]] {
        w.as_chunks().0
    }
    fn cells_mut(w: &mut [i32]) -> &mut [[i32; N]] {
        w.as_chunks_mut().0
    }
    fn load(_: Bounds, from: &[i32; N]) -> Self {
        let at = from.as_ptr().addr();
        ledger(|ledger| {
            let held = ledger.memory.iter().any(|range| range.contains(&at));
            Interval(from.map(|x| if held { x as u32 } else { ledger.enter(Value::constant(x.into())) }))
        })
    }
    fn store(self, to: &mut [i32; N]) {
        *to = self.each(|ledger, a| ledger.root(ledger.value(a).bounds())).0.map(|number| number as i32);
    }
    fn splat(_: Bounds, x: i32) -> Self {
        let number = ledger(|ledger| ledger.enter(Value::constant(x.into())));
        Interval([number; N])
    }
    fn mul_low(self, other: Self) -> Self {
        self.both(other, |ledger, a, b| {
            let factor = ledger.value(b).number().expect("one factor is a constant");
            ledger.times(a, factor)
        })
    }
    fn sar<const S: u32>(self) -> Self {
        self.each(|ledger, a| ledger.sar(a, S))
    }
    fn shl<const S: u32>(self) -> Self {
        self.each(|ledger, a| ledger.times(a, 1 << S))
    }
    fn add_q_if_negative(self, q: Self) -> Self {
        self.both(q, |ledger, a, q| {
            assert_eq!(ledger.value(q).number(), Some(Q64));
            ledger.add_q_if_negative(a)
        })
    }
    fn mul_wide(self, other: Self) -> [u32; N] {
        let product = self.both(other, |ledger, a, b| {
            let (a, b) = (ledger.value(a).bounds(), ledger.value(b).bounds());
            assert!(
                a.0 >= 0 && b.0 >= 0 && a.1 < Q64 && b.1 < Q64,
                "factors of a wide product are canonical"
            );
            ledger.root((a.0 * b.0, a.1 * b.1))
        });
        product.0
    }
    fn wide_zero(room: Bounds) -> [u32; N] {
        Self::splat(room, 0).0
    }
    fn add_wide(a: [u32; N], b: [u32; N]) -> [u32; N] {
        let sum = Interval(a).both(Interval(b), |ledger, a, b| {
            let (a, b) = (ledger.value(a).bounds(), ledger.value(b).bounds());
            ledger.root((a.0 + b.0, a.1 + b.1))
        });
        sum.0
    }
    fn mont_reduce(_: Bounds, x: [u32; N]) -> Self {
        Interval(x).each(|ledger, x| {
            let (low, high) = ledger.value(x).bounds();
            assert!(low >= 0 && high < Q64 << 31, "[{low}, {high}] is reduced");
            ledger.root((1 - Q64, Q64 - 1))
        })
    }
    fn mont_mul(self, _: Bounds, zeta: Self, quotient: Self, in_pairs: bool) -> Self {
        let number = |x: u32| ledger(|ledger| ledger.value(x).number()).expect("zetas are constants");
        for j in 0..N {
            let (zeta, quotient) = (number(zeta.0[j]), number(quotient.0[j]));
            assert!((0..Q64).contains(&zeta) && (zeta as i32).wrapping_mul(QINV) == quotient as i32);
        }
        assert!(!in_pairs || zeta.0.chunks(2).all(|two| two.iter().all(|x| number(*x) == number(two[0]))));
        self.each(|ledger, a| {
            let (low, high) = ledger.value(a).bounds();
            assert!(-256 * Q64 <= low && high <= 256 * Q64, "[{low}, {high}] is multiplied by a zeta");
            ledger.root((1 - Q64, Q64 - 1))
        })
    }
    fn exchange<const S: usize>(a: Self, b: Self) -> (Self, Self) {
        let place = |j: usize, upper: usize| if j & S == 0 { a.0[j | upper] } else { b.0[j & !S | upper] };
        (Interval(from_fn(|j| place(j, 0))), Interval(from_fn(|j| place(j, S))))
    }
    fn group(_: Bounds) -> [Self; 1] {
        unimplemented!("the transforms do without it")
    }
    fn unpack<const BITS: u32>(_: Bounds, _: &[u8]) -> [Self; 1] {
        unimplemented!("the transforms do without it")
    }
    fn pack<const BITS: u32>(_: [Self; 1], _: &mut [u8]) {
        unimplemented!("the transforms do without it")
    }
    fn count_from(_: Bounds, _: i32) -> Self {
        unimplemented!("the transforms do without it")
    }
    fn no_bytes(_: Bounds) {
        unimplemented!("the transforms do without it")
    }
    fn add_bytes((): (), _: &[u8]) {
        unimplemented!("the transforms do without it")
    }
    fn store_bytes((): (), _: &mut [u8]) {
        unimplemented!("the transforms do without it")
    }
    fn widen(_: Bounds, _: &[u8]) -> Self {
        unimplemented!("the transforms do without it")
    }
    fn keep_below(self, _: Self, _: Self, _: &mut [i32]) -> usize {
        unimplemented!("the transforms do without it")
    }
    fn any(self) -> bool {
        unimplemented!("the transforms do without it")
    }
    fn sum(self) -> i32 {
        unimplemented!("the transforms do without it")
    }
}

/// Memory that holds values within these bounds.
fn remember(w: &mut Coeffs, bounds: (i64, i64)) {
    let at = w.as_ptr_range();
    ledger(|ledger| {
        ledger.memory.push(at.start.addr()..at.end.addr());
        *w = from_fn(|_| ledger.root(bounds) as i32);
    });
}

/// The bounds of what memory holds, all together.
fn bounds_of(w: &Coeffs) -> (i64, i64) {
    let bounds = w.map(|number| ledger(|ledger| ledger.value(number as u32).bounds()));
    bounds.into_iter().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).expect("256 of them")
}

/// Runs a transform on values within these bounds: those of the answer, and the greatest that a butterfly makes.
fn run(transform: fn(Bounds, &mut Coeffs), bounds: (i64, i64)) -> ((i64, i64), i64) {
    ledger(|ledger| *ledger = Ledger::default());
    let mut w = [0; 256];
    remember(&mut w, bounds);
    transform(Bounds, &mut w);
    (bounds_of(&w), ledger(|ledger| ledger.greatest))
}

const CANONICAL: (i64, i64) = (0, Q64 - 1);

#[test]
fn ntt_stays_below_9q_and_ends_canonical() {
    for transform in [ntt::ntt::<Interval<1>>, ntt::ntt::<Interval<8>>, ntt::ntt::<Interval<16>>] {
        assert_eq!(run(transform, CANONICAL), (CANONICAL, 9 * (Q64 - 1)));
    }
}

#[test]
fn inv_ntt_stays_below_256q_and_ends_canonical() {
    for transform in [ntt::inv_ntt::<Interval<1>>, ntt::inv_ntt::<Interval<8>>, ntt::inv_ntt::<Interval<16>>]
    {
        assert_eq!(run(transform, CANONICAL), (CANONICAL, 256 * (Q64 - 1)));
    }
}

/// The bounds are not idle: coefficients that are only a little too large are noticed.
#[test]
#[should_panic(expected = "is multiplied by a zeta")]
fn inv_ntt_of_values_up_to_2q_is_refused() {
    run(ntt::inv_ntt::<Interval<1>>, (0, Q64 + 1));
}

#[test]
#[should_panic(expected = "overflows")]
fn ntt_of_values_up_to_256q_overflows() {
    run(ntt::ntt::<Interval<16>>, (0, 256 * Q64));
}

#[test]
fn sums_of_eight_products_are_reduced_and_end_canonical() {
    fn check<const N: usize>() {
        ledger(|ledger| *ledger = Ledger::default());
        let (mut a, mut b): ([NttPoly; 8], [NttPoly; 8]) =
            (from_fn(|_| NttPoly::ZERO), from_fn(|_| NttPoly::ZERO));
        a.iter_mut().chain(&mut b).for_each(|poly| remember(&mut poly.0, CANONICAL));
        let mut out = [0; 256];
        pointwise::dot::<Interval<N>>(Bounds, &a, &b, None, &mut out);
        assert_eq!(bounds_of(&out), CANONICAL);
        let (mut x, mut y) = ([0; 256], [0; 256]);
        remember(&mut x, CANONICAL);
        remember(&mut y, CANONICAL);
        pointwise::add::<Interval<N>>(Bounds, &mut x, &y);
        assert_eq!(bounds_of(&x), CANONICAL);
        pointwise::sub::<Interval<N>>(Bounds, &mut x, &y);
        assert_eq!(bounds_of(&x), CANONICAL);
    }
    check::<1>();
    check::<8>();
    check::<16>();
}
