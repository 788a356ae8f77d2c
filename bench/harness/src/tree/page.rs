//! The tables of docs/performance-tree.md, each between two comments that name it. What stands outside is somebody's own words.

use std::path::Path;

use super::rows::{self, Row, figure};
use super::{Cell, Figure, Outcome};
use crate::jose::page::filled;
use crate::record;
use crate::table::Stats;

const PAGE: &str = "docs/performance-tree.md";

/// Writes the tables of a run into the page.
pub(crate) fn write(root: &Path, outcome: &Outcome, kept: &Path) -> Result<(), String> {
    let path = root.join(PAGE);
    let mut page = std::fs::read_to_string(&path).map_err(|why| format!("{PAGE}: {why}"))?;
    let kept = kept.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let (of_usr, others): (Vec<_>, Vec<_>) =
        outcome.cells.iter().partition(|cell| cell.name.starts_with("usr "));
    for (name, table) in [
        ("run", run(outcome, &kept)),
        ("goals", goals(&outcome.rows)),
        ("everybody", everybody(&others)),
        ("usr", everybody(&of_usr)),
    ] {
        page = filled(&page, name, &table).map_err(|why| format!("{PAGE}: {why}"))?;
    }
    std::fs::write(&path, page).map_err(|why| format!("{PAGE}: {why}"))
}

/// Which run it was.
fn run(outcome: &Outcome, kept: &str) -> String {
    let rounds = outcome.cells.iter().map(|cell| cell.rounds.len()).max().unwrap_or(0);
    let versions: Vec<_> = outcome.versions.iter().map(|(_, version)| version.as_str()).collect();
    let mut text = format!(
        "{rounds} rounds, {}; the whole is in `bench/record/tree/{kept}`. {}.\n",
        record::said("rustc", &["-V"]),
        versions.join("; ")
    );
    outcome.notes.iter().for_each(|note| text += &format!("{}.\n", note));
    text
}

fn goals(rows: &[Row]) -> String {
    let mut text =
        "| row | ours | by | its | ratio | goal | |\n|---|---:|---|---:|---:|---|---|\n".to_owned();
    for row in rows {
        let (by, its) = match &row.against {
            Some((name, stats)) => (name.as_str(), figure(stats.median)),
            None => ("-", "-".to_owned()),
        };
        text += &format!(
            "| `{}` | {} {} | {by} | {its} | {} | {} | {} |\n",
            row.name,
            figure(row.ours.median),
            row.unit,
            row.ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.3}")),
            rows::goal(row.goal),
            rows::verdict(row)
        );
    }
    text
}

/// Everybody's own figures, with quartiles.
fn everybody(cells: &[&Cell]) -> String {
    let mut text = "| who and what | median | quartiles |\n|---|---:|---|\n".to_owned();
    for Cell { name, figure: kind, rounds } in cells {
        let Stats { median, lower, upper } = Stats::of(rounds);
        let quartiles = match rounds.len() {
            1 => "once".to_owned(),
            _ => format!("{} to {}", figure(lower), figure(upper)),
        };
        let unit = if *kind == Figure::PerFile { "µs a file" } else { kind.unit() };
        text += &format!("| {name} | {} {unit} | {quartiles} |\n", figure(median));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::filled;

    #[test]
    fn the_page_has_a_place_for_every_table() {
        let page = include_str!("../../../../docs/performance-tree.md");
        for name in ["run", "goals", "everybody", "usr"] {
            assert!(filled(page, name, "").is_ok(), "{name}");
        }
    }
}
