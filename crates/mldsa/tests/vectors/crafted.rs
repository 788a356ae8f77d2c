//! Crafted verification edge cases: with t1 = 0 the commitment hash can be right for a verifier that forgot
//! one check, so that exactly this verifier accepts.

use serde::Deserialize;

use super::Options;
use super::bytes::Hex;
use super::examiner::Examiner;
use super::format::Vectors;
use super::report::FileReport;
use super::shape::level_named;
use super::subject::Input;

/// All cases of the file.
#[derive(Deserialize)]
pub struct Crafted(Vec<Case>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    set: String,
    comment: String,
    pk: Hex,
    msg: Hex,
    ctx: Hex,
    sig: Hex,
    valid: bool,
}

impl Vectors for Crafted {
    fn name(&self) -> &'static str {
        "crafted verification cases"
    }

    fn run(&self, examiner: &Examiner<'_>, _: Options, report: &mut FileReport) -> Result<(), String> {
        for case in &self.0 {
            let input = Input::Pure { context: &case.ctx, message: &case.msg };
            let outcome = examiner.verifies(level_named(&case.set)?, &case.pk, input, &case.sig, case.valid);
            report.case(format!("{}, {}", case.set, case.comment), outcome);
        }
        Ok(())
    }
}
