//! What real file systems hold, cost and refuse: disks in files, which root mounts.

use std::fs;
use std::path::Path;

use sealstone_mldsa::Level;
use sealstone_tree::{KeyId, Record, SECURITY_IMA, SignOptions, USER_IMA};

use crate::world::{Disk, is_root, open, run, sign, signer, trusting, user, verify_by};

/// Signs and verifies with each level, and gives one letter for each: `+` it fits, or what was said.
fn levels(at: &Path) -> Vec<String> {
    let options = SignOptions { attribute: Some(SECURITY_IMA), ..SignOptions::default() };
    Level::ALL
        .into_iter()
        .map(|level| {
            let place = at.join(level.name());
            fs::create_dir(&place).unwrap();
            fs::write(place.join("file"), level.name()).unwrap();
            let (tree, key) = (open(&place), signer(level, 1));
            let bytes = Record::len_for(level.signature_len());
            let probe = tree.probe(SECURITY_IMA, bytes, KeyId(1)).map_or_else(|why| why.code(), |_| "signed");
            let signed = sign(&tree, &key, options)[&b"file"[..]].clone();
            // What the probe says is what happens.
            assert_eq!(probe, signed, "{level}");
            let verdict = &verify_by(&tree, &trusting(&[&key]), SECURITY_IMA)[&b"file"[..]];
            assert_eq!(verdict, if signed == "signed" { "good" } else { "unsigned" });
            signed
        })
        .collect()
}

/// The largest value that a file takes under a name.
fn largest(at: &Path, name: &str) -> usize {
    let file = at.join("largest");
    fs::write(&file, "").unwrap();
    let (mut fits, mut fails) = (0, 65_537);
    while fails - fits > 1 {
        let middle = (fits + fails) / 2;
        let _ = rustix::fs::removexattr(&file, name);
        match rustix::fs::setxattr(&file, name, &vec![0x5a; middle], rustix::fs::XattrFlags::empty()) {
            Ok(()) => fits = middle,
            Err(_) => fails = middle,
        }
    }
    fits
}

/// Bytes that are free, after everything is on the disk.
pub(crate) fn free(at: &Path) -> u64 {
    run("sync", &[&"-f", &at]);
    let stat = rustix::fs::statvfs(at).unwrap();
    stat.f_bfree * stat.f_frsize
}

/// Signs `files` files of 8 KiB and gives the bytes that each took of the disk, and what was predicted.
fn cost(at: &Path, level: Level, files: u64) -> (u64, u64) {
    let place = at.join("cost");
    fs::create_dir(&place).unwrap();
    for number in 0..files {
        fs::write(place.join(number.to_string()), vec![7; 8192]).unwrap();
    }
    let tree = open(&place);
    let before = free(at);
    let options = SignOptions { attribute: Some(SECURITY_IMA), ..SignOptions::default() };
    let found = sign(&tree, &signer(level, 1), options);
    assert!(found.values().all(|word| word == "signed"));
    let ground = tree.ground(&place).unwrap().unwrap();
    let bytes = Record::len_for(level.signature_len());
    let predicted = ground.geometry.alone(SECURITY_IMA, bytes).unwrap() * files;
    ((before - free(at)) / files, predicted / files)
}

const FITS: [&str; 3] = ["signed", "signed", "signed"];
const NOT_87: [&str; 3] = ["signed", "signed", "too-large"];
const NONE: [&str; 3] = ["too-large", "too-large", "too-large"];

#[test]
fn ext4_holds_one_block() {
    for (options, limit, fit) in [
        (&["-q", "-F", "-b", "4096"][..], 4040, NOT_87),
        (&["-q", "-F", "-b", "1024"], 968, NONE),
        (&["-q", "-F", "-b", "4096", "-I", "512"], 4040, NOT_87),
        (&["-q", "-F", "-b", "4096", "-O", "ea_inode"], 65_536, FITS),
    ] {
        let Some(disk) = Disk::new(64, "mkfs.ext4", options, "") else { continue };
        assert_eq!(largest(disk.path(), SECURITY_IMA), limit, "{options:?}");
        assert_eq!(levels(disk.path()), fit, "{options:?}");
        if limit == 4040 {
            assert_eq!(cost(disk.path(), Level::MlDsa65, 200), (4096, 4096), "{options:?}");
        }
    }
}

#[test]
fn xfs_holds_all_and_has_a_cliff() {
    for (level, expected) in [(Level::MlDsa44, 4096), (Level::MlDsa65, 8192), (Level::MlDsa87, 12_288)] {
        let Some(disk) = Disk::new(320, "mkfs.xfs", &["-q", "-f"], "") else { return };
        assert_eq!(levels(disk.path()), FITS);
        let (measured, predicted) = cost(disk.path(), level, 400);
        assert_eq!((measured, predicted), (expected, expected), "{level}");
    }
}

#[test]
fn btrfs_holds_a_node() {
    for (options, limit, fit) in
        [(&["-q", "-f"][..], 16_216, FITS), (&["-q", "-f", "-n", "4096"], 3928, NOT_87)]
    {
        let Some(disk) = Disk::new(160, "mkfs.btrfs", options, "") else { continue };
        assert_eq!(largest(disk.path(), SECURITY_IMA), limit, "{options:?}");
        assert_eq!(levels(disk.path()), fit, "{options:?}");
    }
}

#[test]
fn tmpfs_holds_all() {
    let Some(disk) = Disk::new(16, "tmpfs", &[], "") else { return };
    assert_eq!(largest(disk.path(), SECURITY_IMA), 65_536);
    assert_eq!(levels(disk.path()), FITS);
}

/// The signature goes to the upper layer, with the file.
#[test]
fn overlayfs_writes_to_the_layer_above() {
    let Some(disk) = Disk::new(64, "mkfs.ext4", &["-q", "-F", "-b", "4096"], "") else { return };
    let at = disk.path();
    for name in ["lower", "upper", "work"] {
        fs::create_dir(at.join(name)).unwrap();
    }
    fs::write(at.join("lower/file"), "below").unwrap();
    let over = disk.beside("over");
    let layers = ["lower", "upper", "work"].map(|name| at.join(name).display().to_string());
    let options = format!("lowerdir={},upperdir={},workdir={}", layers[0], layers[1], layers[2]);
    if !run("mount", &[&"-t", &"overlay", &"-o", &options, &"overlay", &over]) {
        eprintln!("skipped: overlay does not mount here");
        return;
    }
    let key = signer(Level::MlDsa65, 1);
    let found = std::panic::catch_unwind(|| {
        assert_eq!(levels(&over), NOT_87);
        let options = SignOptions { attribute: Some(SECURITY_IMA), ..SignOptions::default() };
        assert_eq!(sign(&open(&over), &key, options)[&b"file"[..]], "signed");
        assert_eq!(verify_by(&open(&over), &trusting(&[&key]), SECURITY_IMA)[&b"file"[..]], "good");
        assert_eq!(
            verify_by(&open(&at.join("upper")), &trusting(&[&key]), SECURITY_IMA)[&b"file"[..]],
            "good"
        );
        assert_eq!(
            verify_by(&open(&at.join("lower")), &trusting(&[&key]), SECURITY_IMA)[&b"file"[..]],
            "unsigned"
        );
    });
    run("umount", &[&over]);
    found.unwrap();
}

#[test]
fn a_mount_point_is_not_crossed_unless_told() {
    let Some(disk) = Disk::new(16, "tmpfs", &[], "") else { return };
    let inner = disk.path().join("inner");
    fs::create_dir(&inner).unwrap();
    fs::write(disk.path().join("file"), "x").unwrap();
    assert!(run("mount", &[&"-t", &"tmpfs", &"tmpfs", &inner]));
    fs::write(inner.join("file"), "x").unwrap();
    let key = signer(Level::MlDsa44, 1);
    let found = sign(&open(disk.path()), &key, user());
    let crossed = sealstone_tree::Tree::open(disk.path(), sealstone_tree::Rules::default(), true, 1).unwrap();
    let all = sign(&crossed, &key, user());
    run("umount", &[&inner]);
    assert_eq!(found[&b"inner"[..]], "mount point");
    assert_eq!(found.len(), 2);
    assert_eq!(all[&b"inner/file"[..]], "signed");
}

#[test]
fn refusals_are_told_apart() {
    let Some(disk) = Disk::new(8, "mkfs.ext4", &["-q", "-F", "-b", "4096", "-m", "0"], "") else { return };
    let (at, key) = (disk.path(), signer(Level::MlDsa65, 1));
    let options = SignOptions { attribute: Some(SECURITY_IMA), ..SignOptions::default() };
    for name in ["immutable", "append", "crowded", "plain"] {
        fs::write(at.join(name), name).unwrap();
    }
    // Another attribute takes the room of the one block.
    let crowd =
        rustix::fs::setxattr(at.join("crowded"), "user.other", &[7; 1000], rustix::fs::XattrFlags::empty());
    assert_eq!(crowd, Ok(()));
    assert!(run("chattr", &[&"+i", &at.join("immutable")]) && run("chattr", &[&"+a", &at.join("append")]));
    let tree = open(at);
    let found = sign(&tree, &key, options);
    assert!(run("chattr", &[&"-i", &at.join("immutable")]) && run("chattr", &[&"-a", &at.join("append")]));
    for (path, expected) in
        [("immutable", "immutable"), ("append", "immutable"), ("crowded", "too-large"), ("plain", "signed")]
    {
        assert_eq!(found[path.as_bytes()], expected, "{path}");
    }

    // A disk that fills up on the way: what is signed is whole, the rest is said to be unsigned.
    for number in 0..200 {
        fs::write(at.join(format!("small {number}")), "x").unwrap();
    }
    let _ = fs::write(at.join("filler"), vec![0; 16 << 20]);
    let mut len = fs::metadata(at.join("filler")).unwrap().len();
    while rustix::fs::statvfs(at).unwrap().f_bavail < 40 {
        len -= 4 * 4096;
        fs::File::options().write(true).open(at.join("filler")).unwrap().set_len(len).unwrap();
        run("sync", &[&"-f", &at]);
    }
    let found = sign(&tree, &key, options);
    let (signed, full) = (count(&found, "signed"), count(&found, "disk-full"));
    assert!(signed > 10 && full > 10, "{signed} signed, {full} not");
    fs::remove_file(at.join("filler")).unwrap();
    let verdicts = verify_by(&tree, &trusting(&[&key]), SECURITY_IMA);
    for (path, word) in found.iter().filter(|(path, _)| path.starts_with(b"small")) {
        let expected = if word == "disk-full" { "unsigned" } else { "good" };
        assert_eq!(verdicts[path], expected);
    }

    disk.remount("ro");
    let found = sign(&tree, &signer(Level::MlDsa65, 2), SignOptions { replace: true, ..options });
    assert!(found.values().all(|word| word == "read-only"), "{found:?}");
    assert_eq!(tree.probe(SECURITY_IMA, 3318, KeyId(1)).unwrap_err().code(), "read-only");
}

fn count(found: &crate::world::Outcomes, word: &str) -> usize {
    found.values().filter(|found| *found == word).count()
}

/// Devices are named, not opened.
#[test]
fn devices_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    if !is_root() || !run("mknod", &[&at.join("null"), &"c", &"1", &"3"]) {
        eprintln!("skipped: only root makes devices");
        return;
    }
    assert!(run("mknod", &[&at.join("loop"), &"b", &"7", &"0"]));
    let found =
        sign(&open(at), &signer(Level::MlDsa44, 1), SignOptions { attribute: Some(USER_IMA), ..user() });
    assert_eq!(found[&b"null"[..]], "character device");
    assert_eq!(found[&b"loop"[..]], "block device");
}
