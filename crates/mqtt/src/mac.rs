//! Tags instead of signatures for classes that allow it, and the signature over many tags that makes up for it.
//!
//! A tag takes 32 bytes and some ten thousand instructions, a signature thousands of bytes and millions. But whoever can check
//! a tag can make one: it shows a message to the gateway, and to nobody else. So every so often a [`Checkpoint`] is signed, which names
//! the tags since the last one; with it the gateway's log shows to anybody what the device said.
//!
//! ```
//! use sealstone_mqtt::mac::{Checkpoint, Checkpointed, MacKey, Tagger};
//! use sealstone_mqtt::{Form, KeyId, Message, Number, Topic, open::Envelope, seal};
//!
//! # fn main() -> Result<(), sealstone_mqtt::Error> {
//! let key = MacKey::from_bytes(&[7; 32]); // shared with the gateway
//! let topic = Topic::new("device/7/telemetry/temp")?;
//! let number = Number { epoch: 1, sequence: 5 };
//! let message = Message { key_id: KeyId(9), number: Some(number), ..Message::new(topic, b"21.5") };
//! let mut wire = [0; 100];
//! let len = seal::seal(Form::V1, &message, &mut Tagger(&key), &mut wire)?;
//!
//! let envelope = Envelope::parse(Form::V1, topic, &wire[..len])?;
//! assert_eq!(envelope.verify_mac(&key)?.payload, b"21.5");
//!
//! // The device remembers the tag, and signs it with others.
//! let mut checkpoint = Checkpoint::<64>::new(KeyId(9));
//! checkpoint.add(number, envelope.seal())?;
//! let mut payload = [0; 100];
//! let len = checkpoint.emit(&mut payload)?;
//! assert!(Checkpointed::parse(&payload[..len])?.names(number, envelope.seal()));
//! # Ok(())
//! # }
//! ```

use crate::error::{Error, Field};
use crate::form::{By, Covered};
use crate::message::{KeyId, Number};
use crate::open::Bytes;
use crate::seal::{Signer, Writer};
pub use sealstone_mldsa::MacKey;

/// Bytes of a tag.
pub const TAG_LEN: usize = 32;
/// Bytes of a tag that a checkpoint names.
pub const NAMED_LEN: usize = 16;

/// A shared key that seals. docs/formats/mqtt.md, "v1 and detached".
#[derive(Clone, Copy, Debug)]
pub struct Tagger<'a>(pub &'a MacKey);

impl Signer for Tagger<'_> {
    fn by(&self) -> By {
        By::Mac
    }

    fn seal(&mut self, covered: &Covered<'_>, seal: &mut [u8]) -> Result<(), Error> {
        self.0.tag(covered.form.context(), |mac| covered.feed(|part| mac.update(part)), seal);
        Ok(())
    }
}

/// Is this the tag of what is covered?
pub(crate) fn verify(key: &MacKey, covered: &Covered<'_>, seal: &[u8]) -> Result<(), sealstone_mldsa::Error> {
    key.verify(covered.form.context(), |mac| covered.feed(|part| mac.update(part)), seal)
}

/// The tags since the last checkpoint, at most N, of one key and one epoch.
///
/// `SIZE`: 20·N + 16 bytes.
#[derive(Clone, Debug)]
pub struct Checkpoint<const N: usize> {
    key_id: KeyId,
    epoch: u32,
    len: usize,
    tags: [(u32, [u8; NAMED_LEN]); N],
    /// When the first of them was made.
    since: u64,
}

/// When a checkpoint is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rhythm {
    /// After so many tags.
    pub every: u16,
    /// After so many milliseconds since the first of them.
    pub within_ms: u64,
}

impl<const N: usize> Checkpoint<N> {
    /// No tags yet, of this key.
    pub const fn new(key_id: KeyId) -> Self {
        Checkpoint { key_id, epoch: 0, len: 0, tags: [(0, [0; NAMED_LEN]); N], since: 0 }
    }

    /// The key of the tags.
    pub fn key_id(&self) -> KeyId {
        self.key_id
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a tag. Bounds: sequence numbers rise, as they are given out. Errors: `QueueFull` if there are N, or it is of another epoch than the others: a checkpoint is due first.
    /// `Unsupported(Seal)` for what is no tag.
    pub fn add(&mut self, number: Number, tag: &[u8]) -> Result<(), Error> {
        let named =
            tag.first_chunk().filter(|_| tag.len() == TAG_LEN).ok_or(Error::Unsupported(Field::Seal))?;
        if !self.has_room(number.epoch) {
            return Err(Error::QueueFull);
        }
        let place = self.tags.get_mut(self.len).ok_or(Error::QueueFull)?;
        *place = (number.sequence, *named);
        (self.epoch, self.len) = (number.epoch, self.len + 1);
        Ok(())
    }

    /// Whether a tag of this epoch can be added.
    pub fn has_room(&self, epoch: u32) -> bool {
        self.len < N && (self.len == 0 || self.epoch == epoch)
    }

    /// The same as [`Self::add`], and from when on [`Self::is_due`] counts.
    pub fn add_at(&mut self, number: Number, tag: &[u8], now: u64) -> Result<(), Error> {
        let first = self.is_empty();
        self.add(number, tag)?;
        if first {
            self.since = now;
        }
        Ok(())
    }

    /// Whether it is time for a signature.
    pub fn is_due(&self, rhythm: Rhythm, now: u64) -> bool {
        let enough = self.len >= usize::from(rhythm.every) || self.len >= N;
        self.len > 0 && (enough || now.saturating_sub(self.since) >= rhythm.within_ms)
    }

    /// Writes the payload of the message that is to be signed (kind `checkpoint`); returns its length. Errors: `TooLong`.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Error> {
        let count = u16::try_from(self.len).map_err(|_| Error::TooLong)?;
        let mut to = Writer { out, at: 0 };
        to.put(&self.key_id.0.to_be_bytes())?;
        to.put(&self.epoch.to_be_bytes())?;
        to.put(&count.to_be_bytes())?;
        for (sequence, named) in self.tags.iter().take(self.len) {
            to.put(&sequence.to_be_bytes())?;
            to.put(named)?;
        }
        Ok(to.at)
    }

    /// Forgets them: once the checkpoint waits to be sent.
    pub fn clear(&mut self) {
        self.len = 0;
    }
}

/// The payload of a checkpoint, as the gateway reads it once its signature was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpointed<'a> {
    /// The key of the tags.
    pub key_id: KeyId,
    /// Their epoch.
    pub epoch: u32,
    tags: &'a [u8],
}

impl<'a> Checkpointed<'a> {
    /// Reads a payload. Errors: `Truncated`, `TrailingBytes`; `NotCanonical` if it names no tag, or sequence numbers that do not rise.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Error> {
        let mut rest = Bytes(payload);
        let (key_id, epoch, count) = (KeyId(rest.u16()?), rest.u32()?, usize::from(rest.u16()?));
        let tags = rest.take(count * (4 + NAMED_LEN))?;
        rest.end()?;
        let checkpointed = Checkpointed { key_id, epoch, tags };
        let sequences = checkpointed.tags().map(|(sequence, _)| sequence);
        if count == 0 || !sequences.is_sorted_by(|before, after| before < after) {
            return Err(Error::NotCanonical);
        }
        Ok(checkpointed)
    }

    /// The sequence numbers, which rise, and the first bytes of the tags.
    pub fn tags(&self) -> impl Iterator<Item = (u32, &'a [u8; NAMED_LEN])> {
        self.entries().iter().map(parts)
    }

    /// The first bytes of the tag that it names for a sequence number.
    pub fn tag(&self, sequence: u32) -> Option<&'a [u8; NAMED_LEN]> {
        let entries = self.entries();
        let found = entries.binary_search_by_key(&sequence, |entry| parts(entry).0).ok()?;
        entries.get(found).map(|entry| parts(entry).1)
    }

    /// Whether a sequence number lies between two that it names.
    pub fn spans(&self, sequence: u32) -> bool {
        let end = |entry: Option<&'a Entry>| entry.map(|entry| parts(entry).0);
        let (first, last) = (end(self.entries().first()), end(self.entries().last()));
        first.is_some_and(|first| first < sequence) && last.is_some_and(|last| sequence < last)
    }

    fn entries(&self) -> &'a [Entry] {
        self.tags.as_chunks().0
    }

    /// Whether it names this message's tag.
    pub fn names(&self, number: Number, tag: &[u8]) -> bool {
        number.epoch == self.epoch
            && tag.len() == TAG_LEN
            && self.tag(number.sequence).is_some_and(|named| tag.starts_with(named))
    }
}

/// A tag as a checkpoint names it.
type Entry = [u8; 4 + NAMED_LEN];

/// Sequence number and first bytes of the tag.
fn parts(entry: &Entry) -> (u32, &[u8; NAMED_LEN]) {
    let [a, b, c, d, named @ ..] = entry;
    (u32::from_be_bytes([*a, *b, *c, *d]), named)
}
