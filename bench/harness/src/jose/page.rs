//! The tables of docs/performance-jose.md, each between two comments that name it. What stands outside is somebody's own words.

use std::path::Path;

use super::rows::Row;
use super::{OURS, Outcome, PEERS};
use crate::engine::LEVELS;
use crate::record;
use crate::table::{Stats, micro};

const PAGE: &str = "docs/performance-jose.md";
/// jwt-pq's own page: signatures and verifications a second at the three levels, on an i9-9880H.
const SEED: [(&str, [f64; 3]); 2] =
    [("sign-token", [8026.0, 5972.0, 4911.0]), ("verify-token", [11_074.0, 9339.0, 6471.0])];

/// Writes the tables of a run into the page.
pub(crate) fn write(root: &Path, outcome: &Outcome, kept: &Path) -> Result<(), String> {
    let path = root.join(PAGE);
    let mut page = std::fs::read_to_string(&path).map_err(|why| format!("{PAGE}: {why}"))?;
    let kept = kept.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    for (name, table) in [
        ("run", run(outcome, &kept)),
        ("goals", goals(&outcome.rows)),
        ("everybody", everybody(outcome)),
        ("seed", seed(outcome)),
    ] {
        page = filled(&page, name, &table).map_err(|why| format!("{PAGE}: {why}"))?;
    }
    std::fs::write(&path, page).map_err(|why| format!("{PAGE}: {why}"))
}

/// The page with what stands between `<!-- NAME -->` and the next `<!-- end -->` replaced.
pub(crate) fn filled(page: &str, name: &str, text: &str) -> Result<String, String> {
    let (begin, end) = (format!("<!-- {name} -->\n"), "<!-- end -->");
    let missing = || format!("there is no place for {name}");
    let (before, rest) = page.split_once(&begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(end).ok_or_else(missing)?;
    Ok(format!("{before}{begin}{text}{end}{after}"))
}

/// Which run it was.
fn run(outcome: &Outcome, kept: &str) -> String {
    let rounds = outcome.cells.iter().map(|cell| cell.rounds.len()).max().unwrap_or(0);
    let versions: Vec<_> = outcome.versions.iter().map(|(_, version)| version.as_str()).collect();
    format!(
        "{rounds} rounds, {}; the whole is in `bench/record/jose/{kept}`. Rivals: {}.\n",
        record::said("rustc", &["-V"]),
        versions.join("; ")
    )
}

/// Each kind of row, its three levels side by side.
fn goals(rows: &[Row]) -> String {
    let mut text =
        "| row | ours, µs | its, µs | ratio | goal | |\n|---|---:|---:|---:|---:|---|\n".to_owned();
    let mut kinds: Vec<String> = Vec::new();
    for row in rows {
        let kind = row.name.replace(&format!("/{}", row.level), "");
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    for kind in kinds {
        let of_kind: Vec<_> =
            rows.iter().filter(|row| row.name.replace(&format!("/{}", row.level), "") == kind).collect();
        let joined = |cell: &dyn Fn(&Row) -> String| {
            of_kind.iter().map(|row| cell(row)).collect::<Vec<_>>().join(" / ")
        };
        let overhead = of_kind[0].is_overhead();
        let goal = of_kind[0].goal.map_or("-".to_owned(), |goal| match overhead {
            true => format!("{:.0} µs", goal / 1000.0),
            false => format!("{goal:.2}"),
        });
        let met =
            of_kind.iter().map(|row| row.is_met().map_or("-", |met| if met { "met" } else { "missed" }));
        let mut met: Vec<_> = met.collect();
        met.dedup();
        text += &format!(
            "| `{kind}` | {} | {} | {} | {goal} | {} |\n",
            joined(&|row| micro(row.ours.median)),
            joined(&|row| micro(row.against.1.median)),
            if overhead { "-".to_owned() } else { joined(&|row| format!("{:.2}", row.ratio())) },
            met.join(" / "),
        );
    }
    text
}

/// Everybody's own figures, with quartiles.
fn everybody(outcome: &Outcome) -> String {
    let mut text = "| who | what | 44 | 65 | 87 |\n|---|---|---:|---:|---:|\n".to_owned();
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for cell in &outcome.cells {
        if !seen.contains(&(cell.who, cell.operation)) {
            seen.push((cell.who, cell.operation));
        }
    }
    seen.sort_by_key(|(who, _)| PEERS.iter().position(|peer| peer == who).map_or(0, |place| place + 1));
    for (who, operation) in seen {
        let figures = LEVELS.map(|level| {
            stats(outcome, who, operation, level).map_or("-".to_owned(), |found| {
                format!("{} ({} to {})", micro(found.median), micro(found.lower), micro(found.upper))
            })
        });
        text += &format!("| {who} | {operation} | {} |\n", figures.join(" | "));
    }
    text
}

/// Beside jwt-pq's page. A second of ours is 10⁹ nanoseconds of one core.
fn seed(outcome: &Outcome) -> String {
    let mut text = "| a second | 44 | 65 | 87 |\n|---|---:|---:|---:|\n".to_owned();
    for (operation, theirs) in SEED {
        let ours = LEVELS.map(|level| stats(outcome, OURS, operation, level).map(|found| 1e9 / found.median));
        let cell = |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{rate:.0}"));
        let name = operation.replace("-token", "");
        text += &format!("| {name}, ours, here | {} |\n", ours.map(cell).join(" | "));
        text += &format!(
            "| {name}, jwt-pq's page, i9-9880H | {} |\n",
            theirs.map(|rate| cell(Some(rate))).join(" | ")
        );
    }
    text
}

fn stats(outcome: &Outcome, who: &str, operation: &str, level: &str) -> Option<Stats> {
    let mut cells = outcome.cells.iter();
    let cell = cells.find(|cell| (cell.who, cell.operation, cell.level) == (who, operation, level))?;
    Some(Stats::of(&cell.rounds))
}

#[cfg(test)]
mod tests {
    use super::filled;

    #[test]
    fn what_stands_between_the_marks_is_replaced_and_nothing_else() {
        let page = "Words.\n<!-- seed -->\nold\n<!-- end -->\nMore.\n<!-- goals -->\n<!-- end -->\n";
        let written = filled(page, "seed", "new\n").expect("there is a place");
        assert_eq!(written, page.replace("old", "new"));
        assert!(filled(page, "sead", "").is_err());
        assert!(filled(include_str!("../../../../docs/performance-jose.md"), "everybody", "").is_ok());
    }
}
