//! As much of CBOR (RFC 8949) as a COSE_Sign1 of ours has: integers, strings, arrays and maps of definite length, in the
//! deterministic encoding of section 4.2.1.

use crate::error::Error;

/// Major types.
pub(crate) const UNSIGNED: u8 = 0;
pub(crate) const NEGATIVE: u8 = 1;
pub(crate) const BYTES: u8 = 2;
pub(crate) const TEXT: u8 = 3;
pub(crate) const ARRAY: u8 = 4;
pub(crate) const MAP: u8 = 5;
pub(crate) const TAG: u8 = 6;

/// The head of an item, in its shortest form, and how many bytes of it count (RFC 8949, 3).
pub(crate) fn head(major: u8, value: u64) -> ([u8; 9], usize) {
    let mut out = [0; 9];
    let (info, bytes) = match value {
        0..=23 => (value as u8, 0),
        24..=0xff => (24, 1),
        0x100..=0xffff => (25, 2),
        0x1_0000..=0xffff_ffff => (26, 4),
        _ => (27, 8),
    };
    out[0] = major << 5 | info;
    out[1..=bytes].copy_from_slice(&value.to_be_bytes()[8 - bytes..]);
    (out, 1 + bytes)
}

/// Reads items off the front of bytes.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    /// The next head. Errors: `Truncated`; `NotCanonical` if it is not the shortest, or of indefinite length, or of major
    /// type 7.
    pub(crate) fn head(&mut self) -> Result<(u8, u64), Error> {
        let (first, rest) = self.0.split_first().ok_or(Error::Truncated)?;
        let (major, info) = (first >> 5, first & 31);
        let bytes = match info {
            0..=23 => 0,
            24..=27 => 1 << (info - 24),
            _ => return Err(Error::NotCanonical),
        };
        let (value, rest) = rest.split_at_checked(bytes).ok_or(Error::Truncated)?;
        let value = match bytes {
            0 => u64::from(info),
            _ => value.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
        };
        let (_, len) = head(major, value);
        if len != 1 + bytes || major > TAG {
            return Err(Error::NotCanonical);
        }
        self.0 = rest;
        Ok((major, value))
    }

    /// The value of a head that must be of one major type. Errors: those of [`Self::head`]; `NotCanonical`.
    pub(crate) fn expect(&mut self, major: u8) -> Result<u64, Error> {
        match self.head()? {
            (found, value) if found == major => Ok(value),
            _ => Err(Error::NotCanonical),
        }
    }

    /// A byte string, or a text's bytes. Errors: those of [`Self::expect`]; `Truncated`.
    pub(crate) fn string(&mut self, major: u8) -> Result<&'a [u8], Error> {
        let len = self.expect(major)?;
        let len = usize::try_from(len).map_err(|_| Error::Truncated)?;
        let (string, rest) = self.0.split_at_checked(len).ok_or(Error::Truncated)?;
        self.0 = rest;
        Ok(string)
    }
}
