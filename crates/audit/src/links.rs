//! Holds the lines of a chain against each other.
//!
//! A line is *known* if another one carries its hash, or if it is a seal whose signature is good. Where a link is broken,
//! what the lines around it know of each other tells which of them is wrong.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::chain::BEFORE_FIRST;
use crate::verify::{ChainFiles, Fault, Finding, Line, Report};

/// A chain that is being checked, from its first line on.
pub(crate) struct Check<'a> {
    chain: &'a ChainFiles,
    /// The hash of the line before, and its number.
    before: Option<(String, u64)>,
    /// Where the line before stands.
    place: (PathBuf, u64),
    report: Report,
    /// Where a file ended within a line, and the hash of what is there of it.
    torn: Option<(PathBuf, u64, String)>,
    /// Lines since the last good seal.
    unsealed: u64,
}

/// The lines of one file, and who knows whom.
struct Lines {
    lines: Vec<Line>,
    known: HashSet<String>,
    place: HashMap<String, usize>,
}

impl Lines {
    fn new(lines: Vec<Line>) -> Self {
        let place = lines.iter().enumerate().map(|(at, line)| (line.hash.clone(), at)).collect();
        let known = lines.iter().filter_map(|line| line.prev.clone()).collect();
        Self { lines, known, place }
    }

    fn is_known(&self, at: usize) -> bool {
        let line = &self.lines[at];
        line.seal == Some(true) || self.known.contains(&line.hash)
    }

    /// Where the line is that this one follows, by its own word.
    fn origin(&self, at: usize) -> Option<usize> {
        self.place.get(self.lines[at].prev.as_ref()?).copied()
    }
}

/// What a line is, held against the one before it.
enum Link {
    /// It belongs here and has this number.
    At(u64),
    /// It belongs nowhere: the next one is held against the line before.
    Nowhere,
}

impl<'a> Check<'a> {
    pub(crate) fn new(chain: &'a ChainFiles) -> Self {
        let (place, report) = ((PathBuf::new(), 0), Report::default());
        Self { chain, before: None, place, report, torn: None, unsealed: 0 }
    }

    /// The next file.
    pub(crate) fn file(&mut self, path: &Path, lines: Vec<Line>, torn: Option<String>) {
        let lines = Lines::new(lines);
        for at in 0..lines.lines.len() {
            let line = &lines.lines[at];
            self.report.lines += 1;
            let before = std::mem::replace(&mut self.place, (path.to_owned(), at as u64 + 1));
            let Link::At(n) = self.link(&lines, at, &before) else { continue };
            self.says(line, n);
            self.before = Some((line.hash.clone(), n));
            self.report.first.get_or_insert(n);
            self.report.last = Some(n);
            self.unsealed += 1;
            if line.seal == Some(true) {
                (self.report.sealed_to, self.unsealed) = (Some(n), 0);
                self.report.seals += 1;
            }
        }
        if let Some(hash) = torn {
            self.torn_unnamed();
            self.torn = Some((path.to_owned(), lines.lines.len() as u64 + 1, hash));
        }
    }

    /// Holds a line against the one before it.
    fn link(&mut self, lines: &Lines, at: usize, before: &(PathBuf, u64)) -> Link {
        let line = &lines.lines[at];
        let (follows, expected) = match &self.before {
            Some((hash, n)) => (line.prev.as_ref() == Some(hash), n + 1),
            None => (line.n != Some(1) || line.prev.as_deref() == Some(BEFORE_FIRST), line.n.unwrap_or(1)),
        };
        let Some(n) = line.n else {
            self.tell(Fault::Changed, expected, format!("line {expected} is not a line of this log"));
            return Link::At(expected);
        };
        if follows {
            if n != expected {
                let what = format!("line {expected} was changed: it calls itself {n}");
                self.tell(Fault::Changed, expected, what);
            }
            return Link::At(expected);
        }
        if let Some(origin) = lines.origin(at) {
            // What this one follows in truth is in this file, in another place.
            let strangers = origin + 1..at;
            if strangers.is_empty() || strangers.clone().any(|other| lines.is_known(other)) {
                self.tell(Fault::Reordered, n, format!("line {n} was moved here"));
            } else {
                strangers.for_each(|other| {
                    self.inserted(before.0.clone(), other as u64 + 1, lines.lines[other].n)
                });
            }
            return Link::At(n);
        }
        if n > expected {
            let what = format!("{} removed before this one", were(expected, n - 1));
            self.tell(Fault::Removed, n, what);
        } else if n == expected && lines.is_known(at) {
            // Two lines that do not know each other, and this one is known: the other was changed.
            let what = format!("line {} was changed", n - 1);
            self.tell_at(Fault::Changed, before.clone(), Some(n - 1), what);
        } else if n == expected {
            self.tell(Fault::Changed, n, format!("line {n}, or the one before it, was changed"));
        } else if lines.is_known(at) {
            self.tell(Fault::Reordered, n, format!("line {n} was moved here"));
        } else {
            let (file, number) = self.place.clone();
            self.inserted(file, number, Some(n));
            return Link::Nowhere;
        }
        Link::At(n)
    }

    /// What a line says besides: a signature, how the chain was found, and that it is the head.
    fn says(&mut self, line: &Line, n: u64) {
        if line.seal == Some(false) {
            let from = self.report.sealed_to.map_or(1, |n| n + 1);
            let what = format!(
                "the signature of line {n} is not one of the key: {} rewritten, or another key signed",
                were(from, n)
            );
            self.tell(Fault::Signature, n, what);
        }
        let is_head = self.chain.head.as_ref().filter(|head| head.n == n);
        if is_head.is_some_and(|head| head.hash != line.hash) {
            self.tell(Fault::Changed, n, format!("line {n} is not the one that the head names"));
        }
        let Some(opened) = &line.opened else { return };
        if let Some(missing) = opened.missing_to {
            let what = format!("{} cut off before this line was written", were(n, missing));
            self.tell(Fault::Truncated, n, what);
        }
        if opened.unsealed > 0 {
            let (from, to) = (n.saturating_sub(opened.unsealed), n.saturating_sub(1));
            let what =
                format!("lines {from} to {to} had no seal when line {n} was written: the writer was killed");
            self.report.notes.push(what);
        }
        if let Some(named) = &opened.torn_sha256 {
            match self.torn.take_if(|(.., hash)| hash == named) {
                Some((file, at, _)) => {
                    let what = format!("{} ends within line {at}, as line {n} says", file.display());
                    self.report.notes.push(format!("{what}: the writer was killed"));
                }
                None => {
                    let what = format!("the torn end that line {n} names is not the one that is there");
                    self.tell(Fault::Changed, n, what);
                }
            }
        }
        self.torn_unnamed();
    }

    /// What the end of the chain shows.
    pub(crate) fn end(mut self) -> Report {
        let last = self.report.last.unwrap_or(0);
        if let Some(first) = self.report.first.filter(|first| *first > 1) {
            self.report.notes.push(format!("what was looked at begins with line {first}"));
        }
        if self.chain.held && self.torn.take().is_some() {
            self.report.notes.push("the last line is being written".to_owned());
        }
        self.torn_unnamed();
        if let Some(head) = self.chain.head.as_ref().filter(|head| head.n > last) {
            self.tell(Fault::Truncated, last, format!("{} cut off", were(last + 1, head.n)));
        }
        let from = self.report.sealed_to.map_or(self.report.first.unwrap_or(1), |n| n + 1);
        match (self.unsealed, self.chain.held) {
            (0, _) => {}
            (_, true) => self.report.notes.push(format!("lines {from} to {last} wait for their seal")),
            (_, false) => {
                let why = "the writer was killed, or the end was cut off";
                self.tell(Fault::Unsealed, last, format!("lines {from} to {last} have no seal: {why}"));
            }
        }
        self.report
    }

    /// A torn end that no line of the next writer names.
    fn torn_unnamed(&mut self) {
        if let Some((file, line, _)) = self.torn.take() {
            let what =
                format!("the file ends within line {line}: the writer was killed, or the end was cut off");
            self.tell_at(Fault::Torn, (file, line), None, what);
        }
    }

    fn inserted(&mut self, file: PathBuf, line: u64, n: Option<u64>) {
        let what = "this line was put in: no other one knows it".to_owned();
        self.tell_at(Fault::Inserted, (file, line), n, what);
    }

    fn tell(&mut self, fault: Fault, n: u64, what: String) {
        self.tell_at(fault, self.place.clone(), Some(n), what);
    }

    /// One fault a line: the first one that was found says the most. The end of the chain can have several.
    fn tell_at(&mut self, fault: Fault, (file, line): (PathBuf, u64), n: Option<u64>, what: String) {
        let of_the_end = matches!(fault, Fault::Truncated | Fault::Unsealed);
        let told = self.report.findings.iter().any(|told| told.file == file && told.line == line);
        if of_the_end || !told {
            self.report.findings.push(Finding { fault, file, line, n, what });
        }
    }
}

/// `line 4 was`, `lines 4 to 7 were`.
fn were(from: u64, to: u64) -> String {
    if from == to { format!("line {from} was") } else { format!("lines {from} to {to} were") }
}
