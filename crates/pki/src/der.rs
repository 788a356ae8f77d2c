//! DER (X.690), as far as keys and tickets need it: definite lengths in minimal form, low tag numbers, no recursion. For
//! formats of the house that other crates read.
//!
//! The reader never shows content in an error: it may be secret.
//!
//! ```
//! use sealstone_pki::der::{self, Reader, Tag};
//!
//! # fn main() -> Result<(), sealstone_pki::Error> {
//! // Ticket ::= SEQUENCE { version INTEGER, kind OBJECT IDENTIFIER, until UTCTime, note [0] OPTIONAL, proof BIT STRING }
//! const UTC_TIME: Tag = Tag { byte: 0x17, name: "a UTCTime" };
//! const NOTE: Tag = Tag { byte: 0x80, name: "a note in [0]" };
//!
//! let kind = der::undotted("1.3.6.1.4.1.32473.7").expect("digits and dots");
//! let ticket = der::write(
//!     der::SEQUENCE,
//!     &[
//!         &der::write(der::INTEGER, &[&[0]]),
//!         &der::write(der::OBJECT_IDENTIFIER, &[&kind]),
//!         &der::write(UTC_TIME, &[b"270115080000Z"]),
//!         &der::write_bits(der::BIT_STRING, &[0xc5; 64]),
//!     ],
//! );
//!
//! let mut whole = Reader::new(&ticket)?;
//! let mut fields = whole.take(der::SEQUENCE)?;
//! whole.end()?;
//! assert_eq!(fields.take_version(&[0], "version 0")?, 0);
//! assert_eq!(der::dotted(fields.take(der::OBJECT_IDENTIFIER)?.rest()), "1.3.6.1.4.1.32473.7");
//! assert_eq!(fields.take_time()?, 1_800_000_000);
//! assert!(fields.take_optional(NOTE)?.is_none());
//! assert_eq!(fields.take_bits(der::BIT_STRING)?, [0xc5; 64]);
//! fields.end()?;
//! # Ok(())
//! # }
//! ```

use zeroize::Zeroizing;

use crate::error::Error;

/// Most bytes of any structure read here. The largest key, ML-DSA-87 in the form `both` with its public key, has
/// 7600.
const MAX: usize = 65_536;

/// A tag, with the name by which an error calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Class, form and number in the one byte of a low tag.
    pub byte: u8,
    /// As in "expected an INTEGER".
    pub name: &'static str,
}

/// Universal, 2.
pub const INTEGER: Tag = Tag { byte: 0x02, name: "an INTEGER" };
/// Universal, 3.
pub const BIT_STRING: Tag = Tag { byte: 0x03, name: "a BIT STRING" };
/// Universal, 4.
pub const OCTET_STRING: Tag = Tag { byte: 0x04, name: "an OCTET STRING" };
/// Universal, 6.
pub const OBJECT_IDENTIFIER: Tag = Tag { byte: 0x06, name: "an OBJECT IDENTIFIER" };
/// Universal, 12.
pub const UTF8_STRING: Tag = Tag { byte: 0x0c, name: "a UTF8String" };
/// Universal, 16, constructed.
pub const SEQUENCE: Tag = Tag { byte: 0x30, name: "a SEQUENCE" };
/// Universal, 17, constructed.
pub const SET: Tag = Tag { byte: 0x31, name: "a SET" };

/// What is left to read, and where that is in the whole.
///
/// ```
/// use sealstone_pki::Error;
/// use sealstone_pki::der::{self, Reader};
///
/// # fn main() -> Result<(), sealstone_pki::Error> {
/// // SEQUENCE { "billing", 5 }
/// let bytes = [0x30, 12, 0x0c, 7, b'b', b'i', b'l', b'l', b'i', b'n', b'g', 0x02, 1, 5];
/// let mut fields = Reader::new(&bytes)?.take(der::SEQUENCE)?;
///
/// // A CHOICE: the tag that comes next says what it is.
/// let name = match fields.peek() {
///     Some(tag) if tag == der::UTF8_STRING.byte => fields.take(der::UTF8_STRING)?.rest(),
///     _ => return Err(fields.refusal("a name", "something else".into())),
/// };
/// assert_eq!(name, b"billing");
/// assert_eq!(fields.offset(), 11);
///
/// // Another reader of the rest: one value whole, with its tag and length, or one of any tag.
/// assert_eq!(fields.clone().take_whole(der::INTEGER)?, [0x02, 1, 5]);
/// assert_eq!(fields.clone().take_next("a number or a name")?.rest(), [5]);
///
/// // What is not there is refused, with the place.
/// let refused = fields.take(der::OCTET_STRING).err();
/// assert!(matches!(refused, Some(Error::Der { offset: 11, expected: "an OCTET STRING", .. })));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    /// Reads from the start of a whole structure.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        if bytes.len() > MAX {
            return Err(Error::TooLarge { limit: MAX, found: bytes.len() });
        }
        Ok(Self { bytes, offset: 0 })
    }

    /// Reads a value that was found at `offset` of a whole whose size has been checked.
    pub(crate) fn within(bytes: &'a [u8], offset: usize) -> Self {
        Self { bytes, offset }
    }

    /// The tag that comes next.
    pub fn peek(&self) -> Option<u8> {
        self.bytes.first().copied()
    }

    /// Where the reader stands.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// All that is left.
    pub fn rest(self) -> &'a [u8] {
        self.bytes
    }

    /// Takes one value of this tag and returns its content.
    pub fn take(&mut self, tag: Tag) -> Result<Reader<'a>, Error> {
        match self.peek() {
            Some(byte) if byte == tag.byte => self.take_any(),
            Some(byte) => Err(self.refusal(tag.name, format!("tag {byte:#04x}"))),
            None => Err(self.refusal(tag.name, "the end".into())),
        }
    }

    /// Takes one value of this tag and returns it whole, with tag and length.
    pub fn take_whole(&mut self, tag: Tag) -> Result<&'a [u8], Error> {
        let before = self.bytes;
        self.take(tag)?;
        Ok(&before[..before.len() - self.bytes.len()])
    }

    /// Takes one value of any tag.
    pub fn take_next(&mut self, expected: &'static str) -> Result<Reader<'a>, Error> {
        match self.peek() {
            // X.690 §8.1.2.4: a tag of several bytes. None is used in what is read here.
            Some(tag) if tag & 0x1f == 0x1f => Err(self.refusal(expected, format!("tag {tag:#04x}"))),
            Some(_) => self.take_any(),
            None => Err(self.refusal(expected, "the end".into())),
        }
    }

    /// Takes one value of this tag, if that is what comes next.
    pub fn take_optional(&mut self, tag: Tag) -> Result<Option<Reader<'a>>, Error> {
        if self.peek() == Some(tag.byte) { self.take_any().map(Some) } else { Ok(None) }
    }

    /// Takes the bits of a BIT STRING of whole bytes (tag as given, for implicit tagging).
    pub fn take_bits(&mut self, tag: Tag) -> Result<&'a [u8], Error> {
        let content = self.take(tag)?;
        match content.bytes.split_first() {
            Some((0, bits)) => Ok(bits),
            Some((unused, _)) => Err(content.refusal("no unused bits", unused.to_string())),
            None => Err(content.refusal("the number of unused bits", "the end".into())),
        }
    }

    /// Takes a time, UTCTime or GeneralizedTime in the form of RFC 5280 §4.1.2.5: to the second, in UTC, counted from 1970.
    ///
    /// # Errors
    /// As [`take`](Self::take), and for another form.
    pub fn take_time(&mut self) -> Result<i64, Error> {
        let at = self.clone();
        let tag = self.peek();
        let content = self.take_next("a time")?.rest();
        let refusal = || at.refusal("a time as YYMMDDHHMMSSZ or YYYYMMDDHHMMSSZ", "another form".into());
        let digits = match (tag, content.split_last()) {
            (Some(0x17), Some((b'Z', digits))) if digits.len() == 12 => digits,
            (Some(0x18), Some((b'Z', digits))) if digits.len() == 14 => digits,
            _ => return Err(refusal()),
        };
        if !digits.iter().all(u8::is_ascii_digit) {
            return Err(refusal());
        }
        let number = |digits: &[u8]| digits.iter().fold(0, |n, digit| n * 10 + i64::from(digit - b'0'));
        let (year, rest) = digits.split_at(digits.len() - 10);
        let year = match (number(year), year.len()) {
            (year, 4) => year,
            (year @ 50.., _) => 1900 + year,
            (year, _) => 2000 + year,
        };
        let field = |index: usize| number(&rest[2 * index..2 * index + 2]);
        let (month, day, hour, minute, second) = (field(0), field(1), field(2), field(3), field(4));
        let in_calendar = (1..=12).contains(&month) && (1..=days_of(month, year)).contains(&day);
        if !in_calendar || hour > 23 || minute > 59 || second > 59 {
            return Err(refusal());
        }
        Ok(((days_from_1970(year, month, day) * 24 + hour) * 60 + minute) * 60 + second)
    }

    /// Takes an INTEGER that is one of `allowed`.
    pub fn take_version(&mut self, allowed: &[u8], expected: &'static str) -> Result<u8, Error> {
        let content = self.take(INTEGER)?;
        match content.bytes {
            [version] if allowed.contains(version) => Ok(*version),
            _ => Err(content.refusal(expected, "another version".into())),
        }
    }

    /// Nothing may be left.
    pub fn end(self) -> Result<(), Error> {
        if self.bytes.is_empty() {
            Ok(())
        } else {
            Err(Error::TrailingData { offset: self.offset, found: self.bytes.len() })
        }
    }

    /// What is wrong here.
    pub fn refusal(&self, expected: &'static str, found: String) -> Error {
        Error::Der { offset: self.offset, expected, found }
    }

    /// X.690 §8.1.3, §10.1: the length is definite and takes as few bytes as it can.
    fn take_any(&mut self) -> Result<Reader<'a>, Error> {
        let at = |offset: usize, expected, found: String| {
            Err(Error::Der { offset: self.offset + offset, expected, found })
        };
        let (len, start) = match self.bytes.get(1) {
            None => return at(1, "a length", "the end".into()),
            Some(short @ 0..=0x7f) => (usize::from(*short), 2),
            Some(0x80) => return at(1, "a definite length", "an indefinite one".into()),
            Some(long) => {
                let count = usize::from(long & 0x7f);
                let Some(octets) = self.bytes.get(2..2 + count) else {
                    return at(2, "a length", "the end".into());
                };
                if octets[0] == 0 || (count == 1 && octets[0] < 0x80) {
                    return at(1, "a length in its shortest form", "a longer one".into());
                }
                if count > 4 {
                    return at(1, "a length of at most 4 bytes", format!("one of {count}"));
                }
                (octets.iter().fold(0, |len, octet| len << 8 | usize::from(*octet)), 2 + count)
            }
        };
        let Some((content, rest)) = self.bytes[start..].split_at_checked(len) else {
            let left = self.bytes.len() - start;
            return at(start, "as many bytes as the length says", format!("{left} of {len}"));
        };
        let content = Reader { bytes: content, offset: self.offset + start };
        self.offset += start + len;
        self.bytes = rest;
        Ok(content)
    }
}

fn days_of(month: i64, year: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days of the Gregorian calendar. Years begin in March, so that the leap day ends one; 719 468 is the day number of
/// 1970-01-01 counted from 0000-03-01.
fn days_from_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}

/// Writes one value whose content is `parts`, one after the other. The memory is wiped when dropped and is never
/// moved, so that secrets may be among the parts.
pub fn write(tag: Tag, parts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    let len: usize = parts.iter().map(|part| part.len()).sum();
    let octets = len.to_be_bytes();
    let significant = &octets[octets.iter().take_while(|octet| **octet == 0).count()..];
    let mut out = Zeroizing::new(Vec::with_capacity(2 + significant.len() + len));
    out.push(tag.byte);
    if len < 0x80 {
        out.push(len as u8);
    } else {
        out.push(0x80 | significant.len() as u8);
        out.extend_from_slice(significant);
    }
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out
}

/// Writes a BIT STRING of whole bytes.
pub fn write_bits(tag: Tag, bits: &[u8]) -> Zeroizing<Vec<u8>> {
    write(tag, &[&[0], bits])
}

/// An object identifier's content, dotted (X.690 §8.19). What cannot be one is shown as such.
pub fn dotted(content: &[u8]) -> String {
    let mut arcs: Vec<u128> = Vec::new();
    let mut arc: u128 = 0;
    for (index, octet) in content.iter().enumerate() {
        if arc >> 120 != 0 {
            return "not an object identifier".into();
        }
        arc = arc << 7 | u128::from(octet & 0x7f);
        if octet & 0x80 == 0 {
            arcs.push(arc);
            arc = 0;
        } else if index + 1 == content.len() {
            return "not an object identifier".into();
        }
    }
    let Some((first, rest)) = arcs.split_first() else { return "not an object identifier".into() };
    let root = (*first / 40).min(2);
    let mut text = format!("{root}.{}", first - 40 * root);
    rest.iter().for_each(|arc| text.push_str(&format!(".{arc}")));
    text
}

/// The content of an object identifier that is written with dots, in the only way to write it (no leading zeros).
pub fn undotted(text: &str) -> Option<Vec<u8>> {
    let plain = |arc: &str| arc == "0" || !(arc.is_empty() || arc.starts_with('0'));
    let number = |arc: &str| arc.bytes().all(|byte| byte.is_ascii_digit()).then(|| arc.parse::<u64>().ok());
    let arcs = text.split('.').map(|arc| if plain(arc) { number(arc).flatten() } else { None });
    let arcs: Vec<u64> = arcs.collect::<Option<_>>()?;
    let [root @ 0..=2, second, rest @ ..] = &arcs[..] else { return None };
    if *root < 2 && *second > 39 {
        return None;
    }
    let mut content = Vec::new();
    for arc in std::iter::once(&(40 * root).checked_add(*second)?).chain(rest) {
        let groups = (64 - arc.leading_zeros()).div_ceil(7).max(1);
        for group in (0..groups).rev() {
            let more = if group == 0 { 0 } else { 0x80 };
            content.push((arc >> (7 * group)) as u8 & 0x7f | more);
        }
    }
    Some(content)
}

/// The date of a day counted from 1970-01-01, the inverse of [`days_from_1970`].
#[cfg(feature = "certificates")]
pub(crate) fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}
