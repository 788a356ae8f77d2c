//! The standard, in the standard's order. No `unsafe`, no `cfg`, no intrinsics; docs/spec-map.md finds each algorithm by number.
//!
//! | algorithms | where |
//! |---|---|
//! | Tables 1 and 2 | [`params`] |
//! | 1, 6 | [`keygen`] |
//! | 2, 4, 7 | [`sign`], the loop in [`flight`] |
//! | 3, 5, 8 | [`verify`] |
//! | 6, 7, 8 once more, for small memories | [`device`] |
//! | 9 to 13, 16 to 19 | `kernels::pack` |
//! | 14, 15 | `kernels::reject` |
//! | 20 to 28 | [`encode`] |
//! | 29 to 34 | [`sample`] |
//! | 35 to 40 | [`round`] names them, `kernels::round` computes them |
//! | 41 to 49 | [`ring`] names them, `kernels::ntt` and `kernels::pointwise` compute them |

pub(crate) mod device;
pub(crate) mod encode;
pub(crate) mod flight;
pub(crate) mod keygen;
pub(crate) mod params;
pub(crate) mod ring;
pub(crate) mod round;
pub(crate) mod sample;
pub(crate) mod sign;
pub(crate) mod verify;
