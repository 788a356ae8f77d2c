//! What every rival is asked: the list of `firmware/bench`, in its lines.

use sealstone_board::{Counter, exit, line, stack_of};

/// One key, sixteen messages of 50 bytes, no context, no randomness.
pub(crate) const SEED: [u8; 32] = [7; 32];

/// A call: its instructions and its stack in lines, its answer.
pub(crate) fn measured<R>(counter: &mut Counter, name: &str, level: u32, f: impl FnOnce() -> R) -> R {
    let (stack, (instructions, answer)) = stack_of(|| counter.count(f));
    line!("{}/{},{}", name, level, instructions);
    line!("stack/{}/{},{}", name, level, stack);
    answer
}

/// All messages: signed, verified, and refused when altered.
pub(crate) fn messages<S>(
    counter: &mut Counter,
    level: u32,
    sign: impl Fn(&[u8]) -> S,
    verify: impl Fn(&[u8], &S) -> bool,
    c_tilde: impl Fn(&S) -> [u8; 32],
) {
    for i in 0..16 {
        let message = [i; 50];
        let signature = measured(counter, "sign", level, || sign(core::hint::black_box(&message)));
        let good = measured(counter, "verify", level, || verify(core::hint::black_box(&message), &signature));
        if !good || verify(&message[1..], &signature) {
            line!("refused/{},{}", level, i);
            exit(false)
        }
        let word = |i: usize| {
            c_tilde(&signature)[8 * i..].first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
        };
        line!("c_tilde/{},{:016x}{:016x}{:016x}{:016x}", level, word(0), word(1), word(2), word(3));
    }
}
