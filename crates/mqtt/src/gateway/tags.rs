//! Messages with tags that wait for a signed checkpoint, and what a checkpoint makes of them. Pure: the time is passed in.
//!
//! A checkpoint names tags of one key and epoch, from the first since the last checkpoint to the last before it was written. So a tag
//! that was accepted here, and whose number lies between two that it names, must be named too.

use std::collections::{HashSet, VecDeque};
use std::fmt;

use crate::mac::{Checkpointed, NAMED_LEN};
use crate::message::{KeyId, Number, UnixMillis};

/// Tags of a device that are remembered, and as many that it named and that did not come.
pub const MOST: usize = 256;

/// The part of a tag that a checkpoint names.
pub type Named = [u8; NAMED_LEN];

/// A message with a tag: its key and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tagged {
    /// The shared key.
    pub key: KeyId,
    /// Epoch and sequence.
    pub number: Number,
}

/// What became of tags of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Accepted here and named by the device, with the same tag: what was said is signed now.
    pub covered: u64,
    /// Named by the device, and never accepted here. One that comes later counts as covered then.
    pub lost: Vec<Tagged>,
    /// Accepted here, and the device says that it gave the number to something else: somebody else has the shared key.
    pub contradicted: Vec<Tagged>,
    /// Accepted here, and no checkpoint names it: one that should does not, none came in time, or there were too many since the last.
    pub uncovered: Vec<Tagged>,
    /// Named by the device, and no more remembered here.
    pub forgotten: u64,
}

/// What is remembered of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tags {
    /// Accepted, in this order, and not yet named.
    open: VecDeque<Open>,
    /// Named, and not yet accepted.
    missing: VecDeque<(Tagged, Named)>,
    /// When the first of those was accepted of which nobody was told.
    since: Option<UnixMillis>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Open {
    tagged: Tagged,
    named: Named,
    at: UnixMillis,
    /// Somebody was told that it is not covered.
    told: bool,
}

impl Tally {
    /// Whether nothing became of any.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Both.
    pub(super) fn and(mut self, more: Self) -> Self {
        self.covered += more.covered;
        self.lost.extend(more.lost);
        self.contradicted.extend(more.contradicted);
        self.uncovered.extend(more.uncovered);
        self.forgotten += more.forgotten;
        self
    }

    /// Those of whom somebody should be told, each with its name and the first few messages, as in `17:1.5` for key, epoch and
    /// sequence.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, String)> {
        let all =
            [("lost", &self.lost), ("contradicted", &self.contradicted), ("uncovered", &self.uncovered)];
        all.into_iter().filter(|(_, which)| !which.is_empty()).map(|(name, which)| {
            let first: Vec<String> = which.iter().take(NAMED_MOST).map(Tagged::to_string).collect();
            let more = if which.len() > NAMED_MOST { " …" } else { "" };
            (name, first.join(" ") + more)
        })
    }

    /// How many of each kind, by name.
    pub fn counts(&self) -> [(&'static str, u64); 5] {
        [
            ("covered", self.covered),
            ("lost", self.lost.len() as u64),
            ("contradicted", self.contradicted.len() as u64),
            ("uncovered", self.uncovered.len() as u64),
            ("forgotten", self.forgotten),
        ]
    }
}

impl Tags {
    /// Whether a message may have this tag: no checkpoint has named another one for its number.
    pub(super) fn admit(&self, tagged: Tagged, named: &Named) -> bool {
        self.missing.iter().all(|(of, expected)| *of != tagged || expected == named)
    }

    /// Remembers an accepted message. Bounds: `admit` said yes.
    pub(super) fn take(&mut self, tagged: Tagged, named: Named, at: UnixMillis) -> Tally {
        let mut tally = Tally::default();
        if let Some(place) = self.missing.iter().position(|(of, _)| *of == tagged) {
            self.missing.remove(place);
            tally.covered = 1;
            return tally;
        }
        self.open.push_back(Open { tagged, named, at, told: false });
        self.since.get_or_insert(at);
        if self.open.len() > MOST {
            let oldest = self.open.pop_front().filter(|oldest| !oldest.told);
            tally.uncovered.extend(oldest.map(|oldest| oldest.tagged));
            self.count();
        }
        tally
    }

    /// A signature has this number, so a tag that has it is not the device's.
    pub(super) fn signed(&mut self, number: Number) -> Tally {
        let mut tally = Tally::default();
        let theirs = |open: &Open| open.tagged.number == number;
        tally.contradicted.extend(self.open.iter().filter(|open| theirs(open)).map(|open| open.tagged));
        self.open.retain(|open| !theirs(open));
        self.count();
        tally
    }

    /// Holds what was accepted beside what the device says that it sent. `is_taken` says whether a number of the key was accepted, or lies
    /// too far back to tell.
    pub(super) fn reconcile(
        &mut self,
        checkpoint: &Checkpointed<'_>,
        is_taken: impl Fn(Number) -> bool,
    ) -> Tally {
        let mut tally = Tally::default();
        let (key, epoch) = (checkpoint.key_id, checkpoint.epoch);
        let tagged = |sequence| Tagged { key, number: Number { epoch, sequence } };
        let mut here = HashSet::new();
        self.open.retain(|open| {
            let Number { epoch: of, sequence } = open.tagged.number;
            if open.tagged.key != key || of != epoch {
                return true;
            }
            match checkpoint.tag(sequence) {
                Some(named) => {
                    here.insert(sequence);
                    match *named == open.named {
                        true => tally.covered += 1,
                        false => tally.contradicted.push(open.tagged),
                    }
                    false
                }
                None if checkpoint.spans(sequence) => {
                    if !open.told {
                        tally.uncovered.push(open.tagged);
                    }
                    false
                }
                // Of the next checkpoint, or of one before that is still on its way.
                None => true,
            }
        });
        for (sequence, named) in checkpoint.tags().filter(|(sequence, _)| !here.contains(sequence)) {
            let tagged = tagged(sequence);
            if is_taken(tagged.number) {
                tally.forgotten += 1;
            } else if self.missing.iter().all(|(of, _)| *of != tagged) {
                tally.lost.push(tagged);
                self.missing.push_back((tagged, *named));
                if self.missing.len() > MOST {
                    self.missing.pop_front();
                }
            }
        }
        self.count();
        tally
    }

    /// Since when something waits of which nobody was told.
    pub(super) fn since(&self) -> Option<UnixMillis> {
        self.since
    }

    /// What was accepted until then and waits still: it is told once, and a checkpoint that comes late covers it all the same.
    pub(super) fn overdue(&mut self, until: UnixMillis) -> Tally {
        let mut tally = Tally::default();
        for open in self.open.iter_mut().filter(|open| !open.told && open.at <= until) {
            open.told = true;
            tally.uncovered.push(open.tagged);
        }
        self.count();
        tally
    }

    /// Whether nothing is remembered.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.missing.is_empty()
    }

    fn count(&mut self) {
        self.since = self.open.iter().filter(|open| !open.told).map(|open| open.at).min();
    }

    /// Two bytes: how many wait; for each: key id, epoch, sequence, named bytes, time of acceptance, whether it was told. The same of
    /// those that are missing, without the last two.
    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        fn one(out: &mut Vec<u8>, tagged: &Tagged, named: &Named) {
            out.extend(tagged.key.0.to_be_bytes());
            out.extend(tagged.number.epoch.to_be_bytes());
            out.extend(tagged.number.sequence.to_be_bytes());
            out.extend(named);
        }
        out.extend((self.open.len() as u16).to_be_bytes()); // at most MOST
        for open in &self.open {
            one(out, &open.tagged, &open.named);
            out.extend(open.at.0.to_be_bytes());
            out.push(u8::from(open.told));
        }
        out.extend((self.missing.len() as u16).to_be_bytes());
        self.missing.iter().for_each(|(tagged, named)| one(out, tagged, named));
    }

    /// Reads what [`Self::emit`] wrote. None if it is something else.
    pub(super) fn parse(rest: &mut &[u8]) -> Option<Self> {
        fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
            let (taken, after) = rest.split_first_chunk()?;
            *rest = after;
            Some(*taken)
        }
        let mut tags = Tags::default();
        for _ in 0..u16::from_be_bytes(take(rest)?) {
            let (tagged, named) = (Tagged::parse(rest)?, take(rest)?);
            let at = UnixMillis(u64::from_be_bytes(take(rest)?));
            let told = match take(rest)? {
                [0] => false,
                [1] => true,
                _ => return None,
            };
            tags.open.push_back(Open { tagged, named, at, told });
        }
        for _ in 0..u16::from_be_bytes(take(rest)?) {
            tags.missing.push_back((Tagged::parse(rest)?, take(rest)?));
        }
        tags.count();
        (tags.open.len() <= MOST && tags.missing.len() <= MOST).then_some(tags)
    }
}

/// Messages that are named where somebody is told.
const NAMED_MOST: usize = 8;

impl fmt::Display for Tagged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}.{}", self.key.0, self.number.epoch, self.number.sequence)
    }
}

impl Tagged {
    /// Key id, epoch, sequence.
    fn parse(rest: &mut &[u8]) -> Option<Self> {
        let (taken, after) = rest.split_first_chunk::<10>()?;
        *rest = after;
        let [k, l, a, b, c, d, e, f, g, h] = *taken;
        let number =
            Number { epoch: u32::from_be_bytes([a, b, c, d]), sequence: u32::from_be_bytes([e, f, g, h]) };
        Some(Tagged { key: KeyId(u16::from_be_bytes([k, l])), number })
    }
}
