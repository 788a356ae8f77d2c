//! Instructions and stack of each operation at each level, as lines `name,value`; what was computed, as lines
//! `digest/...,hexadecimal`, for the host to compare.
#![no_std]
#![no_main]

use core::hint::black_box;
use sealstone_board::{Counter, entry, exit, line, stack_of};
use sealstone_mldsa::{
    Context, ExpandedSigningKey, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Signature, SigningKey, VerifyingKey,
};

/// The list that everybody here is measured with: one key, sixteen messages of 50 bytes.
const SEED: [u8; 32] = [7; 32];
const MESSAGES: u8 = 16;

#[entry]
fn main() -> ! {
    let mut counter = Counter::start();
    level::<MlDsa44>(&mut counter, 44);
    level::<MlDsa65>(&mut counter, 65);
    level::<MlDsa87>(&mut counter, 87);
    exit(true)
}

#[inline(never)]
fn level<P: ParameterSet>(counter: &mut Counter, level: u32) {
    let (stack, (instructions, key)) =
        stack_of(|| counter.count(|| SigningKey::<P>::from_seed(black_box(&SEED)).verifying_key()));
    line!("keygen/{},{}", level, instructions);
    line!("stack/keygen/{},{}", level, stack);
    let seed = SigningKey::<P>::from_seed(&SEED);
    let (stack, (instructions, expanded)) = stack_of(|| counter.count(|| black_box(&seed).expand()));
    line!("expand/{},{}", level, instructions);
    line!("stack/expand/{},{}", level, stack);
    line!("bytes/expanded/{},{}", level, size_of::<ExpandedSigningKey<P>>());
    digest(&expanded, "pk", level, key.encode());
    for i in 0..MESSAGES {
        let message = [i; 50];
        let (stack, (instructions, signature)) =
            stack_of(|| counter.count(|| expanded.sign_deterministic(Context::EMPTY, black_box(&message))));
        let Ok(signature) = signature else { exit(false) };
        line!("sign-expanded/{}/{},{}", level, i, instructions);
        line!("stack/sign-expanded/{}/{},{}", level, i, stack);
        digest(&expanded, "sign", level, signature.encode());
        let (stack, (instructions, verdict)) =
            stack_of(|| counter.count(|| verify(&key, &message, &signature)));
        line!("verify/{}/{},{}", level, i, instructions);
        line!("stack/verify/{}/{},{}", level, i, stack);
        if verdict.is_err() || verify(&key, &message[1..], &signature).is_ok() {
            line!("refused/{}/{},1", level, i);
            exit(false)
        }
    }
}

fn verify<P: ParameterSet>(
    key: &VerifyingKey<P>,
    message: &[u8],
    signature: &Signature<P>,
) -> Result<(), ()> {
    key.verify(Context::EMPTY, black_box(message), signature).map_err(|_| ())
}

/// A digest of bytes: they are a message to the key, and it is that message's μ.
fn digest<P: ParameterSet>(key: &ExpandedSigningKey<P>, what: &str, level: u32, bytes: &[u8]) {
    let mut hasher = key.message(Context::EMPTY);
    hasher.update(bytes);
    let mu = hasher.finish();
    let word = |i: usize| mu.as_bytes()[8 * i..].first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    line!("digest/{}/{},{:016x}{:016x}", what, level, word(0), word(1));
}
