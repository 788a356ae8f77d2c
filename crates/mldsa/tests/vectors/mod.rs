//! The vector runner: reads published test vectors in the formats of NIST, Wycheproof and others, puts
//! every case to a [`Subject`] and counts.
//!
//! One runner for everything: the example `vectors` gives it the paths of its command line, the test binary
//! gives it the registry's vectors. A format is recognised by content, never by file name, and read by a
//! strict schema: an unknown field or group type fails the file, and so does a file without a case.
//!
//! | module | holds |
//! | --- | --- |
//! | [`subject`] | what is examined: the door to an implementation, and ours behind it |
//! | [`device`] | the door to our engine in a small memory |
//! | [`examiner`] | puts a case to the subject; after each refusal a good case must still pass |
//! | [`report`] | counts and how they are printed |
//! | [`format`] | from bytes to the reader of its format |
//! | [`acvp`], [`wycheproof`], [`kat`], [`rejection`], [`cctv`], [`crafted`], [`fresh`] | one reader per origin |
//! | [`bytes`], [`shape`], [`oracle`] | hex with a schema; lengths written down from Table 2; hashes from other hands |
//!
//! It knows nothing of the engine but its public API.

pub mod acvp;
pub mod bytes;
pub mod cctv;
pub mod crafted;
pub mod device;
pub mod examiner;
pub mod format;
pub mod fresh;
pub mod kat;
pub mod oracle;
pub mod rejection;
pub mod report;
pub mod shape;
pub mod subject;
pub mod wycheproof;

use std::fs;
use std::path::{Path, PathBuf};

use examiner::Examiner;
use report::{FileReport, Report};

/// What to run besides the ordinary.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Accumulated digests over more than 10 000 keys too (hours).
    pub long: bool,
}

/// Runs every vector file in `paths` (files or folders) and calls `each` after each file.
pub fn run(
    examiner: &Examiner<'_>,
    paths: &[PathBuf],
    options: Options,
    each: &mut dyn FnMut(&FileReport),
) -> Report {
    let mut report = Report::default();
    for path in paths {
        let files = match files_under(path) {
            Ok(files) => files,
            Err(why) => {
                report.add(FileReport::broken(path, why), each);
                continue;
            }
        };
        if !files.iter().any(|file| file.sure || looks_like_json(&file.path)) {
            report.add(FileReport::broken(path, "no vector file in this folder".to_owned()), each);
        }
        for file in files {
            report.add(run_file(examiner, &file, options), each);
        }
    }
    report
}

/// Runs one file.
fn run_file(examiner: &Examiner<'_>, file: &Candidate, options: Options) -> FileReport {
    let bytes = match fs::read(&file.path) {
        Ok(bytes) => bytes,
        Err(why) => return FileReport::broken(&file.path, why.to_string()),
    };
    let text = match format::unpack(&bytes) {
        Ok(text) => text,
        Err(why) => return FileReport::broken(&file.path, why),
    };
    if !file.sure && !format::is_json(&text) {
        return FileReport::passed_over(&file.path, "not JSON".to_owned());
    }
    let mut report = FileReport::new(&file.path);
    match format::read(&text) {
        Ok(vectors) => {
            report.format = vectors.name();
            if let Err(why) = vectors.run(examiner, options, &mut report) {
                report.break_off(why);
            } else if report.cases() == 0 {
                report.break_off("no cases in this file".to_owned());
            }
        }
        Err(why) => report.break_off(why),
    }
    report
}

/// A file to look at. `sure`: it was named by the caller, or its name says JSON or gzip, so that anything
/// unreadable in it is a failure; other files in a folder (its documentation) may be passed over, aloud.
struct Candidate {
    path: PathBuf,
    sure: bool,
}

/// All files under `path`, in order of name.
fn files_under(path: &Path) -> Result<Vec<Candidate>, String> {
    let kind = fs::metadata(path).map_err(|why| why.to_string())?;
    if !kind.is_dir() {
        return Ok(vec![Candidate { path: path.to_owned(), sure: true }]);
    }
    let mut entries = fs::read_dir(path)
        .and_then(|entries| {
            entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()
        })
        .map_err(|why| why.to_string())?;
    entries.sort();
    let mut files = Vec::new();
    for entry in entries {
        if entry.is_dir() {
            files.extend(files_under(&entry)?);
        } else {
            let sure = entry.extension().is_some_and(|ext| ext == "json" || ext == "gz");
            files.push(Candidate { path: entry, sure });
        }
    }
    Ok(files)
}

/// Whether the file holds JSON although its name does not say so.
fn looks_like_json(path: &Path) -> bool {
    fs::read(path)
        .ok()
        .and_then(|bytes| format::unpack(&bytes).ok())
        .is_some_and(|text| format::is_json(&text))
}
