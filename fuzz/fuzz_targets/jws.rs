#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use sealstone_fuzz::mutate::{JSON, mutate};

fuzz_target!(|input: &[u8]| sealstone_fuzz::jws(input));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate(JSON, sealstone_fuzz::JSON_WORDS, (data, size, max_size, seed), fuzzer_mutate)
});
