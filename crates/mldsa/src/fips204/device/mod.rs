//! Algorithms 6, 7 and 8 in a small memory: the same kernels, samplers and encodings, in an order that needs few
//! polynomials at a time. How few is a choice of the caller, `memory::Memory`.
//!
//! | what the host keeps | here |
//! |---|---|
//! | Â | as `Memory::Entry` says: as it is, packed, or sampled anew at each use |
//! | y of an attempt | its bytes, where z will stand in the signature: BitPack(z) is as long as what y is unpacked from |
//! | w | one sum a row, in T_q at first, then in R_q, then without cs2, then h |
//! | s1, s2, t0 | the bytes of Algorithm 24, unpacked one polynomial at a time |
//! | NTT(y), NTT(c), t, c·t0, r0, z, w1 | one polynomial at a time |
//!
//! Each phase is a function of its own that is never inlined: what it has on the stack is gone before the next begins.

pub(crate) mod keygen;
pub(crate) mod memory;
pub(crate) mod sign;
pub(crate) mod verify;
