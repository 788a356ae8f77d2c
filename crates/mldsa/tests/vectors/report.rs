//! Counts, and how they are printed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// How many failed cases of one file are printed in full.
const SHOWN: usize = 20;

/// What became of one file.
#[derive(Debug)]
pub struct FileReport {
    /// The file.
    pub path: PathBuf,
    /// Its format, once recognised.
    pub format: &'static str,
    /// Cases that agreed.
    pub passed: usize,
    /// Cases that did not, each with its name and reason.
    pub failed: Vec<(String, String)>,
    /// Failures by flag (Wycheproof).
    pub flags: BTreeMap<String, usize>,
    /// Faulty published cases that, as they must, were not reproduced.
    pub not_reproduced: Vec<String>,
    /// Cases that were not run, and why.
    pub not_run: Vec<String>,
    /// Why the file could not be read to its end.
    pub broken: Option<String>,
    /// Why the file is no vector file at all.
    pub passed_over: Option<String>,
}

impl FileReport {
    /// Nothing counted yet.
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            format: "",
            passed: 0,
            failed: Vec::new(),
            flags: BTreeMap::new(),
            not_reproduced: Vec::new(),
            not_run: Vec::new(),
            broken: None,
            passed_over: None,
        }
    }

    /// A file that could not be read.
    pub fn broken(path: &Path, why: String) -> Self {
        Self { broken: Some(why), ..Self::new(path) }
    }

    /// A file beside the vectors.
    pub fn passed_over(path: &Path, why: String) -> Self {
        Self { passed_over: Some(why), ..Self::new(path) }
    }

    /// Counts one case.
    pub fn case(&mut self, name: impl Into<String>, outcome: Result<(), String>) -> bool {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(why) => {
                self.failed.push((name.into(), why));
                return false;
            }
        }
        true
    }

    /// Gives the file up.
    pub fn break_off(&mut self, why: String) {
        self.broken = Some(why);
    }

    /// All cases that were put to the subject.
    pub fn cases(&self) -> usize {
        self.passed + self.failed.len() + self.not_reproduced.len()
    }

    /// Whether nothing is wrong with it.
    pub fn is_good(&self) -> bool {
        self.failed.is_empty() && self.broken.is_none()
    }

    /// The lines for a reader.
    pub fn lines(&self) -> String {
        if let Some(why) = &self.passed_over {
            return format!("      -       -  {}  (passed over: {why})\n", self.path.display());
        }
        let format = if self.format.is_empty() { "unknown format" } else { self.format };
        let mut text =
            format!("{:>7} {:>7}  {}  ({format})\n", self.passed, self.failed.len(), self.path.display());
        for (name, why) in self.failed.iter().take(SHOWN) {
            text += &format!("                 failed: {name}: {why}\n");
        }
        if self.failed.len() > SHOWN {
            text += &format!("                 and {} more\n", self.failed.len() - SHOWN);
        }
        for (flag, count) in &self.flags {
            text += &format!("                 failures flagged {flag}: {count}\n");
        }
        for name in &self.not_reproduced {
            text += &format!("                 not reproduced (published signature is wrong): {name}\n");
        }
        for what in &self.not_run {
            text += &format!("                 not run: {what}\n");
        }
        if let Some(why) = &self.broken {
            text += &format!("                 error: {why}\n");
        }
        text
    }

    fn json(&self) -> Value {
        json!({
            "file": self.path.display().to_string(),
            "format": self.format,
            "passed": self.passed,
            "failed": self.failed.len(),
            "not_reproduced": self.not_reproduced.len(),
            "failures": self.failed.iter().map(|(name, why)| json!({"case": name, "why": why})).collect::<Vec<_>>(),
            "failures_by_flag": self.flags,
            "not_run": self.not_run,
            "error": self.broken,
            "passed_over": self.passed_over,
        })
    }
}

/// What became of all files.
#[derive(Debug, Default)]
pub struct Report {
    /// In the order they were run.
    pub files: Vec<FileReport>,
}

impl Report {
    /// Takes up one more file.
    pub fn add(&mut self, file: FileReport, each: &mut dyn FnMut(&FileReport)) {
        each(&file);
        self.files.push(file);
    }

    /// Cases that agreed.
    pub fn passed(&self) -> usize {
        self.files.iter().map(|file| file.passed).sum()
    }

    /// Cases that did not; a file that could not be read to its end counts as one more.
    pub fn failed(&self) -> usize {
        self.files.iter().map(|file| file.failed.len() + usize::from(file.broken.is_some())).sum()
    }

    /// Faulty published cases that were rightly not reproduced.
    pub fn not_reproduced(&self) -> usize {
        self.files.iter().map(|file| file.not_reproduced.len()).sum()
    }

    /// Whether something ran and nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.passed() + self.not_reproduced() > 0 && self.files.iter().all(FileReport::is_good)
    }

    /// The last lines for a reader; the very last is `N passed, N failed`.
    pub fn total(&self) -> String {
        let mut text = String::new();
        let read = self.files.iter().filter(|file| file.passed_over.is_none()).count();
        text += &format!("{read} files\n");
        if self.not_reproduced() > 0 {
            text += &format!("{} not reproduced (published signature is wrong)\n", self.not_reproduced());
        }
        text += &format!("{} passed, {} failed\n", self.passed(), self.failed());
        text
    }

    /// Everything, for a machine.
    pub fn json(&self, room: &str) -> Value {
        json!({
            "room": room,
            "files": self.files.iter().map(FileReport::json).collect::<Vec<_>>(),
            "passed": self.passed(),
            "failed": self.failed(),
            "not_reproduced": self.not_reproduced(),
        })
    }
}
