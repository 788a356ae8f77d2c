//! File trees: signing and verifying with `sealstone tree` beside evmctl and beside OpenSSL, in one run and in turns.
//!
//! Trees lie on disks in files below `target/tree-bench`, which root mounts. What counts is processor time a file, user and
//! system, of the whole program from its start; rows of time by the clock say so.

mod disk;
mod memory;
mod page;
mod parties;
mod rows;
mod run;
mod small;
mod usr;

use std::fs;
use std::path::{Path, PathBuf};

use crate::record;
use crate::table::Stats;

use parties::Hands;
pub(crate) use rows::{Row, text};
use run::Taken;

/// What to measure.
pub(crate) struct Choice<'a> {
    pub(crate) rounds: usize,
    /// Only rows whose name contains this.
    pub(crate) only: Option<&'a str>,
    /// Also a million files, and a copy of /usr.
    pub(crate) whole: bool,
}

/// What came out.
pub(crate) struct Outcome {
    pub(crate) rows: Vec<Row>,
    pub(crate) cells: Vec<Cell>,
    /// What the figures are of.
    pub(crate) notes: Vec<String>,
    versions: Vec<(&'static str, String)>,
}

/// What a cell's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    Count,
    Megabytes,
    /// The most at once, in megabytes.
    Memory,
    /// Microseconds.
    PerFile,
    /// Megabytes a second.
    Rate,
    Seconds,
}

/// One figure of one party, a value for each round.
pub(crate) struct Cell {
    /// `sealstone-65 sign cpu`.
    pub(crate) name: String,
    pub(crate) figure: Figure,
    pub(crate) rounds: Vec<f64>,
}

/// The cells as they fill.
#[derive(Default)]
pub(crate) struct Cells(Vec<Cell>);

impl Cells {
    fn add(&mut self, name: &str, figure: Figure, value: f64) {
        match self.0.iter_mut().find(|cell| cell.name == name) {
            Some(cell) => cell.rounds.push(value),
            None => self.0.push(Cell { name: name.to_owned(), figure, rounds: vec![value] }),
        }
    }

    /// Microseconds a file, of the processors and of the clock.
    fn per_file(&mut self, name: &str, taken: Taken, files: usize) {
        let each = 1e6 / files.max(1) as f64;
        self.add(&format!("{name} cpu"), Figure::PerFile, taken.cpu.as_secs_f64() * each);
        self.add(&format!("{name} wall"), Figure::PerFile, taken.wall.as_secs_f64() * each);
    }
}

/// Measures the rows that are chosen.
pub(crate) fn measure(root: &Path, choice: &Choice<'_>) -> Result<Outcome, String> {
    let goals = rows::Goals::read(root)?;
    if !rustix::process::geteuid().is_root() {
        return Err("trees are measured on disks of their own, which root mounts".to_owned());
    }
    let folder = Folder::new(root)?;
    let hands = Hands::new(root, &folder.0)?;
    let (mut cells, mut notes) = (Cells::default(), Vec::new());
    let named = |part: &str| choice.only.is_some_and(|only| only.contains(part));
    if !named("tree/usr") && !named("tree/memory") {
        small::measure(&hands, &folder.0, choice, &mut cells, &mut notes)?;
    }
    if choice.whole || named("tree/memory") {
        memory::measure(&hands, &folder.0, choice.only, &mut cells, &mut notes)?;
    }
    if choice.whole || named("tree/usr") {
        usr::measure(&hands, &folder.0, &mut cells, &mut notes)?;
    }
    let rows = rows::of(&cells.0, &goals, choice.only);
    if rows.is_empty() {
        return Err(format!("no row has {} in its name", choice.only.unwrap_or_default()));
    }
    Ok(Outcome { rows, cells: cells.0, notes, versions: hands.versions() })
}

/// Where disks and keys lie. It goes with the run; what a run that was killed left mounted goes with the next.
struct Folder(PathBuf);

impl Folder {
    fn new(root: &Path) -> Result<Self, String> {
        let folder = Self(root.join("target/tree-bench"));
        folder.clear();
        fs::create_dir_all(&folder.0).map_err(|why| format!("{}: {why}", folder.0.display()))?;
        Ok(folder)
    }

    fn clear(&self) {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let here = self.0.to_string_lossy().into_owned() + "/";
        for at in mounts.lines().filter_map(|line| line.split(' ').nth(1)).filter(|at| at.starts_with(&here))
        {
            let _ = std::process::Command::new("umount").arg(at).status();
        }
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Everybody's own figures.
pub(crate) fn everybody(outcome: &Outcome) -> String {
    let mut text = String::new();
    outcome.notes.iter().for_each(|note| text += &format!("{note}\n"));
    for cell in &outcome.cells {
        let Stats { median, lower, upper } = Stats::of(&cell.rounds);
        let [median, lower, upper] = [median, lower, upper].map(rows::figure);
        text += &format!("{:40} {median:>10} {lower:>10} {upper:>10}\n", cell.name);
    }
    text
}

/// What a whole run leaves behind: a file below `bench/record/tree`, and the tables of the page.
pub(crate) fn record(root: &Path, outcome: &Outcome) -> Result<PathBuf, String> {
    let path = record::keep(&root.join("bench/record/tree"), |date| {
        let mut text = record::machine(root, date);
        outcome.versions.iter().for_each(|(name, version)| text += &format!("# {name}: {version}\n"));
        outcome.notes.iter().for_each(|note| text += &format!("# {note}\n"));
        text += "cell,unit,median,lower,upper,rounds\n";
        for cell in &outcome.cells {
            let Stats { median, lower, upper } = Stats::of(&cell.rounds);
            let Cell { name, figure, rounds } = cell;
            let (unit, rounds) = (figure.unit(), rounds.len());
            text += &format!("{name},{unit},{median:.3},{lower:.3},{upper:.3},{rounds}\n");
        }
        text
    })?;
    page::write(root, outcome, &path)?;
    Ok(path)
}
