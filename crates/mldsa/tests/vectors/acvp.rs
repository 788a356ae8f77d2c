//! NIST ACVP, ML-DSA / FIPS204: keyGen, sigGen and sigVer of every release. The first release knows only the
//! internal interface and does not say so.

use sealstone_mldsa::{Level, PreHash};
use serde::Deserialize;

use super::bytes::Hex;
use super::examiner::{Examiner, same};
use super::format::Vectors;
use super::report::FileReport;
use super::shape::{level_named, shape};
use super::subject::{Input, Secret};
use super::{Options, bytes, oracle};

/// SHA-256 of published signatures that are wrong: v1.1.0.38, sigGen, tgId 2, tcId 16 (HashML-DSA-44 with
/// SHA2-512/256) neither verifies nor is reproduced by any of three independent implementations.
const WRONG_SIGNATURES: [&str; 1] = ["aade4ae5adb78fb41e4f5a8fa1558b88873b096e0bbbe98e9d72a672c323ace1"];

/// A whole file of mode `T`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct File<T> {
    #[serde(rename = "vsId")]
    _vs_id: u64,
    algorithm: String,
    #[serde(rename = "mode")]
    _mode: String,
    revision: String,
    #[serde(rename = "isSample")]
    _is_sample: bool,
    #[serde(rename = "x-heldBack", default)]
    _held_back: u64,
    #[serde(rename = "x-quarantined", default)]
    _quarantined: u64,
    test_groups: Vec<T>,
}

impl<T> File<T> {
    fn check(&self) -> Result<(), String> {
        match (self.algorithm.as_str(), self.revision.as_str()) {
            ("ML-DSA", "FIPS204") => Ok(()),
            (algorithm, revision) => Err(format!("unknown algorithm {algorithm} {revision}")),
        }
    }
}

/// Mode keyGen.
#[derive(Deserialize)]
pub struct KeyGen(File<KeyGenGroup>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct KeyGenGroup {
    tg_id: u64,
    test_type: String,
    parameter_set: String,
    tests: Vec<KeyGenTest>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct KeyGenTest {
    tc_id: u64,
    #[serde(rename = "deferred", default)]
    _deferred: bool,
    seed: Hex,
    pk: Hex,
    sk: Hex,
}

impl Vectors for KeyGen {
    fn name(&self) -> &'static str {
        "ACVP keyGen"
    }

    fn run(&self, examiner: &Examiner<'_>, _: Options, report: &mut FileReport) -> Result<(), String> {
        self.0.check()?;
        for group in &self.0.test_groups {
            let level = level_of(&group.test_type, &group.parameter_set)?;
            for test in &group.tests {
                let outcome = examiner.keygen(level, &test.seed).and_then(|(public, expanded)| {
                    same("public key", &test.pk, &public)?;
                    same("private key", &test.sk, &expanded)
                });
                report.case(name(group.tg_id, test.tc_id, level, "keyGen"), outcome);
            }
        }
        Ok(())
    }
}

/// Mode sigGen.
#[derive(Deserialize)]
pub struct SigGen(File<SigGenGroup>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SigGenGroup {
    tg_id: u64,
    test_type: String,
    parameter_set: String,
    deterministic: bool,
    signature_interface: Option<String>,
    pre_hash: Option<String>,
    external_mu: Option<bool>,
    tests: Vec<SigGenTest>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SigGenTest {
    tc_id: u64,
    #[serde(rename = "deferred", default)]
    _deferred: bool,
    message: Option<Hex>,
    mu: Option<Hex>,
    context: Option<Hex>,
    hash_alg: Option<String>,
    pk: Option<Hex>,
    sk: Hex,
    rnd: Option<Hex>,
    signature: Hex,
}

impl Vectors for SigGen {
    fn name(&self) -> &'static str {
        "ACVP sigGen"
    }

    fn run(&self, examiner: &Examiner<'_>, _: Options, report: &mut FileReport) -> Result<(), String> {
        self.0.check()?;
        for group in &self.0.test_groups {
            for test in &group.tests {
                let wrong = bytes::encode(&oracle::sha256(&[&test.signature]));
                if WRONG_SIGNATURES.contains(&wrong.as_str()) {
                    group.run_wrong(examiner, test, report)?;
                } else {
                    let (level, input, rnd) = group.question(test)?;
                    let outcome = signs(examiner, level, test, input, &rnd);
                    report.case(name(group.tg_id, test.tc_id, level, &group.interface().label()), outcome);
                }
            }
        }
        Ok(())
    }
}

fn signs(
    examiner: &Examiner<'_>,
    level: Level,
    test: &SigGenTest,
    input: Input<'_>,
    rnd: &[u8; 32],
) -> Result<(), String> {
    let public = examiner.public_of(level, &test.sk)?;
    if let Some(expected) = &test.pk {
        same("public key", expected, &public)?;
    }
    examiner.signs(level, Secret::Expanded(&test.sk), &public, input, rnd, &test.signature)
}

impl SigGenGroup {
    fn interface(&self) -> Interface<'_> {
        Interface::new(&self.signature_interface, &self.pre_hash, self.external_mu)
    }

    fn question<'a>(&self, test: &'a SigGenTest) -> Result<(Level, Input<'a>, [u8; 32]), String> {
        let level = level_of(&self.test_type, &self.parameter_set)?;
        let input = self.interface().input(&Fields {
            message: test.message.as_ref(),
            mu: test.mu.as_ref(),
            context: test.context.as_ref(),
            hash_alg: test.hash_alg.as_deref(),
        })?;
        let rnd = match (&test.rnd, self.deterministic) {
            (None, true) => [0; 32],
            (Some(rnd), false) => {
                rnd.0.as_slice().try_into().map_err(|_| format!("rnd of {} bytes", rnd.len()))?
            }
            (None, false) => return Err("hedged case without rnd".to_owned()),
            (Some(_), true) => return Err("deterministic case with rnd".to_owned()),
        };
        Ok((level, input, rnd))
    }

    /// The published signature must neither come out nor verify, and our own for the same input must.
    fn run_wrong(
        &self,
        examiner: &Examiner<'_>,
        test: &SigGenTest,
        report: &mut FileReport,
    ) -> Result<(), String> {
        let (level, input, rnd) = self.question(test)?;
        let name = name(self.tg_id, test.tc_id, level, &self.interface().label());
        match not_reproduced(examiner, level, test, input, &rnd) {
            Ok(()) => report.not_reproduced.push(name),
            Err(why) => {
                report.case(name, Err(why));
            }
        }
        Ok(())
    }
}

fn not_reproduced(
    examiner: &Examiner<'_>,
    level: Level,
    test: &SigGenTest,
    input: Input<'_>,
    rnd: &[u8; 32],
) -> Result<(), String> {
    let public = examiner.public_of(level, &test.sk)?;
    if examiner.sign(level, Secret::Expanded(&test.sk), &public, input, rnd)? == test.signature.0 {
        return Err("reproduced a signature that is known to be wrong".to_owned());
    }
    examiner.verifies(level, &public, input, &test.signature, false)
}

/// One group with published signatures that are known to be wrong.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quarantine {
    #[serde(rename = "why")]
    _why: String,
    group: SigGenGroup,
}

impl Vectors for Quarantine {
    fn name(&self) -> &'static str {
        "ACVP sigGen, quarantined"
    }

    fn run(&self, examiner: &Examiner<'_>, _: Options, report: &mut FileReport) -> Result<(), String> {
        self.group.tests.iter().try_for_each(|test| self.group.run_wrong(examiner, test, report))
    }
}

/// Mode sigVer.
#[derive(Deserialize)]
pub struct SigVer(File<SigVerGroup>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SigVerGroup {
    tg_id: u64,
    test_type: String,
    parameter_set: String,
    pk: Option<Hex>,
    signature_interface: Option<String>,
    pre_hash: Option<String>,
    external_mu: Option<bool>,
    tests: Vec<SigVerTest>,
}

impl SigVerGroup {
    fn interface(&self) -> Interface<'_> {
        Interface::new(&self.signature_interface, &self.pre_hash, self.external_mu)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SigVerTest {
    tc_id: u64,
    #[serde(rename = "deferred", default)]
    _deferred: bool,
    test_passed: bool,
    message: Option<Hex>,
    mu: Option<Hex>,
    context: Option<Hex>,
    hash_alg: Option<String>,
    pk: Option<Hex>,
    sk: Option<Hex>,
    signature: Hex,
    reason: Option<String>,
}

impl Vectors for SigVer {
    fn name(&self) -> &'static str {
        "ACVP sigVer"
    }

    fn run(&self, examiner: &Examiner<'_>, _: Options, report: &mut FileReport) -> Result<(), String> {
        self.0.check()?;
        for group in &self.0.test_groups {
            let level = level_of(&group.test_type, &group.parameter_set)?;
            for test in &group.tests {
                let input = group.interface().input(&Fields {
                    message: test.message.as_ref(),
                    mu: test.mu.as_ref(),
                    context: test.context.as_ref(),
                    hash_alg: test.hash_alg.as_deref(),
                })?;
                let public = match (&group.pk, &test.pk) {
                    (Some(public), None) | (None, Some(public)) => public,
                    _ => {
                        return Err("the public key must stand either in the group or in the case".to_owned());
                    }
                };
                let outcome = test.sk.as_ref().map_or(Ok(()), |secret| {
                    examiner.public_of(level, secret).and_then(|found| same("public key", public, &found))
                });
                let outcome = outcome.and_then(|()| {
                    examiner.verifies(level, public, input, &test.signature, test.test_passed)
                });
                let what = test.reason.as_deref().unwrap_or("verification");
                report.case(
                    name(group.tg_id, test.tc_id, level, &format!("{}, {what}", group.interface().label())),
                    outcome,
                );
            }
        }
        Ok(())
    }
}

/// Which function of the standard a group means. A group that does not say so is of the first release, which
/// knew the internal functions only.
struct Interface<'a> {
    signature_interface: &'a str,
    pre_hash: &'a str,
    external_mu: bool,
}

/// The fields of a case that make the input.
struct Fields<'a> {
    message: Option<&'a Hex>,
    mu: Option<&'a Hex>,
    context: Option<&'a Hex>,
    hash_alg: Option<&'a str>,
}

impl<'a> Interface<'a> {
    fn new(interface: &'a Option<String>, pre_hash: &'a Option<String>, external_mu: Option<bool>) -> Self {
        Self {
            signature_interface: interface.as_deref().unwrap_or("internal"),
            pre_hash: pre_hash.as_deref().unwrap_or("none"),
            external_mu: external_mu.unwrap_or(false),
        }
    }

    fn label(&self) -> String {
        let pre_hash = if self.pre_hash == "none" { String::new() } else { format!(" {}", self.pre_hash) };
        let mu = if self.external_mu { " external mu" } else { "" };
        format!("{}{pre_hash}{mu}", self.signature_interface)
    }

    fn input<'b>(&self, fields: &Fields<'b>) -> Result<Input<'b>, String> {
        let kind = (self.signature_interface, self.pre_hash, self.external_mu);
        let no_hash = fields.hash_alg.is_none_or(|hash| hash == "none");
        match (kind, fields) {
            (("internal", "none", false), Fields { message: Some(message), mu: None, context: None, .. })
                if no_hash =>
            {
                Ok(Input::Internal { formatted: message })
            }
            (("internal", "none", true), Fields { message: None, mu: Some(mu), context: None, .. })
                if no_hash =>
            {
                Ok(Input::Mu { mu })
            }
            (
                ("external", "pure", false),
                Fields { message: Some(message), mu: None, context: Some(context), .. },
            ) if no_hash => Ok(Input::Pure { context, message }),
            (
                ("external", "preHash", false),
                Fields { message: Some(message), mu: None, context: Some(context), hash_alg: Some(hash) },
            ) => Ok(Input::PreHash { context, hash: pre_hash(hash)?, message }),
            (("internal", "none", _) | ("external", "pure" | "preHash", false), _) => {
                Err(format!("the fields of a case do not fit its group ({})", self.label()))
            }
            _ => Err(format!("unknown group type {kind:?}")),
        }
    }
}

/// The names that ACVP gives to the twelve pre-hash functions.
fn pre_hash(name: &str) -> Result<PreHash, String> {
    Ok(match name {
        "SHA2-224" => PreHash::Sha2_224,
        "SHA2-256" => PreHash::Sha2_256,
        "SHA2-384" => PreHash::Sha2_384,
        "SHA2-512" => PreHash::Sha2_512,
        "SHA2-512/224" => PreHash::Sha2_512_224,
        "SHA2-512/256" => PreHash::Sha2_512_256,
        "SHA3-224" => PreHash::Sha3_224,
        "SHA3-256" => PreHash::Sha3_256,
        "SHA3-384" => PreHash::Sha3_384,
        "SHA3-512" => PreHash::Sha3_512,
        "SHAKE-128" => PreHash::Shake128,
        "SHAKE-256" => PreHash::Shake256,
        _ => return Err(format!("unknown pre-hash function {name:?}")),
    })
}

fn level_of(test_type: &str, parameter_set: &str) -> Result<Level, String> {
    if test_type != "AFT" {
        return Err(format!("unknown group type {test_type:?}"));
    }
    level_named(parameter_set)
}

fn name(group: u64, case: u64, level: Level, what: &str) -> String {
    format!("tgId {group} tcId {case} ({}, {what})", shape(level).name)
}
