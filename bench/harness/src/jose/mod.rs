//! Tokens: signing and verifying a JWT with a key object that lives, beside other JOSE libraries and beside the engine alone.

mod ours;
pub(crate) mod page;
mod rows;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::engine::{Against, LEVELS};
use crate::peer::Process;
use crate::record;
use crate::table::Stats;

use ours::Ours;
pub(crate) use rows::{Row, text};

/// How long a batch of one row takes.
const BATCH: Duration = Duration::from_millis(40);
/// Signing is a lottery of attempts: what it costs is a mean over many.
const SIGNING_BATCH: Duration = Duration::from_millis(200);
/// Who has no name of a rival.
const OURS: &str = "sealstone";

/// The rivals: each a folder below `bench/jose/peers`, whose `build` makes `target/peer`.
const PEERS: [&str; 4] = ["jwcrypto", "jose", "go-jose", "jwt-simple"];
const THEIR_OPERATIONS: [&str; 2] = ["sign-token", "verify-token"];
const OUR_OPERATIONS: [&str; 6] =
    ["sign-token", "engine-sign", "verify-token", "engine-verify", "parse-token", "verify-batch"];

/// What to measure.
pub(crate) struct Choice<'a> {
    pub(crate) rounds: usize,
    /// Only rows whose name contains this.
    pub(crate) only: Option<&'a str>,
    pub(crate) against: &'a Against,
}

/// What came out.
pub(crate) struct Outcome {
    pub(crate) rows: Vec<Row>,
    pub(crate) cells: Vec<Cell>,
    versions: Vec<(&'static str, String)>,
}

/// One operation of one party at one level, nanoseconds in each round.
pub(crate) struct Cell {
    pub(crate) who: &'static str,
    pub(crate) operation: &'static str,
    pub(crate) level: &'static str,
    runs: u64,
    pub(crate) rounds: Vec<f64>,
}

struct Peer {
    name: &'static str,
    version: String,
    process: Process,
}

/// Measures the rows that are chosen. Ours and the engine's of one row are neighbours in each round.
pub(crate) fn measure(root: &Path, choice: &Choice<'_>) -> Result<Outcome, String> {
    let goals = rows::Goals::read(root)?;
    let mut peers = start(root, choice.against)?;
    let levels = LEVELS.iter().map(|level| Ours::new(level)).collect::<Result<Vec<_>, _>>()?;
    let wanted = |operation, level| choice.only.is_none_or(|part| rows::feeds(operation, level, part));
    let mut cells = Vec::new();
    for level in LEVELS {
        let ours = OUR_OPERATIONS.iter().map(|operation| (OURS, *operation));
        let theirs = peers.iter().flat_map(|peer| THEIR_OPERATIONS.map(|operation| (peer.name, operation)));
        let chosen = ours.chain(theirs).filter(|(_, operation)| wanted(operation, level));
        cells.extend(chosen.map(|(who, operation)| Cell {
            who,
            operation,
            level,
            runs: 0,
            rounds: Vec::new(),
        }));
    }
    if cells.is_empty() {
        return Err(format!("no row has {} in its name", choice.only.unwrap_or_default()));
    }
    for cell in &mut cells {
        let batch = if cell.operation.contains("sign") { SIGNING_BATCH } else { BATCH };
        // The first that are run also warm what compiles itself while it runs.
        cell.time(&levels, &mut peers, 64)?;
        let one = cell.time(&levels, &mut peers, 64)?;
        cell.runs = ((batch.as_nanos() as f64 / one) as u64).max(8);
    }
    for round in 1..=choice.rounds {
        eprintln!("round {round} of {}", choice.rounds);
        for cell in &mut cells {
            let time = cell.time(&levels, &mut peers, cell.runs)?;
            cell.rounds.push(time);
        }
    }
    let names: Vec<_> = peers.iter().map(|peer| peer.name).collect();
    let versions = peers.into_iter().map(|peer| (peer.name, peer.version)).collect();
    Ok(Outcome { rows: rows::of(&cells, &names, &goals), cells, versions })
}

impl Cell {
    fn time(&self, levels: &[Ours], peers: &mut [Peer], runs: u64) -> Result<f64, String> {
        if self.who == OURS {
            let at = LEVELS.iter().position(|level| *level == self.level);
            return levels[at.ok_or("no such level")?].time(self.operation, runs);
        }
        let peer = peers.iter_mut().find(|peer| peer.name == self.who);
        let peer = peer.ok_or_else(|| format!("{} does not run", self.who))?;
        let time = peer.process.time(self.operation, self.level, runs)?;
        time.ok_or_else(|| format!("{} has no {} at {}", self.who, self.operation, self.level))
    }
}

/// Starts the rivals that are built, or those that are named, and verifies a token of each at each level.
fn start(root: &Path, against: &Against) -> Result<Vec<Peer>, String> {
    if let Against::Named(names) = against
        && let Some(unknown) = names.iter().find(|name| !PEERS.contains(&name.as_str()))
    {
        return Err(format!("no rival called {unknown}; there is {}", PEERS.join(" ")));
    }
    let mut peers = Vec::new();
    for name in PEERS {
        let program = program(root, name);
        match against {
            Against::Named(names) if !names.iter().any(|chosen| chosen == name) => continue,
            Against::Goals | Against::All if !program.exists() => {
                eprintln!("{name}: not built, left out: bench/jose/peers/{name}/build does");
                continue;
            }
            _ => {}
        }
        let claims = ours::claims();
        let (mut process, version) = Process::start(name, &program, ("PEER_CLAIMS", &claims))?;
        for level in LEVELS {
            let answer = process.ask(&format!("check {level}"))?;
            let (jwk, token) = answer.rsplit_once(' ').ok_or_else(|| format!("{name}: {answer}"))?;
            ours::check(jwk, token).map_err(|why| format!("{name} at {level}: {why}"))?;
        }
        peers.push(Peer { name, version, process });
    }
    Ok(peers)
}

fn program(root: &Path, name: &str) -> PathBuf {
    root.join("bench/jose/peers").join(name).join("target/peer")
}

/// What a whole run leaves behind: a file below `bench/record/jose`, and the tables of the page.
pub(crate) fn record(root: &Path, outcome: &Outcome) -> Result<PathBuf, String> {
    let path = record::keep(&root.join("bench/record/jose"), |date| {
        let mut text = record::machine(root, date);
        outcome.versions.iter().for_each(|(name, version)| text += &format!("# {name}: {version}\n"));
        text += "who,operation,level,median_ns,lower_ns,upper_ns,rounds\n";
        for cell in &outcome.cells {
            let Stats { median, lower, upper } = Stats::of(&cell.rounds);
            let Cell { who, operation, level, rounds, .. } = cell;
            text +=
                &format!("{who},{operation},{level},{median:.0},{lower:.0},{upper:.0},{}\n", rounds.len());
        }
        text
    })?;
    page::write(root, outcome, &path)?;
    Ok(path)
}
