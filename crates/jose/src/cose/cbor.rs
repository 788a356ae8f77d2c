//! CBOR (RFC 8949) that has only one reading: definite lengths, heads in their shortest form, no label twice, few levels, one
//! item. What is written is in the deterministic order of section 4.2.1; what is read may be in any, as the examples of
//! RFC 9964 are. Knows nothing of COSE.
//!
//! Items borrow from the text they are read from, so that a secret in it is not copied.

use core::fmt::{self, Write as _};

use crate::error::Error;

/// Levels of arrays, maps and tags within each other.
const MAX_DEPTH: usize = 16;
/// Most items of one array.
const MAX_ITEMS: u64 = 1_024;
/// Most items at all: what is small as text is not in memory.
const MAX_ALL: usize = 2_048;
/// Most members of one map: each is compared with those before it.
const MAX_MEMBERS: u64 = 64;

/// Major types.
const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;
const SIMPLE: u8 = 7;

/// A data item of CBOR. `Display` writes the diagnostic notation of RFC 8949 §8.
///
/// Floating-point numbers are not read: no header and no key here has one.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// An array.
    Array(Vec<Value<'a>>),
    /// `true` or `false`.
    Bool(bool),
    /// A byte string.
    Bytes(&'a [u8]),
    /// An integer, from -2^64 to 2^64 - 1.
    Int(i128),
    /// A map; no label stands in it twice.
    Map(Vec<(Value<'a>, Value<'a>)>),
    /// `null`.
    Null,
    /// A tag and what it is on.
    Tag(u64, Box<Value<'a>>),
    /// A text string.
    Text(&'a str),
    /// `undefined`.
    Undefined,
}

impl<'a> Value<'a> {
    /// Reads one item and nothing after it. `place` names the text in the error.
    pub(crate) fn read(place: &'static str, text: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader { place, text, at: 0, left: MAX_ALL };
        let value = reader.value(MAX_DEPTH)?;
        match reader.at == text.len() {
            true => Ok(value),
            false => Err(reader.fault(reader.at, "something stands behind the item")),
        }
    }

    /// What it is, for an error: never the value itself.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Array(_) => "an array",
            Self::Bool(_) => "a boolean",
            Self::Bytes(_) => "a byte string",
            Self::Int(_) => "an integer",
            Self::Map(_) => "a map",
            Self::Null => "null",
            Self::Tag(..) => "a tag",
            Self::Text(_) => "a text",
            Self::Undefined => "undefined",
        }
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Array(items) => listed(f, ['[', ']'], items, |f, item| item.fmt(f)),
            Self::Bool(value) => value.fmt(f),
            Self::Bytes(bytes) => {
                f.write_str("h'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_char('\'')
            }
            Self::Int(value) => value.fmt(f),
            Self::Map(members) => {
                listed(f, ['{', '}'], members, |f, (label, value)| write!(f, "{label}: {value}"))
            }
            Self::Null => f.write_str("null"),
            Self::Tag(tag, value) => write!(f, "{tag}({value})"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Undefined => f.write_str("undefined"),
        }
    }
}

fn listed<T>(
    f: &mut fmt::Formatter<'_>,
    [open, close]: [char; 2],
    items: &[T],
    mut each: impl FnMut(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    f.write_char(open)?;
    for (index, item) in items.iter().enumerate() {
        f.write_str(if index == 0 { "" } else { ", " })?;
        each(f, item)?;
    }
    f.write_char(close)
}

struct Reader<'a> {
    place: &'static str,
    text: &'a [u8],
    at: usize,
    left: usize,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Result<Value<'a>, Error> {
        let start = self.at;
        let (major, number) = self.head()?;
        let Some(left) = self.left.checked_sub(1) else {
            return Err(self.fault(start, "more than 2048 items in all"));
        };
        self.left = left;
        let Some(depth) = depth.checked_sub(1) else {
            return Err(self.fault(start, "more than 16 levels deep"));
        };
        Ok(match major {
            UNSIGNED => Value::Int(i128::from(number)),
            NEGATIVE => Value::Int(-1 - i128::from(number)),
            BYTES => Value::Bytes(self.take(start, number)?),
            TEXT => {
                let bytes = self.take(start, number)?;
                Value::Text(
                    core::str::from_utf8(bytes).map_err(|_| self.fault(start, "a text that is not UTF-8"))?,
                )
            }
            ARRAY => {
                if number > MAX_ITEMS {
                    return Err(self.fault(start, "more than 1024 items"));
                }
                Value::Array((0..number).map(|_| self.value(depth)).collect::<Result<_, _>>()?)
            }
            MAP => {
                if number > MAX_MEMBERS {
                    return Err(self.fault(start, "more than 64 members"));
                }
                let mut members: Vec<(Value<'a>, Value<'a>)> = Vec::new();
                for _ in 0..number {
                    let start = self.at;
                    let label = self.value(depth)?;
                    // RFC 9052 §1.5: labels are integers and texts.
                    if !matches!(label, Value::Int(_) | Value::Text(_)) {
                        return Err(self.fault(start, "a label that is neither an integer nor a text"));
                    }
                    if members.iter().any(|(other, _)| *other == label) {
                        return Err(self.fault(start, "a label twice in one map"));
                    }
                    members.push((label, self.value(depth)?));
                }
                Value::Map(members)
            }
            TAG => Value::Tag(number, Box::new(self.value(depth)?)),
            _ => match number {
                20 => Value::Bool(false),
                21 => Value::Bool(true),
                22 => Value::Null,
                23 => Value::Undefined,
                _ => return Err(self.fault(start, "a simple value that has no meaning")),
            },
        })
    }

    /// Major type and number of the next item.
    fn head(&mut self) -> Result<(u8, u64), Error> {
        let start = self.at;
        let cut = || self.fault(start, "the text ends within an item");
        let first = *self.text.get(start).ok_or_else(cut)?;
        let (major, info) = (first >> 5, first & 31);
        let more = match info {
            0..=23 => 0,
            24..=27 if major == SIMPLE => {
                return Err(self.fault(start, "a floating-point number or reserved simple value"));
            }
            24..=27 => 1 << (info - 24),
            31 => return Err(self.fault(start, "an indefinite length")),
            _ => return Err(self.fault(start, "a reserved head")),
        };
        let bytes = self.text.get(start + 1..start + 1 + more).ok_or_else(cut)?;
        let number = match more {
            0 => u64::from(info),
            _ => bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
        };
        if more > 0 && head_len(number) != 1 + more {
            return Err(self.fault(start, "a number that is not in its shortest form"));
        }
        self.at = start + 1 + more;
        Ok((major, number))
    }

    fn take(&mut self, start: usize, len: u64) -> Result<&'a [u8], Error> {
        let end = usize::try_from(len).ok().and_then(|len| self.at.checked_add(len));
        let bytes = end.and_then(|end| self.text.get(self.at..end));
        let bytes = bytes.ok_or_else(|| self.fault(start, "the text ends within an item"))?;
        self.at += bytes.len();
        Ok(bytes)
    }

    fn fault(&self, offset: usize, problem: &'static str) -> Error {
        Error::BadCbor { place: self.place, offset, problem }
    }
}

/// Bytes of the head of a number, in its shortest form.
const fn head_len(number: u64) -> usize {
    match number {
        0..=23 => 1,
        24..=0xff => 2,
        0x100..=0xffff => 3,
        0x1_0000..=0xffff_ffff => 5,
        _ => 9,
    }
}

/// What is written, in the order in which it is asked for. Maps: whoever writes them orders their members.
pub(crate) trait Write {
    fn head(&mut self, major: u8, number: u64);
    fn bytes(&mut self, bytes: &[u8]);

    fn int(&mut self, value: i64) {
        match u64::try_from(value) {
            Ok(number) => self.head(UNSIGNED, number),
            // -1 - n, RFC 8949 §3.1: in two's complement, all bits turned over.
            Err(_) => self.head(NEGATIVE, !value.cast_unsigned()),
        }
    }

    fn byte_string(&mut self, bytes: &[u8]) {
        self.head(BYTES, bytes.len() as u64);
        self.bytes(bytes);
    }

    fn text(&mut self, text: &str) {
        self.head(TEXT, text.len() as u64);
        self.bytes(text.as_bytes());
    }

    fn array(&mut self, items: u64) {
        self.head(ARRAY, items);
    }

    fn map(&mut self, members: u64) {
        self.head(MAP, members);
    }

    fn tag(&mut self, tag: u64) {
        self.head(TAG, tag);
    }

    fn null(&mut self) {
        self.head(SIMPLE, 22);
    }
}

impl Write for Vec<u8> {
    fn head(&mut self, major: u8, number: u64) {
        let bytes = number.to_be_bytes();
        let (info, more) = match head_len(number) {
            1 => (bytes[7], 0),
            2 => (24, 1),
            3 => (25, 2),
            5 => (26, 4),
            _ => (27, 8),
        };
        self.push(major << 5 | info);
        self.extend_from_slice(&bytes[8 - more..]);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}
