//! 4000 files of 16 KiB, and one large file.

use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA256};

use super::disk::{self, Disk};
use super::parties::{Hands, Party};
use super::run::{Pinned, timed};
use super::{Cells, Choice, Figure};
use crate::clock;

const FILES: usize = 4000;
const SIZE: usize = 16 * 1024;
/// A process for each file is far from the others: fewer are enough.
const FEW: usize = 40;
const LARGE: u64 = 1 << 30;
/// What a loop over memory hashes at a time, which stays in the nearest cache.
const PIECE: usize = 64 * 1024;

/// What is run in one piece in each round.
#[derive(Clone, Copy)]
enum Unit {
    Signs(Party),
    Jobs,
    Large,
}

/// The disks. ML-DSA-87 fits ext4 with `ea_inode` alone.
struct Trees {
    disk: Disk,
    files: Vec<PathBuf>,
    roomy: Disk,
    roomy_files: Vec<PathBuf>,
}

pub(crate) fn measure(
    hands: &Hands,
    folder: &Path,
    choice: &Choice<'_>,
    cells: &mut Cells,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    let mut units = vec![Unit::Jobs, Unit::Large];
    let ours = super::parties::KEYS.map(|(key, _)| Party::Ours(key));
    for party in ours.into_iter().chain([Party::Evmctl, Party::OpenSsl, Party::OpenSslCommand]) {
        if hands.has(party) {
            units.push(Unit::Signs(party));
        } else {
            eprintln!("{}: not there, left out", party.name());
        }
    }
    units.retain(|unit| unit.is_wanted(choice.only));
    if units.is_empty() {
        return Ok(());
    }
    let disk = Disk::ext4(folder, "small", 640 << 20, &[])?;
    let files = disk::fill(&disk.path().join("files"), FILES, SIZE)?;
    let roomy = Disk::ext4(folder, "roomy", 640 << 20, &["-O", "ea_inode"])?;
    let roomy_files = disk::fill(&roomy.path().join("files"), FILES, SIZE)?;
    let trees = Trees { disk, files, roomy, roomy_files };
    let large = match units.iter().any(|unit| matches!(unit, Unit::Large)) {
        false => None,
        true => {
            let disk = Disk::ext4(folder, "large", LARGE + (256 << 20), &[])?;
            disk::large(&disk.path().join("files/large"), LARGE)?;
            Some(disk)
        }
    };
    notes.push(format!(
        "{FILES} files of {SIZE} bytes on ext4 in a file, read before (warm); 87 on one with ea_inode; {FEW} files for a process each"
    ));
    for round in 0..choice.rounds {
        eprintln!("round {} of {}", round + 1, choice.rounds);
        // Everybody is first once, and each neighbour is on either side.
        let count = units.len();
        let mut order: Vec<Unit> = (0..count).map(|place| units[(place + round) % count]).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for unit in order {
            match unit {
                Unit::Signs(party) => trees.signs(hands, party, round == 0, cells)?,
                Unit::Jobs => trees.jobs(hands, round, cells)?,
                Unit::Large => large.as_ref().map_or(Ok(()), |disk| one_file(hands, disk, cells))?,
            }
        }
    }
    Ok(())
}

impl Unit {
    fn is_wanted(self, only: Option<&str>) -> bool {
        let cells: &[&str] = match self {
            Self::Signs(party) => &[&party.name()],
            Self::Jobs => &["one-job", "two-jobs"],
            Self::Large => &["large", "sha256 loop", "openssl-dgst"],
        };
        cells.iter().any(|cell| super::rows::feeds(cell, only))
    }
}

impl Trees {
    /// Signs files without signatures, verifies them, and with our default key signs them once more.
    fn signs(&self, hands: &Hands, party: Party, first: bool, cells: &mut Cells) -> Result<(), String> {
        let (disk, files) = match party {
            Party::Ours("87") => (&self.roomy, &self.roomy_files[..]),
            Party::OpenSslCommand => (&self.disk, &self.files[..FEW]),
            _ => (&self.disk, &self.files[..]),
        };
        let (tree, name) = (disk.path().join("files"), party.name());
        disk::strip(files)?;
        disk.sync()?;
        let _core = Pinned::new()?;
        cells.per_file(&format!("{name} sign"), hands.sign(party, &tree, files)?, files.len());
        let (signed, _) = disk::signed(files);
        if party != Party::OpenSslCommand && signed != files.len() {
            return Err(format!("{name} signed {signed} of {} files and says that all is well", files.len()));
        }
        if first {
            hands.check(party, &tree).map_err(|why| format!("what {name} signed: {why}"))?;
        }
        disk.sync()?;
        cells.per_file(&format!("{name} verify"), hands.verify(party, &tree, files)?, files.len());
        if party == Party::Ours("65") {
            cells.per_file(&format!("{name} resign"), hands.sign(party, &tree, files)?, files.len());
        }
        Ok(())
    }

    /// One job and two, each on all cores that there are.
    fn jobs(&self, hands: &Hands, round: usize, cells: &mut Cells) -> Result<(), String> {
        let tree = self.disk.path().join("files");
        let mut jobs = [("one-job", 1), ("two-jobs", 2)];
        if round % 2 == 1 {
            jobs.reverse();
        }
        for (name, jobs) in jobs {
            disk::strip(&self.files)?;
            self.disk.sync()?;
            let sign = timed(hands.ours("sign", "65", jobs, &tree).args(["--store", "xattr"]))?;
            cells.per_file(&format!("{name} sign"), sign, FILES);
            self.disk.sync()?;
            cells.per_file(
                &format!("{name} verify"),
                timed(&mut hands.ours("verify", "65", jobs, &tree))?,
                FILES,
            );
        }
        Ok(())
    }
}

/// Megabytes a second of the processor's time: a file signed, the same file by OpenSSL's command, and as many bytes of memory in
/// a loop, all on the same core.
fn one_file(hands: &Hands, disk: &Disk, cells: &mut Cells) -> Result<(), String> {
    let tree = disk.path().join("files");
    let file = tree.join("large");
    let megabytes = LARGE as f64 / 1e6;
    disk::strip(std::slice::from_ref(&file))?;
    disk.sync()?;
    let _core = Pinned::new()?;
    let taken = timed(hands.ours("sign", "65", 1, &tree).args(["--store", "xattr"]))?;
    cells.add("large sign rate", Figure::Rate, megabytes / taken.cpu.as_secs_f64());
    let mut dgst = hands.openssl();
    let taken = timed(dgst.args(["dgst", "-sha256"]).arg(&file))?;
    cells.add("openssl-dgst large rate", Figure::Rate, megabytes / taken.cpu.as_secs_f64());
    let piece = vec![0xa5; PIECE];
    let start = clock::now();
    let mut context = Context::new(&SHA256);
    for _ in 0..LARGE as usize / PIECE {
        context.update(&piece);
    }
    std::hint::black_box(context.finish());
    let taken = clock::now() - start;
    cells.add("sha256 loop rate", Figure::Rate, megabytes / taken.as_secs_f64());
    Ok(())
}
