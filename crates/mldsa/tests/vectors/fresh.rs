//! Fresh signatures with mutants: keys and signatures to make again, and what two other implementations say
//! about altered ones.

use sealstone_mldsa::Level;
use serde::Deserialize;

use super::bytes::Hex;
use super::examiner::{Examiner, same};
use super::format::Vectors;
use super::report::FileReport;
use super::shape::{level_named, shape};
use super::subject::{Input, Secret};
use super::{Options, oracle};

/// All cases of the file.
#[derive(Deserialize)]
pub struct Fresh(Vec<Case>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: u64,
    set: String,
    seed: Hex,
    rnd: Hex,
    ctx: Hex,
    msg: Hex,
    msg_len: usize,
    msg_sha256: Hex,
    pk_sha256: Hex,
    sk_sha256: Hex,
    sig: Hex,
    mutants: Vec<Mutant>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutant {
    name: String,
    edits: Vec<(usize, u8)>,
    bulk: Option<String>,
    len: usize,
    valid: bool,
}

impl Vectors for Fresh {
    fn name(&self) -> &'static str {
        "fresh signatures with mutants"
    }

    fn run(&self, examiner: &Examiner<'_>, _: Options, report: &mut FileReport) -> Result<(), String> {
        for case in &self.0 {
            let level = level_named(&case.set)?;
            let name = format!("id {} ({})", case.id, case.set);
            report.case(name.clone(), case.signs(examiner, level));
            let (public, _) = examiner.keygen(level, &case.seed)?;
            for mutant in &case.mutants {
                let signature = mutant.of(&case.sig, level)?;
                let outcome = examiner.verifies(level, &public, case.input(), &signature, mutant.valid);
                report.case(format!("{name}, {}", mutant.name), outcome);
            }
        }
        Ok(())
    }
}

impl Case {
    fn input(&self) -> Input<'_> {
        Input::Pure { context: &self.ctx, message: &self.msg }
    }

    fn signs(&self, examiner: &Examiner<'_>, level: Level) -> Result<(), String> {
        if self.msg.len() != self.msg_len {
            return Err(format!("msg_len says {}, found {}", self.msg_len, self.msg.len()));
        }
        same("SHA-256 of the message", &self.msg_sha256, &oracle::sha256(&[&self.msg]))?;
        let (public, expanded) = examiner.keygen(level, &self.seed)?;
        same("SHA-256 of the public key", &self.pk_sha256, &oracle::sha256(&[&public]))?;
        same("SHA-256 of the private key", &self.sk_sha256, &oracle::sha256(&[&expanded]))?;
        let rnd = self.rnd.0.as_slice().try_into().map_err(|_| format!("rnd of {} bytes", self.rnd.len()))?;
        examiner.signs(level, Secret::Seed(&self.seed), &public, self.input(), &rnd, &self.sig)
    }
}

impl Mutant {
    /// The altered signature.
    fn of(&self, signature: &[u8], level: Level) -> Result<Vec<u8>, String> {
        let shape = shape(level);
        let mut bytes = signature.to_vec();
        let z = shape.c_tilde..bytes.len().saturating_sub(shape.omega + shape.k);
        match self.bulk.as_deref() {
            None => {}
            Some("truncate") => bytes.truncate(bytes.len().saturating_sub(1)),
            Some("extend") => bytes.push(0),
            Some("empty") => bytes.clear(),
            Some("z-all-ff") => bytes[z].fill(0xff),
            Some("z-all-00") => bytes[z].fill(0),
            Some(other) => return Err(format!("unknown bulk edit {other:?}")),
        }
        for &(offset, value) in &self.edits {
            *bytes.get_mut(offset).ok_or_else(|| format!("{}: edit at {offset}", self.name))? = value;
        }
        if bytes.len() != self.len {
            return Err(format!("{}: len says {}, found {}", self.name, self.len, bytes.len()));
        }
        Ok(bytes)
    }
}
