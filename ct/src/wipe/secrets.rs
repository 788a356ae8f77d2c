//! What to look for: the secrets of a key and of a signature, computed a second time and slowly, in the forms in which they
//! may lie in memory.

use sealstone_mldsa::ParameterSet;
use sha3::digest::{ExtendableOutput, Update, XofReader};
use sha3::{Shake128, Shake256};
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

const Q: i64 = 8_380_417;
/// 2^-32 mod q.
const R_INVERSE: i64 = 8_265_825;
const HALF_Q: i32 = (Q / 2) as i32;

type Poly = [i32; 256];

/// Pieces of 16 bytes, and of which secret each is; and words that tell enough alone.
pub struct Secrets {
    pieces: HashMap<[u8; 16], &'static str>,
    words: HashMap<[u8; 8], &'static str>,
    /// One bit for each mark that a piece has, or a word written twice: most of memory is passed over by it.
    marks: Vec<bool>,
}

impl Secrets {
    /// The secrets of a seed, its expanded key, and the first attempts to sign with this rnd: those that are `refused`, the
    /// accepted one, whose c̃ is given, and `ahead` more.
    pub fn of<P: ParameterSet>(
        xi: &[u8; 32],
        sk: &[u8],
        rnd: &[u8],
        mu: &[u8],
        (refused, ahead): (usize, usize),
        c_tilde: &[u8],
    ) -> Self {
        let mut secrets =
            Secrets { pieces: HashMap::new(), words: HashMap::new(), marks: vec![false; 1 << 20] };
        let expanded = shake(&[xi, &[P::K as u8, P::L as u8]], 128);
        secrets.bytes("the seed", xi);
        secrets.bytes("ρ'", &expanded[32..96]);
        secrets.bytes("K", &expanded[96..]);
        let [customization, short, long] = MAC_OF;
        for state in [short, long].into_iter().flat_map(|message| mac_states(xi, customization, message)) {
            secrets.bytes("the state of a MAC", &state);
            secrets.words("a word of a MAC's state", &state);
        }
        secrets.sponge("SHAKE256(ξ)", &[xi], 32, 32);
        secrets.sponge("H(ξ)", &[xi, &[P::K as u8, P::L as u8]], 128, 32);
        for r in 0..(P::K + P::L) as u16 {
            secrets.sponge("the stream of s1 and s2", &[&expanded[32..96], &r.to_le_bytes()], 272, 0);
        }
        let (rho, k, mut rest) = (&sk[..32], &sk[32..64], &sk[128..]);
        let a_hat = expand_a(rho, P::K, P::L);
        let c = sample_in_ball(c_tilde, P::TAU);
        let minus_c_hat = ntt(&c).map(|x| -x);
        let mut s2_hat = Vec::new();
        for (name, name_hat, product_name, count, bits, b) in [
            ("s1", "NTT(s1)", "c·s1", P::L, P::ETA_BITS, P::ETA),
            ("s2", "NTT(s2)", "c·s2", P::K, P::ETA_BITS, P::ETA),
            ("t0", "NTT(t0)", "c·t0", P::K, 13, 1 << 12),
        ] {
            for _ in 0..count {
                let (bytes, after) = rest.split_at(32 * bits as usize);
                rest = after;
                secrets.bytes(name, bytes);
                let poly = unpack(bytes, bits as usize, b);
                secrets.poly(name, name_hat, &poly);
                if name == "s2" {
                    s2_hat.push(ntt(&poly));
                }
                if b == P::ETA {
                    secrets.shifts(name, product_name, &c, &poly, b);
                } else {
                    let product = inverse_ntt(&product(&[ntt(&c)], &[ntt(&poly)]));
                    secrets.uniform(product_name, &product);
                    secrets
                        .uniform(product_name, &product.map(|x| if x > HALF_Q { x - Q as i32 } else { x }));
                }
            }
        }
        let rho_pp = shake(&[k, rnd, mu], 64);
        secrets.bytes("ρ''", &rho_pp);
        secrets.sponge("H(K, rnd, μ)", &[k, rnd, mu], 64, 0);
        for attempt in 0..=refused + ahead {
            let mut y_hat = Vec::new();
            for kappa in attempt * P::L..(attempt + 1) * P::L {
                let bytes = shake(&[&rho_pp, &(kappa as u16).to_le_bytes()], 32 * P::Z_BITS as usize);
                secrets.bytes("y", &bytes);
                secrets.sponge("the stream of y", &[&rho_pp, &(kappa as u16).to_le_bytes()], bytes.len(), 0);
                let y = unpack(&bytes, P::Z_BITS as usize, P::GAMMA1);
                secrets.poly("y", "NTT(y)", &y);
                y_hat.push(ntt(&y));
            }
            for (row, s2_hat) in a_hat.chunks_exact(P::L).zip(&s2_hat) {
                let w_hat = product(row, &y_hat);
                secrets.uniform("w", &inverse_ntt(&w_hat));
                // As a sum of products in Montgomery's form.
                secrets.uniform("NTT(w)", &w_hat.map(|x| (i64::from(x) * R_INVERSE % Q) as i32));
                if attempt == refused {
                    let w_hat = product(&[[1; 256], minus_c_hat], &[w_hat, *s2_hat]);
                    secrets.uniform("w - c·s2", &inverse_ntt(&w_hat));
                }
            }
        }
        secrets
    }

    /// Without the pieces that lie in this memory, where nothing secret was, and without the words of this signature: where c·s1 is
    /// zero for a few coefficients, z there is y.
    pub fn without(mut self, memory: &[u8], signature: &[u8]) -> Self {
        for window in signature.windows(8) {
            if let Some(word) = window.first_chunk() {
                self.words.remove(word);
            }
        }
        for window in memory.windows(16) {
            if let Some(piece) = window.first_chunk() {
                self.pieces.remove(piece);
            }
        }
        self
    }

    /// How many pieces of which secret lie in this memory, and words where words may start.
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
        for word in memory.as_chunks::<8>().0 {
            if self.marks[mark(&twice(word))]
                && let Some(name) = self.words.get(word)
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
        for word in bytes.as_chunks().0 {
            self.insert(twice(word), name);
        }
    }

    /// The words of the states that hash secrets, but for those of the output that are public.
    fn sponge(&mut self, name: &'static str, inputs: &[&[u8]], len: usize, public: usize) {
        for state in shake_states(inputs, len) {
            self.words(name, &state[public..]);
        }
    }

    /// A permutation keeps the words of its state one by one, in no order.
    fn words(&mut self, name: &'static str, bytes: &[u8]) {
        for word in bytes.as_chunks().0 {
            self.marks[mark(&twice(word))] = true;
            self.words.insert(*word, name);
        }
    }

    /// Coefficients in [0, q), and signed, and their transform.
    fn poly(&mut self, name: &'static str, name_hat: &'static str, poly: &Poly) {
        self.coefficients(name, &poly.map(|x| i64::from(x).rem_euclid(Q) as i32), poly);
        self.coefficients(name, poly, poly);
        let hat = ntt(poly);
        self.coefficients(name_hat, &hat, &hat);
    }

    /// Coefficients in [0, q) that are spread over it, in words and in 24 bits each.
    fn uniform(&mut self, name: &'static str, poly: &Poly) {
        let words: Vec<u8> = poly.iter().flat_map(|x| x.to_le_bytes()).collect();
        for piece in words.windows(16).step_by(4).filter_map(<[u8]>::first_chunk) {
            self.insert(*piece, name);
        }
        let packed: Vec<u8> = poly.iter().flat_map(|x| x.to_le_bytes().into_iter().take(3)).collect();
        for piece in packed.windows(16).filter_map(<[u8]>::first_chunk) {
            self.insert(*piece, name);
        }
    }

    /// A small polynomial as its products with ±X^i are read, η - x and η + x, and the sums of as many of these as fit a
    /// byte: with the signature's c, a product gives the polynomial away.
    fn shifts(&mut self, name: &'static str, product: &'static str, c: &Poly, s: &Poly, eta: i32) {
        let bytes = |poly: &Poly| poly.map(|x| x as u8);
        for small in [s.map(|x| eta - x), s.map(|x| eta + x)] {
            self.windows(name, &bytes(&small));
        }
        let places: Vec<usize> = (0..256).filter(|i| c[*i] != 0).collect();
        for places in places.chunks(if eta == 2 { 63 } else { 31 }) {
            let mut sums = [0; 256];
            for i in places {
                for (n, sum) in sums.iter_mut().enumerate() {
                    let x = if n >= *i { s[n - i] } else { -s[256 + n - i] };
                    *sum += eta + c[*i] * x;
                }
            }
            self.windows(product, &bytes(&sums));
        }
    }

    /// All pieces of a string.
    fn windows(&mut self, name: &'static str, bytes: &[u8]) {
        for piece in bytes.windows(16).filter_map(<[u8]>::first_chunk) {
            self.insert(*piece, name);
        }
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

fn twice(word: &[u8; 8]) -> [u8; 16] {
    std::array::from_fn(|i| word[i % 8])
}

/// 20 bits of a piece.
fn mark(piece: &[u8; 16]) -> usize {
    (u128::from_le_bytes(*piece).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) >> 108) as usize
}

/// What `run` feeds to KMAC256: customization, a message of less than a block, and one of more than two.
pub const MAC_OF: [&[u8]; 3] = [b"greeting", b"good morning", &[7; 300]];

/// The states of KMAC256 from its key on, the last without the tag of 32 bytes: who has one can make tags. SP 800-185, 4.3.
fn mac_states(key: &[u8; 32], customization: &[u8], message: &[u8]) -> Vec<Vec<u8>> {
    let encoded = |string: &[u8]| [&[1, 8 * string.len() as u8][..], string].concat();
    let mut input = [&[1, 136][..], &encoded(b"KMAC"), &encoded(customization)].concat();
    input.resize(136, 0);
    input.extend([&[1, 136, 2, 1, 0][..], key].concat());
    input.resize(2 * 136, 0);
    input.extend([message, &[1, 0, 2]].concat());
    let mut states = states_of(input, 0x04, 32).split_off(1);
    states.last_mut().map(|ended| ended.drain(..32));
    states
}

/// The states of SHAKE256, after each block of its input and each of its output: from one, those before it can be computed, the
/// input too.
fn shake_states(inputs: &[&[u8]], len: usize) -> Vec<Vec<u8>> {
    states_of(inputs.concat(), 0x1f, len)
}

/// The states of a sponge with blocks of 136 bytes. FIPS 202, 4; the suffix has the first bit of the padding.
fn states_of(mut input: Vec<u8>, suffix: u8, len: usize) -> Vec<Vec<u8>> {
    input.push(suffix);
    input.resize(input.len().next_multiple_of(136), 0);
    input.last_mut().into_iter().for_each(|last| *last |= 0x80);
    let more = len.div_ceil(136).saturating_sub(1);
    input.resize(input.len() + 136 * more, 0);
    let mut state = [0; 25];
    let absorb_and_permute = |block: &[u8]| {
        for (word, bytes) in state.iter_mut().zip(block.as_chunks().0) {
            *word ^= u64::from_le_bytes(*bytes);
        }
        keccak::f1600(&mut state);
        state.iter().flat_map(|word| word.to_le_bytes()).collect()
    };
    input.chunks_exact(136).map(absorb_and_permute).collect()
}

fn shake(inputs: &[&[u8]], len: usize) -> Vec<u8> {
    let mut hash = Shake256::default();
    inputs.iter().for_each(|input| hash.update(input));
    let mut out = vec![0; len];
    hash.finalize_xof().read(&mut out);
    out
}

/// FIPS 204, Algorithm 29.
fn sample_in_ball(c_tilde: &[u8], tau: usize) -> Poly {
    let stream = shake(&[c_tilde], 1000);
    let signs = u64::from_le_bytes(std::array::from_fn(|i| stream[i]));
    let mut stream = stream[8..].iter().map(|byte| usize::from(*byte));
    let mut c = [0; 256];
    for i in 256 - tau..256 {
        let j = stream.find(|j| *j <= i).unwrap_or_default();
        c[i] = c[j];
        c[j] = 1 - 2 * (signs >> (i + tau - 256) & 1) as i32;
    }
    c
}

/// FIPS 204, Algorithm 19: b - x for each x of so many bits.
fn unpack(bytes: &[u8], bits: usize, b: i32) -> Poly {
    let bit = |at: usize| i32::from(bytes[at / 8] >> (at % 8) & 1);
    std::array::from_fn(|i| b - (0..bits).map(|j| bit(i * bits + j) << j).sum::<i32>())
}

/// FIPS 204, Algorithms 30 and 32: Â, row by row.
fn expand_a(rho: &[u8], k: usize, l: usize) -> Vec<Poly> {
    let entry = |n: usize| {
        let mut hash = Shake128::default();
        hash.update(rho);
        hash.update(&[(n % l) as u8, (n / l) as u8]);
        let mut stream = hash.finalize_xof();
        let mut number = || {
            let mut bytes = [0; 3];
            stream.read(&mut bytes);
            i32::from_le_bytes([bytes[0], bytes[1], bytes[2] & 127, 0])
        };
        std::array::from_fn(|_| {
            loop {
                let x = number();
                if i64::from(x) < Q {
                    return x;
                }
            }
        })
    };
    (0..k * l).map(entry).collect()
}

/// The product of a row and a column, in T_q.
fn product(row: &[Poly], column: &[Poly]) -> Poly {
    std::array::from_fn(|i| {
        let sum: i64 = row.iter().zip(column).map(|(a, b)| i64::from(a[i]) * i64::from(b[i]) % Q).sum();
        sum.rem_euclid(Q) as i32
    })
}

/// The powers of ζ.
static POWERS: LazyLock<[i64; 256]> = LazyLock::new(|| {
    let mut powers = [1; 256];
    (1..256).for_each(|i| powers[i] = powers[i - 1] * 1753 % Q);
    powers
});

/// FIPS 204, Algorithm 41.
fn ntt(w: &Poly) -> Poly {
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

/// FIPS 204, Algorithm 42.
fn inverse_ntt(w_hat: &Poly) -> Poly {
    let mut w = w_hat.map(i64::from);
    let mut m = 0_u8; // 256
    for len in [1, 2, 4, 8, 16, 32, 64, 128] {
        for start in (0..256).step_by(2 * len) {
            m = m.wrapping_sub(1);
            let zeta = -POWERS[usize::from(m.reverse_bits())];
            for j in start..start + len {
                let t = w[j];
                w[j] = (t + w[j + len]) % Q;
                w[j + len] = zeta * ((t - w[j + len]) % Q) % Q;
            }
        }
    }
    w.map(|x| (x * 8_347_681 % Q).rem_euclid(Q) as i32) // 256^-1
}
