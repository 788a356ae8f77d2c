//! A rival in a process of its own: lines `OP LEVEL RUNS` go in, nanoseconds come out.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// How a rival is started.
pub(crate) struct Rival {
    /// What the table calls it.
    pub(crate) name: &'static str,
    /// The folder under `bench/peers`.
    pub(crate) folder: &'static str,
    /// Whether it may use vector instructions that a portable build cannot count on.
    pub(crate) vectors: bool,
    /// Whether it runs without being asked for.
    pub(crate) always: bool,
}

/// A running rival.
pub(crate) struct Peer {
    /// What the table calls it.
    pub(crate) name: &'static str,
    /// What it says of itself.
    pub(crate) version: String,
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts a rival that was built in `bench/peers`.
    pub(crate) fn start(root: &Path, rival: &Rival) -> Result<Self, String> {
        let Rival { name, folder, vectors, .. } = *rival;
        let program = root.join("bench/peers").join(folder).join("target/release/peer");
        let child = Command::new(&program)
            .env("PEER_VECTORS", if vectors { "1" } else { "0" })
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child =
            child.map_err(|why| format!("{}: {why} (./dev bench builds it)", program.display()))?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{name}: no pipes"));
        };
        let mut peer =
            Self { name, version: String::new(), child, requests, answers: BufReader::new(answers) };
        peer.version = peer.line()?;
        Ok(peer)
    }

    /// Nanoseconds an operation, over `runs` of them.
    pub(crate) fn time(&mut self, operation: &str, level: &str, runs: u64) -> Result<f64, String> {
        let sent = writeln!(self.requests, "{operation} {level} {runs}").and_then(|()| self.requests.flush());
        sent.map_err(|why| format!("{}: {why}", self.name))?;
        let answer = self.line()?;
        let total: f64 = answer.parse().map_err(|_| format!("{}: {answer}", self.name))?;
        Ok(total / runs as f64)
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(read) if read > 0 => Ok(line.trim_end().to_owned()),
            Ok(_) => Err(format!("{}: ended without an answer", self.name)),
            Err(why) => Err(format!("{}: {why}", self.name)),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It ends when its input does; a rival that hangs is stopped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
