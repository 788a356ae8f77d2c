//! What to look for: the secrets of a key and of a signature, computed a second time and slowly, in the forms in which they
//! may lie in memory.

use sealstone_mldsa::ParameterSet;
use sha3::Shake256;
use sha3::digest::{ExtendableOutput, Update, XofReader};
use std::collections::{BTreeMap, HashMap};

const Q: i64 = 8_380_417;
const HALF_Q: i32 = (Q / 2) as i32;

type Poly = [i32; 256];

/// Pieces of 16 bytes, and of which secret each is.
pub struct Secrets {
    pieces: HashMap<[u8; 16], &'static str>,
    /// One bit for each mark that a piece has: most of memory is passed over by it.
    marks: Vec<bool>,
}

impl Secrets {
    /// The secrets of a seed, its expanded key, and the first `attempts` attempts to sign with this rnd.
    pub fn of<P: ParameterSet>(xi: &[u8; 32], sk: &[u8], rnd: &[u8], mu: &[u8], attempts: usize) -> Self {
        let mut secrets = Secrets { pieces: HashMap::new(), marks: vec![false; 1 << 20] };
        let expanded = shake(&[xi, &[P::K as u8, P::L as u8]], 128);
        secrets.bytes("the seed", xi);
        secrets.bytes("ρ'", &expanded[32..96]);
        secrets.bytes("K", &expanded[96..]);
        let (k, mut rest) = (&sk[32..64], &sk[128..]);
        for (name, name_hat, count, bits, b) in [
            ("s1", "NTT(s1)", P::L, P::ETA_BITS, P::ETA),
            ("s2", "NTT(s2)", P::K, P::ETA_BITS, P::ETA),
            ("t0", "NTT(t0)", P::K, 13, 1 << 12),
        ] {
            for _ in 0..count {
                let (bytes, after) = rest.split_at(32 * bits as usize);
                rest = after;
                secrets.bytes(name, bytes);
                secrets.poly(name, name_hat, &unpack(bytes, bits as usize, b));
            }
        }
        let rho_pp = shake(&[k, rnd, mu], 64);
        secrets.bytes("ρ''", &rho_pp);
        for kappa in 0..attempts * P::L {
            let bytes = shake(&[&rho_pp, &(kappa as u16).to_le_bytes()], 32 * P::Z_BITS as usize);
            secrets.bytes("y", &bytes);
            secrets.poly("y", "NTT(y)", &unpack(&bytes, P::Z_BITS as usize, P::GAMMA1));
        }
        secrets
    }

    /// How many pieces of which secret lie in this memory.
    pub fn find(&self, memory: &[u8]) -> BTreeMap<&'static str, usize> {
        let mut found = BTreeMap::new();
        for window in memory.windows(16) {
            let Some(piece) = window.first_chunk() else { continue };
            if self.marks[mark(piece)]
                && let Some(name) = self.pieces.get(piece)
            {
                *found.entry(*name).or_default() += 1;
            }
        }
        found
    }

    fn insert(&mut self, piece: [u8; 16], name: &'static str) {
        self.marks[mark(&piece)] = true;
        self.pieces.insert(piece, name);
    }

    /// A secret string; also word by word, each twice, as it lies in Keccak states side by side.
    fn bytes(&mut self, name: &'static str, bytes: &[u8]) {
        for piece in bytes.windows(16) {
            self.insert(std::array::from_fn(|i| piece[i]), name);
        }
        for word in bytes.chunks_exact(8) {
            self.insert(std::array::from_fn(|i| word[i % 8]), name);
        }
    }

    /// Coefficients in [0, q), and signed, and their transform.
    fn poly(&mut self, name: &'static str, name_hat: &'static str, poly: &Poly) {
        self.coefficients(name, &poly.map(|x| i64::from(x).rem_euclid(Q) as i32), poly);
        self.coefficients(name, poly, poly);
        let hat = ntt(poly);
        self.coefficients(name_hat, &hat, &hat);
    }

    /// Four coefficients are a piece. Where they are small they must look like nothing public: no zeros, not all of them 1
    /// or -1, as in c, and not all above 0, as in h and in counters.
    fn coefficients(&mut self, name: &'static str, stored: &Poly, meant: &Poly) {
        for (stored, meant) in stored.windows(4).zip(meant.windows(4)) {
            if meant.iter().all(|x| *x != 0)
                && meant.iter().any(|x| x.abs() > 1)
                && meant.iter().any(|x| *x < 0 || *x > HALF_Q)
            {
                let piece = std::array::from_fn(|i| stored[i / 4].to_le_bytes()[i % 4]);
                self.insert(piece, name);
            }
        }
    }
}

/// 20 bits of a piece.
fn mark(piece: &[u8; 16]) -> usize {
    (u128::from_le_bytes(*piece).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) >> 108) as usize
}

fn shake(inputs: &[&[u8]], len: usize) -> Vec<u8> {
    let mut hash = Shake256::default();
    inputs.iter().for_each(|input| hash.update(input));
    let mut out = vec![0; len];
    hash.finalize_xof().read(&mut out);
    out
}

/// FIPS 204, Algorithm 19: b - x for each x of so many bits.
fn unpack(bytes: &[u8], bits: usize, b: i32) -> Poly {
    let bit = |at: usize| i32::from(bytes[at / 8] >> (at % 8) & 1);
    std::array::from_fn(|i| b - (0..bits).map(|j| bit(i * bits + j) << j).sum::<i32>())
}

/// FIPS 204, Algorithm 41.
fn ntt(w: &Poly) -> Poly {
    static POWERS: std::sync::LazyLock<[i64; 256]> = std::sync::LazyLock::new(|| {
        let mut powers = [1; 256];
        (1..256).for_each(|i| powers[i] = powers[i - 1] * 1753 % Q);
        powers
    });
    let mut w = w.map(i64::from);
    let mut m = 0_u8;
    for len in [128, 64, 32, 16, 8, 4, 2, 1] {
        for start in (0..256).step_by(2 * len) {
            m += 1;
            let zeta = POWERS[usize::from(m.reverse_bits())];
            for j in start..start + len {
                let t = zeta * w[j + len] % Q;
                w[j + len] = (w[j] - t) % Q;
                w[j] = (w[j] + t) % Q;
            }
        }
    }
    w.map(|x| x.rem_euclid(Q) as i32)
}
