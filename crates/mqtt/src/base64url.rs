//! base64url without padding (RFC 4648, 5), in the place where the bytes are.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Digits of so many bytes.
pub(crate) const fn len(bytes: usize) -> usize {
    bytes.saturating_mul(4).div_ceil(3)
}

/// Encodes the last `bytes` bytes of `room` into all of it. Shapes: `room` has [`len`] of them.
///
/// Three bytes become four digits at a time, from the front. The k-th group ends at digit 4k, and the bytes after it begin at
/// `room.len() - bytes + 3k`, which is not before 4k as long as there are any: so nothing is overwritten before it was read.
pub(crate) fn encode_in_place(room: &mut [u8], bytes: usize) {
    let mut from = room.len().saturating_sub(bytes);
    let mut to = 0;
    while to < room.len() {
        let mut group = 0u32;
        for _ in 0..3 {
            group = group << 8 | room.get(from).map_or(0, |byte| u32::from(*byte));
            from += 1;
        }
        for shift in [18, 12, 6, 0] {
            if let Some(place) = room.get_mut(to) {
                *place = DIGITS[(group >> shift & 63) as usize];
            }
            to += 1;
        }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    extern crate std;
    use super::{DIGITS, encode_in_place, len};
    use std::string::String;
    use std::vec::Vec;
    use std::{format, vec};

    #[test]
    fn every_length_comes_back() {
        for bytes in 0..200usize {
            let wanted: Vec<u8> = (0..bytes).map(|i| (i * 37 + bytes) as u8).collect();
            let mut room = [vec![b'A'; len(bytes) - bytes], wanted.clone()].concat();
            encode_in_place(&mut room, bytes);
            let value = |digit: &u8| DIGITS.iter().position(|known| known == digit).unwrap();
            let bits: String = room.iter().map(|digit| format!("{:06b}", value(digit))).collect();
            let back: Vec<u8> =
                (0..bytes).map(|i| u8::from_str_radix(&bits[8 * i..8 * i + 8], 2).unwrap()).collect();
            assert_eq!(back, wanted);
            assert!(bits[8 * bytes..].bytes().all(|bit| bit == b'0'));
        }
        // RFC 4648, 10.
        let mut room = *b"AAfooba";
        encode_in_place(&mut room, 5);
        assert_eq!(&room, b"Zm9vYmE");
    }
}
