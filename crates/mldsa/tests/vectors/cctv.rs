//! C2SP CCTV: digests accumulated over many keys and signatures, the exhaustive digest of the field
//! functions, and messages that need a representative number of attempts.

use std::collections::BTreeMap;

use sealstone_mldsa::Level;
use serde::Deserialize;

use super::bytes::{self, Hex};
use super::examiner::{Examiner, same};
use super::format::Vectors;
use super::report::FileReport;
use super::shape::{LEVELS, Q, shape};
use super::subject::{Input, Secret, Subject};
use super::{Options, oracle};

/// More keys than this only with `--long`.
const ORDINARY: u64 = 10_000;

/// The digests.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accumulated {
    #[serde(rename = "origin")]
    _origin: String,
    #[serde(rename = "commit")]
    _commit: String,
    #[serde(rename = "procedure")]
    _procedure: String,
    #[serde(rename = "ML-DSA-44")]
    ml_dsa_44: BTreeMap<String, Hex>,
    #[serde(rename = "ML-DSA-65")]
    ml_dsa_65: BTreeMap<String, Hex>,
    #[serde(rename = "ML-DSA-87")]
    ml_dsa_87: BTreeMap<String, Hex>,
    field: Field,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Field {
    #[serde(rename = "procedure")]
    _procedure: String,
    example_r: u32,
    example_lines: Vec<i32>,
    result: Hex,
}

impl Vectors for Accumulated {
    fn name(&self) -> &'static str {
        "CCTV digests"
    }

    fn run(&self, examiner: &Examiner<'_>, options: Options, report: &mut FileReport) -> Result<(), String> {
        for (level, digests) in LEVELS.into_iter().zip([&self.ml_dsa_44, &self.ml_dsa_65, &self.ml_dsa_87]) {
            for (count, expected) in digests {
                let name = format!("{} accumulated over {count} keys", shape(level).name);
                let count = count.parse().map_err(|_| format!("not a number of keys: {count:?}"))?;
                if count > ORDINARY && !options.long {
                    report.not_run.push(format!("{name} (hours; --long runs it)"));
                    continue;
                }
                let outcome = accumulated(examiner.subject, level, count);
                report.case(name, outcome.and_then(|found| same("digest", expected, &found)));
            }
        }
        let name = format!("field functions at r = {}", self.field.example_r);
        let lines = examiner.subject.field_lines(self.field.example_r).map_err(|why| why.to_string());
        report.case(name, lines.and_then(|lines| example(&self.field.example_lines, &lines[0])));
        let outcome = field(examiner.subject).and_then(|found| same("digest", &self.field.result, &found));
        report.case("field functions at every r", outcome);
        Ok(())
    }
}

fn example(expected: &[i32], found: &[i32]) -> Result<(), String> {
    if expected == found { Ok(()) } else { Err(format!("{expected:?} expected, {found:?} found")) }
}

/// Keys, and deterministic signatures of the empty message, of `count` seeds out of SHAKE128.
pub fn accumulated(subject: &dyn Subject, level: Level, count: u64) -> Result<[u8; 32], String> {
    let mut seed = oracle::seeds();
    let mut all = oracle::Accumulator::default();
    for index in 0..count {
        let (public, signature) =
            subject.round(level, &seed()).map_err(|why| format!("key {index}: {why}"))?;
        all.write(&public);
        all.write(&signature);
    }
    Ok(all.finish())
}

/// Twelve decimal lines for every r in [0, q).
pub fn field(subject: &dyn Subject) -> Result<[u8; 32], String> {
    let mut all = oracle::Accumulator::default();
    let mut text = Vec::new();
    for first in (0..Q.unsigned_abs()).step_by(256) {
        let lines = subject.field_lines(first).map_err(|why| why.to_string())?;
        text.clear();
        let left = (Q.unsigned_abs() - first) as usize;
        lines.iter().take(left).flatten().for_each(|&number| write_line(&mut text, number));
        all.write(&text);
    }
    Ok(all.finish())
}

/// The number in decimal, and a newline: a hundred million of them are too many for `writeln!`.
fn write_line(text: &mut Vec<u8>, number: i32) {
    if number < 0 {
        text.push(b'-');
    }
    let mut rest = number.unsigned_abs();
    let begin = text.len();
    loop {
        text.push(b'0' + (rest % 10) as u8);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    text[begin..].reverse();
    text.push(b'\n');
}

/// Messages for the all-zero seed. The file does not say for which level their number of attempts is
/// representative, so each is signed and verified at all three.
#[derive(Deserialize)]
pub struct Messages(Vec<String>);

impl Vectors for Messages {
    fn name(&self) -> &'static str {
        "CCTV benchmark messages"
    }

    fn run(&self, examiner: &Examiner<'_>, _: Options, report: &mut FileReport) -> Result<(), String> {
        let seed = [0; 32];
        let keys = LEVELS.map(|level| examiner.keygen(level, &seed));
        for message in &self.0 {
            let input = Input::Pure { context: &[], message: message.as_bytes() };
            let outcome = LEVELS.into_iter().zip(&keys).try_for_each(|(level, keys)| {
                let (public, expanded) = keys.as_ref().map_err(Clone::clone)?;
                let signature = examiner.sign(level, Secret::Expanded(expanded), public, input, &[0; 32])?;
                let mut other = message.clone().into_bytes();
                other.push(b'.');
                let other = Input::Pure { context: &[], message: &other };
                examiner.verifies(level, public, other, &signature, false)
            });
            report.case(format!("message {:?}", bytes::encode(message.as_bytes())), outcome);
        }
        Ok(())
    }
}
