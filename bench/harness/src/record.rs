//! What a run leaves behind: one file for each, the machine in its head, everybody's figures below.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::engine::Outcome;
use crate::table::Stats;

/// Flags of the processor that decide which code runs.
const FLAGS: [&str; 12] = [
    "avx2",
    "bmi2",
    "adx",
    "avx512f",
    "avx512bw",
    "avx512dq",
    "avx512vl",
    "avx512ifma",
    "avx512_vbmi",
    "avx512_vbmi2",
    "asimd",
    "sha3",
];

/// Writes the record of a run below `bench/record`, and returns its path.
pub(crate) fn write(root: &Path, outcome: &Outcome) -> Result<PathBuf, String> {
    keep(&root.join("bench/record"), |date| text(root, date, outcome))
}

/// Writes a file named after the time into a folder.
pub(crate) fn keep(folder: &Path, text: impl FnOnce(&str) -> String) -> Result<PathBuf, String> {
    let date = said("date", &["-u", "+%Y-%m-%dT%H:%M:%SZ"]);
    let path = folder.join(format!("{}.csv", date.replace(':', "")));
    fs::create_dir_all(folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    fs::write(&path, text(&date)).map_err(|why| format!("{}: {why}", path.display()))?;
    Ok(path)
}

/// The head of every record: the machine, the commit, the compilers.
pub(crate) fn machine(root: &Path, date: &str) -> String {
    let root = root.to_string_lossy();
    let mut text = String::new();
    let mut head = |key: &str, value: &str| text += &format!("# {key}: {value}\n");
    head("date", date);
    head("commit", &said("git", &["-C", &root, "describe", "--always", "--dirty"]));
    head("cpu", &cpu("model name"));
    head("family, model, stepping", &format!("{}, {}, {}", cpu("cpu family"), cpu("model"), cpu("stepping")));
    let flags = format!("{} {}", cpu("flags"), cpu("Features"));
    let present: Vec<_> =
        FLAGS.into_iter().filter(|flag| flags.split(' ').any(|there| there == *flag)).collect();
    head("flags", &present.join(" "));
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cores = cpus.lines().filter(|line| line.starts_with("processor")).count();
    head("cores", &cores.to_string());
    head("governor", &file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
    head("load", &file("/proc/loadavg"));
    head("system", &said("uname", &["-srm"]));
    head("rustc", &said("rustc", &["-V"]));
    head("cc", &said("cc", &["--version"]));
    head("go", &said("go", &["version"]));
    text
}

fn text(root: &Path, date: &str, outcome: &Outcome) -> String {
    let mut text = machine(root, date);
    let mut head = |key: &str, value: &str| text += &format!("# {key}: {value}\n");
    let Stats { median, lower, upper } = outcome.clock;
    head("core clock, GHz", &format!("{median:.3}, quartiles {lower:.3} to {upper:.3}"));
    head("room", outcome.room);
    outcome.versions.iter().for_each(|(name, version)| head(name, version));
    text += "who,operation,level,median_ns,lower_ns,upper_ns,rounds\n";
    for cell in &outcome.cells {
        let Stats { median, lower, upper } = Stats::of(&cell.rounds);
        let (who, operation, level) = (&cell.who, cell.operation, cell.level);
        text +=
            &format!("{who},{operation},{level},{median:.0},{lower:.0},{upper:.0},{}\n", cell.rounds.len());
    }
    text
}

/// The first line that a program prints.
pub(crate) fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    text.as_deref().and_then(|text| text.lines().next()).unwrap_or("-").to_owned()
}

/// The first core's entry of that name.
fn cpu(key: &str) -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut entries = text.lines().filter_map(|line| line.split_once(':'));
    entries.find(|(name, _)| name.trim() == key).map_or("-".to_owned(), |(_, value)| value.trim().to_owned())
}

fn file(path: &str) -> String {
    fs::read_to_string(path).map_or("-".to_owned(), |text| text.trim().to_owned())
}
