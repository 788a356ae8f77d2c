//! Key generation, signing and verification in a microcontroller's memory, which the caller gives.
//!
//! ```
//! # #[cfg(feature = "getrandom")]
//! # fn main() -> Result<(), sealstone_mldsa::Error> {
//! use sealstone_mldsa::device::{
//!     EncodedSigningKey, EncodedVerifyingKey, KeygenSpace, SignSpace, Small, VerifySpace,
//! };
//! use sealstone_mldsa::{Context, MlDsa44, OsRandom};
//!
//! // Once, at provisioning: 32 random bytes become the two keys, as bytes.
//! let (mut pk, mut sk) = ([0; 1312], [0; 2560]);
//! KeygenSpace::<MlDsa44, Small>::new().generate(&mut OsRandom, &mut pk, &mut sk)?;
//!
//! // On the device: the private key stays where it is, in flash or in RAM.
//! let key = EncodedSigningKey::<MlDsa44>::decode(&sk)?;
//! let mut space = SignSpace::<MlDsa44, Small>::new(); // may be a `static`
//! let mut signature = [0; 2420];
//! space.sign(&key, &mut OsRandom, Context::EMPTY, b"21.5 C", &mut signature)?;
//!
//! let key = EncodedVerifyingKey::<MlDsa44>::decode(&pk)?;
//! VerifySpace::<MlDsa44, Small>::new().verify(&key, Context::EMPTY, b"21.5 C", &signature)?;
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "getrandom"))]
//! # fn main() {}
//! ```
//!
//! Signatures are those of [`ExpandedSigningKey`](crate::ExpandedSigningKey), byte for byte, whatever the [`Profile`].
//!
//! A workspace is wiped after each call and on drop. While signing, the buffer of the signature is part of the workspace:
//! the mask y stands where z will be. Nobody else may read it before the call returns; where the call fails, it is zeros.

use crate::api::{ParameterSet, SEED_LEN};
use crate::backend::{Room, active};
use crate::ct::Wiped;
use crate::error::Error;
use crate::fips204::device::keygen::{KeygenMemory, keygen_internal};
use crate::fips204::device::memory::{Memory, wipe_below_keygen};
use crate::fips204::device::sign::{SignMemory, sign_internal};
use crate::fips204::device::verify::{VerifyMemory, verify_internal};
use crate::fips204::encode::{SkBytes, is_taken};
use crate::fips204::params::Set;
use crate::fips204::sign::Rejection;
use crate::keccak::Shake;
use crate::message::{Context, MU_LEN, Mu, MuHasher, PreHash};
use crate::random::Randomness;
use core::fmt;
use core::marker::PhantomData;

pub use crate::fips204::device::memory::{Balanced, Fast, Small};

/// How much memory signing takes for how much speed: [`Fast`], [`Balanced`] or [`Small`]. Nobody can add a fourth.
pub trait Profile: Memory {}
impl Profile for Fast {}
impl Profile for Balanced {}
impl Profile for Small {}

/// A private key as the bytes of FIPS 204, Algorithm 24, where they are: 2560, 4032 or 4896.
pub struct EncodedSigningKey<'a, P: ParameterSet> {
    sk: SkBytes<'a>,
    level: PhantomData<P>,
}

impl<'a, P: ParameterSet> EncodedSigningKey<'a, P> {
    /// Takes a private key that [`KeygenSpace`] made, or somebody who can be trusted as much.
    ///
    /// The length is checked, and that all coefficients of s1 and s2 are in [-η, η]. That costs less than a hundredth of a
    /// signature, and about 1100 bytes of stack. It is **not** checked that t0 and tr are those of ρ, s1 and s2, which costs as
    /// much as to make the key: [`ExpandedSigningKey::decode`](crate::ExpandedSigningKey::decode) does that, on the machine
    /// that provisions. Signatures of a key that contradicts itself do not verify, and may show something of it.
    ///
    /// Errors: `WrongLength`; `BadKey` where a coefficient is out of range.
    pub fn decode(sk: &'a [u8]) -> Result<Self, Error> {
        exact_len(sk, P::SK_LEN)?;
        let sk = SkBytes::of(Set::of::<P>(), sk);
        let in_range = sk.is_in_range(active(), Set::of::<P>(), &mut Wiped([0; 256]));
        if is_taken(in_range) { Ok(EncodedSigningKey { sk, level: PhantomData }) } else { Err(Error::BadKey) }
    }

    /// Starts a message that comes in pieces; sign its μ with [`SignSpace::sign_mu`].
    pub fn message(&self, ctx: Context<'_>) -> MuHasher {
        MuHasher::pure(active(), self.sk.tr, ctx)
    }

    /// μ of HashML-DSA for a digest made by `ph`. Errors: `WrongLength` if no digest of `ph` is as long.
    pub fn prehashed(&self, ctx: Context<'_>, ph: PreHash, digest: &[u8]) -> Result<Mu, Error> {
        MuHasher::prehashed(active(), self.sk.tr, ctx, ph, digest)
    }
}

/// A public key as the bytes of FIPS 204, Algorithm 22, where they are: 1312, 1952 or 2592. Every string of the right
/// length is one.
pub struct EncodedVerifyingKey<'a, P: ParameterSet> {
    pk: &'a [u8],
    level: PhantomData<P>,
}

impl<'a, P: ParameterSet> EncodedVerifyingKey<'a, P> {
    /// Takes a public key. Errors: `WrongLength`.
    pub fn decode(pk: &'a [u8]) -> Result<Self, Error> {
        exact_len(pk, P::PK_LEN)?;
        Ok(EncodedVerifyingKey { pk, level: PhantomData })
    }

    /// Starts a message that comes in pieces; check its μ with [`VerifySpace::verify_mu`].
    pub fn message(&self, ctx: Context<'_>) -> MuHasher {
        MuHasher::pure(active(), &self.tr(), ctx)
    }

    /// μ of HashML-DSA for a digest made by `ph`. Errors: `WrongLength` if no digest of `ph` is as long.
    pub fn prehashed(&self, ctx: Context<'_>, ph: PreHash, digest: &[u8]) -> Result<Mu, Error> {
        MuHasher::prehashed(active(), &self.tr(), ctx, ph, digest)
    }

    #[inline(never)]
    fn tr(&self) -> [u8; 64] {
        Shake::h(active(), &[self.pk])
    }
}

/// Memory for making a key: 1 856 bytes with [`Small`], 4 160, 5 696 or 7 232 with the others. Wiped after each call, and on
/// drop.
pub struct KeygenSpace<P: ParameterSet, M: Profile>(pub(crate) KeygenMemory<P, M>);

impl<P: ParameterSet, M: Profile> KeygenSpace<P, M> {
    /// Bytes of this workspace.
    pub const SIZE: usize = size_of::<Self>();
    /// Bytes of stack that a call takes besides, at most; see [`SignSpace::STACK`].
    pub const STACK: usize = M::KEYGEN_STACK;

    /// Zeros.
    pub const fn new() -> Self {
        KeygenSpace(KeygenMemory::BLANK)
    }

    /// Makes the keys of a seed: FIPS 204, Algorithms 22 and 24.
    ///
    /// Shapes: pk 1312, 1952 or 2592 bytes; sk 2560, 4032 or 4896 bytes. Errors: `WrongLength`, with both buffers zeros.
    pub fn keygen(&mut self, xi: &[u8; SEED_LEN], pk: &mut [u8], sk: &mut [u8]) -> Result<(), Error> {
        if let Err(error) = exact_len(pk, P::PK_LEN).and(exact_len(sk, P::SK_LEN)) {
            pk.fill(0);
            sk.fill(0);
            return Err(error);
        }
        keygen_internal(active(), Set::of::<P>(), &mut self.0.room_to_work(), xi, pk, sk);
        wipe_below_keygen();
        Ok(())
    }

    /// Makes fresh keys. Errors: `RngFailed`, `WrongLength`, with both buffers zeros.
    pub fn generate(&mut self, rng: &mut impl Randomness, pk: &mut [u8], sk: &mut [u8]) -> Result<(), Error> {
        let mut xi = Wiped([0; SEED_LEN]);
        if let Err(error) = rng.fill(&mut *xi) {
            pk.fill(0);
            sk.fill(0);
            return Err(error);
        }
        self.keygen(&xi, pk, sk)
    }
}

/// Memory for signing. Wiped after each call, and on drop.
///
/// | `SIZE` | 44 | 65 | 87 | `STACK` | what lies in it |
/// |---|---|---|---|---|---|
/// | [`Fast`] | 21 568 | 37 952 | 66 624 | 3 072 | Â and w in whole words |
/// | [`Balanced`] | 16 448 | 28 736 | 50 240 | 2 304 | Â and w in 24 bits a coefficient |
/// | [`Small`] | 4 160 | 5 696 | 7 232 | 1 856 | w in 24 bits a coefficient; Â is sampled again for each attempt |
pub struct SignSpace<P: ParameterSet, M: Profile>(pub(crate) SignMemory<P, M>);

impl<P: ParameterSet, M: Profile> SignSpace<P, M> {
    /// Bytes of this workspace.
    pub const SIZE: usize = size_of::<Self>();
    /// Bytes of stack that a call takes besides, at most, whatever the level: measured on an emulated Cortex-M4
    /// (thumbv7em, optimisation for speed) and rounded up; `./dev bench m4` holds calls to it. Elsewhere frames have other
    /// sizes.
    pub const STACK: usize = M::SIGN_STACK;

    /// Zeros.
    pub const fn new() -> Self {
        SignSpace(SignMemory::BLANK)
    }

    /// Signs a message, hedged: fresh randomness guards against faults and side channels (FIPS 204, 3.4).
    ///
    /// Shapes: signature 2420, 3309 or 4627 bytes; zeros where the call fails.
    /// Errors: `RngFailed`, `WrongLength`, `AttemptsExhausted`.
    pub fn sign(
        &mut self,
        key: &EncodedSigningKey<'_, P>,
        rng: &mut impl Randomness,
        ctx: Context<'_>,
        message: &[u8],
        signature: &mut [u8],
    ) -> Result<(), Error> {
        self.sign_mu(key, rng, &mu_of(key.sk.tr, ctx, message), signature)
    }

    /// Signs a message without randomness: the same signature every time.
    /// For test vectors, and for machines that have no random source and fear no faults.
    pub fn sign_deterministic(
        &mut self,
        key: &EncodedSigningKey<'_, P>,
        ctx: Context<'_>,
        message: &[u8],
        signature: &mut [u8],
    ) -> Result<(), Error> {
        self.sign_mu_deterministic(key, &mu_of(key.sk.tr, ctx, message), signature)
    }

    /// Signs a message representative, hedged; see [`sign`](Self::sign).
    pub fn sign_mu(
        &mut self,
        key: &EncodedSigningKey<'_, P>,
        rng: &mut impl Randomness,
        mu: &Mu,
        signature: &mut [u8],
    ) -> Result<(), Error> {
        let mut rnd = Wiped([0; 32]);
        match rng.fill(&mut *rnd) {
            Ok(()) => self.sign_in(active(), key, mu, &rnd, signature, &mut |_| ()),
            Err(error) => {
                signature.fill(0);
                Err(error)
            }
        }
    }

    /// Signs a message representative without randomness; see [`sign_deterministic`](Self::sign_deterministic).
    pub fn sign_mu_deterministic(
        &mut self,
        key: &EncodedSigningKey<'_, P>,
        mu: &Mu,
        signature: &mut [u8],
    ) -> Result<(), Error> {
        self.sign_in(active(), key, mu, &[0; 32], signature, &mut |_| ())
    }

    /// Signs a message, hedged, and verifies the signature before it leaves: a machine that computes wrongly, by chance or by
    /// an attacker's hand, answers `FaultDetected` and shows nothing of the key. The verification starts from the bytes of
    /// the public key and shares nothing with signing but the buffer.
    ///
    /// Errors: those of [`sign`](Self::sign); `FaultDetected`, also where `public` is not the key's.
    pub fn sign_checked<V: Profile>(
        &mut self,
        key: &EncodedSigningKey<'_, P>,
        (public, space): (&EncodedVerifyingKey<'_, P>, &mut VerifySpace<P, V>),
        rng: &mut impl Randomness,
        ctx: Context<'_>,
        message: &[u8],
        signature: &mut [u8],
    ) -> Result<(), Error> {
        self.sign(key, rng, ctx, message, signature)?;
        space.verify(public, ctx, message, signature).map_err(|_| {
            signature.fill(0);
            Error::FaultDetected
        })
    }

    /// The one way to a signature, in a given room.
    pub(crate) fn sign_in(
        &mut self,
        room: Room,
        key: &EncodedSigningKey<'_, P>,
        mu: &Mu,
        rnd: &[u8; 32],
        signature: &mut [u8],
        on_reject: &mut dyn FnMut(Rejection),
    ) -> Result<(), Error> {
        if let Err(error) = exact_len(signature, P::SIG_LEN) {
            signature.fill(0);
            return Err(error);
        }
        let memory = &mut self.0.room_to_work();
        let answer = sign_internal(room, Set::of::<P>(), memory, &key.sk, (&mu.0, rnd), signature, on_reject);
        M::wipe_below_signing();
        answer
    }
}

/// Memory for verifying: 1 792 bytes with [`Small`], 4 096, 5 632 or 7 168 with the others. Wiped after each call, and on
/// drop.
pub struct VerifySpace<P: ParameterSet, M: Profile>(pub(crate) VerifyMemory<P, M>);

impl<P: ParameterSet, M: Profile> VerifySpace<P, M> {
    /// Bytes of this workspace.
    pub const SIZE: usize = size_of::<Self>();
    /// Bytes of stack that a call takes besides, at most; see [`SignSpace::STACK`].
    pub const STACK: usize = M::VERIFY_STACK;

    /// Zeros.
    pub const fn new() -> Self {
        VerifySpace(VerifyMemory::BLANK)
    }

    /// Checks the signature of a message. What costs least is looked at first: the length, the hint and the norm of z, before
    /// the key or the message is hashed.
    ///
    /// Errors: `WrongLength`; `BadSignature`.
    pub fn verify(
        &mut self,
        key: &EncodedVerifyingKey<'_, P>,
        ctx: Context<'_>,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        self.verify_in(active(), key, || mu_of(&key.tr(), ctx, message), signature)
    }

    /// Checks the signature of a message representative. Errors: `WrongLength`; `BadSignature`.
    pub fn verify_mu(
        &mut self,
        key: &EncodedVerifyingKey<'_, P>,
        mu: &Mu,
        signature: &[u8],
    ) -> Result<(), Error> {
        self.verify_in(active(), key, || mu.clone(), signature)
    }

    /// The one way to a verdict, in a given room.
    pub(crate) fn verify_in(
        &mut self,
        room: Room,
        key: &EncodedVerifyingKey<'_, P>,
        mu: impl FnOnce() -> Mu,
        signature: &[u8],
    ) -> Result<(), Error> {
        exact_len(signature, P::SIG_LEN)?;
        verify_internal(room, &mut self.0.of(key.pk, signature), mu)
    }
}

/// μ of a message.
fn mu_of(tr: &[u8; 64], ctx: Context<'_>, message: &[u8]) -> Mu {
    let mut mu = Mu([0; MU_LEN]);
    MuHasher::mu_of(active(), tr, ctx, message, &mut mu.0);
    mu
}

fn exact_len(bytes: &[u8], expected: usize) -> Result<(), Error> {
    if bytes.len() == expected { Ok(()) } else { Err(Error::WrongLength { expected, found: bytes.len() }) }
}

/// What the three workspaces have in common.
macro_rules! spaces {
    ($($space:ident),*) => {$(
        impl<P: ParameterSet, M: Profile> Default for $space<P, M> {
            fn default() -> Self {
                Self::new()
            }
        }

        impl<P: ParameterSet, M: Profile> Drop for $space<P, M> {
            fn drop(&mut self) {
                self.0.wipe();
            }
        }

        /// Names the type, the level and the profile and shows no byte.
        impl<P: ParameterSet, M: Profile> fmt::Debug for $space<P, M> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($space), "<{}, {}>(..)"), P::LEVEL, M::NAME)
            }
        }
    )*};
}
spaces!(KeygenSpace, SignSpace, VerifySpace);

/// Names the type and the level and shows no byte.
macro_rules! debug_by_name {
    ($($key:ident),*) => {$(
        impl<P: ParameterSet> fmt::Debug for $key<'_, P> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($key), "<{}>(..)"), P::LEVEL)
            }
        }
    )*};
}
debug_by_name!(EncodedSigningKey, EncodedVerifyingKey);
