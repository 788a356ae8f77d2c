//! How a call comes in and goes out. Knows pointers, panics and errors in words; knows nothing of keys and signatures.
//!
//! What a caller promises, once for all functions: a pointer that is not NULL leads to as many bytes as the length beside it
//! says (or to the one struct or handle that the header names), readable or writable as the header says, and nobody else
//! writes there before the call returns. Inputs and outputs of one call may overlap: outputs are written when all inputs
//! have been read.

use core::cell::UnsafeCell;
use core::ffi::{c_char, c_int};
use core::slice;
use core::sync::atomic::{Ordering, compiler_fence};
#[cfg(feature = "jose")]
use std::alloc::{Layout, alloc, dealloc};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::handle::{Handle, Kind};
use crate::status::{Failure, SEALSTONE_OK, SEALSTONE_PANICKED};

/// The one way through the door: runs `body` and writes what it gives. If it fails or panics, every output is zeroed, the
/// words are kept for `sealstone_last_error`, and the number is returned.
pub(crate) fn enter<O: Output>(out: O, body: impl FnOnce() -> Result<O::Value, Failure>) -> c_int {
    // Unwind safe: what a panic could leave half done is in `body`, which is gone, or behind locks that notice it.
    let done = catch_unwind(AssertUnwindSafe(|| {
        out.check()?;
        out.put(body()?)
    }));
    let failure = match done {
        Ok(Ok(())) => return SEALSTONE_OK,
        Ok(Err(failure)) => failure,
        Err(payload) => {
            // Its drop is foreign code that could panic again.
            core::mem::forget(payload);
            Failure::new(SEALSTONE_PANICKED, "the library met a defect of its own; nothing was released")
        }
    };
    out.clear();
    keep(&failure.words);
    failure.status
}

/// Bytes of words that are kept, the closing zero included.
const WORDS: usize = 512;

thread_local! {
    // Without a destructor: it can be read while the thread ends, and frees nothing.
    static LAST: UnsafeCell<[u8; WORDS]> = const { UnsafeCell::new([0; WORDS]) };
}

/// Keeps words for `sealstone_last_error`, cut at a character if they are too many.
fn keep(words: &str) {
    let len = words.floor_char_boundary(WORDS - 1);
    let kept = |last: &UnsafeCell<[u8; WORDS]>| {
        // SAFETY: only this thread reaches its own buffer, and no reference into it outlives this function or the next.
        let last = unsafe { &mut *last.get() };
        last[..len].copy_from_slice(&words.as_bytes()[..len]);
        last[len] = 0;
    };
    // The words are a courtesy: a thread so far gone that it has no room for them still gets its number.
    LAST.try_with(kept).unwrap_or_default();
}

/// What was kept.
pub(crate) fn kept() -> *const c_char {
    LAST.try_with(|last| last.get().cast_const().cast()).unwrap_or(c"".as_ptr())
}

/// An input of so many bytes; NULL is good for none.
///
/// # Safety
/// The promise of the module, until the call returns.
pub(crate) unsafe fn bytes<'a>(name: &str, ptr: *const u8, len: usize) -> Result<&'a [u8], Failure> {
    match (ptr.is_null(), len) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Failure::argument(format!("{name} is NULL, its length {len}"))),
        (false, _) if isize::try_from(len).is_err() => {
            Err(Failure::argument(format!("the length of {name} is {len}, more than any object has")))
        }
        // SAFETY: not NULL, no longer than an object can be, and the caller promises that the bytes are there.
        (false, _) => Ok(unsafe { slice::from_raw_parts(ptr, len) }),
    }
}

/// An input of so many bytes that is text.
///
/// # Safety
/// The promise of the module, until the call returns.
#[cfg(feature = "jose")]
pub(crate) unsafe fn text<'a>(name: &str, ptr: *const c_char, len: usize) -> Result<&'a str, Failure> {
    // SAFETY: the same promise.
    let bytes = unsafe { bytes(name, ptr.cast(), len)? };
    utf8(name, bytes)
}

/// An input that ends with a zero byte; NULL is none.
///
/// # Safety
/// The promise of the module; and there is a zero byte at the end.
#[cfg(feature = "jose")]
pub(crate) unsafe fn word<'a>(name: &str, ptr: *const c_char) -> Result<Option<&'a str>, Failure> {
    if ptr.is_null() {
        return Ok(None);
    }
    // SAFETY: not NULL, and the caller promises a zero byte at its end.
    let word = unsafe { core::ffi::CStr::from_ptr(ptr) };
    utf8(name, word.to_bytes()).map(Some)
}

#[cfg(feature = "jose")]
fn utf8<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str, Failure> {
    core::str::from_utf8(bytes)
        .map_err(|at| Failure::argument(format!("{name}: bad UTF-8 at byte {}", at.valid_up_to())))
}

/// Where a result goes.
pub(crate) trait Output {
    /// What is written there.
    type Value;
    /// Whether it can be written: before any work is done.
    fn check(&self) -> Result<(), Failure>;
    /// Writes it.
    fn put(&self, value: Self::Value) -> Result<(), Failure>;
    /// Zeroes it, as far as it is there.
    fn clear(&self);
}

/// No result but the number.
impl Output for () {
    type Value = ();
    fn check(&self) -> Result<(), Failure> {
        Ok(())
    }
    fn put(&self, (): ()) -> Result<(), Failure> {
        Ok(())
    }
    fn clear(&self) {}
}

impl<A: Output, B: Output> Output for (A, B) {
    type Value = (A::Value, B::Value);
    fn check(&self) -> Result<(), Failure> {
        self.0.check()?;
        self.1.check()
    }
    fn put(&self, (first, second): Self::Value) -> Result<(), Failure> {
        self.0.put(first)?;
        self.1.put(second)
    }
    fn clear(&self) {
        self.0.clear();
        self.1.clear();
    }
}

/// The caller's buffer, of exactly the right length.
#[derive(Clone, Copy)]
pub(crate) struct Buffer {
    name: &'static str,
    ptr: *mut u8,
    len: usize,
}

impl Buffer {
    /// # Safety
    /// The promise of the module, as long as this value is used.
    pub(crate) unsafe fn new(name: &'static str, ptr: *mut u8, len: usize) -> Self {
        Self { name, ptr, len }
    }

    /// Whether its length is the right one: before any work is done.
    pub(crate) fn expect(&self, len: usize) -> Result<(), Failure> {
        if self.len == len { Ok(()) } else { Err(Failure::length(self.name, len, self.len)) }
    }
}

impl Output for Buffer {
    type Value = Wiped;

    fn check(&self) -> Result<(), Failure> {
        match self.ptr.is_null() {
            true => Err(Failure::argument(format!("{} is NULL", self.name))),
            false => Ok(()),
        }
    }

    fn put(&self, value: Wiped) -> Result<(), Failure> {
        self.expect(value.0.len())?;
        // SAFETY: `check` saw that it is not NULL, the line above that the lengths agree; the value is our own memory.
        unsafe { core::ptr::copy_nonoverlapping(value.0.as_ptr(), self.ptr, self.len) };
        Ok(())
    }

    fn clear(&self) {
        if !self.ptr.is_null() && isize::try_from(self.len).is_ok() {
            // SAFETY: not NULL, and the caller promised as many writable bytes.
            unsafe { core::ptr::write_bytes(self.ptr, 0, self.len) };
        }
    }
}

/// Where a pointer to a new handle goes.
pub(crate) struct Made<T> {
    ptr: *mut *mut Handle<T>,
}

impl<T> Made<T> {
    /// # Safety
    /// The promise of the module, as long as this value is used.
    pub(crate) unsafe fn new(ptr: *mut *mut Handle<T>) -> Self {
        Self { ptr }
    }
}

impl<T: Kind> Output for Made<T> {
    type Value = T;

    fn check(&self) -> Result<(), Failure> {
        match self.ptr.is_null() {
            true => Err(Failure::argument(format!("where the {} goes is NULL", T::NAME))),
            false => Ok(()),
        }
    }

    fn put(&self, value: T) -> Result<(), Failure> {
        // SAFETY: `check` saw that it is not NULL; the caller promised that a pointer can be written there.
        unsafe { self.ptr.write(Box::into_raw(Box::new(Handle::new(value)))) };
        Ok(())
    }

    fn clear(&self) {
        if !self.ptr.is_null() {
            // SAFETY: not NULL, and the caller promised that a pointer can be written there.
            unsafe { self.ptr.write(core::ptr::null_mut()) };
        }
    }
}

/// Where a pointer to new bytes goes, which `sealstone_free` takes back, and their number, if the caller wants it.
#[cfg(feature = "jose")]
pub(crate) struct Block {
    name: &'static str,
    ptr: *mut *mut c_char,
    len: *mut usize,
    wanted: bool,
}

#[cfg(feature = "jose")]
impl Block {
    /// # Safety
    /// The promise of the module, as long as this value is used.
    pub(crate) unsafe fn new(name: &'static str, ptr: *mut *mut c_char, len: *mut usize) -> Self {
        Self { name, ptr, len, wanted: true }
    }

    /// One that may be NULL.
    ///
    /// # Safety
    /// The promise of the module, as long as this value is used.
    pub(crate) unsafe fn optional(name: &'static str, ptr: *mut *mut c_char, len: *mut usize) -> Self {
        Self { name, ptr, len, wanted: false }
    }
}

#[cfg(feature = "jose")]
impl Output for Block {
    type Value = Wiped;

    fn check(&self) -> Result<(), Failure> {
        match self.ptr.is_null() && self.wanted {
            true => Err(Failure::argument(format!("where the {} goes is NULL", self.name))),
            false => Ok(()),
        }
    }

    fn put(&self, value: Wiped) -> Result<(), Failure> {
        if self.ptr.is_null() {
            return Ok(());
        }
        // SAFETY: not NULL; the caller promised that a pointer can be written there.
        unsafe { self.ptr.write(lend(&value.0).cast()) };
        if !self.len.is_null() {
            // SAFETY: not NULL; the caller promised that a number can be written there.
            unsafe { self.len.write(value.0.len()) };
        }
        Ok(())
    }

    fn clear(&self) {
        if !self.ptr.is_null() {
            // SAFETY: not NULL; the caller promised that a pointer can be written there.
            unsafe { self.ptr.write(core::ptr::null_mut()) };
        }
        if !self.len.is_null() {
            // SAFETY: not NULL; the caller promised that a number can be written there.
            unsafe { self.len.write(0) };
        }
    }
}

/// Bytes on their way out, which may be secret: wiped when dropped. They must not have been moved by growing.
pub(crate) struct Wiped(pub(crate) Vec<u8>);

impl Drop for Wiped {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

impl From<&[u8]> for Wiped {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

/// Zeroes bytes in a way that the compiler must keep.
pub(crate) fn wipe(bytes: &mut [u8]) {
    for byte in bytes {
        // SAFETY: a reference is good to write to.
        unsafe { core::ptr::write_volatile(byte, 0) };
    }
    compiler_fence(Ordering::SeqCst);
}

/// Before the bytes of a block: its tag and its length.
#[cfg(feature = "jose")]
const HEAD: usize = 16;
#[cfg(feature = "jose")]
const LENT: u64 = 0x5ea1_570e_b10c_0001;

#[cfg(feature = "jose")]
fn layout(len: usize) -> Option<Layout> {
    Layout::from_size_align(len.checked_add(HEAD + 1)?, HEAD).ok()
}

/// A copy of the bytes with a zero behind, for a caller who will give it to [`take_back`].
#[cfg(feature = "jose")]
fn lend(bytes: &[u8]) -> *mut u8 {
    let layout = layout(bytes.len())
        .expect("an object in memory is shorter than the address space by more than a head");
    // SAFETY: the layout is not of size zero.
    let block = unsafe { alloc(layout) };
    if block.is_null() {
        std::alloc::handle_alloc_error(layout);
    }
    // SAFETY: the block has room for a head, the bytes and a zero, and nobody else knows it.
    unsafe {
        block.cast::<u64>().write(LENT);
        block.add(8).cast::<u64>().write(bytes.len() as u64);
        core::ptr::copy_nonoverlapping(bytes.as_ptr(), block.add(HEAD), bytes.len());
        block.add(HEAD + bytes.len()).write(0);
        block.add(HEAD)
    }
}

/// Wipes and frees what was lent; leaves alone what was not, as far as that can be seen.
///
/// # Safety
/// A pointer that was lent and not yet taken back, or NULL.
#[cfg(feature = "jose")]
pub(crate) unsafe fn take_back(bytes: *mut u8) {
    if bytes.is_null() || !bytes.addr().is_multiple_of(HEAD) {
        return;
    }
    // SAFETY: what was lent has a head before it.
    let (block, tag, len) = unsafe {
        let block = bytes.sub(HEAD);
        (block, block.cast::<u64>().read(), block.add(8).cast::<u64>().read() as usize)
    };
    let Some(layout) = layout(len).filter(|_| tag == LENT) else { return };
    // SAFETY: the tag says that the block is ours; its head says how long it is.
    unsafe {
        wipe(slice::from_raw_parts_mut(block, layout.size()));
        dealloc(block, layout);
    }
}
