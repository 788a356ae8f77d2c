//! Alterations that decoders get wrong: bits anywhere, coefficients of z at their bounds, and the hint.

use crate::Dice;
use sealstone_mldsa::Level;

/// Flips one bit.
pub fn bit(dice: &mut Dice, bytes: &mut [u8]) {
    let at = dice.below(bytes.len());
    bytes[at] ^= 1 << dice.below(8);
}

/// λ/4, ω, k, bits of a coefficient of z, γ1 and β.
fn shape(level: Level) -> (usize, usize, usize, usize, i32, i32) {
    match level {
        Level::MlDsa44 => (32, 80, 4, 18, 1 << 17, 78),
        Level::MlDsa65 => (48, 55, 6, 20, 1 << 19, 196),
        Level::MlDsa87 => (64, 75, 8, 20, 1 << 19, 120),
    }
}

/// One alteration of a signature.
pub fn signature(level: Level, dice: &mut Dice, signature: &mut [u8]) {
    let (c_tilde, omega, k, bits, gamma1, beta) = shape(level);
    let hint = signature.len() - omega - k;
    match dice.below(10) {
        0 => bit(dice, &mut signature[..c_tilde]),
        1 | 2 => bit(dice, &mut signature[c_tilde..hint]),
        3 => {
            let at = c_tilde + dice.below(hint - c_tilde - 3);
            let value = [0, 0xff][dice.below(2)];
            signature[at..at + 3].fill(value);
        }
        // A coefficient at the bound, or one beside it.
        4 => {
            let z = [1, -1][dice.below(2)] * (gamma1 - beta + dice.below(3) as i32 - 1);
            let first = dice.below((hint - c_tilde) * 8 / bits) * bits;
            for i in 0..bits {
                let (at, shift) = (c_tilde + (first + i) / 8, (first + i) % 8);
                signature[at] = signature[at] & !(1 << shift) | ((gamma1 - z) >> i & 1) as u8 * (1 << shift);
            }
        }
        5 => bit(dice, &mut signature[hint..hint + omega]),
        6 => {
            let at = hint + dice.below(omega - 1);
            signature.swap(at, at + 1);
        }
        7 => {
            let at = hint + dice.below(omega - 1);
            signature[at + 1] = signature[at];
        }
        8 => {
            let at = hint + omega + dice.below(k);
            signature[at] = dice.next() as u8;
        }
        _ => {
            let at = hint + omega + dice.below(k);
            signature[at] = signature[at].wrapping_add([1, 255][dice.below(2)]);
        }
    }
}
