//! What is known before the first file is signed: whether the disk has the room, to the block, and whether this kernel would take
//! the files.

use std::fs;
use std::path::Path;

use sealstone_mldsa::Level;
use sealstone_pki::{KeyAlgorithm, PrivateKeyInfo};
use sealstone_tree::{Error, FileSystem, Kernel, Preflight, SECURITY_IMA, SignOptions, Signer, USER_IMA};

use crate::world::{Disk, is_root, open, run, sign, signer, trusting, verify_by};

const FILES: u64 = 500;

fn security() -> SignOptions<'static> {
    SignOptions { attribute: Some(SECURITY_IMA), ..SignOptions::default() }
}

/// Bytes that are free to whoever asks, after everything is on the disk.
fn free(at: &Path) -> u64 {
    run("sync", &[&"-f", &at]);
    let stat = rustix::fs::statvfs(at).unwrap();
    stat.f_bavail * stat.f_frsize
}

/// Leaves so many bytes free, exactly.
fn leave(at: &Path, bytes: u64) {
    let filler = fs::File::options().create(true).append(true).open(at.join("filler")).unwrap();
    for _ in 0..100 {
        let (len, now) = (filler.metadata().unwrap().len(), free(at));
        match now.checked_sub(bytes) {
            Some(0) => return,
            Some(more) => {
                let flags = rustix::fs::FallocateFlags::empty();
                // What one extent does not have, several may.
                let fits = |piece: &u64| rustix::fs::fallocate(&filler, flags, len, *piece).is_ok();
                std::iter::successors(Some(more), |piece| Some(piece / 2 / 4096 * 4096)).find(fits).unwrap();
            }
            None => filler.set_len(len - (bytes - now)).unwrap(),
        }
    }
    panic!("{} bytes are free, and not {bytes}", free(at));
}

fn disk(tool: &str, options: &[&str], megabytes: u64) -> Option<Disk> {
    let disk = Disk::new(megabytes, tool, options, "")?;
    let place = disk.path().join("tree");
    fs::create_dir(&place).unwrap();
    (0..FILES).for_each(|number| fs::write(place.join(number.to_string()), "x").unwrap());
    Some(disk)
}

/// With a block less than it takes nothing is written, with as many as it takes all is signed.
#[test]
fn room_is_refused_or_suffices_to_the_block() {
    for (tool, options, megabytes, kind, each) in [
        ("mkfs.ext4", &["-q", "-F", "-b", "4096", "-m", "0"][..], 64, FileSystem::Ext4, 4096),
        ("mkfs.xfs", &["-q", "-f"], 320, FileSystem::Xfs, 8192),
    ] {
        let Some(disk) = disk(tool, options, megabytes) else { continue };
        let (at, place, key) = (disk.path(), disk.path().join("tree"), signer(Level::MlDsa65, 1));
        let (tree, taken) = (open(&place), FILES * each);
        let preflight = || tree.preflight(&place, &key, &security(), None);
        assert_eq!(preflight(), Ok(Preflight { files: FILES, cost: taken, copied: 0 }), "{kind}");

        leave(at, taken - 4096);
        let refused =
            Error::NoRoom { file_system: kind, files: FILES, free: taken - 4096, taken, unit: "bytes" };
        assert_eq!(preflight(), Err(refused), "{kind}");
        assert_eq!(free(at), taken - 4096, "{kind}: nothing was written");
        let found = verify_by(&tree, &trusting(&[&key]), SECURITY_IMA);
        assert!(found.values().all(|word| word == "unsigned"), "{kind}: {found:?}");

        leave(at, taken);
        assert_eq!(preflight().map(|found| found.cost), Ok(taken), "{kind}");
        let found = sign(&tree, &key, security());
        assert!(found.values().all(|word| word == "signed"), "{kind}: {found:?}");
        // XFS takes some from its reserve.
        assert!(kind == FileSystem::Xfs || free(at) == 0, "{kind}: {} bytes are left", free(at));
        // What is signed takes nothing once more.
        assert_eq!(preflight(), Ok(Preflight { files: FILES, cost: 0, copied: 0 }), "{kind}");
    }
}

/// With `ea_inode` a signature that the block does not hold takes an inode, of which a disk has so many.
#[test]
fn inodes_are_counted_too() {
    let options = ["-q", "-F", "-b", "4096", "-m", "0", "-O", "ea_inode", "-N", "800"];
    let Some(disk) = disk("mkfs.ext4", &options, 64) else { return };
    let (place, key) = (disk.path().join("tree"), signer(Level::MlDsa87, 1));
    let found = open(&place).preflight(&place, &key, &security(), None);
    let Err(Error::NoRoom { unit: "inodes", taken, free, .. }) = found else { panic!("{found:?}") };
    assert!(taken == FILES && free < FILES, "{taken} of {free}");
}

/// Under a policy, a kernel that cannot check ML-DSA would refuse what is signed for it: and nothing else is in its way.
#[test]
fn a_kernel_that_would_refuse_is_asked_first() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "x").unwrap();
    let info = PrivateKeyInfo::new(KeyAlgorithm::EcP384, &[7; 48], None).unwrap();
    let (key, classical) = (signer(Level::MlDsa44, 1), Signer::new(&info, None, 0).unwrap());
    let policy = || vec!["policy: appraise func=BPRM_CHECK".to_owned()];
    let old =
        Kernel { release: "7.1.9".into(), version: Some((7, 1)), active: policy(), ..Kernel::default() };
    let able = Kernel { version: Some((7, 2)), ml_dsa: Some(true), ..old.clone() };
    let idle = Kernel { active: Vec::new(), ..old.clone() };
    let ask = |key: &Signer, name, dry_run, kernel| {
        let options = SignOptions { attribute: Some(name), dry_run, ..SignOptions::default() };
        open(folder.path()).preflight(folder.path(), key, &options, kernel).map(drop)
    };
    let refused = Error::KernelCannotCheck {
        release: "7.1.9".into(),
        policy: "policy: appraise func=BPRM_CHECK".into(),
    };
    assert_eq!(ask(&key, USER_IMA, false, Some(&old)), Ok(()), "no kernel reads user.ima");
    if !is_root() {
        eprintln!("skipped: only root writes security.ima");
        return;
    }
    assert_eq!(ask(&key, SECURITY_IMA, false, Some(&old)), Err(refused));
    assert_eq!(ask(&key, SECURITY_IMA, false, Some(&able)), Ok(()));
    assert_eq!(ask(&key, SECURITY_IMA, false, Some(&idle)), Ok(()));
    assert_eq!(ask(&key, SECURITY_IMA, false, None), Ok(()), "for another machine");
    assert_eq!(ask(&key, SECURITY_IMA, true, Some(&old)), Ok(()), "a dry run harms nobody");
    assert_eq!(ask(&classical, SECURITY_IMA, false, Some(&old)), Ok(()), "P-384 is checked by all");
}
