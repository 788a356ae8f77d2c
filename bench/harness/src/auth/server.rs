//! A running server: its processes, its core, and what it uses.

use std::fmt;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity};

use super::parties::Party;

/// The cores that are used: SEALSTONE_CORE for servers, SEALSTONE_LOAD_CORE for the generator.
#[derive(Clone, Copy)]
pub(crate) struct Cores {
    pub(crate) server: usize,
    pub(crate) generator: usize,
}

impl Cores {
    /// Of those that this process may use: the last, which the system uses least, for servers, and the one before it for
    /// the generator.
    pub(crate) fn choose() -> Result<Self, String> {
        let allowed = sched_getaffinity(None).map_err(|why| format!("the cores: {why}"))?;
        let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
        let last = *allowed.last().ok_or("there is no core")?;
        let server = named_core("SEALSTONE_CORE")?.unwrap_or(last);
        let other = allowed.iter().rev().find(|core| **core != server).copied().unwrap_or(server);
        Ok(Self { server, generator: named_core("SEALSTONE_LOAD_CORE")?.unwrap_or(other) })
    }

    /// As taskset takes them.
    pub(crate) fn both(self) -> String {
        format!("{},{}", self.server, self.generator)
    }

    /// Whether the generator takes time from the server.
    pub(crate) fn shared(self) -> bool {
        self.server == self.generator
    }
}

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, generator } = self;
        match self.shared() {
            true => write!(f, "server and generator on core {server}: they take time from each other"),
            false => write!(f, "server on core {server}, generator on core {generator}"),
        }
    }
}

fn named_core(variable: &str) -> Result<Option<usize>, String> {
    let Ok(text) = std::env::var(variable) else { return Ok(None) };
    text.parse().map(Some).map_err(|_| format!("{variable} is not the number of a core"))
}

/// A program and its arguments.
pub(crate) struct Command {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
}

/// Runs a program, and ends its process group when standard input ends: also when whoever started it was killed.
const SUPERVISOR: &str = "\"$@\" </dev/null & trap : TERM; read -r _; kill -CONT 0; kill -TERM 0; wait";
/// How long a server has to end by itself.
const END_WITHIN: Duration = Duration::from_secs(20);

/// A server that was started. It ends when the value does.
pub(crate) struct Server {
    pub(crate) party: &'static Party,
    pub(crate) port: u16,
    log: PathBuf,
    /// The supervisor, which leads the process group.
    leader: Child,
}

impl Server {
    /// Starts it on these cores; its output goes to a file in `folder`.
    pub(crate) fn start(
        party: &'static Party,
        port: u16,
        cores: &str,
        command: &Command,
        folder: &Path,
    ) -> Result<Self, String> {
        let log = folder.join(format!("{}.log", party.name));
        let fault = |why: io::Error| format!("{}: {why}", party.name);
        let output = fs::File::create(&log).map_err(fault)?;
        let leader = process::Command::new("taskset")
            .args(["-c", cores, "sh", "-c", SUPERVISOR, "sealstone-bench"])
            .arg(&command.program)
            .args(&command.arguments)
            .stdin(Stdio::piped())
            .stdout(output.try_clone().map_err(fault)?)
            .stderr(output)
            .process_group(0)
            .spawn();
        Ok(Self { party, port, log, leader: leader.map_err(|why| format!("taskset: {why}"))? })
    }

    /// An error with the last lines of its log.
    pub(crate) fn blame(&self, why: &str) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        let last = lines[lines.len().saturating_sub(10)..].join("\n  ");
        format!("{}: {why}\n  {last}", self.party.name)
    }

    /// Lets it run on one core only, every thread of it.
    pub(crate) fn pin(&self, core: usize) -> Result<(), String> {
        for process in self.processes() {
            let pinned = process::Command::new("taskset")
                .args(["-a", "-c", "-p", &core.to_string(), &process.pid.to_string()])
                .stdout(Stdio::null())
                .status();
            // A process that has just ended needs no core.
            if !pinned.is_ok_and(|status| status.success()) && process.is_there() {
                return Err(format!("{}: process {} could not be pinned", self.party.name, process.pid));
            }
        }
        Ok(())
    }

    /// Stops it until [`resume`](Self::resume).
    pub(crate) fn pause(&self) {
        self.signal(Signal::STOP);
    }

    pub(crate) fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Time on a core, of all its processes, since each started.
    pub(crate) fn cpu(&self) -> Duration {
        let ticks: u64 = self.processes().iter().map(|process| process.ticks).sum();
        seconds_of(ticks)
    }

    /// Megabytes (10^6 bytes) in memory, of all its processes; a page that several share counts for each.
    pub(crate) fn rss(&self) -> f64 {
        let pages: u64 = self.members().iter().map(|process| process.pages).sum();
        (pages * rustix::param::page_size() as u64) as f64 / 1e6
    }

    /// Not the supervisor: it must see the end of its input.
    fn signal(&self, signal: Signal) {
        for process in self.members() {
            process.signal(signal);
        }
    }

    fn members(&self) -> Vec<Process> {
        let mut processes = self.processes();
        processes.retain(|process| process.pid != self.leader.id());
        processes
    }

    /// The process group and everything that descends from it: PostgreSQL gives each of its processes a group.
    fn processes(&self) -> Vec<Process> {
        let (mut found, mut others): (Vec<_>, Vec<_>) =
            Process::all().into_iter().partition(|process| process.group == self.leader.id());
        loop {
            let (children, rest): (Vec<_>, Vec<_>) = others
                .into_iter()
                .partition(|process| found.iter().any(|parent| parent.pid == process.parent));
            if children.is_empty() {
                return found;
            }
            found.extend(children);
            others = rest;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let members = self.members();
        self.resume();
        // The supervisor's input ends here; it then ends the group.
        drop(self.leader.stdin.take());
        let until = Instant::now() + END_WITHIN;
        while members.iter().any(Process::is_there) && Instant::now() < until {
            sleep(Duration::from_millis(10));
        }
        members.iter().filter(|process| process.is_there()).for_each(|process| process.signal(Signal::KILL));
        let _ = self.leader.wait();
    }
}

/// A line of `/proc/PID/stat`.
#[derive(Clone, Copy)]
struct Process {
    pid: u32,
    parent: u32,
    group: u32,
    /// It waits to be asked how it ended. Its times still stand.
    ended: bool,
    ticks: u64,
    /// When it started: two processes of one number differ in it.
    started: u64,
    pages: u64,
}

impl Process {
    fn all() -> Vec<Self> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.filter_map(Self::read).collect()
    }

    fn read(pid: u32) -> Option<Self> {
        Self::parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// proc_pid_stat(5). The second field, a name in parentheses, may hold anything.
    fn parse(pid: u32, stat: &str) -> Option<Self> {
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Self {
            pid,
            ended: fields.first() == Some(&"Z"),
            parent: u32::try_from(number(4)?).ok()?,
            group: u32::try_from(number(5)?).ok()?,
            ticks: number(14)? + number(15)?,
            started: number(22)?,
            pages: number(24)?,
        })
    }

    fn is_there(&self) -> bool {
        Self::read(self.pid).is_some_and(|now| now.started == self.started && !now.ended)
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid.filter(|_| self.is_there()) {
            // One that has ended needs no signal.
            let _ = kill_process(pid, signal);
        }
    }
}

/// Time on a core of one process.
pub(crate) fn cpu_of(pid: u32) -> Duration {
    seconds_of(Process::read(pid).map_or(0, |process| process.ticks))
}

fn seconds_of(ticks: u64) -> Duration {
    Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// A port of the loopback address that nobody has.
pub(crate) fn free_port() -> Result<u16, String> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    bound.map(|address| address.port()).map_err(|why| format!("a free port: {why}"))
}

/// A program of ours, built beside this one.
pub(crate) fn program(name: &str) -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|why| format!("this program: {why}"))?;
    let path = own.with_file_name(name);
    match path.is_file() {
        true => Ok(path),
        false => Err(format!("{} is missing: ./dev bench auth builds it", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::Process;

    #[test]
    fn a_process_is_read_whatever_its_name_is() {
        let stat = "42 (a) R 1) S 7 6 6 0 -1 4194304 95 0 0 0 30 12 0 0 20 0 1 0 987 2543616 211 18446744073709551615";
        let process = Process::parse(42, stat).expect("a process");
        assert_eq!((process.parent, process.group, process.ticks), (7, 6, 42));
        assert_eq!((process.started, process.pages), (987, 211));
        assert!(!process.ended);
        assert!(Process::parse(42, &stat.replace(") S", ") Z")).expect("a process").ended);
    }
}
