//! Passwords: argon2id (RFC 9106), computed by a bounded number of threads.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use argon2::{Algorithm, Argon2, Block, Params, Version};
use aws_lc_rs::constant_time;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use tokio::sync::Semaphore;
use unicode_normalization::UnicodeNormalization;
use zeroize::Zeroizing;

use crate::Error;
use crate::clock::Randomness;

/// The fewest bytes of a password that may be set. NIST SP 800-63B §3.1.1.2: at least 8 characters.
pub const PASSWORD_MIN: usize = 8;
/// The most bytes of a password that may be set.
pub const PASSWORD_MAX: usize = 1024;

/// A password as it was typed, in the form of RFC 8265 §4.2: every kind of space is a space, and NFC, so that it does not
/// matter which keyboard composed a letter. Wiped when dropped, and never printed.
#[derive(Clone)]
pub struct Password(Zeroizing<String>);

impl Password {
    /// A password to be set.
    /// Errors: what is wrong, to follow the word "password".
    pub fn new(text: &str) -> Result<Self, &'static str> {
        let password = Self::typed(text);
        match password.0.len() {
            0..PASSWORD_MIN => Err("is shorter than 8 bytes"),
            PASSWORD_MIN..=PASSWORD_MAX => Ok(password),
            _ => Err("is longer than 1024 bytes"),
        }
    }

    /// A password to be compared, of any length: one that could not have been set is simply wrong.
    pub fn typed(text: &str) -> Self {
        // Room for the longest NFC of the text (Unicode Annex 15: three times), so that no copy is left behind.
        let mut normal = Zeroizing::new(String::with_capacity(text.len().saturating_mul(3)));
        normal.extend(text.chars().map(|letter| if is_space(letter) { ' ' } else { letter }).nfc());
        Self(normal)
    }
}

/// General category Zs.
fn is_space(letter: char) -> bool {
    matches!(
        letter,
        ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(..)")
    }
}

/// What one guess costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Argon2's p: independent lanes of memory. One thread computes them all.
    pub lanes: u32,
    /// Argon2's m.
    pub memory_kib: u32,
    /// Argon2's t.
    pub passes: u32,
}

impl Default for Cost {
    /// RFC 9106 §4, the second recommended option: 64 MiB, 3 passes, 4 lanes.
    fn default() -> Self {
        Self { lanes: 4, memory_kib: 64 * 1024, passes: 3 }
    }
}

impl Cost {
    /// The most memory that may be asked for: 4 GiB.
    pub const MEMORY_MAX_KIB: u32 = 4 * 1024 * 1024;

    /// Whether this is no less than the weakest choice of the OWASP Password Storage Cheat Sheet (7 MiB and 5 passes;
    /// each of the others does more work), and computable.
    pub fn is_enough(self) -> bool {
        let work = u64::from(self.memory_kib) * u64::from(self.passes);
        (7168..=Self::MEMORY_MAX_KIB).contains(&self.memory_kib)
            && work >= 5 * 7168
            && self.passes <= 1000
            && (1..=64).contains(&self.lanes)
    }

    /// RFC 9106 §3.1, Argon2id version 0x13 without secret and associated data.
    fn tag(self, password: &Password, salt: &[u8]) -> Option<Tag> {
        let params = Params::new(self.memory_kib, self.passes, self.lanes, Some(TAG_LEN)).ok()?;
        // Wiped: its first blocks let a guess be checked for next to nothing.
        let mut memory = Zeroizing::new(Vec::new());
        memory.try_reserve_exact(params.block_count()).ok()?;
        memory.resize(params.block_count(), Block::new());
        let mut tag = [0; TAG_LEN];
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into_with_memory(password.0.as_bytes(), salt, &mut tag, &mut memory[..])
            .ok()?;
        Some(tag)
    }
}

const TAG_LEN: usize = 32;
const SALT_LEN: usize = 16;

type Tag = [u8; TAG_LEN];
type Salt = [u8; SALT_LEN];

/// A password's hash, with all that is needed to compute it again: a PHC string,
/// `$argon2id$v=19$m=65536,t=3,p=4$SALT$TAG`. Not for logs: it is not printed.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash {
    cost: Cost,
    phc: String,
    salt: Salt,
    tag: Tag,
}

impl PasswordHash {
    fn new(cost: Cost, salt: Salt, tag: Tag) -> Self {
        let Cost { lanes, memory_kib, passes } = cost;
        let (salt64, tag64) = (STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(tag));
        let phc = format!("$argon2id$v=19$m={memory_kib},t={passes},p={lanes}${salt64}${tag64}");
        Self { cost, phc, salt, tag }
    }

    /// Reads a PHC string as [`to_phc`](Self::to_phc) writes it.
    /// Errors: what is wrong.
    pub fn from_phc(text: &str) -> Result<Self, &'static str> {
        let wrong = "its password's hash is not one";
        let rest = text.strip_prefix("$argon2id$v=19$").ok_or(wrong)?;
        let mut parts = rest.split('$');
        let (Some(cost), Some(salt), Some(tag), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(wrong);
        };
        let mut numbers = cost.split(',');
        let mut number = |name: &str| -> Option<u32> {
            u32::from_str(numbers.next()?.strip_prefix(name)?.strip_prefix('=')?).ok()
        };
        let (memory_kib, passes, lanes) = (number("m"), number("t"), number("p"));
        let (Some(memory_kib), Some(passes), Some(lanes)) = (memory_kib, passes, lanes) else {
            return Err(wrong);
        };
        let cost = Cost { lanes, memory_kib, passes };
        let salt =
            STANDARD_NO_PAD.decode(salt).ok().and_then(|salt| Salt::try_from(salt).ok()).ok_or(wrong)?;
        let tag = STANDARD_NO_PAD.decode(tag).ok().and_then(|tag| Tag::try_from(tag).ok()).ok_or(wrong)?;
        match Self::new(cost, salt, tag) {
            read if read.phc == text && cost.is_enough() => Ok(read),
            _ => Err(wrong),
        }
    }

    /// The PHC string, for the store.
    pub fn to_phc(&self) -> &str {
        &self.phc
    }

    /// What a guess costs.
    pub fn cost(&self) -> Cost {
        self.cost
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(..)")
    }
}

/// Computes password hashes: so many at once, so many in line, and no more.
#[derive(Clone, Debug)]
pub struct Passwords {
    cost: Cost,
    hashes: Arc<AtomicU64>,
    /// Whoever computes or waits.
    line: Arc<Semaphore>,
    /// How many the line holds.
    places: usize,
    /// Whoever computes.
    running: Arc<Semaphore>,
}

/// The line is full: nothing was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy;

/// What a comparison says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is the password. With a hash, if the old one was computed at another cost.
    Right(Option<PasswordHash>),
    /// It is not.
    Wrong,
}

impl Passwords {
    /// `at_once` hashes are computed at a time, each in memory of its own, and `waiting` more stand in line.
    pub fn new(cost: Cost, at_once: usize, waiting: usize) -> Self {
        let at_once = at_once.clamp(1, MOST);
        Self {
            cost,
            hashes: Arc::default(),
            line: Arc::new(Semaphore::new(at_once + waiting.min(MOST))),
            places: at_once + waiting.min(MOST),
            running: Arc::new(Semaphore::new(at_once)),
        }
    }

    /// How many are computed or wait.
    pub fn in_line(&self) -> usize {
        self.places.saturating_sub(self.line.available_permits())
    }

    /// How many hashes were computed so far.
    pub fn hashes(&self) -> u64 {
        self.hashes.load(Ordering::Acquire)
    }

    /// The hash of a password that is set.
    /// Errors: `Randomness`; `Busy` inside.
    pub async fn hash(
        &self,
        password: &Password,
        randomness: &dyn Randomness,
    ) -> Result<Result<PasswordHash, Busy>, Error> {
        let salt = new_salt(randomness)?;
        let (cost, password) = (self.cost, password.clone());
        let hashes = Arc::clone(&self.hashes);
        let tag = self.compute(move || counted(&hashes, cost, &password, &salt)).await;
        Ok(tag.map(|tag| PasswordHash::new(cost, salt, tag)))
    }

    /// Compares a password with what is known of the user, or with nothing: then it is wrong, at the same cost.
    /// Errors: `Randomness`; `Busy` inside.
    pub async fn verify(
        &self,
        password: &Password,
        known: Option<&PasswordHash>,
        randomness: &dyn Randomness,
    ) -> Result<Result<Verdict, Busy>, Error> {
        let salt = new_salt(randomness)?;
        let (cost, password, known) = (self.cost, password.clone(), known.cloned());
        let hashes = Arc::clone(&self.hashes);
        let compare = move || {
            let Some(known) = known else {
                counted(&hashes, cost, &password, &salt)?;
                return Some(Verdict::Wrong);
            };
            let tag = counted(&hashes, known.cost, &password, &known.salt)?;
            if constant_time::verify_slices_are_equal(&tag, &known.tag).is_err() {
                return Some(Verdict::Wrong);
            }
            if known.cost == cost {
                return Some(Verdict::Right(None));
            }
            let tag = counted(&hashes, cost, &password, &salt)?;
            Some(Verdict::Right(Some(PasswordHash::new(cost, salt, tag))))
        };
        Ok(self.compute(compare).await)
    }

    /// Runs `work` on a thread that may be busy for long. A caller that goes away frees its place only when the work is
    /// done. Work that fails for want of memory is the same to the caller as a full line.
    async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Option<T> + Send + 'static,
    ) -> Result<T, Busy> {
        let place = Arc::clone(&self.line).try_acquire_owned().map_err(|_| Busy)?;
        let turn = Arc::clone(&self.running).acquire_owned().await.map_err(|_| Busy)?;
        let done = tokio::task::spawn_blocking(move || {
            let result = work();
            drop((place, turn));
            result
        });
        done.await.ok().flatten().ok_or(Busy)
    }
}

/// More at once than any machine has use for.
const MOST: usize = 4096;

fn counted(hashes: &AtomicU64, cost: Cost, password: &Password, salt: &[u8]) -> Option<Tag> {
    hashes.fetch_add(1, Ordering::AcqRel);
    cost.tag(password, salt)
}

fn new_salt(randomness: &dyn Randomness) -> Result<Salt, Error> {
    let mut salt = Salt::default();
    randomness.fill(&mut salt)?;
    Ok(salt)
}
