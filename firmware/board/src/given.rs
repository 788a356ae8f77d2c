//! The page of flash with what a device was given: the last 128 KiB of an STM32F405's first bank, and as far from the end on an AN386.

/// Where the page begins.
const GIVEN_AT: usize = if cfg!(feature = "mps2-an386") { 0x003e_0000 } else { 0x080e_0000 };
/// Bytes of it that are looked at.
const LEN: usize = 512;

/// The page. QEMU fills it: `-device loader,file=…,addr=…`; on a board the programmer does.
pub fn given() -> &'static [u8] {
    // SAFETY: flash that the memory map leaves to nobody else, and that no program writes.
    unsafe { core::slice::from_raw_parts(GIVEN_AT as *const u8, LEN) }
}

/// Bytes of stack that are free at the moment.
pub fn free_memory() -> u32 {
    let bottom = cortex_m_rt::heap_start() as usize;
    (cortex_m::register::msp::read() as usize).saturating_sub(bottom) as u32
}
