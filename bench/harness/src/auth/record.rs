//! What a whole run leaves behind: one file, the machine in its head, everybody's figures below.

use std::path::{Path, PathBuf};

use super::{Outcome, Sample};
use crate::record;
use crate::table::Stats;

/// What is kept of each kind of batch: its column, and how it is read.
type Column = (&'static str, fn(&Sample) -> f64);
const COLUMNS: [Column; 7] = [
    ("p50_us", |sample| sample.p50),
    ("p99_us", |sample| sample.p99),
    ("p999_us", |sample| sample.p999),
    ("cpu_percent", |sample| sample.cpu_percent),
    ("generator_cpu_percent", |sample| sample.generator_cpu_percent),
    ("rss_mb", |sample| sample.rss),
    ("body_bytes", |sample| sample.body_bytes),
];

/// Writes the record of a run below `bench/record/auth`, and returns its path.
pub(crate) fn write(root: &Path, outcome: &Outcome) -> Result<PathBuf, String> {
    record::keep(&root.join("bench/record/auth"), |date| text(root, date, outcome))
}

fn text(root: &Path, date: &str, outcome: &Outcome) -> String {
    let mut text = record::machine(root, date);
    let mut head = |key: &str, value: &str| text += &format!("# {key}: {value}\n");
    head("cores used", &outcome.cores.to_string());
    head("seconds of a batch", &outcome.seconds.to_string());
    for seen in &outcome.measured.servers {
        let (start, rss) = (seen.start.median, seen.idle_rss.median);
        head(
            seen.party,
            &format!("{}; first token after {start:.0} ms, then {rss:.1} MB; {}", seen.version, seen.tls),
        );
    }
    text += "server,asked_for,connections,rate_median,rate_lower,rate_upper";
    COLUMNS.iter().for_each(|(name, _)| text += &format!(",{name}"));
    text += ",rounds\n";
    for cell in outcome.measured.cells.iter().filter(|cell| !cell.samples.is_empty()) {
        let Stats { median, lower, upper } = cell.stats(|sample| sample.rate);
        let batch = cell.batch;
        text += &format!("{},{},{}", batch.party, batch.what.name(), batch.connections);
        text += &format!(",{median:.1},{lower:.1},{upper:.1}");
        COLUMNS.iter().for_each(|(_, of)| text += &format!(",{:.1}", cell.stats(of).median));
        text += &format!(",{}\n", cell.samples.len());
    }
    text
}
