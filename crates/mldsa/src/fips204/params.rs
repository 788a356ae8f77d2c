//! FIPS 204, Table 1 (the parameter sets) and Table 2 (their sizes), with the array types that go with them.

use crate::ct::Wipe;
use crate::level::Level;

/// q = 2^23 - 2^13 + 1.
pub(crate) const Q: i32 = (1 << 23) - (1 << 13) + 1;
/// (q - 1)/2, the largest representative mod± q.
pub(crate) const HALF_Q: i32 = (Q - 1) >> 1;
/// d: dropped bits from t.
pub(crate) const D: u32 = 13;
#[allow(clippy::integer_division_remainder_used, reason = "constants")]
mod gamma2 {
    use super::Q;
    /// γ2 = (q-1)/88 of ML-DSA-44.
    pub(crate) const GAMMA2_88: i32 = (Q - 1) / 88;
    /// γ2 = (q-1)/32 of ML-DSA-65 and ML-DSA-87.
    pub(crate) const GAMMA2_32: i32 = (Q - 1) / 32;
}
pub(crate) use gamma2::{GAMMA2_32, GAMMA2_88};
/// Attempts after which signing gives up. Appendix C asks for at least 814; its revision for at least 821.
pub(crate) const MAX_ATTEMPTS: u32 = 821;

/// What an array of this crate may hold.
pub trait Element: Clone + Send + Sync + Wipe {}
impl<T: Clone + Send + Sync + Wipe> Element for T {}

/// `[T; N]` where N belongs to a parameter set: stable Rust cannot write `[T; P::K]`.
pub trait Array<T>: AsRef<[T]> + AsMut<[T]> + Clone + Send + Sync {
    /// The array of f(0), f(1), …
    fn from_fn(f: impl FnMut(usize) -> T) -> Self;
    /// Number of elements.
    const LEN: usize;
}

impl<T: Clone + Send + Sync, const N: usize> Array<T> for [T; N] {
    const LEN: usize = N;
    #[inline(always)]
    fn from_fn(f: impl FnMut(usize) -> T) -> Self {
        core::array::from_fn(f)
    }
}

/// One column of Table 1. Reachable by the public trait `ParameterSet` only, so that nobody adds a fourth.
pub trait Params: Copy + Send + Sync + 'static {
    /// The same set as a value.
    const LEVEL: Level;
    /// Rows of Â.
    const K: usize;
    /// Columns of Â.
    const L: usize;
    /// Private key range.
    const ETA: i32;
    /// Number of ±1's in c.
    const TAU: usize;
    /// Collision strength of c̃ in bits.
    const LAMBDA: usize;
    /// Coefficient range of y.
    const GAMMA1: i32;
    /// Low-order rounding range.
    const GAMMA2: i32;
    /// Maximum number of 1's in the hint h.
    const OMEGA: usize;

    /// β = τ·η.
    const BETA: i32 = Self::TAU as i32 * Self::ETA;
    /// Bits of a coefficient of s1, s2: bitlen 2η.
    const ETA_BITS: u32 = (2 * Self::ETA).ilog2() + 1;
    /// Bits of a coefficient of z: 1 + bitlen (γ1 - 1).
    const Z_BITS: u32 = 1 + (Self::GAMMA1 - 1).ilog2() + 1;
    /// Bits of a coefficient of w1: bitlen ((q-1)/(2γ2) - 1).
    #[allow(clippy::integer_division_remainder_used, reason = "a constant")]
    const W1_BITS: u32 = ((Q - 1) / (2 * Self::GAMMA2) - 1).ilog2() + 1;
    /// Bytes of w1Encode(w1) (Algorithm 28): at most 1024.
    const W1_LEN: usize = 32 * Self::K * Self::W1_BITS as usize;
    /// Bytes of c̃: λ/4.
    const C_TILDE_LEN: usize = Self::LAMBDA >> 2;
    /// Bytes of a public key (Algorithm 22).
    const PK_LEN: usize = 32 + 32 * Self::K * (23 - D as usize);
    /// Bytes of an expanded private key (Algorithm 24).
    const SK_LEN: usize = 128 + 32 * ((Self::K + Self::L) * Self::ETA_BITS as usize + D as usize * Self::K);
    /// Bytes of a signature (Algorithm 26).
    const SIG_LEN: usize = Self::C_TILDE_LEN + Self::L * 32 * Self::Z_BITS as usize + Self::OMEGA + Self::K;

    /// `[T; k]`.
    type K_<T: Element>: Array<T> + Element;
    /// `[T; l]`.
    type L_<T: Element>: Array<T> + Element;
    /// `[T; k·l]`.
    type KL_<T: Element>: Array<T> + Element;
    /// An encoded public key.
    type Pk: Array<u8> + Element;
    /// An encoded expanded private key.
    type Sk: Array<u8> + Element;
    /// An encoded signature.
    type Sig: Array<u8> + Element;
    /// The challenge hash c̃.
    type CTilde: Array<u8> + Element;

    /// Each array type is as long as its formula says.
    const LENGTHS_AGREE: () = assert!(
        <Self::K_<[u8; 1]> as Array<[u8; 1]>>::LEN == Self::K
            && <Self::L_<[u8; 1]> as Array<[u8; 1]>>::LEN == Self::L
            && <Self::KL_<[u8; 1]> as Array<[u8; 1]>>::LEN == Self::K * Self::L
            && <Self::Pk as Array<u8>>::LEN == Self::PK_LEN
            && <Self::Sk as Array<u8>>::LEN == Self::SK_LEN
            && <Self::Sig as Array<u8>>::LEN == Self::SIG_LEN
            && <Self::CTilde as Array<u8>>::LEN == Self::C_TILDE_LEN
    );
}

/// One column of Table 1 as a value, for code that stands once for all of them. What a letter means, [`Params`] says.
#[derive(Clone, Copy)]
pub(crate) struct Set {
    pub(crate) k: usize,
    pub(crate) l: usize,
    pub(crate) eta: i32,
    pub(crate) tau: usize,
    pub(crate) gamma1: i32,
    pub(crate) gamma2: i32,
    pub(crate) beta: i32,
    pub(crate) omega: usize,
    pub(crate) eta_bits: u32,
    pub(crate) z_bits: u32,
    pub(crate) w1_bits: u32,
    pub(crate) c_tilde_len: usize,
}

impl Set {
    /// The column of a parameter set.
    pub(crate) const fn of<P: Params>() -> &'static Self {
        const {
            &Set {
                k: P::K,
                l: P::L,
                eta: P::ETA,
                tau: P::TAU,
                gamma1: P::GAMMA1,
                gamma2: P::GAMMA2,
                beta: P::BETA,
                omega: P::OMEGA,
                eta_bits: P::ETA_BITS,
                z_bits: P::Z_BITS,
                w1_bits: P::W1_BITS,
                c_tilde_len: P::C_TILDE_LEN,
            }
        }
    }

    /// Bytes of a polynomial of s1 or s2.
    pub(crate) const fn secret_len(&self) -> usize {
        32 * self.eta_bits as usize
    }

    /// Bytes of a polynomial of z.
    pub(crate) const fn z_len(&self) -> usize {
        32 * self.z_bits as usize
    }
}

/// ML-DSA-44, security category 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MlDsa44;
/// ML-DSA-65, security category 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MlDsa65;
/// ML-DSA-87, security category 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MlDsa87;

impl Params for MlDsa44 {
    const LEVEL: Level = Level::MlDsa44;
    const K: usize = 4;
    const L: usize = 4;
    const ETA: i32 = 2;
    const TAU: usize = 39;
    const LAMBDA: usize = 128;
    const GAMMA1: i32 = 1 << 17;
    const GAMMA2: i32 = GAMMA2_88;
    const OMEGA: usize = 80;
    type K_<T: Element> = [T; 4];
    type L_<T: Element> = [T; 4];
    type KL_<T: Element> = [T; 16];
    type Pk = [u8; 1312];
    type Sk = [u8; 2560];
    type Sig = [u8; 2420];
    type CTilde = [u8; 32];
}

impl Params for MlDsa65 {
    const LEVEL: Level = Level::MlDsa65;
    const K: usize = 6;
    const L: usize = 5;
    const ETA: i32 = 4;
    const TAU: usize = 49;
    const LAMBDA: usize = 192;
    const GAMMA1: i32 = 1 << 19;
    const GAMMA2: i32 = GAMMA2_32;
    const OMEGA: usize = 55;
    type K_<T: Element> = [T; 6];
    type L_<T: Element> = [T; 5];
    type KL_<T: Element> = [T; 30];
    type Pk = [u8; 1952];
    type Sk = [u8; 4032];
    type Sig = [u8; 3309];
    type CTilde = [u8; 48];
}

impl Params for MlDsa87 {
    const LEVEL: Level = Level::MlDsa87;
    const K: usize = 8;
    const L: usize = 7;
    const ETA: i32 = 2;
    const TAU: usize = 60;
    const LAMBDA: usize = 256;
    const GAMMA1: i32 = 1 << 19;
    const GAMMA2: i32 = GAMMA2_32;
    const OMEGA: usize = 75;
    type K_<T: Element> = [T; 8];
    type L_<T: Element> = [T; 7];
    type KL_<T: Element> = [T; 56];
    type Pk = [u8; 2592];
    type Sk = [u8; 4896];
    type Sig = [u8; 4627];
    type CTilde = [u8; 64];
}

const _: () = (MlDsa44::LENGTHS_AGREE, MlDsa65::LENGTHS_AGREE, MlDsa87::LENGTHS_AGREE).0;
