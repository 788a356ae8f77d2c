//! `sealstone tree sign` on a disk without the room for all signatures: refused before the first file, and signed once there is room.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const FILES: usize = 200;

/// A mount that does not outlive its test.
struct Mounted<'a>(&'a Path);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        // A process that another test is about to start may hold something open for a moment.
        let _ = tool("umount", &["-l", &self.0.display().to_string()]);
    }
}

fn tool(name: &str, arguments: &[&str]) -> bool {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(name);
    command.args(arguments).env("PATH", path).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[test]
fn a_tree_without_room_is_refused_before_its_first_file() {
    let folder = tempfile::tempdir().unwrap();
    let (image, at) = (folder.path().join("image"), folder.path().join("at"));
    fs::create_dir(&at).unwrap();
    fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
    let (image, place) = (image.display().to_string(), at.display().to_string());
    let made = tool("mkfs.ext4", &["-q", "-F", "-b", "4096", "-m", "0", &image]);
    if !made || !tool("mount", &["-o", "loop", &image, &place]) {
        eprintln!("skipped: only root mounts, and mkfs.ext4 has to be there");
        return;
    }
    let _mounted = Mounted(&at);
    let tree = at.join("tree");
    fs::create_dir(&tree).unwrap();
    (0..FILES).for_each(|number| fs::write(tree.join(number.to_string()), "x").unwrap());
    // Until nothing is free; then less than the signatures take.
    let filler = at.join("filler");
    let _ = fs::write(&filler, vec![0; 32 << 20]);
    let len = fs::metadata(&filler).unwrap().len();
    fs::File::options().write(true).open(&filler).unwrap().set_len(len - (FILES as u64 - 50) * 4096).unwrap();
    assert!(tool("sync", &["-f", &place]));

    let key = folder.path().join("key.pem");
    fs::copy(format!("{}/tests/files/zero65.pem", env!("CARGO_MANIFEST_DIR")), &key).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let sign = || -> Output {
        let mut sealstone = Command::new(env!("CARGO_BIN_EXE_sealstone"));
        sealstone.args(["tree", "sign", "--store", "xattr", "--key"]).arg(&key).arg(&tree);
        sealstone.output().unwrap()
    };
    let signed = || {
        let mut list = Command::new("getfattr");
        list.args(["-R", "--absolute-names", "-n", "security.ima"]).arg(&tree);
        String::from_utf8_lossy(&list.output().unwrap().stdout).matches("# file: ").count()
    };
    let doctor = || {
        let mut sealstone = Command::new(env!("CARGO_BIN_EXE_sealstone"));
        sealstone.args(["tree", "doctor", "--key"]).arg(&key).arg(&tree).output().unwrap()
    };
    let asked = doctor();
    assert_eq!(asked.status.code(), Some(3), "{}", String::from_utf8_lossy(&asked.stderr));
    let refused = sign();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(3), "{said}");
    let expected = format!("signing {FILES} files takes up to {} bytes of ext4, and ", FILES * 4096);
    assert!(said.contains(&expected), "{said}");
    assert!(String::from_utf8_lossy(&asked.stderr).contains(&expected), "both say the same");
    assert!(said.contains("hint: make room, take a smaller level, or --store manifest"), "{said}");
    assert_eq!(signed(), 0, "nothing is written");

    fs::remove_file(&filler).unwrap();
    assert!(tool("sync", &["-f", &place]));
    assert!(doctor().status.success());
    let done = sign();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(signed(), FILES);
}
