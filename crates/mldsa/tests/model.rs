//! A second reading of FIPS 204, naive and slow, of as much as a verifier computes. It shares nothing with the
//! engine; signatures are forged with it (see `forge`).

use sha3::Shake128;
use sha3::digest::{ExtendableOutput, Update, XofReader};

use crate::vectors::oracle;
use crate::vectors::shape::{Q, Shape};

pub type Poly = [i32; 256];

/// x mod q in [0, q).
pub fn modulo(x: i64) -> i32 {
    i32::try_from(x.rem_euclid(i64::from(Q))).unwrap()
}

/// FIPS 204, Algorithm 30 and 32: Â, row by row.
pub fn expand_a(shape: &Shape, rho: &[u8]) -> Vec<Vec<Poly>> {
    let entry = |row: usize, column: usize| {
        let index = [u8::try_from(column).unwrap(), u8::try_from(row).unwrap()];
        let mut stream = Shake128::default().chain(rho).chain(index).finalize_xof();
        let mut poly = [0; 256];
        let mut filled = 0;
        while filled < 256 {
            let mut three = [0; 3];
            stream.read(&mut three);
            let value = i32::from(three[0]) | i32::from(three[1]) << 8 | i32::from(three[2] & 0x7f) << 16;
            if value < Q {
                poly[filled] = value;
                filled += 1;
            }
        }
        poly
    };
    (0..shape.k).map(|row| (0..shape.l).map(|column| entry(row, column)).collect()).collect()
}

/// ζ^brv(m) of Appendix B.
fn zeta(m: u8) -> i64 {
    (0..m.reverse_bits()).fold(1, |power, _| i64::from(modulo(power * 1753)))
}

/// FIPS 204, Algorithm 41.
pub fn ntt(w: &Poly) -> Poly {
    let mut w = *w;
    let mut m = 0;
    for len in [128, 64, 32, 16, 8, 4, 2, 1] {
        for start in (0..256).step_by(2 * len) {
            m += 1;
            let z = zeta(m);
            for j in start..start + len {
                let t = z * i64::from(w[j + len]);
                w[j + len] = modulo(i64::from(w[j]) - t);
                w[j] = modulo(i64::from(w[j]) + t);
            }
        }
    }
    w
}

/// FIPS 204, Algorithm 42.
pub fn inv_ntt(w: &Poly) -> Poly {
    let mut w = *w;
    let mut m = 0_u8;
    for len in [1, 2, 4, 8, 16, 32, 64, 128] {
        for start in (0..256).step_by(2 * len) {
            m = m.wrapping_sub(1);
            let z = -zeta(m);
            for j in start..start + len {
                let t = i64::from(w[j]);
                w[j] = modulo(t + i64::from(w[j + len]));
                w[j + len] = modulo(z * i64::from(modulo(t - i64::from(w[j + len]))));
            }
        }
    }
    w.map(|x| modulo(i64::from(x) * 8_347_681))
}

/// A·z.
pub fn product(a_hat: &[Vec<Poly>], z: &[Poly]) -> Vec<Poly> {
    let z_hat: Vec<Poly> = z.iter().map(|z| ntt(&z.map(|x| modulo(x.into())))).collect();
    let entry = |row: &Vec<Poly>, i: usize| {
        modulo(
            row.iter().zip(&z_hat).map(|(a, z)| i64::from(modulo(i64::from(a[i]) * i64::from(z[i])))).sum(),
        )
    };
    a_hat.iter().map(|row| inv_ntt(&std::array::from_fn(|i| entry(row, i)))).collect()
}

/// FIPS 204, Algorithm 36.
pub fn decompose(shape: &Shape, r: i32) -> (i32, i32) {
    let mut r0 = r.rem_euclid(2 * shape.gamma2);
    if r0 > shape.gamma2 {
        r0 -= 2 * shape.gamma2;
    }
    if r - r0 == Q - 1 { (0, r0 - 1) } else { ((r - r0) / (2 * shape.gamma2), r0) }
}

/// FIPS 204, Algorithm 40.
pub fn use_hint(shape: &Shape, hint: bool, r: i32) -> i32 {
    let m = (Q - 1) / (2 * shape.gamma2);
    match (hint, decompose(shape, r)) {
        (false, (r1, _)) => r1,
        (true, (r1, r0)) if r0 > 0 => (r1 + 1).rem_euclid(m),
        (true, (r1, _)) => (r1 - 1).rem_euclid(m),
    }
}

/// FIPS 204, Algorithm 28.
pub fn w1_encode(shape: &Shape, w1: &[Poly]) -> Vec<u8> {
    let bits = if shape.gamma2 == (Q - 1) / 88 { 6 } else { 4 };
    w1.iter().flat_map(|poly| pack(poly, bits)).collect()
}

/// FIPS 204, Algorithm 17 for z: γ1 - z, in 18 or 20 bits.
pub fn z_encode(shape: &Shape, z: &[Poly]) -> Vec<u8> {
    let bits = if shape.gamma1 == 1 << 17 { 18 } else { 20 };
    z.iter().flat_map(|poly| pack(&poly.map(|x| shape.gamma1 - x), bits)).collect()
}

/// The inverse of [`z_encode`] on a whole signature.
pub fn z_decode(shape: &Shape, signature: &[u8]) -> Vec<Poly> {
    let bits = if shape.gamma1 == 1 << 17 { 18 } else { 20 };
    let field = &signature[shape.c_tilde..shape.c_tilde + shape.l * 32 * bits];
    let bit = |poly: usize, at: usize| i32::from(field[poly * 32 * bits + at / 8] >> (at % 8) & 1);
    let value = |poly, i| (0..bits).map(|j| bit(poly, i * bits + j) << j).sum::<i32>();
    (0..shape.l).map(|poly| std::array::from_fn(|i| shape.gamma1 - value(poly, i))).collect()
}

/// FIPS 204, Algorithms 1, 22 and 24 for chosen s1 and s2, even ones out of range: the public key, and an expanded
/// key that agrees with itself. Coefficients of s1 and s2 in [-η - excess, η], as their bits allow.
pub fn keys_of(shape: &Shape, rho: &[u8; 32], k: &[u8; 32], s1: &[Poly], s2: &[Poly]) -> (Vec<u8>, Vec<u8>) {
    let t: Vec<Poly> = product(&expand_a(shape, rho), s1)
        .iter()
        .zip(s2)
        .map(|(a, b)| std::array::from_fn(|i| modulo(i64::from(a[i]) + i64::from(b[i]))))
        .collect();
    let low = |x: i32| (x + 4095).rem_euclid(8192) - 4095;
    let t1 = t.iter().flat_map(|t| pack(&t.map(|x| (x - low(x)) >> 13), 10));
    let public: Vec<u8> = rho.iter().copied().chain(t1).collect();
    let bits = if shape.eta == 2 { 3 } else { 4 };
    let secrets = s1.iter().chain(s2).flat_map(|s| pack(&s.map(|x| shape.eta - x), bits));
    let t0 = t.iter().flat_map(|t| pack(&t.map(|x| 4096 - low(x)), 13));
    let fixed = [&rho[..], k, &oracle::shake256::<64>(&[&public])].concat();
    let private = fixed.into_iter().chain(secrets).chain(t0).collect();
    (public, private)
}

fn pack(poly: &Poly, bits: usize) -> Vec<u8> {
    let mut bytes = vec![0; 32 * bits];
    for at in 0..256 * bits {
        bytes[at / 8] |= u8::try_from(poly[at / bits] >> (at % bits) & 1).unwrap() << (at % 8);
    }
    bytes
}

/// The commitment hash of a verifier that sees these hints, for a public key with t1 = 0.
pub fn commitment(shape: &Shape, mu: &[u8; 64], w: &[Poly], hints: &[Vec<bool>]) -> Vec<u8> {
    let w1: Vec<Poly> = w
        .iter()
        .zip(hints)
        .map(|(w, hints)| std::array::from_fn(|i| use_hint(shape, hints[i], w[i])))
        .collect();
    commitment_of(shape, mu, &w1)
}

/// H(μ || w1Encode(w1)).
pub fn commitment_of(shape: &Shape, mu: &[u8; 64], w1: &[Poly]) -> Vec<u8> {
    oracle::shake256::<64>(&[mu, &w1_encode(shape, w1)])[..shape.c_tilde].to_vec()
}
