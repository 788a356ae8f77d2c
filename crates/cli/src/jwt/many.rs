//! Several tokens at once: a line for each, and a sum.

use std::time::Instant;

use serde_json::json;

use super::keys::Checked;
use crate::clock::measured;
use crate::error::Error;
use crate::terminal::{BAD, DIM, GOOD, Safe, Terminal};

/// Checks each, says each, and fails if one is not valid.
pub(super) fn run(
    as_json: bool,
    tokens: &[&str],
    check: impl Fn(&str) -> Result<Checked, Error>,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let began = Instant::now();
    let verdicts: Vec<Result<Checked, Error>> = tokens.iter().map(|token| check(token)).collect();
    let took = began.elapsed();
    // What is no verdict on a token, such as no randomness, ends all.
    let mut sorted = Vec::with_capacity(verdicts.len());
    for verdict in verdicts {
        match verdict {
            Err(cause) if cause.exit_code() != 1 => return Err(cause),
            verdict => sorted.push(verdict),
        }
    }
    let bad = sorted.iter().filter(|verdict| verdict.is_err()).count();
    if as_json {
        let rows = sorted.iter().enumerate().map(|(index, verdict)| match verdict {
            Ok(token) => json!({
                "algorithm": token.algorithm,
                "claims": token.claims,
                "header": token.header,
                "number": index + 1,
                "valid": true,
            }),
            Err(cause) => json!({"error": cause.to_string(), "number": index + 1, "valid": false}),
        });
        terminal.json(&rows.collect())?;
    } else {
        let width = sorted.len().to_string().len();
        for (index, verdict) in sorted.iter().enumerate() {
            let number = index + 1;
            match verdict {
                Ok(token) => {
                    let about = ["sub", "jti"].iter().find_map(|name| token.claims.get(*name)?.as_str());
                    let about =
                        about.map_or_else(String::new, |text| format!("  {DIM}{}{DIM:#}", Safe(text)));
                    terminal.line(format_args!(
                        "{number:>width$}  {GOOD}valid{GOOD:#}      {}{about}",
                        token.algorithm
                    ))?;
                }
                Err(cause) => {
                    let why = cause.to_string();
                    let why = why.strip_prefix("the token is not valid: ").unwrap_or(&why);
                    terminal.line(format_args!("{number:>width$}  {BAD}not valid{BAD:#}  {}", Safe(why)))?;
                }
            }
        }
        terminal.line(format_args!(
            "{DIM}{} valid, {bad} not, of {} in {}{DIM:#}",
            sorted.len() - bad,
            sorted.len(),
            measured(took)
        ))?;
    }
    if bad == 0 { Ok(()) } else { Err(Error::Tokens { bad, all: sorted.len() }) }
}
