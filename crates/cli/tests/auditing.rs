//! The audit log of a server that is killed, and of one whose disk is full.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};

use rustix::process::Signal;

use crate::serving::{Running, sealstone, until};

/// A server over plain HTTP on loopback, in a directory of its own.
struct Server {
    address: String,
    logs: Receiver<String>,
    process: Running,
    secret: String,
}

impl Server {
    /// Starts it through `sh`, so that `before` can set limits.
    fn start(directory: &Path, before: &str) -> Self {
        let mut process = Running(
            Command::new("sh")
                .args([
                    "-c",
                    &format!(
                        "{before} exec {} serve --config sealstone.toml",
                        env!("CARGO_BIN_EXE_sealstone")
                    ),
                ])
                .current_dir(directory)
                .stderr(Stdio::piped())
                .spawn()
                .unwrap(),
        );
        let mut logs = BufReader::new(process.0.stderr.take().unwrap()).lines();
        let said = until(&mut logs, "listening").pop().unwrap();
        let address = said.split("address=").nth(1).unwrap().split(' ').next().unwrap().to_owned();
        let secret = fs::read_to_string(directory.join("billing.secret")).unwrap().trim().to_owned();
        // Somebody must read what it says.
        let (sender, lines) = channel();
        std::thread::spawn(move || logs.for_each(|line| drop(sender.send(line.unwrap_or_default()))));
        Self { address, logs: lines, process, secret }
    }

    /// Whether it has said so by now.
    fn has_said(&self, what: &str) -> bool {
        self.logs.try_iter().any(|line| line.contains(what))
    }

    /// The status of a token request.
    fn token(&self) -> u16 {
        let form = format!("grant_type=client_credentials&client_id=billing&client_secret={}", self.secret);
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "POST /token HTTP/1.1\r\nhost: {}\r\ncontent-type: application/x-www-form-urlencoded\r\n\
             connection: close\r\ncontent-length: {}\r\n\r\n{form}",
            self.address,
            form.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    }
}

/// A directory with a configuration and a client.
fn directory(audit: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let config = format!(
        "data_dir = \"data\"\nlisten = \"127.0.0.1:0\"\n[tls]\nmode = \"plain-loopback\"\n\
         [tokens]\nalgorithms = [\"ES256\"]\n[audit]\n{audit}"
    );
    fs::write(directory.path().join("sealstone.toml"), config).unwrap();
    let added = sealstone(directory.path())
        .args(["client", "add", "--config", "sealstone.toml", "--id", "billing", "--alg", "ES256"])
        .args(["--auth-method", "client_secret_post", "--secret-out", "billing.secret"])
        .output()
        .unwrap();
    assert!(added.status.success(), "{added:?}");
    directory
}

fn verify(directory: &Path) -> (i32, serde_json::Value) {
    let Output { status, stdout, .. } = sealstone(directory)
        .args(["audit", "verify", "--config", "sealstone.toml", "--json"])
        .output()
        .unwrap();
    (status.code().unwrap(), serde_json::from_slice(&stdout).unwrap())
}

fn events(directory: &Path, event: &str) -> Vec<serde_json::Value> {
    let shown = sealstone(directory)
        .args(["audit", "show", "--config", "sealstone.toml", "--json", "--event", event])
        .output()
        .unwrap();
    assert!(shown.status.success(), "{shown:?}");
    let lines = String::from_utf8(shown.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_server_that_is_killed_goes_on_honestly() {
    let directory = directory("seal_seconds = 3600\n");
    let path = directory.path();
    let mut server = Server::start(path, "");
    for _ in 0..20 {
        assert_eq!(server.token(), 200);
    }
    // What is written is in the system's hands: it outlives the process.
    while events(path, "token.issued").len() < 20 {
        std::thread::yield_now();
    }
    let (code, said) = verify(path);
    assert_eq!(
        (code, &said["chains"]["server"]["notes"][0]),
        (0, &"lines 1 to 22 wait for their seal".into())
    );
    server.process.signal(Signal::KILL);
    assert!(!server.process.ended().success());
    let (code, said) = verify(path);
    assert_eq!((code, &said["chains"]["server"]["findings"][0]["fault"]), (1, &"unsealed".into()));

    // As a machine that lost power may leave it.
    let file = path.join("data/audit/server/000001.jsonl");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 30]).unwrap();
    let (code, said) = verify(path);
    assert_eq!((code, &said["chains"]["server"]["findings"][0]["fault"]), (1, &"torn".into()));

    let mut server = Server::start(path, "");
    assert_eq!(server.token(), 200);
    server.process.signal(Signal::TERM);
    assert!(server.process.ended().success());
    let (code, said) = verify(path);
    let chain = &said["chains"]["server"];
    assert_eq!((code, chain["findings"].as_array().unwrap().len()), (0, 0), "{said}");
    assert_eq!(chain["notes"].as_array().unwrap().len(), 2, "{said}");
    assert_eq!(chain["sealed_to"], chain["last"]);
    assert_eq!(events(path, "token.issued").len(), 20, "19 whole lines and one since");
}

/// `ulimit -f` counts blocks of 512 bytes: the disk of this server is full soon, and then has room again.
fn full_disk(when_full: &str, status: u16) {
    let directory = directory(&format!("when_full = \"{when_full}\"\nqueue = 8\nseal_lines = 20\n"));
    let path = directory.path();
    let mut server = Server::start(path, "trap '' XFSZ; ulimit -S -f 400;");
    let whole = |count: usize| (0..count).map(|_| server.token()).collect::<Vec<u16>>();
    let mut good = 0;
    // Nobody is refused for good before the disk is full: where the queue is, for a moment.
    while !server.has_said("the audit log cannot be written") {
        good += u64::from(server.token() == 200);
    }
    if when_full == "drop" {
        good += 50;
    }
    assert!(whole(50).iter().all(|answer| *answer == status));
    let (code, said) = verify(path);
    assert_eq!(code, 0, "whole lines alone: {said}");

    let id = server.process.0.id().to_string();
    let room = Command::new("prlimit").args(["--pid", &id, "--fsize=unlimited"]).status().unwrap();
    assert!(room.success());
    if when_full == "refuse" {
        while server.token() != 200 {}
        good += 1;
    }
    server.process.signal(Signal::TERM);
    assert!(server.process.ended().success());
    let (code, said) = verify(path);
    assert_eq!(code, 0, "{said}");
    let lost: u64 = events(path, "audit.lost").iter().map(|line| line["lines"].as_u64().unwrap()).sum();
    let written = events(path, "token.issued").len() as u64;
    // The last line of all may have found no room either.
    let unsaid = u64::from(events(path, "server.stopped").is_empty());
    assert_eq!(written + lost, good + unsaid, "{lost} lost");
    assert_eq!(lost > 0, when_full == "drop");
}

#[test]
fn a_full_disk_refuses_and_recovers() {
    full_disk("refuse", 503);
}

#[test]
fn a_full_disk_drops_and_says_how_much() {
    full_disk("drop", 200);
}
