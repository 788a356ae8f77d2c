//! The rows of trees, their goals, and how both are printed.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::{Cell, Figure};
use crate::table::Stats;

/// One row.
pub(crate) struct Row {
    /// `tree/sign/evmctl`.
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) ours: Stats,
    /// What ours is held against.
    pub(crate) against: Option<(String, Stats)>,
    pub(crate) ratio: Option<f64>,
    pub(crate) goal: Option<Goal>,
}

/// The bound of a ratio, or of a value where there is nothing to hold against.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Row {
    pub(crate) fn is_met(&self) -> Option<bool> {
        let value = self.ratio.unwrap_or(self.ours.median);
        self.goal.map(|goal| match goal {
            Goal::AtLeast(bound) => value >= bound,
            Goal::AtMost(bound) => value <= bound,
        })
    }

    /// For a machine; the names of the members are a promise, as those of the other rows.
    pub(crate) fn json(&self) -> Value {
        let rounded = |x: f64| (x * 1000.0).round() / 1000.0;
        let (goal, better) = match self.goal {
            Some(Goal::AtLeast(bound)) => (Some(bound), "higher"),
            Some(Goal::AtMost(bound)) => (Some(bound), "lower"),
            None => (None, if self.unit == "MB/s" { "higher" } else { "lower" }),
        };
        json!({
            "name": self.name,
            "ours": rounded(self.ours.median),
            "unit": self.unit.replace('µ', "u"),
            "peer": self.against.as_ref().map(|(name, _)| name),
            "peer_value": self.against.as_ref().map(|(_, theirs)| rounded(theirs.median)),
            "ratio": self.ratio.map(rounded),
            "goal": goal,
            "better": better,
            "met": self.is_met(),
            "spread": rounded(self.ours.spread()),
            "quartiles": [rounded(self.ours.lower), rounded(self.ours.upper)],
        })
    }
}

/// How a row is made: ours, by what, and which way the ratio goes.
struct Recipe {
    row: &'static str,
    ours: &'static str,
    against: Option<&'static str>,
    /// Against by ours, where more of ours is less.
    inverse: bool,
}

const fn by(row: &'static str, ours: &'static str, against: &'static str) -> Recipe {
    Recipe { row, ours, against: Some(against), inverse: false }
}

const fn alone(row: &'static str, ours: &'static str) -> Recipe {
    Recipe { row, ours, against: None, inverse: false }
}

/// Every row, from cells that are named after who, what, and `cpu` or `wall`.
const RECIPES: [Recipe; 36] = [
    by("tree/sign/evmctl", "sealstone-65 sign cpu", "evmctl sign cpu"),
    by("tree/verify/evmctl", "sealstone-65 verify cpu", "evmctl verify cpu"),
    by("tree/sign/openssl", "sealstone-65 sign cpu", "openssl sign cpu"),
    by("tree/verify/openssl", "sealstone-65 verify cpu", "openssl verify cpu"),
    by("tree/sign/openssl-command", "sealstone-65 sign cpu", "openssl-command sign cpu"),
    by("tree/verify/openssl-command", "sealstone-65 verify cpu", "openssl-command verify cpu"),
    by("tree/sign-44/evmctl", "sealstone-44 sign cpu", "evmctl sign cpu"),
    by("tree/verify-44/evmctl", "sealstone-44 verify cpu", "evmctl verify cpu"),
    by("tree/sign-87/evmctl", "sealstone-87 sign cpu", "evmctl sign cpu"),
    by("tree/verify-87/evmctl", "sealstone-87 verify cpu", "evmctl verify cpu"),
    by("tree/sign-p384/evmctl", "sealstone-p384 sign cpu", "evmctl sign cpu"),
    by("tree/verify-p384/evmctl", "sealstone-p384 verify cpu", "evmctl verify cpu"),
    Recipe { inverse: true, ..by("tree/scale", "two-jobs sign wall", "one-job sign wall") },
    Recipe { inverse: true, ..by("tree/scale/verify", "two-jobs verify wall", "one-job verify wall") },
    by("tree/large-file", "large sign rate", "sha256 loop rate"),
    by("tree/large-file/openssl-dgst", "large sign rate", "openssl-dgst large rate"),
    by("tree/resign", "sealstone-65 resign cpu", "sealstone-65 verify cpu"),
    alone("tree/memory/sign", "million sign memory"),
    alone("tree/memory/verify", "million verify memory"),
    alone("tree/memory/manifest-sign", "million manifest-sign memory"),
    alone("tree/memory/manifest-verify", "million manifest-verify memory"),
    alone("tree/memory/one-directory", "flat verify memory"),
    alone("tree/memory/hard-links", "links verify memory"),
    by("tree/usr/sign/evmctl", "usr sealstone-65 sign cpu", "usr evmctl sign cpu"),
    by("tree/usr/verify/evmctl", "usr sealstone-65 verify cpu", "usr evmctl verify cpu"),
    by("tree/usr/sign/p384", "usr sealstone-65 sign cpu", "usr sealstone-p384 sign cpu"),
    by("tree/usr/verify/p384", "usr sealstone-65 verify cpu", "usr sealstone-p384 verify cpu"),
    by("tree/usr/sign-p384/evmctl", "usr sealstone-p384 sign cpu", "usr evmctl sign cpu"),
    by("tree/usr/verify-p384/evmctl", "usr sealstone-p384 verify cpu", "usr evmctl verify cpu"),
    by("tree/usr/sign-wall/evmctl", "usr sealstone-65 sign wall", "usr evmctl sign wall"),
    by("tree/usr/verify-wall/evmctl", "usr sealstone-65 verify wall", "usr evmctl verify wall"),
    alone("tree/usr/manifest-sign", "usr manifest sign cpu"),
    alone("tree/usr/manifest-verify", "usr manifest verify cpu"),
    alone("tree/usr/files", "usr files count"),
    alone("tree/usr/bytes", "usr files bytes"),
    alone("tree/usr/added", "usr sealstone-65 added"),
];

/// Whether a cell whose name begins so is needed for a row with this in its name.
pub(crate) fn feeds(cell: &str, only: Option<&str>) -> bool {
    let Some(part) = only else { return true };
    let begins = |name: &str| name.starts_with(cell);
    RECIPES.iter().any(|recipe| {
        recipe.row.contains(part) && (begins(recipe.ours) || recipe.against.is_some_and(begins))
    })
}

/// Every row for which there are cells.
pub(crate) fn of(cells: &[Cell], goals: &Goals, only: Option<&str>) -> Vec<Row> {
    let find = |name: &str| cells.iter().find(|cell| cell.name == name);
    let made = RECIPES.iter().filter(|recipe| only.is_none_or(|part| recipe.row.contains(part)));
    made.filter_map(|recipe| {
        let ours = find(recipe.ours)?;
        let against = match recipe.against {
            None => None,
            Some(name) => Some(find(name)?),
        };
        let stats = Stats::of(&ours.rounds);
        let ratio = against.map(|theirs| {
            let theirs = Stats::of(&theirs.rounds).median;
            if recipe.inverse { theirs / stats.median } else { stats.median / theirs }
        });
        Some(Row {
            name: recipe.row.to_owned(),
            unit: ours.figure.unit(),
            ours: stats,
            against: against.map(|theirs| (theirs.name.clone(), Stats::of(&theirs.rounds))),
            ratio,
            goal: goals.of(recipe.row),
        })
    })
    .collect()
}

/// The table for a reader.
pub(crate) fn text(rows: &[Row]) -> String {
    let mut text = format!(
        "{:30} {:>10} {:>21} {:5} {:28} {:>10} {:>6} {:>8}\n",
        "row", "ours", "quartiles", "", "against", "its", "ratio", "goal"
    );
    for row in rows {
        let quartiles = format!("{} to {}", figure(row.ours.lower), figure(row.ours.upper));
        let (name, theirs) = match &row.against {
            Some((name, theirs)) => (name.as_str(), figure(theirs.median)),
            None => ("-", "-".to_owned()),
        };
        let ratio = row.ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.3}"));
        text += &format!(
            "{:30} {:>10} {quartiles:>21} {:5} {name:28} {theirs:>10} {ratio:>6} {:>8} {}\n",
            row.name,
            figure(row.ours.median),
            row.unit,
            goal(row.goal),
            verdict(row)
        );
    }
    text
}

pub(crate) fn goal(goal: Option<Goal>) -> String {
    match goal {
        None => "-".to_owned(),
        Some(Goal::AtLeast(bound)) => format!("≥ {bound}"),
        Some(Goal::AtMost(bound)) => format!("≤ {bound}"),
    }
}

pub(crate) fn verdict(row: &Row) -> &'static str {
    row.is_met().map_or("", |met| if met { "met" } else { "missed" })
}

/// Three digits that count, or all before the point.
pub(crate) fn figure(value: f64) -> String {
    let places = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.places$}")
}

/// The bounds of `bench/goals.toml`.
pub(crate) struct Goals {
    least: BTreeMap<String, f64>,
    most: BTreeMap<String, f64>,
}

impl Goals {
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        let path = root.join("bench/goals.toml");
        let text = std::fs::read_to_string(&path).map_err(|why| format!("{}: {why}", path.display()))?;
        let table: toml::Table = text.parse().map_err(|why| format!("{}: {why}", path.display()))?;
        let bounds = |side: &str| -> Result<BTreeMap<String, f64>, String> {
            let bounds = table.get("tree").and_then(|tree| tree.get(side)).cloned();
            let bounds = bounds.ok_or_else(|| format!("{} has no [tree.{side}]", path.display()))?;
            bounds.try_into().map_err(|why| format!("{}: [tree.{side}]: {why}", path.display()))
        };
        let goals = Self { least: bounds("at-least")?, most: bounds("at-most")? };
        let mut names = goals.least.keys().chain(goals.most.keys());
        match names.find(|name| RECIPES.iter().all(|recipe| recipe.row != **name)) {
            Some(unknown) => Err(format!("{}: no row is called {unknown}", path.display())),
            None => Ok(goals),
        }
    }

    fn of(&self, row: &str) -> Option<Goal> {
        let least = self.least.get(row).map(|bound| Goal::AtLeast(*bound));
        least.or_else(|| self.most.get(row).map(|bound| Goal::AtMost(*bound)))
    }
}

impl Figure {
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::PerFile => "µs",
            Self::Rate => "MB/s",
            Self::Memory | Self::Megabytes => "MB",
            Self::Seconds => "s",
            Self::Count => "files",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(name: &str, figure: Figure, rounds: &[f64]) -> Cell {
        Cell { name: name.to_owned(), figure, rounds: rounds.to_vec() }
    }

    #[test]
    fn a_ratio_is_ours_by_theirs_and_of_two_jobs_how_many_times_one() {
        let goals = Goals::read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))).expect("the goals");
        let cells = [
            cell("sealstone-65 sign cpu", Figure::PerFile, &[60.0, 50.0, 70.0]),
            cell("evmctl sign cpu", Figure::PerFile, &[1000.0, 1200.0, 900.0]),
            cell("one-job sign wall", Figure::PerFile, &[90.0]),
            cell("two-jobs sign wall", Figure::PerFile, &[50.0]),
            cell("million sign memory", Figure::Memory, &[65.0]),
        ];
        let rows = of(&cells, &goals, None);
        let row = |name: &str| rows.iter().find(|row| row.name == name).expect("the row is made");
        assert_eq!(
            (row("tree/sign/evmctl").ratio, row("tree/sign/evmctl").is_met()),
            (Some(0.06), Some(true))
        );
        assert_eq!((row("tree/scale").ratio, row("tree/scale").is_met()), (Some(1.8), Some(true)));
        assert_eq!((row("tree/memory/sign").ratio, row("tree/memory/sign").is_met()), (None, Some(false)));
        assert_eq!(rows.len(), 3);
        assert_eq!(of(&cells, &goals, Some("scale")).len(), 1);
    }

    #[test]
    fn only_what_a_row_needs_is_run() {
        assert!(feeds("evmctl", Some("tree/sign/evmctl")));
        assert!(!feeds("openssl ", Some("tree/sign/evmctl")));
        assert!(feeds("one-job", Some("tree/scale")));
        assert!(!feeds("usr", Some("tree/scale")));
        assert!(feeds("usr", None));
    }
}
