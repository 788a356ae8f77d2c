//! libcrux-ml-dsa, its portable code.
#![no_std]
#![no_main]

mod measure;

use measure::{SEED, measured, messages};
use sealstone_board::{Counter, entry, exit};

const RND: [u8; 32] = [0; 32];

macro_rules! level {
    ($counter:ident, $level:literal, $module:ident) => {{
        use libcrux_ml_dsa::$module::portable as set;
        let pair =
            measured(&mut $counter, "keygen", $level, || set::generate_key_pair(core::hint::black_box(SEED)));
        messages(
            &mut $counter,
            $level,
            |message| set::sign(&pair.signing_key, message, b"", RND).unwrap_or_else(|_| exit(false)),
            |message, signature| set::verify(&pair.verification_key, message, b"", signature).is_ok(),
            |signature| signature.as_ref().first_chunk().copied().unwrap_or_default(),
        );
    }};
}

#[entry]
fn main() -> ! {
    let mut counter = Counter::start();
    level!(counter, 44, ml_dsa_44);
    level!(counter, 65, ml_dsa_65);
    level!(counter, 87, ml_dsa_87);
    exit(true)
}
