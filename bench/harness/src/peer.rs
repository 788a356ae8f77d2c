//! A rival in a process of its own: lines `OP LEVEL RUNS` go in, nanoseconds come out.
//! [`Process`] is the lines alone; [`Peer`] is a rival of the engine.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use sealstone_mldsa::{Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Signature, VerifyingKey};

use crate::rivals::Rival;

/// A running rival.
pub(crate) struct Peer {
    pub(crate) rival: &'static Rival,
    /// What it says of itself.
    pub(crate) version: String,
    process: Process,
}

/// A program that answers lines, and ends with its input.
pub(crate) struct Process {
    name: &'static str,
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Process {
    /// Starts it with one word in its environment, and returns the first line that it says: name and version.
    pub(crate) fn start(
        name: &'static str,
        program: &Path,
        environment: (&str, &str),
    ) -> Result<(Self, String), String> {
        let (key, value) = environment;
        Self::of(name, Command::new(program).env(key, value))
    }

    /// The same of any command.
    pub(crate) fn of(name: &'static str, command: &mut Command) -> Result<(Self, String), String> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(|why| format!("{}: {why}", command.get_program().display()))?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{name}: no pipes"));
        };
        let mut process = Self { name, child, requests, answers: BufReader::new(answers) };
        let version = process.line()?;
        Ok((process, version))
    }

    /// Nanoseconds an operation, over `runs` of them; nothing if it has no such form.
    pub(crate) fn time(&mut self, operation: &str, level: &str, runs: u64) -> Result<Option<f64>, String> {
        let answer = self.ask(&format!("{operation} {level} {runs}"))?;
        if answer == "none" {
            return Ok(None);
        }
        let total: f64 = answer.parse().map_err(|_| format!("{}: {answer}", self.name))?;
        Ok(Some(total / runs as f64))
    }

    /// One line for another.
    pub(crate) fn ask(&mut self, request: &str) -> Result<String, String> {
        let sent = writeln!(self.requests, "{request}").and_then(|()| self.requests.flush());
        sent.map_err(|why| format!("{}: {why}", self.name))?;
        self.line()
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

/// Where a rival's program lies once it is built.
pub(crate) fn program(root: &Path, rival: &Rival) -> PathBuf {
    root.join("bench/peers").join(rival.program)
}

impl Peer {
    /// Starts a rival that was built, and verifies one of its signatures at each level.
    pub(crate) fn start(root: &Path, rival: &'static Rival) -> Result<Self, String> {
        let (process, version) = Self::process(root, rival)?;
        let mut peer = Self { rival, version, process };
        peer.check::<MlDsa44>("44")?;
        peer.check::<MlDsa65>("65")?;
        peer.check::<MlDsa87>("87")?;
        Ok(peer)
    }

    fn process(root: &Path, rival: &'static Rival) -> Result<(Process, String), String> {
        Process::start(rival.name, &program(root, rival), ("PEER_VECTORS", rival.vectors))
    }

    /// Another process of the same program, whose stack and memory lie elsewhere.
    pub(crate) fn restart(&mut self, root: &Path) -> Result<(), String> {
        (self.process, self.version) = Self::process(root, self.rival)?;
        Ok(())
    }

    /// Nanoseconds an operation, over `runs` of them; nothing if the rival has no such form.
    pub(crate) fn time(&mut self, operation: &str, level: &str, runs: u64) -> Result<Option<f64>, String> {
        self.process.time(operation, level, runs)
    }

    /// What the rival signs is a signature to us, and not one of another message.
    fn check<P: ParameterSet>(&mut self, level: &str) -> Result<(), String> {
        let answer = self.process.ask(&format!("check {level}"))?;
        let refused = |what: &str| format!("{}: {what} at level {level}", self.rival.name);
        let parts: Vec<_> = answer.split(' ').filter_map(bytes).collect();
        let [public, message, signature] = &parts[..] else {
            return Err(refused("no key, message and signature"));
        };
        let key = VerifyingKey::<P>::decode(public).map_err(|_| refused("no public key"))?;
        let signature = Signature::decode(signature).map_err(|_| refused("no signature"))?;
        let fits = |message: &[u8]| key.verify(Context::EMPTY, message, &signature).is_ok();
        if !fits(message) || fits(&message[1..]) {
            return Err(refused("a signature that does not fit its message"));
        }
        Ok(())
    }
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

impl Drop for Process {
    fn drop(&mut self) {
        // It ends when its input does; a rival that hangs is stopped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
