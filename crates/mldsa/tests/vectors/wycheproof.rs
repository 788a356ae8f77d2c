//! C2SP Wycheproof: signing with a seed, signing with an expanded key, verification. Each flag names the
//! fault that a case looks for; failures are counted by flag.

use std::collections::BTreeMap;

use sealstone_mldsa::Level;
use serde::Deserialize;
use serde_json::Value;

use super::Options;
use super::bytes::Hex;
use super::examiner::{Examiner, same};
use super::format::Vectors;
use super::report::FileReport;
use super::shape::{level_named, shape};
use super::subject::{Input, Secret};

/// A whole file with groups `G`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct File<G> {
    algorithm: String,
    #[serde(rename = "header")]
    _header: Vec<String>,
    #[serde(rename = "notes")]
    _notes: BTreeMap<String, Value>,
    number_of_tests: usize,
    #[serde(rename = "schema")]
    _schema: String,
    #[serde(rename = "generatorVersion")]
    _generator_version: Option<String>,
    #[serde(rename = "x-heldBack", default)]
    _held_back: u64,
    test_groups: Vec<G>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "version")]
    _version: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Test {
    tc_id: u64,
    comment: String,
    flags: Vec<String>,
    msg: Option<Hex>,
    mu: Option<Hex>,
    ctx: Option<Hex>,
    rnd: Option<Hex>,
    sig: Hex,
    result: Verdict,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Valid,
    Invalid,
}

/// Signing with an expanded private key.
#[derive(Deserialize)]
pub struct SignNoSeed(File<NoSeedGroup>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct NoSeedGroup {
    r#type: String,
    #[serde(rename = "source")]
    _source: Source,
    private_key: Hex,
    public_key: Option<Hex>,
    tests: Vec<Test>,
}

impl Vectors for SignNoSeed {
    fn name(&self) -> &'static str {
        "Wycheproof sign, expanded key"
    }

    fn run(&self, examiner: &Examiner<'_>, _: Options, report: &mut FileReport) -> Result<(), String> {
        let level = self.0.level(|group| (&group.r#type, group.tests.len()), "MlDsaSign")?;
        for group in &self.0.test_groups {
            let key =
                Key { secret: Secret::Expanded(&group.private_key), public: group.public_key.as_deref() };
            group.tests.iter().try_for_each(|test| test.sign(examiner, level, key, report))?;
        }
        Ok(())
    }
}

/// Signing with a seed.
#[derive(Deserialize)]
pub struct SignSeed(File<SeedGroup>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SeedGroup {
    r#type: String,
    #[serde(rename = "source")]
    _source: Source,
    private_seed: Hex,
    private_key_pkcs8: Option<Hex>,
    public_key: Option<Hex>,
    tests: Vec<Test>,
}

impl Vectors for SignSeed {
    fn name(&self) -> &'static str {
        "Wycheproof sign, seed"
    }

    fn run(&self, examiner: &Examiner<'_>, _: Options, report: &mut FileReport) -> Result<(), String> {
        let level = self.0.level(|group| (&group.r#type, group.tests.len()), "MlDsaSign")?;
        for group in &self.0.test_groups {
            // It is empty where the seed is none.
            let der = group.private_key_pkcs8.as_deref().filter(|der| !der.is_empty());
            if der.is_some_and(|der| !der.ends_with(&group.private_seed)) {
                return Err("privateKeyPkcs8 does not hold privateSeed".to_owned());
            }
            let key = Key { secret: Secret::Seed(&group.private_seed), public: group.public_key.as_deref() };
            group.tests.iter().try_for_each(|test| test.sign(examiner, level, key, report))?;
        }
        Ok(())
    }
}

/// A private key, and its public key if it is a private key.
#[derive(Clone, Copy)]
struct Key<'a> {
    secret: Secret<'a>,
    public: Option<&'a [u8]>,
}

impl Test {
    fn sign(
        &self,
        examiner: &Examiner<'_>,
        level: Level,
        key: Key<'_>,
        report: &mut FileReport,
    ) -> Result<(), String> {
        let context = self.ctx.as_deref().unwrap_or_default();
        let input = match (&self.msg, &self.mu) {
            (Some(message), _) => Input::Pure { context, message },
            (None, Some(mu)) if self.ctx.is_none() => Input::Mu { mu },
            _ => return Err(format!("tcId {}: neither a message nor μ alone", self.tc_id)),
        };
        let rnd = match &self.rnd {
            None => [0; 32],
            Some(rnd) => rnd.0.as_slice().try_into().map_err(|_| format!("rnd of {} bytes", rnd.len()))?,
        };
        let outcome = match self.result {
            Verdict::Invalid => examiner.refuses_to_sign(level, key.secret, input),
            Verdict::Valid => self.signs(examiner, level, key, input, &rnd),
        };
        self.count(outcome, report);
        Ok(())
    }

    fn signs(
        &self,
        examiner: &Examiner<'_>,
        level: Level,
        key: Key<'_>,
        input: Input<'_>,
        rnd: &[u8; 32],
    ) -> Result<(), String> {
        let Some(public) = key.public else { return Err("valid case without a public key".to_owned()) };
        let found = match key.secret {
            Secret::Seed(seed) => examiner.keygen(level, seed)?.0,
            Secret::Expanded(bytes) => examiner.public_of(level, bytes)?,
        };
        same("public key", public, &found)?;
        if let Some(mu) = &self.mu {
            examiner.mu(level, public, input, mu)?;
        }
        examiner.signs(level, key.secret, public, input, rnd, &self.sig)
    }

    fn count(&self, outcome: Result<(), String>, report: &mut FileReport) {
        let name = format!("tcId {} ({}) {}", self.tc_id, self.flags.join(", "), self.comment);
        if !report.case(name, outcome) {
            let unflagged = ["none".to_owned()];
            let flags = if self.flags.is_empty() { &unflagged[..] } else { &self.flags[..] };
            flags.iter().for_each(|flag| *report.flags.entry(flag.clone()).or_default() += 1);
        }
    }
}

/// Verification.
#[derive(Deserialize)]
pub struct Verify(File<VerifyGroup>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct VerifyGroup {
    r#type: String,
    #[serde(rename = "source")]
    _source: Source,
    public_key: Hex,
    public_key_der: Hex,
    tests: Vec<Test>,
}

impl Vectors for Verify {
    fn name(&self) -> &'static str {
        "Wycheproof verify"
    }

    fn run(&self, examiner: &Examiner<'_>, _: Options, report: &mut FileReport) -> Result<(), String> {
        let level = self.0.level(|group| (&group.r#type, group.tests.len()), "MlDsaVerify")?;
        for group in &self.0.test_groups {
            if !group.public_key_der.ends_with(&group.public_key) {
                return Err("publicKeyDer does not hold publicKey".to_owned());
            }
            for test in &group.tests {
                let (Some(message), None, None) = (&test.msg, &test.mu, &test.rnd) else {
                    return Err(format!("tcId {}: not the fields of a verification", test.tc_id));
                };
                let input = Input::Pure { context: test.ctx.as_deref().unwrap_or_default(), message };
                let valid = test.result == Verdict::Valid;
                test.count(examiner.verifies(level, &group.public_key, input, &test.sig, valid), report);
            }
        }
        Ok(())
    }
}

impl<G> File<G> {
    /// The level, once the groups are of the expected type and as many cases are here as the file says.
    fn level(&self, of: impl Fn(&G) -> (&String, usize), expected: &str) -> Result<Level, String> {
        let level = level_named(&self.algorithm)?;
        let mut cases = 0;
        for (found, tests) in self.test_groups.iter().map(of) {
            if found != expected {
                return Err(format!("unknown group type {found:?} in a file for {}", shape(level).name));
            }
            cases += tests;
        }
        if cases != self.number_of_tests {
            return Err(format!("numberOfTests says {}, found {cases}", self.number_of_tests));
        }
        Ok(level)
    }
}
