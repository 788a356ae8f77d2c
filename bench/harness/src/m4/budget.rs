//! The most that a row may count: `firmware/budget.txt`.

use std::collections::BTreeMap;
use std::path::Path;

use super::Row;

/// Of each row: the most, and the goal, where it has one.
pub(crate) struct Budget(BTreeMap<String, (f64, Option<f64>)>);

impl Budget {
    /// Errors: a line that is no `NAME MOST [GOAL]`.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()))?;
        Self::parse(&text).map_err(|line| format!("{}: no budget: {line}", path.display()))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut rows = BTreeMap::new();
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            let words: Vec<_> = line.split_whitespace().collect();
            let number = |word: &str| word.parse::<f64>().map_err(|_| line.to_owned());
            let (name, most, goal) = match words[..] {
                [name, most] => (name, number(most)?, None),
                [name, most, goal] => (name, number(most)?, Some(number(goal)?)),
                _ => return Err(line.to_owned()),
            };
            if rows.insert(name.to_owned(), (most, goal)).is_some() {
                return Err(format!("{name} stands twice"));
            }
        }
        Ok(Self(rows))
    }

    /// The most and the goal of a row.
    pub(crate) fn of(&self, name: &str) -> (Option<f64>, Option<f64>) {
        self.0.get(name).map_or((None, None), |(most, goal)| (Some(*most), *goal))
    }

    /// What is wrong: rows above their budget or without one, and budgets without a row.
    pub(crate) fn over(&self, rows: &[Row]) -> Vec<String> {
        let mut over = Vec::new();
        for row in rows {
            match row.most {
                None => over.push(format!("{} is {:.0} and has no budget", row.name, row.ours)),
                Some(most) if row.ours > most => {
                    over.push(format!("{} is {:.0}, the budget allows {most:.0}", row.name, row.ours));
                }
                Some(_) => (),
            }
        }
        let gone = self.0.keys().filter(|name| !rows.iter().any(|row| row.name == **name));
        over.extend(gone.map(|name| format!("{name} has a budget and is not measured")));
        over
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, Row};

    #[test]
    fn a_row_above_its_budget_is_noticed() {
        let budget = Budget::parse("# most, goal\nm4/keygen/44 100 90\nm4-flash/all 50\n").expect("lines");
        assert_eq!(budget.of("m4/keygen/44"), (Some(100.0), Some(90.0)));
        let row = |name: &str, ours: f64| {
            let (most, goal) = budget.of(name);
            Row { name: name.to_owned(), ours, theirs: Vec::new(), published: Vec::new(), most, goal }
        };
        assert_eq!(
            budget.over(&[row("m4/keygen/44", 100.0), row("m4-flash/all", 50.0)]),
            Vec::<String>::new()
        );
        assert_eq!(budget.over(&[row("m4/keygen/44", 101.0), row("m4-flash/all", 50.0)]).len(), 1);
        assert_eq!(budget.over(&[row("m4/keygen/44", 100.0)]).len(), 1);
        assert_eq!(budget.over(&[row("m4/keygen/65", 1.0)]).len(), 3);
        assert!(Budget::parse("a 1\na 2").is_err() && Budget::parse("a b").is_err());
    }
}
