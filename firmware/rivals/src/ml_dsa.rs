//! RustCrypto's ml-dsa. Its keys hold what is expanded: neither signing nor verifying expands the matrix.
#![no_std]
#![no_main]

mod measure;

use measure::{SEED, measured, messages};
use ml_dsa::{MlDsa44, MlDsa65, MlDsa87, Seed, SigningKey};
use sealstone_board::{Counter, entry, exit};

macro_rules! level {
    ($counter:ident, $level:literal, $set:ident) => {{
        let seed = Seed::from(SEED);
        let pair = measured(&mut $counter, "keygen", $level, || {
            SigningKey::<$set>::from_seed(core::hint::black_box(&seed))
        });
        let key = pair.expanded_key();
        let public = key.verifying_key();
        messages(
            &mut $counter,
            $level,
            |message| key.sign_deterministic(message, &[]).unwrap_or_else(|_| exit(false)),
            |message, signature| public.verify_with_context(message, &[], signature),
            |signature| signature.encode().first_chunk().copied().unwrap_or_default(),
        );
    }};
}

#[entry]
fn main() -> ! {
    let mut counter = Counter::start();
    level!(counter, 44, MlDsa44);
    level!(counter, 65, MlDsa65);
    level!(counter, 87, MlDsa87);
    exit(true)
}
