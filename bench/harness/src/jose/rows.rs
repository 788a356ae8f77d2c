//! The rows of tokens, their goals, and how both are printed.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::{Cell, OURS};
use crate::engine::LEVELS;
use crate::table::{Stats, micro};

/// What the rows are called, before the level.
pub(crate) const KINDS: [&str; 5] =
    ["jose/sign", "jose/verify", "jose/sign-overhead", "jose/verify-overhead", "jose/verify-batch"];

/// Whether an operation is needed for a row with this in its name.
pub(crate) fn feeds(operation: &str, level: &str, part: &str) -> bool {
    let kinds = KINDS.iter().filter(|kind| needs(kind).contains(&operation));
    kinds
        .into_iter()
        .any(|kind| format!("{kind}/{level}/").contains(part) || part.starts_with(&format!("{kind}/{level}")))
}

/// What is measured for a row, ours first, then what it is held against.
fn needs(kind: &str) -> &'static [&'static str] {
    match kind {
        "jose/sign" => &["sign-token"],
        "jose/verify" => &["verify-token"],
        "jose/sign-overhead" => &["sign-token", "engine-sign"],
        "jose/verify-overhead" => &["verify-token", "engine-verify", "parse-token"],
        _ => &["verify-batch", "verify-token"],
    }
}

/// One row.
pub(crate) struct Row {
    /// `jose/sign/65/go-jose`, `jose/sign-overhead/65`.
    pub(crate) name: String,
    pub(crate) level: &'static str,
    /// Nanoseconds; of an overhead, those beyond the engine's.
    pub(crate) ours: Stats,
    /// The rival, `engine`, or `single`, and its nanoseconds.
    pub(crate) against: (&'static str, Stats),
    /// The greatest ratio, or the most nanoseconds of an overhead.
    pub(crate) goal: Option<f64>,
}

impl Row {
    pub(crate) fn is_overhead(&self) -> bool {
        self.name.contains("-overhead/")
    }

    pub(crate) fn ratio(&self) -> f64 {
        self.ours.median / self.against.1.median
    }

    pub(crate) fn is_met(&self) -> Option<bool> {
        self.goal.map(|goal| if self.is_overhead() { self.ours.median <= goal } else { self.ratio() <= goal })
    }

    /// For a machine; the names of the members are a promise, as those of the engine's rows. The goal of an overhead is in
    /// microseconds, every other is a ratio.
    pub(crate) fn json(&self) -> Value {
        let rounded = |x: f64| (x * 1000.0).round() / 1000.0;
        let (name, theirs) = self.against;
        let goal = self.goal.map(|goal| if self.is_overhead() { rounded(goal / 1000.0) } else { goal });
        json!({
            "name": self.name,
            "ours": rounded(self.ours.median / 1000.0),
            "unit": "us",
            "peer": name,
            "peer_value": rounded(theirs.median / 1000.0),
            "ratio": rounded(self.ratio()),
            "goal": goal,
            "met": self.is_met(),
            "spread": rounded(self.ours.spread()),
            "quartiles": [rounded(self.ours.lower / 1000.0), rounded(self.ours.upper / 1000.0)],
        })
    }
}

/// Every row for which there are cells.
pub(crate) fn of(cells: &[Cell], peers: &[&'static str], goals: &Goals) -> Vec<Row> {
    let find = |who: &str, operation: &str, level: &str| {
        let mut cells = cells.iter();
        cells
            .find(|cell| (cell.who, cell.operation, cell.level) == (who, operation, level))
            .map(|cell| &cell.rounds)
    };
    let mut rows = Vec::new();
    for kind in KINDS {
        let operation = needs(kind)[0];
        for level in LEVELS {
            let Some(ours) = find(OURS, operation, level) else { continue };
            let name = format!("{kind}/{level}");
            let goal = goals.of(&name);
            let mut add = |name, ours, against| rows.push(Row { name, level, ours, against, goal });
            match (kind, needs(kind).get(1).and_then(|other| find(OURS, other, level))) {
                ("jose/sign" | "jose/verify", _) => {
                    for peer in peers {
                        let Some(theirs) = find(peer, operation, level) else { continue };
                        add(format!("{name}/{peer}"), Stats::of(ours), (*peer, Stats::of(theirs)));
                    }
                }
                ("jose/verify-batch", Some(single)) => {
                    add(name, Stats::of(ours), ("single", Stats::of(single)))
                }
                (_, Some(engine)) => {
                    let beyond: Vec<_> =
                        ours.iter().zip(engine).map(|(token, engine)| token - engine).collect();
                    add(name, Stats::of(&beyond), ("engine", Stats::of(engine)));
                }
                (_, None) => {}
            }
        }
    }
    rows
}

/// The table for a reader.
pub(crate) fn text(rows: &[Row]) -> String {
    let mut text = format!(
        "{:28} {:>8} {:>17}  {:>8} {:>6} {:>6}\n",
        "row, µs", "ours", "quartiles", "theirs", "ratio", "goal"
    );
    for row in rows {
        let goal = row.goal.map_or("-".to_owned(), |goal| match row.is_overhead() {
            true => format!("{:.1} µs", goal / 1000.0),
            false => format!("{goal:.2}"),
        });
        let met = row.is_met().map_or("", |met| if met { "met" } else { "missed" });
        text += &format!(
            "{:28} {:>8} {:>8}-{:8}  {:>8} {:6.2} {goal:>6} {met}\n",
            row.name,
            micro(row.ours.median),
            micro(row.ours.lower),
            micro(row.ours.upper),
            micro(row.against.1.median),
            row.ratio(),
        );
    }
    text
}

/// The table `jose` of `bench/goals.toml`.
pub(crate) struct Goals(BTreeMap<String, f64>);

impl Goals {
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        let path = root.join("bench/goals.toml");
        let text = std::fs::read_to_string(&path).map_err(|why| format!("{}: {why}", path.display()))?;
        Self::parse(&text).map_err(|why| format!("{}: {why}", path.display()))
    }

    /// A goal for a row that does not exist would never be missed, so it is refused.
    fn parse(text: &str) -> Result<Self, String> {
        let mut tables: toml::Table = toml::from_str(text).map_err(|why| why.to_string())?;
        let table = tables.remove("jose").unwrap_or_else(|| toml::Value::Table(toml::Table::new()));
        let goals: BTreeMap<String, f64> =
            table.try_into().map_err(|why: toml::de::Error| why.to_string())?;
        let exists = |row: &String| {
            KINDS.iter().any(|kind| LEVELS.iter().any(|level| *row == format!("{kind}/{level}")))
        };
        match goals.keys().find(|row| !exists(row)) {
            Some(row) => Err(format!("no row called {row}")),
            None => Ok(Self(goals)),
        }
    }

    /// A ratio; of an overhead, nanoseconds, which the file has in microseconds.
    fn of(&self, name: &str) -> Option<f64> {
        let scale = if name.contains("-overhead/") { 1000.0 } else { 1.0 };
        self.0.get(name).map(|goal| goal * scale)
    }
}

#[cfg(test)]
mod tests {
    use super::{Cell, Goals, KINDS, LEVELS, OURS, feeds, of};

    fn cell(who: &'static str, operation: &'static str, rounds: &[f64]) -> Cell {
        Cell { who, operation, level: "65", runs: 1, rounds: rounds.to_vec() }
    }

    #[test]
    fn every_row_has_a_goal_in_the_repository() {
        let goals = Goals::parse(include_str!("../../../goals.toml")).expect("goals are read");
        for name in KINDS.iter().flat_map(|kind| LEVELS.map(|level| format!("{kind}/{level}"))) {
            assert!(goals.of(&name).is_some(), "{name}");
        }
        assert_eq!(goals.of("jose/sign-overhead/65"), Some(3000.0));
        assert!(Goals::parse("[jose]\n\"jose/sing/65\" = 0.3").is_err());
    }

    #[test]
    fn an_overhead_is_what_each_round_has_beyond_the_engines() {
        let goals =
            Goals::parse("[jose]\n\"jose/sign-overhead/65\" = 3\n\"jose/sign/65\" = 0.34").expect("goals");
        let cells = [
            cell(OURS, "sign-token", &[73_000.0, 95_000.0, 62_000.0]),
            cell(OURS, "engine-sign", &[70_000.0, 90_000.0, 60_000.0]),
            cell("go-jose", "sign-token", &[292_000.0; 3]),
        ];
        let rows = of(&cells, &["go-jose"], &goals);
        let found: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.is_met())).collect();
        assert_eq!(found, [("jose/sign/65/go-jose", Some(true)), ("jose/sign-overhead/65", Some(true))]);
        assert_eq!((rows[0].ratio(), rows[1].ours.median), (0.25, 3000.0));
        assert_eq!(rows[1].json()["goal"].as_f64(), Some(3.0));
    }

    #[test]
    fn a_part_of_a_name_chooses_what_its_rows_need() {
        assert!(
            feeds("sign-token", "65", "jose/sign/65/go-jose") && !feeds("engine-sign", "65", "jose/sign/65/")
        );
        assert!(feeds("engine-sign", "44", "sign-overhead") && !feeds("verify-token", "44", "sign-overhead"));
        assert!(feeds("verify-batch", "87", "batch/87") && !feeds("verify-batch", "44", "batch/87"));
    }
}
