//! Disks in files, which root mounts, and what lies on them.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::run::output;

/// The attribute of all signatures.
const ATTRIBUTE: &str = "security.ima";

/// A file system in a file or in memory, mounted while this lives.
pub(crate) struct Disk {
    image: Option<PathBuf>,
    at: PathBuf,
}

impl Disk {
    /// An ext4 of blocks of 4 KiB, with other options of mkfs.ext4.
    pub(crate) fn ext4(folder: &Path, name: &str, bytes: u64, options: &[&str]) -> Result<Self, String> {
        let (image, at) = (folder.join(format!("{name}.image")), folder.join(name));
        let _ = fs::remove_file(&image);
        let made = File::create(&image).and_then(|file| file.set_len(bytes));
        made.map_err(|why| format!("{}: {why}", image.display()))?;
        let mut make = Command::new("mkfs.ext4");
        make.args(["-q", "-b", "4096", "-m", "0"]).args(options).arg(&image);
        let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
        output(make.env("PATH", path))?;
        let disk = Self { image: Some(image.clone()), at };
        disk.mount(Command::new("mount").args(["-o", "loop"]).arg(&image))?;
        Ok(disk)
    }

    /// A file system in memory. Attributes count as inodes there, so that the number of these is not bounded.
    pub(crate) fn memory(folder: &Path, name: &str) -> Result<Self, String> {
        let disk = Self { image: None, at: folder.join(name) };
        disk.mount(Command::new("mount").args(["-t", "tmpfs", "-o", "size=64m,nr_inodes=0", "tmpfs"]))?;
        Ok(disk)
    }

    fn mount(&self, command: &mut Command) -> Result<(), String> {
        fs::create_dir_all(&self.at).map_err(|why| format!("{}: {why}", self.at.display()))?;
        output(command.arg(&self.at)).map(drop)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.at
    }

    /// Bytes of the disk that are taken.
    pub(crate) fn taken(&self) -> Result<u64, String> {
        self.sync()?;
        let stat = rustix::fs::statvfs(&self.at).map_err(|why| format!("{}: {why}", self.at.display()))?;
        Ok((stat.f_blocks - stat.f_bfree) * stat.f_frsize)
    }

    /// Writes out what is waiting to be, so that no run pays for the one before it.
    pub(crate) fn sync(&self) -> Result<(), String> {
        let root = File::open(&self.at).map_err(|why| format!("{}: {why}", self.at.display()))?;
        rustix::fs::syncfs(&root).map_err(|why| format!("{}: {why}", self.at.display()))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.at).status();
        if let Some(image) = &self.image {
            let _ = fs::remove_file(image);
        }
        let _ = fs::remove_dir(&self.at);
    }
}

/// Bytes that no two files have in common, always the same.
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for eight in bytes.chunks_mut(8) {
            eight.copy_from_slice(&self.next().to_le_bytes()[..eight.len()]);
        }
    }
}

/// Writes files of one size, a hundred to a directory, and gives their paths.
pub(crate) fn fill(at: &Path, count: usize, size: usize) -> Result<Vec<PathBuf>, String> {
    let mut noise = Noise::new(count as u64);
    let mut content = vec![0; size];
    let mut paths = Vec::with_capacity(count);
    for number in 0..count {
        let folder = at.join(format!("{:03}", number / 100));
        let path = folder.join(format!("file-{number:05}"));
        noise.fill(&mut content);
        let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, &content));
        written.map_err(|why| format!("{}: {why}", path.display()))?;
        paths.push(path);
    }
    Ok(paths)
}

/// One file of so many bytes.
pub(crate) fn large(path: &Path, bytes: u64) -> Result<(), String> {
    let mut noise = Noise::new(bytes);
    let mut piece = vec![0; 1 << 20];
    let mut write = || -> io::Result<()> {
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        let mut file = File::create(path)?;
        for _ in 0..bytes >> 20 {
            noise.fill(&mut piece);
            file.write_all(&piece)?;
        }
        file.sync_all()
    };
    write().map_err(|why| format!("{}: {why}", path.display()))
}

/// Every regular file below a directory of the same file system, each once whatever its names, with its bytes.
pub(crate) fn files(at: &Path) -> Result<Vec<(PathBuf, u64)>, String> {
    let told = |path: &Path, why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let device = fs::symlink_metadata(at).map_err(|why| told(at, &why))?.dev();
    let (mut found, mut seen, mut folders) = (Vec::new(), HashSet::new(), vec![at.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|why| told(&folder, &why))? {
            let path = entry.map_err(|why| told(&folder, &why))?.path();
            let stat = fs::symlink_metadata(&path).map_err(|why| told(&path, &why))?;
            if stat.is_dir() && stat.dev() == device {
                folders.push(path);
            } else if stat.is_file() && (stat.nlink() < 2 || seen.insert(stat.ino())) {
                found.push((path, stat.len()));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Takes all signatures away.
pub(crate) fn strip(files: &[PathBuf]) -> Result<(), String> {
    for file in files {
        match rustix::fs::removexattr(file, ATTRIBUTE) {
            Ok(()) | Err(rustix::io::Errno::NODATA) => {}
            Err(why) => return Err(format!("{}: {why}", file.display())),
        }
    }
    Ok(())
}

/// How many have a signature of any kind, and the bytes of all of them.
pub(crate) fn signed(files: &[PathBuf]) -> (usize, u64) {
    let mut value = [0; 8192];
    let lengths = files.iter().filter_map(|file| rustix::fs::getxattr(file, ATTRIBUTE, &mut value[..]).ok());
    lengths.fold((0, 0), |(count, bytes), length| (count + 1, bytes + length as u64))
}
