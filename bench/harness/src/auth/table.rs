//! What a reader gets: rows beside their goals, then everybody's own figures as a table that docs can take over.

use super::rows::{Figure, Row};
use super::{Cell, Measured, Outcome};
use crate::table::Stats;

/// The rows.
pub(crate) fn text(outcome: &Outcome) -> String {
    let Outcome { rows, cores, rounds, seconds, .. } = outcome;
    let mut text = format!(
        "{cores}; {rounds} rounds of {seconds} s; TLS 1.3, HTTP/1.1, keep-alive\n{:34} {:>9} {:>19}  {:14} {:>9} {:>6} {:>9}\n",
        "row", "ours", "quartiles", "against", "its", "ratio", "goal"
    );
    for row in rows {
        let value = |stats: Stats| with_unit(row.figure, stats.median);
        let quartiles = |stats: Stats| format!("{}-{}", figure(stats.lower), figure(stats.upper));
        let dash = || "-".to_owned();
        let (against, its) =
            row.against.map_or((dash(), dash()), |(party, stats)| (party.to_owned(), value(stats)));
        text += &format!(
            "{:34} {:>9} {:>19}  {against:14} {its:>9} {:>6} {}\n",
            row.name,
            row.ours.map_or_else(dash, value),
            row.ours.map_or_else(dash, quartiles),
            row.ratio().map_or_else(dash, |ratio| format!("{ratio:.2}")),
            goal(row),
        );
    }
    text
}

fn goal(row: &Row) -> String {
    let Some((goal, met)) = row.goal() else { return format!("{:>9}", "-") };
    let sign = if row.figure.rises() { '≥' } else { '≤' };
    format!("{:>9} {}", format!("{sign} {}", goal.bound()), if met { "met" } else { "missed" })
}

/// Everybody's figures, in Markdown: medians of the rounds, with the quartiles of the throughput.
pub(crate) fn everybody(measured: &Measured) -> String {
    let mut text = "\n| server | asked for | c | answers/s (quartiles) | p50 ms | p99 ms | p99.9 ms | CPU % | µs of CPU | RSS MB |\n\
                    |---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    let mut cells: Vec<&Cell> = measured.cells.iter().filter(|cell| !cell.samples.is_empty()).collect();
    // Together what is the same but for the concurrency, servers in the order in which they were started.
    let place = |cell: &Cell| measured.servers.iter().position(|seen| seen.party == cell.batch.party);
    cells.sort_by_key(|cell| (cell.batch.what.name(), place(cell), cell.batch.connections));
    for cell in cells {
        let median = |of: fn(&super::Sample) -> f64| cell.stats(of).median;
        let rate = cell.stats(|sample| sample.rate);
        text += &format!(
            "| {} | {} | {} | {} ({}-{}) | {:.2} | {:.2} | {:.2} | {:.0} | {:.0} | {:.0} |\n",
            cell.batch.party,
            cell.batch.what.name(),
            cell.batch.connections,
            figure(rate.median),
            figure(rate.lower),
            figure(rate.upper),
            median(|sample| sample.p50 / 1000.0),
            median(|sample| sample.p99 / 1000.0),
            median(|sample| sample.p999 / 1000.0),
            median(|sample| sample.cpu_percent),
            // Of one answer.
            median(|sample| sample.cpu_percent / 100.0 / sample.rate * 1e6),
            median(|sample| sample.rss),
        );
    }
    text += "\n| server | start to the first token | idle RSS | connection |\n|---|---:|---:|---|\n";
    for seen in &measured.servers {
        let start = with_unit(Figure::Start, seen.start.median);
        let rss = with_unit(Figure::IdleRss, seen.idle_rss.median);
        text += &format!("| {}: {} | {start} | {rss} | {} |\n", seen.party, seen.version, seen.tls);
    }
    text
}

fn with_unit(of: Figure, value: f64) -> String {
    match of {
        Figure::Most | Figure::Rate(_) => format!("{}/s", figure(value)),
        Figure::P50(_) | Figure::P99(_) => format!("{} µs", figure(value)),
        Figure::IdleRss => format!("{value:.1} MB"),
        Figure::Start => format!("{value:.0} ms"),
    }
}

fn figure(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}
