//! What stands behind the pointers that C holds. A handle begins with a tag of its kind: a pointer to something else is
//! refused, and a handle that was freed has lost its tag.

use core::mem::MaybeUninit;
use core::slice;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

use sealstone_mldsa::any;

use crate::door::wipe;
use crate::status::{Failure, SEALSTONE_BAD_HANDLE};

/// A value behind a pointer.
#[repr(C)]
pub struct Handle<T> {
    tag: AtomicU64,
    value: T,
}

/// What can stand behind a pointer. Calls of any thread share it, so it must be `Sync`.
pub(crate) trait Kind: Send + Sync {
    /// Chosen by lot: few other things in memory begin with it.
    const TAG: u64;
    /// How errors call it.
    const NAME: &'static str;
}

/// A private key, expanded. The engine wipes both parts when they are dropped.
pub struct PrivateKey {
    /// Where it is known: an expanded key has no way back to its seed.
    pub(crate) seed: Option<any::SigningKey>,
    pub(crate) expanded: any::ExpandedSigningKey,
    /// The same for tokens, made when first used; with the key id of a JWK from the start.
    #[cfg(feature = "jose")]
    pub(crate) jose: std::sync::OnceLock<sealstone_jose::PrivateKey>,
}

/// A public key, expanded.
pub struct PublicKey {
    pub(crate) key: any::VerifyingKey,
    pub(crate) expanded: any::ExpandedVerifyingKey,
    /// The same for tokens, with its key id.
    #[cfg(feature = "jose")]
    pub(crate) jose: sealstone_jose::PublicKey,
}

/// A message on its way to its μ; `None` when it has arrived. The lock is for callers who break the rule of one thread.
pub struct MuHasher(pub(crate) Mutex<Option<sealstone_mldsa::MuHasher>>);

impl Kind for PrivateKey {
    const TAG: u64 = 0x1f6c_93d8_a2b7_4e01;
    const NAME: &'static str = "private key";
}

impl Kind for PublicKey {
    const TAG: u64 = 0x8be3_5a70_46d1_9c02;
    const NAME: &'static str = "public key";
}

impl Kind for MuHasher {
    const TAG: u64 = 0xd35f_0e92_7bc4_a803;
    const NAME: &'static str = "message hasher";
}

impl<T> Handle<T> {
    pub(crate) fn new(value: T) -> Self
    where
        T: Kind,
    {
        Self { tag: AtomicU64::new(T::TAG), value }
    }
}

/// The value behind a pointer.
///
/// # Safety
/// The pointer is NULL, or eight bytes can be read there and it is a handle if they are the tag; and nobody frees it before
/// the call returns.
pub(crate) unsafe fn behind<'a, T: Kind>(handle: *const Handle<T>) -> Result<&'a T, Failure> {
    if handle.is_null() {
        return Err(Failure::argument(format!("the {} is NULL", T::NAME)));
    }
    // SAFETY: aligned is asked first; the caller promises that eight bytes can be read.
    if !handle.is_aligned() || unsafe { (*handle).tag.load(Ordering::Acquire) } != T::TAG {
        return Err(Failure::new(SEALSTONE_BAD_HANDLE, format!("the pointer leads to no {}", T::NAME)));
    }
    // SAFETY: it has the tag of a handle of this kind that was not freed.
    Ok(unsafe { &(*handle).value })
}

/// Takes a handle back and drops what is behind it. What is no handle of this kind is left alone.
///
/// # Safety
/// As for [`behind`], and nobody uses the handle any more.
pub(crate) unsafe fn free<T: Kind>(handle: *mut Handle<T>) -> Result<(), Failure> {
    if handle.is_null() {
        return Ok(());
    }
    // SAFETY: the same promise.
    unsafe { behind(handle)? };
    // Whoever frees it a second time, at the same time, finds no tag.
    // SAFETY: a handle of this kind is here, as the line above saw.
    if unsafe { (*handle).tag.swap(0, Ordering::AcqRel) } == T::TAG {
        // What is behind it wipes its secrets when it is dropped. The block is wiped from its first byte to its last besides: a
        // value with room to spare holds there what lay on the stack when it was moved.
        // SAFETY: it was made by `Box::into_raw`, and only one call sees its tag go, so nobody uses it after this; what it holds
        // is dropped in its place and not again, for a MaybeUninit drops nothing; every byte of it can be written.
        unsafe {
            core::ptr::drop_in_place(handle);
            wipe(slice::from_raw_parts_mut(handle.cast::<u8>(), size_of::<Handle<T>>()));
            drop(Box::from_raw(handle.cast::<MaybeUninit<Handle<T>>>()));
        }
    }
    Ok(())
}
