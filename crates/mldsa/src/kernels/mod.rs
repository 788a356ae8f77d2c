//! Loops over one polynomial, each written once over [`Lanes`](crate::backend::Lanes). No `unsafe`, no intrinsics, no
//! parameter sets: a room stamps these functions with its own lanes, and `fips204/` calls the stamped ones.

pub(crate) mod ball;
pub(crate) mod norm;
pub(crate) mod ntt;
pub(crate) mod pack;
pub(crate) mod pointwise;
#[cfg(test)]
pub(crate) mod probe;
pub(crate) mod reject;
pub(crate) mod round;

use crate::fips204::params::Q;

/// q^-1 mod 2^32, by Newton's iteration: each step doubles the number of right bits.
pub(crate) const QINV: i32 = {
    let mut x = 1i32;
    let mut step = 0;
    while step < 5 {
        x = x.wrapping_mul(2i32.wrapping_sub(Q.wrapping_mul(x)));
        step += 1;
    }
    x
};
const _: () = assert!(QINV.wrapping_mul(Q) == 1);
