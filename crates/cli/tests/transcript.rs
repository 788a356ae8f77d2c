//! Transcripts: each file in `cmd/` is a session in a shell, in an empty directory with the files of `files/`.
//!
//! A line that starts with `$ ` is given to `sh`, with `sealstone` on the PATH (`> ` continues it). What follows is
//! what must come out: standard output as it is, standard error behind `! `, and the exit code as `[1]` where it is
//! not 0. `[..]` stands for any text within a line, `...` on a line of its own for any lines. Lines that start with
//! `# ` are for the reader.
//!
//! `TRANSCRIPTS=write cargo test -p sealstone-cli` writes what came out where it differs, to be read before it is kept.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");

/// One test for each file, so that they run side by side and are known by their names.
macro_rules! transcripts {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            run(stringify!($name));
        })*

        #[test]
        fn every_transcript_is_run() {
            let mut found: Vec<String> = fs::read_dir(format!("{HERE}/cmd"))
                .unwrap()
                .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
                .collect();
            found.sort();
            assert_eq!(found, [$(stringify!($name)),*]);
        }
    };
}

transcripts! {
    admin
    audit
    backup
    cert
    client
    cms
    composite
    convert
    csr
    edges
    issuer
    jwk
    jwks
    jws
    jws_composite
    jwt
    key
    legacy
    mqtt
    mqtt_audit
    mqtt_simulate
    password
    quickstart
    sign
    signing_key
    tree
    tree_report
    user
}

fn run(name: &str) {
    let path = PathBuf::from(format!("{HERE}/cmd/{name}.txt"));
    let text = fs::read_to_string(&path).unwrap();
    let shell = Shell::new();
    let (mut said, mut wrong) = (String::new(), String::new());
    for block in Block::all(&text) {
        said.push_str(&block.prose);
        if block.command.is_empty() {
            continue;
        }
        let found = shell.run(&block.script());
        if matches(&block.expected, &found) {
            write!(said, "{}{}", block.command, block.expected.join("\n")).unwrap();
        } else {
            write!(said, "{}{}", block.command, found.join("\n")).unwrap();
            let (expected, found) = (block.expected.join("\n"), found.join("\n"));
            writeln!(wrong, "\n{}--- expected\n{expected}\n--- found\n{found}", block.command).unwrap();
        }
        said.push_str("\n\n");
    }
    if std::env::var_os("TRANSCRIPTS").is_some_and(|mode| mode == "write") {
        fs::write(&path, format!("{}\n", said.trim_end())).unwrap();
    }
    assert!(wrong.is_empty(), "{name}: not as written{wrong}");
}

/// A command and what must come out of it, with the prose before it.
struct Block {
    command: String,
    expected: Vec<String>,
    prose: String,
}

impl Block {
    fn all(text: &str) -> Vec<Self> {
        let mut blocks = vec![Self { command: String::new(), expected: Vec::new(), prose: String::new() }];
        for line in text.lines() {
            let last = blocks.last_mut().unwrap();
            if line.starts_with("$ ") && last.command.is_empty() {
                last.command = format!("{line}\n");
            } else if line.starts_with("> ") && last.expected.is_empty() {
                writeln!(last.command, "{line}").unwrap();
            } else if line.starts_with("$ ") || line.starts_with("# ") && !last.command.is_empty() {
                let (command, prose) = match line.starts_with('$') {
                    true => (format!("{line}\n"), String::new()),
                    false => (String::new(), format!("{line}\n")),
                };
                blocks.push(Self { command, expected: Vec::new(), prose });
            } else if last.command.is_empty() {
                writeln!(last.prose, "{line}").unwrap();
            } else {
                last.expected.push(line.to_owned());
            }
        }
        for block in &mut blocks {
            while block.expected.last().is_some_and(|line| line.is_empty()) {
                block.expected.pop();
            }
        }
        blocks
    }

    fn script(&self) -> String {
        self.command.lines().map(|line| format!("{}\n", &line[2..])).collect()
    }
}

/// A directory of its own, and what a shell in it sees of the world.
pub(crate) struct Shell {
    directory: tempfile::TempDir,
    path: String,
}

impl Shell {
    /// In a directory with the files of `files/`.
    fn new() -> Self {
        let shell = Self::empty();
        for entry in fs::read_dir(format!("{HERE}/files")).unwrap() {
            let file = entry.unwrap().path();
            let copy = shell.directory.path().join(file.file_name().unwrap());
            fs::write(&copy, fs::read(&file).unwrap()).unwrap();
            fs::set_permissions(&copy, fs::Permissions::from_mode(0o600)).unwrap();
        }
        shell
    }

    /// In a directory with nothing but one for what is temporary.
    pub(crate) fn empty() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("tmp")).unwrap();
        let binary = Path::new(env!("CARGO_BIN_EXE_sealstone")).parent().unwrap().display().to_string();
        let path = format!("{binary}:{}", std::env::var("PATH").unwrap());
        Self { directory, path }
    }

    /// Standard output, standard error behind `! `, and the exit code, in lines.
    pub(crate) fn run(&self, script: &str) -> Vec<String> {
        let home = self.directory.path();
        let done = Command::new("sh")
            .args(["-c", &format!("umask 022\n{script}")])
            .current_dir(home)
            .env_clear()
            .envs([("LC_ALL", "C"), ("PATH", &self.path)])
            .envs([("HOME", home), ("TMPDIR", &home.join("tmp"))])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let mut lines: Vec<String> =
            String::from_utf8_lossy(&done.stdout).lines().map(|line| line.trim_end().to_owned()).collect();
        while lines.last().is_some_and(|line| line.is_empty()) {
            lines.pop();
        }
        lines.extend(String::from_utf8_lossy(&done.stderr).lines().map(|line| format!("! {line}")));
        match done.status.code() {
            Some(0) => {}
            Some(code) => lines.push(format!("[{code}]")),
            None => lines.push("[killed]".into()),
        }
        lines
    }
}

/// Whether the lines are as expected, with `...` for any lines.
pub(crate) fn matches(expected: &[String], found: &[String]) -> bool {
    match expected.split_first() {
        None => found.is_empty(),
        Some((any, rest)) if any == "..." => (0..=found.len()).any(|skip| matches(rest, &found[skip..])),
        Some((line, rest)) => {
            found.split_first().is_some_and(|(first, others)| fits(line, first) && matches(rest, others))
        }
    }
}

/// Whether a line is as expected, with `[..]` for any text.
fn fits(expected: &str, found: &str) -> bool {
    match expected.split_once("[..]") {
        None => expected == found,
        Some((start, rest)) => found.strip_prefix(start).is_some_and(|found| {
            found.char_indices().map(|(at, _)| at).chain([found.len()]).any(|at| fits(rest, &found[at..]))
        }),
    }
}

#[test]
fn the_runner_tells_what_differs() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(matches(&lines("a\n...\nd [..]!"), &lines("a\nb\nc\nd e!")));
    assert!(!matches(&lines("a\n...\nd [..]!"), &lines("a\nb\nc\nd e")));
    assert!(!matches(&lines("a"), &lines("a\nb")));
    let shell = Shell::new();
    assert_eq!(shell.run("echo out; echo err >&2; exit 3"), ["out", "! err", "[3]"]);
}
