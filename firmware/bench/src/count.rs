//! Instructions and stack of each operation at each level, as lines `name,value`; what was computed, as lines
//! `digest/...,hexadecimal`, for the host to compare.
#![no_std]
#![no_main]

use core::hint::black_box;
use sealstone_board::{Counter, entry, exit, line, stack_of};
use sealstone_mldsa::{
    Context, ExpandedSigningKey, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Signature, SigningKey,
    VerifyingKey, self_test,
};

/// The list that everybody here is measured with: one key, sixteen messages of 50 bytes.
const SEED: [u8; 32] = [7; 32];
const MESSAGES: u8 = 16;

#[entry]
fn main() -> ! {
    let mut counter = Counter::start();
    if self_test().is_err() {
        line!("self_test,1");
        exit(false)
    }
    level::<MlDsa44>(&mut counter, 44);
    level::<MlDsa65>(&mut counter, 65);
    level::<MlDsa87>(&mut counter, 87);
    exit(true)
}

/// A call: its instructions and its stack in lines, its answer.
fn measured<R>(counter: &mut Counter, name: &str, level: u32, f: impl FnOnce() -> R) -> R {
    let (stack, (instructions, answer)) = stack_of(|| counter.count(f));
    line!("{}/{},{}", name, level, instructions);
    line!("stack/{}/{},{}", name, level, stack);
    answer
}

#[inline(never)]
fn level<P: ParameterSet>(counter: &mut Counter, level: u32) {
    let seed = SigningKey::<P>::from_seed(&SEED);
    let key = measured(counter, "keygen", level, || black_box(&seed).verifying_key());
    let expanded = measured(counter, "expand", level, || black_box(&seed).expand());
    digest(&expanded, "pk", level, key.encode());
    for i in 0..MESSAGES {
        let message = [i; 50];
        let from_seed = measured(counter, "sign-seed", level, || {
            seed.sign_deterministic(Context::EMPTY, black_box(&message))
        });
        let signature = measured(counter, "sign-expanded", level, || {
            expanded.sign_deterministic(Context::EMPTY, black_box(&message))
        });
        let (Ok(from_seed), Ok(signature)) = (from_seed, signature) else { exit(false) };
        let good = measured(counter, "verify-bytes", level, || verify(&key, &message, &signature));
        let live = black_box(&key).expand();
        let good = good
            & measured(counter, "verify-expanded", level, || {
                live.verify(Context::EMPTY, black_box(&message), &signature).is_ok()
            });
        if from_seed != signature || !good || verify(&key, &message[1..], &signature) {
            line!("refused/{}/{},1", level, i);
            exit(false)
        }
        digest(&expanded, "sign", level, signature.encode());
    }
}

fn verify<P: ParameterSet>(key: &VerifyingKey<P>, message: &[u8], signature: &Signature<P>) -> bool {
    key.verify(Context::EMPTY, black_box(message), signature).is_ok()
}

/// A digest of bytes: they are a message to the key, and it is that message's μ.
fn digest<P: ParameterSet>(key: &ExpandedSigningKey<P>, what: &str, level: u32, bytes: &[u8]) {
    let mut hasher = key.message(Context::EMPTY);
    hasher.update(bytes);
    let mu = hasher.finish();
    let word = |i: usize| mu.as_bytes()[8 * i..].first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    line!("digest/{}/{},{:016x}{:016x}", what, level, word(0), word(1));
}
