//! Keccak-f\[1600\] (FIPS 202, 3.3), over the words of N states.

use crate::backend::Words;

/// Round constants by the linear feedback shift register of FIPS 202, Algorithm 5.
pub(crate) const RC: [u64; 24] = {
    let mut rc = [0; 24];
    let mut lfsr = 1u8;
    let mut round = 0;
    while round < 24 {
        let mut j = 0;
        while j < 7 {
            if lfsr & 1 == 1 {
                rc[round] |= 1 << ((1 << j) - 1);
            }
            let carry = lfsr >> 7;
            lfsr = lfsr << 1 ^ (carry * 0x71);
            j += 1;
        }
        round += 1;
    }
    rc
};

/// The permutation of `N` states at once: 24 rounds of θ, ρ, π, χ and ι.
#[inline(always)]
pub(crate) fn permute<W: Words>(a: &mut [W; 25]) {
    let mut s = W::complemented(*a);
    let mut i = 0;
    if W::THREE_INPUTS {
        while i < 24 {
            s = round(s, RC[i]);
            s = round(s, RC[i + 1]);
            i += 2;
        }
    } else {
        let (mut between, mut c) = (s, parities(&s));
        while i < 24 {
            c = round_by_rows(&s, c, &mut between, RC[i]);
            c = round_by_rows(&between, c, &mut s, RC[i + 1]);
            i += 2;
        }
    }
    *a = W::complemented(s);
}

/// x - 1 and x + 1 modulo 5.
const LEFT: [usize; 5] = [4, 0, 1, 2, 3];
const RIGHT: [usize; 5] = [1, 2, 3, 4, 0];

/// The sums of the columns, which θ begins with.
#[inline(always)]
fn parities<W: Words>(a: &[W; 25]) -> [W; 5] {
    macro_rules! parity {
        ($x:literal) => {
            a[$x].xor3(a[$x + 5], a[$x + 10]).xor3(a[$x + 15], a[$x + 20])
        };
    }
    [parity!(0), parity!(1), parity!(2), parity!(3), parity!(4)]
}

/// ρ and π as one table: row `$y` has the word at (x, y) turned left by R, which `$word!(x, y, R)` makes, in each place.
macro_rules! row {
    (0, $word:ident) => {
        [$word!(0, 0, 0), $word!(1, 1, 44), $word!(2, 2, 43), $word!(3, 3, 21), $word!(4, 4, 14)]
    };
    (1, $word:ident) => {
        [$word!(3, 0, 28), $word!(4, 1, 20), $word!(0, 2, 3), $word!(1, 3, 45), $word!(2, 4, 61)]
    };
    (2, $word:ident) => {
        [$word!(1, 0, 1), $word!(2, 1, 6), $word!(3, 2, 25), $word!(4, 3, 8), $word!(0, 4, 18)]
    };
    (3, $word:ident) => {
        [$word!(4, 0, 27), $word!(0, 1, 36), $word!(1, 2, 10), $word!(2, 3, 15), $word!(3, 4, 56)]
    };
    (4, $word:ident) => {
        [$word!(2, 0, 62), $word!(3, 1, 55), $word!(4, 2, 39), $word!(0, 3, 41), $word!(1, 4, 2)]
    };
}

/// One round (FIPS 202, 3.2), step by step: for words that have logic of three inputs, and registers for them all.
#[inline(always)]
fn round<W: Words>(a: [W; 25], rc: u64) -> [W; 25] {
    // θ
    let c = parities(&a);
    let turned = [c[0].rotl::<1>(), c[1].rotl::<1>(), c[2].rotl::<1>(), c[3].rotl::<1>(), c[4].rotl::<1>()];
    // the rest of θ, ρ and π: B[y, 2x + 3y] = rot(A[x, y] ^ C[x - 1] ^ rot(C[x + 1], 1)), written by place
    macro_rules! trp {
        ($x:literal, $y:literal, $r:literal) => {
            a[$x + 5 * $y].xor3(c[LEFT[$x]], turned[RIGHT[$x]]).rotl::<$r>()
        };
    }
    let [r0, r1, r2, r3, r4] = [row!(0, trp), row!(1, trp), row!(2, trp), row!(3, trp), row!(4, trp)];
    // χ
    let mut r0 = W::chi_row::<0>(r0);
    let (r1, r2) = (W::chi_row::<1>(r1), W::chi_row::<2>(r2));
    let (r3, r4) = (W::chi_row::<3>(r3), W::chi_row::<4>(r4));
    // ι
    r0[0] = r0[0].xor(W::splat(rc));
    [
        r0[0], r0[1], r0[2], r0[3], r0[4], r1[0], r1[1], r1[2], r1[3], r1[4], r2[0], r2[1], r2[2], r2[3],
        r2[4], r3[0], r3[1], r3[2], r3[3], r3[4], r4[0], r4[1], r4[2], r4[3], r4[4],
    ]
}

/// The same round from `a` to `e`, row by row, with the sums of the columns given and those of `e` returned: a row is
/// added to them while its words are still at hand. For words that do not all have a register.
#[inline(always)]
fn round_by_rows<W: Words>(a: &[W; 25], c: [W; 5], e: &mut [W; 25], rc: u64) -> [W; 5] {
    // θ
    macro_rules! sum {
        ($x:literal) => {
            c[LEFT[$x]].xor(c[RIGHT[$x]].rotl::<1>())
        };
    }
    let d = [sum!(0), sum!(1), sum!(2), sum!(3), sum!(4)];
    // the rest of θ, ρ and π
    macro_rules! trp {
        ($x:literal, $y:literal, $r:literal) => {
            a[$x + 5 * $y].xor(d[$x]).rotl::<$r>()
        };
    }
    // χ and ι
    let mut c = W::chi_row::<0>(row!(0, trp));
    c[0] = c[0].xor(W::splat(rc));
    [e[0], e[1], e[2], e[3], e[4]] = c;
    macro_rules! next {
        ($y:tt) => {
            let row = W::chi_row::<$y>(row!($y, trp));
            [e[5 * $y], e[5 * $y + 1], e[5 * $y + 2], e[5 * $y + 3], e[5 * $y + 4]] = row;
            c = [c[0].xor(row[0]), c[1].xor(row[1]), c[2].xor(row[2]), c[3].xor(row[3]), c[4].xor(row[4])];
        };
    }
    next!(1);
    next!(2);
    next!(3);
    next!(4);
    c
}
