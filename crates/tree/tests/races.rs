//! Somebody works against the signer: swaps files for links, writes while it reads, kills it.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sealstone_mldsa::Level;
use sealstone_tree::{SignOptions, USER_IMA};

use crate::world::{open, sign, signer, trusting, user, verify};

/// How often, where the caller does not say: `./dev tree-races` and `./dev tree-kills` do.
fn times(variable: &str, few: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(few)
}

fn unsigned(path: &Path) -> bool {
    rustix::fs::getxattr(path, USER_IMA, &mut [0; 8192][..]) == Err(rustix::io::Errno::NODATA)
}

/// A file and a directory of the tree are swapped for links to what lies outside, again and again, while the tree is signed:
/// nothing outside is ever signed, and what is said to be signed is.
#[test]
fn links_that_are_swapped_in_lead_nowhere() {
    let swaps = times("SEALSTONE_RACES", 3000);
    let (tree, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (inside, victims) = (tree.path().to_owned(), outside.path().to_owned());
    fs::create_dir(victims.join("folder")).unwrap();
    for victim in ["file", "folder/a", "folder/b"] {
        fs::write(victims.join(victim), "victim").unwrap();
    }
    fs::create_dir(inside.join("folder")).unwrap();
    for name in ["file", "folder/a", "folder/b", "hard"] {
        fs::write(inside.join(name), name).unwrap();
    }
    symlink(victims.join("file"), inside.join("file.link")).unwrap();
    symlink(victims.join("folder"), inside.join("folder.link")).unwrap();
    fs::write(inside.join("hard.other"), "other").unwrap();
    let over = AtomicBool::new(false);
    let key = signer(Level::MlDsa44, 1);
    let rounds = std::thread::scope(|scope| {
        scope.spawn(|| {
            let exchange = |a: &str, b: &str| {
                let (a, b) = (inside.join(a), inside.join(b));
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(rustix::fs::CWD, a, rustix::fs::CWD, b, flags).unwrap();
            };
            for _ in 0..swaps {
                exchange("file", "file.link");
                exchange("folder", "folder.link");
                exchange("hard", "hard.other");
            }
            over.store(true, Ordering::Relaxed);
        });
        let mut rounds = 0;
        while !over.load(Ordering::Relaxed) {
            let found = sign(&open(&inside), &key, SignOptions { replace: true, ..user() });
            for word in found.values() {
                let known =
                    ["signed", "kept", "symbolic link", "not-regular", "unreadable", "changed", "hard link"];
                assert!(known.contains(&word.as_str()), "{word}");
            }
            rounds += 1;
        }
        rounds
    });
    println!("{swaps} swaps of three names, {rounds} runs of the signer");
    for victim in ["file", "folder/a", "folder/b"] {
        assert!(unsigned(&victims.join(victim)), "{victim} outside of the tree was signed");
    }
    let verdicts = verify(&open(&inside), &trusting(&[&key]));
    assert!(!verdicts.values().any(|verdict| verdict == "does-not-verify"), "{verdicts:?}");
}

#[test]
fn a_file_that_grows_while_it_is_read_is_not_signed() {
    let tree = tempfile::tempdir().unwrap();
    let path = tree.path().join("log");
    fs::write(&path, vec![1; 4 << 20]).unwrap();
    let key = signer(Level::MlDsa44, 1);
    let over = AtomicBool::new(false);
    let found = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = fs::File::options().append(true).open(&path).unwrap();
            while !over.load(Ordering::Relaxed) {
                file.write_all(b"more").unwrap();
            }
        });
        std::thread::sleep(Duration::from_millis(5));
        let found = sign(&open(tree.path()), &key, user());
        over.store(true, Ordering::Relaxed);
        found
    });
    assert_eq!(found[&b"log"[..]], "changed");
    assert!(unsigned(&path));
    assert_eq!(sign(&open(tree.path()), &key, user())[&b"log"[..]], "signed");
}

/// The same length and the same content everywhere but in one byte, which is written in place.
#[test]
fn a_file_that_is_rewritten_in_place_is_never_signed_wrongly() {
    let tree = tempfile::tempdir().unwrap();
    let path = tree.path().join("data");
    fs::write(&path, vec![1; 1 << 20]).unwrap();
    let key = signer(Level::MlDsa44, 1);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = fs::File::options().write(true).open(&path).unwrap();
            let mut byte = 0_u8;
            while !over.load(Ordering::Relaxed) {
                byte = byte.wrapping_add(1);
                std::os::unix::fs::FileExt::write_at(&file, &[byte], 777).unwrap();
            }
        });
        for _ in 0..10 {
            let found = sign(&open(tree.path()), &key, user());
            assert!(["changed", "signed", "kept"].contains(&found[&b"data"[..]].as_str()), "{found:?}");
        }
        over.store(true, Ordering::Relaxed);
    });
    assert_eq!(sign(&open(tree.path()), &key, user()).len(), 1);
    assert_eq!(verify(&open(tree.path()), &trusting(&[&key]))[&b"data"[..]], "good");
}

#[test]
fn sparse_files_are_their_zeros() {
    let tree = tempfile::tempdir().unwrap();
    fs::File::create(tree.path().join("holes")).unwrap().set_len(100_000_000).unwrap();
    let mut file = fs::File::create(tree.path().join("zeros")).unwrap();
    (0..100).for_each(|_| file.write_all(&vec![0; 1_000_000]).unwrap());
    drop(file);
    let key = signer(Level::MlDsa44, 1);
    sign(&open(tree.path()), &key, user());
    // One digest: the signature of the one is good for the other.
    let mut value = vec![0; 2429];
    rustix::fs::getxattr(tree.path().join("holes"), USER_IMA, &mut value[..]).unwrap();
    rustix::fs::setxattr(tree.path().join("zeros"), USER_IMA, &value, rustix::fs::XattrFlags::empty())
        .unwrap();
    let verdicts = verify(&open(tree.path()), &trusting(&[&key]));
    assert!(verdicts.len() == 2 && verdicts.values().all(|verdict| verdict == "good"));
}

#[test]
fn long_paths_and_names_are_walked() {
    let tree = tempfile::tempdir().unwrap();
    let mut at =
        rustix::fs::open(tree.path(), rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty()).unwrap();
    let part = "d".repeat(255);
    // 25 parts of 256 bytes: more than PATH_MAX.
    for _ in 0..25 {
        rustix::fs::mkdirat(&at, &part, rustix::fs::Mode::RWXU).unwrap();
        at = rustix::fs::openat(&at, &part, rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty()).unwrap();
    }
    let flags = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY;
    drop(rustix::fs::openat(&at, "deep", flags, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap());
    let key = signer(Level::MlDsa44, 1);
    let found = sign(&open(tree.path()), &key, user());
    assert_eq!(found.values().map(String::as_str).collect::<Vec<_>>(), ["signed"]);
    assert!(found.keys().all(|path| path.len() > 6000));
    assert!(verify(&open(tree.path()), &trusting(&[&key])).values().all(|verdict| verdict == "good"));
}

const CHILD: &str = "SEALSTONE_TREE_TO_SIGN";

/// What is killed: signs a tree when a test starts this program again.
#[test]
fn child_that_signs() {
    let Some(tree) = std::env::var_os(CHILD) else { return };
    sign(&open(Path::new(&tree)), &signer(Level::MlDsa44, 1), user());
}

/// Killed anywhere, each file has no signature or a whole one, and the next run finishes the work.
#[test]
fn killed_it_leaves_whole_signatures() {
    let kills = times("SEALSTONE_KILLS", 12);
    let program = std::env::current_exe().unwrap();
    let key = signer(Level::MlDsa44, 1);
    let mut between = 0;
    for round in 0..kills {
        let tree = tempfile::tempdir().unwrap();
        for number in 0..400 {
            fs::write(tree.path().join(number.to_string()), number.to_string()).unwrap();
        }
        let mut child = Command::new(&program)
            .args(["--exact", "races::child_that_signs"])
            .env(CHILD, tree.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // From the first file to after the last, whatever the machine's speed: by what is there, not by the clock alone.
        let wanted = 400 * round / kills.max(1);
        for _ in 0..20_000 {
            let signed = (0..400).filter(|number| !unsigned(&tree.path().join(number.to_string()))).count();
            if signed >= wanted || child.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::sleep(Duration::from_micros(300));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let verdicts = verify(&open(tree.path()), &trusting(&[&key]));
        let count = |word: &str| verdicts.values().filter(|verdict| *verdict == word).count();
        assert_eq!(count("good") + count("unsigned"), 400, "{verdicts:?}");
        between += usize::from(count("good") > 0 && count("unsigned") > 0);
        let found = sign(&open(tree.path()), &key, user());
        assert_eq!(found.values().filter(|word| *word == "kept").count(), count("good"));
        assert!(verify(&open(tree.path()), &trusting(&[&key])).values().all(|verdict| verdict == "good"));
    }
    println!("killed {kills} times, {between} of them with some files signed and some not");
    assert!(between > kills / 3, "{between} of {kills} kills were between the first file and the last");
}
