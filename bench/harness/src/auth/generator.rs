//! The load generator, in a process of its own, pinned to its core.

use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::parties::Party;
use super::requests;
use super::server::{self, Server, cpu_of};
use super::{Sample, What};

/// Where the program is.
pub(crate) struct Generator {
    program: PathBuf,
}

/// One run of it.
pub(crate) struct Load {
    /// The authorization code flow, as the generator takes it.
    pub(crate) code: Option<Value>,
    pub(crate) connections: u32,
    /// What each good answer holds.
    pub(crate) contains: &'static str,
    /// The addresses of its connections, in turn; any if there are none.
    pub(crate) from: Vec<String>,
    /// Each request is sent once.
    pub(crate) once: bool,
    /// How long the first answer is waited for.
    pub(crate) patience: Duration,
    pub(crate) path: &'static str,
    pub(crate) port: u16,
    /// Good answers are those that refuse.
    pub(crate) refused: bool,
    /// How long answers count; 0 for the first answer alone.
    pub(crate) seconds: f64,
    /// How long there is load before that.
    pub(crate) warm: Duration,
}

impl Load {
    /// One request, of which the answer is to be good at once.
    pub(crate) fn one(party: &Party, port: u16, what: What) -> Self {
        Self {
            code: None,
            connections: 1,
            contains: requests::sign_of_success(what),
            from: Vec::new(),
            once: matches!(what, What::TokenByAssertion(_)),
            patience: Duration::ZERO,
            path: party.path(what),
            port,
            refused: false,
            seconds: 0.0,
            warm: Duration::ZERO,
        }
    }
}

/// The first answer of a run.
pub(crate) struct Answered {
    pub(crate) body: Value,
    /// What its connection agreed on.
    pub(crate) tls: String,
}

impl Generator {
    pub(crate) fn find() -> Result<Self, String> {
        Ok(Self { program: server::program("sealstone-load")? })
    }

    /// Starts a run. When this returns, the first request is about to be sent.
    pub(crate) fn start(
        &self,
        core: usize,
        certificate: PathBuf,
        load: &Load,
        requests: &[Value],
    ) -> Result<Running, String> {
        let plan = json!({
            "address": format!("127.0.0.1:{}", load.port),
            "certificate": certificate,
            "code": load.code,
            "connections": load.connections,
            "contains": load.contains,
            "from": load.from,
            "once": load.once,
            "path": load.path,
            "patience_seconds": load.patience.as_secs_f64(),
            "refused": load.refused,
            "seconds": load.seconds,
            "warm_seconds": load.warm.as_secs_f64(),
        });
        let mut running = Running::spawn(&self.program, core)?;
        running.write(&plan, requests)?;
        match running.line()?.as_str() {
            "ready" => Ok(running),
            other => Err(format!("the generator said {other}")),
        }
    }
}

/// A run that goes on. It ends when the value does.
pub(crate) struct Running {
    child: Child,
    /// Open while the run is wanted: the generator ends with it, also when this process is killed.
    input: ChildStdin,
    lines: BufReader<ChildStdout>,
}

impl Running {
    fn spawn(program: &Path, core: usize) -> Result<Self, String> {
        let child = Command::new("taskset")
            .args(["-c", &core.to_string()])
            .arg(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|why| format!("taskset: {why}"))?;
        let lines = BufReader::new(child.stdout.take().ok_or("the generator has no output")?);
        let input = child.stdin.take().ok_or("the generator has no input")?;
        Ok(Self { child, input, lines })
    }

    /// Requests go by the pipe: no secret is in an argument.
    fn write(&mut self, plan: &Value, requests: &[Value]) -> Result<(), String> {
        let mut input = BufWriter::new(&mut self.input);
        let mut lines = std::iter::once(plan).chain(requests);
        let written = lines.try_for_each(|line| writeln!(input, "{line}"));
        let written = written.and_then(|()| writeln!(input)).and_then(|()| input.flush());
        written.map_err(|why| format!("the generator's input: {why}"))
    }

    pub(crate) fn answered(&mut self) -> Result<Answered, String> {
        let line = self.line()?;
        let said = line.strip_prefix("answered ").and_then(|text| serde_json::from_str::<Value>(text).ok());
        let said = said.ok_or_else(|| format!("the generator said {line}"))?;
        let body = said["body"].as_str().unwrap_or_default();
        let body = serde_json::from_str(body).map_err(|why| format!("the answer is no JSON: {why}"))?;
        Ok(Answered { body, tls: said["tls"].as_str().unwrap_or_default().to_owned() })
    }

    /// Waits until it counts.
    pub(crate) fn begun(&mut self) -> Result<(), String> {
        self.expect("begin")
    }

    /// Waits for the end, and takes what the server and the generator used between the moments that count. A rate of 0
    /// has no times.
    pub(crate) fn measured(mut self, server: &Server) -> Result<Sample, String> {
        self.expect("begin")?;
        let before = (server.cpu(), cpu_of(self.child.id()));
        self.expect("end")?;
        let after = (server.cpu(), cpu_of(self.child.id()));
        let rss = server.rss();
        let report: Value = serde_json::from_str(&self.line()?).map_err(|why| format!("a report: {why}"))?;
        if report["errors"].as_object().is_none_or(|errors| !errors.is_empty()) {
            return Err(format!("not every answer was good: {}", report["errors"]));
        }
        // Without an answer there is no percentile.
        let number = |name: &str| match &report[name] {
            Value::Null => Ok(f64::NAN),
            value => value.as_f64().ok_or_else(|| format!("the report has no {name}")),
        };
        let elapsed = number("elapsed_seconds")?;
        let percent = |begin: Duration, end: Duration| {
            // A process of the server that ended meanwhile took its time along.
            end.saturating_sub(begin).as_secs_f64() / elapsed * 100.0
        };
        Ok(Sample {
            rate: number("answers")? / elapsed,
            p50: number("p50_us")?,
            p99: number("p99_us")?,
            p999: number("p999_us")?,
            cpu_percent: percent(before.0, after.0),
            generator_cpu_percent: percent(before.1, after.1),
            rss,
            body_bytes: number("body_bytes")?,
        })
    }

    fn expect(&mut self, word: &str) -> Result<(), String> {
        let line = self.line()?;
        if line == word { Ok(()) } else { Err(format!("the generator said {line} and not {word}")) }
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.lines.read_line(&mut line) {
            Ok(read) if read > 0 => Ok(line.trim_end().to_owned()),
            _ => Err(self.last_words()),
        }
    }

    fn last_words(&mut self) -> String {
        let mut said = String::new();
        if let Some(mut errors) = self.child.stderr.take() {
            let _ = std::io::Read::read_to_string(&mut errors, &mut said);
        }
        let said = said.trim().trim_start_matches("error: ");
        if said.is_empty() { "the generator ended".to_owned() } else { said.to_owned() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
