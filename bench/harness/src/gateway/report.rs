//! What a run of the gateway's measurement says: for people, for machines, and for the record.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Choice;
use super::servers::Layout;
use crate::auth::server::Cores;
use crate::record;
use crate::table::Stats;

/// Everything that was measured.
pub(crate) struct Outcome {
    pub(crate) rows: Vec<Row>,
    layouts: [Layout; 2],
    seconds: f64,
    devices: usize,
}

/// One figure, with a value of each round.
pub(crate) struct Row {
    name: String,
    unit: &'static str,
    rounds: Vec<f64>,
}

impl Outcome {
    pub(super) fn new(cores: Cores, choice: &Choice<'_>) -> Self {
        let layouts = [1, 2].map(|threads| Layout::of(cores, threads));
        Outcome { rows: Vec::new(), layouts, seconds: choice.seconds, devices: choice.devices }
    }

    /// Adds a round's value to its row.
    pub(super) fn add(&mut self, name: String, unit: &'static str, value: f64) {
        match self.rows.iter_mut().find(|row| row.name == name) {
            Some(row) => row.rounds.push(value),
            None => self.rows.push(Row { name, unit, rounds: vec![value] }),
        }
    }
}

impl Row {
    fn stats(&self) -> Stats {
        Stats::of(&self.rounds)
    }

    /// For a machine; the names of the members are a promise.
    pub(crate) fn json(&self) -> Value {
        let rounded = |x: f64| (x * 1000.0).round() / 1000.0;
        let stats = self.stats();
        json!({
            "name": self.name,
            "ours": rounded(stats.median),
            "unit": self.unit,
            "better": if self.unit == "1/s" { "higher" } else { "lower" },
            "spread": rounded(stats.spread()),
            "quartiles": [rounded(stats.lower), rounded(stats.upper)],
            "rounds": self.rounds.len(),
        })
    }
}

/// The table, sorted by what is measured.
pub(crate) fn text(outcome: &Outcome) -> String {
    let mut text = String::new();
    for layout in &outcome.layouts {
        text += &format!("{layout}\n");
    }
    text += &format!("\n{:42} {:>10} {:4} {:>10} {:>10}\n", "row", "median", "", "lower", "upper");
    for row in sorted(outcome) {
        let Stats { median, lower, upper } = row.stats();
        text += &format!("{:42} {median:10.2} {:4} {lower:10.2} {upper:10.2}\n", row.name, row.unit);
    }
    text
}

/// Leaves the record of a run below `bench/record/gateway`, and returns its path.
pub(crate) fn record(root: &Path, outcome: &Outcome) -> Result<PathBuf, String> {
    record::keep(&root.join("bench/record/gateway"), |date| {
        let mut text = record::machine(root, date);
        for layout in &outcome.layouts {
            text += &format!("# {layout}\n");
        }
        text += &format!("# seconds of a batch: {}\n# devices: {}\n", outcome.seconds, outcome.devices);
        text += &format!("# broker: {}\n", record::said("/usr/sbin/mosquitto", &["-h"]));
        text += "row,unit,median,lower,upper,rounds\n";
        for row in sorted(outcome) {
            let Stats { median, lower, upper } = row.stats();
            let (name, unit, rounds) = (&row.name, row.unit, row.rounds.len());
            text += &format!("{name},{unit},{median:.3},{lower:.3},{upper:.3},{rounds}\n");
        }
        text
    })
}

fn sorted(outcome: &Outcome) -> Vec<&Row> {
    let mut rows: Vec<_> = outcome.rows.iter().collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    rows
}
