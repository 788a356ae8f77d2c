#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use sealstone_fuzz::mutate::{DER, mutate};

fuzz_target!(|input: &[u8]| sealstone_fuzz::cms(input));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate(DER, sealstone_fuzz::DER_WORDS, (data, size, max_size, seed), fuzzer_mutate)
});
