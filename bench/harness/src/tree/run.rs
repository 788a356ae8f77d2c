//! Programs that are run and measured: their processor time, and the most memory that one took.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// What a program took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    /// User and system time of all its threads.
    pub(crate) cpu: Duration,
    pub(crate) wall: Duration,
}

impl Taken {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { cpu: self.cpu + other.cpu, wall: self.wall + other.wall }
    }
}

/// Runs a program to its end; it must succeed.
pub(crate) fn timed(command: &mut Command) -> Result<Taken, String> {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let (before, start) = (of_children()?, Instant::now());
    let done = quiet.spawn().and_then(Child::wait_with_output).map_err(|why| told(command, &why))?;
    let taken = Taken { wall: start.elapsed(), cpu: of_children()?.saturating_sub(before) };
    if !done.status.success() {
        let last = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        return Err(format!("{}: {}: {last}", shown(command), done.status));
    }
    Ok(taken)
}

/// What a program says, which must succeed.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let done = command.stdin(Stdio::null()).output().map_err(|why| told(command, &why))?;
    if !done.status.success() {
        let last = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        return Err(format!("{}: {}: {last}", shown(command), done.status));
    }
    String::from_utf8(done.stdout).map_err(|_| format!("{}: not text", shown(command)))
}

/// Runs a program to its end and gives the most memory that it had at once, in bytes: `VmHWM`, looked at each hundredth of a
/// second, so that what it took in its last moment may be missing.
pub(crate) fn peak(command: &mut Command) -> Result<(Taken, u64), String> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let (before, start) = (of_children()?, Instant::now());
    let mut child = command.spawn().map_err(|why| told(command, &why))?;
    let path = format!("/proc/{}/status", child.id());
    let mut most = 0;
    let status = loop {
        let status = fs::read_to_string(&path).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")).and_then(|kib| kib.parse().ok());
        most = most.max(kib.unwrap_or(0_u64) * 1024);
        if let Some(status) = child.try_wait().map_err(|why| told(command, &why))? {
            break status;
        }
        sleep(Duration::from_millis(10));
    };
    let taken = Taken { wall: start.elapsed(), cpu: of_children()?.saturating_sub(before) };
    if !status.success() {
        return Err(format!("{}: {status}", shown(command)));
    }
    Ok((taken, most))
}

/// Processor time of all children that ended. One runs at a time, so a difference is that of one.
fn of_children() -> Result<Duration, String> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|why| format!("getrusage: {why}"))?;
    let microseconds = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(microseconds.unsigned_abs()))
}

fn told(command: &Command, why: &std::io::Error) -> String {
    format!("{}: {why}", shown(command))
}

/// The program and its first arguments.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args().take(6));
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// While this lives, this thread and the programs that it starts stay on one core.
pub(crate) struct Pinned(CpuSet);

impl Pinned {
    /// To SEALSTONE_CORE, or the last core, which the system uses least.
    pub(crate) fn new() -> Result<Self, String> {
        let before = sched_getaffinity(None).map_err(|why| format!("the cores: {why}"))?;
        let named = std::env::var("SEALSTONE_CORE").ok().and_then(|core| core.parse().ok());
        let last = (0..CpuSet::MAX_CPU).rev().find(|core| before.is_set(*core));
        let mut one = CpuSet::new();
        one.set(named.or(last).ok_or("there is no core")?);
        sched_setaffinity(None, &one).map_err(|why| format!("the core: {why}"))?;
        Ok(Self(before))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.0);
    }
}
