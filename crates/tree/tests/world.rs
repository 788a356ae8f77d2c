//! What the tests stand on: folders that go away, disks in files, keys, and one word for what became of each file.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use sealstone_mldsa::Level;
use sealstone_pki::{KeyAlgorithm, PrivateKeyInfo};
use sealstone_tree::{
    Applying, Appraiser, Rules, SignOptions, Signer, Signing, Tree, USER_IMA, Verification,
};

/// What became of each path, in a word.
pub(crate) type Outcomes = BTreeMap<Vec<u8>, String>;

pub(crate) fn signer(level: Level, number: u8) -> Signer {
    let info = PrivateKeyInfo::new(KeyAlgorithm::MlDsa(level), &[number; 32], None).unwrap();
    Signer::new(&info, None, 0).unwrap()
}

pub(crate) fn trusting(signers: &[&Signer]) -> Appraiser {
    let mut appraiser = Appraiser::new();
    signers.iter().for_each(|signer| signer.public().trusted_by(&mut appraiser).unwrap());
    appraiser
}

pub(crate) fn open(path: &Path) -> Tree {
    Tree::open(path, Rules::default(), false, 2).unwrap()
}

pub(crate) fn user() -> SignOptions<'static> {
    SignOptions { attribute: Some(USER_IMA), ..SignOptions::default() }
}

pub(crate) fn word(signing: &Signing) -> String {
    match signing {
        Signing::Failed(why) => why.code().to_owned(),
        Signing::Left(why) => why.name().to_owned(),
        other => format!("{other:?}").to_lowercase(),
    }
}

pub(crate) fn verdict(verification: &Verification) -> String {
    match verification {
        Verification::Bad(why) => why.code().to_owned(),
        Verification::Good(_) => "good".to_owned(),
        Verification::GoodWithoutVerity(_) => "good-without-verity".to_owned(),
        Verification::Left(why) => why.name().to_owned(),
        other => format!("{other:?}"),
    }
}

pub(crate) fn applied(applying: &Applying) -> String {
    match applying {
        Applying::Applied(_) => "good".to_owned(),
        Applying::Failed(why) => why.code().to_owned(),
        Applying::Kept(_) => "kept".to_owned(),
        other => format!("{other:?}"),
    }
}

pub(crate) fn sign(tree: &Tree, signer: &Signer, options: SignOptions<'_>) -> Outcomes {
    let mut outcomes = Outcomes::new();
    let Ok(()) = tree.sign(signer, options, |entry| {
        outcomes.insert(entry.path, word(&entry.outcome));
        Ok::<(), Infallible>(())
    });
    outcomes
}

pub(crate) fn verify(tree: &Tree, appraiser: &Appraiser) -> Outcomes {
    verify_by(tree, appraiser, USER_IMA)
}

pub(crate) fn verify_by(tree: &Tree, appraiser: &Appraiser, attribute: &str) -> Outcomes {
    let mut outcomes = Outcomes::new();
    let Ok(()) = tree.verify(appraiser, attribute, |entry| {
        outcomes.insert(entry.path, verdict(&entry.outcome));
        Ok::<(), Infallible>(())
    });
    outcomes
}

/// Runs a tool; whether it is there and succeeded.
pub(crate) fn run(tool: &str, arguments: &[&dyn AsRef<OsStr>]) -> bool {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let done = Command::new(tool).args(arguments.iter().map(AsRef::as_ref)).env("PATH", path).output();
    done.is_ok_and(|done| done.status.success())
}

pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|found| std::os::unix::fs::MetadataExt::uid(&found) == 0)
}

/// A disk in a file, mounted while this lives.
pub(crate) struct Disk {
    folder: tempfile::TempDir,
    at: PathBuf,
}

impl Disk {
    /// `None` where it cannot be made, which is said aloud: nobody but root mounts, and tools may be missing.
    pub(crate) fn new(megabytes: u64, tool: &str, options: &[&str], mount: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let (image, at) = (folder.path().join("image"), folder.path().join("at"));
        fs::create_dir(&at).unwrap();
        if !is_root() {
            eprintln!("skipped: {tool} {options:?}: only root mounts");
            return None;
        }
        let mounted = if tool == "tmpfs" {
            run("mount", &[&"-t", &"tmpfs", &"-o", &format!("size={megabytes}m"), &"tmpfs", &at])
        } else {
            fs::File::create(&image).unwrap().set_len(megabytes << 20).unwrap();
            let mut arguments: Vec<&dyn AsRef<OsStr>> =
                options.iter().map(|option| option as &dyn AsRef<OsStr>).collect();
            arguments.push(&image);
            run(tool, &arguments) && run("mount", &[&"-o", &format!("loop{mount}"), &image, &at])
        };
        if !mounted {
            eprintln!("skipped: {tool} {options:?} does not work here");
            return None;
        }
        Some(Self { folder, at })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.at
    }

    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    pub(crate) fn remount(&self, options: &str) {
        assert!(run("mount", &[&"-o", &format!("remount,{options}"), &self.at]));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // A process that another test is about to start holds what is open here for a moment.
        for _ in 0..100 {
            if run("umount", &[&self.at]) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        run("umount", &[&"-l", &self.at]);
    }
}

pub(crate) fn name(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// A digest by the system's tool, a second hand.
pub(crate) fn digest(tool: &str, bytes: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), bytes).unwrap();
    let done = Command::new(tool).arg(folder.path().join("file")).output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    let digits = text.split(' ').next().unwrap();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}
