//! The report as a table for people, and in JSON for programs.

use sealstone_tree::forecast::{Forecast, Geometry};
use sealstone_tree::{FileSystem, SECURITY_IMA};
use serde_json::{Value, json};

use super::{Algorithm, Findings, Row};
use crate::error::Error;
use crate::terminal::{BAD, BOLD, DIM, Safe, Terminal, grouped};

/// Columns of a cell.
const CELL: usize = 19;

pub(super) fn show(findings: &Findings, terminal: &mut Terminal) -> Result<(), Error> {
    let census = &findings.census;
    let files = census.files();
    terminal.line(format_args!(
        "{BOLD}{}{BOLD:#}  {} files, {}",
        findings.title,
        grouped(files as usize),
        megabytes(census.bytes() as i64)
    ))?;
    for (count, what) in [
        (census.hard_links, "further names of these, which cost nothing"),
        (census.unreadable, "cannot be read by this user and are not counted"),
        (census.having(findings.name, None), "have a signature already, which is replaced"),
        (census.having("security.selinux", None), "have an SELinux label"),
        (census.having("system.posix_acl_access", None), "have an access control list"),
    ] {
        if count > 0 {
            terminal.line(format_args!("{DIM}{:>10} {what}{DIM:#}", grouped(count as usize)))?;
        }
    }
    terminal.line("")?;
    let head: String = findings.algorithms.iter().map(|of| format!("{:>CELL$}", of.name())).collect();
    terminal.line(format_args!("{BOLD}{:<25}{head}{BOLD:#}", "bytes of disk added"))?;
    let alone = |of: &Algorithm| format!("{:>CELL$}", megabytes((of.bytes() as u64 * files) as i64));
    let alone: String = findings.algorithms.iter().map(alone).collect();
    terminal.line(format_args!("{DIM}{:<25}{alone}{DIM:#}", "the values alone"))?;
    for row in &findings.rows {
        let cells: String = row.costs.iter().map(|cost| cell(cost, census.bytes())).collect();
        let name = row.geometry.to_string();
        let name = if row.here { format!("here: {name}") } else { name };
        let style = if row.here { BOLD } else { anstyle::Style::new() };
        terminal.line(format_args!("{style}{name:<25}{style:#}{cells}"))?;
    }
    for row in &findings.rows {
        notes(row, findings, terminal)?;
    }
    terminal.line("")?;
    for line in advice(findings) {
        terminal.line(line)?;
    }
    Ok(())
}

/// `224.0 MB 12.3 %`, and what does not fit.
fn cell(cost: &Forecast, whole: u64) -> String {
    let text = match (cost.files, cost.unfit()) {
        (0, unfit) if unfit > 0 => "does not fit".to_owned(),
        (_, unfit) => {
            let share = cost.added as f64 * 100.0 / whole as f64;
            // Of nothing, and of a few bytes, there is no share.
            let share = if share.abs() < 1000.0 { format!(" {share:.1} %") } else { String::new() };
            format!("{}{share}{}", megabytes(cost.added), if unfit > 0 { "*" } else { "" })
        }
    };
    format!("{text:>CELL$}")
}

fn notes(row: &Row, findings: &Findings, terminal: &mut Terminal) -> Result<(), Error> {
    let name = &row.geometry;
    if !row.assumed.is_empty() {
        let assumed = row.assumed.join(", ");
        terminal.line(format_args!(
            "{DIM}{name}: not found out, taken to be as mkfs makes it: {assumed}{DIM:#}"
        ))?;
    }
    for (of, cost) in findings.algorithms.iter().zip(&row.costs) {
        // What is the same for many files once; the rest in a sum.
        let mut misfits: Vec<_> = cost.misfits.iter().collect();
        misfits.sort_by_key(|misfit| std::cmp::Reverse(misfit.1));
        for (misfit, files) in misfits.iter().take(3) {
            terminal.line(format_args!(
                "{BAD}{name}, {}{BAD:#}: {} files do not fit: {}",
                of.name(),
                grouped(*files as usize),
                Safe(&misfit.to_string())
            ))?;
        }
        let more: u64 = misfits.iter().skip(3).map(|(_, files)| files).sum();
        if more > 0 {
            let more = grouped(more as usize);
            terminal.line(format_args!("{BAD}{name}, {}{BAD:#}: {more} more do not fit", of.name()))?;
        }
        if let Some(room) = findings.room.filter(|_| row.here) {
            let needs = u64::try_from(cost.added).unwrap_or(0);
            if needs > room.free && room.file_system != FileSystem::Tmpfs {
                let (needs, free) = (megabytes(needs as i64), megabytes(room.free as i64));
                terminal.line(format_args!(
                    "{BAD}{name}, {}{BAD:#}: {needs} are needed and {free} are free",
                    of.name()
                ))?;
            }
            if cost.inodes > room.inodes {
                let (needs, free) = (grouped(cost.inodes as usize), grouped(room.inodes as usize));
                terminal.line(format_args!(
                    "{BAD}{name}, {}{BAD:#}: {needs} inodes are needed and {free} are free",
                    of.name()
                ))?;
            }
        }
    }
    Ok(())
}

/// What follows from it, with where it comes from.
fn advice(findings: &Findings) -> Vec<String> {
    let mut lines = Vec::new();
    let has = |kind: FileSystem| findings.rows.iter().any(|row| row.geometry.kind() == kind);
    if has(FileSystem::Xfs) {
        lines.push(
            "XFS: a value below 3072 bytes shares a block with the file's other attributes (ML-DSA-44: 4096 bytes a file), a larger one has blocks of its own beside it (ML-DSA-65: 8192, ML-DSA-87: 12288)".into(),
        );
    }
    if has(FileSystem::Ext4) {
        lines.push(
            "ext4: the block that a P-384 signature or another attribute has taken already holds ML-DSA-44 or -65 in its place; ML-DSA-87 needs -O ea_inode".into(),
        );
    }
    if has(FileSystem::F2fs) {
        lines.push("f2fs: by its source; only the largest value was measured".into());
    }
    if has(FileSystem::Tmpfs) {
        lines.push("tmpfs: values take memory of the kernel that no limit counts".into());
    }
    lines.push(
        "level: from P-384 take ML-DSA-65 or -87, from P-256 any (NIST IR 8547 ipd, table 3); CNSA 2.0 asks for ML-DSA-87".into(),
    );
    lines
}

/// Everything, in bytes.
pub(super) fn json(findings: &Findings, measured: Vec<Value>) -> Value {
    let census = &findings.census;
    let signatures: Vec<Value> = findings
        .algorithms
        .iter()
        .map(|of| {
            let bytes = of.bytes() as u64;
            json!({ "algorithm": of.name(), "value_bytes": bytes, "pure_bytes": bytes * census.files() })
        })
        .collect();
    let rows: Vec<Value> = findings.rows.iter().map(|row| row_json(row, findings)).collect();
    let mut value = json!({
        "advice": advice(findings),
        "attribute": findings.name,
        "file_systems": rows,
        "free_bytes": findings.room.map(|room| room.free),
        "free_inodes": findings.room.map(|room| room.inodes),
        "signatures": signatures,
        "tree": {
            "bytes": census.bytes(),
            "directories": census.directories,
            "files": census.files(),
            "further_names": census.hard_links,
            "signed": census.having(findings.name, None),
            "signed_as_root_does": census.having(SECURITY_IMA, None),
            "unreadable": census.unreadable,
        },
    });
    if !measured.is_empty() {
        value["measured"] = measured.into();
    }
    value
}

fn row_json(row: &Row, findings: &Findings) -> Value {
    let costs: Vec<Value> = findings
        .algorithms
        .iter()
        .zip(&row.costs)
        .map(|(of, cost)| {
            let misfits: Vec<Value> = cost
                .misfits
                .iter()
                .map(|(misfit, files)| {
                    json!({
                        "files": files,
                        "limit": misfit.limit,
                        "missing": misfit.missing,
                        "others": misfit.others.iter().map(|(name, len)| json!({ "bytes": len, "name": name })).collect::<Vec<_>>(),
                    })
                })
                .collect();
            json!({
                "added_bytes": cost.added,
                "algorithm": of.name(),
                "copied_bytes": cost.copied,
                "do_not_fit": misfits,
                "files": cost.files,
                "inodes": cost.inodes,
            })
        })
        .collect();
    json!({
        "assumed": row.assumed,
        "costs": costs,
        "exact": matches!(row.geometry, Geometry::Ext4 { .. } | Geometry::Xfs { .. }),
        "here": row.here,
        "name": row.geometry.to_string(),
    })
}

/// Millions of bytes, to a tenth; 0 is 0.
pub(super) fn megabytes(bytes: i64) -> String {
    match bytes {
        0 => "0".into(),
        bytes if bytes.abs() < 50_000 => format!("{bytes} B"),
        bytes => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
