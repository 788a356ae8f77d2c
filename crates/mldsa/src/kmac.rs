//! KMAC256 (NIST SP 800-185, 4) and SHAKE256 (FIPS 202, 6.2) for protocols that need a tag or a hash beside signatures.

use crate::backend::{Room, active, wipe_below};
use crate::ct::{self, Wiped, equal};
use crate::error::Error;
use crate::keccak::Shake;
use crate::random::Randomness;
use core::fmt;

/// Bytes of a block of cSHAKE256.
const RATE: usize = 136;
/// Bytes of stack that absorbing and squeezing need, and more: the permutation leaves its last state there, from which one
/// gets back to the key.
const STACK: usize = if cfg!(armv7em) { 1536 } else { 4096 };

/// A key that two sides share: 32 bytes, wiped on drop, shown by nothing.
///
/// ```
/// use sealstone_mldsa::MacKey;
///
/// let key = MacKey::from_bytes(&[7; 32]);
/// let mut tag = [0; 32];
/// let pieces: [&[u8]; 2] = [b"good ", b"morning"];
/// key.tag(b"greeting", |mac| pieces.iter().for_each(|piece| mac.update(piece)), &mut tag);
/// assert!(key.verify(b"greeting", |mac| mac.update(b"good morning"), &tag).is_ok());
/// assert!(key.verify(b"farewell", |mac| mac.update(b"good morning"), &tag).is_err());
/// ```
#[derive(Clone)]
pub struct MacKey(Wiped<[u8; 32]>);

impl MacKey {
    /// Takes a key. It must come from a cryptographic source; the caller wipes its own copy.
    pub fn from_bytes(key: &[u8; 32]) -> Self {
        ct::filled(MacKey(Wiped::ZERO), |own| own.0.copy_from_slice(key))
    }

    /// Makes a key. Errors: `RngFailed`.
    pub fn generate(rng: &mut impl Randomness) -> Result<Self, Error> {
        ct::try_filled(MacKey(Wiped::ZERO), |own| rng.fill(&mut *own.0))
    }

    /// Makes the tag of what is fed, of any length: another length is another tag, and not a part of this one.
    /// `customization` separates one use of the key from another (SP 800-185, 4.2).
    pub fn tag(&self, customization: &[u8], feed: impl FnOnce(&mut Kmac256), tag: &mut [u8]) {
        Kmac256::tag(&*self.0, customization, feed, tag)
    }

    /// Compares a tag of 32 bytes in a time that does not depend on its bytes. Errors: `BadSignature`, for any other length too.
    pub fn verify(
        &self,
        customization: &[u8],
        feed: impl FnOnce(&mut Kmac256),
        tag: &[u8],
    ) -> Result<(), Error> {
        let mut own = Wiped::<[u8; 32]>::ZERO;
        self.tag(customization, feed, &mut *own);
        if equal(&*own, tag) { Ok(()) } else { Err(Error::BadSignature) }
    }
}

impl fmt::Debug for MacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MacKey(..)")
    }
}

/// KMAC256 over a message in pieces, which it is lent for: its state is as good as the key.
///
/// No copy of the state stays on the stack, however the message is fed, and if `feed` panics.
pub struct Kmac256<'a>(&'a mut Shake);

impl Kmac256<'_> {
    /// The tag of what is fed, under a key of any length. SP 800-185, 4.3.
    pub fn tag(key: &[u8], customization: &[u8], feed: impl FnOnce(&mut Kmac256<'_>), tag: &mut [u8]) {
        let _below = WipeBelow;
        let mut state = Shake::cshake256(active());
        let mut mac = Kmac256(&mut state);
        mac.begin(key, customization);
        feed(&mut mac);
        mac.end(tag);
    }

    /// bytepad(encode_string("KMAC") || encode_string(S), 136), then bytepad(encode_string(K), 136).
    fn begin(&mut self, key: &[u8], customization: &[u8]) {
        let mut names = Padded::begin(self.0);
        names.string(b"KMAC");
        names.string(customization);
        names.end();
        let mut padded = Padded::begin(self.0);
        padded.string(key);
        padded.end();
    }

    /// The next piece.
    ///
    /// It may be fed from deeper in the stack than [`tag`](Self::tag) wipes: where it permutes, it wipes what that leaves.
    #[inline(never)]
    pub fn update(&mut self, piece: &[u8]) {
        let _below = self.0.permutes_in(piece.len()).then_some(WipeBelow);
        absorb(self.0, piece)
    }

    /// right_encode of the tag's bits, then the tag.
    fn end(&mut self, tag: &mut [u8]) {
        let (bytes, n) = left_encode(8 * tag.len() as u64);
        // right_encode: the same bytes, with their number behind them.
        absorb(self.0, &bytes[1..=n]);
        absorb(self.0, &[n as u8]);
        squeeze(self.0, tag);
    }
}

/// Absorbs in a frame of its own, for the caller to wipe.
#[inline(never)]
fn absorb(state: &mut Shake, piece: &[u8]) {
    state.absorb([piece])
}

/// Squeezes in a frame of its own, for the caller to wipe.
#[inline(never)]
fn squeeze(state: &mut Shake, out: &mut [u8]) {
    state.squeeze([out])
}

/// Wipes the stack below its owner when it is dropped.
struct WipeBelow;

impl Drop for WipeBelow {
    fn drop(&mut self) {
        wipe_below::<STACK>();
    }
}

impl fmt::Debug for Kmac256<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kmac256(..)")
    }
}

/// SHAKE256 over a message in pieces. Wiped on drop; but each step of a chain moves it, which may leave a copy of its state:
/// what is secret is hashed by [`of`](Self::of).
///
/// ```
/// use sealstone_mldsa::Shake256;
///
/// let hash: [u8; 4] = Shake256::new().and(b"").finish();
/// assert_eq!(hash, [0x46, 0xb9, 0xdd, 0x2b]);
/// ```
#[derive(Clone)]
pub struct Shake256(Shake);

impl Shake256 {
    /// Nothing yet.
    pub fn new() -> Self {
        Shake256(Shake::shake256(active()))
    }

    /// The first N bytes of the hash of these pieces, of which nothing stays on the stack.
    ///
    /// ```
    /// use sealstone_mldsa::Shake256;
    ///
    /// assert_eq!(Shake256::of([b"good ".as_slice(), b"morning"]), Shake256::of::<8>([b"good morning".as_slice()]));
    /// ```
    pub fn of<'a, const N: usize>(pieces: impl IntoIterator<Item = &'a [u8]>) -> [u8; N] {
        let _below = WipeBelow;
        let mut state = Shake::shake256(active());
        for piece in pieces {
            absorb(&mut state, piece);
        }
        let mut out = [0; N];
        squeeze(&mut state, &mut out);
        out
    }

    /// The next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.0.absorb([piece])
    }

    /// The next piece, in a chain.
    pub fn and(mut self, piece: &[u8]) -> Self {
        self.update(piece);
        self
    }

    /// The first N bytes of the hash.
    pub fn finish<const N: usize>(mut self) -> [u8; N] {
        let mut out = [0; N];
        self.0.squeeze([&mut out]);
        out
    }
}

impl Default for Shake256 {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Shake256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shake256(..)")
    }
}

/// bytepad(…, 136): left_encode(136), the strings, zeros up to a whole number of blocks. SP 800-185, 2.3.3.
struct Padded<'a> {
    sponge: &'a mut Shake,
    /// Bytes in the last block.
    filled: usize,
}

impl<'a> Padded<'a> {
    fn begin(sponge: &'a mut Shake) -> Self {
        let mut padded = Padded { sponge, filled: 0 };
        padded.put(&[1, RATE as u8]);
        padded
    }

    fn put(&mut self, bytes: &[u8]) {
        absorb(self.sponge, bytes);
        // A length is public.
        self.filled = bytes.len().checked_add(self.filled).and_then(|sum| sum.checked_rem(RATE)).unwrap_or(0);
    }

    /// encode_string: left_encode of the bits, then the bytes. SP 800-185, 2.3.2.
    fn string(&mut self, bytes: &[u8]) {
        let (head, n) = left_encode(8 * bytes.len() as u64);
        self.put(&head[..=n]);
        self.put(bytes);
    }

    fn end(self) {
        if self.filled > 0 {
            absorb(self.sponge, &[0; RATE][self.filled..]);
        }
    }
}

/// left_encode: the number of bytes, then the number without leading zeros, at least one byte; and how many bytes that is.
/// SP 800-185, 2.3.1.
fn left_encode(value: u64) -> ([u8; 9], usize) {
    let n = (8 - (value.leading_zeros() >> 3) as usize).max(1);
    let mut out = [0; 9];
    out[0] = n as u8; // at most 8
    out[1..=n].copy_from_slice(&value.to_be_bytes()[8 - n..]);
    (out, n)
}

impl Shake {
    /// cSHAKE256 (SP 800-185, 3) after its first block.
    fn cshake256(room: Room) -> Self {
        Self::padded_by(room, RATE, 0x04)
    }
}
