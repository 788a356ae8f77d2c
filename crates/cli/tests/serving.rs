//! Servers that are really started, asked, and told to end.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

pub(crate) fn sealstone(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sealstone"));
    command.current_dir(directory).env("TMPDIR", directory).stdin(Stdio::null());
    command
}

/// A process that is ended with its test, however that ends.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    pub(crate) fn ended(&mut self) -> ExitStatus {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Reads lines until one holds `what`, and gives all of them.
pub(crate) fn until(lines: &mut impl Iterator<Item = std::io::Result<String>>, what: &str) -> Vec<String> {
    let mut seen = Vec::new();
    for line in lines {
        seen.push(line.unwrap());
        if seen.last().unwrap().contains(what) {
            return seen;
        }
    }
    panic!("no line with `{what}` in:\n{}", seen.join("\n"));
}

#[test]
fn serve_takes_in_a_client_and_ends_when_it_is_told_to() {
    for ending in [Signal::TERM, Signal::INT] {
        let directory = tempfile::tempdir().unwrap();
        let config = directory.path().join("sealstone.toml");
        fs::write(
            &config,
            "data_dir = \"data\"\nlisten = \"127.0.0.1:0\"\n[tokens]\nalgorithms = [\"ML-DSA-44\"]\n",
        )
        .unwrap();
        let mut server = Running(
            sealstone(directory.path())
                .args(["serve", "--config", "sealstone.toml"])
                .stderr(Stdio::piped())
                .spawn()
                .unwrap(),
        );
        let mut logs = BufReader::new(server.0.stderr.take().unwrap()).lines();
        until(&mut logs, "listening");

        let added = sealstone(directory.path())
            .args([
                "client",
                "add",
                "--config",
                "sealstone.toml",
                "--id",
                "billing",
                "--alg",
                "ML-DSA-44",
                "--json",
            ])
            .output()
            .unwrap();
        assert!(added.status.success());
        let said = String::from_utf8(added.stdout).unwrap();
        let secret = said.split("\"client_secret\": \"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(secret.len(), 43);

        server.signal(ending);
        let last = until(&mut logs, "stopped");
        assert!(server.ended().success());
        assert!(last.iter().all(|line| !line.contains(secret)), "no secret in the logs");
    }
}

#[test]
fn serve_says_where_it_cannot_listen() {
    let directory = tempfile::tempdir().unwrap();
    let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let config = format!("listen = \"{}\"\n", held.local_addr().unwrap());
    fs::write(directory.path().join("sealstone.toml"), config).unwrap();
    let done = sealstone(directory.path()).args(["serve", "--config", "sealstone.toml"]).output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(said.starts_with(&format!("error: cannot listen on {}: ", held.local_addr().unwrap())), "{said}");
    assert!(said.contains("\nhint: "), "{said}");
}

/// The lines that quickstart offers are run as they stand; where there is no curl, everything else is still tried.
#[test]
fn quickstart_stays_until_it_is_told_to_end_and_its_curl_lines_work() {
    let directory = tempfile::tempdir().unwrap();
    let mut visit =
        Running(sealstone(directory.path()).arg("quickstart").stdout(Stdio::piped()).spawn().unwrap());
    let mut screen = BufReader::new(visit.0.stdout.take().unwrap()).lines();
    let lines = until(&mut screen, "Ctrl-C ends the server");
    let line =
        |start: &str| lines.iter().map(|line| line.trim()).find(|line| line.starts_with(start)).unwrap();

    let folder = line("cd ").strip_prefix("cd ").unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    if Command::new("curl").arg("--version").stdout(Stdio::null()).status().is_ok() {
        for (command, expected) in lines.iter().filter(|line| line.trim().starts_with("curl ")).zip([
            "\"access_token\":\"eyJ",
            "{\"keys\":[{\"kty\":\"AKP\"",
            "\"token_endpoint\":",
        ]) {
            let script = format!("cd {folder} && {} --silent --show-error --noproxy '*'", command.trim());
            let done = Command::new("sh").args(["-c", &script]).output().unwrap();
            let said = String::from_utf8(done.stdout).unwrap();
            assert!(said.contains(expected), "{command}: {said}{}", String::from_utf8_lossy(&done.stderr));
        }
    } else {
        eprintln!("skipped: there is no curl to run the lines with");
    }

    visit.signal(Signal::INT);
    assert!(visit.ended().success());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "nothing stays");
    let mut rest = String::new();
    screen.by_ref().for_each(|line| rest.push_str(&line.unwrap()));
    assert_eq!(rest, "");
}

/// Everything that a person can type: no argument holds a secret, so none of the options is called like one.
#[test]
fn no_option_takes_a_secret() {
    let directory = tempfile::tempdir().unwrap();
    let done = sealstone(directory.path()).args(["completions", "fish"]).output().unwrap();
    let script = String::from_utf8(done.stdout).unwrap();
    let mut options: Vec<&str> =
        script.split(" -l ").skip(1).filter_map(|rest| rest.split(' ').next()).collect();
    options.sort_unstable();
    options.dedup();
    assert!(options.contains(&"claims"), "{options:?}");
    let secrets = ["password", "passphrase", "seed", "secret", "token"];
    assert!(!options.iter().any(|option| secrets.contains(&option.trim())), "{options:?}");
}
