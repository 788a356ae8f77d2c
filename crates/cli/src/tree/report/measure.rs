//! `--measure`: the forecast, put to the test on disks in files. Samples of the tree are signed with keys that nobody keeps, and
//! what the disk gave stands beside what was forecast.
//!
//! Mounts are made where no other process sees them (mount_namespaces(7)), and images have no name any more once they are mounted:
//! whatever ends the command, the kernel takes both away. The directory above them is removed by the process that waits outside.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use sealstone_mldsa::{OsRandom, Randomness as _};
use sealstone_pki::PrivateKeyInfo;
use sealstone_tree::forecast::Geometry;
use sealstone_tree::{Rules, SignOptions, Signer, Signing, Tree};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use zeroize::Zeroizing;

use super::table::megabytes;
use super::{Algorithm, Findings};
use crate::error::Error;
use crate::terminal::{BOLD, DIM, Safe, Terminal, grouped};

/// Larger files are made of this size: what an attribute costs does not depend on it.
const LARGEST: u64 = 65_536;
/// How often the process inside is looked after.
const PACE: Duration = Duration::from_millis(50);

/// Runs the same command once more where its mounts are its own, and ends as it ends.
pub(super) fn apart() -> Result<(), Error> {
    let folder = tempfile::Builder::new().prefix("sealstone-measure-").tempdir();
    let folder = folder.map_err(|cause| Error::file("a directory for disks", "made", cause))?;
    let failed = |cause: io::Error| match cause.kind() {
        io::ErrorKind::NotFound => {
            Error::usage("unshare is not there, which keeps mounts apart", "the package util-linux has it")
        }
        _ => Error::file("unshare", "run", cause),
    };
    let program = std::env::current_exe().map_err(|cause| Error::file("this program", "found", cause))?;
    let mut inside = Command::new("unshare");
    inside.args(["--mount", "--propagation", "private"]).arg(program).args(std::env::args_os().skip(1));
    inside.arg("--inside").arg(folder.path());
    let runtime = crate::client::runtime()?;
    let code = runtime.block_on(async {
        // From here on a signal ends the process inside, and not this one before it has cleaned up.
        let mut interrupted = signal(SignalKind::interrupt())?;
        let mut terminated = signal(SignalKind::terminate())?;
        let mut child = inside.spawn()?;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status.code());
            }
            let stopped = tokio::select! {
                _ = interrupted.recv() => true,
                _ = terminated.recv() => true,
                () = tokio::time::sleep(PACE) => false,
            };
            if stopped {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
        }
    });
    let code = code.map_err(failed)?;
    let place = folder.path().to_owned();
    // A tool that was at work may still be ending.
    if folder.close().is_err() {
        std::thread::sleep(Duration::from_millis(200));
        let _ = fs::remove_dir_all(place);
    }
    match code {
        Some(0) => Ok(()),
        // It said why.
        Some(code) => std::process::exit(code),
        None => {
            Err(Error::Tree { code: 130, what: "interrupted: nothing is left behind".into(), hint: None })
        }
    }
}

/// Signs a sample on each file system with each algorithm.
pub(super) fn all(
    findings: &Findings,
    sample: usize,
    folder: &Path,
    quiet: bool,
    terminal: &mut Terminal,
) -> Result<Vec<Value>, Error> {
    let mut measured = Vec::new();
    if !quiet {
        let files = grouped(sample.min(findings.census.remembered().len()));
        terminal
            .line(format_args!("\n{BOLD}measured{BOLD:#}  on samples of {files} files, on disks in files"))?;
        terminal.line(format_args!(
            "{BOLD}{:<38}{:>14}{:>14}{:>14}{BOLD:#}",
            "", "forecast", "measured", "difference"
        ))?;
    }
    for row in &findings.rows {
        for of in &findings.algorithms {
            let name = row.geometry.to_string();
            let outcome = one(&row.geometry, *of, findings, sample, folder);
            match &outcome {
                Ok(outcome) => {
                    if !quiet {
                        let unfit = match outcome.unfit {
                            0 => String::new(),
                            unfit => format!("  {} files do not fit", grouped(unfit as usize)),
                        };
                        terminal.line(format_args!(
                            "{name:<26}{:<12}{:>14}{:>14}{:>14}{unfit}",
                            of.name(),
                            megabytes(outcome.forecast),
                            megabytes(outcome.measured),
                            outcome.difference()
                        ))?;
                    }
                    measured.push(json!({
                        "algorithm": of.name(),
                        "do_not_fit": outcome.unfit,
                        "file_system": name,
                        "files": outcome.files,
                        "forecast_bytes": outcome.forecast,
                        "forecast_do_not_fit": outcome.forecast_unfit,
                        "measured_bytes": outcome.measured,
                    }));
                }
                Err(why) => {
                    if !quiet {
                        terminal.line(format_args!(
                            "{name:<26}{DIM}predicted, not measured: {}{DIM:#}",
                            Safe(why)
                        ))?;
                    }
                    measured.push(json!({ "file_system": name, "not_measured": why }));
                    // The other algorithms would hear the same.
                    break;
                }
            }
        }
    }
    Ok(measured)
}

struct Outcome {
    files: u64,
    forecast: i64,
    measured: i64,
    unfit: u64,
    forecast_unfit: u64,
}

impl Outcome {
    fn difference(&self) -> String {
        match (self.forecast - self.measured, self.measured) {
            (0, _) => "none".into(),
            (off, 0) => format!("{off} B"),
            (off, measured) => format!("{:+.1} %", off as f64 * 100.0 / measured.abs() as f64),
        }
    }
}

/// Why something was not measured is a sentence.
fn one(
    geometry: &Geometry,
    of: Algorithm,
    findings: &Findings,
    sample: usize,
    folder: &Path,
) -> Result<Outcome, String> {
    let count = sample.min(findings.census.remembered().len());
    let disk = Disk::make(geometry, folder, count)?;
    let said = |cause: &dyn std::fmt::Display| cause.to_string();
    findings
        .census
        .replicate(&disk.files, count, LARGEST)
        .map_err(|cause| format!("the sample cannot be made: {}", crate::error::Plain(&cause)))?;
    disk.ready()?;
    let jobs = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let open = |at: &Path| Tree::open(at, Rules::default(), false, jobs).map_err(|cause| said(&cause));
    let (tree, whole) = (open(&disk.tree)?, open(&disk.place)?);
    let before = whole.settled_room().map_err(|cause| said(&cause))?.unused;
    let census = tree.census();
    let forecast = geometry.forecast(&census, findings.name, of.bytes());
    let signer = signer(of)?;
    let options = SignOptions { attribute: Some(findings.name), replace: true, ..SignOptions::default() };
    let (mut unfit, mut failed) = (0, None);
    let Ok(()) = tree.sign(&signer, options, |entry| {
        match entry.outcome {
            Signing::Failed(sealstone_tree::Error::TooLarge { .. }) => unfit += 1,
            Signing::Failed(why) => failed = Some(why),
            _ => {}
        }
        Ok::<(), Infallible>(())
    });
    if let Some(why) = failed {
        return Err(format!("the sample cannot be signed: {why}"));
    }
    let after = whole.settled_room().map_err(|cause| said(&cause))?.unused;
    let measured = i64::try_from(before).unwrap_or(0) - i64::try_from(after).unwrap_or(0);
    Ok(Outcome {
        files: census.files(),
        forecast: forecast.added,
        measured,
        unfit,
        forecast_unfit: forecast.unfit(),
    })
}

/// A key that nobody keeps.
fn signer(of: Algorithm) -> Result<Signer, String> {
    let mut secret = Zeroizing::new([0_u8; 48]);
    OsRandom.fill(&mut secret[..]).map_err(|cause| cause.to_string())?;
    let secret = match of.level() {
        Some(_) => &secret[..32],
        None => {
            // Below the order of P-384, and not nothing.
            secret[0] = 0x5a;
            &secret[..]
        }
    };
    let info = PrivateKeyInfo::new(of.key(), secret, None).map_err(|cause| cause.to_string())?;
    Signer::new(&info, None, 0).map_err(|cause| cause.to_string())
}

/// A disk in a file without a name, mounted where only this process sees it.
struct Disk {
    /// Where the disk is mounted.
    place: PathBuf,
    /// Where files are made.
    files: PathBuf,
    /// Where they are signed.
    tree: PathBuf,
    /// Of an overlay: its options.
    overlay: Option<String>,
}

impl Disk {
    fn make(geometry: &Geometry, folder: &Path, files: usize) -> Result<Self, String> {
        let failed = |cause: io::Error| format!("{}: {}", folder.display(), crate::error::Plain(&cause));
        let (image, place) = (folder.join("image"), folder.join("disk"));
        fs::create_dir_all(&place).map_err(failed)?;
        let (node, inode, block);
        let inodes = (files * 3 + 2000).to_string();
        let base = match geometry {
            Geometry::Overlay { upper } => upper,
            other => other,
        };
        let (tool, package, options): (&str, &str, Vec<&str>) = match base {
            Geometry::Btrfs { node: size, copies } => {
                node = size.to_string();
                let copies = match copies {
                    1 => "single",
                    2 => "dup",
                    _ => return Err("this many copies need as many disks".into()),
                };
                ("mkfs.btrfs", "btrfs-progs", vec!["-q", "-f", "-n", &node, "-m", copies])
            }
            Geometry::Ext4 { block: size, inode: of, ea_inode } => {
                (block, inode) = (size.to_string(), of.to_string());
                let mut options = vec!["-q", "-F", "-b", &block, "-I", &inode, "-N", &inodes];
                if *ea_inode {
                    options.extend(["-O", "ea_inode"]);
                }
                ("mkfs.ext4", "e2fsprogs", options)
            }
            Geometry::F2fs => ("mkfs.f2fs", "f2fs-tools", vec!["-q", "-f"]),
            Geometry::Tmpfs => ("", "", vec![]),
            Geometry::Xfs { inode: of, .. } => {
                inode = format!("size={of}");
                ("mkfs.xfs", "xfsprogs", vec!["-q", "-f", "-i", &inode])
            }
            _ => return Err("nobody knows yet how to make it".into()),
        };
        let disk =
            Self { files: place.join("tree"), tree: place.join("tree"), place: place.clone(), overlay: None };
        if tool.is_empty() {
            run("mount", "util-linux", &[&"-t", &"tmpfs", &"tmpfs", &place])?;
        } else {
            // Twice what the files and the largest signatures take, and what the smallest XFS needs; only what is written is taken.
            let bytes = (files as u64 * (LARGEST + 16_384) * 2).max(512 << 20);
            let made = fs::File::create(&image).and_then(|file| file.set_len(bytes));
            made.map_err(failed)?;
            let mut arguments: Vec<&dyn AsRef<OsStr>> = Vec::new();
            arguments.extend(options.iter().map(|option| option as &dyn AsRef<OsStr>));
            arguments.push(&image);
            let mounted = run(tool, package, &arguments)
                .and_then(|()| run("mount", "util-linux", &[&"-o", &"loop", &image, &place]));
            fs::remove_file(&image).map_err(failed)?;
            mounted?;
        }
        disk.layers(geometry).map_err(failed)
    }

    fn layers(mut self, geometry: &Geometry) -> io::Result<Self> {
        if let Geometry::Overlay { .. } = geometry {
            let layers = ["lower", "upper", "work", "over"].map(|name| self.place.join(name));
            layers.iter().try_for_each(fs::create_dir_all)?;
            let [lower, upper, work, over] = layers;
            let layers = [("lowerdir", &lower), ("upperdir", &upper), ("workdir", &work)];
            let options: Vec<String> =
                layers.iter().map(|(name, at)| format!("{name}={}", at.display())).collect();
            (self.files, self.tree, self.overlay) = (lower, over, Some(options.join(",")));
        }
        fs::create_dir_all(&self.files)?;
        Ok(self)
    }

    /// Layers are mounted when the lower one has its files.
    fn ready(&self) -> Result<(), String> {
        match &self.overlay {
            None => Ok(()),
            Some(options) => {
                run("mount", "util-linux", &[&"-t", &"overlay", &"-o", options, &"overlay", &self.tree])
            }
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.overlay.is_some() {
            let _ = run("umount", "util-linux", &[&self.tree]);
        }
        // What stays mounted goes with the process.
        let _ = run("umount", "util-linux", &[&self.place]);
    }
}

fn run(tool: &str, package: &str, arguments: &[&dyn AsRef<OsStr>]) -> Result<(), String> {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(tool);
    command.args(arguments.iter().map(AsRef::as_ref)).env("PATH", path).stdin(Stdio::null());
    let done = command.output().map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound => format!("{tool} is not there; the package {package} has it"),
        _ => format!("{tool}: {}", crate::error::Plain(&cause)),
    })?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let said = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it failed without a word");
    match said.contains("unknown filesystem type") {
        true => Err("this kernel does not have it".into()),
        false => Err(format!("{tool}: {}", said.trim())),
    }
}
