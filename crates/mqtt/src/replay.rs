//! Each number is accepted once: what a verifier remembers of one key.

use crate::message::Number;

/// Why a number is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// It was accepted before.
    Seen,
    /// It lies before what the window remembers, so nobody can tell.
    TooOld,
}

/// The numbers of one key that were accepted: the latest epoch and the one before it, in each a window of `64 * WORDS`
/// sequence numbers below the highest (as in RFC 4303, 3.4.3).
///
/// Messages may come late and out of order: within the window each is accepted once. An epoch that is over is still open
/// for what comes late, until the next one begins; earlier ones are closed.
///
/// `SIZE`: 16·WORDS + 24 bytes, rounded up to 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window<const WORDS: usize> {
    epochs: [Option<Epoch<WORDS>>; 2],
}

/// The numbers of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Epoch<const WORDS: usize> {
    epoch: u32,
    /// The highest sequence number that was accepted.
    highest: u32,
    /// Bit i of the window: `highest - i` was accepted.
    seen: [u64; WORDS],
}

impl<const WORDS: usize> Window<WORDS> {
    /// Nothing was accepted yet.
    pub const EMPTY: Self = Window { epochs: [None; 2] };

    /// Whether the number would be accepted. A quick look before the signature is checked; it changes nothing.
    pub fn check(&self, number: Number) -> Result<(), Replay> {
        let [latest, before] = &self.epochs;
        match (latest, before) {
            (Some(latest), _) if latest.epoch == number.epoch => latest.check(number.sequence),
            (Some(latest), _) if latest.epoch < number.epoch => Ok(()),
            (None, _) => Ok(()),
            (_, Some(before)) if before.epoch == number.epoch => before.check(number.sequence),
            // The epoch before the latest may come late without one message of it having been seen.
            (_, before) if before.is_none_or(|before| before.epoch < number.epoch) => Ok(()),
            _ => Err(Replay::TooOld),
        }
    }

    /// Accepts a number, once. Only for a message whose seal was verified: whoever can forge this call can close the window.
    pub fn accept(&mut self, number: Number) -> Result<(), Replay> {
        self.check(number)?;
        let Number { epoch, sequence } = number;
        let [latest, before] = &mut self.epochs;
        match (&mut *latest, &mut *before) {
            (Some(latest), _) if latest.epoch == epoch => latest.mark(sequence),
            (_, Some(before)) if before.epoch == epoch => before.mark(sequence),
            (Some(last), _) if last.epoch > epoch => *before = Some(Epoch::begin(number)),
            _ => *before = latest.replace(Epoch::begin(number)),
        }
        Ok(())
    }

    /// Everything that is remembered, as 64-bit words: 2 + 2 · (2 + WORDS) at most. For a verifier that outlives its process.
    pub fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self.epochs.iter().flat_map(|epoch| {
            let head = epoch
                .as_ref()
                .map(|Epoch { epoch, highest, .. }| u64::from(*epoch) << 32 | u64::from(*highest));
            let seen = epoch.iter().flat_map(|epoch| epoch.seen);
            core::iter::once(u64::from(head.is_some())).chain(head).chain(seen)
        })
    }

    /// The window of [`Self::words`]; none if the words end too early, or say what no window says.
    pub fn from_words(words: &mut impl Iterator<Item = u64>) -> Option<Self> {
        let mut window = Self::EMPTY;
        for epoch in &mut window.epochs {
            match words.next()? {
                0 => {}
                1 => {
                    let head = words.next()?;
                    let mut seen = [0; WORDS];
                    for word in &mut seen {
                        *word = words.next()?;
                    }
                    *epoch = Some(Epoch { epoch: (head >> 32) as u32, highest: head as u32, seen });
                }
                _ => return None,
            }
        }
        match &window.epochs {
            [None, Some(_)] => None,
            [Some(latest), Some(before)] if latest.epoch <= before.epoch => None,
            _ => Some(window),
        }
    }

    /// The highest number that was accepted.
    pub fn highest(&self) -> Option<Number> {
        self.epochs[0].map(|Epoch { epoch, highest, .. }| Number { epoch, sequence: highest })
    }
}

impl<const WORDS: usize> Epoch<WORDS> {
    fn begin(Number { epoch, sequence }: Number) -> Self {
        let mut begun = Epoch { epoch, highest: sequence, seen: [0; WORDS] };
        begun.mark(sequence);
        begun
    }

    fn check(&self, sequence: u32) -> Result<(), Replay> {
        let Some(back) = self.highest.checked_sub(sequence) else { return Ok(()) };
        let (word, bit) = (back >> 6, back & 63);
        match self.seen.get(word as usize) {
            Some(word) if word >> bit & 1 == 0 => Ok(()),
            Some(_) => Err(Replay::Seen),
            None => Err(Replay::TooOld),
        }
    }

    /// Bounds: `check` said yes.
    fn mark(&mut self, sequence: u32) {
        if let Some(ahead) = sequence.checked_sub(self.highest) {
            self.shift(ahead);
            self.highest = sequence;
        }
        let back = self.highest - sequence;
        if let Some(word) = self.seen.get_mut((back >> 6) as usize) {
            *word |= 1 << (back & 63);
        }
    }

    /// Moves each mark away from the highest.
    fn shift(&mut self, ahead: u32) {
        let (words, bits) = ((ahead >> 6) as usize, ahead & 63);
        for i in (0..WORDS).rev() {
            let from = |back: usize| i.checked_sub(back).map_or(0, |i| self.seen[i]);
            let carried = if bits == 0 { 0 } else { from(words.saturating_add(1)) >> (64 - bits) };
            self.seen[i] = from(words) << bits | carried;
        }
    }
}
