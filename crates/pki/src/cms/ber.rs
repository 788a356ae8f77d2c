//! From BER to DER, as far as messages come in BER: RFC 5652 §2 lets everything but signed attributes be BER, and
//! programs that stream write lengths that are indefinite (X.690 §8.1.3.6) and OCTET STRINGs in pieces (§8.7.3).
//!
//! Those two forms are rewritten, before anything is read; every other liberty of BER is refused by the reader of DER.
//! What is signed loses nothing by it: content counts by its octets, and signed attributes were hashed as DER.

use std::borrow::Cow;

use super::error::Error;

/// Deepest nesting that is followed. A message with certificates and a time stamp needs about 20.
const DEPTH: usize = 32;

const OCTET_STRING: u8 = 0x04;
const PIECES: u8 = 0x24;
const INDEFINITE: u8 = 0x80;
const END: [u8; 2] = [0, 0];

/// The same value in definite lengths, with no string in pieces. Nothing is copied if it is so already.
///
/// # Errors
/// [`Error::Ber`]: nested too deep, cut off, or in pieces that are no pieces.
pub(super) fn to_der(bytes: &[u8]) -> Result<Cow<'_, [u8]>, Error> {
    let mut walk = Walk { rest: bytes, whole: bytes.len(), rewritten: false };
    let mut out = Vec::new();
    walk.value(DEPTH, &mut out)?;
    match (walk.rewritten, walk.rest) {
        (false, _) => Ok(Cow::Borrowed(bytes)),
        (true, []) => Ok(Cow::Owned(out)),
        (true, _) => Err(walk.refusal("nothing after the message")),
    }
}

struct Walk<'a> {
    rest: &'a [u8],
    whole: usize,
    rewritten: bool,
}

impl<'a> Walk<'a> {
    fn refusal(&self, expected: &'static str) -> Error {
        Error::Ber { offset: self.whole - self.rest.len(), expected }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        match self.rest.split_at_checked(count) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(self.refusal("as many bytes as the length says")),
        }
    }

    /// Takes a tag and a length; none is an indefinite one.
    fn header(&mut self) -> Result<(u8, Option<usize>), Error> {
        let [tag, first] = *self.take(2)? else { return Err(self.refusal("a tag and a length")) };
        if tag & 0x1f == 0x1f {
            return Err(self.refusal("a tag of one byte"));
        }
        let len = match first {
            0..=0x7f => usize::from(first),
            INDEFINITE => return Ok((tag, None)),
            long => {
                let count = usize::from(long & 0x7f);
                if count > 4 {
                    return Err(self.refusal("a length of at most 4 bytes"));
                }
                let octets = self.take(count)?;
                // X.690 §10.1: what BER allows here and no peer writes.
                if octets[0] == 0 || (count == 1 && octets[0] < 0x80) {
                    return Err(self.refusal("a length in its shortest form"));
                }
                octets.iter().fold(0, |len, octet| len << 8 | usize::from(*octet))
            }
        };
        if len > self.rest.len() {
            return Err(self.refusal("as many bytes as the length says"));
        }
        Ok((tag, Some(len)))
    }

    /// Takes one value and writes it.
    fn value(&mut self, depth: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(self.refusal("at most 32 structures in each other"));
        };
        let (tag, len) = self.header()?;
        let constructed = tag & 0x20 != 0;
        match len {
            Some(len) if !constructed => {
                let content = self.take(len)?;
                write(out, tag, content);
                Ok(())
            }
            None if !constructed => Err(self.refusal("a definite length of a primitive value")),
            len => {
                self.rewritten |= len.is_none() || tag == PIECES;
                let end = len.map(|len| self.rest.len() - len);
                let mut content = Vec::new();
                while !self.at_end(end)? {
                    match tag {
                        PIECES => content.extend_from_slice(self.piece()?),
                        _ => self.value(depth, &mut content)?,
                    }
                }
                write(out, if tag == PIECES { OCTET_STRING } else { tag }, &content);
                Ok(())
            }
        }
    }

    /// Whether the value that ends where `end` bytes are left, or with two zeros, ends here.
    fn at_end(&mut self, end: Option<usize>) -> Result<bool, Error> {
        match end {
            Some(end) if self.rest.len() < end => {
                Err(self.refusal("an inner value that ends within the outer one"))
            }
            Some(end) => Ok(self.rest.len() == end),
            None if self.rest.starts_with(&END) => self.take(END.len()).map(|_| true),
            None if self.rest.is_empty() => Err(self.refusal("the end of an indefinite length")),
            None => Ok(false),
        }
    }

    /// X.690 §8.7.3 lets pieces consist of pieces; no peer writes them so.
    fn piece(&mut self) -> Result<&'a [u8], Error> {
        match self.header()? {
            (OCTET_STRING, Some(len)) => self.take(len),
            _ => Err(self.refusal("a piece of the OCTET STRING")),
        }
    }
}

fn write(out: &mut Vec<u8>, tag: u8, content: &[u8]) {
    let octets = content.len().to_be_bytes();
    let significant = &octets[octets.iter().take_while(|octet| **octet == 0).count()..];
    out.push(tag);
    if content.len() < 0x80 {
        out.push(content.len() as u8);
    } else {
        out.push(0x80 | significant.len() as u8);
        out.extend_from_slice(significant);
    }
    out.extend_from_slice(content);
}
