//! Known answers of other libraries: libcrux (hashed, pure and HashML-DSA with SHAKE128), AWS-LC (hedged, with
//! contexts), Bouncy Castle (pure and HashML-DSA with SHA-512).

use sealstone_mldsa::{Level, PreHash};
use serde::Deserialize;

use super::bytes::{self, Hex};
use super::examiner::{Examiner, same};
use super::format::Vectors;
use super::report::FileReport;
use super::shape::{LEVELS, level_signing, shape};
use super::subject::{Input, Secret};
use super::{Options, oracle};

/// libcrux: seed, message, rnd and three SHA3-256 digests. Neither level nor mode is said inside, so the first
/// case finds the one that gives its digests, and every other case must follow.
#[derive(Deserialize)]
pub struct Libcrux(Vec<LibcruxCase>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LibcruxCase {
    key_generation_seed: Hex,
    message: Hex,
    signing_randomness: Hex,
    sha3_256_hash_of_verification_key: Hex,
    sha3_256_hash_of_signing_key: Hex,
    sha3_256_hash_of_signature: Hex,
}

impl Vectors for Libcrux {
    fn name(&self) -> &'static str {
        "libcrux known answers"
    }

    fn run(&self, examiner: &Examiner<'_>, _: Options, report: &mut FileReport) -> Result<(), String> {
        let modes = LEVELS.into_iter().flat_map(|level| [(level, false), (level, true)]);
        let mode = modes.into_iter().find(|&(level, hashed)| {
            self.0.iter().take(3).any(|case| case.run(examiner, level, hashed).is_ok())
        });
        let Some((level, hashed)) = mode else {
            return Err("no level and mode give the digests of the first cases".to_owned());
        };
        for (index, case) in self.0.iter().enumerate() {
            let mode = if hashed { "HashML-DSA SHAKE128" } else { "pure" };
            report
                .case(format!("{index} ({}, {mode})", shape(level).name), case.run(examiner, level, hashed));
        }
        Ok(())
    }
}

impl LibcruxCase {
    fn run(&self, examiner: &Examiner<'_>, level: Level, hashed: bool) -> Result<(), String> {
        let (public, expanded) = examiner.keygen(level, &self.key_generation_seed)?;
        same(
            "SHA3-256 of the public key",
            &self.sha3_256_hash_of_verification_key,
            &oracle::sha3_256(&public),
        )?;
        same(
            "SHA3-256 of the private key",
            &self.sha3_256_hash_of_signing_key,
            &oracle::sha3_256(&expanded),
        )?;
        let (context, message): (&[u8], &[u8]) = (&[], &self.message);
        let input = if hashed {
            Input::PreHash { context, hash: PreHash::Shake128, message }
        } else {
            Input::Pure { context, message }
        };
        let rnd = rnd(&self.signing_randomness)?;
        let signature =
            examiner.sign(level, Secret::Seed(&self.key_generation_seed), &public, input, &rnd)?;
        same("SHA3-256 of the signature", &self.sha3_256_hash_of_signature, &oracle::sha3_256(&signature))
    }
}

/// AWS-LC: hedged, with a context; `sm` is the signature and then the message.
#[derive(Deserialize)]
pub struct AwsLc(Vec<AwsLcCase>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AwsLcCase {
    count: String,
    xi: Hex,
    rng: Hex,
    msg: Hex,
    mlen: String,
    ctx: Hex,
    smlen: String,
    pk: Option<Hex>,
    sk: Option<Hex>,
    sm: Option<Hex>,
    pk_sha256: Option<Hex>,
    sk_sha256: Option<Hex>,
    sm_sha256: Option<Hex>,
}

impl Vectors for AwsLc {
    fn name(&self) -> &'static str {
        "AWS-LC known answers, hedged"
    }

    fn run(&self, examiner: &Examiner<'_>, _: Options, report: &mut FileReport) -> Result<(), String> {
        for case in &self.0 {
            let signature_len = number(&case.smlen)?.checked_sub(number(&case.mlen)?);
            let level = level_signing(signature_len.ok_or("smlen below mlen")?)?;
            report.case(format!("count {} ({})", case.count, shape(level).name), case.run(examiner, level));
        }
        Ok(())
    }
}

impl AwsLcCase {
    fn run(&self, examiner: &Examiner<'_>, level: Level) -> Result<(), String> {
        if number(&self.mlen)? != self.msg.len() {
            return Err("mlen is not the length of msg".to_owned());
        }
        let (public, expanded) = examiner.keygen(level, &self.xi)?;
        whole_or_digest("public key", &self.pk, &self.pk_sha256, &public)?;
        whole_or_digest("private key", &self.sk, &self.sk_sha256, &expanded)?;
        let input = Input::Pure { context: &self.ctx, message: &self.msg };
        let mut signed =
            examiner.sign(level, Secret::Expanded(&expanded), &public, input, &rnd(&self.rng)?)?;
        signed.extend_from_slice(&self.msg);
        whole_or_digest("signed message", &self.sm, &self.sm_sha256, &signed)
    }
}

/// Bouncy Castle: deterministic; `sm` is the signature alone and `mlen` the length of M′. Context `none` means the
/// internal function, `zero_length` an empty context; with `message_hash` and `message_prime` it is HashML-DSA
/// with SHA-512.
#[derive(Deserialize)]
pub struct BouncyCastle(Vec<BouncyCastleCase>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BouncyCastleCase {
    count: String,
    seed: Hex,
    mlen: String,
    msg: Hex,
    smlen: String,
    context: String,
    message_hash: Option<Hex>,
    message_prime: Option<Hex>,
    pk: Option<Hex>,
    sk: Option<Hex>,
    sm: Option<Hex>,
    pk_sha256: Option<Hex>,
    sk_sha256: Option<Hex>,
    sm_sha256: Option<Hex>,
}

impl Vectors for BouncyCastle {
    fn name(&self) -> &'static str {
        "Bouncy Castle known answers"
    }

    fn run(&self, examiner: &Examiner<'_>, _: Options, report: &mut FileReport) -> Result<(), String> {
        for case in &self.0 {
            let level = level_signing(number(&case.smlen)?)?;
            report.case(format!("count {} ({})", case.count, shape(level).name), case.run(examiner, level));
        }
        Ok(())
    }
}

impl BouncyCastleCase {
    fn run(&self, examiner: &Examiner<'_>, level: Level) -> Result<(), String> {
        let (public, expanded) = examiner.keygen(level, &self.seed)?;
        whole_or_digest("public key", &self.pk, &self.pk_sha256, &public)?;
        whole_or_digest("private key", &self.sk, &self.sk_sha256, &expanded)?;
        let message: &[u8] = &self.msg;
        let context = match self.context.as_str() {
            "none" | "zero_length" => Vec::new(),
            digits => bytes::decode(digits)?,
        };
        let (input, formatted) = match (&self.message_hash, &self.message_prime) {
            (None, None) if self.context == "none" => {
                (Input::Internal { formatted: message }, message.to_vec())
            }
            (None, None) => {
                (Input::Pure { context: &context, message }, oracle::formatted(&context, None, message))
            }
            (Some(digest), Some(expected)) if self.context != "none" => {
                let hash = PreHash::Sha2_512;
                let formatted = oracle::formatted(&context, Some(hash), message);
                same("SHA-512 of the message", digest, &oracle::digest(hash, message))?;
                same("M′", expected, &formatted)?;
                (Input::PreHash { context: &context, hash, message }, formatted)
            }
            _ => return Err("context, message_hash and message_prime do not fit together".to_owned()),
        };
        if number(&self.mlen)? != formatted.len() {
            return Err(format!("mlen says {}, M′ has {} bytes", self.mlen, formatted.len()));
        }
        let signature = examiner.sign(level, Secret::Seed(&self.seed), &public, input, &[0; 32])?;
        whole_or_digest("signature", &self.sm, &self.sm_sha256, &signature)
    }
}

/// The bytes themselves or their SHA-256 stand in the file; exactly one of the two.
fn whole_or_digest(
    what: &str,
    whole: &Option<Hex>,
    digest: &Option<Hex>,
    found: &[u8],
) -> Result<(), String> {
    match (whole, digest) {
        (Some(whole), None) => same(what, whole, found),
        (None, Some(digest)) => same(&format!("SHA-256 of the {what}"), digest, &oracle::sha256(&[found])),
        _ => Err(format!("{what}: either the bytes or their SHA-256 must be given")),
    }
}

fn rnd(bytes: &[u8]) -> Result<[u8; 32], String> {
    bytes.try_into().map_err(|_| format!("rnd of {} bytes", bytes.len()))
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("not a length: {text:?}"))
}
