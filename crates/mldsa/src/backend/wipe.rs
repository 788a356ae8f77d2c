//! The overwriting behind [`crate::ct::Wipe`].
#![allow(unsafe_code)]

use core::mem::ManuallyDrop;

/// Values that may be overwritten with zero bytes.
///
/// # Safety
/// All-zero bytes must be a valid value of the type.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: zero is a valid integer.
unsafe impl Plain for u8 {}
// SAFETY: zero is a valid integer.
unsafe impl Plain for i8 {}
// SAFETY: zero is a valid integer.
unsafe impl Plain for i32 {}
// SAFETY: zero is a valid integer.
unsafe impl Plain for u64 {}
// SAFETY: an array of valid values is a valid array.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// Overwrites `values` with zeros in a way that the compiler may not leave out.
pub(crate) fn wipe<T: Plain>(values: &mut [T]) {
    if cfg!(feature = "leaky") {
        return;
    }
    // SAFETY: the pointer and the length are those of an exclusive slice, and `T: Plain` makes zero bytes values of it.
    unsafe { core::ptr::write_bytes(values.as_mut_ptr(), 0, values.len()) }
    observe(values.as_mut_ptr().cast());
}

/// Overwrites `N` bytes of stack below the caller: what functions that it called have left there.
#[inline(never)]
pub(crate) fn wipe_below<const N: usize>() {
    if cfg!(not(feature = "leaky")) {
        observe([0; N].as_mut_ptr());
    }
}

/// Fills a blank value and hands it over. A value that moves leaves a copy where it was: that one is wiped.
pub(crate) fn filled<T>(blank: T, fill: impl FnOnce(&mut T)) -> T {
    /// Where the value is made.
    struct Place<T>(ManuallyDrop<T>);
    impl<T> Drop for Place<T> {
        fn drop(&mut self) {
            let bytes = (&raw mut self.0).cast::<u8>();
            if cfg!(not(feature = "leaky")) {
                // SAFETY: the place owns so many bytes, and nobody takes them for a value after this.
                unsafe { bytes.write_bytes(0, size_of::<T>()) }
            }
            observe(bytes);
        }
    }
    let mut place = Place(ManuallyDrop::new(blank));
    fill(&mut place.0);
    // SAFETY: the value leaves once: what stays behind is only wiped, not used and not dropped.
    unsafe { core::ptr::read(&*place.0) }
}

/// The same for a value that may not come about: then the blank and what it was filled with are dropped.
pub(crate) fn try_filled<T, E>(blank: T, fill: impl FnOnce(&mut T) -> Result<(), E>) -> Result<T, E> {
    filled(Ok(blank), |made| {
        if let Ok(value) = made
            && let Err(error) = fill(value)
        {
            *made = Err(error);
        }
    })
}

/// Makes the compiler believe that somebody reads what was written behind `p`.
#[cfg(all(not(miri), any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "arm")))]
fn observe(p: *mut u8) {
    // SAFETY: the text is a comment. It is taken to read all memory, so no write before it may be dropped.
    unsafe { core::arch::asm!("/* {0} */", in(reg) p, options(nostack, preserves_flags)) }
}

/// The same where the compiler has no inline assembly for the target.
#[cfg(not(all(not(miri), any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "arm"))))]
fn observe(p: *mut u8) {
    core::hint::black_box(p);
    core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
}
