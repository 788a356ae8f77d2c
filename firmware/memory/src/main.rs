//! Every operation of `device` at each level and with each profile: its workspace and stack as lines `bytes/...,number`,
//! its instructions as lines `instructions/...,number`. Ends in failure where a call takes more stack than its `STACK`
//! says, or computes something wrong.
#![no_std]
#![no_main]

use core::hint::black_box;
use sealstone_board::{Counter, entry, exit, line, stack_of};
use sealstone_mldsa::device::{
    Balanced, EncodedSigningKey, EncodedVerifyingKey, Fast, KeygenSpace, Profile, SignSpace, Small,
    VerifySpace,
};
use sealstone_mldsa::{Context, Error, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet, Randomness};

/// The list that everybody here is measured with: one key, sixteen messages of 50 bytes.
const SEED: [u8; 32] = [7; 32];
const MESSAGES: u8 = 16;

#[entry]
fn main() -> ! {
    let mut counter = Counter::start();
    level::<MlDsa44>(&mut counter, 44);
    level::<MlDsa65>(&mut counter, 65);
    level::<MlDsa87>(&mut counter, 87);
    exit(true)
}

#[inline(never)]
fn level<P: ParameterSet>(counter: &mut Counter, level: u32) {
    let digests = [
        profile::<P, Small>(counter, level, "small"),
        profile::<P, Balanced>(counter, level, "balanced"),
        profile::<P, Fast>(counter, level, "fast"),
    ];
    line!("digest/{},{:016x}", level, digests[0]);
    if digests[1] != digests[0] || digests[2] != digests[0] {
        line!("differ/{},1", level);
        exit(false)
    }
}

/// A digest of all that was made.
#[inline(never)]
fn profile<P: ParameterSet, M: Profile>(counter: &mut Counter, level: u32, name: &str) -> u64 {
    let (mut pk, mut sk, mut sigma) = ([0; 2592], [0; 4896], [0; 4627]);
    let (pk, sk, sigma) = (&mut pk[..P::PK_LEN], &mut sk[..P::SK_LEN], &mut sigma[..P::SIG_LEN]);
    let mut digest = 0;
    keygen::<P, M>(counter, level, name, pk, sk);
    add(&mut digest, pk);
    add(&mut digest, sk);
    let mut total = 0;
    for i in 0..MESSAGES {
        total += sign::<P, M>(counter, level, name, i, sk, sigma);
        add(&mut digest, sigma);
        if i == 0 {
            verify::<P, M>(counter, level, name, pk, sigma);
        }
    }
    line!("instructions/sign/{}/{},{}", name, level, total >> 4);
    digest
}

#[inline(never)]
fn keygen<P: ParameterSet, M: Profile>(
    counter: &mut Counter,
    level: u32,
    name: &str,
    pk: &mut [u8],
    sk: &mut [u8],
) {
    let mut space = KeygenSpace::<P, M>::new();
    let (stack, (count, made)) = stack_of(|| counter.count(|| space.generate(&mut Fixed(SEED), pk, sk)));
    line!("instructions/keygen/{}/{},{}", name, level, count);
    within("keygen", (name, level), KeygenSpace::<P, M>::SIZE, stack, KeygenSpace::<P, M>::STACK);
    expect(made.is_ok());
}

/// The instructions that the deterministic signature took.
#[inline(never)]
fn sign<P: ParameterSet, M: Profile>(
    counter: &mut Counter,
    level: u32,
    name: &str,
    i: u8,
    sk: &[u8],
    sigma: &mut [u8],
) -> u64 {
    let mut space = SignSpace::<P, M>::new();
    let (taken, key) = stack_of(|| EncodedSigningKey::<P>::decode(sk));
    let Ok(key) = key else { exit(false) };
    let message = [i; 50];
    if i == 0 {
        line!("bytes/decode/{},{}", level, taken);
        // The way that takes most stack: hedged, from the message.
        let (stack, made) =
            stack_of(|| space.sign(&key, &mut Fixed([9; 32]), Context::EMPTY, black_box(&message), sigma));
        expect(made.is_ok());
        within("sign", (name, level), SignSpace::<P, M>::SIZE, stack, SignSpace::<P, M>::STACK);
    }
    let (stack, (count, made)) = stack_of(|| {
        counter.count(|| space.sign_deterministic(&key, Context::EMPTY, black_box(&message), sigma))
    });
    expect(made.is_ok() && stack <= SignSpace::<P, M>::STACK);
    count
}

#[inline(never)]
fn verify<P: ParameterSet, M: Profile>(
    counter: &mut Counter,
    level: u32,
    name: &str,
    pk: &[u8],
    sigma: &mut [u8],
) {
    let mut space = VerifySpace::<P, M>::new();
    let Ok(key) = EncodedVerifyingKey::<P>::decode(pk) else { exit(false) };
    let (stack, (count, verdict)) =
        stack_of(|| counter.count(|| space.verify(&key, Context::EMPTY, black_box(&[0; 50]), sigma)));
    line!("instructions/verify/{}/{},{}", name, level, count);
    within("verify", (name, level), VerifySpace::<P, M>::SIZE, stack, VerifySpace::<P, M>::STACK);
    expect(verdict == Ok(()));
    expect(space.verify(&key, Context::EMPTY, &[1; 50], sigma) == Err(Error::BadSignature));
    expect(space.verify_mu(&key, &Mu::from_bytes([0; 64]), sigma) == Err(Error::BadSignature));
}

/// Says what a call takes, and ends in failure where that is more than it says itself.
fn within(what: &str, (name, level): (&str, u32), size: usize, stack: usize, bound: usize) {
    line!("bytes/{}/{}/{},{}+{}={}", what, name, level, size, stack, size + stack);
    if stack > bound {
        line!("above/{}/{}/{},{}", what, name, level, bound);
        exit(false)
    }
}

fn expect(good: bool) {
    if !good {
        line!("wrong,1");
        exit(false)
    }
}

/// FNV-1a, which is enough to see that profiles agree.
fn add(digest: &mut u64, bytes: &[u8]) {
    for byte in bytes {
        *digest = (*digest ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    }
}

struct Fixed([u8; 32]);

impl Randomness for Fixed {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        bytes.copy_from_slice(&self.0);
        Ok(())
    }
}
