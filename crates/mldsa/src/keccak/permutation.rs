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
    while i < 24 {
        s = round(s, RC[i]);
        s = round(s, RC[i + 1]);
        i += 2;
    }
    *a = W::complemented(s);
}

/// x - 1 and x + 1 modulo 5.
const LEFT: [usize; 5] = [4, 0, 1, 2, 3];
const RIGHT: [usize; 5] = [1, 2, 3, 4, 0];

/// One round (FIPS 202, 3.2). ρ and π are one table: word `from`, turned left by `R`, goes to the place it is named in.
#[inline(always)]
fn round<W: Words>(a: [W; 25], rc: u64) -> [W; 25] {
    // θ
    macro_rules! parity {
        ($x:literal) => {
            a[$x].xor3(a[$x + 5], a[$x + 10]).xor3(a[$x + 15], a[$x + 20])
        };
    }
    let c = [parity!(0), parity!(1), parity!(2), parity!(3), parity!(4)];
    let turned = [c[0].rotl::<1>(), c[1].rotl::<1>(), c[2].rotl::<1>(), c[3].rotl::<1>(), c[4].rotl::<1>()];
    // the rest of θ, ρ and π: B[y, 2x + 3y] = rot(A[x, y] ^ C[x - 1] ^ rot(C[x + 1], 1)), written by place
    macro_rules! trp {
        ($x:literal, $y:literal, $r:literal) => {
            a[$x + 5 * $y].xor3(c[LEFT[$x]], turned[RIGHT[$x]]).rotl::<$r>()
        };
    }
    let b = [
        [trp!(0, 0, 0), trp!(1, 1, 44), trp!(2, 2, 43), trp!(3, 3, 21), trp!(4, 4, 14)],
        [trp!(3, 0, 28), trp!(4, 1, 20), trp!(0, 2, 3), trp!(1, 3, 45), trp!(2, 4, 61)],
        [trp!(1, 0, 1), trp!(2, 1, 6), trp!(3, 2, 25), trp!(4, 3, 8), trp!(0, 4, 18)],
        [trp!(4, 0, 27), trp!(0, 1, 36), trp!(1, 2, 10), trp!(2, 3, 15), trp!(3, 4, 56)],
        [trp!(2, 0, 62), trp!(3, 1, 55), trp!(4, 2, 39), trp!(0, 3, 41), trp!(1, 4, 2)],
    ];
    // χ
    let [mut r0, r1, r2, r3, r4] = W::chi_of_rows(b);
    // ι
    r0[0] = r0[0].xor(W::splat(rc));
    [
        r0[0], r0[1], r0[2], r0[3], r0[4], r1[0], r1[1], r1[2], r1[3], r1[4], r2[0], r2[1], r2[2], r2[3],
        r2[4], r3[0], r3[1], r3[2], r3[3], r3[4], r4[0], r4[1], r4[2], r4[3], r4[4],
    ]
}
