//! The verifying gateway with Mosquitto in the loop, all on loopback: what `./dev bench gateway` measures.
//!
//! Every round starts broker and gateway anew for each level, with one thread that verifies and with two, and sends messages
//! that were signed before the clock starts. A message that does not arrive clean, or arrives twice, ends the run. Then come
//! directories of 1, 1,000 and 10,000 devices: start, memory, and what a change of the directory does to messages under way.

mod load;
mod pool;
mod report;
mod servers;

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use sealstone_mldsa::Level;
use sealstone_mqtt::form::By;
use sealstone_mqtt::gateway::tags::MOST;
use sealstone_mqtt::gateway::wire::Version;
use tempfile::TempDir;

use crate::auth::server::Cores;
use load::Load;
use pool::Pool;
use servers::{Broker, Gateway, Layout};

pub(crate) use report::{Outcome, Row, record, text};

/// How many devices the directories have whose memory is measured.
const DIRECTORIES: [usize; 3] = [1, 1_000, 10_000];
/// Messages before the first that counts.
const WARM: usize = 1_000;
/// Messages a second while the directory changes.
const RELOAD_RATE: f64 = 200.0;
/// How long messages go on meanwhile, in seconds.
const RELOAD_SECONDS: f64 = 3.0;

/// What to measure.
pub(crate) struct Choice<'a> {
    /// Of a batch, about.
    pub(crate) seconds: f64,
    pub(crate) rounds: usize,
    /// Devices that send, in turn.
    pub(crate) devices: usize,
    /// `rates` or `memory`; both if none.
    pub(crate) only: Option<&'a str>,
}

/// Measures. Errors: a program that is missing or ends, a message that is lost, doubled or refused.
pub(crate) fn measure(root: &Path, choice: &Choice<'_>) -> Result<Outcome, String> {
    let wanted = |part: &str| choice.only.is_none_or(|only| only == part);
    if !wanted("rates") && !wanted("memory") {
        return Err("--only of gateway is rates or memory".to_owned());
    }
    let cores = Cores::choose()?;
    let mut outcome = Outcome::new(cores, choice);
    if wanted("rates") {
        for round in 1..=choice.rounds {
            for kind in Kind::ALL {
                let fault = |why| format!("{}: {why}", kind.name());
                rates(root, cores, choice, kind, &mut outcome).map_err(fault)?;
            }
            eprintln!("round {round} of {} is done", choice.rounds);
        }
    }
    if wanted("memory") {
        for devices in DIRECTORIES {
            let pool = Pool::new(By::Signature(Level::MlDsa44), devices);
            let folder = folder()?;
            pool.write_files(&folder.path().join("devices"))?;
            for _ in 0..choice.rounds {
                memory(root, cores, &pool, folder.path(), &mut outcome)
                    .map_err(|why| format!("{devices} devices: {why}"))?;
            }
        }
    }
    Ok(outcome)
}

/// What is sent in a round.
#[derive(Clone, Copy)]
struct Kind {
    by: By,
    version: Version,
}

impl Kind {
    /// The levels and tags with MQTT 5, and one level with what came before.
    const ALL: [Self; 5] = [
        Kind { by: By::Signature(Level::MlDsa44), version: Version::V5 },
        Kind { by: By::Signature(Level::MlDsa65), version: Version::V5 },
        Kind { by: By::Signature(Level::MlDsa87), version: Version::V5 },
        Kind { by: By::Mac, version: Version::V5 },
        Kind { by: By::Signature(Level::MlDsa65), version: Version::V311 },
    ];

    /// For people.
    fn name(self) -> String {
        let by = self.by.name();
        if self.version == Version::V5 { by.to_owned() } else { format!("{by}, MQTT 3.1.1") }
    }

    /// For rows: `44`, `65`, `87`, `tag` or `65-mqtt-3.1.1`.
    fn short(self) -> String {
        let level = |level: Level| level.name().rsplit('-').next().unwrap_or_default();
        let by = self.by.level().map_or("tag", level);
        if self.version == Version::V5 { by.to_owned() } else { format!("{by}-mqtt-3.1.1") }
    }

    /// Latencies are looked at where neither the seal nor the version is another one.
    fn has_latencies(self) -> bool {
        self.by != By::Mac && self.version == Version::V5
    }
}

/// One kind in one round: the highest rate with one thread and with two, then latencies at half of the better one. Tags come
/// without checkpoints, so no device sends more of them than the gateway remembers, and there are no latencies.
fn rates(
    root: &Path,
    cores: Cores,
    choice: &Choice<'_>,
    kind: Kind,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let (by, short, level) = (kind.by, kind.short(), kind.name());
    let mut best: f64 = 0.0;
    for threads in [1, 2] {
        let layout = Layout::of(cores, threads);
        let mut pool = Pool::new(by, choice.devices);
        let folder = folder()?;
        pool.write_array(&folder.path().join("devices"))?;
        let broker = Broker::start(&layout, folder.path())?;
        let gateway = Gateway::start(root, &layout, folder.path(), &broker, kind.version)?;
        let load = Load::connect(broker.port, &layout)?;
        let warm = load.closed(pool.sign(WARM)?)?;
        let most = if by == By::Mac { MOST * choice.devices - WARM } else { usize::MAX };
        let count = ((warm.rate() * choice.seconds).max(WARM as f64) as usize).min(most);
        let messages = pool.sign(count)?;
        let (gateway_before, broker_before) = (gateway.cpu(), broker.cpu());
        let ran = load.closed(messages)?;
        let share = |after: Duration, before: Duration| (after - before).as_secs_f64() * 1e6 / count as f64;
        let (ours, theirs) = (share(gateway.cpu(), gateway_before), share(broker.cpu(), broker_before));
        best = best.max(ran.rate());
        outcome.add(format!("gateway/verified-per-s/{short}/{threads}"), "1/s", ran.rate());
        outcome.add(format!("gateway/cpu-us-per-message/{short}/{threads}"), "us", ours);
        outcome.add(format!("gateway/broker-cpu-us-per-message/{short}/{threads}"), "us", theirs);
        if threads == 1 {
            outcome.add(format!("gateway/cpu-us-per-message/{short}"), "us", ours);
        }
        eprintln!(
            "  {level}, {threads} verifying: {:.0}/s of {count}; a message costs the gateway {ours:.0} µs, the broker {theirs:.0} µs",
            ran.rate()
        );
        if threads == 2 && kind.has_latencies() {
            let count = ((best / 2.0) * choice.seconds).max(1.0) as usize;
            let latencies = load.paced(pool.sign(count)?, best / 2.0, || Ok(()))?.latencies();
            for (name, part) in [("p50", 0.5), ("p99", 0.99), ("p999", 0.999)] {
                outcome.add(format!("gateway/{name}-ms/{short}"), "ms", latencies.at(part));
            }
            eprintln!(
                "  {level} at {:.0}/s: p50 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms",
                best / 2.0,
                latencies.at(0.5),
                latencies.at(0.99),
                latencies.at(0.999)
            );
        }
    }
    Ok(())
}

/// A directory of a file for each device: start, memory before and after a message of each, and with a change of the directory
/// the slowest message.
fn memory(
    root: &Path,
    cores: Cores,
    pool: &Pool,
    folder: &Path,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let devices = pool.devices();
    let layout = Layout::of(cores, 2);
    let _ = std::fs::remove_dir_all(folder.join("data"));
    let mut pool = Pool::new(By::Signature(Level::MlDsa44), devices);
    let broker = Broker::start(&layout, folder)?;
    let gateway = Gateway::start(root, &layout, folder, &broker, Version::V5)?;
    let load = Load::connect(broker.port, &layout)?;
    let idle = gateway.rss()?;
    load.closed(pool.sign(devices)?)?;
    let used = gateway.rss()?;
    outcome.add(format!("gateway/start-ms/{devices}"), "ms", gateway.milliseconds);
    outcome.add(format!("gateway/rss-idle-mb/{devices}"), "MB", idle);
    outcome.add(format!("gateway/rss-mb/{devices}"), "MB", used);
    // As if every device were quiet, and then as one entry is written anew.
    let count = (RELOAD_RATE * RELOAD_SECONDS) as usize;
    let quiet = load.paced(pool.sign(count)?, RELOAD_RATE, || Ok(()))?.latencies().at(1.0);
    let (before, messages) = (gateway.reloads(), pool.sign(count)?);
    let changed = load.paced(messages, RELOAD_RATE, || {
        sleep(Duration::from_millis(500));
        pool.touch(&folder.join("devices"))
    })?;
    if gateway.reloads() == before {
        return Err("the gateway did not read its directory again".to_owned());
    }
    let changed = changed.latencies().at(1.0);
    outcome.add(format!("gateway/slowest-ms/{devices}"), "ms", quiet);
    outcome.add(format!("gateway/slowest-at-reload-ms/{devices}"), "ms", changed);
    eprintln!(
        "  {devices} devices: there after {:.0} ms, {idle:.1} MB, {used:.1} MB after a message of each; the slowest of \
         {count} took {quiet:.1} ms, and {changed:.1} ms with the directory read again",
        gateway.milliseconds
    );
    Ok(())
}

fn folder() -> Result<TempDir, String> {
    tempfile::tempdir().map_err(|why| format!("no folder for the servers: {why}"))
}
