//! The engine: fifteen rows, ours beside every rival, in turns.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use sealstone_mldsa::{
    Context, MlDsa44, MlDsa65, MlDsa87, OsRandom, ParameterSet, Signature, SigningKey, VerifyingKey, hazmat,
};

use crate::clock;
use crate::peer::{Peer, Rival};
use crate::table::{Goals, Row, median_and_spread};

const LEVELS: [&str; 3] = ["44", "65", "87"];
const OPERATIONS: [&str; 5] = ["keygen", "sign", "sign-expanded", "verify", "verify-expanded"];
const RIVALS: [Rival; 2] = [
    // Its C code: what a portable room can be held against.
    Rival { name: "boringssl", folder: "boringssl", vectors: false, always: true },
    // As it is built for this machine, with AVX2 for four Keccak states at a time.
    Rival { name: "boringssl-avx2", folder: "boringssl", vectors: true, always: false },
];

/// How long a batch of one row takes.
const BATCH: Duration = Duration::from_millis(25);
/// Signing is a lottery of attempts: fresh messages in every batch, and longer batches.
const SIGNING_BATCH: Duration = Duration::from_millis(150);

/// What to measure.
pub(crate) struct Choice<'a> {
    /// The room, or whichever the engine takes.
    pub(crate) room: Option<&'a str>,
    /// How many batches of each row.
    pub(crate) rounds: usize,
    /// Only rows whose name contains this.
    pub(crate) only: Option<&'a str>,
    /// The rivals that must be asked for, too.
    pub(crate) all_peers: bool,
}

/// Measures every row that is chosen.
pub(crate) fn rows(root: &Path, choice: &Choice<'_>) -> Result<Vec<Row>, String> {
    let Choice { room, rounds, only, all_peers } = *choice;
    hazmat::force_room(room).map_err(|why| why.to_string())?;
    let goals = Goals::read(root)?;
    let rivals = RIVALS.iter().filter(|rival| rival.always || all_peers);
    let mut peers = rivals.map(|rival| Peer::start(root, rival)).collect::<Result<Vec<_>, _>>()?;
    let group = room.map_or("engine".to_owned(), |room| format!("engine-{room}"));
    eprintln!("room {}, {rounds} rounds, against {}", hazmat::room(), versions(&peers));
    let mut series = Vec::new();
    for (operation, level) in OPERATIONS.iter().flat_map(|operation| LEVELS.map(|level| (*operation, level)))
    {
        let name = format!("{group}/{operation}/{level}");
        if only.is_none_or(|part| name.contains(part)) {
            series.push(Series::new(name, operation, level, &mut peers)?);
        }
    }
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        for row in &mut series {
            row.round(&mut peers)?;
        }
    }
    Ok(series.iter().flat_map(|row| row.rows(&peers, &goals)).collect())
}

fn versions(peers: &[Peer]) -> String {
    peers.iter().map(|peer| peer.version.as_str()).collect::<Vec<_>>().join(", ")
}

/// One row's rounds: nanoseconds an operation, ours and each rival's.
struct Series {
    name: String,
    operation: &'static str,
    level: &'static str,
    runs: u64,
    peer_runs: Vec<u64>,
    ours: Vec<f64>,
    theirs: Vec<Vec<f64>>,
}

impl Series {
    /// Finds out how many runs fill a batch.
    fn new(
        name: String,
        operation: &'static str,
        level: &'static str,
        peers: &mut [Peer],
    ) -> Result<Self, String> {
        let batch = if operation.starts_with("sign") { SIGNING_BATCH } else { BATCH };
        let fill = |nanoseconds: f64| ((batch.as_nanos() as f64 / nanoseconds) as u64).max(1);
        let runs = fill(time(operation, level, 20)?);
        let peer_runs = peers
            .iter_mut()
            .map(|peer| peer.time(operation, level, 20).map(fill))
            .collect::<Result<Vec<_>, _>>()?;
        let theirs = vec![Vec::new(); peers.len()];
        Ok(Self { name, operation, level, runs, peer_runs, ours: Vec::new(), theirs })
    }

    fn round(&mut self, peers: &mut [Peer]) -> Result<(), String> {
        self.ours.push(time(self.operation, self.level, self.runs)?);
        for (index, peer) in peers.iter_mut().enumerate() {
            self.theirs[index].push(peer.time(self.operation, self.level, self.peer_runs[index])?);
        }
        Ok(())
    }

    fn rows(&self, peers: &[Peer], goals: &Goals) -> Vec<Row> {
        let (ours, spread) = median_and_spread(&self.ours);
        let row = |(peer, theirs): (&Peer, &Vec<f64>)| {
            let (theirs, _) = median_and_spread(theirs);
            Row {
                name: self.name.clone(),
                ours: ours / 1000.0,
                unit: "us",
                peer: peer.name.to_owned(),
                peer_value: theirs / 1000.0,
                ratio: ours / theirs,
                goal: goals.of(&self.name, peer.name),
                spread,
            }
        };
        peers.iter().zip(&self.theirs).map(row).collect()
    }
}

/// Nanoseconds an operation of ours, over `runs` of them.
fn time(operation: &str, level: &str, runs: u64) -> Result<f64, String> {
    let total = match level {
        "44" => time_at::<MlDsa44>(operation, runs),
        "65" => time_at::<MlDsa65>(operation, runs),
        "87" => time_at::<MlDsa87>(operation, runs),
        _ => return Err(format!("no level {level}")),
    };
    Ok(total.map_err(|why| why.to_string())?.as_nanos() as f64 / runs as f64)
}

/// The same operations as the rivals': 64-byte messages, empty context, hedged with the system's randomness.
fn time_at<P: ParameterSet>(operation: &str, runs: u64) -> Result<Duration, sealstone_mldsa::Error> {
    const SIGNED: usize = 32;
    let expanded = Box::new(SigningKey::<P>::from_seed(&seed(0)).expand());
    let public = expanded.verifying_key().encode().to_vec();
    let verifying = Box::new(VerifyingKey::<P>::decode(&public)?.expand());
    let mut signed = Vec::new();
    for number in 0..SIGNED as u64 {
        signed.push(expanded.sign(&mut OsRandom, Context::EMPTY, &message(number))?.encode().to_vec());
    }
    let start = clock::now();
    for run in 0..runs {
        let message = message(if operation.starts_with("verify") { run % SIGNED as u64 } else { run });
        match operation {
            "keygen" => {
                black_box(SigningKey::<P>::from_seed(&seed(run)).verifying_key());
            }
            "sign" => {
                black_box(SigningKey::<P>::from_seed(&seed(run)).sign(
                    &mut OsRandom,
                    Context::EMPTY,
                    &message,
                )?);
            }
            "sign-expanded" => {
                black_box(expanded.sign(&mut OsRandom, Context::EMPTY, &message)?);
            }
            "verify" => {
                let signature = Signature::decode(&signed[run as usize % SIGNED])?;
                VerifyingKey::<P>::decode(black_box(&public))?.verify(
                    Context::EMPTY,
                    &message,
                    &signature,
                )?;
            }
            _ => {
                let signature = Signature::decode(&signed[run as usize % SIGNED])?;
                verifying.verify(Context::EMPTY, &message, black_box(&signature))?;
            }
        }
    }
    Ok(clock::now() - start)
}

fn seed(number: u64) -> [u8; 32] {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    seed
}

fn message(number: u64) -> [u8; 64] {
    let mut message = [0x5a; 64];
    message[..8].copy_from_slice(&number.to_le_bytes());
    message
}
