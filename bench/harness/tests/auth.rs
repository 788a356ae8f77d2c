//! `sealstone-bench auth` against our own server: every row comes out, nothing is left behind, and no bad answer counts.
//! Nothing here depends on how long anything takes.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const BENCH: &str = env!("CARGO_BIN_EXE_sealstone-bench");
/// For what must come in the end; how soon is not what is tested.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn every_row_comes_out_of_a_run_without_peers() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = folder.path().join("rows.json");
    let output =
        bench(&["--rounds", "2", "--seconds", "0.2", "--json"]).arg(&rows).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.starts_with("server "), "which cores were used: {said}");
    let rows: Vec<Value> = serde_json::from_slice(&fs::read(&rows).expect("rows")).expect("JSON");
    assert_eq!(rows.len(), 19);
    for row in &rows {
        assert!(row["ours"].as_f64().is_some_and(|ours| ours > 0.0), "{row}");
        // Ours beside ours has a ratio that can miss its goal, and so have memory and start; peers do not run.
        let name = row["name"].as_str().expect("a name");
        let of_peers =
            ["oidc-provider", "keycloak", "fosite", "spring"].iter().any(|peer| name.ends_with(peer));
        assert_eq!((row["goal"].is_null(), row["met"].is_null()), (of_peers, of_peers), "{row}");
    }
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("| sealstone | introspection ML-DSA-65 | 128 |"), "{text}");
    assert!(text.contains("| sealstone-alone | token ML-DSA-65 | 32 |"), "{text}");
    assert!(text.contains("TLS13_AES_128_GCM_SHA256"), "{text}");
}

#[test]
fn a_run_that_is_killed_leaves_no_server_and_no_load_behind() {
    let mut run = bench(&["--rounds", "1", "--seconds", "60", "--only", "latency/ES384"]);
    // It cannot remove its folder either.
    let folder = tempfile::tempdir().expect("a folder");
    let run = run.env("TMPDIR", folder.path());
    let mut run = Ended(run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs"));
    let server =
        until("a server", || below(run.0.id(), |words| words.get(1).is_some_and(|word| word == "serve")));
    let load = until("a load", || below(run.0.id(), |words| words[0].ends_with("sealstone-load")));
    run.0.kill().expect("it is killed");
    run.0.wait().expect("it ends");
    for (what, pid) in [("the end of the server", server), ("the end of the load", load)] {
        until(what, || command_line(pid).is_empty().then_some(()));
    }
}

#[test]
fn a_peer_that_nobody_knows_is_refused() {
    let output = bench(&["--against", "hydra"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.lines().last(), Some("error: there is no peer called hydra"));
}

#[test]
fn a_load_begins_with_a_good_answer_and_reports_each_bad_one() {
    let house = House::start();
    let (good, bad) = (house.request(&house.secret), house.request("wrong"));
    let said = house.load(&[&bad], "\"access_token\"");
    assert!(said.contains("error: status 401: {\"error\":\"invalid_client\""), "{said}");
    let said = house.load(&[&good], "no such word");
    assert!(said.contains("error: another answer: {\"access_token\""), "{said}");

    let report = |requests: &[&Value]| {
        let said = house.load(requests, "\"access_token\"");
        let last = said.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
        last.unwrap_or_else(|| panic!("no report: {said}"))
    };
    let clean = report(&[&good, &good, &good]);
    assert_eq!((&clean["errors"], &clean["answers"]), (&json!({}), &json!(2)));
    let errors = report(&[&good, &bad, &bad])["errors"].clone();
    let mut errors = errors.as_object().expect("errors").iter();
    assert!(errors.any(|(why, count)| why.starts_with("status 401") && count == 2), "{errors:?}");
}

/// Whoever held the input may have been killed: it would ask for a server that never comes until its patience ends.
#[test]
fn a_load_ends_when_its_input_does() {
    let house = House::start();
    let plan = house.plan("\"access_token\"", free_port(), Duration::from_secs(600));
    let mut load = Generator::start(&plan, &[&house.request(&house.secret)]);
    assert_eq!(load.output.by_ref().lines().next().expect("a line").expect("text"), "ready");
    assert!(load.process.0.try_wait().expect("its state").is_none(), "it waits for its server");
    drop(load.input);
    let ended = || load.process.0.try_wait().expect("its state");
    let status = until("the end of the load", ended);
    assert_eq!(status.code(), Some(2));
}

/// `sealstone-bench auth`, with what it needs beside it.
fn bench(words: &[&str]) -> Command {
    programs();
    let mut command = Command::new(BENCH);
    command.arg("auth").args(words);
    command
}

/// The folder of the server and the load generator, which are built beside the program that is tested.
fn programs() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let beside = Path::new(BENCH).parent().expect("a folder").to_owned();
        // One by one: features of one must not reach the other.
        for package in ["sealstone-cli", "sealstone-load"] {
            let mut command = Command::new(env!("CARGO"));
            command.current_dir(env!("CARGO_MANIFEST_DIR")).args([
                "build",
                "-q",
                "-p",
                package,
                "--target-dir",
            ]);
            command.arg(beside.parent().expect("a folder"));
            if beside.ends_with("release") {
                command.arg("--release");
            }
            assert!(command.status().expect("cargo").success(), "{package} is built");
        }
        beside
    })
}

/// A server with one client, and a generator for it.
struct House {
    certificate: PathBuf,
    port: u16,
    secret: String,
    _server: Ended,
    _folder: tempfile::TempDir,
}

impl House {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let here = |name: &str| folder.path().join(name);
        let port = free_port();
        // A JSON string is a TOML string.
        let text = format!("data_dir = {}\nlisten = \"127.0.0.1:{port}\"\n", json!(here("data")));
        fs::write(here("sealstone.toml"), text).expect("a configuration");
        let sealstone = |words: &[&str]| {
            let mut command = Command::new(programs().join("sealstone"));
            command.args(words).arg("--config").arg(here("sealstone.toml"));
            command.stdout(Stdio::null()).stderr(Stdio::null());
            command
        };
        let mut add = sealstone(&["client", "add", "--id", "bench", "--alg", "ES256"]);
        assert!(add.arg("--secret-out").arg(here("secret")).status().expect("it runs").success());
        let server = Ended(sealstone(&["serve"]).spawn().expect("it runs"));
        // It listens before it has its certificate, and then lets whoever connects wait for it.
        let certificate = here("data/tls-self-signed.pem");
        let written = || fs::read_to_string(&certificate).is_ok_and(|pem| pem.contains("-----END"));
        until("a certificate", || written().then_some(()));
        let secret = fs::read_to_string(here("secret")).expect("a secret").trim().to_owned();
        Self { certificate, port, secret, _server: server, _folder: folder }
    }

    fn request(&self, secret: &str) -> Value {
        let basic = format!("Basic {}", STANDARD.encode(format!("bench:{secret}")));
        json!({"authorization": basic, "body": "grant_type=client_credentials"})
    }

    /// Sends each request once; what the generator wrote, errors last.
    fn load(&self, requests: &[&Value], contains: &str) -> String {
        let mut load = Generator::start(&self.plan(contains, self.port, Duration::ZERO), requests);
        let mut said = String::new();
        load.output.read_to_string(&mut said).expect("text");
        load.process.0.stderr.take().expect("its errors").read_to_string(&mut said).expect("text");
        said
    }

    fn plan(&self, contains: &str, port: u16, patience: Duration) -> Value {
        json!({
            "address": format!("127.0.0.1:{port}"),
            "certificate": self.certificate,
            "connections": 1,
            "contains": contains,
            "once": true,
            "path": "/token",
            "patience_seconds": patience.as_secs_f64(),
            "seconds": 60.0,
            "warm_seconds": 0.0,
        })
    }
}

/// `sealstone-load`, which lives as long as its input is open.
struct Generator {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    process: Ended,
}

impl Generator {
    fn start(plan: &Value, requests: &[&Value]) -> Self {
        let mut command = Command::new(programs().join("sealstone-load"));
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let mut input = child.stdin.take().expect("its input");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let process = Ended(child);
        let lines = std::iter::once(plan).chain(requests.iter().copied());
        lines.for_each(|line| writeln!(input, "{line}").expect("it reads"));
        writeln!(input).expect("it reads");
        Self { input, output, process }
    }
}

/// A process that does not outlive its test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process that a run has started, by its command line.
fn below(run: u32, is_it: impl Fn(&[String]) -> bool) -> Option<u32> {
    let mut numbers =
        fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_it = |pid: u32| {
        let words = command_line(pid);
        !words.is_empty() && is_it(&words)
    };
    numbers.find(|pid| is_it(*pid) && ancestors(*pid).contains(&run))
}

fn ancestors(pid: u32) -> Vec<u32> {
    let parent = |pid: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
    };
    std::iter::successors(Some(pid), parent).collect()
}

/// Empty for a process that is not there.
fn command_line(pid: u32) -> Vec<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    text.split_terminator('\0').map(str::to_owned).collect()
}

/// That nobody listens on.
fn free_port() -> u16 {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    free.expect("a port").port()
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        match look() {
            Some(found) => return found,
            None => assert!(Instant::now() < end, "{what} did not come"),
        }
        sleep(Duration::from_millis(20));
    }
}
