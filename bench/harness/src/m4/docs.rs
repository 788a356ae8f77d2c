//! The tables of docs/performance-m4.md: whose first heading is `row`, and whose rows begin with the name of one in quotes.
//! A heading says what stands below it; what it does not name is somebody's own words and stays.

use std::path::Path;

use super::{LEVELS, Row};

const PAGE: &str = "docs/performance-m4.md";

/// Writes what was counted into the page. Without `rivals` their columns stay as they are.
/// Errors: the file's; a row of the page that was not counted.
pub(crate) fn write(root: &Path, rows: &[Row], rivals: bool) -> Result<(), String> {
    let path = root.join(PAGE);
    let page = std::fs::read_to_string(&path).map_err(|why| format!("{PAGE}: {why}"))?;
    std::fs::write(&path, filled(&page, rows, rivals)?).map_err(|why| format!("{PAGE}: {why}"))
}

fn filled(page: &str, rows: &[Row], rivals: bool) -> Result<String, String> {
    let mut headings: Vec<&str> = Vec::new();
    let mut lines = Vec::new();
    for line in page.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if !line.starts_with('|') {
            headings.clear();
        } else if headings.is_empty() {
            headings = cells;
        } else if let (Some(&"row"), Some(name)) = (headings.first(), quoted(cells[0])) {
            let of_name = of_name(rows, name)?;
            let cells = headings.iter().zip(&cells).map(|(heading, old)| {
                let column =
                    Column::of(heading).filter(|column| rivals || !matches!(column, Column::Rival(_)));
                column.map_or_else(|| (*old).to_owned(), |column| cell(&of_name, &column))
            });
            lines.push(format!("| {} |", cells.collect::<Vec<_>>().join(" | ")));
            continue;
        }
        lines.push(line.to_owned());
    }
    Ok(lines.join("\n") + "\n")
}

/// The row of this name, or those of its levels.
fn of_name<'r>(rows: &'r [Row], name: &str) -> Result<Vec<&'r Row>, String> {
    let find = |name: &str| rows.iter().find(|row| row.name == name);
    let found = match find(name) {
        Some(row) => vec![row],
        None => LEVELS.iter().filter_map(|level| find(&format!("{name}/{level}"))).collect(),
    };
    if found.is_empty() { Err(format!("{PAGE} has {name}, which was not counted")) } else { Ok(found) }
}

enum Column {
    Ours,
    Goal,
    /// A program of the same run.
    Rival(&'static str),
    Published(&'static str),
}

impl Column {
    fn of(heading: &str) -> Option<Self> {
        let rival = super::RIVALS.into_iter().find(|rival| heading.starts_with(rival)).map(Column::Rival);
        let published =
            ["m4fstack", "m4f"].into_iter().find(|theirs| heading.contains(&format!("`{theirs}`")));
        match heading {
            "ours" => Some(Column::Ours),
            "goal" => Some(Column::Goal),
            _ if heading.starts_with("paper") => Some(Column::Published("paper")),
            _ => rival.or(published.map(Column::Published)),
        }
    }

    fn value(&self, row: &Row) -> Option<f64> {
        let named =
            |all: &[(&str, f64)], name: &str| all.iter().find(|(of, _)| *of == name).map(|(_, value)| *value);
        match self {
            Column::Ours => Some(row.ours),
            Column::Goal => row.goal,
            Column::Rival(name) => row.theirs.iter().find(|(of, _)| of == name).map(|(_, value)| *value),
            Column::Published(name) => named(&row.published, name),
        }
    }
}

/// Its value at each level; a dash where there is none.
fn cell(rows: &[&Row], column: &Column) -> String {
    let values: Option<Vec<_>> =
        rows.iter().map(|row| column.value(row).map(|value| number(row.is_counted(), value))).collect();
    values.map_or("-".to_owned(), |values| values.join(" / "))
}

/// Millions of instructions, or bytes.
fn number(counted: bool, value: f64) -> String {
    if counted {
        return format!("{:.2}", value / 1e6);
    }
    let digits = format!("{value:.0}");
    let groups: Vec<_> =
        digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group)).collect();
    groups.join(",")
}

fn quoted(cell: &str) -> Option<&str> {
    cell.strip_prefix('`')?.strip_suffix('`')
}

#[cfg(test)]
mod tests {
    use super::{Row, filled};

    fn row(name: &str, ours: f64, theirs: &[(&str, f64)]) -> Row {
        let theirs = theirs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Row {
            name: name.to_owned(),
            ours,
            theirs,
            published: vec![("m4f", 1_591_000.0)],
            most: None,
            goal: Some(2.4e6),
        }
    }

    const PAGE: &str = "Words.\n\n| row | ours | goal | libcrux 0 | pqm4 `m4f`, x | what |\n|---|---:|\n\
        | `m4/sign` | 0 | 0 | old | 0 | 1 a word |\n| rest | 1 |\n\n| step | ours |\n| `m4/sign` | 7 |\n";

    #[test]
    fn a_table_of_rows_is_filled_and_nothing_else() {
        let levels =
            ["44", "65"].map(|level| row(&format!("m4/sign/{level}"), 1_234_567.0, &[("libcrux", 3e6)]));
        let filled = |rivals| filled(PAGE, &levels, rivals).expect("all rows were counted");
        let line = "| `m4/sign` | 1.23 / 1.23 | 2.40 / 2.40 | 3.00 / 3.00 | 1.59 / 1.59 | 1 a word |";
        assert_eq!(filled(true), PAGE.replace("| `m4/sign` | 0 | 0 | old | 0 | 1 a word |", line));
        assert_eq!(filled(false), filled(true).replace("3.00 / 3.00", "old"));
    }

    #[test]
    fn bytes_have_commas_and_what_is_missing_has_a_dash() {
        let page = "| row | ours | goal | ml-dsa |\n| `m4-flash/all` | | | |\n";
        let counted = [Row { goal: None, ..row("m4-flash/all", 1_046_628.0, &[]) }];
        assert!(
            filled(page, &counted, true)
                .expect("counted")
                .ends_with("| `m4-flash/all` | 1,046,628 | - | - |\n")
        );
        assert!(filled(page, &[], true).is_err());
    }
}
