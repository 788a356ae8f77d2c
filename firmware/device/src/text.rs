//! Short texts, without the formatting of the core library, which is longer than everything that is said here.

use sealstone_mqtt::{Error, Topic};

/// A text of at most 128 bytes.
pub(crate) struct Text {
    bytes: [u8; 128],
    len: usize,
}

impl Text {
    /// Nothing.
    pub(crate) const EMPTY: Self = Text { bytes: [0; 128], len: 0 };

    /// Adds a text. Errors: `TooLong`.
    pub(crate) fn put(&mut self, text: &str) -> Result<&mut Self, Error> {
        let end = self.len + text.len();
        self.bytes.get_mut(self.len..end).ok_or(Error::TooLong)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(self)
    }

    /// Adds a number, decimal. Errors: `TooLong`.
    pub(crate) fn number(&mut self, mut number: u64) -> Result<&mut Self, Error> {
        let mut digits = [0; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            let (rest, digit) = by_ten(number);
            digits[at] = b'0' + digit;
            number = rest;
            if number == 0 {
                return self.put(core::str::from_utf8(&digits[at..]).unwrap_or_default());
            }
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        self.bytes.get(..self.len).and_then(|bytes| core::str::from_utf8(bytes).ok()).unwrap_or_default()
    }

    /// The text as a topic. Errors: `BadTopic`.
    pub(crate) fn topic(&self) -> Result<Topic<'_>, Error> {
        Topic::new(self.as_str())
    }
}

/// A tenth, and what is left: 16 bits at a time, because a CPU of 32 bits divides no more.
fn by_ten(number: u64) -> (u64, u8) {
    let (mut tenth, mut left) = (0, 0);
    for shift in [48, 32, 16, 0] {
        let part = left << 16 | (number >> shift) as u32 & 0xffff;
        tenth = tenth << 16 | u64::from(part / 10);
        left = part % 10;
    }
    (tenth, left as u8)
}
