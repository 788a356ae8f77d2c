//! Opening what lies beneath a directory, and nothing else: no symbolic link is followed in any part of a path, `..` leads
//! nowhere, and mount points are not crossed unless told.
//!
//! openat2 (Linux 5.6) does it in one call. Where the kernel does not have it, each part is opened by itself.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Longest path given to one call, in bytes: under PATH_MAX.
const LONGEST: usize = 4000;

/// The directory that everything is beneath.
pub(crate) struct Root {
    directory: OwnedFd,
    cross_mounts: bool,
    /// Of the directory, where mounts are told apart by hand.
    device: u64,
    openat2: bool,
}

impl Root {
    /// The way to the directory itself is the caller's: links in it are followed.
    pub(crate) fn open(path: &Path, cross_mounts: bool) -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(path, flags, Mode::empty())?;
        let device = rustix::fs::fstat(&directory)?.st_dev;
        let mut root = Self { directory, cross_mounts, device, openat2: true };
        root.openat2 = !matches!(root.by_openat2(root.directory.as_fd(), b".", flags), Err(Errno::NOSYS));
        Ok(root)
    }

    /// The same without openat2, as on old kernels.
    #[cfg(test)]
    pub(crate) fn without_openat2(mut self) -> Self {
        self.openat2 = false;
        self
    }

    /// The directory itself.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// Opens a directory to list it; an empty path is the root.
    pub(crate) fn directory(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let path = if path.is_empty() { b"." } else { path };
        self.beneath(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW)
    }

    /// Opens a file to read it. Opening waits for nobody, and leaves the time of access alone where that is allowed.
    pub(crate) fn file(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        match self.beneath(path, flags | OFlags::NOATIME) {
            // Only a file's owner and root may leave its time alone.
            Err(Errno::PERM) => self.beneath(path, flags),
            done => done,
        }
    }

    /// Long paths go in steps.
    fn beneath(&self, mut path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let mut at: Option<OwnedFd> = None;
        while path.len() > LONGEST {
            let cut = path[..LONGEST].iter().rposition(|byte| *byte == b'/').ok_or(Errno::NAMETOOLONG)?;
            let step =
                self.open_at(at.as_ref(), &path[..cut], OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW)?;
            at = Some(step);
            path = &path[cut + 1..];
        }
        self.open_at(at.as_ref(), path, flags)
    }

    fn open_at(&self, at: Option<&OwnedFd>, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let at = at.map_or(self.directory.as_fd(), |at| at.as_fd());
        let mut again = 0;
        loop {
            let opened =
                if self.openat2 { self.by_openat2(at, path, flags) } else { self.by_parts(at, path, flags) };
            match opened {
                Err(Errno::INTR) => {}
                // A rename elsewhere raced with the walk up, or somebody holds a lease and is asked to give it back: for a
                // tenth of a second, since a holder may take 45 (fs.lease-break-time) and then a new one.
                Err(Errno::AGAIN) if again < 100 => {
                    again += 1;
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                done => return done,
            }
        }
    }

    fn by_openat2(&self, at: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        if !self.cross_mounts {
            resolve |= ResolveFlags::NO_XDEV;
        }
        rustix::fs::openat2(at, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve)
    }

    fn by_parts(&self, at: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let mut parts = path.split(|byte| *byte == b'/').peekable();
        let mut held: Option<OwnedFd> = None;
        while let Some(part) = parts.next() {
            if part.is_empty() || part == b".." || path.first() == Some(&b'/') {
                return Err(Errno::XDEV);
            }
            let flags = match parts.peek() {
                Some(_) => OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW,
                None => flags,
            };
            let from = held.as_ref().map_or(at, |held| held.as_fd());
            let next = rustix::fs::openat(from, part, flags | OFlags::CLOEXEC, Mode::empty())?;
            if !self.cross_mounts && rustix::fs::fstat(&next)?.st_dev != self.device {
                return Err(Errno::XDEV);
            }
            held = Some(next);
        }
        held.ok_or(Errno::NOENT)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn refusals(root: &Root) {
        for (path, expected) in [
            (&b"inside/file"[..], None),
            (b"link", Some(Errno::LOOP)),
            (b"linked/file", Some(Errno::LOOP)),
            (b"../outside", Some(Errno::XDEV)),
            (b"inside/../file", None),
            (b"/etc/passwd", Some(Errno::XDEV)),
            (b"none", Some(Errno::NOENT)),
        ] {
            let found = root.file(path).err();
            // By parts, `..` is refused even where it would lead back, and a link in the way is no directory.
            let same = found == expected
                || !root.openat2 && (path == b"inside/../file" || found == Some(Errno::NOTDIR));
            assert!(same, "{:?}: {found:?}", String::from_utf8_lossy(path));
        }
    }

    #[test]
    fn nothing_is_opened_outside_nor_through_a_link() {
        let folder = std::env::temp_dir().join(format!("sealstone-beneath-{}", std::process::id()));
        let tree = folder.join("tree");
        std::fs::create_dir_all(tree.join("inside")).unwrap();
        std::fs::write(folder.join("outside"), "x").unwrap();
        std::fs::write(tree.join("inside/file"), "x").unwrap();
        std::fs::write(tree.join("file"), "x").unwrap();
        std::os::unix::fs::symlink("inside", tree.join("linked")).unwrap();
        std::os::unix::fs::symlink("file", tree.join("link")).unwrap();
        let root = Root::open(&tree, false).unwrap();
        refusals(&root);
        refusals(&root.without_openat2());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// Gives a lease back when it is asked to. Python has the call that takes one; `leases` among the tests has more of them.
    const HOLDER: &str = "
import fcntl, os, signal, sys
file = os.open(sys.argv[1], os.O_RDWR)
signal.signal(signal.SIGIO, lambda *_: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK))
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print('held', flush=True)
sys.stdin.read()
";

    #[test]
    fn a_lease_is_waited_for_with_and_without_openat2() {
        use std::io::BufRead as _;
        use std::process::{Command, Stdio};
        let folder = std::env::temp_dir().join(format!("sealstone-lease-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("file"), "x").unwrap();
        for openat2 in [true, false] {
            let mut holder = Command::new("python3");
            holder.args(["-c", HOLDER]).arg(folder.join("file")).stderr(Stdio::null());
            let Ok(mut holder) = holder.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
                eprintln!("skipped: no Python holds a lease");
                break;
            };
            let mut said = String::new();
            std::io::BufReader::new(holder.stdout.take().unwrap()).read_line(&mut said).unwrap();
            let root = Root::open(&folder, false).unwrap();
            let root = if openat2 { root } else { root.without_openat2() };
            // A holder that has to wait for a processor is asked again; but whoever gives up has waited.
            let ask = || {
                let since = std::time::Instant::now();
                let opened = root.file(b"file");
                let gave_up = matches!(opened, Err(Errno::AGAIN));
                assert!(!gave_up || since.elapsed().as_millis() >= 100, "nobody waited, openat2: {openat2}");
                opened
            };
            let opened = (0..9).map(|_| ask()).find(|opened| !matches!(opened, Err(Errno::AGAIN)));
            let opened = opened.unwrap_or_else(ask);
            // Its input ends, and with it the holder.
            drop(holder.stdin.take());
            holder.wait().unwrap();
            match said.trim() {
                "held" => assert!(opened.is_ok(), "{:?}, openat2: {openat2}", opened.err()),
                _ => eprintln!("skipped: no lease on this file system"),
            }
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
