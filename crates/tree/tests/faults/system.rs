//! What the system has against signing: of each case what signing says, and what verifying says afterwards. Root and its tools are
//! needed for most; what cannot be made is said aloud.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use sealstone_mldsa::Level;
use sealstone_tree::{Error, KeyId, Manifest, Rules, SECURITY_IMA, SignOptions, Signing, Tree, USER_IMA};

use super::{CONTENT, Row};
use crate::trees::{apply, by_manifest, manifest, stored};
use crate::world::{
    Disk, Outcomes, is_root, open, run, sign, signer, trusting, user, verify, verify_by, word,
};

pub(super) fn rows() -> Vec<Row> {
    let mut rows = on_ext4();
    rows.extend(out_of_space());
    rows.extend(mounts());
    rows.extend(names());
    rows.extend(as_another_user());
    rows
}

fn security() -> SignOptions<'static> {
    SignOptions { attribute: Some(SECURITY_IMA), ..SignOptions::default() }
}

/// What signing said and what verifying says, of a path; `signed, good` is `signed`.
fn both(signed: &Outcomes, verified: &Outcomes, path: &str) -> Option<String> {
    let word = |found: &Outcomes| found.get(path.as_bytes()).map_or("nothing", String::as_str).to_owned();
    let (signed, verified) = (word(signed), word(verified));
    Some(if signed == verified { signed } else { format!("{signed}, {verified}") })
}

fn write(at: &Path, names: &[&str]) {
    names.iter().for_each(|name| fs::write(at.join(name), CONTENT).unwrap());
}

fn set(at: &Path, name: &str, value: &[u8]) {
    rustix::fs::setxattr(at, name, value, rustix::fs::XattrFlags::empty()).unwrap();
}

/// Cases of files on one disk.
fn on_ext4() -> Vec<Row> {
    let cases: [(&str, &str, &str); 8] = [
        ("nothing", "signed, good", "plain"),
        ("immutable (chattr +i)", "immutable, unsigned", "immutable"),
        ("append-only (chattr +a)", "immutable, unsigned", "append"),
        ("1000 bytes of another attribute in the one block", "too-large, unsigned", "crowded"),
        ("600 bytes of another attribute in the one block", "signed, good", "neighbour"),
        ("nobody may read it, but root", "signed, good", "secret"),
        ("a bare digest that IMA wrote", "signed, good", "measured"),
        ("a hole of 1 GiB", "signed, good", "hole"),
    ];
    let disk = Disk::new(16, "mkfs.ext4", &["-q", "-F", "-b", "4096", "-m", "0"], "");
    let found = disk.map(|disk| {
        let at = disk.path();
        write(at, &cases.map(|(_, _, name)| name));
        set(&at.join("crowded"), "user.other", &[7; 1000]);
        set(&at.join("neighbour"), "user.other", &[7; 600]);
        set(&at.join("measured"), SECURITY_IMA, &[&[4, 4][..], &[9; 32]].concat());
        fs::set_permissions(at.join("secret"), fs::Permissions::from_mode(0o0)).unwrap();
        fs::File::create(at.join("hole")).unwrap().set_len(1 << 30).unwrap();
        let mark = |sign: char| {
            run("chattr", &[&format!("{sign}i"), &at.join("immutable")])
                && run("chattr", &[&format!("{sign}a"), &at.join("append")])
        };
        assert!(mark('+'));
        let key = signer(Level::MlDsa65, 1);
        let signed = sign(&open(at), &key, security());
        assert!(mark('-'));
        (signed, verify_by(&open(at), &trusting(&[&key]), SECURITY_IMA))
    });
    let row = |(what, expected, name)| {
        let found = found.as_ref().and_then(|(signed, verified)| both(signed, verified, name));
        Row { of: "a file on ext4, as root", what, expected, found }
    };
    cases.into_iter().map(row).collect()
}

/// Fills what is free, but for so many bytes.
fn fill(at: &Path, but: u64) {
    let filler = at.join("filler");
    let free = || {
        run("sync", &[&"-f", &at]);
        let stat = rustix::fs::statvfs(at).unwrap();
        stat.f_bavail * stat.f_frsize
    };
    let file = fs::File::create(&filler).unwrap();
    let flags = rustix::fs::FallocateFlags::empty();
    let mut len = 0;
    let mut piece = free();
    while piece >= 16 * 4096 {
        match rustix::fs::fallocate(&file, flags, len, piece) {
            Ok(()) => len += piece,
            Err(_) => piece /= 2,
        }
    }
    while free() < but {
        len = len.saturating_sub(but / 2 + 1) / 4096 * 4096;
        file.set_len(len).unwrap();
    }
}

/// Some are signed, whole; the rest say why not, and have nothing.
fn some(signed: &Outcomes, verified: &Outcomes, why: &str) -> String {
    let count = |word: &str| signed.values().filter(|found| *found == word).count();
    let files: Vec<_> = signed.iter().filter(|(path, _)| path.starts_with(b"small")).collect();
    let holds = files.iter().all(|(path, word)| {
        let expected = if *word == "signed" { "good" } else { "unsigned" };
        (*word == "signed" || *word == why) && verified[*path] == expected
    });
    match (holds, count("signed"), count(why)) {
        (true, 1.., 1..) => format!("some signed and good, the rest {why} and unsigned"),
        (true, 0, 1..) => format!("all {why} and unsigned"),
        (_, signed, refused) => {
            format!("{signed} signed, {refused} {why}, {} others", files.len() - signed - refused)
        }
    }
}

/// How a disk is made, in which place of it is signed, and what stands in the way there.
type Full = (&'static str, &'static str, fn() -> Option<(Disk, &'static str)>);

fn out_of_space() -> Vec<Row> {
    let cases: [Full; 5] = [
        ("ext4 fills up on the way", "some signed and good, the rest disk-full and unsigned", || {
            let disk = Disk::new(8, "mkfs.ext4", &["-q", "-F", "-b", "4096", "-m", "0"], "")?;
            small_files(disk.path(), 200);
            fill(disk.path(), 40 * 4096);
            Some((disk, "."))
        }),
        ("XFS fills up on the way", "some signed and good, the rest disk-full and unsigned", || {
            let disk = Disk::new(320, "mkfs.xfs", &["-q", "-f"], "")?;
            // Beside what it says is free it has a reserve, a twentieth of all.
            small_files(disk.path(), 3000);
            fill(disk.path(), 100 * 8192);
            Some((disk, "."))
        }),
        ("btrfs fills up on the way", "some signed and good, the rest disk-full and unsigned", || {
            let disk = Disk::new(110, "mkfs.btrfs", &["-q", "-f", "-m", "single", "--mixed"], "")?;
            small_files(disk.path(), 4000);
            fill(disk.path(), 2 << 20);
            Some((disk, "."))
        }),
        (
            "tmpfs has given all its memory for inodes",
            "some signed and good, the rest disk-full and unsigned",
            || {
                let disk = Disk::new(16, "tmpfs", &[], "")?;
                disk.remount("nr_inodes=500");
                small_files(disk.path(), 200);
                Some((disk, "."))
            },
        ),
        (
            "a quota on the way (a group of btrfs)",
            "some signed and good, the rest quota and unsigned",
            || {
                let disk = Disk::new(160, "mkfs.btrfs", &["-q", "-f"], "")?;
                let place = disk.path().join("limited");
                if !run("btrfs", &[&"subvolume", &"create", &place]) {
                    return None;
                }
                small_files(&place, 400);
                let quota = [&"quota" as &dyn AsRef<std::ffi::OsStr>, &"enable", &disk.path()];
                let done = run("btrfs", &quota)
                    && run("btrfs", &[&"quota", &"rescan", &"-w", &disk.path()])
                    && run("sync", &[&"-f", &disk.path()])
                    && run("btrfs", &[&"qgroup", &"limit", &"700K", &place]);
                if !done {
                    eprintln!("skipped: btrfs keeps no quota here");
                    return None;
                }
                Some((disk, "limited"))
            },
        ),
    ];
    let row = |(what, expected, make): Full| {
        let found = make().map(|(disk, place)| {
            let (at, key) = (disk.path().join(place), signer(Level::MlDsa65, 1));
            let signed = sign(&open(&at), &key, security());
            let _ = fs::remove_file(at.join("filler"));
            let why = if what.contains("quota") { "quota" } else { "disk-full" };
            some(&signed, &verify_by(&open(&at), &trusting(&[&key]), SECURITY_IMA), why)
        });
        Row { of: "a disk without room", what, expected, found }
    };
    cases.into_iter().map(row).collect()
}

fn small_files(at: &Path, count: usize) {
    (0..count).for_each(|number| fs::write(at.join(format!("small {number}")), "x").unwrap());
}

/// Mounts, and what they say of the tree.
fn mounts() -> Vec<Row> {
    let of = "a mount";
    let mut rows = Vec::new();
    let mut row = |what, expected, found| rows.push(Row { of, what, expected, found });
    let key = signer(Level::MlDsa65, 1);
    let trusted = trusting(&[&key]);
    let round = |at: &Path, path: &str| {
        let signed = sign(&open(at), &key, security());
        both(&signed, &verify_by(&open(at), &trusted, SECURITY_IMA), path)
    };

    let disk = Disk::new(16, "mkfs.ext4", &["-q", "-F", "-b", "4096"], "");
    let found = disk.as_ref().map(|disk| {
        let at = disk.path();
        write(at, &["file", "bound", "below"]);
        fs::create_dir(at.join("inner")).unwrap();
        write(&at.join("inner"), &["file"]);
        let view = disk.beside("view");
        let bound =
            run("mount", &[&"--bind", &at, &view]) && run("mount", &[&"-o", &"remount,bind,ro", &view]);
        let read_only_view = bound.then(|| round(&view, "file")).flatten();
        run("umount", &[&view]);
        disk.remount("ro");
        let read_only = round(at, "file");
        let probed = open(at).probe(SECURITY_IMA, 3318, KeyId(1)).map_err(|why| why.code().to_owned());
        disk.remount("rw");
        let over_file = run("mount", &[&"--bind", &at.join("below"), &at.join("bound")]);
        let over_file = over_file.then(|| round(at, "bound")).flatten();
        run("umount", &[&at.join("bound")]);
        let over_directory = run("mount", &[&"-t", &"tmpfs", &"tmpfs", &at.join("inner")]);
        write(&at.join("inner"), &["file"]);
        let over_directory = over_directory.then(|| round(at, "inner")).flatten();
        let crossed = Tree::open(at, Rules::default(), true, 1).unwrap();
        let crossed_signed = sign(&crossed, &key, security());
        let crossed = both(&crossed_signed, &verify_by(&crossed, &trusted, SECURITY_IMA), "inner/file");
        run("umount", &[&at.join("inner")]);
        disk.remount("rw,noexec,nosuid,nodev,noatime");
        write(at, &["strict"]);
        (read_only_view, read_only, probed.err(), over_file, over_directory, crossed, round(at, "strict"))
    });
    let (view, read_only, probed, over_file, over_directory, crossed, strict) = found.unwrap_or_default();
    row("a view of it that is read-only (bind, ro)", "read-only, unsigned", view);
    row("remounted read-only", "read-only, unsigned", read_only);
    row("remounted read-only, looked at before", "read-only", probed);
    row("another file over a file", "mount point", over_file);
    row("another file system over a directory", "mount point", over_directory);
    row("another file system over a directory, and told to cross", "signed, good", crossed);
    row("noexec, nosuid, nodev, noatime", "signed, good", strict);

    let squashed = disk.as_ref().and_then(|disk| {
        let (image, at) = (disk.beside("x").join("image"), disk.beside("squashed"));
        write(disk.path(), &["file"]);
        sign(&open(disk.path()), &key, SignOptions { replace: true, ..security() });
        if !run("mksquashfs", &[&disk.path(), &image, &"-quiet", &"-no-progress"])
            || !run("mount", &[&"-o", &"loop", &image, &at])
        {
            eprintln!("skipped: no squashfs here");
            return None;
        }
        let other = signer(Level::MlDsa65, 2);
        let signed = sign(&open(&at), &other, SignOptions { replace: true, ..security() });
        let found = both(&signed, &verify_by(&open(&at), &trusted, SECURITY_IMA), "file");
        run("umount", &[&at]);
        found
    });
    row("squashfs made of a signed tree, signed by another key", "read-only, good", squashed);

    let without = Path::new("/proc/sys/kernel");
    let proc = is_root().then(|| {
        let found = open(without).probe(SECURITY_IMA, 3318, KeyId(1));
        match found {
            Err(why) => why.code().to_owned(),
            Ok(true) => "written".into(),
            Ok(false) => "cannot be tried".into(),
        }
    });
    row("procfs, which makes no files, looked at before", "cannot be tried", proc);
    rows
}

/// What is no regular file, or is one more than once.
fn names() -> Vec<Row> {
    let folder = tempfile::tempdir().unwrap();
    let (at, key) = (folder.path(), signer(Level::MlDsa44, 1));
    let outside = tempfile::tempdir().unwrap();
    write(at, &["a file", "line\nbreak", "- not an option", "file.with.lease"]);
    write(outside.path(), &["victim"]);
    fs::hard_link(at.join("a file"), at.join("b file")).unwrap();
    symlink("a file", at.join("link")).unwrap();
    symlink("nowhere", at.join("dangling")).unwrap();
    symlink("loop", at.join("loop")).unwrap();
    symlink(outside.path(), at.join("way out")).unwrap();
    symlink("/proc/self/fd/0", at.join("magic")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at.join("socket")).unwrap();
    let node = |name: &str, kind, device| {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, at.join(name), kind, mode, device).is_ok()
    };
    assert!(node("pipe", rustix::fs::FileType::Fifo, 0));
    let devices = node("null", rustix::fs::FileType::CharacterDevice, rustix::fs::makedev(1, 3))
        && node("disk", rustix::fs::FileType::BlockDevice, rustix::fs::makedev(7, 0));
    if !devices {
        eprintln!("skipped: only root makes devices");
    }
    let lease = Lease::on(&at.join("file.with.lease"));
    let signed = sign(&open(at), &key, user());
    let leased = lease.is_some();
    drop(lease);
    let verified = verify(&open(at), &trusting(&[&key]));
    let mut rows: Vec<Row> = [
        ("a line break in a name", "signed, good", "line\nbreak", true),
        ("a name like an option", "signed, good", "- not an option", true),
        ("the first of two names of a file", "signed, good", "a file", true),
        ("the second of two names of a file", "hard link", "b file", true),
        ("a symbolic link", "symbolic link", "link", true),
        ("a symbolic link to nothing", "symbolic link", "dangling", true),
        ("a symbolic link to itself", "symbolic link", "loop", true),
        ("a symbolic link out of the tree", "symbolic link", "way out", true),
        ("a symbolic link of /proc", "symbolic link", "magic", true),
        ("a named pipe that nobody writes to", "named pipe", "pipe", true),
        ("a socket", "socket", "socket", true),
        ("a device of characters", "character device", "null", devices),
        ("a device of blocks", "block device", "disk", devices),
        (
            "a file that somebody has a lease on and does not give back",
            "unreadable, unsigned",
            "file.with.lease",
            leased,
        ),
    ]
    .map(|(what, expected, name, made)| {
        let found = if made { both(&signed, &verified, name) } else { None };
        Row { of: "a name", what, expected, found }
    })
    .into();
    let victim = rustix::fs::getxattr(outside.path().join("victim"), USER_IMA, &mut [0; 8192][..]);
    let found = if victim.is_err() { "unsigned" } else { "signed" };
    let what = "what a link out of the tree leads to";
    rows.push(Row { of: "a name", what, expected: "unsigned", found: Some(found.into()) });
    rows
}

/// A lease to write, which somebody holds who is deaf to the kernel's signals.
struct Lease(std::process::Child);

impl Lease {
    fn on(path: &Path) -> Option<Self> {
        let program = "import fcntl, signal, sys\n\
            signal.signal(signal.SIGIO, signal.SIG_IGN)\n\
            file = open(sys.argv[1], 'r+')\n\
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)\n\
            print('held', flush=True)\n\
            sys.stdin.read()\n";
        let child = Command::new("python3")
            .args(["-c", program])
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut said = String::new();
        let held = child.ok().and_then(|mut child| {
            BufReader::new(child.stdout.take()?).read_line(&mut said).ok()?;
            Some(Self(child))
        });
        if said.trim() != "held" {
            eprintln!("skipped: no python3 that takes leases");
            return None;
        }
        held
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

const CHILD: &str = "SEALSTONE_TREE_OF_ANOTHER";
const NOBODY: u32 = 65_534;

/// Another user's part: signs in each way, and says what became of each file.
#[test]
fn child_of_another_user() {
    let Some(place) = std::env::var_os(CHILD) else { return };
    let (at, key) = (Path::new(&place), signer(Level::MlDsa65, 1));
    let say = |way: &str, outcomes: &Outcomes| {
        for (path, word) in outcomes {
            println!("\nsaid {way} {} {word}", String::from_utf8_lossy(path));
        }
    };
    say("security", &sign(&open(at), &key, security()));
    say("user", &sign(&open(at), &key, user()));
    say("verify", &verify(&open(at), &trusting(&[&key])));
    let own = at.join("own");
    let keep = SignOptions { keep_signatures: true, ..SignOptions::default() };
    let text = manifest(&own, Rules::default(), Some(&key), keep, &key);
    say("list", &by_manifest(&own, &text, &[&key]).unwrap());
    let copy = at.join("own.copy");
    fs::create_dir(&copy).unwrap();
    fs::copy(own.join("file"), copy.join("file")).unwrap();
    say("apply", &apply(&copy, Manifest::unverified(stored(&text)).unwrap(), &trusting(&[&key])));
    say("copy", &verify(&open(&copy), &trusting(&[&key])));
    std::io::stdout().flush().unwrap();
}

/// A tree in which this user owns something, and others the rest; what the user's own run of this program says.
fn of_nobody() -> Option<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let open_to_all = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.path(), open_to_all.clone()).unwrap();
    fs::set_permissions(&program, open_to_all).unwrap();
    let at = folder.path().join("tree");
    fs::create_dir_all(at.join("own")).unwrap();
    fs::create_dir(at.join("closed")).unwrap();
    write(&at, &["mine", "mine to read", "theirs", "theirs to write", "theirs to themselves"]);
    write(&at.join("own"), &["file"]);
    write(&at.join("closed"), &["file"]);
    for (name, mode, owner) in [
        ("mine", 0o600, NOBODY),
        ("mine to read", 0o400, NOBODY),
        ("theirs", 0o644, 0),
        ("theirs to write", 0o666, 0),
        ("theirs to themselves", 0o600, 0),
        ("own", 0o700, NOBODY),
        ("own/file", 0o644, NOBODY),
        ("closed", 0o700, 0),
        (".", 0o755, NOBODY),
    ] {
        fs::set_permissions(at.join(name), fs::Permissions::from_mode(mode)).unwrap();
        chown(at.join(name), Some(owner), Some(owner)).ok()?;
    }
    let nobody = NOBODY.to_string();
    let done = Command::new("setpriv")
        .args(["--reuid", &nobody, "--regid", &nobody, "--clear-groups", "--no-new-privs"])
        .arg(&program)
        .args(["--exact", "faults::system::child_of_another_user", "--nocapture"])
        .env(CHILD, &at)
        .current_dir("/")
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{text}\n{}", String::from_utf8_lossy(&done.stderr));
    Some(text.lines().filter_map(|line| line.strip_prefix("said ")).map(str::to_owned).collect())
}

fn as_another_user() -> Vec<Row> {
    let said = of_nobody();
    if said.is_none() {
        eprintln!("skipped: only root becomes another user, by setpriv");
    }
    let cases: [(&str, &str, &str); 17] = [
        ("security.ima of the user's file", "not-permitted", "security mine"),
        ("security.ima of another's file", "not-permitted", "security theirs"),
        ("security.ima of another's file that all may write", "not-permitted", "security theirs to write"),
        ("another's file that nobody else may read", "unreadable", "security theirs to themselves"),
        ("user.ima of the user's file", "signed", "user mine"),
        ("user.ima of the user's file, verified", "good", "verify mine"),
        ("user.ima of the user's file of mode 0400", "not-permitted", "user mine to read"),
        ("user.ima of the user's file of mode 0400, verified", "unsigned", "verify mine to read"),
        ("user.ima of another's file", "not-permitted", "user theirs"),
        ("user.ima of another's file, verified", "unsigned", "verify theirs"),
        ("user.ima of another's file that all may write", "signed", "user theirs to write"),
        ("another's file that nobody else may read, user.ima", "unreadable", "user theirs to themselves"),
        ("another's file that nobody else may read, verified", "unreadable", "verify theirs to themselves"),
        ("another's directory that nobody else may list", "unreadable", "user closed"),
        ("a manifest of the user's tree, verified", "good", "list file"),
        ("its signatures copied to the user's copy", "good", "apply file"),
        ("the copy, verified", "good", "copy file"),
    ];
    let row = |(what, expected, key): (&'static str, &'static str, &str)| {
        let found = said.as_ref().map(|said| {
            let found = said.iter().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
            found.unwrap_or("nothing").to_owned()
        });
        Row { of: "a user without privileges", what, expected, found }
    };
    cases.into_iter().map(row).collect()
}

/// Whoever may not write security.ima is told what else there is.
#[test]
fn refusals_have_remedies() {
    for (why, says) in [
        (Error::NotPermitted { name: SECURITY_IMA.into() }, "--store user-xattr"),
        (Error::NotPermitted { name: USER_IMA.into() }, "chmod u+w"),
        (Error::Quota, "make room"),
        (Error::ReadOnly, "--store manifest"),
        (Error::Immutable, "chattr -i"),
    ] {
        assert!(why.remedy().is_some_and(|remedy| remedy.contains(says)), "{why:?}");
        assert_eq!(word(&Signing::Failed(why.clone())), why.code());
    }
}
