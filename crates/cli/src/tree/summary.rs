//! What is said of each file, and of all: lines for people about what is wrong, lines of JSON about everything, a line that moves
//! while a person waits.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use sealstone_tree::{Error as TreeError, Left};
use serde_json::{Value, json};

use super::{Output, path};
use crate::error::Error;
use crate::files::shown;
use crate::terminal::{BAD, DIM, Safe, Terminal, grouped};

/// How often the moving line moves.
const PACE: Duration = Duration::from_millis(200);

/// Counts and says.
pub(super) struct Report<'t> {
    terminal: &'t mut Terminal,
    json: bool,
    file: Option<(io::BufWriter<std::fs::File>, Output)>,
    /// Good ends by their names, in the order of the alphabet.
    done: BTreeMap<&'static str, u64>,
    left: BTreeMap<Left, u64>,
    bad: BTreeMap<&'static str, u64>,
    remedies: BTreeMap<&'static str, &'static str>,
    bytes: u64,
    started: Instant,
    moved: Instant,
    progress: Option<u64>,
}

impl<'t> Report<'t> {
    /// `total`: files to come, if they were counted. A moving line is for a person at a terminal alone.
    pub(super) fn new(
        terminal: &'t mut Terminal,
        json: bool,
        report: Option<&Path>,
        tree: &Path,
        total: Option<u64>,
    ) -> Result<Self, Error> {
        let file = match report {
            None => None,
            Some(path) => {
                let output = Output::create(path, tree, true)?;
                Some((output.writer()?, output))
            }
        };
        Ok(Self {
            terminal,
            json,
            file,
            done: BTreeMap::new(),
            left: BTreeMap::new(),
            bad: BTreeMap::new(),
            remedies: BTreeMap::new(),
            bytes: 0,
            started: Instant::now(),
            moved: Instant::now(),
            progress: total.filter(|_| io::stderr().is_terminal()),
        })
    }

    /// A file that is as it should be.
    pub(super) fn good(
        &mut self,
        path: &[u8],
        status: &'static str,
        bytes: u64,
        more: Value,
    ) -> Result<(), Error> {
        *self.done.entry(status).or_default() += 1;
        self.bytes += bytes;
        self.event(path, status, more)
    }

    /// Something that is not meant.
    pub(super) fn left(&mut self, path: &[u8], why: Left) -> Result<(), Error> {
        *self.left.entry(why).or_default() += 1;
        self.event(path, "skipped", json!({ "reason": why.name() }))
    }

    /// A file that is not as it should be.
    pub(super) fn bad(
        &mut self,
        path: &[u8],
        status: &'static str,
        why: &TreeError,
        bytes: u64,
    ) -> Result<(), Error> {
        *self.bad.entry(why.code()).or_default() += 1;
        self.bytes += bytes;
        if let Some(remedy) = why.remedy() {
            self.remedies.insert(why.code(), remedy);
        }
        if !self.json {
            self.clear();
            self.terminal.line(format_args!(
                "{BAD}{}{BAD:#}  {}: {}",
                why.code(),
                name(path),
                Safe(&why.to_string())
            ))?;
        }
        self.event(path, status, json!({ "reason": why.code(), "message": why.to_string() }))
    }

    fn event(&mut self, of: &[u8], status: &str, more: Value) -> Result<(), Error> {
        if self.json || self.file.is_some() {
            let mut event = json!({ "path": path(of).to_string_lossy(), "status": status });
            if std::str::from_utf8(of).is_err() {
                event["path_hex"] = of.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into();
            }
            if let (Some(event), Value::Object(more)) = (event.as_object_mut(), more) {
                event.extend(more);
            }
            self.say(&event)?;
        }
        self.moving();
        Ok(())
    }

    fn say(&mut self, event: &Value) -> Result<(), Error> {
        let text = event.to_string();
        if self.json {
            self.terminal.line(Safe(&text))?;
        }
        if let Some((file, _)) = &mut self.file {
            writeln!(file, "{text}").map_err(|cause| Error::file("the report", "written", cause))?;
        }
        Ok(())
    }

    fn moving(&mut self) {
        let Some(total) = self.progress else { return };
        if self.moved.elapsed() < PACE {
            return;
        }
        self.moved = Instant::now();
        let done = self.files();
        let seconds = self.started.elapsed().as_secs_f64().max(0.001);
        let rate = done as f64 / seconds;
        let rest = total.saturating_sub(done) as f64 / rate.max(0.001);
        let _ = write!(
            io::stderr(),
            "\r\x1b[K{} of {} files, {:.0} a second, {:.0} MB/s, {:.0} s left",
            grouped(done as usize),
            grouped(total as usize),
            rate,
            self.bytes as f64 / 1e6 / seconds,
            rest
        );
    }

    fn clear(&self) {
        if self.progress.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }

    /// Files that have an end, good or bad.
    pub(super) fn files(&self) -> u64 {
        self.done.values().chain(self.bad.values()).sum()
    }

    pub(super) fn failed(&self) -> u64 {
        self.bad.values().sum()
    }

    /// Whether something was met that the answer says nothing about.
    pub(super) fn left_out(&self) -> u64 {
        let counted = [Left::Ignored, Left::MountPoint, Left::NotExecutable, Left::TooSmall];
        counted.iter().filter_map(|why| self.left.get(why)).sum()
    }

    pub(super) fn count(&self, status: &str) -> u64 {
        self.done.get(status).copied().unwrap_or(0)
    }

    /// Says what it all came to. `good` is what a file is called that is as it should be.
    pub(super) fn finish(mut self, more: Value) -> Result<(), Error> {
        self.clear();
        let seconds = self.started.elapsed().as_secs_f64();
        let mut counts = serde_json::Map::new();
        self.done.iter().for_each(|(status, count)| drop(counts.insert((*status).into(), (*count).into())));
        let left: serde_json::Map<_, _> =
            self.left.iter().map(|(why, count)| (why.name().to_owned(), Value::from(*count))).collect();
        let bad: serde_json::Map<_, _> =
            self.bad.iter().map(|(why, count)| ((*why).to_owned(), Value::from(*count))).collect();
        let mut last = json!({
            "summary": {
                "bytes": self.bytes,
                "failed": self.failed(),
                "failures": bad,
                "files": self.files(),
                "seconds": (seconds * 1000.0).round() / 1000.0,
                "skipped": left,
            }
        });
        if let (Some(summary), Value::Object(more)) = (last["summary"].as_object_mut(), more) {
            summary.extend(counts);
            summary.extend(more);
        }
        self.say(&last)?;
        if let Some((mut file, output)) = self.file.take() {
            file.flush().map_err(|cause| Error::file("the report", "written", cause))?;
            output.place()?;
        }
        if self.json {
            return Ok(());
        }
        let mut parts: Vec<String> = self
            .done
            .iter()
            .map(|(status, count)| format!("{} {status}", grouped(*count as usize)))
            .collect();
        parts.extend(self.bad.iter().map(|(why, count)| format!("{} {why}", grouped(*count as usize))));
        if parts.is_empty() {
            parts.push("no file".into());
        }
        self.terminal.line(parts.join(", "))?;
        if !self.left.is_empty() {
            let parts: Vec<String> =
                self.left.iter().map(|(why, count)| format!("{} {why}", grouped(*count as usize))).collect();
            self.terminal.line(format_args!("{DIM}not meant: {}{DIM:#}", parts.join(", ")))?;
        }
        let megabytes = self.bytes as f64 / 1e6;
        self.terminal.line(format_args!("{DIM}{megabytes:.1} MB read in {seconds:.1} s{DIM:#}"))?;
        for (why, remedy) in &self.remedies {
            self.terminal.line(format_args!("{DIM}{why}: {remedy}{DIM:#}"))?;
        }
        Ok(())
    }
}

/// A path of the tree as it is shown.
fn name(bytes: &[u8]) -> String {
    if bytes.is_empty() { ".".into() } else { shown(&path(bytes)) }
}
