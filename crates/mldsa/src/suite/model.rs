//! FIPS 204 and FIPS 202 a second time: naive, slow, and taken from the text step by step.
#![allow(clippy::integer_division_remainder_used, reason = "naive on purpose, and nothing here is secret")]

use crate::fips204::params::Q;

/// m mod± a: the representative in (-⌈a/2⌉, ⌊a/2⌋] (section 2.3).
pub(super) fn mod_pm(m: i64, a: i64) -> i64 {
    let r = m.rem_euclid(a);
    if r > a / 2 { r - a } else { r }
}

pub(super) fn mod_q(m: i64) -> i32 {
    m.rem_euclid(i64::from(Q)) as i32
}

/// Algorithm 35.
pub(super) fn power2round(r: i32) -> (i32, i32) {
    let r0 = mod_pm(r.into(), 1 << 13) as i32;
    ((r - r0) / (1 << 13), mod_q(r0.into()))
}

/// Algorithm 36.
pub(super) fn decompose(gamma2: i32, r: i32) -> (i32, i32) {
    let r0 = mod_pm(r.into(), (2 * gamma2).into()) as i32;
    if r - r0 == Q - 1 { (0, r0 - 1) } else { ((r - r0) / (2 * gamma2), r0) }
}

/// Algorithm 39.
pub(super) fn make_hint(gamma2: i32, z: i32, r: i32) -> i32 {
    let v1 = decompose(gamma2, mod_q(i64::from(r) + i64::from(z))).0;
    i32::from(decompose(gamma2, r).0 != v1)
}

/// Algorithm 40.
pub(super) fn use_hint(gamma2: i32, h: i32, r: i32) -> i32 {
    let m = (Q - 1) / (2 * gamma2);
    let (r1, r0) = decompose(gamma2, r);
    match (h, r0 > 0) {
        (1, true) => (r1 + 1).rem_euclid(m),
        (1, false) => (r1 - 1).rem_euclid(m),
        _ => r1,
    }
}

/// ζ^e mod q.
fn zeta_to(e: u32) -> i64 {
    (0..e % 512).fold(1, |power, _| power * 1753 % i64::from(Q))
}

/// w(ζ^(2·BitRev8(i) + 1)) for each i: what the transform is, before anybody makes it fast (section 2.5).
pub(super) fn ntt(w: &[i32; 256]) -> [i32; 256] {
    core::array::from_fn(|i| {
        let root = zeta_to(2 * u32::from((i as u8).reverse_bits()) + 1);
        mod_q(w.iter().rev().fold(0, |sum, &x| (sum * root + i64::from(x)) % i64::from(Q)))
    })
}

/// The product in Z_q[X]/(X^256 + 1).
pub(super) fn product(a: &[i32; 256], b: &[i32; 256]) -> [i32; 256] {
    let mut sum = [0i64; 256];
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in b.iter().enumerate() {
            let term = i64::from(x) * i64::from(y) % i64::from(Q);
            sum[(i + j) % 256] += if i + j < 256 { term } else { -term };
        }
    }
    sum.map(mod_q)
}

/// Algorithms 9 and 12: bits of each value, lowest first, then eight bits a byte.
pub(super) fn pack(bits: u32, values: impl Iterator<Item = i32>) -> std::vec::Vec<u8> {
    let all: std::vec::Vec<u8> = values.flat_map(|x| (0..bits).map(move |i| (x >> i & 1) as u8)).collect();
    all.chunks(8).map(|byte| byte.iter().rev().fold(0, |b, bit| 2 * b + bit)).collect()
}

/// Keccak-f[1600] on bits A[x, y, z] by FIPS 202, Algorithms 1 to 4 and 6, with words for the z direction.
pub(super) fn keccak_f(a: &mut [u64; 25]) {
    let mut lfsr = 1u16;
    for _ in 0..24 {
        let c: [u64; 5] = core::array::from_fn(|x| (0..5).fold(0, |p, y| p ^ a[x + 5 * y]));
        let d: [u64; 5] = core::array::from_fn(|x| c[(x + 4) % 5] ^ c[(x + 1) % 5].rotate_left(1));
        let theta: [u64; 25] = core::array::from_fn(|i| a[i] ^ d[i % 5]);
        let mut rho = theta;
        let (mut x, mut y) = (1, 0);
        for t in 0..24u32 {
            rho[x + 5 * y] = theta[x + 5 * y].rotate_left((t + 1) * (t + 2) / 2 % 64);
            (x, y) = (y, (2 * x + 3 * y) % 5);
        }
        let pi: [u64; 25] = core::array::from_fn(|i| rho[(i % 5 + 3 * (i / 5)) % 5 + 5 * (i % 5)]);
        *a = core::array::from_fn(|i| {
            let (x, y) = (i % 5, i / 5);
            pi[i] ^ (!pi[(x + 1) % 5 + 5 * y] & pi[(x + 2) % 5 + 5 * y])
        });
        for j in 0..7 {
            a[0] ^= u64::from(lfsr & 1) << ((1 << j) - 1);
            lfsr = (lfsr << 1) ^ (if lfsr & 0x80 != 0 { 0x171 } else { 0 });
        }
    }
}
