//! Which files of a tree are meant: what is left out, in the words of .gitignore, and what is asked of a file itself.
//!
//! No file of the tree is read for rules: who may write into a tree must not decide what of it goes unsigned.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::error::Error;

/// Which files are meant. By default every regular file.
///
/// ```
/// use sealstone_tree::Rules;
///
/// # fn main() -> Result<(), sealstone_tree::Error> {
/// let rules = Rules::new(vec!["*.log".into(), "/tmp/".into()], vec![])?;
/// assert_eq!(rules.exclude(), ["*.log", "/tmp/"]);
/// assert!(rules.include().is_empty());
/// assert!(!rules.is_everything());
///
/// // What is asked of a file itself.
/// let mut programs = Rules::default();
/// assert!(programs.is_everything());
/// programs.only_executable = true;
/// assert!(!programs.is_everything());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Rules {
    excluded: Gitignore,
    exclude: Vec<String>,
    included: Option<Gitignore>,
    include: Vec<String>,
    /// Only files that somebody may execute.
    pub only_executable: bool,
    /// Only files of so many bytes at least.
    pub min_size: u64,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            excluded: Gitignore::empty(),
            exclude: Vec::new(),
            included: None,
            include: Vec::new(),
            only_executable: false,
            min_size: 0,
        }
    }
}

impl Rules {
    /// `exclude` leaves out, `include` takes these files alone unless it is empty. Both are lines of .gitignore: relative to
    /// the tree, `/` at the start anchors, `/` at the end means directories, `!` takes back.
    ///
    /// # Errors
    /// [`Error::Rule`] for a pattern that cannot be read, or that has a line break in it.
    pub fn new(exclude: Vec<String>, include: Vec<String>) -> Result<Self, Error> {
        let included = if include.is_empty() { None } else { Some(matcher(&include)?) };
        Ok(Self { excluded: matcher(&exclude)?, exclude, included, include, ..Self::default() })
    }

    /// The lines by which files are left out.
    pub fn exclude(&self) -> &[String] {
        &self.exclude
    }

    /// The lines of which one must match.
    pub fn include(&self) -> &[String] {
        &self.include
    }

    /// Whether every regular file is meant.
    pub fn is_everything(&self) -> bool {
        self.exclude.is_empty() && self.include.is_empty() && !self.asks_of_file()
    }

    pub(crate) fn asks_of_file(&self) -> bool {
        self.only_executable || self.min_size > 0
    }

    pub(crate) fn enters(&self, directory: &[u8]) -> bool {
        !self.excluded.matched(path(directory), true).is_ignore()
    }

    pub(crate) fn takes(&self, file: &[u8]) -> bool {
        let included = self.included.as_ref();
        !self.excluded.matched(path(file), false).is_ignore()
            // A file is taken with the directory that a line names.
            && included.is_none_or(|lines| lines.matched_path_or_any_parents(path(file), false).is_ignore())
    }
}

fn path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// Patterns that match become `ignore` in this library's words.
fn matcher(lines: &[String]) -> Result<Gitignore, Error> {
    let mut builder = GitignoreBuilder::new("");
    for line in lines {
        if line.contains(['\n', '\r', '\0']) {
            return Err(Error::Rule { line: line.clone() });
        }
        builder.add_line(None, line).map_err(|_| Error::Rule { line: line.clone() })?;
    }
    builder.build().map_err(|_| Error::Rule { line: lines.join(", ") })
}

/// Whether a path matches one of the lines of .gitignore: for lists such as that of files that may be unsigned.
///
/// ```
/// use sealstone_tree::Patterns;
///
/// # fn main() -> Result<(), sealstone_tree::Error> {
/// let allowed = Patterns::new(&["/etc/".into(), "*.pyc".into()])?;
/// assert!(allowed.matches(b"etc/hosts") && allowed.matches(b"lib/module.pyc"));
/// assert!(!allowed.matches(b"usr/etc/hosts"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Patterns(Gitignore);

impl Patterns {
    /// Takes lines of .gitignore.
    ///
    /// # Errors
    /// [`Error::Rule`].
    pub fn new(lines: &[String]) -> Result<Self, Error> {
        matcher(lines).map(Self)
    }

    /// Whether the file or a directory above it is meant.
    pub fn matches(&self, file: &[u8]) -> bool {
        self.0.matched_path_or_any_parents(path(file), false).is_ignore()
    }
}
