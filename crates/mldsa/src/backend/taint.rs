//! What Valgrind is told under the feature `ctgrind`: which memory is secret, and which is not any more.
//!
//! A secret is memory that Memcheck takes for uninitialised. It follows such bits through every computation, and reports
//! each branch and each address that depends on one. It does not report divisions (`./dev ct` reads the machine code for
//! those).
#![allow(unsafe_code)]

#[cfg(not(target_arch = "x86_64"))]
compile_error!("the feature ctgrind is for x86-64");

/// Requests of valgrind.h and memcheck.h.
const RUNNING_ON_VALGRIND: usize = 0x1001;
const COUNT_ERRORS: usize = 0x1201;
const MAKE_MEM_UNDEFINED: usize = 0x4d43_0001;
const MAKE_MEM_DEFINED: usize = 0x4d43_0002;

/// Makes `values` secret.
pub(crate) fn secret(values: &mut [u8]) {
    request(MAKE_MEM_UNDEFINED, values.as_ptr() as usize, values.len());
}

/// Makes `len` bytes from `start` on public. A raw pointer: behind a reference the compiler would take the values for
/// unchanged, and go on with the copies in its registers.
pub(crate) fn shown(start: *const u8, len: usize) {
    request(MAKE_MEM_DEFINED, start as usize, len);
}

/// The number of reports so far; `None` outside Valgrind.
pub(crate) fn reports() -> Option<u64> {
    (request(RUNNING_ON_VALGRIND, 0, 0) != 0).then(|| request(COUNT_ERRORS, 0, 0) as u64)
}

/// A client request as valgrind.h makes it. Outside Valgrind the instructions change nothing and the answer is 0.
fn request(name: usize, start: usize, len: usize) -> usize {
    let arguments = [name, start, len, 0, 0, 0];
    let mut answer = 0;
    // SAFETY: four rotations of rdi that add up to 128 bits, and an exchange of rbx with itself, leave every register as
    // it was. Valgrind, which knows the sequence, reads the six words at rax and answers in rdx. The assembly is taken to
    // read and write all memory, so values are stored before it and loaded again after it.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") arguments.as_ptr(),
            inout("rdx") answer,
            options(nostack),
        );
    }
    answer
}
