//! Mosquitto and the gateway as processes of their own, each on its cores, and what they use.

use std::fmt;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_setaffinity};
use sealstone_mqtt::gateway::wire::Version;

use crate::auth::server::{Cores, cpu_of, free_port};

/// How long a server has to start, and to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// Runs a program in the background, says its number, and ends it when standard input ends: also when whoever started it was
/// killed.
const SUPERVISOR: &str =
    "log=$1; shift; \"$@\" </dev/null >/dev/null 2>\"$log\" & echo $!; read -r _; kill -TERM $!; wait $!";

/// Who runs where.
#[derive(Clone)]
pub(super) struct Layout {
    /// Threads of the gateway that verify.
    threads: usize,
    gateway: Vec<usize>,
    broker_and_load: Vec<usize>,
}

impl Layout {
    /// One verifying thread: the gateway on one core, broker and load on the other. Two: all of them share both.
    pub(super) fn of(cores: Cores, threads: usize) -> Self {
        let both = vec![cores.server, cores.generator];
        match threads {
            1 => Layout { threads, gateway: vec![cores.server], broker_and_load: vec![cores.generator] },
            _ => Layout { threads, gateway: both.clone(), broker_and_load: both },
        }
    }

    /// Lets this thread run where the load belongs. Where that is refused, it runs anywhere.
    pub(super) fn pin_load(&self) {
        let mut set = CpuSet::new();
        self.broker_and_load.iter().for_each(|core| set.set(*core));
        let _ = sched_setaffinity(None, &set);
    }
}

/// In words, for records.
impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |cores: &[usize]| cores.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let (ours, theirs) = (list(&self.gateway), list(&self.broker_and_load));
        write!(f, "{} verifying: gateway on {ours}, broker and load on {theirs}", self.threads)
    }
}

/// Mosquitto on a free port of loopback.
pub(super) struct Broker {
    process: Process,
    pub(super) port: u16,
}

impl Broker {
    pub(super) fn start(layout: &Layout, folder: &Path) -> Result<Self, String> {
        let port = free_port()?;
        let config = folder.join("mosquitto.conf");
        // Without the second line the broker gives 20 messages at a time to each client, and waits for answers before it fills
        // a segment.
        let text = format!(
            "listener {port} 127.0.0.1\nallow_anonymous true\nuser root\nmax_queued_messages 0\n\
             max_inflight_messages 256\nset_tcp_nodelay true\nlog_dest stderr\nlog_type error\n"
        );
        fs::write(&config, text).map_err(|why| format!("{}: {why}", config.display()))?;
        let program = mosquitto()?;
        let arguments = ["-c".as_ref(), config.as_os_str()];
        let process = Process::start("mosquitto", &layout.broker_and_load, &program, &arguments, folder)?;
        let until = Instant::now() + PATIENCE;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if Instant::now() > until || !process.is_there() {
                return Err(process.blame("does not listen"));
            }
            sleep(Duration::from_millis(10));
        }
        Ok(Broker { process, port })
    }

    /// Time on a core since it started.
    pub(super) fn cpu(&self) -> Duration {
        cpu_of(self.process.pid)
    }
}

/// `sealstone mqtt gateway`, as it is shipped.
pub(super) struct Gateway {
    process: Process,
    /// From the start to the subscription.
    pub(super) milliseconds: f64,
}

impl Gateway {
    pub(super) fn start(
        root: &Path,
        layout: &Layout,
        folder: &Path,
        broker: &Broker,
        version: Version,
    ) -> Result<Self, String> {
        let program = root.join("target/release/sealstone");
        let config = folder.join("gateway.toml");
        let text = format!(
            "data_dir = {:?}\ndirectory = {:?}\n[broker]\naddress = \"127.0.0.1:{}\"\nversion = {:?}\n[workers]\nthreads = {}\n",
            folder.join("data"),
            folder.join("devices"),
            broker.port,
            if version == Version::V5 { "5" } else { "3.1.1" },
            layout.threads
        );
        fs::write(&config, text).map_err(|why| format!("{}: {why}", config.display()))?;
        let arguments = ["mqtt".as_ref(), "gateway".as_ref(), "--config".as_ref(), config.as_os_str()];
        let begun = Instant::now();
        let process = Process::start("gateway", &layout.gateway, &program, &arguments, folder)?;
        let mut gateway = Gateway { process, milliseconds: 0.0 };
        while gateway.process.lines_with(" subscribed") == 0 {
            if begun.elapsed() > PATIENCE || !gateway.process.is_there() {
                return Err(gateway.process.blame("does not subscribe"));
            }
            sleep(Duration::from_millis(1));
        }
        gateway.milliseconds = begun.elapsed().as_secs_f64() * 1000.0;
        Ok(gateway)
    }

    /// Time on a core since it started.
    pub(super) fn cpu(&self) -> Duration {
        cpu_of(self.process.pid)
    }

    /// Megabytes (10^6 bytes) in memory.
    pub(super) fn rss(&self) -> Result<f64, String> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.process.pid)).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        Ok(kilobytes.ok_or_else(|| self.process.blame("is not there any more"))? * 1024.0 / 1e6)
    }

    /// How often it has read its directory again.
    pub(super) fn reloads(&self) -> usize {
        self.process.lines_with(" directory ")
    }
}

/// A process of ours. It ends when the value does.
struct Process {
    name: &'static str,
    pid: u32,
    log: PathBuf,
    supervisor: Child,
}

impl Process {
    fn start(
        name: &'static str,
        cores: &[usize],
        program: &Path,
        arguments: &[&std::ffi::OsStr],
        folder: &Path,
    ) -> Result<Self, String> {
        let fault = |why: String| format!("{name}: {why}");
        let log = folder.join(format!("{name}.log"));
        // What one before it wrote there would be taken for its word.
        let _ = fs::remove_file(&log);
        let cores = cores.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let mut supervisor = Command::new("sh")
            .args(["-c", SUPERVISOR, "sealstone-bench"])
            .arg(&log)
            .args(["taskset", "-c", &cores])
            .arg(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|why| fault(why.to_string()))?;
        let mut line = String::new();
        if let Some(output) = supervisor.stdout.take() {
            BufReader::new(output).read_line(&mut line).map_err(|why| fault(why.to_string()))?;
        }
        // taskset becomes the program, and keeps its number.
        let pid = line.trim().parse().map_err(|_| fault("it was not started".to_owned()))?;
        Ok(Process { name, pid, log, supervisor })
    }

    fn lines_with(&self, word: &str) -> usize {
        fs::read_to_string(&self.log)
            .map_or(0, |text| text.lines().filter(|line| line.contains(word)).count())
    }

    fn is_there(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    }

    /// An error with the last lines of its log.
    fn blame(&self, why: &str) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        let last = lines[lines.len().saturating_sub(10)..].join("\n  ");
        format!("{} {why}\n  {last}", self.name)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take());
        let until = Instant::now() + PATIENCE;
        while self.is_there() && Instant::now() < until {
            sleep(Duration::from_millis(5));
        }
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid.filter(|_| self.is_there()) {
            let _ = kill_process(pid, Signal::KILL);
        }
        let _ = self.supervisor.wait();
    }
}

/// Where Mosquitto is: Debian has it where not everybody looks.
fn mosquitto() -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let found = folders.map(|folder| folder.join("mosquitto")).find(|program| program.is_file());
    found.ok_or_else(|| "mosquitto is missing: apt-get install mosquitto".to_owned())
}
