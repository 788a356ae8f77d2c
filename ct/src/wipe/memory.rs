//! Memory after its life. The only `unsafe` of this program beside its clock: it reads what Rust has given up.

use std::hint::black_box;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::{Deref, DerefMut};

/// Bytes of stack that are painted and searched; no operation of the engine needs half of them.
const DEPTH: usize = 1 << 20;
/// Bytes between the frame of the searcher and the first frame that is searched.
const GAP: usize = 4096;
const PAINT: u8 = 0xa5;

/// What `operation` leaves on the stack below its caller, from the start of a word on.
pub fn left_on_stack(operation: impl FnOnce()) -> Vec<u8> {
    let mut left = vec![0; DEPTH];
    paint();
    below_a_gap(operation);
    copy(&mut left);
    let deepest = left.iter().position(|byte| *byte != PAINT).unwrap_or(DEPTH);
    assert!(deepest > DEPTH / 4, "the operation needs more stack than is painted");
    left.split_off(deepest & !7)
}

#[inline(never)]
fn below_a_gap(operation: impl FnOnce()) {
    let gap = black_box([0_u8; GAP]);
    call(operation);
    black_box(&gap);
}

#[inline(never)]
fn call(operation: impl FnOnce()) {
    operation();
    black_box(());
}

/// The start of a word below this frame that no frame in use holds.
#[inline(always)]
fn below(here: &mut u8) -> *mut u8 {
    let here: *mut u8 = here;
    here.wrapping_sub(GAP / 4).map_addr(|address| address & !7)
}

#[inline(never)]
fn paint() {
    let mut here = 0;
    let top = below(&mut here);
    for i in 1..=DEPTH {
        // SAFETY: the thread has DEPTH bytes of stack and much more. They are below every frame in use: this function calls
        // none, and its own frame is far smaller than the distance that `below` keeps.
        unsafe { top.wrapping_sub(i).write_volatile(PAINT) }
    }
}

#[inline(never)]
fn copy(to: &mut [u8]) {
    let mut here = 0;
    let top = below(&mut here);
    for (i, to) in to.iter_mut().rev().enumerate() {
        // SAFETY: as in `paint`, which wrote these bytes.
        *to = unsafe { top.wrapping_sub(i + 1).read_volatile() };
    }
}

/// A value in memory of its own, which outlives it.
pub struct Block<T>(Box<ManuallyDrop<T>>);

impl<T> Block<T> {
    pub fn new(value: T) -> Self {
        Block(Box::new(ManuallyDrop::new(value)))
    }

    /// Drops the value and gives its memory as it is then.
    pub fn dropped(mut self) -> Vec<u8> {
        // SAFETY: it is dropped once: `ManuallyDrop` does not do it again.
        unsafe { ManuallyDrop::drop(&mut self.0) }
        self.bytes()
    }

    /// The memory as it is.
    pub fn bytes(&self) -> Vec<u8> {
        let start = (&raw const *self.0).cast::<MaybeUninit<u8>>();
        // SAFETY: the box still owns so many bytes; volatile reads of bytes that were all written, but for padding.
        (0..size_of::<T>()).map(|i| unsafe { start.add(i).cast::<u8>().read_volatile() }).collect()
    }
}

impl<T> Deref for Block<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Block<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
