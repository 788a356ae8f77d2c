//! Copying, filling and comparing for programs that are built for size.

#[cfg(compact)]
core::arch::global_asm!(include_str!("memory.s"));
