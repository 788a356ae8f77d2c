//! Rows, goals, and how both are printed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};

use crate::engine::{CLASSICAL, Cell, LEVELS, Outcome};
use crate::ours::OPERATIONS;
use crate::rivals::{RIVALS, YARDSTICK};

/// Median and quartiles.
#[derive(Clone, Copy)]
pub(crate) struct Stats {
    pub(crate) median: f64,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

impl Stats {
    pub(crate) fn of(rounds: &[f64]) -> Self {
        let mut rounds = rounds.to_vec();
        rounds.sort_by(f64::total_cmp);
        let at = |part: f64| {
            let place = part * (rounds.len() - 1) as f64;
            let (low, high) = (rounds[place.floor() as usize], rounds[place.ceil() as usize]);
            low + (high - low) * place.fract()
        };
        Self { median: at(0.5), lower: at(0.25), upper: at(0.75) }
    }

    /// Distance of the quartiles as a part of the median.
    pub(crate) fn spread(&self) -> f64 {
        (self.upper - self.lower) / self.median
    }
}

/// One row of ours beside everybody who has something to hold against it. Nanoseconds.
pub(crate) struct Row {
    /// `engine/keygen/44`.
    pub(crate) name: String,
    pub(crate) ours: Stats,
    pub(crate) theirs: Vec<Theirs>,
    /// The rival that `bench/goals.toml` names for this row, and the ratio to stay below.
    pub(crate) goal: Option<(String, f64)>,
}

/// A rival's best form for a row.
pub(crate) struct Theirs {
    pub(crate) name: &'static str,
    /// Its own name of that form.
    pub(crate) form: &'static str,
    pub(crate) stats: Stats,
}

impl Row {
    fn find(&self, name: &str) -> Option<&Theirs> {
        self.theirs.iter().find(|theirs| theirs.name == name)
    }

    /// The rival that the goal names; without it, the fastest.
    fn against(&self) -> Option<&Theirs> {
        let named = self.goal.as_ref().and_then(|(rival, _)| self.find(rival));
        named.or_else(|| self.best())
    }

    fn best(&self) -> Option<&Theirs> {
        self.theirs.iter().min_by(|a, b| a.stats.median.total_cmp(&b.stats.median))
    }

    fn ratio(&self, theirs: &Theirs) -> f64 {
        self.ours.median / theirs.stats.median
    }

    /// The goal's ratio, where its rival ran.
    fn goal(&self) -> Option<f64> {
        let (rival, goal) = self.goal.as_ref()?;
        self.find(rival).map(|_| *goal)
    }

    /// For a machine; the names of the members are a promise. `peer`, `peer_value` and `ratio` are of the rival that
    /// the goal names.
    pub(crate) fn json(&self) -> Value {
        let rounded = |x: f64| (x * 1000.0).round() / 1000.0;
        let against = self.against();
        let peers = self.theirs.iter().map(|theirs| {
            let value = json!({
                "form": theirs.form,
                "value": rounded(theirs.stats.median / 1000.0),
                "ratio": rounded(self.ratio(theirs)),
            });
            (theirs.name.to_owned(), value)
        });
        json!({
            "name": self.name,
            "ours": rounded(self.ours.median / 1000.0),
            "unit": "us",
            "peer": against.map(|theirs| theirs.name),
            "peer_value": against.map(|theirs| rounded(theirs.stats.median / 1000.0)),
            "ratio": against.map(|theirs| rounded(self.ratio(theirs))),
            "goal": self.goal(),
            "spread": rounded(self.ours.spread()),
            "quartiles": [rounded(self.ours.lower / 1000.0), rounded(self.ours.upper / 1000.0)],
            "best_peer": self.best().map(|theirs| theirs.name),
            "peers": peers.collect::<serde_json::Map<_, _>>(),
        })
    }
}

/// The table for a reader: each row beside the rival of its goal, the best rival, and the yardstick.
pub(crate) fn text(rows: &[Row]) -> String {
    let mut text = format!(
        "{:31} {:>8} {:>17}  {:14} {:>8} {:>5} {:>5} {:7} {:>5} {:14} {:>10}\n",
        "row, µs", "ours", "quartiles", "rival", "its", "ratio", "goal", "", "best", "of", YARDSTICK
    );
    for row in rows {
        let against = row.against().map_or_else(
            || format!("{:14} {:>8} {:>5}", "-", "-", "-"),
            |theirs| {
                format!("{:14} {:>8} {:5.2}", theirs.name, micro(theirs.stats.median), row.ratio(theirs))
            },
        );
        let goal = match (row.goal(), row.against()) {
            (Some(goal), Some(theirs)) if row.ratio(theirs) <= goal => format!("{goal:5.2} met    "),
            (Some(goal), _) => format!("{goal:5.2} missed "),
            (None, _) => format!("{:>5} {:7}", "-", ""),
        };
        let best = row.best().map_or_else(
            || format!("{:>5} {:14}", "-", ""),
            |theirs| format!("{:5.2} {:14}", row.ratio(theirs), theirs.name),
        );
        let yardstick =
            row.find(YARDSTICK).map_or("-".to_owned(), |theirs| format!("{:.2}", row.ratio(theirs)));
        text += &format!(
            "{:31} {:>8} {:>8}-{:8}  {against} {goal} {best} {yardstick:>10}\n",
            row.name,
            micro(row.ours.median),
            micro(row.ours.lower),
            micro(row.ours.upper),
        );
    }
    text
}

/// Everybody's own figures: one line each, µs at the three levels.
pub(crate) fn everybody(outcome: &Outcome) -> String {
    let mut names: Vec<&str> = Vec::new();
    outcome.cells.iter().for_each(|cell| {
        if !names.contains(&&*cell.who) {
            names.push(&cell.who);
        }
    });
    let mut text = format!("\n{:16}", "µs, 44/65/87");
    OPERATIONS.iter().for_each(|column| text += &format!(" {column:>16}"));
    text += "\n";
    for name in names {
        text += &format!("{name:16}");
        for column in OPERATIONS {
            let figures = LEVELS.map(|level| median_of(&outcome.cells, name, column, level).map(micro));
            let figures = figures.map(|figure| figure.unwrap_or_else(|| "-".to_owned()));
            let none = figures.iter().all(|figure| figure == "-");
            text += &format!(" {:>16}", if none { "-".to_owned() } else { figures.join("/") });
        }
        text += "\n";
    }
    let classical = CLASSICAL.iter().filter_map(|level| {
        let figure = |operation| median_of(&outcome.cells, YARDSTICK, operation, level).map(micro);
        Some((level, figure("keygen")?, figure("sign-expanded")?, figure("verify")?))
    });
    for (level, keygen, sign, verify) in classical {
        text += &format!("{level:16} keygen {keygen}, sign {sign}, verify {verify} ({YARDSTICK})\n");
    }
    text
}

fn median_of(cells: &[Cell], who: &str, operation: &str, level: &str) -> Option<f64> {
    let mut cells = cells.iter();
    let cell = cells.find(|cell| (&*cell.who, cell.operation, cell.level) == (who, operation, level))?;
    Some(Stats::of(&cell.rounds).median)
}

/// Cycles of the CRYSTALS team's page, round 3 of their scheme: one core of an Intel Core i7-6600U (Skylake), their C
/// reference and their AVX2 code; key generation, signing, verification at the three levels.
const SKYLAKE: [(&str, &str, [[u32; 3]; 2]); 3] = [
    ("keygen", "keygen", [[300_751, 544_232, 819_475], [124_031, 256_403, 298_050]]),
    ("sign", "sign-bytes", [[1_355_434, 2_348_703, 2_856_803], [333_013, 529_106, 642_192]]),
    ("verify", "verify", [[327_362, 522_267, 871_609], [118_412, 179_424, 279_936]]),
];

/// Our cycles beside the figures of another machine, as a table that a page of docs can take over.
pub(crate) fn cycles(outcome: &Outcome) -> String {
    let clock = outcome.clock;
    let mut text = format!(
        "\ncycles by the core's own clock, {:.2} GHz ({:.2} to {:.2}; found by a chain of dependent multiplications);\n\
         the CRYSTALS team's figures are from another machine, one core of a Skylake i7-6600U\n\n\
         | {:9} | {:>8} | {:>9} | {:>10} |\n|{:-<11}|{:->9}:|{:->10}:|{:->11}:|\n",
        clock.median, clock.lower, clock.upper, "", "ours", "their ref", "their AVX2", "", "", "", ""
    );
    for (title, operation, [reference, avx2]) in SKYLAKE {
        for (index, level) in LEVELS.iter().enumerate() {
            let ours = median_of(&outcome.cells, "engine", operation, level);
            let ours = ours.map_or("-".to_owned(), |ours| format!("{:.0}", ours * clock.median));
            let title = format!("{title} {level}");
            text += &format!("| {title:9} | {ours:>8} | {:>9} | {:>10} |\n", reference[index], avx2[index]);
        }
    }
    text
}

pub(crate) fn micro(nanoseconds: f64) -> String {
    let digits = if nanoseconds < 100_000.0 { 1 } else { 0 };
    format!("{:.digits$}", nanoseconds / 1000.0)
}

/// `bench/goals.toml`: for each rival, the greatest ratio a row may have.
pub(crate) struct Goals(BTreeMap<String, BTreeMap<String, f64>>);

impl Goals {
    /// Reads the file.
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        let path = root.join("bench/goals.toml");
        let text = std::fs::read_to_string(&path).map_err(|why| format!("{}: {why}", path.display()))?;
        Self::parse(&text).map_err(|why| format!("{}: {why}", path.display()))
    }

    /// A goal for a rival or a row that does not exist would never be missed, so it is refused.
    fn parse(text: &str) -> Result<Self, String> {
        let mut tables: toml::Table = toml::from_str(text).map_err(|why| why.to_string())?;
        // Those of the authorization server, `auth/goals.rs`, of tokens, `jose/rows.rs`, and of trees, `tree/rows.rs`.
        for others in ["auth", "jose", "tree"] {
            tables.remove(others);
        }
        let goals: BTreeMap<String, BTreeMap<String, f64>> =
            tables.try_into().map_err(|why: toml::de::Error| why.to_string())?;
        let mut rows = BTreeSet::new();
        for (rival, goals) in &goals {
            if !RIVALS.iter().any(|known| known.goal && known.name == rival) {
                return Err(format!("no rival called {rival} runs for a goal"));
            }
            for row in goals.keys() {
                let parts: Vec<_> = row.split('/').collect();
                let known = matches!(parts[..], [group, operation, level]
                    if group.starts_with("engine") && OPERATIONS.contains(&operation) && LEVELS.contains(&level));
                if !known {
                    return Err(format!("no row called {row}"));
                }
                if !rows.insert(row) {
                    return Err(format!("{row} has goals against two rivals"));
                }
            }
        }
        Ok(Self(goals))
    }

    /// The rival of a row's goal, and the goal.
    pub(crate) fn of(&self, name: &str) -> Option<(String, f64)> {
        self.0.iter().find_map(|(rival, rows)| Some((rival.clone(), *rows.get(name)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Goals, Row, Stats, Theirs};

    #[test]
    fn the_goals_of_the_repository_are_for_rows_and_rivals_that_exist() {
        let goals = Goals::parse(include_str!("../../goals.toml")).expect("goals are read");
        assert_eq!(goals.of("engine/sign-batch/65"), Some(("wolfssl-cached".to_owned(), 0.3)));
        assert_eq!(goals.of("engine-avx2/keygen/44"), Some(("mldsa-native".to_owned(), 0.9)));
        assert_eq!(goals.0.values().map(|rows| rows.len()).sum::<usize>(), 51);
    }

    #[test]
    fn a_goal_that_nothing_can_miss_is_refused() {
        let refused = |text: &str| Goals::parse(text).is_err();
        assert!(refused("[wolfssll]\n\"engine/sign/44\" = 0.5"));
        assert!(refused("[wolfssl]\n\"engine/sing/44\" = 0.5"));
        assert!(refused("[wolfssl]\n\"engine/sign/45\" = 0.5"));
        assert!(refused("[wolfssl]\n\"engine/sign/44\" = 0.5\n[boringssl]\n\"engine/sign/44\" = 0.5"));
        assert!(!refused("[wolfssl]\n\"engine/sign/44\" = 0.5"));
    }

    #[test]
    fn a_ratio_is_to_the_rival_of_the_goal_and_to_the_fastest_without_one() {
        let stats = |median| Stats { median, lower: median, upper: median };
        let theirs = |name, median| Theirs { name, form: "sign", stats: stats(median) };
        let mut row = Row {
            name: "engine/sign/44".to_owned(),
            ours: stats(10.0),
            theirs: vec![theirs("boringssl", 40.0), theirs("wolfssl", 20.0), theirs("circl", 5.0)],
            goal: Some(("wolfssl".to_owned(), 0.6)),
        };
        let json = row.json();
        assert_eq!((json["peer"].as_str(), json["ratio"].as_f64()), (Some("wolfssl"), Some(0.5)));
        assert_eq!((json["goal"].as_f64(), json["best_peer"].as_str()), (Some(0.6), Some("circl")));
        assert_eq!(json["peers"]["boringssl"]["ratio"].as_f64(), Some(0.25));
        row.goal = Some(("mldsa-native".to_owned(), 0.9));
        let json = row.json();
        assert_eq!((json["peer"].as_str(), json["goal"].as_f64()), (Some("circl"), None));
    }

    #[test]
    fn quartiles_lie_between_the_rounds() {
        let stats = Stats::of(&[4.0, 1.0, 3.0, 2.0]);
        assert_eq!((stats.lower, stats.median, stats.upper), (1.75, 2.5, 3.25));
    }
}
