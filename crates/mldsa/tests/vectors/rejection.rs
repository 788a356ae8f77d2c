//! Rejection paths: seeds and messages that meet every way to reject an attempt of signing, and some that need
//! very many attempts. From the tables of NIST's ACVP specification for ML-DSA and leancrypto's additions.

use std::collections::BTreeMap;

use sealstone_mldsa::Level;
use serde::Deserialize;

use super::bytes::Hex;
use super::examiner::{Examiner, same};
use super::format::Vectors;
use super::report::FileReport;
use super::shape::{LEVELS, shape};
use super::subject::{Input, Secret};
use super::{Options, oracle};

/// All sets of the file, each named `<interface>-<level>`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paths {
    interface: BTreeMap<String, String>,
    #[serde(rename = "rnd")]
    _rnd: String,
    #[serde(rename = "key_hash")]
    _key_hash: String,
    #[serde(rename = "sig_hash")]
    _sig_hash: String,
    sets: BTreeMap<String, Vec<Case>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    seed: Hex,
    msg: Hex,
    key_hash: Hex,
    sig_hash: Hex,
    sig: Option<Hex>,
    pk_sha256: Option<Hex>,
    sk_sha256: Option<Hex>,
}

/// What `msg` is.
#[derive(Clone, Copy)]
enum Interface {
    Internal,
    Pure,
    ExternalMu,
}

impl Vectors for Paths {
    fn name(&self) -> &'static str {
        "rejection paths"
    }

    fn run(&self, examiner: &Examiner<'_>, _: Options, report: &mut FileReport) -> Result<(), String> {
        for name in self.interface.keys() {
            interface(name)?;
        }
        for (name, cases) in &self.sets {
            let (kind, number) = name.rsplit_once('-').ok_or_else(|| format!("unknown set {name:?}"))?;
            let level = LEVELS.into_iter().find(|&level| shape(level).name.ends_with(&format!("-{number}")));
            let level = level.ok_or_else(|| format!("unknown set {name:?}"))?;
            if !self.interface.contains_key(kind) {
                return Err(format!("the file does not say what {kind:?} is"));
            }
            for (index, case) in cases.iter().enumerate() {
                report.case(format!("{name} {index}"), case.run(examiner, level, interface(kind)?));
            }
        }
        Ok(())
    }
}

fn interface(name: &str) -> Result<Interface, String> {
    match name {
        "rejection" | "rejection_upstream" => Ok(Interface::Internal),
        "pure_rejection" => Ok(Interface::Pure),
        "external_mu_rejection" => Ok(Interface::ExternalMu),
        _ => Err(format!("unknown interface {name:?}")),
    }
}

impl Case {
    fn run(&self, examiner: &Examiner<'_>, level: Level, interface: Interface) -> Result<(), String> {
        let (public, expanded) = examiner.keygen(level, &self.seed)?;
        same("SHA-256 of both keys", &self.key_hash, &oracle::sha256(&[&public, &expanded]))?;
        if let Some(digest) = &self.pk_sha256 {
            same("SHA-256 of the public key", digest, &oracle::sha256(&[&public]))?;
        }
        if let Some(digest) = &self.sk_sha256 {
            same("SHA-256 of the private key", digest, &oracle::sha256(&[&expanded]))?;
        }
        let input = match interface {
            Interface::Internal => Input::Internal { formatted: &self.msg },
            Interface::Pure => Input::Pure { context: &[], message: &self.msg },
            Interface::ExternalMu => Input::Mu { mu: &self.msg },
        };
        let signature = examiner.sign(level, Secret::Seed(&self.seed), &public, input, &[0; 32])?;
        if let Some(expected) = &self.sig {
            same("signature", expected, &signature)?;
        }
        same("SHA-256 of the signature", &self.sig_hash, &oracle::sha256(&[&signature]))
    }
}
