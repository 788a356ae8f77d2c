//! A million files: the most memory that signing and verifying takes.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use super::disk::Disk;
use super::parties::Hands;
use super::run::peak;
use super::{Cells, Figure};

const FILES: u64 = 1_000_000;
/// What a million signatures of ML-DSA-65 take in the memory of the kernel, and the files themselves.
const NEEDED: u64 = 8 << 30;

pub(crate) fn measure(
    hands: &Hands,
    folder: &Path,
    only: Option<&str>,
    cells: &mut Cells,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    let wanted = |cell| super::rows::feeds(cell, only);
    let free = available();
    if free < NEEDED {
        let (needed, free) = (NEEDED >> 30, free >> 30);
        notes.push(format!(
            "a million files: left out, {free} GiB of memory are free and {needed} are needed"
        ));
        return Ok(());
    }
    if wanted("million") {
        let disk = Disk::memory(folder, "million")?;
        let tree = disk.path().join("files");
        spread(&tree, FILES, 1000)?;
        let manifest = folder.join("million.manifest");
        let mut sign = hands.ours("sign", "65", 2, &tree);
        most(
            "million manifest-sign",
            sign.args(["--store", "manifest", "--manifest"]).arg(&manifest),
            cells,
        )?;
        let bytes = fs::metadata(&manifest).map(|found| found.len()).unwrap_or(0);
        notes.push(format!("the manifest of a million files: {bytes} bytes"));
        let mut verify = hands.ours("verify", "65", 2, &tree);
        most("million manifest-verify", verify.arg("--manifest").arg(&manifest), cells)?;
        most("million sign", hands.ours("sign", "65", 2, &tree).args(["--store", "xattr"]), cells)?;
        most("million verify", &mut hands.ours("verify", "65", 2, &tree), cells)?;
    }
    // No file has a signature, so that each is bad, and said to be: what is held is the names.
    if wanted("flat") {
        let disk = Disk::memory(folder, "flat")?;
        let tree = disk.path().join("files");
        spread(&tree, FILES, FILES)?;
        most("flat verify", allowing(&mut hands.ours("verify", "65", 2, &tree)), cells)?;
    }
    if wanted("links") {
        let disk = Disk::memory(folder, "links")?;
        let tree = disk.path().join("files");
        spread(&tree.join("a"), FILES, 1000)?;
        let mut copy = Command::new("cp");
        super::run::output(copy.args(["-al"]).arg(tree.join("a")).arg(tree.join("b")))?;
        most("links verify", allowing(&mut hands.ours("verify", "65", 2, &tree)), cells)?;
    }
    Ok(())
}

fn allowing(command: &mut Command) -> &mut Command {
    command.args(["--allow-unsigned", "*"])
}

fn most(name: &str, command: &mut Command, cells: &mut Cells) -> Result<(), String> {
    eprintln!("{name}");
    let (taken, bytes) = peak(command)?;
    cells.add(&format!("{name} memory"), Figure::Memory, bytes as f64 / 1e6);
    cells.per_file(name, taken, FILES as usize);
    Ok(())
}

/// Files of no bytes, so many to a directory.
fn spread(at: &Path, files: u64, each: u64) -> Result<(), String> {
    for number in 0..files {
        let folder = at.join(format!("{:04}", number / each));
        let path = folder.join(format!("a-file-of-a-million-{number:07}"));
        let made = if number % each == 0 { fs::create_dir_all(&folder) } else { Ok(()) };
        made.and_then(|()| File::create(&path)).map_err(|why| format!("{}: {why}", path.display()))?;
    }
    Ok(())
}

/// Bytes that the machine could still give.
fn available() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")).and_then(|kib| kib.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
