//! Rows, and how they are printed.

use serde_json::{Map, Value, json};

use super::Outcome;
use super::published::Published;

/// One row of ours.
pub(crate) struct Row {
    /// `m4/sign-fast/44`.
    pub(crate) name: String,
    /// Instructions in the groups `m4` and `m4-s`, bytes in all others.
    pub(crate) ours: f64,
    /// Rivals of the same run.
    pub(crate) theirs: Vec<(String, f64)>,
    pub(crate) published: Vec<Published>,
    pub(crate) most: Option<f64>,
    pub(crate) goal: Option<f64>,
}

impl Row {
    /// The best rival of the same run.
    fn best(&self) -> Option<&(String, f64)> {
        self.theirs.iter().min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Whether it is instructions, and not bytes.
    pub(crate) fn is_counted(&self) -> bool {
        self.name.starts_with("m4/") || self.name.starts_with("m4-s/")
    }

    fn unit(&self) -> &'static str {
        if self.is_counted() { "instructions" } else { "bytes" }
    }

    /// For a machine; the names of the members are those of `./dev bench engine`.
    pub(crate) fn json(&self) -> Value {
        let rounded = |x: f64| (x * 1000.0).round() / 1000.0;
        let against = |value: f64| json!({ "value": rounded(value), "ratio": rounded(self.ours / value) });
        let peers: Map<_, _> =
            self.theirs.iter().map(|(name, value)| (name.clone(), against(*value))).collect();
        let published: Map<_, _> =
            self.published.iter().map(|(name, value)| ((*name).to_owned(), against(*value))).collect();
        let best = self.best();
        json!({
            "name": self.name,
            "ours": rounded(self.ours),
            "unit": self.unit(),
            "peer": best.map(|(name, _)| name),
            "peer_value": best.map(|(_, value)| rounded(*value)),
            "ratio": best.map(|(_, value)| rounded(self.ours / value)),
            "goal": self.goal,
            "budget": self.most,
            "peers": peers,
            "published": published,
        })
    }
}

/// The tables for a reader.
pub(crate) fn text(outcome: &Outcome) -> String {
    let mut text = format!(
        "{:26} {:>10} {:>10} {:>6}  {:8} {:>5}  published by others, and ours by theirs\n",
        "instructions, or bytes", "ours", "goal", "", "rival", "ratio"
    );
    for row in &outcome.rows {
        let goal = row.goal.map_or("-".to_owned(), |goal| format!("{goal:.0}"));
        let met = row.goal.map_or("", |goal| if row.ours <= goal { "met" } else { "missed" });
        let best = row.best().map_or(format!("{:8} {:>5}", "-", "-"), |(name, value)| {
            format!("{name:8} {:5.2}", row.ours / value)
        });
        let published: Vec<_> = row
            .published
            .iter()
            .map(|(name, value)| format!("{name} {value:.0} ({:.2})", row.ours / value))
            .collect();
        let line = format!(
            "{:26} {:>10.0} {goal:>10} {met:>6}  {best}  {}",
            row.name,
            row.ours,
            published.join(", ")
        );
        text += line.trim_end();
        text.push('\n');
    }
    text += &format!(
        "\n{} comparisons of the door's methods with the portable room: all equal\n\n{:28} {:>10} {:>10}\n",
        outcome.compared, "instructions of a method", "armv7em", "portable"
    );
    for (name, ours, plain) in &outcome.methods {
        text += &format!("{name:28} {ours:>10} {plain:>10}\n");
    }
    text
}
