//! Keys and signatures, with the level as a type.
//!
//! | type | holds | bytes (44 / 65 / 87) |
//! |---|---|---|
//! | [`SigningKey`] | the 32-byte seed ξ | 32 |
//! | [`ExpandedSigningKey`] | Â, the transformed secrets and tr: spends memory to save time | about 30 k / 50 k / 83 k |
//! | [`VerifyingKey`] | the encoded public key | 1312 / 1952 / 2592 |
//! | [`ExpandedVerifyingKey`] | Â, NTT(t1) and tr | about 21 k / 37 k / 66 k |
//! | [`Signature`] | the encoded signature | 2420 / 3309 / 4627 |

use crate::backend::{Room, active};
use crate::ct::{self, Wipe, Wiped};
use crate::engine::MuJob;
use crate::error::Error;
use crate::fips204::encode::{is_taken, pk_decode, sk_decode, sk_encode};
use crate::fips204::flight::sign_internal;
use crate::fips204::keygen::{KeyPair, keygen_internal, public_part};
use crate::fips204::params::{Array, MlDsa44, MlDsa65, MlDsa87, Params};
use crate::fips204::ring::{NttPoly, Poly, Small};
use crate::fips204::sample::{PASSING, expand_a_beside};
use crate::fips204::verify::{Claim, Message, t1_ntt, verify_from_bytes, verify_internal};
use crate::keccak::{Guest, Shake};
use crate::message::{Context, MU_LEN, Mu, MuHasher, PreHash};
use crate::random::Randomness;
#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::fmt;
use core::marker::PhantomData;

/// Bytes of a seed.
pub const SEED_LEN: usize = 32;

/// A parameter set as a type: [`MlDsa44`], [`MlDsa65`] or [`MlDsa87`]. Nobody can add a fourth.
pub trait ParameterSet: Params {}
impl ParameterSet for MlDsa44 {}
impl ParameterSet for MlDsa65 {}
impl ParameterSet for MlDsa87 {}

/// A private key as it is stored: the seed ξ of Algorithm 6. Wiped on drop.
#[derive(Clone)]
pub struct SigningKey<P: ParameterSet> {
    xi: Wiped<[u8; SEED_LEN]>,
    level: PhantomData<P>,
}

impl<P: ParameterSet> SigningKey<P> {
    const BLANK: Self = SigningKey { xi: Wiped::ZERO, level: PhantomData };

    /// Draws a fresh key. Errors: `RngFailed`.
    pub fn generate(rng: &mut impl Randomness) -> Result<Self, Error> {
        ct::try_filled(Self::BLANK, |key| rng.fill(&mut *key.xi))
    }

    /// Draws a fresh key and tries it; see [`check`](Self::check). Errors: `RngFailed`, `FaultDetected`.
    pub fn generate_checked(rng: &mut impl Randomness) -> Result<Self, Error> {
        ct::try_filled(Self::BLANK, |key| {
            rng.fill(&mut *key.xi)?;
            key.check()
        })
    }

    /// The same, on the heap: a key that moves leaves no copy behind. Errors: `RngFailed`.
    #[cfg(feature = "alloc")]
    pub fn generate_boxed(rng: &mut impl Randomness) -> Result<Box<Self>, Error> {
        let mut key = Box::new(Self::BLANK);
        rng.fill(&mut *key.xi)?;
        Ok(key)
    }

    /// The key of a seed.
    pub fn from_seed(xi: &[u8; SEED_LEN]) -> Self {
        SigningKey { xi: Wiped(*xi), level: PhantomData }
    }

    /// The same, on the heap.
    #[cfg(feature = "alloc")]
    pub fn from_seed_boxed(xi: &[u8; SEED_LEN]) -> Box<Self> {
        let mut key = Box::new(Self::BLANK);
        key.xi.copy_from_slice(xi);
        key
    }

    /// The key of a seed of run-time length. Errors: `WrongLength` unless it is 32 bytes.
    pub fn try_from_seed(xi: &[u8]) -> Result<Self, Error> {
        Ok(Self::from_seed(
            xi.try_into().map_err(|_| Error::WrongLength { expected: SEED_LEN, found: xi.len() })?,
        ))
    }

    /// The seed, which is the whole key.
    pub fn seed(&self) -> &[u8; SEED_LEN] {
        &self.xi
    }

    /// The pairwise consistency test that FIPS 140-3 asks for when a key is made or read: the seed gives the same public
    /// key twice, and a signature made with the one verifies with the other.
    /// Costs two key expansions, a signature and a verification. Errors: `FaultDetected`.
    pub fn check(&self) -> Result<(), Error> {
        let mut key = ExpandedSigningKey::BLANK;
        self.expand_to(active(), &mut key);
        key.set_checked(true);
        if self.verifying_key() != key.verifying_key {
            return Err(Error::FaultDetected);
        }
        key.sign_mu_deterministic(&Mu([0x5a; MU_LEN])).map(|_| ())
    }

    /// Computes everything that signing needs; worth keeping when more than one message is signed.
    pub fn expand(&self) -> ExpandedSigningKey<P> {
        self.expand_in(active())
    }

    /// The same, on the heap: it is computed where it stays, and a block is as large as this level asks.
    #[cfg(feature = "alloc")]
    pub fn expand_boxed(&self) -> Box<ExpandedSigningKey<P>> {
        let mut key = Box::new(ExpandedSigningKey::BLANK);
        self.expand_to(active(), &mut key);
        key
    }

    pub(crate) fn expand_in(&self, room: Room) -> ExpandedSigningKey<P> {
        ct::filled(ExpandedSigningKey::BLANK, |key| self.expand_to(room, key))
    }

    fn expand_to(&self, room: Room, key: &mut ExpandedSigningKey<P>) {
        let mut pair = KeyPair::BLANK;
        let ExpandedSigningKey { a_hat, t0_hat, .. } = key;
        keygen_internal(room, &self.xi, &mut pair, a_hat.as_mut(), |r, t0| {
            t0.ntt(room, &mut t0_hat.as_mut()[r])
        });
        key.take(&pair);
    }

    /// The public half.
    pub fn verifying_key(&self) -> VerifyingKey<P> {
        self.verifying_key_in(active())
    }

    pub(crate) fn verifying_key_in(&self, room: Room) -> VerifyingKey<P> {
        let mut pair = KeyPair::<P>::BLANK;
        let mut a_hat: [P::L_<NttPoly>; PASSING] = Wipe::ZERO;
        keygen_internal(room, &self.xi, &mut pair, &mut a_hat, |_, _| ());
        VerifyingKey { pk: pair.pk }
    }

    /// Signs a message, hedged. Errors: `RngFailed`, `AttemptsExhausted`.
    pub fn sign(
        &self,
        rng: &mut impl Randomness,
        ctx: Context<'_>,
        message: &[u8],
    ) -> Result<Signature<P>, Error> {
        let mut key = ExpandedSigningKey::BLANK;
        self.expand_to(active(), &mut key);
        key.sign(rng, ctx, message)
    }

    /// Signs a message, deterministically; see [`ExpandedSigningKey::sign_deterministic`]. Errors: `AttemptsExhausted`.
    pub fn sign_deterministic(&self, ctx: Context<'_>, message: &[u8]) -> Result<Signature<P>, Error> {
        let mut key = ExpandedSigningKey::BLANK;
        self.expand_to(active(), &mut key);
        key.sign_deterministic(ctx, message)
    }
}

/// A private key ready to sign: Â, t̂0, s1 and s2 laid out for products with c, K and tr, and the public key. Wiped on
/// drop.
pub struct ExpandedSigningKey<P: ParameterSet> {
    pub(crate) rho: [u8; 32],
    pub(crate) k: Wiped<[u8; 32]>,
    pub(crate) tr: [u8; 64],
    pub(crate) a_hat: P::K_<P::L_<NttPoly>>,
    pub(crate) s1: Wiped<P::L_<Small>>,
    pub(crate) s2: Wiped<P::K_<Small>>,
    pub(crate) t0_hat: Wiped<P::K_<NttPoly>>,
    verifying_key: VerifyingKey<P>,
    checked: bool,
}

impl<P: ParameterSet> ExpandedSigningKey<P> {
    /// Zeros, to be written over.
    const BLANK: Self = ExpandedSigningKey {
        rho: [0; 32],
        k: Wiped::ZERO,
        tr: [0; 64],
        a_hat: Wipe::ZERO,
        s1: Wiped::ZERO,
        s2: Wiped::ZERO,
        t0_hat: Wiped::ZERO,
        verifying_key: VerifyingKey { pk: P::Pk::ZERO },
        checked: false,
    };

    /// Takes what Â and t̂0, which are here already, do not say.
    fn take(&mut self, KeyPair { pk, sk }: &KeyPair<P>) {
        self.rho = sk.rho;
        self.k.copy_from_slice(&*sk.k);
        self.tr = sk.tr;
        let secrets = sk.s1.as_ref().iter().chain(sk.s2.as_ref());
        for (s, small) in secrets.zip(self.s1.as_mut().iter_mut().chain(self.s2.as_mut())) {
            small.take(&s.0, P::ETA);
        }
        self.verifying_key.pk = pk.clone();
    }

    /// Reads the expanded form of FIPS 204, Algorithm 24. Prefer seeds: they are smaller and cannot contradict themselves.
    ///
    /// Errors: `WrongLength`; `BadKey` if s1 or s2 is out of range, or if t0 or tr is not what ρ, s1 and s2 give.
    pub fn decode(sk: &[u8]) -> Result<Self, Error> {
        ct::try_filled(Self::BLANK, |key| key.read(active(), sk))
    }

    /// The same, on the heap; see [`SigningKey::expand_boxed`]. Errors: as [`decode`](Self::decode).
    #[cfg(feature = "alloc")]
    pub fn decode_boxed(sk: &[u8]) -> Result<Box<Self>, Error> {
        let mut key = Box::new(Self::BLANK);
        key.read(active(), sk)?;
        Ok(key)
    }

    /// Takes an expanded key. Errors: `WrongLength`; `BadKey` if it contradicts itself.
    fn read(&mut self, room: Room, sk: &[u8]) -> Result<(), Error> {
        if sk.len() != P::SK_LEN {
            return Err(Error::WrongLength { expected: P::SK_LEN, found: sk.len() });
        }
        let mut given = KeyPair::<P>::BLANK;
        let mut claimed_t0 = Wiped::<P::K_<Poly>>::ZERO;
        let in_range = sk_decode::<P>(room, sk, &mut given.sk, &mut claimed_t0);
        let claimed_tr = given.sk.tr;
        let (mut t0_agrees, t0_hat) = (true, self.t0_hat.as_mut());
        public_part::<P>(room, &mut given.sk, self.a_hat.as_mut(), &mut given.pk, |r, made| {
            let claimed = &mut claimed_t0.as_mut()[r];
            claimed.ntt(room, &mut t0_hat[r]);
            claimed.sub(room, made);
            t0_agrees &= claimed.norm_below(room, 1);
        });
        let tr_agrees = ct::equal(&claimed_tr, &given.sk.tr);
        if !is_taken(in_range & t0_agrees & tr_agrees) {
            return Err(Error::BadKey);
        }
        self.take(&given);
        Ok(())
    }

    /// Writes the expanded form of FIPS 204, Algorithm 24, which holds no seed. Errors: `WrongLength`.
    pub fn encode(&self, out: &mut [u8]) -> Result<(), Error> {
        let room = active();
        if out.len() != P::SK_LEN {
            return Err(Error::WrongLength { expected: P::SK_LEN, found: out.len() });
        }
        let mut parts = KeyPair::<P>::BLANK.sk;
        parts.rho = self.rho;
        parts.k.copy_from_slice(&*self.k);
        parts.tr = self.tr;
        let secrets = self.s1.as_ref().iter().chain(self.s2.as_ref());
        for (small, s) in secrets.zip(parts.s1.as_mut().iter_mut().chain(parts.s2.as_mut())) {
            small.give(s);
        }
        let mut t0 = Wiped::<P::K_<Poly>>::ZERO;
        for (t0_hat, t0) in self.t0_hat.as_ref().iter().zip(t0.as_mut()) {
            t0_hat.undo_ntt(room, t0);
        }
        sk_encode::<P>(room, &parts, &t0, out);
        Ok(())
    }

    /// The public half.
    pub fn verifying_key(&self) -> &VerifyingKey<P> {
        &self.verifying_key
    }

    /// Check-after-sign: from now on every signature is verified before it leaves (or no longer is), so that a machine
    /// that computes wrongly, by chance or by an attacker's hand, answers `FaultDetected` and shows nothing of the key.
    ///
    /// The check starts from the bytes of the public key and shares nothing with signing, so it costs a verification from
    /// bytes; docs/faults.md has the figures, and what it cannot see.
    pub fn set_checked(&mut self, checked: bool) {
        self.checked = checked;
    }

    /// A message of a batch, to be hashed with others by [`CpuEngine::hash_messages`](crate::CpuEngine::hash_messages).
    pub fn mu_job<'a>(&'a self, ctx: Context<'a>, message: &'a [u8]) -> MuJob<'a> {
        MuJob::new(&self.tr, ctx, message)
    }

    /// Starts a message that comes in pieces; sign its μ with [`sign_mu`](Self::sign_mu).
    pub fn message(&self, ctx: Context<'_>) -> MuHasher {
        MuHasher::pure(active(), &self.tr, ctx)
    }

    /// μ of HashML-DSA for a digest made by `ph`, which the digest cannot show: one of another function that is as long is
    /// taken. Errors: `WrongLength` if no digest of `ph` is as long.
    pub fn prehashed(&self, ctx: Context<'_>, ph: PreHash, digest: &[u8]) -> Result<Mu, Error> {
        MuHasher::prehashed(active(), &self.tr, ctx, ph, digest)
    }

    /// Signs a message, hedged: fresh randomness guards against faults and side channels (FIPS 204, 3.4).
    /// Errors: `RngFailed`, `AttemptsExhausted`, and `FaultDetected` where the key is checked.
    pub fn sign(
        &self,
        rng: &mut impl Randomness,
        ctx: Context<'_>,
        message: &[u8],
    ) -> Result<Signature<P>, Error> {
        self.sign_mu(rng, &self.mu(ctx, message)?)
    }

    /// Signs a message without randomness: the same signature every time.
    /// For test vectors, and for machines that have no random source and fear no faults.
    /// Errors: `AttemptsExhausted`, and `FaultDetected` where the key is checked.
    pub fn sign_deterministic(&self, ctx: Context<'_>, message: &[u8]) -> Result<Signature<P>, Error> {
        self.sign_mu_deterministic(&self.mu(ctx, message)?)
    }

    /// Signs a message representative, hedged. Errors: as [`sign`](Self::sign).
    pub fn sign_mu(&self, rng: &mut impl Randomness, mu: &Mu) -> Result<Signature<P>, Error> {
        let mut rnd = Wiped([0; 32]);
        rng.fill(&mut *rnd)?;
        self.sign_in(active(), mu, &rnd)
    }

    /// Signs a message representative without randomness. Errors: as [`sign_deterministic`](Self::sign_deterministic).
    pub fn sign_mu_deterministic(&self, mu: &Mu) -> Result<Signature<P>, Error> {
        self.sign_in(active(), mu, &[0; 32])
    }

    /// The one way to a signature, in a given room.
    pub(crate) fn sign_in(&self, room: Room, mu: &Mu, rnd: &[u8; 32]) -> Result<Signature<P>, Error> {
        let signature = sign_internal(room, self, &mu.0, rnd, |_| ())?;
        self.release(room, mu, signature)
    }

    /// The one way out for a signature: past the check, where it is wanted.
    pub(crate) fn release(
        &self,
        room: Room,
        mu: &Mu,
        signature: Signature<P>,
    ) -> Result<Signature<P>, Error> {
        if self.checked {
            self.verifying_key.verify_in(room, mu, &signature).map_err(|_| Error::FaultDetected)?;
        }
        Ok(signature)
    }

    /// μ of a message; where the key is checked, μ too is computed again, from the public key.
    fn mu(&self, ctx: Context<'_>, message: &[u8]) -> Result<Mu, Error> {
        let of = |mut hasher: MuHasher| {
            hasher.update(message);
            hasher.finish()
        };
        let mu = of(self.message(ctx));
        if self.checked && of(self.verifying_key.message(ctx)).0 != mu.0 {
            return Err(Error::FaultDetected);
        }
        Ok(mu)
    }
}

/// A public key as it is sent. Every string of the right length is one.
#[derive(Clone)]
pub struct VerifyingKey<P: ParameterSet> {
    pub(crate) pk: P::Pk,
}

impl<P: ParameterSet> VerifyingKey<P> {
    /// Reads FIPS 204, Algorithm 22's form. Errors: `WrongLength`.
    pub fn decode(pk: &[u8]) -> Result<Self, Error> {
        Ok(VerifyingKey { pk: exact(pk)? })
    }

    /// The bytes of FIPS 204, Algorithm 22.
    pub fn encode(&self) -> &[u8] {
        self.pk.as_ref()
    }

    /// Computes everything that verifying needs; worth keeping when more than one signature is checked.
    pub fn expand(&self) -> ExpandedVerifyingKey<P> {
        let mut expanded = ExpandedVerifyingKey::BLANK;
        expanded.fill(active(), self);
        expanded
    }

    /// The same, on the heap, where it is computed.
    #[cfg(feature = "alloc")]
    pub fn expand_boxed(&self) -> Box<ExpandedVerifyingKey<P>> {
        let mut expanded = Box::new(ExpandedVerifyingKey::BLANK);
        expanded.fill(active(), self);
        expanded
    }

    /// Starts a message that comes in pieces; check its μ with [`verify_mu`](Self::verify_mu).
    pub fn message(&self, ctx: Context<'_>) -> MuHasher {
        MuHasher::pure(active(), &self.tr(), ctx)
    }

    /// μ of HashML-DSA for a digest made by `ph`, which the digest cannot show: one of another function that is as long is
    /// taken. Errors: `WrongLength` if no digest of `ph` is as long.
    pub fn prehashed(&self, ctx: Context<'_>, ph: PreHash, digest: &[u8]) -> Result<Mu, Error> {
        MuHasher::prehashed(active(), &self.tr(), ctx, ph, digest)
    }

    /// Checks the signature of a message. Errors: `BadSignature`.
    pub fn verify(&self, ctx: Context<'_>, message: &[u8], signature: &Signature<P>) -> Result<(), Error> {
        verify_from_bytes::<P>(active(), &self.pk, &signature.sigma, Message::Pure(ctx, message))
    }

    /// Checks the signature of a message representative. Errors: `BadSignature`.
    pub fn verify_mu(&self, mu: &Mu, signature: &Signature<P>) -> Result<(), Error> {
        self.verify_in(active(), mu, signature)
    }

    /// The same in a given room.
    pub(crate) fn verify_in(&self, room: Room, mu: &Mu, signature: &Signature<P>) -> Result<(), Error> {
        verify_from_bytes::<P>(room, &self.pk, &signature.sigma, Message::Mu(&mu.0))
    }

    fn tr(&self) -> [u8; 64] {
        Shake::h(active(), &[self.encode()])
    }
}

/// A public key ready to verify: Â, NTT(t1) and tr.
#[derive(Clone)]
pub struct ExpandedVerifyingKey<P: ParameterSet> {
    pub(crate) tr: [u8; 64],
    pub(crate) a_hat: P::K_<P::L_<NttPoly>>,
    pub(crate) t1_hat: P::K_<NttPoly>,
}

impl<P: ParameterSet> ExpandedVerifyingKey<P> {
    /// Zeros, to be written over.
    const BLANK: Self = Self { tr: [0; 64], a_hat: Wipe::ZERO, t1_hat: Wipe::ZERO };

    /// A key expanded in a given room.
    pub(crate) fn expand_in(room: Room, key: &VerifyingKey<P>) -> Self {
        let mut expanded = Self::BLANK;
        expanded.fill(room, key);
        expanded
    }

    /// Computes everything that a key fixes.
    fn fill(&mut self, room: Room, key: &VerifyingKey<P>) {
        let (rho, t1) = pk_decode(key.encode());
        let mut hash = Guest::shake256_of(key.encode());
        expand_a_beside::<P, _>(room, rho, self.a_hat.as_mut(), &mut hash, |_, _| ());
        self.tr = hash.finish(room);
        for (bytes, t1_hat) in t1.zip(self.t1_hat.as_mut()) {
            t1_ntt(room, bytes, t1_hat);
        }
    }

    /// A message of a batch, to be hashed with others by [`CpuEngine::hash_messages`](crate::CpuEngine::hash_messages).
    pub fn mu_job<'a>(&'a self, ctx: Context<'a>, message: &'a [u8]) -> MuJob<'a> {
        MuJob::new(&self.tr, ctx, message)
    }

    /// Starts a message that comes in pieces; check its μ with [`verify_mu`](Self::verify_mu).
    pub fn message(&self, ctx: Context<'_>) -> MuHasher {
        MuHasher::pure(active(), &self.tr, ctx)
    }

    /// μ of HashML-DSA for a digest made by `ph`, which the digest cannot show: one of another function that is as long is
    /// taken. Errors: `WrongLength` if no digest of `ph` is as long.
    pub fn prehashed(&self, ctx: Context<'_>, ph: PreHash, digest: &[u8]) -> Result<Mu, Error> {
        MuHasher::prehashed(active(), &self.tr, ctx, ph, digest)
    }

    /// Checks the signature of a message. Errors: `BadSignature`.
    pub fn verify(&self, ctx: Context<'_>, message: &[u8], signature: &Signature<P>) -> Result<(), Error> {
        let mut hasher = self.message(ctx);
        hasher.update(message);
        self.verify_mu(&hasher.finish(), signature)
    }

    /// Checks the signature of a message representative. Errors: `BadSignature`.
    pub fn verify_mu(&self, mu: &Mu, signature: &Signature<P>) -> Result<(), Error> {
        self.verify_in(active(), mu, signature)
    }

    /// The one way to a verdict, in a given room.
    pub(crate) fn verify_in(&self, room: Room, mu: &Mu, signature: &Signature<P>) -> Result<(), Error> {
        verify_internal(room, &Claim { pk: self, mu: &mu.0, sigma: &signature.sigma })
    }
}

/// A signature as it is sent. What its bytes mean is found out by verifying.
#[derive(Clone)]
pub struct Signature<P: ParameterSet> {
    pub(crate) sigma: P::Sig,
}

impl<P: ParameterSet> Signature<P> {
    /// Takes an encoded signature. Errors: `WrongLength`.
    pub fn decode(sigma: &[u8]) -> Result<Self, Error> {
        Ok(Signature { sigma: exact(sigma)? })
    }

    /// The bytes of FIPS 204, Algorithm 26.
    pub fn encode(&self) -> &[u8] {
        self.sigma.as_ref()
    }
}

/// The bytes as an array of the only length it can have.
fn exact<A: Array<u8>>(bytes: &[u8]) -> Result<A, Error> {
    if bytes.len() != A::LEN {
        return Err(Error::WrongLength { expected: A::LEN, found: bytes.len() });
    }
    Ok(A::from_fn(|i| bytes[i]))
}

impl<P: ParameterSet> PartialEq for VerifyingKey<P> {
    fn eq(&self, other: &Self) -> bool {
        self.encode() == other.encode()
    }
}

impl<P: ParameterSet> Eq for VerifyingKey<P> {}

impl<P: ParameterSet> PartialEq for Signature<P> {
    fn eq(&self, other: &Self) -> bool {
        self.encode() == other.encode()
    }
}

impl<P: ParameterSet> Eq for Signature<P> {}

/// Names the type and the level and shows no byte, public or secret.
macro_rules! debug_by_name {
    ($($type:ident),*) => {$(
        impl<P: ParameterSet> fmt::Debug for $type<P> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($type), "<{}>(..)"), P::LEVEL)
            }
        }
    )*};
}
debug_by_name!(SigningKey, ExpandedSigningKey, VerifyingKey, ExpandedVerifyingKey, Signature);
