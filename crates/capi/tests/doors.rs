//! Calls as C makes them, from Rust: what becomes of a panic, of pointers that lead nowhere good, of zeroed outputs.

use core::ptr::{null, null_mut};
use std::ffi::CStr;

use sealstone_capi::*;

fn words() -> String {
    // SAFETY: what the library gives ends with a zero and stays until the next failure of this thread.
    unsafe { CStr::from_ptr(sealstone_last_error()) }.to_str().unwrap().to_owned()
}

#[test]
fn a_null_is_refused_in_words_and_outputs_are_zeroed() {
    let mut signature = [7; 3309];
    // SAFETY: pointers are NULL, or lead to as many bytes as the lengths say.
    let status =
        unsafe { sealstone_sign(null(), null(), 0, null(), 0, signature.as_mut_ptr(), signature.len()) };
    assert_eq!(status, SEALSTONE_BAD_ARGUMENT);
    assert_eq!(words(), "the private key is NULL");
    assert_eq!(signature, [0; 3309]);
}

#[test]
fn words_are_kept_for_each_thread() {
    // SAFETY: no pointer is followed.
    let fails = |level| unsafe { sealstone_private_key_generate(level, null_mut()) };
    assert_eq!(fails(65), SEALSTONE_BAD_ARGUMENT);
    assert_eq!(words(), "where the private key goes is NULL");
    std::thread::spawn(|| assert_eq!(words(), "")).join().unwrap();
    assert_eq!(words(), "where the private key goes is NULL");
}

#[test]
fn a_panic_ends_at_the_door() {
    let mut buffer = [7; 32];
    let mut key = core::ptr::dangling_mut();
    // SAFETY: the pointers lead to our own variables.
    let status = unsafe { sealstone_panic_for_test(buffer.as_mut_ptr(), buffer.len(), &mut key) };
    assert_eq!(status, SEALSTONE_PANICKED);
    assert_eq!(buffer, [0; 32]);
    assert!(key.is_null());
    assert_eq!(words(), "the library met a defect of its own; nothing was released");
}

#[test]
fn every_status_has_its_name() {
    for status in -17..=0 {
        // SAFETY: names are constants.
        let name = unsafe { CStr::from_ptr(sealstone_status_name(status)) }.to_str().unwrap();
        assert!(name.starts_with("SEALSTONE_"), "{status}: {name}");
    }
    // SAFETY: names are constants.
    assert_eq!(unsafe { CStr::from_ptr(sealstone_status_name(-18)) }, c"unknown status");
}
