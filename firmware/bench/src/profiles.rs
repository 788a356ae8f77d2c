//! Every operation of `device` at each level and with each profile, as lines `name,value`: instructions, and workspace and
//! stack together. What was computed, as lines `digest/...,hexadecimal`, for the host to compare. Ends in failure where a call
//! takes more stack than its `STACK` says, or computes something wrong.
#![no_std]
#![no_main]

use core::hint::black_box;
use sealstone_board::{Counter, entry, exit, line, stack_of};
use sealstone_mldsa::device::{
    Balanced, EncodedSigningKey, EncodedVerifyingKey, Fast, KeygenSpace, Profile, SignSpace, Small,
    VerifySpace,
};
use sealstone_mldsa::{Context, Error, MacKey, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet, Randomness};

/// The list that everybody here is measured with: one key, sixteen messages of 50 bytes.
const SEED: [u8; 32] = [7; 32];
const MESSAGES: u8 = 16;

/// Frames have other sizes in a program that is built for flash, and `STACK` is for one that is built for speed.
const BOUND: bool = cfg!(not(feature = "for-flash"));

#[entry]
fn main() -> ! {
    let mut counter = Counter::start();
    level::<MlDsa44>(&mut counter, 44);
    level::<MlDsa65>(&mut counter, 65);
    level::<MlDsa87>(&mut counter, 87);
    tag(&mut counter);
    exit(true)
}

#[inline(never)]
fn level<P: ParameterSet>(counter: &mut Counter, level: u32) {
    profile::<P, Small>(&mut Place { counter, level, profile: "small" });
    profile::<P, Balanced>(&mut Place { counter, level, profile: "balanced" });
    profile::<P, Fast>(&mut Place { counter, level, profile: "fast" });
}

/// What a line says of itself.
struct Place<'a> {
    counter: &'a mut Counter,
    level: u32,
    profile: &'static str,
}

#[inline(never)]
fn profile<P: ParameterSet, M: Profile>(place: &mut Place<'_>) {
    let (mut pk, mut sk, mut sigma) = ([0; 2592], [0; 4896], [0; 4627]);
    let (pk, sk, sigma) = (&mut pk[..P::PK_LEN], &mut sk[..P::SK_LEN], &mut sigma[..P::SIG_LEN]);
    keygen::<P, M>(place, pk, sk);
    for i in 0..MESSAGES {
        sign::<P, M>(place, i, sk, sigma);
        verify::<P, M>(place, i, pk, sigma);
        if i == 0 {
            digest::<P>(place.level, "pk", sk, pk);
        }
        digest::<P>(place.level, "sign", sk, sigma);
    }
}

#[inline(never)]
fn keygen<P: ParameterSet, M: Profile>(place: &mut Place<'_>, pk: &mut [u8], sk: &mut [u8]) {
    let mut space = KeygenSpace::<P, M>::new();
    let (stack, (count, made)) =
        stack_of(|| place.counter.count(|| space.generate(&mut Fixed(SEED), pk, sk)));
    expect(made.is_ok());
    place.count("keygen", count);
    place.stack("keygen", KeygenSpace::<P, M>::SIZE, stack, KeygenSpace::<P, M>::STACK);
}

#[inline(never)]
fn sign<P: ParameterSet, M: Profile>(place: &mut Place<'_>, i: u8, sk: &[u8], sigma: &mut [u8]) {
    let mut space = SignSpace::<P, M>::new();
    let (size, bound) = (SignSpace::<P, M>::SIZE, SignSpace::<P, M>::STACK);
    let (stack, (count, key)) = stack_of(|| place.counter.count(|| EncodedSigningKey::<P>::decode(sk)));
    let Ok(key) = key else { exit(false) };
    let message = [i; 50];
    if i == 0 {
        place.count("decode", count);
        place.stack("decode", 0, stack, bound);
        // The way that takes most stack: hedged, from the message.
        let (stack, made) =
            stack_of(|| space.sign(&key, &mut Fixed([9; 32]), Context::EMPTY, black_box(&message), sigma));
        expect(made.is_ok());
        place.stack("sign", size, stack, bound);
    }
    let (stack, (count, made)) = stack_of(|| {
        place.counter.count(|| space.sign_deterministic(&key, Context::EMPTY, black_box(&message), sigma))
    });
    expect(made.is_ok());
    place.count("sign", count);
    place.stack("sign", size, stack, bound);
}

#[inline(never)]
fn verify<P: ParameterSet, M: Profile>(place: &mut Place<'_>, i: u8, pk: &[u8], sigma: &[u8]) {
    let mut space = VerifySpace::<P, M>::new();
    let Ok(key) = EncodedVerifyingKey::<P>::decode(pk) else { exit(false) };
    let (stack, (count, verdict)) =
        stack_of(|| place.counter.count(|| space.verify(&key, Context::EMPTY, black_box(&[i; 50]), sigma)));
    expect(verdict == Ok(()));
    place.count("verify", count);
    place.stack("verify", VerifySpace::<P, M>::SIZE, stack, VerifySpace::<P, M>::STACK);
    expect(space.verify(&key, Context::EMPTY, &[!i; 50], sigma) == Err(Error::BadSignature));
    expect(space.verify_mu(&key, &Mu::from_bytes([0; 64]), sigma) == Err(Error::BadSignature));
}

/// A digest of bytes: they are a message to the key, and it is that message's μ.
#[inline(never)]
fn digest<P: ParameterSet>(level: u32, what: &str, sk: &[u8], bytes: &[u8]) {
    let Ok(key) = EncodedSigningKey::<P>::decode(sk) else { exit(false) };
    let mut hasher = key.message(Context::EMPTY);
    hasher.update(bytes);
    let mu = hasher.finish();
    let word = |i: usize| mu.as_bytes()[8 * i..].first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    line!("digest/{}/{},{:016x}{:016x}", what, level, word(0), word(1));
}

/// A tag of 32 bytes over 80: a reading and what an envelope says of it.
#[inline(never)]
fn tag(counter: &mut Counter) {
    let (key, mut tag) = (MacKey::from_bytes(&SEED), [0; 32]);
    let (count, ()) = counter
        .count(|| black_box(&key).tag(b"sealstone-mqtt-v1", |mac| mac.update(black_box(&[1; 80])), &mut tag));
    expect(black_box(tag) != [0; 32]);
    line!("tag/all,{}", count);
}

impl Place<'_> {
    fn count(&self, what: &str, count: u64) {
        line!("{}-{}/{},{}", what, self.profile, self.level, count);
    }

    /// Says what a call takes, and ends in failure where that is more than it says itself.
    fn stack(&self, what: &str, size: usize, stack: usize, bound: usize) {
        line!("stack/{}-{}/{},{}", what, self.profile, self.level, size + stack);
        if BOUND && stack > bound {
            line!(
                "{}-{}/{} takes {} bytes of stack and says {}",
                what,
                self.profile,
                self.level,
                stack,
                bound
            );
            exit(false)
        }
    }
}

fn expect(good: bool) {
    if !good {
        line!("wrong,1");
        exit(false)
    }
}

struct Fixed([u8; 32]);

impl Randomness for Fixed {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        bytes.copy_from_slice(&self.0);
        Ok(())
    }
}
