//! A lane of Keccak as its even and its odd bits: on a CPU of 32 bits its rotation is that of two words.
//! (Bertoni et al., Keccak implementation overview, 2.1.)

/// The lane with its even bits in the low half and its odd bits in the high half.
///
/// The number of a bit has six bits itself, the highest of which says in which half it lies. To be turned by one place
/// that number has its highest bit exchanged with each of the others, from above.
#[cfg_attr(compact, inline(never))]
#[cfg_attr(not(compact), inline(always))]
pub(crate) const fn inward(lane: u64) -> u64 {
    let halves = exchange::<16>((lane as u32, (lane >> 32) as u32), 0x0000_ffff);
    let halves = exchange::<8>(halves, 0x00ff_00ff);
    let halves = exchange::<4>(halves, 0x0f0f_0f0f);
    let halves = exchange::<2>(halves, 0x3333_3333);
    let (even, odd) = exchange::<1>(halves, 0x5555_5555);
    even as u64 | (odd as u64) << 32
}

/// The reverse.
#[cfg_attr(compact, inline(never))]
#[cfg_attr(not(compact), inline(always))]
pub(crate) const fn outward(lane: u64) -> u64 {
    let halves = exchange::<1>((lane as u32, (lane >> 32) as u32), 0x5555_5555);
    let halves = exchange::<2>(halves, 0x3333_3333);
    let halves = exchange::<4>(halves, 0x0f0f_0f0f);
    let halves = exchange::<8>(halves, 0x00ff_00ff);
    let (low, high) = exchange::<16>(halves, 0x0000_ffff);
    low as u64 | (high as u64) << 32
}

/// The bits of `mask` in the high half against those S places above them in the low half.
#[inline(always)]
const fn exchange<const S: u32>((low, high): (u32, u32), mask: u32) -> (u32, u32) {
    let t = ((low >> S) ^ high) & mask;
    (low ^ (t << S), high ^ t)
}

#[cfg(test)]
mod tests {
    use super::{inward, outward};

    #[test]
    fn each_bit_goes_to_its_place_and_back() {
        for bit in 0..64 {
            let lane = 1 << bit;
            assert_eq!(inward(lane), 1 << ((bit >> 1) + 32 * (bit & 1)), "bit {bit}");
            assert_eq!(outward(inward(lane)), lane, "bit {bit}");
        }
        assert_eq!(inward(0x0123_4567_89ab_cdef), outward(inward(inward(0x0123_4567_89ab_cdef))));
    }
}
