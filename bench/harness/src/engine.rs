//! The engine: every row of ours beside every rival, in turns.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use sealstone_mldsa::hazmat;

use crate::clock;
use crate::ours::{self, JOBS, OPERATIONS};
use crate::peer::{self, Peer, Process};
use crate::rivals::{RIVALS, Rival, forms};
use crate::table::{Goals, Row, Stats, Theirs};

pub(crate) const LEVELS: [&str; 3] = ["44", "65", "87"];
/// The signatures of before, of which one rival knows how long they take.
pub(crate) const CLASSICAL: [&str; 3] = ["P-256", "P-384", "Ed25519"];
const THEIR_OPERATIONS: [&str; 5] = ["keygen", "sign", "sign-expanded", "verify", "verify-expanded"];
/// The rooms that have goals of their own.
const FORCED: [&str; 2] = ["avx2", "portable"];

/// How long a batch of one row takes.
const BATCH: Duration = Duration::from_millis(25);
/// Signing is a lottery of attempts: fresh messages in every batch, and longer batches.
const SIGNING_BATCH: Duration = Duration::from_millis(150);

/// Which rivals are asked.
#[derive(Clone, Default)]
pub(crate) enum Against {
    /// Those that goals name, where they are built.
    #[default]
    Goals,
    /// All that are built; the forced rooms are measured, too.
    All,
    /// These.
    Named(Vec<String>),
}

/// What to measure.
pub(crate) struct Choice<'a> {
    /// The room, or whichever the engine takes.
    pub(crate) room: Option<&'a str>,
    /// How many batches of each row.
    pub(crate) rounds: usize,
    /// Only rows whose name contains this.
    pub(crate) only: Option<&'a str>,
    /// Which rivals.
    pub(crate) against: &'a Against,
}

/// What came out.
pub(crate) struct Outcome {
    /// Our rows.
    pub(crate) rows: Vec<Row>,
    /// Every form of everybody, ours with the group's name.
    pub(crate) cells: Vec<Cell>,
    /// The rivals and what they say of themselves.
    pub(crate) versions: Vec<(&'static str, String)>,
    /// The room that the engine takes by itself.
    pub(crate) room: &'static str,
    /// Core cycles a nanosecond, in each round.
    pub(crate) clock: Stats,
}

/// One operation of ours or of a rival.
pub(crate) struct Cell {
    /// `engine`, `engine-portable`, or the rival's name.
    pub(crate) who: String,
    /// `sign-expanded`.
    pub(crate) operation: &'static str,
    /// `44`.
    pub(crate) level: &'static str,
    /// Nanoseconds an operation, in each round.
    pub(crate) rounds: Vec<f64>,
    by: By,
    runs: u64,
}

#[derive(Clone, Copy)]
enum By {
    Room(Option<&'static str>),
    Peer(usize),
}

/// Measures every row that is chosen.
pub(crate) fn measure(root: &Path, choice: &Choice<'_>) -> Result<Outcome, String> {
    let Choice { room, rounds, only, against } = *choice;
    let all = matches!(against, Against::All);
    let groups = groups(room, all)?;
    hazmat::force_room(groups[0].1).map_err(|why| why.to_string())?;
    let goals = Goals::read(root)?;
    let mut peers = start(root, against)?;
    eprintln!("room {}, {rounds} rounds", hazmat::room());
    peers.iter().for_each(|peer| eprintln!("against {}: {}", peer.rival.name, peer.version));
    let room = hazmat::room();
    let wanted = |name: &str| only.is_none_or(|part| name.contains(part));
    let mut cells = Vec::new();
    for operation in OPERATIONS {
        for level in LEVELS {
            let mut any = false;
            for (group, room) in &groups {
                if wanted(&format!("{group}/{operation}/{level}")) {
                    any = true;
                    cells.push(Cell::new(group.clone(), By::Room(*room), operation, level));
                }
            }
            let needed = |peer: &Peer, form| any && forms(operation, peer.rival.live).contains(&form);
            add_theirs(&mut cells, &peers, level, needed);
        }
    }
    if all && only.is_none() {
        let classical = |peer: &Peer, _| peer.rival.name == crate::rivals::YARDSTICK;
        CLASSICAL.iter().for_each(|level| add_theirs(&mut cells, &peers, level, classical));
    }
    let mut measured = Vec::new();
    let mut ours = Ours::start()?;
    for mut cell in cells {
        if cell.calibrate(&mut ours, &mut peers)? {
            measured.push(cell);
        }
    }
    let mut frequency = Vec::new();
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        frequency.push(clock::core_cycles_per_nanosecond());
        // Where a stack and a key lie in memory is chance, and stays for the life of a process: up to a tenth of a row.
        ours = Ours::start()?;
        peers.iter_mut().try_for_each(|peer| peer.restart(root))?;
        for cell in &mut measured {
            let time = cell.time(&mut ours, &mut peers, cell.runs)?;
            cell.rounds.extend(time);
        }
    }
    let rows = groups
        .iter()
        .flat_map(|(group, _)| OPERATIONS.iter().flat_map(move |op| LEVELS.map(|level| (group, *op, level))))
        .filter_map(|(group, operation, level)| row(&measured, &peers, &goals, group, operation, level))
        .collect();
    let versions = peers.iter().map(|peer| (peer.rival.name, peer.version.clone())).collect();
    Ok(Outcome { rows, cells: measured, versions, room, clock: Stats::of(&frequency) })
}

/// The names of our rows' groups, and the room of each.
fn groups(room: Option<&str>, all: bool) -> Result<Vec<(String, Option<&'static str>)>, String> {
    let known = |room: &str| hazmat::rooms().find(|name| *name == room);
    if let Some(room) = room {
        let there = hazmat::rooms().collect::<Vec<_>>().join(" ");
        let known = known(room).ok_or_else(|| format!("no room called {room} here; there is {there}"))?;
        return Ok(vec![(format!("engine-{known}"), Some(known))]);
    }
    let forced = FORCED.into_iter().filter(|_| all).filter_map(known);
    let mut groups = vec![("engine".to_owned(), None)];
    groups.extend(forced.map(|room| (format!("engine-{room}"), Some(room))));
    Ok(groups)
}

fn start(root: &Path, against: &Against) -> Result<Vec<Peer>, String> {
    let mut peers = Vec::new();
    let is_built = |rival: &Rival| peer::program(root, rival).exists();
    for rival in &RIVALS {
        let chosen = match against {
            Against::Goals => rival.goal && is_built(rival),
            Against::All if !is_built(rival) => {
                eprintln!("{}: not built, left out", rival.name);
                false
            }
            Against::All => true,
            Against::Named(names) => names.iter().any(|name| name == rival.name),
        };
        if chosen {
            match Peer::start(root, rival) {
                Ok(peer) => peers.push(peer),
                Err(why) if matches!(against, Against::All) => eprintln!("{why}, left out"),
                Err(why) => return Err(why),
            }
        }
    }
    if let Against::Named(names) = against
        && let Some(unknown) = names.iter().find(|name| RIVALS.iter().all(|rival| rival.name != **name))
    {
        let there = RIVALS.map(|rival| rival.name).join(" ");
        return Err(format!("no rival called {unknown}; there is {there}"));
    }
    Ok(peers)
}

/// Adds the forms of each rival that are wanted and not there yet.
fn add_theirs(
    cells: &mut Vec<Cell>,
    peers: &[Peer],
    level: &'static str,
    needed: impl Fn(&Peer, &'static str) -> bool,
) {
    for (index, peer) in peers.iter().enumerate() {
        for form in THEIR_OPERATIONS {
            let there =
                |cell: &Cell| (&*cell.who, cell.operation, cell.level) == (peer.rival.name, form, level);
            if needed(peer, form) && !cells.iter().any(there) {
                cells.push(Cell::new(peer.rival.name.to_owned(), By::Peer(index), form, level));
            }
        }
    }
}

/// Our side, in a process of its own like the rivals: this program, called by another name.
struct Ours(Process);

/// What the process of our side is called with.
pub(crate) const ANSWERS: &str = "answers";
/// The room that the engine takes by itself.
const ANY_ROOM: &str = "any";

impl Ours {
    fn start() -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|why| format!("this program: {why}"))?;
        let (process, _) = Process::of("ours", Command::new(program).arg(ANSWERS))?;
        Ok(Self(process))
    }

    fn time(
        &mut self,
        room: Option<&str>,
        operation: &str,
        level: &str,
        runs: u64,
    ) -> Result<Option<f64>, String> {
        let answer = self.0.ask(&format!("{} {operation} {level} {runs}", room.unwrap_or(ANY_ROOM)))?;
        answer.parse().map(Some).map_err(|_| answer)
    }
}

/// Answers lines `ROOM OP LEVEL RUNS` with nanoseconds an operation, until there are no more.
pub(crate) fn answer() -> Result<(), String> {
    println!("ours");
    for line in std::io::stdin().lines() {
        let line = line.map_err(|why| format!("standard input: {why}"))?;
        println!("{}", answer_to(&line).unwrap_or_else(|why| why));
    }
    Ok(())
}

fn answer_to(line: &str) -> Result<String, String> {
    let words: Vec<_> = line.split(' ').collect();
    let [room, operation, level, runs] = words[..] else { return Err(format!("no question: {line}")) };
    hazmat::force_room(Some(room).filter(|room| *room != ANY_ROOM)).map_err(|why| why.to_string())?;
    let runs = runs.parse().map_err(|_| format!("no number: {runs}"))?;
    Ok(ours::time(operation, level, runs)?.to_string())
}

impl Cell {
    fn new(who: String, by: By, operation: &'static str, level: &'static str) -> Self {
        Self { who, by, operation, level, runs: 0, rounds: Vec::new() }
    }

    /// Finds out how many runs fill a batch; false if there is no such form.
    fn calibrate(&mut self, ours: &mut Ours, peers: &mut [Peer]) -> Result<bool, String> {
        let batch = if self.operation.starts_with("sign") { SIGNING_BATCH } else { BATCH };
        let Some(nanoseconds) = self.time(ours, peers, JOBS)? else { return Ok(false) };
        self.runs = ((batch.as_nanos() as f64 / nanoseconds) as u64).max(1);
        Ok(true)
    }

    fn time(&self, ours: &mut Ours, peers: &mut [Peer], runs: u64) -> Result<Option<f64>, String> {
        match self.by {
            By::Room(room) => ours.time(room, self.operation, self.level, runs),
            By::Peer(index) => peers[index].time(self.operation, self.level, runs),
        }
    }
}

fn row(
    cells: &[Cell],
    peers: &[Peer],
    goals: &Goals,
    group: &str,
    operation: &'static str,
    level: &str,
) -> Option<Row> {
    let find = |who: &str, operation: &str| {
        let mut cells = cells.iter();
        let cell = cells.find(|cell| (&*cell.who, cell.operation, cell.level) == (who, operation, level))?;
        Some(Stats::of(&cell.rounds))
    };
    let name = format!("{group}/{operation}/{level}");
    let best = |rival: &Rival| {
        let forms = forms(operation, rival.live).iter();
        let found = forms.filter_map(|form| Some((*form, find(rival.name, form)?)));
        found.min_by(|a, b| a.1.median.total_cmp(&b.1.median))
    };
    let theirs = peers.iter().filter_map(|peer| {
        let (form, stats) = best(peer.rival)?;
        Some(Theirs { name: peer.rival.name, form, stats })
    });
    let goal = goals.of(&name);
    Some(Row { ours: find(group, operation)?, theirs: theirs.collect(), goal, name })
}
