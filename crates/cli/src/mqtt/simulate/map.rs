//! `--show map`: the level for each class, over energy and free memory.

use sealstone_mldsa::Level;
use sealstone_mqtt::level::{Class, Need, Policy};
use sealstone_mqtt::simulate::level_at;
use serde_json::{Value, json};

use crate::error::Error;
use crate::terminal::{BOLD, DIM, Terminal};

/// Steps of energy, in thousandths.
const STEP: u16 = 50;
/// Bytes that are free, from nothing to more than the highest level takes.
const STEPS_OF_MEMORY: u32 = 24;

pub(super) fn show(policy: &Policy, need: &Need, json: bool, terminal: &mut Terminal) -> Result<(), Error> {
    let most = need.of(Level::MlDsa87) + need.of(Level::MlDsa87) / 5;
    let energies: Vec<u16> = (0..=1000 / STEP).map(|step| step * STEP).collect();
    let free: Vec<u32> = (0..=STEPS_OF_MEMORY).map(|step| most / STEPS_OF_MEMORY * step).collect();
    let number = |class, energy, free| {
        level_at(policy, need, class, energy, free).map(|level| match level {
            Level::MlDsa44 => 44,
            Level::MlDsa65 => 65,
            Level::MlDsa87 => 87,
        })
    };
    if json {
        let classes = Class::ALL.map(|class| {
            let rows: Vec<Vec<Option<u8>>> = free
                .iter()
                .map(|free| energies.iter().map(|energy| number(class, *energy, *free)).collect())
                .collect();
            (class.name().to_owned(), json!(rows))
        });
        return terminal.json(&json!({
            "energy_thousandths": energies,
            "free_bytes": free,
            "levels": Value::Object(classes.into_iter().collect()),
            "need_bytes": need.0,
        }));
    }
    for class in Class::ALL {
        terminal.line(format_args!(
            "{BOLD}{}{BOLD:#}: level by energy, left to right from 0 to 100 %",
            class.name()
        ))?;
        for free in free.iter().rev() {
            let row: Vec<&str> = energies
                .iter()
                .map(|energy| match number(class, *energy, *free) {
                    None => " .",
                    Some(44) => "44",
                    Some(65) => "65",
                    Some(_) => "87",
                })
                .collect();
            terminal.line(format_args!("  {DIM}{free:>7} bytes free{DIM:#}  {}", row.join(" ")))?;
        }
    }
    terminal.line(". nothing may be signed: not even the floor of the class fits")
}
