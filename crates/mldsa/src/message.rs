//! From a message to its representative μ (FIPS 204, 5.2, 5.4 and step 6 of Algorithm 7): contexts, streaming, pre-hash.

use crate::backend::Room;
use crate::error::Error;
use crate::keccak::Shake;
use core::fmt;
use core::str::FromStr;

/// Longest context, in bytes.
pub const CONTEXT_MAX: usize = 255;
/// Bytes of a message representative.
pub const MU_LEN: usize = 64;

/// A context string: 0 to 255 bytes that separate one use of a key from another (FIPS 204, 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context<'a>(&'a [u8]);

impl<'a> Context<'a> {
    /// The default, which protocols such as JOSE and X.509 demand.
    pub const EMPTY: Context<'static> = Context(&[]);

    /// Takes a context. Errors: `ContextTooLong` over 255 bytes.
    pub const fn new(ctx: &'a [u8]) -> Result<Self, Error> {
        if ctx.len() > CONTEXT_MAX { Err(Error::ContextTooLong) } else { Ok(Context(ctx)) }
    }

    /// What M' of pure ML-DSA begins with: 0 || |ctx|, and then ctx.
    pub(crate) fn head(&self) -> ([u8; 2], &'a [u8]) {
        ([0, self.0.len() as u8], self.0)
    }
}

/// The message representative μ, which is all of a message that signing and verifying need.
///
/// It depends on the verifying key: one made for another key verifies nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Mu(pub(crate) [u8; MU_LEN]);

impl Mu {
    /// Takes a μ that was computed elsewhere ("external μ").
    pub const fn from_bytes(mu: [u8; MU_LEN]) -> Self {
        Mu(mu)
    }

    /// Takes a μ of run-time length. Errors: `WrongLength` unless it is 64 bytes.
    pub fn decode(mu: &[u8]) -> Result<Self, Error> {
        mu.try_into().map(Mu).map_err(|_| Error::WrongLength { expected: MU_LEN, found: mu.len() })
    }

    /// The 64 bytes.
    pub const fn as_bytes(&self) -> &[u8; MU_LEN] {
        &self.0
    }
}

impl fmt::Debug for Mu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mu(..)")
    }
}

/// Takes a message in pieces and gives its μ. A file of any size is signed in constant memory.
#[derive(Clone)]
pub struct MuHasher(Shake);

impl MuHasher {
    /// μ of pure ML-DSA: H(tr || 0 || |ctx| || ctx || M).
    pub(crate) fn pure(room: Room, tr: &[u8; 64], ctx: Context<'_>) -> Self {
        let (head, ctx) = ctx.head();
        Self::of_m_prime(room, tr, &[&head, ctx])
    }

    /// μ of HashML-DSA: H(tr || 1 || |ctx| || ctx || OID || PH(M)).
    pub(crate) fn prehashed(
        room: Room,
        tr: &[u8; 64],
        ctx: Context<'_>,
        ph: PreHash,
        digest: &[u8],
    ) -> Result<Mu, Error> {
        if digest.len() != ph.digest_len() {
            return Err(Error::WrongLength { expected: ph.digest_len(), found: digest.len() });
        }
        Ok(Self::of_m_prime(room, tr, &[&[1, ctx.0.len() as u8], ctx.0, &ph.oid_der(), digest]).finish())
    }

    /// H(tr || M') for the parts of M' given, and more to come.
    pub(crate) fn of_m_prime(room: Room, tr: &[u8; 64], parts: &[&[u8]]) -> Self {
        let mut h = Shake::shake256(room);
        absorb_all(&mut h, tr, parts);
        MuHasher(h)
    }

    /// μ of a message that is here whole: `pure`, with one hash on the stack and not a copy for each step.
    #[inline(never)]
    pub(crate) fn mu_of(room: Room, tr: &[u8; 64], ctx: Context<'_>, message: &[u8], mu: &mut [u8; MU_LEN]) {
        let mut h = Shake::shake256(room);
        let (head, ctx) = ctx.head();
        absorb_all(&mut h, tr, &[&head, ctx, message]);
        h.squeeze([mu]);
    }

    /// The next piece of the message.
    pub fn update(&mut self, piece: &[u8]) {
        self.0.absorb([piece])
    }

    /// The message representative.
    pub fn finish(mut self) -> Mu {
        let mut mu = [0; MU_LEN];
        self.0.squeeze([&mut mu]);
        Mu(mu)
    }
}

/// tr || M' as far as its parts go.
fn absorb_all(h: &mut Shake, tr: &[u8; 64], parts: &[&[u8]]) {
    h.absorb([tr]);
    for part in parts {
        h.absorb([part]);
    }
}

impl fmt::Debug for MuHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MuHasher(..)")
    }
}

/// A hash function of HashML-DSA (FIPS 204, 5.4.1, and NIST's list of approved functions).
///
/// All twelve are taken with each level, as in NIST's test vectors. But a signature is no stronger than the digest that it is
/// of: section 5.4 asks for λ bits against collisions, which is a digest of at least 2λ bits. That is 32 bytes for ML-DSA-44,
/// 48 for ML-DSA-65, 64 for ML-DSA-87.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the standard's")]
pub enum PreHash {
    Sha2_224,
    Sha2_256,
    Sha2_384,
    Sha2_512,
    Sha2_512_224,
    Sha2_512_256,
    Sha3_224,
    Sha3_256,
    Sha3_384,
    Sha3_512,
    Shake128,
    Shake256,
}

impl PreHash {
    /// All twelve.
    pub const ALL: [PreHash; 12] = [
        PreHash::Sha2_224,
        PreHash::Sha2_256,
        PreHash::Sha2_384,
        PreHash::Sha2_512,
        PreHash::Sha2_512_224,
        PreHash::Sha2_512_256,
        PreHash::Sha3_224,
        PreHash::Sha3_256,
        PreHash::Sha3_384,
        PreHash::Sha3_512,
        PreHash::Shake128,
        PreHash::Shake256,
    ];

    /// Name, digest length in bytes, and the last arc of the object identifier 2.16.840.1.101.3.4.2.x.
    const fn facts(self) -> (&'static str, usize, u8) {
        match self {
            PreHash::Sha2_256 => ("SHA2-256", 32, 1),
            PreHash::Sha2_384 => ("SHA2-384", 48, 2),
            PreHash::Sha2_512 => ("SHA2-512", 64, 3),
            PreHash::Sha2_224 => ("SHA2-224", 28, 4),
            PreHash::Sha2_512_224 => ("SHA2-512/224", 28, 5),
            PreHash::Sha2_512_256 => ("SHA2-512/256", 32, 6),
            PreHash::Sha3_224 => ("SHA3-224", 28, 7),
            PreHash::Sha3_256 => ("SHA3-256", 32, 8),
            PreHash::Sha3_384 => ("SHA3-384", 48, 9),
            PreHash::Sha3_512 => ("SHA3-512", 64, 10),
            PreHash::Shake128 => ("SHAKE-128", 32, 11),
            PreHash::Shake256 => ("SHAKE-256", 64, 12),
        }
    }

    /// The name, as NIST's test vectors write it: `SHA2-512/256`, `SHAKE-128`.
    pub const fn name(self) -> &'static str {
        self.facts().0
    }

    /// Bytes of the digest; SHAKE128 gives 32 and SHAKE256 gives 64.
    pub const fn digest_len(self) -> usize {
        self.facts().1
    }

    /// The object identifier as DER, tag and length included.
    pub const fn oid_der(self) -> [u8; 11] {
        [0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, self.facts().2]
    }
}

/// The text names no pre-hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownPreHash;

impl fmt::Display for UnknownPreHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected one of")?;
        PreHash::ALL.iter().try_for_each(|ph| write!(f, " {}", ph.name()))
    }
}

impl core::error::Error for UnknownPreHash {}

impl FromStr for PreHash {
    type Err = UnknownPreHash;
    fn from_str(name: &str) -> Result<Self, UnknownPreHash> {
        PreHash::ALL.into_iter().find(|ph| ph.name() == name).ok_or(UnknownPreHash)
    }
}
