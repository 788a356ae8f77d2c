//! Is a secret gone when it has been used? Each operation runs on a painted stack; then all that is left on the stack below
//! the caller, and in the memory where a key was, is searched for pieces of 16 bytes of what was secret.
//!
//! Not searched: registers, and the copies that a caller makes of what it is given.

mod memory;
mod secrets;

use crate::Dice;
use memory::{Block, left_on_stack};
use sealstone_mldsa::device::{Balanced, EncodedSigningKey, Fast, KeygenSpace, Profile, SignSpace, Small};
use sealstone_mldsa::hazmat::{self, sign_mu_watched, sign_mu_with_rnd};
use sealstone_mldsa::{
    Context, CpuEngine, Engine, Error, ExpandedSigningKey, KeygenJob, Kmac256, MacKey, MlDsa44, MlDsa65,
    MlDsa87, Mu, ParameterSet, Randomness, Shake256, SignJob, SigningKey,
};
use secrets::{MAC_OF, Secrets};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

/// An operation, the memory that it left, and what to look for in it.
type Left = (&'static str, Vec<u8>, Rc<Secrets>);

/// What was found, by operation and by secret: pieces, and runs in which there were any.
type Found = BTreeMap<(&'static str, &'static str), (usize, usize)>;

/// Searches that nothing shows to be able to find something: in this room these stacks hold nothing even where nothing is wiped.
/// Their workspaces have their control.
const WITHOUT_CONTROL: [(&str, &str); 2] =
    [("avx512", "device: sign, small"), ("avx512", "device: sign, balanced")];

/// `runs` times each operation at each level. With the feature `leaky`, every operation must leave something, but for
/// those of [`WITHOUT_CONTROL`].
pub fn run(runs: usize) -> Result<(), String> {
    let mut bad = 0;
    bad += level::<MlDsa44>(runs)?;
    bad += level::<MlDsa65>(runs)?;
    bad += level::<MlDsa87>(runs)?;
    if bad == 0 { Ok(()) } else { Err(format!("{bad} operations are not as they should be")) }
}

fn level<P: ParameterSet>(runs: usize) -> Result<usize, String> {
    let mut found = Found::new();
    let mut operations = BTreeMap::new();
    let mut dice = Dice(P::LEVEL.name().bytes().map(u64::from).sum());
    for _ in 0..runs {
        for (operation, left, secrets) in one_run::<P>(&mut dice)? {
            let here = secrets.find(&left);
            *operations.entry(operation).or_insert(0) += here.values().sum::<usize>();
            for (secret, pieces) in here {
                let entry = found.entry((operation, secret)).or_default();
                *entry = (entry.0 + pieces, entry.1 + 1);
            }
        }
    }
    let mut bad = 0;
    for (&operation, &pieces) in &operations {
        let excused = cfg!(feature = "leaky") && WITHOUT_CONTROL.contains(&(hazmat::room(), operation));
        let wrong = !excused && (pieces == 0) == cfg!(feature = "leaky");
        bad += usize::from(wrong);
        let verdict = if wrong { " WRONG" } else { "" };
        println!(
            "wipe, {}, {}: {operation}: {runs} runs, {pieces} pieces{verdict}",
            hazmat::room(),
            P::LEVEL
        );
        for ((of, secret), (pieces, in_runs)) in &found {
            if *of == operation && wrong {
                println!("    {pieces} pieces of {secret}, in {in_runs} runs");
            }
        }
    }
    Ok(bad)
}

/// Each operation once: its name, the memory that it left, and what to look for in it.
fn one_run<P: ParameterSet>(dice: &mut Dice) -> Result<Vec<Left>, String> {
    let text = |error: sealstone_mldsa::Error| error.to_string();
    let (xi, rnd, mu) = (dice.array::<32>(), dice.array::<32>(), Mu::from_bytes(dice.array()));
    let outside = Box::new(SigningKey::<P>::from_seed(&xi).expand());
    let mut sk = vec![0; P::SK_LEN];
    outside.encode(&mut sk).map_err(text)?;
    let mut refused = 0;
    let signature = sign_mu_watched(&outside, &mu, &rnd, |_| refused += 1).map_err(text)?;
    let c_tilde = &signature.encode()[..P::C_TILDE_LEN];
    let secrets = Secrets::of::<P>(&xi, &sk, &rnd, mu.as_bytes(), (refused, 7), c_tilde);
    // Verification and an unwinding know no secret. What they leave are constants; four small numbers of these may stand in s1 too.
    let mut public = left_on_stack(|| ignore(&outside.verifying_key().verify_mu(&mu, &signature)));
    public
        .extend(left_on_stack(|| ignore(&catch_unwind(|| resume_unwind(Box::new(()))).is_ok_and(|()| true))));
    let secrets = Rc::new(secrets.without(&public, &signature.encode()));
    let mut all = Vec::new();
    let mut note = |name, left| all.push((name, left, secrets.clone()));

    let seed = Box::new(SigningKey::<P>::from_seed(&xi));
    let mut damaged = sk.clone();
    damaged[P::SK_LEN - 1] ^= 1;
    let mut out = vec![0; P::SK_LEN];
    let mut checked = Box::new(SigningKey::<P>::from_seed(&xi).expand());
    checked.set_checked(true);
    let mut tag = [0; 32];
    let mut on_stack = |name, operation: &mut dyn FnMut()| note(name, left_on_stack(operation));
    on_stack("seed, then drop", &mut || ignore(&SigningKey::<P>::from_seed(&xi)));
    on_stack("generate, then drop", &mut || ignore(&SigningKey::<P>::generate(&mut Fixed(&xi))));
    on_stack("generate with a check, then drop", &mut || {
        ignore(&SigningKey::<P>::generate_checked(&mut Fixed(&xi)))
    });
    on_stack("expand, then drop", &mut || ignore(&seed.expand()));
    on_stack("public key of a seed", &mut || ignore(&seed.verifying_key()));
    on_stack("sign with the seed", &mut || ignore(&seed.sign_deterministic(Context::EMPTY, b"")));
    on_stack("sign with the expanded key", &mut || ignore(&sign_mu_with_rnd(&outside, &mu, &rnd)));
    on_stack("sign with a checked key", &mut || ignore(&sign_mu_with_rnd(&checked, &mu, &rnd)));
    on_stack("import, then drop", &mut || ignore(&ExpandedSigningKey::<P>::decode(&sk)));
    on_stack("refused import", &mut || ignore(&ExpandedSigningKey::<P>::decode(&damaged)));
    on_stack("export", &mut || ignore(&outside.encode(&mut out)));
    on_stack("device: take a key", &mut || ignore(&EncodedSigningKey::<P>::decode(&sk)));
    // The seed is the key of a MAC here.
    on_stack("take a key of a MAC, then drop", &mut || ignore(&MacKey::from_bytes(&xi)));
    on_stack("make a key of a MAC, then drop", &mut || ignore(&MacKey::generate(&mut Fixed(&xi))));
    let mac = Box::new(MacKey::from_bytes(&xi));
    let [customization, message, long] = MAC_OF;
    on_stack("MAC", &mut || mac.tag(customization, |mac| mac.update(message), &mut tag));
    on_stack("MAC, fed from deeper", &mut || mac.tag(customization, |mac| feed_deep(mac, long), &mut tag));
    on_stack("MAC, panicking", &mut || {
        let fed = AssertUnwindSafe(|| mac.tag(customization, |mac| feed_and_panic(mac, long), &mut tag));
        ignore(&catch_unwind(fed).is_err());
    });
    on_stack("compare a MAC", &mut || {
        ignore(&mac.verify(customization, |mac| mac.update(message), &tag));
    });
    on_stack("hash of a secret", &mut || ignore(&Shake256::of::<32>([xi.as_slice()])));
    let batch = left_on_stack(|| {
        let job = || SignJob { key: &*outside, mu: &mu, rnd, signature: None };
        CpuEngine::new().sign(black_box(&mut [job(), job(), job()]));
    });
    note("sign a batch", batch);
    // A message may be a secret too: here it is the seed, once and, in one that is longer than the others, many times.
    let long = xi.repeat(9);
    let batch = left_on_stack(|| {
        let job = |message| outside.mu_job(Context::EMPTY, message);
        CpuEngine::new().hash_messages(black_box(&mut [job(&xi[..]), job(&long), job(&xi)]));
    });
    note("hash a batch", batch);
    let batch = left_on_stack(|| {
        let job = || KeygenJob::<P> { seed: &xi, verifying_key: None };
        CpuEngine::new().keygen(black_box(&mut [job(), job()]));
    });
    note("public keys of a batch", batch);

    let key = EncodedSigningKey::<P>::decode(&sk).map_err(text)?;
    let mut pk = vec![0; P::PK_LEN];
    let mut maker = Block::new(KeygenSpace::<P, Small>::new());
    note("device: make a key", left_on_stack(|| ignore(&maker.keygen(&xi, &mut pk, &mut out))));
    note("device: make a key, workspace", maker.bytes());
    if out != sk {
        return Err(String::from("another key than the one whose secrets are looked for"));
    }
    for (stack, workspace, (left, memory, made)) in [
        ("device: sign, small", "device: sign, small, workspace", device_sign::<P, Small>(&key, &rnd, &mu)),
        (
            "device: sign, balanced",
            "device: sign, balanced, workspace",
            device_sign::<P, Balanced>(&key, &rnd, &mu),
        ),
        ("device: sign, fast", "device: sign, fast, workspace", device_sign::<P, Fast>(&key, &rnd, &mu)),
    ] {
        note(stack, left);
        note(workspace, memory);
        if made != signature.encode() {
            return Err(String::from("another signature than the one whose secrets are looked for"));
        }
    }

    note("memory of a seed, dropped", Block::new(SigningKey::<P>::from_seed(&xi)).dropped());
    note(
        "memory of an expanded key, dropped",
        Block::new(SigningKey::<P>::from_seed(&xi).expand()).dropped(),
    );
    Ok(all)
}

/// Signs in a workspace: what is left on the stack, what is left in the workspace, and the signature.
fn device_sign<P: ParameterSet, M: Profile>(
    key: &EncodedSigningKey<'_, P>,
    rnd: &[u8; 32],
    mu: &Mu,
) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let mut made = vec![0; P::SIG_LEN];
    let mut space = Block::new(SignSpace::<P, M>::new());
    let left = left_on_stack(|| ignore(&space.sign_mu(key, &mut Fixed(rnd), mu, &mut made)));
    (left, space.bytes(), made)
}

/// Feeds from a frame so large that what lies below it is deeper than a MAC wipes at its end.
#[inline(never)]
fn feed_deep(mac: &mut Kmac256<'_>, message: &[u8]) {
    let frame = black_box([0u8; 8192]);
    mac.update(message);
    ignore(&frame);
}

/// Feeds, and gives up without a word.
fn feed_and_panic(mac: &mut Kmac256<'_>, message: &[u8]) {
    feed_deep(mac, message);
    resume_unwind(Box::new(()))
}

/// A random source of these bytes.
struct Fixed<'a>(&'a [u8; 32]);

impl Randomness for Fixed<'_> {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        bytes.copy_from_slice(self.0);
        Ok(())
    }
}

/// Uses a value where it is: to move it would leave a copy that is the caller's.
fn ignore<T>(value: &T) {
    black_box(value);
}
