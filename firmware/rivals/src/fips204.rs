//! fips204.
#![no_std]
#![no_main]

mod measure;

use fips204::traits::{KeyGen, Signer, Verifier};
use measure::{SEED, measured, messages};
use sealstone_board::{Counter, entry, exit};

const RND: [u8; 32] = [0; 32];

macro_rules! level {
    ($counter:ident, $level:literal, $module:ident) => {{
        use fips204::$module::KG;
        let (public, key) =
            measured(&mut $counter, "keygen", $level, || KG::keygen_from_seed(core::hint::black_box(&SEED)));
        messages(
            &mut $counter,
            $level,
            |message| key.try_sign_with_seed(&RND, message, &[]).unwrap_or_else(|_| exit(false)),
            |message, signature| public.verify(message, signature, &[]),
            |signature| signature.first_chunk().copied().unwrap_or_default(),
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
