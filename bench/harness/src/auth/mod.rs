//! The authorization server beside others, under real load over TLS: what `./dev bench auth` measures.
//!
//! Every server runs on one core and the load generator on another. Each round gives every server in turn one batch of
//! each kind of request at each concurrency; the other servers are stopped meanwhile (SIGSTOP), so that nothing else runs
//! on that core. A batch with a single error ends the run.

mod generator;
mod goals;
mod ours;
mod parties;
mod record;
mod requests;
mod rows;
pub(crate) mod server;
mod table;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sealstone_jose::Algorithm;
use serde_json::json;

use crate::engine::Against;
use crate::table::Stats;
use generator::{Generator, Load, Running};
use goals::Goals;
use ours::{Ours, PERSON};
use parties::{OURS, PARTIES, Party, VARIANTS};
use server::{Cores, Server};

pub(crate) use record::write as record;
pub(crate) use rows::Row;
pub(crate) use table::{everybody, text};

/// How many connections are kept busy at a time.
const CONCURRENCIES: [u32; 4] = [1, 8, 32, 128];
/// How many a flood keeps busy.
const FLOOD_CONNECTIONS: u32 = 128;
/// Before a batch counts.
const WARM: Duration = Duration::from_millis(300);
/// How long a server may take to give its first answer.
const PATIENCE: Duration = Duration::from_secs(600);
/// A generator that is busier than this may be what is measured.
const BUSY_GENERATOR_PERCENT: f64 = 90.0;

/// What to measure.
pub(crate) struct Choice<'a> {
    /// Which peers.
    pub(crate) against: &'a Against,
    /// Only rows whose name contains this.
    pub(crate) only: Option<&'a str>,
    /// How many batches of each kind.
    pub(crate) rounds: usize,
    /// How long a batch counts.
    pub(crate) seconds: f64,
    /// How long servers that are compiled while they run have load on all cores before the first round.
    pub(crate) warm_seconds: f64,
}

/// What came out.
pub(crate) struct Outcome {
    pub(crate) rows: Vec<Row>,
    pub(crate) measured: Measured,
    pub(crate) cores: Cores,
    pub(crate) rounds: usize,
    pub(crate) seconds: f64,
}

/// What was seen of every server.
#[derive(Default)]
pub(crate) struct Measured {
    pub(crate) cells: Vec<Cell>,
    pub(crate) servers: Vec<Seen>,
}

/// What was seen of a server besides its batches.
pub(crate) struct Seen {
    pub(crate) party: &'static str,
    pub(crate) version: String,
    /// What its first connection agreed on.
    pub(crate) tls: String,
    /// Megabytes after the first answer, before any load.
    pub(crate) idle_rss: Stats,
    /// Milliseconds from its start to the first token.
    pub(crate) start: Stats,
}

/// One kind of batch and what each round of it came to.
pub(crate) struct Cell {
    pub(crate) batch: Batch,
    pub(crate) samples: Vec<Sample>,
}

/// One kind of batch.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Batch {
    pub(crate) party: &'static str,
    pub(crate) what: What,
    pub(crate) connections: u32,
}

/// What is asked for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum What {
    /// RFC 6749 §4.4, by client_secret_basic.
    Token(Algorithm),
    /// The same, by private_key_jwt: RFC 7523 §2.2, each assertion used once.
    TokenByAssertion(Algorithm),
    /// RFC 7662, of one live token, by client_secret_basic.
    Introspection(Algorithm),
    /// RFC 6749 §4.1 with RFC 7636, of somebody who has signed in: the authorization endpoint, then the token endpoint, with
    /// an ID token. A flow counts as one answer.
    Code,
    /// As `Token(Es256)`, while somebody else keeps 128 connections busy with assertions of ML-DSA-87 whose signatures are
    /// bad.
    Flooded(Flood),
}

/// Where a flood comes from.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Flood {
    /// One address, not that of the others.
    OneAddress,
    /// Another for each connection: no limit of an address is reached.
    ManyAddresses,
}

impl Flood {
    fn addresses(self) -> Vec<String> {
        match self {
            Flood::OneAddress => vec!["127.0.0.2".to_owned()],
            Flood::ManyAddresses => (0..FLOOD_CONNECTIONS).map(|n| format!("127.0.1.{}", n + 1)).collect(),
        }
    }
}

impl What {
    /// As records and tables call it.
    pub(crate) fn name(self) -> String {
        match self {
            What::Token(algorithm) => format!("token {algorithm}"),
            What::TokenByAssertion(algorithm) => format!("token {algorithm} by private_key_jwt"),
            What::Introspection(algorithm) => format!("introspection {algorithm}"),
            What::Code => "code and PKCE ES256".to_owned(),
            What::Flooded(Flood::OneAddress) => "token ES256, flood of one address".to_owned(),
            What::Flooded(Flood::ManyAddresses) => "token ES256, flood of many".to_owned(),
        }
    }
}

/// One batch.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    /// Answers a second.
    pub(crate) rate: f64,
    /// Microseconds.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
    /// Of one core, all processes of the server together.
    pub(crate) cpu_percent: f64,
    pub(crate) generator_cpu_percent: f64,
    /// Megabytes of all processes of the server, at the end.
    pub(crate) rss: f64,
    /// Of a mean answer.
    pub(crate) body_bytes: f64,
}

impl Cell {
    pub(crate) fn stats(&self, of: impl Fn(&Sample) -> f64) -> Stats {
        Stats::of(&self.samples.iter().map(of).collect::<Vec<_>>())
    }
}

impl Measured {
    pub(crate) fn cell(&self, batch: Batch) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.batch == batch && !cell.samples.is_empty())
    }

    pub(crate) fn server(&self, party: &str) -> Option<&Seen> {
        self.servers.iter().find(|seen| seen.party == party)
    }
}

/// Measures every row that is chosen.
pub(crate) fn measure(root: &Path, choice: &Choice<'_>) -> Result<Outcome, String> {
    let goals = Goals::read(root)?;
    let cores = Cores::choose()?;
    eprintln!("{cores}");
    let chosen = rows::chosen(choice.only);
    if chosen.is_empty() {
        return Err(format!("no row has {} in its name", choice.only.unwrap_or_default()));
    }
    let whole = choice.only.is_none();
    let mut others = peers(root, choice.against)?;
    if whole {
        others.splice(0..0, &VARIANTS);
    }
    let bench = Bench { cores, generator: Generator::find()?, ours: Ours::prepare()?, root: root.to_owned() };
    let mut measured = Measured::default();
    let mut servers = bench.start_all(&others, choice, &mut measured)?;
    measured.cells = batches(&chosen, &others, whole);
    for round in 1..=choice.rounds {
        eprintln!("round {round} of {}: {} batches", choice.rounds, measured.cells.len());
        for cell in &mut measured.cells {
            let at = servers.iter().position(|server| server.party.name == cell.batch.party);
            let at = at.ok_or_else(|| format!("{} does not run", cell.batch.party))?;
            cell.samples.push(bench.batch(&mut servers[at], cell.batch, choice.seconds)?);
        }
    }
    drop(servers);
    let rows = chosen.iter().map(|row| row.resolve(&measured, &goals)).collect();
    let Choice { rounds, seconds, .. } = *choice;
    Ok(Outcome { rows, measured, cores, rounds, seconds })
}

/// Every batch that the rows need and, in a whole run, what tables show of everybody. One concurrency after the other, so
/// that batches which are compared are neighbours.
fn batches(chosen: &[&rows::Definition], others: &[&'static Party], whole: bool) -> Vec<Cell> {
    let runs = |party: &str| party == OURS.name || others.iter().any(|other| other.name == party);
    let mut wanted: Vec<Batch> = chosen.iter().flat_map(|row| row.batches()).collect();
    if whole {
        for party in std::iter::once(&&OURS).chain(others) {
            let is_variant = VARIANTS.iter().any(|variant| variant.name == party.name);
            let introspection = party.introspects(Algorithm::Es256).filter(|_| !is_variant);
            let ml_dsa = Some(What::Token(Algorithm::MlDsa65)).filter(|_| party.ours.is_some());
            let kinds = [Some(What::Token(Algorithm::Es256)), ml_dsa, introspection];
            for what in kinds.into_iter().flatten() {
                wanted.extend(CONCURRENCIES.map(|connections| Batch {
                    party: party.name,
                    what,
                    connections,
                }));
            }
        }
    }
    let mut cells: Vec<Cell> = Vec::new();
    for connections in CONCURRENCIES {
        let here = wanted.iter().filter(|batch| batch.connections == connections && runs(batch.party));
        for batch in here {
            if !cells.iter().any(|cell| cell.batch == *batch) {
                cells.push(Cell { batch: *batch, samples: Vec::new() });
            }
        }
    }
    cells
}

/// The peers that are asked for, those that are built. One that is named must be.
fn peers(root: &Path, against: &Against) -> Result<Vec<&'static Party>, String> {
    let built = |party: &&Party| party.version(root).is_some();
    match against {
        Against::Goals => Ok(Vec::new()),
        Against::All => Ok(PARTIES.iter().filter(built).collect()),
        Against::Named(names) => names
            .iter()
            .map(|name| {
                let party = PARTIES.iter().find(|party| party.name == name);
                let party = party.ok_or_else(|| format!("there is no peer called {name}"))?;
                let hint = format!("{name} is not built: bench/auth/peers/{name}/build does");
                Some(party).filter(built).ok_or(hint)
            })
            .collect(),
    }
}

/// What every batch needs.
struct Bench {
    cores: Cores,
    generator: Generator,
    ours: Ours,
    root: PathBuf,
}

impl Bench {
    /// Starts everybody, one after the other. Each is stopped until its turn.
    fn start_all(
        &self,
        others: &[&'static Party],
        choice: &Choice<'_>,
        measured: &mut Measured,
    ) -> Result<Vec<Server>, String> {
        let mut servers = Vec::new();
        for &party in std::iter::once(&&OURS).chain(others) {
            let version = match party.ours {
                Some(_) => self.ours.version()?,
                None => party.version(&self.root).unwrap_or_default(),
            };
            eprintln!("starting {}: {version}", party.name);
            let mut started = self.start(party)?;
            let (mut starts, mut rss) = (vec![started.milliseconds], vec![started.server.rss()]);
            // Ours is started as often as there are rounds, so that its start has a spread; the last one stays.
            for _ in 1..if party.ours.is_some() { choice.rounds } else { 1 } {
                drop(started);
                started = self.start(party)?;
                starts.push(started.milliseconds);
                rss.push(started.server.rss());
            }
            let Started { mut server, tls, .. } = started;
            let (idle_rss, start) = (Stats::of(&rss), Stats::of(&starts));
            measured.servers.push(Seen { party: party.name, version, tls, idle_rss, start });
            if party.compiles_while_running {
                self.warm(&mut server, choice)?;
            }
            server.pause();
            servers.push(server);
        }
        Ok(servers)
    }

    fn start(&self, party: &'static Party) -> Result<Started, String> {
        let port = server::free_port()?;
        let cores = match party.compiles_while_running {
            true => self.cores.both(),
            false => self.cores.server.to_string(),
        };
        let command = match party.ours {
            Some(settings) => self.ours.command(party.name, settings, port)?,
            None => party.command(&self.root, self.ours.folder(), port)?,
        };
        let what = What::Token(Algorithm::Es256);
        let request = requests::of(&self.ours, party, what, None)?;
        let load = Load { patience: PATIENCE, ..Load::one(party, port, what) };
        let mut waiting =
            self.generator.start(self.cores.generator, self.ours.certificate(), &load, &request)?;
        let begun = Instant::now();
        let server = Server::start(party, port, &cores, &command, self.ours.folder())?;
        let answered = waiting.answered().map_err(|why| server.blame(&why))?;
        let milliseconds = begun.elapsed().as_secs_f64() * 1000.0;
        requests::check_algorithm(&answered.body, Algorithm::Es256).map_err(|why| server.blame(&why))?;
        Ok(Started { server, milliseconds, tls: answered.tls })
    }

    /// Gives a server that compiles itself while it runs the cores and the load to do so: most of the time tokens, then
    /// what else it will be asked.
    fn warm(&self, server: &mut Server, choice: &Choice<'_>) -> Result<(), String> {
        let what = What::Token(Algorithm::Es256);
        let introspection = server.party.introspects(Algorithm::Es256);
        let share = if introspection.is_some() { 0.6 } else { 1.0 };
        let kinds = [(Some(what), share), (introspection, 1.0 - share)];
        for (what, share) in kinds.into_iter().filter_map(|(what, share)| Some((what?, share))) {
            let batch = Batch { party: server.party.name, what, connections: 32 };
            let sample = self.load(server, batch, choice.warm_seconds * share)?;
            eprintln!("  warmed by {}: {:.0}/s on cores {}", what.name(), sample.rate, self.cores.both());
        }
        // Once more where it will be measured.
        server.pin(self.cores.server)?;
        let batch = Batch { party: server.party.name, what, connections: 32 };
        self.load(server, batch, choice.warm_seconds / 6.0).map(drop)
    }

    fn batch(&self, server: &mut Server, batch: Batch, seconds: f64) -> Result<Sample, String> {
        server.resume();
        let sample = self.load(server, batch, seconds)?;
        server.pause();
        let Batch { party, what, connections } = batch;
        if sample.rate == 0.0 {
            return Err(format!("{party}: {} at {connections}: no answer in {seconds} s", what.name()));
        }
        eprintln!(
            "  {party:14} {:32} c={connections:<4} {:8.0}/s  p50 {:8.0} µs  p99 {:8.0} µs  cpu {:3.0} %  generator {:3.0} %",
            what.name(),
            sample.rate,
            sample.p50,
            sample.p99,
            sample.cpu_percent,
            sample.generator_cpu_percent
        );
        if sample.generator_cpu_percent > BUSY_GENERATOR_PERCENT && !self.cores.shared() {
            eprintln!("  the generator is busy: this batch may measure it, and not the server");
        }
        Ok(sample)
    }

    fn load(&self, server: &Server, batch: Batch, seconds: f64) -> Result<Sample, String> {
        let Batch { what, connections, .. } = batch;
        let blame = |why: String| server.blame(&format!("{} at {connections}: {why}", what.name()));
        let token = match what {
            What::Introspection(algorithm) => Some(self.token(server, algorithm).map_err(blame)?),
            _ => None,
        };
        let _flood = match what {
            What::Flooded(flood) => Some(self.flood(server, flood, seconds).map_err(blame)?),
            _ => None,
        };
        let requests = requests::for_load(&self.ours, server.party, what, token.as_deref(), seconds)?;
        let warm = WARM.min(Duration::from_secs_f64(seconds));
        let code = (what == What::Code).then(|| {
            json!({"authorize": requests::authorize_path(), "login": "/login", "username": PERSON.0, "password": PERSON.1})
        });
        let load = Load { code, connections, seconds, warm, ..Load::one(server.party, server.port, what) };
        let started = self.generator.start(self.cores.generator, self.ours.certificate(), &load, &requests);
        let mut running = started?;
        let answered = running.answered().map_err(blame)?;
        if let What::Token(algorithm) | What::TokenByAssertion(algorithm) = what {
            requests::check_algorithm(&answered.body, algorithm).map_err(blame)?;
        }
        running.measured(server).map_err(blame)
    }

    /// Keeps connections busy with bad assertions until it is dropped. It has the server's answers when this returns.
    fn flood(&self, server: &Server, flood: Flood, seconds: f64) -> Result<Running, String> {
        let load = Load {
            connections: FLOOD_CONNECTIONS,
            contains: "\"error\":",
            from: flood.addresses(),
            refused: true,
            // Longer than what is measured meanwhile.
            seconds: 10.0 * seconds + 60.0,
            ..Load::one(server.party, server.port, What::Token(Algorithm::Es256))
        };
        let request = [requests::bad_assertion(&self.ours)?];
        let certificate = self.ours.certificate();
        let mut running = self.generator.start(self.cores.generator, certificate, &load, &request)?;
        running.answered()?;
        running.begun()?;
        // Whatever limits there are have seen it.
        std::thread::sleep(Duration::from_secs(2));
        Ok(running)
    }

    /// A token of this server, of this algorithm.
    fn token(&self, server: &Server, algorithm: Algorithm) -> Result<String, String> {
        let what = What::Token(algorithm);
        let request = requests::of(&self.ours, server.party, what, None)?;
        let load = Load::one(server.party, server.port, what);
        let certificate = self.ours.certificate();
        let answered =
            self.generator.start(self.cores.generator, certificate, &load, &request)?.answered()?;
        requests::check_algorithm(&answered.body, algorithm)
    }
}

/// A server that has just answered for the first time.
struct Started {
    server: Server,
    milliseconds: f64,
    tls: String,
}
