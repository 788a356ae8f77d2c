//! Files on which somebody holds a lease (fcntl(2), F_SETLEASE): who opens them asks for it back, and does not wait as long as the
//! holder may take. Leases are held by Python, whose library has the call.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sealstone_mldsa::Level;

use crate::world::{open, sign, signer, trusting, user, verify};

/// Takes a lease for writing, says so, and keeps it; with `back`, gives it back when it is asked for it.
const HOLDER: &str = "
import fcntl, os, signal, sys
file = os.open(sys.argv[1], os.O_RDWR)
give_back = lambda *_: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
signal.signal(signal.SIGIO, give_back if sys.argv[2] == 'back' else signal.SIG_IGN)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print('held', flush=True)
while True:
    signal.pause()
";

/// A process that holds a lease as long as this lives.
struct Lease(Child);

impl Lease {
    /// `None` where nobody can hold one, which is said aloud.
    fn of(file: &Path, what: &str) -> Option<Self> {
        let mut holder = Command::new("python3");
        holder.args(["-c", HOLDER]).arg(file).arg(what).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut lease = Self(holder.spawn().ok()?);
        let mut said = String::new();
        BufReader::new(lease.0.stdout.take()?).read_line(&mut said).unwrap();
        if said.trim() != "held" {
            eprintln!("skipped: no lease without Python, or on this file system");
            return None;
        }
        Some(lease)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_lease_is_asked_for_and_not_waited_for() {
    let (folder, key) = (tempfile::tempdir().unwrap(), signer(Level::MlDsa44, 1));
    for name in ["held", "other"] {
        fs::write(folder.path().join(name), name).unwrap();
    }
    let tree = open(folder.path());
    let Some(lease) = Lease::of(&folder.path().join("held"), "keep") else { return };
    // The kernel takes it away after 45 seconds (fs.lease-break-time), and a holder may take the next one.
    let begun = Instant::now();
    let found = sign(&tree, &key, user());
    assert!(begun.elapsed() < Duration::from_secs(30), "it waited for {:?}", begun.elapsed());
    assert_eq!((&found[&b"held"[..]][..], &found[&b"other"[..]][..]), ("unreadable", "signed"));
    drop(lease);
    assert_eq!(verify(&tree, &trusting(&[&key]))[&b"held"[..]], "unsigned");

    // Whoever gives it back when asked is not in the way.
    let Some(_lease) = Lease::of(&folder.path().join("held"), "back") else { return };
    assert_eq!(sign(&tree, &key, user())[&b"held"[..]], "signed");
    assert_eq!(verify(&tree, &trusting(&[&key]))[&b"held"[..]], "good");
}
