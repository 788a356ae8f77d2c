//! What a person sees who waits for a tree, and what a pipe does not: by script(1), which gives a program a terminal.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const SEALSTONE: &str = env!("CARGO_BIN_EXE_sealstone");

/// A key, and a tree of so many files.
fn made(folder: &Path, files: u32) {
    let tree = folder.join("tree");
    let _ = fs::remove_dir_all(&tree);
    fs::create_dir_all(&tree).unwrap();
    (0..files).for_each(|number| fs::write(tree.join(number.to_string()), number.to_le_bytes()).unwrap());
    let key = Command::new(SEALSTONE)
        .current_dir(folder)
        .args(["key", "generate", "--force", "--out", "key"])
        .output();
    assert!(key.unwrap().status.success());
}

/// Signing, slowly enough to be looked at.
const SIGN: &str =
    "tree sign --jobs 1 --key key --store manifest --manifest list --keep-signatures --force tree";

#[test]
fn at_a_terminal_rate_and_time_left_appear_and_go_and_in_a_pipe_nothing_does() {
    if Command::new("script").arg("--version").output().is_err() {
        println!("skipped: script(1) of util-linux is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at_terminal = |files| {
        made(folder.path(), files);
        let command = format!("{SEALSTONE} {SIGN}");
        let done = Command::new("script")
            .current_dir(folder.path())
            .args(["-qec", &command, "typescript"])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(done.status.success(), "{said}");
        said
    };
    // On a machine that is done before a fifth of a second, twice as many.
    let sizes = [4000, 16_000, 64_000];
    let (files, said) = sizes
        .into_iter()
        .map(|files| (files, at_terminal(files)))
        .find(|(_, said)| said.contains(" a second"))
        .expect("a line that moves");
    let moving: Vec<&str> = said.split("\r\x1b[K").filter(|line| line.contains(" a second")).collect();
    let total = match files {
        4000 => "4 000",
        16_000 => "16 000",
        _ => "64 000",
    };
    for line in &moving {
        assert!(
            line.contains(&format!("of {total} files, "))
                && line.contains(" MB/s, ")
                && line.ends_with(" s left"),
            "{line:?}"
        );
    }
    // The line is taken away before the sum is said.
    let (_, last) = said.rsplit_once("\r\x1b[K").unwrap();
    assert!(last.trim_start().starts_with(&format!("{total} listed")), "{last:?}");

    let piped = Command::new(SEALSTONE).current_dir(folder.path()).args(SIGN.split(' ')).output().unwrap();
    let said = [piped.stdout, piped.stderr].concat();
    assert!(piped.status.success());
    assert!(!said.contains(&b'\r') && !said.contains(&0x1b), "{}", String::from_utf8_lossy(&said));
    assert!(!String::from_utf8_lossy(&said).contains(" a second"));
}
