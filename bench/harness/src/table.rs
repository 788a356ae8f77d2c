//! Rows, goals, and how both are printed.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

/// One measurement beside a rival's.
pub(crate) struct Row {
    /// `engine/keygen/44`.
    pub(crate) name: String,
    /// Ours, in `unit`.
    pub(crate) ours: f64,
    /// `us`.
    pub(crate) unit: &'static str,
    /// The rival's name.
    pub(crate) peer: String,
    /// The rival's, in `unit`.
    pub(crate) peer_value: f64,
    /// Ours by the rival's: below 1 is faster.
    pub(crate) ratio: f64,
    /// The ratio to stay below, if `bench/goals.toml` has one.
    pub(crate) goal: Option<f64>,
    /// Distance of the quartiles of our rounds, as a part of their median.
    pub(crate) spread: f64,
}

impl Row {
    /// For a machine; the names of the members are a promise.
    pub(crate) fn json(&self) -> Value {
        let rounded = |x: f64| (x * 1000.0).round() / 1000.0;
        json!({
            "name": self.name,
            "ours": rounded(self.ours),
            "unit": self.unit,
            "peer": self.peer,
            "peer_value": rounded(self.peer_value),
            "ratio": rounded(self.ratio),
            "goal": self.goal,
            "spread": rounded(self.spread),
        })
    }
}

/// The table for a reader.
pub(crate) fn text(rows: &[Row]) -> String {
    let mut text = format!(
        "{:36} {:>10} {:>7}  {:14} {:>10} {:>6} {:>6}\n",
        "name", "ours", "spread", "peer", "its", "ratio", "goal"
    );
    for row in rows {
        let goal = match row.goal {
            None => String::from("     -"),
            Some(goal) if row.ratio <= goal => format!("{goal:6.2}  met"),
            Some(goal) => format!("{goal:6.2}  missed"),
        };
        text += &format!(
            "{:36} {:7.1} {} {:6.1}%  {:14} {:7.1} {} {:6.2} {goal}\n",
            row.name,
            row.ours,
            row.unit,
            row.spread * 100.0,
            row.peer,
            row.peer_value,
            row.unit,
            row.ratio,
        );
    }
    text
}

/// Median, and the distance of the quartiles as a part of it.
pub(crate) fn median_and_spread(rounds: &[f64]) -> (f64, f64) {
    let mut rounds = rounds.to_vec();
    rounds.sort_by(f64::total_cmp);
    let at = |part: f64| {
        let place = part * (rounds.len() - 1) as f64;
        let (low, high) = (rounds[place.floor() as usize], rounds[place.ceil() as usize]);
        low + (high - low) * place.fract()
    };
    (at(0.5), (at(0.75) - at(0.25)) / at(0.5))
}

/// `bench/goals.toml`: for each rival, the greatest ratio a row may have.
pub(crate) struct Goals(BTreeMap<String, BTreeMap<String, f64>>);

impl Goals {
    /// Reads the file.
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        let path = root.join("bench/goals.toml");
        let text = std::fs::read_to_string(&path).map_err(|why| format!("{}: {why}", path.display()))?;
        toml::from_str(&text).map(Self).map_err(|why| format!("{}: {why}", path.display()))
    }

    /// The goal of a row against a rival.
    pub(crate) fn of(&self, name: &str, peer: &str) -> Option<f64> {
        self.0.get(peer)?.get(name).copied()
    }
}
