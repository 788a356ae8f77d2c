//! What the host gives an emulated board: a file that stands for flash, and the time. By semihosting.

use core::ffi::CStr;
use cortex_m_semihosting::{nr, syscall, syscall1};

/// A file on the host, in the emulator's working directory. What was written stays if the emulator is killed.
#[derive(Debug)]
pub struct File(usize);

impl File {
    /// Opens a file that is there, for reading and writing.
    pub fn open(name: &CStr) -> Option<File> {
        let block = [name.as_ptr() as usize, nr::open::RW_BINARY, name.count_bytes()];
        // SAFETY: SYS_OPEN takes address, mode and length of a text that ends with a zero byte, and reads no more.
        let handle = unsafe { syscall(nr::OPEN, &block) };
        (handle as isize >= 0).then_some(File(handle))
    }

    /// Fills `out` from a place on; says whether there was so much.
    pub fn read_at(&mut self, at: usize, out: &mut [u8]) -> bool {
        let block = [self.0, out.as_mut_ptr() as usize, out.len()];
        // SAFETY: SYS_READ writes to a buffer of ours, and no more than its length.
        self.seek(at) && unsafe { syscall(nr::READ, &block) } == 0
    }

    /// Writes from a place on; says whether all was written.
    pub fn write_at(&mut self, at: usize, bytes: &[u8]) -> bool {
        let block = [self.0, bytes.as_ptr() as usize, bytes.len()];
        // SAFETY: SYS_WRITE reads a buffer of ours, and no more than its length.
        self.seek(at) && unsafe { syscall(nr::WRITE, &block) } == 0
    }

    fn seek(&mut self, at: usize) -> bool {
        // SAFETY: SYS_SEEK takes two numbers.
        unsafe { syscall(nr::SEEK, &[self.0, at]) == 0 }
    }
}

/// Seconds since 1970: what a board has a real-time clock for.
pub fn unix_seconds() -> u32 {
    // SAFETY: SYS_TIME takes nothing.
    unsafe { syscall1(nr::TIME, 0) as u32 }
}
