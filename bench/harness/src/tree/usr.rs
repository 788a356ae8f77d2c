//! The machine's own /usr: signed and verified by a manifest where it lies, and as a copy on an ext4, where the comparison of P-384
//! with ML-DSA-65 is made again.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::disk::{self, Disk};
use super::parties::{Hands, Party};
use super::run::{output, timed};
use super::{Cells, Figure};

const USR: &str = "/usr";
/// What a disk has beyond the files' own bytes: for each file a block for its signature and half a one at its end, and the
/// file system's own.
const FOR_EACH: u64 = 4096 + 2048 + 256;
const BEYOND: u64 = 512 << 20;
/// What stays free on the machine's disk.
const SPARED: u64 = 8 << 30;

pub(crate) fn measure(
    hands: &Hands,
    folder: &Path,
    cells: &mut Cells,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    by_manifest(hands, folder, cells)?;
    let (disk, parts) = copy(folder)?;
    let tree = disk.path().join("files");
    let found = disk::files(&tree)?;
    let bytes: u64 = found.iter().map(|(_, bytes)| bytes).sum();
    let files: Vec<_> = found.into_iter().map(|(path, _)| path).collect();
    cells.add("usr files count", Figure::Count, files.len() as f64);
    cells.add("usr files bytes", Figure::Megabytes, bytes as f64 / 1e6);
    notes.push(format!("the copy of /usr on ext4: {parts}, {} files, {bytes} bytes", files.len()));
    for party in [Party::Ours("65"), Party::Evmctl, Party::Ours("p384")] {
        if !hands.has(party) {
            eprintln!("{}: not there, left out", party.name());
            continue;
        }
        let name = format!("usr {}", party.name());
        eprintln!("{name}");
        disk::strip(&files)?;
        let before = disk.taken()?;
        cells.per_file(&format!("{name} sign"), hands.sign(party, &tree, &files)?, files.len());
        let after = disk.taken()?;
        let (signed, pure) = disk::signed(&files);
        if signed != files.len() {
            return Err(format!("{name}: {signed} of {} files are signed", files.len()));
        }
        cells.add(&format!("{name} added"), Figure::Megabytes, after.saturating_sub(before) as f64 / 1e6);
        cells.add(&format!("{name} pure"), Figure::Megabytes, pure as f64 / 1e6);
        cells.per_file(&format!("{name} verify"), hands.verify(party, &tree, &files)?, files.len());
        hands.check(party, &tree).map_err(|why| format!("what {name} signed: {why}"))?;
    }
    Ok(())
}

/// Nothing is written into /usr. What another user's process removes meanwhile would be missing, and said.
fn by_manifest(hands: &Hands, folder: &Path, cells: &mut Cells) -> Result<(), String> {
    let manifest = folder.join("usr.manifest");
    eprintln!("usr by manifest");
    let mut sign = hands.ours("sign", "65", 1, Path::new(USR));
    let taken = timed(sign.args(["--store", "manifest", "--manifest"]).arg(&manifest))?;
    seconds("usr manifest sign", taken, cells);
    let mut verify = hands.ours("verify", "65", 1, Path::new(USR));
    let taken = timed(verify.arg("--manifest").arg(&manifest))?;
    seconds("usr manifest verify", taken, cells);
    let bytes = fs::metadata(&manifest).map(|found| found.len()).unwrap_or(0);
    cells.add("usr manifest bytes", Figure::Megabytes, bytes as f64 / 1e6);
    Ok(())
}

fn seconds(name: &str, taken: super::Taken, cells: &mut Cells) {
    cells.add(&format!("{name} cpu"), Figure::Seconds, taken.cpu.as_secs_f64());
    cells.add(&format!("{name} wall"), Figure::Seconds, taken.wall.as_secs_f64());
}

/// As much of /usr as the machine's disk has room for: its directories, the smallest first.
fn copy(folder: &Path) -> Result<(Disk, String), String> {
    let entries = fs::read_dir(USR).map_err(|why| format!("{USR}: {why}"))?;
    let mut parts = Vec::new();
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let path = entry.path();
        let files = disk::files(&path)?;
        let cost: u64 = files.iter().map(|(_, size)| size.div_ceil(4096) * 4096 + FOR_EACH).sum();
        parts.push((cost, path));
    }
    parts.sort();
    let stat = rustix::fs::statvfs(folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    let room = (stat.f_bavail * stat.f_frsize).saturating_sub(SPARED + BEYOND);
    let mut taken = 0;
    let all = parts.len();
    parts.retain(|(cost, _)| {
        let fits = taken + cost <= room;
        taken += if fits { *cost } else { 0 };
        fits
    });
    let said = match parts.len() == all {
        true => "all of it".to_owned(),
        false => format!("{} of its {all} directories, for want of room", parts.len()),
    };
    let disk = Disk::ext4(folder, "usr", taken + taken / 20 + BEYOND, &["-i", "8192"])?;
    let tree = disk.path().join("files");
    fs::create_dir(&tree).map_err(|why| format!("{}: {why}", tree.display()))?;
    eprintln!("copying /usr: {said}, {} MB", taken / 1_000_000);
    for (_, path) in &parts {
        output(Command::new("cp").args(["-a", "-x", "--"]).arg(path).arg(&tree))?;
    }
    disk.sync()?;
    Ok((disk, said))
}
