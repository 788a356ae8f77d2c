//! Secrets: wiping them, and saying aloud where one becomes public.

use crate::backend;
pub(crate) use crate::backend::{filled, try_filled};
use core::ops::{Deref, DerefMut};

/// Values that know their zero, and how to overwrite themselves with it.
pub trait Wipe: Sized {
    /// Zeros. A constant, so that large values are written where they stay, and not made somewhere else and moved.
    const ZERO: Self;
    /// Overwrites the value with zeros; the compiler may not leave it out.
    fn wipe(&mut self);
}

impl<const N: usize> Wipe for [u8; N] {
    const ZERO: Self = [0; N];
    fn wipe(&mut self) {
        backend::wipe(self)
    }
}

impl<const N: usize> Wipe for [i32; N] {
    const ZERO: Self = [0; N];
    fn wipe(&mut self) {
        backend::wipe(self)
    }
}

impl<T: Wipe, const N: usize> Wipe for [T; N] {
    const ZERO: Self = [const { T::ZERO }; N];
    fn wipe(&mut self) {
        self.iter_mut().for_each(T::wipe)
    }
}

/// A value that is wiped when it leaves.
#[derive(Clone)]
pub(crate) struct Wiped<T: Wipe>(pub(crate) T);

impl<T: Wipe> Wiped<T> {
    /// Zeros.
    pub(crate) const ZERO: Self = Wiped(T::ZERO);
}

impl<T: Wipe> Deref for Wiped<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Wipe> DerefMut for Wiped<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Wipe> Drop for Wiped<T> {
    fn drop(&mut self) {
        self.0.wipe()
    }
}

/// Marks the place where a value that depends on a secret is shown. Beside each call stands why it may be.
///
/// A mark for the reader, and under the feature `ctgrind` the place where the taint checker is told (`./dev ct`).
#[inline(always)]
pub(crate) fn declassify<T>(value: T) -> T {
    #[cfg(feature = "ctgrind")]
    let value = {
        let mut value = value;
        backend::taint::shown((&raw mut value).cast(), size_of::<T>());
        value
    };
    value
}

/// The same for values that stay where they are.
#[inline(always)]
pub(crate) fn declassify_all<T>(values: &[T]) -> &[T] {
    #[cfg(feature = "ctgrind")]
    backend::taint::shown(values.as_ptr().cast(), size_of_val(values));
    values
}

/// Equality in a time that depends on the lengths alone.
pub(crate) fn equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len()
        && core::hint::black_box(a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b))) == 0
}
