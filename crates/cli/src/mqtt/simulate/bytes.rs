//! `--show bytes`: bytes a reading, alone and in batches.

use sealstone_mldsa::Level;
use sealstone_mqtt::Form;
use sealstone_mqtt::simulate::bytes_per_reading;
use serde_json::{Value, json};

use crate::error::Error;
use crate::terminal::{BOLD, DIM, Terminal};

/// Bytes of a reading.
const PAYLOAD: usize = 10;
/// Readings in one envelope.
const READINGS: [usize; 7] = [1, 2, 5, 10, 20, 30, 50];

pub(super) fn show(json: bool, terminal: &mut Terminal) -> Result<(), Error> {
    // The paper's layout has no place for batches: alone it stands for what is not aggregated.
    let forms = [Form::Paper, Form::V1, Form::Cose];
    let of = |form: Form, level: Level| -> Vec<f64> {
        let counts = READINGS.into_iter().take(if form == Form::Paper { 1 } else { READINGS.len() });
        counts.map(|readings| bytes_per_reading(form, level, PAYLOAD, readings)).collect()
    };
    if json {
        let forms = forms.map(|form| {
            let levels = Level::ALL.map(|level| (level.name().to_owned(), json!(of(form, level))));
            (form.name().to_owned(), Value::Object(levels.into_iter().collect()))
        });
        return terminal.json(&json!({
            "bytes_per_reading": Value::Object(forms.into_iter().collect()),
            "payload_bytes": PAYLOAD,
            "readings": READINGS,
        }));
    }
    terminal.line(format_args!(
        "{BOLD}Bytes a reading of {PAYLOAD} bytes, by readings in one envelope{BOLD:#}"
    ))?;
    let heads: Vec<String> = READINGS.iter().map(|readings| format!("{readings:>8}")).collect();
    terminal.line(format_args!("{DIM}{:<18}{}{DIM:#}", "", heads.join("")))?;
    for form in forms {
        for level in Level::ALL {
            let row: Vec<String> = of(form, level).iter().map(|bytes| format!("{bytes:>8.1}")).collect();
            terminal.line(format_args!(
                "{:<18}{}",
                format!("{} {}", form.name(), level.name()),
                row.join("")
            ))?;
        }
    }
    Ok(())
}
