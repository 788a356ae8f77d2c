//! The report as a picture: above, what one file costs by the length of its signature, with the steps where a file system takes
//! one more block; below, what the tree costs.

use std::fmt::Write as _;

use sealstone_tree::forecast::Geometry;
use sealstone_tree::{Census, FileSystem};

use super::{Findings, Row};
use crate::terminal::grouped;

const WIDTH: f64 = 940.0;
/// The plot of the steps.
const LEFT: f64 = 84.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 128.0;
const STEPS: f64 = 250.0;
/// The longest value that is shown.
const LONGEST: f64 = 5200.0;
/// The highest cost.
const HIGHEST: f64 = 14_000.0;

pub(super) fn draw(findings: &Findings) -> String {
    let steps = curves(findings);
    let bars = TOP + STEPS + 92.0;
    let group = 20.0 + 15.0 * findings.algorithms.len() as f64;
    let height = bars + 44.0 + group * findings.rows.len() as f64 + 16.0;
    let mut out = String::new();
    // Writing to text does not fail.
    let _ = write!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0}" width="{WIDTH}" height="{height:.0}" role="img">
<title>What signatures cost, by file system</title>
<style>
svg {{ background: #fff; --ink: #1b2430; --note: #5b6875; --line: #dfe4ea; --0: #7c8894; --1: #2f8f5b; --2: #1463b8; --3: #7a4fb5; --ext4: #c2571a; --xfs: #b3245d; --btrfs: #7a7410; --f2fs: #5b6875 }}
@media (prefers-color-scheme: dark) {{ svg {{ background: #12161b; --ink: #e8edf3; --note: #9aa7b4; --line: #2b333c; --0: #8d99a6; --1: #6fd19c; --2: #6db1ff; --3: #b794f4; --ext4: #ff9d5c; --xfs: #ff86b3; --btrfs: #d6d36a; --f2fs: #9aa7b4 }} }}
text {{ font: 12.5px system-ui, sans-serif; fill: var(--ink) }} .title {{ font-size: 17px; font-weight: 600 }} .note {{ fill: var(--note) }} .b {{ font-weight: 600 }} .end {{ text-anchor: end }} .mid {{ text-anchor: middle }}
line {{ stroke: var(--line) }} polyline {{ fill: none; stroke-width: 2.4; stroke-linejoin: round }} .mark {{ stroke: var(--note); stroke-dasharray: 2 4 }}
</style>
"##
    );
    text(&mut out, 24.0, 34.0, "title", "A step, not a slope: what one signature adds to one file");
    text(
        &mut out,
        24.0,
        55.0,
        "note",
        "bytes of disk by the length of the attribute, for a file without another one",
    );
    axes(&mut out, findings);
    for (at, (name, colour, points)) in steps.iter().enumerate() {
        let x = 24.0 + 150.0 * at as f64;
        let _ = writeln!(
            out,
            r#"<line x1="{x:.1}" y1="78" x2="{:.1}" y2="78" style="stroke: var(--{colour}); stroke-width: 2.4"/>"#,
            x + 18.0
        );
        text(&mut out, x + 24.0, 82.0, "", name);
        let _ = writeln!(out, r#"<polyline style="stroke: var(--{colour})" points="{points}"/>"#);
    }
    tree(&mut out, findings, bars, group);
    out.push_str("</svg>\n");
    out
}

fn x(len: f64) -> f64 {
    LEFT + len / LONGEST * (WIDTH - LEFT - RIGHT)
}

fn y(bytes: f64) -> f64 {
    TOP + STEPS - bytes / HIGHEST * STEPS
}

fn axes(out: &mut String, findings: &Findings) {
    for blocks in 0..=3 {
        let bytes = 4096 * blocks;
        let y = y(f64::from(bytes));
        let _ = writeln!(out, r#"<line x1="{LEFT}" y1="{y:.1}" x2="{:.1}" y2="{y:.1}"/>"#, WIDTH - RIGHT);
        text(out, LEFT - 8.0, y + 4.0, "note end", &grouped(bytes as usize));
    }
    for len in (0..=5).map(|thousand| thousand * 1000) {
        text(out, x(f64::from(len)), TOP + STEPS + 20.0, "note mid", &grouped(len as usize));
    }
    for of in &findings.algorithms {
        let x = x(of.bytes() as f64);
        let _ = writeln!(
            out,
            r#"<line class="mark" x1="{x:.1}" y1="{:.1}" x2="{x:.1}" y2="{:.1}"/>"#,
            TOP - 8.0,
            TOP + STEPS
        );
        text(out, x, TOP - 14.0, "mid", of.name());
    }
}

/// The first file system of each kind that has steps.
fn curves(findings: &Findings) -> Vec<(String, &'static str, String)> {
    let mut curves: Vec<(String, &'static str, String)> = Vec::new();
    for row in &findings.rows {
        let colour = match row.geometry.kind() {
            FileSystem::Btrfs => "btrfs",
            FileSystem::Ext4 => "ext4",
            FileSystem::F2fs => "f2fs",
            FileSystem::Xfs => "xfs",
            _ => continue,
        };
        if curves.iter().all(|(_, known, _)| *known != colour) {
            curves.push((row.geometry.to_string(), colour, points(&row.geometry, findings.name, colour)));
        }
    }
    curves
}

/// Corners of the steps; the line ends where a value does not fit.
fn points(geometry: &Geometry, name: &str, colour: &str) -> String {
    // Lines that lie on each other are told apart by two pixels.
    let shift =
        ["xfs", "ext4", "f2fs", "btrfs"].iter().position(|of| *of == colour).unwrap_or(0) as f64 * 2.0 - 3.0;
    let mut points = String::new();
    let mut last: Option<f64> = None;
    let many = Census::of_files(2000, 50_000, &[]);
    for len in (0..=LONGEST as usize).step_by(20) {
        let cost = match geometry.kind() {
            FileSystem::Btrfs if len % 100 != 0 => continue,
            // Of one file nothing can be said: leaves are shared.
            FileSystem::Btrfs => {
                let forecast = geometry.forecast(&many, name, len);
                if forecast.unfit() > 0 { break } else { forecast.added.max(0) as f64 / 2000.0 }
            }
            _ => match geometry.alone(name, len) {
                Ok(cost) => cost as f64,
                Err(_) => break,
            },
        };
        if cost > HIGHEST {
            break;
        }
        let is_corner = last != Some(cost);
        if let (Some(last), true, false) = (last, is_corner, geometry.kind() == FileSystem::Btrfs) {
            let _ = write!(points, "{:.1},{:.1} ", x(len as f64), y(last) + shift);
        }
        if is_corner || len + 20 > LONGEST as usize {
            let _ = write!(points, "{:.1},{:.1} ", x(len as f64), y(cost) + shift);
        }
        last = Some(cost);
    }
    if let (Some(last), Err(misfit)) = (last, geometry.alone(name, LONGEST as usize)) {
        let _ = write!(points, "{:.1},{:.1}", x((misfit.limit as f64).min(LONGEST)), y(last) + shift);
    }
    points.trim_end().to_owned()
}

/// Bars for each file system.
fn tree(out: &mut String, findings: &Findings, top: f64, group: f64) {
    let census = &findings.census;
    let (files, of) = (grouped(census.files() as usize), &findings.title);
    text(out, 24.0, top, "title", &format!("{of}: {files} files, {:.1} MB", census.bytes() as f64 / 1e6));
    text(
        out,
        24.0,
        top + 21.0,
        "note",
        "MB that its signatures add; behind the bar, in per cent of the contents",
    );
    let most = findings
        .rows
        .iter()
        .flat_map(|row| row.costs.iter().map(|cost| cost.added))
        .max()
        .unwrap_or(0)
        .max(1);
    for (at, row) in findings.rows.iter().enumerate() {
        bars(out, row, findings, top + 40.0 + group * at as f64, most as f64);
    }
}

fn bars(out: &mut String, row: &Row, findings: &Findings, top: f64, most: f64) {
    let name = row.geometry.to_string();
    let class = if row.here { "b" } else { "" };
    text(out, 24.0, top + 13.0, class, &name);
    if row.here {
        text(out, 24.0, top + 29.0, "note", "as it lies");
    }
    let whole = findings.census.bytes();
    for (line, (of, cost)) in findings.algorithms.iter().zip(&row.costs).enumerate() {
        let y = top + 15.0 * line as f64;
        text(out, 258.0, y + 11.0, "note end", of.name());
        let length = (cost.added.max(0) as f64 / most) * 480.0;
        let _ = writeln!(
            out,
            r#"<rect x="268" y="{:.1}" width="{length:.1}" height="11" rx="2" fill="var(--{})"/>"#,
            y + 1.0,
            *of as usize
        );
        let label = match (cost.files, cost.unfit()) {
            (0, unfit) if unfit > 0 => "does not fit".to_owned(),
            (_, unfit) => {
                let share = if whole > 0 { cost.added as f64 * 100.0 / whole as f64 } else { 0.0 };
                let some = if unfit > 0 {
                    format!("; {} do not fit", grouped(unfit as usize))
                } else {
                    String::new()
                };
                match cost.added {
                    0 => format!("0{some}"),
                    added => format!("{:.1} · {share:.1} %{some}", added as f64 / 1e6),
                }
            }
        };
        text(out, 268.0 + length + 6.0, y + 11.0, "note", &label);
    }
}

fn text(out: &mut String, x: f64, y: f64, class: &str, content: &str) {
    let content = content.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = writeln!(out, r#"<text x="{x:.1}" y="{y:.1}" class="{class}">{content}</text>"#);
}
